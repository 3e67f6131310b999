//! What stands below a task line: fields, other items, paragraphs.
//!
//! Lines that are indented more than an item belong to it, so a `Verify:` among the steps of a
//! `Do` is a step.

use super::super::command::CanRun;
use super::super::text::{Emphasis, dedented, is_placeholder, label, paths, without_notes};
use super::Spec;
use super::gate::Gate;
use crate::markdown::{Fence, Hidden, Line, bullet, checkbox, is_rule, leading_code, list_item};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Do,
    Files,
    DoneWhen,
    Verify,
    Commit,
    Requirements,
    Design,
    After,
    Protect,
    MayChange,
}

impl Field {
    const NAMES: [(Self, &'static str); 12] = [
        (Self::Do, "Do"),
        (Self::Files, "Files"),
        (Self::DoneWhen, "Done when"),
        (Self::Verify, "Verify"),
        (Self::Commit, "Commit"),
        (Self::Requirements, "Requirements"),
        (Self::Design, "Design"),
        (Self::After, "Depends on"),
        (Self::After, "Dependencies"),
        (Self::After, "After"),
        (Self::Protect, "Protect"),
        (Self::MayChange, "May change"),
    ];

    pub(super) fn name(self) -> &'static str {
        let mut names = Self::NAMES.into_iter();
        names.find(|(field, _)| *field == self).map_or("", |(_, name)| name)
    }

    fn named(name: &str) -> Option<Self> {
        let mut names = Self::NAMES.into_iter();
        names.find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(field, _)| field)
    }
}

/// What a block says of its task.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    pub(super) files: Vec<String>,
    pub(super) protect: Vec<String>,
    pub(super) may_change: Vec<String>,
    done_when: Vec<String>,
    pub(super) commit: Option<String>,
    /// What names the tasks it depends on.
    pub(super) depends: Vec<String>,
    pub(super) gate: Gate,
    /// Number of the line of the first `Verify`, below the task line.
    pub(super) verify_at: Option<usize>,
    steps: Vec<String>,
    verify: Vec<String>,
    others: String,
    /// Whether the last of them is a list item.
    ends_in_item: bool,
    references: Vec<String>,
}

impl Fields {
    pub(super) fn of(lines: &[Line<'_>], can_run: CanRun<'_>) -> Self {
        let mut fields = Self::default();
        for entry in entries(lines) {
            fields.add(&entry, can_run);
        }
        fields
    }

    fn add(&mut self, entry: &Entry<'_, '_>, can_run: CanRun<'_>) {
        match entry.field {
            Some(Field::Do) => self.steps.push(entry.text()),
            Some(Field::Files) => self.files.extend(entry.files()),
            Some(Field::Protect) => self.protect.extend(entry.patterns()),
            Some(Field::MayChange) => self.may_change.extend(entry.patterns()),
            Some(Field::DoneWhen) => self.done_when.push(entry.text()),
            Some(Field::Verify) => {
                self.verify_at.get_or_insert(entry.at);
                self.gate.add(entry, can_run);
                self.verify.push(entry.text());
            }
            Some(Field::Commit) => self.commit = self.commit.take().or_else(|| entry.message()),
            Some(field @ (Field::Requirements | Field::Design | Field::After)) => {
                let text = entry.text();
                if !is_nothing(&text) {
                    self.references.push(format!("{}: {text}", field.name()));
                }
                if field == Field::After {
                    self.depends.push(text);
                }
            }
            None if entry.is_rule() => {}
            None => {
                if !self.others.is_empty() {
                    let is_tight = entry.is_item && self.ends_in_item;
                    self.others.push_str(if is_tight { "\n" } else { "\n\n" });
                }
                self.others.push_str(&entry.markdown());
                self.ends_in_item = entry.is_item;
            }
        }
    }

    pub(super) fn done_when(&self) -> Option<String> {
        let texts: Vec<&str> =
            self.done_when.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// All that an agent should see and no other field holds.
    pub(super) fn description(&self) -> String {
        let mut parts: Vec<&str> = self.steps.iter().map(String::as_str).collect();
        parts.push(&self.others);
        // What cannot be a gate is still something to heed.
        let is_gate = self.gate.command().is_some() && self.gate.left_out.is_empty();
        let verify = self.verify.iter();
        let verify = verify.filter(|text| !is_gate && !is_nothing(text));
        let mut last: Vec<String> = verify.map(|text| format!("Verify: {text}")).collect();
        last.extend_from_slice(&self.references);
        let last = last.join("\n");
        parts.push(&last);
        super::super::text::paragraphs(parts)
    }
}

impl Spec<'_> {
    /// What a task's author wrote behind `Verify`, where that is one line.
    pub fn verify_field(&self, key: &str) -> Option<String> {
        let below = self.outline.lines_below(self.find(key)?);
        let entries = entries(&below);
        let verify = entries.iter().find(|entry| entry.field == Some(Field::Verify))?;
        let is_alone = verify.below().iter().all(|line| line.words().is_empty());
        let value = verify.value.trim();
        (is_alone && !value.is_empty()).then(|| value.to_owned())
    }
}

/// Whether a value says that there is none: `None`, `N/A`, `-`, also with a note in parentheses.
pub(super) fn is_nothing(value: &str) -> bool {
    is_placeholder(without_notes(value))
}

/// The commit message in a value: its code where it begins with one, else all of it.
pub(super) fn commit(value: &str) -> Option<String> {
    let is_note = |text: &str| text.is_empty() || (text.starts_with('(') && text.ends_with(')'));
    let message = match leading_code(value) {
        Some((code, after)) if is_note(after.trim()) => code,
        _ => value,
    };
    let message = message.trim();
    (!is_nothing(message)).then(|| message.to_owned())
}

/// A field, another item or a paragraph.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a, 'l> {
    pub(super) field: Option<Field>,
    /// What stands after the field's name, or in the first line of anything else.
    pub(super) value: &'a str,
    pub(super) lines: &'l [Line<'a>],
    /// Number of its first line in the block.
    at: usize,
    columns: usize,
    is_item: bool,
    /// Whether a name stands before the value, be it that of a field or not.
    is_labelled: bool,
    /// Whether there is anything but a name so far.
    has_content: bool,
}

