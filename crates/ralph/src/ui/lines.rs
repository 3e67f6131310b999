//! Events as lines, for terminals and pipes alike.

use std::time::Duration;

use ralph_core::agent::Activity;
use ralph_core::event::{AttemptFinished, EventKind, GateAuthor, RunEvent, WaitingFor};
use ralph_core::model::{FailureClass, GateOutcome, LearningId, NO_MODEL, Outcome, ReviewVerdict, Status};
use ralph_core::sandbox::{Enforced, Mode};
use ralph_core::store::{ConflictKind, Merged};
use ralph_core::text::{code_line, few, one_line, shell_word};

use super::format;
use super::style::{self, BOLD, DIM, EvidenceKind, GREEN, RED, UNVERIFIED, YELLOW, paint};

/// How many tasks without a gate are named.
const NAMED: usize = 5;
/// Characters of a note in a line.
const NOTE_CHARS: usize = 200;
/// Characters of a gate's command in a line.
const COMMAND_CHARS: usize = 200;

/// The line of an event in a pipe or file, where there is no live display.
pub fn plain_line(event: &RunEvent) -> Option<String> {
    match &event.kind {
        EventKind::RunStarted { agent, strategy, tasks, jobs, branch, sandbox, .. } => {
            let confined = sandbox.as_ref().map(|sandbox| format!(", {}", sandbox_shown(sandbox)));
            let confined = confined.unwrap_or_default();
            let workers = branch.as_ref().map(|branch| {
                format!("; {}, landing on {branch}", format::counted(u64::from(*jobs), "worker"))
            });
            let workers = workers.unwrap_or_default();
            let total = format::counted(tasks.total, "task");
            let warning = line(event).map(|warning| format!("\n{warning}")).unwrap_or_default();
            Some(format!(
                "Run {}: {total}, {} done; agent {agent}, strategy {strategy}{confined}{workers}{warning}",
                event.run_id, tasks.done
            ))
        }
        EventKind::AttemptStarted { task, attempt, choice, learnings, notes, .. } => Some(format!(
            "▶ {} {}  attempt {attempt}, {}{}{}",
            task.name(),
            task.title,
            format::model_choice(&choice.model, &choice.rationale),
            learnings_shown(learnings.len(), ", "),
            notes_shown(notes.len(), ", ")
        )),
        _ => line(event),
    }
}

fn sandbox_shown(sandbox: &Enforced) -> String {
    match (sandbox.backend, sandbox.mode) {
        (Some(backend), _) => format!("sandbox {backend}"),
        (None, Mode::Off) => "sandbox off".to_owned(),
        (None, Mode::Auto | Mode::Required) => "no sandbox".to_owned(),
    }
}

/// What a person should know of a sandbox that is not what it should be.
fn weak_sandbox(sandbox: &Enforced) -> Option<String> {
    let fix = sandbox.problems.first().map(|problem| format!("; {}: {}", problem.why, problem.fix));
    let fix = fix.unwrap_or_default();
    let text = match sandbox.backend {
        None if sandbox.mode == Mode::Off => return None,
        None => format!("! No sandbox: agents and gates may do all that you may{fix}"),
        Some(_) if sandbox.gaps.is_empty() => return None,
        Some(backend) => format!("! The sandbox ({backend}) has gaps: {}{fix}", sandbox.gaps.join("; ")),
    };
    Some(paint(YELLOW, text))
}

/// Names the worker in front of what it tells, where a run has several.
#[derive(Debug, Default)]
pub struct WorkerNames {
    are_shown: bool,
}

impl WorkerNames {
    /// The line of an event, which was made from it.
    pub fn name(&mut self, event: &RunEvent, line: String) -> String {
        if let EventKind::RunStarted { jobs, .. } = &event.kind {
            self.are_shown = *jobs > 1;
        }
        let is_worker = event.worker.strip_prefix('w').is_some_and(|n| n.parse::<u32>().is_ok());
        if self.are_shown && is_worker { format!("{} {line}", paint(DIM, &event.worker)) } else { line }
    }
}

