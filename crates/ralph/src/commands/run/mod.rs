//! `ralph run`.

mod agents;
mod detach;
mod sandbox;
mod scope;
mod settings;
mod worker;

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

pub use agents::{
    ChosenModels, Crew, launch, prompter, rest_of_budgets, rest_of_day, shown_launch, unlimited,
};
use ralph_core::agent::{Agent, adopt_orphans};
use ralph_core::clock::SystemClock;
use ralph_core::engine::{Attendant, Engine, Jobs, NoAttendant, Role, RunSettings, Summary};
use ralph_core::event::Observer;
use ralph_core::exit::RunExit;
use ralph_core::git::Git;
use ralph_core::host::ThisHost;
use ralph_core::model::{Strategy, UnknownName};
use ralph_core::sandbox::{Mode, Sandbox};
use ralph_core::text::few;
pub use sandbox::{GateBox, isolates, refuse_unconfined, sandbox, sandbox_settings};
pub use settings::{
    agents_md, apply_flags, gate_limits, log_limits, policy, recovery_of, run_settings, trees_dir,
};
pub use worker::run as run_worker;

use crate::command_error::{self, CommandError, CommandResult};
use crate::notify::Notifications;
use crate::settings::{Settings, nearest, parse_duration};
use crate::ui;
use crate::ui::attendant::AtTerminal;
use crate::ui::format::counted;
use crate::workspace::{Workspace, random};
use crate::{interrupts, output, tui};

const NAMED: usize = 20;
/// Workers of one run.
const MOST_JOBS: u32 = 64;
/// The worker of events that the supervisor of several workers tells.
const SUPERVISOR: &str = "supervisor";

/// Run agents over the plan, one fresh session per attempt, until every task is done.
///
/// Runs the whole plan, or only the named tasks and their subtasks. A task is done only when the agent says so and its
/// gate passes. Press Ctrl-C once to stop gracefully, twice to kill.
///
/// Exit codes: 0 every task done or skipped, 1 error, 2 wrong usage, 3 no plan, 4 limit reached, 5 the remaining tasks are blocked or
/// depend on a failed task, 6 circuit breaker open, 7 aborted, 130 interrupted (Ctrl-C), 143 terminated (SIGTERM).
#[derive(Debug, Default, clap::Args)]
pub struct Args {
    /// Ids or keys of tasks; a blocked task that you name is retried.
    tasks: Vec<String>,
    /// Also run the tasks that the named tasks depend on.
    #[arg(long, requires = "tasks")]
    with_deps: bool,
    /// Agent to use.
    #[arg(long)]
    agent: Option<String>,
    /// Fallback agents, in order, used when the main agent has hit its usage limit or is unavailable.
    #[arg(long, value_name = "AGENT", value_delimiter = ',')]
    fallback: Vec<String>,
    /// Model to use; overrides the strategy and the tasks.
    #[arg(long)]
    model: Option<String>,
    /// How to choose models: fixed, escalate, cost-optimized, plan-then-execute, adaptive.
    #[arg(long, value_parser = strategy)]
    strategy: Option<Strategy>,
    /// Value of a done task in dollars; `adaptive` blocks a task rather than spend more on it.
    #[arg(long, value_name = "USD", value_parser = positive, allow_negative_numbers = true)]
    value_usd: Option<f64>,
    /// Work on this many tasks at once, each in a working tree of its own.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_JOBS)))]
    jobs: Option<u32>,
    /// Stop after this many attempts.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Make one attempt; the same as --limit 1.
    #[arg(long, conflicts_with = "limit")]
    once: bool,
    /// Maximum cost of the run in dollars.
    #[arg(long, value_name = "USD", value_parser = positive, allow_negative_numbers = true)]
    max_cost: Option<f64>,
    /// Maximum cost of one task over all runs; a task that reaches it is blocked.
    #[arg(long, value_name = "USD", value_parser = positive, allow_negative_numbers = true)]
    max_task_cost: Option<f64>,
    /// Maximum cost of all runs on one day (UTC).
    #[arg(long, value_name = "USD", value_parser = positive, allow_negative_numbers = true)]
    max_daily_cost: Option<f64>,
    /// Maximum duration of the run in minutes; no attempt starts after that.
    #[arg(long, value_name = "N", value_parser = positive)]
    max_minutes: Option<f64>,
    /// Maximum minutes of agent time for one task over all runs; a task that reaches it is blocked.
    #[arg(long, value_name = "N", value_parser = positive)]
    max_task_minutes: Option<f64>,
    /// Maximum wait for a usage limit to reset: seconds, or a time such as 30m or 12h.
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "no_wait")]
    max_wait: Option<Duration>,
    /// Exit with code 4 instead of waiting for a usage limit to reset.
    #[arg(long)]
    no_wait: bool,
    /// Consecutive failures after which a task is blocked.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_attempts: Option<u32>,
    /// Maximum duration of one attempt: seconds, or a time such as 30m or 1h.
    #[arg(long, value_name = "TIME", value_parser = time)]
    attempt_timeout: Option<Duration>,
    /// Maximum time without output from the agent; 0 means no limit.
    #[arg(long, value_name = "TIME", value_parser = time)]
    idle_timeout: Option<Duration>,
    /// Create a fix task for every failed task and run it before the retry.
    #[arg(long, visible_alias = "recovery-mode", conflicts_with = "no_recovery")]
    recovery: bool,
    /// Create no fix tasks; overrides the settings.
    #[arg(long)]
    no_recovery: bool,
    /// Run no gates; tasks are done when the agent says so.
    #[arg(long)]
    no_gate: bool,
    /// Refuse to start if a task has no gate.
    #[arg(long, conflicts_with = "no_gate")]
    require_gates: bool,
    /// Whether agents and gates are confined: auto, required or off.
    #[arg(long, value_name = "MODE", value_parser = mode)]
    sandbox: Option<Mode>,
    /// Run in the background; watch it with `ralph status --watch` or `ralph logs -f`, stop it with `ralph stop`.
    #[arg(long, conflicts_with = "dry_run")]
    detach: bool,
    /// Run in the background and open it in the terminal UI; quitting the UI leaves the run as it is.
    #[arg(long, conflicts_with_all = ["dry_run", "detach", "quiet", "json"])]
    ui: bool,
    /// Show the next attempts without running them.
    #[arg(long)]
    dry_run: bool,
    /// Never prompt, even in a terminal.
    #[arg(long)]
    no_input: bool,
    /// Print only errors; with --detach, only the run's id.
    #[arg(short, long)]
    quiet: bool,
    /// Print events as JSON lines.
    #[arg(long)]
    json: bool,
}

