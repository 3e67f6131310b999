//! The blocks of a file: each task line with what stands below it, up to the next task or heading.

use std::ops::Range;

use super::head::{CHECKBOX, Head};
use super::lines::{Kind, Line, Lines, Part};
use super::syntax::is_rule;

/// A task line and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block<'a> {
    pub(super) head: Head<'a>,
    /// Numbers of its lines, counted from 0.
    pub(super) lines: Range<usize>,
    /// Where it stands in the file.
    pub(super) bytes: Range<usize>,
    /// Where its content ends: before blank lines and rules that only lead over to what follows.
    pub(super) content_end: usize,
}

impl Block<'_> {
    /// Where the character in its checkbox stands.
    pub(super) fn checkbox(&self) -> usize {
        self.bytes.start + CHECKBOX
    }
}

/// All blocks of a file, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks<'a> {
    pub(super) all: Vec<Block<'a>>,
    /// Line (counted from 0) of a fence or comment that is never closed. It belongs to no block:
    /// what is put after the last block must not be swallowed by it.
    pub(super) never_closed: Option<usize>,
}

impl<'a> Blocks<'a> {
    pub(super) fn of(file: &'a str) -> Self {
        Self::with_lines(file, |_| {})
    }

    /// Shows each line to `see` on the way.
    pub(super) fn with_lines(file: &'a str, mut see: impl FnMut(Line<'a>)) -> Self {
        let mut finder = Finder::default();
        let mut lines = Lines::of(file);
        for (number, line) in lines.by_ref().enumerate() {
            finder.add(number, &line);
            see(line);
        }
        finder.finish(lines.never_closed())
    }

    /// The first block with this key.
    pub(super) fn find(&self, key: &str) -> Option<&Block<'a>> {
        self.all.iter().find(|block| block.head.key == key)
    }
}

#[derive(Default)]
struct Finder<'a> {
    found: Blocks<'a>,
    /// Whether the last block goes on.
    is_open: bool,
    /// The last line at column 0 that began a fence or comment.
    opening: Opening,
}

#[derive(Default)]
struct Opening {
    line: usize,
    /// Where the last block's content ended before it.
    content_end: usize,
}

impl<'a> Finder<'a> {
    fn add(&mut self, number: usize, line: &Line<'a>) {
        match line.kind {
            Kind::Task => {
                self.is_open = true;
                let block = Head::of(line.text).map(|head| Block {
                    head,
                    lines: number..number + 1,
                    bytes: line.start..line.end,
                    content_end: line.end,
                });
                self.found.all.extend(block);
                return;
            }
            Kind::Heading => self.is_open = false,
            Kind::Fence(Part::Begin) | Kind::Comment(Part::Begin) if line.columns == 0 => {
                let content_end = self.found.all.last().map_or(0, |block| block.content_end);
                self.opening = Opening {
                    line: number,
                    content_end,
                };
            }
            _ => {}
        }
        if let Some(block) = self.found.all.last_mut().filter(|_| self.is_open) {
            block.lines.end = number + 1;
            block.bytes.end = line.end;
            let leads_over = line.is_blank() || (line.kind == Kind::Text && is_rule(line.text));
            if !leads_over {
                block.content_end = line.end;
            }
        }
    }

    fn finish(mut self, never_closed: Option<usize>) -> Blocks<'a> {
        let Some(start) = never_closed else {
            return self.found;
        };
        self.found.never_closed = Some(self.opening.line);
        if let Some(block) = self.found.all.last_mut().filter(|_| self.is_open) {
            block.lines.end = self.opening.line;
            block.bytes.end = start;
            block.content_end = self.opening.content_end;
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Key, text and content of each block.
    fn blocks(file: &str) -> Vec<(&str, &str, &str)> {
        let found = Blocks::of(file).all;
        let part = |range: Range<usize>| file.get(range).unwrap();
        let blocks = found.iter().map(|block| {
            let content = block.bytes.start..block.content_end;
            (block.head.key, part(block.bytes.clone()), part(content))
        });
        blocks.collect()
    }

    #[test]
    fn imp_01_a_block_ends_at_the_next_task_heading_or_end_of_file() {
        assert_eq!(
            blocks("x\n- [ ] 1.1 a\n  b\n- [ ] c\n\n- [x] 1.2 d\n\n### e\n- [ ] V1 f\n\ng"),
            [
                (
                    "1.1",
                    "- [ ] 1.1 a\n  b\n- [ ] c\n\n",
                    "- [ ] 1.1 a\n  b\n- [ ] c\n"
                ),
                ("1.2", "- [x] 1.2 d\n\n", "- [x] 1.2 d\n"),
                ("V1", "- [ ] V1 f\n\ng", "- [ ] V1 f\n\ng"),
            ]
        );
    }

    #[test]
    fn blank_lines_and_rules_at_the_end_are_no_content() {
        let file = "- [ ] 1.1 a\n\n---\n  b\n \n---\n\n* * *\n## c\n";
        let end = "- [ ] 1.1 a\n\n---\n  b\n";
        assert_eq!(
            blocks(file),
            [("1.1", file.strip_suffix("## c\n").unwrap(), end)]
        );
        let fence = "- [ ] 1.1 a\n```\n---\n```\n";
        assert_eq!(blocks(fence), [("1.1", fence, fence)]);
    }

    #[test]
    fn what_is_never_closed_belongs_to_no_block() {
        for tail in ["```\n- [ ] 1.2 b\n\n    ```\n", "<!-- a\n# b", "~~~"] {
            for head in ["- [ ] 1.1 a\n", "- [ ] 1.1 a\n```\n```\n"] {
                let file = format!("{head}\n{tail}");
                assert_eq!(
                    blocks(&file),
                    [("1.1", &*format!("{head}\n"), head)],
                    "{file}"
                );
                let line = head.lines().count() + 1;
                assert_eq!(Blocks::of(&file).never_closed, Some(line), "{file}");
            }
        }
        let file = "- [ ] 1.1 a\n## b\n```\n- [ ] 1.2 b\n";
        assert_eq!(blocks(file), [("1.1", "- [ ] 1.1 a\n", "- [ ] 1.1 a\n")]);
    }
}
