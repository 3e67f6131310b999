//! What the lines of header and panes say.

use std::time::Duration;

use ralph_core::event::WaitingFor;
use ralph_core::model::{Cost, Status, Timestamp};
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};

use super::ansi;
use super::app::{App, AttemptView};
use super::outline::Row;
use super::view::{RunHead, RunState};
use crate::facts::{CurrentAttempt, Related, TrendKind};
use crate::ui::format;
use crate::ui::style::{
    self, BOLD, CYAN, DIM, EvidenceKind, GREEN, RED, Standing, YELLOW, outcome_mark, paint,
};

/// Columns of the progress bar.
const LONGEST_BAR: u64 = 24;
const SHORTEST_BAR: usize = 8;
/// From this width on a row of the plan says its state in a word.
const WITH_WORDS: usize = 36;
/// And how many attempts it took.
const WITH_ATTEMPTS: usize = 50;
/// How many waiting tasks and needs the header names.
const NAMED: usize = 4;

/// Project, run, bar, counts; and the cost at the right. Counts are as detailed and the bar is as long as there is room.
pub fn progress(app: &App, width: usize) -> (Line<'static>, Line<'static>) {
    let head = &app.head;
    let cost = head.run.as_ref().map(|run| spent(&run.cost, run.budget)).unwrap_or_default();
    let runs = match &head.run {
        Some(run) => state(run, app.now).map(|state| format!("· {state}")),
        None if app.ready => [(); 3].map(|()| paint(DIM, "· no run yet; start one: ralph run")),
        None => <[String; 3]>::default(),
    };
    let begins = runs.map(|run| ansi::line(&format!("{} {run} ", paint(BOLD, ansi::plain(&head.project)))));
    let end = ansi::line(&paint(BOLD, cost));
    let [longest, _, shortest] = &begins;
    if head.tasks.total == 0 {
        return (longest.clone(), end);
    }
    let whole = head.tasks.summary();
    let done = whole.split(" · ").next().unwrap_or_default();
    let short = format!("{} of {} done", head.tasks.done, head.tasks.total);
    // Borders, and gaps before and after the bar and before the cost.
    let room = |begin: &Line<'_>| width.saturating_sub(begin.width() + end.width() + 5);
    // How far the plan is says more than when the run ended.
    let least = short.chars().count() + 1;
    let begin = begins.iter().find(|begin| room(begin) >= least).unwrap_or(shortest).clone();
    let room = room(&begin);
    let left = |text: &str| room.saturating_sub(text.chars().count());
    let counts = [whole.as_str(), done, &short].into_iter().find(|text| left(text) >= SHORTEST_BAR);
    let counts = counts.unwrap_or(&short);
    let bar = u64::try_from(left(counts)).unwrap_or(0).min(LONGEST_BAR);
    let rest = ansi::line(&format!("{} {counts}", style::bar(&head.tasks, bar)));
    (Line::from_iter(begin.spans.into_iter().chain(rest.spans)), end)
}

/// What the run does and for how long, or how and when it ended; each text is shorter than the one before.
fn state(run: &RunHead, now: Timestamp) -> [String; 3] {
    let until = run.ended_at.unwrap_or(now);
    let elapsed = format::elapsed(until.since(run.started_at));
    let color = match run.state {
        RunState::Running => CYAN,
        RunState::Crashed => RED,
        RunState::Ended(_) => anstyle::Style::new(),
        _ => YELLOW,
    };
    let older = if run.is_older { format!("{} ", run.id) } else { String::new() };
    let ended = run.ended_at.map(|at| format!(", {}", format::ago(now.since(at)))).unwrap_or_default();
    let word = format!("{older}{}", paint(color, ansi::plain(run.state.word())));
    let time = if run.state.is_over() { format!(" after {elapsed}") } else { format!(" {elapsed}") };
    [format!("{word}{time}{ended}"), format!("{word}{time}"), word]
}

fn spent(cost: &Cost, budget: Option<f64>) -> String {
    let spent = if cost.cost_usd.is_some() { format::short_total(cost) } else { String::new() };
    match (budget, spent.is_empty()) {
        (Some(budget), true) => format!("$0.00 of {}", format::cost(Some(budget), false)),
        (Some(budget), false) => format!("{spent} of {}", format::cost(Some(budget), false)),
        (None, _) => spent,
    }
}

