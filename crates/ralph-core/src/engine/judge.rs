//! Gate: asking the task's own command, before and after the agent.

use std::ffi::OsString;

use super::run::{EngineError, Run, millis};
use super::session::Session;
use crate::decide::{claims_done, gave_no_signal};
use crate::event::{EventKind, TaskRef};
use crate::evidence::GateView;
use crate::gate::{self, Gate, GateProgress, GateResult, Unready};
use crate::model::{GateOutcome, GateRecord, GitRecord, Task};
use crate::signals::Signals;
use crate::store::Claimed;

impl Run<'_, '_> {
    /// The gate, where the agent says the task is done or says nothing.
    pub(super) fn judge(
        &mut self,
        claimed: &Claimed,
        session: &Session,
        signals: &Signals,
        git: &GitRecord,
    ) -> Result<Judged, EngineError> {
        let Some(command) = self.gate_of(claimed) else {
            return Ok(Judged::Absent);
        };
        let (stop, report) = (session.stop, &session.report);
        if !claims_done(stop, report, signals) && !gave_no_signal(stop, report, signals) {
            return Ok(Judged::NotRun);
        }
        let retries = self.engine.settings.gate.retries;
        match self.run_gate(claimed, &command, retries)? {
            GateResult::Interrupted => Ok(Judged::Interrupted),
            GateResult::NotStarted(why) => Ok(Judged::NotStarted(why)),
            GateResult::Ran(record) => {
                let record = self.mended(claimed, record)?;
                let changed = git.files_changed.as_deref().unwrap_or_default();
                Ok(Judged::Ran(GateRecord {
                    touched: gate::touched(&command, changed),
                    ..record
                }))
            }
        }
    }

    /// A fix task has done its work when its original's gate fails in another way than before.
    fn mended(&self, claimed: &Claimed, record: GateRecord) -> Result<GateRecord, EngineError> {
        if record.outcome != GateOutcome::Failed {
            return Ok(record);
        }
        let Some(link) = self.engine.store.fix_link(&claimed.task.id)? else {
            return Ok(record);
        };
        let coarse = record.diagnosis.fingerprint.as_ref().map(|it| &it.coarse);
        let same = link.coarse.as_ref() == coarse;
        let headline = record.headline();
        let said = |error: &String| {
            let error = error.trim();
            let is_said = |text: &str| text.contains(error);
            !error.is_empty()
                && (is_said(&record.output_tail) || headline.as_deref().is_some_and(is_said))
        };
        if same || link.error.as_ref().is_some_and(said) {
            return Ok(record);
        }
        let note = "\n(Ralph: the gate fails with a different error now, so the original failure is fixed.)";
        Ok(GateRecord {
            outcome: GateOutcome::Passed,
            output_tail: format!("{}{note}", record.output_tail),
            ..record
        })
    }

    /// The task's gate, else the project's; none when gates are off.
    fn gate_of(&self, claimed: &Claimed) -> Option<String> {
        let settings = &self.engine.settings.gate;
        let own = claimed.task.verify.as_ref().or(settings.verify.as_ref());
        own.filter(|_| settings.enabled).cloned()
    }

    /// Remembers which programs a broken gate needs.
    pub(super) fn note_broken_gate(&mut self, claimed: &Claimed) {
        let Some(command) = self.gate_of(claimed) else {
            return;
        };
        let gates = std::iter::once((claimed.task.name(), command.as_str()));
        for unready in gate::unready(gates, self.engine.work_tree) {
            self.missing_programs.extend(unready.problem.program);
        }
    }

    /// Why no attempt is made on a task: its gate needs a program that has broken another gate of this run and is still
    /// missing.
    pub(super) fn gate_still_broken(&self, claimed: &Claimed) -> Option<String> {
        if self.missing_programs.is_empty() {
            return None;
        }
        let command = self.gate_of(claimed)?;
        let gates = std::iter::once((claimed.task.name(), command.as_str()));
        let known = |unready: &Unready| {
            let program = unready.problem.program.as_ref();
            program.is_some_and(|program| self.missing_programs.contains(program))
        };
        let unready = gate::unready(gates, self.engine.work_tree);
        let problem = unready.into_iter().find(known)?.problem;
        let command = crate::text::code_line(&command, COMMAND_CHARS);
        let fix = told_gate_fix(&claimed.task, &problem.fix);
        Some(format!(
            "the gate `{command}` cannot run: {}; {fix}",
            problem.why
        ))
    }

    /// The variables of what Ralph runs for a task beside agents.
    pub(super) fn child_variables(&self, claimed: &Claimed) -> Vec<(String, OsString)> {
        let key = claimed.task.key.as_ref().map_or("", |key| key.as_str());
        vec![
            ("RALPH_TASK_ID".into(), claimed.task.id.as_str().into()),
            ("RALPH_TASK_KEY".into(), key.into()),
            ("RALPH_RUN_ID".into(), self.id.as_str().into()),
            ("RALPH_PROJECT".into(), self.engine.project.root().into()),
        ]
    }

