//! What a done task rests on: a gate, an agent's word, a person's. And what the morning's questions are answered with.

use serde_json::{Value, json};

use crate::run::{DONE, project};
use crate::support::Project;

/// A plan with one task of each kind, after a run: two failures block `bad`, which two others wait for.
fn night() -> Project {
    let project = project(&format!(
        "touch $RALPH_TASK_KEY.made
         case $RALPH_TASK_KEY in bad) echo 'FAILURE_REASON: square wheels';; *) {DONE};; esac"
    ));
    project.add(&["Gated", "--key", "gated", "--verify", "test -f gated.made"]);
    project.add(&["Ungated", "--key", "ungated"]);
    project.add(&["Bad", "--key", "bad", "--verify", "true"]);
    project.add(&["After", "--key", "after", "--after", "bad"]);
    project.add(&["Later", "--key", "later", "--after", "after"]);
    project.add(&["Skipped", "--key", "skipped"]);
    project.add(&["By hand", "--key", "hand", "--verify", "false"]);
    project.ok(&["task", "skip", "skipped", "--reason", "nobody asked"]);
    project.ok(&["task", "done", "hand"]);
    project
}

const SUMMARY: &str = "3 of 7 done (1 verified, 2 unverified) · 1 skipped · 1 blocked · 2 waiting";

fn verified(value: &Value) -> (&Value, &Value, &Value) {
    (&value["status"], &value["verified"], &value["done_by"])
}

#[test]
fn exit_01_unverified_is_not_verified_in_any_view() {
    let project = night();
    let run = project.ralph(&["run", "--max-attempts", "2"]).expect_code(5);
    assert_eq!(run.stdout.lines().last(), Some(SUMMARY), "{}", run.stdout);
    for told in [
        "! 3 tasks have no gate (ungated, after, later): Ralph cannot verify them",
        "✓ gated Gated  attempt 1",
        "◐ ungated Ungated  attempt 1",
        "    done, unverified: no gate ran",
        "◐  ungated Ungated  1 ",
    ] {
        assert!(run.stdout.contains(told), "{told:?} in\n{}", run.stdout);
    }
    for (name, status, is, by) in [
        ("gated", "done", true, json!("gate")),
        ("ungated", "done", false, json!("agent")),
        ("hand", "done", false, json!("person")),
        ("skipped", "skipped", false, json!(null)),
        ("bad", "blocked", false, json!(null)),
    ] {
        let expected = (&json!(status), &json!(is), &by);
        assert_eq!(verified(&project.task(name)), expected, "{name}");
    }
    let list = project.ok(&["task", "list"]).stdout;
    assert!(list.contains("done, unverified  1"), "{list}");
    let stats = project.ok(&["stats"]).stdout;
    assert_eq!(stats.matches("done, unverified").count(), 1, "{stats}");
    for task in project.json(&["stats", "--json"])["by_task"].as_array().unwrap() {
        let gated = task["key"] == json!("gated");
        assert_eq!(task["verified"], json!(gated), "{task}");
    }
    assert!(list.contains("done (by you)"), "{list}");
    let tree = project.ok(&["task", "tree"]).stdout;
    for line in ["✓ gated", "◐ ungated", "◐ hand", "– skipped", "✗ bad", "· after"] {
        assert!(tree.contains(line), "{line} in\n{tree}");
    }
    let history = project.history();
    assert_eq!((&history[0]["verified"], &history[1]["verified"]), (&json!(true), &json!(false)));
    let shown = project.ok(&["history"]).stdout;
    assert!(shown.contains("◐  ungated") && shown.contains("done, unverified"), "{shown}");
    let status = project.json(&["status", "--json"]);
    assert_eq!(
        status["tasks"],
        json!({
            "total": 7, "pending": 2, "in_progress": 0, "done": 3, "verified": 1, "already_green": 0, "reviewed": 0, "unverified": 2,
            "failed": 0, "blocked": 1, "skipped": 1, "waiting": 2,
        })
    );
    assert_eq!(
        (&status["last_run"]["done"][0]["verified"], &status["last_run"]["done"][1]["verified"]),
        (&json!(true), &json!(false))
    );
    let state = project.read(".ralph/STATE.md");
    assert!(state.contains("42% (3 of 7 tasks)"), "{state}");
    assert!(state.contains(SUMMARY) && state.contains("SUCCESS, unverified"), "{state}");
    assert!(project.ok(&["status"]).stdout.contains(SUMMARY));
    assert!(project.ok(&["logs"]).stdout.contains(SUMMARY));
    assert!(project.ok(&["doctor"]).stdout.contains(SUMMARY));
}

