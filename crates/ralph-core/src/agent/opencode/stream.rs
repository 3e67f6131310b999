//! Reading one session of OpenCode: `opencode run --format json`.
//!
//! There is no last event. A session is finished when a step ended with `stop` and nothing followed; a step that ended
//! otherwise, or an error that no step overcame, is no success. Of its own retries the program tells little: a step
//! that begins again.

use std::collections::VecDeque;

use super::super::brief::{NAME, SHOWN, name, push_bounded, short, tail, text};
use super::super::json::read;
use super::super::strays::{Strays, is_stray};
use super::super::{Activity, AgentReport, Ending, Exit, Fault, Price, StreamParser, Told, Usage};
use super::brief::target;
use super::classify::{Begun, fault, message};
use super::events::{Event, Failure, Part, Tokens, ToolState};
use super::reset::resets_at;
use crate::text::one_line;

const ACTIONS: usize = 36;
const DENIALS: usize = 32;
/// How often the program tries its service again.
const MAX_RETRIES: u64 = 5;
/// What the program says of a tool that was turned down because nobody could be asked.
const REJECTED: &str = "The user rejected permission to use this specific tool call.";
/// How it begins to say that a rule of the user's forbids a tool.
const FORBIDDEN: &str =
    "The user has specified a rule which prevents you from using this specific tool call.";

/// The reader of one session's stream; what it keeps is bounded, whatever is printed.
#[derive(Debug, Default)]
pub struct OpencodeStream {
    session_id: Option<String>,
    /// The session's own words, at least the last 256 KiB of them.
    said: String,
    /// Those of the present step.
    answer: String,
    /// What was said last, whole.
    latest: String,
    /// The message of a step that has begun and not ended.
    open_step: Option<String>,
    /// Whether any step has begun.
    started: bool,
    /// Retries of the present step.
    step_retries: u64,
    retries: u64,
    /// Why the last step ended.
    reason: Option<String>,
    /// The last word was a step that ended with `stop`: nothing was said or done since.
    concluded: bool,
    /// An error that no step has overcome.
    trouble: Option<Trouble>,
    /// An error was overcome; the exit code tells of it all the same.
    overcame: bool,
    actions: VecDeque<String>,
    denials: Vec<String>,
    cost_usd: f64,
    usage: Usage,
    /// Lines that were cut at the reader's limit and so could not be read.
    cut_lines: u64,
    /// What the program is called where it is not the one that this stream is named after.
    called: Option<String>,
    /// Lines that were no events.
    strays: Strays,
}

/// What an `error` event comes to.
#[derive(Debug)]
struct Trouble {
    fault: Fault,
    message: String,
    resets_at: Option<i64>,
}

impl OpencodeStream {
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
        self.called.as_deref().unwrap_or("opencode")
    }

    /// Nothing is what a model without a known price costs too.
    fn reported_cost(&self) -> Option<f64> {
        Some(self.cost_usd).filter(|cost| *cost > 0.0 && cost.is_finite())
    }

    fn step_start(&mut self, part: Part) -> Option<Activity> {
        let is_first = !std::mem::replace(&mut self.started, true);
        let message = name(part.message_id).unwrap_or_default();
        let is_retry = self.open_step.as_ref() == Some(&message);
        self.open_step = Some(message);
        self.answer.clear();
        if is_retry {
            self.retries += 1;
            self.step_retries += 1;
            return Some(Activity::Retrying {
                attempt: self.step_retries,
                max: MAX_RETRIES,
                status: None,
            });
        }
        self.step_retries = 0;
        is_first.then_some(Activity::Started { model: None })
    }

    fn said(&mut self, part: Part) -> Option<Activity> {
        if part.synthetic == Some(true) {
            return None;
        }
        let text = part.text?.0;
        push_bounded(&mut self.said, &text);
        push_bounded(&mut self.answer, &text);
        let first = text.lines().find(|line| !line.trim().is_empty())?;
        let shown = short(first, SHOWN);
        self.latest = tail(&text).to_owned();
        (!shown.is_empty()).then_some(Activity::Said { text: shown })
    }

    fn tool_use(&mut self, part: Part) -> Option<Activity> {
        let tool = short(&part.tool?.0, NAME);
        let state = part.state.unwrap_or_default();
        if was_denied(&state) && self.denials.len() < DENIALS && !self.denials.contains(&tool) {
            self.denials.push(tool.clone());
        }
        let input = state.input.unwrap_or_default();
        let target = target(input, state.title.as_ref());
        if self.actions.len() == ACTIONS {
            self.actions.pop_front();
        }
        self.actions
            .push_back(one_line(&format!("{tool} {target}"), SHOWN));
        Some(Activity::Tool { name: tool, target })
    }

    fn step_finish(&mut self, part: Part) {
        self.open_step = None;
        self.overcame |= self.trouble.take().is_some();
        self.reason = name(part.reason);
        self.concluded = self.reason.as_deref() == Some("stop");
        self.usage = sum(self.usage, &part.tokens.unwrap_or_default());
        let cost = part.cost.filter(|cost| cost.is_finite() && *cost > 0.0);
        self.cost_usd += cost.unwrap_or_default();
    }

    fn failed(&mut self, failure: &Failure, at_ms: Option<i64>) {
        let begun = match self.started {
            true => Begun::Yes,
            false => Begun::No,
        };
        let fault = fault(failure, begun);
        let data = failure.data.as_ref();
        let headers = data.and_then(|data| data.response_headers.as_ref());
        let resets_at = headers
            .filter(|_| fault == Fault::RateLimit)
            .and_then(|headers| resets_at(headers, at_ms));
        self.trouble = Some(Trouble {
            fault,
            message: message(failure, fault, self.program()),
            resets_at,
        });
    }

    /// The last step's words; those of all, where it said nothing.
    fn final_text(&self) -> &str {
        match self.answer.trim().is_empty() {
            true => tail(&self.said),
            false => tail(&self.answer),
        }
    }

    fn ending(&mut self, exit: Exit) -> Ending {
        if let Some(trouble) = self.trouble.take() {
            return Ending::Faulted {
                fault: trouble.fault,
                message: trouble.message,
                resets_at: trouble.resets_at,
            };
        }
        // It is ended when it lingers after its last word.
        let was_ended = matches!(exit, Exit::Signal(_) | Exit::Code(129 | 130 | 143));
        if self.concluded && (exit == Exit::Code(0) || was_ended || self.overcame) {
            return Ending::Completed;
        }
        Ending::Faulted {
            fault: Fault::Crash,
            message: self.unfinished(exit),
            resets_at: None,
        }
    }

    /// One line for people on a session that just stopped.
    fn unfinished(&self, exit: Exit) -> String {
        let how = match exit {
            Exit::Code(code) => format!("exit code {code}"),
            Exit::Signal(signal) => format!("signal {signal}"),
        };
        let cut = match self.cut_lines {
            0 => String::new(),
            count => format!("; output lines too long to read: {count}"),
        };
        let (program, told) = (self.program(), self.strays.told());
        match self.reason.as_deref() {
            Some("length") if self.open_step.is_none() => {
                "the model reached its output token limit".to_owned()
            }
            Some(reason) if self.open_step.is_none() => {
                format!(
                    "{program} ended after a step with finish reason `{reason}` ({how}{cut}){told}"
                )
            }
            _ => format!("{program} ended without finishing ({how}{cut}){told}"),
        }
    }
}

