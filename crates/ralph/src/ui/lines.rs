//! What an event is in one line, for terminals and pipes alike.

use std::time::Duration;

use ralph_core::agent::Activity;
use ralph_core::event::{AttemptFinished, EventKind, GateAuthor, RunEvent, TaskRef};
use ralph_core::model::{ErrorType, FailureClass, GateOutcome, LearningId, NO_MODEL, Outcome, Status};
use ralph_core::store::Merged;

use super::format;
use super::style::{self, BOLD, DIM, GREEN, RED, UNVERIFIED, YELLOW, paint};

/// How many tasks without a gate are named.
const NAMED: usize = 5;
/// Characters of a gate's command in a line.
const COMMAND_CHARS: usize = 200;

/// The line of an event that stays on the screen; events that only move the display have none.
pub fn line(event: &RunEvent) -> Option<String> {
    match &event.kind {
        EventKind::AttemptFinished(finished) => Some(attempt(finished)),
        EventKind::LostFound { task, status: Status::Done, verified, .. } => Some(format!(
            "{} {} Ralph crashed after it committed the work; the task is {}",
            style::outcome_mark(Outcome::Done, true, *verified),
            task.name(),
            if *verified { "done" } else { UNVERIFIED },
        )),
        EventKind::LostFound { task, counted, .. } => {
            let counts = if *counted { "; counted as a failure (third in a row)" } else { "" };
            Some(paint(
                YELLOW,
                format_args!("~ {} the last attempt was interrupted by a crash{counts}", task.name()),
            ))
        }
        EventKind::BreakerOpened { failures, tasks, analysis } => Some(format!(
            "{}\n{}",
            paint(
                YELLOW,
                format_args!(
                    "! Circuit breaker triggered: {failures} consecutive failures on {}",
                    format::counted(*tasks, "task")
                )
            ),
            analysis.lines().join("\n")
        )),
        EventKind::BreakerProbes => Some(paint(YELLOW, "~ Circuit breaker open: running one trial attempt")),
        EventKind::Paused | EventKind::Resumed => None,
        EventKind::Skipped { task } => Some(format!("– {} {} skipped", task.name(), task.title)),
        EventKind::HandedOver { task, reason } => {
            Some(paint(YELLOW, format_args!("! {} blocked (needs you): {reason}", task.name())))
        }
        EventKind::ParentGate { task, passed: true } => {
            Some(format!("{} {} {}  all subtasks are done", paint(GREEN, "✓"), task.name(), task.title))
        }
        // What follows is told as an attempt, or as a task that is blocked.
        EventKind::ParentGate { passed: false, .. } => None,
        EventKind::GateGreenBefore { task, command } => Some(paint(
            YELLOW,
            format_args!("! {} the gate already passes before any work: {command}", task.name()),
        )),
        EventKind::GateChanged { task, before, after, by } => Some(paint(
            YELLOW,
            format_args!(
                "! {} gate changed{}: {} → {}",
                task.name(),
                gate_author(*by),
                gate(before.as_deref()),
                gate(after.as_deref())
            ),
        )),
        EventKind::GateWaiting { task, path, before, after } => Some(paint(
            YELLOW,
            format_args!("! {}", waiting_gate(task.name(), path, before.as_deref(), after.as_deref())),
        )),
        EventKind::GateFinished { task, outcome: GateOutcome::Passed, flaky: true, .. } => {
            Some(paint(YELLOW, format_args!("! {} flaky gate: it failed, then passed", task.name())))
        }
        EventKind::AgentChanged { agent, instead_of, reason, limited_until } => {
            let why = match (limited_until, reason) {
                (Some(until), _) => {
                    let resets = format::moment(*until, event.at);
                    format!("{instead_of} hit its usage limit (resets {resets}). ")
                }
                (None, Some(why)) => format!("{instead_of} is unavailable: {why}. "),
                (None, None) => String::new(),
            };
            Some(paint(YELLOW, format_args!("~ {why}Switching to {agent}.")))
        }
        EventKind::BudgetNear { message, .. } => Some(paint(YELLOW, format_args!("! {message}"))),
        EventKind::Waiting { reason, until, .. } => {
            let until = until.map(|until| format::until(until, event.at)).unwrap_or_default();
            Some(paint(YELLOW, format_args!("… waiting for {reason}{until}")))
        }
        EventKind::FixCreated { task, fix, fix_title, .. } => Some(format!(
            "{} {fix} {fix_title}  (runs before {} is retried)",
            paint(YELLOW, "+"),
            task.name()
        )),
        EventKind::PlanChange { task, kind, added, refusal, .. } => {
            Some(plan_change(task, kind.as_deref(), added, refusal.as_deref()))
        }
        EventKind::GivenUp { lines, .. } => Some(given_up(lines)),
        EventKind::PlanFileRead { path, added, updated, finished, removed } => {
            let counts =
                [(added, "added"), (updated, "updated"), (finished, "checked off"), (removed, "removed")];
            let counts = counts.iter().filter(|(n, _)| **n > 0);
            let counts: Vec<String> = counts.map(|(n, what)| format!("{n} {what}")).collect();
            let counts = match counts.is_empty() {
                true => String::new(),
                false => format!(": {}", counts.join(", ")),
            };
            Some(paint(DIM, format_args!("· {path} changed{counts}")))
        }
        EventKind::BranchChanged { branch } => Some(paint(DIM, format_args!("· working on branch {branch}"))),
        EventKind::Committed { task, commit, files } => {
            let short: String = commit.chars().take(10).collect();
            let files = format::counted(*files as u64, "file");
            let text = format!("· {} committed {short} ({files})", task.name());
            Some(paint(DIM, text))
        }
        EventKind::RolledBack { task, reference, files, .. } => {
            let files = format::counted(*files as u64, "file");
            let text = format!("· {} rolled back {files}; the changes are saved at {reference}", task.name());
            Some(paint(DIM, text))
        }
        EventKind::HookFailed { hook, message } => {
            Some(paint(YELLOW, format_args!("! hook {} {message}", hook.name())))
        }
        EventKind::Warning { message } => Some(paint(YELLOW, format_args!("! {message}"))),
        EventKind::LearningsTidied { merged, pruned, undo } => {
            Some(paint(DIM, tidied(merged, pruned, undo.as_deref())))
        }
        EventKind::LogsPruned { files, bytes } => Some(paint(
            DIM,
            format_args!(
                "· deleted {} ({}); limits: [logs] keep_days and max_mb",
                format::counted(*files, "old log"),
                format::bytes(*bytes)
            ),
        )),
        EventKind::Interrupted { signal, by_command } => {
            let text = match signal.as_str() {
                _ if *by_command => "! Stopping (ralph stop)".to_owned(),
                "INT" => "! Stopping; press Ctrl-C again to kill the agent".to_owned(),
                signal => format!("! Stopping (SIG{signal})"),
            };
            Some(paint(YELLOW, text))
        }
        EventKind::RunStarted { gates_off: true, .. } => {
            Some(paint(YELLOW, "! --no-gate: gates do not run, tasks will be unverified"))
        }
        EventKind::RunStarted { without_gate, ungated, .. } => self::ungated(*without_gate, ungated),
        EventKind::AttemptStarted { .. }
        | EventKind::Activity { .. }
        | EventKind::GateStarted { .. }
        | EventKind::GateFinished { .. }
        | EventKind::Progress { .. }
        | EventKind::WaitOver
        | EventKind::RunFinished { .. } => None,
    }
}

