//! The demo's introduction and conclusion.

use std::env;
use std::path::Path;

use ralph_core::diagnose::error_line;
use ralph_core::model::{Attempt, GateOutcome, Outcome};
use ralph_core::plan::import::{PROGRESS_MD, STATE_JSON, TASKS_MD};
use ralph_core::store::LearningFilter;
use ralph_core::text::shell_word;
use unicode_width::UnicodeWidthStr;

use super::Story;
use super::project::{SPEC, Scratch};
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
pub fn farewell(workspace: &Workspace, scratch: &Scratch, story: Story) -> String {
    let attempts = workspace.store.history(None).unwrap_or_default();
    let (seen, files, own) = match story {
        Story::Learning | Story::Broken => {
            let verify = "ralph task add \"What to do\" --verify \"how to check it\"";
            let own = [("ralph init", ""), (verify, ""), ("ralph run", "")];
            (caught(workspace, &attempts), String::new(), own)
        }
        Story::Recovery => {
            let import = ("ralph import specs/NAME", "or a checklist, a prd.json, …");
            let own = [("ralph init", ""), import, ("ralph run --recovery", "")];
            (fixed(workspace, &attempts), spec_files(scratch), own)
        }
    };
    let own = own.map(|(command, what)| (command.to_owned(), what));
    let explore = listing("Explore the project", &commands(scratch, story));
    [seen, files, explore, listing("Use it in your own project", &own)].concat()
}

/// What to type or open, each with what it is for, under a heading.
fn listing(heading: &str, rows: &[(String, &str)]) -> String {
    let mut text = format!("\n{}\n", paint(BOLD, heading));
    let is_narrow = ui::width() < COLUMNS;
    for (command, what) in rows {
        let space =
            if is_narrow { "\n      " } else { &" ".repeat(36usize.saturating_sub(command.len()).max(2)) };
        let what = if what.is_empty() { String::new() } else { format!("{space}{}", paint(DIM, what)) };
        text.push_str(&format!("  {}{what}\n", paint(CYAN, command)));
    }
    text
}

/// What to type, and what it is for.
fn commands(scratch: &Scratch, story: Story) -> Vec<(String, &'static str)> {
    let mut commands = vec![(format!("cd {}", path_word(&scratch.root)), "")];
    commands
        .extend(off_path().map(|program| (format!("alias ralph={program}"), "ralph is not on your PATH")));
    let rest: &[(&str, &str)] = match story {
        Story::Recovery => &[
            ("ralph status", "progress of the plan"),
            ("ralph history", "every attempt"),
            ("ralph failures list", "why attempts failed"),
            ("ralph context 2.1.1", "the prompt of a fix task"),
            ("git diff specs", "Ralph's changes to the plan"),
            ("git log --oneline", "the agent's commits"),
            ("sh greeter Ada au", "use the finished program"),
            ("ralph task reset 2.1 && ralph run", "run 2.1 again"),
        ],
        Story::Learning | Story::Broken => &[
            ("ralph status", "progress of the plan"),
            ("ralph history", "every attempt"),
            ("ralph failures list", "why attempts failed"),
            ("ralph learnings list", "what Ralph learned"),
            ("ralph context 2.1", "the prompt of the next attempt"),
            ("ralph logs 2.1", "the agent's output"),
            ("git log --oneline", "the agent's commits"),
            ("sh todo.sh add Tea && sh todo.sh", "use the finished program"),
            ("ralph task reset 2.1 && ralph run", "run 2.1 again, with its memory"),
        ],
    };
    let has_git = scratch.no_git.is_none();
    let works = rest.iter().filter(|(command, _)| has_git || !command.starts_with("git "));
    commands.extend(works.map(|(command, what)| ((*command).to_owned(), *what)));
    commands
}

