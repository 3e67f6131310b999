//! `ralph trust`: trusting a project that another user owns.

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

/// Trust a project that belongs to another user, or that everybody may change.
///
/// Ralph runs the commands in a project's settings as you, so it refuses a project that others own or can write until you
/// trust it. The list of trusted directories is in your own configuration directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    ralph trust /srv/shared/app            trust this project\n  \
    ralph trust --list                     list trusted directories\n  \
    ralph trust --remove /srv/shared/app   stop trusting it")]
pub struct Args {
    /// The project's directory.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, required_unless_present_any = ["list", "remove"])]
    project: Option<PathBuf>,
    /// List the trusted directories.
    #[arg(long, conflicts_with_all = ["project", "remove"])]
    list: bool,
    /// Stop trusting this directory.
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
                .hint("run `ralph trust --list` to see the trusted directories"),
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

/// A person decides which projects to trust, not an agent.
fn refuse_inside_an_attempt() -> Result<(), CommandError> {
    // Whatever project it is about: no run of Ralph may be above this process.
    let own = env::current_exe().ok();
    let is_ralph = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).ok() == own;
    let below_a_run = own.is_some() && ancestors(&ThisHost::new()).any(|one| is_ralph(one.pid));
    let in_a_run = env::var("RALPH_RUN_ID").is_ok_and(|run| !run.is_empty());
    match below_a_run || in_a_run {
        true => Err(
            CommandError::usage("`ralph trust` is not allowed inside a run")
                .hint("run it yourself in a terminal"),
        ),
        false => Ok(()),
    }
}
