//! Done means landed: conflicts, failures in combination, checkouts of people, and Ralph's own files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::Project;

use super::{DONE, add_tasks, branch, events, files_on, project, writes_own_file};

/// What is uncommitted in the person's tree, Ralph's settings left out.
fn changed(project: &Project) -> String {
    project.git(&["status", "--porcelain", "-uno", "--", ".", ":!.ralph.toml"])
}

/// Two tasks that change the same line, the second of which waits until the first has landed.
fn conflicting() -> String {
    format!(
        "if [ \"$RALPH_TASK_KEY\" = a ]; then until [ -e \"$RALPH_PROJECT/.ralph/waited\" ]; do sleep 0.05; done; fi\n\
         if [ \"$RALPH_TASK_KEY\" = b ] && [ ! -e \"$RALPH_PROJECT/.ralph/waited\" ]; then touch \"$RALPH_PROJECT/.ralph/waited\"; \
         until grep -qs landed \"$RALPH_PROJECT/.ralph/a-landed\"; do sleep 0.05; done; fi\n\
         cp \"$RALPH_PROJECT/.ralph/last-prompt\" \"$RALPH_PROJECT/.ralph/prompt-$RALPH_TASK_KEY\"\n\
         echo \"$RALPH_TASK_KEY\" >> base.txt; {DONE}"
    )
}

#[test]
fn a_conflict_does_not_count_is_remembered_and_the_next_attempt_sees_both_sides() {
    let mut project = project(&conflicting());
    project.set("hooks", "after_attempt = \"case $(cat) in *'\\\"key\\\":\\\"a\\\"'*) echo landed > $RALPH_PROJECT/.ralph/a-landed;; esac\"");
    project.set_env("RALPH_SET_GATE_BASELINE", "off");
    project.add(&["A", "--key", "a", "--verify", "grep -q '^a$' base.txt"]);
    project.add(&["B", "--key", "b", "--verify", "grep -q '^b$' base.txt"]);
    let run = project.ok(&["run", "-j", "2"]);
    assert!(run.stdout.contains("b conflicts with a in base.txt"), "{}", run.stdout);
    let history = project.history();
    let of_b: Vec<_> = history.iter().filter(|attempt| attempt["key"] == "b").collect();
    assert_eq!(of_b.len(), 2, "{history:?}");
    assert_eq!((&of_b[0]["outcome"], &of_b[0]["error_type"]), (&json!("error"), &json!("conflict")));
    assert_eq!(of_b[0]["counted"], json!(false));
    // The work of the attempt that could not land is kept.
    let kept = of_b[0]["undone_ref"].as_str().unwrap();
    assert_eq!(project.git(&["show", &format!("{kept}:base.txt")]), "base\nb\n");
    let prompt = project.read(".ralph/prompt-b");
    for part in ["Conflict to Resolve", "the work of a", "+a", "+b", kept] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    assert_eq!(project.git(&["show", &format!("{}:base.txt", branch(&project))]), "base\na\nb\n");
    let stats = project.json(&["stats", "--json"]);
    assert_eq!(stats["conflicts"], json!([{ "kind": "conflict", "task": "b", "with": "a", "times": 1 }]));
    assert!(project.ok(&["stats"]).stdout.contains("Work that did not land"));
}

#[test]
fn the_third_conflict_in_a_row_counts() {
    // Somebody else commits to the branch whenever the agent is at work, always in the same line.
    let project = project(&format!(
        "branch=$(git for-each-ref --format='%(refname)' refs/heads/ralph)\n\
         tip=$(git rev-parse $branch); blob=$(date +%N | git hash-object -w --stdin)\n\
         tree=$( (git ls-tree $tip | grep -v base.txt; printf '100644 blob %s\\tbase.txt\\n' $blob) | git mktree)\n\
         git update-ref $branch $(git commit-tree $tree -p $tip -m theirs) $tip\n\
         echo mine > base.txt; {DONE}"
    ));
    project.add(&["A", "--key", "a", "--verify", "true"]);
    project.set("run", "isolate = true\nmax_attempts = 2");
    project.ralph(&["run"]).expect_code(5);
    let counted: Vec<_> = project.history().iter().map(|attempt| attempt["counted"].clone()).collect();
    assert_eq!(counted, [json!(false), json!(false), json!(true), json!(true)]);
    assert_eq!(project.status_of("a"), "blocked");
    assert!(project.history().iter().all(|attempt| attempt["error_type"] == "conflict"));
}

