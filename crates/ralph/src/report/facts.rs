//! What a report tells, read once.

use std::collections::HashMap;

use ralph_core::agent::Interrupt;
use ralph_core::event::{EventKind, RunRequested, TaskRef};
use ralph_core::model::{Attempt, Outcome, RunId, Status, TaskId, Timestamp};
use ralph_core::store::{
    AgentTally, BreakerState, FailureFilter, FailureRow, LearningFilter, PlanCounts, RunRow, Store,
    StoreError,
};
use ralph_core::text::{few, shell_word};
use serde::Serialize;

use super::changes::{TaskChanges, changes};
use crate::command_error::CommandError;
use crate::facts::{
    BreakerFacts, DecisionFacts, History, LearningFacts, MemoryFacts, OpenTask, PlanFacts, Related, RunFacts,
    UnverifiedTask,
};
use crate::settings::{Settings, build_agent};
use crate::ui::style::status_word;
use crate::ui::{format, lines};
use crate::workspace::{Workspace, is_active, now};

/// The whole of `ralph report --json`.
#[derive(Debug, Serialize)]
pub struct ReportFacts {
    /// The name of the project's directory.
    pub project: String,
    pub made_at: Timestamp,
    pub active: bool,
    /// Whether no later run made an attempt.
    pub is_last: bool,
    pub run: RunFacts,
    pub asked: Asked,
    /// How far the plan is now.
    pub tasks: PlanCounts,
    pub breaker: BreakerFacts,
    /// Every task of the plan, in its order.
    pub plan: Vec<Related>,
    /// Every task that is not done.
    pub open: Vec<OpenTask>,
    /// Done tasks that no gate verified.
    pub unverified: Vec<UnverifiedTask>,
    /// Done tasks whose gate passed before any work, too.
    pub already_green: Vec<TaskRef>,
    pub agents: Vec<AgentTally>,
    /// The counted attempts of the run that did not end done, oldest first.
    pub failures: Vec<Failure>,
    /// What tasks of the run changed, those first that are not done.
    pub changes: Vec<TaskChanges>,
    /// Learnings that came during the run, newest first.
    pub learned: Vec<LearningFacts>,
    pub decisions: DecisionFacts,
    pub memory: MemoryFacts,
}

/// What the run was asked to do.
#[derive(Debug, Default, Serialize)]
pub struct Asked {
    pub agent: Option<String>,
    pub strategy: Option<String>,
    /// The most attempts it was to make.
    pub limit: Option<u32>,
    /// Which tasks it was to cover, with which model, at which cost.
    pub requested: RunRequested,
    /// The plan when it started.
    pub tasks: Option<PlanCounts>,
    pub gates_off: bool,
    /// The files that the plan comes from.
    pub sources: Vec<String>,
    /// The branch that the settings name.
    pub branch: Option<String>,
}

/// A counted attempt that did not end done.
#[derive(Debug, Serialize)]
pub struct Failure {
    pub task_id: TaskId,
    pub name: String,
    pub title: String,
    pub attempt: u32,
    pub model: String,
    pub duration_ms: u64,
    pub cost_usd: Option<f64>,
    pub cost_estimated: bool,
    /// How it ended, in a sentence.
    pub outcome: String,
    /// Why, where a report says more than that.
    pub why: Option<String>,
    pub tried: Option<String>,
    pub suggestion: Option<String>,
    pub is_done_now: bool,
}

impl ReportFacts {
    /// Reads what there is to tell of a run, which may be under way or have crashed.
    pub fn read(
        workspace: &Workspace,
        settings: &Settings,
        run: &RunRow,
        interrupt: &Interrupt,
    ) -> Result<Self, CommandError> {
        let store = &workspace.store;
        // One state of the database: attempts end meanwhile.
        let (mut facts, attempts) = store.snapshot(|| Self::stored(workspace, settings, &run.id))?;
        facts.changes = changes(workspace.project.root(), &facts.run, &attempts, interrupt);
        Ok(facts)
    }

