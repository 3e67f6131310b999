//! What stands below a task line, as entries: fields, other items, paragraphs.
//!
//! Lines that are indented more than an item belong to it, so a `Verify:` among the steps of a
//! `Do` is a step.

use super::dedent::{dedented, without_columns};
use super::label::{Field, Label};
use super::lines::{Kind, Line, Part};
use super::syntax::{bullet, is_rule};

/// One entry of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a, 'l> {
    pub(super) field: Option<Field>,
    /// Whether it is a list item.
    pub(super) is_item: bool,
    /// What stands after the field's name, or in the first line of anything else.
    pub(super) value: &'a str,
    /// All its lines.
    pub(super) lines: &'l [Line<'a>],
    /// Number of its first line in the block.
    pub(super) at: usize,
}

impl<'a, 'l> Entry<'a, 'l> {
    /// The lines below the first.
    pub(super) fn below(&self) -> &'l [Line<'a>] {
        self.lines.get(1..).unwrap_or_default()
    }

    /// The value and the lines below it, without their indent.
    pub(super) fn text(&self) -> String {
        let below = dedented(self.below());
        let is_apart = self.below().first().is_some_and(Line::is_blank);
        match (self.value, below.as_str()) {
            ("", _) => below,
            (value, "") => value.to_owned(),
            (value, below) if is_apart => format!("{value}\n\n{below}"),
            (value, below) => format!("{value}\n{below}"),
        }
    }

    /// All lines as they are written, without the entry's indent.
    pub(super) fn markdown(&self) -> String {
        let columns = self.lines.first().map_or(0, |line| line.columns);
        without_columns(self.lines, columns)
    }

    /// Whether it is nothing but a rule across the page.
    pub(super) fn is_rule(&self) -> bool {
        self.lines.first().is_some_and(is_rule_line) && dedented(self.below()).is_empty()
    }
}

/// The entries of a block, given without its task line.
pub(super) fn entries<'a, 'l>(lines: &'l [Line<'a>]) -> Vec<Entry<'a, 'l>> {
    let mut starts: Vec<Start<'a>> = Vec::new();
    let mut after_blank = false;
    for (at, line) in lines.iter().enumerate() {
        match line.kind {
            Kind::Blank => after_blank = true,
            Kind::Comment(_) | Kind::Fence(Part::Inside | Part::End) => {}
            _ => {
                let start = Start::of(at, line);
                let is_within = starts
                    .last_mut()
                    .is_some_and(|last| last.holds(&start, after_blank));
                if !is_within {
                    starts.push(start);
                }
                after_blank = false;
            }
        }
    }
    let ends = starts
        .iter()
        .skip(1)
        .map(|next| next.at)
        .chain([lines.len()]);
    let entries = starts.iter().zip(ends);
    entries
        .map(|(start, end)| start.entry(lines.get(start.at..end).unwrap_or_default()))
        .collect()
}

/// A line that may begin an entry.
struct Start<'a> {
    at: usize,
    columns: usize,
    is_item: bool,
    is_fence: bool,
    is_rule: bool,
    label: Option<Label<'a>>,
    value: &'a str,
    /// Whether there is anything but a name so far.
    has_content: bool,
}

impl<'a> Start<'a> {
    fn of(at: usize, line: &Line<'a>) -> Self {
        let words = line.words;
        let item = bullet(words);
        let label = match item {
            _ if line.columns == 0 => None,
            Some(text) => Label::of_item(text),
            None => Label::emphasised(words),
        };
        let value = label.map_or(words, |label| label.value);
        Self {
            at,
            columns: line.columns,
            is_item: item.is_some(),
            is_fence: line.kind == Kind::Fence(Part::Begin),
            is_rule: is_rule_line(line),
            label,
            value,
            has_content: !value.is_empty(),
        }
    }

