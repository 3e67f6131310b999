//! What `ralph init` finds in and around a directory.

use std::path::{Path, PathBuf};

use ralph_core::files::{Limit, Links, read_text};
use ralph_core::git::{Git, Wants, Weight};
use ralph_core::which::{find, search_path};
use serde::Serialize;

use super::detect::{Detected, Listing, READ, detect};
use crate::command_error::CommandError;
use crate::commands::doctor::agents::is_installed;
use crate::commands::doctor::credentials;
use crate::settings::Settings;

/// Entries of a directory that are looked at; a directory with more is not listed to its end.
const MOST_ENTRIES: usize = 10_000;

/// Everything that is found.
#[derive(Debug, Serialize)]
pub struct Survey {
    /// Language and tests.
    #[serde(flatten)]
    pub project: Detected,
    /// The program of the test command, where it is not installed.
    pub missing_program: Option<String>,
    /// Whether the directory is in a git repository.
    pub git: bool,
    /// What would keep Ralph from committing there, and what to do about it.
    pub git_problem: Option<String>,
    /// The agents Ralph knows.
    pub agents: Vec<AgentHere>,
    /// Whether there is an AGENTS.md already.
    pub agents_md: bool,
}

/// An agent on this machine.
#[derive(Clone, Debug, Serialize)]
pub struct AgentHere {
    /// Its name in the settings.
    pub name: String,
    /// Whether its program is there.
    pub installed: bool,
    /// Whether credentials are seen; an agent may have others, in a keychain for instance.
    pub logged_in: bool,
    /// The command that installs it.
    #[serde(skip)]
    pub install: &'static str,
    /// The command or step that logs in.
    #[serde(skip)]
    pub login: &'static str,
}

impl Survey {
    /// Looks around.
    pub fn of(root: &Path) -> Result<Self, CommandError> {
        let project = detect(&list(root));
        let command = project.test_command.as_deref();
        let missing_program = command.and_then(|command| missing_program(command, root));
        let git = Git::discover(root);
        Ok(Self {
            missing_program,
            git_problem: git.as_ref().and_then(problem),
            git: git.is_some(),
            agents: agents(root)?,
            agents_md: root.join("AGENTS.md").exists(),
            project,
        })
    }

    /// The test command, if it can be started here.
    pub fn test_command(&self) -> Option<&str> {
        let command = self.project.test_command.as_deref();
        command.filter(|_| self.missing_program.is_none())
    }

    /// The agent to suggest: the first that is installed and logged in, else the first that is installed.
    pub fn agent(&self) -> Option<&AgentHere> {
        let mut installed = self.agents.iter().filter(|agent| agent.installed);
        installed
            .clone()
            .find(|agent| agent.logged_in)
            .or_else(|| installed.next())
    }
}

fn agents(root: &Path) -> Result<Vec<AgentHere>, CommandError> {
    let known = Settings::defaults()?.agents;
    let here = known.iter().map(|(name, agent)| {
        let facts = agent.kind.facts();
        AgentHere {
            name: name.clone(),
            installed: is_installed(agent, root),
            logged_in: credentials::seen(agent).is_some_and(|seen| !seen.is_empty()),
            install: facts.map_or("", |facts| facts.install),
            login: facts.map_or("", |facts| facts.login),
        }
    });
    Ok(here.collect())
}

/// Why a run that commits could not start.
fn problem(git: &Git) -> Option<String> {
    let wants = Wants {
        commits: true,
        rolls_back: false,
        branch: None,
    };
    let obstacles = git.obstacles(wants).ok()?;
    let mut stopping = obstacles
        .iter()
        .filter(|obstacle| obstacle.weight() == Weight::Stops);
    let obstacle = stopping.next()?;
    Some(format!("{obstacle}; to fix it: {}", obstacle.mended_by()))
}

/// The program of a command line, where it is not there.
pub fn missing_program(command: &str, root: &Path) -> Option<String> {
    let mut words = command.split_whitespace();
    // `CI=1 npm test` starts npm.
    let program = words.find(|word| !word.contains('='))?;
    let is_plain = |c: char| c.is_alphanumeric() || "._-/+".contains(c);
    // What only a shell understands is left to the shell.
    let is_missing = program.chars().all(is_plain)
        && !BUILT_IN.contains(&program)
        && find(program, root, search_path().as_ref()).is_none();
    is_missing.then(|| program.to_owned())
}

/// Words that a shell knows itself.
const BUILT_IN: [&str; 12] = [
    "test", "true", "false", "cd", "set", "exec", "command", ".", "if", "for", "while", "export",
];

fn list(root: &Path) -> Listing {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let names = entries
        .take(MOST_ENTRIES)
        .filter_map(|entry| entry.file_name().into_string().ok());
    let mut listing = Listing {
        names: names.collect(),
        ..Listing::default()
    };
    for name in READ {
        let path: PathBuf = root.join(name);
        if listing.names.contains(name)
            && let Ok(text) = read_text(&path, Links::Follow, Limit::SETTINGS)
        {
            listing.texts.insert(name.to_owned(), text);
        }
    }
    listing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let root = Path::new("/");
        for (command, missing) in [
            ("sh -c x", None),
            ("CI=1 sh", None),
            ("no-such-program test", Some("no-such-program")),
            ("CI=1 ./no-such-program", Some("./no-such-program")),
            ("test -f x", None),
            ("(no-such-program)", None),
            ("", None),
        ] {
            assert_eq!(
                missing_program(command, root).as_deref(),
                missing,
                "{command}"
            );
        }
    }
}
