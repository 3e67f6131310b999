//! STATE.md: where the run stands, for people who look into the project.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::run::{EngineError, Run};
use crate::analysis::Analysis;
use crate::event::EventKind;
use crate::files::{Links, Lock, RealPaths, open, recover, write_whole};
use crate::model::{Cost, Outcome, Timestamp};
use crate::project::Project;
use crate::state_md::{AttemptView, HistoryRow, RunView, StateView, TaskView, render};
use crate::store::{BreakerState, Purpose, RunRow, Scope, Store, StoreError};

/// The page, in Ralph's own directory.
pub(super) const STATE_MD: &str = "STATE.md";
/// Rows of the history table.
const ROWS: u32 = 15;
/// How long another run's turn is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// An attempt that is over sooner is not shown as under way.
const WORTH_SHOWING: Duration = Duration::from_millis(300);
/// Written no more often than this while attempts go on; pauses and the end are always written.
const BETWEEN: Duration = Duration::from_secs(1);

impl Run<'_, '_> {
    /// After an attempt, unless the page is fresh.
    pub(super) fn refresh_state(&mut self) -> Result<(), EngineError> {
        let now = self.engine.clock.now();
        self.state_due = None;
        let fresh = self.state_written.is_some_and(|at| now.since(at) < BETWEEN);
        // A page that shows the attempt as under way is no longer true.
        if fresh && !self.state_shows_attempt {
            return Ok(());
        }
        self.state_shows_attempt = false;
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
            let message = format!("cannot write {STATE_MD}: {error}");
            self.tell(EventKind::Warning { message })?;
        }
        Ok(())
    }

    fn replace_state(&self, text: &str, first: bool) -> io::Result<()> {
        let path = self.engine.project.ralph_dir().join(STATE_MD);
        replace(
            &self.ralph_dir()?,
            &self.real_paths.real(&path)?,
            text,
            first,
        )
    }

    fn state_view(&self, status: &str) -> Result<StateView, EngineError> {
        let store = &*self.engine.store;
        let cost = store.run_rates(&self.id)?.cost;
        let run = RunView {
            id: self.id.to_string(),
            status: status.to_owned(),
            started_at: format!("{} UTC", second(self.started_at)),
            iteration: self.attempts,
            limit: self.engine.settings.limit,
            cost_usd: shown_cost(&cost),
            cost_estimated: cost.cost_estimated,
        };
        let now = self.engine.clock.now();
        let project = self.engine.project;
        Ok(view(store, project, now, Some(run), self.analysis.clone())?)
    }

    /// While an attempt is under way: the page that says so, once it has lasted long enough to be worth it.
    pub(super) fn show_attempt_in_state(&mut self) {
        let now = self.engine.clock.now();
        if self.state_due.is_none_or(|due| now < due) {
            return;
        }
        self.state_due = None;
        // Like a missed beat, a page that cannot be written is no reason to stop an agent.
        let _ = self.write_state(None);
        self.state_shows_attempt = true;
    }

    /// An attempt begins, of which the page is to tell.
    pub(super) fn attempt_begins(&mut self) {
        self.state_due = Some(self.engine.clock.now().plus(WORTH_SHOWING));
    }
}

/// Brings the page up to date outside a run, after a person changed the plan. Where there is no page there was no run.
pub fn refresh_state(
    store: &dyn Store,
    project: &Project,
    run: Option<&RunRow>,
    analysis: Option<Vec<String>>,
    now: Timestamp,
) -> Result<io::Result<()>, StoreError> {
    let dir = project.ralph_dir();
    let path = dir.join(STATE_MD);
    if !path.exists() {
        return Ok(Ok(()));
    }
    let run = run.map(|run| RunView {
        id: run.id.to_string(),
        status: run.outcome.clone().unwrap_or_else(|| "running".to_owned()),
        started_at: format!("{} UTC", second(run.started_at)),
        iteration: u32::try_from(run.attempts).unwrap_or(u32::MAX),
        limit: None,
        cost_usd: shown_cost(&run.cost),
        cost_estimated: run.cost.cost_estimated,
    });
    let text = render(&view(store, project, now, run, analysis)?);
    let real = RealPaths::default().real(&path);
    Ok(real.and_then(|path| replace(&dir, &path, &text, false)))
}

fn shown_cost(cost: &Cost) -> Option<f64> {
    cost.cost_usd.filter(|cost| *cost > 0.0)
}

/// Puts the page in place, one writer at a time.
fn replace(dir: &Path, path: &Path, text: &str, first: bool) -> io::Result<()> {
    let _lock = Lock::within(&dir.join("state_md.lock"), PATIENCE)?;
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

/// All that the page shows.
fn view(
    store: &dyn Store,
    project: &Project,
    now: Timestamp,
    run: Option<RunView>,
    analysis: Option<Vec<String>>,
) -> Result<StateView, StoreError> {
    let counts = store.counts()?;
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
            outcome: if attempt.outcome == Outcome::Done && !attempt.verified {
                "SUCCESS, unverified".to_owned()
            } else if attempt.counted {
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
    let root = project.root();
    Ok(StateView {
        updated_at: format!("{} UTC", second(now)),
        project: root
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        run,
        counts,
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
        analysis,
        under_way: under_way(store)?,
    })
}

/// The attempts that are made at this moment, of this run and others.
fn under_way(store: &dyn Store) -> Result<Vec<AttemptView>, StoreError> {
    let mut views = Vec::new();
    for claim in store.claims()? {
        let (Purpose::Attempt, Some(since)) = (claim.purpose, claim.attempt.started_at) else {
            continue;
        };
        // Somebody may have deleted it a moment ago.
        let Ok(task) = store.task(claim.task_id.as_str()) else {
            continue;
        };
        views.push(AttemptView {
            task: TaskView {
                name: task.name().to_owned(),
                title: task.title,
            },
            attempt: store.metrics(&claim.task_id)?.total_attempts + 1,
            model: claim.attempt.model.unwrap_or_default(),
            since: format!("{} UTC", second(since)),
        });
    }
    Ok(views)
}

/// To the second, as people write it.
fn second(time: Timestamp) -> String {
    let text = time.to_string();
    text.get(..19).unwrap_or(&text).replace('T', " ")
}