/// What there is to say of tasks without a gate, if there are any, and how one of them gets a gate. Names may be left out.
pub fn ungated(tasks: u64, names: &[String]) -> Option<String> {
    let (have, them) = match tasks {
        0 => return None,
        1 => ("has", "it"),
        _ => ("have", "them"),
    };
    let mut shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    if !shown.is_empty() && tasks > shown.len() as u64 {
        shown.push("…");
    }
    let named = match shown.is_empty() {
        true => String::new(),
        false => format!(" ({})", shown.join(", ")),
    };
    let name = names.first().map_or("TASK", String::as_str);
    Some(paint(
        YELLOW,
        format_args!(
            "! {} {have} no gate{named}: Ralph cannot verify {them}; to add one: ralph task edit {name} --verify CMD",
            format::counted(tasks, "task")
        ),
    ))
}

/// Where a change of a gate came from, in a few words.
pub fn gate_author(by: GateAuthor) -> &'static str {
    match by {
        GateAuthor::PlanFile => " in the plan file",
        GateAuthor::Elsewhere => " outside this run",
    }
}

pub fn gate(command: Option<&str>) -> String {
    match command {
        Some(command) => format!("`{}`", ralph_core::text::code_line(command, COMMAND_CHARS)),
        None => "none".to_owned(),
    }
}

/// The message about a gate that an agent may have changed in a plan file.
pub fn waiting_gate(name: &str, path: &str, before: Option<&str>, after: Option<&str>) -> String {
    format!(
        "the gate of {name} changed in {path} while an agent was running: {} → {}. Ralph keeps the old gate; to accept \
         the new one: ralph import {}",
        gate(before),
        gate(after),
        ralph_core::text::shell_word(path)
    )
}

