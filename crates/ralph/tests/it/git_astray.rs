//! Agents that leave git in a state nobody asked for, runs that are stopped at bad moments: no work is lost.

use std::fs;

use crate::run::DONE;
use crate::support::{Project, eventually};

/// A repository on `main` with one commit and a branch `side` that conflicts.
fn project(agent: &str, git: &str) -> Project {
    let project = Project::with_git();
    project.agent(agent);
    project.set("git", git);
    let home = project.root().join("../home/.gitconfig");
    fs::write(home, "[user]\nname = t\nemail = t@localhost\n").unwrap();
    project.write("code.txt", "start\n");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "start"]);
    project.git(&["checkout", "-qb", "side"]);
    project.write("code.txt", "side\n");
    project.git(&["commit", "-qam", "side"]);
    project.git(&["checkout", "-q", "main"]);
    project.write("code.txt", "main\n");
    project.git(&["commit", "-qam", "main"]);
    project.add(&["A", "--key", "a"]);
    project
}

fn files_of(project: &Project, commit: &str) -> Vec<String> {
    let shown = project.git(&["show", "--name-only", "--format=", commit]);
    shown.lines().map(str::to_owned).collect()
}

/// The first reference to undone work.
#[track_caller]
fn saved(project: &Project) -> String {
    let all = project.git(&["for-each-ref", "--format=%(refname)", "refs/ralph/rollback/"]);
    all.lines().next().unwrap().to_owned()
}

#[test]
fn what_is_left_in_a_rebase_is_not_done_and_not_lost() {
    for git in ["rollback = \"stash\"", "commit = \"on-success\""] {
        let agent = format!("git rebase side; echo both > code.txt; echo new > new.txt; {DONE}");
        let project = project(&agent, git);
        let run = project.ralph(&["run", "--once"]).expect_code(4);
        assert!(run.stdout.contains("a rebase in progress"), "{}", run.stdout);
        let tried = &project.history()[0];
        assert_eq!(tried["outcome"], "failed", "{git} {tried}");
        assert_eq!(project.git(&["branch", "--show-current"]), "main\n");
        assert_eq!(project.read("code.txt"), "main\n", "{git}");
        let saved = saved(&project);
        for (file, text) in [("code.txt", "both\n"), ("new.txt", "new\n")] {
            let shown = project.git(&["show", &format!("{saved}:{file}")]);
            assert_eq!(shown, text, "{git}");
        }
    }
}

#[test]
fn work_that_an_agent_committed_on_a_branch_of_its_own_is_taken_along() {
    let agent = format!("git checkout -qb own; echo x > new.txt; git add .; git commit -qm own; {DONE}");
    let project = project(&agent, "commit = \"on-success\"");
    project.ok(&["run"]);
    assert_eq!(project.git(&["branch", "--show-current"]), "main\n");
    assert_eq!(files_of(&project, "main"), ["new.txt"]);
}

#[test]
fn work_that_was_committed_where_it_cannot_be_taken_from_is_not_done() {
    let agent = format!("git checkout -q side; echo x > new.txt; git add .; git commit -qm x; {DONE}");
    let project = project(&agent, "commit = \"on-success\"");
    project.ralph(&["run", "--once"]).expect_code(4);
    let prompt = project.ok(&["context", "a"]).stdout;
    assert!(prompt.contains("committed on side instead of main"), "{prompt}");
    assert_eq!(project.git(&["branch", "--show-current"]), "main\n");
}

#[test]
fn a_run_that_was_killed_off_its_branch_goes_on_where_it_began() {
    let agent = format!(
        "if [ -e ../killed ]; then {DONE}; exit; fi
         git checkout -qb own; echo x > new.txt; touch ../begun; sleep 60"
    );
    let project = project(&agent, "commit = \"on-success\"");
    let mut run = project.start(&["run", "--quiet"]);
    eventually("the agent begins", || project.path("../begun").exists());
    run.kill().unwrap();
    run.wait().unwrap();
    project.write("../killed", "");
    project.ok(&["run"]);
    assert_eq!(project.git(&["branch", "--show-current"]), "main\n");
    assert_eq!(files_of(&project, "main"), ["new.txt"]);
}

#[test]
fn what_somebody_moved_here_after_a_kill_is_theirs() {
    let agent = format!(
        "if [ -e ../killed ]; then {DONE}; exit; fi
         echo x > new.txt; touch ../begun; sleep 60"
    );
    let project = project(&agent, "commit = \"on-success\"");
    project.write("../mine.txt", "mine\n");
    let mut run = project.start(&["run", "--quiet"]);
    eventually("the agent begins", || project.path("../begun").exists());
    run.kill().unwrap();
    run.wait().unwrap();
    project.write("../killed", "");
    // Longer than an agent may write after its last word.
    std::thread::sleep(std::time::Duration::from_secs(7));
    fs::rename(project.path("../mine.txt"), project.path("mine.txt")).unwrap();
    project.ok(&["run"]);
    assert_eq!(files_of(&project, "main"), ["new.txt"]);
    assert_eq!(project.read("mine.txt"), "mine\n");
}