/// Who waits for what: first what needs a person, then what the run waits for or works on.
pub fn waits(app: &App) -> Line<'static> {
    let head = &app.head;
    let mut parts = Vec::new();
    if !head.needs_you.is_empty() {
        let names: Vec<&str> = head.needs_you.iter().take(NAMED).map(String::as_str).collect();
        let more = head.needs_you.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        parts.push(format!("{} {}{more}", paint(YELLOW, "needs you: ✗"), ansi::plain(&names.join(", "))));
    }
    if let Some(wait) = head.run.as_ref().and_then(|run| run.waiting.as_ref()) {
        let reason = match wait.waiting_for {
            WaitingFor::Answer => "your answer in its terminal".to_owned(),
            WaitingFor::Resume => "you to resume it".to_owned(),
            _ => ansi::plain(&wait.reason),
        };
        let until = wait.until.map(|until| format::until(until, app.now)).unwrap_or_default();
        parts.push(paint(YELLOW, format_args!("the run waits for {reason}{until}")));
    }
    for attempt in head.active.iter().flat_map(|run| &run.attempts).take(NAMED) {
        let mark = paint(CYAN, attempt.stage().0);
        parts.push(format!("{mark} {} {}", attempt.task.name(), under_way(attempt, app.now)));
    }
    let crashed = head.run.as_ref().is_some_and(|run| run.state == RunState::Crashed && !run.is_older);
    if crashed && head.active.is_empty() {
        parts.push(paint(YELLOW, "to continue: ralph run"));
    }
    if parts.is_empty() && app.ready {
        parts.push(paint(DIM, "nothing needs you"));
    }
    ansi::line(&parts.join(" · "))
}

fn under_way(attempt: &CurrentAttempt, now: Timestamp) -> String {
    let who = format::agent_and_model(attempt.agent.as_deref(), attempt.model.as_deref());
    let who = who.map(|who| format!(" {}", ansi::plain(&who))).unwrap_or_default();
    format!("#{}{who} {}", attempt.attempt, format::elapsed(now.since(attempt.since)))
}

/// A row of the plan, and what stands at its right end.
pub fn plan_line(app: &App, row: Row, is_selected: bool, width: usize) -> (Line<'static>, Line<'static>) {
    let at = match row {
        Row::Phase(at) => {
            let phase = app.outline.nodes.get(at).and_then(|node| node.phase.as_deref()).unwrap_or_default();
            let heading =
                Span::styled(format!(" {}", ansi::plain(phase)), Style::new().add_modifier(Modifier::BOLD));
            return (Line::from(heading), Line::default());
        }
        Row::Task(at) => at,
    };
    let Some(node) = app.outline.nodes.get(at) else { return Default::default() };
    let relation = |all: &[Related]| all.iter().any(|other| other.task.task_id == node.id);
    let lead = match app.facts() {
        _ if is_selected => "▌",
        Some(facts) if relation(&facts.dependencies) => "→",
        Some(facts) if relation(&facts.dependents) => "←",
        _ => " ",
    };
    let depth = if app.problems { 0 } else { usize::from(node.depth.min(12)) };
    let indent = "  ".repeat(depth);
    let Some(task) = app.plan.get(&node.id) else {
        return (Line::from(format!("{lead}{indent}… {}", node.id)), Line::default());
    };
    let evidence = task.verification.as_ref().map(EvidenceKind::from).unwrap_or_default();
    let standing = Standing { status: task.status, verified: task.verified, done_by: task.done_by, evidence };
    let name = match task.status {
        Status::Skipped => paint(DIM, format_args!("{} {}", task.name, task.title)),
        _ => format!("{} {}", task.name, task.title),
    };
    let folded =
        if is_folded(app, at) { paint(DIM, format_args!("▸{} ", node.below)) } else { String::new() };
    let current =
        app.head.active.iter().flat_map(|run| &run.attempts).find(|one| one.task.task_id == node.id);
    let mark = current.map_or_else(|| standing.mark(), |attempt| paint(CYAN, attempt.stage().0));
    let left = ansi::line(&format!("{lead}{indent}{mark} {name}"));
    let right = match (task.status, current) {
        (_, Some(attempt)) => {
            let elapsed = format::elapsed(app.now.since(attempt.since));
            paint(CYAN, format_args!("#{} {elapsed}", attempt.attempt))
        }
        (Status::Blocked, _) => paint(YELLOW, "needs you"),
        (Status::Pending, _) if !task.waits_for.is_empty() => {
            let first = task.waits_for.first().map(String::as_str).unwrap_or_default();
            let more = task.waits_for.len() - 1;
            let more = if more > 0 { format!(" +{more}") } else { String::new() };
            paint(DIM, format_args!("waits for {first}{more}"))
        }
        _ if width < WITH_WORDS => String::new(),
        (Status::Pending, _) => paint(DIM, "waiting"),
        (Status::Done, _) if standing.verified && evidence == EvidenceKind::Plain => {
            let tries = if task.attempts > 1 && width >= WITH_ATTEMPTS {
                format!("{} att ", task.attempts)
            } else {
                String::new()
            };
            paint(DIM, format_args!("{tries}verified"))
        }
        (Status::Done, _) => paint(YELLOW, standing.plain().trim_start_matches("done, ")),
        _ => paint(DIM, standing.plain()),
    };
    (left, ansi::line(&format!("{folded}{right}")))
}

