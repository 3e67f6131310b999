//! Requests to stop: the first stops gracefully, the second kills.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    Terminate,
}

impl Signal {
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "INT",
            Self::Terminate => "TERM",
        }
    }
}

/// Whether, and how often, Ralph was told to stop. Shared with the thread that listens for signals.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    count: AtomicU32,
    first: OnceLock<Signal>,
    hung_up: AtomicBool,
}

impl Interrupt {
    /// Tells Ralph to stop; the second time at once.
    pub fn raise(&self, signal: Signal) {
        self.0.first.get_or_init(|| signal);
        self.0.count.fetch_add(1, Ordering::SeqCst);
    }

    /// The terminal was closed: that ends a run the way TERM does, but answers a question too.
    pub fn hang_up(&self) {
        self.0.hung_up.store(true, Ordering::SeqCst);
        self.raise(Signal::Terminate);
    }

    pub fn hung_up(&self) -> bool {
        self.0.hung_up.load(Ordering::SeqCst)
    }

    pub fn first(&self) -> Option<Signal> {
        self.0.first.get().copied()
    }

    /// Whether the user asked twice.
    pub fn at_once(&self) -> bool {
        self.0.count.load(Ordering::SeqCst) > 1
    }
}

/// Passes a first signal on after a while, so that work that is nearly done may end by itself, and a second one at once.
#[derive(Debug)]
pub struct DelayedInterrupt {
    heard: Interrupt,
    delay: Duration,
    since: Option<Instant>,
    passed_on: Interrupt,
}

impl DelayedInterrupt {
    /// For what `heard` tells, delayed by so much. A signal from before it begins is delayed by all of it.
    pub fn new(heard: Interrupt, delay: Duration) -> Self {
        Self { heard, delay, since: None, passed_on: Interrupt::default() }
    }

    pub fn interrupt(&self) -> &Interrupt {
        &self.passed_on
    }

    pub fn update(&mut self, now: Instant) {
        let Some(signal) = self.heard.first() else { return };
        let since = *self.since.get_or_insert(now);
        let at_once = self.heard.at_once();
        let is_over = at_once || now.saturating_duration_since(since) >= self.delay;
        if is_over && self.passed_on.first().is_none() {
            self.passed_on.raise(signal);
        }
        if at_once && !self.passed_on.at_once() {
            self.passed_on.raise(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_secs(5);

    #[test]
    fn a_first_signal_is_passed_on_after_the_delay() {
        let heard = Interrupt::default();
        let mut delayed = DelayedInterrupt::new(heard.clone(), DELAY);
        let start = Instant::now();
        delayed.update(start);
        heard.raise(Signal::Interrupt);
        let told = start + Duration::from_secs(100);
        delayed.update(told);
        delayed.update(told + DELAY - Duration::from_millis(1));
        assert_eq!(delayed.interrupt().first(), None);
        for _ in 0..3 {
            delayed.update(told + DELAY);
        }
        assert_eq!(delayed.interrupt().first(), Some(Signal::Interrupt));
        assert!(!delayed.interrupt().at_once());
    }

    #[test]
    fn a_second_signal_is_passed_on_at_once() {
        let heard = Interrupt::default();
        let mut delayed = DelayedInterrupt::new(heard.clone(), DELAY);
        heard.raise(Signal::Terminate);
        delayed.update(Instant::now());
        assert_eq!(delayed.interrupt().first(), None);
        heard.raise(Signal::Terminate);
        delayed.update(Instant::now());
        assert_eq!(delayed.interrupt().first(), Some(Signal::Terminate));
        assert!(delayed.interrupt().at_once());
    }
}
