//! Files: the database, who may read and write, room on the disk, the clock.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::{files, finding, findings, report, text};
use crate::support::Project;

fn project() -> Project {
    let project = Project::with_git();
    project.agent("echo nothing");
    project.add(&["A", "--key", "a"]);
    project
}

#[test]
fn doctor_leaves_a_newer_database_alone_and_says_so() {
    let project = project();
    project.database().pragma_update(None, "user_version", 999).unwrap();
    let before = files(&project.path(".ralph"));
    let output = project.ralph(&["doctor", "--json"]).expect_code(1);
    let database = finding(&output.json(), "database");
    assert_eq!(database["level"], "error");
    assert!(text(&database["message"]).contains("999"), "{database}");
    assert!(text(&database["fix"]).starts_with("update Ralph"), "{database}");
    assert_eq!(files(&project.path(".ralph")), before);
}

#[test]
fn doctor_does_not_migrate() {
    let project = project();
    fs::remove_file(project.path(".ralph/progress.db")).unwrap();
    project.database().execute_batch("CREATE TABLE tasks (id TEXT); PRAGMA user_version = 1;").unwrap();
    fs::write(project.path(".ralph/progress.db.v1.bak"), "x").unwrap();
    let before = files(&project.path(".ralph"));
    let database = finding(&report(&project), "database");
    assert_eq!(database["level"], "ok");
    assert!(text(&database["message"]).contains("version 1;"), "{database}");
    assert!(text(&database["detail"][0]).contains("v1.bak"), "{database}");
    assert_eq!(files(&project.path(".ralph")), before);
}

#[test]
fn doctor_finds_a_damaged_database() {
    let project = project();
    let path = project.path(".ralph/progress.db");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[4096..middle].fill(0x5a);
    fs::write(&path, bytes).unwrap();
    let output = project.ralph(&["doctor", "--json"]).expect_code(1);
    let database = finding(&output.json(), "database");
    assert_eq!(database["level"], "error", "{database}");
    assert!(text(&database["fix"]).contains("restore"), "{database}");
}

#[test]
fn doctor_notices_secrets_and_logs_that_others_may_read() {
    let project = project();
    project.ralph(&["run", "--once"]).expect_code(4);
    let level = |check: &str| {
        let all = findings(&report(&project), check);
        let warned = all.iter().find(|one| one["level"] == "warning");
        warned.map(|one| text(&one["fix"]).to_owned())
    };
    assert_eq!(level("permissions"), None);
    assert_eq!(level("settings"), None);
    let log = fs::read_dir(project.path(".ralph/logs")).unwrap();
    let log = log.flatten().next().unwrap().path();
    fs::set_permissions(log, Permissions::from_mode(0o644)).unwrap();
    let fix = level("permissions").unwrap();
    project.configure("[agents.claude]\nenv = { ANTHROPIC_API_KEY = \"hunter2\" }");
    let toml = project.path(".ralph.toml");
    fs::set_permissions(&toml, Permissions::from_mode(0o644)).unwrap();
    let chmod = level("settings").unwrap();
    assert!(chmod.starts_with("chmod 600 /"), "{chmod}");
    // What fixes it, fixes it.
    for command in [fix, chmod] {
        shell(&project, &command);
    }
    assert_eq!(level("permissions"), None);
    assert_eq!(level("settings"), None);
}

/// What fixes something is given to a shell as it is.
#[track_caller]
fn shell(project: &Project, command: &str) {
    let mut shell = std::process::Command::new("sh");
    let shell = project.clean(&mut shell).args(["-c", command]);
    assert!(shell.status().unwrap().success(), "{command}");
}

/// Runs a story as root of a world of its own, where disks can be mounted; `$RALPH` is the program.
fn in_a_world_of_its_own(project: &Project, story: &str) -> Vec<Value> {
    let mut command = std::process::Command::new("unshare");
    command.args(["-Urm", "sh", "-c", story]).current_dir(project.root());
    let output = project.clean(&mut command).env("RALPH", env!("CARGO_BIN_EXE_ralph")).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    let documents = serde_json::Deserializer::from_str(&printed).into_iter();
    let documents: Result<Vec<Value>, _> = documents.collect();
    documents.unwrap_or_else(|error| panic!("{error}\n{printed}\n{complaints}"))
}

#[test]
fn doctor_sees_what_may_not_be_written() {
    let project = project();
    let story = "mount --bind . . && mount -o remount,ro,bind . && cd \"$PWD\" && $RALPH doctor --json; true";
    let report = in_a_world_of_its_own(&project, story).remove(0);
    assert_eq!(report["ok"], false);
    let found = findings(&report, "permissions");
    let levels: Vec<&str> = found.iter().map(|one| text(&one["level"])).collect();
    assert_eq!(levels, ["warning", "error"], "{found:?}");
    for one in found {
        assert!(text(&one["fix"]).contains("read-only"), "{one}");
    }
    // One file of somebody else's.
    let story = "touch .ralph/state_md.lock && mount --bind .ralph/state_md.lock .ralph/state_md.lock \
                 && mount -o remount,ro,bind .ralph/state_md.lock && $RALPH doctor --json; true";
    let report = in_a_world_of_its_own(&project, story).remove(0);
    assert_eq!(report["ok"], true, "a run works without it: {report}");
    let found = findings(&report, "permissions");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["level"], "warning");
    assert!(text(&found[0]["message"]).contains("state_md.lock"), "{found:?}");
}

