//! Working trees of workers: made once, reused, prepared, shown and removed.

use std::fs;

use serde_json::json;

use super::{DONE, add_tasks, branch, files_on, project, trees_dir, writes_own_file};
use crate::support::eventually;

#[test]
fn trees_are_reused_and_ignored_files_stay() {
    let project = project(&format!(
        "mkdir -p cache; echo \"$RALPH_TASK_KEY\" >> cache/log; echo x > \"$RALPH_TASK_KEY.txt\"; {DONE}"
    ));
    project.write(".gitignore", "cache/\n");
    project.git(&["add", ".gitignore"]);
    project.git(&["commit", "-qm", "ignore"]);
    project.set("run", "isolate = true");
    add_tasks(&project, 3);
    project.ok(&["run"]);
    let trees: Vec<_> = fs::read_dir(trees_dir(&project)).unwrap().flatten().collect();
    assert_eq!(trees.len(), 1);
    let log = fs::read_to_string(trees[0].path().join("cache/log")).unwrap();
    assert_eq!(log, "k1\nk2\nk3\n");
    project.add(&["More", "--key", "k4", "--verify", "test -f k4.txt"]);
    project.ok(&["run"]);
    let log = fs::read_to_string(trees[0].path().join("cache/log")).unwrap();
    assert_eq!(log, "k1\nk2\nk3\nk4\n");
    assert_eq!(fs::read_dir(trees_dir(&project)).unwrap().count(), 1);
}

#[test]
fn a_new_tree_gets_files_that_git_does_not_have_and_its_set_up() {
    let project = project(&format!("cat .env set-up > \"$RALPH_TASK_KEY.txt\"; {DONE}"));
    project.write(".gitignore", ".env\nset-up\n");
    project.git(&["add", ".gitignore"]);
    project.git(&["commit", "-qm", "ignore"]);
    project.write(".env", "TOKEN=1\n");
    project.configure("[worktree]\ncopy = [\".env\"]\nsetup = \"echo once >> set-up\"");
    project.set("run", "isolate = true");
    add_tasks(&project, 2);
    project.ok(&["run"]);
    let branch = branch(&project);
    assert_eq!(project.git(&["show", &format!("{branch}:k2.txt")]), "TOKEN=1\nonce\n");
    // A set-up that fails is told with what it said.
    let broken = self::project(DONE);
    broken.configure("[worktree]\nsetup = \"echo no network; exit 3\"");
    broken.set("run", "isolate = true");
    add_tasks(&broken, 1);
    let run = broken.ralph(&["run"]).expect_code(1);
    assert!(run.stderr.contains("no network") && run.stderr.contains("[worktree]"), "{}", run.stderr);
    assert_eq!(broken.history().len(), 0);
}

#[test]
fn trees_are_listed_and_removed_but_never_with_unsaved_work() {
    let project = project(&writes_own_file());
    assert_eq!(project.json(&["worktrees", "list", "--json"]), json!([]));
    project.set("run", "isolate = true");
    add_tasks(&project, 1);
    project.ok(&["run"]);
    let tree = trees_dir(&project).join("w1");
    let listed = project.json(&["worktrees", "list", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!((&listed[0]["worker"], &listed[0]["changed"]), (&json!(null), &json!([])));
    fs::write(tree.join("mine.txt"), "x").unwrap();
    let kept = project.ok(&["worktrees", "clean"]);
    assert!(kept.stdout.contains("unsaved work: mine.txt") && kept.stderr.contains("--force"), "{kept:?}");
    assert!(tree.exists());
    let removed = project.ok(&["worktrees", "clean", "--force"]);
    assert!(removed.stdout.contains("lost: mine.txt"), "{}", removed.stdout);
    assert!(!tree.exists());
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
    // The next run makes it again.
    project.add(&["More", "--key", "k2", "--verify", "test -f k2.txt"]);
    project.ok(&["run"]);
    assert!(files_on(&project, &branch(&project)).contains("k2.txt"));
}

#[test]
fn a_tree_of_a_repository_that_was_made_anew_is_made_anew() {
    let project = project(&writes_own_file());
    project.set("run", "isolate = true");
    add_tasks(&project, 1);
    project.ok(&["run"]);
    fs::remove_dir_all(project.path(".git")).unwrap();
    project.git(&["init", "-q", "-b", "main"]);
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "again"]);
    project.add(&["More", "--key", "k2", "--verify", "test -f k2.txt"]);
    project.ok(&["run"]);
    assert!(files_on(&project, &branch(&project)).contains("k2.txt"));
}

#[test]
fn a_tree_in_use_is_kept_and_commands_in_it_find_the_project() {
    let project = project(&format!(
        "touch \"$RALPH_PROJECT/.ralph/began\"; {} task show \"$RALPH_TASK_ID\" --json > \"$RALPH_PROJECT/.ralph/shown\"; \
         until [ -e \"$RALPH_PROJECT/go\" ]; do sleep 0.05; done; echo x > k1.txt; {DONE}",
        env!("CARGO_BIN_EXE_ralph")
    ));
    project.set("run", "isolate = true");
    add_tasks(&project, 1);
    let mut run = project.start(&["run", "--quiet"]);
    eventually("the agent looks", || {
        project.path(".ralph/shown").metadata().is_ok_and(|meta| meta.len() > 0)
    });
    let kept = project.ok(&["worktrees", "clean", "--force"]);
    assert!(kept.stdout.contains("w1 of run"), "{}", kept.stdout);
    fs::write(project.path("go"), "").unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert!(project.read(".ralph/shown").contains("\"k1\""));
}

#[test]
fn two_runs_share_no_tree() {
    let project = project(&format!(
        "touch \"$RALPH_PROJECT/.ralph/began-$RALPH_TASK_KEY\"; until [ -e \"$RALPH_PROJECT/go\" ]; do sleep 0.05; done; \
         pwd > \"$RALPH_TASK_KEY.txt\"; {DONE}"
    ));
    add_tasks(&project, 4);
    let runs = [project.start(&["run", "-j", "2", "--quiet"]), project.start(&["run", "-j", "2", "--quiet"])];
    let began = |n: usize| project.path(format!(".ralph/began-k{n}")).exists();
    eventually("four attempts begin", || (1..=4).all(began));
    assert_eq!(fs::read_dir(trees_dir(&project)).unwrap().count(), 4);
    fs::write(project.path("go"), "").unwrap();
    for mut run in runs {
        assert_eq!(run.wait().unwrap().code(), Some(0));
    }
    assert_eq!(project.json(&["status", "--json"])["tasks"]["done"], json!(4));
}
