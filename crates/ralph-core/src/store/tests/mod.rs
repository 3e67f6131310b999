//! The store's contract, on a real file; `on_postgres` runs the same tests on a real server.

mod capture;
mod claims;
mod completion;
mod decisions;
mod events;
mod files;
mod learnings;
mod leftovers;
mod locks;
mod migrate;
#[cfg(feature = "postgres")]
mod on_postgres;
mod plan;
mod read_only;
mod ready;
mod schema;
#[cfg(feature = "postgres")]
mod server;
mod specs;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Store;
use crate::breaker::BreakerChange;
use crate::event::{EventKind, RunEvent};
use crate::model::{Attempt, NewTask, Outcome, RunId, Status, TaskId, TaskMetrics, Timestamp, Token};
use crate::store::{AttemptCounts, Capture, ClaimRequest, Claimed, NewRun, Owner, Purpose, Scope, TaskNext};

/// Where a store for a test comes from.
trait Engine: Clone + Send + 'static {
    /// A new store, and what makes further connections to it.
    fn make(dir: &Path) -> Self;
    fn open(&self) -> Store;
}

/// A file.
#[derive(Clone)]
struct Sqlite(PathBuf);

impl Engine for Sqlite {
    fn make(dir: &Path) -> Self {
        Self(dir.join("progress.db"))
    }

    fn open(&self) -> Store {
        Store::create(&self.0).unwrap()
    }
}

/// A store of its own.
struct FixtureOf<E> {
    store: Store,
    engine: E,
    dir: tempfile::TempDir,
    counter: u64,
}

type Fixture = FixtureOf<Sqlite>;

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

impl<E: Engine> FixtureOf<E> {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let engine = E::make(dir.path());
        Self { store: engine.open(), engine, dir, counter: 0 }
    }

    /// As the next process finds it.
    fn reopen(&mut self) {
        self.store = self.engine.open();
    }

    fn add(&mut self, new: NewTask) -> crate::store::Result<TaskId> {
        let counter = &mut self.counter;
        self.store.add_task(&new, NOW, &mut || {
            *counter += 1;
            *counter
        })
    }

    /// A task that depends on others.
    fn task(&mut self, title: &str, after: &[&TaskId]) -> TaskId {
        let after = after.iter().map(|id| (*id).clone()).collect();
        self.add(NewTask { title: title.into(), after, ..NewTask::default() }).unwrap()
    }

    fn child(&mut self, title: &str, parent: &TaskId) -> TaskId {
        let parent = Some(parent.clone());
        self.add(NewTask { title: title.into(), parent, ..NewTask::default() }).unwrap()
    }

    fn status(&self, id: &TaskId) -> Status {
        self.store.task(id.as_str()).unwrap().status
    }

    fn claim(&mut self) -> Option<(Claimed, Token)> {
        self.claim_as(Purpose::Attempt, "r-1")
    }

    fn claim_as(&mut self, purpose: Purpose, run: &str) -> Option<(Claimed, Token)> {
        self.counter += 1;
        let token = Token::from_random(self.counter);
        let request = request(purpose, run, token.clone());
        self.store.claim(&request).unwrap().map(|claimed| (claimed, token))
    }

    fn start_run(&mut self, id: &str) {
        let run = NewRun {
            defaults_revision: 0,
            id: RunId::from_stored(id),
            started_at: NOW,
            owner: owner(),
            settings: "{}".into(),
            output: None,
            expires_at: NOW,
            jobs: 1,
            branch: None,
            sandbox: crate::sandbox::Enforced::default(),
        };
        self.store.start_run(&run, &mut event(id, 1)).unwrap();
    }

    fn capture(&mut self, ended: &Ended) -> crate::store::Result<()> {
        let counter = &mut self.counter;
        let mut random = || {
            *counter += 1;
            *counter
        };
        let (id, token) = (&ended.attempt.task_id, &ended.token);
        let captured = self.store.capture(id, token, &mut random, |_| ended.capture.clone());
        captured.map(|_| ())
    }

    /// Claims the next task and makes it done.
    fn finish_next(&mut self) -> TaskId {
        let (claimed, token) = self.claim().unwrap();
        let capture = outcome(&claimed, &token, Outcome::Done, TaskNext::Done);
        self.capture(&capture).unwrap();
        claimed.task.id
    }
}

fn owner() -> Owner {
    Owner { host: "here".into(), pid: 1, pid_started: "boot:1".into() }
}

fn request(purpose: Purpose, run: &str, token: Token) -> ClaimRequest {
    ClaimRequest {
        purpose,
        later: Vec::new(),
        scope: Scope::All,
        run_id: RunId::from_stored(run),
        worker: "w1".into(),
        owner: owner(),
        token,
        now: NOW,
        expires_at: NOW.plus(Duration::from_secs(60)),
        limit: None,
    }
}

fn event(run: &str, seq: u64) -> RunEvent {
    let kind = EventKind::Warning { message: "x".into() };
    RunEvent::new(seq, NOW, &RunId::from_stored(run), kind)
}

/// What an attempt leaves behind, and the claim it had.
struct Ended {
    capture: Capture,
    token: Token,
}

impl std::ops::Deref for Ended {
    type Target = Capture;

    fn deref(&self) -> &Capture {
        &self.capture
    }
}

impl std::ops::DerefMut for Ended {
    fn deref_mut(&mut self) -> &mut Capture {
        &mut self.capture
    }
}

fn outcome(claimed: &Claimed, token: &Token, outcome: Outcome, next: TaskNext) -> Ended {
    let attempt = Attempt {
        run_id: Some(RunId::from_stored("r-1")),
        worker: Some("w1".into()),
        model: "sonnet".into(),
        outcome,
        duration_ms: 1500,
        ..Attempt::new(&claimed.task, NOW)
    };
    let capture = Capture {
        attempt,
        report: None,
        output: None,
        learnings: Vec::new(),
        lesson: None,
        metrics: TaskMetrics { total_attempts: claimed.attempts.counted + 1, ..TaskMetrics::default() },
        next,
        gave_up: false,
        fix: None,
        recovery_end: None,
        changes: Vec::new(),
        breaker: match outcome {
            Outcome::Done => BreakerChange::Forget,
            _ => BreakerChange::Count { opens: false },
        },
        own_work: false,
        events: Vec::new(),
    };
    Ended { capture, token: token.clone() }
}

/// How many made-up stories of a plan are told.
const STORIES: u32 = 96;

const NONE: AttemptCounts = AttemptCounts { recorded: 0, counted: 0 };
