//! Whether git is ready for what [git] asks of it: what would stop a run at its start.

use ralph_core::engine::{GitSettings, OnDirty, RunSettings, dirt_of_others, own_files};
use ralph_core::git::{Git, Obstacle, Weight};
use ralph_core::project::Project;
use ralph_core::store::{RunStore, Scope, SqliteStore, StoreError};
use ralph_core::text::few;

use super::finding::{Check, Finding};
use crate::commands::run;
use crate::settings::Settings;

/// Files that a message names.
const NAMED: usize = 5;
const CLEAN: &str =
    "commit or stash the changes, or allow them: ralph config set git.on_dirty continue";
const ASK_GIT: &str = "fix what git reports, or change [git] in .ralph.toml";

/// What stands in the way; nothing where [git] asks for nothing or there is no repository.
pub fn findings(
    project: &Project,
    settings: &Settings,
    store: Option<&SqliteStore>,
) -> Vec<Finding> {
    let asked = run::run_settings(settings, Scope::All, &run::Args::default());
    let (Ok(settings), Some(git)) = (asked, Git::discover(project.root())) else {
        return Vec::new();
    };
    let wants = settings.git.wants();
    let mut findings: Vec<Finding> = match git.obstacles(wants) {
        Ok(obstacles) => {
            let switch = switch(&git, &settings.git);
            obstacles.iter().map(|one| told(one, switch)).collect()
        }
        Err(error) => vec![Finding::error(Check::Git, error.to_string(), ASK_GIT)],
    };
    if settings.git.on_dirty == OnDirty::Refuse && (wants.commits || wants.rolls_back) {
        findings.extend(dirt(git, &settings, project, store));
    }
    findings
}

/// Whether the run begins with a change of the branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Switch {
    Needed,
    None,
}

fn switch(git: &Git, settings: &GitSettings) -> Switch {
    match &settings.branch {
        Some(branch) if git.branch().as_ref() != Some(branch) => Switch::Needed,
        _ => Switch::None,
    }
}

/// What only hinders attempts stops a run that must change the branch first.
fn told(obstacle: &Obstacle, switch: Switch) -> Finding {
    let (message, fix) = (obstacle.to_string(), obstacle.mended_by());
    match (obstacle.weight(), switch) {
        (Weight::Hinders, Switch::None) => Finding::warning(Check::Git, message, fix),
        (Weight::Stops, _) | (_, Switch::Needed) => Finding::error(Check::Git, message, fix),
    }
}

/// Whether it is known whose uncommitted work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Others,
    /// A run that died, or an older plan, may say otherwise.
    Unsure,
}

/// Uncommitted changes where they are not wanted.
fn dirt(
    git: Git,
    settings: &RunSettings,
    project: &Project,
    store: Option<&SqliteStore>,
) -> Option<Finding> {
    let looked = look(git, settings, store);
    let (files, whose) = match looked {
        Ok(looked) => looked?,
        // What is wrong with the plan's file is said elsewhere.
        Err(_) => return None,
    };
    let whose = match store {
        None if project.database().exists() => Whose::Unsure,
        _ => whose,
    };
    if files.is_empty() {
        return None;
    }
    let message = format!(
        "the working tree has uncommitted changes: {}",
        few(&files, NAMED)
    );
    Some(match whose {
        Whose::Others => Finding::error(Check::Git, message, CLEAN),
        Whose::Unsure => {
            let message = format!("{message}; the next run checks whether they belong to a task");
            Finding::warning(Check::Git, message, CLEAN)
        }
    })
}

/// What is uncommitted; nothing where git cannot tell, for then a run does not mind.
fn look(
    git: Git,
    settings: &RunSettings,
    store: Option<&SqliteStore>,
) -> Result<Option<(Vec<String>, Whose)>, StoreError> {
    let own = match store {
        Some(store) => own_files(settings.agents_md.as_deref(), store)?,
        None => settings.agents_md.iter().cloned().collect(),
    };
    let Ok(tree) = git.without(own).snapshot() else {
        return Ok(None);
    };
    let Some(store) = store else {
        return Ok(Some((tree.dirty(), Whose::Others)));
    };
    let files = dirt_of_others(store, &settings.git, &tree)?;
    // Only once a claim is recorded as lost can it be told what its attempt left.
    let whose = match settings.git.wants().commits && !store.claims()?.is_empty() {
        true => Whose::Unsure,
        false => Whose::Others,
    };
    Ok(Some((files, whose)))
}
