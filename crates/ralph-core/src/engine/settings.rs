//! How a run is to be done.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;

use super::TreeSettings;
use crate::adaptive::DEFAULT_VALUE_USD;
use crate::decide::{Budgets, Policy};
use crate::event::TaskRef;
use crate::git::RollbackMode;
use crate::hooks::Hooks;
use crate::logs;
use crate::memory::prompt::Limits;
use crate::model::{GateOf, Strategy, Task};
use crate::sandbox::SandboxSettings;
use crate::store::{Scope, Store, StoreError};

/// Everything a run depends on besides the plan and the agent.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// Which built-in defaults are in force; recorded with the run.
    pub defaults_revision: u32,
    /// What a person should know before the first attempt.
    pub notices: Vec<String>,
    pub scope: Scope,
    pub limit: Option<u32>,
    /// The attempt under way is finished.
    pub budgets: Budgets,
    pub policy: Policy,
    pub strategy: Strategy,
    /// The model that wins over everything.
    pub forced_model: Option<String>,
    /// The model a strategy starts from.
    pub model: Option<String>,
    /// What a done task is worth, for the strategy that asks.
    pub value_usd: f64,
    pub breaker: BreakerSettings,
    /// When a person at a terminal is asked.
    pub pause_on: PauseOn,
    /// How long such a question waits for an answer.
    pub pause_timeout: Duration,
    pub attempt_timeout: Duration,
    /// How long an agent may be silent.
    pub idle_timeout: Option<Duration>,
    /// How long processes have after TERM.
    pub grace: Duration,
    pub hooks: Hooks,
    pub git: GitSettings,
    /// How many workers the run has, and whether even a single one works in a tree of its own.
    pub jobs: u32,
    pub isolate: bool,
    /// Where workers work.
    pub worktrees: TreeSettings,
    pub gate: GateSettings,
    pub review: ReviewSettings,
    /// How often a failing service is tried again.
    pub service_retries: u32,
    /// The first wait for a failing service; doubles.
    pub backoff: Duration,
    pub backoff_cap: Duration,
    /// How long usage limits are waited for; none for not at all.
    pub max_wait: Option<Duration>,
    pub recovery: RecoverySettings,
    /// For tasks of specs whose state file says otherwise, by the path of their tasks.
    pub recovery_by_spec: HashMap<String, RecoverySettings>,
    pub memory: Limits,
    /// AGENTS.md below the work tree; none where it is not to be kept.
    pub agents_md: Option<String>,
    /// Whether issues of a tracker are closed when their tasks are done.
    pub write_trackers: bool,
    pub logs: logs::Limits,
    /// How large an attempt's log may grow before its beginning is dropped; none for any size.
    pub max_attempt_bytes: Option<u64>,
    pub sandbox: SandboxSettings,
    /// How long a claim is believed without a sign of life; for other hosts.
    pub lease: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct RecoverySettings {
    pub enabled: bool,
    pub limits: crate::recovery::Limits,
}

#[derive(Clone, Copy, Debug)]
pub struct BreakerSettings {
    /// Failures in a row, over all tasks, that may open it.
    pub threshold: u32,
    pub on_open: OnOpen,
    /// How long a run waits before it probes.
    pub cooldown: Duration,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self { threshold: 5, on_open: OnOpen::Exit, cooldown: Duration::from_secs(15 * 60) }
    }
}

/// What an open breaker does to a run that nobody attends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnOpen {
    Exit,
    /// It cools down and probes.
    Wait,
}

/// When a person at a terminal is asked what to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PauseOn {
    Never,
    #[default]
    Breaker,
    /// Also when a task is stuck.
    Stuck,
    /// Also after every counted failure.
    Failure,
}

#[derive(Clone, Debug)]
pub struct GitSettings {
    pub commit: CommitWhen,
    /// What happens to the work of a failed attempt; none to leave it.
    pub rollback: Option<RollbackMode>,
    pub branch: Option<String>,
    /// The remote on whose branch work lands; none to land here.
    pub remote: Option<String>,
    /// How long a remote that does not answer is asked again.
    pub remote_timeout: Duration,
    /// What uncommitted changes at the start mean.
    pub on_dirty: OnDirty,
    /// How long a commit may take, hooks and all.
    pub commit_timeout: Duration,
    /// How long git may take to answer; large repositories get more.
    pub query_timeout: Duration,
}

