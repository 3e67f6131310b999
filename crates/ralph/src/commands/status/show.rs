//! The report as people read it.

use std::time::Duration;

use ralph_core::event::WaitingFor;
use ralph_core::model::{Status, Timestamp};
use ralph_core::store::{BreakerState, Purpose, RunRequest};

use super::active::{ActiveRun, Waiting, Work};
use super::report::{BreakerReport, Report};
use crate::commands::limits;
use crate::ui::style::{self, BOLD, CYAN, DIM, YELLOW, paint};
use crate::ui::summary::{self, OpenTask, RunFacts};
use crate::ui::{format, table};
use crate::workspace::now;

/// Waiting tasks shown to people; JSON has all.
const SHOWN: usize = 15;

/// The whole report, in lines of so many columns.
pub fn text(report: &Report, width: usize) -> String {
    let mut page = Lines { text: String::new(), width };
    match report.tasks.total {
        0 => page.add("No tasks yet. Add one: ralph task add TITLE"),
        _ => plan(report, &mut page),
    }
    breaker(&report.breaker, &mut page);
    for run in &report.active {
        active(run, &mut page);
    }
    let held: Vec<&OpenTask> = report.open.iter().filter(|task| task.needs_you()).collect();
    page.section(&summary::needs_you(&held, SHOWN, width));
    if let Some(facts) = report.last_run.as_ref().filter(|_| report.tasks.total > 0) {
        last_run(facts, &mut page);
    }
    limited(report, &mut page);
    gates_waiting(report, &mut page);
    waiting(report, &mut page);
    page.section(&summary::unverified(&report.unverified, SHOWN, width));
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

    /// Adds a text after an empty line.
    fn section(&mut self, text: &str) {
        let text = text.trim_end();
        if !text.is_empty() {
            self.text.push_str(&format!("\n{text}\n"));
        }
    }

    fn more(&mut self, total: usize) {
        if total > SHOWN {
            self.add(format_args!("  … and {} more", total - SHOWN));
        }
    }
}

fn plan(report: &Report, page: &mut Lines) {
    let tasks = &report.tasks;
    let bar = style::bar(tasks, page.width.saturating_sub(24).min(30) as u64);
    let summary = tasks.summary();
    // On one line where that fits, else below the bar.
    match table::shown(&bar) + 2 + table::shown(&summary) <= page.width {
        true => page.add(format_args!("{bar}  {summary}")),
        false => {
            page.add(bar);
            page.add(summary);
        }
    }
    let attempts = format::counted(report.attempts, "attempt");
    page.add(format_args!("{} ready · {attempts}{}", report.ready, cost(", ", format::total(&report.cost))));
}

/// The circuit breaker, unless it is closed.
fn breaker(breaker: &BreakerReport, page: &mut Lines) {
    let state = match breaker.state {
        BreakerState::Closed => return,
        BreakerState::Open => "open",
        BreakerState::HalfOpen => "half open",
    };
    let since = breaker.opened_at.map(|at| {
        let (at, ago) = (format::moment(at, now()), ago(at));
        format!(" since {at} ({ago})")
    });
    page.add("");
    page.add(format_args!(
        "{}: {} in a row on {}",
        paint(YELLOW, format_args!("Circuit breaker {state}{}", since.unwrap_or_default())),
        format::counted(breaker.failures, "failure"),
        format::counted(breaker.tasks, "task"),
    ));
    page.add("  the next `ralph run` makes one trial attempt");
    page.add(format_args!(
        "  next: {} to see what the failures have in common, then {} or {}",
        paint(CYAN, "ralph analyze"),
        paint(CYAN, "ralph run"),
        paint(CYAN, "ralph breaker reset")
    ));
}

/// A cost after a separator, where there is any.
fn cost(separator: &str, cost: Option<String>) -> String {
    cost.map(|cost| format!("{separator}{cost}")).unwrap_or_default()
}

fn ago(then: Timestamp) -> String {
    format::ago(now().since(then))
}

fn active(run: &ActiveRun, page: &mut Lines) {
    page.add("");
    let attempts = format::counted(run.counted, "attempt");
    page.add(format_args!(
        "{} (process {} on {}), started {}: {attempts}, {} done{}",
        paint(BOLD, format_args!("Run {} is running", run.run_id)),
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
                "  its process is suspended (Ctrl-Z); resume it with `fg` in its terminal or `kill -CONT {}`",
                run.owner.pid
            ),
        ));
    }
    for work in &run.attempts {
        page.add(format_args!("  {} {}", paint(CYAN, "▶"), doing(work)));
    }
    let working = !run.attempts.is_empty();
    match run.request {
        Some(RunRequest::Pause) if working => {
            page.add(paint(YELLOW, "  pausing after this attempt; continue with `ralph resume`"))
        }
        Some(RunRequest::Pause) => page.add(paint(YELLOW, "  paused; continue with `ralph resume`")),
        Some(RunRequest::Stop) => {
            page.add(paint(YELLOW, "  stopping after this attempt"));
        }
        None => {}
    }
    match &run.waiting {
        // Said above.
        Some(Waiting { waiting_for: WaitingFor::Resume, .. }) => {}
        Some(waiting) => page.add(wait(waiting)),
        None => {}
    }
    if let Some(work) = run.attempts.first() {
        let follow = format!("  follow the agent: ralph logs -f {}", work.name());
        page.add(paint(DIM, follow));
    }
}

