//! What goes into a new `.ralph.toml`.

use serde_json::{Map, Value, json};

use super::survey::Survey;

/// What the settings will say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// The agent, if one was found or named.
    pub agent: Option<String>,
    /// The gate of tasks that have none of their own.
    pub verify: Option<String>,
    /// Whether finished work is committed.
    pub commit: bool,
    /// Whether AGENTS.md is kept.
    pub agents_md: bool,
}

impl Choices {
    /// Nothing but the defaults.
    pub const DEFAULT: Self = Self {
        agent: None,
        verify: None,
        commit: false,
        agents_md: true,
    };

    /// What was found suggests.
    pub fn of(survey: &Survey) -> Self {
        Self {
            agent: survey.agent().map(|agent| agent.name.clone()),
            verify: survey.test_command().map(str::to_owned),
            commit: survey.git,
            agents_md: true,
        }
    }

    /// What differs from the defaults: table, key, value, and what it means.
    fn lines(&self) -> Vec<(&'static str, &'static str, Value, &'static str)> {
        let mut lines = Vec::new();
        if let Some(agent) = self.agent.as_deref().filter(|agent| *agent != "claude") {
            lines.push(("run", "agent", json!(agent), ""));
        }
        if let Some(verify) = &self.verify {
            let meaning = "the gate of every task that has none of its own";
            lines.push(("gate", "verify", json!(verify), meaning));
        }
        if self.commit {
            let meaning = "commit the work of each finished task";
            lines.push(("git", "commit", json!("on-success"), meaning));
        }
        if !self.agents_md {
            lines.push(("memory", "agents_md", json!(false), ""));
        }
        lines
    }

    /// The settings by name, for programs.
    pub fn settings(&self) -> Map<String, Value> {
        let lines = self.lines().into_iter();
        lines
            .map(|(table, key, value, _)| (format!("{table}.{key}"), value))
            .collect()
    }

    /// The file. It has a table only where it sets something: a table can be there once, and people paste others below.
    pub fn text(&self) -> String {
        let mut text = String::from(
            "# Ralph's settings for this project. `ralph config show --all` lists every setting and its default,\n\
             # `ralph config set KEY VALUE` changes one.\n",
        );
        for (table, key, value, meaning) in self.lines() {
            let value = match &value {
                Value::String(text) => toml_edit::Value::from(text).to_string(),
                other => other.to_string(),
            };
            let comment = match meaning {
                "" => String::new(),
                meaning => format!("   # {meaning}"),
            };
            text.push_str(&format!("\n[{table}]\n{key} = {value}{comment}\n"));
        }
        text
    }
}
