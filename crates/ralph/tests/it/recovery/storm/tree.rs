//! The same storm in a repository: done work is committed, failed work rolled back, and a person has work of their own
//! in the tree.

use std::collections::{BTreeMap, BTreeSet};

use super::{KILLS, storm_in};
use crate::storms::Storm;
use crate::support::{Project, processes_with};

const AGENTS_MD: &str = "# Rules of this project\n\nBe brief.\n\n## Style\n\n- Tabs, not spaces.\n";

fn project() -> Project {
    let project = Project::with_git();
    project.write("../home/.gitconfig", "[user]\nname = t\nemail = t@localhost\n");
    project.set("git", "commit = \"on-success\"\nrollback = \"stash\"");
    project.write(".gitignore", "ok/\nstarts.txt\n");
    project.write("code.txt", "one\n");
    project.write("AGENTS.md", AGENTS_MD);
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "start"]);
    // A person's own work.
    project.write("code.txt", "one\nand what I did not commit\n");
    project.write("staged.txt", "staged\n");
    project.git(&["add", "staged.txt"]);
    project.write("notes.txt", "untracked\n");
    project
}

/// What a person has, to the byte; and none of it in a commit.
fn own_work_is_untouched(project: &Project) {
    assert_eq!(project.read("code.txt"), "one\nand what I did not commit\n");
    assert_eq!(project.read("staged.txt"), "staged\n");
    assert_eq!(project.read("notes.txt"), "untracked\n");
    assert_eq!(project.git(&["diff", "--cached", "--name-only"]), "staged.txt\n");
    assert_eq!(project.git(&["show", "HEAD:code.txt"]), "one\n");
    let committed = project.git(&["log", "--format=", "--name-only", "HEAD"]);
    for mine in ["staged.txt", "notes.txt"] {
        assert!(!committed.lines().any(|file| file == mine), "{mine}");
    }
    assert!(project.read("AGENTS.md").starts_with(AGENTS_MD.trim_end()));
    assert_eq!(project.git(&["show", "HEAD:AGENTS.md"]), AGENTS_MD);
}

/// Every done task made a file; it is in HEAD as its done attempt wrote it, and no task has two commits.
fn each_done_task_has_one_commit(project: &Project) {
    let log = project.git(&["log", "--format=%x00%s", "--name-only", "HEAD", "--", "work"]);
    let mut commits: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for commit in log.split('\0').skip(1) {
        let (subject, files) = commit.split_once('\n').unwrap_or((commit, ""));
        for file in files.lines().filter(|line| !line.is_empty()) {
            commits.entry(file).or_default().push(subject);
        }
    }
    let worked = project.read("ok/worked");
    for attempt in project.history() {
        let key = attempt["key"].as_str().unwrap();
        let run = attempt["run_id"].as_str().unwrap();
        // Without a gate an agent may say done and have done nothing.
        let worked = worked.lines().any(|line| line == format!("{run} {key}"));
        if attempt["outcome"] != "done" || !worked {
            continue;
        }
        let file = format!("work/{key}.txt");
        // A killed attempt's work may have come in with a fix of the same chain; no task commits twice.
        let wrote = commits.get(file.as_str()).cloned().unwrap_or_default();
        let subjects: BTreeSet<&str> = wrote.iter().copied().collect();
        assert!(!wrote.is_empty(), "{file} is in no commit");
        assert_eq!(wrote.len(), subjects.len(), "{file}: {wrote:?}");
        let said = project.git(&["show", &format!("HEAD:{file}")]);
        assert!(said.starts_with(run), "{file}: {said} is not of {run}");
    }
}

#[test]
fn a_storm_in_a_repository_loses_nothing_doubles_nothing_and_touches_no_file_of_a_persons() {
    let mut storm = Storm::new("in a repository", 2_000);
    let plans = storm.rest().div_ceil(KILLS);
    for plan in 0..plans {
        let project = storm_in(&mut storm, project(), 100 + u64::from(plan), "\n");
        own_work_is_untouched(&project);
        each_done_task_has_one_commit(&project);
        project.git(&["fsck", "--no-dangling"]);
        let root = project.root().display().to_string();
        assert_eq!(processes_with(&root), Vec::<i32>::new());
    }
    storm.end();
}