impl StreamParser for OpencodeStream {
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
        if let Some(id) = name(event.session_id) {
            self.session_id = Some(id);
        }
        let part = event.part.unwrap_or_default();
        let kind = event.kind?.0;
        if matches!(
            kind.as_str(),
            "step_start" | "text" | "reasoning" | "tool_use" | "step_finish" | "error"
        ) {
            self.concluded = false;
        }
        match kind.as_str() {
            "step_start" => self.step_start(part),
            "text" => self.said(part),
            "tool_use" => self.tool_use(part),
            "step_finish" => {
                self.step_finish(part);
                None
            }
            "error" => {
                self.failed(&event.error.unwrap_or_default(), event.timestamp);
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
        let told = match self.line(line, complete) {
            Some(Activity::Said { .. }) => Some(Told::Said {
                text: std::mem::take(&mut self.latest),
            }),
            activity => activity.map(Told::Did),
        };
        told.into_iter().collect()
    }

    fn conclusion(&self) -> Option<&str> {
        self.concluded.then(|| self.final_text())
    }

    /// Of a session that goes on; what has ended need not be stopped.
    fn cost_so_far(&self, price: Option<&Price>) -> Option<f64> {
        if self.concluded {
            return None;
        }
        self.reported_cost()
            .or_else(|| price?.cost(&self.usage))
            .filter(|cost| cost.is_finite())
    }

    fn finish(mut self: Box<Self>, exit: Exit) -> AgentReport {
        let ending = self.ending(exit);
        let cost_usd = self.reported_cost();
        let result_text = match ending {
            Ending::Completed => self.final_text().to_owned(),
            Ending::Faulted { .. } => tail(&self.said).to_owned(),
        };
        AgentReport {
            ending,
            result_text,
            session_id: self.session_id,
            model: None,
            cost_usd,
            usage: self.usage,
            denials: self.denials,
            retries: self.retries,
            limit: None,
            actions: self.actions.into(),
        }
    }
}

/// Whether a tool was not allowed, by the program's own word for it.
fn was_denied(state: &ToolState) -> bool {
    let told = text(state.error.as_ref()).unwrap_or_default();
    text(state.status.as_ref()) == Some("error")
        && (told == REJECTED || told.starts_with(FORBIDDEN))
}

fn sum(before: Usage, tokens: &Tokens) -> Usage {
    let add = |before: Option<u64>, new: Option<u64>| match (before, new) {
        (Some(before), Some(new)) => Some(before.saturating_add(new)),
        (known, None) | (None, known) => known,
    };
    let cache = tokens.cache.as_ref();
    Usage {
        input: add(before.input, tokens.input),
        // What the model thinks costs what it writes.
        output: add(add(before.output, tokens.output), tokens.reasoning),
        cache_read: add(before.cache_read, cache.and_then(|cache| cache.read)),
        cache_write: add(before.cache_write, cache.and_then(|cache| cache.write)),
    }
}
