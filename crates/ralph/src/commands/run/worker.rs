//! One worker of a run that has several: what the supervisor starts with `ralph --worker run …`. It reads its seat and orders
//! from standard input and prints its events, one line each.

use std::io::{BufRead, BufReader, Read, Stdin, Write};
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::{env, io};

use ralph_core::agent::{Interrupt, Signal, adopt_orphans};
use ralph_core::clock::{Clock, SystemClock};
use ralph_core::engine::{
    DRAIN, Drain, Engine, INTERRUPT, NewTree, NoAttendant, Role, Seat, Summary, WorkerEnd, WorkerMessage,
    lease_tree,
};
use ralph_core::event::RunEvent;
use ralph_core::exit::RunExit;
use ralph_core::git::{Git, GitLimits};
use ralph_core::host::{Host, ThisHost};
use ralph_core::store::WorkerRow;

use super::settings::{recorded, recovery_of, run_settings};
use super::{Args, Crew, apply_flags, guard_command, refuse_inside_an_attempt, sandbox, scope, trees_dir};
use crate::command_error::{CommandError, CommandResult};
use crate::interrupts;
use crate::settings::Settings;
use crate::workspace::{Workspace, random};

/// A seat is no longer than this: it holds the settings file.
const MOST_SEAT: u64 = 16 * 1024 * 1024;

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    refuse_inside_an_attempt("ralph --worker")?;
    let mut orders = BufReader::new(io::stdin());
    let seat = read_seat(&mut orders)?;
    let interrupt = interrupts::listen()?;
    let drain = Drain::default();
    listen(orders, interrupt.clone(), drain.clone())?;
    let ended = work(dir, args, seat, drain, interrupt);
    let end = match &ended {
        Ok(summary) => WorkerEnd::new(summary.exit, summary.reason.clone(), summary.hint.clone()),
        Err(error) => WorkerEnd::new(RunExit::Error, error.message().to_owned(), error.first_hint()),
    };
    print(&WorkerMessage::Ended(end));
    Ok(ExitCode::SUCCESS)
}

fn read_seat(orders: &mut impl BufRead) -> Result<Seat, CommandError> {
    let mut line = Vec::new();
    let read = orders.take(MOST_SEAT).read_until(b'\n', &mut line);
    let seat = read.ok().and_then(|_| serde_json::from_slice(&line).ok());
    seat.ok_or_else(|| CommandError::usage("--worker is for Ralph itself").hint("use `ralph run --jobs N`"))
}

/// Obeys the supervisor. Without one there is no run: that is an order to end, too.
fn listen(mut orders: BufReader<Stdin>, interrupt: Interrupt, drain: Drain) -> Result<(), CommandError> {
    let obey = move || {
        let mut order = [0];
        while let Ok(1) = orders.read(&mut order) {
            match order {
                [DRAIN] => drain.ask(),
                [INTERRUPT] => interrupts::raise(&interrupt, Signal::Interrupt),
                _ => interrupts::raise(&interrupt, Signal::Terminate),
            }
        }
        if interrupt.first().is_none() {
            interrupt.raise(Signal::Terminate);
        }
    };
    let started = thread::Builder::new().name("orders".to_owned()).spawn(obey);
    started
        .map(drop)
        .map_err(|error| CommandError::environment(format_args!("cannot start a thread: {error}")))
}

fn print(message: &WorkerMessage) {
    let Ok(mut line) = serde_json::to_string(message) else { return };
    line.push('\n');
    // A supervisor that is gone is heard of elsewhere.
    let mut out = io::stdout().lock();
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

fn work(
    dir: Option<&Path>,
    args: &Args,
    seat: Seat,
    drain: Drain,
    interrupt: Interrupt,
) -> Result<Summary, CommandError> {
    let mut workspace = Workspace::open(dir)?;
    let project = workspace.project.clone();
    let mut settings = Settings::parse(&project.config(), &seat.config, env::vars_os())?;
    workspace.apply_specs(&mut settings)?;
    apply_flags(&mut settings, args);
    let crew = Crew::of(&settings)?;
    let scope = scope::scope(&workspace, args)?;
    let mut run_settings = run_settings(&settings, scope, args);
    // Whatever the reason why the run has workers.
    run_settings.isolate = true;
    (run_settings.recovery, run_settings.recovery_by_spec) = recovery_of(&settings, &workspace)?;
    run_settings.worktrees.dir = trees_dir(run_settings.worktrees.dir.to_str(), project.root())?;
    let limits = GitLimits { interrupt: interrupt.clone(), ..GitLimits::default() };
    let git =
        Git::open(project.root(), limits).map_err(|error| CommandError::environment(error.to_string()))?;
    let git = git.ok_or_else(|| CommandError::environment("the project's git repository is gone"))?;
    let (host, now) = (ThisHost::new(), SystemClock.now());
    let lease = lease_tree(NewTree {
        store: &mut workspace.store,
        host: &host,
        git: &git,
        settings: &run_settings.worktrees,
        worker: WorkerRow {
            run_id: seat.run_id.clone(),
            worker: seat.worker.clone(),
            owner: host.owner(),
            expires_at: now.plus(run_settings.lease),
            work_tree: String::new(),
        },
        now,
    })?;
    let mut observer = |event: &RunEvent| print(&WorkerMessage::Event(Box::new(event.clone())));
    adopt_orphans();
    let name = seat.worker.clone();
    let sandbox = sandbox(&run_settings.sandbox, project.root());
    let mut engine = Engine {
        role: Role::Worker(seat, drain),
        work_tree: &lease.dir,
        project: &project,
        store: &mut workspace.store,
        agent: crew.agent(),
        fallback: &crew.fallback(),
        reviewer: crew.reviewer(),
        known: &crew.known(),
        settings: &run_settings,
        settings_json: recorded(&settings),
        clock: &SystemClock,
        random: &mut random,
        host: &host,
        observer: &mut observer,
        attendant: &mut NoAttendant,
        interrupt,
        sandbox: &sandbox,
        guard_command: guard_command(run_settings.grace),
        worker: &name,
        output: None,
    };
    Ok(engine.run()?)
}
