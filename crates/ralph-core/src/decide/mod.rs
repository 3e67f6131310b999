//! Decisions: pure functions from what is known to what follows. No I/O, so that they can be tested and replayed.

mod adaptive_choice;
mod budget;
#[cfg(test)]
mod escalation_tests;
mod failure_trend;
mod first_model;
mod gates;
mod model_choice;
mod outlook;
mod retry;
mod settle;
mod verdict;
mod verification;

pub use adaptive_choice::{AdaptiveInputs, task_view};
pub use budget::{Budget, Budgets, Meter, Spent, meters, rest_usd, share_usd, task_meters};
pub use failure_trend::{FailedAttempt, FailureTrend, Sign, failure_trend, stuck_advice};
pub use first_model::RECENT_WINDOW;
pub use gates::{baseline_of, compared, fewer_tests};
pub use model_choice::{Decision, ModelQuestion, choose_model, is_planning, needs_experience};
pub use outlook::{Blocker, HeldUp, Outlook, Waiter, covered, held_up, outlook, unmet_outside};
pub use retry::{Availability, Outage, Turn, backoff, next_agent};
pub use settle::{Circumstances, GivenUp, Policy, Settled, Standing, settle};
pub use verdict::{
    NOT_COMMITTED, claims_done, error_type_of, gave_no_signal, lost_verdict, only_signal_missing,
    parent_verdict, verdict,
};
pub use verification::{of_gates, verification};
