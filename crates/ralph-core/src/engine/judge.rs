//! Gate: asking the task's own command, before and after the agent.

use std::ffi::OsString;

use super::run::{EngineError, Run, millis};
use super::session::Session;
use crate::decide::claims_done;
use crate::event::{EventKind, TaskRef};
use crate::evidence::GateView;
use crate::gate::{self, Gate, GateProgress, GateResult};
use crate::model::{GateOutcome, GateRecord, GitRecord};
use crate::signals::Signals;
use crate::store::Claimed;

impl Run<'_, '_> {
    /// The gate, where the agent says the task is done.
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
        if !claims_done(session.stop, &session.report, signals) {
            return Ok(Judged::NotRun);
        }
        let retries = self.engine.settings.gate.retries;
        match self.run_gate(claimed, &command, retries)? {
            GateResult::Interrupted => Ok(Judged::Interrupted),
            GateResult::Broken(why) => Ok(Judged::Broken(why)),
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
        let note =
            "\n(Ralph: it fails in another way than the failure to mend, so that one is mended.)";
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
        let result = result.unwrap_or_else(|error| GateResult::Broken(error.to_string()));
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

    /// A gate that is green before the first attempt proves nothing afterwards; people should know.
    pub(super) fn precheck(&mut self, claimed: &Claimed) -> Result<Precheck, EngineError> {
        if !self.engine.settings.gate.precheck || claimed.tries.counted > 0 {
            return Ok(Precheck::NotMade);
        }
        let Some(command) = self.gate_of(claimed) else {
            return Ok(Precheck::NotMade);
        };
        match self.run_gate(claimed, &command, 0)? {
            GateResult::Interrupted => Ok(Precheck::Interrupted),
            // The gate after the attempt will say so too, and that one stops the run.
            GateResult::Broken(_) => Ok(Precheck::NotMade),
            GateResult::Ran(record) => {
                let green = record.outcome == GateOutcome::Passed;
                if green {
                    let task = TaskRef::from(&claimed.task);
                    let command = crate::text::code_line(&command, COMMAND_CHARS);
                    self.tell(EventKind::GateGreenBefore { task, command })?;
                }
                Ok(Precheck::Made { green })
            }
        }
    }
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
    Broken(String),
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
            Self::Broken(why) => GateView::Broken(why),
            Self::NotCommitted { why, .. } => GateView::NotCommitted(why),
        }
    }

    pub(super) fn into_record(self) -> Option<GateRecord> {
        match self {
            Self::Ran(record) | Self::HeldUp { record, .. } => Some(record),
            Self::Absent
            | Self::NotRun
            | Self::Interrupted
            | Self::Broken(_)
            | Self::NotCommitted { .. } => None,
        }
    }
}
