//! The Markdown of a plan file: its boxes, and what plans of the plain style say under headings.

use std::ops::Range;

use super::super::text::{block, label};
use super::plan::{title_of, without_number};
use crate::markdown::{Line, Lines, checkbox, list_item};
use crate::text::Pattern;

/// Lines of the open boxes of a file that is no plan.
pub(super) fn open_boxes(file: &str) -> Vec<usize> {
    Body::of(file, 0).open_boxes()
}

/// What plans of another style say under headings instead of between tags.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Headed {
    /// The words of the first heading.
    pub(super) title: Option<String>,
    pub(super) objective: String,
    pub(super) context: String,
}

/// The Markdown of a plan file behind its frontmatter.
pub(super) struct Body<'a> {
    lines: Lines<'a>,
    /// Where it begins in the file, in bytes, and the lines before it.
    start: usize,
    lines_before: usize,
}

impl<'a> Body<'a> {
    pub(super) fn of(file: &'a str, start: usize) -> Self {
        let (before, body) = file.split_at_checked(start).unwrap_or((file, ""));
        Self { lines: Lines::of(body), start, lines_before: before.matches('\n').count() }
    }

    /// Line and whether it is ticked, of each box.
    pub(super) fn boxes(&self) -> impl Iterator<Item = (usize, bool)> {
        let lines = (self.lines_before + 1..).zip(&self.lines.lines);
        let shown = lines.filter(|(_, line)| line.hidden.is_none());
        shown.filter_map(|(number, line)| Some((number, checkbox(line.text)?.is_ticked()?)))
    }

    pub(super) fn open_boxes(&self) -> Vec<usize> {
        self.boxes().filter(|(_, is_ticked)| !is_ticked).map(|(line, _)| line).collect()
    }

    /// What `**Status:** …` says above the first section.
    pub(super) fn status(&self) -> Option<&'a str> {
        let above =
            self.lines.lines.iter().take_while(|line| line.heading().is_none_or(|(level, _)| level == 1));
        let mut labels = above.filter_map(|line| label(list_item(line.words()).unwrap_or(line.words())));
        labels.find(|label| label.name.eq_ignore_ascii_case("status")).map(|label| label.value)
    }

    /// Words, text and line of the tasks under headings: those below `## Tasks`, or `### Task 1: …` anywhere.
    pub(super) fn tasks(&self) -> Vec<(&'a str, Range<usize>, usize)> {
        static SECTION: Pattern = Pattern::new("^(?i-u:(?:implementation )?(?:tasks|steps|task list))$");
        static TASK: Pattern = Pattern::new("^(?i-u:task|step) [0-9]");
        let headings = self.lines.lines.iter().enumerate();
        let headings: Vec<(usize, usize, &'a str)> = headings
            .filter_map(|(at, line)| line.heading().map(|(level, words)| (at, level, words)))
            .collect();
        let end_of = |place: usize, level: usize| {
            let next = headings[place + 1..].iter().find(|(_, other, _)| *other <= level);
            next.map_or(self.lines.lines.len(), |(at, _, _)| *at)
        };
        let section = headings.iter().position(|(_, _, words)| SECTION.is_match(words));
        let mut found: Vec<usize> = match section {
            Some(place) => {
                let (_, level, _) = headings[place];
                let inside = (place + 1..headings.len()).take_while(|at| headings[*at].1 > level);
                let inside: Vec<usize> = inside.collect();
                let highest = inside.iter().map(|at| headings[*at].1).min();
                inside.into_iter().filter(|at| Some(headings[*at].1) == highest).collect()
            }
            None => Vec::new(),
        };
        if found.is_empty() {
            found = (0..headings.len()).filter(|at| TASK.is_match(headings[*at].2)).collect();
        }
        let task = |place: usize| {
            let (at, level, words) = headings[place];
            let lines = &self.lines.lines[at + 1..end_of(place, level).max(at + 1)];
            let begin = self.lines.lines[at].end();
            let end = lines.last().map_or(begin, Line::end);
            (words, self.start + begin..self.start + end, self.lines_before + at + 1)
        };
        found.into_iter().map(task).collect()
    }

    pub(super) fn headed(&self) -> Headed {
        let mut found = Headed::default();
        let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut is_open = false;
        for line in &self.lines.lines {
            if let Some((_, words)) = line.heading() {
                found.title = found.title.take().or_else(|| title_of(without_number(words)));
                sections.push((words, Vec::new()));
                is_open = true;
            } else if line.words().starts_with("<task") {
                is_open = false;
            } else if let Some((_, lines)) = sections.last_mut().filter(|_| is_open) {
                lines.push(line.text);
            }
        }
        let section = |names: &[&str]| {
            let is_named = |words: &str| names.iter().any(|name| words.eq_ignore_ascii_case(name));
            let texts = sections.iter().filter(|(words, _)| is_named(words));
            texts.map(|(_, lines)| block(&lines.join("\n"))).find(|text| !text.is_empty()).unwrap_or_default()
        };
        found.objective = section(&["objective", "goal"]);
        found.context = section(&["context"]);
        found
    }
}
