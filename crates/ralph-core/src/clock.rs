//! Time comes in from outside, so that tests control it.

use std::time::Duration;

use crate::model::Timestamp;

/// Tells the time and lets it pass.
pub trait Clock {
    /// Now.
    fn now(&self) -> Timestamp;
    /// Waits.
    fn sleep(&self, duration: Duration);
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}
