//! `### Learnings from Previous Iterations`: a few, best first, each whole or not at all.

use super::explain::LeftOut;
use super::input::ShownLearning;
use super::measure::chars;
use super::neutral::inert_line;
use super::section::Section;

/// The section's title.
pub(super) const TITLE: &str = "Learnings from Previous Iterations";

/// The learnings as lines, within the limit on their number.
#[derive(Clone, Debug)]
pub(super) struct Learnings {
    head: String,
    entries: Vec<Entry>,
    over_limit: Vec<LeftOut>,
}

#[derive(Clone, Debug)]
struct Entry {
    id: String,
    line: String,
    size: usize,
}

impl Learnings {
    pub(super) fn new(learnings: &[ShownLearning], max: usize) -> Self {
        let said = |learning: &&ShownLearning| !learning.content.trim().is_empty();
        let entries = learnings
            .iter()
            .filter(said)
            .take(max)
            .map(Entry::new)
            .collect();
        let why = format!("more than {max} learnings");
        let beyond = learnings.iter().filter(said).skip(max);
        Self {
            head: format!("\n### {TITLE}\n\n"),
            entries,
            over_limit: beyond
                .map(|l| LeftOut::new(name(&l.id), why.clone()))
                .collect(),
        }
    }

    /// Whether there is anything to show or to explain.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.over_limit.is_empty()
    }

    /// The size with every learning in it.
    pub(super) fn demand(&self) -> usize {
        if self.entries.is_empty() {
            return 0;
        }
        let lines = self.entries.iter().map(|entry| entry.size).sum::<usize>();
        chars(&self.head).saturating_add(lines)
    }

    /// The section and the ids it shows. One that does not fit makes way for a later one that does.
    pub(super) fn render(&self, room: usize) -> (Section, Vec<String>) {
        let mut left = room.saturating_sub(chars(&self.head));
        let mut section = Section::default();
        let mut shown = Vec::new();
        for entry in &self.entries {
            if entry.size > left {
                section
                    .left_out
                    .push(LeftOut::no_room(name(&entry.id), entry.size, left));
                continue;
            }
            if shown.is_empty() {
                section.text.clone_from(&self.head);
            }
            left -= entry.size;
            section.text.push_str(&entry.line);
            shown.push(entry.id.clone());
        }
        section.left_out.extend(self.over_limit.iter().cloned());
        (section, shown)
    }
}

impl Entry {
    fn new(learning: &ShownLearning) -> Self {
        let category = inert_line(&learning.category);
        let line = format!("- **[{category}]** {}\n", inert_line(&learning.content));
        Self {
            id: learning.id.clone(),
            size: chars(&line),
            line,
        }
    }
}

fn name(id: &str) -> String {
    format!("learning {id}")
}
