//! The log of a spec, `.progress.md`: text in, text out.
//!
//! Nothing is rendered anew: what [`update`] does not replace or put in stays byte for byte, and what
//! is already there is left alone, so the same news again change nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::markdown::{
    Insertion, Kind, Line, Lines, Spacing, bullet, bulleted, checkbox, commonest_line_end, numbered,
};
use crate::recovery::FixHistory;
use crate::text::one_line;

const TITLE: &str = "# Progress";

/// What is to stand in the log. What is not named here is not touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Finished tasks; each has one line, the newest counts.
    pub completed: Vec<Completed>,
    /// The line that says which task is under way.
    pub current: Option<String>,
    /// How the fixes of tasks ended; each task has one line, one without fixes has none.
    pub fix_history: Vec<FixHistory>,
    /// What was learned; nothing is written twice.
    pub learnings: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completed {
    /// Its key, or its id where it has none.
    pub key: String,
    pub title: String,
    pub commit: Option<String>,
}

/// The log with the news in it; an empty text is a log that does not exist yet.
pub fn update(text: &str, news: &News) -> String {
    let layout = Layout::of(text);
    let Edits { replaced, inserted } = Edits::of(&layout, news);
    match replaced.is_empty() && inserted.is_empty() {
        true => text.to_owned(),
        false => layout.file.spliced(&replaced, &inserted, commonest_line_end(text)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Completed,
    Current,
    FixHistory,
    Learnings,
}

impl Section {
    /// In the order in which they stand in a log.
    const ALL: [(Self, &'static str); 4] = [
        (Self::Completed, "Completed Tasks"),
        (Self::Current, "Current Task"),
        (Self::FixHistory, "Fix Task History"),
        (Self::Learnings, "Learnings"),
    ];

    fn begun_by(line: &Line<'_>) -> Option<Self> {
        let (level, words) = line.heading()?;
        let words = words.trim_end_matches(':').trim_end();
        let mut all = Self::ALL.into_iter();
        all.find(|(_, title)| level == 2 && title.eq_ignore_ascii_case(words)).map(|(section, _)| section)
    }
}

#[derive(Debug)]
struct Span<'a> {
    name: Section,
    heading: usize,
    /// The line after its last.
    end: usize,
    items: Vec<Item<'a>>,
}

/// A list item with some text, its marker at column 0. What is indented below it belongs to it, and text that goes on without
/// an indent.
#[derive(Clone, Copy, Debug)]
struct Item<'a> {
    start: usize,
    /// The line after its last.
    end: usize,
    line: &'a str,
    /// What stands after the marker on it.
    first: &'a str,
}

/// A log's lines and the known sections in them.
struct Layout<'a> {
    file: Lines<'a>,
    spans: Vec<Span<'a>>,
}

impl<'a> Layout<'a> {
    fn of(text: &'a str) -> Self {
        let file = Lines::of(text);
        let mut spans: Vec<Span<'a>> = Vec::new();
        let (mut is_open, mut is_item_open) = (false, false);
        for (at, line) in file.lines.iter().enumerate() {
            if let Kind::Heading(..=2) = line.kind {
                let name = Section::begun_by(line);
                is_open = name.is_some();
                spans.extend(name.map(|name| Span { name, heading: at, end: at, items: Vec::new() }));
            }
            let Some(span) = spans.last_mut().filter(|_| is_open) else {
                continue;
            };
            span.end = at + 1;
            let first = bullet(line.text).filter(|text| line.kind == Kind::Bullet && !text.trim().is_empty());
            if let Some(first) = first {
                span.items.push(Item { start: at, end: at + 1, line: line.text, first });
            } else if line.is_in_item && is_item_open {
                span.items.last_mut().into_iter().for_each(|item| item.end = at + 1);
            }
            is_item_open = first.is_some() || (is_item_open && (line.is_in_item || line.is_blank()));
        }
        Self { file, spans }
    }

    /// The section of this name that is written to: the first.
    fn section(&self, name: Section) -> Option<&Span<'a>> {
        self.spans.iter().find(|span| span.name == name)
    }

    fn items(&self, name: Section) -> impl Iterator<Item = &Item<'a>> {
        self.spans.iter().filter(move |span| span.name == name).flat_map(|span| &span.items)
    }

    fn item_text(&self, item: &Item<'a>) -> String {
        let further = self.file.lines[item.start + 1..item.end].iter().map(|line| line.text);
        flat(&Vec::from_iter([item.first].into_iter().chain(further)).join("\n"))
    }
}

