//! `ralph init`: looks at the directory, asks, and writes settings and a place for the plan. Safe to repeat.

use std::io::{IsTerminal, stdin, stdout};
use std::path::Path;
use std::process::ExitCode;

use ralph_core::files::private;
use ralph_core::project::Project;
use ralph_core::store::{Absent, Patience};
use ralph_core::text::one_line;
use serde_json::{Map, Value, json};

use super::config::{Row, rows};
use super::detect::{AgentHere, Survey, missing_program};
use super::trust;
use crate::command_error::{CommandError, CommandResult, shell_path};
use crate::settings::{DEFAULT_AGENT, Settings, edit};
use crate::store_place;
use crate::ui::format::counted;
use crate::ui::table::wrap;
use crate::workspace::{Workspace, start_dir};
use crate::{input, output};

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
        !(self.yes || self.no_input || self.quiet || self.json)
            && stdin().is_terminal()
            && stdout().is_terminal()
    }
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let root = start_dir(dir)?;
    let project = Project::at(&root);
    trust::check(&project)?;
    if let Some(above) = project_above(&root)
        && !args.here
        && !wants_separate(&above, args)?
    {
        return Ok(ExitCode::SUCCESS);
    }
    if project.config().exists() {
        return report_existing(&project, args);
    }
    let survey = Survey::of(&root);
    if let Some(top) = &survey.repository
        && !args.here
        && project_above(&root).is_none()
        && !inside_repository(top, &survey, args)?
    {
        return Ok(ExitCode::SUCCESS);
    }
    let choices = match args.asks() {
        true => {
            let (language, agents) = (language(&survey), agents(&survey));
            let git = if survey.git { "repository" } else { "none" };
            output::line(format_args!("Setting up Ralph in {}", root.display()));
            for (name, text) in [("Language", &*language), ("Git", git), ("Agents", &*agents)] {
                output::line(row(name, text));
            }
            output::line("");
            ask(&survey, &root)?
        }
        false => Choices::of(&survey),
    };
    let made = create(&root, &choices.text())?;
    let document = json!({ "root": root, "made": made, "detected": survey, "settings": choices.settings() });
    output::print(args.json, &document, || {
        if !args.quiet {
            report(&root, &made, &survey, &choices);
        }
    })
}

/// The project that this directory belongs to, unless it is one itself.
fn project_above(root: &Path) -> Option<Project> {
    Project::find(root).filter(|project| project.root() != root)
}

fn wants_separate(above: &Project, args: &Args) -> Result<bool, CommandError> {
    let message = format!("this directory is inside the Ralph project at {}", above.root().display());
    if !args.asks() {
        return Err(CommandError::usage(message)
            .hint("commands here use that project; for example: ralph status")
            .hint("to create a separate project here: ralph init --here"));
    }
    output::line(format_args!("note: {message}; commands here use that project."));
    let separate = ask_yes("Create a separate project here?", false)?;
    if !separate {
        output::line("Nothing was created.");
    }
    Ok(separate)
}

/// Whether a project is wanted in a subdirectory of a git repository, and not in the repository's root.
fn inside_repository(top: &Path, survey: &Survey, args: &Args) -> Result<bool, CommandError> {
    let message = format!("this directory is inside the git repository at {}", top.display());
    let in_root = format!("cd {} && ralph init", shell_path(top));
    if !args.asks() {
        if !args.quiet {
            output::note(format_args!("note: {message}; to set up Ralph for all of it: {in_root}"));
        }
        return Ok(true);
    }
    output::line(format_args!("note: {message}."));
    // A package of its own is a good place.
    let is_package = survey.project.language.is_some();
    let here = ask_yes("Set up Ralph in this subdirectory only?", is_package)?;
    if !here {
        output::line(format_args!("Nothing was created. For the whole repository: {in_root}"));
    }
    Ok(here)
}

