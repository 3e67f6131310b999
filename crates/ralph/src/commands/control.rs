//! `ralph stop`, `ralph pause`, `ralph resume`: requests to a run in another process. `ralph guard`: what a run starts for itself.

use std::env;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use ralph_core::agent::stand_guard;
use ralph_core::host::{Host, Liveness, ThisHost};
use ralph_core::model::RunId;
use ralph_core::store::{RunRequest, RunRow, Store, StoreError};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::command_error::{CommandError, CommandResult};
use crate::ui::progress;
use crate::workspace::{Workspace, is_active};
use crate::{interrupts, output};

/// How often to check whether a run has ended.
const CHECK_EVERY: Duration = Duration::from_millis(50);
/// How much longer than the graces of its processes a run may take to end.
const PATIENCE: Duration = Duration::from_secs(15);

/// Stop the active run of this project; the current attempt is interrupted and not counted.
///
/// This is the same as Ctrl-C in the run's terminal. Without an active run the command succeeds. Inside a hook of the run
/// it does not wait: the run stops when the hook ends.
#[derive(Debug, clap::Args)]
pub struct StopArgs {
    /// The run to stop; all active runs if omitted.
    run: Option<String>,
    /// Let the current attempt finish first.
    #[arg(long)]
    after_attempt: bool,
    /// Kill the agent immediately instead of letting it exit.
    #[arg(long, conflicts_with = "after_attempt")]
    now: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// The run; all active runs if omitted.
    run: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn stop(dir: Option<&Path>, args: &StopArgs) -> CommandResult {
    if args.after_attempt {
        let words = ["stops after its current attempt", "has already ended"];
        let request = |store: &mut Store, run: &RunId| store.ask_run(run, RunRequest::Stop);
        return ask(dir, args.run.as_deref(), args.json, request, words);
    }
    let mut workspace = Workspace::open(dir)?;
    let runs = active(&workspace, args.run.as_deref())?;
    let settings = workspace.settings()?;
    let (_, grace) = super::run::gate_limits(&settings);
    for run in &runs {
        // Recorded first, so that the run can say who ended it.
        workspace.store.note_stop(&run.id)?;
        send_term(run)?;
        if args.now {
            // The second word says that there is no time.
            thread::sleep(Duration::from_millis(100));
            send_term(run)?;
        }
    }
    let own = env::var("RALPH_RUN_ID").unwrap_or_default();
    let own_end = match env::var_os("RALPH_HOOK") {
        Some(_) => "stops when this hook ends",
        None => "is stopping",
    };
    // An agent and two hooks may each use theirs.
    let patience = PATIENCE.saturating_add(grace.saturating_mul(3));
    let mut reports = Vec::new();
    for run in &runs {
        // This command is part of that run: each would wait for the other.
        if run.id.as_str() == own {
            reports.push((run, true, own_end));
            continue;
        }
        let waiting = format!("{} is stopping", run.id);
        let ended = progress::waiting(&waiting, || wait_for_end(run, patience));
        let words = if ended { "stopped" } else { "is still stopping" };
        reports.push((run, ended, words));
    }
    report(&reports, args.json)?;
    let all = reports.iter().all(|(_, ended, _)| *ended);
    Ok(ExitCode::from(u8::from(!all)))
}

pub fn pause(dir: Option<&Path>, args: &RunArgs) -> CommandResult {
    let words =
        ["pauses after its current attempt; to resume: ralph resume", "is stopping and cannot be paused"];
    let request = |store: &mut Store, run: &RunId| store.ask_run(run, RunRequest::Pause);
    ask(dir, args.run.as_deref(), args.json, request, words)
}

pub fn resume(dir: Option<&Path>, args: &RunArgs) -> CommandResult {
    ask(dir, args.run.as_deref(), args.json, Store::resume_run, ["resumed", "was not paused"])
}

/// Asks each run, and reports the first words if it was asked, the second if it was too late.
fn ask(
    dir: Option<&Path>,
    named: Option<&str>,
    json: bool,
    request: impl Fn(&mut Store, &RunId) -> Result<bool, StoreError>,
    [asked, too_late]: [&'static str; 2],
) -> CommandResult {
    let mut workspace = Workspace::open(dir)?;
    let runs = active(&workspace, named)?;
    let mut reports = Vec::new();
    for run in &runs {
        let done = request(&mut workspace.store, &run.id)?;
        reports.push((run, done, if done { asked } else { too_late }));
    }
    report(&reports, json)
}

fn report(runs: &[(&RunRow, bool, &str)], json: bool) -> CommandResult {
    let rows = runs.iter().map(|(run, done, words)| {
        let (pid, host) = (run.owner.pid, &run.owner.host);
        json!({ "run_id": run.id, "pid": pid, "host": host, "done": done, "message": words })
    });
    output::print(json, &json!({ "runs": rows.collect::<Vec<_>>() }), || {
        if runs.is_empty() {
            output::line("no active run");
        }
        for (run, _, words) in runs {
            output::line(format_args!("run {} {words}", run.id));
        }
    })
}

/// The runs that are at work: all of them, or the one that is named.
fn active(workspace: &Workspace, named: Option<&str>) -> Result<Vec<RunRow>, CommandError> {
    let mut runs: Vec<RunRow> = workspace.store.open_runs()?;
    runs.retain(is_active);
    let Some(name) = named else { return Ok(runs) };
    let names: Vec<String> = runs.iter().map(|run| run.id.to_string()).collect();
    runs.retain(|run| run.id.as_str() == name);
    if !runs.is_empty() {
        return Ok(runs);
    }
    let error = CommandError::usage(format_args!("run `{name}` is not active"));
    Err(if names.is_empty() { error } else { error.hint(format_args!("active runs: {}", names.join(", "))) })
}

fn send_term(run: &RunRow) -> Result<(), CommandError> {
    let owner = &run.owner;
    match ThisHost::new().liveness(owner) {
        Liveness::Dead => return Ok(()),
        Liveness::Elsewhere => {
            let message = format!("run {} is on another host, {}", run.id, owner.host);
            return Err(CommandError::environment(message)
                .hint("run `ralph stop --after-attempt`, which works across hosts"));
        }
        Liveness::Alive => {}
    }
    let Some(pid) = i32::try_from(owner.pid).ok().and_then(Pid::from_raw) else { return Ok(()) };
    // A process that was suspended by Ctrl-Z hears nothing until it goes on.
    match kill_process(pid, Signal::TERM).and_then(|()| kill_process(pid, Signal::CONT)) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(CommandError::environment(format_args!(
            "cannot send a signal to process {} of run {}: {error}",
            owner.pid, run.id
        ))),
    }
}

/// Waits for a process to be gone; `false` if it takes too long.
fn wait_for_end(run: &RunRow, patience: Duration) -> bool {
    let host = ThisHost::new();
    let asked = Instant::now();
    while host.liveness(&run.owner) == Liveness::Alive {
        if asked.elapsed() > patience {
            return false;
        }
        thread::sleep(CHECK_EVERY);
    }
    true
}

/// Start the agents and gates of a run, and stop them if Ralph dies. `ralph run` starts this itself.
#[derive(Debug, clap::Args)]
pub struct GuardArgs {
    /// How long agents have to exit after SIGTERM, in milliseconds.
    grace: u64,
    /// The run.
    run: String,
}

pub fn guard(args: &GuardArgs) -> CommandResult {
    // What stops a service tells all of its processes at once. Ralph is the one that decides what follows.
    interrupts::outlive()?;
    stand_guard(&RunId::from_stored(args.run.as_str()), std::io::stdin(), Duration::from_millis(args.grace));
    Ok(ExitCode::SUCCESS)
}
