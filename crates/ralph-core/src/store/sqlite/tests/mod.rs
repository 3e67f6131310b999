//! The store's contract, on a real file.

mod busy;
mod capture;
mod claims;
mod learnings;
mod left_work;
mod logs;
mod look;
mod migrate;
mod names;
mod place;
mod plan;
mod ready;
mod schema;

use std::time::Duration;

use super::SqliteStore;
use crate::agent::Usage;
use crate::event::{EventKind, RunEvent};
use crate::model::{
    GitRecord, NewTask, Outcome, RunId, Status, TaskId, TaskMetrics, Timestamp, Token,
};
use crate::store::{
    Capture, ClaimRequest, Claimed, NewRun, Owner, PlanStore, Purpose, RunStore, Scope, TaskNext,
    Tries, UnfinishedAttempt,
};

/// A store in a directory of its own.
struct Fixture {
    dir: tempfile::TempDir,
    store: SqliteStore,
    counter: u64,
}

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::create(&dir.path().join("progress.db")).unwrap();
        Self {
            dir,
            store,
            counter: 0,
        }
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
        self.add(NewTask {
            title: title.into(),
            after,
            ..NewTask::default()
        })
        .unwrap()
    }

    fn child(&mut self, title: &str, parent: &TaskId) -> TaskId {
        let parent = Some(parent.clone());
        self.add(NewTask {
            title: title.into(),
            parent,
            ..NewTask::default()
        })
        .unwrap()
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
        self.store
            .claim(&request)
            .unwrap()
            .map(|claimed| (claimed, token))
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
        };
        self.store.start_run(&run, &event(id, 1)).unwrap();
    }

    fn capture(&mut self, capture: &Capture) -> crate::store::Result<()> {
        let counter = &mut self.counter;
        self.store.capture(capture, &mut || {
            *counter += 1;
            *counter
        })
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
    Owner {
        host: "here".into(),
        pid: 1,
        pid_started: "boot:1".into(),
    }
}

fn request(purpose: Purpose, run: &str, token: Token) -> ClaimRequest {
    ClaimRequest {
        purpose,
        scope: Scope::All,
        run_id: RunId::from_stored(run),
        worker: "w1".into(),
        owner: owner(),
        token,
        now: NOW,
        expires_at: NOW.plus(Duration::from_secs(60)),
    }
}

fn event(run: &str, seq: u64) -> RunEvent {
    let kind = EventKind::Warning {
        message: "x".into(),
    };
    RunEvent::new(seq, NOW, &RunId::from_stored(run), kind)
}

fn outcome(claimed: &Claimed, token: &Token, outcome: Outcome, next: TaskNext) -> Capture {
    Capture {
        lesson: None,
        gave_up: false,
        fix: None,
        recovery_end: None,
        changes: Vec::new(),
        breaker_threshold: u32::MAX,
        task_id: claimed.task.id.clone(),
        token: token.clone(),
        start: UnfinishedAttempt {
            model: Some("sonnet".into()),
            ..UnfinishedAttempt::default()
        },
        run_id: RunId::from_stored("r-1"),
        worker: "w1".into(),
        outcome,
        error_type: None,
        counted: true,
        message: None,
        started_at: NOW,
        ended_at: NOW.plus(Duration::from_millis(1500)),
        cost: None,
        usage: Usage::default(),
        session_id: None,
        agent_model: None,
        denials: Vec::new(),
        service_retries: 0,
        limit: None,
        git: GitRecord::default(),
        gate: None,
        gate_green_before: None,
        summary: None,
        report: None,
        mark: None,
        learnings: Vec::new(),
        metrics: TaskMetrics {
            total_attempts: claimed.tries.counted + 1,
            ..TaskMetrics::default()
        },
        next,
        own_work: false,
        events: Vec::new(),
    }
}

/// Nothing recorded yet.
const NONE: Tries = Tries {
    recorded: 0,
    counted: 0,
};
