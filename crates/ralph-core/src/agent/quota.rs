//! What a confined launch and all that it started may use together: counted from outside a few times a second, because limits
//! of the kernel hold for single processes, or for all of a user's.

use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::process::{EndSignal, Stop, Stream, Watch};
use super::sweep;

const BETWEEN: Duration = Duration::from_millis(200);

/// None for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    pub processes: Option<u32>,
    /// In bytes.
    pub memory: Option<u64>,
}

/// What there was too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    Processes(u32),
    Memory(u64),
}

impl std::fmt::Display for Excess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Processes(most) => write!(f, "more than {most} processes ([sandbox] max_processes)"),
            Self::Memory(most) => {
                write!(f, "more than {} MB of memory ([sandbox] max_memory)", most / 1024 / 1024)
            }
        }
    }
}

impl Quota {
    fn excess(self) -> Option<Excess> {
        let used = sweep::usage(self.memory.is_some());
        let processes = self.processes.filter(|most| used.processes > *most).map(Excess::Processes);
        processes.or(self.memory.filter(|most| used.memory > *most).map(Excess::Memory))
    }
}

/// Ends a launch at once that uses too much.
pub(super) struct QuotaWatch<'w> {
    watch: &'w mut dyn Watch,
    quota: Quota,
    counted: Instant,
    excess: Option<Excess>,
}

impl<'w> QuotaWatch<'w> {
    pub(super) fn new(watch: &'w mut dyn Watch, quota: Quota) -> Self {
        Self { watch, quota, counted: Instant::now(), excess: None }
    }
}

impl Watch for QuotaWatch<'_> {
    fn started(&mut self, group: Pid) {
        self.watch.started(group);
    }

    fn output(&mut self, stream: Stream, chunk: &[u8]) {
        self.watch.output(stream, chunk);
    }

    fn tick(&mut self) {
        self.watch.tick();
        if self.quota != Quota::default() && self.excess.is_none() && self.counted.elapsed() >= BETWEEN {
            self.counted = Instant::now();
            self.excess = self.quota.excess();
        }
    }

    fn concluded(&self) -> bool {
        self.excess.is_none() && self.watch.concluded()
    }

    fn first_signal(&self) -> EndSignal {
        // What multiplies would use the time it has.
        if self.excess.is_some() { EndSignal::Kill } else { self.watch.first_signal() }
    }

    fn ends(&self) -> Option<Stop> {
        self.excess.map(Stop::OverLimit).or_else(|| self.watch.ends())
    }
}