fn flat(text: &str) -> String {
    one_line(text, usize::MAX)
}

/// A key as it is written: one word, without the marks that people put around one.
fn written_key(key: &str) -> String {
    bare(&flat(key).replace(' ', "-")).to_owned()
}

fn bare(word: &str) -> &str {
    match word.trim_matches(['*', '`', ':']) {
        "" => word,
        bare => bare,
    }
}

/// A line of the log that belongs to one task.
struct Entry {
    key: String,
    text: String,
    /// Whether it goes in place of a line that says the same with more in it.
    replaces: bool,
}

impl Entry {
    fn completed(task: &Completed) -> Option<Self> {
        let key = written_key(&task.key);
        let mut text = format!("[x] {key}");
        let title = flat(&task.title);
        if !title.is_empty() {
            text.push_str(&format!(" {title}"));
        }
        let commit = flat(task.commit.as_deref().unwrap_or_default());
        if let Some(commit) = commit.split(' ').next().filter(|word| !word.is_empty()) {
            text.push_str(&format!(" - {commit}"));
        }
        // A line with a commit that Ralph knows nothing of is better than one without.
        let replaces = task.commit.is_some();
        (!key.is_empty()).then_some(Self { key, text, replaces })
    }

    fn history(history: &FixHistory) -> Option<Self> {
        let fixes = history.fixes.iter().map(|fix| written_key(fix));
        let written = FixHistory {
            key: written_key(&history.key),
            fixes: fixes.filter(|fix| !fix.is_empty()).collect(),
            end: history.end,
        };
        (!written.key.is_empty() && !written.fixes.is_empty()).then(|| Self {
            text: written.text(),
            key: written.key,
            replaces: true,
        })
    }
}

/// The key of the finished task whose line this is, also where its box is not ticked yet; and whether it is.
fn completed_key(item: &Item<'_>) -> Option<(String, bool)> {
    let found = checkbox(item.line)?;
    let key = bare(found.words.split_whitespace().next()?);
    Some((key.to_owned(), found.is_ticked()?))
}

/// The key of the task whose fixes this line is about.
fn history_key(item: &Item<'_>) -> Option<(String, bool)> {
    let key = FixHistory::key_of(item.first)?;
    Some((bare(key).to_owned(), true))
}

/// A text as a line of its own that is a paragraph to Markdown, whatever it begins with.
fn paragraph(text: &str) -> String {
    let mut line = flat(text);
    if line.starts_with(|c: char| c.is_ascii_punctuation()) {
        line.insert(0, '\\');
    } else if let Some((marker, _)) = numbered(&line) {
        line.insert(marker.len() - 1, '\\');
    }
    line
}

/// All that is to be done to a log.
#[derive(Debug, Default)]
struct Edits {
    /// New texts of lines, without line ends.
    replaced: BTreeMap<usize, String>,
    inserted: Vec<Insertion>,
}

impl Edits {
    fn of(layout: &Layout<'_>, news: &News) -> Self {
        let mut edits = Self::default();
        let completed = news.completed.iter().filter_map(Entry::completed);
        edits.entries(layout, Section::Completed, completed, completed_key);
        edits.current(layout, news.current.as_deref().unwrap_or_default());
        let history = news.fix_history.iter().filter_map(Entry::history);
        edits.entries(layout, Section::FixHistory, history, history_key);
        edits.learnings(layout, &news.learnings);
        edits.title(layout);
        // What belongs to the section above comes before a new section.
        let is_section = |one: &Insertion| one.lines.first().is_some_and(|line| line.starts_with('#'));
        edits.inserted.sort_by_key(|one| (one.at, is_section(one)));
        edits
    }

