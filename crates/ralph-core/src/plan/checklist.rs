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

use super::command::{Directory, all_of};
use super::graph::{refuse_cycles, resolve};
use super::key::item_key;
use super::text::{Phases, dedented, is_placeholder, label, one_line, paths};
use super::{Draft, DraftTask, Note, Problem};
use crate::markdown::{
    Checkbox, Hidden, Kind, Line, Lines, checkbox, code_only, list_item, without_comments, without_emphasis,
};

/// How deep items may be nested.
const DEEPEST: usize = 100;

pub fn read(text: &str) -> Result<Draft, Vec<Problem>> {
    let Items { mut items, mut notes, mut problems, .. } = Items::of(&Lines::of(text));
    name_items(&mut items, &mut notes);
    items.iter_mut().for_each(|item| item.read_fields(&mut notes));
    let after = after(&items, &mut problems);
    note_open_parts(&items, &mut notes);
    if !problems.is_empty() {
        problems.sort();
        return Err(problems);
    }
    notes.sort_by_key(|note| note.line);
    let names: Vec<String> = items.iter().map(|item| item.task.name.clone()).collect();
    let tasks = items.into_iter().zip(after).map(|(item, after)| DraftTask {
        parent: item.parent.map(|parent| names[parent].clone()),
        after: after.into_iter().map(|at| names[at].clone()).collect(),
        ..item.task
    });
    Ok(Draft { tasks: tasks.collect(), notes })
}

/// A line with its number, counted from 1.
type Numbered<'a> = (usize, Line<'a>);

#[derive(Debug)]
struct Item<'a> {
    task: DraftTask,
    /// What stands behind the box.
    words: &'a str,
    /// Place of the item it is a part of.
    parent: Option<usize>,
    /// The lines below it that are no items themselves; blank ones only where they stand in a fence.
    below: Vec<Numbered<'a>>,
    /// Keys of the items it waits for, with the lines that name them.
    after: Vec<(usize, &'a str)>,
}

/// The checkboxes of a file, and the lines that belong to each.
#[derive(Default)]
struct Items<'a> {
    items: Vec<Item<'a>>,
    notes: Vec<Note>,
    problems: Vec<Problem>,
    /// Column and place of the items that the next line may belong to, the innermost last.
    open: Vec<(usize, usize)>,
    phases: Phases<'a>,
}

impl<'a> Items<'a> {
    fn of(file: &Lines<'a>) -> Self {
        let mut items = Self::default();
        let mut after_blank = true;
        for (at, line) in file.lines.iter().enumerate() {
            items.add((at + 1, *line), after_blank);
            after_blank = line.is_blank();
        }
        if let Some(at) = file.too_deep {
            items.too_deep(at + 1);
        }
        if let Some(expected) = file.never_closed() {
            let line = file.lines.len() + 1;
            items.problems.push(Problem::new(line, expected));
        }
        if items.items.is_empty() {
            let expected = "no tasks found; expected a list such as `- [ ] Title`";
            items.problems.push(Problem::new(1, expected));
        }
        items
    }

    fn add(&mut self, (number, line): Numbered<'a>, after_blank: bool) {
        let column = line.columns();
        match line.hidden {
            Some(Hidden::Comment) => return,
            Some(Hidden::FenceBegin) => self.end_items_from(column),
            Some(_) => {}
            None if line.words().is_empty() => return,
            None => {
                if let Some((level, words)) = line.heading() {
                    self.open.clear();
                    return self.phases.heading(level, words);
                }
                let found = checkbox(line.text);
                if found.is_some() || list_item(line.words()).is_some() {
                    // A list item one column further in is still a sibling.
                    self.end_items_from(column.saturating_sub(1));
                } else if line.kind != Kind::Paragraph || after_blank {
                    self.end_items_from(column);
                }
                if let Some(found) = found {
                    if let Some(is_ticked) = found.is_ticked() {
                        return self.begin_item((number, line), found, is_ticked);
                    }
                    if let mark @ ('~' | '-' | '/') = found.mark {
                        let text = format!("`[{mark}]` is not a checkbox; Ralph reads the line as text.");
                        self.notes.push(Note::new(number, text));
                    }
                }
            }
        }
        let innermost = self.open.last().map(|(_, at)| *at);
        if let Some(item) = innermost.and_then(|at| self.items.get_mut(at)) {
            item.below.push((number, line));
        }
    }

    fn begin_item(&mut self, (line, text): Numbered<'a>, found: Checkbox<'a>, done: bool) {
        let parent = self.open.last().map(|(_, at)| *at);
        if found.words.is_empty() {
            let expected = "this checkbox has no text; expected a title after it";
            self.problems.push(Problem::new(line, expected));
        }
        if self.open.len() >= DEEPEST {
            self.too_deep(line);
        } else {
            self.open.push((text.columns(), self.items.len()));
        }
        let mark = text.start + found.at;
        let task = DraftTask {
            phase: self.phases.current().map(str::to_owned),
            done,
            line,
            mark: Some(mark..mark + found.mark.len_utf8()),
            ..DraftTask::default()
        };
        self.items.push(Item { task, words: found.words, parent, below: Vec::new(), after: Vec::new() });
    }

    /// Ends the items that a line at this column cannot be part of.
    fn end_items_from(&mut self, column: usize) {
        while self.open.pop_if(|(open, _)| *open >= column).is_some() {}
    }

    fn too_deep(&mut self, line: usize) {
        let expected = format!("items are nested too deeply; expected at most {DEEPEST} levels");
        self.problems.push(Problem::new(line, expected));
    }
}

