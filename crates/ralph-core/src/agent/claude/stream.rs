//! Reading one session of Claude Code: `claude -p --output-format stream-json --verbose`.
//!
//! Only a `result` line with `is_error: false` is a success. Exit codes, `subtype: success` and prose are not
//! evidence: the program prints `success` beside an API error and exits 0 when it is interrupted.

use std::collections::VecDeque;

use super::super::brief::{MESSAGE, NAME, SHOWN, name, push_bounded, short, tail, text};
use super::super::json::{Text, read};
use super::super::strays::{Strays, is_stray};
use super::super::{
    Activity, AgentReport, Ending, Exit, Fault, LimitNotice, StreamParser, Told, Usage,
};
use super::brief::target;
use super::classify::{ApiError, Evidence, fault};
use super::events::{
    Assistant, Block, Event, Fallback, Init, Limit, LimitInfo, Outcome, Retry, Tokens,
};
use crate::text::one_line;

const ACTIONS: usize = 36;
const DENIALS: usize = 32;

/// The reader of one session's stream; what it keeps is bounded, whatever is printed.
#[derive(Debug, Default)]
pub struct ClaudeStream {
    session_id: Option<String>,
    model: Option<String>,
    /// Where the agent works; paths below it are shown without it.
    cwd: Option<String>,
    /// The session's own words, at least the last 256 KiB of them.
    said: String,
    /// The texts of the results that were successes; nearly always one.
    answers: String,
    actions: VecDeque<String>,
    denials: Vec<String>,
    retries: u64,
    limit: Option<LimitNotice>,
    /// When the last refusing limit resets.
    resets_at: Option<i64>,
    /// Trouble since the service last answered.
    trouble: Trouble,
    cost_usd: Option<f64>,
    usage: Usage,
    outcome: Option<Outcome>,
    /// Lines that were cut at the reader's limit and so could not be read.
    cut_lines: u64,
    /// The last word was a successful result: nothing was said or done since.
    concluded: bool,
    /// What the program is called where it is not the one that this stream is named after.
    called: Option<String>,
    /// Lines that were no events.
    strays: Strays,
}

/// What went wrong between the program and its service and was not followed by an answer.
#[derive(Debug, Default)]
struct Trouble {
    error: Option<ApiError>,
    message: Option<String>,
    retried: Option<ApiError>,
    limit_refused: bool,
}

