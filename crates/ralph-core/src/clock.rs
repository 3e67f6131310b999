//! Time comes in from outside, so that tests control it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use crate::model::Timestamp;

/// Tells the time and lets it pass.
pub trait Clock {
    fn now(&self) -> Timestamp;
    fn sleep(&self, duration: Duration);
    /// Time since some moment of the past, which nobody can set; it may stand still while the machine sleeps.
    fn steady(&self) -> Duration;
}

/// By how many milliseconds the clock of a team's database is ahead of this machine's.
static AHEAD: AtomicI64 = AtomicI64::new(0);

/// From now on this process tells the time by another clock, which shows this moment: machines that share a plan share one clock.
pub fn follow(other: Timestamp) {
    AHEAD.store(other.as_millis().saturating_sub(own_millis()), Ordering::Relaxed);
}

fn own_millis() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(own_millis().saturating_add(AHEAD.load(Ordering::Relaxed)))
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }

    fn steady(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}
