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

    /// The process's exit code, its word, and the sentence in the documentation.
    fn row(self) -> (u8, &'static str, &'static str) {
        match self {
            Self::Finished => (0, "finished", "every selected task is done or skipped"),
            Self::Error => (1, "error", "an error in Ralph or its environment"),
            Self::Usage => (2, "usage", "invalid usage or configuration"),
            Self::NoPlan => (3, "no_plan", "there is no plan"),
            Self::Limit => {
                (4, "limit", "a limit (attempts, time or cost) was reached before every task was done")
            }
            Self::NothingToRun => {
                (5, "nothing_to_run", "the remaining tasks are blocked or depend on a failed task")
            }
            Self::BreakerOpen => (6, "breaker_open", "the circuit breaker is open"),
            Self::Aborted => (7, "aborted", "aborted by you or by the agent's `<promise>FAILURE</promise>`"),
            Self::Interrupted(Signal::Interrupt) => {
                (130, "interrupted", "interrupted by SIGINT (Ctrl-C); the task was released")
            }
            Self::Interrupted(Signal::Terminate) => {
                (143, "interrupted", "interrupted by SIGTERM; the task was released")
            }
        }
    }

    pub fn code(self) -> u8 {
        self.row().0
    }

    pub fn word(self) -> &'static str {
        self.row().1
    }

    pub fn meaning(self) -> &'static str {
        self.row().2
    }
}
