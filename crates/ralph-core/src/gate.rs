//! The gate: a task's own verify command, run by Ralph and believed by nobody else.

mod broken;
mod executed;
mod protect;
mod protected_files;
mod script;
mod tokens;
mod weakened;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::agent::{
    self, BoundedText, Exit, Guard, Interrupt, Launch, ProcessLimits, SpawnError, Stop, Stream, Watch,
};
use crate::diagnose::Reader;
pub use crate::evidence::GateResult;
use crate::model::{BaselineRun, GateOf, GateOutcome, GateRecord};
use crate::sandbox::{Confinement, run_confined};
use crate::text;
use crate::which;
use broken::Exited;
pub use broken::{Broken, sure_to_break, task_texts};
pub use protect::{Patterns, Protection};
pub use protected_files::{ProtectedFiles, Tampered, Version, list_files};
pub use script::{has_pipe, programs};
pub use weakened::weakened;

/// The shell that knows how each member of a pipeline ended.
pub const PIPE_SHELL: &str = "bash";

/// How much of the end of the gate's output is stored.
const TAIL: usize = 8 * 1024;
/// How many tests of one kind are named in what is stored.
pub const MOST_TESTS: usize = 50;
/// How much of it is kept until secrets are masked, so that none is cut in two.
const KEPT: usize = 64 * 1024;

#[derive(Clone, Debug)]
pub struct Gate<'a> {
    pub command: &'a str,
    pub dir: &'a Path,
    pub env: Vec<(String, std::ffi::OsString)>,
    pub timeout: Duration,
    pub grace: Duration,
    /// How often it is run again where it fails, if it takes less than `rerun_below`.
    pub rerun: u32,
    pub rerun_below: Duration,
    /// The texts of its task: a missing path that they name is for the task to write.
    pub task_texts: Vec<String>,
    pub confinement: Option<&'a Confinement>,
}