    /// All but the changes, and the attempts whose changes are to be read.
    fn stored(
        workspace: &Workspace,
        settings: &Settings,
        run: &RunId,
    ) -> Result<(Self, Vec<Attempt>), CommandError> {
        let store = &workspace.store;
        let root = workspace.project.root();
        let run = &workspace.run(run.as_str())?;
        let plan = PlanFacts::read(workspace)?;
        let attempts = store.run_history(&run.id)?;
        let facts = RunFacts::read(store, &plan, run)?;
        let mut tallies = store.agent_tallies()?;
        tallies.retain(|tally| tally.run_id == run.id && tally.agent.is_some());
        let mut learned =
            store.learnings(&LearningFilter { since: Some(run.started_at), ..LearningFilter::active() })?;
        if let Some(end) = facts.ended_at {
            learned.retain(|learning| learning.created_at <= end);
        }
        let facts = Self {
            project: root.file_name().unwrap_or(root.as_os_str()).to_string_lossy().into_owned(),
            made_at: now(),
            active: is_active(run),
            is_last: store.last_run_with_attempts()?.is_none_or(|last| last.id == run.id),
            asked: Asked::read(store, settings, &run.id)?,
            tasks: crate::workspace::plan_counts(store)?.0,
            breaker: BreakerFacts::read(store, settings)?,
            plan: plan.tasks.iter().map(Related::from).collect(),
            open: plan.open_tasks(),
            unverified: plan.unverified_tasks(),
            already_green: plan.already_green_tasks(),
            agents: tallies,
            failures: failures(store, run, &attempts, &plan)?,
            changes: Vec::new(),
            learned: learned.into_iter().map(LearningFacts::from).collect(),
            decisions: decisions(store, settings, &run.id)?,
            memory: MemoryFacts::read(store)?,
            run: facts,
        };
        Ok((facts, attempts))
    }

    /// The tasks that only a person can move on.
    pub fn needs_you(&self) -> impl Iterator<Item = &OpenTask> {
        self.open.iter().filter(|task| task.needs_you())
    }

    /// Tasks that are neither done nor a person's to move on.
    pub fn not_done_yet(&self) -> impl Iterator<Item = &OpenTask> {
        self.open.iter().filter(|task| !task.is_stuck())
    }

    /// When the run ended, as what follows its start.
    pub fn until(&self) -> String {
        let end = self.run.ended_at.or(self.run.crashed_at);
        end.map(|end| format!(" to {}", end.local_near(self.run.started_at))).unwrap_or_default()
    }
}

/// The plots of the run; the comparison of strategies is over all runs. An agent that cannot be used any more is no reason
/// to tell nothing.
fn decisions(store: &Store, settings: &Settings, run: &RunId) -> Result<DecisionFacts, StoreError> {
    let agent = build_agent(settings.agent(), &settings.agents).ok();
    let history = agent.as_ref().map(|agent| History::of(settings, agent));
    DecisionFacts::read(store, Some(run), history)
}

impl Asked {
    fn read(store: &Store, settings: &Settings, run: &RunId) -> Result<Self, StoreError> {
        let branch = settings.git.branch.value.clone();
        let sources = store.sources()?.into_iter().map(|source| source.path).collect();
        let started = store.events_of_kind(run, "run_started")?;
        let started = started.first().and_then(|event| event.read());
        Ok(match started.map(|event| event.kind) {
            Some(EventKind::RunStarted { agent, strategy, limit, tasks, gates_off, asked, .. }) => Self {
                agent: Some(agent),
                strategy: Some(strategy),
                limit,
                requested: asked,
                tasks: Some(tasks),
                gates_off,
                sources,
                branch,
            },
            _ => Self { sources, branch, ..Self::default() },
        })
    }
}

fn failures(
    store: &Store,
    run: &RunRow,
    attempts: &[Attempt],
    plan: &PlanFacts,
) -> Result<Vec<Failure>, StoreError> {
    let filter = FailureFilter { run: Some(run.id.clone()), ..FailureFilter::default() };
    let reports = store.failure_reports(&filter)?.into_iter();
    let mut reports: HashMap<(TaskId, u32), FailureRow> =
        reports.map(|row| ((row.task_id.clone(), row.attempt_number), row)).collect();
    let tasks: HashMap<&TaskId, _> = plan.tasks.iter().map(|task| (&task.id, task)).collect();
    let failed = attempts.iter().filter(|one| one.counted && one.outcome != Outcome::Done);
    Ok(failed
        .map(|attempt| {
            let task = tasks.get(&attempt.task_id);
            let report =
                reports.remove(&(attempt.task_id.clone(), attempt.attempt_number)).map(|row| row.report);
            let told = |text: &str| Some(text.to_owned()).filter(|text| !text.trim().is_empty());
            // What Ralph wrote for want of a report repeats how the attempt ended.
            let own = report.as_ref().filter(|report| !report.auto);
            Failure {
                task_id: attempt.task_id.clone(),
                name: attempt.name.clone(),
                title: task.map(|task| task.title.clone()).unwrap_or_default(),
                attempt: attempt.attempt,
                model: attempt.model.clone(),
                duration_ms: attempt.duration_ms,
                cost_usd: attempt.cost_usd,
                cost_estimated: attempt.cost_estimated,
                outcome: format::outcome_line(attempt),
                why: own.and_then(|report| told(&report.why_it_failed)),
                tried: own.and_then(|report| told(&report.what_was_tried)),
                suggestion: report.and_then(|report| report.retry_suggestion).and_then(|text| told(&text)),
                is_done_now: task.is_some_and(|task| task.status == Status::Done),
            }
        })
        .collect())
}

