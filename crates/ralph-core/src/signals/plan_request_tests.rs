//! Whole answers, and whatever else an agent writes.

use std::hint::black_box;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::*;
use crate::testing::cpu_time;

use ChangeKind as Kind;
use PlanRequest as Request;
use ProposedTask as Proposed;
use UnreadableRequest as Fault;

const MARKER: &str = "TASK_MODIFICATION_REQUEST";
use plan_requests as parse;

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
        proposed: vec![task(None, "A", "make a"), task(Some("1.3.2"), "B", "make b")],
    }
}

fn fault(text: &str) -> Fault {
    match parse(text).as_slice() {
        [Err(reason)] => reason.clone(),
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
        assert_eq!(parse(&text), [Ok(split())], "{text}");
    }
}

#[test]
fn sig_10_a_quoted_request_is_text() {
    for text in [
        format!("```\nI could write:\nTASK_MODIFICATION_REQUEST\n{SPLIT}\n```"),
        format!("<!--\nTASK_MODIFICATION_REQUEST\n{SPLIT}\n-->"),
        format!("a\n\n    TASK_MODIFICATION_REQUEST\n    {}", SPLIT.replace('\n', " ")),
        format!("<learning category=\"other\" tags=\"a\">\nTASK_MODIFICATION_REQUEST\n{SPLIT}\n</learning>"),
    ] {
        assert_eq!(parse(&text), [], "{text}");
    }
}

#[test]
fn mod_01_every_kind_under_every_name() {
    for kind in Kind::ALL {
        for field in ["type", "modificationType", "modification_type", "action"] {
            let json = SPLIT.replace("SPLIT_TASK", kind.as_str()).replace("type", field);
            let expected = Request { kind, ..split() };
            let text = format!("TASK_MODIFICATION_REQUEST\n{json}");
            assert_eq!(parse(&text), [Ok(expected)]);
        }
        let json = SPLIT.replace("\"type\": \"SPLIT_TASK\",", "");
        let text = format!("TASK_MODIFICATION_REQUEST: {kind}\n{json}");
        assert_eq!(parse(&text), [Ok(Request { kind, ..split() })]);
    }
}

#[test]
fn mod_01_several_requests_are_found_in_order_and_repeats_once() {
    let one = format!("TASK_MODIFICATION_REQUEST\n{SPLIT}\n");
    let other = one.replace("Too large", "Other");
    let found = parse(&format!("{one}{one}{other}{one}"));
    let expected = Request { reasoning: "Other".into(), ..split() };
    assert_eq!(found, [Ok(split()), Ok(expected)]);
}

#[test]
fn mod_03_what_cannot_be_read_is_said_to_be_so() {
    let marked = |body: &str| format!("TASK_MODIFICATION_REQUEST\n{body}");
    assert_eq!(fault(&marked("")), Fault::NoObject);
    assert_eq!(fault(&marked("I would split it.")), Fault::NoObject);
    assert_eq!(fault(&marked(&SPLIT[..SPLIT.len() - 1])), Fault::Unclosed);
    assert!(matches!(fault(&marked("{\"type\": SPLIT_TASK}")), Fault::NotJson(_)));
    let fenced = format!("```\n{MARKER}\n{{\"type\": SPLIT_TASK,\nTASK_COMPLETE\n}}\n```");
    assert!(matches!(fault(&fenced), Fault::NotJson(_)));
    assert_eq!(fault(&marked("{\"originalTaskId\": \"1.3\"}")), Fault::NoType);
    let unknown = fault(&marked(&SPLIT.replace("SPLIT_TASK", "SPEC`_ADJUSTMENT")));
    assert_eq!(unknown, Fault::UnknownType("SPEC?_ADJUSTMENT".into()));
    assert_eq!(
        fault(&marked("{\"type\": \"SPLIT_TASK\", \"originalTaskId\": 1.3}")),
        Fault::BadField("originalTaskId")
    );
    assert_eq!(fault(&marked("{\"type\": \"SPLIT_TASK\", \"proposedTasks\": 7}")), Fault::BadTasks);
    let later = fault("TASK_MODIFICATION_REQUEST: MERGE_TASKS\n{}");
    assert!(later.to_string().contains("ADD_PREREQUISITE"));
}

