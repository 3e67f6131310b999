//! Which events send a notification, and its text. Pure.

use std::time::Duration;

use ralph_core::event::{EventKind, RunEvent, TaskRef, WaitingFor};
use ralph_core::model::{Status, Timestamp};
use ralph_core::store::PlanCounts;
use serde::Serialize;
use serde_json::Value;

use super::{Occasion, tame};
use crate::ui::format;

/// The version of the format.
pub const NOTICE_VERSION: u32 = 1;
/// Characters of a title.
const TITLE: usize = 120;
/// Characters of a task's title within it.
const TASK_TITLE: usize = 60;

/// Where a notice comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The project's name: that of its directory.
    pub name: String,
    /// Its root.
    pub root: String,
    /// The machine.
    pub host: String,
}

/// What a person is told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Notice {
    /// Version of this format.
    pub v: u32,
    /// Why a person is told.
    pub occasion: Occasion,
    /// In a line.
    pub title: String,
    /// In a few lines.
    pub message: String,
    /// The run.
    pub run_id: String,
    /// The task, where it is about one.
    pub task: Option<NoticeTask>,
    /// When it happened.
    pub at: Timestamp,
    /// The project.
    pub project: NoticeProject,
    /// The machine.
    pub host: String,
    /// The run's exit code, where it ended.
    pub exit_code: Option<i32>,
    /// What the run cost, where it ended and is known.
    pub cost_usd: Option<f64>,
    /// How many attempts reported no cost, where it ended: the whole is more then.
    pub cost_unknown: Option<u64>,
    /// Whether an estimate is part of the cost, where it ended.
    pub cost_estimated: Option<bool>,
    /// The plan, where the run ended.
    pub tasks: Option<PlanCounts>,
    /// The command to type next.
    pub next: Option<String>,
    /// The event itself.
    pub event: Value,
}

/// A task as notices name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoticeTask {
    /// Its id.
    pub id: String,
    /// Its key.
    pub key: Option<String>,
    /// Its title.
    pub title: String,
}

/// A project as notices name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoticeProject {
    /// Its name.
    pub name: String,
    /// Its root.
    pub root: String,
}

/// What there is to say.
struct Says<'e> {
    occasion: Occasion,
    what: String,
    lines: Vec<String>,
    task: Option<&'e TaskRef>,
    next: Option<String>,
}

/// The notification about an event, if it sends one.
pub fn notice(event: &RunEvent, place: &Place) -> Option<Notice> {
    let says = says(&event.kind)?;
    let (exit_code, cost, tasks) = match &event.kind {
        EventKind::RunFinished {
            exit_code,
            cost,
            tasks,
            ..
        } => (Some(*exit_code), Some(*cost), Some(*tasks)),
        _ => (None, None, None),
    };
    Some(Notice {
        v: NOTICE_VERSION,
        occasion: says.occasion,
        title: tame::line(&format!("{}: {}", place.name, says.what), TITLE),
        message: tame::lines(says.lines.iter().map(String::as_str)),
        run_id: tame::line(event.run_id.as_str(), TITLE),
        task: says.task.map(|task| NoticeTask {
            id: tame::line(task.task_id.as_str(), TITLE),
            key: task.key.as_ref().map(|key| tame::line(key.as_str(), TITLE)),
            title: tame::line(&task.title, TITLE),
        }),
        at: event.at,
        project: NoticeProject {
            name: tame::line(&place.name, TITLE),
            root: tame::line(&place.root, 1000),
        },
        host: tame::line(&place.host, TITLE),
        exit_code,
        cost_usd: cost.and_then(|cost| cost.cost_usd),
        cost_unknown: cost.map(|cost| cost.cost_unknown),
        cost_estimated: cost.map(|cost| cost.cost_estimated),
        tasks,
        next: says.next,
        event: tame::value(serde_json::to_value(event).unwrap_or_default()),
    })
}

