//! What tests of several modules share.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time of this thread. Unlike wall time it hardly depends on how busy the machine is.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap()
}
