//! `ralph plan`: a plan from a goal, checked before anybody works on it; and the same checks for any plan.

mod session;
mod show;

use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ralph_core::exit::RunExit;
use ralph_core::files::write_whole;
use ralph_core::model::Status;
use ralph_core::plan::import::{self, TASKS_MD};
use ralph_core::plan::{Draft, DraftTask, Format};
use serde_json::json;

#[cfg(test)]
pub use self::session::limits;
use self::session::{Made, Session, has_errors};
use self::show::{estimate, line_of, shown, task_json, told};
use super::import::{Choice, import_plan};
use super::run;
use crate::command_error::{CommandError, CommandResult};
use crate::ui::format::{cost, counted};
use crate::workspace::{Workspace, start_dir};
use crate::{input, output};

/// Make a plan from a goal.
///
/// The agent's strongest model reads the repository and answers with a plan. Ralph checks it: an order in which it can be done, tasks small
/// enough for one session, files named, and a gate for each task that runs here and fails now. A plan that does not pass goes back to the
/// agent with the reasons, at most three rounds. Then you see it, edit it, ask for changes, and accept it.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "Examples:\n  \
    ralph plan \"Add OAuth login\"           then accept, edit or change it\n  \
    ralph plan -f goal.md --yes -o specs/oauth/tasks.md\n  \
    ralph plan check                       check the current plan\n  \
    ralph plan check specs/oauth --fix     let the agent fix what the check finds")]
pub struct Args {
    #[command(subcommand)]
    command: Option<Below>,
    /// What to achieve; `-` reads it from standard input.
    #[arg(required_unless_present = "file")]
    goal: Option<String>,
    /// Read the goal from this file.
    #[arg(short, long, value_name = "FILE", conflicts_with = "goal")]
    file: Option<PathBuf>,
    /// Where to save the plan; by default specs/NAME/tasks.md.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Let the agent ask you a few questions about the goal first; ignored without a terminal.
    #[arg(long)]
    interview: bool,
    #[command(flatten)]
    agent: AgentArgs,
}

