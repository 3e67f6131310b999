//! Agents put pipes, devices, huge files and links in the place of files that Ralph reads and writes.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

use crate::support::{Output, Project};

const SPEC: &str = "# Tasks\n\n- [ ] 1.1 One\n\n- [ ] 1.2 Two\n\n- [ ] 1.3 Three\n";

/// Files that Ralph reads or writes after an attempt.
const TARGETS: [&str; 8] = [
    "AGENTS.md",
    "specs/a/tasks.md",
    "specs/a/.progress.md",
    "specs/a/.ralph-state.json",
    ".ralph/STATE.md",
    ".ralph/agents_md.lock",
    ".ralph/plan_files.lock",
    ".ralph/state_md.lock",
];

/// A project with a spec, whose agent runs this in the second attempt. AGENTS.md is written after each.
fn project(second: &str) -> Project {
    let project = Project::new();
    project.agent(&format!(
        "case $RALPH_TASK_KEY in 1.2)\n{second}\n;; esac\n\
         echo \"<learning category='pattern' tags='a'>Key $RALPH_TASK_KEY is fine</learning>\"\n\
         echo TASK_COMPLETE"
    ));
    project.write("specs/a/tasks.md", SPEC);
    project.ok(&["import", "specs/a"]);
    project
}

/// Runs the binary with little memory; what hangs is killed.
fn bounded(project: &Project, args: &[&str]) -> Output {
    let script = "ulimit -v 2500000; exec timeout -k 2 60 \"$@\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_ralph")])
        .args(args)
        .current_dir(project.root())
        .stdin(Stdio::null());
    let output = project.clean(&mut command).output().unwrap();
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The warnings of the last run.
fn warnings(project: &Project) -> Vec<String> {
    let events = project.json(&["logs", "--json"])["events"].clone();
    let events = events.as_array().unwrap().iter();
    events
        .filter(|event| event["type"] == "warning")
        .map(|event| event["message"].as_str().unwrap().to_owned())
        .collect()
}

fn replace_with(make: &str, target: &str) -> Project {
    project(&format!("rm -rf {target}; F={target}; {make}"))
}

/// The night goes on, the person is told once, and what was put there is left alone.
fn goes_on(make: &str, said: &str) {
    for target in TARGETS {
        let project = replace_with(make, target);
        let before = fs::symlink_metadata(project.path(target)).map(|meta| meta.file_type());
        let run = bounded(&project, &["run"]);
        assert_eq!(run.code, 0, "{target}: {}{}", run.stdout, run.stderr);
        assert_eq!(project.status_of("1.3"), "done", "{target}");
        let after = fs::symlink_metadata(project.path(target)).unwrap();
        assert!(!after.is_file() || after.len() > 1 << 30, "{target} was {before:?}");
        let told = warnings(&project);
        let about: Vec<_> = told.iter().filter(|told| told.contains(said)).collect();
        assert_eq!(about.len(), 1, "{target}: {told:?}");
    }
}

#[test]
fn a_pipe_in_the_place_of_a_file_does_not_hang_the_night() {
    goes_on("mkfifo $F", "not a regular file but a named pipe");
}

#[test]
fn a_directory_in_the_place_of_a_file_is_left_alone() {
    goes_on("mkdir $F", "not a regular file but a directory");
}

#[test]
fn a_link_that_appeared_is_left_alone() {
    // One to a device, one to nothing, and one to an ordinary file.
    let to_file = "echo theirs > \"$HOME/theirs\"; ln -s \"$HOME/theirs\" $F";
    for make in ["ln -s /dev/zero $F", "ln -s nowhere $F", to_file] {
        for target in TARGETS {
            let project = replace_with(make, target);
            let run = bounded(&project, &["run"]);
            assert_eq!(run.code, 0, "{target}: {}{}", run.stdout, run.stderr);
            assert!(project.path(target).is_symlink(), "{target}");
            assert_eq!(warnings(&project).len(), 1, "{target}");
            if make == to_file {
                assert_eq!(project.read("../home/theirs"), "theirs\n", "{target}");
            }
        }
    }
}