#[test]
fn work_that_fails_its_gate_together_with_others_is_an_integration_failure() {
    let mut project = project(&format!(
        "if [ \"$RALPH_TASK_KEY\" = a ]; then until [ -e \"$RALPH_PROJECT/.ralph/b-began\" ]; do sleep 0.05; done; fi\n\
         if [ \"$RALPH_TASK_KEY\" = b ] && [ ! -e a.txt ]; then touch \"$RALPH_PROJECT/.ralph/b-began\"; until grep -qs landed \"$RALPH_PROJECT/.ralph/a-landed\"; do sleep 0.05; done; fi\n\
         if [ \"$RALPH_TASK_KEY\" = b ] && [ -e a.txt ]; then touch agreed.txt; fi\n\
         echo x > \"$RALPH_TASK_KEY.txt\"; {DONE}"
    ));
    project.set("hooks", "after_attempt = \"case $(cat) in *'\\\"key\\\":\\\"a\\\"'*) echo landed > $RALPH_PROJECT/.ralph/a-landed;; esac\"");
    project.set_env("RALPH_SET_GATE_BASELINE", "off");
    let gate = "test ! -e a.txt || test ! -e b.txt || test -e agreed.txt";
    project.add(&["A", "--key", "a", "--verify", gate]);
    project.add(&["B", "--key", "b", "--verify", gate]);
    project.ok(&["run", "-j", "2"]);
    let history = project.history();
    let of_b: Vec<_> = history.iter().filter(|attempt| attempt["key"] == "b").collect();
    assert_eq!(of_b[0]["error_type"], json!("integration_failure"), "{history:?}");
    assert_eq!((&of_b[0]["counted"], &of_b[1]["outcome"]), (&json!(false), &json!("done")));
    assert!(files_on(&project, &branch(&project)).contains("agreed.txt"));
    let conflicts = &project.json(&["stats", "--json"])["conflicts"];
    assert_eq!((&conflicts[0]["kind"], &conflicts[0]["with"]), (&json!("integration_failure"), &json!("a")));
}

#[test]
fn a_branch_that_is_checked_out_is_never_moved() {
    let project = project(&writes_own_file());
    project.set("git", "branch = \"main\"");
    add_tasks(&project, 2);
    project.write("base.txt", "a person's edit\n");
    let head = project.git(&["rev-parse", "main"]);
    let run = project.ok(&["run", "-j", "2"]);
    let own = branch(&project);
    assert!(
        run.stdout.contains(&format!("main is checked out, so this run lands on {own}")),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains(&format!("git merge {own}")), "{}", run.stdout);
    assert_eq!((project.git(&["rev-parse", "main"]), changed(&project).trim()), (head, "M base.txt"));
    assert!(files_on(&project, &own).contains("k2.txt"));
    // Elsewhere it is free, and the work that was not merged yet is part of what lands there.
    project.git(&["checkout", "-q", "base.txt"]);
    project.git(&["checkout", "-qb", "elsewhere"]);
    project.git(&["merge", "-q", &own]);
    project.git(&["branch", "-qf", "main", &own]);
    project.add(&["More", "--key", "k3", "--verify", "test -f k3.txt"]);
    let run = project.ok(&["run", "-j", "2"]);
    assert!(files_on(&project, "main").contains("k3.txt"), "{}", run.stdout);
}

