//! Projects that belong to other users, and who may read what Ralph writes.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::run::DONE;
use crate::support::{Output, Project};

const NOBODY: u32 = 65534;

/// A project whose agent leaves a trace when it is run.
fn project() -> Project {
    let project = Project::new();
    project.agent(&format!(": > \"$HOME/obeyed\"; {DONE}"));
    project.add(&["A"]);
    project.write(".ralph/templates/rules.md", "Be kind.\n");
    project
}

/// Gives a file to another user; `false` where only root could.
fn give_away(path: &Path) -> bool {
    std::os::unix::fs::lchown(path, Some(NOBODY), None).is_ok()
}

#[track_caller]
fn refused(project: &Project, output: &Output, why: &str) {
    assert_eq!(output.code, 2, "{}\n{}", output.stdout, output.stderr);
    assert!(output.stderr.contains(why), "{}", output.stderr);
    assert!(output.stderr.contains("hint:") && output.stderr.contains("ralph trust "), "{}", output.stderr);
    assert!(!project.root().with_file_name("home").join("obeyed").exists());
}

#[test]
fn a_project_of_another_user_is_not_obeyed() {
    let paths =
        [".ralph.toml", ".ralph", ".ralph/progress.db", ".ralph/templates", ".ralph/templates/rules.md"];
    for path in paths {
        let project = project();
        if !give_away(&project.path(path)) {
            return;
        }
        for args in [
            &["run"][..],
            &["run", "--detach"],
            &["run", "--dry-run"],
            &["status"],
            &["task", "add", "B"],
            &["config", "show"],
            &["config", "path"],
            &["notify", "test"],
            &["init"],
            &["context", "t-000000"],
        ] {
            refused(&project, &project.ralph(args), "belongs to another user (uid 65534)");
        }
        let doctor = project.ralph(&["doctor"]).expect_code(1);
        assert!(doctor.stdout.contains("belongs to another user"), "{}", doctor.stdout);
        let names = project.ralph(&["complete", "--", "ralph", "task", "show", ""]);
        assert!(!names.stdout.contains("t-"), "{}", names.stdout);
    }
}

