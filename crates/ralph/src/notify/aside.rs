//! Running a program for a notice, beside the agents and untouched by what tidies up after them.

use std::io::ErrorKind;
use std::time::Duration;

use ralph_core::agent::{
    self, BoundedText, Exit, Interrupt, Launch, ProcessLimits, SpawnError, Stream, Watch,
    end_left_overs, run_aside,
};

use super::sender::Cutoff;
use super::tame;

/// How much of what a program prints is looked at.
const SEEN: usize = 4 * 1024;
/// How long it has after TERM.
const GRACE: Duration = Duration::from_millis(500);

/// Why nothing came of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is no such program.
    NotThere,
    /// It failed, in this way.
    Failed(String),
}

/// Ends what programs left running. For the end, when no attempt follows after which that would be done.
pub fn end_what_is_left() {
    end_left_overs(GRACE, &Interrupt::default(), None);
}

/// Runs a program to its end, within a limit.
pub fn call(launch: &Launch, limit: Duration, cutoff: &Cutoff) -> Result<(), Fault> {
    let limits = ProcessLimits {
        wall: limit,
        idle: None,
        grace: GRACE,
    };
    let mut output = Output(BoundedText::new(0, SEEN));
    let ended = run_aside(launch, &limits, cutoff.interrupt(), &mut output)
        .map_err(|error| fault(&error))?;
    let how = match (ended.stop, ended.exit) {
        (agent::Stop::Exited | agent::Stop::Budget | agent::Stop::GuardLost, Exit::Code(0)) => {
            return Ok(());
        }
        (agent::Stop::Exited | agent::Stop::Budget | agent::Stop::GuardLost, Exit::Code(code)) => {
            format!("exited with code {code}")
        }
        (
            agent::Stop::Exited | agent::Stop::Budget | agent::Stop::GuardLost,
            Exit::Signal(signal),
        ) => {
            format!("was ended by signal {signal}")
        }
        (agent::Stop::WallTimeout | agent::Stop::IdleTimeout, _) => {
            format!("took longer than {limit:?}")
        }
        (agent::Stop::Interrupted, _) => "was ended with the run".to_owned(),
    };
    let said = output.0.into_text();
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    let said = last.map(|line| format!(": {}", tame::line(line, 200)));
    Err(Fault::Failed(format!("{how}{}", said.unwrap_or_default())))
}

fn fault(error: &SpawnError) -> Fault {
    match error.source.kind() {
        ErrorKind::NotFound => Fault::NotThere,
        _ => Fault::Failed(tame::line(&error.to_string(), 200)),
    }
}

/// What it prints.
struct Output(BoundedText);

impl Watch for Output {
    fn output(&mut self, _stream: Stream, chunk: &[u8]) {
        self.0.push(chunk);
    }
}
