//! The loop: it wires the stages in order and knows none of their insides.

mod agents_md;
mod attempt;
#[cfg(test)]
mod bound_tests;
mod branch;
mod breaker;
mod budgets;
#[cfg(test)]
mod clock_tests;
mod exchange;
mod experience;
mod finding;
mod gate_changes;
mod guard;
mod hooks;
mod judge;
mod left_work;
mod log_upkeep;
mod next;
mod parents;
mod plan_files;
mod prompt;
mod readiness;
mod recall;
mod recover;
mod recovery;
mod requests;
mod run;
mod session;
mod settings;
mod state;
mod team;
mod tree;
mod upkeep;
mod vanished;
mod wait;
mod work_tree;

pub use agents_md::refresh_failures;
pub use breaker::{Answer, Attendant, NoAttendant, PauseReason, Question, analysis};
pub use log_upkeep::protected_logs;
pub use prompt::{Prompt, PromptError, Prompter, Templates};
pub use readiness::{DueGate, dirt_of_others, open_gates, own_files, told_unready, unready_gates};
pub use recall::{Recalled, recall};
pub use recover::{Recovered, Recovery};
pub use recovery::Repairs;
pub use run::{Engine, EngineError, Summary};
pub use settings::{BreakerSettings, GateSettings, OnOpen, PauseOn, RecoverySettings, RunSettings};
pub use state::refresh_state;
pub use upkeep::{Upkeep, merge_all, stale};
pub use work_tree::{CommitWhen, GitSettings, OnDirty};
