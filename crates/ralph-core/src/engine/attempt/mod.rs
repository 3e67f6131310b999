//! One attempt, stage by stage: prepare (budget, context, hook), begin (the tree, the log, the record), work (agent,
//! signals, gate, commit), conclude (verdict, roll-back, capture, decide).

mod begin;
mod conclude;
mod prepare;
mod work;

use prepare::Prepared;

use super::next::Step;
use super::run::{EngineError, Run};
use crate::model::Token;
use crate::store::Claimed;

/// A claimed task, and the proof that it is ours.
struct Task<'c> {
    claimed: &'c Claimed,
    token: &'c Token,
}

impl Task<'_> {
    /// The number of the try, uncounted ones included.
    fn number(&self) -> u32 {
        self.claimed.tries.recorded + 1
    }
}

impl Run<'_, '_> {
    /// Makes one attempt on a claimed task.
    pub(super) fn attempt(&mut self, claimed: Claimed, token: Token) -> Result<Step, EngineError> {
        let task = Task {
            claimed: &claimed,
            token: &token,
        };
        let ready = match self.prepare(&task)? {
            Prepared::Ready(ready) => *ready,
            Prepared::NotMade(step) => return Ok(step),
        };
        let (begun, log) = self.begin(&task, &ready)?;
        self.at_work = true;
        self.attempt_begins();
        let worked = self.work(&task, &ready, &begun, log);
        self.at_work = false;
        let worked = worked?;
        self.conclude(&task, ready, begun, worked)
    }
}
