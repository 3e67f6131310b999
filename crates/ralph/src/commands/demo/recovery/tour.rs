//! The conclusion of `ralph demo --recovery`.

use ralph_core::import::{PROGRESS_MD, STATE_JSON, TASKS_MD};
use ralph_core::model::{Attempt, Outcome};
use ralph_core::store::HistoryStore;
use unicode_width::UnicodeWidthStr;

use super::SPEC;
use crate::commands::demo::git::GitUse;
use crate::commands::demo::project::Scratch;
use crate::commands::demo::tour::{entrance, listing, name, shell_word};
use crate::ui::style::{BOLD, CYAN, DIM, GREEN, RED, paint};
use crate::workspace::Workspace;

/// What happened, which files to open, what to type next.
pub fn farewell(workspace: &Workspace, scratch: &Scratch) -> String {
    let attempts = workspace.store.history(None).unwrap_or_default();
    let own = [
        ("ralph init", ""),
        ("ralph import specs/NAME", "or a checklist, a prd.json, …"),
        ("ralph run --recovery", ""),
    ];
    [
        seen(workspace, &attempts),
        files(scratch),
        listing("Explore the project", &commands(scratch)),
        listing(
            "Use it in your own project",
            &own.map(|(command, what)| (command.to_owned(), what)),
        ),
    ]
    .concat()
}

/// The attempts from the first failure to the pass of the task that failed.
fn seen(workspace: &Workspace, attempts: &[Attempt]) -> String {
    let failed = |attempt: &Attempt| attempt.counted && attempt.outcome != Outcome::Done;
    let Some(first) = attempts.iter().position(failed) else {
        return String::new();
    };
    let chain = attempts.get(first..).unwrap_or_default();
    let root = chain.first().map(|attempt| &attempt.task_id);
    let end = chain
        .iter()
        .position(|attempt| Some(&attempt.task_id) == root && attempt.outcome == Outcome::Done);
    let chain = end.and_then(|end| chain.get(..=end)).unwrap_or(chain);
    let rows: Vec<(String, &Attempt)> = chain
        .iter()
        .map(|attempt| (name(workspace, attempt), attempt))
        .collect();
    let width = rows.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
    let mut text = format!("\n{}\n", paint(BOLD, "What you just saw"));
    for (name, attempt) in &rows {
        let room = " ".repeat(width - name.width());
        let end = if failed(attempt) {
            let why = attempt.detail.message.as_deref().unwrap_or("failed");
            paint(RED, format_args!("✗ {why}"))
        } else {
            paint(GREEN, "✓ gate passed")
        };
        text.push_str(&format!("  {name}{room}  {end}\n"));
    }
    text + "  For each failure Ralph added a fix task, ran it, and then retried the task that had failed.\n"
}

/// The files that Ralph kept in sync, and what to look at in each.
fn files(scratch: &Scratch) -> String {
    let mut text = format!("\n{}\n", paint(BOLD, "Open these files"));
    for (file, what) in [
        (
            TASKS_MD,
            "the plan: two fix tasks below 2.1, every box checked",
        ),
        (
            PROGRESS_MD,
            "the log: completed tasks, fix task history, learnings",
        ),
        (STATE_JSON, "the state for other tools: fixTaskMap"),
    ] {
        let path = shell_word(&scratch.root.join(SPEC).join(file));
        text.push_str(&format!(
            "  {}\n      {}\n",
            paint(CYAN, path),
            paint(DIM, what)
        ));
    }
    text
}

/// What to type, and what it is for.
fn commands(scratch: &Scratch) -> Vec<(String, &'static str)> {
    let mut commands = entrance(scratch);
    let mut add = |command: &str, what| commands.push((command.to_owned(), what));
    add("ralph status", "progress of the plan");
    add("ralph history", "every attempt");
    add("ralph failures list", "why attempts failed");
    add("ralph context 2.1.1", "the prompt of a fix task");
    if scratch.git == GitUse::Repository {
        add("git diff specs", "Ralph's changes to the plan");
        add("git log --oneline", "the agent's commits");
    }
    add("sh greeter Ada au", "use the finished program");
    add("ralph task reset 2.1 && ralph run", "run 2.1 again");
    commands
}
