//! `ralph diff`: what a task changed, from its commits or from the saved changes of a failed attempt.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::agent::Interrupt;
use ralph_core::git::{DiffForm, Git, GitLimits};
use ralph_core::model::{Attempt, Outcome, Task};
use ralph_core::text::{clean_bytes, mask_secrets};
use serde::Serialize;

use crate::command_error::{CommandError, CommandResult};
use crate::ui::format;
use crate::ui::style::{BOLD, CYAN, GREEN, RED, paint};
use crate::workspace::Workspace;
use crate::{interrupts, output};

/// Show what a task changed.
///
/// Shows the commits of the task; of a task that is not done, the changes of its last attempt, which Ralph saved when it rolled them back.
/// Possible secrets are masked.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task's id or key.
    task: String,
    /// Only this attempt, by its number in `ralph history`.
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// Show each changed file with its number of changed lines instead.
    #[arg(long)]
    stat: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
pub struct AttemptDiff {
    pub attempt: u32,
    pub attempt_number: u32,
    pub outcome: Outcome,
    pub from: Option<String>,
    /// The commit that holds the changes, or the reference under which Ralph saved them.
    pub to: String,
    pub rolled_back: bool,
    pub files: Vec<String>,
    pub diff: String,
}

/// Where git has the changes of an attempt, if anywhere.
pub fn changes(attempt: &Attempt) -> Option<&str> {
    let committed = attempt.commit_after.as_deref().filter(|_| attempt.commit_after != attempt.commit_before);
    attempt.undone_ref.as_deref().or(committed)
}

/// The attempts that a person means: the one named; else all whose changes were kept; else the last with any.
pub fn choose(attempts: Vec<Attempt>, number: Option<u32>) -> Vec<Attempt> {
    if let Some(number) = number {
        return attempts.into_iter().filter(|one| one.counted && one.attempt == number).collect();
    }
    let is_kept = |one: &&Attempt| one.undone_ref.is_none() && changes(one).is_some();
    let kept: Vec<Attempt> = attempts.iter().filter(is_kept).cloned().collect();
    match kept.is_empty() {
        true => attempts.into_iter().rfind(|one| changes(one).is_some()).into_iter().collect(),
        false => kept,
    }
}

/// What a task changed, or one attempt on it.
pub fn read(
    workspace: &Workspace,
    name: &str,
    attempt: Option<u32>,
    form: DiffForm,
    interrupt: Interrupt,
) -> Result<Vec<AttemptDiff>, CommandError> {
    let task = workspace.task(name)?;
    let history = workspace.store.history(Some(&task.id))?;
    let newest = history.last().cloned();
    let chosen = choose(history, attempt);
    let Some(last) = chosen.last() else {
        return Err(match newest.filter(|_| attempt.is_none()) {
            Some(newest) => not_in_git(&task, &newest),
            None => nothing(&task, attempt),
        });
    };
    if changes(last).is_none() {
        return Err(not_in_git(&task, last));
    }
    let git = repository(workspace, interrupt)?;
    let mut diffs = Vec::new();
    for attempt in &chosen {
        let Some(to) = changes(attempt) else { continue };
        let from = attempt.commit_before.as_deref();
        diffs.push(AttemptDiff {
            attempt: attempt.attempt,
            attempt_number: attempt.attempt_number,
            outcome: attempt.outcome,
            from: from.map(str::to_owned),
            to: to.to_owned(),
            rolled_back: attempt.undone_ref.is_some(),
            files: attempt.files_changed.clone().unwrap_or_default(),
            diff: text(&git, attempt, to, form)?,
        });
    }
    Ok(diffs)
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    let form = if args.stat { DiffForm::Stat } else { DiffForm::Patch };
    let diffs = read(&workspace, &args.task, args.attempt, form, interrupts::listen()?)?;
    if args.json {
        output::json(&diffs);
        return Ok(ExitCode::SUCCESS);
    }
    for (place, diff) in diffs.iter().enumerate() {
        if place > 0 {
            output::line("");
        }
        if diffs.len() > 1 || diff.rolled_back {
            let undone = if diff.rolled_back { ", rolled back" } else { "" };
            output::line(paint(BOLD, format_args!("attempt {}: {}{undone}", diff.attempt, diff.outcome)));
        }
        diff.diff.lines().for_each(|line| output::line(colored(line)));
    }
    Ok(ExitCode::SUCCESS)
}

fn repository(workspace: &Workspace, interrupt: Interrupt) -> Result<Git, CommandError> {
    let limits = GitLimits { interrupt, ..GitLimits::default() };
    let git = Git::open(workspace.project.root(), limits).map_err(CommandError::environment)?;
    git.ok_or_else(|| CommandError::environment("this project is in no git repository"))
}

fn text(git: &Git, attempt: &Attempt, to: &str, form: DiffForm) -> Result<String, CommandError> {
    let text = git.diff(attempt.commit_before.as_deref(), to, form).map_err(|error| {
        CommandError::environment(error)
            .hint("git may have deleted the commit: `git reflog` shows what is left")
    })?;
    Ok(mask_secrets(&clean_bytes(&text)).into_owned())
}

/// What one attempt changed, in color.
pub fn of_attempt(workspace: &Workspace, task: &Task, attempt: &Attempt) -> Result<String, CommandError> {
    let Some(to) = changes(attempt) else { return Err(not_in_git(task, attempt)) };
    let text = text(&repository(workspace, Interrupt::default())?, attempt, to, DiffForm::Patch)?;
    Ok(text.lines().map(|line| colored(line) + "\n").collect())
}

fn colored(line: &str) -> String {
    const FILE: [&str; 4] = ["diff ", "index ", "--- ", "+++ "];
    match line.chars().next() {
        _ if FILE.iter().any(|start| line.starts_with(start)) => paint(BOLD, line),
        Some('@') => paint(CYAN, line),
        Some('+') => paint(GREEN, line),
        Some('-') => paint(RED, line),
        _ => line.to_owned(),
    }
}

fn nothing(task: &Task, number: Option<u32>) -> CommandError {
    let name = task.name();
    match number {
        Some(number) => CommandError::usage(format_args!("{name} has no attempt {number}"))
            .hint(format_args!("`ralph history {name}` lists its attempts")),
        None => CommandError::usage(format_args!("{name} has no attempts yet"))
            .hint(format_args!("start one with `ralph run {name}`")),
    }
}

/// An attempt whose changes are in no commit: they are in the working tree, or there were none.
fn not_in_git(task: &Task, attempt: &Attempt) -> CommandError {
    let name = format!("attempt {} of {}", attempt.attempt, task.name());
    match attempt.files_changed.as_deref() {
        Some([]) => CommandError::usage(format_args!("{name} changed no files")),
        Some(files) => CommandError::usage(format_args!(
            "{name} changed {} without a commit, so its changes cannot be told from later ones",
            format::counted(files.len() as u64, "file")
        ))
        .hint(match attempt.outcome {
            Outcome::Done => "`git diff` shows what is uncommitted; with `commit = \"on-success\"` under [git] Ralph commits each task",
            _ => "`git diff` shows what is uncommitted; with `rollback` under [git] Ralph saves what a failed attempt changed",
        }),
        None => CommandError::usage(format_args!("{name} was made without git, so its changes are not known")),
    }
}
