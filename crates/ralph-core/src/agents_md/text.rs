//! Text of list items: made plain, indented, and taken back out of the lines of a file.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::markdown::{bullet, is_rule};

/// A bullet's text as it reads back from a file: `\n` as line end, no control characters but tabs,
/// no white space around it or at the end of a line.
#[must_use]
pub fn bullet_text(text: &str) -> String {
    tidy(text).into_owned()
}

/// What [`bullet_text`] gives; borrowed where the text is so already, as most are.
pub(super) fn tidy(text: &str) -> Cow<'_, str> {
    match plain(text) {
        Cow::Borrowed(plain) if !has_ragged_line(plain.trim()) => Cow::Borrowed(plain.trim()),
        plain => Cow::Owned(without_ragged_lines(plain.trim())),
    }
}

fn has_ragged_line(text: &str) -> bool {
    let is_ragged = |line: &str| line.ends_with(char::is_whitespace);
    text.contains('\n') && text.split('\n').any(is_ragged)
}

fn without_ragged_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        out.push_str(line.trim_end());
    }
    out
}

/// The text with `\n` as its only line end and without control characters but tabs.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    // A look at all bytes is much faster than one at the characters; 0xc2 begins some odd ones.
    let may_be_odd =
        |byte: u8| (byte < b' ' && byte != b'\n' && byte != b'\t') || byte == 0x7f || byte == 0xc2;
    if !text.bytes().fold(false, |odd, byte| odd | may_be_odd(byte)) {
        return Cow::Borrowed(text);
    }
    let is_odd = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            c if is_odd(c) => {}
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The lines of a list item. The indent keeps whatever stands in them from being a heading, an item
/// or a fence of the document.
pub(super) fn item_lines(text: &str) -> Vec<String> {
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default();
    // `- --` would be a rule across the page.
    let dashes = format!("- {first}");
    let head = if is_rule(&dashes) {
        format!("+ {first}")
    } else {
        dashes
    };
    let rest = lines.map(|line| {
        let mut indented = String::with_capacity(line.len() + 2);
        if !line.is_empty() {
            let _ = write!(indented, "  {line}");
        }
        indented
    });
    std::iter::once(head).chain(rest).collect()
}

/// The text of a list item, from its lines in a file.
pub(super) fn item_text<'a>(mut lines: impl Iterator<Item = &'a str>) -> Cow<'a, str> {
    let first = lines.next().unwrap_or_default();
    let first = bullet(first).unwrap_or(first);
    let Some(second) = lines.next() else {
        return tidy(first);
    };
    let mut raw = first.to_owned();
    for line in std::iter::once(second).chain(lines) {
        raw.push('\n');
        raw.push_str(without_indent(line));
    }
    Cow::Owned(bullet_text(&raw))
}

/// A line without two columns of its indent; a tab goes as a whole.
fn without_indent(line: &str) -> &str {
    let Some(rest) = line.strip_prefix(' ') else {
        return line.strip_prefix('\t').unwrap_or(line);
    };
    rest.strip_prefix([' ', '\t']).unwrap_or(rest)
}

/// The line end that most of these lines have.
pub(super) fn commonest_line_end<'a>(lines: impl Iterator<Item = &'a str>) -> &'static str {
    let (mut windows, mut all) = (0usize, 0usize);
    for line in lines {
        all += usize::from(line.ends_with('\n'));
        windows += usize::from(line.ends_with("\r\n"));
    }
    if windows * 2 > all { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::{bullet_text, commonest_line_end, item_lines, item_text};
    use proptest::prelude::*;

    #[test]
    fn text_is_made_plain() {
        assert_eq!(bullet_text(" a \r\n\tb\u{7}\rc\t\n\n"), "a\n\tb\nc");
        assert_eq!(bullet_text("\u{1}\u{2} \n"), "");
        assert_eq!(bullet_text("a\n \t\nb"), "a\n\nb");
        assert_eq!(bullet_text("\u{1b}[31mred"), "[31mred");
    }

    #[test]
    fn lines_are_indented_and_blank_ones_stay_empty() {
        assert_eq!(item_lines("a\n\n# b\n  c"), ["- a", "", "  # b", "    c"]);
        assert_eq!(item_lines("- -"), ["+ - -"]);
        assert_eq!(item_lines("--\nx"), ["+ --", "  x"]);
        assert_eq!(item_lines("* *"), ["- * *"]);
    }

    #[test]
    fn an_indent_of_two_columns_goes() {
        let lines = ["*   a", "  b", "\tc", " \td", "     e", "", " f"];
        assert_eq!(item_text(lines.into_iter()), "a\nb\nc\nd\n   e\n\nf");
        assert_eq!(item_text(["+", "  a"].into_iter()), "a");
    }

    #[test]
    fn the_commonest_line_end_is_found() {
        let commonest_line_end =
            |file: &'static str| commonest_line_end(file.split_inclusive('\n'));
        assert_eq!(commonest_line_end(""), "\n");
        assert_eq!(commonest_line_end("a"), "\n");
        assert_eq!(commonest_line_end("a\r\nb"), "\r\n");
        assert_eq!(commonest_line_end("a\r\nb\nc\r\n"), "\r\n");
        assert_eq!(commonest_line_end("a\r\nb\n"), "\n");
        assert_eq!(commonest_line_end("a\r\nb\nc\nd\r"), "\n");
    }

    proptest! {
        #[test]
        fn agm_12_any_text_reads_back_from_its_lines(text in r"(\PC|[\x00-\x1f \t\n\r#*+`~-]){0,60}") {
            let plain = bullet_text(&text);
            prop_assert_eq!(bullet_text(&plain), plain.as_str());
            let lines = item_lines(&plain);
            prop_assert_eq!(item_text(lines.iter().map(String::as_str)), plain);
        }
    }
}