    /// Whether a later line belongs to the entry that begins here.
    fn holds(&mut self, line: &Start<'_>, after_blank: bool) -> bool {
        let is_marked = line.is_item || line.label.is_some();
        let is_within = if line.is_rule {
            false
        } else if self.is_item {
            // Also a line that goes on with a paragraph without its indent, and a fence right
            // below its name.
            line.columns > self.columns
                || (!is_marked && !after_blank)
                || (line.is_fence && !self.has_content)
        } else if self.label.is_some() {
            // Below a name that is no item, a list need not be indented.
            let is_below = line.columns >= self.columns || (!is_marked && !after_blank);
            is_below && (line.columns > self.columns || line.label.is_none())
        } else {
            !is_marked && !after_blank
        };
        self.has_content |= is_within;
        is_within
    }

    fn entry<'l>(&self, lines: &'l [Line<'a>]) -> Entry<'a, 'l> {
        let field = self.label.and_then(|label| label.field);
        Entry {
            field,
            is_item: self.is_item,
            value: self.value,
            lines,
            at: self.at,
        }
    }
}

fn is_rule_line(line: &Line<'_>) -> bool {
    line.kind == Kind::Text && line.columns == 0 && is_rule(line.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan_files::tasks_md::lines::Lines;

    fn found(text: &str) -> Vec<(Option<Field>, String)> {
        let lines: Vec<_> = Lines::of(text).collect();
        let entries = entries(&lines);
        let pairs = entries.iter().map(|entry| match entry.field {
            Some(_) => (entry.field, entry.text()),
            None => (None, entry.markdown()),
        });
        pairs.collect()
    }

    fn field(field: Field, text: &str) -> (Option<Field>, String) {
        (Some(field), text.to_owned())
    }

    fn other(text: &str) -> (Option<Field>, String) {
        (None, text.to_owned())
    }

    #[test]
    fn imp_03_fields_at_any_indent() {
        for indent in [" ", "  ", "\t", "      "] {
            let text = format!(
                "{indent}- **Do**: a\n{indent}  1. b\n{indent}     - Verify: c\n\n{indent}* Files: d\n\
                 {indent}+ **Skills**: e\n{indent}  - **Verify**: f"
            );
            let expected = [
                field(Field::Do, "a\n1. b\n   - Verify: c"),
                field(Field::Files, "d"),
                other("+ **Skills**: e\n  - **Verify**: f"),
            ];
            assert_eq!(found(&text), expected, "{indent:?}");
        }
    }

    #[test]
    fn paragraphs_and_lines_that_go_on() {
        assert_eq!(
            found(
                "  title\n  goes on\n    - **Do**: a\n  b\n  1. c\n\n  d\n\ne\n  - **Verify**: f\ng"
            ),
            [
                other("title\ngoes on"),
                field(Field::Do, "a\nb\n1. c"),
                other("d"),
                other("e"),
                field(Field::Verify, "f\ng"),
            ]
        );
    }

    #[test]
    fn names_that_are_no_items() {
        assert_eq!(
            found(
                "  **Do**: a\n  - b\n\n  c\n\n  **Skills**: d\n  - _Design: e_\n\n  **Verify:** f\n\ng"
            ),
            [
                field(Field::Do, "a\n- b\n\nc"),
                other("**Skills**: d"),
                field(Field::Design, "e"),
                field(Field::Verify, "f"),
                other("g"),
            ]
        );
    }

    #[test]
    fn fences_belong_to_what_they_stand_below() {
        let fence = "```sh\n- **Do**: b\n\n```";
        for (gap, fence_column) in [("", "  "), ("\n", "  "), ("", "    "), ("\n", "    ")] {
            let indented = fence.replace('\n', &format!("\n{fence_column}"));
            let text = format!("  - **Verify**:\n{gap}{fence_column}{indented}\n  - **Commit**: c");
            let expected = [field(Field::Verify, fence), field(Field::Commit, "c")];
            assert_eq!(found(&text), expected, "{text}");
        }
        assert_eq!(
            found("  - **Commit**: a\n\n  ~~~\n  b\n  ~~~\n"),
            [field(Field::Commit, "a"), other("~~~\nb\n~~~")]
        );
    }

    #[test]
    fn rules_and_comments_stand_alone() {
        assert_eq!(
            found("  - **Do**: a\n  <!-- Verify: x\n  - **Verify**: y -->\n---\n\n- **Verify**: b"),
            [
                field(Field::Do, "a"),
                other("---"),
                other("- **Verify**: b")
            ]
        );
    }
}
