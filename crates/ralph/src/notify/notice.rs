//! Which events send a notification, and its text: clean, masked and bounded. Pure.

use std::time::Duration;

use ralph_core::analysis::Analysis;
use ralph_core::decide::{Budget, Meter};
use ralph_core::event::{EventKind, RunEvent, TaskRef, WaitingFor};
use ralph_core::exit::RunExit;
use ralph_core::host::{Host, ThisHost};
use ralph_core::model::{Cost, GateOutcome, Key, Outcome, RunId, Status, TaskId, Timestamp};
use ralph_core::project::Project;
use ralph_core::store::PlanCounts;
use ralph_core::text::{clean, head, mask_secrets, one_line, shell_word};
use serde::Serialize;
use serde_json::Value;

use crate::facts::next_command;
use crate::report::ReportFile;
use crate::ui::format;

pub const NOTICE_VERSION: u32 = 1;
const TITLE: usize = 120;
/// Characters of a task's title within it.
const TASK_TITLE: usize = 60;
const LINE: usize = 300;
const LINES: usize = 12;
/// Characters of one text within the event.
const TEXT: usize = 1000;
/// Entries of one list within the event.
const ENTRIES: usize = 50;
/// Bytes of a text, and of one of several, that are masked: far more than is shown, so that a secret that is cut in two
/// at this bound is not shown.
const READ: usize = 64 * 1024;
const READ_EACH: usize = 4 * 1024;

/// The values of `[notify] on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Occasion {
    /// Every task is done or skipped.
    Done,
    /// A task is blocked, or all remaining tasks are.
    Blocked,
    /// The circuit breaker opened.
    Breaker,
    /// The run waits for a usage limit to reset, or a limit stopped it.
    Limit,
    /// A cost or time limit is almost or completely used up.
    Budget,
    /// The run stopped with an error or was aborted.
    Error,
}

impl Occasion {
    /// All of them, in the order of the settings.
    pub const ALL: [Self; 6] =
        [Self::Done, Self::Blocked, Self::Breaker, Self::Limit, Self::Budget, Self::Error];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Blocked => "blocked",
            Self::Breaker => "breaker",
            Self::Limit => "limit",
            Self::Budget => "budget",
            Self::Error => "error",
        }
    }
}

/// Where a notice comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The project's name: that of its directory.
    pub name: String,
    pub root: String,
    pub host: String,
}

