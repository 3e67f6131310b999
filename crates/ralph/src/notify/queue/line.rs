//! The notices that wait for one way of telling, and the one that is on its way.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::notify::sender::{Cutoff, Parcel};

/// Notices that may wait.
pub(super) const ROOM: usize = 32;

/// A short line, first come first served, but for the notice of a run's end when time is short.
#[derive(Default)]
pub(super) struct Line {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<Parcel>>,
    under_way: Option<UnderWay>,
    /// Nothing more comes.
    closed: bool,
    /// Notices whose time was cut.
    cut_short: usize,
}

struct UnderWay {
    is_end: bool,
    cutoff: Cutoff,
}

impl Line {
    /// Puts a notice at the end. Where there is no room the one that has waited longest goes: what is newer says more,
    /// and the end of a run says most.
    pub(super) fn put(&self, parcel: Arc<Parcel>) -> Option<Arc<Parcel>> {
        let mut state = self.state();
        let gone = match state.waiting.len() < ROOM {
            true => None,
            false => state.waiting.pop_front(),
        };
        state.waiting.push_back(parcel);
        self.changed.notify_all();
        gone
    }

    /// Nothing more comes.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_all();
    }

    /// The next notice and what may cut it short; waits for one, until none can come.
    pub(super) fn next(&self) -> Option<(Arc<Parcel>, Cutoff)> {
        let mut state = self.state();
        loop {
            if let Some(parcel) = state.waiting.pop_front() {
                let cutoff = Cutoff::default();
                state.under_way = Some(UnderWay {
                    is_end: is_end(&parcel),
                    cutoff: cutoff.clone(),
                });
                return Some((parcel, cutoff));
            }
            if state.closed {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The notice on its way was dealt with.
    pub(super) fn dealt_with(&self) {
        self.state().under_way = None;
    }

    /// The notice on its way got no further than its cut-off.
    pub(super) fn was_cut_short(&self) {
        let mut state = self.state();
        state.under_way = None;
        state.cut_short += 1;
    }

    /// Notices that were not dealt with yet.
    pub(super) fn open(&self) -> usize {
        let state = self.state();
        state.waiting.len() + usize::from(state.under_way.is_some())
    }

    /// Notices that were not sent, as far as is known now.
    pub(super) fn unsent(&self) -> usize {
        self.open() + self.state().cut_short
    }

    /// The end of the run overtakes everything that waits.
    pub(super) fn end_first(&self) {
        let mut state = self.state();
        let end = state.waiting.iter().rposition(|parcel| is_end(parcel));
        if let Some(end) = end.and_then(|end| state.waiting.remove(end)) {
            state.waiting.push_front(end);
        }
    }

    /// What is on its way is cut short, if the end of the run waits behind it.
    pub(super) fn make_way(&self) {
        let state = self.state();
        let end_waits = state.waiting.iter().any(|parcel| is_end(parcel));
        if let Some(under_way) = &state.under_way
            && end_waits
            && !under_way.is_end
            && !under_way.cutoff.is_over()
        {
            under_way.cutoff.now();
        }
    }

    /// There is no more time for anything.
    pub(super) fn cut(&self) {
        let mut state = self.state();
        state.cut_short += state.waiting.len();
        state.waiting.clear();
        if let Some(under_way) = &state.under_way {
            under_way.cutoff.now();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether it says how the run ended.
fn is_end(parcel: &Parcel) -> bool {
    parcel.notice.exit_code.is_some()
}