#[test]
fn events_say_what_is_verified() {
    let project = project(DONE);
    project.add(&["Gated", "--key", "gated", "--verify", "true"]);
    project.add(&["Ungated", "--key", "ungated"]);
    let events = project.ok(&["run", "--json"]).json_lines();
    let first = |name: &str| events.iter().find(|event| event["type"] == json!(name)).unwrap();
    assert_eq!(first("run_started")["without_gate"], json!(1));
    let attempts = events.iter().filter(|event| event["type"] == json!("attempt_finished"));
    let verified: Vec<&Value> = attempts.map(|event| &event["verified"]).collect();
    assert_eq!(verified, [&json!(true), &json!(false)]);
    let last = &events.last().unwrap()["tasks"];
    assert_eq!((&last["verified"], &last["unverified"], &last["waiting"]), (&json!(1), &json!(1), &json!(0)));
}

#[test]
fn a_gate_that_passes_verifies_what_was_done_without() {
    let project = project(DONE);
    project.add(&["Parent", "--key", "p"]);
    project.add(&["Child", "--key", "c", "--parent", "p"]);
    project.ok(&["run"]);
    let is_verified = |name: &str| project.task(name)["verified"].clone();
    assert_eq!((is_verified("c"), is_verified("p")), (json!(false), json!(false)));
    project.ok(&["task", "edit", "c", "--verify", "test -f proof"]);
    project.ralph(&["task", "done", "c", "--verify"]).expect_code(1);
    assert_eq!(is_verified("c"), json!(false));
    project.write("proof", "");
    project.ok(&["task", "done", "c", "--verify"]);
    assert_eq!((is_verified("c"), is_verified("p")), (json!(true), json!(true)));
    assert_eq!(project.task("p")["done_by"], json!("children"));
    // A person's word takes nothing away from a gate's.
    project.ok(&["task", "done", "c"]);
    assert_eq!(is_verified("c"), json!(true));
    // A new gate has not passed yet.
    project.ok(&["task", "edit", "c", "--verify", "false"]);
    assert_eq!((is_verified("c"), is_verified("p")), (json!(false), json!(false)));
    let refused = project.ralph(&["task", "done", "c", "--verify"]).expect_code(1).stderr;
    assert!(refused.contains("the gate of c exited with code 1; the task stays done"), "{refused}");
    project.ok(&["task", "edit", "c", "--verify", "true"]);
    project.ok(&["task", "done", "c", "--verify"]);
    assert_eq!((is_verified("c"), is_verified("p")), (json!(true), json!(true)));
    project.ok(&["task", "reset", "c"]);
    assert_eq!((is_verified("c"), is_verified("p")), (json!(false), json!(false)));
}

#[test]
fn the_projects_gate_counts_and_switched_off_gates_do_not() {
    let project = project(DONE);
    project.set("gate", "verify = \"true\"");
    let added = project.ok(&["task", "add", "A", "--key", "a"]);
    assert_eq!(added.stderr, "");
    project.add(&["B", "--key", "b", "--verify", "true"]);
    let run = project.ok(&["run", "a"]);
    assert!(!run.stdout.contains("no gate"), "{}", run.stdout);
    assert_eq!(project.task("a")["done_by"], json!("gate"));
    let run = project.ok(&["run", "--no-gate"]);
    assert!(run.stdout.contains("! --no-gate: gates do not run"), "{}", run.stdout);
    assert_eq!(project.task("b")["done_by"], json!("agent"));
}

