//! The sandbox under the real binary: what must not get out of it, what must work in it, and what is said of it.

mod agents;
mod escapes;
mod git;
mod limits;
mod network;
mod planted;
mod setup;
mod sockets;
mod told;
mod works;

use std::process::Command;

use crate::support::Project;

/// The backends, by the name with which tests choose one.
pub const BACKENDS: [&str; 2] = ["bubblewrap", "landlock"];

/// A project in a repository with one commit, whose agents and gates are confined.
pub fn confined(backend: &str) -> Project {
    let mut project = Project::with_git();
    project.set_env("RALPH_SANDBOX_BACKEND", backend);
    project.write(".gitignore", "/agent.sh\n");
    project.write("README.md", "A project.\n");
    project.git(&["config", "user.name", "t"]);
    project.git(&["config", "user.email", "t@localhost"]);
    project.configure("[git]\ncommit = \"on-success\"");
    project
}

/// An agent that runs a script, in a project whose files are committed.
pub fn agent(project: &Project, script: &str) {
    project.agent(script);
    let prompt = "cat > \"$RALPH_PROJECT/.ralph/last-prompt\"";
    project.write("agent.sh", &project.read("agent.sh").replacen(prompt, "cat > /dev/null", 1));
    project.write(".gitignore", "");
    commit(project);
}

/// Commits what is there: workers see only what is committed.
pub fn commit(project: &Project) {
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "Start"]);
}

/// Whether a program is here that a test needs beside those of the suite.
pub fn is_installed(program: &str) -> bool {
    Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output()
        .is_ok_and(|it| it.status.success())
}

/// What agents printed.
pub fn raw_logs(project: &Project) -> String {
    let files = std::fs::read_dir(project.path(".ralph/logs")).unwrap().flatten();
    files.map(|file| std::fs::read_to_string(file.path()).unwrap_or_default()).collect()
}

/// A file that an attempt made: in the project, or on the branch where workers land.
pub fn made(project: &Project, path: &str) -> String {
    if let Ok(text) = std::fs::read_to_string(project.path(path)) {
        return text;
    }
    let branches = project.git(&["for-each-ref", "--format=%(refname)", "refs/heads/ralph"]);
    let branch = branches.lines().next().unwrap_or_default().to_owned();
    if branch.is_empty() { String::new() } else { project.git(&["show", &format!("{branch}:{path}")]) }
}