fn plan_change(task: &TaskRef, kind: Option<&str>, added: &[String], refusal: Option<&str>) -> String {
    let kind = kind.unwrap_or("plan change");
    match refusal {
        Some(why) => paint(YELLOW, format_args!("! {} {kind} refused: {why}", task.name())),
        None => format!("{} {} {kind}: added {}", paint(YELLOW, "+"), task.name(), added.join(", ")),
    }
}

fn given_up(lines: &[String]) -> String {
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        text.push_str(&if at == 0 { paint(RED, line) } else { line.clone() });
    }
    text
}

/// The number of learnings in a prompt, after a separator; empty if there are none.
pub fn learnings_shown(learnings: usize, separator: &str) -> String {
    match learnings {
        0 => String::new(),
        n => format!("{separator}{} in the prompt", format::counted(n as u64, "learning")),
    }
}

fn tidied(merged: &[Merged], pruned: &[LearningId], undo: Option<&str>) -> String {
    let joined: usize = merged.iter().map(|merge| merge.from.len()).sum();
    let mut done = Vec::new();
    if joined > 0 {
        done.push(format!("{joined} similar merged into {}", merged.len()));
    }
    if !pruned.is_empty() {
        done.push(format!("{} unused archived", pruned.len()));
    }
    let done = done.join(", ");
    let undo =
        undo.map(|batch| format!("; undo: ralph learnings restore --merge {batch}")).unwrap_or_default();
    format!("· learnings: {done}{undo}")
}

fn attempt(finished: &AttemptFinished) -> String {
    let mark = style::outcome_mark(finished.outcome, finished.counted, finished.verified);
    let name = paint(BOLD, finished.task.name());
    let time = format::duration(Duration::from_millis(finished.duration_ms));
    let cost = finished
        .cost_usd
        .map(|usd| format!(", {}", format::cost(Some(usd), finished.cost_estimated)))
        .unwrap_or_default();
    let learned = match finished.learned.max(finished.learnt) {
        0 => String::new(),
        n => format!(", {}", format::counted(n as u64, "learning")),
    };
    // A person may call an agent `none`, too.
    let is_gate = finished.agent.is_none() && finished.model == NO_MODEL;
    let facts = match is_gate {
        true => format!("gate after its subtasks, {time}"),
        false => {
            let counts = if finished.counted { "" } else { " (not counted)" };
            format!("attempt {}{counts}, {}, {time}{cost}{learned}", finished.attempt, finished.model)
        }
    };
    let mut line = format!("{mark} {name} {}  {}", finished.task.title, paint(DIM, facts));
    if finished.outcome == Outcome::Done && !finished.verified {
        let why = finished.message.as_deref().unwrap_or("no gate ran");
        line.push_str(&format!("\n    {}", paint(YELLOW, format_args!("done, unverified: {why}"))));
    }
    let error = finished.error_type.as_ref();
    // What is wrong with the setup ends the run or changes the agent, and is told there.
    let is_told_later = error.is_some_and(|error| error.class() == FailureClass::Setup);
    if finished.outcome != Outcome::Done && !is_told_later {
        let message = finished.message.as_deref();
        let failure = format::failure(finished.outcome, error, message);
        line.push_str(&format!("\n    {failure}"));
    }
    if finished.files_changed.as_ref().is_some_and(Vec::is_empty) {
        line.push_str(&format!("\n    {}", paint(YELLOW, "no files changed")));
    }
    if !finished.gate_files_changed.is_empty() {
        let files = finished.gate_files_changed.join(", ");
        let text = format!("changed files that its gate uses: {files}");
        line.push_str(&format!("\n    {}", paint(YELLOW, text)));
    }
    if finished.status == Status::Blocked {
        let next = match error {
            // The message says what to do first.
            Some(ErrorType::GateBroken) => "blocked (needs you)".to_owned(),
            _ => format!("blocked (needs you); retry: ralph run {}", finished.task.name()),
        };
        line.push_str(&format!("\n    {}", paint(YELLOW, next)));
    }
    line
}

/// What the agent is doing now, in a few words.
pub fn activity(activity: &Activity) -> String {
    match activity {
        Activity::Started { model: Some(model) } => format!("started {model}"),
        Activity::Started { model: None } => "started".into(),
        Activity::Said { text } => text.clone(),
        Activity::Tool { name, target } => format!("{name} {target}"),
        Activity::Retrying { attempt, max, status } => {
            let status = status.map(|status| format!(" {status}")).unwrap_or_default();
            format!("API error{status}, retrying ({attempt} of {max})")
        }
        Activity::LimitWarning { utilization: Some(share) } => {
            format!("usage limit: {:.0}% used", share * 100.0)
        }
        Activity::LimitWarning { utilization: None } => "close to the usage limit".into(),
    }
}
