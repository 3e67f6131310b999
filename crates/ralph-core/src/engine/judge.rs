//! Gate: asking the task's own command, before and after the agent.

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
            GateResult::Ran(record) => {
                let changed = git.files_changed.as_deref().unwrap_or_default();
                Ok(Judged::Ran(GateRecord {
                    touched: gate::touched(&command, changed),
                    ..record
                }))
            }
        }
    }

    /// The task's gate, else the project's; none when gates are off.
    fn gate_of(&self, claimed: &Claimed) -> Option<String> {
        let settings = &self.engine.settings.gate;
        let own = claimed.task.verify.as_ref().or(settings.verify.as_ref());
        own.filter(|_| settings.enabled).cloned()
    }

    /// Runs a gate to its end and tells of it. A shell that cannot be started is a gate that does not pass.
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
            env: vec![
                ("RALPH_TASK_ID".into(), claimed.task.id.to_string()),
                (
                    "RALPH_TASK_KEY".into(),
                    claimed
                        .task
                        .key
                        .as_ref()
                        .map(|k| k.to_string())
                        .unwrap_or_default(),
                ),
                ("RALPH_RUN_ID".into(), self.id.to_string()),
                (
                    "RALPH_PROJECT".into(),
                    self.engine.project.root().display().to_string(),
                ),
            ],
            timeout: self.engine.settings.gate.timeout,
            grace: self.engine.settings.grace,
            retries,
        };
        let task = TaskRef::from(&claimed.task);
        let interrupt = self.engine.interrupt.clone();
        let started = self.engine.clock.now();
        // What a gate writes belongs to no attempt: the next one takes a fresh look.
        self.tree = None;
        let result = gate::run(&gate, &interrupt, &mut |progress| match progress {
            GateProgress::Tick => self.beat(),
            GateProgress::Started { run } => {
                self.show(EventKind::GateStarted {
                    task: task.clone(),
                    command: command.to_owned(),
                    run,
                });
            }
        });
        let result = result.unwrap_or_else(|error| {
            GateResult::Ran(GateRecord {
                command: crate::text::one_line(command, 80),
                outcome: GateOutcome::Failed,
                ended: error.to_string(),
                flaky: false,
                output_tail: String::new(),
                touched: Vec::new(),
            })
        });
        if let GateResult::Ran(record) = &result {
            let duration_ms = millis(self.engine.clock.now().since(started));
            let (outcome, flaky) = (record.outcome, record.flaky);
            if flaky {
                self.tell(EventKind::GateFinished {
                    task,
                    outcome,
                    flaky,
                    duration_ms,
                })?;
            } else {
                self.show(EventKind::GateFinished {
                    task,
                    outcome,
                    flaky,
                    duration_ms,
                });
            }
        }
        Ok(result)
    }

    /// A gate that is green before the first attempt proves nothing afterwards; people should know.
    pub(super) fn precheck(&mut self, claimed: &Claimed) -> Result<Option<bool>, EngineError> {
        if !self.engine.settings.gate.precheck || claimed.tries.counted > 0 {
            return Ok(None);
        }
        let Some(command) = self.gate_of(claimed) else {
            return Ok(None);
        };
        match self.run_gate(claimed, &command, 0)? {
            GateResult::Interrupted => Ok(None),
            GateResult::Ran(record) => {
                let green = record.outcome == GateOutcome::Passed;
                if green {
                    let task = TaskRef::from(&claimed.task);
                    self.tell(EventKind::GateGreenBefore { task, command })?;
                }
                Ok(Some(green))
            }
        }
    }
}

/// What came of the gate.
pub(super) enum Judged {
    Absent,
    NotRun,
    Ran(GateRecord),
    Interrupted,
}

impl Judged {
    pub(super) fn view(&self) -> GateView<'_> {
        match self {
            Self::Absent => GateView::Absent,
            Self::NotRun => GateView::NotRun,
            Self::Ran(record) => GateView::Ran(record),
            Self::Interrupted => GateView::Interrupted,
        }
    }

    pub(super) fn into_record(self) -> Option<GateRecord> {
        match self {
            Self::Ran(record) => Some(record),
            Self::Absent | Self::NotRun | Self::Interrupted => None,
        }
    }
}
