//! Git turned against the run: programs that sleep, pipes in the place of git's files, surroundings that fail.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use crate::run::DONE;
use crate::support::{Project, eventually};

const COMMIT: &str = "commit = \"on-success\"";

/// A repository on `main` with one commit and a person who signs.
fn project(agent: &str, git: &str) -> Project {
    let project = Project::with_git();
    project.agent(agent);
    project.set("git", git);
    let home = project.root().join("../home/.gitconfig");
    fs::write(home, "[user]\nname = t\nemail = t@localhost\n").unwrap();
    project.write("code.txt", "start\n");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "start"]);
    project
}

fn subjects(project: &Project) -> Vec<String> {
    let log = project.git(&["log", "--format=%s"]);
    log.lines().map(str::to_owned).collect()
}

fn files_of(project: &Project, commit: &str) -> Vec<String> {
    let shown = project.git(&["show", "--name-only", "--format=", commit]);
    shown.lines().map(str::to_owned).collect()
}

fn run_in_background(project: &Project) -> Child {
    let mut command = project.command(&["run"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn a_filter_that_an_attempt_makes_and_that_sleeps_holds_no_night_up() {
    // In the repository's own attributes, where git reads it on every look at the tree.
    let attack =
        "git config filter.slow.clean 'sleep 1000'; git config filter.slow.process 'sleep 1000'
        git config --global filter.wide.clean 'sleep 1000'
        git config core.fsmonitor 'sleep 1000'; git config diff.external 'sleep 1000'
        printf '#!/bin/sh\\nsleep 1000\\n' > .git/hooks/reference-transaction
        chmod +x .git/hooks/reference-transaction
        cp .git/hooks/reference-transaction .git/hooks/post-index-change
        echo 'code.txt filter=slow' >> .git/info/attributes; echo '*.sh filter=wide' >> .git/info/attributes; touch agent.sh; echo other > code.txt";
    let failed = "echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"";
    let agent = format!(
        "if [ $RALPH_TASK_KEY = a ] && [ $RALPH_ATTEMPT = 1 ]; then {attack}; {failed}; else {DONE}; fi"
    );
    let project = project(&agent, "rollback = \"reset\"");
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b"]);
    let run = project.ok(&["run"]);
    for part in [
        "the attempt changed git",
        ".git/config: core.fsmonitor, diff.external, filter.slow.clean, filter.slow.process",
        "/.gitconfig: filter.wide.clean",
        ".git/hooks: post-index-change, reference-transaction",
        ".git/info/attributes",
    ] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    assert!(!run.stdout.contains("sleep 1000"), "{}", run.stdout);
    assert_eq!(project.read("code.txt"), "start\n");
    assert_eq!(project.history().len(), 3);
}

#[test]
fn a_program_that_an_attempt_makes_and_that_holds_the_commit_up_blocks_its_task_at_once() {
    let attributes = "echo '*.txt filter=slow' > .gitattributes";
    let hook = |name: &str| {
        format!("printf '#!/bin/sh\\nsleep 1000\\n' > .git/hooks/{name}; chmod +x .git/hooks/{name}")
    };
    let attacks = [
        (
            format!("git config filter.slow.clean 'sleep 1000'; {attributes}"),
            "remove filter slow from .git/config, then `ralph run a`",
        ),
        (
            format!("git config --global filter.slow.process 'sleep 1000'; {attributes}"),
            "home/.gitconfig, then `ralph run a`",
        ),
        (
            format!(
                "git config filter.slow.clean false; git config filter.slow.required true; {attributes}"
            ),
            "remove filter slow from .git/config, then `ralph run a`",
        ),
        (
            hook("pre-commit"),
            "remove .git/hooks/pre-commit, then `ralph run a`",
        ),
        (
            "printf '#!/bin/sh\\nkill -9 $PPID\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit".to_owned(),
            "remove .git/hooks/pre-commit, then `ralph run a`",
        ),
        (
            "mkdir .h; printf '#!/bin/sh\\nsleep 1000\\n' > .h/commit-msg; chmod +x .h/commit-msg; git config core.hooksPath .h".to_owned(),
            "remove core.hooksPath from .git/config, then `ralph run a`",
        ),
        (
            "git config commit.gpgsign true; git config gpg.program false".to_owned(),
            "remove commit.gpgsign from .git/config, remove gpg.program from .git/config, then `ralph run a`",
        ),
    ];
    for (attack, fix) in attacks {
        let agent =
            format!("if [ $RALPH_TASK_KEY = a ]; then {attack}; fi; echo x > $RALPH_TASK_KEY.txt; {DONE}");
        let project = project(&agent, COMMIT);
        project.set("gate", "timeout = \"6s\"");
        project.add(&["A", "--key", "a"]);
        project.add(&["B", "--key", "b"]);
        let run = project.ralph(&["run"]).expect_code(5);
        assert!(run.stdout.contains("added during this run: "), "{}", run.stdout);
        let warned = "later commits of this run skip it";
        assert!(run.stdout.contains(warned), "{attack}: {}", run.stdout);
        let history = project.history();
        assert_eq!(history.len(), 2, "{attack}");
        assert_eq!(history[0]["counted"], true, "{attack}");
        let task = project.task("a");
        let reason = task["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(fix), "{attack}: {task}");
        // The night goes on: what held the first commit up does not run in the next.
        assert_eq!(project.status_of("b"), "done", "{attack}");
        assert_eq!(subjects(&project), ["b: B", "start"], "{attack}");
    }
}

#[test]
fn the_night_goes_on_after_a_filter_that_sleeps_and_the_fix_it_names_is_enough() {
    let attack = "git config filter.slow.clean 'sleep 1000'; echo '*.slow filter=slow' > .gitattributes; echo x > a.slow";
    let agent = format!(
        "if [ $RALPH_TASK_KEY = a ] && [ ! -e ../once ]; then touch ../once; {attack}; else echo x > $RALPH_TASK_KEY.txt; fi; {DONE}"
    );
    let project = project(&agent, &format!("{COMMIT}\nrollback = \"reset\""));
    project.set("gate", "timeout = \"8s\"");
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b"]);
    let run = project.ralph(&["run"]).expect_code(5);
    assert!(run.stdout.contains("; .gitattributes"), "{}", run.stdout);
    assert_eq!(project.status_of("a"), "blocked");
    assert_eq!(project.status_of("b"), "done");
    assert_eq!(subjects(&project), ["b: B", "start"]);
    assert_eq!(files_of(&project, "HEAD"), ["b.txt"]);
    project.git(&["config", "--remove-section", "filter.slow"]);
    project.ok(&["run", "a"]);
    assert_eq!(subjects(&project), ["a: A", "b: B", "start"]);
}

#[test]
fn a_hook_that_sleeps_after_the_commit_runs_once() {
    let hook = "printf '#!/bin/sh\\ntouch \"../slept-$RALPH_TASK_KEY\"; sleep 1000\\n' > .git/hooks/post-commit; chmod +x .git/hooks/post-commit";
    let agent = format!("if [ $RALPH_TASK_KEY = a ]; then {hook}; fi; echo x > $RALPH_TASK_KEY.txt; {DONE}");
    let project = project(&agent, COMMIT);
    project.set("gate", "timeout = \"6s\"");
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b"]);
    let run = project.ok(&["run"]);
    let warned = "later commits skip it: remove .git/hooks/post-commit";
    assert!(run.stdout.contains(warned), "{}", run.stdout);
    assert!(project.path("../slept-a").exists());
    assert!(!project.path("../slept-b").exists());
    assert_eq!(subjects(&project), ["b: B", "a: A", "start"]);
}

#[test]
fn a_hook_that_an_attempt_makes_and_that_refuses_is_named_to_the_next_attempt() {
    let hook =
        "printf '#!/bin/sh\\n[ -e clean.txt ]\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit";
    let agent =
        format!("if [ $RALPH_ATTEMPT = 1 ]; then {hook}; echo x > a.txt; else touch clean.txt; fi; {DONE}");
    let project = project(&agent, COMMIT);
    project.add(&["A", "--key", "a"]);
    project.ok(&["run"]);
    let prompt = project.read(".ralph/last-prompt");
    let named = "added during this run: hook .git/hooks/pre-commit";
    assert!(prompt.contains(named), "{prompt}");
    assert_eq!(subjects(&project), ["a: A", "start"]);
}

#[test]
fn a_configuration_that_git_cannot_read_is_nobodys_failure() {
    for (git, garbage) in [
        (COMMIT, "[garbage"),
        ("rollback = \"reset\"", "[core\\n]]]"),
        ("commit = \"on-success\"\nrollback = \"reset\"", "\\0\\0"),
        ("", "= 3"),
    ] {
        let attack = format!("cp .git/config ../good; printf '{garbage}' > .git/config");
        let project = project(&twice(&attack), git);
        project.add(&["A", "--key", "a"]);
        project.add(&["B", "--key", "b"]);
        let run = project.ralph(&["run"]).expect_code(1);
        for part in ["git cannot read its configuration", "git config --list"] {
            assert!(run.stderr.contains(part), "{garbage}: {}", run.stderr);
        }
        let history = project.history();
        assert_eq!(history.len(), 1, "{garbage}");
        assert_eq!(
            history[0]["counted"],
            git != COMMIT && !git.contains("commit"),
            "{garbage}: {}",
            history[0]
        );
        // The next run sees it before it does anything.
        let run = project.ralph(&["run"]).expect_code(1);
        assert!(run.stderr.contains("git cannot read its configuration"), "{garbage}: {}", run.stderr);
        assert_eq!(project.history().len(), 1, "{garbage}");
        fs::rename(project.path("../good"), project.path(".git/config")).unwrap();
        project.ok(&["run"]);
        if git.contains("commit") {
            let log = project.git(&["log", "--name-only", "--format="]);
            assert!(log.contains("first.txt"), "{garbage}: {log}");
        }
    }
}

#[test]
fn what_a_person_defined_before_the_run_works_as_ever() {
    let agent = format!("echo quiet > new.txt; {DONE}");
    let project = project(&agent, COMMIT);
    project.git(&["config", "filter.loud.clean", "tr a-z A-Z"]);
    project.git(&["config", "filter.loud.smudge", "tr A-Z a-z"]);
    project.write(".git/info/attributes", "new.txt filter=loud\n");
    project.add(&["A", "--key", "a"]);
    let run = project.ok(&["run"]);
    assert!(!run.stdout.contains("the attempt changed git"), "{}", run.stdout);
    assert_eq!(project.git(&["show", "HEAD:new.txt"]), "QUIET\n");
    assert!(!project.git(&["status", "--porcelain"]).contains("new.txt"));
}

#[test]
fn a_git_that_does_not_answer_ends_the_run_and_says_why() {
    let agent = format!("touch ../slow; echo other > code.txt; {DONE}");
    let project = project(&agent, COMMIT);
    project.set("git", "query_timeout = \"6s\"");
    // A person's own filter: it stays on.
    let filter = "if [ -e ../slow ]; then sleep 1000; fi; cat";
    project.git(&["config", "filter.slow.clean", filter]);
    project.write(".git/info/attributes", "code.txt filter=slow\n");
    project.add(&["A", "--key", "a"]);
    let run = project.ralph(&["run"]).expect_code(1);
    for part in ["git status", "timed out after", "sleep 1000", "query_timeout"] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    // Nobody is to blame, and the work is the task's when git answers again.
    let history = project.history();
    assert_eq!(history[0]["counted"], false, "{}", history[0]);
    project.git(&["config", "--unset", "filter.slow.clean"]);
    let run = project.ok(&["run"]);
    assert!(!run.stdout.contains("uncommitted changes at start"), "{}", run.stdout);
    assert_eq!(subjects(&project), ["a: A", "start"]);
    assert_eq!(files_of(&project, "HEAD"), ["code.txt"]);
}

#[test]
fn a_git_that_does_not_answer_can_be_interrupted() {
    let agent = format!("echo other > code.txt; {DONE}");
    let project = project(&agent, "query_timeout = \"1h\"");
    project.git(&["config", "filter.slow.clean", "touch ../asleep; sleep 1000"]);
    project.write(".git/info/attributes", "code.txt filter=slow\n");
    project.add(&["A", "--key", "a"]);
    let mut run = run_in_background(&project);
    eventually("git waits for the filter", || project.path("../asleep").exists());
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut code = None;
    eventually("the run ends", || {
        code = run.try_wait().unwrap();
        code.is_some()
    });
    assert_eq!(code.unwrap().code(), Some(130));
}

#[test]
fn a_pipe_in_the_place_of_gits_files_ends_the_run_and_is_named() {
    for (file, git) in [
        (".git/index", COMMIT),
        (".git/HEAD", COMMIT),
        (".git/ralph-committing", COMMIT),
        (".git/config", ""),
        (".git/packed-refs", "rollback = \"reset\""),
        (".gitignore", ""),
    ] {
        let agent = format!("rm -f {file}; mkfifo {file}; {DONE}");
        let project = project(&agent, git);
        project.add(&["A", "--key", "a"]);
        project.add(&["B", "--key", "b"]);
        let run = project.ralph(&["run"]).expect_code(1);
        assert!(run.stderr.contains(file), "{file}: {}", run.stderr);
        assert!(run.stderr.contains(" hint: "), "{file}: {}", run.stderr);
        assert_eq!(project.history().len(), 1, "{file}");
        // The next run sees it before it does anything.
        let run = project.ralph(&["run"]).expect_code(1);
        assert!(run.stderr.contains(file), "{file}: {}", run.stderr);
    }
}

#[test]
fn a_pipe_deep_in_the_tree_is_named_when_git_does_not_answer() {
    let agent = format!("mkdir -p deep/er; mkfifo deep/er/.gitignore; echo x > deep/er/x; {DONE}");
    let project = project(&agent, "query_timeout = \"6s\"");
    project.add(&["A", "--key", "a"]);
    let run = project.ralph(&["run"]).expect_code(1);
    let named = "deep/er/.gitignore is not a regular file";
    assert!(run.stderr.contains(named), "{}", run.stderr);
}

#[test]
fn no_directory_for_temporary_files_is_needed() {
    let mut project =
        project(&format!("echo x > new.txt; {DONE}"), &format!("{COMMIT}\nrollback = \"reset\""));
    project.add(&["A", "--key", "a"]);
    project.set_env("TMPDIR", "/nowhere/at/all");
    project.ok(&["run"]);
    assert_eq!(subjects(&project), ["a: A", "start"]);
}

/// The next run commits what an attempt left that could not be committed.
#[track_caller]
fn expect_left_work_is_committed(project: &Project, run: &crate::support::Output, hint: &str) {
    assert!(run.stderr.contains(hint), "{hint}: {}", run.stderr);
    let history = project.history();
    assert_eq!(history.len(), 1);
    assert_eq!(history[0]["counted"], false, "{}", history[0]);
    assert_eq!(project.status_of("a"), "pending");
    assert_eq!(project.read("first.txt"), "x\n");
}

/// Leaves `first.txt` in the first attempt and does something else beside it.
fn twice(attack: &str) -> String {
    format!(
        "if [ ! -e ../tried ]; then touch ../tried; echo x > first.txt; {attack}; else echo y > second.txt; fi; {DONE}"
    )
}

#[test]
fn a_git_that_is_gone_is_nobodys_failure() {
    let mut project = project(&twice("rm ../bin/git"), COMMIT);
    let real = Command::new("sh").args(["-c", "command -v git"]).output().unwrap();
    let real = String::from_utf8(real.stdout).unwrap();
    let bin = project.root().join("../bin");
    fs::create_dir_all(&bin).unwrap();
    for tool in ["sh", "env", "cat", "rm", "touch", "sleep"] {
        let path = Command::new("sh").args(["-c", &format!("command -v {tool}")]).output().unwrap();
        let path = String::from_utf8(path.stdout).unwrap();
        std::os::unix::fs::symlink(path.trim(), bin.join(tool)).unwrap();
    }
    std::os::unix::fs::symlink(real.trim(), bin.join("git")).unwrap();
    project.add(&["A", "--key", "a"]);
    project.set_env("PATH", &bin.display().to_string());
    let run = project.ralph(&["run"]).expect_code(1);
    expect_left_work_is_committed(&project, &run, "check that git is installed");
    std::os::unix::fs::symlink(real.trim(), bin.join("git")).unwrap();
    project.ok(&["run"]);
    assert_eq!(files_of(&project, "HEAD"), ["first.txt", "second.txt"]);
}

#[test]
fn an_identity_that_is_gone_is_nobodys_failure() {
    let project = project(&twice("git config user.name ''"), COMMIT);
    project.add(&["A", "--key", "a"]);
    let run = project.ralph(&["run"]).expect_code(1);
    expect_left_work_is_committed(&project, &run, "git config user.email");
    project.git(&["config", "--unset", "user.name"]);
    project.ok(&["run"]);
    assert_eq!(files_of(&project, "HEAD"), ["first.txt", "second.txt"]);
}

#[test]
fn a_repository_that_git_can_no_longer_use_is_nobodys_failure() {
    for (attack, said, hint) in [
        ("rm -rf .git", "the git repository is gone", "from a backup or a clone"),
        ("rm -rf .git; mkfifo .git", "the git repository is gone", "from a backup or a clone"),
        ("rm -rf .git; git init -q -b main", "the git repository was replaced", "or keep the new one"),
        ("echo junk > .git/HEAD", "not a git repository", "git status"),
        ("rm -rf .git/refs; touch .git/refs", "not a git repository", "git status"),
        ("git config core.bare true", "must be run in a work tree", "git status"),
        ("git config core.worktree /", "its working tree is now /", "git status"),
        ("git config core.repositoryformatversion 99", "99", "git status"),
        (
            "rm .git/config; ln -s config .git/config",
            "git cannot read its configuration",
            "git config --list",
        ),
        ("rm .git/config; mkdir .git/config", ".git/config is not a regular file", "restore the original"),
        ("mv .git/index ..; ln -s ../../index .git/index", ".git/index is not a regular file", "git reset"),
        ("rm .git/index; ln -s /etc/passwd .git/index", ".git/index is not a regular file", "git reset"),
        ("ln -s /nowhere .git/ralph-committing", "ralph-committing", "remove it: rm "),
    ] {
        for git in [COMMIT, "rollback = \"reset\"", "branch = \"main\"\ncommit = \"on-success\""] {
            if attack.contains("ralph-committing") && !git.contains("commit") {
                continue;
            }
            let project = project(&twice(attack), git);
            project.add(&["A", "--key", "a"]);
            project.add(&["B", "--key", "b"]);
            let run = project.ralph(&["run"]).expect_code(1);
            for part in [said, hint] {
                assert!(run.stderr.contains(part), "{attack}, {git}: {}", run.stderr);
            }
            let history = project.history();
            assert_eq!(history.len(), 1, "{attack}, {git}");
            // Without a commit to make the attempt itself went well.
            let is_done = history[0]["outcome"] == "done";
            assert!(is_done || history[0]["counted"] == false, "{attack}, {git}: {}", history[0]);
        }
    }
}

#[test]
fn a_reference_that_stays_locked_is_nobodys_failure() {
    let project = project(&twice("touch .git/refs/heads/main.lock"), COMMIT);
    project.add(&["A", "--key", "a"]);
    let run = project.ralph(&["run"]).expect_code(1);
    expect_left_work_is_committed(&project, &run, "main.lock");
    fs::remove_file(project.path(".git/refs/heads/main.lock")).unwrap();
    project.ok(&["run"]);
    assert_eq!(files_of(&project, "HEAD"), ["first.txt", "second.txt"]);
}

#[test]
fn a_commit_that_is_killed_is_nobodys_failure() {
    let project = project(&twice("touch ../low"), COMMIT);
    let hook = project.path(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\n[ ! -e ../low ] || kill -9 $PPID\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    project.add(&["A", "--key", "a"]);
    let run = project.ralph(&["run"]).expect_code(1);
    expect_left_work_is_committed(&project, &run, "free memory");
    fs::remove_file(project.path("../low")).unwrap();
    project.ok(&["run"]);
    assert_eq!(files_of(&project, "HEAD"), ["first.txt", "second.txt"]);
}

#[test]
fn a_link_that_a_person_put_in_the_place_of_the_index_stops_the_run_before_any_attempt() {
    let project = project(DONE, COMMIT);
    fs::rename(project.path(".git/index"), project.path("../index")).unwrap();
    std::os::unix::fs::symlink("../../index", project.path(".git/index")).unwrap();
    project.add(&["A", "--key", "a"]);
    let run = project.ralph(&["run"]).expect_code(1);
    assert!(run.stderr.contains(".git/index is not a regular file"), "{}", run.stderr);
    assert_eq!(project.history().len(), 0);
    assert!(project.path(".git/index").is_symlink());
}

#[test]
fn a_hook_that_refuses_is_still_the_attempts_failure() {
    let project = project(&twice("true"), COMMIT);
    let hook = project.path(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\n[ -e second.txt ]\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    project.add(&["A", "--key", "a"]);
    project.ok(&["run"]);
    let history = project.history();
    assert_eq!((&history[0]["outcome"], &history[0]["counted"]), (&"failed".into(), &true.into()));
    assert_eq!(files_of(&project, "HEAD"), ["first.txt", "second.txt"]);
}

#[test]
fn an_index_that_an_agent_deletes_leads_to_no_commit_of_deletions() {
    let agent = format!("[ -e new.txt ] || rm -f .git/index; echo x >> new.txt; {DONE}");
    let project = project(&agent, COMMIT);
    project.add(&["A", "--key", "a"]);
    let before = project.git(&["rev-parse", "HEAD"]);
    let run = project.ralph(&["run"]).expect_code(1);
    assert!(run.stderr.contains("git reset"), "{}", run.stderr);
    assert_eq!(project.git(&["rev-parse", "HEAD"]), before);
    project.git(&["reset", "-q"]);
    project.ok(&["run"]);
    let changed = project.git(&["diff", "--name-status", before.trim(), "HEAD"]);
    assert!(!changed.contains("D\t"), "{changed}");
}
