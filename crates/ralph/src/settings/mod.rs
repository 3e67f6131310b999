//! Settings in layers: flags win over the environment, that over an imported spec's state file, that over
//! `.ralph.toml`, that over defaults.

mod agents;
mod changes;
pub mod duration;
pub mod keys;
mod load;
pub mod save;
mod secrecy;
mod toml_error;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

#[cfg(test)]
pub use agents::FORMATS;
pub use agents::{AgentSettings, FIELDS as AGENT_FIELDS, build as build_agent, format_name};
pub use changes::{defaults_revision, notices};
use keys::KEYS;
pub use secrecy::{shown, shown_url};

use crate::command_error::CommandError;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Built in.
    Default,
    /// `.ralph.toml`.
    File {
        /// The line there, from 1.
        line: usize,
    },
    /// The state file of an imported spec.
    Spec(String),
    /// An environment variable.
    Environment(String),
    /// The command line.
    Flag,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { .. } => f.write_str(".ralph.toml"),
            Self::Spec(path) | Self::Environment(path) => f.write_str(path),
            Self::Flag => f.write_str("command line"),
        }
    }
}

impl Source {
    /// The line of `.ralph.toml`, if it comes from there.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::File { line } => Some(*line),
            _ => None,
        }
    }
}

/// A value that was checked against its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text, a choice or a path.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A duration.
    Duration(Duration),
    /// A flag.
    Flag(bool),
    /// A list of words.
    List(Vec<String>),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Count(n) => write!(f, "{n}"),
            Self::Number(n) => write!(f, "{n}"),
            Self::Duration(duration) => f.write_str(&duration::show(*duration)),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::List(words) => f.write_str(&words.join(", ")),
        }
    }
}

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The value; none where nothing sets it and there is no default.
    pub value: Option<Value>,
    /// Its layer.
    pub source: Source,
}

/// All settings in force.
#[derive(Clone, Debug)]
pub struct Settings {
    values: BTreeMap<(&'static str, &'static str), Setting>,
    /// What stood where a spec's state file had its say.
    below_spec: BTreeMap<(&'static str, &'static str), Setting>,
    /// The agents that can be used.
    pub agents: BTreeMap<String, AgentSettings>,
    /// What `.ralph.toml` says of each: its fields, and the line of each.
    agent_fields: BTreeMap<String, BTreeMap<String, usize>>,
}

impl Settings {
    /// Reads the file, if there is one, and the environment.
    pub fn load(
        file: &Path,
        environment: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<Self, CommandError> {
        load::parse(file, &load::read(file)?, environment)
    }

    /// The text of a settings file; empty where there is none.
    pub fn read(file: &Path) -> Result<String, CommandError> {
        load::read(file)
    }

    /// The settings if the file held this text.
    pub fn parse(
        file: &Path,
        text: &str,
        environment: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<Self, CommandError> {
        load::parse(file, text, environment)
    }

    /// What is in force where nothing sets anything.
    pub fn defaults() -> Result<Self, CommandError> {
        load::parse(Path::new(""), "", std::iter::empty())
    }

    /// The setting with that name.
    pub fn get(&self, section: &'static str, name: &'static str) -> Option<&Value> {
        self.values
            .get(&(section, name))
            .and_then(|setting| setting.value.as_ref())
    }

    /// Where the setting with that name comes from.
    pub fn source(&self, section: &'static str, name: &'static str) -> Option<&Source> {
        self.values
            .get(&(section, name))
            .map(|setting| &setting.source)
    }

    /// The settings without what a spec's state file says.
    #[must_use]
    pub fn without_spec(&self) -> Self {
        let mut bare = self.clone();
        for (key, below) in &self.below_spec {
            bare.values.insert(*key, below.clone());
        }
        bare.below_spec.clear();
        bare
    }

    /// Puts what a spec's state file says above `.ralph.toml` and below the rest.
    pub fn set_spec(
        &mut self,
        section: &'static str,
        name: &'static str,
        value: Value,
        path: &str,
    ) {
        let above = self
            .values
            .get(&(section, name))
            .is_some_and(|known| matches!(known.source, Source::Environment(_) | Source::Flag));
        if !above {
            let source = Source::Spec(path.to_owned());
            let value = Some(value);
            self.values
                .insert((section, name), Setting { value, source });
        }
    }

    /// Puts a flag's value above everything.
    pub fn set_flag(&mut self, section: &'static str, name: &'static str, value: Option<Value>) {
        if value.is_some() {
            self.values.insert(
                (section, name),
                Setting {
                    value,
                    source: Source::Flag,
                },
            );
        }
    }

    /// A text.
    pub fn text(&self, section: &'static str, name: &'static str) -> Option<&str> {
        match self.get(section, name) {
            Some(Value::Text(text)) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// A list of words.
    pub fn list(&self, section: &'static str, name: &'static str) -> &[String] {
        match self.get(section, name) {
            Some(Value::List(words)) => words,
            _ => &[],
        }
    }

    /// A whole number that fits 32 bits.
    pub fn count(&self, section: &'static str, name: &'static str) -> Option<u32> {
        match self.get(section, name) {
            Some(Value::Count(n)) => Some(u32::try_from(*n).unwrap_or(u32::MAX)),
            _ => None,
        }
    }

    /// A number.
    pub fn number(&self, section: &'static str, name: &'static str) -> Option<f64> {
        match self.get(section, name) {
            Some(Value::Number(n)) => Some(*n),
            _ => None,
        }
    }

    /// A duration.
    pub fn duration(&self, section: &'static str, name: &'static str) -> Option<Duration> {
        match self.get(section, name) {
            Some(Value::Duration(duration)) => Some(*duration),
            _ => None,
        }
    }

    /// A flag; off where nothing sets it.
    pub fn flag(&self, section: &'static str, name: &'static str) -> bool {
        matches!(self.get(section, name), Some(Value::Flag(true)))
    }

    /// Every setting in the order of documentation.
    pub fn all(&self) -> impl Iterator<Item = (&'static keys::Key, &Setting)> {
        KEYS.iter()
            .filter_map(|key| Some((key, self.values.get(&(key.section, key.name))?)))
    }

    /// Where a field of an agent comes from.
    pub fn agent_source(&self, agent: &str, field: &str) -> Source {
        let fields = self.agent_fields.get(agent);
        match fields.and_then(|fields| fields.get(field)) {
            Some(line) => Source::File { line: *line },
            None => Source::Default,
        }
    }

    /// The agent that runs use.
    pub fn agent(&self) -> &str {
        self.text("run", "agent").unwrap_or("claude")
    }

    /// The agents that runs use: the main agent, then its fallbacks in order.
    pub fn team(&self) -> Vec<&str> {
        let first = self.agent();
        let own = self.agents.get(first).map(|agent| &agent.fallback);
        let fallback = match self.list("run", "fallback") {
            [] => own.map(Vec::as_slice).unwrap_or_default(),
            wanted => wanted,
        };
        let mut names = vec![first];
        for name in fallback {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// Whether `.ralph.toml` speaks of an agent.
    pub fn is_configured(&self, agent: &str) -> bool {
        self.agent_fields.contains_key(agent)
    }
}
