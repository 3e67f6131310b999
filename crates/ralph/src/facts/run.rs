//! A run, looked back at.

use std::collections::{HashMap, HashSet};

use ralph_core::event::{EventKind, GateAuthor, TaskRef};
use ralph_core::model::{
    Attempt, Cost, DoneBy, ErrorType, Outcome, RunId, Status, Task, TaskId, Timestamp, Verification,
};
use ralph_core::store::{RunRow, Store, StoreError, WaitingGate};
use serde::Serialize;

use super::plan::PlanFacts;
use crate::ui::style::Standing;
use crate::workspace::{is_active, now};

/// A run: `last_run` of `ralph status --json`.
#[derive(Clone, Debug, Serialize)]
pub struct RunFacts {
    pub run_id: RunId,
    pub started_at: Timestamp,
    /// When it ended; none if nobody recorded its end.
    pub ended_at: Option<Timestamp>,
    pub duration_ms: u64,
    /// How it ended, in a word; `died` if Ralph crashed.
    pub outcome: String,
    pub exit_code: Option<i32>,
    /// How it ended, in a sentence.
    pub reason: Option<String>,
    /// When it was last known to run, where it ended without saying why.
    pub crashed_at: Option<Timestamp>,
    pub hint: Option<String>,
    /// How many workers it had, and the branch that they landed on; none in the project's own tree.
    pub jobs: u32,
    pub branch: Option<String>,
    /// Counted attempts.
    pub attempts: u64,
    /// Attempts that do not count against their task: interrupted, rate-limited, not started.
    pub uncounted_attempts: u64,
    pub crashed_attempts: u64,
    /// The old name of `crashed_attempts`, for one release.
    pub lost_attempts: u64,
    pub waits: u64,
    pub waited_ms: u64,
    #[serde(flatten)]
    pub cost: Cost,
    /// What all runs cost today (UTC), as far as known; none where neither this run nor another one told a cost.
    pub cost_today_usd: Option<f64>,
    pub cost_today_estimated: bool,
    /// What it worked on and is done now, in that order.
    pub done: Vec<RunTask>,
    /// What it worked on and is blocked or failed now.
    pub blocked: Vec<RunTask>,
    pub others: Vec<RunTask>,
    /// Gates that were changed during the run.
    pub gate_changes: Vec<GateChange>,
    /// Gates that were changed in a plan file while an agent was running, and that nobody has imported since.
    pub gates_waiting: Vec<WaitingGate>,
}

#[derive(Clone, Debug, Serialize)]
pub struct GateChange {
    #[serde(flatten)]
    pub task: TaskRef,
    pub before: Option<String>,
    pub after: Option<String>,
    pub by: GateAuthor,
}

/// A task that a run worked on, with the run's attempts on it.
#[derive(Clone, Debug, Serialize)]
pub struct RunTask {
    #[serde(flatten)]
    pub task: TaskRef,
    #[serde(flatten)]
    pub standing: Standing,
    /// What it rests on, where it is done.
    pub verification: Option<Verification>,
    /// The commit of the run's last attempt that made one.
    pub commit: Option<String>,
    /// Why it is blocked, failed or skipped.
    pub reason: Option<String>,
    /// Counted attempts.
    pub attempts: u64,
    pub uncounted_attempts: u64,
    /// How long all of them took.
    pub duration_ms: u64,
    #[serde(flatten)]
    pub cost: Cost,
    /// The command to type next, where the task is blocked or failed.
    pub next: Option<String>,
    /// Its place in the order in which the run came to its tasks.
    #[serde(skip)]
    place: usize,
}

impl RunTask {
    fn new(task: &Task, next: Option<String>, place: usize) -> Self {
        Self {
            task: task.into(),
            standing: task.into(),
            verification: task.verification.clone(),
            commit: None,
            next,
            reason: task.reason.clone(),
            attempts: 0,
            uncounted_attempts: 0,
            duration_ms: 0,
            cost: Cost::default(),
            place,
        }
    }

    fn add(&mut self, attempt: &Attempt) {
        self.attempts += u64::from(attempt.counted);
        self.uncounted_attempts += u64::from(!attempt.counted);
        self.duration_ms += attempt.duration_ms;
        self.commit = attempt.commit().map(str::to_owned).or(self.commit.take());
        let unknown = self.cost.cost_unknown + u64::from(attempt.cost_is_unknown());
        let estimated = self.cost.cost_estimated || attempt.cost_estimated;
        let usd = self.cost.known_usd() + attempt.cost_usd.unwrap_or_default();
        self.cost = Cost::new(usd, unknown).estimated(estimated);
    }
}

/// How a run ended that could not say it itself; none while it is under way.
fn crash(run: &RunRow) -> Option<String> {
    let next = if run.outcome.is_none() { "; the next run continues where it stopped" } else { "" };
    (!is_active(run)).then(|| format!("Ralph crashed{next}"))
}

