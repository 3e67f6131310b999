//! Which lines end an attempt, and which are only talk.

use crate::signals::tests::{scope, signals};
use crate::signals::{Completion, Promise, parse};

fn completion(text: &str) -> Completion {
    signals(text).completion
}

#[test]
fn sig_01_only_alone_on_a_line() {
    for text in [
        "<task-done>t-abc123</task-done>",
        "All good.\n\n  \t`<task-done> t-abc123 </task-done>`\t\r\nBye",
        "```\n<task-done>t-abc123</task-done>\n```",
        "<task-done>\nt-abc123\n</task-done>",
    ] {
        assert_eq!(completion(text), Completion::Done, "{text}");
    }
    for text in [
        "I would say <task-done>t-abc123</task-done>",
        "<task-done>t-abc123</task-done> is what I would say",
        "> <task-done>t-abc123</task-done>",
        "<task-done>t-abc123</task-done> <task-done>t-abc123</task-done>",
        "<task-done>t-abc123",
        "<task-done></task-done>",
    ] {
        assert_eq!(completion(text), Completion::Absent, "{text}");
    }
    assert_eq!(completion("x\n`<task-failed>t-abc123</task-failed>`"), Completion::Failed);
}

#[test]
fn sig_02_only_this_task() {
    assert_eq!(completion("<task-done>1.3</task-done>"), Completion::Done);
    for other in ["t-abc124", "1.3.1", "T-ABC123", "ID", "...", "1.3 1.3"] {
        assert_eq!(completion(&format!("<task-done>{other}</task-done>")), Completion::Absent, "{other}");
        assert_eq!(completion(&format!("<task-failed>{other}</task-failed>")), Completion::Absent);
    }
    let keyless = crate::signals::Scope { task_key: None, ..scope() };
    assert_eq!(parse("<task-done>1.3</task-done>", &keyless).completion, Completion::Absent);
}

#[test]
fn sig_03_both_means_failed() {
    let done = ["<task-done>t-abc123</task-done>", "TASK_COMPLETE"];
    let failed =
        ["<task-failed>1.3</task-failed>", "Task 1.3: Parser FAILED\n- Error: x", "FAILURE_REASON: x"];
    for done in done {
        for failed in failed {
            assert_eq!(completion(&format!("{done}\n{failed}")), Completion::Failed);
            assert_eq!(completion(&format!("{failed}\n{done}")), Completion::Failed);
        }
    }
    let other = "<task-done>1.3</task-done>\n<task-failed>9.9</task-failed>\nTask 9.9: x FAILED";
    assert_eq!(completion(other), Completion::Done);
}

#[test]
fn sig_10_promises() {
    let promise = |text: &str| signals(text).promise;
    assert_eq!(promise("a\n`<promise>FAILURE</promise>`\nb"), Some(Promise::Failure));
    assert_eq!(promise("<promise>COMPLETE</promise>"), Some(Promise::Complete));
    assert_eq!(promise("<promise>COMPLETE</promise>\n<promise>FAILURE</promise>"), Some(Promise::Failure));
    assert_eq!(promise("say <promise>FAILURE</promise>"), None);
    assert_eq!(promise("<promise>failure</promise>"), None);
    assert_eq!(completion("<promise>COMPLETE</promise>"), Completion::Absent);
    let both = "<task-done>1.3</task-done>\n<promise>FAILURE</promise>";
    assert_eq!(completion(both), Completion::Failed, "such an attempt is recorded as failed");
}

/// Every signal that ends an attempt or a run, alone on its line.
const ENDINGS: [&str; 5] = [
    "<task-done>1.3</task-done>",
    "TASK_COMPLETE",
    "Task 1.3: Parser FAILED",
    "FAILURE_REASON: no disk",
    "<promise>FAILURE</promise>",
];

#[test]
fn sig_10_quoted_signals_are_text() {
    for signal in ENDINGS {
        for text in [
            format!("The prompt says:\n```\nWrite this:\n{signal}\n```\nI did not finish."),
            format!("~~~~text\n{signal}\n~~~\nand so on\n~~~~"),
            format!("<!--\n{signal}\n-->"),
            format!("<!-- a --> <!-- b\n{signal}\n-->"),
            format!("Like so:\n\n    {signal}\n\nNot yet."),
            format!("<failure-report>\nwhat_tried: a\n{signal}\nwhy_failed: b\n</failure-report>"),
            format!("<learning category=\"other\" tags=\"a\">\n{signal}\n</learning>"),
            format!("````\n```\n{signal}\n```\n````"),
            format!("```\nTASK_MODIFICATION_REQUEST\n{{\"type\": SPLIT_TASK,\n{signal}\n}}\n```"),
            format!("TASK_MODIFICATION_REQUEST\n{{\"type\": SPLIT_TASK,\n{signal}\n}}"),
            format!("TASK_MODIFICATION_REQUEST\n{{\"a\": {{\"type: 1}},\n{signal}\n}}"),
            format!("TASK_MODIFICATION_REQUEST\n{{\"reasoning\": \"}}\n{signal}\nb\"}}"),
            format!("TASK_MODIFICATION_REQUEST\n{{}}\n{{\"a\":\n{signal}\n}}"),
            format!("```\nTASK_MODIFICATION_REQUEST\n{{\"reasoning\": \"a\n{signal}\nb\"}}\n```"),
        ] {
            let found = signals(&text);
            assert_eq!((found.completion, found.promise), (Completion::Absent, None), "{text}");
        }
    }
}

