//! The first line of a Markdown task: `- [ ] 1.3.1 [P] Title`.

/// What a line that begins a task says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Headline<'a> {
    /// The task's name, where there is one.
    pub(super) key: Option<&'a str>,
    /// The rest.
    pub(super) title: String,
}

/// Reads the first line of a task, with or without its checkbox.
pub(super) fn headline(line: &str) -> Headline<'_> {
    let line = line.trim().trim_start_matches('#').trim_start();
    let text = after_checkbox(line).unwrap_or_else(|| after_list_mark(line));
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '*');
    let named = match text.split_at_checked(5) {
        Some((task, rest)) if task.eq_ignore_ascii_case("task ") => split_key(rest),
        _ => None,
    };
    let (key, rest) = match named.or_else(|| split_key(text)) {
        Some((key, rest)) => (Some(key), rest),
        None => (None, text),
    };
    Headline {
        key,
        title: without_markers(rest),
    }
}

/// What follows the checkbox of a list item.
pub(super) fn after_checkbox(line: &str) -> Option<&str> {
    let item = line
        .strip_prefix(['-', '*', '+'])?
        .trim_start()
        .strip_prefix('[')?;
    let rest = item.strip_prefix([' ', 'x', 'X']).unwrap_or(item);
    rest.strip_prefix(']')
}

/// What follows a list mark, or a number that is one.
fn after_list_mark(line: &str) -> &str {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = number
        .strip_prefix(". ")
        .or_else(|| number.strip_prefix(") "));
    match numbered {
        Some(rest) if number.len() < line.len() => rest,
        _ => line
            .strip_prefix("- ")
            .or_else(|| line.strip_prefix("* "))
            .unwrap_or(line),
    }
}

/// A task's name at the beginning of a text, and the rest.
fn split_key(text: &str) -> Option<(&str, &str)> {
    let (word, rest) = text.split_once(char::is_whitespace)?;
    let key = word.trim_matches(|c| matches!(c, '*' | '`' | ':' | '.' | ')'));
    is_key(key).then_some((key, rest))
}

/// Whether a word is a name as plans have them: `1.3`, `12-01`, `V4`, `T1.2`. A number alone, or
/// letters and a number (`S3`, `H2`), may as well be part of a title.
fn is_key(word: &str) -> bool {
    let number = word.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let (letters, _) = word.split_at(word.len() - number.len());
    let mut parts = number.split(['.', '-']);
    let numeric = parts
        .by_ref()
        .all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()));
    let checkpoint = matches!(letters, "V" | "VE" | "VF");
    (numeric && letters.len() <= 3 && (checkpoint || number.contains(['.', '-']))) || word == "VF"
}

/// A title without the markers that claim a place in the plan, which only the request itself can give.
fn without_markers(title: &str) -> String {
    let mut rest = title.trim();
    let mut kept = String::new();
    while let Some((marker, after)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
        let claims = marker == "P" || marker == "FIX" || marker.starts_with("FIX ");
        if !claims && !marker.bytes().all(|b| b.is_ascii_uppercase()) {
            break;
        }
        if !claims {
            kept.extend(["[", marker, "] "]);
        }
        rest = after.trim_start();
    }
    kept.push_str(rest.trim_end());
    kept.trim_matches(|c: char| c.is_whitespace() || c == '*')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::{after_checkbox, headline};

    #[test]
    fn mod_01_key_and_title_of_a_task_line() {
        for (line, key, title) in [
            (
                "- [ ] 1.3.1 Add the parser",
                Some("1.3.1"),
                "Add the parser",
            ),
            ("* [x] V4 [VERIFY] Check", Some("V4"), "[VERIFY] Check"),
            ("- [ ] 1.3.2 [P] [RED] Test", Some("1.3.2"), "[RED] Test"),
            ("- [ ] 1.3.1 [FIX 1.3] Mend", Some("1.3.1"), "Mend"),
            ("- [ ] 1.3.1 [P] [a](b) link", Some("1.3.1"), "[a](b) link"),
            ("- [ ] **1.3.1**: Add it", Some("1.3.1"), "Add it"),
            ("- [ ] **1.3.1 Add it**", Some("1.3.1"), "Add it"),
            ("### Task 12-01: Add it", Some("12-01"), "Add it"),
            ("1.3.1. Add it", Some("1.3.1"), "Add it"),
            ("1. Add it", None, "Add it"),
            ("- Add it", None, "Add it"),
            ("- [ ] S3 upload", None, "S3 upload"),
            ("- [ ] 2 files to mend", None, "2 files to mend"),
            ("- [ ] Task force", None, "Task force"),
            ("- [ ]", None, ""),
            ("- [ ] 1.3.1", None, "1.3.1"),
            ("日本 1.3", None, "日本 1.3"),
        ] {
            let found = headline(line);
            assert_eq!((found.key, found.title.as_str()), (key, title), "{line}");
        }
    }

    #[test]
    fn mod_01_checkboxes() {
        assert_eq!(after_checkbox("- [ ] a"), Some(" a"));
        assert_eq!(after_checkbox("-[]"), Some(""));
        for other in ["- a", "[ ] a", "- [y] a", ""] {
            assert_eq!(after_checkbox(other), None, "{other}");
        }
    }
}