impl<'a, 'l> Entry<'a, 'l> {
    pub(super) fn below(&self) -> &'l [Line<'a>] {
        self.lines.get(1..).unwrap_or_default()
    }

    /// The value and the lines below it, without their indent.
    fn text(&self) -> String {
        let below = joined(self.below(), shared_indent(self.below()));
        let is_apart = self.below().first().is_some_and(|line| line.words().is_empty());
        match (self.value, below.as_str()) {
            ("", _) => below,
            (value, "") => value.to_owned(),
            (value, below) if is_apart => format!("{value}\n\n{below}"),
            (value, below) => format!("{value}\n{below}"),
        }
    }

    /// All lines as they are written, without the entry's indent.
    fn markdown(&self) -> String {
        joined(self.lines, self.lines.first().map_or(0, Line::columns))
    }

    /// Whether it is nothing but a rule across the page.
    fn is_rule(&self) -> bool {
        self.lines.first().is_some_and(is_rule_line) && joined(self.below(), 0).is_empty()
    }

    /// Files named beside the field's name and, one line each, below it.
    fn files(&self) -> Vec<String> {
        let mut found = paths(self.value);
        for line in self.below().iter().filter(|line| line.hidden.is_none()) {
            found.extend(paths(without_marker(line.words())));
        }
        found
    }

    /// Patterns of paths, separated by commas, or as items below.
    fn patterns(&self) -> Vec<String> {
        let below = self.below().iter().filter(|line| line.hidden.is_none());
        let below = below.map(|line| without_marker(line.words()).to_owned());
        let texts: Vec<String> = std::iter::once(self.value.to_owned()).chain(below).collect();
        let parts = texts.iter().flat_map(|text| text.split(','));
        let parts = parts.map(|part| part.trim_matches(|c: char| c.is_whitespace() || c == '`'));
        parts.filter(|part| !is_nothing(part)).map(str::to_owned).collect()
    }

    /// The commit message: beside the name and below it, or in a fence.
    fn message(&self) -> Option<String> {
        match self.fences().first() {
            Some((_, text)) => commit(text),
            None => commit(&self.text()),
        }
    }

    /// Whether a fence is opened beside the field's name, which is none to Markdown.
    pub(super) fn opens_fence(&self) -> bool {
        self.field.is_some() && Fence::opened_by(self.value).is_some()
    }

    /// Language and text of the fences in it.
    pub(super) fn fences(&self) -> Vec<(&'a str, String)> {
        let fence = |opening: &'a str, after: &[Line<'a>], is_inside: &dyn Fn(&Line<'a>) -> bool| {
            let length = after.iter().take_while(|line| is_inside(line)).count();
            let inside = &after[..length];
            (language_of(opening), joined(inside, shared_indent(inside)))
        };
        if let Some(opened) = Fence::opened_by(self.value).filter(|_| self.field.is_some()) {
            return vec![fence(self.value, self.below(), &|line| !opened.is_closed_by(line.words()))];
        }
        let begins =
            self.lines.iter().enumerate().filter(|(_, line)| line.hidden == Some(Hidden::FenceBegin));
        let is_inside = |line: &Line<'a>| line.hidden == Some(Hidden::FenceInside);
        begins.map(|(at, line)| fence(line.text, &self.lines[at + 1..], &is_inside)).collect()
    }

    /// The entry that a line may begin.
    fn begun_by(at: usize, line: &Line<'a>) -> Self {
        let (columns, words) = (line.columns(), line.words());
        let item = bullet(words);
        let text = item.map_or(words, |text| text.trim_start_matches([' ', '\t']));
        // Any name in bold is one; others only where they are fields, and plain ones only in items.
        let found = label(text).filter(|_| columns > 0).and_then(|label| {
            let field = Field::named(label.name);
            let is_label = match label.emphasis {
                Emphasis::Bold => true,
                Emphasis::Italic => field.is_some(),
                Emphasis::Plain => field.is_some() && item.is_some(),
            };
            is_label.then_some((field, label.value))
        });
        let value = found.map_or(words, |(_, value)| value);
        Self {
            field: found.and_then(|(field, _)| field),
            value,
            lines: &[],
            at,
            columns,
            is_item: item.is_some(),
            is_labelled: found.is_some(),
            has_content: !value.is_empty(),
        }
    }

    /// Whether a later line belongs to this entry, given the entry that it would begin.
    fn holds(&self, line: &Line<'_>, entry: &Entry<'_, '_>, after_blank: bool) -> bool {
        let is_marked = entry.is_item || entry.is_labelled;
        let goes_on = !is_marked && !after_blank;
        let is_indented = entry.columns > self.columns;
        if is_rule_line(line) {
            false
        } else if self.is_item {
            // Also a fence right below its name.
            let is_fence = line.hidden == Some(Hidden::FenceBegin);
            is_indented || goes_on || (is_fence && !self.has_content)
        } else if self.is_labelled {
            // Below a name that is no item, a list need not be indented.
            is_indented || goes_on || (entry.columns == self.columns && !entry.is_labelled)
        } else {
            goes_on
        }
    }
}

