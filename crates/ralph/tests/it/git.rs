//! Git kept clean: commits of done work, roll-backs of failed work, the branch of a run; nothing of the user's is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::run::DONE;
use crate::support::{Project, eventually};

const FAILED: &str = "echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"";

/// A repository with a commit, a hook's folder, a submodule, ignored, untracked and changed files of a person's.
fn project(agent: &str, git: &str) -> Project {
    let project = Project::with_git();
    project.agent(agent);
    project.set("git", git);
    let home = project.root().join("../home/.gitconfig");
    fs::write(home, "[user]\nname = t\nemail = t@localhost\n[protocol \"file\"]\nallow = always\n").unwrap();
    project.write("../library/lib.txt", "library");
    let library = project.root().join("../library").display().to_string();
    for args in [
        &["-C", &library, "init", "-q"][..],
        &["-C", &library, "add", "."],
        &["-C", &library, "commit", "-qm", "library"],
    ] {
        project.git(args);
    }
    project.write(".gitignore", "*.log\nbuild/\n");
    project.write("code.txt", "one\ntwo\nthree\n");
    project.write("other.txt", "other\n");
    project.git(&["submodule", "add", "-q", &library, "lib"]);
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "start"]);
    // A person's own work, of every kind.
    project.write("other.txt", "other, and what I did not commit\n");
    project.write("staged.txt", "staged\n");
    project.git(&["add", "staged.txt"]);
    project.write("notes.txt", "untracked\n");
    project.write("debug.log", "ignored\n");
    project.write("build/out", "ignored too\n");
    project
}

/// What a person has, to the byte.
#[track_caller]
fn expect_own_work_untouched(project: &Project) {
    assert_eq!(project.read("other.txt"), "other, and what I did not commit\n");
    assert_eq!(project.read("staged.txt"), "staged\n");
    assert_eq!(project.read("notes.txt"), "untracked\n");
    assert_eq!(project.read("debug.log"), "ignored\n");
    assert_eq!(project.read("build/out"), "ignored too\n");
    assert_eq!(project.read("lib/lib.txt"), "library");
    let staged = project.git(&["diff", "--cached", "--name-only"]);
    assert_eq!(staged, "staged.txt\n");
}

