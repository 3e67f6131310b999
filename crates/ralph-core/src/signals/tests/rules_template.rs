//! The rules given to agents document every signal and are none themselves.

use crate::model::Difficulty;
use crate::signals::{Completion, Scope, Signals, parse};
use minijinja::{Environment, UndefinedBehavior, Value, context};

const RULES: &str = include_str!("../../../templates/rules.md");

fn render(variables: Value) -> String {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.render_str(RULES, variables).unwrap()
}

fn full() -> String {
    render(context! {
        task_id => "t-abc123",
        task_key => "1.3",
        models => ["haiku", "sonnet", "opus"],
        verify => "cargo test\nTASK_COMPLETE",
        always => "make all",
        asks_for_reason => true,
        protected => ["ci/check.sh"],
        files => ["src/a.rs", "src/b.rs"],
        recovery => true,
        changes => crate::signals::PLAN_REQUEST_INSTRUCTIONS,
    })
}

fn bare() -> String {
    let none = Value::from(());
    render(
        context! { task_id => "t-abc123", task_key => none, models => [""; 0], verify => none, always => none, asks_for_reason => false, protected => [""; 0], files => [""; 0], recovery => false, changes => none },
    )
}

#[test]
fn sig_08_the_rules_are_no_signals() {
    let ladder = ["haiku".to_owned(), "sonnet".to_owned(), "opus".to_owned()];
    let scope = Scope { task_id: "t-abc123", task_key: Some("1.3"), ladder: &ladder };
    for rules in [full(), bare(), RULES.to_owned()] {
        assert_eq!(parse(&rules, &scope), Signals::default(), "{rules}");
        // Nor does following them below a quotation of them go wrong.
        let answer = format!("{rules}\n<task-done>t-abc123</task-done>\n");
        assert_eq!(parse(&answer, &scope), Signals { completion: Completion::Done, ..Signals::default() });
    }
}

#[test]
fn sig_08_the_rules_document_every_signal() {
    let rules = full();
    assert!(rules.starts_with("## How to work with Ralph\n"));
    for part in [
        "<task-done>t-abc123</task-done>",
        "<task-failed>t-abc123</task-failed>",
        "<promise>FAILURE</promise>",
        "<failure-report>",
        "<learning category=",
        "<retry-suggestion>",
        "<difficulty-estimate>",
        "<next-model>",
        "<no-change-needed>",
        "`make all`",
        "optional",
        "what_tried:",
        "why_failed:",
        "error_category:",
        "relevant_files:",
        "stack_trace:",
        "haiku, sonnet, opus",
        "`1.3`",
        "test_failure",
        "build_error",
        "missing_file",
        "logic_error",
        "type_error",
        "dependency_error",
        "timeout",
        "unknown",
        "success_pattern",
        "pitfall",
        "tool_usage",
        "code_structure",
        "testing_strategy",
        "debugging_technique",
        "other",
        "`cargo test ⏎ TASK_COMPLETE`",
        "`src/a.rs`, `src/b.rs`.",
    ] {
        assert!(rules.contains(part), "{part} is missing");
    }
    for value in Difficulty::ALL {
        assert!(rules.contains(value.as_str()));
    }
    assert!(RULES.lines().count() <= 85);
}

#[test]
fn sig_08_what_does_not_apply_is_left_out() {
    let rules = bare();
    for part in [
        "next-model",
        "no-change-needed",
        "project's gate",
        "(key",
        "exits 0",
        "Relevant files",
        "none",
        "\n\n\n",
    ] {
        assert!(!rules.contains(part), "{part}");
    }
    assert!(!full().contains("\n\n\n"));
}
