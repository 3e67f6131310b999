//! The gate: a task's own verify command, run by Ralph and believed by nobody else.

use std::path::Path;
use std::time::Duration;

use crate::agent::{
    self, Access, BoundedText, Exit, Guard, Interrupt, Launch, ProcessLimits, SpawnError, Stop,
    Stream, Watch,
};
use crate::diagnose::Reader;
use crate::model::{GateOutcome, GateRecord};
use crate::text;

/// How much of the end of the gate's output is stored.
const TAIL: usize = 8 * 1024;
/// How much of it is kept until secrets are masked, so that none is cut in two.
const KEPT: usize = 64 * 1024;

/// A gate to be run.
#[derive(Clone, Debug)]
pub struct Gate<'a> {
    /// The shell command.
    pub command: &'a str,
    /// Where it runs.
    pub dir: &'a Path,
    /// Variables it gets.
    pub env: Vec<(String, std::ffi::OsString)>,
    /// How long it may take.
    pub timeout: Duration,
    /// How long it has after TERM.
    pub grace: Duration,
    /// How often it is run again when it fails.
    pub retries: u32,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateResult {
    /// It ran to its end.
    Ran(GateRecord),
    /// Ralph was told to stop meanwhile.
    Interrupted,
    /// Its shell could not be started, for this reason.
    Broken(String),
}

/// Runs a gate, started by the guard where there is one, again if it fails and may be flaky. `look_on` is called many times a second, and with the number
/// of each run as it starts.
pub fn run(
    gate: &Gate<'_>,
    mut guard: Option<&mut Guard>,
    interrupt: &Interrupt,
    look_on: &mut dyn FnMut(GateProgress),
) -> Result<GateResult, SpawnError> {
    let mut run = 1;
    loop {
        look_on(GateProgress::Started { run });
        let Some(mut record) = once(gate, guard.as_deref_mut(), interrupt, look_on)? else {
            return Ok(GateResult::Interrupted);
        };
        let guard_lost = guard.as_deref_mut().is_some_and(Guard::is_lost);
        if record.outcome == GateOutcome::Passed || run > gate.retries || guard_lost {
            record.flaky = record.outcome == GateOutcome::Passed && run > 1;
            return Ok(GateResult::Ran(record));
        }
        run += 1;
    }
}

/// What a gate is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateProgress {
    /// A run of it begins.
    Started {
        /// Which one, from 1.
        run: u32,
    },
    /// It is still going.
    Tick,
}

fn once(
    gate: &Gate<'_>,
    guard: Option<&mut Guard>,
    interrupt: &Interrupt,
    look_on: &mut dyn FnMut(GateProgress),
) -> Result<Option<GateRecord>, SpawnError> {
    let launch = Launch {
        program: "sh".into(),
        args: vec!["-c".into(), gate.command.into()],
        env: gate.env.clone(),
        cwd: gate.dir.to_owned(),
        stdin: String::new(),
        access: Access::default(),
    };
    let limits = ProcessLimits {
        wall: gate.timeout,
        idle: None,
        grace: gate.grace,
    };
    let mut output = Output {
        reader: Reader::default(),
        end: BoundedText::new(0, KEPT),
        look_on,
    };
    let ended = agent::run_below(guard, &launch, &limits, interrupt, &mut output)?;
    let (outcome, how) = match (ended.stop, ended.exit) {
        (Stop::Interrupted, _) => return Ok(None),
        (Stop::WallTimeout(_) | Stop::IdleTimeout(_), _) => (
            GateOutcome::TimedOut,
            format!("timed out after {}", text::duration(gate.timeout)),
        ),
        (Stop::GuardLost, _) => (
            GateOutcome::Failed,
            "was ended: Ralph's guard process was killed meanwhile".into(),
        ),
        // A gate has no budget.
        (Stop::Exited | Stop::Budget, Exit::Code(0)) => (GateOutcome::Passed, "passed".into()),
        (Stop::Exited | Stop::Budget, Exit::Code(code)) => {
            (GateOutcome::Failed, format!("exited with code {code}"))
        }
        (Stop::Exited | Stop::Budget, Exit::Signal(signal)) => {
            (GateOutcome::Failed, format!("was ended by signal {signal}"))
        }
    };
    let end = output.end.into_text();
    let end = text::mask_secrets(&end);
    Ok(Some(GateRecord {
        command: text::code_line(gate.command, 80),
        outcome,
        ended: how,
        flaky: false,
        diagnosis: Box::new(output.reader.finish().of_gate(gate.command)),
        output_tail: end_of(end.trim(), TAIL).to_owned(),
        touched: Vec::new(),
    }))
}

/// The last bytes of a text, from a character's beginning.
fn end_of(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default().trim_start()
}