impl ClaudeStream {
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
        self.called.as_deref().unwrap_or("claude")
    }

    fn system(&mut self, subtype: &str, line: &str) -> Option<Activity> {
        match subtype {
            "init" => {
                let init: Init = read(line)?;
                self.cwd = init.cwd.map(|cwd| cwd.0);
                if self.model.is_none() {
                    self.model = name(init.model);
                    return Some(Activity::Started {
                        model: self.model.clone(),
                    });
                }
                None
            }
            "model_fallback" | "model_refusal_fallback" | "model_consent_fallback" => {
                let fallback: Fallback = read(line)?;
                self.model = name(fallback.fallback_model).or(self.model.take());
                None
            }
            "api_retry" => {
                let retry: Retry = read(line)?;
                self.retries += 1;
                let status = retry.error_status;
                let kind = name(retry.error);
                self.trouble.retried = Some(ApiError {
                    status,
                    kind,
                    ..ApiError::default()
                });
                Some(Activity::Retrying {
                    attempt: retry.attempt.unwrap_or(self.retries),
                    max: retry.max_retries.unwrap_or_default(),
                    status,
                })
            }
            _ => None,
        }
    }

    fn limit(&mut self, info: LimitInfo) -> Option<Activity> {
        let notice = LimitNotice {
            status: name(info.status)?,
            kind: name(info.rate_limit_type),
            resets_at: info.resets_at,
            utilization: info.utilization,
        };
        let warning = (notice.status == "allowed_warning").then_some(Activity::LimitWarning {
            utilization: notice.utilization,
        });
        self.trouble.limit_refused = notice.status == "rejected";
        if self.trouble.limit_refused {
            self.resets_at = notice.resets_at;
        }
        self.limit = Some(notice);
        warning
    }

    fn assistant(&mut self, event: Assistant, is_sub_agent: bool) -> Vec<Told> {
        let content = event.message.unwrap_or_default().content;
        if event.is_api_error_message == Some(true) {
            if !is_sub_agent {
                self.trouble.message = content
                    .into_iter()
                    .find_map(|block| block.text)
                    .map(|text| short(&text.0, MESSAGE));
                self.trouble.error = Some(ApiError {
                    status: event.api_error_status,
                    cause: name(event.api_error),
                    service_type: name(event.api_error_type),
                    kind: name(event.error),
                });
                if let Some(info) = event
                    .api_error_params
                    .and_then(|params| params.rate_limit_info)
                {
                    self.limit(info);
                }
            }
            return Vec::new();
        }
        if !is_sub_agent {
            self.trouble = Trouble::default();
        }
        let blocks = content.into_iter();
        blocks
            .filter_map(|block| self.block(block, is_sub_agent))
            .collect()
    }

    fn block(&mut self, block: Block, is_sub_agent: bool) -> Option<Told> {
        match block.kind?.0.as_str() {
            "text" => {
                let text = block.text?.0;
                if !is_sub_agent {
                    push_bounded(&mut self.said, &text);
                }
                Some(Told::Said { text })
            }
            "tool_use" => {
                let tool = short(&block.name?.0, NAME);
                let target = target(block.input.unwrap_or_default(), self.cwd.as_deref());
                if self.actions.len() == ACTIONS {
                    self.actions.pop_front();
                }
                self.actions
                    .push_back(one_line(&format!("{tool} {target}"), SHOWN));
                Some(Told::Did(Activity::Tool { name: tool, target }))
            }
            _ => None,
        }
    }

    /// Takes one event; `None` for what is none, or none of interest.
    fn event(&mut self, line: &str) -> Option<Vec<Told>> {
        let event: Event = read(line)?;
        let is_sub_agent = event.parent_tool_use_id.is_some();
        if let Some(id) = name(event.session_id) {
            self.session_id = Some(id);
        }
        match text(event.kind.as_ref())? {
            "system" => self.system(text(event.subtype.as_ref())?, line).map(did),
            "rate_limit_event" => self.limit(read::<Limit>(line)?.rate_limit_info?).map(did),
            "assistant" => {
                self.concluded = false;
                Some(self.assistant(read(line)?, is_sub_agent))
            }
            "result" => {
                self.result(read(line)?);
                self.concluded = self
                    .outcome
                    .as_ref()
                    .is_some_and(|o| o.is_error == Some(false));
                None
            }
            _ => None,
        }
    }

    fn result(&mut self, mut outcome: Outcome) {
        // A session goes on after a result when something it left in the background reports back. The cost is
        // then the session's so far, the tokens and the text are the turn's: a signal given before such an
        // afterthought still holds.
        let cost = outcome.total_cost_usd.filter(|cost| *cost >= 0.0);
        // What was interrupted in the middle of its first answer is not counted; that is not nothing.
        let reason = text(outcome.terminal_reason.as_ref()).unwrap_or_default();
        let untold = reason.starts_with("aborted_") && cost.is_none_or(|cost| cost == 0.0);
        if !untold {
            self.cost_usd = cost.or(self.cost_usd);
            if let Some(tokens) = outcome.usage.take() {
                self.usage = sum(self.usage, &tokens);
            }
        }
        for denial in std::mem::take(&mut outcome.permission_denials) {
            if let Some(tool) = name(denial.tool_name)
                && self.denials.len() < DENIALS
                && !self.denials.contains(&tool)
            {
                self.denials.push(tool);
            }
        }
        if let (Some(false), Some(answer)) = (outcome.is_error, &outcome.result) {
            push_bounded(&mut self.answers, &answer.0);
        }
        self.outcome = Some(outcome);
    }

    /// Where signals are looked for: what was answered, else the error, else what was said on the way.
    fn result_text(&mut self) -> String {
        match self.outcome.take() {
            Some(Outcome {
                is_error: Some(false),
                result: Some(_),
                ..
            }) => tail(&self.answers).to_owned(),
            Some(Outcome {
                result: Some(error),
                ..
            }) => tail(&error.0).to_owned(),
            _ => tail(&self.said).to_owned(),
        }
    }

    fn ending(&mut self, exit: Exit) -> Ending {
        let outcome = self.outcome.as_ref();
        let subtype = outcome.and_then(|outcome| text(outcome.subtype.as_ref()));
        let is_own_error = subtype.is_some_and(|subtype| subtype.starts_with("error_"));
        if outcome.and_then(|outcome| outcome.is_error) == Some(false) && !is_own_error {
            return Ending::Completed;
        }
        let told = self.trouble.error.take().unwrap_or_default();
        let own = |field: fn(&Outcome) -> Option<&Text>| {
            outcome.and_then(field).map(|text| short(&text.0, NAME))
        };
        let evidence = Evidence {
            subtype: subtype.map(String::from),
            stop_reason: own(|outcome| outcome.stop_reason.as_ref()),
            answer: ApiError {
                status: outcome
                    .and_then(|outcome| outcome.api_error_status)
                    .or(told.status),
                cause: own(|outcome| outcome.api_error.as_ref()).or(told.cause),
                service_type: own(|outcome| outcome.api_error_type.as_ref()).or(told.service_type),
                kind: told.kind,
            },
            retried: self.trouble.retried.take(),
            limit_refused: self.trouble.limit_refused,
        };
        let fault = fault(&evidence);
        let resets_at = self.resets_at.filter(|_| fault == Fault::RateLimit);
        Ending::Faulted {
            fault,
            message: self.message(exit),
            resets_at,
        }
    }

    /// One line for people on an end that was no success.
    fn message(&self, exit: Exit) -> String {
        let Some(outcome) = &self.outcome else {
            let how = match exit {
                Exit::Code(code) => format!("exit code {code}"),
                Exit::Signal(signal) => format!("signal {signal}"),
            };
            let cut = match self.cut_lines {
                0 => String::new(),
                count => format!("; output lines too long to read: {count}"),
            };
            let told = self
                .trouble
                .message
                .iter()
                .map(|told| format!(": {told}"))
                .next();
            let told = told.unwrap_or_else(|| self.strays.told());
            let program = self.program();
            return format!("{program} ended without a result ({how}{cut}){told}");
        };
        let reason = text(outcome.terminal_reason.as_ref()).unwrap_or_default();
        if reason.starts_with("aborted_") {
            let program = self.program();
            return format!("{program} was interrupted ({})", short(reason, NAME));
        }
        let told = outcome
            .errors
            .first()
            .or(outcome.result.as_ref())
            .filter(|text| !text.0.trim().is_empty());
        if let Some(told) = told {
            return short(&told.0, MESSAGE);
        }
        let subtype = text(outcome.subtype.as_ref()).unwrap_or("no subtype");
        format!(
            "{} reported an error without a message ({})",
            self.program(),
            short(subtype, NAME)
        )
    }
}

