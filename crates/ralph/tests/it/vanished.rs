//! The database is deleted, moved or replaced under a run: nothing is lost, and nothing pretends to be well.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::run::{DONE, project};
use crate::support::{Background, Output, Project, eventually};

/// A project in git whose agent strikes once, during its first attempt.
fn struck_by(blow: &str) -> Project {
    let project = Project::with_git();
    project.agent(&format!("if [ ! -e \"$HOME/struck\" ]; then : > \"$HOME/struck\"; {blow}; fi; {DONE}"));
    project.git(&["add", "agent.sh", ".ralph.toml"]);
    project.git(&["commit", "-qm", "start"]);
    for key in ["a", "b", "c"] {
        project.add(&[&format!("Task {key}"), "--key", key]);
    }
    project
}

/// The command that a hint gives.
#[track_caller]
fn remedy(output: &Output) -> String {
    let line = output.stderr.lines().find_map(|line| line.split_once("restore it: "));
    line.unwrap_or_else(|| panic!("{}", output.stderr)).1.to_owned()
}

#[track_caller]
fn put_back(project: &Project, command: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(project.root());
    assert!(project.clean(&mut shell).status().unwrap().success(), "{command}");
}

fn database(project: &Project) -> PathBuf {
    project.path(".ralph/progress.db")
}

/// The run that stopped is on record as ended, with its attempt, and the plan goes on.
#[track_caller]
fn all_is_there(project: &Project, attempts: usize) {
    assert_eq!(project.history().len(), attempts);
    assert!(project.history().iter().all(|one| one["outcome"] == json!("done")));
    let run = project.json(&["logs", "--json"]);
    assert_eq!((&run["exit_code"], &run["active"]), (&json!(1), &json!(false)));
    let claims: i64 =
        project.database().query_row("SELECT count(*) FROM claims", [], |row| row.get(0)).unwrap();
    assert_eq!(claims, 0);
    project.ok(&["run"]);
    assert_eq!(project.history().len(), 3);
}