/// The line of an event that stays on the screen; events that only move the live display have none.
pub fn line(event: &RunEvent) -> Option<String> {
    let yellow = |text: String| Some(paint(YELLOW, text));
    let dim = |text: String| Some(paint(DIM, text));
    match &event.kind {
        EventKind::RunStarted { gates_off: true, sandbox, .. } => {
            let off = paint(YELLOW, "! --no-gate: gates do not run, tasks will be unverified");
            let weak = sandbox.as_ref().and_then(weak_sandbox);
            Some([Some(off), weak].into_iter().flatten().collect::<Vec<_>>().join("\n"))
        }
        EventKind::RunStarted { without_gate, ungated, already_green, sandbox, .. } => {
            let lines = [
                self::ungated(*without_gate, ungated),
                self::already_green(already_green),
                sandbox.as_ref().and_then(weak_sandbox),
            ];
            let lines: Vec<String> = lines.into_iter().flatten().collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        }
        EventKind::AttemptFinished(finished) => Some(attempt(finished)),
        EventKind::LostFound { task, status: Status::Done, verified, .. } => Some(format!(
            "{} {} Ralph crashed after it committed the work; the task is {}",
            style::outcome_mark(Outcome::Done, true, *verified),
            task.name(),
            if *verified { "done" } else { UNVERIFIED },
        )),
        EventKind::LostFound { task, counted, .. } => {
            let counts = if *counted { "; counted as a failure (third in a row)" } else { "" };
            yellow(format!("~ {} the last attempt was interrupted by a crash{counts}", task.name()))
        }
        EventKind::BreakerOpened { failures, tasks, analysis } => {
            let tasks = format::counted(*tasks, "task");
            let text = format!("! Circuit breaker triggered: {failures} consecutive failures on {tasks}");
            Some(format!("{}\n{}", paint(YELLOW, text), analysis.lines().join("\n")))
        }
        EventKind::BreakerProbes => yellow("~ Circuit breaker open: running one trial attempt".to_owned()),
        EventKind::NoteAdded { task, note, now } => {
            let now = if *now { " (the current attempt ends for it)" } else { "" };
            Some(format!("· {} note from you{now}: {}", task.name(), one_line(note, NOTE_CHARS)))
        }
        EventKind::Skipped { task } => Some(format!("– {} {} skipped", task.name(), task.title)),
        EventKind::HandedOver { task, reason } => {
            yellow(format!("! {} blocked (needs you): {reason}", task.name()))
        }
        EventKind::ParentGate { task, passed: true } => {
            Some(format!("{} {} {}  all subtasks are done", paint(GREEN, "✓"), task.name(), task.title))
        }
        EventKind::GateGreenBefore { task, command } => {
            yellow(format!("! {} the gate already passes before any work: {command}", task.name()))
        }
        EventKind::GateChanged { task, before, after, by } => {
            let change = gate_change(before.as_deref(), after.as_deref(), *by);
            yellow(format!("! {} gate {change}", task.name()))
        }
        EventKind::GateWaiting { task, path, before, after } => {
            let waiting = waiting_gate(task.name(), path, before.as_deref(), after.as_deref());
            yellow(format!("! {waiting}"))
        }
        EventKind::GateFinished { task, outcome: GateOutcome::Passed, flaky: true, .. } => {
            yellow(format!("! {} flaky gate: it failed, then passed", task.name()))
        }
        EventKind::ReviewFinished { task, agent, verdict, findings, .. } => match verdict {
            Some(ReviewVerdict::Accepted) => dim(format!("· {} accepted by {agent}", task.name())),
            Some(ReviewVerdict::Rejected) => {
                let findings: String = findings.iter().map(|finding| format!("\n    - {finding}")).collect();
                yellow(format!("! {} rejected by {agent}{findings}", task.name()))
            }
            Some(ReviewVerdict::NotGiven) | None => None,
        },
        EventKind::AgentChanged { agent, instead_of, reason, limited_until } => {
            let why = match (limited_until, reason) {
                (Some(until), _) => {
                    let resets = until.local_near(event.at);
                    format!("{instead_of} hit its usage limit (resets {resets}). ")
                }
                (None, Some(why)) => format!("{instead_of} is unavailable: {why}. "),
                (None, None) => String::new(),
            };
            yellow(format!("~ {why}Switching to {agent}."))
        }
        EventKind::BudgetNear { message, .. } | EventKind::Warning { message } => {
            yellow(format!("! {message}"))
        }
        // A worker without work shows only in the live display.
        EventKind::Waiting { waiting_for: WaitingFor::Workers, .. } => None,
        EventKind::Waiting { waiting_for, reason, until } => {
            let until = until.map(|until| format::until(until, event.at));
            let reason = if *waiting_for == WaitingFor::Answer { "your answer" } else { reason };
            yellow(format!("… waiting for {reason}{}", until.unwrap_or_default()))
        }
        EventKind::FixCreated { task, fix, fix_title, .. } => {
            let (plus, name) = (paint(YELLOW, "+"), task.name());
            Some(format!("{plus} {fix} {fix_title}  (runs before {name} is retried)"))
        }
        EventKind::PlanChange { task, kind, added, refusal, .. } => {
            let (name, kind) = (task.name(), kind.as_deref().unwrap_or("plan change"));
            match refusal {
                Some(why) => yellow(format!("! {name} {kind} refused: {why}")),
                None => Some(format!("{} {name} {kind}: added {}", paint(YELLOW, "+"), added.join(", "))),
            }
        }
        EventKind::GivenUp { lines, .. } => {
            let (first, rest) = lines.split_first()?;
            Some(rest.iter().fold(paint(RED, first), |text, line| format!("{text}\n{line}")))
        }
        EventKind::PlanFileRead { path, added, updated, finished, removed } => {
            let counts =
                [(added, "added"), (updated, "updated"), (finished, "checked off"), (removed, "removed")];
            let counts = counts.iter().filter(|(n, _)| **n > 0);
            let counts: Vec<String> = counts.map(|(n, what)| format!("{n} {what}")).collect();
            let colon = if counts.is_empty() { "" } else { ": " };
            dim(format!("· {path} changed{colon}{}", counts.join(", ")))
        }
        EventKind::Landed { task, commit, branch } => {
            let short: String = commit.chars().take(10).collect();
            dim(format!("· {} landed on {branch} as {short}", task.name()))
        }
        EventKind::Unmerged { branch, commits, into } => {
            let commits = format::counted(*commits, "commit");
            let into = into.as_deref().unwrap_or("what is checked out");
            let branch = shell_word(branch);
            Some(format!("· {commits} on {branch}; to bring them into {into}: git merge {branch}"))
        }
        EventKind::Conflict { task, kind, files, others } => {
            let with =
                if others.is_empty() { "what landed meanwhile".to_owned() } else { few(others, NAMED) };
            let (name, files) = (task.name(), few(files, NAMED));
            yellow(match kind {
                ConflictKind::Conflict => format!("~ {name} conflicts with {with} in {files}"),
                ConflictKind::IntegrationFailure => {
                    format!("~ {name} fails its gate together with {with}: {files}")
                }
            })
        }
        EventKind::BranchChanged { branch } => dim(format!("· working on branch {branch}")),
        EventKind::Committed { task, commit, files } => {
            let short: String = commit.chars().take(10).collect();
            let files = format::counted(*files as u64, "file");
            dim(format!("· {} committed {short} ({files})", task.name()))
        }
        EventKind::RolledBack { task, reference, files, .. } => {
            let files = format::counted(*files as u64, "file");
            dim(format!("· {} rolled back {files}; the changes are saved at {reference}", task.name()))
        }
        EventKind::HookFailed { hook, message } => yellow(format!("! hook {hook} {message}")),
        EventKind::LearningsTidied { merged, pruned, undo } => dim(tidied(merged, pruned, undo.as_deref())),
        EventKind::LogsPruned { files, bytes } => {
            let (files, bytes) = (format::counted(*files, "old log"), format::bytes(*bytes));
            dim(format!("· deleted {files} ({bytes}); limits: [logs] keep_days and max_mb"))
        }
        EventKind::Interrupted { by_command: true, .. } => yellow("! Stopping (ralph stop)".to_owned()),
        EventKind::Interrupted { signal, .. } if signal == "INT" => {
            yellow("! Stopping; press Ctrl-C again to kill the agent".to_owned())
        }
        EventKind::Interrupted { signal, .. } => yellow(format!("! Stopping (SIG{signal})")),
        // A parent's gate that failed is followed by an attempt or by a blocked task, which have lines.
        EventKind::ParentGate { passed: false, .. }
        | EventKind::AttemptStarted { .. }
        | EventKind::Activity { .. }
        | EventKind::GateStarted { .. }
        | EventKind::LandingStarted { .. }
        | EventKind::ReviewStarted { .. }
        | EventKind::GateFinished { .. }
        | EventKind::Progress { .. }
        | EventKind::Paused
        | EventKind::Resumed
        | EventKind::WaitOver
        | EventKind::RunFinished { .. } => None,
    }
}

