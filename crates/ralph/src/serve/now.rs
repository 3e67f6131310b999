//! What the page shows first: how far the plan is, what runs, what needs a person, what it cost.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use ralph_core::decide::{Budget, Meter, Spent, meters};
use ralph_core::event::WaitingFor;
use ralph_core::model::{RunId, Status, TaskId, Timestamp};
use ralph_core::store::{BreakerState, PlanCounts, Purpose, RunRequest, Stage, Store};
use serde::Serialize;

use super::access::Changes;
use super::groups::{Listed, Mark, PlanList, shown};
use crate::actions::describe_action;
use crate::command_error::CommandError;
use crate::facts::{
    self, ActiveRun, CurrentAttempt, Eta, LOOKED_AT, OpenTask, PhaseNames, PlanFacts, RunTime, RunsFacts,
};
use crate::settings::Settings;
use crate::ui::style::Standing;
use crate::ui::{format, lines};
use crate::workspace::{Workspace, now, plan_counts};

/// Tasks that need somebody, listed at once.
const NEEDS: usize = 12;
const LINE_CHARS: usize = 400;

/// Everything of the first view. Nothing in it changes while nothing happens: what counts seconds is left to the page.
#[derive(Debug, Serialize)]
pub struct Now {
    pub project: String,
    /// Different whenever the plan or its attempts are.
    pub stamp: u64,
    pub actions: bool,
    pub run: Option<RunNow>,
    pub counts: PlanCounts,
    pub summary: String,
    pub needs: Vec<Need>,
    pub more_needs: usize,
    pub notices: Vec<Notice>,
    pub workers: Vec<Worker>,
    pub waiting: Option<Wait>,
    pub cost: Option<String>,
    pub budgets: Vec<Bar>,
    pub eta: Option<String>,
    /// The groups of the plan with the tasks that matter now.
    pub groups: Vec<Listed>,
    pub groups_left_out: usize,
    /// What undo would take back.
    pub last_action: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct RunNow {
    pub id: RunId,
    pub active: bool,
    /// In a word, with its color.
    pub word: String,
    pub class: &'static str,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub duration_ms: u64,
    pub can_pause: bool,
    pub can_resume: bool,
    /// How it ended and what to do, where it is over.
    pub reason: Option<String>,
    pub hint: Option<String>,
    /// Others that are active.
    pub others: usize,
}

#[derive(Debug, Serialize)]
pub struct Need {
    pub id: TaskId,
    pub name: String,
    pub title: String,
    #[serde(flatten)]
    pub mark: Mark,
    pub happened: String,
    pub why: Option<String>,
    /// What to type instead of clicking.
    pub command: Option<String>,
    pub dependents: u64,
    /// Whether a go-ahead moves it on; else only a reset does.
    pub is_blocked: bool,
}

/// Something about the whole project that needs a person.
#[derive(Debug, Serialize)]
pub struct Notice {
    pub text: String,
    pub command: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Worker {
    pub id: TaskId,
    pub name: String,
    pub title: String,
    pub run: RunId,
    pub glyph: &'static str,
    /// The worker, where several are at work.
    pub worker: Option<String>,
    /// `attempt 2, landing`, or that only a gate runs.
    pub what: String,
    pub agent: Option<String>,
    pub since: Timestamp,
    pub has_output: bool,
}

#[derive(Debug, Serialize)]
pub struct Wait {
    pub text: String,
    pub since: Timestamp,
    pub until: Option<Timestamp>,
}

/// A budget and how much of it is used.
#[derive(Debug, Serialize)]
pub struct Bar {
    pub label: &'static str,
    pub text: String,
    /// From 0 to 1.
    pub share: f64,
    pub near: bool,
}

impl Now {
    /// What the page is told, and the attempts under way, whose output it gets, too.
    pub fn read(
        workspace: &Workspace,
        settings: &Settings,
        changes: Changes,
    ) -> Result<(Self, Vec<CurrentAttempt>), CommandError> {
        let store = &workspace.store;
        let mut plan = PlanFacts::without_attempts(workspace)?;
        let list = PlanList::of(&plan, &PhaseNames::read(workspace));
        let needed: Vec<TaskId> = plan.needing_you().into_iter().map(|task| task.id.clone()).collect();
        let shown_needs = || needed.iter().take(NEEDS);
        let wanted: HashSet<TaskId> = list.tasks(&plan).chain(shown_needs()).cloned().collect();
        plan.read_attempts(store, &wanted)?;
        let open = plan.open_tasks_of(|task| wanted.contains(task));
        let open: HashMap<&TaskId, &OpenTask> = open.iter().map(|task| (&task.task.task_id, task)).collect();
        let runs = RunsFacts::read(store, settings, &plan)?;
        let newest = store.newest_attempts(LOOKED_AT)?;
        let eta = Eta::of(&runs.active, &plan, &newest).map(|eta| eta_in_words(&eta));
        let cost = match (runs.active.last(), &runs.last_run) {
            (Some(run), _) => format::total(&run.cost),
            (None, Some(run)) => format::total(&run.cost),
            (None, None) => None,
        };
        let last_action = store.plan_actions(1)?.first().map(|action| shown(&describe_action(action), 200));
        let (counts, _) = plan_counts(store)?;
        let mut view = Self {
            project: project_name(workspace),
            stamp: 0,
            actions: changes == Changes::Allowed,
            run: run_now(&runs),
            counts,
            summary: counts.summary(),
            needs: shown_needs().filter_map(|id| open.get(id)).map(|task| need(task)).collect(),
            more_needs: needed.len().saturating_sub(NEEDS),
            notices: notices(workspace, &runs)?,
            workers: runs.active.iter().flat_map(workers).collect(),
            waiting: runs.active.iter().find_map(wait),
            cost,
            budgets: budgets(store, settings, &runs)?,
            eta: None,
            groups_left_out: list.left_out,
            groups: list.rows(store, &plan, &open)?,
            last_action,
        };
        let newest_change = plan.tasks.iter().map(|task| task.updated_at).max();
        let last = newest.first().map(|last| (&last.task_id, last.attempt_number));
        view.stamp = stamp(&view, (newest_change, last, store.totals()?));
        view.eta = eta;
        Ok((view, runs.active.into_iter().flat_map(|run| run.attempts).collect()))
    }
}

pub fn project_name(workspace: &Workspace) -> String {
    let root = workspace.project.root();
    shown(&root.file_name().unwrap_or(root.as_os_str()).to_string_lossy(), 80)
}

fn stamp(facts: &Now, beside: impl std::fmt::Debug) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(facts).unwrap_or_default().hash(&mut hasher);
    format!("{beside:?}").hash(&mut hasher);
    // What JavaScript holds exactly.
    hasher.finish() >> 12
}

fn eta_in_words(eta: &Eta) -> String {
    let left = match eta.left_ms {
        0..60_000 => "less than a minute".to_owned(),
        // Seconds would say more than is known.
        ms => format!("about {}", format::elapsed(Duration::from_secs(ms.div_ceil(60_000) * 60))),
    };
    format!("{left} left ({} like these)", format::counted(eta.attempts, "attempt"))
}

fn run_now(runs: &RunsFacts) -> Option<RunNow> {
    let over = |id: &RunId, started_at: Timestamp, word: &str, class: &'static str| RunNow {
        id: id.clone(),
        active: false,
        word: word.to_owned(),
        class,
        started_at,
        ended_at: None,
        duration_ms: 0,
        can_pause: false,
        can_resume: false,
        reason: None,
        hint: None,
        others: 0,
    };
    if let Some(run) = runs.active.last() {
        let is_paused = run.waiting.as_ref().is_some_and(|wait| wait.waiting_for == WaitingFor::Resume);
        let (word, class) = match (run.request, is_paused) {
            _ if run.stopped => ("suspended", "weak"),
            (Some(RunRequest::Stop), _) => ("stopping", "weak"),
            (_, true) => ("paused", "weak"),
            (Some(RunRequest::Pause), _) => ("pausing", "weak"),
            _ if run.waiting.is_some() => ("waiting", "weak"),
            _ => ("running", "run"),
        };
        return Some(RunNow {
            active: true,
            can_pause: run.request.is_none() && !is_paused,
            can_resume: is_paused || run.request == Some(RunRequest::Pause),
            others: runs.active.len() - 1,
            ..over(&run.run_id, run.started_at, word, class)
        });
    }
    // A run that crashed before an attempt of it was recorded is not the last one that is told of, but it is the last one.
    let crashed = runs.run.as_ref().map(|last| &last.run).filter(|run| run.outcome.is_none());
    let run = runs.last_run.as_ref()?;
    if let Some(crashed) = crashed.filter(|crashed| crashed.id != run.run_id) {
        let reason = Some("Ralph crashed; the next run continues where it stopped".to_owned());
        return Some(RunNow { reason, ..over(&crashed.id, crashed.started_at, "crashed", "bad") });
    }
    let (word, class) = match (run.outcome.as_str(), run.exit_code) {
        ("died", _) => ("crashed", "bad"),
        (_, Some(0)) => ("finished", "ok"),
        _ => ("stopped", "weak"),
    };
    Some(RunNow {
        ended_at: run.ended_at.or(run.crashed_at),
        duration_ms: run.duration_ms,
        reason: run.reason.as_ref().map(|reason| shown(reason, LINE_CHARS)),
        hint: run.hint.as_ref().map(|hint| shown(hint, LINE_CHARS)),
        ..over(&run.run_id, run.started_at, word, class)
    })
}

