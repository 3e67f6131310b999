//! The boxes of a Markdown plan: which of them are tasks, which are steps of a task, what stands below each, and what each is called.
//!
//! Every reader of Markdown plans and every edit of their boxes goes by this one walk, so that a box is found by the name that its task got
//! when the file was read.

use std::collections::HashMap;

use super::Note;
use super::key::{is_number, item_key, names_a_spec, task_key};
use super::text::{Phases, one_line};
use crate::files::fnv;
use crate::markdown::{
    Checkbox, Hidden, Kind, Line, Lines, checkbox, is_rule, list_item, spans, without_comments,
    without_emphasis,
};
use crate::text::Pattern;

/// How deep items may be nested.
pub(super) const DEEPEST: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Tasks have keys, and below a task a box without a key is one of its steps.
    Spec,
    /// Every box is a task.
    Checklist,
}

#[derive(Debug)]
pub(super) struct Outline<'a> {
    pub(super) file: Lines<'a>,
    pub(super) items: Vec<Item<'a>>,
    /// Boxes that are neither tasks nor steps, and keys that several boxes have.
    pub(super) notes: Vec<Note>,
    /// The first line that is nested too deeply, counted from 1.
    pub(super) too_deep: Option<usize>,
}

/// A box that is a task.
#[derive(Debug)]
pub(super) struct Item<'a> {
    pub(super) mark: Mark,
    column: usize,
    pub(super) is_optional: bool,
    pub(super) key: Option<&'a str>,
    /// What stands behind the box and the key.
    pub(super) words: &'a str,
    /// Unique in the file, and the same however lines move and boxes are checked.
    pub(super) name: String,
    pub(super) phase: Option<&'a str>,
    /// Goes up with every phase that begins or ends.
    pub(super) phase_count: usize,
    /// Place of the item it is a part of.
    pub(super) parent: Option<usize>,
    pub(super) steps: Vec<Mark>,
    /// The lines below it that belong to no other item, counted from 0. The last one is neither blank nor a rule.
    pub(super) below: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Counted from 0.
    pub(super) line: usize,
    /// Where it stands in the file, in bytes.
    pub(super) at: usize,
    pub(super) is_done: bool,
}

impl Item<'_> {
    /// The line after its content.
    pub(super) fn content_end(&self) -> usize {
        self.below.last().map_or(self.mark.line, |last| *last) + 1
    }

    pub(super) fn title(&self) -> String {
        match (title_of(self.words), self.key) {
            (title, Some(key)) if title.is_empty() => key.to_owned(),
            (title, _) => title,
        }
    }
}

impl<'a> Outline<'a> {
    pub(super) fn of(text: &'a str, dialect: Dialect) -> Self {
        let file = Lines::of(text);
        let mut walk = Walk {
            dialect,
            items: Vec::new(),
            notes: Vec::new(),
            too_deep: None,
            open: Vec::new(),
            phases: Phases::default(),
            wholes: HashMap::new(),
        };
        let mut after_blank = true;
        for (at, line) in file.lines.iter().enumerate() {
            walk.add(at, line, after_blank);
            after_blank = line.is_blank();
        }
        let Walk { mut items, mut notes, too_deep, .. } = walk;
        for item in &mut items {
            let is_content = |at: &usize| {
                let line = &file.lines[*at];
                !line.words().is_empty() && (line.hidden.is_some() || !is_rule(line.text))
            };
            let kept = item.below.iter().rposition(is_content).map_or(0, |last| last + 1);
            item.below.truncate(kept);
        }
        name_items(&mut items, &mut notes);
        if let Some(expected) = file.never_closed() {
            let text = format!("{expected}; Ralph ignores what follows it");
            notes.push(Note::new(file.lines.len() + 1, text));
        }
        let too_deep = too_deep.or(file.too_deep.map(|at| at + 1));
        Self { file, items, notes, too_deep }
    }

    /// Whether a task has a key as specs have them.
    pub(super) fn is_spec(&self) -> bool {
        self.items.iter().any(|item| item.parent.is_none() && item.key.is_some_and(names_a_spec))
    }

