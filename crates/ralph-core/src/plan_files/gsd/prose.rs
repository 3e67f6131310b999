//! Titles and sections out of a plan's prose.

use crate::plan_files::markdown::{Place, Places, heading, list_item};
use crate::plan_files::text::{block, cut, first_sentence, one_line};

/// The longest title made of a sentence, in characters.
const LONGEST: usize = 100;

/// The first sentence of a text as a title; none where the text says nothing.
pub(super) fn title_of(text: &str) -> Option<String> {
    let lines = text
        .lines()
        .map(str::trim)
        .skip_while(|line| line.is_empty());
    let mut paragraph = String::new();
    for line in lines {
        let is_over = line.is_empty() || list_item(line).is_some() || is_label(line);
        if is_over && !paragraph.is_empty() {
            break;
        }
        paragraph.push_str(list_item(line).unwrap_or(line));
        paragraph.push(' ');
    }
    short(&paragraph)
}

/// A name as a title, with all its sentences.
pub(super) fn whole(words: &str) -> Option<String> {
    let line = one_line(words);
    (!line.is_empty()).then(|| cut(&line, LONGEST))
}

/// The first sentence of a line as a title.
pub(super) fn short(words: &str) -> Option<String> {
    let line = one_line(words);
    let title = first_sentence(&line).trim_end_matches(':');
    (!title.is_empty()).then(|| cut(title, LONGEST))
}

/// Lines such as `Purpose: …` begin something else.
fn is_label(line: &str) -> bool {
    let words = line.trim_start_matches('*');
    ["Purpose", "Output", "Goal"].iter().any(|label| {
        words
            .strip_prefix(label)
            .is_some_and(|rest| rest.starts_with([':', '*']))
    })
}

/// What plans of another style say under headings instead of between tags.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Headed {
    /// The words of the first heading.
    pub(super) title: Option<String>,
    /// What stands under `Objective`.
    pub(super) objective: String,
    /// What stands under `Context`.
    pub(super) context: String,
}

/// Reads the headings of a plan.
pub(super) fn headed(body: &str) -> Headed {
    let mut found = Headed::default();
    let mut current: Option<(&str, Vec<&str>)> = None;
    let mut sections = Vec::new();
    let mut places = Places::default();
    for (at, line) in body.lines().enumerate() {
        // A comment in code looks like a heading.
        let is_open = places.next(at + 1, line, None) == Place::Open;
        match heading(line).filter(|_| is_open) {
            Some((_, words)) => {
                if found.title.is_none() {
                    found.title = title_of(without_number(words));
                }
                sections.extend(current.replace((words, Vec::new())));
            }
            None if line.trim_start().starts_with("<task") => sections.extend(current.take()),
            None => {
                if let Some((_, lines)) = &mut current {
                    lines.push(line);
                }
            }
        }
    }
    sections.extend(current);
    for (words, lines) in sections {
        let section = match words.to_ascii_lowercase().as_str() {
            "objective" | "goal" => &mut found.objective,
            "context" => &mut found.context,
            _ => continue,
        };
        if section.is_empty() {
            *section = block(&lines.join("\n"));
        }
    }
    found
}

/// `Task 3: Words`, `Plan 5.2: Words` without what the place in the plan tells.
pub(super) fn without_number(words: &str) -> &str {
    let words = words.trim();
    let rest = words
        .strip_prefix("Task ")
        .or_else(|| words.strip_prefix("Plan "));
    let numbered = rest
        .and_then(|rest| rest.split_once([':', '—', '–']))
        .filter(|(number, _)| {
            number.starts_with(|c: char| c.is_ascii_digit()) && !number.trim().contains(' ')
        });
    match numbered {
        Some((_, title)) if !title.trim().is_empty() => title.trim(),
        _ => words,
    }
}

#[cfg(test)]
mod tests {
    use super::{headed, title_of, without_number};
    use proptest::prelude::*;

    #[test]
    fn titles_are_first_sentences() {
        let title = |text| title_of(text).unwrap_or_default();
        assert_eq!(
            title("\n  Build the\n  parser. Then rest.\n"),
            "Build the parser"
        );
        assert_eq!(title("Build it\nPurpose: because.\n"), "Build it");
        assert_eq!(title("Build it\n**Purpose:** because.\n"), "Build it");
        assert_eq!(title("Build:\n- a\n- b"), "Build");
        assert_eq!(title("- a\n- b"), "a");
        assert_eq!(title("word ".repeat(40).as_str()).chars().count(), 100);
        assert_eq!(title_of("\n \n"), None);
    }

    #[test]
    fn numbers_go() {
        assert_eq!(without_number("Task 1: Do it"), "Do it");
        assert_eq!(without_number("Plan 5.2: Do: it"), "Do: it");
        assert_eq!(without_number("Task 2b — Do it"), "Do it");
        assert_eq!(without_number("Task list: do it"), "Task list: do it");
        assert_eq!(without_number("Task 1:"), "Task 1:");
    }

    #[test]
    fn headings_stand_for_elements() {
        let found = headed(
            "# Plan 5.2: Tips\n## Objective\nDo it.\n\nWell.\n## Context\n- a\n## Tasks\n<task>",
        );
        assert_eq!(found.title.as_deref(), Some("Tips"));
        assert_eq!(
            (found.objective.as_str(), found.context.as_str()),
            ("Do it.\n\nWell.", "- a")
        );
    }

    #[test]
    fn comments_in_code_are_no_headings() {
        assert_eq!(headed("```sh\n# Objective\nx\n```\n").title, None);
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>(), near in "[# TaskPlan1:—\n.-]{0,40}") {
            for text in [text, near] {
                let _ = (headed(&text), without_number(&text));
                prop_assert!(title_of(&text).is_none_or(|title| title.chars().count() <= 100));
            }
        }
    }
}