fn is_folded(app: &App, at: usize) -> bool {
    !app.problems && app.is_folded(at)
}

/// What the selected task depends on, and what depends on it.
pub fn relations(app: &App) -> Vec<Line<'static>> {
    let Some(facts) = app.facts() else { return Vec::new() };
    let named = |label: &str, all: &[Related]| {
        let names: Vec<String> =
            all.iter().map(|other| format!("{} {}", other.standing.mark(), other.task.name())).collect();
        let names = if names.is_empty() { paint(DIM, "nothing") } else { names.join(", ") };
        ansi::line(&format!("{} {names}", paint(DIM, label)))
    };
    vec![named("→ needs", &facts.dependencies), named("← needed by", &facts.dependents)]
}

pub fn no_attempts(app: &App) -> String {
    match (app.facts(), &app.run) {
        (Some(facts), Some(run)) if !facts.history.is_empty() => format!("none in run {run}"),
        (Some(_), _) => "no attempts yet".to_owned(),
        _ => String::new(),
    }
}

impl AttemptView<'_> {
    /// `#2 sonnet 6 min $0.31 ✗ progress: gate failed: 1 of 41 tests failed (60% chance)`.
    pub fn line(&self, now: Timestamp) -> String {
        let attempt = match self {
            Self::UnderWay(attempt) => {
                let (mark, word) = attempt.stage();
                return format!("{} {}", under_way(attempt, now), paint(CYAN, format_args!("{mark} {word}")));
            }
            Self::Recorded(attempt) => attempt,
        };
        let record = &attempt.record;
        let number = match record.counted {
            true => format!("#{}", record.attempt),
            false => format!("({})", record.attempt_number),
        };
        let mut parts = vec![number, ansi::plain(&record.model)];
        parts.push(format::duration(Duration::from_millis(record.duration_ms)));
        parts.extend(format::attempt_cost(record));
        parts.push(outcome_mark(record.outcome, record.counted, record.verified));
        if let Some(trend) = &attempt.trend {
            let (color, word) = match trend.kind {
                TrendKind::SameFailure => (RED, "same failure:"),
                TrendKind::Progress => (GREEN, "progress:"),
                TrendKind::NoProgress => (YELLOW, "no progress:"),
            };
            parts.push(paint(color, word));
        }
        let outcome = ralph_core::text::one_line(&format::outcome_line(record), 200);
        parts.push(ansi::plain(&outcome));
        // Why this model: the report has it whole.
        let why = format::short_rationale(record.rationale.as_deref().unwrap_or_default());
        if !why.is_empty() {
            let why = ralph_core::text::one_line(why, 60);
            parts.push(paint(DIM, format_args!("({})", ansi::plain(&why))));
        }
        parts.join(" ")
    }
}