    /// All that may name what a task is to write. A fix task is to write what its original is.
    fn task_texts(&self, task: &Task) -> Result<Vec<String>, EngineError> {
        let mut texts = gate::task_texts(task);
        let link = self.engine.store.fix_link(&task.id)?;
        if let Some(original) = link.and_then(|link| link.original) {
            texts.extend(gate::task_texts(
                &self.engine.store.task(original.as_str())?,
            ));
        }
        Ok(texts)
    }

    /// Runs a gate to its end and tells of it.
    pub(super) fn run_gate(
        &mut self,
        claimed: &Claimed,
        command: &str,
        retries: u32,
    ) -> Result<GateResult, EngineError> {
        let work_tree = self.engine.work_tree;
        let gate = Gate {
            command,
            dir: work_tree,
            env: self.child_variables(claimed),
            timeout: self.engine.settings.gate.timeout,
            grace: self.engine.settings.grace,
            retries,
            task_texts: self.task_texts(&claimed.task)?,
        };
        let task = TaskRef::from(&claimed.task);
        let interrupt = self.engine.interrupt.clone();
        let started = self.engine.clock.now();
        // What a gate writes belongs to no attempt: the next one takes a fresh look.
        self.tree = None;
        self.plan_files.gate_ran = true;
        let mut guard = self.take_guard()?;
        let mut look_on = |progress| match progress {
            GateProgress::Tick => self.beat(),
            GateProgress::Started { run } => {
                self.show(EventKind::GateStarted {
                    task: task.clone(),
                    command: crate::text::code_line(command, COMMAND_CHARS),
                    run,
                });
            }
        };
        let result = gate::run(&gate, guard.as_mut(), &interrupt, &mut look_on);
        self.put_back(guard)?;
        let result = result.unwrap_or_else(|error| GateResult::NotStarted(error.to_string()));
        if let GateResult::Ran(record) = &result {
            let duration_ms = millis(self.engine.clock.now().since(started));
            // Stored at once: should this process die before the attempt is recorded, the gate's word is known.
            self.tell(EventKind::GateFinished {
                task,
                outcome: record.outcome,
                flaky: record.flaky,
                duration_ms,
            })?;
        }
        Ok(result)
    }

    /// A gate that is green before the first attempt proves nothing afterwards; people should know. Where a green gate can
    /// stand for a signal, it is run before every attempt.
    pub(super) fn precheck(&mut self, claimed: &Claimed) -> Result<Precheck, EngineError> {
        let settings = &self.engine.settings.gate;
        let is_first = claimed.tries.counted == 0;
        let wanted = settings.accept_green || (settings.precheck && is_first);
        if !wanted {
            return Ok(Precheck::NotMade);
        }
        let Some(command) = self.gate_of(claimed) else {
            return Ok(Precheck::NotMade);
        };
        match self.run_gate(claimed, &command, 0)? {
            GateResult::Interrupted => Ok(Precheck::Interrupted),
            // The gate after the attempt will say so too, and that one stops the run.
            GateResult::NotStarted(_) => Ok(Precheck::NotMade),
            GateResult::Ran(record) => {
                let green = record.outcome == GateOutcome::Passed;
                if green && is_first {
                    let task = TaskRef::from(&claimed.task);
                    let command = crate::text::code_line(&command, COMMAND_CHARS);
                    self.tell(EventKind::GateGreenBefore { task, command })?;
                }
                Ok(Precheck::Made { green })
            }
        }
    }
}

/// What to type about a gate that cannot run.
pub(super) fn told_gate_fix(task: &Task, fix: &str) -> String {
    let name = task.name();
    format!(
        "{fix}, or change the gate (`ralph task edit {name} --verify CMD`), then `ralph run {name}`"
    )
}

/// Characters of a gate's command in an event.
const COMMAND_CHARS: usize = 200;

/// What a look at the gate before the first attempt found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precheck {
    /// None was asked for.
    NotMade,
    /// Whether it passed.
    Made { green: bool },
    /// Ralph was told to stop meanwhile.
    Interrupted,
}

/// What came of the gate.
pub(super) enum Judged {
    Absent,
    NotRun,
    Ran(GateRecord),
    Interrupted,
    /// Its shell could not be started.
    NotStarted(String),
    /// The commit was held up by programs that appeared during the run, and no further attempt would do better.
    HeldUp {
        record: GateRecord,
        fix: String,
    },
    /// The work could not be committed, and neither the agent nor a hook is to blame.
    NotCommitted {
        why: String,
        remedy: String,
    },
}

impl Judged {
    pub(super) fn view(&self) -> GateView<'_> {
        match self {
            Self::Absent => GateView::Absent,
            Self::NotRun => GateView::NotRun,
            Self::Ran(record) | Self::HeldUp { record, .. } => GateView::Ran(record),
            Self::Interrupted => GateView::Interrupted,
            Self::NotStarted(why) => GateView::NotStarted(why),
            Self::NotCommitted { why, .. } => GateView::NotCommitted(why),
        }
    }

    pub(super) fn into_record(self) -> Option<GateRecord> {
        match self {
            Self::Ran(record) | Self::HeldUp { record, .. } => Some(record),
            Self::Absent
            | Self::NotRun
            | Self::Interrupted
            | Self::NotStarted(_)
            | Self::NotCommitted { .. } => None,
        }
    }
}
