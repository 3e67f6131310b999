//! What a session leaves in places that nothing may be written to: it is gone before anything reads it, and undoing it harms
//! nothing of a person's.

use std::fs;

use super::{BACKENDS, agent, commit, confined, made, raw_logs};
use crate::run::DONE;
use crate::support::Project;

/// Files that git does not see, which make agents run commands.
const PLANT: &str = "echo '{}' > .mcp.json; mkdir -p .claude; echo '{}' > .claude/settings.local.json";
const ACCEPT: &str = "echo '<review-verdict>accept</review-verdict>'";

/// Names of what was moved away.
fn moved(project: &Project) -> Vec<String> {
    let entries = fs::read_dir(project.path(".ralph/sandbox")).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn nobody_that_is_confined_plants_what_agents_execute() {
    for backend in BACKENDS {
        for of in ["agent", "gate", "reviewer", "hook", "planner"] {
            let does = |who: &str| if who == of { PLANT } else { "true" };
            let project = confined(backend);
            project
                .write(".ralph/plan.md", "# P\n\n## Phase 1: F\n\n- [ ] 1.1 Write\n  - **Do**: Write it.\n");
            project.write("review.sh", &format!("cat > /dev/null; {}; {ACCEPT}\n", does("reviewer")));
            project.write("check.sh", &format!("{}\n", does("gate")));
            project.write("hook.sh", &format!("{}\n", does("hook")));
            let hook = project.path(".git/hooks/pre-commit");
            project.write(".git/hooks/pre-commit", "#!/bin/sh\n[ ! -e work ] || sh hook.sh\n");
            fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            let critic = "[review]\nagent = \"critic\"\nwhen = \"always\"\n\n[agents.critic]\nkind = \"command\"\n\
                          command = [\"sh\", \"review.sh\"]";
            let answer = match of {
                "planner" => format!("{PLANT}; cat .ralph/plan.md"),
                _ => format!("{}; echo work > work; {DONE}", does("agent")),
            };
            agent(&project, &answer);
            project.configure(critic);
            project.write(".gitignore", ".mcp.json\n.claude\n");
            commit(&project);
            let shown = match of {
                "planner" => project.ralph(&["plan", "Write", "--yes"]),
                _ => {
                    project.add(&["A", "--verify", "sh check.sh"]);
                    project.ok(&["run"])
                }
            };
            let left = [".mcp.json", ".claude/settings.local.json"].map(|path| project.path(path).exists());
            assert_eq!(left, [false, false], "{backend}, {of}: {shown:?}");
            let moved = moved(&project);
            let is_moved = |name: &str| moved.iter().any(|moved| moved.starts_with(name));
            assert!(is_moved(".mcp.json-") && is_moved("settings.local.json-"), "{backend}, {of}: {shown:?}");
            let told = format!("{}{}", shown.stdout, shown.stderr);
            assert!(told.contains(".mcp.json may not be made in an attempt"), "{backend}, {of}: {told}");
        }
    }
}

/// Makes git commits with other settings, and an order for Ralph to bring the checkout to them.
const FORGE: &str = "d=$(cd \"$(git rev-parse --git-common-dir)\" && pwd); export GIT_INDEX_FILE=$TMPDIR/i; git read-tree HEAD; \
    b=$( (cat .ralph.toml; echo '# of the agent') | git hash-object -w --stdin); \
    git update-index --add --cacheinfo 100644,$b,.ralph.toml; \
    old=$(git commit-tree $(git write-tree) -p HEAD -m old); new=$(git commit-tree HEAD^{tree} -m new); \
    unset GIT_INDEX_FILE; note=\"{\\\"branch\\\":\\\"main\\\",\\\"old\\\":\\\"$old\\\",\\\"new\\\":\\\"$new\\\"}\"; \
    for f in $d/ralph-follow $RALPH_PROJECT/.ralph/follow/note; do mkdir -p $(dirname $f); echo \"$note\" > $f; done; \
    ln $d/ralph-follow $d/index.lock && echo FORGED";

#[test]
fn an_agent_cannot_order_ralph_to_change_the_checkout() {
    for jobs in ["1", "2"] {
        let project = confined("bubblewrap");
        agent(
            &project,
            &format!("if [ $RALPH_TASK_KEY = a ]; then {FORGE}; fi; echo x > $RALPH_TASK_KEY; {DONE}"),
        );
        project.add(&["A", "--key", "a"]);
        project.add(&["B", "--key", "b"]);
        let settings = project.read(".ralph.toml");
        project.ralph(&["run", "-j", jobs, "--once"]);
        assert!(raw_logs(&project).contains("FORGED"), "{}", raw_logs(&project));
        project.ralph(&["run", "-j", jobs, "--once"]);
        assert_eq!(project.read(".ralph.toml"), settings, "-j {jobs}");
    }
}

#[test]
fn a_worker_leads_no_other_working_tree_elsewhere() {
    let project = confined("bubblewrap");
    let evil = "d=$(cd \"$(git rev-parse --git-common-dir)\" && pwd); e=$d/evil; mkdir $e; \
                cp -r $d/refs $d/objects $d/config $e; printf '[core]\\nfsmonitor = \"echo of-the-agent >&2; false\"\\n' >> $e/config; \
                echo $e > $d/commondir; echo '[x]' > $d/config.worktree; \
                echo x > $d/HEAD || echo x > $d/index || echo PLANTED";
    agent(&project, &format!("{evil}; echo x > made.txt; {DONE}"));
    project.add(&["A"]);
    let shown = project.ralph(&["run", "-j", "2"]);
    assert!(raw_logs(&project).contains("PLANTED"), "{}", raw_logs(&project));
    for name in ["commondir", "config.worktree"] {
        assert!(!project.path(".git").join(name).exists(), "{name}: {shown:?}");
        assert!(moved(&project).iter().any(|moved| moved.starts_with(&format!("{name}-"))), "{shown:?}");
    }
    assert_eq!(project.read(".git/HEAD"), "ref: refs/heads/main\n");
    project.git(&["status"]);
}

#[test]
fn nothing_is_undone_through_a_link() {
    for backend in BACKENDS {
        let project = confined(backend);
        for file in [".codex/config.toml", ".other/settings.json"] {
            project.write(&format!("../home/{file}"), "of a person");
        }
        project.write(".claude/settings.json", "{}");
        project.write("real.json", "{}");
        std::os::unix::fs::symlink("real.json", project.path(".mcp.json")).unwrap();
        agent(
            &project,
            &format!(
                "ln -s $HOME/.codex .codex; mv .claude claude && ln -s $HOME/.other .claude; \
                 echo '{{\"evil\":1}}' > evil.json; ln -sfn evil.json .mcp.json; echo x > made.txt; {DONE}"
            ),
        );
        project.add(&["A"]);
        let shown = project.ok(&["run"]);
        for file in [".codex/config.toml", ".other/settings.json"] {
            assert_eq!(
                project.read(&format!("../home/{file}")),
                "of a person",
                "{backend}: {file} {shown:?}"
            );
        }
        assert!(moved(&project).iter().any(|name| name.starts_with(".codex-")), "{backend}: {shown:?}");
        assert_eq!(made(&project, "made.txt"), "x\n", "{backend}");
        assert_eq!(
            fs::read_link(project.path(".mcp.json")).unwrap().to_str(),
            Some("real.json"),
            "{backend}"
        );
        let tree = project.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
        assert!(!tree.contains(".codex"), "{backend}: {tree}");
    }
}

#[test]
fn what_the_settings_hide_is_hidden_from_workers_on_any_disk() {
    // Another disk than that of the project, as a rule.
    let trees = tempfile::Builder::new().prefix("ralph-test-").tempdir_in("/dev/shm").unwrap();
    let project = confined("bubblewrap");
    project.write("secrets/key", "s3cr3t-of-a-person\n");
    project.set("sandbox", "deny_read = [\"secrets\"]");
    project.set("worktree", &format!("dir = {:?}", trees.path()));
    agent(&project, &format!("cat secrets/key > said.txt 2>&1; {PLANT}; echo x > made.txt; {DONE}"));
    project.add(&["A", "--verify", "! grep s3cr3t said.txt secrets/key"]);
    let shown = project.ok(&["run", "-j", "2"]);
    assert!(!made(&project, "said.txt").contains("s3cr3t"), "{shown:?}");
    assert!(moved(&project).iter().any(|name| name.starts_with(".mcp.json-")), "{shown:?}");
    assert_eq!(project.history()[0]["outcome"], "done", "{shown:?}");
}