/// For each item the items it waits for.
fn after(items: &[Item<'_>], problems: &mut Vec<Problem>) -> Vec<Vec<usize>> {
    let keys = items.iter().enumerate().filter(|(_, item)| item.task.named_by_author);
    let keys: HashMap<&str, usize> = keys.map(|(at, item)| (item.task.name.as_str(), at)).collect();
    let unknown = |name: &str| {
        format!(
            "no item has the key `{name}`; expected a key that an item starts with, such as \
             T001 in `- [ ] T001 Title`"
        )
    };
    let after: Vec<Vec<usize>> =
        items.iter().map(|item| resolve(&item.after, &keys, unknown, problems)).collect();
    // A whole waits for its parts, so these links count as well.
    let mut edges = after.clone();
    for (at, item) in items.iter().enumerate() {
        item.parent.into_iter().for_each(|parent| edges[parent].push(at));
    }
    refuse_cycles("items", &edges, |at| items[at].task.name.as_str(), |at| items[at].task.line, problems);
    after
}

/// A ticked item is believed: the open items below it are skipped when it is imported.
fn note_open_parts(items: &[Item<'_>], notes: &mut Vec<Note>) {
    let mut has_open_part = vec![false; items.len()];
    // Parts stand below their whole, so backwards they come first.
    for (at, item) in items.iter().enumerate().rev() {
        if item.task.done && has_open_part[at] {
            let text = "This item is checked, so Ralph skips the unchecked items below it.";
            notes.push(Note::new(item.task.line, text));
        }
        if let Some(parent) = item.parent {
            has_open_part[parent] |= !item.task.done;
        }
    }
}

impl Item<'_> {
    /// Reads what the lines below it say.
    fn read_fields(&mut self, notes: &mut Vec<Note>) {
        let mut commands = Vec::new();
        let mut lines = Vec::new();
        for (number, line) in &self.below {
            let words = list_item(line.words()).unwrap_or(line.words());
            let field = label(words.trim()).filter(|label| line.hidden.is_none() && !label.value.is_empty());
            let name = field.map(|label| label.name.to_ascii_lowercase());
            let value = field.map_or("", |label| label.value);
            match name.as_deref() {
                Some("verify") => match code_only(value.trim_end_matches('.')) {
                    Some(command) => commands.push(command),
                    None => {
                        let text = "This check is not a command in backticks, so Ralph reads it as text.";
                        notes.push(Note::new(*number, text));
                        lines.push((*number, *line));
                    }
                },
                Some("files") => self.task.files.extend(paths(value.trim_end_matches('.'))),
                Some("after" | "depends on") => {
                    let names = value
                        .split(',')
                        .map(|name| name.trim().trim_matches('`').trim_end_matches('.').trim());
                    let names = names.filter(|name| !is_placeholder(name));
                    self.after.extend(names.map(|name| (*number, name)));
                }
                _ => lines.push((*number, *line)),
            }
        }
        self.task.verify = all_of(&commands, Directory::Own);
        self.task.description = description(&lines);
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

/// Names all items, so that the names stay the same however lines move and boxes are checked. A key that several items begin
/// with names none of them.
fn name_items(items: &mut [Item<'_>], notes: &mut Vec<Note>) {
    let keys: Vec<Option<(&str, &str)>> = items.iter().map(|item| item_key(item.words)).collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for (key, _) in keys.iter().flatten() {
        *uses.entry(key).or_default() += 1;
    }
    let mut made_up: HashMap<String, usize> = HashMap::new();
    for (at, key) in keys.into_iter().enumerate() {
        if let Some((key, title)) = key.filter(|(key, _)| uses[key] == 1) {
            let task = &mut items[at].task;
            task.name = key.to_owned();
            task.named_by_author = true;
            task.title = title_of(if title.is_empty() { key } else { title });
            continue;
        }
        if let Some((key, _)) = key {
            let text = format!("Several items start with `{key}`, so it identifies none of them.");
            notes.push(Note::new(items[at].task.line, text));
        }
        let title = title_of(items[at].words);
        let parent = items[at].parent.map_or("", |parent| &items[parent].task.name);
        let mut name = made_up_name(parent, &title);
        let times = made_up.entry(name.clone()).or_default();
        *times += 1;
        if *times > 1 {
            name = format!("{name}#{times}");
        }
        items[at].task.name = name;
        items[at].task.title = title;
    }
}

/// The words on one line, without comments and without emphasis around the whole.
fn title_of(words: &str) -> String {
    let title = one_line(&without_comments(words));
    match without_emphasis(&title) {
        "" => one_line(words),
        bare => bare.to_owned(),
    }
}

/// The beginning of the title for people, and a number that stands for the whole path of titles.
/// It is longer than any key an author writes, so it never is one.
pub(crate) fn made_up_name(parent: &str, title: &str) -> String {
    // What may change and leave the title the same: emphasis, capitals, a full stop.
    let chars = title.trim_end_matches('.').chars();
    let plain: String =
        chars.filter(|c| !matches!(c, '*' | '_' | '`')).flat_map(char::to_lowercase).collect();
    let path = fnv(fnv(fnv(FNV_START, parent.as_bytes()), &[0]), plain.as_bytes());
    let mut slug = String::new();
    for c in plain.chars().take(24) {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    let slug = match slug.trim_end_matches('-') {
        "" => "item",
        slug => slug,
    };
    format!("{slug}-{path:016x}")
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a: small, and the same on every machine and in every version, as names must be.
fn fnv(mut hash: u64, bytes: &[u8]) -> u64 {
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

#[cfg(test)]
mod tests;