#[test]
fn adding_and_importing_say_how_many_tasks_have_no_gate() {
    let project = Project::new();
    let told =
        |what: &str, name: &str| format!("! {what}; to add one: ralph task edit {name} --verify CMD\n");
    let first = project.ok(&["task", "add", "A", "--key", "a"]);
    let one = "1 task has no gate (a): Ralph cannot verify it";
    assert_eq!(first.stderr, told(one, "a"));
    let gated = project.ok(&["task", "add", "B", "--verify", "true"]);
    assert_eq!(gated.stderr, "");
    let second = project.ok(&["task", "add", "C"]);
    let id = second.text();
    let two = format!("2 tasks have no gate ({id}, a): Ralph cannot verify them");
    assert_eq!(second.stderr, told(&two, id));
    project.write(
        "tasks.md",
        "# Tasks: x\n\n- [x] 1.1 Ticked\n- [ ] 1.2 Open\n- [ ] 1.3 Gated\n  - **Verify**: `true`\n",
    );
    let dry = project.json(&["import", "tasks.md", "--dry-run", "--json"]);
    assert_eq!(dry["without_gate"], json!(1));
    let import = project.ok(&["import", "tasks.md"]);
    assert!(import.stdout.contains("1.1  Ticked · done (by you)\n"), "{}", import.stdout);
    let open = "1 task has no gate (1.2): Ralph cannot verify it";
    assert_eq!(import.stderr, told(open, "1.2"));
    assert_eq!(verified(&project.task("1.1")), (&json!("done"), &json!(false), &json!("person")));
}

#[test]
fn required_gates_refuse_to_start_and_name_what_has_none() {
    let project = project(DONE);
    project.add(&["Gated", "--key", "gated", "--verify", "true"]);
    project.add(&["Bare", "--key", "bare"]);
    project.add(&["Parent", "--key", "p"]);
    project.add(&["Naked", "--key", "naked", "--parent", "p"]);
    let refused = |args: &[&str]| {
        let output = project.ralph(args).expect_code(2);
        assert!(project.history().is_empty());
        output.stderr
    };
    let stderr = refused(&["run", "--require-gates"]);
    assert!(stderr.contains("gates are required, but 2 tasks have none: bare, naked\n"), "{stderr}");
    assert!(stderr.contains("hint: add one: ralph task edit bare --verify CMD"), "{stderr}");
    refused(&["run", "--require-gates", "--detach"]);
    refused(&["run", "--require-gates", "--no-gate"]);
    project.set("gate", "require = true");
    assert!(refused(&["run"]).contains("bare, naked"));
    assert!(refused(&["run", "p"]).contains("1 task has none: naked"));
    assert!(refused(&["run", "--no-gate"]).contains("conflicts"));
    project.ok(&["run", "gated"]);
    project.set("gate", "verify = \"true\"");
    project.ok(&["run"]);
    let status = project.json(&["status", "--json"])["tasks"].clone();
    assert_eq!((&status["verified"], &status["unverified"]), (&json!(4), &json!(0)));
}

#[test]
fn required_gates_hold_for_tasks_that_are_added_during_a_run() {
    let project =
        project(&format!("[ -e added ] || echo '- [ ] 1.2 Sneaked in' >> tasks.md; touch added; {DONE}"));
    project.write("tasks.md", "# Tasks: x\n\n- [ ] 1.1 Gated\n  - **Verify**: `true`\n");
    project.ok(&["import", "tasks.md"]);
    let run = project.ralph(&["run", "--require-gates"]).expect_code(5);
    let task = project.task("1.2");
    assert_eq!((&task["status"], &task["attempts"]), (&json!("blocked"), &json!(0)));
    let told = "gates are required, but this task has none";
    assert!(task["reason"].as_str().unwrap().starts_with(told), "{task}");
    let next = "next: ralph task edit 1.2 --verify CMD && ralph run 1.2\n";
    assert!(run.stdout.contains(next), "{}", run.stdout);
}

