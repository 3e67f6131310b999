//! STATE.md: where the run stands, for people who look into the project.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::run_context::RunContext;
use super::run_end::Result;
use crate::analysis::Analysis;
use crate::files::{Links, Lock, RealPaths, open, recover, write_whole};
use crate::memory::state_md::{AttemptView, HistoryRow, RunView, StateView, TaskView, render};
use crate::model::{Cost, Outcome, RunId, Task, Timestamp};
use crate::project::Project;
use crate::store::{BreakerState, Purpose, RunRow, Scope, Store, StoreError};

pub(super) const STATE_MD: &str = "STATE.md";
const ROWS: u32 = 15;
/// How long another run's turn is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// An attempt that is over sooner is not shown as under way.
const WORTH_SHOWING: Duration = Duration::from_millis(300);
/// Written no more often than this while attempts go on; pauses and the end are always written.
const BETWEEN: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct StateMd {
    written: Option<Timestamp>,
    fault_told: bool,
    /// When it is to show the attempt that is under way.
    due: Option<Timestamp>,
    shows_attempt: bool,
    /// Another process of the run writes the page.
    pub(super) is_others: bool,
    analysis: Option<Vec<String>>,
}

impl StateMd {
    pub(super) fn written_by(others: bool) -> Self {
        Self { is_others: others, ..Self::default() }
    }

    /// After an attempt, unless the page is fresh.
    pub(super) fn refresh(&mut self, run: &mut RunContext<'_>) -> Result {
        let now = run.clock.now();
        self.due = None;
        let fresh = self.written.is_some_and(|at| now.since(at) < BETWEEN);
        // A page that shows the attempt as under way is no longer true.
        if fresh && !self.shows_attempt {
            return Ok(());
        }
        self.shows_attempt = false;
        self.write(run, "running")
    }

    /// Writes the page with what the failures have in common.
    pub(super) fn write_analysis(&mut self, run: &mut RunContext<'_>, analysis: &Analysis) -> Result {
        self.analysis = Some(analysis.lines());
        self.write(run, "running")
    }

    /// Writes the page with how the run stands. A page that cannot be written is told of once and stops nothing.
    pub(super) fn write(&mut self, run: &mut RunContext<'_>, status: &str) -> Result {
        if self.is_others {
            return Ok(());
        }
        let first = self.written.is_none();
        self.written = Some(run.clock.now());
        run.store.read_ahead(|store| {
            let _ = store.breaker();
            let _ = store.run_rates(&run.id);
            let _ = store.iterations(&run.id);
            let _ = store.counts();
            let _ = store.ready(&Scope::All, 1);
            let _ = store.newest_attempts(ROWS);
            let _ = store.held(usize::MAX);
            let _ = store.breaker();
            let _ = store.claims();
        });
        let breaker = run.store.breaker()?;
        if breaker.state == BreakerState::Closed && breaker.failures == 0 {
            // What it was about is over.
            self.analysis = None;
        }
        let text = render(&self.view(run, status)?);
        let path = run.real_paths.real(&run.project.ralph_dir().join(STATE_MD));
        let dir = run.ralph_dir();
        let written = dir.and_then(|dir| replace(&dir, &path?, &text, first));
        if let Err(error) = written
            && !self.fault_told
        {
            self.fault_told = true;
            run.warn(format!("cannot write {STATE_MD}: {error}"))?;
        }
        Ok(())
    }

    fn view(&self, run: &RunContext<'_>, status: &str) -> Result<StateView> {
        let cost = run.store.run_rates(&run.id)?.cost;
        let shown = run_view(&run.id, status, run.started_at, run.attempts()?, cost);
        let shown = RunView { limit: run.settings.limit, ..shown };
        Ok(view(run.store, run.project, run.clock.now(), Some(shown), self.analysis.clone())?)
    }

    /// An attempt begins, of which the page is to tell once it has lasted long enough.
    pub(super) fn attempt_begins(&mut self, run: &RunContext<'_>) {
        self.due = Some(run.clock.now().plus(WORTH_SHOWING));
    }

    /// A gate begins; it may belong to an attempt that the page shows already.
    pub(super) fn gate_begins(&mut self, run: &RunContext<'_>) {
        if !self.shows_attempt && self.due.is_none() {
            self.attempt_begins(run);
        }
    }

