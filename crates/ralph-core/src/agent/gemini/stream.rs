//! Reading one session of Gemini CLI: `gemini --output-format stream-json`.
//!
//! Only a `result` line with `status: success` is a success, and not even that after the program has said that it stops
//! (a loop). Exit codes are no evidence by themselves: it exits 0 when it is told to end and when an answer is blocked.

use std::collections::BTreeMap;

use super::super::brief::{MESSAGE, NAME, SHOWN, name, short, text};
use super::super::json::read;
use super::super::strays::{Strays, is_stray};
use super::super::{Activity, AgentReport, Ending, Exit, Fault, StreamParser, Told, Usage};
use super::api_error::ApiError;
use super::classify::{End, fault, start_trouble};
use super::events::{
    ErrorInfo, Event, Init, Message, ModelStats, Notice, Outcome, Stats, ToolResult, ToolUse,
};
use super::tools::Tools;
use super::words::Words;
use crate::model::Timestamp;

/// The one warning after which the program stops although its result is a success.
const LOOP: &str = "Loop detected, stopping execution";
/// Types of errors that are the API's: most have none.
const API_TYPES: [&str; 4] = ["unknown", "Error", "ApiError", "GaxiosError"];

/// The reader of one session's stream; what it keeps is bounded, whatever is printed.
#[derive(Debug, Default)]
pub struct GeminiStream {
    /// An event has been read.
    begun: bool,
    session_id: Option<String>,
    model: Option<String>,
    words: Words,
    tools: Tools,
    usage: Usage,
    /// Why the program stopped, if nothing was said or done since.
    stopped: Option<String>,
    result: Option<Ended>,
    /// Lines that were cut at the reader's limit and so could not be read.
    cut_lines: u64,
    /// What the program is called where it is not the one that this stream is named after.
    called: Option<String>,
    /// Lines that were no events.
    strays: Strays,
}

/// What a `result` says of the end.
#[derive(Debug)]
struct Ended {
    succeeded: bool,
    error: Option<Trouble>,
    at: Option<Timestamp>,
}

/// An error that a `result` tells of.
#[derive(Debug)]
enum Trouble {
    Own { kind: String, message: String },
    Api(ApiError),
}

impl GeminiStream {
    /// A reader for a session that is about to start.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, of another program that prints such events.
    #[must_use]
    pub fn of(program: &str) -> Self {
        Self {
            called: Some(program.to_owned()),
            ..Self::default()
        }
    }

    fn program(&self) -> &str {
        self.called.as_deref().unwrap_or("gemini")
    }

    fn init(&mut self, init: Init) -> Option<Activity> {
        self.session_id = name(init.session_id).or(self.session_id.take());
        self.model = name(init.model).or(self.model.take());
        Some(Activity::Started {
            model: self.model.clone(),
        })
    }

    fn message(&mut self, message: Message) -> Option<Activity> {
        if text(message.role.as_ref()) != Some("assistant") {
            return None;
        }
        let content = message.content?;
        self.goes_on();
        self.words.piece(&content.0, message.delta == Some(true));
        let text = short(self.words.line()?, SHOWN);
        (!text.is_empty()).then_some(Activity::Said { text })
    }

    fn notice(&mut self, notice: Notice) {
        let message = text(notice.message.as_ref()).unwrap_or_default();
        if text(notice.severity.as_ref()) == Some("error") || message == LOOP {
            self.stopped = Some(short(message, MESSAGE));
        }
    }

    fn result(&mut self, outcome: Outcome, at: Option<Timestamp>) {
        self.words.end_turn();
        if let Some(stats) = outcome.stats {
            self.usage = usage(&stats);
            self.model = most_used(stats.models).or(self.model.take());
        }
        self.result = Some(Ended {
            succeeded: text(outcome.status.as_ref()) == Some("success"),
            error: outcome.error.map(told),
            at,
        });
    }

    /// Something was said or done: whatever ended before has not ended.
    fn goes_on(&mut self) {
        self.stopped = None;
        self.result = None;
    }

    fn succeeded(&self) -> bool {
        let result = self.result.as_ref();
        self.stopped.is_none() && result.is_some_and(|result| result.succeeded)
    }

    /// How the session ended that was no success.
    fn end(&self) -> End<'_> {
        let told = self
            .result
            .as_ref()
            .and_then(|result| result.error.as_ref());
        match (told, &self.stopped) {
            (Some(Trouble::Api(error)), _) => End::Api(error),
            (Some(Trouble::Own { kind, .. }), _) => End::Own(kind),
            (None, Some(message)) => End::Stopped(message),
            (None, None) if self.begun => End::Unfinished,
            (None, None) => End::NotBegun,
        }
    }

    fn ending(&self, exit: Exit) -> Ending {
        if self.succeeded() {
            return Ending::Completed;
        }
        let end = self.end();
        let fault = fault(end, exit);
        let resets_at = match end {
            End::Api(error) if fault == Fault::RateLimit => self.resets_at(error),
            _ => None,
        };
        Ending::Faulted {
            fault,
            message: self.told_to_people(end, exit),
            resets_at,
        }
    }

    /// When a limit is over, in Unix seconds: the service tells it by how long to wait from the error on.
    fn resets_at(&self, error: &ApiError) -> Option<i64> {
        let at = self.result.as_ref()?.at?;
        let reset = at.plus(error.wait?).as_millis();
        Some(reset.saturating_add(999).div_euclid(1000))
    }

    /// One line on an end that was no success.
    fn told_to_people(&self, end: End<'_>, exit: Exit) -> String {
        let told = match end {
            End::Api(error) => {
                let status = error.status.map(|status| format!(" ({status})"));
                format!("{}{}", error.message, status.unwrap_or_default())
            }
            End::Stopped(message) => message.to_owned(),
            End::Own(kind) => match self.result.as_ref().and_then(|end| end.error.as_ref()) {
                Some(Trouble::Own { message, .. }) if !message.is_empty() => message.clone(),
                _ => format!(
                    "{} reported an error without a message ({kind})",
                    self.program()
                ),
            },
            End::NotBegun | End::Unfinished => String::new(),
        };
        if !told.trim().is_empty() {
            return told;
        }
        if let (End::NotBegun, Some(trouble)) = (end, start_trouble(exit)) {
            return format!("{} {trouble}", self.program());
        }
        let how = match exit {
            Exit::Code(code) => format!("exit code {code}"),
            Exit::Signal(signal) => format!("signal {signal}"),
        };
        let cut = match self.cut_lines {
            0 => String::new(),
            count => format!("; output lines too long to read: {count}"),
        };
        let lacks = match self.result {
            Some(_) => "without a successful result",
            None => "without a result",
        };
        let (program, told) = (self.program(), self.strays.told());
        format!("{program} ended {lacks} ({how}{cut}){told}")
    }
}

