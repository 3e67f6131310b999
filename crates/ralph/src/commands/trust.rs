//! `ralph trust`: agreeing to a project that another user owns.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use clap::ValueHint;
use ralph_core::host::{ThisHost, ancestors};
use ralph_core::project::Project;
use serde_json::json;

use crate::command_error::{CommandError, CommandResult};
use crate::workspace::start_dir;
use crate::{output, trust};

/// Agree to work in a project that belongs to another user, or that everybody may change.
///
/// A project's settings name commands that Ralph runs as you, so a project that others own or may write is refused until
/// you agree. The agreement is recorded in your own configuration directory, for this project's directory alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    ralph trust /srv/shared/app            work there from now on\n  \
    ralph trust --list                     what you agreed to\n  \
    ralph trust --remove /srv/shared/app   no longer")]
pub struct Args {
    /// The project's directory.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, required_unless_present_any = ["list", "remove"])]
    project: Option<PathBuf>,
    /// List the directories you agreed to.
    #[arg(long, conflicts_with_all = ["project", "remove"])]
    list: bool,
    /// Take an agreement back.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "project")]
    remove: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    match (&args.project, &args.remove) {
        (Some(project), _) => add(&start_dir(dir)?.join(project), args),
        (None, Some(project)) => remove(&start_dir(dir)?.join(project), args),
        (None, None) => Ok(list(args)),
    }
}

fn add(path: &Path, args: &Args) -> CommandResult {
    refuse_inside_an_attempt()?;
    let root = root(&start_dir(Some(path))?);
    let is_new = trust::add(&root)?;
    let word = if is_new { "trusted" } else { "already trusted" };
    say(&root, true, word, args);
    Ok(ExitCode::SUCCESS)
}

fn remove(path: &Path, args: &Args) -> CommandResult {
    refuse_inside_an_attempt()?;
    // One that is gone can still be taken off the list.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let root = root(&path);
    if !(trust::remove(&path)? || trust::remove(&root)?) {
        return Err(
            CommandError::usage(format_args!("{} is not trusted", path.display()))
                .hint("`ralph trust --list` shows what is"),
        );
    }
    say(&path, false, "no longer trusted", args);
    Ok(ExitCode::SUCCESS)
}

fn list(args: &Args) -> ExitCode {
    let trusted = trust::trusted();
    if args.json {
        let paths: Vec<String> = trusted
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        output::json(&json!({ "trusted": paths }));
    } else {
        for path in &trusted {
            output::line(path.display());
        }
    }
    ExitCode::SUCCESS
}

fn say(path: &Path, trusted: bool, word: &str, args: &Args) {
    let path = path.display().to_string();
    if args.json {
        output::json(&json!({ "path": path, "trusted": trusted }));
    } else {
        output::line(format_args!("{word}: {path}"));
    }
}

/// The project around a directory, else the directory itself.
fn root(path: &Path) -> PathBuf {
    Project::find(path).map_or_else(|| path.to_owned(), |project| project.root().to_owned())
}

/// What a person agrees to is not an agent's to decide.
fn refuse_inside_an_attempt() -> Result<(), CommandError> {
    // Whatever project it is about: no run of Ralph may be above this process.
    let own = env::current_exe().ok();
    let is_ralph = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).ok() == own;
    let below_a_run = own.is_some() && ancestors(&ThisHost::new()).any(|one| is_ralph(one.pid));
    let in_a_run = env::var("RALPH_RUN_ID").is_ok_and(|run| !run.is_empty());
    match below_a_run || in_a_run {
        true => Err(CommandError::usage("`ralph trust` is refused inside a run")
            .hint("a person decides which projects to trust")),
        false => Ok(()),
    }
}