#[test]
fn lists_of_unverified_tasks_add_up_and_say_how_to_verify_one() {
    let project = project(&format!("touch made; {DONE}"));
    project.add(&["Parent", "--key", "p"]);
    project.add(&["One", "--key", "p.1", "--parent", "p", "--verify", "test -f made"]);
    project.add(&["Two", "--key", "p.2", "--parent", "p"]);
    let run = project.ok(&["run"]).stdout;
    assert!(run.contains("! 1 task has no gate (p.2)"), "{run}");
    assert!(run.contains("Finished: every task is done\n"), "{run}");
    let text = project.ok(&["status"]).stdout;
    for told in [
        "3 of 3 done (1 verified, 2 unverified)",
        "  3 done (2 unverified) · ",
        "  ◐ p.2 Two · done, unverified\n  ◐ p Parent · done, unverified\n",
        "  next: ralph task edit p.2 --verify CMD && ralph task done p.2 --verify\n",
    ] {
        assert!(text.contains(told), "{told:?} in\n{text}");
    }
    let status = project.json(&["status", "--json"]);
    assert_eq!(status["last_run"]["done"].as_array().unwrap().len(), 3);
    // A gate that did not run only has to be run.
    let other = self::project(DONE);
    other.add(&["A", "--key", "a", "--verify", "true"]);
    let run = other.ok(&["run", "--no-gate"]).stdout;
    for told in
        ["! --no-gate: gates do not run, tasks will be unverified\n", "  next: ralph task done a --verify\n"]
    {
        assert!(run.contains(told), "{told:?} in\n{run}");
    }
}

#[test]
fn a_run_does_not_claim_what_a_person_did() {
    let project = project("echo 'no luck'");
    project.add(&["C", "--key", "c"]);
    project.ralph(&["run", "--max-attempts", "1"]).expect_code(5);
    let marked = project.ok(&["task", "done", "c"]).stdout;
    assert_eq!(marked, "c C · done (by you)\n");
    let text = project.ok(&["status"]).stdout;
    assert!(text.contains("  0 done · 1 attempt"), "{text}");
    assert_eq!(text.matches("done (by you)").count(), 1, "{text}");
    let status = project.json(&["status", "--json"]);
    assert_eq!(status["last_run"]["done"], json!([]));
}

