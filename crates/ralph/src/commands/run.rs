//! `ralph run`.

use std::collections::HashSet;
use std::env;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use ralph_core::agent::{Agent, adopt_orphans};
use ralph_core::clock::SystemClock;
use ralph_core::context::Limits;
use ralph_core::decide::{Policy, unmet_outside};
use ralph_core::engine::{Engine, GateSettings, RunSettings, Summary};
use ralph_core::event::Observer;
use ralph_core::exit::RunExit;
use ralph_core::host::ThisHost;
use ralph_core::model::{Status, Strategy, TaskId};
use ralph_core::store::{HistoryStore, Mark, PlanStore, Scope};
use serde_json::json;

use crate::command_error::{CommandError, CommandResult};
use crate::settings::{Settings, Value, build_agent, duration};
use crate::ui;
use crate::workspace::{Workspace, now, random};
use crate::{interrupts, output};

/// Run agents over the plan, one fresh session per attempt, until every task is done.
///
/// Without names the whole plan is in scope, else the named tasks and their children. A task is done only when
/// the agent says so and its gate passes. Ctrl-C once ends the attempt in order, twice at once.
///
/// Exit codes: 0 all done, 1 error, 2 wrong usage, 3 no plan, 4 a limit was reached, 5 what is left waits for a
/// human or a failed task, 6 circuit breaker open, 7 aborted, 130 INT, 143 TERM.
#[derive(Debug, Default, clap::Args)]
pub struct Args {
    /// Ids or keys; naming a blocked task is the go-ahead to try it again.
    tasks: Vec<String>,
    /// Also run what the named tasks depend on.
    #[arg(long, requires = "tasks")]
    with_deps: bool,
    /// The agent to use.
    #[arg(long)]
    agent: Option<String>,
    /// The model to use, whatever strategy and tasks say.
    #[arg(long)]
    model: Option<String>,
    /// How models are chosen: fixed, escalate, cost-optimized, plan-then-execute.
    #[arg(long)]
    strategy: Option<Strategy>,
    /// Make exactly this many attempts, if there is work for them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Make one attempt: --limit 1.
    #[arg(long, conflicts_with = "limit")]
    once: bool,
    /// Start no attempt after so many minutes.
    #[arg(long, value_name = "N", value_parser = positive)]
    max_minutes: Option<f64>,
    /// Failures in a row after which a task waits for a human.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_attempts: Option<u32>,
    /// How long one attempt may take: seconds, or 30m, 1h.
    #[arg(long, value_name = "TIME", value_parser = time)]
    attempt_timeout: Option<Duration>,
    /// How long the agent may be silent; 0 for ever.
    #[arg(long, value_name = "TIME", value_parser = time)]
    idle_timeout: Option<Duration>,
    /// Run no gates: the agent's word is enough.
    #[arg(long)]
    no_gate: bool,
    /// Show what would be attempted next, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Show nothing but errors.
    #[arg(short, long)]
    quiet: bool,
    /// Print events as JSON lines.
    #[arg(long)]
    json: bool,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(n) if n.is_finite() && n > 0.0 => Ok(n),
        _ => Err("expected a number above 0".into()),
    }
}

fn time(text: &str) -> Result<Duration, String> {
    duration::parse(text).ok_or_else(|| "expected seconds, or a time such as 30m or 1h30m".into())
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    refuse_inside_an_attempt()?;
    let mut workspace = Workspace::open(dir)?;
    let mut settings = workspace.settings()?;
    apply_flags(&mut settings, args);
    let agent = build_agent(
        settings.text("run", "agent").unwrap_or("claude"),
        &settings.agents,
    )?;
    for name in settings.without_effect() {
        output::note(format_args!(
            "warning: {name} has no effect in this version"
        ));
    }
    let scope = scope(&mut workspace, args)?;
    if let Some(code) = unmet(&workspace, &scope)? {
        return Ok(code);
    }
    let run_settings = run_settings(&settings, scope, args)?;
    if args.dry_run {
        return dry_run(&workspace, &run_settings, agent.as_ref(), args.json);
    }
    let mut display = ui::display(args.json, args.quiet);
    let summary = execute(
        &mut workspace,
        agent.as_ref(),
        &run_settings,
        &settings,
        display.as_mut(),
    )?;
    drop(display);
    Ok(conclude(&workspace, &summary, args))
}

/// Runs the engine in this process.
pub fn execute(
    workspace: &mut Workspace,
    agent: &dyn Agent,
    run_settings: &RunSettings,
    settings: &Settings,
    observer: &mut dyn Observer,
) -> Result<Summary, CommandError> {
    let interrupt = interrupts::listen()?;
    adopt_orphans();
    let project = workspace.project.clone();
    let mut engine = Engine {
        work_tree: project.root(),
        project: &project,
        store: &mut workspace.store,
        agent,
        settings: run_settings,
        settings_json: recorded(settings),
        clock: &SystemClock,
        random: &mut random,
        host: &ThisHost::new(),
        observer,
        interrupt,
        guard_command: guard_command(),
    };
    Ok(engine.run()?)
}

