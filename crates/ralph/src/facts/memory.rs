//! What is in memory and what came of it: the learnings shown most often, with the tasks they helped and harmed.

use ralph_core::model::Learning;
use ralph_core::store::{LearningUse, Store, StoreError};
use ralph_core::text::{first_sentence, one_line};
use serde::Serialize;

/// Learnings listed; the sums are over all.
const LISTED: usize = 200;
const NAME_CHARS: usize = 120;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemoryFacts {
    /// Active learnings.
    pub learnings: u64,
    /// Those that were in any prompt.
    pub ever_shown: u64,
    /// How often any was in a prompt.
    pub shown: u64,
    /// Tasks that were done with one in the prompt, summed over learnings.
    pub helped: u64,
    /// The same for tasks that failed.
    pub harmed: u64,
    /// Those shown most often, first.
    pub most_shown: Vec<LearningFacts>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LearningFacts {
    pub id: String,
    pub category: String,
    /// What it is about, in one line.
    pub name: String,
    pub content: String,
    pub pinned: bool,
    pub shown: u64,
    pub helped: u64,
    pub harmed: u64,
}

impl MemoryFacts {
    pub fn read(store: &Store) -> Result<Self, StoreError> {
        let sums = store.learning_sums()?;
        Ok(Self {
            learnings: sums.learnings,
            ever_shown: sums.ever_shown,
            shown: sums.shown,
            helped: sums.helpful,
            harmed: sums.harmful,
            most_shown: store.most_shown_learnings(LISTED)?.into_iter().map(LearningFacts::from).collect(),
        })
    }
}

impl From<LearningUse> for LearningFacts {
    fn from(of: LearningUse) -> Self {
        let LearningUse { id, category, title, content, pinned, shown, helpful, harmful } = of;
        let name = name(title.as_deref(), &content);
        Self { id, category, name, content, pinned, shown, helped: helpful, harmed: harmful }
    }
}

impl From<Learning> for LearningFacts {
    fn from(of: Learning) -> Self {
        Self {
            id: of.id.to_string(),
            category: of.category,
            name: name(of.title.as_deref(), &of.content),
            content: of.content,
            pinned: of.pinned,
            shown: of.shown,
            helped: of.record.helpful,
            harmed: of.record.harmful,
        }
    }
}

fn name(title: Option<&str>, content: &str) -> String {
    let sentence = || first_sentence(content);
    one_line(title.map(str::to_owned).or_else(sentence).as_deref().unwrap_or(content), NAME_CHARS)
}
