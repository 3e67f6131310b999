//! The gates of a run: the task's own command, asked before and after the agent.

use std::collections::BTreeSet;
use std::ffi::OsString;

use super::fix_tasks::SAID;
use super::readiness::told_gate_fix;
use super::run_context::{RunContext, shown_command};
use super::run_end::{Result, millis};
use super::state_md_sync::StateMd;
use crate::decide::{claims_done, gave_no_signal};
use crate::diagnose::comparable;
use crate::event::{EventKind, TaskRef};
use crate::evidence::{GateResult, Session};
use crate::gate::{self, Gate, GateProgress};
use crate::model::{GateOutcome, GateRecord, Task};
use crate::store::Claimed;

#[derive(Default)]
pub(super) struct Gates {
    /// Programs that broke a gate in this run.
    missing_programs: BTreeSet<String>,
    accept_green_told: bool,
}

impl Gates {
    /// Runs the gate where the agent says the task is done or says nothing.
    pub(super) fn run_after_agent(
        &self,
        run: &mut RunContext<'_>,
        state_md: &mut StateMd,
        claimed: &Claimed,
        session: &Session,
    ) -> Result<Option<GateResult>> {
        let wanted = claims_done(session) || gave_no_signal(session);
        let Some(command) = gate_of(run, claimed).filter(|_| wanted) else {
            return Ok(None);
        };
        let retries = run.settings.gate.retries;
        Ok(Some(match run.run_gate(claimed, &command, retries, Some(state_md))? {
            GateResult::Ran(record) => GateResult::Ran(failed_differently_if_fixed(run, claimed, record)?),
            not_run => not_run,
        }))
    }

    /// The gate before an attempt, where the settings want that. One that is green before the first attempt proves nothing
    /// afterwards; people should know. Where a green gate can stand for a signal, it is run before every attempt.
    pub(super) fn precheck(&self, run: &mut RunContext<'_>, claimed: &Claimed) -> Result<Option<GateResult>> {
        let settings = &run.settings.gate;
        let is_first = claimed.attempts.counted == 0;
        let wanted = settings.accept_green || (settings.precheck && is_first);
        let Some(command) = gate_of(run, claimed).filter(|_| wanted) else {
            return Ok(None);
        };
        let result = run.run_gate(claimed, &command, 0, None)?;
        if is_first && matches!(&result, GateResult::Ran(gate) if gate.outcome == GateOutcome::Passed) {
            let task = TaskRef::from(&claimed.task);
            run.tell(EventKind::GateGreenBefore { task, command: shown_command(&command) })?;
        }
        Ok(Some(result))
    }

    pub(super) fn note_broken(&mut self, run: &RunContext<'_>, claimed: &Claimed) {
        let command = gate_of(run, claimed).unwrap_or_default();
        let problem = gate::sure_to_break(&command, run.work_tree, &[]);
        self.missing_programs.extend(problem.and_then(|problem| problem.program));
    }

    /// Why no attempt is made on a task: it was added during the run without the gate that the settings require, or its gate
    /// needs a program that broke another gate of this run, is still missing, and is not what the task is about.
    pub(super) fn cannot_run(&self, run: &RunContext<'_>, claimed: &Claimed) -> Result<Option<String>> {
        let Some(command) = gate_of(run, claimed) else {
            let name = claimed.task.name();
            let reason = format!(
                "gates are required, but this task has none; add one (`ralph task edit {name} --verify CMD`), then \
                 `ralph run {name}`"
            );
            return Ok(Some(reason).filter(|_| run.settings.gate.require));
        };
        let texts = run.task_texts(&claimed.task)?;
        let problem = gate::sure_to_break(&command, run.work_tree, &texts);
        let is_known = |program: &String| self.missing_programs.contains(program);
        let problem = problem.filter(|problem| problem.program.as_ref().is_some_and(is_known));
        Ok(problem.map(|gate::Broken { why, fix, .. }| {
            let (command, fix) = (shown_command(&command), told_gate_fix(&claimed.task, &fix));
            format!("the gate `{command}` cannot run: {why}; {fix}")
        }))
    }

    /// Tells people once how a gate that passes can stand for a forgotten signal.
    pub(super) fn tell_of_accept_green(&mut self, run: &mut RunContext<'_>) -> Result {
        if self.accept_green_told || run.settings.gate.accept_green {
            return Ok(());
        }
        self.accept_green_told = true;
        run.warn(
            "an attempt passed its gate but ended without reporting a result; to count such attempts as done: ralph \
             config set run.accept_green true",
        )
    }
}