/// The warning about tasks without a gate, if there are any, and how one of them gets a gate. Names may be left out.
/// The tasks whose gate is known to pass without their work.
fn already_green(names: &[String]) -> Option<String> {
    let (gates, pass) = match names.len() {
        0 => return None,
        1 => ("gate", "passes"),
        _ => ("gates", "pass"),
    };
    let names = few(names, NAMED);
    Some(paint(
        YELLOW,
        format_args!(
            "! the {gates} of {names} already {pass} before any work, so passing later shows little"
        ),
    ))
}

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
    let named = if shown.is_empty() { String::new() } else { format!(" ({})", shown.join(", ")) };
    let (count, name) = (format::counted(tasks, "task"), names.first().map_or("TASK", String::as_str));
    Some(paint(
        YELLOW,
        format_args!(
            "! {count} {have} no gate{named}: Ralph cannot verify {them}; to add one: ralph task edit {name} --verify CMD"
        ),
    ))
}

pub fn gate(command: Option<&str>) -> String {
    match command {
        Some(command) => format!("`{}`", code_line(command, COMMAND_CHARS)),
        None => "none".to_owned(),
    }
}

/// `changed in the plan file: X → Y`.
pub fn gate_change(before: Option<&str>, after: Option<&str>, by: GateAuthor) -> String {
    let place = match by {
        GateAuthor::PlanFile => "in the plan file",
        GateAuthor::Elsewhere => "outside this run",
    };
    format!("changed {place}: {} → {}", gate(before), gate(after))
}

