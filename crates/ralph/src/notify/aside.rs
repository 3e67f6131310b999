//! Running a program for a notice, beside the agents and untouched by what tidies up after them.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use ralph_core::agent::{
    self, BoundedText, Exit, Interrupt, Launch, ProcessLimits, SpawnError, Stream, Watch,
    end_left_overs, run_aside,
};

use ralph_core::host::{Host, ThisHost, process_owner};
use ralph_core::store::{Owner, SafetyStore, SqliteStore};
use rustix::process::Pid;

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

/// Runs a program to its end, within a limit. With a database it is recorded there as the project's own command, before
/// anything is written to its standard input.
pub fn call(
    launch: &Launch,
    limit: Duration,
    cutoff: &Cutoff,
    database: Option<&Path>,
) -> Result<(), Fault> {
    let limits = ProcessLimits {
        wall: limit,
        idle: None,
        grace: GRACE,
    };
    let mut output = Output {
        printed: BoundedText::new(0, SEEN),
        database,
        recorded: None,
    };
    let ended = run_aside(launch, &limits, cutoff.interrupt(), &mut output);
    if let Some((mut store, process)) = output.recorded.take() {
        // A row that stays names a process that will never be again.
        let _ = store.forget_hook(&process);
    }
    let ended = ended.map_err(|error| fault(&error))?;
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
            format!("was killed by signal {signal}")
        }
        (agent::Stop::WallTimeout(_) | agent::Stop::IdleTimeout(_), _) => {
            format!("timed out after {limit:?}")
        }
        (agent::Stop::Interrupted, _) => "was stopped with the run".to_owned(),
    };
    let said = output.printed.into_text();
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

/// What looks on while it runs.
struct Output<'d> {
    printed: BoundedText,
    database: Option<&'d Path>,
    recorded: Option<(SqliteStore, Owner)>,
}

impl Watch for Output<'_> {
    fn started(&mut self, group: Pid) {
        let host = ThisHost::new().owner().host;
        self.recorded = self.database.and_then(|database| {
            let process = process_owner(host, group)?;
            let mut store = SqliteStore::open_again(database).ok()?;
            store.note_hook(&process).ok()?;
            Some((store, process))
        });
    }

    fn output(&mut self, _stream: Stream, chunk: &[u8]) {
        self.printed.push(chunk);
    }
}
