//! The machine: git and whether it is ready for what [git] asks of it, disk, clock.

use std::path::Path;
use std::time::Duration;

use ralph_core::agent::Interrupt;
use ralph_core::engine::{OnDirty, RunSettings, changes_of_others, own_files};
use ralph_core::git::{Git, GitError, RemoteFault, Wants, Weight};
use ralph_core::model::Timestamp;
use ralph_core::project::Project;
use ralph_core::store::{Scope, Store, StoreError};
use ralph_core::text::few;
use ralph_core::which::{find, search_path};

use super::Finding;
use super::agents::ask_version;
use crate::command_error::shell_path;
use crate::commands::run;
use crate::settings::Settings;
use crate::ui::format::{age, bytes, time};
use crate::workspace::now;

const NAMED: usize = 5;
const CLEAN: &str = "commit or stash the changes, or allow them: ralph config set git.on_dirty continue";
const ASK_GIT: &str = "fix what git reports, or change [git] in .ralph.toml";

const LITTLE: u64 = 1_000_000_000;
const TOO_LITTLE: u64 = 50_000_000;

/// Clocks are adjusted a little all the time.
const CLOCK_SLACK: Duration = Duration::from_secs(120);

pub fn findings(
    root: &Path,
    project: Option<&Project>,
    store: Option<&Store>,
    interrupt: &Interrupt,
) -> Vec<Finding> {
    let dir = project.map(Project::ralph_dir).filter(|dir| dir.is_dir());
    let newest = store.and_then(|store| store.newest_attempts(1).ok());
    let newest = newest.and_then(|attempts| attempts.first().map(|attempt| attempt.started_at));
    vec![
        git(root, project.map(Project::root), interrupt),
        disk(dir.as_deref().unwrap_or(root)),
        clock(now(), newest),
    ]
}

/// Whether git is there, and whether the project is in a repository: what attempts change is seen through it.
fn git(dir: &Path, project: Option<&Path>, interrupt: &Interrupt) -> Finding {
    if find("git", dir, search_path().as_ref()).is_none() {
        let message = "git is not installed: Ralph cannot see what attempts change";
        return Finding::warning("git", message, "install git");
    }
    let version = match ask_version(&["git".to_owned()], &[], dir, interrupt) {
        Ok(version) => version,
        Err(why) => return Finding::warning("git", format!("git --version: {why}"), "git --version"),
    };
    match project {
        Some(root) if Git::discover(root).is_none() => Finding::warning(
            "git",
            format!("{version}; not a repository: Ralph cannot see what attempts change"),
            format!("git init {}", shell_path(root)),
        ),
        _ => Finding::ok("git", version),
    }
}

/// What would stop a run at its start; nothing where [git] asks for nothing or there is no repository.
pub fn git_obstacles(project: &Project, settings: &Settings, store: Option<&Store>) -> Vec<Finding> {
    let settings = run::run_settings(settings, Scope::All, &run::Args::default());
    let Some(git) = Git::discover(project.root()) else { return Vec::new() };
    let remote = settings.git.remote.as_deref();
    let wants = match remote {
        // What is checked out here is not worked in.
        Some(_) => Wants { commits: true, elsewhere: true, ..settings.git.wants() },
        None => settings.git.wants(),
    };
    let branch = settings.git.branch.as_ref().filter(|_| remote.is_none());
    let switches = branch.is_some_and(|branch| git.branch().as_ref() != Some(branch));
    let mut findings = Vec::new();
    match git.obstacles(wants) {
        Err(error) => findings.push(Finding::error("git", error.to_string(), ASK_GIT)),
        Ok(obstacles) => findings.extend(obstacles.iter().map(|obstacle| {
            let (message, fix) = (obstacle.to_string(), obstacle.fix());
            // What only hinders attempts stops a run that must switch the branch first.
            match obstacle.weight() {
                Weight::Hinders if !switches => Finding::warning("git", message, fix),
                _ => Finding::error("git", message, fix),
            }
        })),
    }
    findings.extend(remote.map(|remote| remote_finding(&git, remote, &settings)));
    if settings.git.on_dirty == OnDirty::Refuse && (wants.commits || wants.rolls_back) {
        // What is wrong with the plan's file is said elsewhere.
        findings.extend(dirt(git, &settings, project, store).ok().flatten());
    }
    findings
}

