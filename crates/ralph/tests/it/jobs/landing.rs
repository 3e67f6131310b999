//! Done means landed: conflicts, failures in combination, checkouts of people, and Ralph's own files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::Project;

use super::{DONE, add_tasks, branch, events, files_on, project, writes_own_file};

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
        (
            "was killed while its git worked",
            "dir=$(git rev-parse --git-dir); touch \"$dir/HEAD.lock\" \"$dir/index.lock\" \"$dir/ORIG_HEAD.lock\"",
        ),
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
            "pointers of Git LFS, without its program",
            "printf '*.bin filter=lfs diff=lfs merge=lfs -text\nk*.txt filter=lfs -text\n' > .gitattributes\n\
            printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 4\n' 1 > big.bin; git add .; git commit -qm lfs",
        ),
        (
            "Git LFS",
            "printf '#!/bin/sh\necho \"pointer to $(cat)\"\n' > ../clean; printf '#!/bin/sh\nsed \"s/^pointer to //\"\n' > ../smudge\n\
            chmod +x ../clean ../smudge; git config filter.lfs.clean \"$PWD/../clean\"; git config filter.lfs.smudge \"$PWD/../smudge\"\n\
            git config filter.lfs.required true; printf '*.bin filter=lfs\nk*.txt filter=lfs\n' > .gitattributes\n\
            echo large > big.bin; git add .; git commit -qm lfs",
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
        let landed = |file: &str| project.git(&["show", &format!("{branch}:{file}")]);
        match what {
            "hooks" => assert_eq!(project.read(".git/hook-ran").lines().count(), 3),
            "pointers of Git LFS, without its program" => {
                assert!(landed("big.bin").starts_with("version https://git-lfs"));
                assert_eq!(landed("k1.txt"), "x\n");
            }
            "Git LFS" => {
                assert_eq!(
                    (landed("big.bin"), landed("k1.txt")),
                    ("pointer to large\n".into(), "pointer to x\n".into())
                );
                assert_eq!(
                    fs::read_to_string(super::trees_dir(&project).join("w1/big.bin")).unwrap(),
                    "large\n"
                );
            }
            _ => {}
        }
    }
}

#[test]
fn a_run_leaves_a_branch_that_moves_faster_than_its_gates() {
    // A person whose every look at the tree is followed by a commit to the branch.
    let gate = "test -f \"$RALPH_TASK_KEY.txt\" || exit 1; tip=$(git rev-parse refs/heads/busy); n=$(date +%N)
        tree=$( (git ls-tree $tip; printf '100644 blob %s\\ttheirs-%s.txt\\n' $(echo $n | git hash-object -w --stdin) $n) | git mktree)
        git update-ref refs/heads/busy $(git commit-tree $tree -p $tip -m theirs) $tip && sleep 1.1";
    let project = project(&writes_own_file());
    project.git(&["branch", "busy"]);
    project.set("git", "branch = \"busy\"");
    project.set("run", "isolate = true");
    project.set("gate", "baseline = \"off\"");
    project.add(&["A", "--key", "a", "--verify", gate]);
    let run = project.ok(&["run"]);
    let own = branch(&project);
    let told = format!("busy moves all the time; this run lands on {own} from now on");
    assert!(own.starts_with("ralph/") && run.stdout.contains(&told), "{}", run.stdout);
    assert!(files_on(&project, &own).contains("a.txt") && !files_on(&project, "busy").contains("a.txt"));
    // What was there when it left is part of it.
    let theirs = project.git(&["log", "--format=%s", &own]).matches("theirs").count();
    assert!(theirs >= 4, "{theirs}");
    assert!(run.stdout.contains(&format!("git merge {own}")), "{}", run.stdout);
}

#[test]
fn a_git_that_outlives_its_killed_worker_moves_no_branch() {
    let project = project(&format!("echo $$ >> \"$RALPH_TASK_KEY.txt\"; {DONE}"));
    add_tasks(&project, 2);
    project.set("run", "isolate = true");
    let dir = project.root().join("../killing");
    fs::create_dir_all(&dir).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *'ralph: land'*) if mkdir '{}/killed' 2> /dev/null; then\n\
         kill -9 $PPID; sleep 1; fi;; esac\nPATH='{path}' exec git \"$@\"\n",
        dir.display()
    );
    fs::write(dir.join("git"), script).unwrap();
    fs::set_permissions(dir.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut run = project.command(&["run", "--quiet"]);
    let ended = run.env("PATH", format!("{}:{path}", dir.display())).status().unwrap();
    assert_eq!(ended.code(), Some(0));
    assert!(dir.join("killed").exists());
    let commits = project.git(&["log", "--format=%H", &format!("main..{}", branch(&project))]);
    let mut landed: Vec<&str> = commits.lines().collect();
    let history = project.history();
    let done = history.iter().filter(|attempt| attempt["outcome"] == "done");
    let mut done: Vec<&str> = done.map(|attempt| attempt["commit_after"].as_str().unwrap()).collect();
    landed.sort_unstable();
    done.sort_unstable();
    assert_eq!((landed, history.len()), (done, 3));
}

