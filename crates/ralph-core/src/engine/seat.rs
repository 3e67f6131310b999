//! What a supervisor and its workers tell each other: the seat that a worker is given, what it prints, and that no further
//! attempt is to begin.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use super::run_end::StopRun;
use crate::agent::Signal;
use crate::event::RunEvent;
use crate::exit::RunExit;
use crate::model::{RunId, Timestamp};

/// What a worker is told before it begins: the first line of its standard input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Seat {
    pub run_id: RunId,
    pub worker: String,
    pub started_at: Timestamp,
    /// How long the run has been going on, by a clock that nobody can set.
    pub elapsed_ms: u64,
    /// How many workers the run has.
    pub jobs: u32,
    /// The settings file as it was when the run began: an agent may have written another meanwhile.
    pub config: String,
}

/// One line that a worker prints.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerMessage {
    Event(Box<RunEvent>),
    /// The last one.
    Ended(WorkerEnd),
}

/// Why a worker ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkerEnd {
    pub exit_code: u8,
    pub reason: String,
    pub hint: Option<String>,
}

impl WorkerEnd {
    pub fn new(exit: RunExit, reason: String, hint: Option<String>) -> Self {
        Self { exit_code: exit.code(), reason, hint }
    }

    pub(super) fn exit(&self) -> RunExit {
        let known = RunExit::ALL.into_iter().find(|exit| exit.code() == self.exit_code);
        known.unwrap_or(RunExit::Error)
    }

    /// How early in the order of exit codes it comes.
    pub(super) fn rank(&self) -> usize {
        RunExit::ALL.iter().position(|exit| exit.code() == self.exit_code).unwrap_or(0)
    }

    pub(super) fn stop(self) -> StopRun {
        let stop = StopRun::new(self.exit(), self.reason);
        StopRun { hint: self.hint, ..stop }
    }

    /// Whether it says something about the whole run, so that no worker is to begin anything more.
    pub(super) fn ends_the_run(&self) -> bool {
        match self.exit() {
            RunExit::Interrupted(_)
            | RunExit::Error
            | RunExit::Usage
            | RunExit::NoPlan
            | RunExit::Aborted => true,
            // Others find out for themselves when they look at the store.
            RunExit::BreakerOpen | RunExit::Finished | RunExit::Limit | RunExit::NothingToRun => false,
        }
    }
}

/// Orders to a worker, one byte each on its standard input.
pub const DRAIN: u8 = b'd';
pub const INTERRUPT: u8 = b'i';
pub const TERMINATE: u8 = b't';

pub(super) fn order(signal: Signal) -> u8 {
    match signal {
        Signal::Interrupt => INTERRUPT,
        Signal::Terminate => TERMINATE,
    }
}

/// Whether a worker is to begin no further attempt.
#[derive(Clone, Debug, Default)]
pub struct Drain(Arc<AtomicBool>);

impl Drain {
    pub fn ask(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
