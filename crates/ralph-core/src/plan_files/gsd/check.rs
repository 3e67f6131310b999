//! What an element `verify` asks for: commands that can be a gate, and words for people.

use crate::plan_files::command::{all_of, command_in};
use crate::plan_files::text::block;

/// A check, read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) command: Option<String>,
    /// What is no command.
    pub(super) words: String,
}

const OPEN: &str = "<automated>";
const CLOSE: &str = "</automated>";

/// Reads what stands in `verify`.
pub(super) fn read(content: &str, can_run: &dyn Fn(&str) -> bool) -> Check {
    let mut commands = Vec::new();
    let mut words = String::new();
    let mut rest = content;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let Some((command, after)) = after.split_once(CLOSE) else {
            break;
        };
        words.push_str(before);
        match automated(command) {
            Some(command) => commands.push(command),
            None => words.push_str(command),
        }
        rest = after;
    }
    words.push_str(rest);
    let words = block(&without_tags(&words));
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    match all_of(&commands) {
        Some(command) => Check {
            command: Some(command),
            words,
        },
        None => match command_in(&words, can_run) {
            Some(command) => Check {
                command: Some(command),
                words: String::new(),
            },
            None => Check {
                command: None,
                words,
            },
        },
    }
}

/// A command that its author calls automated, unless it only says that one is missing.
fn automated(content: &str) -> Option<String> {
    let command = block(content);
    let command = crate::plan_files::markdown::code_only(&command).unwrap_or(&command);
    let is_missing = command.starts_with("MISSING");
    (!is_missing && !command.is_empty()).then(|| stops_at_failure(&without_entities(command)))
}

/// Several lines fail where one of them does.
fn stops_at_failure(command: &str) -> String {
    let command = command.trim();
    if command.contains('\n') {
        format!("set -e\n{command}")
    } else {
        command.to_owned()
    }
}

/// Some authors write `&amp;&amp;`, since it looks like XML.
fn without_entities(text: &str) -> String {
    // The ampersand last, so that nothing is undone twice.
    let marks = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    marks.iter().fold(text.to_owned(), |text, (entity, mark)| {
        text.replace(entity, mark)
    })
}

/// The text without the tags of what a person is to check.
fn without_tags(text: &str) -> String {
    let tags = [
        "<manual>",
        "</manual>",
        "<human>",
        "</human>",
        "<human-check>",
        "</human-check>",
    ];
    tags.iter()
        .fold(text.to_owned(), |text, tag| text.replace(tag, ""))
}

#[cfg(test)]
mod tests {
    use super::{Check, read};
    use proptest::prelude::*;

    fn check(content: &str) -> (Option<String>, String) {
        let Check { command, words } = read(content, &|word| word == "npm");
        (command, words)
    }

    fn of(command: Option<&str>, words: &str) -> (Option<String>, String) {
        (command.map(str::to_owned), words.to_owned())
    }

    #[test]
    fn automated_checks_are_commands() {
        assert_eq!(
            check("\n  <automated>foo -x</automated>\n"),
            of(Some("foo -x"), "")
        );
        let two = "<automated>a</automated>\n<automated>b &amp;&amp; c</automated>\n<manual>Look.</manual>";
        assert_eq!(check(two), of(Some("a && (\nb && c\n)"), "Look."));
        assert_eq!(
            check("<automated>\n  a\n  b\n</automated>"),
            of(Some("set -e\na\nb"), "")
        );
        assert_eq!(check("<automated>`a`</automated>"), of(Some("a"), ""));
    }

    #[test]
    fn missing_ones_are_words() {
        let text = "MISSING — Wave 0 must create tests/a.py first";
        assert_eq!(
            check(&format!("<automated>{text}</automated>")),
            of(None, text)
        );
        assert_eq!(check("<automated></automated>"), of(None, ""));
        assert_eq!(check("<automated>a"), of(None, "<automated>a"));
    }

    #[test]
    fn other_checks_are_commands_only_alone() {
        assert_eq!(check("npm test passes"), of(Some("npm test"), ""));
        assert_eq!(
            check("\nnpm test\nLook at it.\n"),
            of(None, "npm test\nLook at it.")
        );
        assert_eq!(check("Page shows"), of(None, "Page shows"));
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>(), near in "(<automated>|</automated>|a|\n|&amp;| |é){0,20}") {
            let _ = (check(&text), check(&near));
        }
    }
}
