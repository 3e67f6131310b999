//! `ralph trust`, and the list of projects of other users that this user trusts: paths in the user's own configuration
//! directory.

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use clap::ValueHint;
use ralph_core::files::{Links, Lock, open, private, write_whole};
use ralph_core::host::{ThisHost, ancestors};
use ralph_core::ownership::{Distrust, User, distrust};
use ralph_core::project::Project;
use serde_json::json;

use crate::command_error::{CommandError, CommandResult, shell_path};
use crate::output;
use crate::workspace::start_dir;

const FILE: &str = "trusted";
/// More than this is not a list that this program wrote.
const MOST_BYTES: u64 = 1024 * 1024;
/// How long another process may take to change the list.
const PATIENCE: Duration = Duration::from_secs(5);

/// Trust a project that belongs to another user, or that every user can write to.
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
    let (path, trusted, word) = match (&args.project, &args.remove) {
        (Some(project), _) => {
            refuse_inside_an_attempt()?;
            let root = root(&start_dir(Some(&start_dir(dir)?.join(project)))?);
            let is_new = add(&root)?;
            (root, true, if is_new { "trusted" } else { "already trusted" })
        }
        (None, Some(project)) => {
            refuse_inside_an_attempt()?;
            let path = start_dir(dir)?.join(project);
            // One that is gone can still be taken off the list.
            let path = path.canonicalize().unwrap_or(path);
            if !(remove(&path)? || remove(&root(&path))?) {
                let message = format!("{} is not trusted", path.display());
                return Err(CommandError::usage(message)
                    .hint("run `ralph trust --list` to see the trusted directories"));
            }
            (path, false, "no longer trusted")
        }
        (None, None) => {
            let trusted = trusted();
            let paths: Vec<_> = trusted.iter().map(|path| path.display().to_string()).collect();
            return output::print(args.json, &json!({ "trusted": paths }), || {
                paths.iter().for_each(output::line);
            });
        }
    };
    let path = path.display().to_string();
    let document = json!({ "path": path, "trusted": trusted });
    output::print(args.json, &document, || output::line(format_args!("{word}: {path}")))
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
        true => Err(CommandError::usage("`ralph trust` is not allowed inside a run")
            .hint("run it yourself in a terminal")),
        false => Ok(()),
    }
}

/// Refuses a project that another user owns or may change, unless this user trusts it.
pub fn check(project: &Project) -> Result<(), CommandError> {
    refusal(project).map_or(Ok(()), Err)
}

pub fn refusal(project: &Project) -> Option<CommandError> {
    let user = User::of_process(env::var("SUDO_UID").ok().as_deref());
    let distrust = distrust(project, user)?;
    let root = project.root();
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    if trusted().contains(&root) {
        return None;
    }
    let consent = format!("ralph trust {}", shell_path(&root));
    let error = CommandError::usage(format_args!("Ralph does not trust this project: {distrust}"));
    Some(match &distrust {
        Distrust::Foreign { .. } => {
            error.hint(format_args!("if you trust its owner to run commands as you: {consent}"))
        }
        Distrust::WorldWritable { path } => error.hint(format_args!(
            "run `chmod o-w {}`, or if no other user can reach it: {consent}",
            shell_path(path)
        )),
    })
}

/// The paths this user trusts. A list that others could have written is ignored.
fn trusted() -> Vec<PathBuf> {
    file().map(|file| read(&file)).unwrap_or_default()
}

fn add(path: &Path) -> Result<bool, CommandError> {
    // The list has a path per line.
    if path.to_str().is_none_or(|path| path.contains(['\n', '\r'])) {
        let message = "cannot trust a path that is not UTF-8 or contains a line break";
        return Err(CommandError::usage(message));
    }
    change(|paths| {
        let is_new = !paths.iter().any(|known| known == path);
        paths.extend(is_new.then(|| path.to_owned()));
        is_new
    })
}

fn remove(path: &Path) -> Result<bool, CommandError> {
    change(|paths| {
        let before = paths.len();
        paths.retain(|known| known != path);
        paths.len() != before
    })
}

fn change(edit: impl FnOnce(&mut Vec<PathBuf>) -> bool) -> Result<bool, CommandError> {
    let file = file().ok_or_else(|| {
        CommandError::environment("cannot record the trusted directory: no home directory")
            .hint("set HOME or XDG_CONFIG_HOME")
    })?;
    let dir = file.parent().unwrap_or(Path::new("."));
    let write = || -> io::Result<bool> {
        private::make_dir(dir)?;
        let _lock = Lock::within(&dir.join("trusted.lock"), PATIENCE)?;
        let mut paths = read(&file);
        if !edit(&mut paths) {
            return Ok(false);
        }
        let lines: String = paths.iter().map(|path| format!("{}\n", path.display())).collect();
        private::make_file(&file)?;
        write_whole(&file, lines.as_bytes())?;
        Ok(true)
    };
    write().map_err(|error| CommandError::cannot_write(&file, &error))
}

fn file() -> Option<PathBuf> {
    let given = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = given.filter(|dir| dir.is_absolute()).or_else(|| Some(env::home_dir()?.join(".config")))?;
    config.is_absolute().then(|| config.join("ralph").join(FILE))
}

fn read(path: &Path) -> Vec<PathBuf> {
    let mut text = String::new();
    let read = open(path, Links::Follow).and_then(|file| match is_own(&file.metadata()?) {
        true => file.take(MOST_BYTES).read_to_string(&mut text),
        false => Ok(0),
    });
    let lines = read.is_ok().then(|| text.lines().map(PathBuf::from).collect());
    lines.unwrap_or_default()
}

fn is_own(meta: &fs::Metadata) -> bool {
    let own = [0, rustix::process::geteuid().as_raw()];
    meta.is_file() && own.contains(&meta.uid()) && meta.mode() & 0o022 == 0
}
