//! Making stored text harmless: it may not open a heading, close a fence or smuggle in a signal.
//!
//! Everything done here is visible to the reader (`‹`, `| `, `\`) and to nobody else harmful: an
//! invisible character would survive being copied back into an agent's answer.

use super::elements::TAGS;
use super::{is_invisible, without_invisible};

/// The word that introduces a change to the plan; JSON may follow it anywhere.
const MODIFICATION: &str = "TASK_MODIFICATION_REQUEST";

/// Stands in for the `<` of a signal.
const INERT_BRACKET: char = '‹';

/// The same text without live signals: the `<` of a signal's tag, or of a comment that would hide
/// what follows it, becomes `‹`. Length in characters and everything else stay as they were.
///
/// Signals that need a line of their own are the business of whoever lays out the lines.
#[must_use]
pub fn inert(text: &str) -> String {
    // Taken out first: without them, what they tear apart would be a signal again.
    let text = without_invisible(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find(['<', 'T', 't']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let mut after = from.chars();
        match after.next() {
            Some('<') if opens_signal(after.as_str()) => out.push(INERT_BRACKET),
            Some(_) if starts_with_ignoring_case(from, MODIFICATION) => {
                let (word, tail) = from.split_at(MODIFICATION.len());
                out.push_str(&word.replace('_', "-"));
                after = tail.chars();
            }
            Some(other) => out.push(other),
            None => {}
        }
        rest = after.as_str();
    }
    out.push_str(rest);
    out
}

/// Whether what follows a `<` makes it a signal's tag. Laxer than any parser: spaces and case do
/// not matter.
fn opens_signal(after: &str) -> bool {
    if after.starts_with("!--") {
        return true;
    }
    let name = after.trim_start();
    let name = name.strip_prefix('/').unwrap_or(name).trim_start();
    TAGS.iter().any(|tag| {
        starts_with_ignoring_case(name, tag)
            && !name
                .split_at(tag.len())
                .1
                .starts_with(|next: char| next.is_ascii_alphanumeric() || next == '-' || next == '_')
    })
}

fn starts_with_ignoring_case(text: &str, start: &str) -> bool {
    text.as_bytes().get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
}

/// The text on one line: line ends become single spaces, control characters go.
#[must_use]
pub fn one_line(text: &str) -> String {
    let lines = clean_lines(text);
    let words: Vec<&str> = lines.iter().map(|line| line.trim()).filter(|l| !l.is_empty()).collect();
    words.join(" ")
}

/// An agent's text on one line, without live signals.
#[must_use]
pub fn inert_line(text: &str) -> String {
    inert(&one_line(text))
}

/// An agent's text that may stand in a prompt or a file of its own: no line of it is a heading, a fence or a
/// signal. Text that went through it once stays as it is.
#[must_use]
pub fn inert_prose(text: &str) -> String {
    inert(&prose_lines(text).join("\n"))
}

/// An agent's text as lines that may each stand on a line of the prompt: none of them is a
/// heading, a fence, an underline or a signal. Blank lines are kept single, none at the ends.
#[must_use]
pub fn prose_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in clean_lines(text) {
        let blank_again = line.is_empty() && lines.last().is_none_or(String::is_empty);
        if !blank_again {
            lines.push(guarded(&line));
        }
    }
    without_blank_end(lines)
}

/// An agent's text as lines of which the first stands behind a label, where it can be neither
/// heading nor signal, and the others on lines of their own. No blank ones: they would tear apart
/// the list that the label belongs to.
#[must_use]
pub fn labelled_lines(text: &str) -> Vec<String> {
    let lines = clean_lines(text).into_iter().filter(|line| !line.is_empty());
    let guard = |(index, line): (usize, String)| match index {
        0 => line.trim_start().to_owned(),
        _ => guarded(&line),
    };
    lines.enumerate().map(guard).collect()
}

/// An agent's text as lines for the inside of a fence. Only signals matter there.
#[must_use]
pub fn code_lines(text: &str) -> Vec<String> {
    let mark = |line: String| {
        if is_dialect(&line) { format!("| {line}") } else { line }
    };
    let lines = clean_lines(text).into_iter().skip_while(String::is_empty);
    without_blank_end(lines.map(mark).collect())
}

fn without_blank_end(mut lines: Vec<String>) -> Vec<String> {
    let end = lines.iter().rposition(|line| !line.is_empty());
    lines.truncate(end.map_or(0, |last| last + 1));
    lines
}

/// A fence that nothing in the text can close.
#[must_use]
pub fn fence_for(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(3.max(longest.saturating_add(1)))
}