    pub(super) fn lines_below(&self, item: &Item<'a>) -> Vec<Line<'a>> {
        item.below.iter().map(|at| self.file.lines[*at]).collect()
    }
}

struct Walk<'a> {
    dialect: Dialect,
    items: Vec<Item<'a>>,
    notes: Vec<Note>,
    too_deep: Option<usize>,
    /// Places of the items that the next line may belong to, the innermost last.
    open: Vec<usize>,
    phases: Phases<'a>,
    /// Items with a number as their key (`1.`), of which those at the same column may be parts (`1.1`).
    wholes: HashMap<&'a str, usize>,
}

impl<'a> Walk<'a> {
    fn add(&mut self, at: usize, line: &Line<'a>, after_blank: bool) {
        let (column, words) = (line.columns(), line.words());
        match line.hidden {
            Some(Hidden::Comment) if self.dialect == Dialect::Checklist => return,
            Some(Hidden::Comment) => {}
            Some(Hidden::FenceBegin) => self.end_items_from(column, false),
            Some(_) => {}
            None if words.is_empty() => {}
            None => {
                if let Some((level, words)) = line.heading() {
                    self.open.clear();
                    self.note_odd_box(at, words);
                    return self.phases.heading(level, words);
                }
                if let Some(found) = checkbox(line.text) {
                    let is_task = self.is_known(at, &found);
                    // A list item one column further in is still a sibling.
                    self.end_items_from(column.saturating_sub(1), is_task);
                    if is_task && self.begin(at, line, &found) {
                        return;
                    }
                } else if list_item(words).is_some() {
                    self.end_items_from(column.saturating_sub(1), false);
                } else if line.kind != Kind::Paragraph || after_blank {
                    self.end_items_from(column, false);
                }
                self.note_odd_box(at, words);
            }
        }
        if let Some(item) = self.open.last().and_then(|open| self.items.get_mut(*open)) {
            item.below.push(at);
        }
    }

    /// Ends the items that a line at this column cannot be part of. What is no box belongs to the task of a spec above it, wherever it
    /// stands.
    fn end_items_from(&mut self, column: usize, is_task: bool) {
        let kept = usize::from(self.dialect == Dialect::Spec && !is_task);
        while self.open.len() > kept
            && self.open.last().is_some_and(|open| self.items[*open].column >= column)
        {
            self.open.pop();
        }
    }

    /// Whether a box is a task or a step; otherwise it is noted.
    fn is_known(&mut self, at: usize, found: &Checkbox<'_>) -> bool {
        let why = match found.mark {
            ' ' | '\t' | 'x' | 'X' | '-' | '~' | '/' if !found.words.is_empty() => return true,
            ' ' | '\t' | 'x' | 'X' | '-' | '~' | '/' => {
                "this checkbox has no text, so it is not a task".to_owned()
            }
            // A reference.
            mark if mark.is_ascii_digit() => return false,
            mark => format!("`[{mark}]` is not a checkbox that Ralph knows; the line is read as text"),
        };
        self.notes.push(Note::new(at + 1, why));
        false
    }

    /// Takes a box for a task, or for a step of the task above it. Gives whether it is a task.
    fn begin(&mut self, at: usize, line: &Line<'a>, found: &Checkbox<'a>) -> bool {
        let mark = Mark { line: at, at: line.start + found.at, is_done: found.is_ticked() == Some(true) };
        let key = match self.dialect {
            Dialect::Spec => task_key(found.words),
            Dialect::Checklist => item_key(found.words),
        };
        let around = self.open.last().copied();
        if let Some(around) = around
            && self.dialect == Dialect::Spec
            && !found.is_optional
            // The steps of a task may be numbered.
            && key.is_none_or(|(key, _)| is_number(key) && self.items[around].key.is_some())
        {
            self.items[around].steps.push(mark);
            return false;
        }
        let (key, words) = key.map_or((None, found.words), |(key, words)| (Some(key), words));
        if matches!(found.mark, '-' | '~' | '/') {
            let why = "this task is marked as in progress; Ralph begins it anew";
            self.notes.push(Note::new(at + 1, why));
        }
        let is_fix = words.contains("[FIX ");
        let whole = || {
            let (whole, _) = key?.split_once('.')?;
            self.wholes.get(whole).copied()
        };
        let parent = around.or_else(whole).filter(|_| !is_fix);
        let is_part_of_optional = parent.is_some_and(|parent| self.items[parent].is_optional);
        let place = self.items.len();
        if let Some(key) = key.filter(|key| is_number(key) && self.dialect == Dialect::Spec) {
            self.wholes.insert(key, place);
        }
        if self.open.len() >= DEEPEST {
            self.too_deep.get_or_insert(at + 1);
        } else {
            self.open.push(place);
        }
        self.items.push(Item {
            mark,
            column: line.columns(),
            is_optional: found.is_optional || is_part_of_optional,
            key,
            words,
            name: String::new(),
            phase: self.phases.current(),
            phase_count: self.phases.count,
            parent,
            steps: Vec::new(),
            below: Vec::new(),
        });
        true
    }