#[test]
fn a_huge_file_does_not_take_the_memory() {
    for target in &TARGETS[..4] {
        let project = replace_with("truncate -s 3G $F", target);
        let run = bounded(&project, &["run"]);
        assert_eq!(run.code, 0, "{target}: {}{}", run.stdout, run.stderr);
        let told = warnings(&project);
        assert_eq!(told.len(), 1, "{target}: {told:?}");
        assert!(told[0].contains("larger than 64 MiB"), "{told:?}");
        let length = fs::metadata(project.path(target)).unwrap().len();
        assert_eq!(length, 3 << 30, "{target}");
    }
}

/// What is below a directory, with what is in it.
fn contents(dir: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            let inside = contents(&entry.path()).into_iter();
            all.extend(inside.map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else {
            all.push((name, fs::read(entry.path()).unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
fn nothing_is_written_through_a_link_that_appeared_during_a_run() {
    let outside = tempfile::tempdir().unwrap();
    let there = outside.path().display();
    for steps in [
        format!("rm -f AGENTS.md; ln -s {there}/AGENTS.md AGENTS.md"),
        format!("rm specs/a/tasks.md; ln -s {there}/tasks.md specs/a/tasks.md"),
        format!("rm specs/a/.progress.md; ln -s {there}/tasks.md specs/a/.progress.md"),
        format!("rm specs/a/.ralph-state.json; ln -s {there}/s.json specs/a/.ralph-state.json"),
        format!("mv specs/a specs/moved; ln -s {there} specs/a"),
        format!("mv specs specs2; ln -s {there}/specs specs"),
        format!("rm .ralph/STATE.md; ln -s {there}/STATE.md .ralph/STATE.md"),
        format!("rm .ralph/agents_md.lock; ln -s {there}/lock .ralph/agents_md.lock"),
    ] {
        for (name, text) in [
            ("AGENTS.md", "# Theirs\n"),
            ("tasks.md", "# Tasks\n\n- [ ] 1.1 Theirs\n\n- [ ] 1.3 Theirs\n"),
            ("s.json", "{}"),
            ("STATE.md", "Theirs.\n"),
            ("lock", ""),
        ] {
            fs::write(outside.path().join(name), text).unwrap();
        }
        fs::create_dir_all(outside.path().join("specs/a")).unwrap();
        fs::write(outside.path().join("specs/a/tasks.md"), SPEC).unwrap();
        let before = contents(outside.path());
        let project = project(&steps);
        let run = bounded(&project, &["run"]);
        assert_eq!(run.code, 0, "{steps}: {}{}", run.stdout, run.stderr);
        assert_eq!(project.status_of("1.3"), "done", "{steps}");
        assert_eq!(project.task("1.3")["title"], "Three", "{steps}");
        assert_eq!(contents(outside.path()), before, "{steps}");
        let told = warnings(&project);
        assert_eq!(told.len(), 1, "{steps}: {told:?}");
        assert!(told[0].contains("link"), "{told:?}");
    }
}

#[test]
fn no_log_is_written_through_a_link_in_the_place_of_the_directory() {
    let outside = tempfile::tempdir().unwrap();
    let there = outside.path().display();
    for steps in [
        format!("rm -r .ralph/logs; ln -s {there} .ralph/logs"),
        "mv .ralph/logs .ralph/old; mkfifo .ralph/logs".to_owned(),
    ] {
        let project = project(&steps);
        let run = bounded(&project, &["run"]);
        assert_eq!(run.code, 0, "{steps}: {}{}", run.stdout, run.stderr);
        assert_eq!(contents(outside.path()), []);
        let logs = fs::symlink_metadata(project.path(".ralph/logs")).unwrap();
        assert!(logs.is_dir(), "{steps}");
        assert!(project.ok(&["logs", "1.3"]).stdout.contains("TASK_COMPLETE"));
        let told = warnings(&project);
        assert!(told[0].contains("was replaced by something"), "{told:?}");
    }
    // One that was there before is refused, and the person is told what to do.
    let project = project("");
    fs::remove_dir_all(project.path(".ralph/logs")).unwrap();
    symlink(outside.path(), project.path(".ralph/logs")).unwrap();
    let run = bounded(&project, &["run"]);
    assert_ne!(run.code, 0);
    assert!(run.stderr.contains("replace it"), "{}", run.stderr);
    assert_eq!(contents(outside.path()), []);
}

#[test]
fn names_of_logs_cannot_be_guessed_and_planted_ones_are_not_written_through() {
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim");
    fs::write(&victim, "theirs").unwrap();
    // The agent sees the name of its log, and plants that of what standard error would get.
    let project = project(&format!(
        "for log in .ralph/logs/*.jsonl; do ln -sf {} ${{log%.jsonl}}.stderr.log; done; echo oops >&2",
        victim.display()
    ));
    bounded(&project, &["run"]).expect_code(0);
    assert_eq!(fs::read(&victim).unwrap(), b"theirs");
    let mut secrets: Vec<String> = Vec::new();
    for attempt in project.history() {
        let path = project.path(attempt["log_path"].as_str().unwrap());
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        secrets.push(stem.rsplit_once('-').unwrap().1.to_owned());
    }
    assert!(secrets.iter().all(|secret| secret.len() == 16), "{secrets:?}");
    secrets.dedup();
    assert_eq!(secrets.len(), 3);
    let shown = project.ok(&["logs", "1.2"]).stdout;
    assert!(shown.contains("oops"), "{shown}");
}

#[test]
fn prune_never_leaves_the_directory_of_logs() {
    let outside = tempfile::tempdir().unwrap();
    let old = "t-000001-001-r-00000001.jsonl";
    let file = File::create(outside.path().join(old)).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    let project = project("");
    // A link with the name of a log, and then one in the place of the directory.
    symlink(outside.path().join(old), project.path(".ralph/logs").join(old)).unwrap();
    project.ok(&["logs", "--prune"]);
    assert_eq!(contents(outside.path()).len(), 1);
    fs::remove_dir_all(project.path(".ralph/logs")).unwrap();
    symlink(outside.path(), project.path(".ralph/logs")).unwrap();
    for args in [&["logs", "--prune"][..], &["logs", "--prune", "--dry-run"]] {
        let prune = project.ralph(args);
        assert_ne!(prune.code, 0);
        assert!(prune.stderr.contains("a symbolic link"), "{}", prune.stderr);
    }
    assert_eq!(contents(outside.path()).len(), 1);
}

#[test]
fn a_log_that_became_something_else_is_not_shown() {
    let project = project("");
    bounded(&project, &["run"]).expect_code(0);
    let log = project.history()[0]["log_path"].as_str().unwrap().to_owned();
    let path = project.path(&log);
    for make in ["mkfifo", "ln -s /etc/passwd", "ln -s /dev/zero"] {
        fs::remove_file(&path).unwrap();
        let words: Vec<&str> = make.split(' ').collect();
        let made = Command::new(words[0]).args(&words[1..]).arg(&path).status();
        assert!(made.unwrap().success());
        for args in [&["logs", "1.1"][..], &["logs", "1.1", "--raw"]] {
            let shown = bounded(&project, args);
            assert!(shown.code > 0 && shown.code != 124, "{make}: {}", shown.code);
            assert!(!shown.stdout.contains("root:"), "{}", shown.stdout);
        }
    }
    let elsewhere = "UPDATE iteration_outcomes SET log_path = '.ralph/logs/../../.ralph.toml'";
    project.database().execute(elsewhere, []).unwrap();
    let shown = bounded(&project, &["logs", "1.1", "--raw"]);
    assert_ne!(shown.code, 0);
    assert!(!shown.stdout.contains("[run]"), "{}", shown.stdout);
}

#[test]
fn what_is_no_file_is_no_plan() {
    let project = project("");
    let fifo = |path: &str| {
        let made = Command::new("mkfifo").arg(project.path(path)).status();
        assert!(made.unwrap().success());
    };
    fifo("pipe.md");
    File::create(project.path("huge.md")).unwrap().set_len(3 << 30).unwrap();
    project.write("specs/b/tasks.md", SPEC);
    fifo("specs/b/.ralph-state.json");
    for (path, why) in [
        ("pipe.md", "named pipe"),
        ("/dev/zero", "a device"),
        ("huge.md", "larger than 64 MiB"),
        ("specs/b", "named pipe"),
    ] {
        let import = bounded(&project, &["import", path]);
        assert!(import.code > 0 && import.code != 124, "{path}: {}", import.code);
        assert!(import.stderr.contains(why), "{path}: {}", import.stderr);
    }
    // What only reads lines takes pipes as well, but not without end.
    for args in
        [&["learnings", "import", "/dev/zero"][..], &["fingerprint", "/dev/zero"], &["replay", "/dev/zero"]]
    {
        let refused = bounded(&project, args);
        assert_eq!(refused.code, 2, "{args:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("larger than 64 MiB"), "{args:?}: {}", refused.stderr);
    }
    // Settings and templates: nothing can be run by them.
    for path in [".ralph/templates/task.md", ".ralph.toml"] {
        fs::create_dir_all(project.path(path).parent().unwrap()).unwrap();
        let _ = fs::remove_file(project.path(path));
        fifo(path);
        let run = bounded(&project, &["run"]);
        assert!(run.code > 0 && run.code != 124, "{path}: {}", run.code);
        assert!(run.stderr.contains("named pipe"), "{path}: {}", run.stderr);
    }
}

#[test]
fn an_attempt_that_prints_without_end_does_not_fill_the_disk() {
    let mut project = Project::new();
    project.agent("echo first; yes | head -c 9000000; yes no | head -c 5000000 >&2; echo TASK_COMPLETE");
    project.set_env("RALPH_SET_LOGS_MAX_ATTEMPT_MB", "1");
    project.add(&["One", "--key", "1"]);
    project.ok(&["run"]);
    assert_eq!(project.status_of("1"), "done");
    let log = project.history()[0]["log_path"].as_str().unwrap().to_owned();
    let errors = log.replace(".jsonl", ".stderr.log");
    for path in [&log, &errors] {
        let text = project.read(path);
        assert!(text.len() <= 1 << 20 && text.len() > 1 << 18, "{}", text.len());
        let first = text.lines().next().unwrap();
        assert!(first.contains("bytes were dropped before this line"), "{first}");
        assert!(first.contains("max_attempt_mb"), "{first}");
    }
    assert!(project.read(&log).ends_with("y\nTASK_COMPLETE\n"));
    let shown = project.ok(&["logs", "1"]).stdout;
    assert!(shown.contains("bytes were dropped"), "{:.200}", shown);
    // With the prompt.
    assert_eq!(fs::read_dir(project.path(".ralph/logs")).unwrap().count(), 3);
    // Without a bound all of it is there.
    project.set_env("RALPH_SET_LOGS_MAX_ATTEMPT_MB", "0");
    project.add(&["Two", "--key", "2"]);
    project.ok(&["run"]);
    let log = project.history()[1]["log_path"].as_str().unwrap().to_owned();
    let text = project.read(&log);
    assert!(text.starts_with("first\ny\n") && text.len() > 9_000_000);
}

#[test]
fn what_is_no_file_beside_the_database_is_named() {
    for ending in ["-journal", "-shm", "-wal"] {
        let project = project("");
        let path = project.path(format!(".ralph/progress.db{ending}"));
        let _ = fs::remove_file(&path);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        for args in [&["status"][..], &["run"], &["doctor"]] {
            let said = bounded(&project, args);
            let told = format!("{}{}", said.stdout, said.stderr);
            assert_ne!(said.code, 124, "{ending} {args:?}: hangs");
            if args != ["doctor"] {
                let name = format!("progress.db{ending}: not a regular file but a named pipe");
                assert!(said.code > 0 && told.contains(&name), "{args:?}: {told}");
            }
        }
    }
}