impl RunFacts {
    pub fn read(store: &Store, plan: &PlanFacts, run: &RunRow) -> Result<Self, StoreError> {
        let attempts = store.run_history(&run.id)?;
        let today = store.spent_on_day(now())?;
        let finished = store.last_event(&run.id, Some("run_finished"))?;
        let (reason, hint) = match finished.and_then(|event| event.read()).map(|event| event.kind) {
            Some(EventKind::RunFinished { reason, hint, .. }) => (Some(reason), hint),
            _ => (None, None),
        };
        let claims = store.claims()?;
        let claims = claims.iter().filter(|claim| claim.run_id == run.id);
        let mut last = store.last_event(&run.id, None)?.map(|event| event.at);
        // The crash of a run may be recorded much later than it happened.
        let end = match reason {
            Some(_) => run.ended_at.or(last),
            None => {
                let ends = attempts.iter().map(Attempt::ended_at);
                last = last.into_iter().chain(ends).chain(claims.clone().map(|one| one.heartbeat_at)).max();
                last.or(run.ended_at)
            }
        };
        let waits = store.waits(&run.id)?;
        let mut lost = attempts.iter().filter(|one| one.error_type == Some(ErrorType::Lost)).count();
        if !is_active(run) {
            // The next run records these.
            lost += claims.filter(|claim| claim.attempt.attempt_number > 0).count();
        }
        let handed_over = pick(store, &run.id, "handed_over", |kind| match kind {
            EventKind::HandedOver { task, .. } => Some(task.task_id),
            _ => None,
        })?;
        let gate_changes = pick(store, &run.id, "gate_changed", |kind| match kind {
            EventKind::GateChanged { task, before, after, by } => {
                Some(GateChange { task, before, after, by })
            }
            _ => None,
        })?;
        let seen_waiting = pick(store, &run.id, "gate_waiting", |kind| match kind {
            EventKind::GateWaiting { task, .. } => Some(task.task_id),
            _ => None,
        })?;
        let mut gates_waiting = store.waiting_gates()?;
        gates_waiting.retain(|gate| seen_waiting.contains(&gate.gate.id));
        let mut facts = Self {
            run_id: run.id.clone(),
            started_at: run.started_at,
            ended_at: run.ended_at,
            duration_ms: end.map_or(0, |end| millis(run.started_at, end)),
            outcome: run.outcome.clone().unwrap_or_else(|| "died".to_owned()),
            exit_code: run.exit_code,
            crashed_at: end.filter(|_| reason.is_none() && !is_active(run)),
            reason: reason.or_else(|| crash(run)),
            hint,
            jobs: run.jobs,
            branch: run.branch.clone(),
            attempts: run.attempts,
            uncounted_attempts: attempts.iter().filter(|one| !one.counted).count() as u64,
            crashed_attempts: lost as u64,
            lost_attempts: lost as u64,
            waits: waits.len() as u64,
            waited_ms: waits.iter().filter_map(|wait| Some(millis(wait.from, wait.to.or(end)?))).sum(),
            cost: run.cost,
            cost_today_usd: today.cost_usd.filter(|usd| *usd > 0.0 || run.cost.cost_usd.is_some()),
            cost_today_estimated: today.cost_estimated,
            done: Vec::new(),
            blocked: Vec::new(),
            others: Vec::new(),
            gate_changes,
            gates_waiting,
        };
        facts.sort_tasks(plan, &attempts, &handed_over);
        Ok(facts)
    }

    /// Sorts what the run worked on into done, blocked and others: tasks with attempts, tasks it handed to a person
    /// without one, and parents that are done because their last child is.
    fn sort_tasks(&mut self, plan: &PlanFacts, attempts: &[Attempt], handed_over: &[TaskId]) {
        let known: HashMap<&TaskId, &Task> = plan.tasks.iter().map(|task| (&task.id, task)).collect();
        let mut worked_on: HashMap<&TaskId, RunTask> = HashMap::new();
        let retry = plan.retry_commands();
        let mut add = |id: &TaskId, attempt: Option<&Attempt>| {
            let Some(&task) = known.get(id) else { return };
            let place = worked_on.len();
            let entry = worked_on.entry(&task.id).or_insert_with(|| {
                let next = retry.get(&task.id).cloned();
                RunTask::new(task, next, place)
            });
            attempt.into_iter().for_each(|attempt| entry.add(attempt));
        };
        attempts.iter().for_each(|attempt| add(&attempt.task_id, Some(attempt)));
        handed_over.iter().for_each(|id| add(id, None));
        let done = attempts.iter().filter(|attempt| attempt.outcome == Outcome::Done);
        let done: HashSet<&TaskId> = done.map(|attempt| &attempt.task_id).collect();
        let parent_of = plan.parents();
        let mut seen: HashSet<&TaskId> = HashSet::new();
        for attempt in attempts.iter().filter(|attempt| done.contains(&attempt.task_id)) {
            let mut above = parent_of.get(&attempt.task_id);
            while let Some(parent) = above.filter(|id| seen.insert(id)) {
                if known.get(parent).is_some_and(|task| task.status == Status::Done) {
                    add(parent, None);
                }
                above = parent_of.get(parent);
            }
        }
        let parents: HashSet<&TaskId> = parent_of.into_values().collect();
        // What a person did after the run is not its work.
        let by_run = |task: &RunTask| {
            let id = &task.task.task_id;
            done.contains(id) || (parents.contains(id) && task.standing.done_by != Some(DoneBy::Person))
        };
        let mut worked_on: Vec<RunTask> = worked_on.into_values().collect();
        worked_on.sort_by_key(|task| task.place);
        for task in worked_on {
            match task.standing.status {
                Status::Done if by_run(&task) => self.done.push(task),
                Status::Blocked | Status::Failed => self.blocked.push(task),
                _ => self.others.push(task),
            }
        }
    }

    /// Everything it worked on, in the order in which it did.
    pub fn worked_on(&self) -> Vec<&RunTask> {
        let mut all: Vec<&RunTask> = self.done.iter().chain(&self.blocked).chain(&self.others).collect();
        all.sort_by_key(|task| task.place);
        all
    }
}

/// What `pick` takes from a run's events of one kind; events that this version cannot read are left out.
fn pick<T>(
    store: &Store,
    run: &RunId,
    kind: &str,
    pick: impl Fn(EventKind) -> Option<T>,
) -> Result<Vec<T>, StoreError> {
    let events = store.events_of_kind(run, kind)?;
    Ok(events.iter().filter_map(|event| pick(event.read()?.kind)).collect())
}

fn millis(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.since(from).as_millis()).unwrap_or(u64::MAX)
}
