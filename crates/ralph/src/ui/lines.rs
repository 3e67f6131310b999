//! What an event is in one line, for terminals and pipes alike.

use std::time::Duration;

use ralph_core::agent::Activity;
use ralph_core::event::{AttemptFinished, EventKind, GateAuthor, RunEvent, TaskRef};
use ralph_core::model::{GateOutcome, LearningId, Outcome, Status};
use ralph_core::store::Merged;

use super::format;
use super::style::{self, BOLD, DIM, GREEN, RED, UNVERIFIED, YELLOW, paint};

/// Characters of a gate's command in a line.
const COMMAND_CHARS: usize = 200;

/// The line of an event that stays on the screen; events that only move the display have none.
pub fn line(event: &RunEvent) -> Option<String> {
    match &event.kind {
        EventKind::AttemptFinished(finished) => Some(attempt(finished)),
        EventKind::LostFound {
            task,
            status: Status::Done,
            verified,
            ..
        } => Some(format!(
            "{} {} Ralph died after it had committed the work; the task is {}",
            style::outcome_mark(Outcome::Done, true, *verified),
            task.name(),
            if *verified { "done" } else { UNVERIFIED },
        )),
        EventKind::LostFound { task, counted, .. } => {
            let counts = if *counted {
                "; it counts, the third in a row"
            } else {
                ""
            };
            Some(paint(
                YELLOW,
                format_args!(
                    "~ {} an attempt was lost when Ralph died{counts}",
                    task.name()
                ),
            ))
        }
        EventKind::BreakerOpened {
            failures,
            tasks,
            analysis,
        } => Some(format!(
            "{}\n{}",
            paint(
                YELLOW,
                format_args!(
                    "! Circuit breaker triggered: {failures} consecutive failures on {tasks} tasks"
                )
            ),
            analysis.lines().join("\n")
        )),
        EventKind::BreakerProbes => Some(paint(
            YELLOW,
            "~ the circuit breaker is open: one attempt, to see",
        )),
        EventKind::Paused | EventKind::Resumed => None,
        EventKind::Skipped { task } => Some(format!("– {} {} skipped", task.name(), task.title)),
        EventKind::HandedOver { task, reason } => Some(paint(
            YELLOW,
            format_args!("! {} waits for a human: {reason}", task.name()),
        )),
        EventKind::ParentGate { task, passed: true } => Some(format!(
            "{} {} {}  all its parts are done",
            paint(GREEN, "✓"),
            task.name(),
            task.title
        )),
        EventKind::ParentGate {
            task,
            passed: false,
        } => Some(format!(
            "{} {} {}  all its parts are done, but its own gate failed",
            paint(RED, "✗"),
            task.name(),
            task.title
        )),
        EventKind::GateGreenBefore { task, command } => Some(paint(
            YELLOW,
            format_args!(
                "! {} its gate passes before anything was done: {command}",
                task.name()
            ),
        )),
        EventKind::GateChanged {
            task,
            before,
            after,
            by,
        } => Some(paint(
            YELLOW,
            format_args!(
                "! {} its gate was changed{}: {} → {}",
                task.name(),
                gate_author(*by),
                gate(before.as_deref()),
                gate(after.as_deref())
            ),
        )),
        EventKind::GateWaiting {
            task,
            path,
            before,
            after,
        } => Some(paint(
            YELLOW,
            format_args!(
                "! {}",
                waiting_gate(task.name(), path, before.as_deref(), after.as_deref())
            ),
        )),
        EventKind::GateFinished {
            task,
            outcome: GateOutcome::Passed,
            flaky: true,
            ..
        } => Some(paint(
            YELLOW,
            format_args!("! {} its gate is flaky: failed, then passed", task.name()),
        )),
        EventKind::AgentChanged {
            agent,
            instead_of,
            reason,
            limited_until,
        } => {
            let why = reason.as_ref().map(|why| format!(": {why}"));
            let until = limited_until.map(|until| format!(" until {}", format::time(until)));
            let more = format!("{}{}", why.unwrap_or_default(), until.unwrap_or_default());
            let line = format_args!("~ {agent} goes on in place of {instead_of}{more}");
            Some(paint(YELLOW, line))
        }
        EventKind::BudgetNear { message, .. } => Some(paint(YELLOW, format_args!("! {message}"))),
        EventKind::Waiting { reason, until, .. } => {
            let until = until
                .map(|until| format!(" until {}", format::moment(until, event.at)))
                .unwrap_or_default();
            Some(paint(YELLOW, format_args!("… waiting for {reason}{until}")))
        }
        EventKind::FixCreated {
            task,
            fix,
            fix_title,
            ..
        } => Some(format!(
            "{} {fix} {fix_title}  (first, then {} again)",
            paint(YELLOW, "+"),
            task.name()
        )),
        EventKind::PlanChange {
            task,
            kind,
            added,
            refusal,
            ..
        } => Some(plan_change(
            task,
            kind.as_deref(),
            added,
            refusal.as_deref(),
        )),
        EventKind::GivenUp { lines, .. } => Some(given_up(lines)),
        EventKind::PlanFileRead {
            path,
            added,
            updated,
            finished,
            removed,
        } => Some(paint(
            DIM,
            format_args!(
                "{path} was changed: {added} added, {updated} updated, {finished} ticked off, {removed} no longer in it"
            ),
        )),
        EventKind::BranchChanged { branch } => {
            Some(paint(DIM, format_args!("· works on branch {branch}")))
        }
        EventKind::Committed {
            task,
            commit,
            files,
        } => {
            let short: String = commit.chars().take(10).collect();
            let files = format::counted(*files as u64, "file");
            let text = format!("· {} committed as {short}, {files}", task.name());
            Some(paint(DIM, text))
        }
        EventKind::RolledBack {
            task,
            reference,
            files,
            ..
        } => {
            let files = format::counted(*files as u64, "file");
            let text = format!(
                "· {} rolled back, {files}; kept at {reference}",
                task.name()
            );
            Some(paint(DIM, text))
        }
        EventKind::HookFailed { hook, message } => Some(paint(
            YELLOW,
            format_args!("! the hook {} {message}", hook.name()),
        )),
        EventKind::Warning { message } => Some(paint(YELLOW, format_args!("! {message}"))),
        EventKind::LearningsTidied {
            merged,
            pruned,
            undo,
        } => Some(paint(DIM, tidied(merged, pruned, undo.as_deref()))),
        EventKind::LogsPruned { files, bytes } => Some(paint(
            DIM,
            format_args!(
                "· {} deleted, {}; [logs] keep_days and max_mb say when",
                format::counted(*files, "old log"),
                format::bytes(*bytes)
            ),
        )),
        EventKind::Interrupted { signal } => {
            let again = match signal.as_str() {
                "INT" => "; press Ctrl-C again to kill it",
                _ => "",
            };
            Some(paint(
                YELLOW,
                format_args!("! {signal}: stopping the agent{again}"),
            ))
        }
        EventKind::RunStarted { without_gate, .. } => ungated(*without_gate, "ID"),
        EventKind::AttemptStarted { .. }
        | EventKind::Activity { .. }
        | EventKind::GateStarted { .. }
        | EventKind::GateFinished { .. }
        | EventKind::Progress { .. }
        | EventKind::WaitOver
        | EventKind::RunFinished { .. } => None,
    }
}

