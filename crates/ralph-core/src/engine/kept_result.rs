//! What an attempt came to, kept beside its log while a server cannot be reached: this run records it when the server is
//! back, else the next run of the clone, unless somebody else has taken the claim meanwhile.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize, Serializer};

use super::attempt_record::{AttemptResult, status_of};
use super::fix_tasks::FixPolicy;
use super::plan_requests::{keeps_task_open, requested_changes};
use crate::decide::{Circumstances, settle};
use crate::event::{AttemptFinished, EventKind, RunEvent};
use crate::logs::{LogDir, result_name};
use crate::model::{Attempt, ErrorType, MarkSource, Task, Token};
use crate::store::{Capture, Lesson, Random, Store, StoreError};

/// A result that is larger is read from the log instead.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// An attempt that only has to be recorded, with all that this needs beside the database.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FinishedAttempt {
    /// The proof that the claim is its own.
    pub token: Token,
    pub result: AttemptResult,
    /// Why the agent cannot go on.
    pub why: Option<String>,
    /// What the failures in a row, with this one, come to.
    pub is_stuck: bool,
    pub forgiven: u32,
    /// It was asked to diagnose first.
    pub was_stuck: bool,
    /// The models of its failures in a row.
    pub models: Vec<String>,
    pub lesson: Option<Lesson>,
}

/// Where a result is recorded, and by which rules.
pub(super) struct RecordTo<'a> {
    pub store: &'a mut Store,
    pub policy: &'a FixPolicy<'a>,
    pub breaker_threshold: u32,
    pub random: Random<'a>,
}

/// An attempt with the fields that `ralph history --json` does not print.
pub(super) fn whole_attempt<S: Serializer>(attempt: &Attempt, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Whole<'a> {
        #[serde(flatten)]
        shown: &'a Attempt,
        fingerprint_source: MarkSource,
        work_dir: &'a Option<String>,
        agent_model: &'a Option<String>,
        summary: &'a Option<String>,
        limit_notice: &'a Option<String>,
    }
    let Attempt { fingerprint_source, work_dir, agent_model, summary, limit_notice, .. } = attempt;
    let fingerprint_source = *fingerprint_source;
    Whole { shown: attempt, fingerprint_source, work_dir, agent_model, summary, limit_notice }.serialize(to)
}

impl FinishedAttempt {
    /// Records it in one transaction: what becomes of the task is settled in it.
    pub(super) fn record(
        &self,
        task: &Task,
        to: RecordTo<'_>,
        event: &mut dyn FnMut(EventKind) -> Option<RunEvent>,
        finished: &dyn Fn(AttemptFinished) -> EventKind,
    ) -> Result<Capture, StoreError> {
        let Self { token, result, .. } = self;
        let RecordTo { store, policy, breaker_threshold, random } = to;
        store.read_ahead(|store| {
            // For what was tried, and for a fix.
            let _ = store.fix_family(&task.id);
            let _ = store.fix_family(&task.id);
            let _ = store.change_standing(&task.id);
            let _ = store.fix_link(&task.id);
            let _ = store.source_path(&task.id);
        });
        let changes = requested_changes(store, policy.project.root(), task, &result.verdict, &result.said)?;
        let keeps_open = changes.iter().any(keeps_task_open);
        let tried = self.tried(store, task)?;
        let may_fix = result.verdict.is_failure() && !keeps_open;
        let plan = policy.plan(store, task, result, tried.as_deref(), may_fix)?;
        let circumstances = Circumstances {
            difficulty: result.signals.difficulty,
            next_model: result.signals.next_model.as_deref(),
            users_model: result.attempt.users_model(),
            why: self.why.as_deref(),
            stuck: self.is_stuck,
            forgiven: self.forgiven,
            tried: tried.as_deref(),
            needs_person: result.needs_person.as_deref(),
            keeps_open,
            coarse: result.attempt.fingerprint_coarse.as_deref(),
            ..plan.circumstances(breaker_threshold)
        };
        store.capture(&task.id, token, random, |before| {
            let settled = settle(&result.verdict, &circumstances, before, policy.policy);
            let mut plan = plan.effects(task, result, &settled, policy.policy);
            let told = std::mem::take(&mut plan.events);
            let (status, reason) = status_of(&settled.next);
            let difficulty = settled.metrics.difficulty;
            let capture = result.capture(settled, plan, Vec::new());
            let ended = AttemptFinished::new(task, &capture.attempt, result.learnings.len(), status, reason);
            Capture {
                lesson: self.lesson.clone().map(|lesson| Lesson { estimate: difficulty, ..lesson }),
                changes: changes.clone(),
                events: [finished(ended)].into_iter().chain(told).filter_map(&mut *event).collect(),
                ..capture
            }
        })
    }

