//! Taking the indent off lines that stand in a list item.

use super::lines::{Kind, Line};
use super::syntax::indent;

/// The lines without the indent that all of them have, and without blank lines around them.
/// Comments are left out.
pub(super) fn dedented(lines: &[Line<'_>]) -> String {
    let shown = lines
        .iter()
        .filter(|line| is_shown(line) && !line.is_blank());
    let columns = shown.map(|line| line.columns).min().unwrap_or(0);
    without_columns(lines, columns)
}

/// The lines without their first columns, as far as these are white space.
pub(super) fn without_columns(lines: &[Line<'_>], columns: usize) -> String {
    let mut out = String::new();
    let mut blank_lines = 0;
    for line in lines.iter().filter(|line| is_shown(line)) {
        if line.is_blank() {
            blank_lines += 1;
            continue;
        }
        if !out.is_empty() {
            out.extend(std::iter::repeat_n('\n', blank_lines + 1));
        }
        blank_lines = 0;
        push_without(&mut out, line.text.trim_end(), columns);
    }
    out
}

fn is_shown(line: &Line<'_>) -> bool {
    !matches!(line.kind, Kind::Comment(_))
}

fn push_without(out: &mut String, text: &str, columns: usize) {
    let (all, words) = indent(text);
    let white = text.get(..text.len() - words.len()).unwrap_or_default();
    if all <= columns {
        out.push_str(words);
    } else if white.contains('\t') {
        // A tab may reach over the edge.
        out.extend(std::iter::repeat_n(' ', all - columns));
        out.push_str(words);
    } else {
        out.push_str(text.get(columns..).unwrap_or(words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan_files::tasks_md::lines::Lines;

    fn dedent(text: &str) -> String {
        dedented(&Lines::of(text).collect::<Vec<_>>())
    }

    #[test]
    fn the_common_indent_goes() {
        assert_eq!(
            dedent("\n \n    a\n\n\n      b \r\n    c\n\n"),
            "a\n\n\n  b\nc"
        );
        assert_eq!(dedent("a\n  b"), "a\n  b");
        assert_eq!(dedent("\ta\n\t  b\n    c"), "a\n  b\nc");
        assert_eq!(dedent("  a\n\tb\n"), "a\n  b");
        assert_eq!(dedent("  \n"), "");
    }

    #[test]
    fn comments_are_left_out() {
        assert_eq!(dedent("  a\n<!-- b\n c -->\n  d\n <!-- e -->\n"), "a\nd");
    }
}