/// This very program, asked to stand guard.
fn guard_command() -> Vec<String> {
    let program = env::current_exe()
        .ok()
        .and_then(|path| path.to_str().map(str::to_owned));
    program
        .map(|program| vec![program, "guard".to_owned()])
        .unwrap_or_default()
}

/// The settings as the run's record keeps them.
fn recorded(settings: &Settings) -> String {
    let values: serde_json::Map<String, serde_json::Value> = settings
        .all()
        .filter_map(|(key, setting)| {
            Some((
                format!("{}.{}", key.section, key.name),
                json!(setting.value.as_ref()?.to_string()),
            ))
        })
        .collect();
    serde_json::Value::Object(values).to_string()
}

fn refuse_inside_an_attempt() -> Result<(), CommandError> {
    match env::var("RALPH_RUN_ID") {
        Ok(run) if !run.is_empty() => Err(CommandError::usage(format_args!(
            "`ralph run` inside an attempt of run {run} is refused: it would run itself without end"
        ))
        .hint("signal the end of your own task instead; unset RALPH_RUN_ID if this is no attempt")),
        _ => Ok(()),
    }
}

fn apply_flags(settings: &mut Settings, args: &Args) {
    let text = |text: &Option<String>| text.clone().map(Value::Text);
    let count = |n: Option<u32>| n.map(|n| Value::Count(u64::from(n)));
    settings.set_flag("run", "agent", text(&args.agent));
    settings.set_flag(
        "run",
        "strategy",
        args.strategy.map(|s| Value::Text(s.to_string())),
    );
    settings.set_flag(
        "run",
        "limit",
        count(if args.once { Some(1) } else { args.limit }),
    );
    settings.set_flag("run", "max_minutes", args.max_minutes.map(Value::Number));
    settings.set_flag("run", "max_attempts", count(args.max_attempts));
    settings.set_flag(
        "run",
        "attempt_timeout",
        args.attempt_timeout.map(Value::Duration),
    );
    settings.set_flag(
        "run",
        "idle_timeout",
        args.idle_timeout.map(Value::Duration),
    );
}

/// Named tasks, their dependencies if asked for; blocked ones among the named get another chance.
fn scope(workspace: &mut Workspace, args: &Args) -> Result<Scope, CommandError> {
    if args.tasks.is_empty() {
        return Ok(Scope::All);
    }
    let named = args
        .tasks
        .iter()
        .map(|name| workspace.task(name))
        .collect::<Result<Vec<_>, _>>()?;
    let mut ids: Vec<TaskId> = named.iter().map(|task| task.id.clone()).collect();
    if args.with_deps {
        ids = with_dependencies(workspace, ids)?;
    }
    if !args.dry_run {
        for task in named.iter().filter(|task| task.status == Status::Blocked) {
            workspace.store.mark(&task.id, &Mark::Pending, now())?;
        }
    }
    Ok(Scope::Below(ids))
}

/// Adds everything that tasks in scope wait for, near and far.
fn with_dependencies(workspace: &Workspace, ids: Vec<TaskId>) -> Result<Vec<TaskId>, CommandError> {
    let plan = workspace.store.skeleton()?;
    let mut all = ids;
    let mut seen: HashSet<TaskId> = all.iter().cloned().collect();
    loop {
        let missing: Vec<TaskId> = unmet_outside(&plan, &Scope::Below(all.clone()))
            .into_iter()
            .filter(|id| seen.insert(id.clone()))
            .collect();
        if missing.is_empty() {
            return Ok(all);
        }
        all.extend(missing);
    }
}

/// Dependencies outside the scope that are not finished: nothing that needs them can be run.
fn unmet(workspace: &Workspace, scope: &Scope) -> Result<Option<ExitCode>, CommandError> {
    if *scope == Scope::All {
        return Ok(None);
    }
    let missing = unmet_outside(&workspace.store.skeleton()?, scope);
    if missing.is_empty() {
        return Ok(None);
    }
    let names = missing
        .iter()
        .map(|id| {
            workspace
                .task(id.as_str())
                .map(|task| format!("{} ({})", task.name(), task.status))
        })
        .collect::<Result<Vec<_>, _>>()?;
    output::note(format_args!(
        "unfinished dependencies outside the named tasks: {}",
        names.join(", ")
    ));
    output::note("hint: add --with-deps to run them too");
    Ok(Some(ExitCode::from(RunExit::NothingToRun.code())))
}