/// The lines of a text, whatever ends them, without trailing spaces and control characters.
fn clean_lines(text: &str) -> Vec<String> {
    let is_break =
        |c: char| matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let clean = |line: &str| {
        let kept: String =
            line.chars().filter(|c| *c == '\t' || !c.is_control() && !is_invisible(*c)).collect();
        kept.trim_end().to_owned()
    };
    text.replace("\r\n", "\n").split(is_break).map(clean).collect()
}

fn guarded(line: &str) -> String {
    let text = line.trim_start();
    let indent = line.split_at(line.len() - text.len()).0;
    let mark = if is_dialect(text) {
        "| "
    } else if text.starts_with('#')
        || text.starts_with("```")
        || text.starts_with("~~~")
        || is_underline(text)
    {
        "\\"
    } else {
        ""
    };
    format!("{indent}{mark}{text}")
}

/// Whether the line would make a heading of the line above it.
fn is_underline(text: &str) -> bool {
    !text.is_empty() && (text.chars().all(|c| c == '=') || text.chars().all(|c| c == '-'))
}

/// Whether a line could be read as one of the signals that are words rather than tags. Judged by
/// its beginning, so that cutting a harmless line never makes a harmful one.
fn is_dialect(line: &str) -> bool {
    let decoration = |c: char| c.is_whitespace() || "`*_>#-+~\"'".contains(c);
    let words = line.trim_start_matches(decoration).to_ascii_lowercase();
    ["task_complete", "failure_reason", "task_modification_request"]
        .iter()
        .any(|word| words.starts_with(word))
        || (words.starts_with("task ") && words.contains("failed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctx_07_tags_of_signals_lose_their_bracket_and_nothing_else() {
        assert_eq!(inert("a <task-done>t-1</task-done> b"), "a ‹task-done>t-1‹/task-done> b");
        assert_eq!(inert("<LEARNING category='x'>"), "‹LEARNING category='x'>");
        assert_eq!(inert("< / promise >"), "‹ / promise >");
        assert_eq!(inert("<<next-model>"), "<‹next-model>");
        assert_eq!(inert("<!-- hide"), "‹!-- hide");
        for harmless in ["Vec<u8>", "<learnings>", "a < b", "<promised>", "t<T", "<é", "<"] {
            assert_eq!(inert(harmless), harmless);
        }
        assert_eq!(inert("say TASK_MODIFICATION_REQUEST {"), "say TASK-MODIFICATION-REQUEST {");
    }

    #[test]
    fn ctx_07_lines_of_their_own_are_no_headings_fences_or_signals() {
        let text = "## A\n  ### B\n```\n~~~~\nTitle\n===\n---\n`TASK_COMPLETE`\nTask 1.2: x FAILED\n\
                    FAILURE_REASON: y\nplain # not";
        assert_eq!(
            prose_lines(text),
            [
                "\\## A",
                "  \\### B",
                "\\```",
                "\\~~~~",
                "Title",
                "\\===",
                "\\---",
                "| `TASK_COMPLETE`",
                "| Task 1.2: x FAILED",
                "| FAILURE_REASON: y",
                "plain # not",
            ]
        );
    }

    #[test]
    fn ctx_07_invisible_characters_go_before_signals_are_looked_for() {
        assert_eq!(inert("<task-\u{200b}done>\u{e0041}"), "‹task-done>");
        assert_eq!(inert_prose("TASK_\u{2060}COMPLETE\n\u{feff}## A"), "| TASK_COMPLETE\n\\## A");
    }

    #[test]
    fn agm_16_what_is_inert_stays_as_it_is() {
        let text = "## A\n```\nTASK_COMPLETE\n<learning>x</learning>\n<!-- ralph -->\n===\nTASK_MODIFICATION_REQUEST {}";
        let once = inert_prose(text);
        assert_eq!(inert_prose(&once), once);
    }

    #[test]
    fn blank_lines_are_single_inside_and_gone_outside() {
        assert_eq!(prose_lines("\n\na\r\n\n\nb\n \n"), ["a", "", "b"]);
        assert_eq!(code_lines("\n\n  a\n\n\nb\n\n"), ["  a", "", "", "b"]);
        assert_eq!(prose_lines(" \n"), Vec::<String>::new());
    }

    #[test]
    fn any_line_end_is_a_line_end_and_control_characters_go() {
        assert_eq!(one_line(" a\r\nb\u{2028}c\u{85}\u{0}d\te "), "a b c d\te");
        assert_eq!(inert_line("<\u{0}task-\ndone>"), "<task- done>");
        assert_eq!(inert_line("<\ntask-done>"), "‹ task-done>");
    }

    #[test]
    fn ctx_07_a_fence_is_longer_than_any_inside() {
        assert_eq!(fence_for("plain `code`"), "```");
        assert_eq!(fence_for("a\n```\nb"), "````");
        assert_eq!(fence_for("`````"), "``````");
    }
}
