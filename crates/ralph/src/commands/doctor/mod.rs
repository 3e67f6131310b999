//! `ralph doctor`: checks whether a run would work and says how to fix what would not. It changes nothing.

pub mod agents;
mod agents_md;
mod clock;
pub mod credentials;
mod database;
mod disk;
pub mod finding;
mod gates;
mod git;
pub mod git_ready;
mod launch;
mod left_overs;
mod mend;
mod permissions;
mod plan;
pub mod program;
mod render;
mod sandbox;
mod settings;
mod version;

use std::env;
use std::path::Path;
use std::process::ExitCode;

use finding::{Check, Finding, Level};
use ralph_core::agent::Interrupt;
use ralph_core::engine::Templates;
use ralph_core::exit::RunExit;
use ralph_core::host::ThisHost;
use ralph_core::project::Project;
use ralph_core::store::{ControlStore, HistoryStore, SqliteStore, StoreError};

use super::limits;
use super::run::unlimited;
use crate::command_error::{CommandError, CommandResult};
use crate::settings::{Settings, build_agent};
use crate::workspace::{Workspace, no_project, now, start_dir};
use crate::{interrupts, output, trust, ui};

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
    let findings =
        ui::progress::waiting("checking programs and files", || examine(&here, &interrupt));
    if let Some(signal) = interrupt.first() {
        return Ok(ExitCode::from(RunExit::Interrupted(signal).code()));
    }
    let stops = findings.iter().any(|one| one.level == Level::Error);
    if args.json {
        output::json(&serde_json::json!({ "ok": !stops, "findings": findings }));
    } else {
        output::text(render::render(&findings, ui::width()));
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
    let looked = project
        .as_ref()
        .map(|project| database::look(&project.database()));
    let (database, store) = match looked {
        Some(looked) => (looked.findings, looked.store),
        None => (Vec::new(), None),
    };
    let (settings, store) = read_settings(project.as_ref(), store);
    let read = settings.as_ref().ok();
    let team = read.map(Settings::team).unwrap_or_default();
    let chosen = team.first().copied();

    let mut findings = machine(root, project.as_ref(), store.as_ref(), interrupt);
    if let (Some(project), Some(settings)) = (&project, read) {
        findings.extend(git_ready::findings(project, settings, store.as_ref()));
    }
    findings.extend(programs(read, &team, root, store.as_ref(), interrupt));
    let Some(project) = &project else {
        findings.push(no_project_finding(here, refused));
        return findings;
    };
    let at = format!("{}", project.root().display());
    findings.push(Finding::ok(Check::Project, at));
    match &settings {
        Ok(settings) => findings.extend(settings::findings(settings, &project.config())),
        Err(error) => findings.push(settings::unreadable(error, project, env::vars_os())),
    }
    findings.extend(templates(project));
    findings.extend(database);
    findings.extend(permissions::findings(project, read, chosen));
    let recorded = |store| recorded(store, &team, read, project.root());
    match store.as_ref().map(recorded) {
        Some(Ok(recorded)) => findings.extend(recorded),
        Some(Err(error)) => findings.push(database::unusable(&error, &project.database())),
        None if !project.database().exists() => findings.push(plan::empty()),
        None => {}
    }
    findings.extend(read.map(|settings| agents_md::finding(project.root(), settings)));
    findings
}

fn no_project_finding(here: &Path, refused: Option<CommandError>) -> Finding {
    match refused {
        None => {
            let message = no_project(here).message().to_owned();
            Finding::error(Check::Project, message, "ralph init")
        }
        Some(error) => Finding::error(Check::Project, error.message(), error.hints().join("; ")),
    }
}

/// The settings in force: those of the project with what its specs say, else the defaults and the environment's.
fn read_settings(
    project: Option<&Project>,
    store: Option<SqliteStore>,
) -> (Result<Settings, CommandError>, Option<SqliteStore>) {
    let (Some(project), Some(store)) = (project, store) else {
        let file = project.map(Project::config).unwrap_or_default();
        return (Settings::load(&file, env::vars_os()), None);
    };
    let workspace = Workspace {
        project: project.clone(),
        store,
    };
    (workspace.settings(), Some(workspace.store))
}

fn machine(
    root: &Path,
    project: Option<&Project>,
    store: Option<&SqliteStore>,
    interrupt: &Interrupt,
) -> Vec<Finding> {
    let dir = project.map(Project::ralph_dir).filter(|dir| dir.is_dir());
    let newest = store.and_then(|store| store.newest_attempts(1).ok());
    let newest = newest.and_then(|attempts| attempts.first().map(|attempt| attempt.started_at));
    vec![
        git::finding(root, project.map(Project::root), interrupt),
        disk::finding(dir.as_deref().unwrap_or(root)),
        sandbox::finding(root),
        clock::judge(now(), newest),
    ]
}

/// Agents, how the chosen one is started, and what is seen of credentials. Without settings nobody knows which is chosen.
fn programs(
    settings: Option<&Settings>,
    team: &[&str],
    root: &Path,
    store: Option<&SqliteStore>,
    interrupt: &Interrupt,
) -> Vec<Finding> {
    let defaults = Settings::defaults().ok();
    let Some(settings) = settings.or(defaults.as_ref()) else {
        return Vec::new();
    };
    let known = agents::look(settings, root, interrupt);
    let mut findings = agents::findings(&known, settings, team);
    let launched = team.iter().take(1);
    findings.extend(launched.filter_map(|chosen| launch::finding(settings, chosen, root, store)));
    findings.extend(credentials::findings(&known, team));
    findings.extend(costs(settings, team));
    findings
}

/// Agents for which the cost limits of the settings do not hold.
fn costs(settings: &Settings, team: &[&str]) -> Vec<Finding> {
    let agents = team.iter();
    let agents: Vec<_> = agents
        .filter_map(|name| build_agent(name, &settings.agents).ok())
        .collect();
    let agents = agents.iter().map(AsRef::as_ref);
    let unlimited = unlimited(settings, agents, None).into_iter();
    unlimited
        .map(|one| match one.stops {
            true => Finding::error(Check::Agent, one.message, one.fix),
            false => Finding::warning(Check::Agent, one.message, one.fix),
        })
        .collect()
}

/// A template with a mistake in it stops every run.
fn templates(project: &Project) -> Option<Finding> {
    let error = Templates::load(project).err()?;
    let fix = "fix the template, or delete it to use the built-in one";
    Some(Finding::error(Check::Settings, error.to_string(), fix))
}

/// What the plan's file says: left-overs, limits of agents that runs use, and what there is to do.
fn recorded(
    store: &SqliteStore,
    team: &[&str],
    settings: Option<&Settings>,
    root: &Path,
) -> Result<Vec<Finding>, StoreError> {
    let now = now();
    let mut findings = left_overs::findings(store, &ThisHost::new(), now)?;
    for limit in store.agent_limits(now)? {
        if team.contains(&limit.agent.as_str()) {
            let message = limits::words(&limit, now);
            let fix = format!(
                "wait, or forget the limit: ralph limits clear {}",
                limit.agent
            );
            findings.push(Finding::warning(Check::Agents, message, fix));
        }
    }
    findings.extend(plan::findings(store)?);
    if let Some(settings) = settings {
        findings.extend(gates::findings(store, settings, root)?);
    }
    Ok(findings)
}
