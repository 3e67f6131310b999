//! Runs in pid namespaces of their own: the same process id means another process there.

use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::run::DONE;
use crate::support::{Project, eventually};

/// A command of Ralph in a pid namespace of its own.
fn apart(project: &Project, args: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--pid", "--fork", "--mount-proc", env!("CARGO_BIN_EXE_ralph")])
        .args(args)
        .current_dir(project.root())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    project.clean(&mut command);
    command
}

fn here(project: &Project, args: &[&str]) -> Command {
    let mut command = project.command(args);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn ended(mut child: Child) -> Option<i32> {
    let mut status = None;
    eventually("the run ends", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap().code()
}

#[test]
fn plan_07_a_live_run_in_another_pid_namespace_is_not_taken_for_dead() {
    let probe = Command::new("unshare").args(["--pid", "--fork", "--mount-proc", "true"]).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        eprintln!("skipped: pid namespaces are not permitted here");
        return;
    }
    type Start = fn(&Project, &[&str]) -> Command;
    let (here, apart): (Start, Start) = (here, apart);
    for (holder, other) in [(apart, here), (here, apart), (apart, apart)] {
        let project = Project::new();
        project.agent(&format!("echo x >> started; while [ ! -e go ]; do sleep 0.02; done; {DONE}"));
        project.add(&["A", "--key", "a"]);
        let holds = holder(&project, &["run", "--limit", "1"]).spawn().unwrap();
        eventually("the attempt", || project.path("started").exists());
        // Anything that changes the plan looks for dead runs first; a run waits for the live one.
        ended(other(&project, &["task", "reset", "a"]).spawn().unwrap());
        let waits = other(&project, &["run"]).spawn().unwrap();
        eventually("the second run", || {
            let runs: i64 =
                project.database().query_row("SELECT count(*) FROM runs", [], |row| row.get(0)).unwrap();
            runs == 2
        });
        ended(other(&project, &["task", "reset", "a"]).spawn().unwrap());
        assert_eq!(project.read("started"), "x\n");
        project.write("go", "");
        assert_eq!((ended(holds), ended(waits)), (Some(0), Some(0)));
        let history = project.history();
        assert_eq!(history.len(), 1, "{history:?}");
        assert_eq!(history[0]["outcome"], json!("done"));
    }
}