/// What there is to say of tasks without a gate, if there are any, and how one of them gets a gate.
pub fn ungated(tasks: u64, name: &str) -> Option<String> {
    let have = match tasks {
        0 => return None,
        1 => "has",
        _ => "have",
    };
    Some(paint(
        YELLOW,
        format_args!(
            "! {} {have} no gate and can only be {UNVERIFIED}; to add one: ralph task edit {name} --verify CMD",
            format::counted(tasks, "task")
        ),
    ))
}

/// From where a change of a gate came, in a few words.
pub fn gate_author(by: GateAuthor) -> &'static str {
    match by {
        GateAuthor::PlanFile => " in its plan's file",
        GateAuthor::Elsewhere => " outside this run",
    }
}

/// A gate as text.
pub fn gate(command: Option<&str>) -> String {
    match command {
        Some(command) => format!("`{}`", ralph_core::text::code_line(command, COMMAND_CHARS)),
        None => "none".to_owned(),
    }
}

/// What is said of a gate that an agent may have changed in a plan's file.
pub fn waiting_gate(name: &str, path: &str, before: Option<&str>, after: Option<&str>) -> String {
    format!(
        "the Verify of {name} was changed in {path} while an agent was at work: {} → {}; its gate stays as it was until \
         you run `ralph import {}`",
        gate(before),
        gate(after),
        ralph_core::text::shell_word(path)
    )
}

