//! Every exit code of `ralph run`, in one table. `docs/exit-codes.md` is made from it.

use crate::agent::Signal;

/// Why a run ended. The order is the order in which they apply: the first that does, wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunExit {
    /// Interrupted by a signal; the claim was released.
    Interrupted(Signal),
    /// An error in Ralph or its environment.
    Error,
    Usage,
    NoPlan,
    /// Aborted, by choice or by the agent's promise.
    Aborted,
    BreakerOpen,
    /// Every task in scope is done or skipped.
    Finished,
    /// A limit was reached with work left.
    Limit,
    /// What is left waits for a person or for a failed task.
    NothingToRun,
}

impl RunExit {
    /// All of them, in the order in which they apply.
    pub const ALL: [Self; 10] = [
        Self::Interrupted(Signal::Interrupt),
        Self::Interrupted(Signal::Terminate),
        Self::Error,
        Self::Usage,
        Self::NoPlan,
        Self::Aborted,
        Self::BreakerOpen,
        Self::Finished,
        Self::Limit,
        Self::NothingToRun,
    ];

    /// The process's exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Finished => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::NoPlan => 3,
            Self::Limit => 4,
            Self::NothingToRun => 5,
            Self::BreakerOpen => 6,
            Self::Aborted => 7,
            Self::Interrupted(Signal::Interrupt) => 130,
            Self::Interrupted(Signal::Terminate) => 143,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Error => "error",
            Self::Usage => "usage",
            Self::NoPlan => "no_plan",
            Self::Limit => "limit",
            Self::NothingToRun => "nothing_to_run",
            Self::BreakerOpen => "breaker_open",
            Self::Aborted => "aborted",
            Self::Interrupted(_) => "interrupted",
        }
    }

    /// The sentence in the documentation.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Finished => "every selected task is done or skipped",
            Self::Error => "an error in Ralph or its environment",
            Self::Usage => "invalid usage or configuration",
            Self::NoPlan => "there is no plan",
            Self::Limit => "a limit (attempts, time or cost) was reached before every task was done",
            Self::NothingToRun => "the remaining tasks are blocked or depend on a failed task",
            Self::BreakerOpen => "the circuit breaker is open",
            Self::Aborted => "aborted by you or by the agent's `<promise>FAILURE</promise>`",
            Self::Interrupted(Signal::Interrupt) => "interrupted by SIGINT (Ctrl-C); the task was released",
            Self::Interrupted(Signal::Terminate) => "interrupted by SIGTERM; the task was released",
        }
    }
}