#[derive(Debug, clap::Args)]
struct AgentArgs {
    /// Accept the plan without asking.
    #[arg(short, long)]
    yes: bool,
    /// Agent to use.
    #[arg(long)]
    agent: Option<String>,
    /// Model to use; by default the strongest of the agent's list.
    #[arg(long)]
    model: Option<String>,
    /// Maximum cost of all rounds in dollars.
    #[arg(long, value_name = "USD")]
    max_cost: Option<f64>,
    /// Do not run the gates to see whether they fail now.
    #[arg(long)]
    no_gate: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Below {
    /// Check a plan: order, size, files, and gates that run here and fail now.
    Check(CheckArgs),
}

#[derive(Debug, clap::Args)]
struct CheckArgs {
    /// A plan file or spec directory; the current plan if omitted.
    path: Option<PathBuf>,
    /// Let the agent fix what the check finds, and save the file.
    #[arg(long, requires = "path")]
    fix: bool,
    #[command(flatten)]
    agent: AgentArgs,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    match &args.command {
        Some(Below::Check(args)) => check_plan(dir, args),
        None => {
            run::refuse_inside_an_attempt("ralph plan")?;
            plan(dir, args)
        }
    }
}

fn plan(dir: Option<&Path>, args: &Args) -> CommandResult {
    let goal = goal(dir, args)?;
    let mut workspace = Workspace::open_or_create(dir)?;
    let mut session = Session::new(&workspace, &args.agent, &goal)?;
    let attended = !args.agent.yes
        && !args.agent.json
        && std::io::stdin().is_terminal()
        && std::io::stderr().is_terminal();
    if args.interview && attended {
        session.interview(&mut workspace)?;
    }
    let path = match &args.output {
        Some(file) => start_dir(dir)?.join(file),
        None => free_path(workspace.project.root(), &goal),
    };
    // Before the agent costs anything.
    refuse_existing(&path)?;
    let first = session.first_request();
    let mut made = session.rounds(&mut workspace, &first)?;
    if !attended {
        return session.finish(&mut workspace, &made, &path, args.agent.yes, args.agent.json);
    }
    loop {
        output::text(shown(&made, &estimate(&workspace, made.draft.tasks.len())?));
        match next(&made) {
            Next::Accept => return session.finish(&mut workspace, &made, &path, true, false),
            Next::Save => return session.finish(&mut workspace, &made, &path, false, false),
            Next::Quit => {
                output::note("nothing was saved");
                return Ok(ExitCode::from(RunExit::Aborted.code()));
            }
            Next::Edit => made = session.check(&workspace, edited(&workspace, &made.text)?)?,
            Next::Fix => {
                let wish = format!(
                    "This plan was edited by hand. Change it only where the check demands it. The check found:\n\n{}",
                    made.problem_list()
                );
                made = session.rounds(&mut workspace, &session.again(&made.text, &wish))?;
            }
            Next::Change(wish) => {
                let request = session.again(&made.text, &format!("Change the plan: {wish}"));
                made = session.rounds(&mut workspace, &request)?;
            }
        }
    }
}

/// What the person wants to do with a plan.
enum Next {
    Accept,
    Edit,
    /// Let the agent fix what the check found in an edited plan.
    Fix,
    Change(String),
    Save,
    Quit,
}

fn next(made: &Made) -> Next {
    let is_faulty = !made.problems().is_empty();
    let question = match is_faulty {
        false => "[a]ccept  [e]dit  [c]hange in words  [s]ave only  [q]uit? ",
        true => {
            "[e]dit again  [f]ix by the agent  [c]hange in words  [a]ccept as it is  [s]ave only  [q]uit? "
        }
    };
    loop {
        match input::ask(question).map(|answer| answer.trim().to_lowercase()).as_deref() {
            Some("a" | "accept" | "y" | "yes") => return Next::Accept,
            Some("e" | "edit") => return Next::Edit,
            Some("f" | "fix") if is_faulty => return Next::Fix,
            Some("s" | "save") => return Next::Save,
            Some("q" | "quit") | None => return Next::Quit,
            Some("c" | "change") => {
                if let Some(wish) =
                    input::ask("What should be different? ").filter(|wish| !wish.trim().is_empty())
                {
                    return Next::Change(wish.trim().to_owned());
                }
            }
            Some(_) => {}
        }
    }
}

fn goal(dir: Option<&Path>, args: &Args) -> Result<String, CommandError> {
    let text = match (&args.file, &args.goal) {
        (Some(file), _) => String::from_utf8_lossy(&input::file(dir, file)?).into_owned(),
        (None, Some(goal)) => input::argument(goal.clone(), "the goal")?,
        (None, None) => String::new(),
    };
    match text.trim() {
        "" => Err(CommandError::usage("the goal is empty")
            .hint("say what to achieve: ralph plan \"Add OAuth login\"")),
        text => Ok(text.to_owned()),
    }
}

fn check_plan(dir: Option<&Path>, args: &CheckArgs) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    let root = workspace.project.root().to_owned();
    let (shown, draft, file) = match &args.path {
        Some(path) => {
            let path = start_dir(dir)?.join(path);
            let found = import::open(&root, &path, None).map_err(CommandError::usage)?;
            let file = if path.is_dir() { path.join(TASKS_MD) } else { path };
            (found.path, found.draft, Some((file, found.format)))
        }
        None => ("the plan".to_owned(), draft_of(&workspace)?, None),
    };
    let mut session = Session::new(&workspace, &args.agent, "Fix the plan below")?;
    let default_gate = session.run_settings.gate.default.clone();
    let mut findings = session.findings(&draft, &root, default_gate.as_deref(), None)?;
    let mut fixed = false;
    if args.fix && has_errors(&findings) {
        let Some((file, Format::TasksMd)) = &file else {
            return Err(CommandError::usage("--fix works on a tasks.md only")
                .hint("export the plan first: ralph export --format tasks.md"));
        };
        drop(workspace);
        let mut workspace = Workspace::open(dir)?;
        let text = input::file(None, file)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let list: Vec<String> = findings.iter().map(line_of).collect();
        let request =
            session.again(&text, &format!("The check of the plan found:\n\n- {}", list.join("\n- ")));
        let made = session.rounds(&mut workspace, &request)?;
        let text = format!("{}\n", made.text.trim_end());
        write_whole(file, text.as_bytes()).map_err(|error| CommandError::cannot_write(file, &error))?;
        findings = made.findings;
        fixed = true;
    }
    let ok = !has_errors(&findings);
    let document = json!({ "path": shown, "ok": ok, "fixed": fixed, "tasks": draft.tasks.len(), "findings": findings, "cost_usd": session.spent_usd });
    output::print(args.agent.json, &document, || {
        output::text(told(&findings));
        let count = counted(draft.tasks.len() as u64, "task");
        let result = match (ok, fixed) {
            (true, true) => "fixed",
            (true, false) => "ok",
            (false, _) => "not ready to run unattended",
        };
        output::line(format_args!("{shown}: {count}, {result}"));
    })?;
    Ok(ExitCode::from(u8::from(!ok)))
}