#[test]
fn work_that_nobody_merged_is_where_the_next_run_begins() {
    let project = project(&format!("ls > \"$RALPH_TASK_KEY.txt\"; {DONE}"));
    project.add(&["A", "--key", "a", "--verify", "test -f a.txt"]);
    project.ok(&["run", "-j", "2"]);
    let first = branch(&project);
    // A person goes on meanwhile.
    project.write("person.txt", "x\n");
    project.git(&["add", "person.txt"]);
    project.git(&["commit", "-qm", "a person's"]);
    project.add(&["B", "--key", "b", "--after", "a", "--verify", "test -f b.txt"]);
    project.ok(&["run", "-j", "2"]);
    let second = branch(&project);
    assert_ne!(first, second);
    let seen = project.git(&["show", &format!("{second}:b.txt")]);
    assert!(seen.contains("a.txt") && seen.contains("person.txt"), "{seen}");
    project.git(&["merge-base", "--is-ancestor", &first, &second]);
    project.git(&["merge-base", "--is-ancestor", "main", &second]);
}

#[test]
fn commits_of_agents_land_whole_and_ralphs_own_files_never() {
    let project = project(&format!(
        "echo 1 > one.txt; git add one.txt; git commit -qm 'by the agent'; echo 2 > two.txt; \
         printf -- '- [codebase] Tabs, not spaces\\n' >> AGENTS.md; git add -A; git commit -qm 'by the agent too'; \
         echo 3 > three.txt; {DONE}"
    ));
    project.write("AGENTS.md", "# Agents\n\n## Codebase Patterns\n\n");
    project.git(&["add", "AGENTS.md"]);
    project.git(&["commit", "-qm", "agents"]);
    project.add(&["A", "--key", "a", "--verify", "test -f three.txt"]);
    project.set("run", "isolate = true");
    project.ok(&["run"]);
    let branch = branch(&project);
    let files = files_on(&project, &branch);
    assert!(["one.txt", "two.txt", "three.txt"].iter().all(|file| files.contains(*file)), "{files:?}");
    let subjects = project.git(&["log", "--format=%s", &format!("main..{branch}")]);
    assert!(subjects.contains("by the agent\n") && subjects.contains("Merge the work on a A"), "{subjects}");
    assert!(!project.git(&["show", &format!("{branch}:AGENTS.md")]).contains("Tabs"));
    assert!(project.read("AGENTS.md").contains("Tabs, not spaces"), "{}", project.read("AGENTS.md"));
}

#[test]
fn an_agent_that_plays_with_git_harms_no_other_task() {
    for (what, script) in [
        (
            "leaves a merge unfinished",
            "git checkout -qb other; echo o > base.txt; git commit -qam other; git checkout -q -; \
            echo m > base.txt; git commit -qam mine; git merge other || true",
        ),
        ("stays on a branch", "git checkout -qb agents-own; echo x > x.txt; git add x.txt; git commit -qm x"),
        (
            "is on the run's branch",
            "git checkout -q $(git for-each-ref --format='%(refname:short)' refs/heads/ralph)",
        ),
        ("deletes its tree", "rm -rf \"$PWD\""),
        ("removes its tree with git", "git worktree remove --force \"$PWD\""),
        ("makes a repository", "git init -q nested; echo x > nested/x"),
        ("deletes the index", "rm -f \"$(git rev-parse --git-dir)/index\""),
    ] {
        let project = project(&format!(
            "if [ \"$RALPH_TASK_KEY\" = bad ] && [ ! -e \"$RALPH_PROJECT/.ralph/was-bad\" ]; then \
             touch \"$RALPH_PROJECT/.ralph/was-bad\"; {script}; {DONE}; exit 0; fi\n\
             echo x > \"$RALPH_TASK_KEY.txt\"; {DONE}"
        ));
        project.add(&["Bad", "--key", "bad", "--verify", "test -f bad.txt"]);
        add_tasks(&project, 3);
        project.set("run", "isolate = true");
        let run = project.ralph(&["run"]);
        assert_eq!(run.code, 0, "{what}\n{}\n{}", run.stdout, run.stderr);
        let files = files_on(&project, &branch(&project));
        assert!(
            ["bad.txt", "k1.txt", "k3.txt"].iter().all(|file| files.contains(*file)),
            "{what}: {files:?}"
        );
        assert!(
            !files.contains("nested")
                && project.git(&["show", &format!("{}:base.txt", branch(&project))]) == "base\n",
            "{what}"
        );
        project.git(&["fsck", "--connectivity-only"]);
    }
}

