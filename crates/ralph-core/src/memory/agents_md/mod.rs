//! The four sections of AGENTS.md that Ralph keeps, in a file that people and their agents also
//! write: text in, text out.
//!
//! ```text
//! file ─► lines (what Markdown makes of each) ─► layout (owned sections, their parts, list items)
//!           ├─► read:  bullets and names of failure entries
//!           └─► write: take out what is to go ─► put in what is missing
//! ```
//!
//! Nothing is rendered anew: what `write` does not take out or put in stays byte for byte. What is
//! already there is left alone, so writing the same again changes nothing.

mod layout;
mod sync;
mod texts;
mod write;

#[cfg(test)]
mod tests;

use crate::model::names;
use layout::Layout;

pub use sync::{Known, LastWrite, Situation, SyncPlan, category_and_tags, collapsed, place, reconcile};
pub use texts::bullet_text;
pub use write::write;

/// Finds the owned sections of a file, their bullets and whose failure entries they hold.
pub fn read(file: &str) -> Found {
    let layout = Layout::of(file);
    let mut found = Found::default();
    for section in &layout.sections {
        if !found.sections.contains(&section.name) {
            found.sections.push(section.name);
        }
    }
    let mut names = std::collections::HashSet::new();
    for (section, part, block) in layout.blocks() {
        match &block.entry_name {
            Some(name) if names.insert(name) => found.entry_names.push(name.clone()),
            Some(_) => {}
            None if block.text.is_empty() => {}
            None => found.bullets.push(Bullet {
                place: Place { section: section.name, phase: section.bullet_phase(part).label() },
                text: block.text.to_string(),
            }),
        }
    }
    found
}

names! {
    /// The sections, in the order in which they are added to a file, each with its title.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Section {
        /// Pitfalls and how to get past them.
        ErrorFixes => "Error Fixes",
        /// How this codebase does things.
        CodebasePatterns => "Codebase Patterns",
        /// Learnings given for a phase.
        PhaseSpecific => "Phase-Specific",
        /// What failed in phases that are not over.
        FailureContext => "Failure Context",
    }
}

impl Section {
    pub fn heading(self) -> String {
        format!("## {self}")
    }

    pub fn title(self) -> &'static str {
        self.as_str()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    pub section: Section,
    /// The phase (`12`, `2.1`) whose subsection of `PhaseSpecific` it is; elsewhere it is ignored.
    pub phase: Option<String>,
}

/// A list item that is not a failure entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bullet {
    pub place: Place,
    /// What it says, without marker and indent; see [`super::bullet_text`].
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The task's key, or its id where it has none.
    pub name: String,
    /// When it failed: `YYYY-MM-DD HH:MM:SS`.
    pub at: String,
    /// How many equal failures the entry stands for.
    pub times: u32,
    pub error: String,
    pub attempted: String,
    pub files: Vec<String>,
    pub context: String,
    pub last_good: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseEntries {
    /// The phase; without one they stand under `### No phase:`.
    pub phase: Option<String>,
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The owned sections that are there, in file order.
    pub sections: Vec<Section>,
    /// Their bullets in file order, without failure entries and empty ones.
    pub bullets: Vec<Bullet>,
    /// The distinct names of failure entries, in file order.
    pub entry_names: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub bullets: Vec<Bullet>,
    /// Bullets that must go; one without a phase goes from every phase. A bullet that is also
    /// wanted at the same place stays.
    pub remove: Vec<Bullet>,
    pub failures: Vec<PhaseEntries>,
}