impl Place {
    pub fn of(project: &Project) -> Self {
        let root = project.root();
        let name = root.file_name().unwrap_or(root.as_os_str());
        Self {
            name: name.to_string_lossy().into_owned(),
            root: root.display().to_string(),
            host: ThisHost::new().owner().host,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Notice {
    pub v: u32,
    pub occasion: Occasion,
    pub title: String,
    pub message: String,
    pub run_id: String,
    pub task: Option<NoticeTask>,
    pub at: Timestamp,
    pub project: NoticeProject,
    pub host: String,
    pub exit_code: Option<i32>,
    pub cost_usd: Option<f64>,
    /// How many attempts reported no cost, where it ended: the whole is more then.
    pub cost_unknown: Option<u64>,
    pub cost_estimated: Option<bool>,
    pub tasks: Option<PlanCounts>,
    /// The command to type next.
    pub next: Option<String>,
    /// The report of the run, where it ended and the settings want one.
    pub report: Option<NoticeReport>,
    pub event: Value,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoticeReport {
    pub path: String,
    pub url: String,
}

impl Notice {
    /// The same with a link to the report of the run.
    pub fn with_report(mut self, file: &ReportFile) -> Self {
        let (path, url) = (file.path.display().to_string(), file.url());
        self.message.push_str(&format!("\nreport: {url}"));
        self.report = Some(NoticeReport { path, url });
        self
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoticeTask {
    pub id: String,
    pub key: Option<String>,
    pub spec: Option<String>,
    pub title: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoticeProject {
    pub name: String,
    pub root: String,
}

struct Content<'e> {
    occasion: Occasion,
    what: &'static str,
    lines: Vec<String>,
    task: Option<&'e TaskRef>,
    next: Option<String>,
}

impl Content<'_> {
    fn new(occasion: Occasion, what: &'static str, lines: Vec<String>, next: Option<&str>) -> Self {
        Self { occasion, what, lines, task: None, next: next.map(str::to_owned) }
    }
}

/// The notification about an event, if it sends one.
pub fn notice(event: &RunEvent, place: &Place) -> Option<Notice> {
    let content = content(&event.kind)?;
    let (exit_code, cost, tasks) = match &event.kind {
        EventKind::RunFinished { exit_code, cost, tasks, .. } => {
            (Some(*exit_code), Some(*cost), Some(*tasks))
        }
        _ => (None, None, None),
    };
    let about = content.task.map(|task| format!("{} {} ", task.name(), safe_line(&task.title, TASK_TITLE)));
    let about = about.unwrap_or_default();
    Some(Notice {
        v: NOTICE_VERSION,
        occasion: content.occasion,
        title: safe_line(&format!("{}: {about}{}", place.name, content.what), TITLE),
        message: safe_lines(&content.lines),
        run_id: safe_line(event.run_id.as_str(), TITLE),
        task: content.task.map(|task| NoticeTask {
            id: safe_line(task.task_id.as_str(), TITLE),
            key: task.key.as_ref().map(|key| safe_line(key.as_str(), TITLE)),
            spec: task.spec.as_ref().map(|spec| safe_line(spec, TITLE)),
            title: safe_line(&task.title, TITLE),
        }),
        at: event.at,
        project: NoticeProject { name: safe_line(&place.name, TITLE), root: safe_line(&place.root, 1000) },
        host: safe_line(&place.host, TITLE),
        exit_code,
        cost_usd: cost.and_then(|cost| cost.cost_usd),
        cost_unknown: cost.map(|cost| cost.cost_unknown),
        cost_estimated: cost.map(|cost| cost.cost_estimated),
        tasks,
        next: content.next,
        report: None,
        event: safe_value(serde_json::to_value(event).unwrap_or(Value::Null)),
    })
}

fn content(kind: &EventKind) -> Option<Content<'_>> {
    match kind {
        EventKind::AttemptFinished(finished) if finished.status == Status::Blocked => {
            let why = finished.reason.as_ref().or(finished.message.as_ref());
            let ended = Some((finished.outcome, finished.gate));
            Some(blocked(&finished.task, why.cloned().into_iter().collect(), ended))
        }
        EventKind::HandedOver { task, reason } => Some(blocked(task, vec![reason.clone()], None)),
        EventKind::GivenUp { task, lines } => Some(blocked(task, lines.clone(), None)),
        EventKind::LostFound { task, status: Status::Blocked, .. } => {
            let why = "its attempts were interrupted by crashes of Ralph several times in a row";
            Some(blocked(task, vec![why.to_owned()], None))
        }
        EventKind::BreakerOpened { failures, tasks, analysis } => {
            let mut lines = vec![format!("{failures} consecutive failures on {tasks} tasks")];
            lines.extend(analysis.lines());
            let next = Some("ralph analyze");
            Some(Content::new(Occasion::Breaker, "the circuit breaker opened", lines, next))
        }
        EventKind::Waiting { waiting_for: WaitingFor::Limit, reason, until } => {
            let until = until.map(|until| format!(" until {}", until.local()));
            let wait = format!("waiting for {reason}{}", until.unwrap_or_default());
            let lines = vec![wait, "the run then resumes by itself".to_owned()];
            Some(Content::new(Occasion::Limit, "usage limit hit", lines, None))
        }
        EventKind::AgentChanged { agent, instead_of, limited_until: Some(until), .. } => {
            let limit = format!("{instead_of} hit its usage limit (resets {})", until.local());
            let lines = vec![limit, format!("switching to {agent}")];
            Some(Content::new(Occasion::Limit, "usage limit hit", lines, None))
        }
        EventKind::BudgetNear { message, .. } => {
            let lines = vec![message.clone()];
            Some(Content::new(Occasion::Budget, "a cost or time limit is nearly used up", lines, None))
        }
        EventKind::RunFinished {
            exit_code,
            reason,
            hint,
            budget,
            attempts,
            cost,
            duration_ms,
            tasks,
            ..
        } => {
            let (occasion, what, next) = match exit_code {
                0 => (Occasion::Done, all_done(tasks), "ralph status"),
                4 if budget.is_some() => (Occasion::Budget, "a cost or time limit is reached", "ralph run"),
                4 => (Occasion::Limit, "the run reached a limit", "ralph run"),
                5 => (Occasion::Blocked, "the remaining tasks are blocked", "ralph status"),
                6 => (Occasion::Breaker, "the circuit breaker is open", "ralph analyze"),
                7 => (Occasion::Error, "the run was aborted", "ralph status"),
                // It was interrupted by somebody who is there.
                code if *code >= 128 => return None,
                _ => (Occasion::Error, "the run stopped with an error", "ralph doctor"),
            };
            let mut lines = vec![reason.clone()];
            lines.extend(hint.iter().cloned());
            lines.push(tasks.summary());
            lines.push(format::spent(u64::from(*attempts), 0, *duration_ms, cost));
            Some(Content::new(occasion, what, lines, Some(next)))
        }
        _ => None,
    }
}

/// `ended` is how its last attempt ended, and that attempt's gate.
fn blocked(task: &TaskRef, why: Vec<String>, ended: Option<(Outcome, Option<GateOutcome>)>) -> Content<'_> {
    let next = next_command(typed(task), Status::Blocked, why.first().map(String::as_str), ended);
    Content {
        task: Some(task),
        ..Content::new(Occasion::Blocked, "is blocked and needs you", why, next.as_deref())
    }
}

/// A task's name as it can be typed in a shell.
fn typed(task: &TaskRef) -> &str {
    let name = Some(task.name()).filter(|name| shell_word(name) == *name);
    name.unwrap_or(task.task_id.as_str())
}

/// How a finished plan is described; skipped and unverified tasks are not hidden behind "done".
fn all_done(tasks: &PlanCounts) -> &'static str {
    match (tasks.skipped > 0, tasks.unverified() > 0) {
        (false, false) => "every task is done",
        (false, true) => "every task is done, some unverified",
        (true, false) => "every task is done or skipped",
        (true, true) => "every task is done or skipped, some unverified",
    }
}

/// One clean, masked line of at most so many characters.
pub fn safe_line(text: &str, most: usize) -> String {
    one_line(&masked(text), most)
}

/// A few clean, masked lines without empty ones.
fn safe_lines(texts: &[String]) -> String {
    // Masked as a whole: a key may stand on several lines.
    let few = texts.iter().take(LINES);
    let few: Vec<&str> = few.map(|text| head(text, READ_EACH)).collect();
    let masked = masked(&few.join("\n"));
    let lines = masked.lines().map(|text| one_line(text, LINE));
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).take(LINES).collect();
    lines.join("\n")
}

/// A JSON value whose texts are clean, masked and bounded, and whose lists are bounded.
fn safe_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(bounded(&masked(&text))),
        Value::Array(entries) => entries.into_iter().take(ENTRIES).map(safe_value).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, safe_value(field))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn masked(text: &str) -> String {
    mask_secrets(&clean(head(text, READ))).into_owned()
}

