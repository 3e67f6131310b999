//! Pages as they come out.

use ralph_core::agent::{AgentKind, Exit, Setup, StreamParser};
use ralph_core::model::{ErrorType, Key, Outcome, RunId, TaskId};

use super::*;

const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

fn task() -> Task {
    Task {
        id: TaskId::from_stored("t-000001"),
        key: Some(Key::from_stored("1.2")),
        title: "Parse dates".into(),
        spec: None,
        name: "1.2".into(),
        description: String::new(),
        status: ralph_core::model::Status::Pending,
        verified: false,
        done_by: None,
        verification: None,
        phase: None,
        parent_id: None,
        depends_on: Vec::new(),
        priority: 0,
        verify: None,
        files: Vec::new(),
        protect: Vec::new(),
        may_change: Vec::new(),
        done_when: None,
        commit: None,
        markers: Vec::new(),
        model: None,
        attempts: 0,
        consecutive_failures: 0,
        needs_human: false,
        reason: None,
        created_at: START,
        updated_at: START,
    }
}

fn attempt() -> Attempt {
    Attempt {
        key: None,
        attempt: 2,
        run_id: Some(RunId::from_stored("r-00000001")),
        iteration: Some(3),
        model: "sonnet".into(),
        outcome: Outcome::Failed,
        error_type: Some(ErrorType::TestFailure),
        duration_ms: 62_000,
        cost_usd: Some(0.25),
        tokens_input: Some(1000),
        tokens_output: Some(7),
        attempt_number: 3,
        agent: Some("claude".into()),
        message: Some("FAIL dates (the gate `cargo test` exited with code 1)".into()),
        gate: Some(GateOutcome::Failed),
        gate_output: Some("\nrunning 3 tests\n\u{1b}[31mFAIL\u{1b}[0m dates\n\n".into()),
        denials: vec!["WebFetch".into()],
        log_path: Some(".ralph/logs/x.jsonl".into()),
        ..Attempt::new(&task(), START)
    }
}

fn logged(state: State) -> LoggedAttempt {
    LoggedAttempt { attempt: attempt(), log: ".ralph/logs/x.jsonl".into(), state, host: None }
}

/// The whole page of a log, without colours.
fn page(
    mut parser: Box<dyn StreamParser>,
    log: &str,
    logged: &LoggedAttempt,
    (width, errors): (usize, &[&str]),
) -> String {
    let mut page = Page::new(&task(), width, START);
    let mut text = page.header(&task(), logged);
    for (seconds, line) in (0..).zip(log.lines()) {
        // As if every other line had come while somebody looked on.
        let live = START.plus(Duration::from_secs(seconds * 40));
        let at = Some(live).filter(|_| seconds % 2 == 1);
        for told in parser.entries(line.as_bytes(), true) {
            text.push_str(&page.entry(at, told));
        }
    }
    let errors: Vec<String> = errors.iter().map(|line| (*line).to_owned()).collect();
    let report = parser.finish(Exit::Code(-1));
    text.push_str(&page.end(logged, &report, &errors));
    // The time is that of this machine's clock; here it is shown as that of UTC.
    let text = anstream::adapter::strip_str(&text).to_string();
    text.replace(&START.local(), "2023-11-14 22:13:20")
}

fn text_agent() -> Box<dyn StreamParser> {
    AgentKind::Command.build(Setup::default()).parser()
}

const CLAUDE: &str = r#"{"type":"system","subtype":"init","cwd":"/p","session_id":"s1","model":"claude-sonnet-5-5"}
{"type":"assistant","message":{"content":[{"type":"text","text":"I look at the parser first.\n\n    fn parse() {}\n\u001b]0;gotcha\u0007It is short."},{"type":"tool_use","name":"Read","input":{"file_path":"/p/src/dates.rs"}}]}}
{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":529}
{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"cargo test"}}]}}
{"type":"assistant","message":{"content":[{"type":"text","text":"Done, with ANTHROPIC_API_KEY=sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789\n<task-done>1.2</task-done>"}]}}
{"type":"result","subtype":"success","is_error":false,"result":"Done, with ANTHROPIC_API_KEY=sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789\n<task-done>1.2</task-done>","total_cost_usd":0.25}
"#;

