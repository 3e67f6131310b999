//! Runs that commit and are killed: no task is committed twice, and no work is taken for somebody else's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::run::DONE;
use crate::storms::Storm;
use crate::support::{Project, eventually};

fn project(agent: &str) -> Project {
    let mut project = Project::with_git();
    project.agent(agent);
    project.set("git", "commit = \"on-success\"");
    // On a slow machine a task may be killed more often than people would let it.
    for name in
        ["RALPH_SET_RUN_MAX_ATTEMPTS", "RALPH_SET_RUN_MAX_TOTAL_ATTEMPTS", "RALPH_SET_BREAKER_THRESHOLD"]
    {
        project.set_env(name, "100000");
    }
    let home = project.root().join("../home/.gitconfig");
    fs::write(home, "[user]\nname = t\nemail = t@localhost\n").unwrap();
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "start"]);
    project
}

/// A hook that kills Ralph once, which is the parent of git.
fn hook_that_kills(project: &Project, name: &str, then: &str) {
    let path = project.path(format!(".git/hooks/{name}"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let script = format!(
        "#!/bin/sh\n[ -e ../killed ] && exit 0\ntouch ../killed\nkill -9 $(awk '{{print $4}}' /proc/$PPID/stat)\n{then}\n"
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn commits(project: &Project, subject: &str) -> usize {
    let log = project.git(&["log", "--format=%s"]);
    log.lines().filter(|line| *line == subject).count()
}

fn files_of(project: &Project, commit: &str) -> Vec<String> {
    let shown = project.git(&["show", "--name-only", "--format=", commit]);
    shown.lines().map(str::to_owned).collect()
}

#[test]
fn a_kill_between_the_commit_and_its_record_leads_to_no_second_commit() {
    let project = project(&format!("echo x >> work.txt; {DONE}"));
    hook_that_kills(&project, "post-commit", "");
    project.add(&["A", "--key", "a", "--verify", "test -f work.txt"]);
    project.add(&["B", "--key", "b", "--after", "a"]);
    let mut run = project.start(&["run", "--quiet"]);
    assert_eq!(run.wait().unwrap().code(), None, "the hook killed nobody");
    eventually("git ends", || commits(&project, "a: A") == 1);
    let commit = project.git(&["rev-parse", "HEAD"]);
    let run = project.ok(&["run"]);
    assert!(run.stdout.contains("a Ralph crashed after it committed"), "{}", run.stdout);
    let history = project.history();
    assert_eq!(history.len(), 2);
    assert_eq!(history[0]["outcome"], json!("done"));
    // Its gate had passed, and the dead run had told so.
    assert_eq!(history[0]["verified"], json!(true));
    assert_eq!(project.task("a")["done_by"], json!("gate"));
    assert_eq!(project.task("b")["verified"], json!(false));
    assert_eq!(history[0]["commit_after"], json!(commit.trim()));
    assert_eq!(history[0]["files_changed"], json!(["work.txt"]));
    assert_eq!((commits(&project, "a: A"), commits(&project, "b: B")), (1, 1));
    assert_eq!(project.read("work.txt"), "x\nx\n");
    assert_eq!(project.git(&["diff", "HEAD", "--name-only", "--", "work.txt"]), "");
}

#[test]
fn any_command_finds_the_commit_of_a_killed_run() {
    let project = project(&format!("echo x >> work.txt; {DONE}"));
    hook_that_kills(&project, "post-commit", "");
    project.add(&["A", "--key", "a"]);
    project.start(&["run", "--quiet"]).wait().unwrap();
    eventually("git ends", || commits(&project, "a: A") == 1);
    project.add(&["B", "--key", "b"]);
    project.ok(&["task", "reset", "b"]);
    assert_eq!(project.status_of("a"), "done");
}

#[test]
fn a_git_that_cannot_tell_whether_killed_work_was_committed_ends_the_run_at_once() {
    let project = project(&format!("echo x >> work.txt; {DONE}"));
    hook_that_kills(&project, "post-commit", "");
    project.add(&["A", "--key", "a"]);
    project.start(&["run", "--quiet"]).wait().unwrap();
    eventually("git ends", || commits(&project, "a: A") == 1);
    // A git that stops answering once it is asked for the commits of the branch.
    let slow = project.root().join("../slow");
    fs::create_dir_all(&slow).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\nfor word; do [ \"$word\" = rev-list ] && exec sleep 1000\n[ \"$word\" = log ] && exec sleep 1000; done\nPATH='{path}' exec git \"$@\"\n"
    );
    fs::write(slow.join("git"), script).unwrap();
    fs::set_permissions(slow.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = project.patient_command(&["run"]);
    command.env("PATH", format!("{}:{path}", slow.display()));
    let run = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{stderr}");
    let said = "Ralph crashed while committing the work of a, and git cannot tell";
    assert!(stderr.contains(said) && stderr.contains("hint: "), "{stderr}");
    // Nothing was decided meanwhile.
    assert_eq!(project.history().len(), 0);
    project.ok(&["run"]);
    assert_eq!(project.status_of("a"), "done");
    assert_eq!(commits(&project, "a: A"), 1);
}

#[test]
fn a_kill_before_the_commit_leads_to_one_commit() {
    let project = project(&format!("echo x >> work.txt; {DONE}"));
    hook_that_kills(&project, "pre-commit", "sleep 1");
    project.add(&["A", "--key", "a"]);
    project.start(&["run", "--quiet"]).wait().unwrap();
    project.ok(&["run"]);
    assert_eq!(commits(&project, "a: A"), 1);
    assert_eq!(project.status_of("a"), "done");
    assert_eq!(files_of(&project, "HEAD"), ["work.txt"]);
}

#[test]
fn the_next_run_removes_the_temporary_files_of_a_killed_one() {
    let project = project(&format!("echo x >> work.txt; {DONE}"));
    hook_that_kills(&project, "pre-commit", "exit 1");
    project.add(&["A", "--key", "a"]);
    project.start(&["run", "--quiet"]).wait().unwrap();
    let scratch = || {
        let entries = fs::read_dir(project.path(".git")).unwrap().map(Result::unwrap);
        let dirs = entries.filter(|entry| entry.file_type().unwrap().is_dir());
        dirs.filter(|entry| entry.file_name().to_string_lossy().starts_with("ralph-")).count()
    };
    assert_eq!(scratch(), 1);
    project.ok(&["run"]);
    assert_eq!(scratch(), 0);
    assert_eq!(commits(&project, "a: A"), 1);
}

#[test]
fn what_kills_left_of_a_task_and_of_its_fix_is_theirs() {
    let agent = format!(
        "case $RALPH_TASK_KEY in
         1.1.1) echo two >> a.txt; echo b > b.txt
            if [ ! -e ../second ]; then touch ../second; sleep 60; fi; {DONE};;
         1.1) if [ ! -e ../first ]; then echo one > a.txt; touch ../first; sleep 60; fi
            if [ ! -e ../failed ]; then touch ../failed; echo 'Task 1.1: part FAILED'; echo '- Error: broken'; exit; fi
            echo c > c.txt; {DONE};;
         esac"
    );
    let project = project(&agent);
    project.write("mine.txt", "a person's\n");
    project.add(&["A", "--key", "1.1"]);
    for begun in ["../first", "../second"] {
        let mut run = project.start(&["run", "--recovery", "--quiet"]);
        eventually(begun, || project.path(begun).exists());
        run.kill().unwrap();
        run.wait().unwrap();
    }
    let run = project.ok(&["run", "--recovery"]);
    assert!(run.stdout.contains("uncommitted changes at start: mine.txt;"), "{}", run.stdout);
    assert_eq!(files_of(&project, "HEAD~1"), ["a.txt", "b.txt"]);
    assert_eq!(files_of(&project, "HEAD"), ["c.txt"]);
    assert_eq!(project.git(&["status", "--porcelain", "--", "*.txt"]), "?? mine.txt\n");
}

/// Kills runs at random moments, and counts what became of every task.
#[test]
fn a_storm_of_kills_commits_every_done_task_once() {
    const TASKS: u32 = 12;
    let project = project(&format!("echo x >> \"work-$RALPH_TASK_KEY\"; {DONE}"));
    for n in 0..TASKS {
        project.add(&["T", "--key", &format!("k{n}"), "--verify", "true"]);
    }
    let names: Vec<String> = (0..TASKS).map(|n| format!("k{n}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut random = fastrand::Rng::with_seed(5);
    let reset = || project.ok(&[&["task", "reset"], all.as_slice()].concat());
    let mut storm = Storm::new("of commits", 2_000);
    storm.measure(4, || drop(project.ok(&["run", "--quiet"])));
    reset();
    while storm.goes_on() {
        let mut child = project.start(&["run", "--quiet"]);
        std::thread::sleep(storm.life(&mut random));
        if child.try_wait().unwrap().is_some() {
            reset();
            continue;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        storm.killed();
    }
    project.ok(&["run", "--quiet"]);
    storm.add(&project);
    storm.end();

    let mut done: BTreeMap<String, usize> = BTreeMap::new();
    let mut hashes = BTreeSet::new();
    for attempt in project.history() {
        if attempt["outcome"] == json!("done") {
            let key = attempt["key"].as_str().unwrap().to_owned();
            *done.entry(key).or_default() += 1;
            let commit = attempt["commit_after"].as_str().unwrap().to_owned();
            assert!(hashes.insert(commit), "one commit is on record twice: {attempt}");
        }
    }
    let log = project.git(&["log", "--format=%H %s"]);
    let mut made: BTreeMap<String, usize> = BTreeMap::new();
    for line in log.lines() {
        let (hash, subject) = line.split_once(' ').unwrap();
        if let Some(key) = subject.strip_suffix(": T") {
            *made.entry(key.to_owned()).or_default() += 1;
            assert!(hashes.contains(hash), "{line} is on record for no attempt");
        }
    }
    assert_eq!(made, done);
    assert_eq!(done.len(), TASKS as usize);
    for name in &names {
        assert_eq!(project.status_of(name), "done");
        let committed = project.git(&["show", &format!("HEAD:work-{name}")]);
        assert_eq!(committed, project.read(&format!("work-{name}")), "{name}");
    }
    assert_eq!(project.git(&["status", "--porcelain", "--", "work-*"]), "");
}