/// Something for a person to do, and what to type for it.
#[derive(Debug, Serialize)]
pub struct Step {
    pub why: String,
    pub command: Option<String>,
}

impl ReportFacts {
    /// What to do next, in the order in which it helps.
    pub fn next_steps(&self) -> Vec<Step> {
        let step = |why: String, command: &str| Step { why, command: Some(command.to_owned()) };
        let mut steps = Vec::new();
        if self.active {
            steps.push(step("The run is active: watch it".to_owned(), "ralph status --watch"));
        }
        if self.breaker.state != BreakerState::Closed && !self.active {
            let failures = format::counted(self.breaker.failures, "failure");
            steps.push(step(
                format!(
                    "The circuit breaker is open after {failures} in a row: see what they have in common"
                ),
                "ralph analyze",
            ));
        }
        let blocked = self.needs_you().count();
        if let Some(first) = self.needs_you().next() {
            let many = match blocked {
                1 => format!("{} is {}; to try again", first.task.name(), status_word(first.status)),
                n => format!("{n} tasks are blocked or failed; to try {} again", first.task.name()),
            };
            steps.push(Step { why: many, command: first.next.clone() });
        }
        let unverified: Vec<&UnverifiedTask> =
            self.unverified.iter().filter(|task| !task.is_reviewed()).collect();
        if let Some(first) = unverified.first() {
            let many = match unverified.len() {
                1 => format!("Verify {}, which no gate checked", first.task.name()),
                n => format!("Verify the {n} tasks that no gate checked, first {}", first.task.name()),
            };
            steps.push(step(many, &first.verify_command()));
        }
        if let Some(first) = self.already_green.first() {
            let name = first.name();
            let why = format!("Give {name} a gate that can fail: its gate passed before any work, too");
            steps.push(step(
                why,
                &format!("ralph task edit {name} --verify CMD && ralph task done {name} --verify"),
            ));
        }
        steps.extend(self.run.gates_waiting.iter().map(|waiting| {
            let gate = &waiting.gate;
            let why =
                lines::waiting_gate(&gate.name, &waiting.path, gate.before.as_deref(), gate.after.as_deref());
            Step { why, command: None }
        }));
        let ready = self
            .not_done_yet()
            .filter(|task| task.status == Status::Pending && task.waits_for.is_empty())
            .count();
        // The rest waits for what a person has to do.
        if ready > 0 && !self.active {
            let why = match ready {
                1 => "1 task is ready: run it".to_owned(),
                ready => format!("{ready} tasks are ready: run them"),
            };
            steps.push(step(why, "ralph run"));
        }
        if let Some(branch) = self.asked.branch.as_ref().filter(|_| !self.run.done.is_empty()) {
            let why = format!("Look at the commits on the branch {branch}");
            steps.push(step(why, &format!("git log --patch {}", shell_word(branch))));
        }
        if steps.is_empty() {
            steps.push(Step { why: "Nothing: every task is done and verified".to_owned(), command: None });
        }
        steps
    }

    /// What the run was asked to do, in a few lines.
    pub fn asked_in_words(&self) -> Vec<String> {
        let asked = &self.asked;
        let mut lines = Vec::new();
        let tasks = asked.tasks.as_ref().unwrap_or(&self.tasks);
        let named = &asked.requested.tasks;
        if !named.is_empty() {
            let more = asked.requested.task_count.saturating_sub(named.len() as u64);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            lines.push(format!("Only {}{more}, with their subtasks.", few(named, 20)));
        }
        let from = match asked.sources.as_slice() {
            [] => String::new(),
            paths => format!(" from {}", few(paths, 3)),
        };
        let done =
            if tasks.done > 0 { format!(", {} done before it started", tasks.done) } else { String::new() };
        lines.push(format!("The plan: {}{from}{done}.", format::counted(tasks.total, "task")));
        let mut how = Vec::new();
        how.extend(asked.agent.as_ref().map(|agent| format!("agent {agent}")));
        how.extend(asked.strategy.as_ref().map(|strategy| format!("strategy {strategy}")));
        how.extend(
            asked.limit.map(|limit| format!("at most {}", format::counted(u64::from(limit), "attempt"))),
        );
        how.extend(asked.gates_off.then(|| "gates off".to_owned()));
        how.extend(asked.requested.model.as_ref().map(|model| format!("model {model}")));
        let limits = [
            ("", asked.requested.max_cost_usd),
            (" per task", asked.requested.max_task_cost_usd),
            (" per day", asked.requested.max_daily_cost_usd),
        ];
        how.extend(
            limits
                .into_iter()
                .filter_map(|(per, usd)| Some(format!("at most {}{per}", format::cost(Some(usd?), false)))),
        );
        if !how.is_empty() {
            lines.push(format!("Run with {}.", how.join(", ")));
        }
        lines
    }
}
