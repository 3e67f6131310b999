//! A person's checkout of the branch that work lands on: it follows while it is clean, and nothing of the person's is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{DONE, add_tasks, branch, events, files_on, project, writes_own_file};
use crate::support::{Project, eventually};

/// A project whose work lands on `main`, which is checked out.
fn on_main(agent: &str) -> Project {
    let project = project(agent);
    project.set("git", "branch = \"main\"");
    project
}

/// What is changed in the person's tree, Ralph's settings left out.
fn changed(project: &Project) -> String {
    project.git(&["status", "--porcelain", "-uno", "--", ".", ":!.ralph.toml"])
}

/// What Ralph may leave in git's directory while it is at work, and not later.
fn left_in_git(project: &Project) -> Vec<String> {
    let names = fs::read_dir(project.path(".git")).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    let names = names.filter(|name| name.ends_with(".lock") || name.starts_with("ralph-follow"));
    names.chain(project.path(".ralph/follow").exists().then(|| ".ralph/follow".to_owned())).collect()
}

/// The first task lands; all others wait until a person has done something.
fn others_wait() -> String {
    format!(
        "if [ \"$RALPH_TASK_KEY\" != k1 ]; then until [ -e \"$RALPH_PROJECT/.ralph/go\" ]; do sleep 0.05; done; fi\n\
         echo x > \"$RALPH_TASK_KEY.txt\"; {DONE}"
    )
}

#[test]
fn a_clean_checkout_follows_its_branch() {
    let project = on_main(&writes_own_file());
    add_tasks(&project, 6);
    project.write("notes.txt", "unknown to git\n");
    let run = project.ok(&["run", "-j", "3"]);
    assert_eq!(branch(&project), "main");
    assert_eq!(project.git(&["rev-list", "--count", "--first-parent", "HEAD"]).trim(), "7");
    assert!((1..=6).all(|n| project.path(format!("k{n}.txt")).exists()));
    assert_eq!((changed(&project).as_str(), project.read("notes.txt").as_str()), ("", "unknown to git\n"));
    assert!(!run.stdout.contains("git merge") && !run.stdout.contains("warning"), "{}", run.stdout);
    assert_eq!(left_in_git(&project), Vec::<String>::new());
    assert_eq!(project.git(&["reflog", "HEAD"]).matches("ralph: land").count(), 6);
}

#[test]
fn a_person_who_begins_to_edit_keeps_branch_and_files_and_the_next_run_catches_up() {
    let project = on_main(&others_wait());
    add_tasks(&project, 3);
    let mut run = project.start(&["run", "-j", "3", "--quiet"]);
    eventually("the first lands", || project.path("k1.txt").exists());
    eventually("the checkout is free", || left_in_git(&project).is_empty());
    project.write("base.txt", "a person's edit\n");
    let head = project.git(&["rev-parse", "main"]);
    fs::write(project.path(".ralph/go"), "").unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(0));
    let own = branch(&project);
    assert!(own.starts_with("ralph/"), "{own}");
    assert_eq!((project.git(&["rev-parse", "main"]), changed(&project).as_str()), (head, " M base.txt\n"));
    assert!(files_on(&project, &own).is_superset(&["k1.txt", "k2.txt", "k3.txt"].map(str::to_owned).into()));
    let told =
        |kind: &str, text: &str| events(&project, kind).iter().any(|event| event.to_string().contains(text));
    let why = format!(
        "main is checked out, and it has uncommitted changes: base.txt; this run lands on {own} from now on"
    );
    assert!(told("warning", &why) && told("unmerged", &own));
    // Once it is clean again, the next run brings it to where the last one got.
    project.git(&["checkout", "-q", "base.txt"]);
    project.add(&["More", "--key", "k4", "--verify", "test -f k3.txt && test -f k4.txt"]);
    let run = project.ok(&["run", "-j", "2"]);
    assert!(
        run.stdout.contains(&format!("main did not have what an earlier run landed on {own}; now it does"))
    );
    assert_eq!((branch(&project).as_str(), changed(&project).as_str()), ("main", ""));
    assert!((1..=4).all(|n| project.path(format!("k{n}.txt")).exists()));
}

#[test]
fn a_branch_that_went_another_way_than_unmerged_work_is_left_to_its_person() {
    let project = on_main(&writes_own_file());
    add_tasks(&project, 1);
    project.write("base.txt", "a person's edit\n");
    let run = project.ok(&["run", "-j", "2"]);
    let first = branch(&project);
    let told =
        format!("main is checked out, and it has uncommitted changes: base.txt; this run lands on {first}");
    assert!(run.stdout.contains(&told), "{}", run.stdout);
    assert_eq!(changed(&project), " M base.txt\n");
    project.git(&["commit", "-qam", "a person's"]);
    let head = project.git(&["rev-parse", "main"]);
    project.add(&["More", "--key", "k2", "--verify", "test -f k1.txt && grep -q edit base.txt"]);
    let run = project.ok(&["run", "-j", "2"]);
    let second = branch(&project);
    let told =
        format!("main does not have what earlier runs landed on {first}, so this run lands on {second}");
    assert!(run.stdout.contains(&told), "{}", run.stdout);
    assert!(run.stdout.contains(&format!("git merge {second}")), "{}", run.stdout);
    assert_eq!(project.git(&["rev-parse", "main"]), head);
    // A person who has taken the work over as a commit of their own has it.
    project.git(&["merge", "-q", "--squash", &second]);
    project.git(&["commit", "-qm", "squashed"]);
    project.add(&["More", "--key", "k3", "--verify", "test -f k3.txt"]);
    project.ok(&["run", "-j", "2"]);
    assert_eq!(branch(&project), "main");
    assert!(project.path("k3.txt").exists());
}