/// Runs a gate, started by the guard where there is one, again if it fails and may be flaky. `look_on` is called many times
/// a second, and with the number of each run as it starts; where it says so, the gate ends as if interrupted.
pub fn run(
    gate: &Gate<'_>,
    mut guard: Option<&mut Guard>,
    interrupt: &Interrupt,
    look_on: &mut dyn FnMut(GateProgress) -> bool,
) -> Result<GateResult, SpawnError> {
    let mut run = 1;
    let first_started = Instant::now();
    let mut failed: BTreeSet<String> = BTreeSet::new();
    loop {
        look_on(GateProgress::Started { run });
        let started = Instant::now();
        let Some(mut record) = once(gate, guard.as_deref_mut(), interrupt, look_on)? else {
            return Ok(GateResult::Interrupted);
        };
        let guard_lost = guard.as_deref_mut().is_some_and(Guard::is_lost);
        let settled = matches!(record.outcome, GateOutcome::Passed | GateOutcome::Broken);
        let is_slow = started.elapsed() >= gate.rerun_below;
        if settled || run > gate.rerun || is_slow || guard_lost {
            record.flaky = record.passed() && run > 1;
            if record.flaky {
                record.flaky_tests = failed.into_iter().take(MOST_TESTS).collect();
            }
            record.duration_ms = u64::try_from(first_started.elapsed().as_millis()).unwrap_or(u64::MAX);
            return Ok(GateResult::Ran(record));
        }
        failed.extend(record.diagnosis.failing().iter().cloned());
        run += 1;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateProgress {
    Started { run: u32 },
    Tick,
}

fn once(
    gate: &Gate<'_>,
    guard: Option<&mut Guard>,
    interrupt: &Interrupt,
    look_on: &mut dyn FnMut(GateProgress) -> bool,
) -> Result<Option<GateRecord>, SpawnError> {
    let (shell, script) = shell_for(gate);
    let launch = Launch {
        program: shell.into(),
        args: vec!["-c".into(), script],
        env: gate.env.clone(),
        cwd: gate.dir.to_owned(),
        stdin: String::new(),
        confined: None,
    };
    let limits = ProcessLimits { wall: gate.timeout, idle: None, grace: gate.grace };
    let mut output = Output {
        reader: Reader::default(),
        end: BoundedText::new(0, KEPT),
        member: None,
        look_on,
        ends: false,
    };
    let ended = run_confined(gate.confinement, launch, |launch| {
        agent::run_below(guard, launch, &limits, interrupt, &mut output)
    });
    let ended = match ended {
        Err(error) if error.source.kind() == std::io::ErrorKind::ArgumentListTooLong => {
            // A fault of this gate alone.
            let ended = "cannot run: its command is too long for this system";
            let fix = Some("move it to a script".into());
            return Ok(Some(GateRecord { fix, ..GateRecord::new(gate.command, GateOutcome::Broken, ended) }));
        }
        ended => ended?,
    };
    let end = output.end.into_text();
    let end = text::mask_secrets(&end);
    let mut fix = None;
    let exit_code = match (&ended.stop, &ended.exit) {
        (Stop::Exited | Stop::Budget, Exit::Code(code)) => Some(*code),
        _ => None,
    };
    let (outcome, how) = match (ended.stop, ended.exit) {
        (Stop::Interrupted | Stop::UserNote, _) => return Ok(None),
        (Stop::WallTimeout(_) | Stop::IdleTimeout(_), _) => {
            (GateOutcome::TimedOut, format!("timed out after {}", text::duration(gate.timeout)))
        }
        (Stop::OverLimit(excess), _) => (GateOutcome::Failed, format!("was stopped: it had {excess}")),
        (Stop::GuardLost, _) => {
            (GateOutcome::Failed, "was stopped because Ralph's guard process was killed".into())
        }
        // A gate has no budget.
        (Stop::Exited | Stop::Budget, Exit::Code(0)) => (GateOutcome::Passed, "passed".into()),
        (Stop::Exited | Stop::Budget, Exit::Code(code)) => {
            let exited = Exited {
                command: gate.command,
                code,
                output: &end,
                dir: gate.dir,
                task_texts: &gate.task_texts,
            };
            match (broken::broken(&exited), output.member) {
                (Some(broken), _) => {
                    fix = Some(broken.fix);
                    (GateOutcome::Broken, format!("cannot run: {}", broken.why))
                }
                (None, Some((member, all))) => {
                    (GateOutcome::Failed, format!("exited with code {code} at command {member} of {all}"))
                }
                (None, None) => (GateOutcome::Failed, format!("exited with code {code}")),
            }
        }
        (Stop::Exited | Stop::Budget, Exit::Signal(signal)) => {
            (GateOutcome::Failed, format!("was killed by signal {signal}"))
        }
    };
    Ok(Some(GateRecord {
        diagnosis: Box::new(output.reader.finish().of_gate(gate.command)),
        output_tail: end_of(end.trim(), TAIL).to_owned(),
        fix,
        exit_code,
        ..GateRecord::new(gate.command, outcome, &how)
    }))
}

impl GateRecord {
    /// A gate of which nothing else is known.
    pub(crate) fn new(command: &str, outcome: GateOutcome, ended: &str) -> Self {
        Self {
            of: GateOf::default(),
            command: text::code_line(command, 80),
            full_command: text::mask_secrets(command).into_owned(),
            outcome,
            exit_code: None,
            duration_ms: 0,
            ended: ended.to_owned(),
            flaky: false,
            flaky_tests: Vec::new(),
            baseline: BaselineRun::default(),
            regressions: Vec::new(),
            excused: false,
            diagnosis: Box::default(),
            output_tail: String::new(),
            fix: None,
        }
    }
}

/// The shell and the script for it: bash where the gate has a pipeline, because `sh` knows only how the last member ended.
fn shell_for(gate: &Gate<'_>) -> (&'static str, String) {
    let search = which::search_path();
    let bash = || which::find(PIPE_SHELL, gate.dir, search.as_ref()).is_some();
    if script::has_pipe(gate.command) && bash() {
        let script = script::minding_pipes(gate.command);
        return (PIPE_SHELL, script.unwrap_or_else(|| gate.command.into()));
    }
    ("sh", gate.command.into())
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
    /// The command of its pipeline that failed, of how many.
    member: Option<(usize, usize)>,
    look_on: &'a mut dyn FnMut(GateProgress) -> bool,
    ends: bool,
}

impl Watch for Output<'_> {
    fn output(&mut self, _stream: Stream, chunk: &[u8]) {
        let Some(mark) = script::find_pipe_mark(chunk) else {
            self.reader.push(chunk);
            self.end.push(chunk);
            return;
        };
        self.member = Some(mark.member);
        for rest in [mark.before, mark.after] {
            self.reader.push(rest);
            self.end.push(rest);
        }
    }

    fn tick(&mut self) {
        self.ends |= (self.look_on)(GateProgress::Tick);
    }

    fn ends(&self) -> Option<Stop> {
        self.ends.then_some(Stop::UserNote)
    }
}

/// A program that gates need and that cannot be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unready {
    pub problem: Broken,
    /// The tasks whose gates need it, in plan order.
    pub tasks: Vec<String>,
}

