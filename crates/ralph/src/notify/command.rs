//! The command: any program of the user's own, with the notice as JSON on its standard input.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::agent::{Access, Launch, own_settings};
use ralph_core::hooks::when_recorded;
use ralph_core::project::Project;

use super::aside::{Fault, call};
use super::sender::{Cutoff, Delivery, Parcel, Sender};

/// How long it may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs the command and ends all of it on TERM, which comes when the run ends and when it is killed. Standard input has to be
/// given on by hand: a shell gives what runs in the background none.
const GROUP: &str = r#"exec 3<&0
trap 'trap "" TERM; kill 0; sleep 1; kill -9 0' TERM
sh -c "$1" <&3 3<&- &
exec 3<&-
wait $!"#;

/// Runs a shell command in the project's root.
pub struct NotifyCommand {
    command: String,
    root: PathBuf,
}

impl NotifyCommand {
    /// The command and where it runs.
    pub fn new(command: &str, root: &Path) -> Self {
        Self {
            command: command.to_owned(),
            root: root.to_owned(),
        }
    }

    fn launch(&self, parcel: &Parcel) -> Launch {
        let notice = &parcel.notice;
        let env = |name: &str, value: &str| (name.to_owned(), OsString::from(value));
        Launch {
            program: "sh".into(),
            args: when_recorded(&[GROUP, "sh", &self.command]),
            env: own_settings()
                .chain([
                    env("RALPH_NOTIFY_OCCASION", notice.occasion.as_str()),
                    env("RALPH_NOTIFY_TITLE", &notice.title),
                    env("RALPH_NOTIFY_MESSAGE", &notice.message),
                    env("RALPH_RUN_ID", &notice.run_id),
                    ("RALPH_PROJECT".to_owned(), self.root.clone().into()),
                ])
                .collect(),
            cwd: self.root.clone(),
            stdin: format!("\n{}\n", parcel.json),
            access: Access::default(),
        }
    }
}

impl Sender for NotifyCommand {
    fn name(&self) -> &'static str {
        "command"
    }

    fn patience(&self) -> Duration {
        LIMIT
    }

    fn has_process(&self) -> bool {
        true
    }

    fn send(&self, parcel: &Parcel, cutoff: &Cutoff) -> Result<Delivery, String> {
        let database = Project::at(&self.root).database();
        match call(&self.launch(parcel), LIMIT, cutoff, Some(&database)) {
            Ok(()) => Ok(Delivery::Sent),
            Err(Fault::NotThere) => Err("`sh` not found".to_owned()),
            Err(Fault::Failed(how)) => Err(how),
        }
    }
}
