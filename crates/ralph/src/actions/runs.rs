//! Requests to runs, whichever process makes them.

use std::thread;
use std::time::Duration;

use ralph_core::host::{Host, Liveness, ThisHost};
use ralph_core::store::{RunRequest, RunRow};
use rustix::process::{Pid, Signal, kill_process};

use super::Receipt;
use crate::command_error::CommandError;
use crate::workspace::{Workspace, is_active};

/// How far apart the two signals are that kill an agent.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(100);

/// What a run can be asked without ending its attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Pause,
    Resume,
    StopAfterAttempt,
}

/// How an attempt under way is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// The agent may exit by itself.
    Graceful,
    Kill,
}

/// What a run said to a request.
#[derive(Clone, Debug, PartialEq)]
pub struct RunAnswer {
    pub run: RunRow,
    /// Whether it was not too late.
    pub done: bool,
    /// The rest of the sentence that begins with the run.
    pub message: &'static str,
}

pub fn receipt_of(answers: &[RunAnswer]) -> Receipt {
    let line = |answer: &RunAnswer| format!("run {} {}", answer.run.id, answer.message);
    match answers.is_empty() {
        true => Receipt::line("no active run"),
        false => Receipt { lines: answers.iter().map(line).collect(), hints: Vec::new() },
    }
}

/// The runs that are at work: all of them, or the one that is named.
pub fn active_runs(workspace: &Workspace, named: Option<&str>) -> Result<Vec<RunRow>, CommandError> {
    let mut runs: Vec<RunRow> = workspace.store.open_runs()?;
    runs.retain(is_active);
    let Some(name) = named else { return Ok(runs) };
    let names: Vec<String> = runs.iter().map(|run| run.id.to_string()).collect();
    runs.retain(|run| run.id.as_str() == name);
    if !runs.is_empty() {
        return Ok(runs);
    }
    let error = CommandError::usage(format_args!("run `{name}` is not active"));
    Err(if names.is_empty() { error } else { error.hint(format_args!("active runs: {}", names.join(", "))) })
}

pub fn ask_runs(
    workspace: &mut Workspace,
    named: Option<&str>,
    ask: Ask,
) -> Result<Vec<RunAnswer>, CommandError> {
    let mut answers = Vec::new();
    for run in active_runs(workspace, named)? {
        let store = &mut workspace.store;
        let (done, asked, too_late) = match ask {
            Ask::Pause => (
                store.ask_run(&run.id, RunRequest::Pause)?,
                "pauses after its current attempt; to resume: ralph resume",
                "is stopping and cannot be paused",
            ),
            Ask::Resume => (store.resume_run(&run.id)?, "resumed", "was not paused"),
            Ask::StopAfterAttempt => {
                let done = store.ask_run(&run.id, RunRequest::Stop)?;
                (done, "stops after its current attempt", "has already ended")
            }
        };
        answers.push(RunAnswer { run, done, message: if done { asked } else { too_late } });
    }
    Ok(answers)
}

/// Which runs of a plan that several machines work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    ThisHost,
    Host(String),
    AllHosts,
}

/// Stops runs by a signal; nothing waits for their end. The attempt under way is interrupted and not counted. A run on another
/// host is asked to stop after its attempt, as no signal reaches it.
pub fn stop_runs(
    workspace: &mut Workspace,
    named: Option<&str>,
    on: &On,
    force: Force,
) -> Result<Vec<RunAnswer>, CommandError> {
    let mut runs = active_runs(workspace, named)?;
    let all = runs.len();
    let here = ThisHost::new().owner().host;
    match on {
        On::ThisHost if named.is_none() => runs.retain(|run| run.owner.host == here),
        On::Host(host) => runs.retain(|run| run.owner.host == *host),
        On::ThisHost | On::AllHosts => {}
    }
    if runs.is_empty() && all > 0 {
        let error = CommandError::usage("the active runs are on other hosts");
        return Err(error
            .hint("run `ralph workers` to see them, then `ralph stop --host NAME` or `ralph stop --all`"));
    }
    let mut answers = Vec::new();
    for run in runs {
        if run.owner.host != here {
            let done = workspace.store.ask_run(&run.id, RunRequest::Stop)?;
            let message = if done { "stops after its current attempt" } else { "has already ended" };
            answers.push(RunAnswer { run, done, message });
            continue;
        }
        // Recorded first, so that the run can say who ended it.
        workspace.store.note_stop(&run.id)?;
        send_term(&run)?;
        if force == Force::Kill {
            // The second signal says that there is no time.
            thread::sleep(BETWEEN_SIGNALS);
            send_term(&run)?;
        }
        answers.push(RunAnswer { run, done: true, message: "is stopping" });
    }
    Ok(answers)
}

fn send_term(run: &RunRow) -> Result<(), CommandError> {
    let owner = &run.owner;
    match ThisHost::new().liveness(owner) {
        Liveness::Dead => return Ok(()),
        Liveness::Elsewhere => {
            let message = format!("run {} is on another host, {}", run.id, owner.host);
            return Err(CommandError::environment(message)
                .hint("run `ralph stop --after-attempt`, which works across hosts"));
        }
        Liveness::Alive => {}
    }
    let Some(pid) = i32::try_from(owner.pid).ok().and_then(Pid::from_raw) else { return Ok(()) };
    // A process that was suspended by Ctrl-Z hears nothing until it goes on.
    match kill_process(pid, Signal::TERM).and_then(|()| kill_process(pid, Signal::CONT)) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(CommandError::environment(format_args!(
            "cannot send a signal to process {} of run {}: {error}",
            owner.pid, run.id
        ))),
    }
}
