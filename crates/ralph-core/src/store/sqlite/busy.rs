//! What a connection does while another process holds the lock on the database: it waits, and says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The longest pause between two attempts to take the lock.
const LONGEST_NAP: Duration = Duration::from_millis(50);

/// A wait for a lock that has lasted for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockWait {
    /// How long it has lasted.
    pub waited: Duration,
    /// Whether this is the first call about this wait.
    pub is_first: bool,
}

/// How long a connection waits for a lock, and who is told.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Waits shorter than this are normal and reported to nobody.
    pub tell_after: Duration,
    /// After this the wait ends with an error.
    pub give_up_after: Duration,
    /// Called again and again during a long wait; `false` ends the wait.
    pub on_wait: fn(LockWait) -> bool,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            tell_after: Duration::from_secs(2),
            // Long enough for a backup or a slow disk. A process that holds a lock for longer hangs.
            give_up_after: Duration::from_secs(600),
            on_wait: |_| true,
        }
    }
}

/// A switch that lets a connection give up almost at once, for writes that are not worth a wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Brief(Arc<AtomicBool>);

impl Brief {
    /// How long such a write waits.
    const LIMIT: Duration = Duration::from_millis(200);

    pub fn set(&self, on: bool) {
        self.0.store(on, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// SQLite calls this as long as a lock is taken, with the number of calls so far; `true` means: try again.
pub(super) fn handler(
    patience: Patience,
    brief: Brief,
) -> impl FnMut(i32) -> bool + Send + 'static {
    let mut since = Instant::now();
    let mut told = false;
    move |calls| {
        if calls == 0 {
            since = Instant::now();
            told = false;
        }
        let waited = since.elapsed();
        if waited >= patience.give_up_after || (brief.is_set() && waited >= Brief::LIMIT) {
            return false;
        }
        if waited >= patience.tell_after {
            let wait = LockWait {
                waited,
                is_first: !told,
            };
            told = true;
            if !(patience.on_wait)(wait) {
                return false;
            }
        }
        std::thread::sleep(nap(calls).min(patience.give_up_after.saturating_sub(waited)));
        true
    }
}

/// Short at first, because most locks are held for a millisecond.
fn nap(calls: i32) -> Duration {
    let millis = u64::try_from(calls).unwrap_or(0).saturating_add(1);
    Duration::from_millis(millis).min(LONGEST_NAP)
}
