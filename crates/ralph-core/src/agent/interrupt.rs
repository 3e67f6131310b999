//! Being told to stop: once means in order, twice means at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A signal that ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// `kill`.
    Terminate,
}

impl Signal {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "INT",
            Self::Terminate => "TERM",
        }
    }
}

/// Whether, and how often, Ralph was told to stop. Shared with whoever listens for signals.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    count: AtomicU32,
    /// 0 none, 1 interrupt, 2 terminate.
    first: AtomicU32,
    /// The terminal was closed.
    hung_up: AtomicBool,
}

impl Interrupt {
    /// Tells Ralph to stop; the second time at once.
    pub fn raise(&self, signal: Signal) {
        let code = match signal {
            Signal::Interrupt => 1,
            Signal::Terminate => 2,
        };
        let _ = self
            .0
            .first
            .compare_exchange(0, code, Ordering::SeqCst, Ordering::SeqCst);
        self.0.count.fetch_add(1, Ordering::SeqCst);
    }

    /// The terminal was closed: that ends a run the way TERM does, but answers a question too.
    pub fn hang_up(&self) {
        self.0.hung_up.store(true, Ordering::SeqCst);
        self.raise(Signal::Terminate);
    }

    /// Whether the terminal was closed.
    pub fn hung_up(&self) -> bool {
        self.0.hung_up.load(Ordering::SeqCst)
    }

    /// The first signal that arrived.
    pub fn first(&self) -> Option<Signal> {
        match self.0.first.load(Ordering::SeqCst) {
            0 => None,
            1 => Some(Signal::Interrupt),
            _ => Some(Signal::Terminate),
        }
    }

    /// Whether the user asked twice.
    pub fn at_once(&self) -> bool {
        self.0.count.load(Ordering::SeqCst) > 1
    }
}
