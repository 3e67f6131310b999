//! The demo's words before and after the run.

use std::env;
use std::path::Path;

use ralph_core::capture::error_line;
use ralph_core::model::{Attempt, GateOutcome};
use ralph_core::store::HistoryStore;

use super::git::GitUse;
use super::project::Scratch;
use crate::ui::style::{BOLD, CYAN, DIM, RED, paint};
use crate::workspace::Workspace;

/// What is going to happen.
pub fn introduction(scratch: &Scratch) -> String {
    format!(
        "{} Five tasks, each with a gate: a test that Ralph runs itself. The\n\
         agent is scripted (no account, no network), all the rest is real. It gets one\n\
         task wrong at first: watch what happens then.\n\
         {} {}\n\n",
        paint(BOLD, "Ralph demo."),
        paint(BOLD, "Scratch project:"),
        scratch.root.display()
    )
}

/// What happened, where to look, what to type next.
pub fn farewell(workspace: &Workspace, scratch: &Scratch) -> String {
    let attempts = workspace.store.history(None).unwrap_or_default();
    let mut text = String::new();
    if let Some(failed) = attempts.iter().find(|attempt| caught(attempt)) {
        text.push_str(&seen(workspace, failed));
    }
    text.push_str(&format!("\n{}\n", paint(BOLD, "Look around")));
    for (command, what) in commands(scratch) {
        let room = " ".repeat(36usize.saturating_sub(command.chars().count()).max(2));
        let what = if what.is_empty() {
            String::new()
        } else {
            format!("{room}{}", paint(DIM, what))
        };
        text.push_str(&format!("  {}{what}\n", paint(CYAN, command)));
    }
    text.push_str(&format!("\n{}\n", paint(BOLD, "In your own project")));
    for command in [
        "ralph init",
        "ralph task add \"What to do\" --verify \"how to check it\"",
        "ralph run",
    ] {
        text.push_str(&format!("  {}\n", paint(CYAN, command)));
    }
    text
}

/// Where to go on after a run that did not get to its end.
pub fn unfinished(scratch: &Scratch) -> String {
    let dir = shell_word(&scratch.root);
    let ralph = off_path().unwrap_or_else(|| "ralph".to_owned());
    let command = paint(CYAN, format_args!("cd {dir} && {ralph} run"));
    format!("\nThe scratch project is still there. To go on:\n  {command}\n")
}

/// Whether the gate found out that a task was not done.
fn caught(attempt: &Attempt) -> bool {
    attempt.counted && attempt.detail.gate == Some(GateOutcome::Failed)
}

fn seen(workspace: &Workspace, failed: &Attempt) -> String {
    let task = workspace.task(failed.task_id.as_str()).ok();
    let name = task
        .as_ref()
        .map_or(failed.task_id.as_str(), |task| task.name());
    let gate = task
        .as_ref()
        .and_then(|task| task.verify.as_deref())
        .unwrap_or_default();
    let output = failed.detail.gate_output.as_deref().unwrap_or_default();
    let said = error_line(output)
        .or(failed.detail.message.as_deref())
        .unwrap_or_default();
    format!(
        "\n{}\n  \
         The agent said that {name} was done. Its gate, `{gate}`, disagreed:\n    {}\n  \
         The next attempt found that in its prompt and mended it. A task is done when\n  \
         its gate passes, not when an agent says so; what needed {name} waited for that.\n",
        paint(BOLD, "What you just saw"),
        paint(RED, said)
    )
}

/// What to type, and what it is for.
fn commands(scratch: &Scratch) -> Vec<(String, &'static str)> {
    let mut commands = vec![(format!("cd {}", shell_word(&scratch.root)), "")];
    if let Some(program) = off_path() {
        commands.push((format!("alias ralph={program}"), "it is not on your PATH"));
    }
    let mut add = |command: &str, what| commands.push((command.to_owned(), what));
    add("ralph status", "where the plan stands");
    add("ralph history", "every attempt");
    add(
        "ralph context 2.1",
        "the prompt, with the failed attempt in it",
    );
    add("ralph logs 2.1", "what the agent said");
    if scratch.git == GitUse::Repository {
        add("git log --oneline", "what it committed");
    }
    add("sh todo.sh add Tea && sh todo.sh", "the program it made");
    add(
        "ralph task reset 2.1 && ralph run",
        "2.1 again: it remembers",
    );
    commands
}

/// This program's path, where the shell would not find it by name.
fn off_path() -> Option<String> {
    let path = env::var_os("PATH").unwrap_or_default();
    if env::split_paths(&path).any(|dir| dir.join("ralph").is_file()) {
        return None;
    }
    Some(shell_word(&env::current_exe().ok()?))
}

/// A path as a shell takes it.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+,@%".contains(c);
    if text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_can_be_pasted() {
        assert_eq!(
            shell_word(Path::new("/tmp/ralph-demo-aB3")),
            "/tmp/ralph-demo-aB3"
        );
        assert_eq!(shell_word(Path::new("/tmp/it's $x")), "'/tmp/it'\\''s $x'");
    }
}
