//! The state of a project as people read it: `ralph status`, and the end of `ralph run`.

use std::fmt::Display;
use std::time::Duration;

use ralph_core::engine::Summary;
use ralph_core::event::{TaskRef, WaitingFor};
use ralph_core::exit::RunExit;
use ralph_core::model::{Status, Timestamp};
use ralph_core::store::{BreakerState, Purpose, RunRequest, WaitingGate};

use super::style::{self, BOLD, CYAN, DIM, EvidenceKind, Standing, YELLOW, paint};
use super::table::{self, Table};
use super::{format, lines};
use crate::commands::limits;
use crate::facts::{
    ActiveRun, BreakerFacts, CurrentAttempt, CurrentWait, GateChange, OpenTask, PlanFacts, RunFacts, RunTask,
    StatusFacts, UnverifiedTask,
};
use crate::workspace::{Workspace, now};

/// Tasks listed in each part of `ralph status`; JSON has all.
const LISTED: usize = 15;
/// Tasks listed in each part of the end of a run.
const LISTED_AT_END: usize = 20;

/// Text that grows line by line.
struct Page {
    text: String,
    width: usize,
    /// How many tasks each part lists.
    listed: usize,
}

impl Page {
    fn add(&mut self, line: impl Display) {
        self.text.push_str(&table::wrap(&line.to_string(), self.width));
        self.text.push('\n');
    }

