//! `ralph run --detach`: the same run in the background, with its display in a file.

use std::env;
use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ralph_core::files::unguessable;
use ralph_core::logs::LogDir;
use ralph_core::store::{RunRow, RunStore};
use serde_json::json;

use super::Args;
use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::workspace::{Workspace, now};

/// The variable by which a run in the background knows where it prints.
const OUTPUT: &str = "RALPH_DETACHED_OUTPUT";
/// How long a run may take to be on record.
const START: Duration = Duration::from_secs(20);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// How much of what a run that did not start printed is shown.
const SHOWN: u64 = 16 * 1024;

/// Starts the run as a process of its own and waits until it is on record.
pub(super) fn detach(workspace: &Workspace, args: &Args) -> CommandResult {
    let logs = workspace.project.logs();
    let name = output_name();
    let dir = LogDir::make(&logs).map_err(|error| unwritable(&logs, &error))?;
    let mut child = spawn(workspace, &dir, &name)?;
    let shown = shown_path(workspace, &dir.path_of(&name));
    let Some(run) = wait_for_start(workspace, &mut child, &shown)? else {
        return ended_at_once(&mut child, &dir, &name);
    };
    if args.json {
        output::json(&json!({ "run_id": run.id, "pid": child.id(), "output": shown }));
    } else if args.quiet {
        output::line(&run.id);
    } else {
        output::line(format_args!(
            "run {} works in the background (process {}); it prints to {shown}",
            run.id,
            child.id()
        ));
        output::line(
            "  ralph status --watch   where it stands\n  ralph logs -f          what it does\n  \
             ralph pause, resume    after the attempt under way\n  ralph stop             end it",
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Where a run that was started by [`detach`] prints. It leaves its terminal.
pub(super) fn output() -> Option<String> {
    let path = env::var(OUTPUT).ok().filter(|path| !path.is_empty())?;
    // Fails only for a leader of a group, which already has nobody above it.
    let _ = rustix::process::setsid();
    Some(path)
}

fn output_name() -> String {
    let time: String = now()
        .to_string()
        .chars()
        .filter(char::is_ascii_digit)
        .take(14)
        .collect();
    format!("run-{time}-{}.log", unguessable())
}

fn unwritable(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::environment(format_args!(
        "{} cannot be written: {error}",
        path.display()
    ))
    .hint("check the directory's permissions and free space")
}

fn shown_path(workspace: &Workspace, path: &Path) -> String {
    let root = workspace.project.root();
    let below = path.strip_prefix(root).unwrap_or(path);
    below.display().to_string()
}

fn spawn(workspace: &Workspace, dir: &LogDir, name: &str) -> Result<Child, CommandError> {
    let path = &dir.path_of(name);
    // Both streams share one position: neither writes over the other.
    let out = dir.create(name).map_err(|error| unwritable(path, &error))?;
    let err = out.try_clone().map_err(|error| unwritable(path, &error))?;
    let failed =
        |error| CommandError::environment(format_args!("the run could not be started: {error}"));
    let program = env::current_exe().map_err(failed)?;
    Command::new(program)
        .args(arguments(env::args_os().skip(1)))
        .env(OUTPUT, shown_path(workspace, path))
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn()
        .map_err(failed)
}

/// The command line without the flag that led here.
fn arguments(all: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut after_dashes = false;
    all.filter(|word| {
        after_dashes |= word == "--";
        after_dashes || (word != "--detach" && word != "--json")
    })
    .collect()
}

/// The run as the database knows it; `None` when its process ended without one.
fn wait_for_start(
    workspace: &Workspace,
    child: &mut Child,
    output: &str,
) -> Result<Option<RunRow>, CommandError> {
    let asked = Instant::now();
    loop {
        let ended = child.try_wait().ok().flatten().is_some();
        let runs = workspace.store.open_runs()?.into_iter();
        let mut runs = runs.chain(workspace.store.last_run()?);
        if let Some(run) = runs.find(|run| run.output.as_deref() == Some(output)) {
            return Ok(Some(run));
        }
        if ended {
            return Ok(None);
        }
        if asked.elapsed() > START {
            return Err(CommandError::environment(
                "the run in the background is not on record yet",
            )
            .hint(format_args!("look at {output}, and at `ralph status`")));
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// It ended before it began: what it said is what the user wants to read.
fn ended_at_once(child: &mut Child, dir: &LogDir, name: &str) -> CommandResult {
    let mut said = String::new();
    if let Ok(file) = dir.read(name) {
        let _ = file.take(SHOWN).read_to_string(&mut said);
    }
    output::note(said.trim_end());
    let _ = dir.remove(name);
    let code = child.wait().ok().and_then(|status| status.code());
    let code = code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_in_the_background_gets_the_same_command_line() {
        let line = ["run", "1.3", "--detach", "--json", "--limit", "3"];
        let kept = arguments(line.iter().map(OsString::from));
        assert_eq!(kept, ["run", "1.3", "--limit", "3"]);
        let kept = arguments(["run", "--", "--detach"].iter().map(OsString::from));
        assert_eq!(kept, ["run", "--", "--detach"]);
    }
}