fn hook(project: &Project, name: &str, script: &str) {
    let path = project.path(format!(".git/hooks/{name}"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn files_of(project: &Project, commit: &str) -> Vec<String> {
    let shown = project.git(&["show", "--name-only", "--format=", commit]);
    shown.lines().map(str::to_owned).collect()
}

const WORK: &str = "echo four >> code.txt; mkdir -p src; echo new > src/new.txt";

#[test]
fn done_work_is_committed_and_nothing_else() {
    let project = project(&format!("{WORK}; {DONE}"), "commit = \"on-success\"");
    project.add(&["Add four", "--key", "1.3"]);
    let run = project.ok(&["run"]);
    assert!(run.stdout.contains("uncommitted changes at start"), "{}", run.stdout);
    assert_eq!(project.git(&["log", "-1", "--format=%s"]), "1.3: Add four\n");
    assert_eq!(files_of(&project, "HEAD"), ["code.txt", "src/new.txt"]);
    expect_own_work_untouched(&project);
    let attempt = project.history().remove(0);
    let head = project.git(&["rev-parse", "HEAD"]);
    assert_eq!(attempt["commit_after"], head.trim());
}

#[test]
fn a_file_that_was_dirty_and_that_the_task_changed_too_is_left_out_and_named() {
    let work = "echo four >> code.txt; echo task >> other.txt";
    let project = project(&format!("{work}; {DONE}"), "commit = \"on-success\"");
    project.add(&["Add four", "--key", "1.3"]);
    let run = project.ok(&["run"]).stdout;
    assert_eq!(files_of(&project, "HEAD"), ["code.txt"]);
    let named = "1.3: other.txt was not committed: it had uncommitted changes before the run";
    assert!(run.contains(named), "{run}");
    // Both parts are still there, for the person to commit.
    assert_eq!(project.read("other.txt"), "other, and what I did not commit\ntask\n");
}

#[test]
fn the_commit_field_is_the_message() {
    let project = project(&format!("{WORK}; {DONE}"), "commit = \"on-success\"");
    project.add(&["Add four", "--commit", "feat(code): add four"]);
    project.ok(&["run"]);
    assert_eq!(project.git(&["log", "-1", "--format=%s"]), "feat(code): add four\n");
}

#[test]
fn a_hook_that_refuses_the_commit_is_a_failure_that_the_next_attempt_sees() {
    let project = project(&format!("{WORK}; [ -e fixed ] || touch fixed; {DONE}"), "commit = \"on-success\"");
    hook(
        &project,
        "pre-commit",
        "n=$(cat .git/tries 2>/dev/null || echo 0); echo $((n+1)) > .git/tries\n\
         [ $n -gt 0 ] || { echo 'lint: code.txt has no five'; exit 1; }",
    );
    project.add(&["Add four", "--key", "a"]);
    project.ok(&["run"]);
    let history = project.history();
    assert_eq!(history.len(), 2);
    assert_eq!(history[0]["outcome"], "failed");
    assert_eq!(history[0]["error_type"], "commit_refused");
    assert_eq!(history[1]["outcome"], "done");
    let prompt = project.read(".ralph/last-prompt");
    assert!(prompt.contains("lint: code.txt has no five"), "{prompt}");
    // The work of both attempts is in it.
    assert_eq!(files_of(&project, "HEAD"), ["code.txt", "fixed", "src/new.txt"]);
    expect_own_work_untouched(&project);
}

#[test]
fn failed_work_is_undone_and_kept_under_a_reference() {
    for mode in ["reset", "stash"] {
        let agent = format!(
            "{WORK}; rm -f lost.txt; echo x >> other.txt; echo y > notes.txt; git add -A; git commit -qm mine; \
             echo more > more.txt; {FAILED}"
        );
        let project = project(&agent, &format!("rollback = \"{mode}\""));
        project.set("memory", "agents_md = false");
        let before = project.git(&["status", "--porcelain=v2", "--branch"]);
        project.add(&["Add four", "--key", "a"]);
        let run = project.ralph(&["run", "--once"]).expect_code(4);
        assert!(run.stdout.contains("rolled back"), "{}", run.stdout);
        expect_own_work_untouched(&project);
        assert_eq!(project.read("code.txt"), "one\ntwo\nthree\n");
        assert!(!project.path("src/new.txt").exists() && !project.path("more.txt").exists());
        assert_eq!(project.git(&["status", "--porcelain=v2", "--branch"]), before);
        let attempt = project.history().remove(0);
        let reference = attempt["undone_ref"].as_str().unwrap();
        assert!(reference.starts_with("refs/ralph/rollback/"), "{reference}");
        let kept = |path: &str| project.git(&["show", &format!("{reference}:{path}")]);
        assert_eq!(kept("src/new.txt"), "new\n");
        assert_eq!(kept("more.txt"), "more\n");
        assert!(kept("other.txt").ends_with("x\n"));
        let stashes = project.git(&["stash", "list"]);
        assert_eq!(stashes.lines().count(), usize::from(mode == "stash"), "{stashes}");
    }
}

#[test]
fn a_limit_rolls_nothing_back() {
    let agent = format!("{WORK}; {}", crate::streams::error(429));
    let project = project(&agent, "rollback = \"reset\"");
    project.set("agents.script", "output = \"claude\"");
    project.add(&["A"]);
    project.ralph(&["run", "--no-wait"]).expect_code(4);
    assert_eq!(project.read("src/new.txt"), "new\n");
    assert_eq!(project.git(&["for-each-ref", "refs/ralph/"]), "");
}

#[test]
fn a_second_run_in_the_same_tree_forbids_a_roll_back() {
    let agent = format!(
        "case $RALPH_TASK_KEY in slow) touch begun; while [ ! -e go ]; do sleep 0.05; done; {DONE};; \
         *) {WORK}; {FAILED};; esac"
    );
    let project = project(&agent, "rollback = \"reset\"");
    project.add(&["Slow", "--key", "slow"]);
    project.add(&["Bad", "--key", "bad"]);
    let mut other = project.start(&["run", "slow"]);
    crate::support::eventually("the other run works", || project.path("begun").exists());
    let run = project.ralph(&["run", "bad", "--once"]).expect_code(4);
    assert!(run.stdout.contains("uses the same working tree"), "{}", run.stdout);
    assert_eq!(project.read("src/new.txt"), "new\n");
    project.write("go", "");
    other.wait().unwrap();
}

#[test]
fn a_branch_is_made_and_worked_on() {
    let project = project(&format!("{WORK}; {DONE}"), "branch = \"ralph/night\"\ncommit = \"on-success\"");
    let main = project.git(&["rev-parse", "main"]);
    project.add(&["Add four"]);
    project.ok(&["run"]);
    assert_eq!(project.git(&["branch", "--show-current"]), "ralph/night\n");
    assert_eq!(project.git(&["rev-parse", "main"]), main);
    assert_eq!(project.git(&["rev-parse", "ralph/night~1"]), main);
    expect_own_work_untouched(&project);
    // The next run is there already.
    project.add(&["Again"]);
    project.ok(&["run"]);
}

#[test]
fn a_dirty_tree_can_be_refused() {
    let project = project(DONE, "commit = \"on-success\"\non_dirty = \"refuse\"");
    project.add(&["A"]);
    let run = project.ralph(&["run"]).expect_code(1);
    assert!(run.stderr.contains("the working tree has uncommitted changes"), "{}", run.stderr);
    assert!(run.stderr.contains("on_dirty"), "{}", run.stderr);
    assert!(project.history().is_empty());
}

/// Puts a person's work away and makes a branch `side` that conflicts with `main`.
fn diverge(project: &Project) {
    project.git(&["stash", "-q", "-u"]);
    project.git(&["checkout", "-qb", "side"]);
    project.write("code.txt", "side\n");
    project.git(&["commit", "-qam", "side"]);
    project.git(&["checkout", "-q", "main"]);
    project.write("code.txt", "main\n");
    project.git(&["commit", "-qam", "main"]);
}

#[test]
fn an_unfinished_merge_is_not_torn_apart() {
    let project = project(DONE, "commit = \"on-success\"");
    diverge(&project);
    let mut merge = std::process::Command::new("git");
    let merge = project.clean(&mut merge);
    let merged = merge.args(["merge", "-q", "side"]).current_dir(project.root()).output();
    assert!(!merged.unwrap().status.success());
    project.add(&["A"]);
    let run = project.ralph(&["run"]).expect_code(1);
    assert!(run.stderr.contains("a merge is in progress"), "{}", run.stderr);
}

#[test]
fn without_a_repository_everything_else_works() {
    let project = crate::run::project(DONE);
    project.set("git", "commit = \"on-success\"\nrollback = \"reset\"\nbranch = \"b\"");
    project.add(&["A"]);
    let run = project.ok(&["run"]);
    assert!(run.stdout.contains("not a git repository"), "{}", run.stdout);
}

/// Does half of its work and waits; once `stopped` is there it does the rest.
const IN_TWO_RUNS: &str = "echo half > half.txt; echo more >> code.txt
    if [ ! -e ../stopped ]; then touch ../begun; sleep 60; fi
    echo rest > rest.txt";

/// A run that was stopped in the middle of its attempt.
fn stopped_in_the_middle(git: &str) -> Project {
    let project = project(&format!("{IN_TWO_RUNS}; {DONE}"), git);
    project.add(&["A", "--key", "a"]);
    project.ok(&["run", "--detach"]);
    eventually("the agent begins", || project.path("../begun").exists());
    project.ok(&["stop"]);
    project.write("../stopped", "");
    assert_eq!(project.git(&["log", "--format=%s", "-1"]), "start\n");
    project
}

/// The next run commits what both did.
#[track_caller]
fn expect_all_in_one_commit(project: &Project) {
    project.ok(&["run"]);
    let files = files_of(project, "HEAD");
    assert_eq!(files, ["code.txt", "half.txt", "rest.txt"]);
    expect_own_work_untouched(project);
}

#[test]
fn what_a_stopped_run_left_is_committed_with_the_task() {
    let project = stopped_in_the_middle("commit = \"on-success\"");
    expect_all_in_one_commit(&project);
}

#[test]
fn what_a_stopped_run_left_is_no_dirt_but_what_somebody_changed_since_is_theirs() {
    let project = stopped_in_the_middle("commit = \"on-success\"");
    project.git(&["stash", "-q", "--", "other.txt", "staged.txt"]);
    fs::remove_file(project.path("notes.txt")).unwrap();
    let toml = project.read(".ralph.toml");
    let refuse = toml.replace("[git]", "[git]\non_dirty = \"refuse\"");
    project.write(".ralph.toml", &refuse);
    project.write("code.txt", "mine\n");
    let run = project.ralph(&["run"]).expect_code(1);
    let named = "the working tree has uncommitted changes: code.txt\n";
    assert!(run.stderr.contains(named), "{}", run.stderr);
    project.write(".ralph.toml", &toml);
    let run = project.ok(&["run"]);
    assert!(run.stdout.contains("code.txt was not committed: "), "{}", run.stdout);
    assert_eq!(files_of(&project, "HEAD"), ["half.txt", "rest.txt"]);
}

#[test]
fn what_a_killed_run_left_is_committed_with_the_task() {
    let project = project(&format!("{IN_TWO_RUNS}; {DONE}"), "commit = \"on-success\"");
    project.add(&["A", "--key", "a"]);
    let mut run = project.start(&["run", "--quiet"]);
    eventually("the agent begins", || project.path("../begun").exists());
    run.kill().unwrap();
    run.wait().unwrap();
    project.write("../stopped", "");
    // Another command may find the lost attempt first.
    project.ok(&["task", "list"]);
    expect_all_in_one_commit(&project);
}

#[test]
fn an_agent_that_leaves_the_branch_is_brought_back() {
    for leave in ["git checkout -q main", "git checkout -q --detach"] {
        let agent = format!("{leave}; echo x > \"$RALPH_TASK_KEY\"; {DONE}");
        let project = project(&agent, "commit = \"on-success\"\nbranch = \"night\"");
        let main = project.git(&["rev-parse", "main"]);
        project.add(&["A", "--key", "a"]);
        project.add(&["B", "--key", "b"]);
        let run = project.ok(&["run"]);
        assert!(run.stdout.contains("Ralph switched back to night"), "{}", run.stdout);
        assert_eq!(project.git(&["rev-parse", "main"]), main, "{leave}");
        assert_eq!(project.git(&["branch", "--show-current"]), "night\n");
        assert_eq!(files_of(&project, "night~1"), ["a"]);
        assert_eq!(files_of(&project, "night"), ["b"]);
        expect_own_work_untouched(&project);
    }
}

#[test]
fn a_merge_that_an_attempt_left_unfinished_is_no_other_tasks_trouble() {
    for rollback in ["rollback = \"reset\"", ""] {
        for begin in ["git merge side", "git rebase side"] {
            let agent = format!(
                "if [ ! -e ../tried ]; then touch ../tried; {begin}; {FAILED}; exit 0; fi
                 git checkout -q code.txt; echo x > \"$RALPH_TASK_KEY\"; {DONE}"
            );
            let project = project(&agent, &format!("commit = \"on-success\"\n{rollback}"));
            diverge(&project);
            project.add(&["A", "--key", "a"]);
            project.add(&["B", "--key", "b"]);
            let run = project.ok(&["run"]);
            let told = run.stdout.contains("in progress; Ralph aborted it");
            assert!(told, "{begin} {rollback} {}", run.stdout);
            assert_eq!(project.history().len(), 3);
            assert_eq!(project.git(&["branch", "--show-current"]), "main\n");
            assert_eq!(project.read("code.txt"), "main\n", "{begin} {rollback}");
            assert_eq!(files_of(&project, "HEAD"), ["b"]);
        }
    }
}

#[test]
fn what_a_hook_puts_into_a_commit_is_named() {
    let project = project(&format!("{WORK}; {DONE}"), "commit = \"on-success\"");
    hook(&project, "pre-commit", "git add notes.txt");
    project.add(&["A"]);
    let run = project.ok(&["run"]);
    let named = "a hook added files to its commit: notes.txt";
    assert!(run.stdout.contains(named), "{}", run.stdout);
}

#[test]
fn an_index_that_stays_locked_is_nobodys_failure() {
    let agent = format!("{WORK}; touch .git/index.lock; {DONE}");
    let project = project(&agent, "commit = \"on-success\"");
    project.add(&["A", "--key", "a"]);
    let run = project.ralph(&["run"]).expect_code(1);
    assert!(
        run.stderr.contains("git is locked") && run.stderr.contains("index.lock exists"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("if no git process is running, remove it"), "{}", run.stderr);
    assert_eq!(project.history()[0]["counted"], false);
    assert_eq!(project.status_of("a"), "pending");
}

#[test]
fn what_was_kept_for_a_killed_run_is_named() {
    let agent = "touch ../begun; rm notes.txt; git add -A; sleep 60";
    let project = project(agent, "rollback = \"reset\"");
    project.add(&["A", "--key", "a"]);
    let mut run = project.start(&["run", "--quiet"]);
    eventually("the agent begins", || !project.path("notes.txt").exists());
    run.kill().unwrap();
    run.wait().unwrap();
    project.write("agent.sh", &format!("cat > /dev/null\ntouch made.txt\n{DONE}"));
    let run = project.ok(&["run", "a"]);
    let name = run.stdout.split("refs/ralph/kept/").nth(1).expect(&run.stdout);
    let name = name.split(';').next().unwrap();
    let kept = format!("refs/ralph/kept/{name}:notes.txt");
    assert_eq!(project.git(&["show", &kept]), "untracked\n");
}

#[test]
fn trouble_with_git_stops_a_run_before_the_first_attempt() {
    let project = project(&format!("{WORK}; {DONE}"), "commit = \"on-success\"");
    project.add(&["Add four"]);
    let home = project.root().join("../home/.gitconfig");
    let known = fs::read_to_string(&home).unwrap();
    fs::write(&home, "[user]\nuseConfigOnly = true\n").unwrap();
    let run = project.ralph(&["run"]).expect_code(1);
    assert!(run.stderr.contains("git has no author identity"), "{}", run.stderr);
    assert!(run.stderr.contains("git config user.email"), "{}", run.stderr);
    assert!(project.history().is_empty(), "an attempt was burnt");
    fs::write(&home, known).unwrap();
    project.ok(&["run"]);
    assert_eq!(project.history().len(), 1);
}