impl StreamParser for GeminiStream {
    fn complaint(&mut self, line: &str) {
        self.strays.keep(line.as_bytes());
    }

    fn line(&mut self, line: &[u8], complete: bool) -> Option<Activity> {
        if !complete {
            self.cut_lines += 1;
            return None;
        }
        self.strays.keep(line);
        let line = String::from_utf8_lossy(line);
        let event: Event = read(&line)?;
        let kind = text(event.kind.as_ref())?;
        self.begun = true;
        match kind {
            "init" => self.init(read(&line)?),
            "message" => self.message(read(&line)?),
            "tool_use" => {
                self.goes_on();
                self.words.end_turn();
                self.tools.used(read::<ToolUse>(&line)?)
            }
            "tool_result" => {
                self.tools.ended(read::<ToolResult>(&line)?);
                None
            }
            "error" => {
                self.notice(read(&line)?);
                None
            }
            "result" => {
                let at = event.timestamp;
                let at = at.and_then(|at| Timestamp::parse(&at.0));
                self.result(read(&line)?, at);
                None
            }
            _ => None,
        }
    }

    fn tell(&mut self, line: &[u8], complete: bool) -> Vec<Told> {
        if complete && is_stray(line) {
            self.strays.keep(line);
            let text = String::from_utf8_lossy(line).into_owned();
            return vec![Told::Stray { text }];
        }
        let activity = self.line(line, complete);
        let said = self.words.newly_said().map(|text| Told::Said { text });
        let did = activity.filter(|activity| !matches!(activity, Activity::Said { .. }));
        said.into_iter().chain(did.map(Told::Did)).collect()
    }

    fn rest(&mut self) -> Vec<Told> {
        self.words.end_turn();
        let said = self.words.newly_said().map(|text| Told::Said { text });
        said.into_iter().collect()
    }

    fn conclusion(&self) -> Option<&str> {
        self.succeeded().then(|| self.words.last())
    }

    fn finish(mut self: Box<Self>, exit: Exit) -> AgentReport {
        self.words.end_turn();
        let ending = self.ending(exit);
        let result_text = match ending {
            Ending::Completed => self.words.last(),
            Ending::Faulted { .. } => self.words.all(),
        };
        let result_text = result_text.to_owned();
        let (actions, denials) = self.tools.into_parts();
        AgentReport {
            ending,
            result_text,
            session_id: self.session_id,
            model: self.model,
            // The program knows no prices.
            cost_usd: None,
            usage: self.usage,
            denials,
            // It tries again in silence.
            retries: 0,
            limit: None,
            actions,
        }
    }
}

fn told(error: ErrorInfo) -> Trouble {
    let kind = text(error.kind.as_ref()).unwrap_or("unknown");
    let message = error.message.unwrap_or_default().0;
    let api = ApiError::read(&message).filter(|_| API_TYPES.contains(&kind));
    api.map_or_else(
        || Trouble::Own {
            kind: short(kind, NAME),
            message: short(&message, MESSAGE),
        },
        Trouble::Api,
    )
}

/// The tokens of a session. Where none at all were counted, nothing is known: a request that was cut counts none.
fn usage(stats: &Stats) -> Usage {
    let counts = [stats.total_tokens, stats.input_tokens, stats.output_tokens];
    if counts.iter().flatten().all(|count| *count == 0) {
        return Usage::default();
    }
    let all_input = stats.input_tokens;
    // What the model thought to itself is paid for like what it said, and stands only in the total.
    let written = stats.total_tokens.zip(all_input);
    let written = written.map(|(total, input)| total.saturating_sub(input));
    Usage {
        input: all_input.map(|all| all.saturating_sub(stats.cached.unwrap_or(0))),
        output: written.max(stats.output_tokens),
        cache_read: stats.cached,
        cache_write: None,
    }
}

/// The full name of the model that did most; small helpers may have answered too.
fn most_used(models: Option<BTreeMap<String, ModelStats>>) -> Option<String> {
    let used = models?.into_iter();
    let used = used.map(|(model, stats)| (stats.total_tokens.unwrap_or(0), model));
    let (tokens, model) = used.max()?;
    (tokens > 0).then(|| short(&model, NAME))
}
