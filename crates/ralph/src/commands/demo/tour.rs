//! The demo's introduction and conclusion, from the texts in `assets/tour.txt`.

use std::env;

use ralph_core::diagnose::error_line;
use ralph_core::model::{Attempt, GateOutcome, Outcome};
use ralph_core::store::LearningFilter;
use unicode_width::UnicodeWidthStr;

use super::project::{SPEC, Scratch};
use super::{Story, parts};
use crate::command_error::shell_path;
use crate::ui;
use crate::ui::style::{BOLD, CYAN, DIM, GREEN, RED, paint};
use crate::workspace::Workspace;

const TEXTS: &str = include_str!("assets/tour.txt");
/// The width these texts are written for; a narrower terminal gets more and shorter lines.
const COLUMNS: usize = 80;
/// The column in which the purpose of a command begins.
const PURPOSE: usize = 36;

pub fn introduction(scratch: &Scratch, story: Story) -> String {
    let part = match story {
        Story::Learning => "learning introduction",
        Story::Broken => "broken introduction",
        Story::Recovery => "recovery introduction",
    };
    text(part, scratch, &[]) + "\n"
}

/// What happened, where to look, what to type next.
pub fn farewell(workspace: &Workspace, scratch: &Scratch, story: Story) -> String {
    let attempts = workspace.store.history(None).unwrap_or_default();
    match story {
        Story::Learning | Story::Broken => learning(workspace, scratch, &attempts),
        Story::Recovery => text("recovery", scratch, &[("{chain}", fixed(workspace, &attempts))]),
    }
}

pub fn broken(scratch: &Scratch) -> String {
    text("broken", scratch, &[])
}

pub fn unfinished(scratch: &Scratch) -> String {
    text("unfinished", scratch, &[])
}

/// A part of the texts, with these values in place of their names.
fn text(name: &str, scratch: &Scratch, values: &[(&str, String)]) -> String {
    let part = parts(TEXTS).find(|(known, _)| *known == name).map_or("", |(_, part)| part);
    let off_path = off_path();
    let common = [
        ("{root}", scratch.root.display().to_string()),
        ("{dir}", shell_path(&scratch.root)),
        ("{spec}", shell_path(&scratch.root.join(SPEC))),
        ("{ralph}", off_path.clone().unwrap_or_else(|| "ralph".to_owned())),
    ];
    let fill = |line: &str| {
        let values = values.iter().chain(&common);
        values.fold(line.to_owned(), |line, (name, value)| line.replace(name, value))
    };
    let mut text = String::new();
    for line in part.trim_end().lines() {
        let is_useless = line.starts_with("$ git ") && scratch.no_git.is_some()
            || line.starts_with("$ alias ") && off_path.is_none();
        if is_useless {
            continue;
        }
        text.push_str(&match (line.strip_prefix("# "), line.strip_prefix("$ ")) {
            (Some(heading), _) => paint(BOLD, heading),
            (_, Some(row)) => {
                let (command, purpose) = row.split_once(" | ").unwrap_or((row, ""));
                row_of(&fill(command), purpose)
            }
            (None, None) => fill(line),
        });
        text.push('\n');
    }
    text
}

fn row_of(command: &str, purpose: &str) -> String {
    let width = command.width();
    let space = match ui::width() < COLUMNS || width + 2 > PURPOSE {
        true => "\n      ".to_owned(),
        false => " ".repeat(PURPOSE - width),
    };
    let purpose = if purpose.is_empty() { String::new() } else { space + &paint(DIM, purpose) };
    format!("  {}{purpose}", paint(CYAN, command))
}

/// How the gate found out that a task was not done, and what came of it.
fn learning(workspace: &Workspace, scratch: &Scratch, attempts: &[Attempt]) -> String {
    let is_caught = |one: &&Attempt| one.counted && one.gate == Some(GateOutcome::Failed);
    let Some(failed) = attempts.iter().find(is_caught) else { return String::new() };
    let task = workspace.task(failed.task_id.as_str()).ok();
    let output = failed.gate_output.as_deref().unwrap_or_default();
    let error = error_line(output).or_else(|| failed.message.clone()).unwrap_or_default();
    let values = [
        ("{task}", name(workspace, failed)),
        ("{gate}", task.and_then(|task| task.verify).unwrap_or_default()),
        ("{error}", paint(RED, error)),
        ("{learned}", learned(workspace, scratch, failed, attempts).unwrap_or_default()),
    ];
    text("learning", scratch, &values)
}

/// What the failed task taught in the end, and which task it helped.
fn learned(
    workspace: &Workspace,
    scratch: &Scratch,
    failed: &Attempt,
    attempts: &[Attempt],
) -> Option<String> {
    let filter = LearningFilter { task: Some(failed.task_id.clone()), ..LearningFilter::default() };
    let learning = workspace.store.learnings(&filter).ok()?.pop()?;
    let helped = attempts.iter().find(|attempt| {
        let shown = &attempt.learnings_shown;
        attempt.outcome == Outcome::Done
            && attempt.task_id != failed.task_id
            && shown.iter().any(|id| id == learning.id.as_str())
    })?;
    let values = [("{helped}", name(workspace, helped)), ("{learning}", paint(GREEN, &learning.content))];
    Some(text("learned", scratch, &values))
}

/// The attempts from the first failure to the pass of the task that failed.
fn fixed(workspace: &Workspace, attempts: &[Attempt]) -> String {
    let failed = |attempt: &Attempt| attempt.counted && attempt.outcome != Outcome::Done;
    let mut chain: Vec<&Attempt> = attempts.iter().skip_while(|attempt| !failed(attempt)).collect();
    let root = chain.first().map(|attempt| &attempt.task_id);
    let passed = |one: &&Attempt| Some(&one.task_id) == root && one.outcome == Outcome::Done;
    let end = chain.iter().position(passed).unwrap_or(chain.len());
    chain.truncate(end + 1);
    let names: Vec<String> = chain.iter().map(|attempt| name(workspace, attempt)).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let lines = names.iter().zip(chain).map(|(name, attempt)| {
        let why = attempt.message.as_deref().unwrap_or("failed");
        let end = match failed(attempt) {
            true => paint(RED, format_args!("✗ {why}")),
            false => paint(GREEN, "✓ gate passed"),
        };
        format!("  {name:<width$}  {end}\n")
    });
    lines.collect()
}

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
    Some(shell_path(&env::current_exe().ok()?))
}
