//! Hooks: the project's own commands around runs and attempts, with the event as JSON on their standard input.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use crate::agent::{self, BoundedText, Interrupt, Launch, ProcessLimits, Stream, Watch};
use crate::event::RunEvent;
use crate::model::names;
use crate::text;

/// How much of what a hook prints is looked at.
const SEEN: usize = 4 * 1024;
const LINES: usize = 3;
const LINE: usize = 200;

names! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum HookPoint {
        BeforeRun => "before_run",
        BeforeAttempt => "before_attempt",
        AfterAttempt => "after_attempt",
        AfterRun => "after_run",
    }
}

#[derive(Clone, Debug)]
pub struct Hooks {
    pub before_run: Option<String>,
    pub before_attempt: Option<String>,
    pub after_attempt: Option<String>,
    pub after_run: Option<String>,
    /// How long each may take; none for no limit.
    pub timeout: Option<Duration>,
    /// Whether a failing hook before something ends the run; else it is only reported.
    pub veto: bool,
}

impl Default for Hooks {
    fn default() -> Self {
        Self {
            before_run: None,
            before_attempt: None,
            after_attempt: None,
            after_run: None,
            timeout: Some(Duration::from_secs(60)),
            veto: true,
        }
    }
}

impl Hooks {
    pub fn at(&self, point: HookPoint) -> Option<&str> {
        match point {
            HookPoint::BeforeRun => self.before_run.as_deref(),
            HookPoint::BeforeAttempt => self.before_attempt.as_deref(),
            HookPoint::AfterAttempt => self.after_attempt.as_deref(),
            HookPoint::AfterRun => self.after_run.as_deref(),
        }
    }
}

pub struct HookCall<'a> {
    pub point: HookPoint,
    pub command: &'a str,
    pub event: &'a RunEvent,
    pub dir: &'a Path,
    pub env: Vec<(String, OsString)>,
    pub timeout: Option<Duration>,
    pub grace: Duration,
}

#[derive(Serialize)]
struct Input<'a> {
    hook: &'static str,
    #[serde(flatten)]
    event: &'a RunEvent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookProgress {
    /// Its process waits to be recorded; it begins when this was heard.
    Started(Pid),
    Tick,
}

/// The first line of a hook's input, which it does not see, is the word to begin. `exec` keeps the process that was
/// recorded.
const WHEN_RECORDED: &str = r#"read -r begin && exec sh -c "$@""#;

/// Arguments of `sh` for a script that begins only when the process was recorded: when it reads the first line of its
/// input. Further words are the script's own arguments.
pub fn when_recorded(script: &[&str]) -> Vec<String> {
    let words = ["-c", WHEN_RECORDED, "sh"].iter().chain(script);
    words.map(|word| (*word).to_owned()).collect()
}

/// Runs a hook to its end; why it failed, if it did. `look_on` is called when it has started and many times a second.
pub fn run(
    call: &HookCall<'_>,
    interrupt: &Interrupt,
    look_on: &mut dyn FnMut(HookProgress),
) -> Result<(), String> {
    let input = Input { hook: call.point.as_str(), event: call.event };
    let stdin = serde_json::to_string(&input).map_err(|error| error.to_string())?;
    let mut env: Vec<(String, OsString)> = agent::own_settings().collect();
    env.extend(call.env.iter().cloned());
    env.push(("RALPH_HOOK".to_owned(), call.point.as_str().into()));
    let launch = Launch {
        program: "sh".into(),
        args: when_recorded(&[call.command]),
        env,
        cwd: call.dir.to_owned(),
        stdin: format!("\n{stdin}\n"),
        confined: None,
    };
    let limits = ProcessLimits { wall: call.timeout.unwrap_or(Duration::MAX), idle: None, grace: call.grace };
    let mut output =
        Output { printed: BoundedText::new(0, SEEN), complained: BoundedText::new(0, SEEN), look_on };
    let ended = agent::run(&launch, &limits, interrupt, &mut output).map_err(|error| error.to_string())?;
    let Some(how) = ended.failure() else { return Ok(()) };
    let said = last_words(output.complained).or_else(|| last_words(output.printed));
    let said = said.map(|words| format!(": {words}"));
    Err(format!("{how}{}", said.unwrap_or_default()))
}

