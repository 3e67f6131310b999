//! What keeps agents from acting in a person's name: who holds claims, which processes are hooks, which gates changed.

use super::{Owner, Result};
use crate::event::TaskRef;

/// Processes that decide whether a command was called from inside an attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtWork {
    /// Who holds claims.
    pub claim_holders: Vec<Owner>,
    /// Hooks and notify commands that run.
    pub hooks: Vec<Owner>,
}

/// A change of a task's gate.
#[derive(Clone, Debug, PartialEq)]
pub struct GateChange {
    /// Its number; later ones have higher ones.
    pub id: i64,
    /// The task.
    pub task: TaskRef,
    /// The command before.
    pub before: Option<String>,
    /// The command from then on.
    pub after: Option<String>,
}

/// Hooks and gates.
pub trait SafetyStore {
    /// Who is at work on this project.
    fn at_work(&self) -> Result<AtWork>;
    /// Notes a hook or a notify command before it can do anything.
    fn note_hook(&mut self, process: &Owner) -> Result<()>;
    /// It has ended.
    fn forget_hook(&mut self, process: &Owner) -> Result<()>;
    /// The number of the last change of a gate; 0 where there is none.
    fn last_gate_change(&self) -> Result<i64>;
    /// Changes of gates after that one, in order.
    fn gate_changes(&self, after: i64) -> Result<Vec<GateChange>>;
}
