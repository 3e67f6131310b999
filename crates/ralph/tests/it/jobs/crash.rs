//! Supervisors, workers and agents that are killed: nothing is stranded, and nobody else is harmed.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{DONE, add_tasks, branch, events, files_on, project};
use crate::support::{Project, eventually, processes_with};

/// Tells that it began, and goes on when it may.
fn patient() -> String {
    format!(
        "echo $$ > \"$RALPH_PROJECT/.ralph/began-$RALPH_TASK_KEY\"; until [ -e \"$RALPH_PROJECT/go\" ]; do sleep 0.05; done; \
         echo x > \"$RALPH_TASK_KEY.txt\"; {DONE}"
    )
}

fn began(project: &Project, key: &str) -> bool {
    project.path(format!(".ralph/began-{key}")).metadata().is_ok_and(|meta| meta.len() > 0)
}

fn agent_of(project: &Project, key: &str) -> u32 {
    project.read(&format!(".ralph/began-{key}")).trim().parse().unwrap()
}

/// The claims, with the processes that hold them.
fn claims(project: &Project) -> Vec<(String, u32)> {
    let database = project.database();
    let mut rows = database
        .prepare("SELECT t.key, c.pid FROM claims c JOIN tasks t ON t.id = c.task_id ORDER BY t.key")
        .unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim().starts_with('Z'))
}

#[test]
fn a_killed_worker_takes_its_own_agent_with_it_and_no_other() {
    let project = project(&patient());
    add_tasks(&project, 3);
    let mut run = project.start(&["run", "-j", "2", "--quiet"]);
    eventually("two attempts begin", || began(&project, "k1") && began(&project, "k2"));
    let (first, other) = (agent_of(&project, "k1"), agent_of(&project, "k2"));
    let (_, worker) = claims(&project).into_iter().find(|(key, _)| key == "k1").unwrap();
    fs::remove_file(project.path(".ralph/began-k1")).unwrap();
    kill_process(Pid::from_raw(worker as i32).unwrap(), Signal::KILL).unwrap();
    eventually("its agent is ended", || !is_alive(first));
    // Another takes its place and its task.
    eventually("the task begins again", || began(&project, "k1"));
    assert!(is_alive(other), "the agent of the other worker was ended, too");
    fs::write(project.path("go"), "").unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(0));
    let history = project.history();
    let of = |key: &'static str| {
        history.iter().filter(move |one| one["key"] == key).map(|one| one["outcome"].clone())
    };
    assert_eq!(of("k1").collect::<Vec<Value>>(), [json!("error"), json!("done")]);
    assert_eq!(of("k2").collect::<Vec<Value>>(), [json!("done")]);
    assert!(
        events(&project, "warning")
            .iter()
            .any(|event| event["message"].as_str().unwrap().contains("was killed"))
    );
    let files = files_on(&project, &branch(&project));
    assert!((1..=3).all(|n| files.contains(&format!("k{n}.txt"))), "{files:?}");
}

#[test]
fn with_their_supervisor_all_workers_end_and_the_next_run_goes_on() {
    let project = project(&patient());
    add_tasks(&project, 4);
    let mut run = project.start(&["run", "-j", "3", "--quiet"]);
    eventually("three attempts begin", || ["k1", "k2", "k3"].iter().all(|key| began(&project, key)));
    run.kill().unwrap();
    run.wait().unwrap();
    let mark = format!("RALPH_PROJECT={}", project.root().display());
    eventually("every agent is ended", || processes_with(&mark).is_empty());
    eventually("every worker is ended", || claims(&project).is_empty());
    fs::write(project.path("go"), "").unwrap();
    project.ok(&["run", "-j", "3"]);
    let files = files_on(&project, &branch(&project));
    assert!((1..=4).all(|n| files.contains(&format!("k{n}.txt"))), "{files:?}");
    let done = project.history().iter().filter(|one| one["outcome"] == "done").count();
    assert_eq!(done, 4);
    // Nobody holds a tree.
    for tree in project.json(&["worktrees", "list", "--json"]).as_array().unwrap() {
        assert_eq!(tree["worker"], json!(null), "{tree}");
    }
}