    /// Begins a part: an empty line, unless there is one already.
    fn gap(&mut self) {
        if !self.text.is_empty() && self.text != "\n" && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn more(&mut self, total: usize, hint: &str) {
        if total > self.listed {
            self.add(format_args!("  … and {} more{hint}", total - self.listed));
        }
    }
}

const SHOWS_ALL: &str = "; `ralph task list` shows all";

/// What `ralph status` shows, in lines of so many columns.
pub fn status(facts: &StatusFacts, width: usize) -> String {
    let mut page = Page { text: String::new(), width, listed: LISTED };
    match facts.tasks.total {
        0 => page.add("No tasks yet. Add one: ralph task add TITLE"),
        _ => plan(facts, &mut page),
    }
    breaker(&facts.breaker, !facts.active.is_empty(), &mut page);
    for run in &facts.active {
        active(run, &mut page);
    }
    needs_you(&facts.open, &mut page);
    if let Some(run) = facts.last_run.as_ref().filter(|_| facts.tasks.total > 0) {
        last_run(run, &mut page);
    }
    if !facts.limits.is_empty() {
        page.gap();
        for limit in &facts.limits {
            page.add(paint(YELLOW, limits::words(limit, now())));
        }
        page.add("  runs wait for the reset or use a fallback agent; to clear the limit: ralph limits clear");
    }
    if !facts.gates_waiting.is_empty() {
        page.gap();
        for waiting in facts.gates_waiting.iter().take(LISTED) {
            page.add(paint(YELLOW, waiting_gate(waiting)));
        }
        page.more(facts.gates_waiting.len(), "");
    }
    not_done_yet(&facts.open, &mut page);
    let unverified_tasks: Vec<&UnverifiedTask> = facts.unverified.iter().collect();
    unverified(&unverified_tasks, &mut page);
    already_green(&facts.already_green.iter().collect::<Vec<_>>(), &mut page);
    page.text
}

/// What is shown at the end of a run; its last line says how far the plan is. Facts that cannot be read are left out: the
/// run is over, and its exit code stands.
pub fn summary(workspace: &Workspace, summary: &Summary) -> String {
    let Some(run_id) = &summary.run_id else { return String::new() };
    let mut page = Page { text: String::from("\n"), width: super::width(), listed: LISTED_AT_END };
    let store = &workspace.store;
    let plan = PlanFacts::read(workspace).ok();
    let run = plan.as_ref().and_then(|plan| {
        let run = store.run(run_id).ok().flatten()?;
        RunFacts::read(store, plan, &run).ok()
    });
    if let Some(run) = &run {
        tasks(&run.worked_on(), "", &mut page);
        evidence(&run.done, &mut page);
        page.gap();
        run.gate_changes.iter().for_each(|change| page.add(format_args!("  {}", gate_change(change))));
        run.gates_waiting.iter().for_each(|waiting| page.add(format_args!("  {}", waiting_gate(waiting))));
    }
    if let Some(plan) = &plan {
        needs_you(&plan.open_tasks(), &mut page);
        let done = run.iter().flat_map(|run| &run.done);
        let done: Vec<_> = done.map(|task| &task.task.task_id).collect();
        let mut tasks = plan.unverified_tasks();
        tasks.retain(|task| done.contains(&&task.task.task_id));
        unverified(&tasks.iter().collect::<Vec<_>>(), &mut page);
        let mut green = plan.already_green_tasks();
        green.retain(|task| done.contains(&&task.task_id));
        already_green(&green.iter().collect::<Vec<_>>(), &mut page);
    }
    page.gap();
    if !is_error(summary) {
        page.add(format::run_end(summary.exit == RunExit::Finished, &summary.reason));
        summary.hint.iter().for_each(|hint| page.add(format_args!("  hint: {hint}")));
    }
    if let Some(run) = &run {
        page.add(spent(run));
    }
    if let Ok(counts) = store.counts() {
        page.add(paint(BOLD, counts.summary()));
    }
    page.text
}

/// Whether the reason of an end is printed as an error, on standard error, and therefore not in the summary.
pub fn is_error(summary: &Summary) -> bool {
    match summary.exit {
        RunExit::Error | RunExit::NoPlan => true,
        // A hook's veto names what to fix. Everybody else aborts a run by choice.
        RunExit::Aborted => summary.hint.is_some(),
        _ => false,
    }
}

fn plan(facts: &StatusFacts, page: &mut Page) {
    let bar = style::bar(&facts.tasks, page.width.saturating_sub(24).min(30) as u64);
    let summary = facts.tasks.summary();
    // On one line where that fits, else below the bar.
    match table::shown(&bar) + 2 + table::shown(&summary) <= page.width {
        true => page.add(format_args!("{bar}  {summary}")),
        false => {
            page.add(bar);
            page.add(summary);
        }
    }
    let attempts = format::attempts(facts.attempts, facts.uncounted_attempts);
    page.add(format_args!("{} ready · {attempts}{}", facts.ready, after(", ", format::total(&facts.cost))));
}

fn breaker(breaker: &BreakerFacts, has_active_run: bool, page: &mut Page) {
    let state = match breaker.state {
        BreakerState::Closed => return,
        BreakerState::Open => "open",
        BreakerState::HalfOpen => "half open",
    };
    let since = breaker.opened_at.map(|at| format!("{} ({})", at.local_near(now()), ago(at)));
    page.gap();
    page.add(format_args!(
        "{}: {} in a row on {}",
        paint(YELLOW, format_args!("Circuit breaker {state}{}", after(" since ", since))),
        format::counted(breaker.failures, "failure"),
        format::counted(breaker.tasks, "task"),
    ));
    if breaker.state == BreakerState::HalfOpen && has_active_run {
        page.add("  one trial attempt is running; if it succeeds, the breaker closes");
        return;
    }
    page.add("  the next `ralph run` makes one trial attempt");
    page.add(format_args!(
        "  next: {} to see what the failures have in common, then {} or {}",
        paint(CYAN, "ralph analyze"),
        paint(CYAN, "ralph run"),
        paint(CYAN, "ralph breaker reset")
    ));
}

/// A text after a separator, where there is any.
fn after(separator: &str, text: Option<String>) -> String {
    text.map(|text| format!("{separator}{text}")).unwrap_or_default()
}

fn ago(then: Timestamp) -> String {
    format::ago(now().since(then))
}

fn active(run: &ActiveRun, page: &mut Page) {
    page.gap();
    page.add(format_args!(
        "{} (process {} on {}), started {}: {}, {} done{}",
        paint(BOLD, format_args!("Run {} is running", run.run_id)),
        run.owner.pid,
        run.owner.host,
        ago(run.started_at),
        format::counted(run.counted, "attempt"),
        run.done,
        after(", ", format::total(&run.cost))
    ));
    if run.stopped {
        let pid = run.owner.pid;
        page.add(paint(
            YELLOW,
            format_args!(
                "  its process is suspended (Ctrl-Z); resume it with `fg` in its terminal or `kill -CONT {pid}`"
            ),
        ));
    }
    for attempt in &run.attempts {
        let worker = match attempt.state {
            Some(state) => format!("{} {state} · ", attempt.worker),
            None => String::new(),
        };
        page.add(format_args!("  {} {worker}{}", paint(CYAN, "▶"), current_attempt(attempt)));
    }
    let request = match run.request {
        Some(RunRequest::Pause) if run.attempts.is_empty() => Some("paused; continue with `ralph resume`"),
        Some(RunRequest::Pause) => Some("pausing after this attempt; continue with `ralph resume`"),
        Some(RunRequest::Stop) => Some("stopping after this attempt"),
        None => None,
    };
    request.into_iter().for_each(|request| page.add(paint(YELLOW, format_args!("  {request}"))));
    // A wait for `ralph resume` is shown as the request.
    if let Some(waiting) = run.waiting.as_ref().filter(|wait| wait.waiting_for != WaitingFor::Resume) {
        page.add(paint(YELLOW, current_wait(waiting)));
    }
    if let Some(attempt) = run.attempts.first() {
        page.add(paint(DIM, format_args!("  follow the agent: ralph logs -f {}", attempt.task.name())));
    }
}

fn current_attempt(attempt: &CurrentAttempt) -> String {
    let name = paint(BOLD, format_args!("{} {}", attempt.task.name(), attempt.task.title));
    let since = format::elapsed(now().since(attempt.since));
    match attempt.purpose {
        Purpose::ParentGate => format!("{name} · running its gate · {since}"),
        Purpose::Attempt => {
            let who = format::agent_and_model(attempt.agent.as_deref(), attempt.model.as_deref());
            let who = who.as_deref().unwrap_or("starting");
            format!("{name} · attempt {} · {who} · {since}", attempt.attempt)
        }
    }
}

fn current_wait(wait: &CurrentWait) -> String {
    let time = match wait.until {
        Some(until) => {
            format!(" until {}, in {}", until.local_near(now()), format::age(until.since(now())))
        }
        None => format!(", for {}", format::age(now().since(wait.since))),
    };
    format!("  … waiting for {}{time}", wait.reason)
}

/// What `ralph status --run` shows.
pub fn run(run: &RunFacts, width: usize) -> String {
    let mut page = Page { text: String::new(), width, listed: LISTED_AT_END };
    run_head("Run", run, &mut page);
    tasks(&run.worked_on(), "  ", &mut page);
    page.text
}

fn last_run(run: &RunFacts, page: &mut Page) {
    page.gap();
    run_head("Last run", run, page);
    tasks(&run.done.iter().collect::<Vec<_>>(), "  ", page);
    let noticed = run.done.iter().filter_map(|task| {
        let remarks = format::remarks(task.verification.as_ref()?);
        (!remarks.is_empty()).then(|| format!("  ! {}: {}", task.task.name(), remarks.join(" · ")))
    });
    let noticed: Vec<String> = noticed.collect();
    noticed.iter().take(page.listed).for_each(|line| page.add(paint(YELLOW, line)));
    page.more(noticed.len(), SHOWS_ALL);
}

/// Which run it is, when it ran, how it ended and what it took.
fn run_head(title: &str, run: &RunFacts, page: &mut Page) {
    let started = run.started_at.local_near(now());
    let ended = run.ended_at.filter(|_| run.crashed_at.is_none());
    let ended = ended.map(|ended| ended.local_near(run.started_at)).filter(|ended| *ended != started);
    page.add(format_args!(
        "{}, started {} ({started}{}){}",
        paint(BOLD, format_args!("{title} {}", run.run_id)),
        ago(run.started_at),
        after(" to ", ended),
        after(", crashed ", run.crashed_at.map(ago)),
    ));
    let reason = run.reason.as_deref().unwrap_or_default();
    page.add(format_args!("  {}", format::run_end(run.exit_code == Some(0), reason)));
    if let Some(hint) = &run.hint {
        page.add(format_args!("  hint: {hint}"));
    }
    let mut results = format!("{} done", run.done.len());
    let count = |is: &dyn Fn(&Standing) -> bool| run.done.iter().filter(|task| is(&task.standing)).count();
    let reviewed = count(&|it| it.evidence == EvidenceKind::Reviewed);
    let kinds = [
        (count(&|it| it.evidence == EvidenceKind::AlreadyGreen), "already green"),
        (reviewed, "reviewed"),
        (count(&|it| !it.verified).saturating_sub(reviewed), "unverified"),
    ];
    let kinds: Vec<String> =
        kinds.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    if !kinds.is_empty() {
        results.push_str(&format!(" ({})", kinds.join(", ")));
    }
    if !run.blocked.is_empty() {
        results.push_str(&format!(", {} {}", run.blocked.len(), style::status(Status::Blocked)));
    }
    let today = run.cost_today_usd.filter(|usd| *usd > 0.0);
    let today = today.map(|usd| format::cost(Some(usd), run.cost_today_estimated));
    let lost = (run.crashed_attempts > 0).then(|| format::counted(run.crashed_attempts, "attempt"));
    let waited = (run.waits > 0).then(|| {
        let time = format::duration(Duration::from_millis(run.waited_ms));
        format!("{time} ({})", format::counted(run.waits, "wait"))
    });
    page.add(format_args!(
        "  {} · {}{}{}{}",
        paint(BOLD, results),
        spent(run),
        after(", today ", today),
        after(" · ", lost.map(|lost| format!("{lost} interrupted by a crash"))),
        after(" · waited ", waited),
    ));
}

fn spent(run: &RunFacts) -> String {
    format::spent(run.attempts, run.uncounted_attempts, run.duration_ms, &run.cost)
}

fn tasks(tasks: &[&RunTask], indent: &str, page: &mut Page) {
    if tasks.is_empty() {
        return;
    }
    let mut table = Table::new(["", "TASK", "ATTEMPTS", "TIME", "COST", "RESULT"]);
    for task in tasks.iter().take(page.listed) {
        let attempts = task.attempts + task.uncounted_attempts;
        let time = format::duration(Duration::from_millis(task.duration_ms));
        let [attempts, time] = match attempts {
            0 => [String::new(), String::new()],
            n => [n.to_string(), time],
        };
        table.row([
            task.standing.mark(),
            format!("{} {}", task.task.name(), task.task.title),
            attempts,
            time,
            format::short_total(&task.cost),
            task.standing.word(),
        ]);
    }
    for line in table.render_to(page.width.saturating_sub(indent.len())).lines() {
        page.text.push_str(&format!("{indent}{line}\n"));
    }
    page.more(tasks.len(), SHOWS_ALL);
}

/// The tasks that only a person can move on, each with why and what to type.
fn needs_you(open: &[OpenTask], page: &mut Page) {
    let held: Vec<&OpenTask> = open.iter().filter(|task| task.needs_you()).collect();
    if held.is_empty() {
        return;
    }
    page.gap();
    page.add(paint(BOLD, "Needs you"));
    for task in held.iter().take(page.listed) {
        open_task(task, page);
        if let Some(next) = &task.next {
            page.add(format_args!("      next: {}", paint(CYAN, next)));
        }
    }
    page.more(held.len(), SHOWS_ALL);
}

/// Tasks that are neither done nor a person's to move on: running, ready, waiting for others, skipped.
fn not_done_yet(open: &[OpenTask], page: &mut Page) {
    let rest: Vec<&OpenTask> = open.iter().filter(|task| !task.is_stuck()).collect();
    if rest.is_empty() {
        return;
    }
    page.gap();
    page.add(paint(BOLD, "Not done yet"));
    let mut commands: Vec<String> = Vec::new();
    for task in rest.iter().take(page.listed) {
        open_task(task, page);
        let next = task.next.as_ref().map(|next| paint(CYAN, next));
        commands.extend(next.filter(|next| !commands.contains(next)));
    }
    page.more(rest.len(), "");
    if !commands.is_empty() {
        page.add(format_args!("  next: {}", commands.join(" · ")));
    }
}

/// The task in a line (what happened and when, how many tasks wait for it), and below it why.
fn open_task(task: &OpenTask, page: &mut Page) {
    let standing = Standing::of(task.status);
    let ends = match task.interrupted {
        true => ", ",
        false if task.happened.contains("attempt") => ", last ",
        false => ", last attempt ",
    };
    let last = task.last_attempt_at.filter(|_| task.attempts > 0 || task.is_stuck() || task.interrupted);
    let dependents = (task.dependents > 0).then(|| format::counted(task.dependents, "task"));
    page.add(format_args!(
        "  {} {} · {}{}{}",
        standing.mark(),
        paint(BOLD, format_args!("{} {}", task.task.name(), task.task.title)),
        task.happened,
        after(ends, last.map(ago)),
        after(" · blocks ", dependents)
    ));
    if let Some(why) = &task.why {
        page.add(format_args!("      {why}"));
    }
}

/// The done tasks that neither a gate nor a review verified, and how to verify the first.
fn unverified(tasks: &[&UnverifiedTask], page: &mut Page) {
    let tasks: Vec<&UnverifiedTask> = tasks.iter().copied().filter(|task| !task.is_reviewed()).collect();
    let Some(first) = tasks.first() else { return };
    page.gap();
    page.add(paint(BOLD, "Unverified (no gate passed)"));
    for UnverifiedTask { task, done_by, .. } in tasks.iter().take(page.listed) {
        let standing = Standing { done_by: *done_by, ..Standing::of(Status::Done) };
        page.add(format_args!("  {} {} {} · {}", standing.mark(), task.name(), task.title, standing.plain()));
    }
    page.more(tasks.len(), SHOWS_ALL);
    page.add(format_args!("  next: {}", paint(CYAN, first.verify_command())));
}

/// The done tasks whose gate passed before any work, too.
fn already_green(tasks: &[&TaskRef], page: &mut Page) {
    let Some(first) = tasks.first() else { return };
    page.gap();
    page.add(paint(BOLD, "Already green (the gate passed before any work, too)"));
    for task in tasks.iter().take(page.listed) {
        page.add(format_args!("  {} {} {}", paint(YELLOW, "✓"), task.name(), task.title));
    }
    page.more(tasks.len(), SHOWS_ALL);
    let name = first.name();
    let next = format!("ralph task edit {name} --verify CMD && ralph task done {name} --verify");
    page.add(format_args!("  next: {}", paint(CYAN, next)));
}

/// What each task that a run finished rests on, where gates ran or a review was made.
fn evidence(done: &[RunTask], page: &mut Page) {
    let lines = done.iter().filter_map(|task| {
        let verification = task.verification.as_ref();
        let verification = verification.filter(|it| !it.gates.is_empty() || it.review.is_some())?;
        let evidence = format::evidence(verification, task.commit.as_deref()).join(" · ");
        Some(format!("  {}: {evidence}", task.task.name()))
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return;
    }
    page.gap();
    page.add(paint(BOLD, "Evidence"));
    lines.iter().take(page.listed).for_each(|line| page.add(line));
    page.more(lines.len(), SHOWS_ALL);
}

fn waiting_gate(waiting: &WaitingGate) -> String {
    let gate = &waiting.gate;
    lines::waiting_gate(&gate.name, &waiting.path, gate.before.as_deref(), gate.after.as_deref())
}

fn gate_change(change: &GateChange) -> String {
    let (before, after) = (change.before.as_deref(), change.after.as_deref());
    format!("gate of {} {}", change.task.name(), lines::gate_change(before, after, change.by))
}
