//! Parents whose children are done: their own gate has the last word.

use super::attempt_record::AttemptResult;
use super::fix_tasks::attempts_used_up;
use super::readiness::told_gate_fix;
use super::run::Run;
use super::run_end::EngineError;
use crate::decide::gate_broken;
use crate::event::{EventKind, TaskRef};
use crate::evidence::Verdict;
use crate::gate::GateResult;
use crate::model::{Attempt, DoneBy, ErrorType, GateOutcome, NO_MODEL, Outcome, Token};
use crate::store::{Claimed, Purpose};

impl Run<'_> {
    /// Runs the gates that are due, until none is: a parent's end may make its own parent's gate due. Returns how
    /// many were run.
    pub(super) fn settle_parents(&mut self) -> Result<u32, EngineError> {
        let mut settled = 0;
        while self.context.interrupt.first().is_none() {
            let Some((claimed, token)) = self.context.claim(Purpose::ParentGate)? else {
                break;
            };
            let result = self.settle_parent(&claimed, &token);
            self.context.unless_moved(result)?;
            settled += 1;
        }
        Ok(settled)
    }

    fn settle_parent(&mut self, claimed: &Claimed, token: &Token) -> Result<(), EngineError> {
        let started_at = self.context.clock.now();
        let task = TaskRef::from(&claimed.task);
        let command = claimed.task.verify.clone().filter(|_| self.context.settings.gate.enabled);
        let retries = self.context.settings.gate.retries;
        let gate = match &command {
            None => None,
            Some(command) => match self.context.run_gate(claimed, command, retries)? {
                GateResult::NotStarted(why) => {
                    self.context.store.release(&claimed.task.id, token)?;
                    return Err(EngineError::Gate { task: task.name().to_owned(), why });
                }
                GateResult::Interrupted => {
                    self.context.store.release(&claimed.task.id, token)?;
                    return Ok(());
                }
                GateResult::Ran(record) => Some(record),
            },
        };
        let passed = gate.as_ref().is_none_or(|gate| gate.outcome == GateOutcome::Passed);
        if passed {
            let event = self.context.event(EventKind::ParentGate { task, passed: true });
            let now = self.context.clock.now();
            // Gates may be switched off for this run.
            let by = gate.map_or(DoneBy::Children, |_| DoneBy::Gate);
            self.context.store.complete_parent(&claimed.task.id, token, by, &event, now)?;
            self.context.observer.event(&event);
            return self.context.show_progress();
        }
        self.context.tell(EventKind::ParentGate { task, passed: false })?;
        let broken = gate.as_ref().filter(|gate| gate.outcome == GateOutcome::Broken);
        let verdict = match broken {
            Some(gate) => gate_broken(gate),
            None => Verdict {
                outcome: Outcome::Failed,
                error_type: Some(ErrorType::TestFailure),
                message: Some("all subtasks are done, but the gate failed".into()),
                abort: false,
            },
        };
        // A failure would count as an attempt, and the task has used up all it may have.
        if verdict.counts()
            && let Some((reason, end)) = attempts_used_up(&self.context, &claimed.task)?
        {
            return self.context.block(claimed, token, &reason, end.as_ref());
        }
        let attempt = Attempt {
            model: NO_MODEL.into(),
            rationale: Some("the task's own gate".into()),
            ..Attempt::new(&claimed.task, started_at)
        };
        let mut result = AttemptResult::of_parent_gate(attempt, gate.as_ref(), verdict);
        let fix = gate.as_ref().and_then(|gate| gate.fix.as_deref());
        result.needs_person = fix.map(|fix| told_gate_fix(&claimed.task, fix));
        self.record(claimed, token, result)?;
        Ok(())
    }
}