struct Output<'a> {
    reader: Reader,
    end: BoundedText,
    look_on: &'a mut dyn FnMut(GateProgress),
}

impl Watch for Output<'_> {
    fn output(&mut self, _stream: Stream, chunk: &[u8]) {
        self.reader.push(chunk);
        self.end.push(chunk);
    }

    fn tick(&mut self) {
        (self.look_on)(GateProgress::Tick);
    }
}

/// Changed files that the gate's command names: an attempt that edits its own judge should be looked at.
pub fn touched(command: &str, files_changed: &[String]) -> Vec<String> {
    let separators = |c: char| c.is_whitespace() || "'\"`;|&()<>=".contains(c);
    let words: Vec<&str> = command
        .split(separators)
        .map(|word| word.trim_start_matches("./"))
        .filter(|word| !word.is_empty())
        .collect();
    files_changed
        .iter()
        .filter(|file| words.contains(&file.as_str()))
        .cloned()
        .collect()
}

/// A script that fails where any of its commands does; by itself only the last would decide.
#[must_use]
pub fn every_line_counts(script: String) -> String {
    let is_command = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let several = script.lines().filter(is_command).count() > 1;
    let settled = script
        .lines()
        .find(is_command)
        .is_some_and(|line| line.trim_start().starts_with("set "));
    match several && !settled {
        true => format!("set -e\n{script}"),
        false => script,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate<'a>(command: &'a str, dir: &'a Path, retries: u32) -> Gate<'a> {
        Gate {
            command,
            dir,
            env: Vec::new(),
            timeout: Duration::from_secs(20),
            grace: Duration::from_millis(200),
            retries,
        }
    }

    fn record(gate: &Gate<'_>) -> GateRecord {
        match run(gate, None, &Interrupt::default(), &mut |_| {}).unwrap() {
            GateResult::Ran(record) => record,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn imp_03_every_line_of_a_script_counts() {
        for (script, whole) in [
            ("false\ntrue", "set -e\nfalse\ntrue"),
            ("# all\ncargo test", "# all\ncargo test"),
            ("set -eu\na\nb", "set -eu\na\nb"),
            ("one", "one"),
        ] {
            assert_eq!(every_line_counts(script.into()), whole);
        }
    }

    #[test]
    fn exit_0_passes_and_everything_else_does_not() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(
            record(&gate("true", dir.path(), 0)).outcome,
            GateOutcome::Passed
        );
        let failed = record(&gate("echo out; echo err >&2; exit 3", dir.path(), 0));
        assert_eq!(failed.outcome, GateOutcome::Failed);
        assert!(failed.output_tail.contains("out") && failed.output_tail.contains("err"));
        assert_eq!(
            record(&gate("kill -9 $$", dir.path(), 0)).outcome,
            GateOutcome::Failed
        );
    }

    #[test]
    fn only_the_end_of_the_output_is_kept_and_secrets_are_masked() {
        let dir = tempfile::tempdir().unwrap();
        let noisy = "i=0; while [ $i -lt 3000 ]; do echo line-$i; i=$((i+1)); done; \
                     echo password=hunter2secret; exit 1";
        let tail = record(&gate(noisy, dir.path(), 0)).output_tail;
        assert!(tail.len() < 2 * TAIL);
        assert!(tail.contains("line-2999") && !tail.contains("line-5\n"));
        assert!(!tail.contains("hunter2secret"), "{tail}");
    }

    #[test]
    fn a_gate_that_passes_the_second_time_is_flaky() {
        let dir = tempfile::tempdir().unwrap();
        let flaky = "test -f seen || { touch seen; exit 1; }";
        let first = record(&gate(flaky, dir.path(), 1));
        assert_eq!((first.outcome, first.flaky), (GateOutcome::Passed, true));
        let second = record(&gate(flaky, dir.path(), 1));
        assert_eq!((second.outcome, second.flaky), (GateOutcome::Passed, false));
        assert_eq!(
            record(&gate("false", dir.path(), 2)).outcome,
            GateOutcome::Failed
        );
    }

    #[test]
    fn a_gate_that_hangs_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let mut slow = gate("sleep 60", dir.path(), 0);
        slow.timeout = Duration::from_millis(100);
        assert_eq!(record(&slow).outcome, GateOutcome::TimedOut);
    }

    #[test]
    fn files_the_gate_names_are_recognised() {
        let changed = [
            "tests/a.sh".to_owned(),
            "src/x.rs".to_owned(),
            "a.sh".to_owned(),
        ];
        assert_eq!(
            touched("sh ./tests/a.sh && echo ok", &changed),
            ["tests/a.sh"]
        );
        assert_eq!(touched("sh 'a.sh'", &changed), ["a.sh"]);
        assert!(touched("cargo test", &changed).is_empty());
    }
}