fn need(task: &OpenTask) -> Need {
    Need {
        id: task.task.task_id.clone(),
        name: task.task.name().to_owned(),
        title: shown(&task.task.title, 200),
        mark: Standing::of(task.status).into(),
        happened: shown(&task.happened, LINE_CHARS),
        why: task.why.as_ref().map(|why| shown(why, LINE_CHARS)),
        command: task.next.clone(),
        dependents: task.dependents,
        is_blocked: task.status == Status::Blocked,
    }
}

fn notices(workspace: &Workspace, runs: &RunsFacts) -> Result<Vec<Notice>, CommandError> {
    let store = &workspace.store;
    let mut notices = Vec::new();
    let mut tell = |text: String, command: Option<&str>| {
        notices.push(Notice { text, command: command.map(str::to_owned) });
    };
    if let Some(error) = workspace.replaced_plan() {
        tell(shown(error.message(), LINE_CHARS), Some("ralph status"));
    }
    if runs.breaker.state != BreakerState::Closed {
        let failures = format::counted(runs.breaker.failures, "failure");
        tell(format!("The circuit breaker is open after {failures} in a row."), Some("ralph analyze"));
    }
    for gate in store.waiting_gates()?.iter().take(NEEDS) {
        let (before, after) = (gate.gate.before.as_deref(), gate.gate.after.as_deref());
        let text = lines::waiting_gate(&gate.gate.name, &gate.path, before, after);
        let text = anstream::adapter::strip_str(&text).to_string();
        tell(shown(&text, LINE_CHARS), None);
    }
    for limit in &store.agent_limits(now())? {
        let until = limit.until.local_near(now());
        tell(format!("{} hit its usage limit, which resets at {until}.", shown(&limit.agent, 60)), None);
    }
    Ok(notices)
}