#[test]
fn hooks_submodules_and_sparse_checkouts_work_in_working_trees() {
    for (what, prepare) in [
        (
            "hooks",
            "printf '#!/bin/sh\\necho ran >> \"$(git rev-parse --git-common-dir)/hook-ran\"\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
        ),
        (
            "a submodule",
            "git init -q ../lib; (cd ../lib; echo l > l.txt; git add .; git commit -qm lib); \
            git -c protocol.file.allow=always submodule --quiet add ../lib lib; git commit -qm 'with lib'",
        ),
        (
            "a sparse checkout",
            "mkdir -p out in; echo x > out/o.txt; echo x > in/i.txt; git add .; git commit -qm more; \
            git sparse-checkout set in",
        ),
        (
            "line endings",
            "printf '* text=auto\\n*.txt eol=crlf\\n' > .gitattributes; git add .; git commit -qm crlf",
        ),
    ] {
        let project = project(&writes_own_file());
        project.write("../prepare.sh", prepare);
        let mut command = std::process::Command::new("sh");
        project.clean(&mut command);
        let done = command.args(["-e", "../prepare.sh"]).current_dir(project.root()).output().unwrap();
        assert!(done.status.success(), "{what}: {}", String::from_utf8_lossy(&done.stderr));
        add_tasks(&project, 3);
        let run = project.ralph(&["run", "-j", "2"]);
        assert_eq!(run.code, 0, "{what}\n{}\n{}", run.stdout, run.stderr);
        let branch = branch(&project);
        let own = format!("main..{branch}");
        let changed = project.git(&["diff", "--name-only", &own]);
        assert_eq!(changed, "k1.txt\nk2.txt\nk3.txt\n", "{what}");
        if what == "hooks" {
            assert_eq!(project.read(".git/hook-ran").lines().count(), 3);
        }
    }
}

#[test]
fn a_kill_between_the_branch_and_the_record_lands_nothing_twice() {
    let project = project(&writes_own_file());
    let hook = project.path(".git/hooks/reference-transaction");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    // The worker is the parent of git, which is the parent of the hook.
    let script = "#!/bin/sh\n[ \"$1\" = committed ] || exit 0\ngrep -q ' refs/heads/ralph/' || exit 0\n\
        [ -e ROOT/made ] || { touch ROOT/made; exit 0; }\n[ -e ROOT/killed ] && exit 0\ntouch ROOT/killed\n\
        kill -9 $(awk '{print $4}' /proc/$PPID/stat)\n"
        .replace("ROOT", &project.root().join("..").display().to_string());
    fs::write(&hook, script).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    add_tasks(&project, 3);
    let run = project.ok(&["run", "-j", "2"]);
    assert!(project.path("../killed").exists(), "the hook killed nobody");
    assert!(run.stdout.contains("Ralph crashed after it committed the work"), "{}", run.stdout);
    let branch = branch(&project);
    let subjects = project.git(&["log", "--format=%s", &format!("main..{branch}")]);
    let mut subjects: Vec<&str> = subjects.lines().collect();
    subjects.sort_unstable();
    assert_eq!(subjects, ["k1: Task 1", "k2: Task 2", "k3: Task 3"]);
    assert_eq!(project.history().len(), 3);
    assert_eq!(events(&project, "lost_found").len(), 1);
}
