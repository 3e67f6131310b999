//! A finding: one fact, how bad it is, and how to fix it.

use ralph_core::text::{mask_secrets, one_line};
use serde::Serialize;

/// Characters of a message or a line of detail.
const LENGTH: usize = 600;

/// What was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The program git, and the repository.
    Git,
    /// Room on the disk.
    Disk,
    /// What could confine an agent.
    Sandbox,
    /// The time of day.
    Clock,
    /// The agent that runs use.
    Agent,
    /// The other agents.
    Agents,
    /// What Ralph adds to the agent's command line.
    Launch,
    /// Keys and logins.
    Credentials,
    /// The project itself.
    Project,
    /// `.ralph.toml` and the environment.
    Settings,
    /// The plan's file.
    Database,
    /// Who may read and write what.
    Permissions,
    /// Tasks that somebody holds.
    Claims,
    /// Runs that never ended.
    Runs,
    /// Processes that outlived their run.
    Processes,
    /// The file that agents read.
    AgentsMd,
    /// What there is to do.
    Plan,
    /// The commands that decide whether tasks are done.
    Gates,
}

impl Check {
    /// The name in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Git => "git",
            Self::Disk => "disk",
            Self::Sandbox => "sandbox",
            Self::Clock => "clock",
            Self::Agent => "agent",
            Self::Agents => "agents",
            Self::Launch => "launch",
            Self::Credentials => "credentials",
            Self::Project => "project",
            Self::Settings => "settings",
            Self::Database => "database",
            Self::Permissions => "permissions",
            Self::Claims => "claims",
            Self::Runs => "runs",
            Self::Processes => "processes",
            Self::AgentsMd => "agents_md",
            Self::Plan => "plan",
            Self::Gates => "gates",
        }
    }

    /// The heading it stands under.
    pub fn group(self) -> &'static str {
        match self {
            Self::Git | Self::Disk | Self::Sandbox | Self::Clock => "Machine",
            Self::Agent | Self::Agents | Self::Launch | Self::Credentials => "Agents",
            Self::Project
            | Self::Settings
            | Self::Database
            | Self::Permissions
            | Self::Claims
            | Self::Runs
            | Self::Processes
            | Self::AgentsMd
            | Self::Plan
            | Self::Gates => "Project",
        }
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be, or good to know.
    Ok,
    /// A run works, but not as well as it could.
    Warning,
    /// A run would not work.
    Error,
}

/// A fact.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub check: Check,
    /// How bad it is.
    pub level: Level,
    /// What was found.
    pub message: String,
    /// How to fix it.
    pub fix: Option<String>,
    /// More about it, in lines.
    pub detail: Vec<String>,
}

impl Finding {
    /// As it should be.
    pub fn ok(check: Check, message: impl AsRef<str>) -> Self {
        Self {
            check,
            level: Level::Ok,
            message: plain(message.as_ref()),
            fix: None,
            detail: Vec::new(),
        }
    }

    /// Worth fixing.
    pub fn warning(check: Check, message: impl AsRef<str>, fix: impl AsRef<str>) -> Self {
        Self {
            level: Level::Warning,
            fix: Some(plain(fix.as_ref())),
            ..Self::ok(check, message)
        }
    }

    /// To be fixed before a run.
    pub fn error(check: Check, message: impl AsRef<str>, fix: impl AsRef<str>) -> Self {
        Self {
            level: Level::Error,
            ..Self::warning(check, message, fix)
        }
    }

    /// With more about it.
    pub fn with(mut self, detail: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let lines = detail.into_iter().map(|line| plain(line.as_ref()));
        self.detail.extend(lines.filter(|line| !line.is_empty()));
        self
    }
}

/// Programs and files have a say in messages: nothing hides in them, and no secret shows.
fn plain(text: &str) -> String {
    one_line(&mask_secrets(text), LENGTH)
}
