//! The demo's introduction and conclusion.

use std::env;
use std::path::Path;

use ralph_core::diagnose::error_line;
use ralph_core::model::{Attempt, GateOutcome, Outcome};
use ralph_core::store::{HistoryStore, LearningFilter, LearningStore};

use super::git::GitUse;
use super::project::Scratch;
use super::story::Story;
use crate::ui;
use crate::ui::style::{BOLD, CYAN, DIM, GREEN, RED, paint};
use crate::workspace::Workspace;

/// The width these texts are written for; a narrower terminal gets more and shorter lines.
const COLUMNS: usize = 80;

/// What is going to happen.
pub fn introduction(scratch: &Scratch, story: Story) -> String {
    let (name, what) = match story {
        Story::Learning => (
            "Ralph demo",
            "Ralph runs a plan of five tasks. Each task has a gate: a test that Ralph runs itself.\n\
             The agent is scripted (no account, no network). Everything else is real.\n\
             Watch task 2.1: its gate catches a mistake, and the retry fixes it.\n\
             Task 2.2 then avoids the same mistake.",
        ),
        Story::Broken => (
            "Ralph demo: broken environment",
            "Ralph runs a plan of five tasks, but a program that every gate needs is not installed.\n\
             The agent is scripted (no account, no network). Everything else is real.\n\
             Watch the circuit breaker stop the run and name the cause.",
        ),
        Story::Recovery => (
            "Ralph demo: recovery",
            "Ralph runs a plan of four tasks from a file, specs/greeter/tasks.md.\n\
             The agent is scripted (no account, no network). Everything else is real.\n\
             Watch task 2.1 fail: Ralph adds a fix task to the plan, and a fix for that fix.",
        ),
    };
    format!(
        "{}\n\n{what}\n\n{} {}\n\n",
        paint(BOLD, name),
        paint(BOLD, "Scratch project:"),
        scratch.root.display()
    )
}

/// What happened, where to look, what to type next.
pub fn farewell(workspace: &Workspace, scratch: &Scratch) -> String {
    let attempts = workspace.store.history(None).unwrap_or_default();
    let mut text = String::new();
    if let Some(failed) = attempts.iter().find(|attempt| caught(attempt)) {
        text.push_str(&seen(workspace, failed, &attempts));
    }
    text.push_str(&listing("Explore the project", &commands(scratch)));
    let own = [
        "ralph init",
        "ralph task add \"What to do\" --verify \"how to check it\"",
        "ralph run",
    ];
    text.push_str(&listing(
        "Use it in your own project",
        &own.map(|command| (command.to_owned(), "")),
    ));
    text
}

/// What to type or open, each with what it is for, under a heading.
pub fn listing(heading: &str, rows: &[(String, &str)]) -> String {
    let mut text = format!("\n{}\n", paint(BOLD, heading));
    let is_narrow = ui::width() < COLUMNS;
    for (command, what) in rows {
        let room = if is_narrow {
            "\n      ".to_owned()
        } else {
            " ".repeat(36usize.saturating_sub(command.chars().count()).max(2))
        };
        let what = if what.is_empty() {
            String::new()
        } else {
            format!("{room}{}", paint(DIM, what))
        };
        text.push_str(&format!("  {}{what}\n", paint(CYAN, command)));
    }
    text
}

/// How to fix what the broken demo broke.
pub fn broken(scratch: &Scratch) -> String {
    let dir = shell_word(&scratch.root);
    let ralph = off_path().unwrap_or_else(|| "ralph".to_owned());
    let mut text = format!(
        "\n{}\n  \
         Every gate calls `todo-check`, which is not installed. No model can fix that, so Ralph\n  \
         stopped instead of spending more attempts.\n\n{}\n",
        paint(BOLD, "What you just saw"),
        paint(BOLD, "Fix it and continue")
    );
    for command in [
        format!("cd {dir}"),
        format!("{ralph} analyze"),
        "sed -i.bak /todo-check/d tests/lib.sh".to_owned(),
        format!("{ralph} run"),
    ] {
        text.push_str(&format!("  {}\n", paint(CYAN, command)));
    }
    text.push_str(
        "  The run starts with one trial attempt. If it succeeds, the breaker closes and the run continues.\n",
    );
    text
}

