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
fn trees_that_cannot_be_read_are_kept_and_commits_of_deleted_ones_are_saved() {
    let project = project(&writes_own_file());
    add_tasks(&project, 2);
    project.set("run", "isolate = true");
    project.ok(&["run"]);
    let tree = trees_dir(&project).join("w1");
    for broken in ["gitdir: /nowhere\n", "no such line\n"] {
        fs::write(tree.join(".git"), broken).unwrap();
        let listed = project.json(&["worktrees", "list", "--json"]);
        assert!(listed[0]["unreadable"].is_string(), "{listed}");
        let kept = project.ok(&["worktrees", "clean"]);
        assert!(kept.stdout.contains("it has unsaved work: unknown"), "{}", kept.stdout);
        assert!(tree.join("k1.txt").exists());
    }
    let removed = project.ok(&["worktrees", "clean", "--force"]);
    assert!(removed.stdout.contains("lost: unknown"), "{}", removed.stdout);
    assert!(!tree.exists());
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
    // One that somebody deletes with a commit in it that is nowhere else; another's own tree that is away stays known.
    let others = project.root().join("../on-a-stick");
    project.git(&["worktree", "add", "-q", &others.display().to_string(), "-b", "stick"]);
    fs::rename(&others, project.root().join("../away")).unwrap();
    for (n, clean) in [(3, true), (4, false)] {
        project.add(&["More", "--key", &format!("k{n}"), "--verify", &format!("test -f k{n}.txt")]);
        project.ok(&["run"]);
        project.git(&[
            "-C",
            &tree.display().to_string(),
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "an agent's",
        ]);
        let commit = project.git(&["-C", &tree.display().to_string(), "rev-parse", "HEAD"]);
        fs::remove_dir_all(&tree).unwrap();
        let told = if clean {
            assert_eq!(project.json(&["worktrees", "list", "--json"])[0]["is_gone"], json!(true));
            project.ok(&["worktrees", "clean"]).stdout
        } else {
            project.add(&["Again", "--key", "k5", "--verify", "test -f k5.txt"]);
            project.ok(&["run"]).stdout
        };
        let (_, saved) = told.split_once("saved at ").unwrap_or_else(|| panic!("{told}"));
        let saved = saved.lines().next().unwrap();
        assert_eq!(project.git(&["rev-parse", saved]), commit);
    }
    assert!(project.git(&["worktree", "list"]).contains("on-a-stick"));
}

#[test]
fn an_edit_of_ralphs_own_files_that_cannot_be_brought_into_the_project_is_saved() {
    let project = project(&format!(
        "if [ \"$RALPH_TASK_KEY\" = k1 ]; then printf 'kept \\377\\n' > AGENTS.md; fi; echo x > \"$RALPH_TASK_KEY.txt\"; {DONE}"
    ));
    project.set("run", "isolate = true");
    add_tasks(&project, 2);
    let run = project.ok(&["run"]);
    assert!(
        run.stdout.contains("cannot bring the agent's edit of AGENTS.md into the project"),
        "{}",
        run.stdout
    );
    let (_, saved) = run.stdout.split_once("saved at ").unwrap_or_else(|| panic!("{}", run.stdout));
    let saved = saved.lines().next().unwrap();
    assert!(project.git(&["show", &format!("{saved}:AGENTS.md")]).starts_with("kept "));
    assert!(!files_on(&project, &branch(&project)).contains("AGENTS.md"));
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
