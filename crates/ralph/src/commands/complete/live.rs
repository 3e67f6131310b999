//! What a project knows: names of tasks, learnings and runs, agents, models, settings. Read without a trace.

use std::cell::OnceCell;
use std::path::PathBuf;

use ralph_core::project;
use ralph_core::store::{NameStore, Named, Result, SqliteStore};

use super::grammar::Place;
use super::values::Candidate;
use crate::secrets::shown_words;
use crate::settings::keys::KEYS;
use crate::settings::{AGENT_FIELDS, Settings};
use crate::workspace::find;

/// Names asked for at once; more would help nobody.
const MOST: usize = 200;
/// Characters of one word of an agent's command.
const SHOWN: usize = 40;

/// The project a command line is about; it may not be there.
pub struct Project {
    root: Option<project::Project>,
    /// The agent that the command line names.
    agent: Option<String>,
    settings: OnceCell<Option<Settings>>,
}

impl Project {
    /// The one around here, or around the directory that the command line names.
    pub fn of(place: &Place<'_>) -> Self {
        let given = |id: &str| {
            let mut values = place.given.iter().rev();
            values
                .find(|(by, _)| *by == id)
                .map(|(_, value)| value.clone())
        };
        let dir = given("dir").map(|dir| below_home(&dir, std::env::home_dir()));
        Self {
            root: find(dir.as_deref()).ok(),
            agent: given("agent"),
            settings: OnceCell::new(),
        }
    }

    /// Keys and ids of tasks.
    pub fn tasks(&self, prefix: &str) -> Vec<Candidate> {
        self.names(|store| store.task_names(prefix, MOST))
    }

    /// Ids of learnings.
    pub fn learnings(&self, prefix: &str) -> Vec<Candidate> {
        self.names(|store| store.learning_names(prefix, MOST))
    }

    /// Ids of runs.
    pub fn runs(&self, prefix: &str) -> Vec<Candidate> {
        self.names(|store| store.run_names(prefix, MOST))
    }

    /// Names of agents, with their program.
    pub fn agents(&self) -> Vec<Candidate> {
        let Some(settings) = self.read() else {
            return Vec::new();
        };
        let agents = settings.agents.iter();
        agents
            .map(|(name, agent)| {
                let command = agent.setup.command.iter().map(String::as_str);
                Candidate {
                    word: name.clone(),
                    about: shown_words(command, SHOWN).join(" "),
                }
            })
            .collect()
    }

    /// Models of the agent that is named, else of the one that runs use.
    pub fn models(&self) -> Vec<Candidate> {
        let Some(settings) = self.read() else {
            return Vec::new();
        };
        let agent = self.agent.as_deref().or(settings.text("run", "agent"));
        let Some((name, agent)) = agent.and_then(|name| settings.agents.get_key_value(name)) else {
            return Vec::new();
        };
        let models = agent.setup.models.iter();
        models
            .map(|model| Candidate {
                word: model.clone(),
                about: name.clone(),
            })
            .collect()
    }

    /// Names of settings, with what they do.
    pub fn settings(&self) -> Vec<Candidate> {
        let plain = KEYS.iter().map(|key| Candidate {
            word: format!("{}.{}", key.section, key.name),
            about: key.doc.to_owned(),
        });
        let agents = self
            .read()
            .into_iter()
            .flat_map(|settings| settings.agents.keys());
        let of_agents = agents.flat_map(|name| {
            AGENT_FIELDS.iter().map(move |field| Candidate {
                word: format!("agents.{name}.{}", field.name),
                about: field.doc.to_owned(),
            })
        });
        plain.chain(of_agents).collect()
    }

    /// The settings; where they cannot be read, those that need no file.
    fn read(&self) -> Option<&Settings> {
        let load = || {
            let file = self
                .root
                .as_ref()
                .map(project::Project::config)
                .unwrap_or_default();
            Settings::load(&file, std::env::vars_os())
                .or_else(|_| Settings::defaults())
                .ok()
        };
        self.settings.get_or_init(load).as_ref()
    }

    fn names(&self, ask: impl FnOnce(&SqliteStore) -> Result<Vec<Named>>) -> Vec<Candidate> {
        let Some(root) = &self.root else {
            return Vec::new();
        };
        let store = SqliteStore::open_to_look(&root.database());
        let named = store.and_then(|store| ask(&store)).unwrap_or_default();
        named
            .into_iter()
            .map(|named| Candidate {
                word: named.name,
                about: named.about,
            })
            .collect()
    }
}

/// A directory as a shell would have it.
fn below_home(dir: &str, home: Option<PathBuf>) -> PathBuf {
    match (dir.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(dir),
    }
}