pub fn waiting_gate(name: &str, path: &str, before: Option<&str>, after: Option<&str>) -> String {
    format!(
        "the gate of {name} changed in {path} while an agent was running: {} → {}. Ralph keeps the old gate; to accept \
         the new one: ralph import {}",
        gate(before),
        gate(after),
        shell_word(path)
    )
}

/// The number of learnings in a prompt, after a separator; empty if there are none.
pub fn learnings_shown(learnings: usize, separator: &str) -> String {
    match learnings {
        0 => String::new(),
        n => format!("{separator}{} in the prompt", format::counted(n as u64, "learning")),
    }
}

/// The number of notes from the user in a prompt, after a separator; empty if there are none.
pub fn notes_shown(notes: usize, separator: &str) -> String {
    match notes {
        0 => String::new(),
        1 => format!("{separator}with your note"),
        n => format!("{separator}with your {n} notes"),
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
    let undo = undo.map(|batch| format!("; undo: ralph learnings restore --merge {batch}"));
    format!("· learnings: {}{}", done.join(", "), undo.unwrap_or_default())
}

fn attempt(finished: &AttemptFinished) -> String {
    let time = format::duration(Duration::from_millis(finished.duration_ms));
    // A person may call an agent `none`, too.
    let is_gate = finished.agent.is_none() && finished.model == NO_MODEL;
    let facts = match is_gate {
        true => {
            let attempt = format::attempt_name(finished.counted, finished.attempt, finished.attempt_number);
            format!("gate after its subtasks, {attempt}, {time}")
        }
        false => {
            let cost = finished.cost_usd.map(|usd| format::cost(Some(usd), finished.cost_estimated));
            let learned = finished.learned.max(finished.learnt);
            let learned = (learned > 0).then(|| format::counted(learned as u64, "learning"));
            let attempt = format::attempt_name(finished.counted, finished.attempt, finished.attempt_number);
            let mut facts = vec![attempt, finished.model.clone(), time];
            facts.extend(cost.into_iter().chain(learned));
            facts.join(", ")
        }
    };
    let mark = style::outcome_mark(finished.outcome, finished.counted, finished.verified);
    let name = paint(BOLD, finished.task.name());
    let mut lines = vec![format!("{mark} {name} {}  {}", finished.task.title, paint(DIM, facts))];
    let evidence = EvidenceKind::from(&finished.verification);
    if finished.outcome == Outcome::Done && !finished.verified {
        let no_gate = if finished.verification.gates.is_empty() { "no gate ran" } else { "no gate passed" };
        let why = finished.message.as_deref().unwrap_or(no_gate);
        lines.push(paint(YELLOW, format_args!("{}: {why}", style::done_word(false, evidence))));
    } else if finished.outcome == Outcome::Done && evidence == EvidenceKind::AlreadyGreen {
        lines.push(paint(YELLOW, "done, already green: the gate passed before any work, too"));
    }
    for gate in finished.verification.gates.iter().filter(|gate| gate.excused) {
        lines.push(paint(
            YELLOW,
            format_args!(
                "the project's gate `{}` fails as it did before this task",
                code_line(&gate.command, format::COMMAND_CHARS)
            ),
        ));
    }
    let error = finished.error_type.as_ref();
    // A broken setup ends the run or changes the agent, and is shown there.
    let is_told_later = error.is_some_and(|error| error.class() == FailureClass::Setup);
    if finished.outcome != Outcome::Done && !is_told_later {
        lines.push(format::failure(finished.outcome, error, finished.message.as_deref()));
    }
    if finished.files_changed.as_ref().is_some_and(Vec::is_empty) {
        lines.push(paint(YELLOW, "no files changed"));
    }
    if !finished.gate_files_changed.is_empty() {
        let files = finished.gate_files_changed.join(", ");
        lines.push(paint(YELLOW, format_args!("changed protected files, which were put back: {files}")));
    }
    if finished.status == Status::Blocked {
        // What to type is in the summary, which also knows the task's chain of fixes.
        lines.push(paint(YELLOW, "blocked (needs you)"));
    }
    lines.join("\n    ")
}

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
