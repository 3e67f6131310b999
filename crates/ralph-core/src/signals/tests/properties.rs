//! Signals in arbitrary company.

use super::bounds::assert_bounded;
use super::{scope, signals};
use crate::model::Difficulty;
use crate::signals::{Completion, parse};
use proptest::prelude::*;

/// Pieces of signals, whole and broken.
fn fragment() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "<",
        ">",
        "/",
        "\n",
        " ",
        "`",
        "\"",
        "'",
        "=",
        "...",
        "ä…",
        "\r\n",
        "**",
        "- Error: ",
        "x",
        "1.3",
        "t-abc123",
        "ID",
        "<failure-report>",
        "</failure-report>",
        "what_tried: ",
        "why_failed: ",
        "stack_trace: ",
        "relevant_files: a, b",
        "<learning category=\"c\" tags='t'>",
        "<learning ",
        "category=",
        "tags=\"",
        "</learning>",
        "<learnings>",
        "<task-done>",
        "</task-done>",
        "<task-failed>",
        "</task-failed>",
        "<promise>",
        "FAILURE",
        "</promise>",
        "<difficulty-estimate>",
        "hard",
        "</difficulty-estimate>",
        "<retry-suggestion>",
        "</retry-suggestion>",
        "<next-model>",
        "</next-model>",
        "TASK_COMPLETE",
        "FAILURE_REASON: ",
        "Task 1.3: ",
        " FAILED",
        "could not complete",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn sig_05_any_text_is_survived(text in any::<String>()) {
        assert_bounded(&signals(&text));
    }

    #[test]
    fn sig_05_tag_soup_is_survived(parts in proptest::collection::vec(fragment(), 0..60)) {
        assert_bounded(&signals(&parts.concat()));
    }

    #[test]
    fn sig_05_good_signals_are_found_after_any_soup(parts in proptest::collection::vec(fragment(), 0..40)) {
        let soup = parts.concat();
        let good = "<learning category=\"pitfall\" tags=\"a\">found me</learning>\n<task-failed>t-abc123</task-failed>\n";
        let found = signals(&format!("{soup}\n{good}"));
        prop_assert_eq!(found.completion, Completion::Failed);
        prop_assert!(found.learnings.iter().any(|learning| learning.content == "found me"));
    }

    #[test]
    fn sig_04_signals_are_found_in_any_prose(before in "[^<]{0,80}", after in "[^<]{0,80}") {
        let signal = "<difficulty-estimate>blocked</difficulty-estimate>";
        let found = signals(&format!("{before}{signal}{after}"));
        prop_assert_eq!(found.difficulty, Some(Difficulty::Blocked));
    }

    #[test]
    fn sig_01_completion_needs_its_line(before in "[a-z<>]{0,9}", after in "[a-z<>]{0,9}") {
        let text = format!("{before}<task-done>1.3</task-done>{after}");
        let alone = before.is_empty() && after.is_empty();
        prop_assert_eq!(parse(&text, &scope()).completion == Completion::Done, alone);
    }
}
