//! Insights worth telling later tasks.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::{Key, LearningId, TaskId, Timestamp};

/// An insight to be stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewLearning {
    /// Its category.
    pub category: String,
    /// What it is about, in one line, where somebody said.
    pub title: Option<String>,
    /// What to remember.
    pub content: String,
    /// What it is about, in keywords.
    pub tags: Vec<String>,
}

/// An insight as stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Learning {
    /// Its id.
    pub id: LearningId,
    /// Its category.
    pub category: String,
    /// What it is about, in one line, where somebody said.
    pub title: Option<String>,
    /// What to remember.
    pub content: String,
    /// What it is about, in keywords.
    pub tags: Vec<String>,
    /// When it was learnt.
    pub created_at: Timestamp,
    /// Whether it can be shown.
    pub state: LearningState,
    /// The task it comes from, while that exists.
    pub task_id: Option<TaskId>,
    /// That task's key.
    pub task_key: Option<Key>,
    /// Where it comes from.
    pub source: Source,
    /// A person wants it kept: never withheld, never pruned.
    pub pinned: bool,
    /// How often it stood in a prompt.
    pub shown: u64,
    /// When it last did.
    pub last_used_at: Option<Timestamp>,
    /// What came of it.
    #[serde(flatten)]
    pub record: Record,
    /// When it was pruned.
    pub pruned_at: Option<Timestamp>,
    /// What took its place.
    pub superseded_by: Option<LearningId>,
    /// It only repeated that one, which was there before.
    pub repeats: bool,
    /// When a person last brought it back.
    pub restored_at: Option<Timestamp>,
}

/// What came of showing a learning. Each task judges it once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Record {
    /// Tasks that were done with it.
    pub helpful: u64,
    /// Tasks that failed with it.
    pub harmful: u64,
    /// Of those, how many an attempt judged.
    #[serde(skip)]
    pub judged: u64,
    /// Of the judged ones, how many were to be expected done anyway.
    #[serde(skip)]
    pub expected: f64,
}

impl Record {
    /// Both records together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            helpful: counted(self.helpful, other.helpful),
            harmful: counted(self.harmful, other.harmful),
            judged: counted(self.judged, other.judged),
            expected: (self.expected + other.expected).min(f64::MAX),
        }
    }

    /// How many tasks judged the learning.
    #[must_use]
    pub fn tasks(self) -> u64 {
        self.helpful.saturating_add(self.harmful)
    }
}

/// The sum of two counters, as far as a database can hold it.
#[must_use]
pub fn counted(one: u64, other: u64) -> u64 {
    one.saturating_add(other).min(i64::MAX.unsigned_abs())
}

/// Whether a learning can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LearningState {
    /// It can.
    Active,
    /// It was put away.
    Pruned,
    /// Another one says it better, or says it for several.
    Superseded,
}

impl LearningState {
    /// The name people type.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Pruned => "pruned",
            Self::Superseded => "superseded",
        }
    }
}

impl fmt::Display for LearningState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Learning {
    /// Whether somebody chose these very words: a person wrote them, pinned them or brought them back.
    #[must_use]
    pub fn is_chosen_by_a_person(&self) -> bool {
        self.pinned || self.source.is_person() || self.restored_at.is_some()
    }
}

/// Where a learning comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// An agent's answer.
    #[default]
    Agent,
    /// A person, through a command.
    Human,
    /// A file of another project.
    Import,
    /// Several near-duplicates.
    Merge,
    /// A bullet in AGENTS.md.
    AgentsMd,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Agent,
        Self::Human,
        Self::Import,
        Self::Merge,
        Self::AgentsMd,
    ];

    /// Whether a person wrote it.
    pub fn is_person(self) -> bool {
        matches!(self, Self::Human | Self::AgentsMd)
    }

    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Human => "human",
            Self::Import => "import",
            Self::Merge => "merge",
            Self::AgentsMd => "agents_md",
        }
    }

    /// Reads the stored name; an unknown one is somebody else's and counts as imported.
    pub fn from_stored(text: &str) -> Self {
        text.parse().unwrap_or(Self::Import)
    }
}

/// A word that names no source.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a valid source: use agent, human, import, merge or agents_md")]
pub struct UnknownSource(String);

impl FromStr for Source {
    type Err = UnknownSource;

    fn from_str(text: &str) -> Result<Self, UnknownSource> {
        Self::ALL
            .into_iter()
            .find(|source| source.as_str() == text)
            .ok_or_else(|| UnknownSource(text.to_owned()))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
