//! The lines that news replace and put in.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::entry::{completed_key, flat, history_key, history_text, paragraph, written_key};
use super::layout::{Item, Layout, Section};
use super::model::News;
use super::place::{Belongs, Insertion, Spacing, at_end_of_list, at_start};
use crate::markdown::{Kind, bullet, is_rule};

const TITLE: &str = "# Progress";

/// All that is to be done to a log.
#[derive(Debug, Default)]
pub(super) struct Edits {
    /// New texts of lines, without line ends.
    pub(super) replaced: BTreeMap<usize, String>,
    pub(super) inserted: Vec<Insertion>,
}

/// A line of the log that belongs to one task.
struct Entry {
    key: String,
    text: String,
}

impl Edits {
    pub(super) fn of(layout: &Layout<'_>, news: &News) -> Self {
        let mut edits = Self::default();
        let completed = news.completed.iter().filter_map(|task| {
            let key = written_key(&task.key);
            task.text().map(|text| Entry { key, text })
        });
        edits.entries(layout, Section::Completed, completed, &completed_key);
        edits.current(layout, news.current.as_deref().unwrap_or_default());
        let history = news.fix_history.iter().filter_map(|history| {
            let key = written_key(&history.key);
            history_text(history).map(|text| Entry { key, text })
        });
        edits.entries(layout, Section::FixHistory, history, &history_key);
        edits.learnings(layout, &news.learnings);
        edits.title(layout);
        edits.inserted.sort_by_key(|one| (one.at, one.belongs));
        edits
    }

    pub(super) fn is_empty(&self) -> bool {
        self.replaced.is_empty() && self.inserted.is_empty()
    }

    /// One line for each task: replaced where it has one, else put at the end of the list.
    fn entries(
        &mut self,
        layout: &Layout<'_>,
        name: Section,
        entries: impl DoubleEndedIterator<Item = Entry>,
        key_of: &dyn Fn(&str) -> Option<&str>,
    ) {
        let mut lines = HashMap::new();
        for item in layout.items(name) {
            if let Some(key) = key_of(item.first) {
                lines.insert(key, item);
            }
        }
        let mut new = Vec::new();
        for entry in newest_of_each(entries) {
            match lines.get(entry.key.as_str()) {
                Some(item) => self.replace_item(layout, *item, &entry.text),
                None => new.push(format!("- {}", entry.text)),
            }
        }
        if !new.is_empty() {
            let is_entry = |item: &Item<'_>| key_of(item.first).is_some();
            self.inserted
                .push(at_end_of_list(layout, name, &is_entry, new));
        }
    }

    /// The first line of an item gets a new text; its marker and what hangs on it stay.
    fn replace_item(&mut self, layout: &Layout<'_>, item: Item<'_>, text: &str) {
        let line = layout.file.lines.get(item.start).map(|line| line.text);
        let marker = line.and_then(|line| line.chars().next()).unwrap_or('-');
        if flat(item.first) != text {
            self.replaced.insert(item.start, format!("{marker} {text}"));
        }
    }

    /// The section's first line is Ralph's if it is plain text or an item. A line of a fence, a
    /// quotation or the like cannot be replaced alone: Ralph's goes above it.
    fn current(&mut self, layout: &Layout<'_>, line: &str) {
        let line = paragraph(line);
        if line.is_empty() {
            return;
        }
        let span = layout.sections(Section::Current).next();
        let Some((at, first)) = span.and_then(|span| layout.first_content(span)) else {
            return self.inserted.push(at_start(layout, Section::Current, line));
        };
        match (first.kind, bullet(first.text)) {
            (Kind::Paragraph, _) if first.text.trim() == line => {}
            (Kind::Paragraph, _) => {
                self.replaced.insert(at, line);
            }
            (Kind::Bullet, Some(text)) if !text.trim().is_empty() => {
                let item = Item {
                    start: at,
                    end: at + 1,
                    first: text,
                };
                self.replace_item(layout, item, &line);
            }
            _ => self.inserted.push(at_start(layout, Section::Current, line)),
        }
    }

    fn learnings(&mut self, layout: &Layout<'_>, learnings: &[String]) {
        if learnings.is_empty() {
            return;
        }
        let known = layout.items(Section::Learnings);
        let mut known: HashSet<String> = known.map(|item| layout.item_text(item)).collect();
        let mut new = Vec::new();
        for learning in learnings {
            let text = flat(learning);
            if !text.is_empty() && known.insert(text.clone()) {
                new.push(bulleted(&text));
            }
        }
        if !new.is_empty() {
            let insertion = at_end_of_list(layout, Section::Learnings, &|_| true, new);
            self.inserted.push(insertion);
        }
    }

    /// A log that begins with Ralph's first words has a title.
    fn title(&mut self, layout: &Layout<'_>) {
        let is_blank = layout.file.lines.iter().all(|line| line.is_blank());
        if !self.inserted.is_empty() && is_blank && layout.file.tail.is_empty() {
            let title = Insertion {
                at: layout.file.lines.len(),
                belongs: Belongs::Own,
                spacing: Spacing::Apart,
                lines: vec![TITLE.to_owned()],
            };
            self.inserted.insert(0, title);
        }
    }
}

/// The last entry with each key, in their order.
fn newest_of_each(entries: impl DoubleEndedIterator<Item = Entry>) -> Vec<Entry> {
    let mut seen = HashSet::new();
    let newest = entries.rev().filter(|entry| seen.insert(entry.key.clone()));
    let mut newest: Vec<Entry> = newest.collect();
    newest.reverse();
    newest
}

/// A list item. `- --` would be a rule across the page.
fn bulleted(text: &str) -> String {
    let item = format!("- {text}");
    if is_rule(&item) {
        format!("+ {text}")
    } else {
        item
    }
}
