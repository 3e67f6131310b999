//! The message of a commit, from what the plan says about the task.

use crate::text::{clean, cut_words, mask_secrets, one_line};

const SUBJECT: usize = 72;
const BODY: usize = 4000;

/// The message for a task's work: its Commit field, else one made of its key and title. Always a subject of one line; what
/// does not fit there begins the body.
#[must_use]
pub fn commit_message(commit_field: Option<&str>, key: Option<&str>, title: &str) -> String {
    let wished = commit_field.map(plain).filter(|text| !text.is_empty());
    let text = wished.unwrap_or_else(|| built(key, title));
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let first = not_a_comment(one_line(first, usize::MAX));
    let (subject, over) = split(&first);
    let body = [over.as_str(), rest.trim()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n");
    if body.is_empty() {
        return subject;
    }
    let body: Vec<String> = cut_words(&body, BODY).lines().map(indented).collect();
    format!("{subject}\n\n{}", body.join("\n"))
}

/// Clean, without secrets, and without the backticks it may be wrapped in.
fn plain(text: &str) -> String {
    let text = mask_secrets(&clean(text)).trim().to_owned();
    let ticks = text.len() - text.trim_start_matches('`').len();
    let (fence, rest) = text.split_at(ticks);
    match rest.strip_suffix(fence) {
        // Backticks inside, as in `a` and `b`, belong to the text.
        Some(inner) if ticks > 0 && !inner.contains('`') => inner.trim().to_owned(),
        Some(inner) if ticks > 1 && !inner.contains(fence) => inner.trim().to_owned(),
        _ => text,
    }
}

fn built(key: Option<&str>, title: &str) -> String {
    let title = one_line(&plain(title), usize::MAX);
    let key = one_line(&plain(key.unwrap_or_default()), 40);
    match (key.as_str(), title.as_str()) {
        ("", "") => "Work of a task".to_owned(),
        ("", title) => title.to_owned(),
        (key, "") => format!("{key}: done"),
        (key, title) => format!("{key}: {title}"),
    }
}

/// A line with `#` at its start is a comment to git and to hooks: headings lose it, numbers get a word before it.
fn not_a_comment(line: String) -> String {
    let Some(rest) = line.strip_prefix('#') else { return line };
    let heading = rest.trim_start_matches('#');
    match heading.strip_prefix(' ').map(str::trim) {
        Some(heading) if !heading.is_empty() => not_a_comment(heading.to_owned()),
        _ => format!("Task {line}"),
    }
}

/// The same inside the body, where a space is enough.
fn indented(line: &str) -> String {
    if line.starts_with('#') { format!(" {line}") } else { line.to_owned() }
}

/// A subject, and what of it is too long.
fn split(line: &str) -> (String, String) {
    if line.chars().count() <= SUBJECT {
        return (line.to_owned(), String::new());
    }
    let head = cut_words(line, SUBJECT - 1);
    let rest = line.get(head.len()..).unwrap_or_default().trim();
    (format!("{head}…"), format!("…{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_field_comes_first_then_key_and_title() {
        for (field, key, title, message) in [
            (Some("feat(x): add y"), Some("1.3"), "t", "feat(x): add y"),
            (Some("`fix: a`"), Some("1.3"), "t", "fix: a"),
            (Some("`` fix `a` ``"), None, "t", "fix `a`"),
            (Some("`a` and `b`"), None, "t", "`a` and `b`"),
            (Some(" \n"), Some("1.3"), "Do it", "1.3: Do it"),
            (None, Some("1.3"), "Do\n it", "1.3: Do it"),
            (None, None, "Do it", "Do it"),
            (None, Some(""), "", "Work of a task"),
            (None, Some("V4"), " ", "V4: done"),
            (Some("fix: a\n\n\nbody\n"), None, "t", "fix: a\n\nbody"),
        ] {
            assert_eq!(commit_message(field, key, title), message);
        }
    }

    #[test]
    fn nothing_reads_as_a_comment() {
        for (title, message) in
            [("# Heading", "Heading"), ("## # x", "x"), ("#12 fix", "Task #12 fix"), ("#", "Task #")]
        {
            assert_eq!(commit_message(None, None, title), message);
        }
        let body = commit_message(Some("a\n\n# b\nc"), None, "t");
        assert_eq!(body, "a\n\n # b\nc");
    }

    #[test]
    fn a_long_subject_goes_on_in_the_body() {
        let title = "word ".repeat(30);
        let message = commit_message(None, Some("1.3"), &title);
        let (subject, body) = message.split_once("\n\n").unwrap();
        assert!(subject.chars().count() <= 72 && subject.ends_with("word…"));
        assert!(body.starts_with("…word word"));
        assert_eq!(message.matches("word").count(), 30);
    }

    #[test]
    fn secrets_and_control_characters_stay_out() {
        let message = commit_message(Some("use password=hunter2secret\u{1b}[31m\u{0}"), None, "");
        assert!(!message.contains("hunter2secret") && !message.contains('\u{1b}'), "{message}");
    }

    proptest! {
        #[test]
        fn any_text_makes_a_message(
            field in proptest::option::of("(?s).{0,300}"),
            key in proptest::option::of("\\PC{0,20}"),
            title in "(?s).{0,200}",
        ) {
            let message = commit_message(field.as_deref(), key.as_deref(), &title);
            let mut lines = message.split('\n');
            let subject = lines.next().unwrap();
            prop_assert!(!subject.trim().is_empty());
            prop_assert!(subject.chars().count() <= SUBJECT, "{}", subject);
            prop_assert!(lines.next().is_none_or(str::is_empty));
            prop_assert!(message.split('\n').all(|line| !line.starts_with('#')));
            prop_assert!(!message.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        }
    }
}