#[test]
fn sig_10_alone_in_a_fence_or_in_backticks_counts() {
    for signal in ENDINGS {
        for text in [
            format!("```\n{signal}\n```"),
            format!("Done.\n\n```xml\n\n  {signal}\n\n```\n"),
            format!("~~~\n{signal}\n~~~"),
            format!("```\n<learning category=\"other\" tags=\"a\">b</learning>\n{signal}\n```"),
            format!("`{signal}`"),
            format!("\u{feff}{signal}"),
            format!("```\nnever closed\n{signal}"),
            format!("<!-- never closed\n{signal}"),
            format!("TASK_MODIFICATION_REQUEST\n{{\"never\": \"closed\n{signal}"),
            format!("TASK_MODIFICATION_REQUEST\n{{\"a\": 1}}\n{signal}\n}}"),
            format!("1. one\n\n    {signal}"),
        ] {
            assert_ne!(completion(&text), Completion::Absent, "{text}");
        }
    }
    assert_eq!(completion("<task-\u{200b}done>1.3</task-done>"), Completion::Absent);
}

#[test]
fn dia_01_task_complete_alone() {
    for text in ["TASK_COMPLETE", "x\n `TASK_COMPLETE` \r\ny"] {
        assert_eq!(completion(text), Completion::Done, "{text}");
    }
    for text in ["It is TASK_COMPLETE", "TASK_COMPLETE now", "TASK_COMPLETED", "task_complete"] {
        assert_eq!(completion(text), Completion::Absent, "{text}");
    }
}

#[test]
fn dia_02_failed_block() {
    let text = "Sorry.\r\n\r\nTask 1.3: Add: the parser FAILED\r\n- Error: File not found: src/parser.ts\r\n\
                - Attempted fix: Checked alternate paths\r\n- Status: Blocked, needs manual intervention\r\n";
    let found = signals(text);
    assert_eq!(found.completion, Completion::Failed);
    let block = found.failed_block.unwrap();
    assert_eq!((block.key.as_str(), block.name.as_str()), ("1.3", "Add: the parser"));
    assert_eq!(block.error.as_deref(), Some("File not found: src/parser.ts"));
    assert_eq!(block.attempted_fix.as_deref(), Some("Checked alternate paths"));
    assert_eq!(block.status.as_deref(), Some("Blocked, needs manual intervention"));
}

#[test]
fn dia_02_any_order_and_marks() {
    let text = "**Task t-abc123: Parser FAILED**\n\n* **Status:** stuck\n\n- Error: one\n  two\n- Error: again\nEnd\n- Attempted fix: no";
    let block = signals(text).failed_block.unwrap();
    assert_eq!(block.error.as_deref(), Some("one two"));
    assert_eq!(block.status.as_deref(), Some("stuck"));
    assert_eq!(block.attempted_fix, None, "the block ended before");
}

#[test]
fn dia_02_other_tasks_and_sentences_are_nothing() {
    for text in [
        "Task 1.4: Parser FAILED\n- Error: x",
        "Then Task 1.3: Parser FAILED",
        "Task 1.3: Parser FAILED again",
        "Task 1.3: ParserFAILED",
        "Task 1.3 FAILED",
    ] {
        let found = signals(text);
        assert_eq!((found.completion, found.failed_block), (Completion::Absent, None), "{text}");
    }
}

#[test]
fn dia_02_the_first_block_of_this_task_counts() {
    let text = "Task 9: x FAILED\n- Error: other\nTask 1.3: x FAILED\n- Error: first\nTask 1.3: x FAILED\n- Error: second";
    assert_eq!(signals(text).failed_block.unwrap().error.as_deref(), Some("first"));
}

#[test]
fn rcp_01_and_02_missing_lines_are_left_open() {
    for key in ["1.3.1.1", "V4"] {
        let scope = crate::signals::Scope { task_key: Some(key), ..scope() };
        let block = parse(&format!("Task {key}: FAILED\n- Error:\n"), &scope).failed_block.unwrap();
        assert_eq!((block.key.as_str(), block.name.as_str()), (key, ""));
        assert_eq!((block.error, block.attempted_fix, block.status), (None, None, None));
    }
}

#[test]
fn dia_03_failure_reason() {
    let found = signals("x\n `FAILURE_REASON:  no disk: left ` \nFAILURE_REASON: second");
    assert_eq!(found.completion, Completion::Failed);
    assert_eq!(found.failure_reason.as_deref(), Some("no disk: left"));
    for text in ["The FAILURE_REASON: x", "FAILURE_REASON:", "FAILURE_REASON: ...", "FAILURE_REASON x"] {
        let found = signals(text);
        assert_eq!((found.completion, found.failure_reason), (Completion::Absent, None), "{text}");
    }
}

fn contradicted(prose: &str) -> bool {
    signals(&format!("{prose}\n\n<task-done>1.3</task-done>\n")).contradicted
}

#[test]
fn sig_11_a_closing_paragraph_that_gives_up() {
    for prose in [
        "I could not complete the task.",
        "Fine.\n\nI Couldn’t\ncomplete all of it, sorry.",
        "It **needs manual** work.",
        "Status: Blocked, needs manual intervention",
        "The work is incomplete because of X.",
        "- We were not able to complete step 3",
    ] {
        assert!(contradicted(prose), "{prose}");
    }
    assert!(signals("TASK_COMPLETE\n\nBut I was unable to complete it.").contradicted);
}

#[test]
fn sig_11_other_paragraphs_and_words_do_not_matter() {
    for prose in [
        "At first I could not complete it.\n\nThen I found the cause and all tests pass.",
        "The parser now rejects incomplete input; it needs manually written tests.",
        "All done, no manual intervention needed.",
        "<retry-suggestion>\nI could not complete it.\n</retry-suggestion>",
        "",
    ] {
        assert!(!contradicted(prose), "{prose}");
    }
    assert!(!signals("I could not complete it.\n\n<task-failed>1.3</task-failed>").contradicted);
}