/// The open plan as a file would tell it.
fn draft_of(workspace: &Workspace) -> Result<Draft, CommandError> {
    let tasks = workspace.tasks(None)?;
    let names: HashMap<_, _> = tasks.iter().map(|task| (task.id.clone(), task.name().to_owned())).collect();
    let drafts = tasks.iter().map(|task| DraftTask {
        name: task.name().to_owned(),
        named_by_author: true,
        title: task.title.clone(),
        description: task.description.clone(),
        parent: task.parent_id.as_ref().and_then(|id| names.get(id).cloned()),
        verify: task.verify.clone(),
        files: task.files.clone(),
        may_change: task.may_change.clone(),
        done: matches!(task.status, Status::Done | Status::Skipped),
        ..DraftTask::default()
    });
    Ok(Draft { tasks: drafts.collect(), notes: Vec::new() })
}

/// Opens the plan in the person's editor.
fn edited(workspace: &Workspace, text: &str) -> Result<String, CommandError> {
    input::edited(&workspace.project.ralph_dir().join("plan-being-edited.md"), text)
}

fn refuse_existing(path: &Path) -> Result<(), CommandError> {
    match path.exists() {
        false => Ok(()),
        true => Err(CommandError::usage(format_args!("{} exists already", path.display()))
            .hint("save the plan elsewhere with -o FILE")),
    }
}

/// A file below specs/ that does not exist yet, called after the goal.
fn free_path(root: &Path, goal: &str) -> PathBuf {
    let words = goal.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.take(5).map(str::to_lowercase).collect();
    let name = if words.is_empty() { "plan".to_owned() } else { words.join("-") };
    let paths = (1..).map(|number| match number {
        1 => root.join("specs").join(&name).join(TASKS_MD),
        _ => root.join("specs").join(format!("{name}-{number}")).join(TASKS_MD),
    });
    paths.into_iter().find(|path| !path.exists()).unwrap_or_else(|| root.join(TASKS_MD))
}

impl Session {
    /// Saves the plan, and imports it where it was accepted.
    fn finish(
        &self,
        workspace: &mut Workspace,
        made: &Made,
        path: &Path,
        accepted: bool,
        as_json: bool,
    ) -> CommandResult {
        // It may have appeared while the agent planned.
        refuse_existing(path)?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| CommandError::cannot_write(folder, &error))?;
        }
        let text = format!("{}\n", made.text.trim_end());
        write_whole(path, text.as_bytes()).map_err(|error| CommandError::cannot_write(path, &error))?;
        let shown_path = path.strip_prefix(workspace.project.root()).unwrap_or(path).display().to_string();
        let choice = Choice { format: Some(Format::TasksMd), ..Choice::default() };
        let report = accepted.then(|| import_plan(workspace, path, &choice)).transpose()?;
        let added = report.map_or(0, |(_, report)| report.added.len());
        let tasks: Vec<_> = made.draft.tasks.iter().map(task_json).collect();
        let spent = (!self.cost_unknown).then_some(self.spent_usd);
        let document = json!({
            "goal": self.goal, "rounds": self.round, "agent": self.crew.agent().name(), "model": self.model,
            "cost_usd": spent, "cost_estimated": self.estimated, "path": shown_path, "accepted": accepted,
            "added": added, "tasks": tasks, "findings": made.findings,
        });
        let estimate = estimate(workspace, made.draft.tasks.len())?;
        output::print(as_json, &document, || {
            if !accepted {
                output::text(shown(made, &estimate));
            }
            let count = counted(made.draft.tasks.len() as u64, "task");
            let spent = spent.map_or_else(|| "unknown".to_owned(), |_| cost(spent, self.estimated));
            output::line(format_args!("saved {count} in {shown_path} (planning cost {spent})"));
            match accepted {
                true => output::line("next: ralph run"),
                false => output::line(format_args!("next: ralph import {shown_path}")),
            }
        })
    }
}
