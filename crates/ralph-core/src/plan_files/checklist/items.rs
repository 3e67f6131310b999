//! The checkboxes of a file, and the lines that belong to each.

use super::phases::Phases;
use crate::plan_files::draft::{Note, Problem};
use crate::plan_files::markdown::{Place, Places, boxed, checkbox, heading, list_item};
use crate::plan_files::text::{indent, without_mark};

/// How deep items may be nested.
const DEEPEST: usize = 100;

/// One checkbox.
#[derive(Debug)]
pub(super) struct Item<'a> {
    pub(super) line: usize,
    pub(super) is_ticked: bool,
    /// What stands behind the box.
    pub(super) words: &'a str,
    /// Place of the item it is a part of.
    pub(super) parent: Option<usize>,
    pub(super) phase: Option<&'a str>,
    pub(super) below: Vec<LineBelow<'a>>,
}

/// A line below an item that is no item itself; blank ones only where they stand in a fence.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineBelow<'a> {
    pub(super) number: usize,
    pub(super) text: &'a str,
    pub(super) place: Place,
}

/// What was found in a file.
#[derive(Debug)]
pub(super) struct Items<'a> {
    pub(super) items: Vec<Item<'a>>,
    pub(super) notes: Vec<Note>,
    pub(super) problems: Vec<Problem>,
}

/// Finds all checkboxes.
pub(super) fn collect(text: &str) -> Items<'_> {
    let mut collector = Collector::default();
    let mut places = Places::default();
    for (at, line) in without_mark(text).lines().enumerate() {
        let item = collector.column_of_item(line);
        let place = places.next(at + 1, line, item);
        collector.line(LineBelow {
            number: at + 1,
            text: line,
            place,
        });
    }
    if let Some((line, expected)) = places.unclosed() {
        collector.problem(line, expected);
    }
    if collector.items.is_empty() {
        collector.problem(
            1,
            "no tasks found; expected a list such as `- [ ] Title`".to_owned(),
        );
    }
    let Collector {
        items,
        notes,
        problems,
        ..
    } = collector;
    Items {
        items,
        notes,
        problems,
    }
}

#[derive(Default)]
struct Collector<'a> {
    items: Vec<Item<'a>>,
    /// Column and place of the items that the next line may belong to, the innermost last.
    open: Vec<(usize, usize)>,
    phases: Phases<'a>,
    notes: Vec<Note>,
    problems: Vec<Problem>,
}

impl<'a> Collector<'a> {
    fn line(&mut self, line: LineBelow<'a>) {
        let (column, rest) = indent(line.text);
        match line.place {
            Place::Comment => {}
            Place::Fenced => self.add_below(line),
            Place::Open if rest.trim().is_empty() => {}
            Place::FenceBegin => {
                self.end_items_from(column);
                self.add_below(line);
            }
            Place::Open => self.open_line(line, column, rest),
        }
    }

    fn open_line(&mut self, line: LineBelow<'a>, column: usize, rest: &'a str) {
        let Some(item) = list_item(rest) else {
            self.end_items_from(column);
            match heading(rest) {
                Some((level, words)) if self.open.is_empty() => self.phases.heading(level, words),
                _ => self.add_below(line),
            }
            return;
        };
        // A list item one column further in is still a sibling.
        self.end_items_from(column.saturating_sub(1));
        match checkbox(item) {
            Some((is_ticked, words)) => self.begin_item(line.number, column, is_ticked, words),
            None => {
                if let Some((mark @ ('~' | '-' | '/'), _)) = boxed(item) {
                    let text =
                        format!("`[{mark}]` is not a checkbox; Ralph reads the line as text.");
                    self.notes.push(Note {
                        line: line.number,
                        text,
                    });
                }
                self.add_below(line);
            }
        }
    }

    fn begin_item(&mut self, line: usize, column: usize, is_ticked: bool, words: &'a str) {
        let parent = self.open.last().map(|(_, at)| *at);
        if words.is_empty() {
            self.problem(
                line,
                "this checkbox has no text; expected a title after it".to_owned(),
            );
        }
        if self.open.len() >= DEEPEST {
            let expected =
                format!("items are nested too deeply; expected at most {DEEPEST} levels");
            self.problem(line, expected);
        } else {
            self.open.push((column, self.items.len()));
        }
        self.items.push(Item {
            line,
            is_ticked,
            words,
            parent,
            phase: self.phases.current(),
            below: Vec::new(),
        });
    }

    /// Ends the items that a line at this column cannot be part of.
    fn end_items_from(&mut self, column: usize) {
        while self.open.last().is_some_and(|(open, _)| *open >= column) {
            self.open.pop();
        }
    }

    fn add_below(&mut self, line: LineBelow<'a>) {
        let innermost = self.open.last().map(|(_, at)| *at);
        if let Some(item) = innermost.and_then(|at| self.items.get_mut(at)) {
            item.below.push(line);
        }
    }

    /// The column of the innermost item that a line could be part of.
    fn column_of_item(&self, line: &str) -> Option<usize> {
        let (column, _) = indent(line);
        let mut open = self.open.iter().rev().map(|(open, _)| *open);
        open.find(|open| *open < column)
    }

    fn problem(&mut self, line: usize, expected: String) {
        self.problems.push(Problem { line, expected });
    }
}
