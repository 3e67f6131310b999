//! `ralph doctor`: checks whether a run would work and says how to fix what would not. It changes nothing.

pub mod agents;
mod database;
mod launch;
pub mod machine;
mod permissions;
mod plan;
mod sandbox;
mod settings;

use std::env;
use std::path::Path;
use std::process::ExitCode;

use ralph_core::agent::Interrupt;
use ralph_core::engine::Templates;
use ralph_core::exit::RunExit;
use ralph_core::project::Project;
use ralph_core::store::{Scope, Store};
use ralph_core::text::{mask_secrets, one_line};
use serde::Serialize;

use super::{run, trust};
use crate::command_error::{CommandError, CommandResult};
use crate::settings::Settings;
use crate::ui::format::counted;
use crate::ui::style::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, paint};
use crate::ui::table::wrap;
use crate::workspace::{Workspace, no_project, start_dir};
use crate::{interrupts, output, ui};

/// Check that Ralph can run: git, agents, credentials, settings, database, disk, permissions.
///
/// Prints a fix for every problem. Changes nothing and shows no secrets. Exits with code 1 if something would stop a run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let here = start_dir(dir)?;
    let interrupt = interrupts::listen()?;
    let findings = ui::progress::waiting("checking programs and files", || examine(&here, &interrupt));
    if let Some(signal) = interrupt.first() {
        return Ok(ExitCode::from(RunExit::Interrupted(signal).code()));
    }
    let stops = findings.iter().any(|one| one.level == Level::Error);
    if args.json {
        output::json(&serde_json::json!({ "ok": !stops, "findings": findings }));
    } else {
        output::text(render(&findings, ui::width()));
    }
    Ok(ExitCode::from(u8::from(stops)))
}

/// Everything there is to find, in the order it is shown.
fn examine(here: &Path, interrupt: &Interrupt) -> Vec<Finding> {
    let found = Project::find(here);
    let refused = found.as_ref().and_then(trust::refusal);
    // What is in a project that is not obeyed is not even read.
    let project = found.filter(|_| refused.is_none());
    let root = project.as_ref().map_or(here, Project::root);
    let inspected = project.as_ref().map(database::inspect_store);
    let (database, store) = inspected.unwrap_or_default();
    let (settings, store) = read_settings(project.as_ref(), store);
    let (read, store) = (settings.as_ref().ok(), store.as_ref());
    let team = read.map(Settings::team).unwrap_or_default();

    let mut findings = machine::findings(root, project.as_ref(), store, interrupt);
    if let (Some(project), Some(settings)) = (&project, read) {
        findings.extend(machine::git_obstacles(project, settings, store));
    }
    if let Some(settings) = read {
        let sandbox = run::sandbox(&run::sandbox_settings(settings), root);
        let asked = run::run_settings(settings, Scope::All, &run::Args::default());
        let is_isolated = asked.is_isolated() || run::isolates(&sandbox, *settings.git.commit, root);
        findings.push(sandbox::finding(&sandbox, is_isolated));
    }
    // Without settings nobody knows which agent is chosen.
    let defaults = Settings::default();
    let agent_settings = read.unwrap_or(&defaults);
    let known = agents::find_programs(agent_settings, root, interrupt);
    findings.extend(agents::findings(&known, agent_settings, &team));
    findings.extend(team.first().and_then(|chosen| launch::finding(agent_settings, chosen, root, store)));
    findings.extend(agents::credentials(&known, &team));
    findings.extend(agents::costs(agent_settings, &team, store));
    let Some(project) = &project else {
        findings.push(match refused {
            None => Finding::error("project", no_project(here).message(), "ralph init"),
            Some(error) => Finding::error("project", error.message(), error.hints().join("; ")),
        });
        return findings;
    };
    findings.push(Finding::ok("project", project.root().display().to_string()));
    match &settings {
        Ok(settings) => findings.extend(settings::findings(settings, &project.config())),
        Err(error) => findings.push(settings::unreadable(error, project, env::vars_os())),
    }
    // A template with a mistake in it stops every run.
    findings.extend(Templates::load(project).err().map(|error| {
        let fix = "fix the template, or delete it to use the built-in one";
        Finding::error("settings", error.to_string(), fix)
    }));
    findings.extend(database);
    findings.extend(permissions::findings(project));
    match store.map(|store| plan::findings(store, &team, read, project.root())) {
        Some(Ok(recorded)) => findings.extend(recorded),
        Some(Err(error)) => findings.push(database::broken(&error, &project.database())),
        None if !database::has_store(project) => findings.push(plan::empty()),
        None => {}
    }
    findings.extend(read.map(|settings| settings::agents_md(project.root(), settings)));
    findings
}

/// The settings in force: those of the project with what its specs say, else the defaults and the environment's.
fn read_settings(
    project: Option<&Project>,
    store: Option<Store>,
) -> (Result<Settings, CommandError>, Option<Store>) {
    let (Some(project), Some(store)) = (project, store) else {
        let file = project.map(Project::config).unwrap_or_default();
        return (Settings::load(&file, env::vars_os()), None);
    };
    let project = project.clone();
    let workspace = Workspace { project, store };
    (workspace.settings(), Some(workspace.store))
}

const LENGTH: usize = 600;

fn heading(check: &str) -> &'static str {
    match check {
        "git" | "disk" | "clock" | "sandbox" => "Machine",
        "agent" | "agents" | "launch" | "credentials" => "Agents",
        _ => "Project",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Ok,
    /// A run works, but not as well as it could.
    Warning,
    Error,
}