    /// One line for each task: replaced where it has one, else put at the end of the list.
    fn entries(
        &mut self,
        layout: &Layout<'_>,
        name: Section,
        entries: impl DoubleEndedIterator<Item = Entry>,
        key_of: fn(&Item<'_>) -> Option<(String, bool)>,
    ) {
        let lines = layout.items(name).filter_map(|item| {
            let (key, is_whole) = key_of(item)?;
            Some((key, (item, is_whole)))
        });
        let lines: HashMap<String, (&Item<'_>, bool)> = lines.collect();
        // The newest of each key, in their order.
        let mut seen = HashSet::new();
        let newest: Vec<Entry> = entries.rev().filter(|entry| seen.insert(entry.key.clone())).collect();
        let mut new = Vec::new();
        for entry in newest.iter().rev() {
            match lines.get(&entry.key) {
                Some((_, true)) if !entry.replaces => {}
                Some((item, _)) => self.replace_item(item, &entry.text),
                None => new.push(format!("- {}", entry.text)),
            }
        }
        self.add_to_list(layout, name, &|item| key_of(item).is_some(), new);
    }

    /// The first line of an item gets a new text; its marker and what hangs on it stay.
    fn replace_item(&mut self, item: &Item<'_>, text: &str) {
        let marker = item.line.chars().next().unwrap_or('-');
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
        let Some(span) = layout.section(Section::Current) else {
            return self.inserted.push(as_section(layout, Section::Current, vec![line]));
        };
        let at = layout.file.next_content(span.heading + 1);
        let first = layout.file.lines.get(at).filter(|_| at < span.end);
        if let Some(first) = first.filter(|first| first.kind == Kind::Paragraph) {
            if first.text.trim() != line {
                self.replaced.insert(at, line);
            }
        } else if let Some(item) = span.items.iter().find(|item| item.start == at) {
            self.replace_item(item, &line);
        } else {
            let (at, spacing) = (span.heading + 1, Spacing::UnderHeading);
            self.inserted.push(Insertion { at, spacing, lines: vec![line] });
        }
    }

    fn learnings(&mut self, layout: &Layout<'_>, learnings: &[String]) {
        let known = layout.items(Section::Learnings);
        let mut known: HashSet<String> = known.map(|item| layout.item_text(item)).collect();
        let texts = learnings.iter().map(|learning| flat(learning));
        let new = texts.filter(|text| !text.is_empty() && known.insert(text.clone()));
        let new = new.map(|text| bulleted(&text)).collect();
        self.add_to_list(layout, Section::Learnings, &|_| true, new);
    }

    /// Items for the end of a section's list. `is_one` tells which items are of the list, where there
    /// are others as well.
    fn add_to_list(
        &mut self,
        layout: &Layout<'_>,
        name: Section,
        is_one: &dyn Fn(&Item<'_>) -> bool,
        lines: Vec<String>,
    ) {
        if lines.is_empty() {
            return;
        }
        let Some(span) = layout.section(name) else {
            return self.inserted.push(as_section(layout, name, lines));
        };
        let last = span.items.iter().rev().find(|item| is_one(item)).or(span.items.last());
        let (at, spacing) = last.map_or_else(|| end_of_text(layout, span), |last| (last.end, Spacing::Tight));
        self.inserted.push(Insertion { at, spacing, lines });
    }

    /// A log that begins with Ralph's first words has a title.
    fn title(&mut self, layout: &Layout<'_>) {
        let is_blank = layout.file.lines.iter().all(|line| line.is_blank());
        if !self.inserted.is_empty() && is_blank && layout.file.tail.is_empty() {
            let at = layout.file.lines.len();
            let title = Insertion { at, spacing: Spacing::Apart, lines: vec![TITLE.to_owned()] };
            self.inserted.insert(0, title);
        }
    }
}

/// A section that is not there yet: before the next of the known ones that is.
fn as_section(layout: &Layout<'_>, name: Section, mut lines: Vec<String>) -> Insertion {
    let mut later = Section::ALL.into_iter().skip_while(|(other, _)| *other != name);
    let title = later.clone().next().map_or("", |(_, title)| title);
    lines.insert(0, format!("## {title}"));
    let next = later.find_map(|(other, _)| layout.section(other));
    let at = next.map_or(layout.file.lines.len(), |span| span.heading);
    Insertion { at, spacing: Spacing::Apart, lines }
}

/// The end of what stands in a section before any heading within it.
fn end_of_text(layout: &Layout<'_>, span: &Span<'_>) -> (usize, Spacing) {
    let start = span.heading + 1;
    let is_text = |line: &&Line<'_>| !matches!(line.kind, Kind::Heading(_));
    let own = layout.file.lines[start..span.end].iter().take_while(is_text).count();
    match layout.file.end_of_content(start, start + own) {
        end if end == start => (start, Spacing::UnderHeading),
        end => (end, Spacing::Apart),
    }
}

#[cfg(test)]
mod tests;
