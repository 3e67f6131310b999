//! The demo wherever it is started: full directories, other shells, no git, hostile settings.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{GATES, gates_pass, outcomes};
use crate::support::Project;

/// Where a program is, if it is installed.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// A `PATH` with these programs and no others.
pub fn path_with(dir: PathBuf, programs: &[&str]) -> String {
    fs::create_dir_all(&dir).unwrap();
    for name in programs {
        symlink(program(name).unwrap(), dir.join(name)).unwrap();
    }
    dir.to_str().unwrap().to_owned()
}

#[test]
fn demo_06_a_directory_with_something_in_it_is_refused_and_left_alone() {
    let project = Project::empty();
    project.write("full/precious.txt", "mine");
    for dir in ["full", "full/precious.txt"] {
        let output = project.ralph(&["demo", "--dir", dir]).expect_code(2);
        assert!(output.stderr.contains("new or empty"), "{}", output.stderr);
    }
    let names: Vec<_> = fs::read_dir(project.path("full")).unwrap().collect();
    assert_eq!(names.len(), 1);
    assert_eq!(project.read("full/precious.txt"), "mine");
}

#[test]
fn demo_07_without_a_directory_it_makes_one_that_stays() {
    let mut project = Project::empty();
    let temporary = project.path("tmp dir");
    fs::create_dir(&temporary).unwrap();
    project.set_env("TMPDIR", temporary.to_str().unwrap());
    let output = project.ok(&["demo", "--fast", "--quiet"]);
    let root = Path::new(output.text());
    assert_eq!(root.parent(), Some(temporary.as_path()));
    let name = root.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("ralph-demo-"), "{name}");
    gates_pass(root, "sh", &GATES);
    assert!(!project.path(".ralph").exists());
}

#[test]
fn demo_09_it_works_without_git() {
    let mut project = Project::empty();
    let path = path_with(project.root().with_file_name("bin"), &["sh", "cat", "mv", "rm", "wc"]);
    project.set_env("PATH", &path);
    let output = project.ralph(&["demo", "--fast", "--dir", "."]).expect_code(0);
    assert!(output.stderr.contains("git is not installed"), "{}", output.stderr);
    assert!(!output.stdout.contains("git log"), "{}", output.stdout);
    assert_eq!(outcomes(&project).len(), 6);
    assert!(!project.path(".git").exists());
    gates_pass(&project.root(), "sh", &GATES);
}

#[test]
fn demo_10_every_shell_there_is_will_do() {
    for shell in ["dash", "busybox", "bash"] {
        let Some(found) = program(shell) else {
            continue;
        };
        let mut project = Project::empty();
        let bin = project.root().with_file_name("bin");
        let path = path_with(bin.clone(), &["cat", "mv", "rm", "wc"]);
        // Busybox and bash see by this name that they are to be `sh`.
        symlink(found, bin.join("sh")).unwrap();
        project.set_env("PATH", &path);
        project.ralph(&["demo", "--fast", "--dir", "."]).expect_code(0);
        gates_pass(&project.root(), bin.join("sh").to_str().unwrap(), &GATES);
    }
}

#[test]
fn demo_11_nothing_around_it_upsets_it() {
    let mut project = Project::empty();
    let outside = project.path("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(
        project.root().with_file_name("home").join(".gitconfig"),
        "[commit]\n gpgsign = true\n[gpg]\n program = /bin/false\n[core]\n hooksPath = /nowhere\n",
    )
    .unwrap();
    // As in a git hook, in another project's attempt, with settings meant for other projects.
    project.set_env("GIT_INDEX_FILE", outside.join("index").to_str().unwrap());
    project.set_env("RALPH_RUN_ID", "r-outside");
    project.set_env("RALPH_SET_RUN_AGENT", "no-such-agent");
    project.set_env("RALPH_SET_RUN_LIMIT", "1");
    let output = project.ok(&["demo", "--fast", "--dir", "it's a demo"]);
    assert!(
        output.stdout.contains("cd '/") && output.stdout.contains("/it'\\''s a demo'"),
        "{}",
        output.stdout
    );
    assert_eq!(output.stderr, "");
    assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
}