    /// While an attempt is under way: the page that says so.
    pub(super) fn show_attempt(&mut self, run: &mut RunContext<'_>) {
        if self.due.is_none_or(|due| run.clock.now() < due) {
            return;
        }
        self.due = None;
        // Like a missed beat, a page that cannot be written is no reason to stop an agent.
        let _ = self.write(run, "running");
        self.shows_attempt = true;
    }
}

/// Brings the page up to date outside a run, after a person changed the plan. Where there is no page there was no run.
pub fn refresh_state(
    store: &Store,
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
    let run = run.map(|run| {
        let status = run.outcome.as_deref().unwrap_or("running");
        let attempts = u32::try_from(run.attempts).unwrap_or(u32::MAX);
        run_view(&run.id, status, run.started_at, attempts, run.cost)
    });
    let text = render(&view(store, project, now, run, analysis)?);
    let real = RealPaths::default().real(&path);
    Ok(real.and_then(|path| replace(&dir, &path, &text, false)))
}

fn run_view(id: &RunId, status: &str, started_at: Timestamp, iteration: u32, cost: Cost) -> RunView {
    RunView {
        id: id.to_string(),
        status: status.to_owned(),
        started_at: started_at.local(),
        iteration,
        limit: None,
        cost_usd: cost.cost_usd.filter(|cost| *cost > 0.0),
        cost_estimated: cost.cost_estimated,
    }
}

/// Puts the page in place, one writer at a time.
fn replace(dir: &Path, path: &Path, text: &str, first: bool) -> io::Result<()> {
    let _lock = Lock::within(&dir.join("state_md.lock"), PATIENCE)?;
    if first {
        recover(path)?;
    }
    match open(path, Links::Refuse) {
        // What is no file of Ralph's is left alone.
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => write_whole(path, text.as_bytes()),
    }
}

fn view(
    store: &Store,
    project: &Project,
    now: Timestamp,
    run: Option<RunView>,
    analysis: Option<Vec<String>>,
) -> Result<StateView, StoreError> {
    let counts = store.counts()?;
    let next = store.ready(&Scope::All, 1)?.first().map(|id| store.task(id.as_str())).transpose()?;
    let history = store.newest_attempts(ROWS)?.into_iter().map(|attempt| {
        let details = match attempt.outcome {
            Outcome::Done => attempt.rationale.map(|_| attempt.model.clone()),
            _ => attempt.message,
        };
        HistoryRow {
            iteration: attempt.iteration.unwrap_or(0),
            time: attempt.started_at.local(),
            outcome: if attempt.outcome == Outcome::Done && !attempt.verified {
                "SUCCESS, unverified".to_owned()
            } else if attempt.counted {
                attempt.outcome.to_string()
            } else {
                attempt.error_type.map_or("uncounted".to_owned(), |error| error.to_string()).to_uppercase()
            },
            task: attempt.name,
            details: details.unwrap_or_default(),
        }
    });
    let waiting = store.held(usize::MAX)?.into_iter();
    Ok(StateView {
        updated_at: now.local(),
        project: project.root().file_name().unwrap_or_default().to_string_lossy().into_owned(),
        run,
        counts,
        next: next.map(task_view),
        breaker: store.breaker()?.state.to_string(),
        waiting: waiting.map(|held| (held.name, held.reason.unwrap_or_default())).collect(),
        history: history.collect(),
        analysis,
        under_way: under_way(store)?,
    })
}

/// What is done at this moment, by this run and others.
fn under_way(store: &Store) -> Result<Vec<AttemptView>, StoreError> {
    let mut views = Vec::new();
    for claim in store.claims()? {
        // Somebody may have deleted it a moment ago.
        let Ok(task) = store.task(claim.task_id.as_str()) else { continue };
        let attempt = store.metrics(&claim.task_id)?.total_attempts + 1;
        let what = match (claim.purpose, claim.attempt.started_at) {
            (Purpose::ParentGate, _) => "its gate".to_owned(),
            // Its gate may run before the agent starts.
            (Purpose::Attempt, None) => format!("starting attempt {attempt}"),
            (Purpose::Attempt, Some(_)) => {
                format!("attempt {attempt} with {}", claim.attempt.model.as_deref().unwrap_or_default())
            }
        };
        let since = claim.attempt.started_at.unwrap_or(claim.claimed_at).local();
        views.push(AttemptView { task: task_view(task), what, since });
    }
    Ok(views)
}

fn task_view(task: Task) -> TaskView {
    TaskView { name: task.name().to_owned(), title: task.title }
}
