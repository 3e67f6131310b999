//! `ralph init`: looks at the directory, asks, and writes settings and a place for the plan. Safe to repeat.

mod ask;
mod choices;
mod detect;
mod survey;

use std::path::Path;
use std::process::ExitCode;

pub use choices::Choices;
use ralph_core::files::private;
use ralph_core::project::Project;
use ralph_core::store::{PlanStore, SqliteStore};
use ralph_core::text::one_line;
use serde_json::json;
use survey::Survey;

use super::config::rows::{Row, rows};
use crate::command_error::{CommandError, CommandResult};
use crate::settings::{Settings, save};
use crate::ui::format::counted;
use crate::ui::table::wrap;
use crate::workspace::{Workspace, start_dir};
use crate::{output, trust};

/// Set up Ralph in this directory.
///
/// Detects the language, the test command, git and installed agents, asks a few questions in a terminal, and creates
/// .ralph.toml and .ralph/. Existing files are not changed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Accept the suggested answers without asking.
    #[arg(short, long)]
    yes: bool,
    /// Create a separate project here, even inside another project.
    #[arg(long)]
    here: bool,
    /// Do not prompt; the same as --yes.
    #[arg(long)]
    no_input: bool,
    /// Do not prompt; print only errors.
    #[arg(short, long)]
    quiet: bool,
    /// Do not prompt; print what was detected and created as JSON.
    #[arg(long)]
    json: bool,
}

impl Args {
    fn asks(&self) -> bool {
        !(self.yes || self.no_input || self.quiet || self.json) && ask::is_somebody_there()
    }
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let root = start_dir(dir)?;
    let project = Project::at(&root);
    trust::check(&project)?;
    if let Some(above) = project_above(&root)
        && !args.here
        && !separate(&above, args)?
    {
        return Ok(ExitCode::SUCCESS);
    }
    if project.config().exists() {
        return again(&project, args);
    }
    let survey = Survey::of(&root)?;
    let choices = match args.asks() {
        true => {
            output::line(format_args!("Setting up Ralph in {}", root.display()));
            output::text(found(&survey));
            ask::choices(&survey, &root)?
        }
        false => Choices::of(&survey),
    };
    let made = create(&root, &choices.text())?;
    if args.json {
        output::json(&json!({
            "root": root, "made": made, "detected": survey, "settings": choices.settings(),
        }));
    } else if !args.quiet {
        report(&root, &made, &survey, &choices);
    }
    Ok(ExitCode::SUCCESS)
}

/// The project that this directory belongs to, unless it is one itself.
fn project_above(root: &Path) -> Option<Project> {
    Project::find(root).filter(|project| project.root() != root)
}

/// Whether a separate project is wanted below another one.
fn separate(above: &Project, args: &Args) -> Result<bool, CommandError> {
    let message = format!(
        "this directory is inside the Ralph project at {}",
        above.root().display()
    );
    if !args.asks() {
        return Err(CommandError::usage(message)
            .hint("commands here use that project; for example: ralph status")
            .hint("to create a separate project here: ralph init --here"));
    }
    output::line(format_args!(
        "Note: {message}; commands here use that project."
    ));
    let separate = ask::yes("Create a separate project here?", false)?;
    if !separate {
        output::line("Nothing was created.");
    }
    Ok(separate)
}

/// Makes what is missing; returns what that was.
pub fn create(root: &Path, settings: &str) -> Result<Vec<&'static str>, CommandError> {
    let project = Project::at(root);
    trust::check(&project)?;
    let mut made = Vec::new();
    let had_database = project.database().exists();
    if had_database {
        // A file of a newer Ralph is refused before anything is written beside it.
        SqliteStore::open(&project.database())?;
    }
    if save::create(&project.config(), settings)? {
        made.push(".ralph.toml");
    }
    for dir in [project.ralph_dir(), project.logs()] {
        private::make_dir(&dir).map_err(|error| {
            CommandError::environment(format_args!("cannot create {}: {error}", dir.display()))
                .hint("check the directory's permissions and free space")
        })?;
    }
    if project.keep_out_of_git() {
        made.push(".ralph/.gitignore");
    }
    Workspace::create(project)?;
    if !had_database {
        made.push(".ralph/progress.db");
    }
    Ok(made)
}

/// A project that has settings: nothing is overwritten.
fn again(project: &Project, args: &Args) -> CommandResult {
    let root = project.root();
    let settings = Settings::load(&project.config(), std::env::vars_os())?;
    let made = create(root, "")?;
    let set: Vec<Row> = rows(&settings).into_iter().filter(Row::is_set).collect();
    let tasks = Workspace::look(Some(root))?.store.counts()?;
    if args.json {
        output::json(&json!({ "root": root, "made": made, "settings": set, "tasks": tasks }));
        return Ok(ExitCode::SUCCESS);
    }
    if args.quiet {
        return Ok(ExitCode::SUCCESS);
    }
    let place = root.display();
    match made.is_empty() {
        true => output::line(format_args!(
            "{place} is already a Ralph project; nothing was changed"
        )),
        false => output::line(format_args!(
            "{place} is already a Ralph project; created {}",
            made.join(", ")
        )),
    }
    let names: Vec<String> = set.iter().map(Row::name).collect();
    let names = match names.is_empty() {
        true => "all settings have their defaults".to_owned(),
        false => one_line(&names.join(", "), 200),
    };
    output::line(format_args!("  .ralph.toml  {names} (`ralph config show`)"));
    output::line(format_args!(
        "  plan         {} (`ralph status`)",
        counted(tasks.total, "task")
    ));
    Ok(ExitCode::SUCCESS)
}

