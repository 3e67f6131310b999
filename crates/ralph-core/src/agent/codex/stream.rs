//! Reading one session of Codex: `codex exec --json`.
//!
//! Only a turn that ends with `turn.completed` is a success. An `error` is none yet: Codex tells so that it tries its
//! service again, and says `turn.failed` when it gives up.

use std::collections::VecDeque;

use super::super::brief::{NAME, SAID_LIMIT, SHOWN, name, push_bounded, short, tail, text};
use super::super::json::read;
use super::super::strays::{Strays, is_stray};
use super::super::{Activity, AgentReport, Ending, Exit, StreamParser, Told, Usage};
use super::classify::status;
use super::end::{End, Outcome, Trouble, head, limit};
use super::events::{Event, Item, Tokens};
use super::here::Here;
use super::tools::{Use, uses};
use crate::text::one_line;

pub(super) const ACTIONS: usize = 36;
const DENIALS: usize = 32;

/// The reader of one session's stream; what it keeps is bounded, whatever is printed.
#[derive(Debug, Default)]
pub struct CodexStream {
    here: Here,
    session_id: Option<String>,
    model: Option<String>,
    /// The session's own words, at least the last 256 KiB of them.
    said: String,
    /// The last words of the turn under way.
    last: Option<String>,
    /// The last words of the turns that were successes; nearly always one.
    answers: String,
    actions: VecDeque<String>,
    /// Uses of tools that began and did not end yet; those that ended are told once.
    open: Vec<Use>,
    denials: Vec<String>,
    retries: u64,
    usage: Usage,
    outcome: Outcome,
    /// What the program is called where it is not the one that this stream is named after.
    called: Option<String>,
    /// Lines that were no events.
    strays: Strays,
}

/// Where in an item's life an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Started,
    Ended,
}

impl CodexStream {
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
        self.called.as_deref().unwrap_or("codex")
    }

    #[cfg(test)]
    pub(super) fn at(here: Here) -> Self {
        Self {
            here,
            ..Self::default()
        }
    }

    /// A use of a tool began, or ended; one that did both is told once.
    fn tool(&mut self, item: &Item, moment: Moment) -> Option<Activity> {
        let ended = moment == Moment::Ended;
        let mut activity = None;
        for used in uses(item, self.here.dir.as_deref()) {
            if ended && text(item.status.as_ref()) == Some("declined") {
                self.deny(&used.name);
            }
            if let Some(place) = self.open.iter().position(|open| *open == used) {
                if ended {
                    self.open.swap_remove(place);
                }
                continue;
            }
            if !ended && self.open.len() < ACTIONS {
                self.open.push(used.clone());
            }
            if self.actions.len() == ACTIONS {
                self.actions.pop_front();
            }
            let line = format!("{} {}", used.name, used.target);
            self.actions.push_back(one_line(&line, SHOWN));
            activity = Some(Activity::Tool {
                name: used.name,
                target: used.target,
            });
        }
        activity
    }

    fn deny(&mut self, tool: &str) {
        let is_known = self.denials.iter().any(|known| known == tool);
        if !is_known && self.denials.len() < DENIALS {
            self.denials.push(tool.to_owned());
        }
    }

    fn item(&mut self, item: Item, moment: Moment) -> Option<Activity> {
        match text(item.kind.as_ref())? {
            "agent_message" if moment == Moment::Ended => {
                self.outcome.trouble = None;
                let words = item.text?.0;
                push_bounded(&mut self.said, &words);
                let first = words.lines().find(|line| !line.trim().is_empty());
                let shown = first.map(|line| short(line, SHOWN)).unwrap_or_default();
                self.last = Some(bounded(words));
                (!shown.is_empty()).then_some(Activity::Said { text: shown })
            }
            "agent_message" => None,
            // A warning, such as the one that another model answers from here on.
            "error" => {
                let message = item.message?.0;
                let (_, other) = message
                    .strip_prefix("model rerouted: ")?
                    .split_once(" -> ")?;
                self.model = Some(short(other.split(' ').next()?, NAME));
                None
            }
            _ => {
                let activity = self.tool(&item, moment);
                if activity.is_some() {
                    self.outcome.trouble = None;
                }
                activity
            }
        }
    }

    /// An error that is not the end: `Reconnecting... 1/5 (why)`, or the one that `turn.failed` repeats.
    fn error(&mut self, message: &str) -> Option<Activity> {
        let message = head(message);
        let Some(retry) = message.strip_prefix("Reconnecting... ") else {
            self.outcome.trouble = Some(Trouble::new(message));
            return None;
        };
        self.retries += 1;
        let (count, why) = retry.split_once(" (").unwrap_or((retry, ""));
        let why = why.strip_suffix(')').unwrap_or(why);
        self.outcome.trouble = Some(Trouble::retried(why));
        let mut numbers = count.split('/').map(|number| number.parse().ok());
        Some(Activity::Retrying {
            attempt: numbers.next().flatten().unwrap_or(self.retries),
            max: numbers.next().flatten().unwrap_or_default(),
            status: status(why),
        })
    }
}

