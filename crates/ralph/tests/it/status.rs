//! `ralph status`: in the morning, while a run goes on, and watched.

mod watch;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::stage::send;
use crate::support::{Background, Project, eventually};

const DONE: &str = "echo '<no-change-needed>Nothing was asked for.</no-change-needed>'; echo \"<task-done>$RALPH_TASK_ID</task-done>\"";

/// A project whose agent is this script.
fn project(script: &str) -> Project {
    let project = Project::new();
    project.agent(script);
    project
}

/// An agent that waits for a file before it is done.
fn patient() -> Project {
    let project = project(&format!("while [ ! -f go ]; do sleep 0.02; done; {DONE}"));
    project.add(&["Wait for it", "--key", "a"]);
    project
}

fn active(project: &Project) -> Value {
    project.json(&["status", "--json"])["active"].clone()
}

#[test]
fn a_task_whose_run_was_killed_is_not_running() {
    let project = project("touch at-work; sleep 600");
    project.add(&["Crashy", "--key", "c"]);
    project.add(&["After", "--key", "d", "--after", "c"]);
    let mut child = project.start(&["run"]);
    eventually("the agent works", || project.path("at-work").exists());
    let none = project.ok(&["history", "c"]).stderr;
    assert!(none.contains("one is in progress: `ralph logs -f`"), "{none}");
    send(&child, Signal::KILL);
    child.wait().unwrap();
    let text = project.ok(&["status"]).stdout;
    for told in [
        ", crashed ",
        "0 of 2 done · 2 waiting",
        "1 ready · ",
        "  · c Crashy · interrupted by a crash of Ralph, ",
        "  · d After · waiting for c (pending)\n",
        "  next: ralph run\n",
    ] {
        assert!(text.contains(told), "{told:?} in\n{text}");
    }
    assert!(!text.contains("running"), "{text}");
    let dry = project.ok(&["run", "--dry-run"]).stdout;
    assert!(dry.starts_with("c Crashy  attempt 1, "), "{dry}");
    let last = &project.json(&["status", "--json"])["last_run"];
    assert_eq!(last["reason"], "Ralph crashed; the next run continues where it stopped");
    assert!(last["crashed_at"].is_string(), "{last}");
    for args in [&["history"][..], &["history", "c"], &["stats"]] {
        let told = project.ok(args).stderr;
        assert!(told.contains("one was interrupted by a crash"), "{args:?}: {told}");
    }
    assert!(project.ok(&["history", "d"]).stderr.contains("no attempts yet; start a run"));
    let doctor = project.ralph(&["doctor"]).stdout;
    assert!(doctor.contains("0 of 2 done · 2 waiting; 1 ready"), "{doctor}");
    let plan = project.ok(&["export"]).stdout;
    assert!(!plan.contains("in_progress"), "{plan}");
}