#[test]
fn a_merge_in_progress_is_no_workers_trouble() {
    let project = on_main(&writes_own_file());
    add_tasks(&project, 2);
    project.git(&["checkout", "-qb", "other"]);
    project.git(&["commit", "-q", "--allow-empty", "-m", "other"]);
    project.git(&["checkout", "-q", "main"]);
    project.git(&["merge", "-q", "--no-ff", "--no-commit", "other"]);
    let head = project.git(&["rev-parse", "main"]);
    let run = project.ok(&["run", "-j", "2"]);
    let own = branch(&project);
    let told = format!("main is checked out, and a merge is in progress; this run lands on {own}");
    assert!(run.stdout.contains(&told), "{}", run.stdout);
    assert_eq!(project.git(&["rev-parse", "main"]), head);
    assert!(project.path(".git/MERGE_HEAD").exists() && !project.path("k1.txt").exists());
    assert!(files_on(&project, &own).contains("k2.txt"));
}

#[test]
fn a_run_in_the_tree_itself_keeps_it_to_itself() {
    let project = on_main(&others_wait());
    add_tasks(&project, 2);
    let mut alone = project.start(&["run", "-j", "1", "k2", "--quiet"]);
    eventually("it is at work", || project.status_of("k2") == "in_progress");
    let run = project.ok(&["run", "-j", "2", "k1"]);
    assert!(run.stdout.contains("main is checked out, and run r-"), "{}", run.stdout);
    assert!(branch(&project).starts_with("ralph/"));
    fs::write(project.path(".ralph/go"), "").unwrap();
    assert_eq!(alone.wait().unwrap().code(), Some(0));
}

/// A git that kills its caller at one of the calls that bring the checkout forward, and with it the supervisor if asked.
fn git_that_kills(project: &Project, call: u32, moment: &str, whole_run: bool) -> String {
    let dir = project.root().join("../killing");
    fs::create_dir_all(&dir).unwrap();
    let path = std::env::var("PATH").unwrap();
    let who = match whole_run {
        true => "$(awk '{print $4}' /proc/$PPID/stat) $PPID",
        false => "$PPID",
    };
    let kill = format!("touch \"$dir/killed\"; kill -9 {who}");
    let act = match moment {
        "before" => format!("{kill}; exit 1"),
        "beside" => format!("{kill}; sleep 0.3; PATH='{path}' exec git \"$@\""),
        _ => format!("PATH='{path}' git \"$@\"; {kill}; exit 1"),
    };
    let script = format!(
        "#!/bin/sh\ndir='{}'\n\
         case \"$GIT_INDEX_FILE\" in */.ralph/follow/index) if [ ! -e \"$dir/killed\" ]; then\n\
         echo x >> \"$dir/calls\"; if [ $(wc -l < \"$dir/calls\") -eq {call} ]; then {act}; fi; fi;; esac\n\
         PATH='{path}' exec git \"$@\"\n",
        dir.display()
    );
    fs::write(dir.join("git"), script).unwrap();
    fs::set_permissions(dir.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{path}", dir.display())
}

#[test]
fn a_kill_at_any_call_of_git_loses_nothing_and_lands_nothing_twice() {
    // Status, files, branch: of the second landing, the first may come before the branch's reflog is there.
    for (call, moment, whole_run) in [
        (4, "before", false),
        (5, "before", false),
        (5, "beside", false),
        (5, "after", true),
        (6, "before", true),
        (6, "beside", true),
        (6, "after", false),
    ] {
        let what = format!("call {call}, {moment}, whole run: {whole_run}");
        let project = on_main(&writes_own_file());
        add_tasks(&project, 4);
        let path = git_that_kills(&project, call, moment, whole_run);
        let mut run = project.command(&["run", "-j", "2", "--quiet"]);
        let ended = run.env("PATH", path).status().unwrap();
        assert!(project.root().join("../killing/killed").exists(), "{what}: nobody was killed");
        assert_eq!(ended.code(), (!whole_run).then_some(0), "{what}");
        if whole_run {
            // The other worker ends by itself.
            let mark = format!("RALPH_PROJECT={}", project.root().display());
            eventually("every process ends", || crate::support::processes_with(&mark).is_empty());
            project.ok(&["run", "-j", "2"]);
        }
        assert_eq!((branch(&project).as_str(), changed(&project).as_str()), ("main", ""), "{what}");
        assert_eq!(left_in_git(&project), Vec::<String>::new(), "{what}");
        assert!((1..=4).all(|n| project.path(format!("k{n}.txt")).exists()), "{what}");
        let subjects = project.git(&["log", "--format=%s", "--first-parent", "main"]);
        let mut subjects: Vec<&str> = subjects.lines().collect();
        subjects.sort_unstable();
        assert_eq!(subjects, ["first", "k1: Task 1", "k2: Task 2", "k3: Task 3", "k4: Task 4"], "{what}");
    }
}
