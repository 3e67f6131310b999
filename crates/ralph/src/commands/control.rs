//! `ralph stop`, `ralph pause`, `ralph resume`: requests to a run in another process. `ralph guard`: what a run starts for itself.

use std::env;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use ralph_core::agent::stand_guard;
use ralph_core::host::{Host, Liveness, ThisHost};
use ralph_core::store::RunRow;
use serde_json::json;

use super::print;
use crate::actions::{Ask, Force, On, RunAnswer, ask_runs, receipt_of, stop_runs};
use crate::command_error::CommandResult;
use crate::ui::progress;
use crate::workspace::Workspace;
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
    /// The run to stop; all active runs on this machine if omitted.
    run: Option<String>,
    /// Stop the runs on another machine of the team. They finish their current attempts first.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["run", "after_attempt"])]
    host: Option<String>,
    /// Stop the runs on all machines of the team. Those on others finish their current attempts first.
    #[arg(long, conflicts_with_all = ["run", "host", "after_attempt"])]
    all: bool,
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
        return ask(dir, args.run.as_deref(), args.json, Ask::StopAfterAttempt);
    }
    let mut workspace = Workspace::open(dir)?;
    let settings = workspace.settings()?;
    let (_, grace) = super::run::gate_limits(&settings);
    let force = if args.now { Force::Kill } else { Force::Graceful };
    let on = match &args.host {
        Some(host) => On::Host(host.clone()),
        None if args.all => On::AllHosts,
        None => On::ThisHost,
    };
    let mut answers = stop_runs(&mut workspace, args.run.as_deref(), &on, force)?;
    let here = ThisHost::new().owner().host;
    let own = env::var("RALPH_RUN_ID").unwrap_or_default();
    // An agent and two hooks may each use theirs.
    let patience = PATIENCE.saturating_add(grace.saturating_mul(3));
    for answer in &mut answers {
        let run = &answer.run;
        if run.owner.host != here {
            continue;
        }
        // This command is part of that run: each would wait for the other.
        if run.id.as_str() == own {
            if env::var_os("RALPH_HOOK").is_some() {
                answer.message = "stops when this hook ends";
            }
            continue;
        }
        let waiting = format!("{} is stopping", run.id);
        answer.done = progress::waiting(&waiting, || wait_for_end(run, patience));
        answer.message = if answer.done { "stopped" } else { "is still stopping" };
    }
    report(&answers, args.json)?;
    let all = answers.iter().all(|answer| answer.done);
    Ok(ExitCode::from(u8::from(!all)))
}

pub fn pause(dir: Option<&Path>, args: &RunArgs) -> CommandResult {
    ask(dir, args.run.as_deref(), args.json, Ask::Pause)
}

pub fn resume(dir: Option<&Path>, args: &RunArgs) -> CommandResult {
    ask(dir, args.run.as_deref(), args.json, Ask::Resume)
}

fn ask(dir: Option<&Path>, named: Option<&str>, json: bool, ask: Ask) -> CommandResult {
    let answers = ask_runs(&mut Workspace::open(dir)?, named, ask)?;
    report(&answers, json)
}

fn report(answers: &[RunAnswer], json: bool) -> CommandResult {
    let rows = answers.iter().map(|RunAnswer { run, done, message }| {
        let (pid, host) = (run.owner.pid, &run.owner.host);
        json!({ "run_id": run.id, "pid": pid, "host": host, "done": done, "message": message })
    });
    output::print(json, &json!({ "runs": rows.collect::<Vec<_>>() }), || print(&receipt_of(answers)))
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
    /// The process of Ralph that started it.
    holder: String,
}

pub fn guard(args: &GuardArgs) -> CommandResult {
    // What stops a service tells all of its processes at once. Ralph is the one that decides what follows.
    interrupts::outlive()?;
    stand_guard(&args.holder, std::io::stdin(), Duration::from_millis(args.grace));
    Ok(ExitCode::SUCCESS)
}