#[test]
fn mod_03_a_broken_request_leaves_the_others_alone() {
    for broken in ["{", "{\"a\": \"", "{}", "x", "", "```json\n{\"type\": [}"] {
        let text = format!("TASK_MODIFICATION_REQUEST\n{broken}\nTASK_MODIFICATION_REQUEST\n{SPLIT}");
        let found = parse(&text);
        assert_eq!((found.len(), found.last()), (2, Some(&Ok(split()))), "{broken}");
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
    assert_eq!(parse(text), [Ok(expected)]);
}

#[test]
fn sig_07_examples_are_passed_over() {
    for (from, to) in [
        ("SPLIT_TASK", "SPLIT_TASK | ADD_PREREQUISITE | ADD_FOLLOWUP"),
        ("SPLIT_TASK", "<type>"),
        ("\"SPLIT_TASK\"", "\"SPLIT_TASK\" | \"ADD_PREREQUISITE\" | \"ADD_FOLLOWUP\""),
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
    let text = format!("TASK_MODIFICATION_REQUEST\n{}", SPLIT.replace("\"A\"", "\"...\""));
    let mut expected = split();
    expected.proposed[0].title.clear();
    assert_eq!(parse(&text), [Ok(expected)]);
    let text = format!("TASK_MODIFICATION_REQUEST\n{}", SPLIT.replace("Too large", "<why>"));
    let expected = Request { reasoning: String::new(), ..split() };
    assert_eq!(parse(&text), [Ok(expected)]);
}

#[test]
fn sig_05_what_is_found_is_bounded() {
    let request = |n: usize| format!("TASK_MODIFICATION_REQUEST\n{}\n", SPLIT.replace("Too", &n.to_string()));
    let broken = |n: usize| format!("TASK_MODIFICATION_REQUEST\n{{\"a\": {}x}}\n", "1".repeat(n + 1));
    let many: String = (0..99).map(|n| broken(n) + &request(n)).collect();
    assert_eq!(parse(&many).len(), REQUESTS + UNREADABLE);
    let after: String = (0..99).map(broken).chain([request(7)]).collect();
    assert!(matches!(parse(&after).last(), Some(Ok(_))));
}

#[test]
fn mod_01_several_objects_behind_one_marker_are_several_requests() {
    let other = SPLIT.replace("Too large", "And more");
    for text in [
        format!("TASK_MODIFICATION_REQUEST\n{SPLIT}\n\n{other}\n"),
        format!("TASK_MODIFICATION_REQUEST\n```json\n{SPLIT}\n```\n\n```json\n{other}\n```\n"),
        format!("TASK_MODIFICATION_REQUEST\n{SPLIT}\nTASK_MODIFICATION_REQUEST\n{other}\n"),
    ] {
        let more = Request { reasoning: "And more".into(), ..split() };
        assert_eq!(parse(&text), [Ok(split()), Ok(more)], "{text}");
    }
    let beside = format!("TASK_MODIFICATION_REQUEST\n{SPLIT}\n```json\n{{\"a\": 1}}\n```\n");
    assert_eq!(parse(&beside), [Ok(split())]);
}

fn kinds(text: &str) -> Vec<&str> {
    sections(text, &Quotations::of(text)).into_iter().map(|(kind, _)| kind).collect()
}

#[test]
fn mod_01_the_marker_stands_on_a_line_of_its_own() {
    for line in [
        "TASK_MODIFICATION_REQUEST",
        "  `TASK_MODIFICATION_REQUEST`\r",
        "### TASK_MODIFICATION_REQUEST:",
        "**TASK_MODIFICATION_REQUEST**:",
        "**TASK_MODIFICATION_REQUEST:**",
    ] {
        for text in [line.to_owned(), format!("x\n{line}\ny")] {
            assert_eq!(kinds(&text), [""], "{text}");
        }
    }
    for line in [
        "I send a TASK_MODIFICATION_REQUEST",
        "TASK_MODIFICATION_REQUEST is not needed",
        "TASK_MODIFICATION_REQUEST: none",
        "TASK_MODIFICATION_REQUEST: NONE",
        "TASK_MODIFICATION_REQUESTS",
        "TASK_MODIFICATION_REQUEST_ID",
        "task_modification_request",
        "\"TASK_MODIFICATION_REQUEST\"",
    ] {
        assert_eq!(kinds(line), [""; 0], "{line}");
    }
}

#[test]
fn mod_01_the_kind_may_stand_beside_the_marker() {
    for line in [
        "TASK_MODIFICATION_REQUEST: SPLIT_TASK",
        "## TASK_MODIFICATION_REQUEST: `SPLIT_TASK`",
        "**TASK_MODIFICATION_REQUEST** (SPLIT_TASK)",
        "TASK_MODIFICATION_REQUEST - SPLIT_TASK {}",
    ] {
        assert_eq!(kinds(line), ["SPLIT_TASK"], "{line}");
    }
    assert_eq!(kinds("TASK_MODIFICATION_REQUEST: MERGE_TASKS"), ["MERGE_TASKS"]);
    assert_eq!(kinds("TASK_MODIFICATION_REQUEST ```json"), [""]);
}

#[test]
fn mod_01_a_section_reaches_to_the_next_marker() {
    let text = "a\nTASK_MODIFICATION_REQUEST {1}\nb\n## TASK_MODIFICATION_REQUEST\n{2}\n";
    let expected = [("", "{1}\nb\n"), ("", "\n{2}\n")];
    assert_eq!(sections(text, &Quotations::of(text)), expected);
}

#[test]
fn mod_01_the_three_kinds_and_their_spellings() {
    for kind in Kind::ALL {
        assert_eq!(Kind::read(kind.as_str()), Some(kind));
        let json = format!("\"{kind}\"");
        assert_eq!(serde_json::to_string(&kind).unwrap(), json);
    }
    assert_eq!(Kind::read(" split-task "), Some(Kind::SplitTask));
    assert_eq!(Kind::read("addFollowUp"), Some(Kind::AddFollowup));
    assert_eq!(Kind::read("Prerequisite"), Some(Kind::AddPrerequisite));
    for other in ["", "SPEC_ADJUSTMENT", "SPLIT_TASK | ADD_FOLLOWUP", "splits"] {
        assert_eq!(Kind::read(other), None, "{other}");
    }
}

#[test]
fn mod_01_the_instructions_name_every_kind_and_field() {
    let text = PLAN_REQUEST_INSTRUCTIONS;
    for kind in Kind::ALL {
        assert!(text.contains(kind.as_str()), "{kind}");
    }
    for field in ["originalTaskId", "reasoning", "proposedTasks", "dependsOn", "verify"] {
        assert!(text.contains(field), "{field}");
    }
    assert!(text.chars().count() < 2000, "short");
}

#[test]
fn sig_08_the_instructions_are_no_request() {
    assert_eq!(parse(PLAN_REQUEST_INSTRUCTIONS), []);
    let quoted: String = PLAN_REQUEST_INSTRUCTIONS.lines().map(|l| format!("    {l}\n")).collect();
    assert_eq!(parse(&quoted), []);
    assert_eq!(parse(&PLAN_REQUEST_INSTRUCTIONS.repeat(3)), []);
}

#[test]
fn sig_05_quoted_names_are_harmless() {
    assert_eq!(quoted(" 1.3-ä "), "1.3-ä");
    assert_eq!(quoted("a`\n<task-done>\u{202e}|"), "a???task-done???");
    assert_eq!(quoted(&"x".repeat(99)), format!("{}…", "x".repeat(64)));
}

#[test]
fn mod_01_the_object_stands_directly_or_in_a_fence() {
    for body in [
        "{\"a\": {}}",
        "\n\n  {\"a\": {}} and so on }",
        "\n```json\n{\"a\": {}}\n```\n",
        "```\n\n{\"a\": {}}\n```",
        "\n~~~ json {\"a\": {}} ~~~",
        "\n```\n\n```json\r\n{\"a\": {}}",
    ] {
        assert!(object_start(body).unwrap().starts_with("{\"a\""), "{body}");
    }
    for body in ["", "x {}", "[{}]", "\n```json\n"] {
        assert_eq!(object_start(body), None, "{body}");
    }
}

#[test]
fn mod_01_an_object_is_bounded() {
    let of = |chars: usize| format!("{MARKER}\n{{\"{}\":1}}", "ä".repeat(chars - 6));
    assert_eq!(fault(&of(OBJECT_CHARS)), Fault::NoType);
    assert_eq!(fault(&of(OBJECT_CHARS + 1)), Fault::TooLong);
}

#[test]
fn mod_01_line_ends_in_strings_are_let_pass() {
    let json = escape_controls("{\"a\": \"x\r\n\ty\\\"\",\n\t\"b\": 1}");
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(found, json!({"a": "x\n\ty\"", "b": 1}));
}

#[test]
fn mod_03_broken_json_is_said_to_be_broken() {
    let deep = format!("{}{}", "{\"a\":".repeat(1000), "}".repeat(1000));
    for text in ["{a: 1}", "{\"a\": 1,}", "{\"a\": ...}", "{'a': 1}", &deep] {
        let Fault::NotJson(why) = fault(&format!("{MARKER}\n{text}")) else { panic!("{text}") };
        assert!(why.contains("line 1"), "{why}");
    }
}

const GOOD: &str = "TASK_MODIFICATION_REQUEST\n{\"type\": \"ADD_FOLLOWUP\", \"originalTaskId\": \"k3\", \
                    \"reasoning\": \"found me\", \"proposedTasks\": [{\"title\": \"T\", \"verify\": \"make\"}]}\n";

/// Pieces of requests, whole and broken.
const FRAGMENTS: [&str; 34] = [
    "TASK_MODIFICATION_REQUEST",
    "TASK_MODIFICATION_REQUEST\n",
    "\n",
    " ",
    "`",
    "```json\n",
    "```",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ":",
    ",",
    "#",
    "**",
    "...",
    "<a>",
    "ä…",
    "\r\n",
    "\u{202e}",
    "SPLIT_TASK",
    "\"type\": \"SPLIT_TASK\",",
    "\"originalTaskId\": \"k3\",",
    "\"reasoning\": \"r\",",
    "\"proposedTasks\": [",
    "{\"title\": \"t\"}",
    "\"- [ ] 1.3.1 T\\n  - **Do**: x\"",
    "- [ ] ",
    " - **Verify**: ",
    "none",
    "1.5",
    "null",
];

fn request_of(block: &str, kind: Kind) -> String {
    let json = serde_json::json!({
        "type": kind, "originalTaskId": "k3", "reasoning": "r", "proposedTasks": [block, block],
    });
    format!("TASK_MODIFICATION_REQUEST\n{json}\n")
}

fn soup(most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(select(&FRAGMENTS[..]), 0..most).prop_map(|parts| parts.concat())
}

/// A Markdown task made of pieces that mean something there.
fn block() -> impl Strategy<Value = String> {
    let piece = select(vec![
        "- [ ] ",
        "- [x]",
        "[P] ",
        "1.3.1 ",
        "V4 ",
        "\n",
        "\n  ",
        "- **Do**: ",
        "- **Files**: ",
        " - **Verify:** ",
        "- Depends on: ",
        "`",
        "``",
        "```\n",
        "a",
        ", ",
        "ä",
        "\t",
        "**",
        "[",
        "]",
        ": ",
        "_x: y_",
        "\u{2003}",
    ]);
    proptest::collection::vec(piece, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn sig_05_any_text_is_survived(text in any::<String>()) {
        black_box(parse(&text));
        black_box(parse(&format!("TASK_MODIFICATION_REQUEST\n{text}")));
    }

    #[test]
    fn sig_05_good_requests_are_found_after_any_soup(soup in soup(60)) {
        let found = parse(&format!("{soup}\n{GOOD}"));
        let is_good = |found: &Result<Request, Fault>| matches!(found, Ok(r) if r.reasoning == "found me");
        prop_assert!(found.iter().any(is_good), "{found:?}");
        for one in found {
            if let Err(reason) = one {
                prop_assert!(!reason.to_string().contains('\n'));
            }
        }
    }

    #[test]
    fn sig_05_any_block_is_survived(block in block(), kind in select(Kind::ALL.to_vec())) {
        let text = request_of(&block, kind);
        prop_assert!(parse(&text).iter().all(Result::is_ok), "{text}");
    }
}

/// Four times the text takes about four times as long; sixteen times would be the square.
const MOST: u32 = 10;

#[track_caller]
fn assert_linear(unit: &str, text: &dyn Fn(&str) -> String) {
    let texts = [1 << 16, 1 << 18].map(|bytes: usize| text(&unit.repeat(bytes / unit.len())));
    let mut best = [Duration::MAX; 2];
    let begun = Instant::now();
    // One bad moment does not make a parser slow, so a text is measured again for a while.
    while begun.elapsed() < Duration::from_secs(5) {
        for (best, text) in best.iter_mut().zip(&texts) {
            let started = cpu_time();
            black_box(parse(text));
            *best = (cpu_time() - started).min(*best);
        }
        if best[1] < best[0] * MOST + Duration::from_millis(1) {
            return;
        }
    }
    panic!("{unit:?} takes {best:?}");
}

#[test]
fn sig_05_time_grows_with_the_text() {
    for unit in FRAGMENTS.into_iter().chain([
        "TASK_MODIFICATION_REQUEST ",
        "TASK_MODIFICATION_REQUEST {\"",
        "TASK_MODIFICATION_REQUEST\n{\"a\": \"b\"\n",
        "```\n",
        "` ",
        "{\"a\":[",
        GOOD,
    ]) {
        assert_linear(unit, &str::to_owned);
        assert_linear(unit, &|text| format!("TASK_MODIFICATION_REQUEST\n{{\"{text}"));
    }
}

#[test]
fn sig_05_time_grows_with_a_block() {
    // As long as one object may be, in one string of it.
    for unit in
        ["`", "`` ` ", " - **Do", " - **Do**: x", "- [ ] a\n", "[A]", "\n  ", "a, ", "- **Do**: a\n", "# "]
    {
        let block = unit.repeat(90_000 / unit.len() / 2);
        let started = cpu_time();
        black_box(parse(&request_of(&block, Kind::SplitTask)));
        assert!(cpu_time() - started < Duration::from_secs(2), "{unit:?}");
    }
}