#[test]
fn a_run_whose_database_is_deleted_saves_it_stops_and_says_how_to_put_it_back() {
    let blows = [
        "rm -rf .ralph",
        "git clean -xfdq",
        "rm .ralph/progress.db",
        "rm .ralph/progress.db-wal",
        "mv .ralph \"$HOME/moved\"",
        "mv .ralph/progress.db .ralph/other.db",
    ];
    for blow in blows {
        let project = struck_by(blow);
        let run = project.ralph(&["run"]);
        assert_eq!(run.code, 1, "{blow}\n{}\n{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("was deleted or replaced"), "{blow}\n{}", run.stderr);
        assert!(run.stderr.contains("progress.rescued-"), "{blow}\n{}", run.stderr);
        let command = remedy(&run);
        if !database(&project).exists() {
            let status = project.ralph(&["status"]).expect_code(2);
            assert!(remedy(&status).contains("progress.rescued-"), "{blow}");
            assert!(!database(&project).exists(), "{blow}");
        }
        put_back(&project, &command);
        all_is_there(&project, 1);
    }
}

#[test]
fn the_command_that_puts_the_database_back_works_whatever_took_its_place() {
    let blows = [
        "rm -rf .ralph; echo x > .ralph",
        "rm -rf .ralph; mkfifo .ralph",
        "rm -rf .ralph; mkdir .ralph",
        "rm -rf .ralph; mkdir -m 777 .ralph",
        "rm -rf .ralph; mkdir \"$HOME/away\"; ln -s \"$HOME/away\" .ralph",
        "rm -rf .ralph; ln -s nowhere .ralph",
        "mv .ralph \"$HOME/moved\"; ln -s \"$HOME/moved\" .ralph; rm .ralph/progress.db*",
        "rm -rf .ralph/*; mkdir .ralph/progress.db",
        "rm .ralph/progress.db; mkfifo .ralph/progress.db",
        "rm .ralph/progress.db; ln -s nowhere .ralph/progress.db",
        "rm .ralph/progress.db*; : > .ralph/progress.db",
        "head -c 100000 /dev/urandom > .ralph/new; mv .ralph/new .ralph/progress.db",
    ];
    for blow in blows {
        let project = struck_by(blow);
        let run = project.ralph(&["run"]);
        assert_eq!(run.code, 1, "{blow}\n{}\n{}", run.stdout, run.stderr);
        let command = remedy(&run);
        // Whoever looks first is told the same, and nothing is made meanwhile.
        let status = project.ralph(&["status"]);
        assert_ne!(status.code, 0, "{blow}\n{}", status.stdout);
        put_back(&project, &command);
        let status = project.ok(&["status"]);
        assert!(status.stdout.contains("1 of 3 done"), "{blow}\n{}", status.stdout);
        all_is_there(&project, 1);
    }
}

#[test]
fn a_database_that_was_replaced_is_not_taken_for_the_plan() {
    let ralph = env!("CARGO_BIN_EXE_ralph");
    // As an agent does that cleans up and begins again.
    let project = struck_by(&format!(
        "rm -rf .ralph; env -u RALPH_RUN_ID '{ralph}' init > /dev/null; \
         env -u RALPH_RUN_ID '{ralph}' task add Other > /dev/null"
    ));
    let run = project.ralph(&["run"]).expect_code(1);
    let others = project.json(&["task", "list", "--json"]);
    assert_eq!(others.as_array().unwrap().len(), 1, "theirs was not written to");
    put_back(&project, &remedy(&run));
    all_is_there(&project, 1);
}

#[test]
fn an_emptied_log_stops_the_run_and_leaves_a_database_that_can_be_read() {
    for blow in [": > .ralph/progress.db-wal", "truncate -s 0 .ralph/progress.db-wal; sleep 1"] {
        let project = struck_by(blow);
        let run = project.ralph(&["run"]);
        assert_eq!(run.code, 1, "{blow}\n{}\n{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("progress.db was "), "{blow}\n{}", run.stderr);
        if let Some((_, command)) = run.stderr.split_once("restore it: ") {
            put_back(&project, command);
            all_is_there(&project, 1);
        }
        let tasks = project.json(&["task", "list", "--json"]);
        assert_eq!(tasks.as_array().unwrap().len(), 3, "{blow}");
        project.ok(&["run"]);
    }
}

/// What was recorded since the last backup can be lost with the file itself; that it is must not be hidden.
#[test]
fn a_database_that_is_cut_off_or_written_over_is_restored_from_the_last_backup() {
    for blow in [
        ": > .ralph/progress.db",
        "find .ralph -name 'progress.db*' -exec truncate -s 0 {} +",
        "truncate -s 4096 .ralph/progress.db-wal",
        "truncate -s -5000 .ralph/progress.db-wal",
        "truncate -s 8192 .ralph/progress.db",
        "dd if=/dev/urandom of=.ralph/progress.db bs=4096 count=3 conv=notrunc 2>/dev/null",
    ] {
        let project = struck_by(blow);
        let run = project.ralph(&["run"]).expect_code(1);
        let said = ["progress.db was damaged", "progress.db was deleted or replaced"];
        assert!(said.iter().any(|said| run.stderr.contains(said)), "{blow}\n{}", run.stderr);
        put_back(&project, &remedy(&run));
        let tasks = project.json(&["task", "list", "--json"]);
        assert_eq!(tasks.as_array().unwrap().len(), 3, "{blow}");
        project.ok(&["run"]);
        assert_eq!(project.json(&["status", "--json"])["tasks"]["done"], json!(3), "{blow}");
    }
}

#[test]
fn a_database_that_is_empty_or_damaged_between_runs_is_restored_from_the_last_backup() {
    for (blow, code) in [("", 2), ("no database at all\n", 1)] {
        let project = struck_by("true");
        project.ralph(&["run", "--once"]);
        fs::write(database(&project), blow).unwrap();
        let status = project.ralph(&["status"]).expect_code(code);
        assert!(status.stderr.contains("Ralph saved a copy (progress.backup.db, "), "{}", status.stderr);
        put_back(&project, &remedy(&status));
        project.ok(&["run"]);
        assert_eq!(project.json(&["status", "--json"])["tasks"]["done"], json!(3));
    }
}

#[test]
fn a_run_goes_on_though_the_index_of_its_log_was_cut_off() {
    for blow in [": > .ralph/progress.db-shm", "truncate -s 100 .ralph/progress.db-shm; sleep 3"] {
        let project = struck_by(blow);
        let run = project.ralph(&["run"]).expect_code(0);
        assert!(run.stdout.contains("3 of 3 done"), "{}", run.stdout);
        assert_eq!(project.history().len(), 3);
    }
}

#[test]
fn a_database_deleted_while_the_gate_runs_has_the_attempt_on_record() {
    let project = project(DONE);
    project.add(&["A", "--verify", "rm -rf .ralph"]);
    let run = project.ralph(&["run"]).expect_code(1);
    put_back(&project, &remedy(&run));
    assert_eq!(project.history()[0]["outcome"], json!("done"));
    project.ok(&["run"]);
}

#[test]
fn a_database_deleted_at_the_very_end_is_saved_too() {
    let project = project(DONE);
    project.set("hooks", "after_run = \"rm -rf .ralph\"");
    project.add(&["A"]);
    let run = project.ralph(&["run", "--json"]).expect_code(1);
    let last = run.json_lines().pop().unwrap();
    assert_eq!(last["type"], json!("run_finished"));
    assert_eq!(last["exit_code"], json!(1));
    assert!(last["hint"].as_str().unwrap().starts_with("restore it: mv "), "{last}");
    put_back(&project, &remedy(&run));
    assert_eq!(project.history().len(), 1);
    let run = project.json(&["logs", "--json"]);
    assert_eq!(run["active"], json!(false));
}

#[test]
fn a_paused_run_whose_database_is_gone_ends_and_saves_it() {
    let project = project(&format!("while [ ! -e go ]; do sleep 0.05; done; {DONE}"));
    project.add(&["A", "--key", "a"]);
    project.add(&["B"]);
    let run = project.patient_command(&["run"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the first attempt", || project.status_of("a") == "in_progress");
    project.ok(&["pause"]);
    // Two who look on, each in a way of its own.
    let watch = |args: &[&str]| {
        let mut command = project.patient_command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Background(command.spawn().unwrap());
        let mut shown = BufReader::new(child.0.stdout.take().unwrap());
        // It has opened the database when it shows the first line.
        shown.read_line(&mut String::new()).unwrap();
        (child, shown)
    };
    let watches = [watch(&["status", "--watch"]), watch(&["logs", "-f"])];
    fs::write(project.path("go"), "").unwrap();
    eventually("the pause", || {
        let state = fs::read_to_string(project.path(".ralph/STATE.md"));
        state.is_ok_and(|state| state.contains("paused"))
    });
    fs::remove_dir_all(project.path(".ralph")).unwrap();
    let ended = run.wait_with_output().unwrap();
    let ended = Output {
        code: ended.status.code().unwrap_or(-1),
        stdout: String::new(),
        stderr: String::from_utf8_lossy(&ended.stderr).into_owned(),
    }
    .expect_code(1);
    for (watch, mut shown) in watches {
        shown.read_to_end(&mut Vec::new()).unwrap();
        watch.expect_success();
    }
    assert!(!database(&project).exists(), "nobody made another one");
    put_back(&project, &remedy(&ended));
    assert_eq!(project.history().len(), 1);
    project.ok(&["run"]);
}

#[test]
fn only_commands_that_start_a_plan_make_a_database() {
    let bare = || {
        let project = Project::empty();
        project.write(".ralph.toml", "");
        project.write("tasks.md", "- [ ] 1.1 One thing\n");
        project
    };
    let project = bare();
    let refused: [(&[&str], i32); 24] = [
        (&["run"], 3),
        (&["run", "--dry-run"], 3),
        (&["run", "--detach"], 3),
        (&["status"], 2),
        (&["status", "--watch"], 2),
        (&["stop"], 2),
        (&["pause"], 2),
        (&["resume"], 2),
        (&["task", "list"], 2),
        (&["task", "done", "a"], 2),
        (&["task", "deps", "add", "a", "b"], 2),
        (&["history"], 2),
        (&["stats"], 2),
        (&["failures", "list"], 2),
        (&["learnings", "list"], 2),
        (&["learnings", "add", "Something"], 2),
        (&["logs"], 2),
        (&["logs", "-f"], 2),
        (&["logs", "--prune"], 2),
        (&["analyze"], 2),
        (&["breaker", "reset"], 2),
        (&["limits", "clear"], 2),
        (&["context", "a"], 2),
        (&["export"], 2),
    ];
    for with_directory in [false, true] {
        if with_directory {
            fs::create_dir(project.path(".ralph")).unwrap();
        }
        for (args, code) in refused {
            let output = project.ralph(args);
            assert_eq!(output.code, code, "{args:?}: {}", output.stderr);
            assert!(output.stderr.contains("no plan in "), "{args:?}: {}", output.stderr);
            assert!(output.stderr.contains("hint:"), "{args:?}: {}", output.stderr);
            assert!(!database(&project).exists(), "{args:?}");
        }
    }
    for settings in [&["config", "show"][..], &["config", "get", "run.agent"], &["doctor"]] {
        project.ralph(settings);
        assert!(!database(&project).exists(), "{settings:?}");
    }
    for args in [&["init"][..], &["task", "add", "A"], &["import", "tasks.md"]] {
        let project = bare();
        project.ok(args);
        assert!(database(&project).exists(), "{args:?}");
    }
    fs::write(database(&project), "").unwrap();
    let emptied = project.ralph(&["status"]).expect_code(2);
    assert!(emptied.stderr.contains("progress.db is empty"), "{}", emptied.stderr);
    fs::remove_file(database(&project)).unwrap();
    assert!(Command::new("mkfifo").arg(database(&project)).status().unwrap().success());
    let pipe = project.ralph(&["status"]).expect_code(1);
    assert!(
        pipe.stderr.contains("progress.db is corrupt or not a database: it is not a regular file"),
        "{}",
        pipe.stderr
    );
    Project::empty().ralph(&["status"]).expect_code(2);
    Project::empty().ralph(&["run"]).expect_code(3);
}

#[test]
fn doctor_says_that_the_database_is_gone_and_how_to_put_it_back() {
    let project = struck_by("rm -rf .ralph");
    project.ralph(&["run"]).expect_code(1);
    let doctor = project.ralph(&["doctor", "--json"]).expect_code(1).json();
    let findings = doctor["findings"].as_array().unwrap();
    let gone = findings.iter().find(|one| one["check"] == "database").unwrap();
    assert!(gone["message"].as_str().unwrap().contains("a copy was saved"), "{gone}");
    put_back(&project, gone["fix"].as_str().unwrap());
    all_is_there(&project, 1);
}

#[test]
fn a_database_that_another_process_has_locked_is_waited_for_with_a_message() {
    let project = Project::new();
    let lock = project.database();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut add = project
        .patient_command(&["task", "add", "Waited"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let stderr = add.stderr.take().unwrap();
    BufReader::new(stderr).read_line(&mut said).unwrap();
    assert_eq!(said, "waiting for the database: another process has locked it\n");
    drop(lock);
    assert!(add.wait().unwrap().success());
    assert_eq!(project.json(&["task", "list", "--json"])[0]["title"], json!("Waited"));
}

#[test]
fn a_plan_that_an_agent_puts_in_the_place_of_the_lost_one_is_not_run() {
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let add = format!("env -u RALPH_RUN_ID {ralph} task add Mine --key m --verify true >/dev/null");
    let project = struck_by(&format!("rm -rf .ralph; {add}"));
    project.ralph(&["run"]).expect_code(1);
    let again = project.ralph(&["run"]).expect_code(1);
    assert!(again.stderr.contains("not the one the last run used"), "{}", again.stderr);
    let status = project.ok(&["status"]);
    assert!(status.stderr.contains("restore it: "), "{}", status.stderr);
    put_back(&project, &remedy(&again));
    project.ok(&["run"]);
    assert_eq!(project.json(&["status", "--json"])["tasks"]["done"], json!(3));
}
