//! `<failure-report>`: what was tried and why it failed, as `key: value` lines.

use serde::Serialize;

use super::{cut, given, is_placeholder, limits, list};
use crate::text::{Pattern, first_chars, group, mask_secrets};

/// The keys of a report, in the order of the fields.
const KEYS: [&str; 5] = ["what_tried", "why_failed", "error_category", "relevant_files", STACK_TRACE];
const STACK_TRACE: &str = "stack_trace";

/// The agent's own account of a failed attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureReport {
    pub what_tried: String,
    pub why_failed: String,
    /// The kind of error, `unknown` where it was not given.
    pub error_category: String,
    pub relevant_files: Vec<String>,
    pub stack_trace: Option<String>,
}

/// The part of a stack trace that is stored: its first 500 characters.
pub fn clip_trace(trace: &str) -> &str {
    first_chars(trace, limits::TRACE_CHARS)
}

/// Reads the content of an element; `None` where a required value is missing or a placeholder.
pub(super) fn read(content: &str) -> Option<FailureReport> {
    let values = values(content).map(|value| Some(value).filter(|value| !is_placeholder(value)));
    let [what_tried, why_failed, category, files, trace] = values;
    Some(FailureReport {
        what_tried: cut(&what_tried?, limits::FIELD_CHARS),
        why_failed: cut(&why_failed?, limits::FIELD_CHARS),
        error_category: category
            .and_then(|value| error_category(&value))
            .unwrap_or_else(|| "unknown".to_owned()),
        relevant_files: relevant_files(&files.unwrap_or_default()),
        stack_trace: trace.map(|value| clip_trace(&mask_secrets(&value)).trim_end().to_owned()),
    })
}

/// A category is one word on one line; a list of alternatives is the prompt's own.
fn error_category(value: &str) -> Option<String> {
    let line = value.lines().next()?;
    let line = line.trim_matches(|c: char| c.is_whitespace() || c == '`');
    (!line.is_empty() && !line.contains('|')).then(|| cut(line, limits::CATEGORY_CHARS))
}

/// Splits at commas, and at line ends for those who write a list.
fn relevant_files(value: &str) -> Vec<String> {
    let parts = value.split([',', '\n']).filter_map(|part| {
        let part = part.trim();
        given(part.strip_prefix("- ").unwrap_or(part).trim_matches(['`', '"', '\'', ' ']))
    });
    list(parts, limits::FILES, limits::FIELD_CHARS)
}

/// The values in the order of [`KEYS`], trimmed; the first non-empty one of each key.
fn values(content: &str) -> [String; KEYS.len()] {
    let mut values = [const { String::new() }; KEYS.len()];
    // The key whose value the lines belong to; none after an unknown or a repeated key.
    let mut current: Option<usize> = None;
    // A report may be indented as a whole; its first key shows where its margin is.
    let mut margin = None;
    for line in content.lines() {
        let start = line.trim_start();
        let indent = line.len() - start.len();
        let indented = indent > margin.unwrap_or(0);
        // A trace holds anything, so inside one only a known key at the margin begins a new value.
        let in_trace = current.and_then(|key| KEYS.get(key)) == Some(&STACK_TRACE);
        let key = key(start).filter(|(known, _)| !(indented && (in_trace || known.is_none())));
        if let Some((Some(key), value)) = key {
            margin.get_or_insert(indent);
            current = None;
            if let Some(slot) = values.get_mut(key).filter(|slot| slot.is_empty()) {
                value.trim().clone_into(slot);
                current = Some(key);
            }
        } else if key.is_some() && !in_trace {
            current = None;
        } else if let Some(value) = current.and_then(|key| values.get_mut(key)) {
            // Blank lines in front go at once, so that a value is empty or says something.
            if value.is_empty() {
                value.push_str(line.trim());
            } else {
                value.push('\n');
                value.push_str(line.trim_end());
            }
        }
    }
    values.map(|value| value.trim().to_owned())
}

/// A key, known or not, and the text after its colon.
static KEY: Pattern = Pattern::new(r"^(?<key>[a-z][a-z0-9_]*)\s*:(?<value>.*)$");

/// The key that a line begins with, `None` for an unknown one, and the text after its colon.
fn key(line: &str) -> Option<(Option<usize>, &str)> {
    let found = KEY.captures(line)?;
    let (name, value) = (group(&found, "key"), group(&found, "value"));
    let known = KEYS.iter().position(|key| *key == name);
    // A word, a colon and no space is a path, an address or code (`https://…`, `std::fs`), not a key.
    let is_key = known.is_some() || value.chars().next().is_none_or(char::is_whitespace);
    is_key.then_some((known, value))
}

#[cfg(test)]
mod tests {
    use super::{FailureReport, clip_trace};
    use crate::signals::limits;

    fn report(lines: &str) -> Option<FailureReport> {
        let text = format!("x\n<failure-report>\n{lines}\n</failure-report>\ny");
        crate::signals::tests::signals(&text).failure_report
    }

    fn full(lines: &str) -> FailureReport {
        report(&format!("what_tried: a\nwhy_failed: b\n{lines}")).unwrap()
    }