#[derive(Debug, Serialize)]
pub struct Finding {
    pub check: &'static str,
    pub level: Level,
    pub message: String,
    pub fix: Option<String>,
    pub detail: Vec<String>,
    /// Good to know, neither good nor bad.
    #[serde(skip)]
    pub is_neutral: bool,
}

impl Finding {
    fn ok(check: &'static str, message: impl AsRef<str>) -> Self {
        let message = plain(message.as_ref());
        Self { check, level: Level::Ok, message, fix: None, detail: Vec::new(), is_neutral: false }
    }

    fn neutral(check: &'static str, message: impl AsRef<str>) -> Self {
        Self { is_neutral: true, ..Self::ok(check, message) }
    }

    fn warning(check: &'static str, message: impl AsRef<str>, fix: impl AsRef<str>) -> Self {
        Self { level: Level::Warning, fix: Some(plain(fix.as_ref())), ..Self::ok(check, message) }
    }

    fn error(check: &'static str, message: impl AsRef<str>, fix: impl AsRef<str>) -> Self {
        Self { level: Level::Error, ..Self::warning(check, message, fix) }
    }

    fn with(mut self, detail: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let lines = detail.into_iter().map(|line| plain(line.as_ref()));
        self.detail.extend(lines.filter(|line| !line.is_empty()));
        self
    }
}

/// Programs and files have a say in messages: nothing hides in them, and no secret shows.
fn plain(text: &str) -> String {
    one_line(&mask_secrets(text), LENGTH)
}

const NARROWEST: usize = 30;

/// Findings as people read them: under headings, marks and names in columns, each fix right below its problem.
fn render(findings: &[Finding], columns: usize) -> String {
    let names = findings.iter().map(|finding| finding.check.len());
    // A space, the mark and a space before the name, two spaces after it.
    let indent = names.max().unwrap_or(0) + 6;
    let room = columns.saturating_sub(indent).max(NARROWEST);
    let mut text = String::new();
    let mut group = "";
    for finding in findings {
        let name = finding.check;
        if heading(name) != group {
            group = heading(name);
            text.push_str(&format!("{}\n", paint(BOLD, group)));
        }
        let mark = match finding.level {
            Level::Ok if finding.is_neutral => "·".to_owned(),
            Level::Ok => paint(GREEN, "✓"),
            Level::Warning => paint(YELLOW, "!"),
            Level::Error => paint(RED, "✗"),
        };
        text.push_str(&format!("  {mark} {name:<0$}", indent - 4));
        // The first line has its indent already.
        let lines = wrap(&finding.message, room);
        text.push_str(&lines.replace('\n', &format!("\n{:indent$}", "")));
        text.push('\n');
        let fix = finding.fix.iter().map(|fix| (CYAN, format!("→ {fix}")));
        let detail = finding.detail.iter().map(|line| (DIM, line.clone()));
        for (style, line) in detail.chain(fix) {
            for part in wrap(&line, room).lines() {
                text.push_str(&format!("{:indent$}{}\n", "", paint(style, part)));
            }
        }
    }
    let of = |level: Level| findings.iter().filter(|finding| finding.level == level).count() as u64;
    let warnings = match of(Level::Warning) {
        0 => String::new(),
        n => format!("; {}", counted(n, "warning")),
    };
    let result = match of(Level::Error) {
        0 => paint(GREEN, "Ready to run"),
        n => paint(RED, format!("{} would stop a run", counted(n, "problem"))),
    };
    format!("{text}\n{result}{warnings}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(findings: &[Finding], columns: usize) -> String {
        anstream::adapter::strip_str(&render(findings, columns)).to_string()
    }

    #[test]
    fn findings_stand_in_columns_under_headings() {
        let findings = [
            Finding::ok("git", "git version 2.39.5"),
            Finding::error(
                "agent",
                "claude: `claude` is not installed or not on PATH",
                "npm install -g @anthropic-ai/claude-code",
            ),
            Finding::warning("credentials", "claude: no credentials found", "claude /login"),
            Finding::ok("launch", "script adds nothing").with(["sh agent.sh", "A=1"]),
            Finding::error("database", "it is damaged", "bring it back"),
        ];
        insta::assert_snapshot!(plain(&findings, 200), @r"
        Machine
          ✓ git          git version 2.39.5
        Agents
          ✗ agent        claude: `claude` is not installed or not on PATH
                         → npm install -g @anthropic-ai/claude-code
          ! credentials  claude: no credentials found
                         → claude /login
          ✓ launch       script adds nothing
                         sh agent.sh
                         A=1
        Project
          ✗ database     it is damaged
                         → bring it back

        2 problems would stop a run; 1 warning
        ");
    }

    #[test]
    fn long_lines_are_broken_within_their_column() {
        let message = "one two three four five six seven eight nine ten eleven";
        let findings = [Finding::warning("plan", message, message).with([message])];
        insta::assert_snapshot!(plain(&findings, 42), @r"
        Project
          ! plan  one two three four five six
                    seven eight nine ten eleven
                  one two three four five six
                    seven eight nine ten eleven
                  → one two three four five six
                    seven eight nine ten eleven

        Ready to run; 1 warning
        ");
    }

    #[test]
    fn all_is_well() {
        insta::assert_snapshot!(plain(&[Finding::ok("plan", "2 tasks, 2 ready")], 80), @r"
        Project
          ✓ plan  2 tasks, 2 ready

        Ready to run
        ");
        assert!(render(&[Finding::ok("plan", "x")], 80).contains('\u{1b}'));
    }

    #[test]
    fn what_programs_say_cannot_hide_anything() {
        let finding = Finding::ok("agent", "x\u{1b}[2J\ny API_KEY=hunter2hunter2");
        assert_eq!(finding.message, "x y API_KEY=[masked]");
    }
}
