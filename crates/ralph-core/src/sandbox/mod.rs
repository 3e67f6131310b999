//! What agents, gates and the commands around them may write, read and reach, and what enforces that.
//!
//! [`Policy`] is computed in one place from the settings, the project and who is started; it is plain data. A [`Backend`]
//! turns the launch of a process into one that is confined by it. What cannot be enforced here is said, in
//! [`Sandbox::status`], and never passed over.

mod backend;
mod bubblewrap;
mod denial;
mod environment;
mod forward;
mod inner;
mod landlock;
mod places;
mod policy;
mod proxy;
mod run;
mod settings;
#[cfg(target_os = "linux")]
mod syscalls;
mod undo;
mod upstream;
mod work_dir;

use crate::agent::{Confined, Launch, Quota};

pub use backend::{Backend, BackendKind, Problem};
pub use denial::{Denial, Denied, ErrorLines, told as denials_told};
pub use inner::{Inner, start_inside};
pub use places::{Belongings, Place};
pub use policy::{FileKind, Files, GitPlaces, Policy, Request, Subject, ThisMachine};
pub use run::{Confinement, Enforced, MOVED, Sandbox, SandboxRecord, Surroundings, Undone, run_confined};
pub use settings::{Limits, Mode, Network, SandboxSettings};
pub use undo::Forbidden;

/// What is known of a launch outside of its box, and which of the limits Ralph itself enforces.
fn confined_by(launch: &Launch, limits: &Limits) -> Confined {
    let quota = Quota { processes: limits.processes, memory: limits.memory };
    Confined { program: launch.program.clone(), quota }
}

/// Signals that ask a launch to end. Whoever only waits for it inside ignores them, so that the program itself answers.
pub(crate) const SHIELDED: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// What to do where the sandbox that works elsewhere cannot be set up for a program.
pub(crate) const SETUP_FIX: &str =
    "`ralph doctor` says what works here; fix that, or run without a sandbox: ralph run --sandbox off";