fn plan_change(
    task: &TaskRef,
    kind: Option<&str>,
    added: &[String],
    refusal: Option<&str>,
) -> String {
    let kind = kind.unwrap_or("a change of the plan");
    match refusal {
        Some(why) => paint(
            YELLOW,
            format_args!("! {} asked for {kind}; refused: {why}", task.name()),
        ),
        None => format!(
            "{} {kind} at {}: {}",
            paint(YELLOW, "+"),
            task.name(),
            added.join(", ")
        ),
    }
}

fn given_up(lines: &[String]) -> String {
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        text.push_str(&if at == 0 {
            paint(RED, line)
        } else {
            line.clone()
        });
    }
    text
}

/// How many learnings a prompt shows, after a separator; nothing where it shows none.
pub fn told(learnings: usize, separator: &str) -> String {
    match learnings {
        0 => String::new(),
        n => format!(
            "{separator}{} in view",
            format::counted(n as u64, "learning")
        ),
    }
}

fn tidied(merged: &[Merged], pruned: &[LearningId], undo: Option<&str>) -> String {
    let joined: usize = merged.iter().map(|merge| merge.from.len()).sum();
    let mut done = Vec::new();
    if joined > 0 {
        done.push(format!(
            "{joined} near-duplicates merged into {}",
            merged.len()
        ));
    }
    if !pruned.is_empty() {
        done.push(format!("{} old and unused put away", pruned.len()));
    }
    let done = done.join(", ");
    let undo = undo
        .map(|batch| format!("; undo: ralph learnings restore --merge {batch}"))
        .unwrap_or_default();
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
    let learnt = match finished.learnt {
        0 => String::new(),
        n => format!(", {}", format::counted(n as u64, "learning")),
    };
    let facts = format!(
        "attempt {}, {}, {time}{cost}{learnt}",
        finished.attempt, finished.model
    );
    let mut line = format!(
        "{mark} {name} {}  {}",
        finished.task.title,
        paint(DIM, facts)
    );
    if finished.outcome == Outcome::Done && !finished.verified {
        line.push_str(&format!(
            "\n    {}",
            paint(YELLOW, "done, unverified: no gate was run")
        ));
    }
    if finished.outcome != Outcome::Done {
        let error = finished
            .error_type
            .as_ref()
            .map(|e| format!(" ({e})"))
            .unwrap_or_default();
        let word = finished.outcome.as_str().replace('_', " ");
        let message = finished
            .message
            .as_deref()
            .map(|m| format!(": {m}"))
            .unwrap_or_default();
        line.push_str(&format!("\n    {word}{error}{message}"));
    }
    if finished.files_changed.as_ref().is_some_and(Vec::is_empty) {
        line.push_str(&format!("\n    {}", paint(YELLOW, "git saw no change")));
    }
    if !finished.gate_files_changed.is_empty() {
        let files = finished.gate_files_changed.join(", ");
        let text = format!("it changed what its own gate names: {files}");
        line.push_str(&format!("\n    {}", paint(YELLOW, text)));
    }
    if finished.status == Status::Blocked {
        let next = format!(
            "waits for you; `ralph run {}` tries it again",
            finished.task.name()
        );
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
        Activity::Retrying {
            attempt,
            max,
            status,
        } => {
            let status = status
                .map(|status| format!(" after {status}"))
                .unwrap_or_default();
            format!("its service is troubled: retry {attempt} of {max}{status}")
        }
        Activity::LimitWarning {
            utilization: Some(share),
        } => {
            format!("usage limit: {:.0}% used", share * 100.0)
        }
        Activity::LimitWarning { utilization: None } => "usage limit is near".into(),
    }
}
