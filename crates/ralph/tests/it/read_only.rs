//! A project that may only be read: another user's, or on a disk that is mounted so.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::run::DONE;
use crate::support::{Output, Project};

/// Every command that looks.
const LOOKS: [&[&str]; 25] = [
    &["status"],
    &["status", "--json"],
    &["status", "--watch"],
    &["task", "list"],
    &["task", "show", "a"],
    &["task", "tree"],
    &["task", "deps", "list"],
    &["history"],
    &["logs"],
    &["logs", "a"],
    &["stats"],
    &["failures", "list"],
    &["failures", "show", "a"],
    &["learnings", "list"],
    &["learnings", "search", "dates"],
    &["learnings", "export"],
    &["context", "b"],
    &["context", "b", "--launch"],
    &["config", "show"],
    &["config", "get", "run.agent"],
    &["analyze"],
    &["breaker", "show"],
    &["limits", "show"],
    &["export"],
    &["run", "--dry-run"],
];

fn project() -> Project {
    let project = Project::new();
    project.agent(&format!("if [ $RALPH_ATTEMPT = 1 ]; then echo words; exit 1; fi; {DONE}"));
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b", "--after", "a"]);
    project.ok(&["learnings", "add", "Dates are parsed by hand"]);
    project.ralph(&["run", "--limit", "2"]).expect_code(4);
    project
}

/// Runs the binary in namespaces of its own, after a command that prepares them.
fn ralph_in(project: &Project, unshare: &str, prepare: &str, args: &[&str]) -> Output {
    let script = format!("{prepare} && exec \"$0\" \"$@\"");
    let mut command = Command::new("unshare");
    command
        .args([unshare, "sh", "-c", &script, env!("CARGO_BIN_EXE_ralph")])
        .args(args)
        .current_dir(project.root());
    let output = project.clean(&mut command).output().unwrap();
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn all_look(project: &Project, unshare: &str, prepare: &str) {
    for args in LOOKS {
        let there = project.ralph(args);
        let seen = ralph_in(project, unshare, prepare, args);
        assert_eq!(seen.code, there.code, "{args:?}: {}", seen.stderr);
        assert_eq!(seen.code, 0, "{args:?}: {}", seen.stderr);
        assert!(!seen.stdout.is_empty(), "{args:?}");
    }
    let add = ralph_in(project, unshare, prepare, &["task", "add", "C"]).expect_code(1);
    assert!(add.stderr.contains("cannot write"), "{}", add.stderr);
}

#[test]
fn a_project_on_a_disk_mounted_to_be_read_can_be_looked_at() {
    let project = project();
    let prepare = "mount --bind . . && mount -o remount,ro,bind . && cd \"$PWD\"";
    all_look(&project, "-Urm", prepare);
}

#[test]
fn a_project_of_somebody_else_can_be_looked_at() {
    let project = project();
    let modes = |dir, file| {
        let set = |path: &str, mode| {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(project.path(path), mode).unwrap();
        };
        set(".ralph", dir);
        set(".ralph/progress.db", file);
    };
    // In a user namespace of its own not even root may write what the modes forbid.
    modes(0o555, 0o444);
    for args in LOOKS {
        let seen = ralph_in(&project, "-U", "true", args);
        assert_eq!(seen.code, 0, "{args:?}: {}", seen.stderr);
    }
    let add = ralph_in(&project, "-U", "true", &["task", "add", "C"]);
    modes(0o755, 0o644);
    let add = add.expect_code(1);
    assert!(add.stderr.contains("cannot write"), "{}", add.stderr);
    assert!(!project.path(".ralph/progress.db-wal").exists());
}
