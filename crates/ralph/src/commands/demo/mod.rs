//! `ralph demo`: a complete run in a scratch project with a built-in agent, and what to look at afterwards.

mod agent;
mod project;
mod tour;

use std::path::PathBuf;
use std::process::ExitCode;

use ralph_core::engine::Summary;
use ralph_core::exit::RunExit;
use ralph_core::project::Project;
use ralph_core::store::Scope;

pub use self::agent::{AgentArgs, work};
use self::project::Scratch;
use super::run;
use crate::command_error::{self, CommandError, CommandResult};
use crate::settings::Settings;
use crate::workspace::Workspace;
use crate::{output, ui};

/// Show a complete run in a scratch project, with a built-in agent (no account, no network).
///
/// Creates a small shell project with a plan of five tasks and runs it. The agent is scripted.
/// Everything else is real: files, commits, gates, records. One task is wrong at first: its gate
/// catches the mistake, the retry fixes it, and the learning keeps another task from repeating it.
/// The project is not deleted, so you can try every other command in it.
///
/// With --recovery the plan is a file, specs/greeter/tasks.md. A task fails, its fix task fails too
/// and gets a fix task of its own, and in the end all of them pass their gates.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Create the scratch project in this new or empty directory instead of a temporary one.
    // Replaces the global option of the same name.
    #[arg(id = "dir", short = 'C', long = "dir", value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Break the project's environment to see the circuit breaker open (exit code 6).
    #[arg(long)]
    broken: bool,
    /// Let a task and its fix task fail to see recovery mode fix both.
    #[arg(long, conflicts_with = "broken")]
    recovery: bool,
    /// Run the agent without pauses.
    #[arg(long)]
    fast: bool,
    /// Print only the scratch project's directory.
    #[arg(short, long)]
    quiet: bool,
    /// Print events as JSON lines.
    #[arg(long)]
    json: bool,
}

impl Args {
    fn story(&self) -> Story {
        match (self.broken, self.recovery) {
            (true, _) => Story::Broken,
            (false, true) => Story::Recovery,
            (false, false) => Story::Learning,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Story {
    /// A to-do list: one task is done at the second attempt, and another learns from it.
    Learning,
    /// The to-do list in an environment in which no gate can pass.
    Broken,
    /// A greeter, its plan in a file: a task fails, and so does its fix.
    Recovery,
}

/// The parts of a text, each below its name in brackets.
fn parts(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("\n[").skip(1).filter_map(|part| part.split_once("]\n"))
}

pub fn run(args: &Args) -> CommandResult {
    let scratch = project::make(args.dir.as_deref(), args.fast, args.story())?;
    introduce(args, &scratch);
    let mut workspace = Workspace::create(Project::at(&scratch.root))?;
    let summary = run_plan(&mut workspace, args)?;
    conclude(&workspace, &summary, &scratch, args);
    Ok(ExitCode::from(summary.exit.code()))
}

fn introduce(args: &Args, scratch: &Scratch) {
    let root = scratch.root.display();
    if args.quiet {
        output::line(root);
    } else if args.json {
        output::note(format_args!("scratch project: {root}"));
    } else {
        let introduction = tour::introduction(scratch, args.story());
        output::text(ui::table::wrap_all(&introduction));
    }
    if let Some(why) = &scratch.no_git {
        output::note(format_args!("note: {why}; the demo continues without commits"));
    }
}

/// The ordinary run with the project's own settings.
fn run_plan(workspace: &mut Workspace, args: &Args) -> Result<Summary, CommandError> {
    // What the user's environment sets is meant for real projects: it could start a real agent.
    let settings = Settings::load(&workspace.project.config(), std::iter::empty())?;
    let crew = run::Crew::of(&settings)?;
    let run_settings = run::run_settings(&settings, Scope::All, &run::Args::default());
    let mut display = ui::display(args.json, args.quiet);
    let sandbox = run::sandbox(&run_settings.sandbox, workspace.project.root());
    let invocation = run::Invocation::default();
    run::execute(workspace, &crew, &run_settings, &settings, &sandbox, display.as_mut(), &invocation)
}

fn conclude(workspace: &Workspace, summary: &Summary, scratch: &Scratch, args: &Args) {
    let finished = summary.exit == RunExit::Finished;
    if !args.json && !args.quiet {
        output::text(ui::report::summary(workspace, summary));
        let conclusion = match summary.exit {
            RunExit::Finished => tour::farewell(workspace, scratch, args.story()),
            RunExit::BreakerOpen => tour::broken(scratch),
            _ => tour::unfinished(scratch),
        };
        output::text(ui::table::wrap_all(&conclusion));
    } else if !finished {
        command_error::print(&summary.reason, &[]);
    }
}