fn doing(work: &Work) -> String {
    let name = paint(BOLD, format_args!("{} {}", work.name(), work.title));
    let since = format::elapsed(now().since(work.since));
    match work.purpose {
        Purpose::ParentGate => format!("{name} · running its gate · {since}"),
        Purpose::Attempt => {
            let agent = work.agent.as_deref().unwrap_or_default();
            let model = work.model.as_deref().filter(|model| *model != agent);
            let who = format!("{agent} {}", model.unwrap_or_default());
            let who = match who.trim() {
                "" => "starting".to_owned(),
                who => who.to_owned(),
            };
            format!("{name} · attempt {} · {who} · {since}", work.attempt)
        }
    }
}

fn wait(waiting: &Waiting) -> String {
    let until = match waiting.until {
        Some(until) => {
            format!(" until {}, in {}", format::moment(until, now()), format::age(until.since(now())))
        }
        None => format!(", for {}", format::age(now().since(waiting.since))),
    };
    paint(YELLOW, format_args!("  … waiting for {}{until}", waiting.reason))
}

fn last_run(facts: &RunFacts, page: &mut Lines) {
    page.add("");
    let ended = match facts.ended_at.filter(|_| !facts.crashed) {
        Some(ended) => format!(" to {}", format::moment(ended, facts.started_at)),
        None => String::new(),
    };
    let started = format::moment(facts.started_at, now());
    let ended = match ended == format!(" to {started}") {
        true => String::new(),
        false => ended,
    };
    page.add(format_args!(
        "{}, started {} ({}{ended})",
        paint(BOLD, format_args!("Last run {}", facts.run_id)),
        ago(facts.started_at),
        started,
    ));
    let reason = facts.reason.as_deref().unwrap_or_default();
    let ended = format::run_end(facts.exit_code == Some(0), reason);
    page.add(format_args!("  {ended}"));
    if let Some(hint) = &facts.hint {
        page.add(format_args!("  hint: {hint}"));
    }
    let unverified = facts.done.iter().filter(|task| !task.verified).count();
    let mut parts = vec![match unverified {
        0 => format!("{} done", facts.done.len()),
        n => format!("{} done ({n} unverified)", facts.done.len()),
    }];
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

/// Crashes and waits, which count against no task.
fn trouble(facts: &RunFacts) -> String {
    let mut text = String::new();
    if facts.lost_attempts > 0 {
        let lost = format::counted(facts.lost_attempts, "attempt");
        text.push_str(&format!(" · {lost} interrupted by a crash"));
    }
    if facts.waits > 0 {
        let waits = format::counted(facts.waits, "wait");
        let time = format::duration(Duration::from_millis(facts.waited_ms));
        text.push_str(&format!(" · waited {time} ({waits})"));
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
    page.add("  runs wait for the reset or use a fallback agent; to clear the limit: ralph limits clear");
}

/// Tasks that are neither done nor a person's to move on: running, ready, waiting for others, skipped.
fn waiting(report: &Report, page: &mut Lines) {
    let rest: Vec<&OpenTask> = report.open.iter().filter(|task| !task.is_stuck()).collect();
    if rest.is_empty() {
        return;
    }
    page.add("");
    page.add(paint(BOLD, "Not done yet"));
    for task in rest.iter().take(SHOWN) {
        page.add(task.headline());
        if let Some(why) = &task.why {
            page.add(format_args!("      {why}"));
        }
    }
    page.more(rest.len());
    let mut commands: Vec<&str> = Vec::new();
    for next in rest.iter().take(SHOWN).filter_map(|task| task.next.as_deref()) {
        if !commands.contains(&next) {
            commands.push(next);
        }
    }
    if !commands.is_empty() {
        let commands = commands.iter().map(|next| paint(CYAN, next));
        let commands: Vec<String> = commands.collect();
        page.add(format_args!("  next: {}", commands.join(" · ")));
    }
}

fn gates_waiting(report: &Report, page: &mut Lines) {
    if report.gates_waiting.is_empty() {
        return;
    }
    page.add("");
    for waiting in report.gates_waiting.iter().take(SHOWN) {
        page.add(paint(YELLOW, summary::waiting_gate(waiting)));
    }
    page.more(report.gates_waiting.len());
}
