//! The kinds of agents there are, and what is known of each before it is started.

use super::{Agent, Claude, Codex, CommandAgent, Gemini, Opencode, Setup};

/// What an agent speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AgentKind {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// OpenCode.
    Opencode,
    /// Any command.
    Command,
}

/// What is known of a kind before it is started.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The program, unless the settings name another.
    pub program: &'static str,
    /// The models, cheapest first, unless the settings name others. Without any the program chooses by its own settings.
    pub models: &'static [&'static str],
    /// The version whose stream this reader was tested with.
    pub tested: &'static str,
    /// The one command that installs it.
    pub install: &'static str,
    /// The one command, or step, that logs in.
    pub login: &'static str,
    /// Variables that may hold its credentials; one is enough.
    pub credential_variables: &'static [&'static str],
    /// Files that may hold them; one is enough.
    pub credential_files: &'static [CredentialFile],
}

/// Where a program may keep its credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CredentialFile {
    /// The variable that names another directory than `usual`.
    pub moved_by: &'static str,
    /// The directory below the home directory, if the variable names none; empty for the home directory itself.
    pub usual: &'static str,
    /// The file's path in that directory.
    pub file: &'static str,
}

impl AgentKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Opencode,
        Self::Command,
    ];

    /// The name in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Command => "command",
        }
    }

    /// Reads the name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// What is known of it; nothing of a command.
    pub fn facts(self) -> Option<&'static Facts> {
        match self {
            Self::Claude => Some(&super::claude::FACTS),
            Self::Codex => Some(&super::codex::FACTS),
            Self::Gemini => Some(&super::gemini::FACTS),
            Self::Opencode => Some(&super::opencode::FACTS),
            Self::Command => None,
        }
    }

    /// The agent as the settings want it.
    pub fn build(self, setup: Setup) -> Box<dyn Agent> {
        let setup = Setup {
            kind: Some(self),
            ..setup
        };
        match self {
            Self::Claude => Box::new(Claude::new(setup)),
            Self::Codex => Box::new(Codex::new(setup)),
            Self::Gemini => Box::new(Gemini::new(setup)),
            Self::Opencode => Box::new(Opencode::new(setup)),
            Self::Command => Box::new(CommandAgent::new(setup)),
        }
    }
}