/// How to fix what the broken demo broke.
pub fn broken(scratch: &Scratch) -> String {
    let ralph = off_path().unwrap_or_else(|| "ralph".to_owned());
    let mut text = format!(
        "\n{}\n  \
         Every gate calls `todo-check`, which is not installed. No model can fix that, so Ralph\n  \
         stopped instead of spending more attempts.\n\n{}\n",
        paint(BOLD, "What you just saw"),
        paint(BOLD, "Fix it and continue")
    );
    for command in [
        format!("cd {}", path_word(&scratch.root)),
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
    let dir = path_word(&scratch.root);
    let ralph = off_path().unwrap_or_else(|| "ralph".to_owned());
    let command = paint(CYAN, format_args!("cd {dir} && {ralph} run"));
    format!("\nThe scratch project is still there. To continue:\n  {command}\n")
}

/// How the gate found out that a task was not done, and what came of it.
fn caught(workspace: &Workspace, attempts: &[Attempt]) -> String {
    let is_caught = |one: &&Attempt| one.counted && one.gate == Some(GateOutcome::Failed);
    let Some(failed) = attempts.iter().find(is_caught) else {
        return String::new();
    };
    let name = name(workspace, failed);
    let task = workspace.task(failed.task_id.as_str()).ok();
    let gate = task.and_then(|task| task.verify).unwrap_or_default();
    let output = failed.gate_output.as_deref().unwrap_or_default();
    let said = error_line(output).or_else(|| failed.message.clone());
    let learned = passed_on(workspace, failed, attempts).unwrap_or_default();
    format!(
        "\n{}\n  \
         The agent reported {name} as done, but its gate `{gate}` failed:\n    {}\n  \
         Ralph put this error into the next prompt, and the retry fixed it.\n\
         {learned}  A task is done when its gate passes, not when an agent says so.\n",
        paint(BOLD, "What you just saw"),
        paint(RED, said.unwrap_or_default())
    )
}

/// What the failed task taught in the end, and which task it helped.
fn passed_on(workspace: &Workspace, failed: &Attempt, attempts: &[Attempt]) -> Option<String> {
    let filter = LearningFilter { task: Some(failed.task_id.clone()), ..LearningFilter::default() };
    let learning = workspace.store.learnings(&filter).ok()?.pop()?;
    let helped = attempts.iter().find(|attempt| {
        let shown = &attempt.learnings_shown;
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

/// The attempts from the first failure to the pass of the task that failed.
fn fixed(workspace: &Workspace, attempts: &[Attempt]) -> String {
    let failed = |attempt: &Attempt| attempt.counted && attempt.outcome != Outcome::Done;
    let Some(first) = attempts.iter().position(failed) else {
        return String::new();
    };
    let chain = attempts.get(first..).unwrap_or_default();
    let root = chain.first().map(|attempt| &attempt.task_id);
    let passed = |one: &Attempt| Some(&one.task_id) == root && one.outcome == Outcome::Done;
    let end = chain.iter().position(passed);
    let chain = end.and_then(|end| chain.get(..=end)).unwrap_or(chain);
    let names: Vec<String> = chain.iter().map(|attempt| name(workspace, attempt)).collect();
    let width = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let mut text = format!("\n{}\n", paint(BOLD, "What you just saw"));
    for (name, attempt) in names.iter().zip(chain) {
        let room = " ".repeat(width - name.width());
        let why = attempt.message.as_deref().unwrap_or("failed");
        let end = match failed(attempt) {
            true => paint(RED, format_args!("✗ {why}")),
            false => paint(GREEN, "✓ gate passed"),
        };
        text.push_str(&format!("  {name}{room}  {end}\n"));
    }
    text + "  For each failure Ralph added a fix task, ran it, and then retried the task that had failed.\n"
}

/// The files that Ralph kept in sync, and what to look at in each.
fn spec_files(scratch: &Scratch) -> String {
    let files = [
        (TASKS_MD, "the plan: two fix tasks below 2.1, every box checked"),
        (PROGRESS_MD, "the log: completed tasks, fix task history, learnings"),
        (STATE_JSON, "the state for other tools: fixTaskMap"),
    ];
    let rows = files.map(|(file, what)| {
        let path = path_word(&scratch.root.join(SPEC).join(file));
        format!("  {}\n      {}\n", paint(CYAN, path), paint(DIM, what))
    });
    format!("\n{}\n{}", paint(BOLD, "Open these files"), rows.concat())
}

/// How people call the task of an attempt.
fn name(workspace: &Workspace, attempt: &Attempt) -> String {
    let id = attempt.task_id.as_str();
    let task = workspace.task(id);
    task.map_or_else(|_| id.to_owned(), |task| task.name().to_owned())
}

/// This program's path, where the shell would not find it by name.
fn off_path() -> Option<String> {
    let path = env::var_os("PATH").unwrap_or_default();
    if env::split_paths(&path).any(|dir| dir.join("ralph").is_file()) {
        return None;
    }
    Some(path_word(&env::current_exe().ok()?))
}

fn path_word(path: &Path) -> String {
    shell_word(&path.display().to_string())
}
