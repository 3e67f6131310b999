//! The loop: it wires the stages in order and knows none of their insides. [`run::Run`] is made of parts that own their
//! state; each is given the [`run_context::RunContext`].

mod agent_session;
mod agents_md_sync;
mod attempt;
mod attempt_record;
#[cfg(test)]
mod bound_tests;
mod breaker_prompt;
mod budgets;
mod claim_order;
#[cfg(test)]
mod clock_tests;
mod commits;
mod fix_tasks;
mod gate_runs;
mod hook_calls;
mod kept_result;
mod landing;
mod lost_attempts;
mod next_model;
mod own_file_edits;
mod parents;
#[cfg(test)]
mod part_tests;
mod plan_requests;
mod plan_sync;
mod planning;
mod prompter;
mod protection;
mod readiness;
mod review;
mod run;
mod run_branch;
mod run_context;
mod run_end;
mod seat;
mod settings;
mod settings_files;
mod shared_file;
mod side_session;
mod state_md_sync;
mod stray_branch;
mod supervisor;
mod team;
mod tidying;
mod trackers;
mod user_notes;
mod waits;
mod work_tree;
mod worker;
mod worker_tree;

pub use agents_md_sync::refresh_failures;
pub use breaker_prompt::{Answer, Attendant, NoAttendant, PauseReason, Question, analysis};
pub use fix_tasks::FixPolicy;
pub use lost_attempts::{LostAttempts, LostReport};
pub use next_model::signs_of;
pub use planning::{PlanAnswer, Planner};
pub use prompter::{Prompt, PromptError, Prompter, Recalled, Templates, recall};
pub use readiness::{DueGate, open_gates, own_files, told_unready, unready_gates};
pub use run::{Engine, Role};
pub use run_end::{EngineError, Summary};
pub use seat::{DRAIN, Drain, INTERRUPT, Seat, TERMINATE, WorkerEnd, WorkerMessage};
pub use settings::{
    BreakerSettings, CommitWhen, GateSettings, GitSettings, OnDirty, OnOpen, PauseOn, RecoverySettings,
    ReviewSettings, ReviewWhen, RunSettings, TaskGate,
};
pub use side_session::SessionEnding;
pub use state_md_sync::refresh_state;
pub use supervisor::Jobs;
pub use team::remedy;
pub use tidying::{Upkeep, merge_all, protected_logs};
pub use trackers::GITHUB;
pub use work_tree::changes_of_others;
pub use worker_tree::{NewTree, TreeLease, TreeSettings, lease_tree, project_dir};