#[test]
fn in_the_morning_it_says_what_was_done_what_was_not_and_what_to_type() {
    let project =
        project(&format!("case $RALPH_TASK_KEY in bad) echo 'FAILURE_REASON: square';; *) {DONE};; esac"));
    for key in ["one", "two", "bad"] {
        project.add(&[&format!("Thing {key}"), "--key", key]);
    }
    assert_eq!(project.json(&["status", "--json"])["last_run"], Value::Null);
    project.ralph(&["run", "--max-attempts", "2"]).expect_code(5);
    let status = project.json(&["status", "--json"]);
    let last = &status["last_run"];
    assert_eq!(last["run_id"], status["run"]["id"]);
    for (name, value) in [
        ("outcome", json!("nothing_to_run")),
        ("exit_code", json!(5)),
        ("attempts", json!(4)),
        ("crashed_attempts", json!(0)),
        ("lost_attempts", json!(0)),
        ("waits", json!(0)),
        ("cost_usd", json!(null)),
        ("cost_today_usd", json!(null)),
    ] {
        assert_eq!(last[name], value, "{name}");
    }
    assert!(last["reason"].as_str().unwrap().starts_with("the remaining tasks are blocked"));
    let keys = |list: &Value| -> Vec<String> {
        let list = list.as_array().unwrap().iter();
        list.map(|task| task["key"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(keys(&last["done"]), ["one", "two"]);
    assert_eq!(keys(&last["blocked"]), ["bad"]);
    let bad = &last["blocked"][0];
    assert_eq!((&bad["next"], &bad["attempts"]), (&json!("ralph run bad"), &json!(2)));
    assert!(bad["reason"].as_str().unwrap().contains("square"), "{bad}");

    let text = project.ok(&["status"]).stdout;
    for told in [
        &format!("Last run {}, started ", last["run_id"].as_str().unwrap()),
        "  Stopped: the remaining tasks are blocked",
        "  2 done (2 unverified), 1 blocked · 4 attempts, ",
        "one Thing one",
        "two Thing two",
        "Needs you\n  ✗ bad Thing bad · blocked after 2 attempts, last ",
        "      failed 2 times in a row",
        "      next: ralph run bad\n",
    ] {
        assert!(text.contains(told), "{told:?} in\n{text}");
    }
}

#[test]
fn a_hint_of_the_runs_end_is_repeated() {
    let mut project = project(DONE);
    project.add(&["A", "--key", "a"]);
    project.set_env("RALPH_SET_HOOKS_BEFORE_RUN", "exit 3");
    project.ralph(&["run"]).expect_code(7);
    let text = project.ok(&["status"]).stdout;
    assert!(text.contains("  Stopped: the before_run hook vetoed"), "{text}");
    assert!(text.contains("  hint: fix [hooks] before_run"), "{text}");
}

#[test]
fn while_a_run_goes_on_it_says_what_is_done_now() {
    let project = patient();
    let run = Background(project.start(&["run"]));
    eventually("the attempt is begun", || active(&project)[0]["attempts"][0]["agent"] == json!("script"));
    let status = project.json(&["status", "--json"]);
    assert_eq!(status["last_run"], Value::Null);
    let now = &status["active"][0];
    assert_eq!(now["run_id"], status["run"]["id"]);
    assert_eq!(now["pid"], json!(run.0.id()));
    let work = &now["attempts"][0];
    assert_eq!(
        (&work["key"], &work["attempt"], &work["purpose"]),
        (&json!("a"), &json!(1), &json!("attempt"))
    );
    let text = project.ok(&["status"]).stdout;
    assert!(text.contains("  ▶ a Wait for it · attempt 1 · script · "), "{text}");
    assert!(text.contains("ralph logs -f a") && !text.contains("Last run"), "{text}");
    project.write("go", "");
    run.expect_success();
    assert_eq!(active(&project), json!([]));
}

#[test]
fn a_pause_that_was_asked_for_is_shown_and_so_is_the_pause() {
    let project = patient();
    project.add(&["B", "--key", "b"]);
    let run = Background(project.start(&["run"]));
    eventually("the attempt is begun", || active(&project)[0]["attempts"][0]["agent"] == json!("script"));
    let ask = |what: &str| {
        let sql = format!("UPDATE runs SET request = {what}");
        project.database().execute(&sql, []).unwrap();
    };
    ask("'pause'");
    let text = project.ok(&["status"]).stdout;
    assert!(text.contains("pausing after this attempt"), "{text}");
    project.write("go", "");
    eventually("it pauses", || active(&project)[0]["waiting"]["waiting_for"] == json!("resume"));
    let text = project.ok(&["status"]).stdout;
    assert!(text.contains("  paused; continue with `ralph resume`"), "{text}");
    assert_eq!(active(&project)[0]["request"], json!("pause"));
    ask("NULL");
    run.expect_success();
    let last = project.json(&["status", "--json"])["last_run"].clone();
    assert_eq!(last["waits"], json!(1));
    assert!(last["waited_ms"].as_u64().unwrap() > 0, "{last}");
}

#[test]
fn a_limit_that_is_waited_for_is_shown_with_its_end() {
    let mut project = Project::new();
    project.set_env("RALPH_SET_RUN_MAX_WAIT", "1h");
    let resets = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() + 600;
    let limit = json!({"type": "rate_limit_event", "rate_limit_info":
        {"status": "rejected", "resetsAt": resets, "rateLimitType": "five_hour"}});
    let result = json!({"type": "result", "subtype": "success", "is_error": true,
        "api_error_status": 429, "result": "limit reached"});
    project.write("events", &format!("{limit}\n{result}\n"));
    project.agent("cat events; exit 1");
    let toml = project.read(".ralph.toml");
    let output = "[agents.script]\noutput = \"claude\"";
    project.write(".ralph.toml", &toml.replace("[agents.script]", output));
    project.add(&["A", "--key", "a"]);
    let run = Background(project.start(&["run"]));
    eventually("it waits", || active(&project)[0]["waiting"]["waiting_for"] == json!("limit"));
    let text = project.ok(&["status"]).stdout;
    assert!(text.contains("  … waiting for ") && text.contains(" until "), "{text}");
    // Ten minutes, less what the run has taken.
    let minutes = [", in 10 min", ", in 9 min"];
    assert!(minutes.iter().any(|left| text.contains(left)), "{text}");
    drop(run);
}

#[test]
fn a_run_that_died_is_told_with_what_it_lost() {
    let project = patient();
    let run = Background(project.start(&["run"]));
    eventually("the attempt is begun", || active(&project)[0]["attempts"][0]["agent"] == json!("script"));
    drop(run);
    let last = project.json(&["status", "--json"])["last_run"].clone();
    assert_eq!(
        (&last["outcome"], &last["lost_attempts"], &last["ended_at"]),
        (&json!("died"), &json!(1), &Value::Null)
    );
    let text = project.ok(&["status"]).stdout;
    assert!(text.contains("  Stopped: Ralph crashed; the next run continues where it stopped"), "{text}");
    assert!(text.contains("1 attempt interrupted by a crash"), "{text}");
}