impl Default for GitSettings {
    fn default() -> Self {
        Self {
            commit: CommitWhen::Never,
            rollback: None,
            branch: None,
            remote: None,
            remote_timeout: Duration::from_secs(600),
            on_dirty: OnDirty::Continue,
            commit_timeout: Duration::from_secs(600),
            query_timeout: Duration::from_secs(10),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitWhen {
    Never,
    OnSuccess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDirty {
    /// They stay as they are, out of commits and roll-backs.
    Continue,
    Refuse,
}

/// Which finished work another agent reviews.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReviewWhen {
    #[default]
    Never,
    /// What no gate verified.
    Ungated,
    Always,
}

#[derive(Clone, Debug)]
pub struct ReviewSettings {
    pub when: ReviewWhen,
    /// None for the strongest of the reviewer's list.
    pub model: Option<String>,
    /// Rejections in a row after which a person is asked.
    pub rounds: u32,
    pub timeout: Duration,
}

impl Default for ReviewSettings {
    fn default() -> Self {
        Self { when: ReviewWhen::Never, model: None, rounds: 2, timeout: Duration::from_secs(10 * 60) }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct GateSettings {
    pub enabled: bool,
    /// The gate of tasks that have none.
    pub default: Option<String>,
    /// The gate that runs after every task's own.
    pub always: Option<String>,
    pub timeout: Duration,
    /// Whether a task's gates are run before its first attempt.
    pub baseline: bool,
    pub baseline_timeout: Duration,
    /// How often a failing one is run again.
    pub rerun: u32,
    /// Only one that took less than this.
    pub rerun_below: Duration,
    /// Patterns of files that no attempt may change, unless its task says so.
    pub protect: Vec<String>,
    /// Whether a task without one is blocked instead of attempted.
    pub require: bool,
    /// Whether one that passes after an attempt without a signal, and did not pass before it, makes the task done.
    pub accept_green: bool,
}

/// A gate that judges a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskGate {
    pub of: GateOf,
    pub command: String,
}

impl GateSettings {
    /// The gate of a task: its own, else the default.
    pub fn main(&self, task: &Task) -> Option<TaskGate> {
        let own = task.verify.clone().map(|command| TaskGate { of: GateOf::Task, command });
        let default = || self.default.clone().map(|command| TaskGate { of: GateOf::Default, command });
        own.or_else(default).filter(|_| self.enabled)
    }

    /// The project's gate, where it is another one than the task's.
    pub fn always(&self, task: &Task) -> Option<TaskGate> {
        let always = self.always.clone().map(|command| TaskGate { of: GateOf::Always, command });
        let is_main = |always: &TaskGate| self.main(task).is_some_and(|main| main.command == always.command);
        always.filter(|always| self.enabled && !is_main(always))
    }

    /// What judges a task, in the order in which it runs.
    pub fn gates(&self, task: &Task) -> Vec<TaskGate> {
        self.main(task).into_iter().chain(self.always(task)).collect()
    }

    /// Open tasks in scope that a run with these settings would finish without a gate.
    pub fn ungated(&self, store: &Store, scope: &Scope) -> Result<Vec<TaskRef>, StoreError> {
        match (self.enabled, self.default.as_ref().or(self.always.as_ref())) {
            (true, Some(_)) => Ok(Vec::new()),
            (gates_on, _) => store.ungated(scope, gates_on),
        }
    }
}

impl RunSettings {
    /// Whether attempts are made in working trees of Ralph's own.
    pub fn is_isolated(&self) -> bool {
        self.jobs > 1 || self.isolate || self.git.remote.is_some()
    }
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            scope: Scope::All,
            defaults_revision: 0,
            notices: Vec::new(),
            limit: None,
            budgets: Budgets::default(),
            policy: Policy::default(),
            strategy: Strategy::default(),
            forced_model: None,
            model: None,
            value_usd: DEFAULT_VALUE_USD,
            breaker: BreakerSettings::default(),
            pause_on: PauseOn::default(),
            pause_timeout: Duration::from_secs(10 * 60),
            attempt_timeout: Duration::from_secs(30 * 60),
            idle_timeout: Some(Duration::from_secs(10 * 60)),
            grace: Duration::from_secs(5),
            hooks: Hooks::default(),
            git: GitSettings::default(),
            jobs: 1,
            isolate: false,
            worktrees: TreeSettings::default(),
            gate: GateSettings {
                enabled: true,
                default: None,
                always: None,
                timeout: Duration::from_secs(10 * 60),
                baseline: true,
                baseline_timeout: Duration::from_secs(60),
                rerun: 1,
                rerun_below: Duration::from_secs(5 * 60),
                protect: Vec::new(),
                require: false,
                accept_green: false,
            },
            review: ReviewSettings::default(),
            service_retries: 4,
            backoff: Duration::from_secs(2),
            backoff_cap: Duration::from_secs(5 * 60),
            max_wait: Some(Duration::from_secs(24 * 3600)),
            recovery: RecoverySettings::default(),
            recovery_by_spec: HashMap::new(),
            memory: Limits::default(),
            agents_md: Some("AGENTS.md".into()),
            logs: logs::Limits::new(30, 1024),
            max_attempt_bytes: Some(256 * 1024 * 1024),
            write_trackers: false,
            sandbox: SandboxSettings::default(),
            lease: Duration::from_secs(60),
        }
    }
}