fn bounded(text: &str) -> String {
    match text.char_indices().nth(TEXT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// An event that sends this kind of notification, for tests of the channels.
pub fn sample(occasion: Occasion, at: Timestamp) -> RunEvent {
    let kind = match occasion {
        Occasion::Done => sample_end(RunExit::Finished, "every task is done"),
        Occasion::Error => sample_end(RunExit::Error, "the agent's program was not found"),
        Occasion::Blocked => EventKind::HandedOver {
            task: TaskRef {
                task_id: TaskId::from_stored("t-000000"),
                key: Some(Key::from_stored("1.2")),
                spec: None,
                name: "1.2".to_owned(),
                title: "Parse dates".to_owned(),
            },
            reason: "failed 5 times in a row".to_owned(),
        },
        Occasion::Breaker => EventKind::BreakerOpened {
            failures: 5,
            tasks: 3,
            analysis: Analysis {
                failures: 5,
                pattern: Some("\"npm: not found\" (5 of 5)".to_owned()),
                affected: None,
                shared: None,
                models: None,
                suggestion: "install npm".to_owned(),
            },
        },
        Occasion::Limit => EventKind::Waiting {
            waiting_for: WaitingFor::Limit,
            reason: "claude's usage limit".to_owned(),
            until: Some(at.plus(Duration::from_secs(3600))),
        },
        Occasion::Budget => {
            let meter = Meter { estimated: false, budget: Budget::RunCost, used: 4.2, most: 5.0 };
            EventKind::BudgetNear { meter, message: meter.told_near() }
        }
    };
    RunEvent::new(1, at, &RunId::from_stored("r-00000000"), kind)
}

fn sample_end(exit: RunExit, reason: &str) -> EventKind {
    let done = u64::from(exit == RunExit::Finished) * 3;
    EventKind::RunFinished {
        exit_code: i32::from(exit.code()),
        outcome: exit.word().to_owned(),
        reason: reason.to_owned(),
        hint: None,
        budget: None,
        attempts: 4,
        done: done as u32,
        cost: Cost::new(0.42, 0),
        duration_ms: 754_000,
        tasks: PlanCounts { total: 3, done, verified: done, pending: 3 - done, ..PlanCounts::default() },
    }
}

#[cfg(test)]
mod tests;