/// What was found, before the questions.
fn found(survey: &Survey) -> String {
    let git = if survey.git { "repository" } else { "none" };
    format!(
        "  Language  {}\n  Git       {git}\n  Agents    {}\n\n",
        language(survey),
        agents(survey)
    )
}

fn language(survey: &Survey) -> String {
    let project = &survey.project;
    match (project.language, &project.from) {
        (Some(language), Some(file)) => format!("{language} ({})", one_line(file, 60)),
        _ => "not recognized".to_owned(),
    }
}

fn agents(survey: &Survey) -> String {
    let installed = survey.agents.iter().filter(|agent| agent.installed);
    let installed: Vec<String> = installed
        .map(|agent| match agent.logged_in {
            true => format!("{} (logged in)", agent.name),
            false => format!("{} (no login found)", agent.name),
        })
        .collect();
    match installed.is_empty() {
        true => "none installed".to_owned(),
        false => installed.join(", "),
    }
}

/// Columns before the text of a row.
const INDENT: usize = 13;

/// What was chosen and written, and what comes next.
fn report(root: &Path, made: &[&str], survey: &Survey, choices: &Choices) {
    output::line(format_args!(
        "Created {} in {}",
        made.join(", "),
        root.display()
    ));
    let rows = [
        ("Language", language(survey)),
        ("Gate", gate(survey, choices)),
        ("Git", git(survey, choices)),
        ("Agent", agent(survey, choices)),
        ("AGENTS.md", agents_md(choices)),
    ];
    for (name, text) in rows {
        let text = wrap(&text, crate::ui::width().saturating_sub(INDENT).max(30));
        let text = text.replace('\n', &format!("\n{:INDENT$}", ""));
        output::line(format_args!("  {name:<10} {text}"));
    }
    if choices.commit
        && let Some(problem) = &survey.git_problem
    {
        output::note(format_args!(
            "warning: Ralph cannot commit here yet: {problem}"
        ));
    }
    let title = "ralph task add \"Title\" -d \"What to do\"";
    output::line("\nNext:");
    match choices.verify {
        Some(_) => output::line(format_args!("  {title}")),
        None => output::line(format_args!(
            "  {title} --verify \"command that must pass\""
        )),
    }
    output::line("  ralph run");
}

fn gate(survey: &Survey, choices: &Choices) -> String {
    let set = "ralph config set gate.verify COMMAND";
    match (
        &choices.verify,
        &survey.project.test_command,
        &survey.missing_program,
    ) {
        (Some(verify), ..) => format!(
            "`{}` must pass for every task that has no gate of its own. Check that it passes now: no such task can be done while it fails",
            one_line(verify, 100)
        ),
        (None, Some(test), Some(program)) => {
            format!("none: `{program}` is not installed, so `{test}` cannot run ({set})")
        }
        (None, Some(_), None) => format!("none ({set})"),
        (None, None, _) => format!("none: no tests found ({set})"),
    }
}

fn git(survey: &Survey, choices: &Choices) -> String {
    match (survey.git, choices.commit) {
        (true, true) => {
            "Ralph commits the work of each finished task (git.commit = \"on-success\")".into()
        }
        (true, false) => "Ralph commits nothing (ralph config set git.commit on-success)".into(),
        (false, _) => "no repository: Ralph cannot commit or roll back".into(),
    }
}

fn agent(survey: &Survey, choices: &Choices) -> String {
    let name = choices.agent.as_deref().unwrap_or("claude");
    let Some(agent) = survey.agents.iter().find(|agent| agent.name == name) else {
        return name.to_owned();
    };
    let state = match (agent.installed, agent.logged_in) {
        (false, _) => format!(", not installed: {}", agent.install),
        (true, false) => format!(", no login found: {}", agent.login),
        (true, true) => ", logged in".to_owned(),
    };
    let mut others = survey
        .agents
        .iter()
        .filter(|other| other.installed && other.name != name);
    let others: Vec<&str> = others.by_ref().map(|other| other.name.as_str()).collect();
    match others.is_empty() {
        true => format!("{name}{state}"),
        false => format!("{name}{state}; also installed: {}", others.join(", ")),
    }
}

fn agents_md(choices: &Choices) -> String {
    match choices.agents_md {
        true => "Ralph maintains four sections and does not change the rest (turn off: ralph config set memory.agents_md false)".into(),
        false => "Ralph does not change it (memory.agents_md = false)".into(),
    }
}
