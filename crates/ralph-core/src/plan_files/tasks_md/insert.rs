//! Putting blocks into a file, with one blank line on each side; all else stays byte for byte.

use memchr::memchr_iter;

use super::blocks::Blocks;
use super::key::is_below;
use super::lines::next_line;
use super::syntax::indent;

/// Puts a block after a task and all that are below it (`1.3.1` is below `1.3`), wherever the last
/// of them stands. The block has `\n` as its line end and begins with a task line.
#[must_use]
pub fn insert_after(text: &str, key: &str, block: &str) -> Option<String> {
    let blocks = Blocks::of(text);
    blocks.find(key)?;
    let is_family = |other: &str| other == key || is_below(other, key);
    let last = blocks.all.iter().rfind(|one| is_family(one.head.key))?;
    Some(put_in(text, last.content_end, block))
}

/// Puts a block right after a task's own block, before what is below it.
#[must_use]
pub fn insert_after_block(text: &str, key: &str, block: &str) -> Option<String> {
    let at = Blocks::of(text).find(key)?.content_end;
    Some(put_in(text, at, block))
}

/// Puts a block right before a task.
#[must_use]
pub fn insert_before(text: &str, key: &str, block: &str) -> Option<String> {
    let start = Blocks::of(text).find(key)?.bytes.start;
    Some(put_in(text, end_of_content(text, start), block))
}

/// Puts a block in where a line ends. Of the blank lines that follow, one comes before the block
/// and the others stay after it.
fn put_in(text: &str, at: usize, block: &str) -> String {
    let line_end = commonest_line_end(text);
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let mut out = String::with_capacity(text.len() + block.len() + block.len() / 8 + 16);
    out.push_str(before);
    end_line(&mut out, line_end);
    let mut rest = after;
    if !is_empty(before) {
        let (blank, others) = split_blank_line(after);
        out.push_str(blank);
        end_line(&mut out, line_end);
        if blank.is_empty() {
            out.push_str(line_end);
        }
        rest = others;
    }
    for line in block.trim_matches('\n').split('\n') {
        out.push_str(line);
        out.push_str(line_end);
    }
    let (blank, _) = split_blank_line(rest);
    if blank.is_empty() && !rest.is_empty() {
        out.push_str(line_end);
    }
    out.push_str(rest);
    out
}

fn is_empty(text: &str) -> bool {
    text.is_empty() || text == "\u{feff}"
}

/// Ends the last line where it is not ended yet.
fn end_line(out: &mut String, line_end: &str) {
    if !is_empty(out) && !out.ends_with('\n') {
        out.push_str(line_end);
    }
}

/// The blank line that a text begins with, if it does, and the rest.
fn split_blank_line(text: &str) -> (&str, &str) {
    let (line, end) = next_line(text, 0).unwrap_or_default();
    let is_blank = indent(line).1.is_empty();
    text.split_at_checked(if is_blank { end } else { 0 })
        .unwrap_or((text, ""))
}

/// Where the last line before `start` ends that is not blank.
fn end_of_content(text: &str, start: usize) -> usize {
    let mut before = text.get(..start).unwrap_or_default();
    while let Some(others) = before.strip_suffix('\n') {
        let line_start = others.rfind('\n').map_or(0, |at| at + 1);
        let (kept, line) = others.split_at_checked(line_start).unwrap_or_default();
        if !indent(line.trim_end_matches('\r')).1.is_empty() {
            break;
        }
        before = kept;
    }
    before.len()
}

/// `\r\n` where most lines of a file end so, else `\n`.
fn commonest_line_end(text: &str) -> &'static str {
    let bytes = text.as_bytes();
    let dos = memchr_iter(b'\r', bytes).filter(|at| bytes.get(at + 1) == Some(&b'\n'));
    match dos.count() * 2 > memchr_iter(b'\n', bytes).count() {
        true => "\r\n",
        false => "\n",
    }
}

#[cfg(test)]
#[path = "insert_tests.rs"]
mod tests;
