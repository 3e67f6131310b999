//! `ralph demo-agent`: the demo's agent. It is started like any command agent: prompt on standard
//! input, what it does and its signals on standard output.

use std::env;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use ralph_core::capture::error_line;

use super::git;
use super::project::{self, FAST};
use super::script::{self, Step};
use crate::command_error::{CommandError, CommandResult};
use crate::output;

/// How long people have to read a line.
const PAUSE: Duration = Duration::from_millis(280);

/// Work on a task of the demo; Ralph starts this.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Reads the prompt and works in the current directory.
pub fn run(_args: &Args) -> CommandResult {
    let (Ok(id), Ok(key)) = (env::var("RALPH_TASK_ID"), env::var("RALPH_TASK_KEY")) else {
        return Err(
            CommandError::usage("`ralph demo-agent` is started by Ralph, with a task")
                .hint("`ralph demo` shows it at work"),
        );
    };
    let mut prompt = Vec::new();
    std::io::stdin()
        .read_to_end(&mut prompt)
        .map_err(|error| CommandError::environment(format_args!("no prompt: {error}")))?;
    match script::steps(&key, &String::from_utf8_lossy(&prompt)) {
        Some(steps) => work(&id, &steps),
        None => decline(&id),
    }
    Ok(ExitCode::SUCCESS)
}

fn work(id: &str, steps: &[Step]) {
    let pause = match env::var_os(FAST) {
        Some(_) => Duration::ZERO,
        None => PAUSE,
    };
    let mut session = Session {
        written: Vec::new(),
    };
    for step in steps {
        if let Err(problem) = session.take(step) {
            output::line(format_args!("Error: {problem}"));
            output::line(format_args!("<task-failed>{id}</task-failed>"));
            return;
        }
        if !matches!(step, Step::Commit(_) | Step::Close(_)) {
            thread::sleep(pause);
        }
    }
    output::line(format_args!("<task-done>{id}</task-done>"));
}

/// A task the user added: only a person can give it to a real agent.
fn decline(id: &str) {
    output::line("I am the demo's scripted agent and know its five tasks only.");
    output::line(
        "<failure-report>\nwhat_tried: Looked the task up in the demo's script.\n\
         why_failed: The demo's agent is scripted; a task of your own needs a real agent, as in \
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
            Step::Check(test) => check(test)?,
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

/// Runs a test; one that fails ends the session with an honest failure.
fn check(test: &str) -> Result<(), String> {
    let output = Command::new("sh")
        .arg(test)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("sh could not be started: {error}"))?;
    if output.status.success() {
        output::line(format_args!("sh {test} passes."));
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    output::text(&said);
    Err(match error_line(&said) {
        Some(line) => format!("{line} (sh {test})"),
        None => format!("sh {test} fails"),
    })
}