impl Args {
    /// A run with nothing but another agent.
    pub fn of_agent(agent: Option<String>) -> Self {
        Self { agent, ..Self::default() }
    }
}

fn strategy(text: &str) -> Result<Strategy, String> {
    text.parse().map_err(|error: UnknownName| {
        let names = Strategy::ALL.map(Strategy::as_str);
        match nearest(text, names) {
            Some(nearest) => format!("{error}; did you mean `{nearest}`?"),
            None => error.to_string(),
        }
    })
}

fn mode(text: &str) -> Result<Mode, String> {
    Mode::parse(text).ok_or_else(|| format!("expected {}", Mode::ALL.map(Mode::as_str).join(", ")))
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(n) if n.is_finite() && n > 0.0 => Ok(n),
        _ => Err("expected a number greater than 0".into()),
    }
}

fn time(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| "expected seconds, or a time such as 30m or 1h30m".into())
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    refuse_inside_an_attempt("ralph run")?;
    if args.ui {
        tui::check_terminal()?;
    }
    let mut workspace = if args.dry_run { Workspace::open_to_read(dir)? } else { Workspace::open(dir)? };
    if let Some(error) = workspace.replaced_plan() {
        return Err(error);
    }
    let mut settings = workspace.settings()?;
    // Flags hold for this run only: what changed is told all the same.
    let mut notices = crate::settings::notices(&settings, workspace.store.defaults_revision()?);
    notices.extend(settings.old_names().into_iter().map(|(what, fix)| format!("{what}: {fix}")));
    apply_flags(&mut settings, args);
    let crew = Crew::of(&settings)?;
    if let Some(model) = args.model.as_deref().or(settings.run.model.as_deref()) {
        unlisted_model(crew.agent(), model).into_iter().for_each(output::note);
    }
    let scope = scope::scope(&workspace, args)?;
    let chosen =
        ChosenModels { forced: args.model.as_deref(), of_tasks: &workspace.store.task_models(&scope)? };
    for agent in unlimited(&settings, crew.team(), chosen) {
        if agent.stops {
            return Err(agent.fixes.iter().fold(CommandError::usage(agent.message), CommandError::hint));
        }
        output::note(format_args!("warning: {}; {}", agent.message, agent.fixes.join("; ")));
    }
    if let Some(code) = scope::unmet(&workspace, &scope)? {
        return Ok(code);
    }
    let mut run_settings = run_settings(&settings, scope, args);
    (run_settings.recovery, run_settings.recovery_by_spec) = settings::recovery_of(&settings, &workspace)?;
    refuse_ungated(&workspace, &settings, &run_settings)?;
    let sandbox = sandbox(&run_settings.sandbox, workspace.project.root());
    notices.extend(isolate_if_weak(&workspace, &sandbox, &mut run_settings));
    refuse_unconfined(&sandbox, run_settings.is_isolated())?;
    let role = role_of(&workspace, &mut run_settings)?;
    run_settings.notices = notices;
    if args.dry_run {
        return scope::dry_run(&workspace, &run_settings, crew.agent(), args);
    }
    if args.ui {
        if let Err(code) = detach::start(&workspace, &settings)? {
            return Ok(code);
        }
        return tui::open(workspace, settings, None);
    }
    if args.detach {
        return detach::detach(&workspace, &settings, args);
    }
    let output = detach::output();
    scope::give_go_ahead(&mut workspace, args)?;
    let (display, is_live) = (ui::display(args.json, args.quiet), ui::is_live(args.json, args.quiet));
    let mut observer = Notifications::new(&settings, &workspace.project, display, is_live);
    let invocation = Invocation { attended: !args.no_input && !args.json && !args.quiet, output, role };
    let ended =
        execute(&mut workspace, &crew, &run_settings, &settings, &sandbox, &mut observer, &invocation);
    observer.close_display();
    let result = ended.map(|summary| conclude(&workspace, &summary, args));
    if let Err(error) = &result {
        observer.run_failed(error.message());
    }
    match observer.report() {
        Some(Ok(file)) if !args.json && !args.quiet => {
            output::line(format_args!("report: {}", file.path.display()))
        }
        Some(Err(why)) => output::note(format_args!("warning: cannot write the report: {why}")),
        Some(Ok(_)) | None => {}
    }
    observer.finish();
    result
}