#[test]
fn doctor_stops_at_the_database_and_the_logs_and_not_at_the_root() {
    let project = project();
    let read_only = |path: &str| format!("mount --bind {path} {path} && mount -o remount,ro,bind {path} && ");
    // The root alone: what is below it is mounted for writing again.
    let story = format!(
        "mkdir -p ../own && cp -a .ralph/. ../own/ && {}mount --bind ../own .ralph && cd \"$PWD\" \
         && {{ $RALPH doctor --json; $RALPH run --once --json --quiet > /dev/null; }}; \
         printf '{{\"code\": %d}}' $?",
        read_only(".")
    );
    let told = in_a_world_of_its_own(&project, &story);
    assert_eq!(told[0]["ok"], true, "{told:?}");
    let root = finding(&told[0], "permissions");
    assert_eq!(root["level"], "warning", "{root}");
    assert_eq!(told[1]["code"], 4, "a run works: {told:?}");
    project.ralph(&["run", "--once"]).expect_code(4);
    for path in [".ralph/progress.db", ".ralph/logs"] {
        let story = format!(
            "{}{{ $RALPH doctor --json; $RALPH run --once --quiet 2> /dev/null; }}; printf '{{\"code\": %d}}' $?",
            read_only(path)
        );
        let told = in_a_world_of_its_own(&project, &story);
        assert_eq!(told[0]["ok"], false, "{path}: {told:?}");
        assert_eq!(told[1]["code"], 1, "{path}: {told:?}");
    }
}

#[test]
fn doctor_sees_files_where_directories_belong() {
    let project = project();
    let _ = fs::remove_dir(project.path(".ralph/logs"));
    fs::write(project.path(".ralph/logs"), "x").unwrap();
    let report = project.ralph(&["doctor", "--json"]).expect_code(1).json();
    let logs = finding(&report, "permissions");
    assert!(text(&logs["message"]).ends_with(".ralph/logs is not a directory"));
    project.ralph(&["run", "--once"]).expect_code(1);
    shell(&project, text(&logs["fix"]));
    project.ok(&["doctor"]);

    let bare = Project::empty();
    bare.write(".ralph.toml", "");
    bare.agent("true");
    fs::write(bare.path(".ralph"), "x").unwrap();
    let report = bare.ralph(&["doctor", "--json"]).expect_code(1).json();
    let dir = finding(&report, "permissions");
    assert!(text(&dir["fix"]).starts_with("mv /"), "{dir}");
    shell(&bare, text(&dir["fix"]));
    bare.ok(&["doctor"]);
}

#[test]
fn doctor_is_honest_about_a_table_that_is_gone() {
    for (table, check) in [("runs", "database"), ("sources", "settings")] {
        let project = project();
        let database = project.database();
        database.pragma_update(None, "foreign_keys", false).unwrap();
        database.execute_batch(&format!("DROP TABLE {table}")).unwrap();
        drop(database);
        let report = project.ralph(&["doctor", "--json"]).expect_code(1).json();
        let found = findings(&report, check);
        let error = found.iter().find(|one| one["level"] == "error").unwrap();
        assert!(text(&error["message"]).contains("no such table"), "{error}");
        let fix = text(&error["fix"]);
        assert!(fix.contains("progress.db away"), "{fix}");
        assert!(fix.contains("the history is lost"), "{fix}");
        fs::write(project.path(".ralph/progress.db.v3.bak"), "x").unwrap();
        let report = project.ralph(&["doctor", "--json"]).expect_code(1).json();
        let found = findings(&report, check);
        let error = found.iter().find(|one| one["level"] == "error").unwrap();
        assert!(text(&error["fix"]).contains("progress.db.v3.bak "), "{error}");
    }
}

#[test]
fn doctor_sees_how_little_room_is_left() {
    let project = Project::empty();
    let story = "for size in 40m 300m; do mount -t tmpfs -o size=$size tmpfs . && cd \"$PWD\" || exit 9
                 $RALPH init > /dev/null; $RALPH doctor --json; done; true";
    let reports = in_a_world_of_its_own(&project, story);
    let levels: Vec<&str> = reports
        .iter()
        .map(|report| match text(&finding(report, "disk")["level"]) {
            "error" => "error",
            "warning" => "warning",
            _ => "ok",
        })
        .collect();
    assert_eq!(levels, ["error", "warning"]);
}

#[test]
fn doctor_sees_that_the_clock_went_back() {
    let project = project();
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(finding(&report(&project), "clock")["level"], "ok");
    project
        .database()
        .execute("UPDATE iteration_outcomes SET started_at = '2999-01-01T00:00:00.000Z'", [])
        .unwrap();
    let clock = finding(&report(&project), "clock");
    assert_eq!(clock["level"], "warning", "{clock}");
    assert!(text(&clock["message"]).contains("2999-01-01"), "{clock}");
}
