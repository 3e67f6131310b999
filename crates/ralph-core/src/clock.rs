//! Time comes in from outside, so that tests control it.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::model::Timestamp;

/// Tells the time and lets it pass.
pub trait Clock {
    fn now(&self) -> Timestamp;
    fn sleep(&self, duration: Duration);
    /// Time since some moment of the past, which nobody can set; it may stand still while the machine sleeps.
    fn steady(&self) -> Duration;
}

#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }

    fn steady(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}
