//! The text of the details, broken into lines of the screen; and what is searched in it and in the plan.

use std::collections::{HashSet, VecDeque};

use ralph_core::model::TaskId;
use ratatui_core::text::Line;

use super::{App, Effect};
use crate::tui::ansi;
use crate::tui::layout::Pane;
use crate::tui::outline::Row;
use crate::tui::texts::MOST_LINES;
use crate::tui::view::{Append, Request, Tab, TextKey};

/// The text of the details, broken into lines of the screen.
#[derive(Debug, Default)]
pub struct Text {
    pub(super) key: TextKey,
    lines: VecDeque<Line<'static>>,
    pub broken: Vec<Line<'static>>,
    columns: usize,
    pub top: usize,
    /// Whether the end stays in view while lines come.
    pub follows: bool,
}

#[derive(Debug, Default)]
pub struct Search {
    pub text: String,
    /// Tasks; those of the details are looked for when they are wanted.
    pub(super) found: Vec<TaskId>,
}

impl App {
    pub(super) fn start_search(&mut self, text: String) -> Vec<Effect> {
        self.search = Search { text, found: Vec::new() };
        if self.search.text.is_empty() {
            return Vec::new();
        }
        match self.focus {
            Pane::Details => {
                self.find(true, true);
                Vec::new()
            }
            _ => vec![Effect::Request(Request::Find(self.search.text.clone()))],
        }
    }

    /// Goes to the next one found, or the one before; `here` counts what is in view.
    pub(super) fn find(&mut self, forward: bool, here: bool) {
        if self.search.text.is_empty() {
            return self.say("nothing was searched yet; / searches");
        }
        if self.focus == Pane::Details {
            if !self.text.find(&self.search.text, forward, here) {
                self.fail(format!("`{}` is not in this text", self.search.text));
            }
            return;
        }
        // In the order of the tree.
        let found: HashSet<&TaskId> = self.search.found.iter().collect();
        let places: Vec<usize> = self
            .outline
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| found.contains(&node.id) && (!self.problems || node.is_problem()))
            .map(|(at, _)| at)
            .collect();
        let at = match self.rows.get(self.cursor) {
            Some(Row::Task(at) | Row::Phase(at)) => *at,
            None => 0,
        };
        let next = match forward {
            true => places.iter().find(|place| **place > at || here && **place == at).or(places.first()),
            false => places.iter().rfind(|place| **place < at).or(places.last()),
        };
        let Some(next) = next.copied() else {
            return self.fail(format!("no task has `{}` in its name or title", self.search.text));
        };
        let number = places.iter().position(|place| *place == next).map_or(0, |at| at + 1);
        let id = self.outline.nodes.get(next).map(|node| node.id.clone());
        self.select(id.as_ref());
        self.say(format!("{number} of {} with `{}`; n and N go on", places.len(), self.search.text));
    }
}

impl Text {
    /// Empty, at its end.
    pub(super) fn following() -> Self {
        Self { follows: true, ..Self::default() }
    }

    pub(super) fn take(&mut self, key: TextKey, lines: &[String], how: Append) {
        if how == Append::Anew {
            // A log begins empty and is read from its end; everything else is read from its beginning.
            if lines.is_empty() && matches!(key.tab, Tab::Live | Tab::Log) {
                self.follows = true;
            } else if self.key != key {
                (self.follows, self.top) = (false, 0);
            }
            self.lines.clear();
            self.broken.clear();
        }
        self.key = key;
        let new = ansi::lines(&lines.join("\n"));
        if self.columns > 0 {
            self.broken.extend(new.iter().flat_map(|line| ansi::wrap(line, self.columns)));
        }
        self.lines.extend(new);
        if self.lines.len() > MOST_LINES {
            self.lines.drain(..self.lines.len() - MOST_LINES);
            self.columns = 0;
        }
    }

    /// Breaks the lines for a pane of this size.
    pub(super) fn fit(&mut self, columns: usize, height: usize) {
        if self.columns != columns && columns > 0 {
            self.columns = columns;
            self.broken = self.lines.iter().flat_map(|line| ansi::wrap(line, columns)).collect();
        }
        let last = self.broken.len().saturating_sub(height);
        self.top = if self.follows { last } else { self.top.min(last) };
    }

    pub(super) fn scroll(&mut self, by: isize, height: usize) {
        let last = self.broken.len().saturating_sub(height);
        self.top = self.top.saturating_add_signed(by).min(last);
        self.follows = self.top == last && matches!(self.key.tab, Tab::Live | Tab::Log);
    }

    /// Scrolls to a line with a text; `false` where there is none.
    fn find(&mut self, text: &str, forward: bool, here: bool) -> bool {
        let text = text.to_lowercase();
        let hits = self.broken.iter().enumerate();
        let hits: Vec<usize> = hits
            .filter(|(_, line)| line.to_string().to_lowercase().contains(&text))
            .map(|(at, _)| at)
            .collect();
        let next = match forward {
            true => hits.iter().find(|at| **at > self.top || here && **at == self.top).or(hits.first()),
            false => hits.iter().rfind(|at| **at < self.top).or(hits.last()),
        };
        if let Some(at) = next {
            (self.top, self.follows) = (*at, false);
        }
        next.is_some()
    }

    pub(super) fn whole(&self) -> String {
        self.lines.iter().map(|line| line.to_string() + "\n").collect()
    }

    pub fn is_of(&self, wanted: &TextKey) -> bool {
        self.key == *wanted
    }
}
