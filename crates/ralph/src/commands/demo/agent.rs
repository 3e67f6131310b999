//! `ralph demo-agent`: the demo's agent. It is started like any command agent: prompt on standard
//! input, what it does and its signals on standard output.

use std::env;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use ralph_core::diagnose::error_line;

use super::git;
use super::project::{self, FAST};
use super::recovery;
use super::script::{self, Step};
use crate::command_error::{CommandError, CommandResult};
use crate::output;

/// How long people have to read a line.
const PAUSE: Duration = Duration::from_millis(280);

/// Work on a task of the demo. Ralph starts this itself.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Use the script of `ralph demo --recovery`.
    #[arg(long)]
    recovery: bool,
}

/// Reads the prompt and works in the current directory.
pub fn run(args: &Args) -> CommandResult {
    let (Ok(id), Ok(key)) = (env::var("RALPH_TASK_ID"), env::var("RALPH_TASK_KEY")) else {
        return Err(
            CommandError::usage("`ralph demo-agent` only works when Ralph starts it")
                .hint("run `ralph demo`"),
        );
    };
    let mut prompt = Vec::new();
    std::io::stdin().read_to_end(&mut prompt).map_err(|error| {
        CommandError::environment(format_args!("cannot read the prompt from stdin: {error}"))
    })?;
    let prompt = String::from_utf8_lossy(&prompt);
    let steps = if args.recovery {
        recovery::script::steps(&key, &prompt)
    } else {
        script::steps(&key, &prompt)
    };
    match steps {
        Some(steps) => work(&id, &key, &steps),
        None => decline(&id),
    }
    Ok(ExitCode::SUCCESS)
}

fn work(id: &str, key: &str, steps: &[Step]) {
    let pause = match env::var_os(FAST) {
        Some(_) => Duration::ZERO,
        None => PAUSE,
    };
    let mut session = Session {
        written: Vec::new(),
    };
    for step in steps {
        if let Err(problem) = session.take(step) {
            match step {
                Step::Prove { title, tried, .. } => output::line(format_args!(
                    "Task {key}: {title} FAILED\n- Error: {problem}\n- Attempted fix: {tried}\n\
                     - Status: Blocked, needs manual intervention"
                )),
                _ => {
                    output::line(format_args!("Error: {problem}"));
                    output::line(format_args!("<task-failed>{id}</task-failed>"));
                }
            }
            return;
        }
        if !matches!(step, Step::Commit(_) | Step::Close(_)) {
            thread::sleep(pause);
        }
    }
    output::line(format_args!("<task-done>{id}</task-done>"));
}

/// A task that the user added. The script does not know it, so only a real agent can do it.
fn decline(id: &str) {
    output::line("I am the demo's scripted agent and only know the tasks of the demo.");
    output::line(
        "<failure-report>\nwhat_tried: Looked up the task in the demo's script.\n\
         why_failed: The demo's agent is scripted. A task of your own needs a real agent, for example \
         `ralph run --agent claude`.\nerror_category: unknown\n</failure-report>\n\
         <difficulty-estimate>blocked</difficulty-estimate>",
    );
    output::line(format_args!("<task-failed>{id}</task-failed>"));
}

struct Session {
    written: Vec<&'static str>,
}

impl Session {
    fn take(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Say(text) => output::line(text),
            Step::Read(path) => {
                let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
                output::line(format_args!(
                    "Reading {path}, {} lines.",
                    text.lines().count()
                ));
            }
            Step::Write(path, text) => {
                project::write(Path::new(path), text)
                    .map_err(|error| format!("{path}: {error}"))?;
                self.written.push(path);
                output::line(format_args!(
                    "Wrote {path}, {} lines.",
                    text.lines().count()
                ));
            }
            Step::Check(test) => check(test).map_err(|said| format!("{said} (sh {test})"))?,
            Step::Prove { test, .. } => {
                check(test).map_err(|said| match said.split_once("FAIL: ") {
                    Some((_, what)) => what.to_owned(),
                    None => said,
                })?
            }
            Step::Commit(message) => {
                if git::commit(Path::new("."), &self.written, message) {
                    output::line(format_args!("Committed: {message}."));
                }
            }
            Step::Close(text) => output::line(text),
        }
        Ok(())
    }
}

/// Runs a test; one that fails ends the session with what it said.
fn check(test: &str) -> Result<(), String> {
    let output = Command::new("sh")
        .arg(test)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start sh: {error}"))?;
    if output.status.success() {
        output::line(format_args!("sh {test} passed."));
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    output::text(&said);
    Err(error_line(&said).unwrap_or_else(|| "the test failed".to_owned()))
}
