//! What a line is in Markdown, as far as plans need it.

use crate::plan_files::text::indent;

/// A fence of so many of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    mark: u8,
    length: usize,
}

impl Fence {
    /// The fence that a line opens, by what stands after its indent.
    pub(crate) fn opened_by(rest: &str) -> Option<Self> {
        let mark = rest
            .bytes()
            .next()
            .filter(|mark| matches!(mark, b'`' | b'~'))?;
        let length = run(rest, mark);
        let is_code_span =
            mark == b'`' && rest.get(length..).is_some_and(|info| info.contains('`'));
        (length >= 3 && !is_code_span).then_some(Self { mark, length })
    }

    /// Whether a line closes the fence, by what stands after its indent.
    pub(crate) fn is_closed_by(self, rest: &str) -> bool {
        let length = run(rest, self.mark);
        length >= self.length
            && rest
                .get(length..)
                .is_some_and(|after| after.trim().is_empty())
    }
}

fn run(text: &str, mark: u8) -> usize {
    text.bytes().take_while(|byte| *byte == mark).count()
}

/// What a line is before its words are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The first line of a fenced block.
    FenceBegin,
    /// A further line of a fenced block.
    Fenced,
    /// In a comment.
    Comment,
    /// Anywhere else.
    Open,
}

/// A block that goes on until it is closed.
#[derive(Clone, Copy, Debug)]
enum Block {
    Fence { fence: Fence, item: Option<usize> },
    Comment,
}

/// Follows the lines of a file and tells where fences and comments hide them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    block: Option<(Block, usize)>,
}

impl Places {
    /// The place of the next line. `item` is the column of the list item it would be part of.
    pub(crate) fn next(&mut self, number: usize, line: &str, item: Option<usize>) -> Place {
        let (column, rest) = indent(line);
        match self.block {
            Some((Block::Comment, _)) => {
                if line.contains("-->") {
                    self.block = None;
                }
                Place::Comment
            }
            // A list item ends with the next one, and whatever is open in it ends with it.
            Some((
                Block::Fence {
                    item: Some(item), ..
                },
                _,
            )) if column <= item && is_checkbox_item(rest) => {
                self.block = None;
                Place::Open
            }
            Some((Block::Fence { fence, .. }, _)) => {
                if fence.is_closed_by(rest) {
                    self.block = None;
                }
                Place::Fenced
            }
            None if rest.starts_with("<!--") => {
                if !rest.contains("-->") {
                    self.block = Some((Block::Comment, number));
                }
                Place::Comment
            }
            None => match Fence::opened_by(rest) {
                Some(fence) => {
                    self.block = Some((Block::Fence { fence, item }, number));
                    Place::FenceBegin
                }
                None => Place::Open,
            },
        }
    }

    /// At the end of a file: the line of a block that was never closed, and what is missing.
    pub(crate) fn unclosed(&self) -> Option<(usize, String)> {
        let (block, line) = self.block?;
        let what = match block {
            Block::Comment => "a comment is never closed; expected --> after it".to_owned(),
            Block::Fence { fence, .. } => {
                let marks = char::from(fence.mark)
                    .to_string()
                    .repeat(fence.length.min(8));
                format!("a code block is never closed; expected a line {marks} after it")
            }
        };
        Some((line, what))
    }
}

fn is_checkbox_item(rest: &str) -> bool {
    list_item(rest).and_then(checkbox).is_some()
}

/// What stands after the marker (`-`, `*`, `+`, `1.`, `1)`) of a list item.
pub(crate) fn list_item(rest: &str) -> Option<&str> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let after = match digits {
        0 => rest.strip_prefix(['-', '*', '+'])?,
        1..=9 => rest.get(digits..)?.strip_prefix(['.', ')'])?,
        _ => return None,
    };
    (after.is_empty() || after.starts_with([' ', '\t'])).then(|| after.trim_start())
}

/// Whether the checkbox at the beginning of a list item is ticked, and the item's words.
pub(crate) fn checkbox(item: &str) -> Option<(bool, &str)> {
    let (mark, words) = boxed(item)?;
    let is_ticked = match mark {
        ' ' | '\t' => false,
        'x' | 'X' => true,
        _ => return None,
    };
    Some((is_ticked, words))
}

/// The character in the box at the beginning of a list item, and the item's words.
pub(crate) fn boxed(item: &str) -> Option<(char, &str)> {
    let inner = item.strip_prefix('[')?;
    let mark = inner.chars().next()?;
    let words = inner.get(mark.len_utf8()..)?.strip_prefix(']')?;
    (words.is_empty() || words.starts_with([' ', '\t'])).then(|| (mark, words.trim()))
}

/// Level and words of a heading such as `## Words ##`.
pub(crate) fn heading(rest: &str) -> Option<(usize, &str)> {
    let level = run(rest, b'#');
    let words = rest.get(level..)?;
    let is_heading =
        (1..=6).contains(&level) && (words.is_empty() || words.starts_with([' ', '\t']));
    is_heading.then(|| (level, words.trim().trim_end_matches('#').trim_end()))
}

/// The text without emphasis around the whole of it.
pub(crate) fn without_emphasis(text: &str) -> &str {
    let mut text = text.trim();
    // Nothing is nested deeper than this by people.
    for _ in 0..4 {
        let marks = ["**", "__", "~~", "*", "_"];
        let inner = marks.iter().find_map(|mark| {
            let inner = text.strip_prefix(mark)?.strip_suffix(mark)?;
            let is_one = !inner.contains(mark) && !inner.starts_with(' ') && !inner.ends_with(' ');
            (is_one && !inner.is_empty()).then_some(inner)
        });
        match inner {
            Some(inner) => text = inner,
            None => break,
        }
    }
    text
}

/// The code where the whole text is one code span.
pub(crate) fn code_only(text: &str) -> Option<&str> {
    let text = text.trim();
    let marks = run(text, b'`');
    let inner = text.get(marks..)?;
    let (code, close) = inner.split_at_checked(inner.len().checked_sub(marks)?)?;
    let is_span = marks > 0 && run(close, b'`') == marks && !has_run(code, marks);
    is_span.then(|| code.trim()).filter(|code| !code.is_empty())
}

/// Whether a text has a run of just so many backticks, or ends or begins with a backtick.
fn has_run(code: &str, marks: usize) -> bool {
    let mut runs = code.split(|c| c != '`').filter(|run| !run.is_empty());
    runs.any(|run| run.len() == marks) || code.starts_with('`') || code.ends_with('`')
}

#[cfg(test)]
mod tests;