fn did(activity: Activity) -> Vec<Told> {
    vec![Told::Did(activity)]
}

/// The short line for displays.
fn activity(told: Told) -> Option<Activity> {
    match told {
        Told::Did(activity) => Some(activity),
        Told::Stray { .. } => None,
        Told::Said { text } | Told::Line { text, .. } => {
            let first = text.lines().find(|line| !line.trim().is_empty())?;
            let text = short(first, SHOWN);
            (!text.is_empty()).then_some(Activity::Said { text })
        }
    }
}

impl StreamParser for ClaudeStream {
    fn complaint(&mut self, line: &str) {
        self.strays.keep(line.as_bytes());
    }

    fn line(&mut self, line: &[u8], complete: bool) -> Option<Activity> {
        let told = self.tell(line, complete);
        told.into_iter().rev().find_map(activity)
    }

    fn tell(&mut self, line: &[u8], complete: bool) -> Vec<Told> {
        if !complete {
            self.cut_lines += 1;
            return Vec::new();
        }
        let text = String::from_utf8_lossy(line);
        if is_stray(line) {
            self.strays.keep(line);
            let text = text.into_owned();
            return vec![Told::Stray { text }];
        }
        self.event(&text).unwrap_or_default()
    }

    fn conclusion(&self) -> Option<&str> {
        self.concluded.then_some(&self.answers)
    }

    fn finish(mut self: Box<Self>, exit: Exit) -> AgentReport {
        let ending = self.ending(exit);
        let result_text = self.result_text();
        AgentReport {
            ending,
            result_text,
            session_id: self.session_id,
            model: self.model,
            cost_usd: self.cost_usd,
            usage: self.usage,
            denials: self.denials,
            retries: self.retries,
            limit: self.limit,
            actions: self.actions.into(),
        }
    }
}

fn sum(before: Usage, tokens: &Tokens) -> Usage {
    let add = |before: Option<u64>, new: Option<u64>| match (before, new) {
        (Some(before), Some(new)) => Some(before.saturating_add(new)),
        (known, None) | (None, known) => known,
    };
    Usage {
        input: add(before.input, tokens.input_tokens),
        output: add(before.output, tokens.output_tokens),
        cache_read: add(before.cache_read, tokens.cache_read_input_tokens),
        cache_write: add(before.cache_write, tokens.cache_creation_input_tokens),
    }
}
