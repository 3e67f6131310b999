//! Reading a session while it runs: its output goes into the log, its stream into the parser of its events.

use super::{
    Activity, Agent, AgentReport, AttemptLog, BoundedText, Ended, Ending, Exit, Fault, LINE_LIMIT,
    LineSplitter, Price, SpawnError, Stop, Stream, StreamParser,
};
use crate::diagnose::error_line;
use crate::text::mask_secrets;

/// How much of the beginning and of the end of standard error is searched for the error of a crash.
const ERRORS_HEAD: usize = 16 * 1024;
const ERRORS_TAIL: usize = 64 * 1024;

pub struct SessionReader {
    log: AttemptLog,
    lines: LineSplitter,
    parser: Box<dyn StreamParser>,
    /// Standard error, which explains a crash.
    errors: BoundedText,
    /// What the model costs, where that is known.
    price: Option<Price>,
    budget_usd: Option<f64>,
}

pub struct ReadSession {
    pub exit: Exit,
    pub stop: Stop,
    pub left_overs: usize,
    pub report: AgentReport,
    pub log: AttemptLog,
}

impl SessionReader {
    pub fn new(agent: &Agent, model: &str, log: AttemptLog, budget_usd: Option<f64>) -> Self {
        Self {
            log,
            lines: LineSplitter::new(LINE_LIMIT),
            parser: agent.parser(),
            errors: BoundedText::new(ERRORS_HEAD, ERRORS_TAIL),
            price: agent.price(Some(model), None),
            budget_usd,
        }
    }

    pub fn read(&mut self, stream: Stream, chunk: &[u8], mut on_activity: impl FnMut(Activity)) {
        self.log.write(stream, chunk);
        match stream {
            Stream::Err => self.errors.push(chunk),
            Stream::Out => self.lines.push(chunk, |line, complete| {
                self.parser.line(line, complete).into_iter().for_each(&mut on_activity);
            }),
        }
    }

    /// The final text, once the agent has given it.
    pub fn conclusion(&self) -> Option<&str> {
        self.parser.conclusion()
    }

    pub fn is_over_budget(&self) -> bool {
        let cost = self.parser.cost_so_far(self.price.as_ref());
        cost.zip(self.budget_usd).is_some_and(|(cost, budget)| cost > budget)
    }

    /// A program that could not be started is a session too: a short one.
    pub fn finish(mut self, ended: Result<Ended, SpawnError>) -> ReadSession {
        self.lines.finish(|line, complete| drop(self.parser.line(line, complete)));
        if let Some(line) = error_line(&mask_secrets(&self.errors.into_text())) {
            self.parser.stderr_error(&line);
        }
        let (parser, log) = (self.parser, self.log);
        match ended {
            Ok(Ended { exit, stop, left_overs }) => {
                ReadSession { exit, stop, left_overs, report: parser.finish(exit), log }
            }
            Err(error) => {
                let (exit, message) = (Exit::Code(-1), error.to_string());
                let ending = Ending::Faulted { fault: Fault::Spawn, message, resets_at: None };
                let report = AgentReport { ending, ..parser.finish(exit) };
                ReadSession { exit, stop: Stop::Exited, left_overs: 0, report, log }
            }
        }
    }
}
