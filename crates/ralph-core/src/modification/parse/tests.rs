//! Whole answers.

use super::{BROKEN, Fault, Found, REQUESTS, parse};
use crate::modification::{Kind, Proposed, Request};

const SPLIT: &str = r#"{"type": "SPLIT_TASK", "originalTaskId": "1.3", "reasoning": "Too large",
    "proposedTasks": [{"title": "A", "verify": "make a"}, "- [ ] 1.3.2 B\n  - **Verify**: `make b`"]}"#;

fn split() -> Request {
    let task = |key: Option<&str>, title: &str, verify: &str| Proposed {
        key: key.map(str::to_owned),
        title: title.to_owned(),
        verify: Some(verify.to_owned()),
        ..Proposed::default()
    };
    Request {
        kind: Kind::SplitTask,
        original: "1.3".into(),
        reasoning: "Too large".into(),
        proposed: vec![
            task(None, "A", "make a"),
            task(Some("1.3.2"), "B", "make b"),
        ],
    }
}

fn fault(text: &str) -> Fault {
    match parse(text).as_slice() {
        [Found::Broken { reason }] => reason.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn mod_01_a_request_directly_or_in_a_fence() {
    for text in [
        format!("TASK_MODIFICATION_REQUEST\n{SPLIT}"),
        format!("It is too much.\n\n**TASK_MODIFICATION_REQUEST**:\n\n```json\n{SPLIT}\n```\nBye."),
        format!("```\nTASK_MODIFICATION_REQUEST\n{SPLIT}\n```\n<task-failed>1.3</task-failed>"),
        format!("TASK_MODIFICATION_REQUEST {SPLIT}").replace('\n', "\r\n"),
        format!("## `TASK_MODIFICATION_REQUEST`\n```\n{SPLIT}\n```"),
        format!("TASK_MODIFICATION_REQUEST ```json\n{SPLIT}\n```\nSee:\n```\nx\n```"),
        format!("```\nTASK_MODIFICATION_REQUEST: SPLIT_TASK\n\n{SPLIT}\n```\n"),
        format!("```\nnever closed\nTASK_MODIFICATION_REQUEST\n{SPLIT}"),
    ] {
        assert_eq!(parse(&text), [Found::Request(split())], "{text}");
    }
}

#[test]
fn sig_10_a_quoted_request_is_text() {
    for text in [
        format!("```\nI could write:\nTASK_MODIFICATION_REQUEST\n{SPLIT}\n```"),
        format!("<!--\nTASK_MODIFICATION_REQUEST\n{SPLIT}\n-->"),
        format!(
            "a\n\n    TASK_MODIFICATION_REQUEST\n    {}",
            SPLIT.replace('\n', " ")
        ),
        format!(
            "<learning category=\"other\" tags=\"a\">\nTASK_MODIFICATION_REQUEST\n{SPLIT}\n</learning>"
        ),
    ] {
        assert_eq!(parse(&text), [], "{text}");
    }
}

#[test]
fn mod_01_every_kind_under_every_name() {
    for kind in Kind::ALL {
        for field in ["type", "modificationType", "modification_type", "action"] {
            let json = SPLIT
                .replace("SPLIT_TASK", kind.as_str())
                .replace("type", field);
            let expected = Request { kind, ..split() };
            let text = format!("TASK_MODIFICATION_REQUEST\n{json}");
            assert_eq!(parse(&text), [Found::Request(expected)]);
        }
        let json = SPLIT.replace("\"type\": \"SPLIT_TASK\",", "");
        let text = format!("TASK_MODIFICATION_REQUEST: {kind}\n{json}");
        assert_eq!(parse(&text), [Found::Request(Request { kind, ..split() })]);
    }
}

#[test]
fn mod_01_several_requests_are_found_in_order_and_repeats_once() {
    let one = format!("TASK_MODIFICATION_REQUEST\n{SPLIT}\n");
    let other = one.replace("Too large", "Other");
    let found = parse(&format!("{one}{one}{other}{one}"));
    let expected = Request {
        reasoning: "Other".into(),
        ..split()
    };
    assert_eq!(found, [Found::Request(split()), Found::Request(expected)]);
}

#[test]
fn mod_03_what_cannot_be_read_is_said_to_be_so() {
    let marked = |body: &str| format!("TASK_MODIFICATION_REQUEST\n{body}");
    assert_eq!(fault(&marked("")), Fault::NoObject);
    assert_eq!(fault(&marked("I would split it.")), Fault::NoObject);
    assert_eq!(fault(&marked(&SPLIT[..SPLIT.len() - 1])), Fault::Unclosed);
    assert!(matches!(
        fault(&marked("{\"type\": SPLIT_TASK}")),
        Fault::NotJson(_)
    ));
    assert_eq!(
        fault(&marked("{\"originalTaskId\": \"1.3\"}")),
        Fault::NoType
    );
    let unknown = fault(&marked(&SPLIT.replace("SPLIT_TASK", "SPEC`_ADJUSTMENT")));
    assert_eq!(unknown, Fault::UnknownType("SPEC?_ADJUSTMENT".into()));
    assert_eq!(
        fault(&marked(
            "{\"type\": \"SPLIT_TASK\", \"originalTaskId\": 1.3}"
        )),
        Fault::BadField("originalTaskId")
    );
    assert_eq!(
        fault(&marked("{\"type\": \"SPLIT_TASK\", \"proposedTasks\": 7}")),
        Fault::BadTasks
    );
    let later = fault("TASK_MODIFICATION_REQUEST: MERGE_TASKS\n{}");
    assert!(later.to_string().contains("ADD_PREREQUISITE"));
}

#[test]
fn mod_03_a_broken_request_leaves_the_others_alone() {
    for broken in ["{", "{\"a\": \"", "{}", "x", "", "```json\n{\"type\": [}"] {
        let text =
            format!("TASK_MODIFICATION_REQUEST\n{broken}\nTASK_MODIFICATION_REQUEST\n{SPLIT}");
        let found = parse(&text);
        assert_eq!(
            (found.len(), found.last()),
            (2, Some(&Found::Request(split()))),
            "{broken}"
        );
    }
}

#[test]
fn mod_01_missing_texts_are_left_to_be_refused() {
    let text = "TASK_MODIFICATION_REQUEST\n{\"type\": \"ADD_FOLLOWUP\"}";
    let expected = Request {
        kind: Kind::AddFollowup,
        original: String::new(),
        reasoning: String::new(),
        proposed: Vec::new(),
    };
    assert_eq!(parse(text), [Found::Request(expected)]);
}

#[test]
fn sig_07_examples_are_passed_over() {
    for (from, to) in [
        ("SPLIT_TASK", "SPLIT_TASK | ADD_PREREQUISITE | ADD_FOLLOWUP"),
        ("SPLIT_TASK", "<type>"),
        (
            "\"SPLIT_TASK\"",
            "\"SPLIT_TASK\" | \"ADD_PREREQUISITE\" | \"ADD_FOLLOWUP\"",
        ),
        ("\"1.3\"", "\"<id of this task>\""),
        ("\"1.3\"", "\"...\""),
        ("\"1.3\"", "\"X.Y\""),
    ] {
        assert_ne!(SPLIT.replace(from, to), SPLIT);
        let text = format!("TASK_MODIFICATION_REQUEST\n{}", SPLIT.replace(from, to));
        assert_eq!(parse(&text), [], "{to}");
    }
    let text = "TASK_MODIFICATION_REQUEST\n{\"type\": \"SPLIT_TASK\", \"originalTaskId\": \"1.3\", \
                \"reasoning\": \"...\", \"proposedTasks\": [\"...\", {\"title\": \"<one line>\"}]}";
    assert_eq!(parse(text), []);
    assert_eq!(parse("TASK_MODIFICATION_REQUEST: ...\n{}"), []);
    assert_eq!(parse("## TASK_MODIFICATION_REQUEST\n\nNone.\n"), []);
}

#[test]
fn sig_07_a_request_that_is_partly_filled_in_is_one() {
    let text = format!(
        "TASK_MODIFICATION_REQUEST\n{}",
        SPLIT.replace("\"A\"", "\"...\"")
    );
    let mut expected = split();
    expected.proposed[0].title.clear();
    assert_eq!(parse(&text), [Found::Request(expected)]);
    let text = format!(
        "TASK_MODIFICATION_REQUEST\n{}",
        SPLIT.replace("Too large", "<why>")
    );
    let expected = Request {
        reasoning: String::new(),
        ..split()
    };
    assert_eq!(parse(&text), [Found::Request(expected)]);
}

#[test]
fn sig_05_what_is_found_is_bounded() {
    let request = |n: usize| {
        format!(
            "TASK_MODIFICATION_REQUEST\n{}\n",
            SPLIT.replace("Too", &n.to_string())
        )
    };
    let broken = |n: usize| {
        format!(
            "TASK_MODIFICATION_REQUEST\n{{\"a\": {}x}}\n",
            "1".repeat(n + 1)
        )
    };
    let many: String = (0..99).map(|n| broken(n) + &request(n)).collect();
    assert_eq!(parse(&many).len(), REQUESTS + BROKEN);
    let after: String = (0..99).map(broken).chain([request(7)]).collect();
    assert!(matches!(parse(&after).last(), Some(Found::Request(_))));
}

#[test]
fn mod_01_several_objects_behind_one_marker_are_several_requests() {
    let other = SPLIT.replace("Too large", "And more");
    for text in [
        format!("TASK_MODIFICATION_REQUEST\n{SPLIT}\n\n{other}\n"),
        format!("TASK_MODIFICATION_REQUEST\n```json\n{SPLIT}\n```\n\n```json\n{other}\n```\n"),
        format!("TASK_MODIFICATION_REQUEST\n{SPLIT}\nTASK_MODIFICATION_REQUEST\n{other}\n"),
    ] {
        let more = Request {
            reasoning: "And more".into(),
            ..split()
        };
        assert_eq!(
            parse(&text),
            [Found::Request(split()), Found::Request(more)],
            "{text}"
        );
    }
    let beside = format!("TASK_MODIFICATION_REQUEST\n{SPLIT}\n```json\n{{\"a\": 1}}\n```\n");
    assert_eq!(parse(&beside), [Found::Request(split())]);
}