    /// What was tried before a task is given up: every model in order, a fresh approach, fix tasks, plan changes.
    fn tried(&self, store: &Store, task: &Task) -> Result<Option<String>, StoreError> {
        let fresh = if self.was_stuck { "; asked to diagnose first" } else { "" };
        let fixes = match store.fix_family(&task.id)?.lineage.fixes.as_slice() {
            [] => String::new(),
            fixes => format!("; fix tasks {}", fixes.join(", ")),
        };
        let changes = match store.change_standing(&task.id)?.made {
            0 => String::new(),
            1 => "; a plan change".to_owned(),
            n => format!("; {n} plan changes"),
        };
        let models = self.models.join(", then ");
        Ok((!models.is_empty()).then(|| format!("{models}{fresh}{fixes}{changes}")))
    }

    /// The result that is kept for an attempt with this log, if the claim is still the one it was made under.
    pub(super) fn kept(root: &Path, log: &str, token: &Token) -> Option<Self> {
        let (dir, name) = LogDir::of_record(root, log).ok()?;
        let mut bytes = Vec::new();
        dir.read(&result_name(&name)).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        let mut kept: Self = serde_json::from_slice(&bytes).ok()?;
        // What a word for an error means depends on the outcome.
        let read = |error: &mut Option<ErrorType>, outcome| {
            *error = error.take().map(|error| ErrorType::from_stored(outcome, error.as_str()));
        };
        read(&mut kept.result.attempt.error_type, kept.result.attempt.outcome);
        read(&mut kept.result.verdict.error_type, kept.result.verdict.outcome);
        (kept.token == *token).then_some(kept)
    }
}

/// Keeps a result from the moment on in which the connection is lost while it is recorded.
#[derive(Clone, Debug)]
pub(super) struct Keeper {
    dir: PathBuf,
    name: String,
    is_kept: Arc<AtomicBool>,
}

impl Keeper {
    /// None for an attempt without a log.
    pub(super) fn new(logs: PathBuf, log: Option<&str>) -> Option<Self> {
        let name = result_name(Path::new(log?).file_name()?.to_str()?);
        Some(Self { dir: logs, name, is_kept: Arc::default() })
    }

    pub(super) fn keep(&self, finished: &FinishedAttempt) {
        if self.is_kept.load(Ordering::Relaxed) {
            return;
        }
        let written = serde_json::to_vec(finished).map_err(std::io::Error::from);
        let written = written
            .and_then(|bytes| LogDir::open(&self.dir).and_then(|dir| dir.write_whole(&self.name, &bytes)));
        // Where it cannot be kept, the log still says what the attempt came to.
        self.is_kept.store(written.is_ok(), Ordering::Relaxed);
    }

    pub(super) fn is_kept(&self) -> bool {
        self.is_kept.load(Ordering::Relaxed)
    }

    /// It is recorded, or somebody else has recorded the attempt.
    pub(super) fn forget(&self) {
        if self.is_kept() {
            remove(&self.dir, &self.name);
        }
    }
}

/// Removes what is kept for an attempt with this log.
pub(super) fn forget_kept(root: &Path, log: &str) {
    if let Ok((dir, name)) = LogDir::of_record(root, log) {
        let _ = dir.remove(&result_name(&name));
    }
}

fn remove(dir: &Path, name: &str) {
    // What stays is deleted with its log.
    let _ = LogDir::open(dir).and_then(|dir| dir.remove(name));
}