#[test]
fn a_session_of_claude_code_reads_like_a_story() {
    let target = logged(State::Ended);
    let text = page(
        AgentKind::Claude.build(Setup::default()).parser(),
        CLAUDE,
        &target,
        (usize::MAX / 2, &["warning: \u{1b}[2Jslow"]),
    );
    insta::assert_snapshot!(text, @"
    1.2 Parse dates · attempt 2 · claude sonnet · 2023-11-14 22:13:20 · gate failed · $0.25

    · started claude-sonnet-5-5
    +40s    ● I look at the parser first.

                  fn parse() {}
              It is short.
    +40s    → Read src/dates.rs
    ~ API error 529, retrying (1 of 10)
    +2:00   → Bash cargo test
    ● Done, with ANTHROPIC_API_KEY=[masked]
      <task-done>1.2</task-done>

    ✗ gate failed: FAIL dates (`cargo test` exited with code 1)
      1 min 2 s, $0.25, 1000 tokens in, 7 out
      denied tools: WebFetch
      last lines of the gate's output:
      │ running 3 tests
      │ FAIL dates
      last lines of its stderr:
      │ warning: slow
    ");
}

#[test]
fn a_result_that_was_not_said_is_shown() {
    let log = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Working."}]}}
{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529 overloaded"}"#;
    let target = logged(State::Lost);
    let text = page(AgentKind::Claude.build(Setup::default()).parser(), log, &target, (80, &[]));
    insta::assert_snapshot!(text, @"
    1.2 Parse dates · attempt 2 · claude sonnet · 2023-11-14 22:13:20 ·
      interrupted by a crash

    ● Working.
    result:
      API Error: 529 overloaded

    ~ Ralph crashed during this attempt
    ");
}

#[test]
fn a_log_of_text_is_text() {
    let target = {
        let script = Attempt { agent: Some("script".into()), model: "script".into(), ..attempt() };
        LoggedAttempt { attempt: script, ..logged(State::Running) }
    };
    let log = "Reading\tthe parser\n\n  indented \u{1b}[1mbold\u{1b}[0m and rather long\n<task-done>1.2</task-done>\n";
    let text = page(text_agent(), log, &target, (30, &[]));
    insta::assert_snapshot!(text, @"
    1.2 Parse dates · attempt 2
      · script · 2023-11-14
      22:13:20 · in progress

    Reading    the parser

      indented bold and rather
    long
    <task-done>1.2</task-done>

    … in progress; to follow it:
      ralph logs -f 1.2
    ");
}

#[test]
fn in_a_terminal_everything_fits() {
    let target = logged(State::Ended);
    let long = "word ".repeat(60);
    let log = CLAUDE.replace("It is short.", &long);
    let errors = long.as_str();
    let parser = AgentKind::Claude.build(Setup::default()).parser();
    let text = page(parser, &log, &target, (40, &[errors]));
    for line in text.lines() {
        assert!(crate::ui::table::shown(line.trim_end()) <= 40, "{line:?}");
    }
    assert_eq!(text.matches("word").count(), 120);
}

#[test]
fn a_line_that_was_cut_says_so() {
    let mut page = Page::new(&task(), 80, START);
    let told = LogEntry::Line { text: "xxx".into(), complete: false };
    let text = page.entry(None, told);
    assert_eq!(text, format!("xxx{CUT}\n"));
    let long = LogEntry::Said { text: "é".repeat(MOST) };
    let text = page.entry(None, long);
    assert!(text.len() < 2 * MOST && text.trim_end().ends_with(CUT));
}

#[test]
fn a_session_without_a_result_does_not_say_everything_twice() {
    let cut: String = CLAUDE.lines().take(2).map(|line| format!("{line}\n")).collect();
    let more = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Going on.\n"}]}}"#;
    let parser = AgentKind::Claude.build(Setup::default()).parser();
    let log = format!("{cut}{more}\n");
    let text = page(parser, &log, &logged(State::Running), (80, &[]));
    assert!(!text.contains("result:"), "{text}");
    assert_eq!(text.matches("Going on.").count(), 1);
}

#[test]
fn nothing_an_agent_prints_reaches_the_terminal_but_text() {
    let evil = "a\u{1b}[2Jb\u{1b}]0;title\u{7}c\u{8}\rd\u{202e}e\u{9b}31m";
    let mut page = Page::new(&task(), 80, START);
    let text = evil.to_owned();
    let lines = page.entry(None, LogEntry::Line { text: text.clone(), complete: true });
    assert_eq!(lines, "abc\nde\n");
    assert_eq!(page.entry(None, LogEntry::Said { text }), "● abc\n  de\n");
    let tail = page.quoted(&[evil.to_owned()]);
    assert_eq!(anstream::adapter::strip_str(&tail).to_string(), "  │ abc\n  │ de\n");
    assert!(!tail.contains("[2J") && !tail.contains('\u{202e}'));
}