#[test]
fn status_says_of_every_task_that_is_not_done_what_happened_and_what_to_type() {
    let project = night();
    project.ralph(&["run", "--max-attempts", "2"]).expect_code(5);
    project.add(&["New", "--key", "new", "--verify", "true"]);
    project.ok(&["task", "fail", "later", "--reason", "too hard"]);
    let text = project.ok(&["status"]).stdout;
    for told in [
        "  ✗ bad Bad · blocked after 2 attempts, last ",
        " · blocks 2 tasks\n",
        "square wheels",
        "      next: ralph run bad\n",
        "  ✗ later Later · marked failed\n      too hard\n      next: ralph task reset later\n",
        "  · after After · waiting for bad (blocked)\n",
        "  – skipped Skipped · skipped\n      nobody asked\n",
        "  · new New · ready, not started\n",
        "  next: ralph run bad · ralph run\n",
        "  ◐ ungated Ungated · done, unverified\n  ◐ hand By hand · done (by you)\n",
    ] {
        assert!(text.contains(told), "{told:?} in\n{text}");
    }
    let status = project.json(&["status", "--json"]);
    let open = status["open"].as_array().unwrap();
    let of = |key: &str| open.iter().find(|task| task["key"] == json!(key)).unwrap();
    let keys: Vec<&str> = open.iter().map(|task| task["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["bad", "after", "later", "skipped", "new"]);
    assert_eq!(
        (&of("bad")["dependents"], &of("bad")["next"], &of("bad")["attempts"]),
        (&json!(2), &json!("ralph run bad"), &json!(2))
    );
    assert!(of("bad")["last_attempt_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(of("after")["next"], json!("ralph run bad"));
    assert_eq!(of("after")["waits_for"][0]["name"], json!("bad"));
    assert_eq!(status["unverified"][0]["key"], json!("ungated"));
    assert!(!text.contains("Circuit breaker"), "{text}");
    // However it came to be open.
    let open = "UPDATE breaker SET state = 'open', opened_at = '2026-01-02T03:04:05Z'";
    project.database().execute_batch(open).unwrap();
    let text = project.ok(&["status"]).stdout;
    assert!(text.contains("Circuit breaker open since 2026-01-0"), "{text}");
    assert!(text.contains("  next: ralph analyze "), "{text}");
}

#[test]
fn status_says_what_to_type_where_only_the_report_is_missing_and_where_nothing_counted() {
    let project = project(&format!("case $RALPH_TASK_KEY in green) echo 'all good';; *) {DONE};; esac"));
    project.add(&["Green", "--key", "green", "--verify", "true"]);
    project.add(&["Broken", "--key", "broken", "--verify", "bash no-such.sh"]);
    project.ralph(&["run", "--max-attempts", "2"]).expect_code(5);
    let text = project.ok(&["status"]).stdout;
    for told in [
        "      next: ralph task done green --verify\n",
        "  ✗ broken Broken · blocked after 1 attempt (not counted), last ",
    ] {
        assert!(text.contains(told), "{told:?} in\n{text}");
    }
    project.ok(&["task", "done", "green", "--verify"]);
    assert_eq!(project.task("green")["verified"], json!(true));
}

#[test]
fn times_are_those_of_the_readers_clock() {
    let mut project = project(DONE);
    let id = project.add(&["A", "--verify", "true"]);
    project.ok(&["run"]);
    let started = |project: &Project| {
        let shown = project.ok(&["logs", &id]).stdout;
        // An id may have these digits, too.
        let at = shown.find(" 20").unwrap() + 1;
        shown[at..at + 13].to_owned()
    };
    project.set_env("TZ", "UTC0");
    let utc = started(&project);
    let recorded = project.history()[0]["started_at"].as_str().unwrap().replace('T', " ");
    assert!(recorded.starts_with(&utc), "{recorded} {utc}");
    project.set_env("TZ", "XXX-5");
    assert_ne!(started(&project), utc);
}

#[test]
fn a_parent_that_is_marked_done_says_what_was_skipped_with_it() {
    let project = project(DONE);
    project.add(&["Parent", "--key", "q"]);
    project.add(&["Child", "--key", "q.1", "--parent", "q"]);
    let marked = project.ok(&["task", "done", "q"]).stdout;
    assert_eq!(marked, "q Parent · done (by you)\nskipped with it: q.1\n");
    let breaker = project.ok(&["breaker", "show"]).stdout;
    assert!(breaker.contains(" on 3 tasks, or on 2 tasks with the same cause"), "{breaker}");
}

#[test]
fn a_parents_gate_is_told_once_and_has_no_log() {
    let project = project(DONE);
    project.add(&["Parent", "--key", "p", "--verify", "false"]);
    project.add(&["Child", "--key", "p.1", "--parent", "p"]);
    let run = project.ralph(&["run", "--max-attempts", "1"]).expect_code(5);
    let told = "✗ p Parent  gate after its subtasks, ";
    assert_eq!(run.stdout.matches("✗ p Parent  ").count(), 1, "{}", run.stdout);
    assert!(run.stdout.contains(told), "{}", run.stdout);
    let refused = project.ralph(&["logs", "p", "--attempt", "1"]).expect_code(2);
    let told = "attempt 1 of p ran only the gate; it has no log";
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
}
