//! Looking back: `ralph runs`, one run in `status` and `history`, and what a task changed.

use std::fs;

use serde_json::json;

use crate::run::DONE;
use crate::support::Project;

#[test]
fn runs_are_listed_and_shown_one_by_one() {
    let mut project = Project::with_git();
    project.agent(&format!("case $RALPH_TASK_KEY in c) exit 3;; esac; {DONE}"));
    project.set_env("RALPH_SET_RUN_MAX_ATTEMPTS", "1");
    project.add(&["A", "--key", "a", "--verify", "true"]);
    project.add(&["B", "--key", "b"]);
    project.add(&["C", "--key", "c"]);
    assert_eq!(project.ralph(&["runs"]).stderr, "no runs yet; start one with `ralph run`\n");
    assert_eq!(project.ralph(&["run"]).code, 5);
    // It finds nothing to do, and does not hide what the first one did.
    assert_eq!(project.ralph(&["run"]).code, 5);

    let runs = project.json(&["runs", "--json"]);
    let counts = |run: usize| {
        let of = |name: &str| runs[run][name].as_u64().unwrap();
        [of("attempts"), of("done"), of("done_verified"), of("done_unverified"), of("failed")]
    };
    assert_eq!((counts(0), counts(1)), ([3, 2, 1, 1, 1], [0; 5]));
    assert_eq!(runs[0]["exit_code"], json!(5));
    let agent = &runs[0]["agents"][0];
    assert_eq!((&agent["attempts"], &agent["done"], &agent["failed"]), (&json!(3), &json!(2), &json!(1)));
    assert_eq!(project.json(&["runs", "--json", "--limit", "1"]), json!([runs[1]]));
    let text = project.ok(&["runs"]).stdout;
    assert!(text.contains("2 (1 verified, 1 unverified)"), "{text}");
    assert!(text.contains("nothing to run\n"), "{text}");

    let [first, second] = [0, 1].map(|run| runs[run]["run_id"].as_str().unwrap());
    assert_eq!(project.json(&["status", "--json"])["last_run"]["run_id"], json!(first));
    let one = project.json(&["status", "--run", first, "--json"]);
    assert_eq!((&one["run_id"], one["done"].as_array().unwrap().len()), (&json!(first), 2));
    let page = project.ok(&["status", "--run", first]).stdout;
    assert!(page.starts_with(&format!("Run {first}")) && page.contains("c C"), "{page}");
    assert_eq!(project.json(&["history", "--run", first, "--json"]).as_array().unwrap().len(), 3);
    assert_eq!(project.json(&["history", "--run", second, "--json"]), json!([]));
    let unknown = project.ralph(&["status", "--run", "r-00000000"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("ralph runs"), "{}", unknown.stderr);
}

#[test]
fn a_diff_shows_the_commits_of_a_task_or_the_saved_changes_of_a_failed_attempt() {
    let project = Project::with_git();
    project.agent(&format!(
        "case $RALPH_TASK_KEY in
         idle) {DONE}; exit;;
         esac
         printf 'line of %s\\033[2J\\nkey AKIAIOSFODNN7EXAMPLE\\n' $RALPH_ATTEMPT >> \"$RALPH_TASK_KEY.txt\"; {DONE}"
    ));
    project.set("git", "commit = \"on-success\"\nrollback = \"reset\"");
    let home = project.root().join("../home/.gitconfig");
    fs::write(home, "[user]\nname = t\nemail = t@localhost\n").unwrap();
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "start"]);
    fs::write(project.path("mine.txt"), "a person's\n").unwrap();
    project.add(&["A", "--key", "a", "--verify", "test $(wc -l < a.txt) = 2 && test -e again"]);
    project.add(&["Idle", "--key", "idle"]);
    project.add(&["Later", "--key", "later", "--after", "a"]);
    project.ralph(&["run", "a", "--limit", "1"]);

    // Only what the attempt changed, without escape codes and secrets.
    let failed = project.ok(&["diff", "a"]).stdout;
    assert!(failed.starts_with("attempt 1: failed, rolled back\ndiff --git a/a.txt"), "{failed}");
    assert!(
        failed.contains("+line of 1") && !failed.contains("AKIA") && !failed.contains('\u{1b}'),
        "{failed}"
    );
    assert!(!failed.contains("mine.txt"), "{failed}");

    fs::write(project.path("again"), "").unwrap();
    project.ok(&["run", "a", "idle"]);
    let done = project.json(&["diff", "a", "--json"]);
    assert_eq!(done.as_array().unwrap().len(), 1);
    assert_eq!((&done[0]["attempt"], &done[0]["rolled_back"]), (&json!(2), &json!(false)));
    assert_eq!(done[0]["to"], json!(project.git(&["rev-parse", "HEAD"]).trim()));
    assert!(done[0]["diff"].as_str().unwrap().contains("+line of 2"), "{done}");
    assert_eq!(project.json(&["diff", "a", "--attempt", "1", "--json"])[0]["rolled_back"], json!(true));
    assert!(project.ok(&["diff", "a", "--stat"]).stdout.contains("a.txt | 2 ++"));

    for (args, says) in [
        (vec!["diff", "idle"], "attempt 1 of idle changed no files"),
        (vec!["diff", "idle", "--attempt", "1"], "attempt 1 of idle changed no files"),
        (vec!["diff", "a", "--attempt", "9"], "a has no attempt 9"),
        (vec!["diff", "later"], "later has no attempts yet"),
    ] {
        let refused = project.ralph(&args);
        assert_eq!((refused.code, refused.stderr.contains(says)), (2, true), "{args:?}: {}", refused.stderr);
    }
}