/// The programs of gates that cannot be started now. Gates come with the name of their task. A path inside the tree that does
/// not exist is left out: a task may be about to write it.
pub fn unready<'g>(gates: impl Iterator<Item = (&'g str, &'g str)>, dir: &Path) -> Vec<Unready> {
    let mut looked: HashMap<&str, Option<usize>> = HashMap::new();
    let mut found: Vec<Unready> = Vec::new();
    for (task, command) in gates {
        for program in programs(command) {
            let place = *looked.entry(program).or_insert_with(|| {
                let problem = broken::known_problem(program, dir)?;
                found.push(Unready { problem, tasks: Vec::new() });
                Some(found.len() - 1)
            });
            if let Some(unready) = place.and_then(|place| found.get_mut(place))
                && unready.tasks.last().is_none_or(|last| last != task)
            {
                unready.tasks.push(task.to_owned());
            }
        }
    }
    found
}

/// A script that fails where any of its commands does; by itself only the last would decide.
pub fn every_line_counts(script: String) -> String {
    let is_command = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let several = script.lines().filter(is_command).count() > 1;
    let settled = script.lines().find(is_command).is_some_and(|line| line.trim_start().starts_with("set "));
    if several && !settled { format!("set -e\n{script}") } else { script }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate<'a>(command: &'a str, dir: &'a Path, rerun: u32) -> Gate<'a> {
        Gate {
            command,
            dir,
            env: Vec::new(),
            timeout: Duration::from_secs(20),
            grace: Duration::from_millis(200),
            rerun,
            rerun_below: Duration::from_secs(20),
            task_texts: Vec::new(),
            confinement: None,
        }
    }

    fn record(gate: &Gate<'_>) -> GateRecord {
        match run(gate, None, &Interrupt::default(), &mut |_| false).unwrap() {
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
        assert_eq!(record(&gate("true", dir.path(), 0)).outcome, GateOutcome::Passed);
        let failed = record(&gate("echo out; echo err >&2; exit 3", dir.path(), 0));
        assert_eq!(failed.outcome, GateOutcome::Failed);
        assert!(failed.output_tail.contains("out") && failed.output_tail.contains("err"));
        assert_eq!(record(&gate("kill -9 $$", dir.path(), 0)).outcome, GateOutcome::Failed);
    }

    #[test]
    fn out_01_a_gate_fails_where_a_member_of_its_last_pipeline_fails() {
        let dir = tempfile::tempdir().unwrap();
        // The gate and its exit code; none where it passes.
        for (command, code) in [
            ("exit 3 | cat", Some("3")),
            ("echo out | (exit 4)", Some("4")),
            ("false | true | true", Some("1")),
            ("(exit 3) |& cat", Some("3")),
            ("exit 3 | tail \\", Some("3")),
            ("exit 3 | cat # why", Some("3")),
            ("cat <<EOF | cat\nx | y\nEOF", None),
            ("cat nothing <<EOF | cat\nx\nEOF", Some("1")),
            ("yes | head -1", None),
            ("yes | grep -q y && test -f x", Some("1")),
            ("yes | grep -q y && true", None),
            ("false | true; true", None),
            ("false | true || true", Some("1")),
            ("false | true && true", None),
            ("set -e\ntrue\nexit 5 | cat", Some("5")),
            ("set -eu\nfalse | true\ntrue", None),
            ("exit 3 | cat; exit 0", None),
            ("{ exit 3 | cat; }", Some("3")),
            ("(cd . && exit 3 | cat)", Some("3")),
            ("(true; (exit 3 | cat) )", Some("3")),
            ("for i in 1; do exit 3 | cat; done", Some("3")),
            // A failure that the gate asks for: a search that found nothing.
            ("! grep x /dev/null | grep -v y", None),
            ("! (exit 101) | grep -q warning", Some("101")),
            ("if grep x /dev/null | grep y; then exit 1; fi", None),
            // Left alone, and a mistake stays one.
            ("true | cat &&", Some("2")),
            ("echo 'a|b' || exit 3", None),
        ] {
            let found = record(&gate(command, dir.path(), 0));
            match code {
                None => assert_eq!(found.outcome, GateOutcome::Passed, "{command}: {found:?}"),
                Some(code) => {
                    assert_eq!(found.outcome, GateOutcome::Failed, "{command}: {found:?}");
                    let expected = format!("exited with code {code}");
                    assert!(found.ended.starts_with(&expected), "{command}: {found:?}");
                }
            }
            assert!(!found.output_tail.contains("ralph-pipe"), "{found:?}");
        }
        let told = record(&gate("echo kept; exit 3 | cat", dir.path(), 0));
        assert_eq!(told.output_tail, "kept");
        assert_eq!(told.ended, "exited with code 3 at command 1 of 2");
    }

    #[test]
    fn out_01_a_program_that_is_missing_breaks_the_gate_wherever_it_stands() {
        let dir = tempfile::tempdir().unwrap();
        for command in ["no-such-9", "no-such-9 | tail", "true && no-such-9 2>/dev/null"] {
            let found = record(&gate(command, dir.path(), 3));
            assert_eq!(found.outcome, GateOutcome::Broken, "{command}: {found:?}");
            assert_eq!(found.fix.as_deref(), Some("install no-such-9"));
        }
        let mut writes = gate("./check.sh", dir.path(), 0);
        assert_eq!(record(&writes).outcome, GateOutcome::Broken);
        writes.task_texts = vec!["Write check.sh".into()];
        assert_eq!(record(&writes).outcome, GateOutcome::Failed);
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
        assert_eq!(record(&gate("false", dir.path(), 2)).outcome, GateOutcome::Failed);
        let seen_twice = "test -f a || { touch a; echo FAILED x.py::t; exit 1; }";
        assert_eq!(record(&gate(seen_twice, dir.path(), 1)).flaky_tests, ["x.py::t"]);
        // One that is slow is not run again.
        let slow =
            Gate { rerun_below: Duration::ZERO, ..gate("test -f b || { touch b; exit 1; }", dir.path(), 1) };
        assert_eq!(record(&slow).outcome, GateOutcome::Failed);
    }

    #[test]
    fn a_gate_that_hangs_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let mut slow = gate("sleep 60", dir.path(), 0);
        slow.timeout = Duration::from_millis(100);
        assert_eq!(record(&slow).outcome, GateOutcome::TimedOut);
    }
}