/// The engine's settings from the user's.
pub fn run_settings(
    settings: &Settings,
    scope: Scope,
    args: &Args,
) -> Result<RunSettings, CommandError> {
    let defaults = RunSettings::default();
    let memory = Limits {
        budget_chars: settings.count("memory", "budget_chars").unwrap_or(5000) as usize,
        max_learnings: settings.count("memory", "max_learnings").unwrap_or(5) as usize,
        ..Limits::default()
    };
    let (gate_timeout, grace) = gate_limits(settings);
    Ok(RunSettings {
        scope,
        limit: settings.count("run", "limit"),
        max_duration: settings
            .number("run", "max_minutes")
            .and_then(|minutes| Duration::try_from_secs_f64(minutes * 60.0).ok()),
        max_cost_usd: settings.number("run", "max_cost_usd"),
        policy: policy(settings),
        strategy: settings
            .text("run", "strategy")
            .unwrap_or("cost-optimized")
            .parse()?,
        forced_model: args.model.clone(),
        model: settings.text("run", "model").map(str::to_owned),
        attempt_timeout: settings
            .duration("run", "attempt_timeout")
            .unwrap_or(defaults.attempt_timeout),
        idle_timeout: settings
            .duration("run", "idle_timeout")
            .filter(|idle| !idle.is_zero()),
        grace,
        gate: GateSettings {
            enabled: !args.no_gate,
            verify: settings.text("gate", "verify").map(str::to_owned),
            timeout: gate_timeout,
            retries: settings.count("gate", "retries").unwrap_or(0),
            precheck: settings.flag("gate", "precheck"),
        },
        service_retries: settings.count("run", "service_retries").unwrap_or(4),
        backoff: settings
            .duration("run", "backoff")
            .unwrap_or(defaults.backoff),
        backoff_cap: settings
            .duration("run", "backoff_cap")
            .unwrap_or(defaults.backoff_cap),
        memory,
        lease: defaults.lease,
    })
}

/// How long a gate may take, and how long processes have after TERM.
pub fn gate_limits(settings: &Settings) -> (Duration, Duration) {
    let defaults = RunSettings::default();
    (
        settings
            .duration("gate", "timeout")
            .unwrap_or(defaults.gate.timeout),
        settings.duration("run", "grace").unwrap_or(defaults.grace),
    )
}

/// Thresholds of the escalation.
pub fn policy(settings: &Settings) -> Policy {
    let defaults = Policy::default();
    Policy {
        max_attempts: settings
            .count("run", "max_attempts")
            .unwrap_or(defaults.max_attempts),
        ..defaults
    }
}

/// What would be attempted, in order; nothing is changed.
fn dry_run(
    workspace: &Workspace,
    settings: &RunSettings,
    agent: &dyn Agent,
    json: bool,
) -> CommandResult {
    use ralph_core::engine::{Prompter, Templates};
    if workspace.store.counts()?.total == 0 {
        return Err(
            CommandError::no_plan("there is no plan").hint("`ralph task add TITLE` adds a task")
        );
    }
    let most = settings.limit.unwrap_or(20) as usize;
    let prompter = Prompter {
        templates: &Templates::load(&workspace.project)?,
        project: &workspace.project,
        store: &workspace.store,
        agent,
        settings,
    };
    let mut rows = Vec::new();
    for id in workspace.store.ready(&settings.scope, most)? {
        let task = workspace.task(id.as_str())?;
        let metrics = workspace.store.metrics(&id)?;
        let choice = prompter
            .prompt(&task, &metrics, 1, Default::default())?
            .choice;
        if !json {
            output::line(format_args!(
                "{} {}  attempt {}, {} ({})",
                task.name(),
                task.title,
                metrics.total_attempts + 1,
                choice.model,
                choice.rationale
            ));
        }
        rows.push(json!({
            "task_id": task.id, "key": task.key, "title": task.title,
            "attempt": metrics.total_attempts + 1, "agent": agent.name(),
            "model": choice.model, "rationale": choice.rationale,
        }));
    }
    if json {
        output::json(&rows);
    } else if rows.is_empty() {
        output::line("nothing can be run now; `ralph status` says who waits for whom");
    }
    Ok(ExitCode::SUCCESS)
}

/// Says how it ended, where the display has not, and gives the exit code.
fn conclude(workspace: &Workspace, summary: &Summary, args: &Args) -> ExitCode {
    if !args.json && !args.quiet && summary.run_id.is_some() {
        output::text(ui::summary::render(workspace, summary));
    }
    let is_error = matches!(
        summary.exit,
        RunExit::Error | RunExit::NoPlan | RunExit::Aborted
    );
    if is_error || (args.quiet && summary.exit != RunExit::Finished) {
        output::note(format_args!("ralph: {}", summary.reason));
        if let Some(hint) = &summary.hint {
            output::note(format_args!(" hint: {hint}"));
        }
    }
    ExitCode::from(summary.exit.code())
}
