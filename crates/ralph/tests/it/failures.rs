//! The reports of failures from the command line.

use serde_json::{Value, json};

use crate::support::{Output, Project};

/// One task with two failures, the second without a report of its own, and one with a third failure.
fn project() -> Project {
    let project = Project::new();
    project.agent(
        "case $RALPH_TASK_KEY$RALPH_ATTEMPT in
           a1) cat <<'END'
<failure-report>
what_tried: Recursive descent
why_failed: Left recursion:
expr calls itself
error_category: logic_error
relevant_files: src/parser.rs, src/grammar.rs
stack_trace: at expr
    at expr
</failure-report>
<retry-suggestion>Climb by precedence.</retry-suggestion>
END
           ;;
           a2) printf 'FAILURE_REASON: the widget is square\\n';;
           *) echo 'It does not work.';;
         esac
         echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"",
    );
    project.add(&["Parse it", "--key", "a"]);
    project.ralph(&["run", "--limit", "2"]).expect_code(4);
    project.ok(&["task", "skip", "a"]);
    project.add(&["Paint it", "--key", "b"]);
    project.ralph(&["run", "--limit", "1"]).expect_code(4);
    project
}

#[track_caller]
fn refused(output: Output, words: &[&str]) {
    let output = output.expect_code(2);
    for word in words {
        assert!(output.stderr.contains(word), "{word}: {}", output.stderr);
    }
    assert_eq!(output.stdout, "");
}

/// Times, runs and ids differ each time.
fn steady(project: &Project, text: &str) -> String {
    let mut text = text.to_owned();
    for row in project.json(&["failures", "list", "--json"]).as_array().unwrap() {
        let time = row["created_at"].as_str().unwrap().get(..19).unwrap();
        text = text.replace(&time.replace('T', " "), "2026-01-02 03:04:05");
        text = text.replace(row["run_id"].as_str().unwrap(), "RUN");
        text = text.replace(row["task_id"].as_str().unwrap(), "TASK");
    }
    text
}

#[test]
fn failures_are_listed_oldest_first_and_as_asked_for() {
    let project = project();
    let list = |args: &[&str]| project.ralph(&[&["failures", "list"], args].concat());
    insta::assert_snapshot!(steady(&project, list(&[]).expect_code(0).text()), @r"
    TASK  ATTEMPT  MODEL   WHEN                 CATEGORY     REASON
    a     1        script  2026-01-02 03:04:05  logic_error  Left recursion: expr calls itself
    a     2        script  2026-01-02 03:04:05  unknown      the widget is square
    b     1        script  2026-01-02 03:04:05  unknown      Task failed (no structured report)
    ");
    let rows = |args: &[&str]| -> Vec<String> {
        let rows = list(&[&["--json"], args].concat()).expect_code(0).json();
        let name = |row: &Value| format!("{} {}", row["key"].as_str().unwrap(), row["attempt"]);
        rows.as_array().unwrap().iter().map(name).collect()
    };
    let (a1, a2, b1) = ("a 1", "a 2", "b 1");
    assert_eq!(rows(&[]), [a1, a2, b1]);
    let newest = rows(&["--limit", "2"]);
    assert_eq!(newest, [a2, b1], "the newest, oldest first");
    assert!(rows(&["--limit", "0"]).is_empty());
    assert_eq!(rows(&["--task", "b"]), [b1]);
    assert_eq!(rows(&["--category", "logic_error"]), [a1]);
    assert_eq!(rows(&["--newer-than", "1h"]).len(), 3);
    let runs = list(&["--json"]).json();
    let run = |place: usize| runs[place]["run_id"].as_str().unwrap();
    assert_eq!(rows(&["--run", run(2)]), [b1]);
    assert_eq!(rows(&["--run", run(0)]), [a1, a2]);
    let long_ago = "UPDATE failure_reports SET created_at = '2020-01-01T00:00:00.000Z'";
    project.database().execute(long_ago, []).unwrap();
    assert!(rows(&["--newer-than", "90d"]).is_empty());
    let none = list(&["--category", "zebra"]).expect_code(0);
    assert_eq!(none.stdout, "");
    assert!(none.stderr.contains("no failures match"), "{}", none.stderr);
    refused(list(&["--task", "zz"]), &["zz", "task list"]);
    refused(list(&["--run", "r-none"]), &["r-none", "ralph runs"]);
    refused(list(&["--newer-than", "soon"]), &["soon", "90d"]);
}

#[test]
fn a_report_is_shown_in_full() {
    let project = project();
    let show = |args: &[&str]| project.ralph(&[&["failures", "show"], args].concat());
    let both = show(&["a"]).expect_code(0);
    insta::assert_snapshot!(steady(&project, &both.stdout), @r"
    a attempt 1: Parse it
    when       2026-01-02 03:04:05
    run        RUN
    model      script
    outcome    failed (logic_error)
    category   logic_error
    files      src/parser.rs, src/grammar.rs
    report     written by the agent

    what was tried
      Recursive descent

    why it failed
      Left recursion:
      expr calls itself

    stack trace
      at expr
          at expr

    suggestion
      Climb by precedence.

    a attempt 2: Parse it
    when       2026-01-02 03:04:05
    run        RUN
    model      script
    outcome    failed
    category   unknown
    report     written by Ralph (the agent gave none)

    why it failed
      the widget is square

    excerpt
      FAILURE_REASON: the widget is square
      <task-failed>TASK</task-failed>
    ");
    let second = show(&["a", "2"]).expect_code(0).stdout;
    assert!(both.stdout.ends_with(&second), "{second}");
    let json = show(&["a", "1", "--json"]).expect_code(0).json();
    let expected = json!({
        "key": "a", "title": "Parse it", "attempt": 1, "outcome": "failed",
        "what_was_tried": "Recursive descent", "why_it_failed": "Left recursion:\nexpr calls itself",
        "error_category": "logic_error", "relevant_files": ["src/parser.rs", "src/grammar.rs"],
        "stack_trace_snippet": "at expr\n    at expr", "retry_suggestion": "Climb by precedence.",
        "excerpt": null, "auto": false,
    });
    assert_eq!(json.as_array().unwrap().len(), 1);
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&json[0][field], value, "{field}");
    }
    assert_eq!(show(&["a", "--json"]).json()[1]["auto"], json!(true));
    refused(show(&["a", "3"]), &["attempt 3 of a", "1, 2"]);
    refused(show(&["zz"]), &["zz"]);
    project.add(&["New", "--key", "n"]);
    let none = show(&["n"]).expect_code(0);
    assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("", "n has no failures\n"));
    assert_eq!(show(&["n", "--json"]).expect_code(0).json(), json!([]));
    refused(show(&["n", "1"]), &["attempt 1 of n", "history n"]);
}

#[test]
fn escape_codes_in_reports_do_not_reach_the_terminal() {
    let project = project();
    let evil = "x\u{1b}[2J\u{9b}31m\u{202e}\u{7}y";
    let sql = "UPDATE failure_reports SET what_was_tried = ?1, why_it_failed = ?1, error_category = ?1,
               relevant_files = json_array(?1), stack_trace_snippet = ?1, retry_suggestion = ?1, excerpt = ?1";
    project.database().execute(sql, [evil]).unwrap();
    project.database().execute("UPDATE iteration_outcomes SET model = ?1", [evil]).unwrap();
    for args in [&["failures", "list"][..], &["failures", "show", "a"]] {
        let seen = project.ok(args).stdout;
        let bad = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(seen.contains("xy") && !seen.contains(bad), "{seen:?}");
    }
}
