//! STATE.md: where the run stands, for people who look into the project.

use std::io;
use std::time::Duration;

use super::run::{EngineError, Run};
use crate::analysis::Analysis;
use crate::event::EventKind;
use crate::files::{Links, Lock, open, recover, write_whole};
use crate::model::{Outcome, Timestamp};
use crate::state_md::{Counts, HistoryRow, RunView, StateView, TaskView, render};
use crate::store::{BreakerState, Scope};

/// The page, in Ralph's own directory.
pub(super) const STATE_MD: &str = "STATE.md";
/// Rows of the history table.
const ROWS: u32 = 15;
/// How long another run's turn is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// Written no more often than this while attempts go on; pauses and the end are always written.
const BETWEEN: Duration = Duration::from_secs(1);

impl Run<'_, '_> {
    /// After an attempt, unless the page is fresh.
    pub(super) fn refresh_state(&mut self) -> Result<(), EngineError> {
        let now = self.engine.clock.now();
        if self.state_written.is_some_and(|at| now.since(at) < BETWEEN) {
            return Ok(());
        }
        self.write_state(None)
    }

    /// Writes the page. A page that cannot be written is told of once and stops nothing.
    pub(super) fn write_state(&mut self, analysis: Option<&Analysis>) -> Result<(), EngineError> {
        self.write_state_as("running", analysis)
    }

    /// The same, with how the run stands.
    pub(super) fn write_state_as(
        &mut self,
        status: &str,
        analysis: Option<&Analysis>,
    ) -> Result<(), EngineError> {
        let first = self.state_written.is_none();
        self.state_written = Some(self.engine.clock.now());
        if let Some(analysis) = analysis {
            self.analysis = Some(analysis.lines());
        }
        let breaker = self.engine.store.breaker()?;
        if breaker.state == BreakerState::Closed && breaker.failures == 0 {
            // What it was about is over.
            self.analysis = None;
        }
        let text = render(&self.state_view(status)?);
        let written = self.replace_state(&text, first);
        if let Err(error) = written
            && !self.state_fault_told
        {
            self.state_fault_told = true;
            let message = format!("{STATE_MD} cannot be written: {error}");
            self.tell(EventKind::Warning { message })?;
        }
        Ok(())
    }

    fn replace_state(&self, text: &str, first: bool) -> io::Result<()> {
        let dir = self.ralph_dir()?;
        let _lock = Lock::within(&dir.join("state_md.lock"), PATIENCE)?;
        let path = &self
            .real_paths
            .real(&self.engine.project.ralph_dir().join(STATE_MD))?;
        if first {
            recover(path)?;
        }
        // What is no file of Ralph's is left alone.
        match open(path, Links::Refuse) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        write_whole(path, text.as_bytes())
    }

    fn state_view(&self, status: &str) -> Result<StateView, EngineError> {
        let store = &*self.engine.store;
        let counts = store.counts()?;
        let rates = store.run_rates(&self.id)?;
        let breaker = store.breaker()?;
        let next = match store.ready(&Scope::All, 1)?.first() {
            Some(id) => {
                let task = store.task(id.as_str())?;
                Some(TaskView {
                    name: task.name().to_owned(),
                    title: task.title,
                })
            }
            None => None,
        };
        let history = store.newest_attempts(ROWS)?.into_iter().map(|attempt| {
            let name = attempt.key.as_ref().map(ToString::to_string);
            let details = match attempt.outcome {
                Outcome::Done => attempt.rationale.map(|_| attempt.model.clone()),
                _ => attempt.detail.message,
            };
            HistoryRow {
                iteration: attempt.iteration.unwrap_or(0),
                time: second(attempt.started_at),
                outcome: if attempt.counted {
                    attempt.outcome.to_string()
                } else {
                    attempt
                        .error_type
                        .map_or("uncounted".to_owned(), |error| error.to_string())
                        .to_uppercase()
                },
                task: name.unwrap_or_else(|| attempt.task_id.to_string()),
                details: details.unwrap_or_default(),
            }
        });
        let waiting = store.held(usize::MAX)?.into_iter();
        let root = self.engine.project.root();
        Ok(StateView {
            updated_at: format!("{} UTC", second(self.engine.clock.now())),
            project: root
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            run: Some(RunView {
                id: self.id.to_string(),
                status: status.to_owned(),
                started_at: format!("{} UTC", second(self.started_at)),
                iteration: self.attempts,
                limit: self.engine.settings.limit,
                cost_usd: rates.cost.cost_usd.filter(|cost| *cost > 0.0),
                cost_estimated: rates.cost.cost_estimated,
            }),
            counts: Counts {
                total: counts.total,
                done: counts.done,
                skipped: counts.skipped,
                blocked: counts.blocked,
                failed: counts.failed,
                pending: counts.pending,
                in_progress: counts.in_progress,
            },
            next,
            breaker: match breaker.state {
                BreakerState::Closed => "closed",
                BreakerState::Open => "open",
                BreakerState::HalfOpen => "half_open",
            }
            .to_owned(),
            waiting: waiting
                .map(|held| (held.name, held.reason.unwrap_or_default()))
                .collect(),
            history: history.collect(),
            analysis: self.analysis.clone(),
        })
    }
}

/// To the second, as people write it.
fn second(time: Timestamp) -> String {
    let text = time.to_string();
    text.get(..19).unwrap_or(&text).replace('T', " ")
}
