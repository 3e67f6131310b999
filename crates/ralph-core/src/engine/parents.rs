//! Parents whose children are done: their own gate has the last word.

use super::finding::Finding;
use super::run::{EngineError, Run};
use crate::decide::gate_broken;
use crate::event::{EventKind, TaskRef};
use crate::evidence::Verdict;
use crate::gate::GateResult;
use crate::model::{
    DoneBy, ErrorType, GateOutcome, GitRecord, ModelChoice, NO_MODEL, Outcome, Token,
};
use crate::store::{Claimed, Purpose};

impl Run<'_, '_> {
    /// Runs the gates that are due, until none is: a parent's end may make its own parent's gate due. Returns how
    /// many were run.
    pub(super) fn settle_parents(&mut self) -> Result<u32, EngineError> {
        let mut settled = 0;
        while self.engine.interrupt.first().is_none() {
            let Some((claimed, token)) = self.claim(Purpose::ParentGate)? else {
                break;
            };
            let result = self.settle_parent(&claimed, &token);
            self.unless_moved(result)?;
            settled += 1;
        }
        Ok(settled)
    }

    fn settle_parent(&mut self, claimed: &Claimed, token: &Token) -> Result<(), EngineError> {
        let started_at = self.engine.clock.now();
        let task = TaskRef::from(&claimed.task);
        let command = claimed
            .task
            .verify
            .clone()
            .filter(|_| self.engine.settings.gate.enabled);
        let retries = self.engine.settings.gate.retries;
        let gate = match &command {
            None => None,
            Some(command) => match self.run_gate(claimed, command, retries)? {
                GateResult::NotStarted(why) => {
                    self.engine.store.release(&claimed.task.id, token)?;
                    return Err(EngineError::Gate {
                        task: task.name().to_owned(),
                        why,
                    });
                }
                GateResult::Interrupted => {
                    self.engine.store.release(&claimed.task.id, token)?;
                    return Ok(());
                }
                GateResult::Ran(record) => Some(record),
            },
        };
        let passed = gate
            .as_ref()
            .is_none_or(|gate| gate.outcome == GateOutcome::Passed);
        if passed {
            let event = self.event(EventKind::ParentGate { task, passed: true });
            let now = self.engine.clock.now();
            // Gates may be switched off for this run.
            let by = gate.map_or(DoneBy::Children, |_| DoneBy::Gate);
            self.engine
                .store
                .complete_parent(&claimed.task.id, token, by, &event, now)?;
            self.engine.observer.event(&event);
            return self.show_progress();
        }
        self.tell(EventKind::ParentGate {
            task,
            passed: false,
        })?;
        let broken = gate
            .as_ref()
            .filter(|gate| gate.outcome == GateOutcome::Broken);
        let verdict = match broken {
            Some(gate) => gate_broken(gate),
            None => Verdict {
                outcome: Outcome::Failed,
                error_type: Some(ErrorType::TestFailure),
                counted: true,
                message: Some("the children are done, but the task's own gate failed".into()),
                abort: false,
            },
        };
        // A failure would count as an attempt, and the task has used up all it may have.
        if verdict.counted
            && let Some((reason, end)) = self.used_up(&claimed.task)?
        {
            return self.block(claimed, token, &reason, end.as_ref());
        }
        let choice = ModelChoice {
            model: NO_MODEL.into(),
            rationale: "the task's own gate".into(),
        };
        let finding =
            Finding::of_parent_gate(choice, started_at, gate, GitRecord::default(), verdict);
        self.store_finding(claimed, token, finding)?;
        Ok(())
    }
}
