//! `ralph status`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::decide::{Waiter, outlook};
use ralph_core::host::{Host, Liveness, ThisHost};
use ralph_core::model::Status;
use ralph_core::store::{
    BreakerState, Held, HistoryStore, PlanCounts, PlanStore, RunRow, RunStore, Scope,
};
use serde::Serialize;

use crate::command_error::CommandResult;
use crate::output;
use crate::ui::{self, format, style, table};
use crate::workspace::{Workspace, now};

/// Show where the plan stands, and who waits for whom.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    tasks: PlanCounts,
    ready: u64,
    attempts: u64,
    cost_usd: f64,
    run: Option<RunReport>,
    breaker: BreakerReport,
    waiting: Vec<Waiter>,
}

#[derive(Serialize)]
struct RunReport {
    #[serde(flatten)]
    run: RunRow,
    active: bool,
}

#[derive(Serialize)]
struct BreakerReport {
    state: BreakerState,
    failures: u64,
    threshold: u32,
    opened_at: Option<ralph_core::model::Timestamp>,
}

/// Waiting tasks shown to people; JSON has all.
const SHOWN: usize = 15;

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::open(dir)?;
    let store = &workspace.store;
    let settings = workspace.settings()?;
    let totals = store.totals()?;
    let breaker = store.breaker()?;
    let plan = store.skeleton()?;
    let outlook = outlook(&plan, &Scope::All);
    let run = store.last_run()?.map(|run| RunReport {
        active: run.ended_at.is_none() && ThisHost::new().liveness(&run.owner) != Liveness::Dead,
        run,
    });
    let report = Report {
        tasks: store.counts()?,
        ready: store.ready_count()?,
        attempts: totals.attempts,
        cost_usd: totals.cost_usd,
        run,
        breaker: BreakerReport {
            state: breaker.state,
            failures: breaker.failures,
            threshold: settings.count("breaker", "threshold").unwrap_or(5),
            opened_at: breaker.opened_at,
        },
        waiting: outlook.waiting,
    };
    if args.json {
        output::json(&report);
    } else {
        show(&report, &store.held(usize::MAX)?);
    }
    Ok(ExitCode::SUCCESS)
}

fn show(report: &Report, held: &[Held]) {
    let tasks = &report.tasks;
    if tasks.total == 0 {
        output::line("no tasks yet; `ralph task add TITLE` adds one");
        return;
    }
    output::line(format_args!(
        "{}  {} of {} done",
        style::bar(
            tasks.finished(),
            tasks.total,
            ui::width().saturating_sub(24).min(30) as u64
        ),
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
    let parts: Vec<String> = counts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, status)| format!("{n} {}", style::status(*status)))
        .collect();
    let ready = format!("{} ready", report.ready);
    output::line(
        parts
            .into_iter()
            .chain([ready])
            .collect::<Vec<_>>()
            .join(" · "),
    );
    let attempts = format::counted(report.attempts, "attempt");
    let cost = Some(report.cost_usd).filter(|usd| *usd > 0.0);
    let cost = cost
        .map(|usd| format!(", {}", format::cost(Some(usd))))
        .unwrap_or_default();
    output::line(format_args!("{attempts}{cost}"));
    if let Some(RunReport { run, active }) = &report.run {
        let ended = match (active, &run.outcome) {
            (true, _) => format!("running (process {} on {})", run.owner.pid, run.owner.host),
            (false, Some(outcome)) => format!("ended: {}", outcome.replace('_', " ")),
            (false, None) => "died; the next run picks up what it left".into(),
        };
        let ago = format::duration(now().since(run.started_at));
        output::line(format_args!(
            "last run {}, started {ago} ago: {ended}",
            run.id
        ));
    }
    if !held.is_empty() {
        output::line("\nneeds you:");
        for held in held.iter().take(SHOWN) {
            let reason = held.reason.as_deref().unwrap_or("no reason given");
            let status = style::status(held.status);
            let line = format!("  {} {status}: {reason}", held.name);
            output::line(table::wrap(&line, ui::width()));
        }
        more(held.len());
        if held.iter().any(|held| held.status == Status::Blocked) {
            output::line(
                "  blocked: `ralph run NAME` tries again; by hand: `ralph task done|skip NAME`",
            );
        }
        if held.iter().any(|held| held.status == Status::Failed) {
            output::line("  failed: `ralph task reset NAME` opens it again");
        }
    }
    if !report.waiting.is_empty() {
        output::line("\nwaiting:");
        for waiter in report.waiting.iter().take(SHOWN) {
            let names: Vec<String> = waiter
                .waits_for
                .iter()
                .map(|blocker| format!("{} ({})", blocker.name, blocker.status))
                .collect();
            output::line(format_args!(
                "  {} waits for {}",
                waiter.name,
                names.join(", ")
            ));
        }
        more(report.waiting.len());
    }
}

fn more(total: usize) {
    if total > SHOWN {
        output::line(format_args!("  … and {} more", total - SHOWN));
    }
}
