//! Watching over a confined launch: whether the sandbox got as far as starting the program, and what it and all that it started
//! use together. That is counted from outside a few times a second, because limits of the kernel hold for single processes, or
//! for all of a user's.

use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::process::{EndSignal, Stop, Stream, Watch};
use super::sweep;

const BETWEEN: Duration = Duration::from_millis(200);
/// Ralph's own first stage in the sandbox prints this to standard error just before it becomes the program. It comes before
/// anything that the program prints, so the program can neither keep it back nor, where it is missing, add it.
pub(crate) const PROGRAM_STARTS: &[u8] = b"\x1b[0mralph: the program starts\x1b[0m\n";
/// What is kept of what was printed before.
const KEPT: usize = 16 * 1024;

/// How a launch was confined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confined {
    /// What the launch was made for, as people know it.
    pub program: String,
    pub quota: Quota,
}

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

/// Ends a launch at once that uses too much, and takes note of its start.
pub(super) struct ConfinedWatch<'w> {
    watch: &'w mut dyn Watch,
    quota: Quota,
    counted: Instant,
    excess: Option<Excess>,
    /// What was printed to standard error before the program started; none after that.
    before_start: Option<Vec<u8>>,
}

impl<'w> ConfinedWatch<'w> {
    pub(super) fn new(watch: &'w mut dyn Watch, confined: Option<&Confined>) -> Self {
        let quota = confined.map(|confined| confined.quota).unwrap_or_default();
        let before_start = confined.map(|_| Vec::new());
        Self { watch, quota, counted: Instant::now(), excess: None, before_start }
    }

    /// What the sandbox printed instead of starting the program; none where it did start it.
    pub(super) fn failure(&self) -> Option<String> {
        let said = String::from_utf8_lossy(self.before_start.as_ref()?).into_owned();
        let said = crate::text::one_line(said.trim().trim_start_matches("error: "), 300);
        Some(if said.is_empty() { "it ended without a message".to_owned() } else { said })
    }

    fn before_start(&mut self, chunk: &[u8]) -> Option<Vec<u8>> {
        let held = self.before_start.as_mut()?;
        held.extend_from_slice(chunk);
        let Some(at) = held.windows(PROGRAM_STARTS.len()).position(|found| found == PROGRAM_STARTS) else {
            let excess = held.len().saturating_sub(KEPT);
            held.drain(..excess);
            return Some(Vec::new());
        };
        held.drain(at..at + PROGRAM_STARTS.len());
        self.before_start.take()
    }
}

impl Watch for ConfinedWatch<'_> {
    fn started(&mut self, group: Pid) {
        self.watch.started(group);
    }

    fn output(&mut self, stream: Stream, chunk: &[u8]) {
        let held = (stream == Stream::Err).then(|| self.before_start(chunk)).flatten();
        match held {
            None => self.watch.output(stream, chunk),
            Some(told) if told.is_empty() => {}
            Some(told) => self.watch.output(stream, &told),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_sandbox_prints_instead_of_starting_the_program_is_why_it_failed() {
        let start = String::from_utf8_lossy(PROGRAM_STARTS).into_owned();
        for (printed, expected, failure) in [
            (format!("{start}error: x\n"), "error: x\n", None),
            (format!("bwrap: a warning\n{start}{start}"), &*format!("bwrap: a warning\n{start}"), None),
            ("error: no mount\n".to_owned(), "", Some("no mount")),
            (String::new(), "", Some("it ended without a message")),
        ] {
            for size in [1, 7, 1000] {
                let mut told = Vec::new();
                let mut watch = |_, chunk: &[u8]| told.extend_from_slice(chunk);
                let mut confined = ConfinedWatch::new(&mut watch, Some(&Confined::default()));
                printed.as_bytes().chunks(size).for_each(|chunk| confined.output(Stream::Err, chunk));
                assert_eq!(confined.failure().as_deref(), failure, "{printed:?}");
                assert_eq!(String::from_utf8_lossy(&told), expected, "{printed:?}");
            }
        }
    }
}