    /// Notes what a person may take for a box: one in a quotation, a heading, a table or a sentence, one that is empty or too wide, one
    /// without a blank behind it. What stands in code is none.
    fn note_odd_box(&mut self, at: usize, words: &str) {
        static TICKED: Pattern = Pattern::new(
            r"^(?:[>#*+_~ \t-]*(?:[0-9]{1,9}[.)][ \t]*)?[*_~]*\[[xX]\](?:$|[^(\[:])|\|.*\[[xX]\])",
        );
        static OPEN: Pattern = Pattern::new(
            r"\[(?: +| +[xX]|[xX] +| +[xX] +)\]|\u{2610}|^[> \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+\[\](?:$|[^(\[:])",
        );
        if !words.contains(['[', '\u{2610}']) {
            return;
        }
        let is_odd = || {
            let mut shown = String::with_capacity(words.len());
            let mut from = 0;
            for code in spans(words) {
                shown.push_str(words.get(from..code.whole.start).unwrap_or_default());
                from = code.whole.end;
            }
            shown.push_str(words.get(from..).unwrap_or_default());
            OPEN.is_match(&shown) || TICKED.is_match(words)
        };
        let bare = words.trim_start_matches(['>', ' ', '\t']);
        let is_box = checkbox(bare).is_some();
        let why = if bare.len() < words.len() && is_box {
            "a checkbox in a quotation is not a task"
        } else if !is_box && is_odd() {
            "this is not a checkbox; a task line is `- [ ] Title`"
        } else {
            return;
        };
        self.notes.push(Note::new(at + 1, why));
    }
}

/// Names all items: by the author's key, or by one made of the titles. A key that an item above has too gets a number.
fn name_items(items: &mut [Item<'_>], notes: &mut Vec<Note>) {
    let mut uses: HashMap<String, usize> = HashMap::with_capacity(items.len());
    for at in 0..items.len() {
        let item = &items[at];
        let name = match item.key {
            Some(key) => key.to_owned(),
            None => {
                let parent = item.parent.map_or("", |parent| &items[parent].name);
                made_up_name(parent, &title_of(item.words))
            }
        };
        let times = uses.entry(name.clone()).or_default();
        *times += 1;
        let item = &mut items[at];
        item.name = match *times {
            1 => name,
            times => format!("{name}#{times}"),
        };
        if let Some(key) = item.key.filter(|key| item.name != *key) {
            let text = format!("the key {key} is used by a task above; Ralph calls this task {}", item.name);
            notes.push(Note::new(item.mark.line + 1, text));
        }
    }
}

/// The words on one line, without comments and without emphasis around the whole.
pub(super) fn title_of(words: &str) -> String {
    let title = one_line(&without_comments(words));
    match without_emphasis(&title) {
        "" => one_line(words),
        bare => bare.to_owned(),
    }
}

/// The beginning of the title for people, and a number that stands for the whole path of titles.
/// It is longer than any key an author writes, so it never is one.
pub(super) fn made_up_name(parent: &str, title: &str) -> String {
    // What may change and leave the title the same: emphasis, capitals, a full stop.
    let chars = title.trim_end_matches('.').chars();
    let plain: String =
        chars.filter(|c| !matches!(c, '*' | '_' | '`')).flat_map(char::to_lowercase).collect();
    let path = fnv(&[parent.as_bytes(), &[0], plain.as_bytes()].concat());
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