#[test]
fn what_a_failed_attempt_left_is_committed_by_the_next_run() {
    let agent = format!("if [ -e new.txt ]; then touch ok; else echo x > new.txt; fi; {DONE}");
    let project = project(&agent, "commit = \"on-success\"");
    project.ok(&["task", "edit", "a", "--verify", "test -e ok"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    project.ok(&["run"]);
    assert_eq!(files_of(&project, "main"), ["new.txt", "ok"]);
}

#[test]
fn a_commit_that_was_interrupted_is_made_by_the_next_run() {
    let project = project(&format!("echo x > new.txt; {DONE}"), "commit = \"on-success\"");
    let hook = ".git/hooks/pre-commit";
    script(&project, hook, "touch ../hooked; sleep 60");
    project.ok(&["run", "--detach"]);
    eventually("the hook runs", || project.path("../hooked").exists());
    project.ok(&["stop"]);
    fs::remove_file(project.path(hook)).unwrap();
    project.ok(&["run"]);
    assert_eq!(files_of(&project, "main"), ["new.txt"]);
}

#[test]
fn a_repository_further_up_is_not_taken_for_one_that_is_gone() {
    let agent = format!("rm -rf .git; echo x > new.txt; {DONE}");
    let project = project(&agent, "commit = \"on-success\"");
    let outer = project.root().join("..").display().to_string();
    let in_outer = |args: &[&str]| {
        let args: Vec<&str> = ["-C", &outer].into_iter().chain(args.iter().copied()).collect();
        project.git(&args)
    };
    in_outer(&["init", "-q", "-b", "main"]);
    in_outer(&["commit", "-q", "--allow-empty", "-m", "outer"]);
    in_outer(&["checkout", "-qb", "home"]);
    project.ralph(&["run", "--once"]);
    assert_eq!(in_outer(&["branch", "--show-current"]), "home\n");
    assert_eq!(in_outer(&["log", "--format=%s"]), "outer\n");
}

#[test]
fn two_runs_at_once_commit_each_tasks_work_and_take_none_out() {
    for hook in [false, true] {
        let agent = format!("echo w > \"f$RALPH_TASK_KEY\"; sleep 0.2; {DONE}");
        let project = project(&agent, "commit = \"on-success\"");
        if hook {
            script(&project, ".git/hooks/pre-commit", "sleep 0.1");
        }
        for n in 0..8 {
            let (key, gate) = (format!("k{n}"), format!("test -f fk{n}"));
            project.add(&["B", "--key", &key, "--verify", &gate]);
        }
        let mut runs = [0, 1].map(|_| project.start(&["run", "--quiet"]));
        for run in &mut runs {
            assert!(run.wait().unwrap().success());
        }
        let files = project.git(&["ls-tree", "--name-only", "HEAD"]);
        for n in 0..8 {
            let file = format!("fk{n}");
            assert!(files.lines().any(|line| line == file), "{hook} {files}");
        }
        let counted = project.history();
        assert_eq!(counted.len(), 9, "{hook}: nobody failed for the other");
        assert_eq!(project.git(&["status", "--short"]), "");
    }
}

/// Writes a script that can be run.
fn script(project: &Project, path: &str, text: &str) {
    project.write(path, &format!("#!/bin/sh\n{text}\n"));
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(project.path(path), mode).unwrap();
}

#[test]
fn a_kill_right_after_a_commit_does_not_take_it_out_again() {
    let agent = format!("echo x > new.txt; echo more >> code.txt; {DONE}");
    let project = project(&agent, "commit = \"on-success\"");
    script(&project, ".git/hooks/post-commit", "touch ../committed; sleep 60");
    let mut run = project.start(&["run", "--quiet"]);
    eventually("the commit is made", || project.path("../committed").exists());
    run.kill().unwrap();
    run.wait().unwrap();
    fs::remove_file(project.path(".git/hooks/post-commit")).unwrap();
    project.ok(&["run"]);
    let files = project.git(&["ls-tree", "--name-only", "HEAD"]);
    assert!(files.contains("new.txt"), "{files}");
    assert_eq!(project.git(&["status", "--short"]), "");
    // The commit is that attempt's; nothing is done again.
    assert_eq!(project.history().len(), 1);
    assert_eq!(project.status_of("a"), "done");
}