/// The last few lines of what was said, as one. An error is often followed by a hint.
fn last_words(said: BoundedText) -> Option<String> {
    let said = said.into_text();
    // Masked as a whole: a key may stand on several lines.
    let said = text::mask_secrets(&said);
    let lines = said.lines().map(|line| text::one_line(line, LINE));
    let mut last: Vec<String> = lines.rev().filter(|line| !line.is_empty()).take(LINES).collect();
    last.reverse();
    (!last.is_empty()).then(|| last.join(" / "))
}

struct Output<'t> {
    printed: BoundedText,
    /// On standard error, which says more about a failure.
    complained: BoundedText,
    look_on: &'t mut dyn FnMut(HookProgress),
}

impl Watch for Output<'_> {
    fn started(&mut self, group: Pid) {
        (self.look_on)(HookProgress::Started(group));
    }

    fn output(&mut self, stream: Stream, chunk: &[u8]) {
        match stream {
            Stream::Out => self.printed.push(chunk),
            Stream::Err => self.complained.push(chunk),
        }
    }

    fn tick(&mut self) {
        (self.look_on)(HookProgress::Tick);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventKind;
    use crate::model::{RunId, Timestamp};

    fn call(command: &str, timeout: impl Into<Option<Duration>>) -> Result<(), String> {
        let kind = EventKind::BreakerProbes;
        let event = RunEvent::new(7, Timestamp::from_secs(0), &RunId::from_stored("r-1"), kind);
        let dir = tempfile::tempdir().unwrap();
        let call = HookCall {
            point: HookPoint::BeforeAttempt,
            command,
            event: &event,
            dir: dir.path(),
            env: Vec::new(),
            timeout: timeout.into(),
            grace: Duration::from_millis(100),
        };
        run(&call, &Interrupt::default(), &mut |_| {})
    }

    #[test]
    fn a_hook_reads_the_event_and_its_failure_is_told_with_its_last_words() {
        let minute = Duration::from_secs(60);
        let reads = r#"read -r line; echo "$line" | grep -q '"hook":"before_attempt"' && \
            echo "$line" | grep -q '"type":"breaker_probes"' && test "$RALPH_HOOK" = before_attempt"#;
        assert_eq!(call(reads, minute), Ok(()));
        assert_eq!(
            call("echo first; echo 'not today' >&2; exit 3", minute),
            Err("exited with code 3: not today".into())
        );
        let late = call("sleep 60", Duration::from_millis(100)).unwrap_err();
        assert_eq!(late, "timed out after 100 ms");
    }

    #[test]
    fn a_failure_is_told_with_the_last_few_lines_of_its_complaint() {
        let minute = Duration::from_secs(60);
        let many = "echo one >&2; echo two >&2; echo out; echo; echo three >&2; echo; echo four >&2; exit 1";
        assert_eq!(call(many, minute), Err("exited with code 1: two / three / four".into()));
        // Where nothing is complained of, what was printed has to do.
        assert_eq!(
            call("echo only; echo this; exit 1", minute),
            Err("exited with code 1: only / this".into())
        );
        let long = call("printf 'x%.0s' $(seq 3000) >&2; exit 1", minute).unwrap_err();
        assert!(long.chars().count() < 3 * (LINE + 10), "{long}");
    }

    #[test]
    fn without_a_limit_a_hook_takes_the_time_it_takes() {
        assert_eq!(call("sleep 0.3", None), Ok(()));
    }

    #[test]
    fn a_hook_that_does_not_read_is_no_failure() {
        assert_eq!(call("exec <&-; exit 0", Duration::from_secs(60)), Ok(()));
    }
}