impl StreamParser for CodexStream {
    fn complaint(&mut self, line: &str) {
        self.strays.keep(line.as_bytes());
    }

    fn line(&mut self, line: &[u8], complete: bool) -> Option<Activity> {
        if !complete {
            self.outcome.cut_lines += 1;
            return None;
        }
        self.strays.keep(line);
        let line = String::from_utf8_lossy(line);
        let event: Event = read(&line)?;
        match text(event.kind.as_ref())? {
            "thread.started" => {
                self.session_id = name(event.thread_id).or(self.session_id.take());
                Some(Activity::Started { model: None })
            }
            "turn.started" => {
                self.outcome.end = None;
                self.last = None;
                None
            }
            "item.started" => self.item(event.item?, Moment::Started),
            "item.completed" => self.item(event.item?, Moment::Ended),
            "turn.completed" => {
                // The counts are the thread's so far. Of several turns the words add up: a signal still holds though
                // an afterthought came.
                self.usage = event.usage.map_or(self.usage, |tokens| usage(&tokens));
                if let Some(last) = self.last.take() {
                    push_bounded(&mut self.answers, &last);
                }
                self.outcome.trouble = None;
                self.outcome.end = Some(End::Completed);
                None
            }
            "turn.failed" => {
                let message = event.error.and_then(|error| error.message);
                let message = text(message.as_ref()).map(head).unwrap_or_default();
                self.outcome.end = Some(End::Failed(message.to_owned()));
                None
            }
            "error" => self.error(&event.message?.0),
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
            Some(Activity::Said { .. }) => self.last.clone().map(|text| Told::Said { text }),
            activity => activity.map(Told::Did),
        };
        told.into_iter().collect()
    }

    fn conclusion(&self) -> Option<&str> {
        (self.outcome.end == Some(End::Completed)).then_some(&self.answers)
    }

    fn finish(self: Box<Self>, exit: Exit) -> AgentReport {
        let program = self.program().to_owned();
        let ending = self
            .outcome
            .ending(exit, self.here.now, &program, &self.strays);
        let said_last = ending == Ending::Completed && !self.answers.is_empty();
        let words = if said_last { &self.answers } else { &self.said };
        AgentReport {
            result_text: tail(words).to_owned(),
            session_id: self.session_id,
            model: self.model,
            cost_usd: None,
            usage: self.usage,
            denials: self.denials,
            retries: self.retries,
            limit: limit(&ending),
            actions: self.actions.into(),
            ending,
        }
    }
}

/// Ralph counts what was read from and written to a cache apart from the rest. Codex prints zeros where its service
/// counted nothing.
fn usage(tokens: &Tokens) -> Usage {
    if (tokens.input_tokens, tokens.output_tokens) == (Some(0), Some(0)) {
        return Usage::default();
    }
    let cached = [tokens.cached_input_tokens, tokens.cache_write_input_tokens];
    let cached = cached.into_iter().flatten().fold(0, u64::saturating_add);
    Usage {
        input: tokens.input_tokens.map(|all| all.saturating_sub(cached)),
        output: tokens.output_tokens,
        cache_read: tokens.cached_input_tokens,
        cache_write: tokens.cache_write_input_tokens,
    }
}

/// The end of a long text, the whole of any other without a copy.
fn bounded(words: String) -> String {
    match words.len() {
        0..=SAID_LIMIT => words,
        _ => tail(&words).to_owned(),
    }
}