fn workers(run: &ActiveRun) -> impl Iterator<Item = Worker> {
    let is_several = run.attempts.len() > 1;
    run.attempts.iter().map(move |one| Worker {
        id: one.task.task_id.clone(),
        name: one.task.name().to_owned(),
        title: shown(&one.task.title, 200),
        run: run.run_id.clone(),
        worker: is_several.then(|| shown(&one.worker, 40)),
        glyph: one.stage().0,
        what: match one.purpose {
            Purpose::Attempt => match one.state {
                None | Some(Stage::Working) => format!("attempt {}", one.attempt),
                Some(_) => format!("attempt {}, {}", one.attempt, one.stage().1),
            },
            Purpose::ParentGate => "its gate runs".to_owned(),
        },
        agent: format::agent_and_model(one.agent.as_deref(), one.model.as_deref()).map(|it| shown(&it, 100)),
        since: one.since,
        has_output: one.log_path.is_some(),
    })
}

fn wait(run: &ActiveRun) -> Option<Wait> {
    let wait = run.waiting.as_ref()?;
    Some(Wait { text: shown(&wait.reason, LINE_CHARS), since: wait.since, until: wait.until })
}

fn budgets(store: &Store, settings: &Settings, runs: &RunsFacts) -> Result<Vec<Bar>, CommandError> {
    let run = runs.active.last();
    let last = runs.last_run.as_ref().map(|last| (&last.run_id, RunTime::Over));
    let budgets = facts::budgets(store, settings, run.map(|run| (&run.run_id, RunTime::UnderWay)).or(last))?;
    let spent = Spent {
        run: run.map(|run| run.cost).or(runs.last_run.as_ref().map(|run| run.cost)).unwrap_or_default(),
        day: store.spent_on_day(now())?,
        // Whole minutes: what counts seconds would change all the time.
        run_time: match (run, &runs.last_run) {
            (Some(run), _) => Duration::from_secs(now().since(run.started_at).as_secs() / 60 * 60),
            (None, Some(last)) => Duration::from_millis(last.duration_ms),
            (None, None) => Duration::ZERO,
        },
    };
    Ok(meters(&budgets, &spent).iter().map(bar).collect())
}

fn bar(meter: &Meter) -> Bar {
    let (label, is_money) = match meter.budget {
        Budget::RunCost => ("Cost of the run", true),
        Budget::DayCost => ("Cost today", true),
        Budget::TaskCost => ("Cost of the task", true),
        Budget::RunTime => ("Time of the run", false),
        Budget::TaskTime => ("Time of the task", false),
    };
    let amount = |n: f64, estimated: bool| match is_money {
        true => format::cost(Some(n), estimated),
        false => format::elapsed(Duration::try_from_secs_f64(n.max(0.0) * 60.0).unwrap_or_default()),
    };
    Bar {
        label,
        text: format!("{} of {}", amount(meter.used, meter.estimated), amount(meter.most, false)),
        share: if meter.most > 0.0 { (meter.used / meter.most).clamp(0.0, 1.0) } else { 1.0 },
        near: meter.is_near(),
    }
}
