//! Parents whose children are done: their own gate has the last word.

use super::attempt_record::AttemptResult;
use super::fix_tasks::attempts_used_up;
use super::gate_runs::Purpose as GatePurpose;
use super::readiness::told_gate_fix;
use super::run::Run;
use super::run_end::{EngineError, Result};
use super::settings::TaskGate;
use crate::decide::{compared, of_gates, parent_verdict};
use crate::event::{EventKind, TaskRef};
use crate::evidence::GateResult;
use crate::model::{Attempt, DoneBy, GateOf, NO_MODEL};
use crate::store::{Claimed, Purpose};

impl Run<'_> {
    /// Runs the gates that are due, until none is: a parent's end may make its own parent's gate due. Returns how
    /// many were run.
    pub(super) fn settle_parents(&mut self) -> Result<u32> {
        let mut settled = 0;
        while self.context.interrupt.first().is_none() && self.context.store.has_gate_due()? {
            let Some(claimed) = self.context.claim(Purpose::ParentGate)? else { break };
            let result = self.settle_parent(&claimed);
            self.context.unless_moved(result)?;
            settled += 1;
        }
        Ok(settled)
    }

    fn settle_parent(&mut self, claimed: &Claimed) -> Result {
        self.tree.bring_to_tip(&mut self.context)?;
        let run = &mut self.context;
        let started_at = run.clock.now();
        let task = TaskRef::from(&claimed.task);
        let own = claimed.task.verify.clone().filter(|_| run.settings.gate.enabled);
        let own = own.map(|command| TaskGate { of: GateOf::Task, command });
        let purpose = GatePurpose::Verdict(run.settings.gate.timeout, None);
        let gate = match &own {
            None => None,
            Some(gate) => match run.run_gate(claimed, gate, purpose, &mut self.state_md)? {
                GateResult::Ran(record) => {
                    // A task that was split may have been attempted before.
                    let before = run.store.task_baseline(&claimed.task.id, &gate.command)?;
                    Some(compared(record, before.as_ref()))
                }
                GateResult::Interrupted => return run.release(claimed),
                GateResult::NotStarted(why) => {
                    run.release(claimed)?;
                    return Err(EngineError::Gate { task: task.name().to_owned(), why }.into());
                }
            },
        };
        let Some(gate) = gate.as_ref().filter(|gate| !gate.passed()) else {
            // Gates may be switched off for this run.
            let by = gate.as_ref().map_or(DoneBy::Children, |_| DoneBy::Gate);
            let verification = of_gates(true, gate.iter());
            let (id, now) = (&claimed.task.id, run.clock.now());
            run.tell_with(EventKind::ParentGate { task, passed: true }, |store, event| {
                store.complete_parent(id, &claimed.token, by, &verification, event, now)
            })?;
            return run.show_progress();
        };
        run.tell(EventKind::ParentGate { task, passed: false })?;
        let verdict = parent_verdict(gate);
        // A failure would count as an attempt, and the task has used up all it may have.
        if verdict.counts()
            && let Some((reason, end)) = attempts_used_up(run, &claimed.task)?
        {
            return run.block(claimed, &reason, end.as_ref());
        }
        let attempt = Attempt {
            model: NO_MODEL.into(),
            rationale: Some("the task's own gate".into()),
            ..Attempt::new(&claimed.task, started_at)
        };
        let mut result = AttemptResult::of_parent_gate(attempt, Some(gate), verdict);
        let fix = gate.fix.as_deref();
        result.needs_person = fix.map(|fix| told_gate_fix(&claimed.task, fix));
        self.record(claimed, result).map(drop)
    }
}
