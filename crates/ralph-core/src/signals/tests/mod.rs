//! Rules that concern all signals together.

mod bounds;
mod hostile;
mod learnings;
mod linear;
mod properties;
mod rules_template;

use super::{Completion, Scope, Signals, given, is_placeholder, limits, parse};
use crate::model::Difficulty;

/// The task of the tests: id `t-abc123`, key `1.3`, no models.
pub(super) fn scope() -> Scope<'static> {
    Scope { task_id: "t-abc123", task_key: Some("1.3"), ladder: &[] }
}

pub(super) fn signals(text: &str) -> Signals {
    parse(text, &scope())
}

#[test]
fn sig_04_memory_signals_count_anywhere() {
    let text = "I say <difficulty-estimate>\n hard </difficulty-estimate> and <retry-suggestion> a\nb </retry-suggestion>, \
                <learning category='c' tags='t'> x </learning><failure-report> what_tried: 1\nwhy_failed: 2 </failure-report>.";
    let found = signals(text);
    assert_eq!(found.difficulty, Some(Difficulty::Hard));
    assert_eq!(found.retry_suggestion.as_deref(), Some("a\nb"));
    assert_eq!(found.learnings[0].content, "x");
    assert_eq!(found.failure_report.unwrap().why_failed, "2");
}

#[test]
fn sig_05_broken_signals_leave_the_others_alone() {
    let good = "<task-done>1.3</task-done>\n<difficulty-estimate>easy</difficulty-estimate>\n\
                <failure-report>\nwhat_tried: 1\nwhy_failed: 2\n</failure-report>\n\
                <learning category='c' tags='t'>x</learning>\n<retry-suggestion>s</retry-suggestion>\n";
    let expected = signals(good);
    assert_eq!(expected.completion, Completion::Done);
    for broken in [
        "<failure-report>",
        "<learning category=\"",
        "<learning category='c' tags='t'>",
        "<difficulty-estimate>",
        "<retry-suggestion>",
        "<promise>",
        "<task-failed>",
        "<<<<>>>>",
        "</learning>",
        "<failure-report><learning>",
        "<retry-suggestion></retry-suggestion>",
        "<difficulty-estimate>no</difficulty-estimate>",
        "\u{0}\u{202e}<",
    ] {
        assert_eq!(signals(&format!("{broken}\n{good}")), expected, "{broken} before");
        assert_eq!(signals(&format!("{good}{broken}")), expected, "{broken} after");
    }
}

#[test]
fn sig_06_unknown_tags_have_no_effect() {
    let text = "<thinking>x</thinking>\n<failure-report-v2>what_tried: a\nwhy_failed: b</failure-report-v2>\n<task-done>1.3</task-done>";
    let expected = Signals { completion: Completion::Done, ..Signals::default() };
    assert_eq!(signals(text), expected);
    assert_eq!(signals(""), Signals::default());
}

#[test]
fn sig_07_placeholders_yield_nothing() {
    let text = "<difficulty-estimate>trivial|easy|moderate|hard|blocked</difficulty-estimate>\n\
                <retry-suggestion>...</retry-suggestion>\n<learning category=\"...\" tags=\"...\">...</learning>\n\
                <failure-report>...</failure-report>\n<task-done>ID</task-done>\n<next-model>...</next-model>\n";
    assert_eq!(signals(text), Signals::default());
}

#[test]
fn sig_09_the_first_model_of_the_ladder_wins() {
    let ladder = ["haiku".to_owned(), "Sonnet".to_owned()];
    let scope = Scope { ladder: &ladder, ..scope() };
    let text =
        "<next-model>gpt</next-model> then <next-model> sonnet </next-model><next-model>haiku</next-model>";
    assert_eq!(parse(text, &scope).next_model.as_deref(), Some("Sonnet"));
    assert_eq!(signals(text).next_model, None);
}

#[test]
fn dif_01_the_first_valid_estimate_wins() {
    let estimate = |value: &str| format!("<difficulty-estimate>{value}</difficulty-estimate>");
    let text = estimate("super-hard") + &estimate("") + &estimate(" moderate\n") + &estimate("hard");
    assert_eq!(signals(&text).difficulty, Some(Difficulty::Moderate));
}

#[test]
fn sug_01_one_or_more_lines() {
    let text = "<retry-suggestion>\nSplit it:\n- one\n- two\n</retry-suggestion>";
    assert_eq!(signals(text).retry_suggestion.as_deref(), Some("Split it:\n- one\n- two"));
    let long = format!("<retry-suggestion>{}</retry-suggestion>", "word ".repeat(limits::SUGGESTION_CHARS));
    let whole_words = limits::SUGGESTION_CHARS - 1;
    assert_eq!(signals(&long).retry_suggestion.unwrap().len(), whole_words);
}

#[test]
fn sug_02_the_first_non_empty_one_wins() {
    let text = "<retry-suggestion> </retry-suggestion><retry-suggestion>a</retry-suggestion><retry-suggestion>b</retry-suggestion>";
    assert_eq!(signals(text).retry_suggestion.as_deref(), Some("a"));
    assert_eq!(signals("<retry-suggestion>\n</retry-suggestion>").retry_suggestion, None);
}

#[test]
fn sig_07_what_counts_as_a_placeholder() {
    for value in
        ["", " ", "...", "…", " `...` ", "<what you did>", "Root cause analysis (1-2 sentences)", "X.Y"]
    {
        assert!(is_placeholder(value), "{value:?}");
    }
    for value in ["a...", "<T> is not <U>", "Vec<T>", "[x]", "Root cause"] {
        assert!(!is_placeholder(value), "{value:?}");
    }
}

#[test]
fn sig_07_words_for_nothing_are_nothing() {
    assert_eq!(given(" None "), None);
    assert_eq!(given("<path>"), None);
    assert_eq!(given(" a "), Some("a"));
}
