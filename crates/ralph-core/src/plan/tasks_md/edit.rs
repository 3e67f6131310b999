//! Blocks that are put into a spec's file. All else stays byte for byte.

use std::collections::BTreeMap;

use super::super::key::is_below;
use super::super::outline::Item;
use super::super::text::{one_line, paths};
use super::Spec;
use super::fields::{Field, commit};
use crate::markdown::{Insertion, Spacing, as_code, commonest_line_end, list_item};
use crate::plan::DraftTask;
use crate::text::neutral::fence_for;

impl Spec<'_> {
    /// The file with a block after a task and all that are below it (`1.3.1` is below `1.3`), wherever the last of them
    /// stands. The block has `\n` as its line end and begins with a task line.
    pub fn insert_after(&self, key: &str, block: &str) -> Option<String> {
        let item = self.find(key)?;
        let parts = |other: &Item<'_>| other.parent.map(|parent| self.outline.items[parent].name.as_str());
        let is_family = |other: &&Item<'_>| {
            let is_beside = other.parent == item.parent && is_below(&other.name, key);
            other.name == key || is_beside || parts(other).is_some_and(|of| of == key || is_below(of, key))
        };
        let end = self.outline.items.iter().filter(is_family).map(Item::content_end).max()?;
        Some(self.put_in(end, item, block))
    }

    /// The file with a block right before a task.
    pub fn insert_before(&self, key: &str, block: &str) -> Option<String> {
        let item = self.find(key)?;
        Some(self.put_in(self.outline.file.end_of_content(0, item.mark.line), item, block))
    }

    /// Puts a block before a line, with one blank line on each side and indented as the task beside it. Of the blank lines that follow, one
    /// comes before the block and the others stay after it.
    fn put_in(&self, at: usize, beside: &Item<'_>, block: &str) -> String {
        let file = &self.outline.file;
        let is_blank = file.lines.get(at).is_some_and(|line| line.is_blank());
        let line = &file.lines[beside.mark.line];
        let indent = &line.text[..line.text.len() - line.words().len()];
        let indented = |line: &str| if line.is_empty() { String::new() } else { format!("{indent}{line}") };
        let insertion = Insertion {
            at: at + usize::from(at > 0 && is_blank),
            spacing: Spacing::Apart,
            lines: block.trim_matches('\n').split('\n').map(indented).collect(),
        };
        file.spliced(&BTreeMap::new(), &[insertion], commonest_line_end(self.text))
    }
}

/// The block of a task, with `\n` as line end and without one at its end. Empty fields are left
/// out; what it depends on is not in it, for the place in the file says that.
pub fn render(task: &DraftTask) -> String {
    let files: Vec<_> = task.files.iter().map(|file| written_file(file)).collect();
    let written = |text: &Option<String>, write: fn(&str) -> String| {
        text.as_ref().map(|text| write(text.trim())).unwrap_or_default()
    };
    let mut block = head(task);
    for (field, value) in [
        (Field::Do, task.description.clone()),
        (Field::Files, files.join(", ")),
        (Field::Protect, task.protect.join(", ")),
        (Field::MayChange, task.may_change.join(", ")),
        (Field::DoneWhen, task.done_when.clone().unwrap_or_default()),
        (Field::Verify, written(&task.verify, written_command)),
        (Field::Commit, written(&task.commit, written_message)),
    ] {
        push_field(&mut block, field, &value);
    }
    block
}

fn head(task: &DraftTask) -> String {
    let mut head = format!("- [{}] {}", if task.done { 'x' } else { ' ' }, task.name);
    let fix = task.fix_of.as_ref().map(|key| format!("FIX {key}"));
    let fix = fix.filter(|fix| !task.markers.contains(fix));
    for marker in task.markers.iter().chain(&fix) {
        head.push_str(&format!(" [{marker}]"));
    }
    head.push(' ');
    head.push_str(match one_line(&task.title).as_str() {
        "" => "Untitled",
        title => title,
    });
    head
}

/// Adds a field: its first line beside the name, unless that begins a list or a fence.
fn push_field(block: &mut String, field: Field, value: &str) {
    let value = value.trim_end().trim_start_matches(['\n', '\r']);
    if value.is_empty() {
        return;
    }
    block.push_str(&format!("\n  - **{}**:", field.name()));
    for (at, line) in value.split('\n').enumerate() {
        let line = line.trim_end();
        if at == 0 && !begins_block(line) {
            block.push_str(&format!(" {line}"));
        } else if line.is_empty() {
            block.push('\n');
        } else {
            block.push_str(&format!("\n    {line}"));
        }
    }
}

fn begins_block(line: &str) -> bool {
    let is_fence = line.starts_with("```") || line.starts_with("~~~");
    is_fence || line.starts_with([' ', '\t']) || list_item(line).is_some()
}

fn written_file(file: &str) -> String {
    let file = file.trim();
    // These could be read together with those of another file.
    let is_plain = !file.contains(['`', '(', ')', '{', '}']) && !begins_block(file);
    match paths(file).as_slice() {
        [read] if read == file && is_plain => file.to_owned(),
        _ => as_code(file),
    }
}

/// A command as code: it is read back as a command whatever programs there are.
fn written_command(command: &str) -> String {
    match command {
        "" => String::new(),
        command if command.contains('\n') => {
            let fence = fence_for(command);
            format!("{fence}bash\n{command}\n{fence}")
        }
        command => as_code(command),
    }
}

fn written_message(message: &str) -> String {
    if message.contains('\n') || commit(message).is_none() { message.to_owned() } else { as_code(message) }
}