/// Makes what is missing; returns what that was.
pub fn create(root: &Path, settings: &str) -> Result<Vec<&'static str>, CommandError> {
    let project = Project::at(root);
    trust::check(&project)?;
    let mut made = Vec::new();
    let place = store_place::of(&project)?;
    let had_database = place.exists();
    if had_database {
        // A file of a newer Ralph is refused before anything is written beside it.
        place.open(Absent::Refuse, Patience::default())?;
    }
    if edit::create_file(&project.config(), settings)? {
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
fn report_existing(project: &Project, args: &Args) -> CommandResult {
    let root = project.root();
    let settings = Settings::load(&project.config(), std::env::vars_os())?;
    let made = create(root, "")?;
    let set: Vec<Row> = rows(&settings).into_iter().filter(Row::is_set).collect();
    let tasks = Workspace::open_to_read(Some(root))?.store.counts()?;
    let document = json!({ "root": root, "made": made, "settings": set, "tasks": tasks });
    output::print(args.json, &document, || {
        if args.quiet {
            return;
        }
        let made = match made.is_empty() {
            true => "nothing was changed".to_owned(),
            false => format!("created {}", made.join(", ")),
        };
        let names: Vec<String> = set.iter().map(Row::name).collect();
        let names = match names.is_empty() {
            true => "all settings have their defaults".to_owned(),
            false => one_line(&names.join(", "), 200),
        };
        let tasks = counted(tasks.total, "task");
        output::line(format_args!("{} is already a Ralph project; {made}", root.display()));
        output::line(format_args!("  .ralph.toml  {names} (`ralph config show`)"));
        output::line(format_args!("  plan         {tasks} (`ralph status`)"));
    })
}

fn language(survey: &Survey) -> String {
    let project = &survey.project;
    match (project.language, &project.from) {
        (Some(language), Some(file)) => format!("{language} ({})", one_line(file, 60)),
        _ => "not recognized".to_owned(),
    }
}

fn agents(survey: &Survey) -> String {
    let installed = survey.agents.iter().filter(|agent| agent.installed).map(|agent| {
        let state = if agent.logged_in { "logged in" } else { "no login found" };
        format!("{} ({state})", agent.name)
    });
    let installed: Vec<String> = installed.collect();
    if installed.is_empty() { "none installed".to_owned() } else { installed.join(", ") }
}

const INDENT: usize = 13;

fn row(name: &str, text: &str) -> String {
    let text = wrap(text, crate::ui::width().saturating_sub(INDENT).max(30));
    let text = text.replace('\n', &format!("\n{:INDENT$}", ""));
    format!("  {name:<10} {text}")
}

/// What was chosen and written, and what comes next.
fn report(root: &Path, made: &[&str], survey: &Survey, choices: &Choices) {
    output::line(format_args!("Created {} in {}", made.join(", "), root.display()));
    let rows = [
        ("Language", language(survey)),
        ("Gate", gate(survey, choices)),
        ("Git", git(survey, choices)),
        ("Agent", agent(survey, choices)),
        ("AGENTS.md", agents_md(choices)),
    ];
    for (name, text) in rows {
        output::line(row(name, &text));
    }
    let title = "ralph task add \"Title\" -d \"What to do\"";
    output::line("\nNext:");
    if let Some(agent) = chosen_agent(survey, choices).filter(|agent| !agent.installed) {
        output::line(format_args!("  {}", agent.install));
    }
    match choices.verify {
        Some(_) => output::line(format_args!("  {title}")),
        None => output::line(format_args!("  {title} --verify \"command that must pass\"")),
    }
    output::line("  ralph run");
}

fn gate(survey: &Survey, choices: &Choices) -> String {
    let set = "ralph config set gate.default COMMAND";
    match (&choices.verify, &survey.project.test_command, &survey.missing_program) {
        (Some(verify), ..) => format!(
            "`{}` is the gate of tasks without their own. Run it now: it must pass before they can be done",
            one_line(verify, 100)
        ),
        (None, Some(test), Some(program)) => {
            format!("none: `{program}` is not installed, so `{test}` cannot run ({set})")
        }
        (None, Some(_), None) => format!("none ({set})"),
        (None, None, _) => format!("none: no tests found ({set})"),
    }
}

const COMMITS: &str = "Ralph commits the work of each finished task (git.commit = \"on-success\")";

fn git(survey: &Survey, choices: &Choices) -> String {
    match (survey.git, choices.commit, &survey.git_problem) {
        (true, true, Some(problem)) => format!("{COMMITS}, but it cannot yet: {problem}"),
        (true, true, None) => COMMITS.into(),
        (true, false, _) => "Ralph commits nothing (ralph config set git.commit on-success)".into(),
        (false, ..) => "no repository: Ralph cannot commit or roll back".into(),
    }
}

fn chosen_agent<'s>(survey: &'s Survey, choices: &Choices) -> Option<&'s AgentHere> {
    let name = choices.agent.as_deref().unwrap_or(DEFAULT_AGENT);
    survey.agents.iter().find(|agent| agent.name == name)
}

fn agent(survey: &Survey, choices: &Choices) -> String {
    let name = choices.agent.as_deref().unwrap_or(DEFAULT_AGENT);
    let Some(agent) = chosen_agent(survey, choices) else { return name.to_owned() };
    let state = match (agent.installed, agent.logged_in) {
        (false, _) => format!(", not installed: {}", agent.install),
        (true, false) => format!(", no login found: {}", agent.login),
        (true, true) => ", logged in".to_owned(),
    };
    let others = survey.agents.iter().filter(|other| other.installed && other.name != name);
    let others: Vec<&str> = others.map(|other| other.name.as_str()).collect();
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

/// How a new `.ralph.toml` begins.
pub const HEADER: &str = "# Ralph's settings for this project. `ralph config show --all` lists every\n\
                          # setting and its default, `ralph config set KEY VALUE` changes one.\n";

/// What goes into a new `.ralph.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    pub agent: Option<String>,
    /// The gate of tasks that have none of their own.
    pub verify: Option<String>,
    pub commit: bool,
    pub agents_md: bool,
}

