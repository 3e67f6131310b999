//! Text that fits the terminal: tables, cut and wrapped lines. Escape codes take no room.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new<const N: usize>(headings: [&str; N]) -> Self {
        Self { rows: vec![headings.iter().map(|heading| (*heading).to_owned()).collect()] }
    }

    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// The table as text, no wider than the terminal.
    pub fn render(&self) -> String {
        self.render_to(super::width())
    }

    /// The table as text, no wider than so many columns.
    pub fn render_to(&self, width: usize) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        // An empty column is not shown at all.
        let kept: Vec<usize> = (0..columns)
            .filter(|i| self.rows.iter().skip(1).any(|row| row.get(*i).is_some_and(|c| !c.is_empty())))
            .collect();
        let cells = |i: usize| self.rows.iter().filter_map(move |row| row.get(i));
        let mut widths: Vec<usize> =
            kept.iter().map(|i| cells(*i).map(|cell| shown(cell)).max().unwrap_or(0)).collect();
        shrink(&mut widths, width);
        let mut text = String::new();
        for row in &self.rows {
            for (i, columns) in kept.iter().zip(&widths) {
                let cell = cut(row.get(*i).map_or("", String::as_str), *columns);
                text.push_str(&cell);
                text.push_str(&" ".repeat(columns - shown(&cell) + GAP));
            }
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
        }
        text
    }
}

const GAP: usize = 2;
/// A tab is shown as so many columns.
const TAB: &str = "    ";
/// No column is cut below this.
const NARROWEST: usize = 6;

/// Takes from the widest column until all fit.
fn shrink(widths: &mut [usize], width: usize) {
    loop {
        let total: usize = widths.iter().map(|w| w + GAP).sum();
        let over = total.saturating_sub(width.saturating_add(GAP));
        let Some(widest) = widths.iter_mut().max().filter(|w| over > 0 && **w > NARROWEST) else { return };
        *widest -= 1;
    }
}

/// Columns a text takes, escape codes not counted.
pub fn shown(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().width()
}

/// A text cut to so many columns, with a sign that it was.
pub fn cut(text: &str, columns: usize) -> String {
    if shown(text) <= columns {
        return text.to_owned();
    }
    let plain = anstream::adapter::strip_str(text).to_string();
    let mut out = String::new();
    for c in plain.chars() {
        if out.width() + c.width().unwrap_or(0) + 1 > columns {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// A text whose every line fits the terminal.
pub fn wrap_all(text: &str) -> String {
    let width = super::width();
    text.lines().map(|line| wrap(line, width) + "\n").collect()
}

/// A line broken at words so that it fits, further lines indented like the first and a little more. Escape codes are
/// dropped from a line that has to be broken.
pub fn wrap(line: &str, columns: usize) -> String {
    if shown(line) <= columns {
        return line.to_owned();
    }
    let plain = anstream::adapter::strip_str(line).to_string();
    let indent = plain.len() - plain.trim_start().len() + 2;
    let mut text = " ".repeat(indent - 2);
    let mut used = indent - 2;
    for (i, word) in plain.split_whitespace().enumerate() {
        let width = word.width();
        if i > 0 && used + 1 + width > columns {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            used = indent;
        } else if i > 0 {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += width;
    }
    text
}

/// A line in pieces of so many columns, broken after spaces. What agents print is code as often as prose, so nothing but
/// tabs is changed. Escape codes are dropped from a line that has to be broken.
pub fn fold(line: &str, columns: usize) -> Vec<String> {
    let line = line.replace('\t', TAB);
    // A byte is never more than one column.
    if line.len() <= columns || shown(&line) <= columns {
        return vec![line];
    }
    let line = anstream::adapter::strip_str(&line).to_string();
    let (mut pieces, mut piece, mut used) = (Vec::new(), String::new(), 0);
    for word in line.split_inclusive(' ') {
        if used + word.width() > columns && !piece.is_empty() {
            pieces.push(std::mem::take(&mut piece));
            used = 0;
        }
        for c in word.chars() {
            let width = c.width().unwrap_or(0);
            if used + width > columns && !piece.is_empty() {
                pieces.push(std::mem::take(&mut piece));
                used = 0;
            }
            piece.push(c);
            used += width;
        }
    }
    pieces.push(piece);
    pieces
}

/// Folded lines, the first after one lead and the others after another.
pub fn block(text: &str, first: &str, others: &str, columns: usize) -> String {
    let room = columns.saturating_sub(shown(first).max(shown(others))).max(10);
    let mut out = String::new();
    let mut lead = first;
    for line in text.split('\n') {
        let pieces = fold(line, room);
        let last = pieces.len() - 1;
        for (at, piece) in pieces.iter().enumerate() {
            // Neither the space at which a line was broken is shown, nor one before nothing.
            let piece = if at == last { piece } else { piece.trim_end() };
            out.push_str(if piece.is_empty() { lead.trim_end() } else { lead });
            out.push_str(piece);
            out.push('\n');
            lead = others;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_line_up_and_the_last_gives_way() {
        let mut table = Table::new(["ID", "KEY", "TITLE"]);
        table.row(["t-1".into(), String::new(), "a title that is too long".into()]);
        table.row(["t-22".into(), String::new(), "日本語のとても長い題名です".into()]);
        insta::assert_snapshot!(table.render_to(20), @r"
        ID    TITLE
        t-1   a title that …
        t-22  日本語のとて…
        ");
    }

    #[test]
    fn long_lines_are_broken_at_words() {
        assert_eq!(wrap("    one two three four", 14), "    one two\n      three\n      four");
        assert_eq!(wrap("short", 80), "short");
    }

    #[test]
    fn colours_take_no_room() {
        let mut table = Table::new(["A", "B"]);
        table.row(["\u{1b}[32mgreen\u{1b}[0m".into(), "x".into()]);
        table.row(["plain".into(), "y".into()]);
        let text = anstream::adapter::strip_str(&table.render_to(80)).to_string();
        assert_eq!(text, "A      B\ngreen  x\nplain  y\n");
    }

    #[test]
    fn lines_break_after_spaces_and_keep_them() {
        assert_eq!(fold("  a bc def", 6), ["  a ", "bc def"]);
        assert_eq!(fold("    if x {", 80), ["    if x {"]);
        assert_eq!(fold("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(fold("\tx", 10), ["    x"]);
        assert_eq!(fold("", 10), [""]);
        assert_eq!(fold("日本語です", 4), ["日本", "語で", "す"]);
    }

    #[test]
    fn a_huge_line_takes_linear_time() {
        let pieces = fold(&"x ".repeat(2_000_000), 80).len();
        assert_eq!(pieces, 50_000);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_everything_fits(line in r"[a-z 日é\u{301}]{0,60}", columns in 2_usize..20) {
            let pieces = fold(&line, columns);
            prop_assert_eq!(pieces.concat(), line.as_str());
            for piece in &pieces {
                prop_assert!(piece.trim_end().width() <= columns, "{piece:?}");
            }
        }
    }
}