/// A project on a small disk of its own: `script` runs there, with Ralph as `$RALPH`, and ends with 0.
#[track_caller]
fn on_a_small_disk(megabytes: u32, script: &str) {
    let project = Project::empty();
    let story = format!(
        "mount -t tmpfs -o size={megabytes}m tmpfs . && cd \"$PWD\" || exit 99\nset -e\n\
         git init -q -b main; git config user.name t; git config user.email t@localhost\n\
         fail() {{ echo \"$1\"; exit 98; }}\n{script}"
    );
    let mut command = std::process::Command::new("unshare");
    command.args(["-Urm", "sh", "-c", &story]).current_dir(project.root());
    let output = project.clean(&mut command).env("RALPH", env!("CARGO_BIN_EXE_ralph")).output().unwrap();
    let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}\n{}", told(&output.stdout), told(&output.stderr));
}

#[test]
fn a_disk_that_is_full_during_landing_loses_nothing() {
    // The gate of the combined tree fills the disk: what lands then does not fit, neither on the branch nor in the checkout.
    for branch in ["", "[git]\nbranch = \"main\"\n"] {
        let script = format!(
            "$RALPH init > /dev/null\n\
             cat > agent.sh <<'END'\n\
             cat > /dev/null; head -c 300000 /dev/urandom > $RALPH_TASK_KEY.bin; {DONE}\n\
             END\n\
             cat > .ralph.toml <<'END'\n\
             [run]\nagent = \"s\"\n{branch}[gate]\nbaseline = \"off\"\n\
             [agents.s]\nkind = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n\
             END\n\
             git add -A; git commit -qm first\n\
             for n in 1 2 3 4; do $RALPH task add T$n --key k$n --verify 'test -f $RALPH_TASK_KEY.bin && \
             {{ [ ! -e $RALPH_PROJECT/../fill ] || head -c 90000000 /dev/zero > $RALPH_PROJECT/filler || true; }}' > /dev/null; done\n\
             touch ../fill\n\
             if $RALPH run -j 2 > ../said 2>&1; then fail 'the disk was never full'; fi\n\
             grep -qi 'space\\|disk is full\\|full' ../said || {{ cat ../said; fail 'it is not told why'; }}\n\
             rm -f filler ../fill\n\
             git fsck --connectivity-only > ../fsck 2>&1 || {{ cat ../fsck; fail fsck; }}\n\
             $RALPH run -j 2 > ../said 2>&1 || {{ cat ../said; fail 'the next run fails'; }}\n\
             branch=$(git for-each-ref --format='%(refname)' --sort=-creatordate refs/heads | head -1)\n\
             for n in 1 2 3 4; do git cat-file -e $branch:k$n.bin || fail \"k$n is not on $branch\"; \
             [ $(git log --format=%s $branch | grep -c \"^k$n: \") = 1 ] || fail \"k$n landed twice\"; done\n\
             [ -z \"$(git status --porcelain -uno -- . :!.ralph.toml)\" ] || {{ git status; fail 'the checkout is changed'; }}\n\
             [ ! -e .git/index.lock ] && [ ! -e .git/ralph-follow ] || fail 'a lock is left'\n"
        );
        on_a_small_disk(40, &script);
    }
}

#[test]
fn what_cannot_be_saved_on_a_full_disk_is_saved_later() {
    let script = "$RALPH init > /dev/null
         cat > agent.sh <<'END'
cat > /dev/null; [ -e $RALPH_PROJECT/../tried ] && { echo x > a.txt; echo \"<task-done>$RALPH_TASK_ID</task-done>\"; exit; }
touch $RALPH_PROJECT/../tried; echo 'half done' >> base.txt; head -c 9000000 /dev/zero > $RALPH_PROJECT/.git/objects/filler
echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"
END
         cat > .ralph.toml <<'END'
[run]
agent = \"s\"
isolate = true
[agents.s]
kind = \"command\"
command = [\"sh\", \"agent.sh\"]
END
         echo base > base.txt; git add -A; git commit -qm first; $RALPH task add A --key a --verify 'test -f a.txt' > /dev/null
         mv .git/objects ../objects; mkdir .git/objects; mount -t tmpfs -o size=2m tmpfs .git/objects
         cp -a ../objects/. .git/objects/
         if $RALPH run > ../said 2>&1; then fail 'the disk was never full'; fi
         grep -q 'cannot save what a left' ../said || { cat ../said; fail 'it is not told'; }
         rm -f .git/objects/filler
         $RALPH run > ../said 2>&1 || { cat ../said; fail 'the next run fails'; }
         for saved in $(git for-each-ref --format='%(refname)' refs/ralph/rollback); do
         git show $saved:base.txt | grep -q 'half done' && exit 0; done
         cat ../said; git for-each-ref; fail 'the work is lost'";
    on_a_small_disk(40, script);
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