pub(super) fn without_marker(words: &str) -> &str {
    let step = checkbox(words).map(|step| step.words);
    step.or_else(|| list_item(words)).unwrap_or(words)
}

/// The word behind the marks of a fence.
fn language_of(opening: &str) -> &str {
    let info = opening.rsplit(['`', '~']).next().unwrap_or_default();
    info.split_whitespace().next().unwrap_or_default()
}

/// The indent that all lines share which are not blank and no comments.
fn shared_indent(lines: &[Line<'_>]) -> usize {
    let shown = lines.iter().filter(|line| line.hidden != Some(Hidden::Comment) && !line.words().is_empty());
    shown.map(Line::columns).min().unwrap_or(0)
}

/// The lines without some columns, without comments and without blank lines around them.
fn joined(lines: &[Line<'_>], columns: usize) -> String {
    let shown = lines.iter().filter(|line| line.hidden != Some(Hidden::Comment));
    let lines: Vec<String> = shown
        .map(|line| match checkbox(line.text).filter(|_| line.hidden.is_none()) {
            // How its box stands is no part of what a step says: otherwise ticking it would change the task.
            Some(step) if step.is_ticked().is_some() => {
                let before = line.text[..step.at].trim_end_matches('[');
                dedented(&format!("{before}{}", step.words), columns)
            }
            _ => dedented(line.text, columns),
        })
        .collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

fn is_rule_line(line: &Line<'_>) -> bool {
    line.hidden.is_none() && is_rule(line.text)
}

/// The entries of a block, given without its task line.
pub(super) fn entries<'a, 'l>(lines: &'l [Line<'a>]) -> Vec<Entry<'a, 'l>> {
    let mut entries: Vec<Entry<'a, 'l>> = Vec::new();
    let mut after_blank = false;
    for (at, line) in lines.iter().enumerate() {
        match line.hidden {
            Some(Hidden::Comment | Hidden::FenceInside | Hidden::FenceEnd) => {}
            None if line.words().is_empty() => after_blank = true,
            _ => {
                let entry = Entry::begun_by(at, line);
                match entries.last_mut().filter(|last| last.holds(line, &entry, after_blank)) {
                    Some(last) => last.has_content = true,
                    None => entries.push(entry),
                }
                after_blank = false;
            }
        }
    }
    let mut end = lines.len();
    for entry in entries.iter_mut().rev() {
        entry.lines = &lines[entry.at..end];
        end = entry.at;
    }
    entries
}

#[cfg(test)]
#[path = "fields_tests.rs"]
mod tests;