#[test]
fn the_store_that_a_project_of_another_user_names_gets_no_password() {
    let mut project = project();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let port = server.local_addr().unwrap().port();
    project.configure(&format!("[store]\nurl = \"postgres://u@127.0.0.1:{port}/d?sslmode=disable\""));
    project.set_env("PGPASSWORD", "of-a-person");
    if !give_away(&project.path(".ralph.toml")) {
        return;
    }
    refused(&project, &project.ralph(&["status"]), "belongs to another user (uid 65534)");
    assert_eq!(server.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn a_link_to_or_of_another_user_is_not_obeyed() {
    let project = project();
    let (file, real) = (project.path(".ralph.toml"), project.path("real.toml"));
    fs::rename(&file, &real).unwrap();
    symlink(&real, &file).unwrap();
    project.ok(&["status"]);
    if !give_away(&file) {
        return;
    }
    refused(&project, &project.ralph(&["run"]), "belongs to another user");
    fs::remove_file(&file).unwrap();
    symlink(&real, &file).unwrap();
    chown(&real, Some(NOBODY), None).unwrap();
    refused(&project, &project.ralph(&["run"]), "belongs to another user");
}

#[test]
fn what_everybody_may_write_is_not_obeyed_and_what_a_group_may_is() {
    for path in [".ralph.toml", ".ralph", ".ralph/progress.db"] {
        let project = project();
        let path = project.path(path);
        let chmod = |mode| fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let mode = fs::metadata(&path).unwrap().mode() & 0o777;
        chmod(mode | 0o060);
        project.ok(&["status"]);
        chmod(mode | 0o006);
        let run = project.ralph(&["run"]);
        refused(&project, &run, "is world-writable");
        assert!(run.stderr.contains("chmod o-w "), "{}", run.stderr);
        chmod(mode);
        project.ok(&["run"]);
    }
}

#[test]
fn consent_is_recorded_and_taken_back() {
    let project = project();
    if !give_away(&project.path(".ralph.toml")) {
        return;
    }
    let root = project.root().canonicalize().unwrap();
    let root = root.to_str().unwrap();
    fs::create_dir(project.path("sub")).unwrap();
    assert_eq!(project.json(&["trust", "--list", "--json"]), json!({ "trusted": [] }));
    let said = project.json(&["trust", "sub", "--json"]);
    assert_eq!(said, json!({ "path": root, "trusted": true }));
    project.ok(&["trust", "."]);
    assert_eq!(project.ok(&["trust", "--list"]).text(), root);
    let file = project.root().with_file_name("home").join(".config/ralph/trusted");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    project.ok(&["status"]);
    // It covers what everybody may write as well, and no other project.
    fs::set_permissions(project.path(".ralph.toml"), Permissions::from_mode(0o666)).unwrap();
    project.ok(&["status"]);
    let other = self::project();
    give_away(&other.path(".ralph.toml"));
    refused(&other, &other.ralph(&["status"]), "belongs to another user");
    // A list that others may write counts for nothing.
    fs::set_permissions(&file, Permissions::from_mode(0o622)).unwrap();
    refused(&project, &project.ralph(&["status"]), "belongs to another user");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    project.ok(&["trust", "--remove", root]);
    project.ralph(&["trust", "--remove", root]).expect_code(2);
    refused(&project, &project.ralph(&["run"]), "belongs to another user");
}

#[test]
fn an_agent_cannot_give_consent() {
    let project = Project::new();
    let ralph = env!("CARGO_BIN_EXE_ralph");
    project.agent(&format!(
        "(cd / && env -i HOME=\"$HOME\" {ralph} trust \"$RALPH_PROJECT\" 2>&1) > said; echo $? >> said
         echo \"<task-done>$RALPH_TASK_ID</task-done>\""
    ));
    project.add(&["A"]);
    project.ok(&["run"]);
    let said = project.read("said");
    assert!(said.contains("inside a run") && said.ends_with("2\n"), "{said}");
    assert!(!project.path("../home/.config/ralph/trusted").exists());
}

#[test]
fn root_obeys_the_user_behind_sudo() {
    let mut project = project();
    if !give_away(&project.path(".ralph.toml")) {
        return;
    }
    project.ralph(&["status"]).expect_code(2);
    project.set_env("SUDO_UID", &NOBODY.to_string());
    project.ok(&["status"]);
}

#[test]
fn what_ralph_keeps_is_private_and_what_is_in_the_tree_follows_the_umask() {
    for (umask, settings) in [("000", 0o664), ("022", 0o644), ("077", 0o600)] {
        let project = Project::empty();
        let ralph = env!("CARGO_BIN_EXE_ralph");
        let agent = "[agents.script]\nkind = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n\
                     [run]\nagent = \"script\"\n";
        project.write("agent.sh", "echo words; echo more >&2\nexit 1\n");
        project.write("more.toml", agent);
        let script = format!(
            "umask {umask}; '{ralph}' init && cat more.toml > .ralph.toml && \
             '{ralph}' task add A && '{ralph}' run --limit 1"
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).current_dir(project.root());
        let output = project.clean(&mut shell).output().unwrap();
        let mode = |path: &str| {
            let meta = fs::metadata(project.path(path));
            meta.unwrap_or_else(|e| panic!("{path}: {e}\n{output:?}")).mode() & 0o777
        };
        assert_eq!(mode(".ralph.toml"), settings, "{umask}");
        let plain = 0o666 & !u32::from_str_radix(umask, 8).unwrap();
        assert_eq!(mode("AGENTS.md"), plain, "{umask}");
        for dir in [".ralph", ".ralph/logs"] {
            assert_eq!(mode(dir), 0o700, "{dir}");
        }
        let logs = fs::read_dir(project.path(".ralph/logs")).unwrap().flatten();
        let logs = logs.map(|entry| format!(".ralph/logs/{}", entry.file_name().display()));
        let locks = [".ralph/state_md.lock", ".ralph/agents_md.lock", ".ralph/progress.db"];
        let files: Vec<String> = logs.chain(locks.map(str::to_owned)).collect();
        assert!(files.len() >= 5, "{files:?}");
        for file in files {
            assert_eq!(mode(&file), 0o600, "{file}");
        }
    }
}

#[test]
fn a_directory_that_others_may_read_is_closed_to_them() {
    let project = project();
    let chmod = |path: &str, mode| {
        fs::set_permissions(project.path(path), Permissions::from_mode(mode)).unwrap();
    };
    let mode = |path: &str| fs::metadata(project.path(path)).unwrap().mode() & 0o777;
    chmod(".ralph", 0o755);
    chmod(".ralph/progress.db", 0o644);
    project.ok(&["status"]);
    assert_eq!((mode(".ralph"), mode(".ralph/progress.db")), (0o700, 0o600));
    project.ok(&["run"]);
}
