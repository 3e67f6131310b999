//! Commands and lists of files out of Markdown.

use super::placeholder::given;

/// Words between two commands that mean the one and then the other.
const JOINTS: [&str; 6] = ["&&", "and", "then", ",", ";", "."];

/// The code spans of a line, and the text around them. A span that is not closed is text.
fn spans(text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut code, mut around) = (Vec::new(), Vec::new());
    let mut rest = text;
    while let Some(open) = rest.find('`') {
        let ticks = tick_run(rest.get(open..).unwrap_or_default());
        let inside = rest.get(open + ticks..).unwrap_or_default();
        let Some(length) = closing(inside, ticks) else {
            break;
        };
        around.push(rest.get(..open).unwrap_or_default());
        code.push(inside.get(..length).unwrap_or_default().trim());
        rest = inside.get(length + ticks..).unwrap_or_default();
    }
    around.push(rest);
    (code, around)
}

fn tick_run(text: &str) -> usize {
    text.bytes().take_while(|&b| b == b'`').count()
}

/// Where the run of exactly so many backticks begins.
fn closing(text: &str, ticks: usize) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find('`')?;
        let run = tick_run(text.get(at..)?);
        if run == ticks {
            return Some(at);
        }
        from = at + run;
    }
}

/// What a Markdown value says as one piece of code: a fence's content, its code spans where it has
/// some (joined by `&&` where that is what stands between them, else the first), or itself.
pub(super) fn code(value: &str) -> String {
    let value = value.trim();
    let is_fence = |line: &&str| line.starts_with("```") || line.starts_with("~~~");
    if value.lines().map(str::trim).any(|line| is_fence(&line)) {
        let lines = value.lines().map(str::trim);
        let inside: Vec<&str> = lines
            .skip_while(|line| !is_fence(line))
            .skip(1)
            .take_while(|l| !is_fence(l))
            .collect();
        return inside.join("\n").trim().to_owned();
    }
    let (code, around) = spans(value);
    let joined = around
        .iter()
        .flat_map(|text| text.split_whitespace())
        .all(|word| JOINTS.iter().any(|joint| word.eq_ignore_ascii_case(joint)));
    match code.as_slice() {
        [] => value.to_owned(),
        many if joined => many.join(" && "),
        [first, ..] => (*first).to_owned(),
    }
}

/// The content of a string that is one code span as a whole, else the string. Commands have
/// backticks of their own, so nothing less counts.
pub(super) fn unwrapped(value: &str) -> &str {
    let value = value.trim();
    match spans(value) {
        (code, around) if around.iter().all(|text| text.is_empty()) => match code.as_slice() {
            [one] => one,
            _ => value,
        },
        _ => value,
    }
}

/// The names of a list: one per line or comma, list marks, backticks and remarks in parentheses aside,
/// each once.
pub(super) fn names<'a>(parts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut names = Vec::new();
    let mut known = std::collections::HashSet::new();
    for part in parts.into_iter().flat_map(|text| text.split([',', '\n'])) {
        let (code, _) = spans(part);
        let name = code
            .first()
            .copied()
            .unwrap_or_else(|| without_remark(part));
        let name = name.trim_matches(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\''));
        if let Some(name) = given(name).filter(|name| known.insert(*name)) {
            names.push(name.to_owned());
        }
    }
    names
}

/// A name without the list mark before it and the parentheses after it.
fn without_remark(part: &str) -> &str {
    let part = part.trim();
    let part = part
        .strip_prefix("- ")
        .or_else(|| part.strip_prefix("* "))
        .unwrap_or(part);
    match part.split_once(" (") {
        Some((name, remark)) if remark.ends_with(')') => name,
        _ => part,
    }
}

#[cfg(test)]
mod tests {
    use super::{code, names, unwrapped};

    #[test]
    fn mod_01_inline_code_is_the_command() {
        for (value, command) in [
            ("`cargo test -p a`", "cargo test -p a"),
            ("Run `cargo test` and look", "cargo test"),
            ("`a` && `b`", "a && b"),
            ("`a` and `b`.", "a && b"),
            ("`a` or `b`", "a"),
            ("``echo `date` ``", "echo `date`"),
            ("`a ``b`` c`", "a ``b`` c"),
            ("cargo test", "cargo test"),
            ("echo `date", "echo `date"),
            (
                "\n```bash\ncargo build\ncargo test\n```\n",
                "cargo build\ncargo test",
            ),
            ("", ""),
        ] {
            assert_eq!(code(value), command, "{value}");
        }
    }

    #[test]
    fn mod_01_a_string_that_is_all_code_is_unwrapped() {
        assert_eq!(unwrapped(" `make check` "), "make check");
        assert_eq!(unwrapped("test `date` = x"), "test `date` = x");
        assert_eq!(unwrapped("`a` `b`"), "`a` `b`");
    }

    #[test]
    fn mod_01_lists_of_files() {
        assert_eq!(
            names(["`a.rs`, b/c.rs (new), \"d.rs\""]),
            ["a.rs", "b/c.rs", "d.rs"]
        );
        assert_eq!(
            names(["\n - a.rs\n * `b.rs` (new)\n- a.rs"]),
            ["a.rs", "b.rs"]
        );
        assert_eq!(names(["None", "<path>", "", "..."]), [""; 0]);
    }
}
