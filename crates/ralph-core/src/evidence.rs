//! What is known of an attempt, and what was made of it: the plain data that gate, capture and decide share.

use crate::agent::{AgentReport, Stop};
use crate::model::{ErrorType, FailureClass, GateRecord, Outcome};
use crate::signals::Signals;

/// What is known of an attempt when its session is over.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    pub stop: Stop,
    pub report: &'a AgentReport,
    pub signals: &'a Signals,
    pub gate: GateView<'a>,
    /// Whether a gate that passed stands for a signal that was forgotten.
    pub green: Green,
    /// Why work that is done is not on its branch or not committed.
    pub commit_failure: Option<&'a CommitFailure>,
}

impl Evidence<'_> {
    /// The check that decided, as people and agents are told of it: a refused commit, else the gate.
    pub fn check(&self) -> Option<&GateRecord> {
        match (self.commit_failure, self.gate) {
            (Some(CommitFailure::Refused { check, .. }), _) => Some(check),
            (None, GateView::Ran(gate)) => Some(gate),
            _ => None,
        }
    }
}

/// Why the work of a done task is not where it belongs: on its branch, in a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitFailure {
    Interrupted,
    /// Neither the agent nor a hook is to blame, and no further attempt would do better.
    GitFault {
        why: String,
        remedy: String,
    },
    Refused {
        check: GateRecord,
        /// What a person can do about a program that appeared during the run.
        fix: Option<String>,
    },
}

/// What a gate proves that passes after an attempt without a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Green {
    /// Nothing: only the signal counts.
    #[default]
    Ignored,
    /// That the task is done: the settings say so, and it did not pass before the attempt.
    Accepted,
}

#[derive(Clone, Copy, Debug)]
pub enum GateView<'a> {
    /// There is none, it is switched off, or the attempt gave no reason to run it.
    NotRun,
    Ran(&'a GateRecord),
    /// Ralph was told to stop while it ran.
    Interrupted,
    /// Its shell could not be started.
    NotStarted(&'a str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub outcome: Outcome,
    pub error_type: Option<ErrorType>,
    pub message: Option<String>,
    /// The agent asked for the whole run to stop.
    pub abort: bool,
}

impl Verdict {
    pub fn new(outcome: Outcome, error_type: ErrorType, message: &str) -> Self {
        Self { outcome, error_type: Some(error_type), message: Some(message.to_owned()), abort: false }
    }

    pub fn done() -> Self {
        Self { outcome: Outcome::Done, error_type: None, message: None, abort: false }
    }

    /// Whether it counts for or against the task: what is nobody's fault but the surroundings' does not. Of attempts whose
    /// process died only every few count, which [`crate::decide::settle`] decides.
    pub fn counts(&self) -> bool {
        let fault = |error: &ErrorType| error.class() == FailureClass::AgentFault;
        self.outcome != Outcome::Error || self.error_type.as_ref().is_none_or(fault)
    }

    pub fn is_failure(&self) -> bool {
        self.counts() && self.outcome != Outcome::Done
    }
}