/// The task's gate, else the project's; none when gates are off.
fn gate_of(run: &RunContext<'_>, claimed: &Claimed) -> Option<String> {
    let settings = &run.settings.gate;
    let own = claimed.task.verify.as_ref().or(settings.verify.as_ref());
    own.filter(|_| settings.enabled).cloned()
}

/// A fix task has done its work when its original's gate fails in another way than before.
fn failed_differently_if_fixed(
    run: &RunContext<'_>,
    claimed: &Claimed,
    record: GateRecord,
) -> Result<GateRecord> {
    if record.outcome != GateOutcome::Failed {
        return Ok(record);
    }
    let Some(link) = run.store.fix_link(&claimed.task.id)? else {
        return Ok(record);
    };
    let now = record.diagnosis.fingerprint.as_ref().map(|it| &it.coarse);
    let before = link.coarse.as_ref();
    // A fingerprint of an older version cannot show that the failure is another one.
    let unknown = before.zip(now).is_some_and(|(a, b)| !a.starts_with(SAID) && !comparable(a, b));
    let headline = record.headline().unwrap_or_default();
    let error = link.error.as_deref().map(str::trim).filter(|error| !error.is_empty());
    let said = error.is_some_and(|error| record.output_tail.contains(error) || headline.contains(error));
    if unknown || before == now || said {
        return Ok(record);
    }
    Ok(GateRecord { outcome: GateOutcome::FailedDifferently, ..record })
}

impl RunContext<'_> {
    /// The variables of what Ralph runs for a task beside agents.
    pub(super) fn child_variables(&self, claimed: &Claimed) -> Vec<(String, OsString)> {
        let key = claimed.task.key.as_ref().map_or("", |key| key.as_str());
        vec![
            ("RALPH_TASK_ID".into(), claimed.task.id.as_str().into()),
            ("RALPH_TASK_KEY".into(), key.into()),
            ("RALPH_RUN_ID".into(), self.id.as_str().into()),
            ("RALPH_PROJECT".into(), self.project.root().into()),
        ]
    }

    /// All that may name what a task is to write. A fix task is to write what its original is.
    fn task_texts(&self, task: &Task) -> Result<Vec<String>> {
        let mut texts = gate::task_texts(task);
        let link = self.store.fix_link(&task.id)?;
        if let Some(original) = link.and_then(|link| link.original) {
            texts.extend(gate::task_texts(&self.store.task(original.as_str())?));
        }
        Ok(texts)
    }

    /// Runs a gate. `state_md` is the page that shows the attempt which the gate belongs to.
    pub(super) fn run_gate(
        &mut self,
        claimed: &Claimed,
        command: &str,
        retries: u32,
        mut state_md: Option<&mut StateMd>,
    ) -> Result<GateResult> {
        let gate = Gate {
            command,
            dir: self.work_tree,
            env: self.child_variables(claimed),
            timeout: self.settings.gate.timeout,
            grace: self.settings.grace,
            retries,
            task_texts: self.task_texts(&claimed.task)?,
        };
        let task = TaskRef::from(&claimed.task);
        let interrupt = self.interrupt.clone();
        let started = self.clock.now();
        // What a gate writes belongs to no attempt.
        self.files_may_have_changed();
        self.gate_ran = true;
        let mut guard = self.take_guard()?;
        let mut on_progress = |progress| match progress {
            GateProgress::Tick => {
                self.beat();
                state_md.iter_mut().for_each(|page| page.show_attempt(self));
            }
            GateProgress::Started { run } => {
                self.show(EventKind::GateStarted {
                    task: task.clone(),
                    command: shown_command(command),
                    run,
                });
            }
        };
        let result = gate::run(&gate, guard.as_mut(), &interrupt, &mut on_progress);
        self.return_guard(guard)?;
        let result = result.unwrap_or_else(|error| GateResult::NotStarted(error.to_string()));
        if let GateResult::Ran(record) = &result {
            // Stored at once: should this process die before the attempt is recorded, the gate's word is known.
            self.tell(EventKind::GateFinished {
                task,
                outcome: record.outcome,
                flaky: record.flaky,
                duration_ms: millis(self.clock.now().since(started)),
            })?;
        }
        Ok(result)
    }
}
