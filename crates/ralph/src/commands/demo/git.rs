//! Git for the scratch project: a repository of its own that no setting of the user's can upset.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether the scratch project is a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitUse {
    /// It is one.
    Repository,
    /// It is none.
    Without {
        /// For what reason.
        why: String,
    },
}

/// Settings of the repository: an author, and nothing that asks for keys or runs other programs.
const SETTINGS: [(&str, &str); 7] = [
    ("user.name", "Ralph demo"),
    ("user.email", "demo@localhost"),
    ("commit.gpgsign", "false"),
    ("core.hooksPath", ".git/hooks"),
    ("core.autocrlf", "false"),
    // A commit may start housekeeping in the background, which would outlive the agent.
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];

/// Variables by which a surrounding git, in a hook for example, would lead ours elsewhere.
const ELSEWHERE: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
];

/// Makes a directory a repository and commits everything in it.
pub fn start(root: &Path, message: &str) -> GitUse {
    let made = call(
        root,
        &["-c", "init.defaultBranch=main", "init", "-q", "--template="],
    )
    .and_then(|()| {
        SETTINGS
            .iter()
            .try_for_each(|(name, value)| call(root, &["config", name, value]))
    })
    .and_then(|()| call(root, &["add", "--all"]))
    .and_then(|()| call(root, &["commit", "-q", "-m", message]));
    match made {
        Ok(()) => GitUse::Repository,
        Err(why) => GitUse::Without { why },
    }
}

/// Commits these files; `false` where there is nothing to commit, or no repository.
pub fn commit(root: &Path, files: &[&str], message: &str) -> bool {
    let with_files = |words: &[&'static str]| -> Vec<String> {
        let words = words.iter().chain(files);
        words.map(|word| (*word).to_owned()).collect()
    };
    let run = |words: Vec<String>| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        call(root, &words).is_ok()
    };
    root.join(".git").exists()
        && run(with_files(&["add", "--"]))
        && !run(with_files(&["diff", "--cached", "--quiet", "--"]))
        && call(root, &["commit", "-q", "-m", message]).is_ok()
}

/// Runs git; the error is a sentence for people.
fn call(root: &Path, args: &[&str]) -> Result<(), String> {
    let mut command = Command::new("git");
    for variable in ELSEWHERE {
        command.env_remove(variable);
    }
    let output = command
        .args(args)
        .current_dir(root)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => "git is not installed".to_owned(),
            _ => format!("cannot start git: {error}"),
        })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().last().unwrap_or_default();
    Err(format!("git failed: {said}"))
}
