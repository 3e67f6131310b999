//! Decisions: pure functions from what is known to what follows. No I/O, so that they can be tested and replayed.

pub mod adaptive;
mod after;
mod backoff;
mod course;
mod model;
mod stance;
mod verdict;
mod waits;

pub use after::{AfterAttempt, Policy, after_attempt, after_lost};
pub use backoff::backoff;
pub use course::{Course, FailedTry, Sign, course};
pub use model::{ModelQuestion, choose_model};
pub use stance::stance;
pub use verdict::{claims_done, verdict};
pub use waits::{Blocker, Outlook, Waiter, outlook, unmet_outside};
