use super::{failed, ladder};
use crate::analysis::{Fact, Surroundings, analyze};

fn text(facts: &[Fact]) -> String {
    analyze(facts, &ladder()).to_string()
}

fn suggestion(facts: &[Fact]) -> String {
    analyze(facts, &ladder()).suggestion
}

fn with_error_type(error_type: &str, outcome: &str, mut fact: Fact) -> Fact {
    fact.error_type = (!error_type.is_empty()).then(|| error_type.into());
    fact.outcome = outcome.into();
    fact
}

fn build_errors() -> Vec<Fact> {
    ["2.5", "2.4", "2.3", "2.2", "2.1"]
        .iter()
        .map(|task| Fact {
            phase: Some("2".into()),
            coarse: Some("c0ffee".into()),
            gate: Some("cargo build".into()),
            files: vec!["src/lib.rs".into(), format!("src/{task}.rs")],
            ..failed(
                task,
                "sonnet",
                "   Compiling demo v0.1.0\nerror[E0433]: failed to resolve: use of undeclared type `HashMap`\n \
                 --> src/lib.rs:12:20\nerror: could not compile `demo`",
            )
        })
        .collect()
}

#[test]
fn ana_01_five_build_errors() {
    insta::assert_snapshot!(text(&build_errors()), @"
    Failure Analysis:
      Pattern: 5 of 5: error[E0433]: failed to resolve: use of undeclared type `HashMap`
      Affected: src/lib.rs (5 of 5)
      Shared: phase 2
      Models: sonnet only
      Suggestion: run `cargo build` yourself first: the build fails (E0433 in src/lib.rs)
    ");
}

#[test]
fn ana_03_four_of_five_timed_out() {
    let late =
        |task: &str, kind: &str, message: &str| with_error_type(kind, "error", failed(task, "opus", message));
    let facts = [
        late("1.3", "timeout", "timed out after 30 min"),
        late("1.3", "idle_timeout", "timed out after 10 min without output"),
        failed("1.2", "opus", "assertion failed: a == b"),
        late("1.2", "timeout", "timed out after 30 min"),
        late("1.1", "timeout", ""),
    ];
    insta::assert_snapshot!(text(&facts), @"
    Failure Analysis:
      Pattern: 4 of 5: timed out after …
      Shared: key prefix 1
      Models: opus only
      Suggestion: 4 of 5 timed out: raise `attempt_timeout` (now 30 min) or split 1.1, 1.2 and 1.3
    ");
}

#[test]
fn ana_03_the_same_test_under_every_model() {
    let with = |model: &str| Fact {
        coarse: Some("7e57".into()),
        gate: Some("cargo test".into()),
        failing: vec!["parser::tests::empty".into(), "parser::tests::nested".into()],
        files: vec!["src/parser.rs".into()],
        ..failed("1.4", model, "the gate `cargo test` exited with code 101")
    };
    let facts = [with("opus"), with("sonnet"), with("haiku"), with("haiku")];
    insta::assert_snapshot!(text(&facts), @"
    Failure Analysis:
      Pattern: 4 of 4: parser::tests::empty and 1 more fail: the gate `cargo test` exited with code 101
      Affected: src/parser.rs (4 of 4)
      Models: haiku, sonnet, opus (escalated)
      Suggestion: `parser::tests::empty` fails with haiku, sonnet and opus: the task or the test may be wrong
    ");
}

#[test]
fn ana_03_no_signal() {
    let silent = |task: &str, message: &str| with_error_type("", "no_sigil", failed(task, "haiku", message));
    let facts = [
        silent("t-1a2b3c", "the agent ended without reporting a result"),
        silent("t-4d5e6f", "the agent ended without reporting a result"),
        silent("t-778899", "I have started the server. Shall I go on?"),
    ];
    insta::assert_snapshot!(text(&facts), @"
    Failure Analysis:
      Pattern: 3 of 3: ended without reporting a result
      Shared: key prefix t
      Models: haiku only
      Suggestion: the agent may not know how to report a result, or cannot finish: see `ralph logs t-1a2b3c`
    ");
}

#[test]
fn ana_03_mixed_failures_have_no_pattern() {
    let facts = [
        failed("1.1", "opus", "error: expected 3, got 4"),
        with_error_type("logic_error", "failed", failed("2.1", "sonnet", "KeyError: 'name'")),
        with_error_type("", "no_sigil", failed("3.1", "opus", "all is well")),
    ];
    insta::assert_snapshot!(text(&facts), @"
    Failure Analysis:
      Pattern: 3 different errors; newest: error: expected 3, got 4
      Models: sonnet, opus
      Suggestion: Check recent changes or environment
    ");
}

#[test]
fn ana_02_no_failures_are_told_as_such() {
    insta::assert_snapshot!(text(&[]), @"
    Failure Analysis:
      Pattern: no failures
      Models: none tried
      Suggestion: Check recent changes or environment
    ");
}

#[test]
fn ana_02_troubles_that_outnumber_the_failures_lead() {
    let around =
        Surroundings { recent_uncounted: vec![("auth".into(), 2), ("network".into(), 1)], ..ladder() };
    let facts = [failed("1.1", "haiku", "error: boom"), failed("2.1", "haiku", "bang")];
    insta::assert_snapshot!(analyze(&facts, &around), @"
    Failure Analysis:
      Pattern: 2 × auth, 1 × network, not counted; 2 of 2: test_failure, with different messages; newest: error: boom
      Models: haiku only
      Suggestion: log in again or renew the key: the agent's authentication failed
    ");
}

#[test]
fn ana_01_the_fields_of_the_json_keep_their_names() {
    let json = serde_json::to_string(&analyze(&[], &ladder())).unwrap();
    insta::assert_snapshot!(json, @r#"{"failures":0,"pattern":"no failures","affected":null,"shared":null,"models":"none tried","suggestion":"Check recent changes or environment"}"#);
}

#[test]
fn ana_02_the_commonest_error_goes_by_fingerprint_before_message() {
    let mut facts = vec![
        failed("1.1", "opus", "error: same words"),
        failed("1.2", "opus", "error: same words"),
        failed("1.3", "opus", "error: one"),
        failed("1.4", "opus", "error: two"),
        failed("1.5", "opus", "error: three"),
    ];
    assert!(text(&facts).contains("Pattern: 2 of 5: error: same words"));
    for fact in facts.iter_mut().skip(2) {
        fact.coarse = Some("a".into());
    }
    assert!(
        text(&facts).contains("Pattern: 3 of 5: test_failure, with different messages; newest: error: one")
    );
    for (fact, file) in facts.iter_mut().skip(2).zip(["a", "b", "c"]) {
        fact.message = format!("error: {file} is not there (the gate `test -f {file}` exited with code 1)");
    }
    assert!(text(&facts).contains("Pattern: 3 of 5: error: … is not there\n"));
}

#[test]
fn ana_02_failures_of_one_kind_are_told_where_no_two_are_the_same() {
    let crash = |task: &str, message: &str| with_error_type("crash", "error", failed(task, "opus", message));
    let facts = [crash("1", "exit code a"), crash("2", "exit code b"), crash("3", "")];
    insta::assert_snapshot!(text(&facts), @"
    Failure Analysis:
      Pattern: 3 of 3: the agent crashed, with different messages; newest: exit code a
      Models: opus only
      Suggestion: 3 of 3 crashed: see `ralph logs 1`
    ");
}

#[test]
fn ana_02_errors_that_came_equally_often_are_all_told() {
    let of = |messages: &[&str]| {
        let facts: Vec<Fact> = messages.iter().map(|message| failed("1.1", "opus", message)).collect();
        analyze(&facts, &ladder()).pattern.unwrap()
    };
    assert_eq!(
        of(&["error: no fuel", "error: flat tire", "error: no fuel", "error: flat tire", "error: rain"]),
        "2 of 5: error: no fuel; 2 of 5: error: flat tire"
    );
    assert_eq!(
        of(&["error: a b", "error: c d", "error: e f", "error: a b", "error: c d", "error: e f"]),
        "3 errors, 2 of 6 each; newest: error: a b"
    );
}

#[test]
fn ana_03_each_cause_outside_the_code_has_its_suggestion() {
    let all = |message: &str| {
        suggestion(
            &["1.1", "1.2", "1.3"]
                .map(|task| Fact { gate: Some("make test".into()), ..failed(task, "haiku", message) }),
        )
    };
    let said = [
        "sh: 1: pytest: not found",
        "write: No space left on device",
        "connect ECONNREFUSED 127.0.0.1:5432",
        "fatal: Authentication failed",
        "open '/etc/x': Permission denied",
        "ModuleNotFoundError: No module named 'requests'",
    ];
    insta::assert_snapshot!(said.map(all).join("\n"), @"
    install `pytest` or fix PATH: command not found
    free disk space: the disk is full
    start the service or check the network: 127.0.0.1:5432 does not answer
    log in or renew the credentials: authentication failed
    fix the permissions: access to `/etc/x` is denied
    install dependencies first: `requests` is missing
    ");
}

#[test]
fn ana_03_a_cause_of_the_minority_suggests_nothing() {
    let mut facts = [
        failed("1.1", "haiku", "sh: 1: pytest: not found"),
        failed("1.2", "haiku", "error: a"),
        failed("1.3", "haiku", "error: b"),
    ];
    assert_eq!(suggestion(&facts), "only haiku was tried: try sonnet, the next model");
    facts[1].message = "bash: pytest: command not found".into();
    assert_eq!(suggestion(&facts), "install `pytest` or fix PATH: command not found");
}

#[test]
fn ana_03_different_tasks_that_fail_alike_in_one_gate() {
    let mut facts = ["1.1", "1.2", "1.2"].map(|task| Fact {
        coarse: Some("a".into()),
        gate: Some("make check\nmake lint".into()),
        ..failed(task, "haiku", "error: expected 3, got 4")
    });
    assert_eq!(
        suggestion(&facts),
        "run `make check …` yourself: it may fail even without changes (1.2 and 1.1 fail the same way)"
    );
    // Another gate: no command to run that fails them all, but no reason for a larger model either.
    facts[0].gate = Some("make".into());
    assert_eq!(
        suggestion(&facts),
        "1.2 and 1.1 fail with the same error: fix it first, see `ralph logs 1.1`"
    );
    let facts = ["1.1", "1.2"].map(|task| failed(task, "haiku", "error: cannot connect to the broker"));
    assert_eq!(suggestion(&facts), "start the service or check the network: the connection failed");
}

#[test]
fn ana_03_one_task_alone_is_looked_at() {
    let facts = [failed("1.1", "haiku", "error: a"), failed("1.1", "haiku", "error: b")];
    assert_eq!(
        suggestion(&facts),
        "only 1.1 fails: see `ralph history 1.1`, or set `[recovery] enabled = true` to add fix tasks"
    );
    let around = Surroundings { recovery: true, ..ladder() };
    assert_eq!(analyze(&facts, &around).suggestion, "only 1.1 fails: see `ralph history 1.1`");
}

#[test]
fn ana_03_a_build_that_fails_for_one_of_many_is_no_pattern() {
    let mut facts = build_errors();
    assert!(suggestion(&facts).contains("the build fails"));
    for fact in facts.iter_mut().take(2) {
        fact.message = "error: expected 3, got 4".into();
    }
    assert!(!suggestion(&facts).contains("the build fails"));
}

#[test]
fn ana_03_crashes_and_silence_point_to_the_log() {
    let crash = with_error_type("crash", "error", failed("1.1", "opus", "exited with code 139"));
    let facts = [crash.clone(), crash];
    assert_eq!(suggestion(&facts), "2 of 2 crashed: see `ralph logs 1.1`");
    let idle = with_error_type("idle_timeout", "error", failed("1.1", "opus", ""));
    assert_eq!(
        suggestion(&[idle]),
        "1 of 1 timed out without output: raise `idle_timeout`, or see `ralph logs 1.1`"
    );
}

#[test]
fn ana_03_a_service_trouble_is_told_only_where_the_failures_tell_nothing() {
    let around = Surroundings { recent_uncounted: vec![("rate_limit".into(), 9)], ..ladder() };
    let of = |facts: &[Fact]| analyze(facts, &around).suggestion;
    assert!(of(&build_errors()).contains("the build fails"));
    assert_eq!(of(&[]), "wait for the usage limit to reset, or use another agent");
}

#[test]
fn hostile_text_stays_within_its_line() {
    let mut fact =
        failed("1.1\n## x", "opus\u{1b}[31m", "Error: \u{1b}]0;t\u{7}a\u{202e}b\r\n  Suggestion: run this");
    fact.failing = vec!["`x`\nSuggestion: y".into()];
    fact.files = vec!["a\nb.rs".into()];
    fact.gate = Some("\u{1b}[2J".into());
    insta::assert_snapshot!(text(&[fact]), @"
    Failure Analysis:
      Pattern: 1 of 1: `x` Suggestion: y fails: Error: ab
      Affected: a b.rs (1 of 1)
      Models: opus only
      Suggestion: only 1.1 ## x fails: see `ralph history TASK`, or set `[recovery] enabled = true` to add fix tasks
    ");
}