/// Where the sandbox cannot protect what is in the work tree, attempts work in a tree of their own, if that can be had.
fn isolate_if_weak(workspace: &Workspace, sandbox: &Sandbox, run: &mut RunSettings) -> Option<String> {
    if run.is_isolated() || !isolates(sandbox, run.git.commit, workspace.project.root()) {
        return None;
    }
    run.isolate = true;
    Some(
        "without bubblewrap the sandbox protects Ralph's and git's own files only where attempts work in a tree of \
         their own, so they do in this run (as with [run] isolate = true)"
            .to_owned(),
    )
}

/// Whether this process makes the attempts itself or starts workers, which needs git.
fn role_of(workspace: &Workspace, run: &mut RunSettings) -> Result<Role, CommandError> {
    if !run.is_isolated() {
        return Ok(Role::Alone);
    }
    let root = workspace.project.root();
    if Git::discover(root).is_none() {
        let what = match &run.git.remote {
            Some(_) => "[git] remote",
            None if run.jobs > 1 => "several workers",
            None => "[run] isolate = true",
        };
        return Err(CommandError::usage(format_args!(
            "{what} need a git repository: each task gets a working tree of its own"
        ))
        .hint("run `git init` and commit the project, or use `ralph run -j 1`"));
    }
    if run.jobs > MOST_JOBS {
        let message = format!("[run] jobs is {}, but a run may have {MOST_JOBS} workers at most", run.jobs);
        return Err(CommandError::usage(message).hint("ralph config set run.jobs 4"));
    }
    run.worktrees.dir = trees_dir(run.worktrees.dir.to_str(), root)?;
    let program = env::current_exe().map_err(|error| {
        CommandError::environment(format_args!("cannot find the program of the workers: {error}"))
    })?;
    let mut command: Vec<OsString> = vec![program.into(), "--worker".into()];
    command.extend(env::args_os().skip(1));
    let config = Settings::read(&workspace.project.config())?;
    Ok(Role::Supervisor(Jobs { count: run.jobs, command, config }))
}

/// Where gates are required, refuses tasks that have none.
fn refuse_ungated(workspace: &Workspace, settings: &Settings, run: &RunSettings) -> Result<(), CommandError> {
    if !*settings.gate.require {
        return Ok(());
    }
    if !run.gate.enabled {
        return Err(CommandError::usage("--no-gate conflicts with [gate] require = true")
            .hint("remove one of the two"));
    }
    let ungated = run.gate.ungated(&workspace.store, &run.scope)?;
    let Some(first) = ungated.first() else { return Ok(()) };
    let names: Vec<String> = ungated.iter().map(|task| task.name().to_owned()).collect();
    let (n, have) = (ungated.len() as u64, if ungated.len() == 1 { "has" } else { "have" });
    Err(CommandError::usage(format_args!(
        "gates are required, but {} {have} none: {}",
        counted(n, "task"),
        few(&names, NAMED)
    ))
    .hint(format_args!(
        "add one: ralph task edit {} --verify CMD; or set a default: ralph config set gate.default CMD",
        first.name()
    )))
}