fn says(kind: &EventKind) -> Option<Says<'_>> {
    match kind {
        EventKind::AttemptFinished(finished) if finished.status == Status::Blocked => {
            let why = finished.reason.as_ref().or(finished.message.as_ref());
            Some(blocked(&finished.task, why.cloned().into_iter().collect()))
        }
        EventKind::HandedOver { task, reason } => Some(blocked(task, vec![reason.clone()])),
        EventKind::GivenUp { task, lines } => Some(blocked(task, lines.clone())),
        EventKind::LostFound {
            task,
            status: Status::Blocked,
            ..
        } => {
            let why = "its attempts were interrupted by crashes of Ralph several times in a row";
            Some(blocked(task, vec![why.to_owned()]))
        }
        EventKind::BreakerOpened {
            failures,
            tasks,
            analysis,
        } => Some(Says {
            occasion: Occasion::Breaker,
            what: "the circuit breaker opened".to_owned(),
            lines: std::iter::once(format!("{failures} consecutive failures on {tasks} tasks"))
                .chain(analysis.lines())
                .collect(),
            task: None,
            next: Some("ralph analyze".to_owned()),
        }),
        EventKind::Waiting {
            waiting_for: WaitingFor::Limit,
            reason,
            until,
        } => {
            let until = until.map(|until| format!(" until {}", format::time(until)));
            let wait = format!("waiting for {reason}{}", until.unwrap_or_default());
            Some(Says {
                occasion: Occasion::Limit,
                what: "usage limit hit".to_owned(),
                lines: vec![wait, "the run then resumes by itself".to_owned()],
                task: None,
                next: None,
            })
        }
        EventKind::AgentChanged {
            agent,
            instead_of,
            limited_until: Some(until),
            ..
        } => Some(Says {
            occasion: Occasion::Limit,
            what: "usage limit hit".to_owned(),
            lines: vec![
                format!(
                    "{instead_of} hit its usage limit (resets {})",
                    format::time(*until)
                ),
                format!("switching to {agent}"),
            ],
            task: None,
            next: None,
        }),
        EventKind::BudgetNear { message, .. } => Some(Says {
            occasion: Occasion::Budget,
            what: "a budget is nearly used up".to_owned(),
            lines: vec![message.clone()],
            task: None,
            next: None,
        }),
        EventKind::RunFinished { .. } => finished(kind),
        EventKind::AttemptFinished(_)
        | EventKind::LostFound { .. }
        | EventKind::Waiting { .. }
        | EventKind::RunStarted { .. }
        | EventKind::AttemptStarted { .. }
        | EventKind::Activity { .. }
        | EventKind::GateStarted { .. }
        | EventKind::GateFinished { .. }
        | EventKind::GateGreenBefore { .. }
        | EventKind::GateChanged { .. }
        | EventKind::GateWaiting { .. }
        | EventKind::Progress { .. }
        | EventKind::ParentGate { .. }
        | EventKind::BreakerProbes
        | EventKind::Paused
        | EventKind::Resumed
        | EventKind::Skipped { .. }
        | EventKind::WaitOver
        | EventKind::AgentChanged { .. }
        | EventKind::FixCreated { .. }
        | EventKind::PlanChange { .. }
        | EventKind::PlanFileRead { .. }
        | EventKind::BranchChanged { .. }
        | EventKind::Committed { .. }
        | EventKind::RolledBack { .. }
        | EventKind::LogsPruned { .. }
        | EventKind::HookFailed { .. }
        | EventKind::Warning { .. }
        | EventKind::LearningsTidied { .. }
        | EventKind::Interrupted { .. } => None,
    }
}

/// A task is blocked.
fn blocked(task: &TaskRef, why: Vec<String>) -> Says<'_> {
    let title = tame::line(&task.title, TASK_TITLE);
    Says {
        occasion: Occasion::Blocked,
        what: format!("{} {title} is blocked and needs you", task.name()),
        lines: why,
        task: Some(task),
        next: Some(format!("ralph run {}", typed(task))),
    }
}

/// A task's name as it can be typed at a shell.
fn typed(task: &TaskRef) -> &str {
    let plain = |key: &&str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-:/+".contains(c);
        key.chars().all(allowed)
    };
    let key = task.key.as_ref().map(|key| key.as_str());
    key.filter(plain).unwrap_or(task.task_id.as_str())
}

/// What a plan that needs no more work is called; what is skipped or unverified is not hidden behind "done".
fn all_done(tasks: &PlanCounts) -> &'static str {
    match (tasks.skipped > 0, tasks.unverified() > 0) {
        (false, false) => "every task is done",
        (false, true) => "every task is done, some unverified",
        (true, false) => "every task is done or skipped",
        (true, true) => "every task is done or skipped, some unverified",
    }
}

/// The run ended. A run that was interrupted sends no notification.
fn finished(kind: &EventKind) -> Option<Says<'_>> {
    let EventKind::RunFinished {
        exit_code,
        reason,
        hint,
        budget,
        attempts,
        cost,
        duration_ms,
        tasks,
        ..
    } = kind
    else {
        return None;
    };
    let (occasion, what, next) = match exit_code {
        0 => (Occasion::Done, all_done(tasks), "ralph status"),
        4 if budget.is_some() => (Occasion::Budget, "a budget is used up", "ralph run"),
        4 => (Occasion::Limit, "the run reached a limit", "ralph run"),
        5 => (
            Occasion::Blocked,
            "the remaining tasks are blocked",
            "ralph status",
        ),
        6 => (
            Occasion::Breaker,
            "the circuit breaker is open",
            "ralph analyze",
        ),
        7 => (Occasion::Error, "the run was aborted", "ralph status"),
        code if *code >= 128 => return None,
        _ => (
            Occasion::Error,
            "the run stopped with an error",
            "ralph doctor",
        ),
    };
    let mut facts = vec![
        format::counted(u64::from(*attempts), "attempt"),
        format::duration(Duration::from_millis(*duration_ms)),
    ];
    facts.extend(format::total(cost));
    let mut lines = vec![reason.clone()];
    lines.extend(hint.iter().cloned());
    lines.push(tasks.summary());
    lines.push(facts.join(", "));
    Some(Says {
        occasion,
        what: what.to_owned(),
        lines,
        task: None,
        next: Some(next.to_owned()),
    })
}

#[cfg(test)]
mod tests;