/// Each learning, and at the right what came of it.
pub fn memory(app: &App) -> Vec<(Line<'static>, Line<'static>)> {
    let learnings = &app.memory.learnings;
    if learnings.is_empty() {
        let none = if app.memory.of_prompt { "no learnings in this prompt" } else { "nothing learned yet" };
        return vec![(ansi::line(&paint(DIM, none)), Line::default())];
    }
    let line = |learning: &crate::facts::LearningFacts| {
        let pinned = if learning.pinned { "pinned " } else { "" };
        let harmed = match learning.harmed {
            0 => String::new(),
            n => paint(RED, format_args!(", harmed {n}")),
        };
        let counts = format!("shown {}, helped {}", learning.shown, learning.helped);
        let (category, name) = (ansi::plain(&learning.category), ansi::plain(&learning.name));
        let what = format!("{} {}{name}", paint(CYAN, category), paint(DIM, pinned));
        (ansi::line(&what), ansi::line(&format!("{}{harmed}", paint(DIM, counts))))
    };
    learnings.iter().map(line).collect()
}

pub fn workers(app: &App) -> Vec<(Line<'static>, Line<'static>)> {
    let head = &app.head;
    let mut lines = Vec::new();
    for run in &head.active {
        let pid = run.owner.pid;
        lines.push(format!(
            "{} {}",
            paint(BOLD, &run.run_id),
            paint(DIM, format_args!("process {pid} on {}", run.owner.host))
        ));
        for attempt in &run.attempts {
            let title = ansi::plain(&attempt.task.title);
            let (mark, word) = attempt.stage();
            let what = format!("{} {word}", under_way(attempt, app.now));
            lines.push(format!("  {} {} {what}  {title}", paint(CYAN, mark), attempt.task.name()));
        }
        if let Some(wait) = &run.waiting {
            let until = wait.until.map(|until| format::until(until, app.now)).unwrap_or_default();
            lines.push(format!("  {} {}{until}", paint(YELLOW, "… waits for"), ansi::plain(&wait.reason)));
        }
    }
    if head.active.is_empty() && app.ready {
        lines.push(paint(DIM, "no run is under way"));
    }
    lines.extend(head.limits.iter().map(|limit| paint(YELLOW, ansi::plain(limit))));
    if let Some(breaker) = &head.breaker {
        let state = breaker.state.as_str().replace('_', " ");
        let color = if state == "closed" { DIM } else { RED };
        let failures = format!("{} of {} failures in a row", breaker.failures, breaker.threshold);
        lines.push(format!("circuit breaker {}: {}", paint(color, state), paint(DIM, failures)));
    }
    if let Some(run) = &head.run {
        let budget = if run.budget.is_some() { "" } else { "no cost limit" };
        let spent = format!("{} ", spent(&run.cost, run.budget));
        lines.push(format!("run {}{}", spent.trim_start(), paint(DIM, budget)));
    }
    let today = spent(&head.spent_today, head.run.as_ref().and_then(|run| run.day_budget));
    if !today.is_empty() {
        lines.push(format!("today (UTC) {today}"));
    }
    lines.iter().map(|line| (ansi::line(line), Line::default())).collect()
}

/// What the marks mean.
pub fn legend() -> Vec<Line<'static>> {
    let done = |verified, evidence| Standing { verified, evidence, ..Standing::of(Status::Done) };
    let states = [
        (done(true, EvidenceKind::Plain), "verified"),
        (done(false, EvidenceKind::Plain), "unverified"),
        (Standing::of(Status::InProgress), "running"),
        (Standing::of(Status::Blocked), "blocked"),
        (Standing::of(Status::Pending), "waiting"),
        (Standing::of(Status::Skipped), "skipped"),
    ];
    let mut marks: Vec<String> =
        states.iter().map(|(standing, word)| format!("{} {word}", standing.mark())).collect();
    marks.insert(3, format!("{} landing", paint(CYAN, "↑")));
    vec![
        Line::default(),
        ansi::line(&marks.join("  ")),
        ansi::line("→ the selected task needs it  ← it needs the selected task"),
    ]
}
