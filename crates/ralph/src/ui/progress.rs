//! Signs of life on standard error, where that is a terminal and something takes long.

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Before this, nobody wonders.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the display moves.
const TICK: Duration = Duration::from_millis(120);

/// How many of many are done: `123 of 937`.
pub struct Progress {
    started: Instant,
    total: usize,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Nothing is done yet, and nothing shown.
    pub fn new(total: usize) -> Self {
        Self { started: Instant::now(), total, bar: None }
    }

    pub fn at(&mut self, done: usize) {
        if self.bar.is_none() && self.started.elapsed() > PATIENCE {
            self.bar = Some(bar("{pos} of {len}", Some(count(self.total))));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(count(done));
        }
    }

    /// Does something that may write to the same terminal.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Does something whose progress is not known, and says what.
pub fn waiting<T>(what: &str, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let (working, over) = channel::<()>();
    std::thread::scope(|scope| {
        let show = move || {
            if over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let bar = bar("{spinner} {msg} · {elapsed}", None).with_message(what.to_owned());
                bar.tick();
                while over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    bar.tick();
                }
                bar.finish_and_clear();
            }
        };
        // Where no thread can be started, nothing is shown.
        let _ = std::thread::Builder::new().spawn_scoped(scope, show);
        let result = work();
        drop(working);
        result
    })
}

fn bar(template: &str, total: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    // The templates are constants; one that does not parse falls back to indicatif's own.
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
