//! `ralph task …`: the plan.

pub mod edit;
mod tree;

use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use ralph_core::agent::adopt_orphans;
use ralph_core::decide::{compared, of_gates};
use ralph_core::engine::TaskGate;
use ralph_core::exit::RunExit;
use ralph_core::gate::{self, Gate, GateResult};
use ralph_core::model::{
    Attempt, GateOf, GateOutcome, GateRecord, Outcome, Phase, Status, Task, TaskId, Verification,
};
use ralph_core::store::{Children, Mark, Scope};
use ralph_core::text::{clean, code_line, mask_secrets, one_line};
use serde_json::json;

use super::run::{self, GateBox, run_settings};
use super::told;
use crate::actions::{self, Wait};
use crate::command_error::{CommandError, CommandResult};
use crate::facts::{Related, TaskFacts, masked};
use crate::ui::format;
use crate::ui::style::Standing;
use crate::ui::table::Table;
use crate::workspace::{Workspace, now};
use crate::{input, interrupts, output};

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Add(edit::AddArgs),
    List(ListArgs),
    /// Show one task with all its details and attempts.
    Show {
        /// The task's id or key.
        task: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    Edit(edit::EditArgs),
    /// Mark tasks as done; with --verify only if their gates pass.
    Done {
        #[command(flatten)]
        tasks: Tasks,
        /// Run the gate first and change nothing if it fails.
        #[arg(long)]
        verify: bool,
    },
    /// Mark tasks as failed; tasks that depend on them do not run.
    Fail(ReasonArgs),
    /// Make tasks pending again, and with them their finished parents.
    Reset(Tasks),
    /// Skip tasks and their subtasks; tasks that depend on them can run.
    Skip(ReasonArgs),
    /// Delete a task and its history; its learnings are kept.
    Delete {
        /// The task's id or key.
        task: String,
        /// Do not ask for confirmation.
        #[arg(short, long)]
        yes: bool,
        /// Delete the task's subtasks too.
        #[arg(long)]
        recursive: bool,
    },
    /// Show and change dependencies.
    #[command(subcommand)]
    Deps(Deps),
    /// Show the plan as a tree.
    Tree {
        /// Id or key of the task to start from.
        task: Option<String>,
        /// Print JSON, with each task's subtasks nested in it.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
pub struct Tasks {
    /// The tasks' ids or keys.
    #[arg(required = true)]
    tasks: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub struct ReasonArgs {
    #[command(flatten)]
    tasks: Tasks,
    /// The reason, shown by `status` and `task show`.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
pub enum Deps {
    /// Make TASK depend on DEPENDENCY.
    Add(Pair),
    /// Remove the dependency of TASK on DEPENDENCY.
    Rm(Pair),
    /// List the dependencies of one task or of all tasks.
    List {
        /// The task's id or key.
        task: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
pub struct Pair {
    /// Id or key of the task.
    task: String,
    /// Id or key of the task that must be done first.
    dependency: String,
}

pub fn run(dir: Option<&Path>, command: Command) -> CommandResult {
    match command {
        Command::Add(args) => edit::add(&mut Workspace::open_or_create(dir)?, args),
        Command::List(args) => list(&Workspace::open_to_read(dir)?, &args),
        Command::Show { task, json } => {
            let workspace = Workspace::open_to_read(dir)?;
            let facts = TaskFacts::read(&workspace, &workspace.settings()?, &task)?;
            if json {
                output::json(&facts)
            } else {
                show(&facts)
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Edit(args) => edit::edit(&mut Workspace::open(dir)?, args),
        Command::Done { tasks, verify: true } => {
            told(actions::mark(&mut Workspace::open(dir)?, &tasks.tasks, |workspace, task| {
                Ok(Mark::Verified(Box::new(run_gates(workspace, task)?)))
            }))
        }
        Command::Done { tasks, verify: false } => {
            told(actions::done(&mut Workspace::open(dir)?, &tasks.tasks))
        }
        Command::Fail(ReasonArgs { tasks, reason }) => {
            told(actions::fail(&mut Workspace::open(dir)?, &tasks.tasks, reason))
        }
        Command::Reset(tasks) => told(actions::reset(&mut Workspace::open(dir)?, &tasks.tasks)),
        Command::Skip(ReasonArgs { tasks, reason }) => {
            told(actions::skip(&mut Workspace::open(dir)?, &tasks.tasks, reason))
        }
        Command::Delete { task, yes, recursive } => delete(&mut Workspace::open(dir)?, &task, yes, recursive),
        Command::Deps(command) => deps(dir, &command),
        Command::Tree { task, json } => tree::run(dir, task.as_deref(), json),
    }
}

/// List tasks in plan order.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Only tasks with this status: pending, in_progress, done, failed, blocked, skipped.
    #[arg(long)]
    status: Option<Status>,
    /// Only tasks of this phase.
    #[arg(long, value_name = "N")]
    phase: Option<String>,
    /// Only tasks that are ready to run.
    #[arg(long)]
    ready: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn list(workspace: &Workspace, args: &ListArgs) -> CommandResult {
    let mut tasks = workspace.tasks(args.status)?;
    if let Some(phase) = &args.phase {
        let phase = Phase::parse(phase)?;
        tasks.retain(|task| task.phase == Some(phase));
    }
    if args.ready {
        let ready = workspace.store.ready(&Scope::All, usize::MAX)?;
        let ready: HashSet<TaskId> = ready.into_iter().collect();
        tasks.retain(|task| ready.contains(&task.id));
    }
    if args.json {
        tasks = tasks.into_iter().map(masked).collect();
    }
    let none = "no tasks match; add one with `ralph task add TITLE`";
    output::list(args.json, &tasks, none, || {
        let mut table = Table::new(["ID", "KEY", "STATUS", "ATTEMPTS", "TITLE"]);
        for task in &tasks {
            table.row([
                task.id.to_string(),
                shown_key(task),
                Standing::from(task).word(),
                task.attempts.to_string(),
                task.title.clone(),
            ]);
        }
        table.render()
    })
}

/// The key, with its spec where there are several.
fn shown_key(task: &Task) -> String {
    match &task.key {
        Some(key) if task.name == task.id.as_str() => key.to_string(),
        Some(_) => task.name.clone(),
        None => String::new(),
    }
}

fn show(facts: &TaskFacts) {
    let task = &facts.task;
    let relative =
        |other: &Related| format!("{} ({}, {})", other.task.name(), other.task.title, other.standing.plain());
    // An old file may name tasks that it does not hold.
    let depended: Vec<&TaskId> = facts.dependencies.iter().map(|other| &other.task.task_id).collect();
    let deleted = |id: &&TaskId| !depended.contains(id);
    let mut fields = vec![("id", task.id.to_string())];
    fields.extend(task.key.as_ref().map(|key| ("key", key.to_string())));
    fields.extend(task.spec.as_ref().map(|spec| ("spec", spec.clone())));
    fields.push(("title", task.title.clone()));
    fields.push(("status", facts.standing.word()));
    fields.extend(task.reason.as_ref().map(|reason| ("reason", reason.clone())));
    fields.extend(facts.next_command.as_ref().map(|command| ("next", command.clone())));
    fields.extend(task.phase.map(|phase| ("phase", phase.to_string())));
    fields.extend(match (&facts.parent, &task.parent_id) {
        (Some(parent), _) => Some(("parent", relative(parent))),
        (None, id) => id.as_ref().map(|id| ("parent", format!("{id} (deleted)"))),
    });
    fields.extend(facts.subtasks.iter().map(|child| ("subtask", relative(child))));
    fields.extend(facts.dependencies.iter().map(|other| ("after", relative(other))));
    fields.extend(task.depends_on.iter().filter(deleted).map(|id| ("after", format!("{id} (deleted)"))));
    fields.push(("priority", task.priority.to_string()));
    let verify = task.verify.as_deref();
    fields.push(("verify", verify.map_or("none".into(), |verify| code_line(verify, 500))));
    if !task.files.is_empty() {
        fields.push(("files", code_line(&task.files.join(", "), 500)));
    }
    for (label, patterns) in [("protect", &task.protect), ("may change", &task.may_change)] {
        if !patterns.is_empty() {
            fields.push((label, code_line(&patterns.join(", "), 500)));
        }
    }
    for (label, text, most) in [
        ("model", &task.model, 100),
        ("next model", &facts.next_model, 100),
        ("done when", &task.done_when, 500),
        ("commit", &task.commit, 200),
    ] {
        fields.extend(text.as_ref().map(|text| (label, one_line(text, most))));
    }
    let (attempts, failures) = (task.attempts, task.consecutive_failures);
    fields.push(("attempts", format!("{attempts} ({failures} failed in a row)")));
    let history: Vec<Attempt> = facts.history.iter().map(|attempt| attempt.record.clone()).collect();
    if let Some(verification) = &task.verification {
        let done = history.iter().rfind(|attempt| attempt.outcome == Outcome::Done);
        let commit = done.and_then(Attempt::commit);
        fields.extend(format::evidence(verification, commit).into_iter().map(|line| ("evidence", line)));
    }
    let notes = facts.notes.iter();
    fields.extend(
        notes.map(|note| ("note", format!("{} ({})", one_line(&note.text, 500), format::note_state(note)))),
    );
    for (label, value) in fields {
        output::field(label, value);
    }
    if !task.description.is_empty() {
        output::line(format_args!("\n{}", mask_secrets(&clean(&task.description))));
    }
    if !history.is_empty() {
        output::line("");
        output::text(format::history(&history, now()));
    }
}

/// Runs the gates of a task; an error where one does not pass.
fn run_gates(workspace: &Workspace, task: &Task) -> Result<Verification, CommandError> {
    let settings = workspace.settings()?;
    let gates = run_settings(&settings, Scope::All, &run::Args::default()).gate;
    let name = task.name();
    let due = gates.gates(task);
    if due.is_empty() {
        return Err(CommandError::usage(format_args!("task {name} has no gate"))
            .hint(format_args!("add one: ralph task edit {name} --verify CMD")));
    }
    let gate_box = GateBox::of(&run::sandbox_settings(&settings), workspace.project.root())?;
    adopt_orphans();
    let interrupt = interrupts::listen()?;
    let mut ran = Vec::new();
    let key = task.key.as_ref().map_or("", |key| key.as_str());
    for TaskGate { of, command } in due {
        let gate = Gate {
            command: &command,
            dir: workspace.project.root(),
            env: vec![
                ("RALPH_TASK_ID".into(), task.id.as_str().into()),
                ("RALPH_TASK_KEY".into(), key.into()),
                ("RALPH_PROJECT".into(), workspace.project.root().into()),
            ],
            timeout: gates.timeout,
            grace: *settings.run.grace,
            rerun: gates.rerun,
            rerun_below: gates.rerun_below,
            task_texts: gate::task_texts(task),
            confinement: gate_box.confinement(),
        };
        output::note(format_args!("running the gate: {command}"));
        let result = gate::run(&gate, None, &interrupt, &mut |_| false)
            .map_err(|e| CommandError::environment(e.to_string()))?;
        match result {
            GateResult::Ran(record) => {
                let baseline = workspace.store.task_baseline(&task.id, &command)?;
                let record = compared(GateRecord { of, ..record }, baseline.as_ref());
                if !record.passed() && !record.excused {
                    return Err(not_passed(task, record));
                }
                ran.push(record);
            }
            GateResult::NotStarted(why) => return Err(CommandError::environment(why)),
            GateResult::Interrupted => {
                return Err(CommandError::environment("interrupted while the gate was running"));
            }
        }
    }
    match ran.iter().any(GateRecord::passed) {
        true => Ok(of_gates(true, ran.iter())),
        // Only the project's gate ran, and it fails as it did before the task: that verifies nothing.
        false => Err(not_passed(task, ran.swap_remove(0))),
    }
}

fn not_passed(task: &Task, record: GateRecord) -> CommandError {
    if !record.output_tail.is_empty() {
        output::note(record.output_tail);
    }
    let name = task.name();
    let stays = match task.status {
        Status::Done => "the task stays done",
        _ => "the task was not marked as done",
    };
    let gate = if record.of == GateOf::Always { "the project's gate" } else { "the gate" };
    let error = CommandError::environment(format_args!("{gate} of {name} {}; {stays}", record.ended));
    match record.fix {
        Some(fix) if record.outcome == GateOutcome::Broken => {
            error.hint(format_args!("{fix}, or change the gate: ralph task edit {name} --verify CMD"))
        }
        _ => error,
    }
}

fn delete(workspace: &mut Workspace, name: &str, yes: bool, recursive: bool) -> CommandResult {
    let task = workspace.task(name)?;
    let question = format!("Delete {} ({}) and its history?", task.name(), task.title);
    if !yes && !confirmed(&question)? {
        output::note("nothing was deleted");
        return Ok(ExitCode::from(RunExit::Usage.code()));
    }
    let children = if recursive { Children::Delete } else { Children::Refuse };
    told(actions::delete(workspace, task.id.as_str(), children).map(|(_, receipt)| receipt))
}

/// Asks at a terminal. Elsewhere nobody can answer.
fn confirmed(question: &str) -> Result<bool, CommandError> {
    if !std::io::stdin().is_terminal() {
        let message = "cannot ask for confirmation: stdin is not a terminal";
        return Err(CommandError::usage(message).hint("add --yes"));
    }
    let answer = input::ask(&format!("{question} [y/N] ")).unwrap_or_default();
    Ok(matches!(answer.to_lowercase().as_str(), "y" | "yes"))
}

fn deps(dir: Option<&Path>, command: &Deps) -> CommandResult {
    let (pair, wait) = match command {
        Deps::Add(pair) => (pair, Wait::Begins),
        Deps::Rm(pair) => (pair, Wait::Ends),
        Deps::List { task, json } => {
            return list_deps(&Workspace::open_to_read(dir)?, task.as_deref(), *json);
        }
    };
    told(actions::depend(&mut Workspace::open(dir)?, &pair.task, &pair.dependency, wait))
}

fn list_deps(workspace: &Workspace, task: Option<&str>, json: bool) -> CommandResult {
    let tasks = match task {
        Some(name) => vec![workspace.task(name)?],
        None => workspace.tasks(None)?,
    };
    let mut rows = Vec::new();
    for task in &tasks {
        for depends_on in &task.depends_on {
            rows.push(json!({ "task_id": task.id, "depends_on": depends_on }));
            if !json {
                let dependency = workspace.task(depends_on.as_str());
                let name = dependency
                    .map_or("a deleted task".into(), |task| format!("{} ({})", task.name(), task.status));
                output::line(format_args!("{} depends on {name}", task.name()));
            }
        }
    }
    output::print(json, &rows, || {})
}