impl Choices {
    pub fn of(survey: &Survey) -> Self {
        Self {
            agent: survey.agent().map(|agent| agent.name.clone()),
            verify: survey.test_command().map(str::to_owned),
            commit: survey.git,
            agents_md: true,
        }
    }

    /// What differs from the defaults: table, key, value, and a comment.
    fn lines(&self) -> Vec<(&'static str, &'static str, Value, &'static str)> {
        let mut lines = Vec::new();
        if let Some(agent) = self.agent.as_deref().filter(|agent| *agent != DEFAULT_AGENT) {
            lines.push(("run", "agent", json!(agent), ""));
        }
        if let Some(verify) = &self.verify {
            let comment = "   # the gate of every task that has none of its own";
            lines.push(("gate", "default", json!(verify), comment));
        }
        if self.commit {
            let comment = "   # commit the work of each finished task";
            lines.push(("git", "commit", json!("on-success"), comment));
        }
        if !self.agents_md {
            lines.push(("memory", "agents_md", json!(false), ""));
        }
        lines
    }

    pub fn settings(&self) -> Map<String, Value> {
        let lines = self.lines().into_iter();
        lines.map(|(table, key, value, _)| (format!("{table}.{key}"), value)).collect()
    }

    /// The file. It has a table only where it sets something: a table can be there once, and people paste others below.
    pub fn text(&self) -> String {
        let mut text = HEADER.to_owned();
        for (table, key, value, comment) in self.lines() {
            let value = match &value {
                Value::String(text) => toml_edit::Value::from(text).to_string(),
                other => other.to_string(),
            };
            text.push_str(&format!("\n[{table}]\n{key} = {value}{comment}\n"));
        }
        text
    }
}

fn ask(survey: &Survey, root: &Path) -> Result<Choices, CommandError> {
    let mut choices = Choices::of(survey);
    choices.agent = Some(ask_agent(survey, choices.agent.as_deref())?);
    choices.verify = ask_gate(survey, root)?;
    if survey.git {
        choices.commit = ask_yes("Commit the work of each finished task?", true)?;
    }
    if survey.agents_md {
        output::line(
            "AGENTS.md exists. Ralph maintains four sections in it and does not change the rest:\n\
             Failure Context, Error Fixes, Codebase Patterns, Phase-Specific.",
        );
        choices.agents_md = ask_yes("Let Ralph maintain these sections?", true)?;
    }
    Ok(choices)
}

fn ask_agent(survey: &Survey, suggested: Option<&str>) -> Result<String, CommandError> {
    let names: Vec<&str> = survey.agents.iter().map(|agent| agent.name.as_str()).collect();
    let suggested = suggested.unwrap_or(DEFAULT_AGENT);
    let question = format!("Which agent should Ralph run ({})?", names.join(", "));
    loop {
        let answer = ask_text(&question, suggested)?;
        if names.contains(&answer.as_str()) {
            return Ok(answer);
        }
        output::line(format_args!("Unknown agent `{answer}`."));
    }
}

fn ask_gate(survey: &Survey, root: &Path) -> Result<Option<String>, CommandError> {
    let question = "Gate of tasks without their own (a command; - for none)?";
    let suggested = survey.test_command().unwrap_or("-");
    let answer = match ask_text(question, suggested)?.as_str() {
        "y" | "yes" => suggested.to_owned(),
        answer => answer.to_owned(),
    };
    if matches!(answer.as_str(), "-" | "n" | "no" | "none") {
        return Ok(None);
    }
    if let Some(program) = missing_program(&answer, root) {
        output::line(format_args!("`{program}` is not installed here yet."));
    }
    Ok(Some(answer))
}

fn ask_yes(question: &str, default: bool) -> Result<bool, CommandError> {
    let choice = if default { "Y/n" } else { "y/N" };
    loop {
        match read_answer(&format!("{question} [{choice}] "))?.to_lowercase().as_str() {
            "" => return Ok(default),
            "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => output::line("Enter y or n."),
        }
    }
}

fn ask_text(question: &str, default: &str) -> Result<String, CommandError> {
    let answer = read_answer(&format!("{question} [{default}] "))?;
    Ok(if answer.is_empty() { default.to_owned() } else { answer })
}

/// A line, without the space around it. Nothing was written before the last answer, so that giving up is safe at any time.
fn read_answer(prompt: &str) -> Result<String, CommandError> {
    input::ask(prompt).ok_or_else(|| {
        output::line("");
        CommandError::environment("canceled; nothing was created")
            .hint("accept the suggested answers: ralph init --yes")
    })
}
