//! Decisions: pure functions from what is known to what follows. No I/O, so that they can be tested and replayed.

mod after;
mod backoff;
mod budget;
mod course;
mod first;
mod model;
mod planning;
mod stance;
#[cfg(test)]
mod stories;
mod turn;
mod verdict;
mod waits;
mod worth;

pub use after::{AfterAttempt, Policy, Said, after_attempt, after_lost};
pub use backoff::backoff;
pub use budget::{Budget, Budgets, Meter, Spent, meters, rest_usd, task_meters};
pub use course::{Course, FailedTry, Sign, course};
pub use first::RECENT_WINDOW;
pub use model::{Decision, ModelQuestion, choose_model, needs_experience};
pub use planning::is_planning;
pub use stance::stance;
pub use turn::{Out, Standing, Turn, whose_turn};
pub use verdict::{claims_done, gate_broken, gave_no_signal, verdict};
pub use waits::{Blocker, HeldUp, Outlook, Waiter, held_up, outlook, unmet_outside};
pub use worth::{Worth, task_view};
