//! The report as people read it.

use std::time::Duration;

use ralph_core::event::WaitingFor;
use ralph_core::model::{Status, Timestamp};
use ralph_core::store::{Purpose, RunRequest};

use super::active::{ActiveRun, Waiting, Work};
use super::report::Report;
use crate::commands::limits;
use crate::ui::style::{self, BOLD, CYAN, DIM, YELLOW, paint};
use crate::ui::summary::{self, RunFacts, next_command};
use crate::ui::{format, table};
use crate::workspace::now;

/// Waiting tasks shown to people; JSON has all.
const SHOWN: usize = 15;

/// The whole report, in lines of so many columns.
pub fn text(report: &Report, width: usize) -> String {
    let tasks = &report.tasks;
    if tasks.total == 0 {
        return "no tasks yet; `ralph task add TITLE` adds one\n".to_owned();
    }
    let mut page = Lines {
        text: String::new(),
        width,
    };
    plan(report, &mut page);
    for run in &report.active {
        active(run, &mut page);
    }
    if let Some(facts) = &report.last_run {
        last_run(facts, &mut page);
    }
    limited(report, &mut page);
    needs_you(report, &mut page);
    waiting(report, &mut page);
    page.text
}

/// Text that grows line by line.
struct Lines {
    text: String,
    width: usize,
}

impl Lines {
    fn add(&mut self, line: impl std::fmt::Display) {
        let line = table::wrap(&line.to_string(), self.width);
        self.text.push_str(&line);
        self.text.push('\n');
    }

    fn more(&mut self, total: usize) {
        if total > SHOWN {
            self.add(format_args!("  … and {} more", total - SHOWN));
        }
    }
}

fn plan(report: &Report, page: &mut Lines) {
    let tasks = &report.tasks;
    let bar = page.width.saturating_sub(24).min(30) as u64;
    page.add(format_args!(
        "{}  {} of {} done",
        style::bar(tasks.finished(), tasks.total, bar),
        tasks.finished(),
        tasks.total
    ));
    let counts = [
        (tasks.in_progress, Status::InProgress),
        (tasks.pending, Status::Pending),
        (tasks.blocked, Status::Blocked),
        (tasks.failed, Status::Failed),
        (tasks.skipped, Status::Skipped),
    ];
    let parts = counts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, status)| format!("{n} {}", style::status(*status)));
    let ready = format!("{} ready", report.ready);
    let parts: Vec<String> = parts.chain([ready]).collect();
    page.add(parts.join(" · "));
    let attempts = format::counted(report.attempts, "attempt");
    page.add(format_args!(
        "{attempts}{}",
        cost(", ", format::total(&report.cost))
    ));
}

/// A cost after a separator, where there is any.
fn cost(separator: &str, cost: Option<String>) -> String {
    cost.map(|cost| format!("{separator}{cost}"))
        .unwrap_or_default()
}

fn ago(then: Timestamp) -> String {
    format::duration(now().since(then))
}

fn active(run: &ActiveRun, page: &mut Lines) {
    page.add("");
    let attempts = format::counted(run.counted, "attempt");
    page.add(format_args!(
        "{} (process {} on {}), started {} ago: {attempts}, {} done{}",
        paint(BOLD, format_args!("run {} is running", run.run_id)),
        run.owner.pid,
        run.owner.host,
        ago(run.started_at),
        run.done,
        cost(", ", format::total(&run.cost))
    ));
    if run.stopped {
        page.add(paint(
            YELLOW,
            format_args!(
                "  its process is stopped, as by Ctrl-Z: `fg` in its terminal or `kill -CONT {}` lets it go on",
                run.owner.pid
            ),
        ));
    }
    for work in &run.attempts {
        page.add(format_args!("  {} {}", paint(CYAN, "▶"), doing(work)));
    }
    let working = !run.attempts.is_empty();
    match run.request {
        Some(RunRequest::Pause) if working => page.add(paint(
            YELLOW,
            "  asked to pause: nothing more is started after this attempt; `ralph resume` goes on",
        )),
        Some(RunRequest::Pause) => page.add(paint(YELLOW, "  paused; `ralph resume` goes on")),
        Some(RunRequest::Stop) => {
            page.add(paint(YELLOW, "  asked to stop: it ends after this attempt"));
        }
        None => {}
    }
    match &run.waiting {
        // Said above.
        Some(Waiting {
            waiting_for: WaitingFor::Resume,
            ..
        }) => {}
        Some(waiting) => page.add(wait(waiting)),
        None => {}
    }
    if let Some(work) = run.attempts.first() {
        let look = format!(
            "  `ralph logs -f {}` shows what the agent does",
            work.name()
        );
        page.add(paint(DIM, look));
    }
}

