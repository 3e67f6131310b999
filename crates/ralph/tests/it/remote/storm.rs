//! A storm over several clones that land on one branch of a remote: supervisors and workers are killed at random moments, while a
//! person pushes to the branch.

use std::collections::BTreeSet;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::{SHARED, Team};
use crate::jobs::{DONE, children};
use crate::storms::Storm;
use crate::support::{PATIENCE, Project, eventually, processes_with};

/// Writes a file of its own; now and then fails or commits by itself.
fn agent() -> String {
    format!(
        "roll=$(od -An -N1 -tu1 /dev/urandom | tr -d ' '); mkdir -p own; echo $RALPH_ATTEMPT > \"own/$RALPH_TASK_KEY.txt\"\n\
         case $((roll % 12)) in\n\
         0) echo 'FAILURE_REASON: no luck'; echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"; exit 0;;\n\
         1) git add -A; git commit -qm \"by the agent of $RALPH_TASK_KEY\";;\n\
         esac\n{DONE}"
    )
}

fn kill(pid: u32) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid as i32) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

fn count(project: &Project, status: &str) -> u64 {
    project.json(&["status", "--json"])["tasks"][status].as_u64().unwrap()
}

#[test]
fn a_storm_over_several_clones_lands_every_task_once() {
    let full = std::env::var("RALPH_STORM").as_deref() == Ok("full");
    let (clones, workers, batch) = if full { (8, "4", 500) } else { (3, "2", 20) };
    let mut team = Team::new(&agent(), clones);
    for clone in &mut team.clones {
        for name in
            ["RALPH_SET_RUN_MAX_ATTEMPTS", "RALPH_SET_RUN_MAX_TOTAL_ATTEMPTS", "RALPH_SET_BREAKER_THRESHOLD"]
        {
            clone.set_env(name, "100000");
        }
    }
    let mut tasks = 0;
    add_batch(&team, &mut tasks, batch);
    let start = |clone: &Project| clone.start(&["run", "-j", workers, "--quiet"]);
    let mut runs: Vec<Option<Child>> = team.clones.iter().map(|clone| Some(start(clone))).collect();
    let mut storm = Storm::new("over several clones", 300);
    let mut random = fastrand::Rng::with_seed(7);
    let mut pushed = Vec::new();
    while storm.goes_on() {
        std::thread::sleep(Duration::from_millis(random.u64(50..900)));
        let victim = random.usize(0..clones);
        let run = runs[victim].as_mut().unwrap();
        let workers = children(run.id());
        match random.u8(0..3) {
            0 => run.kill().unwrap(),
            _ => random.choice(&workers).copied().into_iter().for_each(kill),
        }
        storm.killed();
        for (run, clone) in runs.iter_mut().zip(&team.clones) {
            if run.as_mut().unwrap().try_wait().unwrap().is_some() {
                *run = Some(start(clone));
            }
        }
        pushed.extend(push_as_person(&team, pushed.len()));
        if count(team.first(), "done") == tasks {
            add_batch(&team, &mut tasks, batch / 2);
        }
    }
    for run in runs.iter_mut().flatten() {
        run.kill().unwrap();
        run.wait().unwrap();
    }
    // Whatever the storm left is finished in peace.
    let quiet = Instant::now();
    while count(team.first(), "done") < tasks {
        assert!(quiet.elapsed() < 5 * PATIENCE, "never ends: {}", team.first().ok(&["status"]).stdout);
        let runs: Vec<Child> = team.clones.iter().take(2).map(start).collect();
        runs.into_iter().for_each(|mut run| drop(run.wait()));
    }
    let mark = team.remote.display().to_string();
    eventually("no process of git is left", || processes_with(&mark).is_empty());
    storm.add(team.first());
    storm.end();
    check(&team, tasks, &pushed);
}

/// Adds so many tasks, every fourth of which depends on the one before.
fn add_batch(team: &Team, tasks: &mut u64, batch: u64) {
    *tasks += batch;
    let line = |n: u64| {
        let after = if n % 4 == 3 { format!(", \"after\": [\"{}\"]", n - 1) } else { String::new() };
        format!("{{\"key\": \"{n}\", \"title\": \"T\", \"verify\": \"test -f own/{n}.txt\"{after}}}\n")
    };
    team.first().write("../plan.jsonl", &(0..*tasks).map(line).collect::<String>());
    team.first().ok(&["import", "../plan.jsonl"]);
}

/// A person adds a file to the branch, unless somebody else is quicker.
fn push_as_person(team: &Team, n: usize) -> Option<String> {
    let script = format!(
        "cd {0}/person 2> /dev/null || {{ git clone -q {0} {0}/person && cd {0}/person; }} || exit 1\n\
         git fetch -q origin && git checkout -q --detach origin/{SHARED} || exit 1\n\
         mkdir -p persons; echo x > persons/{n}.txt; git add -A; git commit -qm 'person {n}'\n\
         git push -q origin HEAD:refs/heads/{SHARED} 2> /dev/null && git rev-parse HEAD",
        team.remote.display()
    );
    let mut command = std::process::Command::new("sh");
    team.first().clean(&mut command);
    let done = command.args(["-c", &script]).output().unwrap();
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
}

fn check(team: &Team, tasks: u64, pushed: &[String]) {
    let project = team.first();
    let files = team.on_remote(&["ls-tree", "-r", "--name-only", SHARED]);
    let files: BTreeSet<&str> = files.lines().collect();
    let missing: Vec<u64> = (0..tasks).filter(|n| !files.contains(format!("own/{n}.txt").as_str())).collect();
    assert!(missing.is_empty(), "done and not on the branch: {missing:?}");
    // One attempt of each task is done, its commit is on the branch, and no other brought the task there.
    let history = project.history();
    let done: Vec<_> = history.iter().filter(|attempt| attempt["outcome"] == "done").collect();
    let keys: BTreeSet<&str> = done.iter().map(|attempt| attempt["key"].as_str().unwrap()).collect();
    assert_eq!((done.len() as u64, keys.len() as u64), (tasks, tasks));
    for attempt in &done {
        let (key, commit) = (attempt["key"].as_str().unwrap(), attempt["commit_after"].as_str().unwrap());
        team.on_remote(&["merge-base", "--is-ancestor", commit, SHARED]);
        let path = format!("own/{key}.txt");
        let touching = team.on_remote(&["log", "--first-parent", "--format=%H", SHARED, "--", &path]);
        assert_eq!(touching.lines().collect::<Vec<_>>(), [commit], "{key}");
    }
    // No attempt is on record twice.
    let numbers: BTreeSet<(&str, u64)> = history
        .iter()
        .map(|attempt| (attempt["task_id"].as_str().unwrap(), attempt["attempt_number"].as_u64().unwrap()))
        .collect();
    assert_eq!(numbers.len(), history.len());
    for commit in pushed {
        team.on_remote(&["merge-base", "--is-ancestor", commit, SHARED]);
    }
    let schema = team.schema();
    let left = format!(
        "SELECT (SELECT count(*) FROM \"{schema}\".claims) + (SELECT count(*) FROM \"{schema}\".workers)"
    );
    assert_eq!(crate::server_store::sql(&left), "0");
    team.on_remote(&["fsck", "--connectivity-only"]);
    // What is kept was done by an attempt that did not land.
    for kept in team.kept() {
        let landed = Command::new("git")
            .args(["--git-dir", team.remote.to_str().unwrap(), "merge-base", "--is-ancestor", &kept, SHARED])
            .status()
            .unwrap();
        assert!(!landed.success(), "{kept} landed");
    }
}