/// Whether work can land on the remote, as far as that can be told without a push.
fn remote_finding(git: &Git, remote: &str, settings: &RunSettings) -> Finding {
    const NAME: &str = "git";
    let known = git.has_remote(remote).and_then(|is_known| match is_known {
        true => git.check_remote(remote),
        false => Err(RemoteFault::Unknown(remote.to_owned()).into()),
    });
    match known {
        Ok(()) => {
            Finding::ok(NAME, format!("{remote} answers; work lands on its {}", settings.git.shared_branch()))
        }
        Err(error) => {
            let (why, fix) =
                (format!("{remote}: {error}"), error.remedy().unwrap_or_else(|| ASK_GIT.to_owned()));
            match error {
                // It may answer when the run begins.
                GitError::Remote(RemoteFault::Unreachable { .. }) => Finding::warning(NAME, why, fix),
                _ => Finding::error(NAME, why, fix),
            }
        }
    }
}

/// Uncommitted changes where they are not wanted; nothing where git cannot tell, for then a run does not mind.
fn dirt(
    git: Git,
    settings: &RunSettings,
    project: &Project,
    store: Option<&Store>,
) -> Result<Option<Finding>, StoreError> {
    let own = match store {
        Some(store) => own_files(settings.agents_md.as_deref(), store)?,
        None => settings.agents_md.iter().cloned().collect(),
    };
    let Ok(tree) = git.without(own).snapshot() else { return Ok(None) };
    let (files, is_sure) = match store {
        None => (tree.dirty(), !project.database().exists()),
        Some(store) => {
            // Only once a claim is recorded as lost can it be told what its attempt left.
            let is_sure = !settings.git.wants().commits || store.claims()?.is_empty();
            (changes_of_others(store, &settings.git, &tree)?, is_sure)
        }
    };
    if files.is_empty() {
        return Ok(None);
    }
    let message = format!("the working tree has uncommitted changes: {}", few(&files, NAMED));
    let unsure = format!("{message}; the next run checks whether they belong to a task");
    Ok(Some(match is_sure {
        true => Finding::error("git", message, CLEAN),
        false => Finding::warning("git", unsure, CLEAN),
    }))
}

fn disk(path: &Path) -> Finding {
    match rustix::fs::statvfs(path) {
        Ok(room) => free_space(room.f_bavail.saturating_mul(room.f_frsize), path),
        Err(error) => {
            let message = format!("cannot read free space: {error}");
            Finding::warning("disk", message, format!("df {}", shell_path(path)))
        }
    }
}

fn free_space(free: u64, path: &Path) -> Finding {
    let left = format!("{} free", bytes(free));
    let fix = format!("free some space; see usage: df -h {}", shell_path(path));
    match free {
        ..TOO_LITTLE => Finding::error("disk", format!("{left}: too little for a run"), fix),
        TOO_LITTLE..LITTLE => Finding::warning("disk", format!("{left}: running low"), fix),
        _ => Finding::ok("disk", left),
    }
}

/// Whether now is after what was recorded last: time that went back would put new attempts before old ones.
fn clock(now: Timestamp, newest: Option<Timestamp>) -> Finding {
    match newest {
        Some(newest) if newest.since(now) > CLOCK_SLACK => Finding::warning(
            "clock",
            format!(
                "the clock says {}, but an attempt was recorded at {}, {} later",
                time(now),
                time(newest),
                age(newest.since(now))
            ),
            "set the clock: timedatectl",
        ),
        _ => Finding::ok("clock", format!("{} local time", time(now))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn little_is_a_warning_and_too_little_an_error() {
        for (free, level) in [
            (1_000_000_000, Level::Ok),
            (999_999_999, Level::Warning),
            (50_000_000, Level::Warning),
            (49_999_999, Level::Error),
            (0, Level::Error),
        ] {
            assert_eq!(free_space(free, Path::new("/x")).level, level, "{free}");
        }
        assert_eq!(free_space(12_300_000_000, Path::new("/x")).message, "12.3 GB free");
    }

    #[test]
    fn time_that_went_back_is_noticed() {
        let now = Timestamp::from_secs(1_000_000);
        let level = |newest: Option<i64>| clock(now, newest.map(Timestamp::from_secs)).level;
        assert_eq!(level(None), Level::Ok);
        assert_eq!(level(Some(999_000)), Level::Ok);
        assert_eq!(level(Some(1_000_060)), Level::Ok);
        assert_eq!(level(Some(1_007_200)), Level::Warning);
        let message = clock(now, Some(Timestamp::from_secs(1_007_200))).message;
        assert!(message.ends_with("2 h later"), "{message}");
    }
}
