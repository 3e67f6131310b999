//! Where the system allows no more processes or threads, Ralph says so.

use std::process::Command;

use serde_json::json;

use crate::support::{Output, Project};

/// A user of whom nobody else has processes.
const NOBODYS: &str = "61234";

/// Runs a command of Ralph as that user, who may have so many processes and threads; none where that cannot be done here.
fn limited(project: &Project, most: u32, args: &[&str]) -> Option<Output> {
    let limit = format!("--nproc={most}");
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", NOBODYS, "--regid", NOBODYS, "--clear-groups"])
        .args(["prlimit", &limit, env!("CARGO_BIN_EXE_ralph")])
        .args(args)
        .current_dir(project.root());
    let output = project.clean(&mut command).output().ok()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(Output {
        code: output.status.code().unwrap_or(-1),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    })
}

#[test]
fn a_limit_of_processes_is_an_error_and_no_panic() {
    let (mut refused, mut not_started, mut done) = (0, 0, 0);
    for most in 1..12 {
        let mut project = Project::new();
        // Root obeys the project of the user behind sudo.
        project.set_env("SUDO_UID", NOBODYS);
        project.agent("echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
        project.set("notify", "command = \"true\"\nwebhook = \"http://localhost:9/\"\nwebhook_retries = 0");
        project.add(&["A", "--key", "a"]);
        let given =
            Command::new("chown").args(["-R", NOBODYS]).arg(project.root().parent().unwrap()).status();
        // Only root can do that, and only root can become somebody else.
        if !given.is_ok_and(|status| status.success()) {
            return;
        }
        let Some(output) = limited(&project, most, &["run", "--once"]) else {
            return;
        };
        let said = format!("{most}: {}{}", output.stdout, output.stderr);
        if said.contains("setpriv:") || said.contains("prlimit:") {
            return;
        }
        assert!(!said.contains("panicked"), "{said}");
        match output.code {
            0 => done += 1,
            1 if said.contains("cannot start a thread") => {
                assert!(said.contains("ulimit -u"), "{said}");
                refused += 1;
            }
            _ => {
                let attempt = &project.history()[0];
                if attempt["error_type"] == json!("crash") {
                    // There was room for the agent, and none for what it starts itself.
                    continue;
                }
                assert_eq!(
                    (&attempt["error_type"], &attempt["counted"]),
                    (&json!("spawn"), &json!(false)),
                    "{said}"
                );
                assert!(said.contains("process limit"), "{said}");
                not_started += 1;
            }
        }
    }
    assert!(refused > 0 && not_started > 0 && done > 0, "{refused} {not_started} {done}");
}
