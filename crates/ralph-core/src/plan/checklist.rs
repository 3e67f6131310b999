//! Any Markdown list with checkboxes: `- [ ] Do this`.
//!
//! ```text
//! lines ─► items (checkboxes, whose part each is, the lines below them)
//!            ├─► names   the author's word before the title, or one made from the titles
//!            └─► fields  `Verify:`, `Files:`, `After:`; the other lines are the description
//! ```
//!
//! The order of the items is the order of the plan, and nothing more: what must wait for what is
//! only what `After:` says.

use std::collections::HashMap;

use super::check::check;
use super::command::{CanRun, Directory, all_of};
use super::graph::{CYCLE, drop_cycles, resolve};
use super::outline::{DEEPEST, Dialect, Item, Outline};
use super::text::{dedented, is_placeholder, label, paths};
use super::{Draft, DraftTask, NO_TASKS, Note, Problem};
use crate::markdown::{Hidden, Line, list_item};

pub fn read(text: &str, can_run: &dyn Fn(&str) -> bool) -> Result<Draft, Vec<Problem>> {
    let outline = Outline::of(text, Dialect::Checklist);
    let mut notes = outline.notes.clone();
    let mut problems = Vec::new();
    if outline.items.is_empty() {
        problems.push(Problem::new(1, NO_TASKS));
        problems.extend(notes.drain(..).map(|note| Problem::new(note.line, note.text)));
    }
    if let Some(line) = outline.too_deep {
        let expected = format!("items are nested too deeply; expected at most {DEEPEST} levels");
        problems.push(Problem::new(line, expected));
    }
    let items = &outline.items;
    let fields = |item| Fields::of(&outline, item, can_run, &mut notes);
    let read: Vec<Fields<'_>> = items.iter().map(fields).collect();
    let after = after(items, &read, &mut notes);
    if !problems.is_empty() {
        problems.sort();
        return Err(problems);
    }
    let task = |((item, fields), after): ((&Item<'_>, Fields<'_>), Vec<usize>)| DraftTask {
        name: item.name.clone(),
        named_by_author: item.key.is_some(),
        title: item.title(),
        phase: item.phase.map(str::to_owned),
        parent: item.parent.map(|parent| items[parent].name.clone()),
        after: after.into_iter().map(|at| items[at].name.clone()).collect(),
        done: item.mark.is_done,
        optional: item.is_optional,
        line: item.mark.line + 1,
        mark: Some(item.mark.at..item.mark.at + 1),
        ..fields.task
    };
    let tasks: Vec<DraftTask> = items.iter().zip(read).zip(after).map(task).collect();
    let mut draft = Draft { tasks, notes };
    draft.note_open_parts();
    Ok(draft)
}

/// A line with its number, counted from 1.
type Numbered<'a> = (usize, Line<'a>);

/// For each item the items it waits for. What names no item is only told.
fn after(items: &[Item<'_>], fields: &[Fields<'_>], notes: &mut Vec<Note>) -> Vec<Vec<usize>> {
    let keys = items.iter().enumerate().filter(|(_, item)| item.key.is_some());
    let keys: HashMap<&str, usize> = keys.map(|(at, item)| (item.name.as_str(), at)).collect();
    let unknown = |name: &str| format!("no task has the key `{name}`, so Ralph ignores this dependency");
    let mut unmet = Vec::new();
    let mut after: Vec<Vec<usize>> =
        fields.iter().map(|fields| resolve(&fields.after, &keys, unknown, &mut unmet)).collect();
    notes.extend(unmet.into_iter().map(|problem| Note::new(problem.line, problem.expected)));
    for at in drop_cycles(&mut after, items.iter().map(|item| item.parent)) {
        notes.push(Note::new(items[at].mark.line + 1, CYCLE));
    }
    after
}

/// What the lines below an item say.
struct Fields<'a> {
    task: DraftTask,
    /// Keys of the items it waits for, with the lines that name them.
    after: Vec<(usize, &'a str)>,
}

impl<'a> Fields<'a> {
    fn of(outline: &Outline<'a>, item: &Item<'a>, can_run: CanRun<'_>, notes: &mut Vec<Note>) -> Self {
        let mut fields = Self { task: DraftTask::default(), after: Vec::new() };
        let mut commands = Vec::new();
        let mut lines = Vec::new();
        for (number, line) in item.below.iter().map(|at| (at + 1, outline.file.lines[*at])) {
            let words = line.words();
            if words.is_empty() && line.hidden.is_none() {
                continue;
            }
            let words = list_item(words).unwrap_or(words);
            let field = label(words.trim()).filter(|label| line.hidden.is_none() && !label.value.is_empty());
            let name = field.map(|label| label.name.to_ascii_lowercase());
            let value = field.map_or("", |label| label.value);
            match name.as_deref() {
                Some("verify") => match check(value, can_run) {
                    Ok(command) => commands.push(command),
                    Err(why) => {
                        let text = format!("this check cannot be a gate: {why}; Ralph reads it as text");
                        notes.push(Note::new(number, text));
                        lines.push((number, line));
                    }
                },
                Some("files") => fields.task.files.extend(paths(value.trim_end_matches('.'))),
                Some("after" | "depends on") => {
                    let names = value
                        .split(',')
                        .map(|name| name.trim().trim_matches('`').trim_end_matches('.').trim());
                    let names = names.filter(|name| !is_placeholder(name));
                    fields.after.extend(names.map(|name| (number, name)));
                }
                _ => lines.push((number, line)),
            }
        }
        fields.task.verify = all_of(&commands, Directory::Own);
        fields.task.description = description(&lines);
        fields
    }
}

/// The lines without the indent they share; where lines were left out or blank, one is blank.
fn description(lines: &[Numbered<'_>]) -> String {
    // What stands in a fence may be indented less than the fence.
    let outside = lines.iter().filter(|(_, line)| matches!(line.hidden, None | Some(Hidden::FenceBegin)));
    let shared = outside.map(|(_, line)| line.columns()).min().unwrap_or(0);
    let mut out = String::new();
    let mut last = None;
    for (number, line) in lines {
        match last {
            None => {}
            Some(last) if last + 1 == *number => out.push('\n'),
            Some(_) => out.push_str("\n\n"),
        }
        out.push_str(&dedented(line.text, shared));
        last = Some(*number);
    }
    out
}

#[cfg(test)]
mod tests;
