//! Programs: where they are, and what they answer within a short time.

use std::path::Path;
use std::time::Duration;

use ralph_core::agent::{Access, Exit, Interrupt, Launch, ProcessLimits, Stop, Stream, Watch, run};
use ralph_core::text::one_line;

/// How long a program may take to tell its version.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// How long it then has between TERM and KILL.
const GRACE: Duration = Duration::from_millis(300);
/// Bytes of an answer that are looked at.
const ANSWER: usize = 4096;
/// Characters of the line that is shown.
const SHOWN: usize = 100;

/// What came of asking a program something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The first line it printed.
    Said(String),
    /// It printed nothing of use, and this is why.
    Nothing(String),
}

/// What a program is asked.
#[derive(Clone, Debug)]
pub struct Question<'q> {
    /// Program and arguments.
    pub words: &'q [String],
    /// Variables it gets.
    pub env: &'q [(String, String)],
    /// Where it is started.
    pub dir: &'q Path,
    /// How long it may take; it is ended with its group then.
    pub patience: Duration,
}

/// Asks a program and waits for its answer. It may hang, or print without end.
pub fn ask(question: &Question<'_>, interrupt: &Interrupt) -> Answer {
    let mut words = question.words.iter().cloned();
    let env = question.env.iter();
    let launch = Launch {
        program: words.next().unwrap_or_default(),
        args: words.collect(),
        env: env
            .map(|(name, value)| (name.clone(), value.into()))
            .collect(),
        cwd: question.dir.to_owned(),
        stdin: String::new(),
        access: Access::default(),
    };
    let limits = ProcessLimits {
        wall: question.patience,
        idle: None,
        grace: GRACE,
    };
    let mut heard = Heard::default();
    match run(&launch, &limits, interrupt, &mut heard) {
        Err(error) => Answer::Nothing(format!("cannot start: {}", error.source)),
        Ok(ended) => match (ended.stop, ended.exit) {
            (Stop::Exited, Exit::Code(0)) => heard.answer(),
            (Stop::Exited, Exit::Code(code)) => Answer::Nothing(format!("exited with code {code}")),
            (Stop::Exited, Exit::Signal(signal)) => {
                Answer::Nothing(format!("killed by signal {signal}"))
            }
            (Stop::WallTimeout(_) | Stop::IdleTimeout(_), _) => {
                let patience = question.patience.as_secs_f32();
                Answer::Nothing(format!("no answer within {patience} s"))
            }
            (Stop::Interrupted | Stop::Budget | Stop::GuardLost, _) => {
                Answer::Nothing("canceled".into())
            }
        },
    }
}

/// The beginning of both streams.
#[derive(Default)]
struct Heard {
    out: Vec<u8>,
    err: Vec<u8>,
}

impl Watch for Heard {
    fn output(&mut self, stream: Stream, chunk: &[u8]) {
        let kept = match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        };
        let room = ANSWER.saturating_sub(kept.len()).min(chunk.len());
        kept.extend(chunk.iter().take(room));
    }
}

impl Heard {
    fn answer(&self) -> Answer {
        let lines = [&self.out, &self.err].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let mut lines = lines
            .iter()
            .flat_map(|text| text.lines())
            .map(|line| one_line(line, SHOWN));
        match lines.find(|line| !line.is_empty()) {
            Some(line) => Answer::Said(line),
            None => Answer::Nothing("printed nothing".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn asked(script: &str, patience: Duration) -> Answer {
        let words = ["sh", "-c", script].map(str::to_owned);
        let question = Question {
            words: &words,
            env: &[("A".into(), "1".into())],
            dir: Path::new("/"),
            patience,
        };
        ask(&question, &Interrupt::default())
    }

    #[test]
    fn an_answer_is_a_line() {
        let said = |text: &str| Answer::Said(text.into());
        assert_eq!(asked("echo; echo \"v $A\"; echo x", PATIENCE), said("v 1"));
        assert_eq!(asked("echo v 2 >&2", PATIENCE), said("v 2"));
        let nothing = |why: &str| Answer::Nothing(why.into());
        assert_eq!(asked("exit 3", PATIENCE), nothing("exited with code 3"));
        assert_eq!(asked(":", PATIENCE), nothing("printed nothing"));
    }

    #[test]
    fn a_program_that_hangs_or_prints_without_end_is_ended_with_its_children() {
        let short = Duration::from_millis(200);
        for script in [
            "trap '' TERM; sleep 677.31 & sleep 677.31",
            "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done",
        ] {
            let started = Instant::now();
            let answer = asked(script, short);
            assert_eq!(answer, Answer::Nothing("no answer within 0.2 s".into()));
            assert!(started.elapsed() < Duration::from_secs(120), "{script}");
        }
    }
}