    #[test]
    fn rep_01_lines_in_any_order_first_colon_divides() {
        let found = report(
            "stack_trace: t\nrelevant_files: a.rs\nwhy_failed: File not found: src/a.rs\n  error_category :  build_error \nwhat_tried:x",
        );
        let expected = FailureReport {
            what_tried: "x".into(),
            why_failed: "File not found: src/a.rs".into(),
            error_category: "build_error".into(),
            relevant_files: vec!["a.rs".into()],
            stack_trace: Some("t".into()),
        };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn rep_02_required_values() {
        for lines in [
            "",
            "what_tried: a",
            "why_failed: b",
            "what_tried:\nwhy_failed: b",
            "What_tried: a\nwhy_failed: b",
        ] {
            assert_eq!(report(lines), None, "{lines:?}");
        }
        let unclosed = "<failure-report>\nwhat_tried: a\nwhy_failed: b\n";
        assert_eq!(crate::signals::tests::signals(unclosed).failure_report, None);
    }

    #[test]
    fn rep_03_categories_are_stored_as_given() {
        assert_eq!(full("").error_category, "unknown");
        assert_eq!(full("error_category:").error_category, "unknown");
        for category in [
            "test_failure",
            "build_error",
            "missing_file",
            "logic_error",
            "type_error",
            "dependency_error",
            "timeout",
            "unknown",
            "my_own",
        ] {
            assert_eq!(full(&format!("error_category: {category}")).error_category, category);
        }
    }

    #[test]
    fn rep_04_files_are_split_at_commas() {
        assert_eq!(full("relevant_files: a.rs, b/c.rs").relevant_files, ["a.rs", "b/c.rs"]);
        assert_eq!(full("relevant_files: a.rs,, `a.rs` ,\n  - d.rs").relevant_files, ["a.rs", "d.rs"]);
        assert!(full("relevant_files: none").relevant_files.is_empty());
        let many: String = (0..2 * limits::FILES).map(|n| format!("{n}.rs,")).collect();
        assert_eq!(full(&format!("relevant_files: {many}")).relevant_files.len(), limits::FILES);
    }

    #[test]
    fn rep_05_values_span_lines() {
        let trace = "FOREIGN KEY constraint failed (code 787)\n    at Connection::execute (src/dag/db.rs:45)";
        assert_eq!(full(&format!("stack_trace: {trace}")).stack_trace.as_deref(), Some(trace));
        let found =
            report("why_failed:\nFirst line  \n\nhttps://x.org says\nNote: more\nwhat_tried: a\n  and b")
                .unwrap();
        assert_eq!(found.why_failed, "First line\n\nhttps://x.org says\nNote: more");
        assert_eq!(found.what_tried, "a\n  and b");
    }

    #[test]
    fn rep_05_a_trace_holds_anything_but_a_key_at_the_margin() {
        let found = full("stack_trace: a\nerror: no\n  what_tried: quoted\nerror_category: timeout");
        assert_eq!(found.stack_trace.as_deref(), Some("a\nerror: no\n  what_tried: quoted"));
        assert_eq!(found.error_category, "timeout");
    }

    #[test]
    fn rep_05_a_trace_is_cut_to_500_characters() {
        assert_eq!(clip_trace(&"ä".repeat(600)), "ä".repeat(500));
        assert_eq!(clip_trace("short "), "short ");
        let found = full(&format!("stack_trace: {}", "é".repeat(900)));
        assert_eq!(found.stack_trace, Some("é".repeat(500)));
    }

    #[test]
    fn rep_05_a_report_may_be_indented_as_a_whole() {
        let found =
            report("    what_tried: a\n    stack_trace: x\n      y\n    confidence: z\n    why_failed: b")
                .unwrap();
        assert_eq!(found.stack_trace.as_deref(), Some("x\n      y\n    confidence: z"));
        assert_eq!(found.why_failed, "b");
    }

    #[test]
    fn rep_06_unknown_keys_are_ignored_with_their_lines() {
        let found =
            report("confidence: high\n  very\nwhat_tried: a\nroot_cause:\nlost\nwhy_failed: b\nretries: 3")
                .unwrap();
        assert_eq!((found.what_tried.as_str(), found.why_failed.as_str()), ("a", "b"));
    }

    #[test]
    fn rep_07_the_first_valid_report_wins() {
        let text = "<failure-report>what_tried: 0</failure-report><failure-report>\nwhat_tried: 9\nwhy_failed: 9\n\
                    <failure-report>\nwhat_tried: 1\nwhy_failed: 1</failure-report>\n\
                    <failure-report>\nwhat_tried: 2\nwhy_failed: 2</failure-report>";
        let found = crate::signals::tests::signals(text).failure_report.unwrap();
        assert_eq!(found.what_tried, "1");
    }

    #[test]
    fn a_repeated_key_keeps_the_first_value() {
        let found = report("what_tried: a\nwhat_tried: b\nmore\nwhy_failed:\nwhy_failed: c").unwrap();
        assert_eq!((found.what_tried.as_str(), found.why_failed.as_str()), ("a", "c"));
    }

    #[test]
    fn sig_07_descriptions_are_not_a_report() {
        assert_eq!(report("what_tried: <what you did>\nwhy_failed: b"), None);
        assert_eq!(report("what_tried: a\nwhy_failed: ..."), None);
        assert_eq!(report("what_tried: a\nwhy_failed: Root cause analysis (1-2 sentences)"), None);
        let found =
            full("error_category: test_failure | build_error\nrelevant_files: <paths>\nstack_trace: …");
        assert_eq!(found.error_category, "unknown");
        assert!(found.relevant_files.is_empty() && found.stack_trace.is_none());
        let found = full(
            "stack_trace: First 3-5 lines of error output or stack trace\nrelevant_files: src/path/to/file.rs, src/another/file.rs",
        );
        assert!(found.relevant_files.is_empty() && found.stack_trace.is_none());
    }

    #[test]
    fn fields_are_bounded() {
        let found =
            report(&format!("what_tried: {}\nwhy_failed: b", "word ".repeat(limits::FIELD_CHARS))).unwrap();
        let whole_words = limits::FIELD_CHARS - 1;
        assert_eq!(found.what_tried.chars().count(), whole_words);
    }
}
