//! Being told to stop, with a respite: work that is nearly done may end by itself.

use std::time::{Duration, Instant};

use super::Interrupt;

/// Passes a first signal on after a while, and a second one at once.
#[derive(Debug)]
pub struct Respite {
    heard: Interrupt,
    lasts: Duration,
    /// Since when the signal is known.
    since: Option<Instant>,
    passed_on: Interrupt,
}

impl Respite {
    /// A respite from what may be heard, of this length. Who was told before it begins has all of it.
    pub fn new(heard: Interrupt, lasts: Duration) -> Self {
        Self {
            heard,
            lasts,
            since: None,
            passed_on: Interrupt::default(),
        }
    }

    /// What is passed on.
    pub fn interrupt(&self) -> &Interrupt {
        &self.passed_on
    }

    /// Looks whether something is to be passed on by now.
    pub fn look(&mut self, now: Instant) {
        let Some(signal) = self.heard.first() else {
            return;
        };
        let since = *self.since.get_or_insert(now);
        let at_once = self.heard.at_once();
        let is_over = at_once || now.saturating_duration_since(since) >= self.lasts;
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
    use crate::agent::Signal;

    const LASTS: Duration = Duration::from_secs(5);

    #[test]
    fn a_first_signal_is_passed_on_after_the_respite() {
        let heard = Interrupt::default();
        let mut respite = Respite::new(heard.clone(), LASTS);
        let start = Instant::now();
        respite.look(start);
        heard.raise(Signal::Interrupt);
        let told = start + Duration::from_secs(100);
        respite.look(told);
        respite.look(told + LASTS - Duration::from_millis(1));
        assert_eq!(respite.interrupt().first(), None);
        for _ in 0..3 {
            respite.look(told + LASTS);
        }
        assert_eq!(respite.interrupt().first(), Some(Signal::Interrupt));
        assert!(!respite.interrupt().at_once());
    }

    #[test]
    fn a_second_signal_is_passed_on_at_once() {
        let heard = Interrupt::default();
        let mut respite = Respite::new(heard.clone(), LASTS);
        heard.raise(Signal::Terminate);
        respite.look(Instant::now());
        assert_eq!(respite.interrupt().first(), None);
        heard.raise(Signal::Terminate);
        respite.look(Instant::now());
        assert_eq!(respite.interrupt().first(), Some(Signal::Terminate));
        assert!(respite.interrupt().at_once());
    }
}