fn doing(work: &Work) -> String {
    let name = paint(BOLD, format_args!("{} {}", work.name(), work.title));
    let since = ago(work.since);
    match work.purpose {
        Purpose::ParentGate => format!("{name} · its gate, for {since}"),
        Purpose::Attempt => {
            let agent = work.agent.as_deref().unwrap_or_default();
            let model = work.model.as_deref().filter(|model| *model != agent);
            let who = format!("{agent} {}", model.unwrap_or_default());
            let who = match who.trim() {
                "" => "starting".to_owned(),
                who => who.to_owned(),
            };
            format!("{name} · attempt {} · {who} · for {since}", work.attempt)
        }
    }
}

fn wait(waiting: &Waiting) -> String {
    let until = match waiting.until {
        Some(until) => format!(
            " until {} UTC, {} from now",
            format::time(until),
            format::duration(until.since(now()))
        ),
        None => format!(", for {}", ago(waiting.since)),
    };
    paint(
        YELLOW,
        format_args!("  … waiting for {}{until}", waiting.reason),
    )
}

fn last_run(facts: &RunFacts, page: &mut Lines) {
    page.add("");
    let ended = match facts.ended_at.filter(|_| facts.reason.is_some()) {
        Some(ended) => format!(" to {}", until(facts.started_at, ended)),
        None => String::new(),
    };
    page.add(format_args!(
        "{}, started {} ago: {}{ended} UTC",
        paint(BOLD, format_args!("last run {}", facts.run_id)),
        format::age(now().since(facts.started_at)),
        format::time(facts.started_at),
    ));
    let reason = facts.reason.clone().unwrap_or_else(|| {
        match facts.outcome.as_str() {
            "died" => "it died; the next run picks up what it left",
            _ => "it died",
        }
        .to_owned()
    });
    page.add(format_args!("  ended: {reason}"));
    if let Some(hint) = &facts.hint {
        page.add(format_args!("  hint: {hint}"));
    }
    let mut parts = vec![format!("{} done", facts.done.len())];
    if !facts.blocked.is_empty() {
        let blocked = style::status(Status::Blocked);
        parts.push(format!("{} {blocked}", facts.blocked.len()));
    }
    let parts = paint(BOLD, parts.join(", "));
    let today = facts.cost_today_usd.filter(|usd| *usd > 0.0);
    let today = today.map(|usd| format::cost(Some(usd), facts.cost_today_estimated));
    page.add(format_args!(
        "  {parts} · {}{}{}",
        summary::spent(facts),
        cost(", today ", today),
        trouble(facts)
    ));
    let done: Vec<&summary::TaskFacts> = facts.done.iter().collect();
    for line in summary::tasks(&done, SHOWN, page.width.saturating_sub(2)).lines() {
        page.text.push_str(&format!("  {line}\n"));
    }
}

/// The end of a run that began at another time: the day only where it is another.
fn until(from: Timestamp, to: Timestamp) -> String {
    match format::day(from) == format::day(to) {
        true => format::clock(to),
        false => format::time(to),
    }
}

/// What did not go its way and is nobody's failure.
fn trouble(facts: &RunFacts) -> String {
    let mut text = String::new();
    if facts.lost_attempts > 0 {
        let lost = format::counted(facts.lost_attempts, "attempt");
        text.push_str(&format!(" · {lost} lost"));
    }
    if facts.waits > 0 {
        let waits = format::counted(facts.waits, "wait");
        let time = format::duration(Duration::from_millis(facts.waited_ms));
        text.push_str(&format!(" · {waits}, {time}"));
    }
    text
}

fn limited(report: &Report, page: &mut Lines) {
    if report.limits.is_empty() {
        return;
    }
    page.add("");
    for limit in &report.limits {
        page.add(paint(YELLOW, limits::words(limit, now())));
    }
    page.add("  runs wait for that or use another agent; `ralph limits clear` forgets it");
}

fn needs_you(report: &Report, page: &mut Lines) {
    let held = &report.held;
    if held.is_empty() {
        return;
    }
    page.add("");
    page.add("needs you:");
    for held in held.iter().take(SHOWN) {
        let reason = held.reason.as_deref().unwrap_or("no reason given");
        let status = style::status(held.status);
        page.add(format_args!("  {} {status}: {reason}", held.name));
        if let Some(next) = next_command(&held.name, held.status, held.reason.as_deref()) {
            page.add(format_args!("    next: {}", paint(CYAN, next)));
        }
    }
    page.more(held.len());
    if held.iter().any(|held| held.status == Status::Blocked) {
        page.add(
            "  `ralph run NAME` tries a blocked one again; by hand: `ralph task done|skip NAME`",
        );
    }
    if held.iter().any(|held| held.status == Status::Failed) {
        page.add("  `ralph task reset NAME` opens a failed one again");
    }
}

fn waiting(report: &Report, page: &mut Lines) {
    if report.waiting.is_empty() {
        return;
    }
    page.add("");
    page.add("waiting:");
    for waiter in report.waiting.iter().take(SHOWN) {
        let names: Vec<String> = waiter
            .waits_for
            .iter()
            .map(|blocker| format!("{} ({})", blocker.name, blocker.status))
            .collect();
        page.add(format_args!(
            "  {} waits for {}",
            waiter.name,
            names.join(", ")
        ));
    }
    page.more(report.waiting.len());
}
