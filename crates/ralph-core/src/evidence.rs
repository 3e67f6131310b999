//! What is known of an attempt, and what was made of it: the plain data that gate, capture and decide share.

use crate::agent::{AgentReport, Stop};
use crate::model::{ErrorType, GateRecord, Outcome};
use crate::signals::Signals;

/// What is known of an attempt when its session is over.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Why the process ended.
    pub stop: Stop,
    /// What its stream said.
    pub report: &'a AgentReport,
    /// What its final text signals.
    pub signals: &'a Signals,
    /// What the gate said.
    pub gate: GateView<'a>,
    /// Whether a gate that passed stands for a signal that was forgotten.
    pub green: Green,
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

/// What the gate said.
#[derive(Clone, Copy, Debug)]
pub enum GateView<'a> {
    /// There is none, or it is switched off.
    Absent,
    /// It was not run.
    NotRun,
    /// It ran.
    Ran(&'a GateRecord),
    /// Ralph was told to stop while it ran.
    Interrupted,
    /// Its shell could not be started.
    NotStarted(&'a str),
    /// It passed, but the surroundings did not let the work be committed.
    NotCommitted(&'a str),
}

/// How the attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// In a word.
    pub outcome: Outcome,
    /// More exactly.
    pub error_type: Option<ErrorType>,
    /// Whether it counts for or against the task.
    pub counted: bool,
    /// One line for people.
    pub message: Option<String>,
    /// The agent asked for the whole run to stop.
    pub abort: bool,
}
