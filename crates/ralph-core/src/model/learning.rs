//! Insights worth telling later tasks.

use serde::{Deserialize, Serialize};

use super::{Key, LearningId, TaskId, Timestamp};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewLearning {
    pub category: String,
    /// What it is about, in one line, where somebody said.
    pub title: Option<String>,
    pub content: String,
    /// What it is about, in keywords.
    pub tags: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Learning {
    pub id: LearningId,
    pub category: String,
    /// What it is about, in one line, where somebody said.
    pub title: Option<String>,
    pub content: String,
    /// What it is about, in keywords.
    pub tags: Vec<String>,
    pub created_at: Timestamp,
    pub state: LearningState,
    /// The task it comes from, while that exists.
    pub task_id: Option<TaskId>,
    pub task_key: Option<Key>,
    pub source: Source,
    /// A person wants it kept: never withheld, never pruned.
    pub pinned: bool,
    pub shown: u64,
    pub last_used_at: Option<Timestamp>,
    #[serde(flatten)]
    pub record: Record,
    pub pruned_at: Option<Timestamp>,
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
    pub fn plus(self, other: Self) -> Self {
        Self {
            helpful: counted(self.helpful, other.helpful),
            harmful: counted(self.harmful, other.harmful),
            judged: counted(self.judged, other.judged),
            expected: (self.expected + other.expected).min(f64::MAX),
        }
    }

    pub fn tasks(self) -> u64 {
        self.helpful.saturating_add(self.harmful)
    }
}

/// The sum of two counters, as far as a database can hold it.
pub fn counted(one: u64, other: u64) -> u64 {
    one.saturating_add(other).min(i64::MAX.unsigned_abs())
}

names! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum LearningState {
        Active => "active",
        Pruned => "pruned",
        /// Another one says it better, or says it for several.
        Superseded => "superseded",
    }
}

impl Learning {
    /// Whether somebody chose these very words: a person wrote them, pinned them or brought them back.
    pub fn is_chosen_by_a_person(&self) -> bool {
        self.pinned || self.source.is_person() || self.restored_at.is_some()
    }
}

names! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Source as "a valid source" {
        #[default]
        Agent => "agent",
        /// A person, through a command.
        Human => "human",
        /// A file of another project.
        Import => "import",
        Merge => "merge",
        AgentsMd => "agents_md",
    }
}

impl Source {
    pub fn is_person(self) -> bool {
        matches!(self, Self::Human | Self::AgentsMd)
    }

    /// Reads the stored name; an unknown one is somebody else's and counts as imported.
    pub fn from_stored(text: &str) -> Self {
        Self::parse(text).unwrap_or(Self::Import)
    }
}