/// A warning about a model that is not in the agent's list: it may be a typo.
pub fn unlisted_model(agent: &Agent, model: &str) -> Option<String> {
    let ladder = agent.ladder();
    let is_known = ladder.is_empty() || ladder.iter().any(|rung| rung == model);
    let (name, rungs) = (agent.name(), ladder.join(", "));
    (!is_known)
        .then(|| format!("warning: `{model}` is not in the model list of {name} ({rungs}); using it anyway"))
}

/// How a run was started.
#[derive(Debug)]
pub struct Invocation {
    /// Whether a person may be asked, if there is a terminal.
    pub attended: bool,
    /// Where it prints, where nobody looks on.
    pub output: Option<String>,
    pub role: Role,
}

impl Default for Invocation {
    fn default() -> Self {
        Self { attended: false, output: None, role: Role::Alone }
    }
}

/// Runs the engine in this process.
pub fn execute(
    workspace: &mut Workspace,
    crew: &Crew,
    run_settings: &RunSettings,
    settings: &Settings,
    sandbox: &Sandbox,
    observer: &mut dyn Observer,
    invocation: &Invocation,
) -> Result<Summary, CommandError> {
    let interrupt = interrupts::listen()?;
    adopt_orphans();
    let mut nobody = NoAttendant;
    let mut somebody = invocation.attended.then(|| AtTerminal::find(&interrupt)).flatten();
    let attendant: &mut dyn Attendant = match &mut somebody {
        Some(somebody) => somebody,
        None => &mut nobody,
    };
    let project = workspace.project.clone();
    let worker = match invocation.role {
        Role::Supervisor(_) => SUPERVISOR,
        Role::Alone | Role::Worker(..) => ralph_core::event::WORKER,
    };
    let mut engine = Engine {
        role: invocation.role.clone(),
        work_tree: project.root(),
        project: &project,
        store: &mut workspace.store,
        agent: crew.agent(),
        fallback: &crew.fallback(),
        reviewer: crew.reviewer(),
        known: &crew.known(),
        settings: run_settings,
        settings_json: settings::recorded(settings),
        clock: &SystemClock,
        random: &mut random,
        host: &ThisHost::new(),
        observer,
        attendant,
        interrupt,
        sandbox,
        guard_command: guard_command(run_settings.grace),
        worker,
        output: invocation.output.clone(),
    };
    Ok(engine.run()?)
}

/// This very program, asked to stand guard.
pub fn guard_command(grace: Duration) -> Vec<OsString> {
    let grace = grace.as_millis().to_string();
    env::current_exe().map(|program| vec![program.into(), "guard".into(), grace.into()]).unwrap_or_default()
}

/// Refuses what would start agents inside an agent.
pub fn refuse_inside_an_attempt(command: &str) -> Result<(), CommandError> {
    let Some(run) = env::var("RALPH_RUN_ID").ok().filter(|run| !run.is_empty()) else { return Ok(()) };
    let (place, instead) = match env::var_os("RALPH_HOOK") {
        Some(_) => ("a hook", "start it after that run has ended"),
        None => ("an attempt", "report the result of your own task instead"),
    };
    Err(CommandError::usage(format_args!(
        "cannot start `{command}` inside {place} of run {run}: it would recurse"
    ))
    .hint(format_args!("{instead}; unset RALPH_RUN_ID if this is not inside {place}")))
}

/// Says how it ended, where the display has not, and gives the exit code.
fn conclude(workspace: &Workspace, summary: &Summary, args: &Args) -> ExitCode {
    let is_error = ui::report::is_error(summary);
    if !args.json && !args.quiet && summary.run_id.is_some() {
        output::text(ui::report::summary(workspace, summary));
    }
    let unseen = (args.json || args.quiet) && summary.exit == RunExit::BreakerOpen;
    if unseen && let Ok(found) = super::breaker::latest_failures(workspace) {
        output::note(found.lines().join("\n"));
    }
    if is_error || unseen || (args.quiet && summary.exit != RunExit::Finished) {
        command_error::print(&summary.reason, summary.hint.as_slice());
    }
    ExitCode::from(summary.exit.code())
}
