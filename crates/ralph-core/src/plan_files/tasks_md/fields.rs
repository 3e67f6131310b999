//! The fields of a task, from what stands below its task line.

use super::command::Programs;
use super::entries::{Entry, entries};
use super::fenced::fences;
use super::label::Field;
use super::lines::{Kind, Line};
use super::syntax::{bullet, numbered};
use super::value::{commit, files, is_nothing};
use super::verify::Gate;

/// What a block says of its task.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    pub(super) files: Vec<String>,
    pub(super) done_when: Option<String>,
    pub(super) commit: Option<String>,
    pub(super) gate: Gate,
    /// Number of the first `Verify` in the block.
    pub(super) verify_at: Option<usize>,
    steps: Vec<String>,
    verify: Vec<String>,
    others: String,
    /// Whether the last of them is a list item.
    ends_in_item: bool,
    references: Vec<String>,
}

impl Fields {
    /// Reads the lines below a task line.
    pub(super) fn of(lines: &[Line<'_>], programs: &mut Programs<'_>) -> Self {
        let mut fields = Self::default();
        for entry in entries(lines) {
            fields.add(&entry, programs);
        }
        fields
    }

    fn add(&mut self, entry: &Entry<'_, '_>, programs: &mut Programs<'_>) {
        match entry.field {
            Some(Field::Do) => self.steps.push(entry.text()),
            Some(Field::Files) => self.files.extend(listed_files(entry)),
            Some(Field::DoneWhen) => push_text(&mut self.done_when, &entry.text()),
            Some(Field::Verify) => {
                self.verify_at.get_or_insert(entry.at);
                self.gate.add(entry, programs);
                self.verify.push(entry.text());
            }
            Some(Field::Commit) => self.commit = self.commit.take().or_else(|| message(entry)),
            Some(field @ (Field::Requirements | Field::Design)) => {
                let text = entry.text();
                if !is_nothing(&text) {
                    self.references.push(format!("{}: {text}", field.name()));
                }
            }
            None if entry.is_rule() => {}
            None => self.add_other(entry),
        }
    }

    fn add_other(&mut self, entry: &Entry<'_, '_>) {
        let is_tight = entry.is_item && self.ends_in_item;
        if !self.others.is_empty() {
            self.others.push_str(if is_tight { "\n" } else { "\n\n" });
        }
        self.others.push_str(&entry.markdown());
        self.ends_in_item = entry.is_item;
    }

    /// All that an agent should see and no other field holds.
    pub(super) fn description(&self) -> String {
        let mut parts: Vec<&str> = self.steps.iter().map(String::as_str).collect();
        parts.push(&self.others);
        // What cannot be a gate is still something to heed.
        let has_gate = self.gate.command().is_some();
        let verify = self
            .verify
            .iter()
            .filter(|text| !has_gate && !is_nothing(text));
        let mut last: Vec<String> = verify.map(|text| format!("Verify: {text}")).collect();
        last.extend_from_slice(&self.references);
        let last = last.join("\n");
        parts.push(&last);
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n")
    }
}

fn push_text(into: &mut Option<String>, text: &str) {
    if text.is_empty() {
        return;
    }
    let so_far = into.get_or_insert_default();
    if !so_far.is_empty() {
        so_far.push('\n');
    }
    so_far.push_str(text);
}

/// Files named beside the field's name and, one line each, below it.
fn listed_files(entry: &Entry<'_, '_>) -> Vec<String> {
    let mut found = files(entry.value);
    for line in entry.below().iter().filter(|line| line.kind == Kind::Text) {
        let words = line.words;
        found.extend(files(
            bullet(words).or_else(|| numbered(words)).unwrap_or(words),
        ));
    }
    found
}

/// The commit message: beside the name and below it, or in a fence.
fn message(entry: &Entry<'_, '_>) -> Option<String> {
    match fences(entry.lines).first() {
        Some(fence) => commit(&fence.text),
        None => commit(&entry.text()),
    }
}