/// How to continue a run that did not finish.
pub fn unfinished(scratch: &Scratch) -> String {
    let dir = shell_word(&scratch.root);
    let ralph = off_path().unwrap_or_else(|| "ralph".to_owned());
    let command = paint(CYAN, format_args!("cd {dir} && {ralph} run"));
    format!("\nThe scratch project is still there. To continue:\n  {command}\n")
}

/// Whether the gate found out that a task was not done.
fn caught(attempt: &Attempt) -> bool {
    attempt.counted && attempt.detail.gate == Some(GateOutcome::Failed)
}

fn seen(workspace: &Workspace, failed: &Attempt, attempts: &[Attempt]) -> String {
    let name = name(workspace, failed);
    let task = workspace.task(failed.task_id.as_str()).ok();
    let gate = task
        .as_ref()
        .and_then(|task| task.verify.as_deref())
        .unwrap_or_default();
    let output = failed.detail.gate_output.as_deref().unwrap_or_default();
    let said = error_line(output)
        .or_else(|| failed.detail.message.clone())
        .unwrap_or_default();
    let learned = passed_on(workspace, failed, attempts).unwrap_or_default();
    format!(
        "\n{}\n  \
         The agent reported {name} as done, but its gate `{gate}` failed:\n    {}\n  \
         Ralph put this error into the next prompt, and the retry fixed it.\n\
         {learned}  A task is done when its gate passes, not when an agent says so.\n",
        paint(BOLD, "What you just saw"),
        paint(RED, &said)
    )
}

/// What the failed task taught in the end, and which task it helped.
fn passed_on(workspace: &Workspace, failed: &Attempt, attempts: &[Attempt]) -> Option<String> {
    let filter = LearningFilter {
        task: Some(failed.task_id.clone()),
        ..LearningFilter::default()
    };
    let learning = workspace.store.learnings(&filter).ok()?.pop()?;
    let helped = attempts.iter().find(|attempt| {
        let shown = &attempt.detail.learnings_shown;
        attempt.outcome == Outcome::Done
            && attempt.task_id != failed.task_id
            && shown.iter().any(|id| id == learning.id.as_str())
    })?;
    let name = name(workspace, helped);
    Some(format!(
        "  The retry also recorded a learning, which Ralph put into the prompt of {name}:\n    {}\n  \
         So {name}, which has the same pitfall, passed at the first attempt.\n",
        paint(GREEN, &learning.content)
    ))
}

/// How people call the task of an attempt.
pub fn name(workspace: &Workspace, attempt: &Attempt) -> String {
    let id = attempt.task_id.as_str();
    match workspace.task(id) {
        Ok(task) => task.name().to_owned(),
        Err(_) => id.to_owned(),
    }
}

/// How to get into the project, and have `ralph` there.
pub fn entrance(scratch: &Scratch) -> Vec<(String, &'static str)> {
    let mut commands = vec![(format!("cd {}", shell_word(&scratch.root)), "")];
    if let Some(program) = off_path() {
        commands.push((
            format!("alias ralph={program}"),
            "ralph is not on your PATH",
        ));
    }
    commands
}

/// What to type, and what it is for.
fn commands(scratch: &Scratch) -> Vec<(String, &'static str)> {
    let mut commands = entrance(scratch);
    let mut add = |command: &str, what| commands.push((command.to_owned(), what));
    add("ralph status", "progress of the plan");
    add("ralph history", "every attempt");
    add("ralph failures list", "why attempts failed");
    add("ralph learnings list", "what Ralph learned");
    add("ralph context 2.1", "the prompt of the next attempt");
    add("ralph logs 2.1", "the agent's output");
    if scratch.git == GitUse::Repository {
        add("git log --oneline", "the agent's commits");
    }
    add(
        "sh todo.sh add Tea && sh todo.sh",
        "use the finished program",
    );
    add(
        "ralph task reset 2.1 && ralph run",
        "run 2.1 again, with its memory",
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
pub fn shell_word(path: &Path) -> String {
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
