//! One session of an agent that prints events. A reader per program turns each event into what it says in terms that all
//! share ([`Observed`]); here that is folded into the report, and told to displays and to readers of logs. What is kept
//! is bounded, whatever is printed.

use std::collections::VecDeque;

use super::event_fields::{Fields, MESSAGE, NAME, SHOWN, first_line, short};
use super::{Activity, AgentReport, Ending, Exit, Fault, LimitNotice, LogEntry, Price, StreamParser, Usage};
use crate::text::one_line;

/// The last actions that are remembered.
pub(super) const ACTIONS: usize = 36;
const DENIALS: usize = 32;
/// How much of the agent's words is kept in case no result repeats them.
const SAID_LIMIT: usize = 256 * 1024;
/// Lines that are no events: so many are remembered, and so many characters of each.
const TEXT_LINES: usize = 3;
const TEXT_LINE_CHARS: usize = 200;
const LONGEST_CHECKED: usize = 64 * 1024;

/// What an event says, in terms that all agents share.
#[derive(Debug, PartialEq)]
pub(super) enum Observed {
    SessionId(String),
    /// The concrete model that answers from here on.
    Model(String),
    Did(Activity),
    /// Something the session said, whole.
    Said(String),
    /// The same of a sub-agent, whose words are not the session's.
    SubAgentSaid(String),
    /// The line that is being said by a program that prints pieces; for displays.
    Typing(String),
    /// The lines finished since the last ones, of a program that prints pieces; for readers of logs.
    Lines(String),
    /// All that was said in a turn, of a program that prints pieces.
    Turn(String),
    /// The use of a tool was not allowed.
    Denied(String),
    Limit(LimitNotice),
    /// What the session has used in all.
    Used(Usage),
    /// What the session has cost in all, in US dollars.
    Cost(f64),
    /// A line that is no event: what a program that crashes prints, or one that was started wrongly.
    NoEvent(String),
}

/// Reads the events of one program's session.
pub(super) trait EventReader: Default + Send {
    /// Whether cost and tokens are told while the session goes on, so that it can be stopped at a limit.
    const COUNTS_EACH_STEP: bool = false;

    /// Takes one event of `program`, which is another than the reader's own where a command prints such events.
    fn event(&mut self, event: &Fields<'_>, program: &str) -> Vec<Observed>;
    /// The final text, if the last event was the end of a success.
    fn conclusion(&self) -> Option<&str>;
    /// The stream is over: what was said in pieces and not told yet.
    fn rest(&mut self) -> Vec<Observed> {
        Vec::new()
    }
    /// How the session of `program` ended, whose process ended like this.
    fn end(&self, exit: Exit, program: &str) -> End;
}

/// How a session ended, as its reader sees it. Without a text of its own, signals are looked for in all that was said.
#[derive(Debug)]
pub(super) enum End {
    Completed(Option<String>),
    Failed(Failure, Option<String>),
    /// The program just stopped: what it lacks (`without a result`), and trouble that was not overcome.
    Unfinished(String, Option<Failure>),
}

/// An error that ended a session, or may have.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    pub fault: Fault,
    pub message: String,
    /// Unix seconds when a limit is over, where the service told.
    pub resets_at: Option<i64>,
}

impl Failure {
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into(), resets_at: None }
    }
}

/// The end of a text that grows, at least its last 256 KiB.
#[derive(Debug, Default)]
pub(super) struct RecentText(String);

impl RecentText {
    /// Adds to the last line. The start is dropped only when twice the limit is reached, so that many small texts do not
    /// move the whole each time.
    pub fn push(&mut self, text: &str) {
        self.0.push_str(recent(text));
        if self.0.len() > 2 * SAID_LIMIT {
            let kept = recent(&self.0).len();
            self.0.drain(..self.0.len() - kept);
        }
    }

    /// Adds a text on a line of its own.
    pub fn push_line(&mut self, text: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.push(text);
    }

    pub fn as_str(&self) -> &str {
        recent(&self.0)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes out all up to the last line end, or all of it.
    pub fn take(&mut self, only_whole_lines: bool) -> String {
        let end = match only_whole_lines {
            true => self.0.rfind('\n').map_or(0, |newline| newline + 1),
            false => self.0.len(),
        };
        let rest = self.0.split_off(end);
        std::mem::replace(&mut self.0, rest)
    }
}

/// The last [`SAID_LIMIT`] bytes, from a character's start on.
fn recent(text: &str) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(SAID_LIMIT));
    text.get(start..).unwrap_or_default()
}

/// The parser of a session's stream, with the reader of one program's events.
#[derive(Debug)]
pub(super) struct EventParser<R> {
    /// What the program is called, in messages.
    program: String,
    /// Whether an exit code that tells of an error makes a success a crash: for programs known only by their events.
    exit_code_counts: bool,
    reader: R,
    report: AgentReport,
    said: RecentText,
    actions: VecDeque<String>,
    /// Lines that were cut at the limit and so could not be read.
    cut_lines: u64,
    /// The last lines that were no events.
    text_lines: VecDeque<String>,
    /// The error on standard error.
    stderr_error: Option<String>,
}

impl<R: EventReader + 'static> EventParser<R> {
    /// For a session of the program itself, whose events say how it ended.
    pub fn boxed(program: &str) -> Box<dyn StreamParser> {
        Box::new(Self::new(program, R::default()))
    }

    /// For another program that prints such events.
    pub fn of_command(program: &str) -> Box<dyn StreamParser> {
        Box::new(Self { exit_code_counts: true, ..Self::new(program, R::default()) })
    }

    pub fn new(program: &str, reader: R) -> Self {
        Self {
            program: program.to_owned(),
            exit_code_counts: false,
            reader,
            report: AgentReport::default(),
            said: RecentText::default(),
            actions: VecDeque::new(),
            cut_lines: 0,
            text_lines: VecDeque::new(),
            stderr_error: None,
        }
    }

    /// Takes a line.
    fn read(&mut self, line: &[u8], complete: bool) -> Vec<Observed> {
        if !complete {
            self.cut_lines += 1;
            return Vec::new();
        }
        let text = String::from_utf8_lossy(line);
        let observed = match Fields::of(&text) {
            Some(event) => self.reader.event(&event, &self.program),
            None if is_text(&text) => vec![Observed::NoEvent(text.into_owned())],
            None => Vec::new(),
        };
        self.fold_all(observed)
    }

    fn fold_all(&mut self, mut observed: Vec<Observed>) -> Vec<Observed> {
        for one in &mut observed {
            self.fold(one);
        }
        observed
    }

    fn fold(&mut self, observed: &mut Observed) {
        let report = &mut self.report;
        match observed {
            Observed::SessionId(id) => report.session_id = Some(id.clone()),
            Observed::Model(model) => report.model = Some(model.clone()),
            Observed::Said(text) | Observed::Turn(text) => self.said.push_line(text),
            Observed::SubAgentSaid(_) | Observed::Typing(_) | Observed::Lines(_) => {}
            Observed::Denied(tool) => {
                if report.denials.len() < DENIALS && !report.denials.contains(tool) {
                    report.denials.push(tool.clone());
                }
            }
            Observed::Limit(limit) => report.limit = Some(limit.clone()),
            Observed::Used(usage) => report.usage = *usage,
            Observed::Cost(cost) => report.cost_usd = Some(*cost),
            Observed::Did(Activity::Tool { name, target }) => {
                let action = one_line(&format!("{name} {target}"), SHOWN);
                push_last(&mut self.actions, ACTIONS, action);
            }
            Observed::Did(Activity::Retrying { attempt, .. }) => {
                report.retries += 1;
                // Where the program does not count them itself.
                if *attempt == 0 {
                    *attempt = report.retries;
                }
            }
            Observed::Did(_) => {}
            Observed::NoEvent(line) => {
                let line = short(line, TEXT_LINE_CHARS);
                if !line.is_empty() {
                    push_last(&mut self.text_lines, TEXT_LINES, line);
                }
            }
        }
    }

    /// What people are told of a program that just stopped.
    fn unfinished(&self, lacks: &str, exit: Exit, trouble: Option<&Failure>) -> String {
        let cut = match self.cut_lines {
            0 => String::new(),
            count => format!("; output lines too long to read: {count}"),
        };
        let printed = || {
            let lines: Vec<&str> = self.text_lines.iter().map(String::as_str).collect();
            short(&lines.join("; "), MESSAGE)
        };
        let told = trouble.map(|trouble| trouble.message.clone());
        let why = match told.filter(|told| !told.is_empty()).unwrap_or_else(printed) {
            why if why.is_empty() => why,
            why => format!(": {why}"),
        };
        format!("{} ended {lacks} ({exit}{cut}){why}", self.program)
    }
}

impl<R: EventReader + 'static> StreamParser for EventParser<R> {
    fn line(&mut self, line: &[u8], complete: bool) -> Option<Activity> {
        let activity = |one| match one {
            Observed::Did(activity) => Some(activity),
            Observed::Said(text) | Observed::SubAgentSaid(text) | Observed::Typing(text) => {
                first_line(&text).map(|text| Activity::Said { text })
            }
            _ => None,
        };
        let observed = self.read(line, complete);
        observed.into_iter().rev().find_map(activity)
    }

    fn entries(&mut self, line: &[u8], complete: bool) -> Vec<LogEntry> {
        entries(self.read(line, complete))
    }

    fn rest(&mut self) -> Vec<LogEntry> {
        let rest = self.reader.rest();
        entries(self.fold_all(rest))
    }

    fn conclusion(&self) -> Option<&str> {
        self.reader.conclusion()
    }

    /// Of a session that goes on; one that has ended need not be stopped.
    fn cost_so_far(&self, price: Option<&Price>) -> Option<f64> {
        if !R::COUNTS_EACH_STEP || self.reader.conclusion().is_some() {
            return None;
        }
        let reported = self.report.cost_usd;
        reported.or_else(|| price?.cost(&self.report.usage)).filter(|cost| cost.is_finite())
    }

    fn stderr_error(&mut self, line: &str) {
        self.fold(&mut Observed::NoEvent(line.to_owned()));
        self.stderr_error = Some(line.to_owned());
    }

    fn finish(mut self: Box<Self>, exit: Exit) -> AgentReport {
        self.rest();
        let (failure, text) = match self.reader.end(exit, &self.program) {
            End::Completed(text) if self.exit_code_counts && is_error_code(exit) => {
                let message = crash_message(exit, self.stderr_error.as_deref());
                (Some(Failure::new(Fault::Crash, message)), text)
            }
            End::Completed(text) => (None, text),
            End::Failed(failure, text) => (Some(failure), text),
            End::Unfinished(lacks, trouble) => {
                let message = self.unfinished(&lacks, exit, trouble.as_ref());
                let trouble = trouble.unwrap_or(Failure::new(Fault::Crash, ""));
                (Some(Failure { message, ..trouble }), None)
            }
        };
        let refused = failure.as_ref().filter(|failure| failure.fault == Fault::RateLimit);
        let refused = refused.map(|failure| LimitNotice {
            status: "rejected".into(),
            kind: None,
            resets_at: failure.resets_at,
            utilization: None,
        });
        let text = text.as_deref().map(recent);
        AgentReport {
            ending: failure.map_or(Ending::Completed, Ending::from),
            limit: self.report.limit.or(refused),
            result_text: text.unwrap_or(self.said.as_str()).to_owned(),
            actions: self.actions.into(),
            ..self.report
        }
    }
}

impl From<Failure> for Ending {
    fn from(failure: Failure) -> Self {
        Self::Faulted {
            fault: failure.fault,
            message: failure.message,
            resets_at: failure.resets_at.filter(|_| failure.fault == Fault::RateLimit),
        }
    }
}

fn entries(observed: Vec<Observed>) -> Vec<LogEntry> {
    let entry = |one| match one {
        Observed::Said(text) | Observed::SubAgentSaid(text) | Observed::Lines(text) => {
            Some(LogEntry::Said { text })
        }
        Observed::Did(activity) => Some(LogEntry::Did(activity)),
        Observed::NoEvent(text) => Some(LogEntry::NoEvent { text }),
        _ => None,
    };
    observed.into_iter().filter_map(entry).collect()
}

/// The error that a program printed, and how it ended.
pub(super) fn crash_message(exit: Exit, printed: Option<&str>) -> String {
    let how = match exit {
        Exit::Code(code) => format!("the agent exited with code {code}"),
        Exit::Signal(signal) => format!("the agent was killed by signal {signal}"),
    };
    match printed {
        Some(printed) => format!("{} ({how})", one_line(printed, MESSAGE)),
        None => how,
    }
}

/// Whether a whole line that cannot be read as an event is text. A blank line is none, and what begins like an event and
/// is long is taken for one.
fn is_text(line: &str) -> bool {
    let line = line.trim_ascii();
    !line.is_empty() && (!line.starts_with('{') || line.len() <= LONGEST_CHECKED)
}

/// Codes above are what shells make of signals: Ralph ends what lingers after its last word.
fn is_error_code(exit: Exit) -> bool {
    matches!(exit, Exit::Code(1..128))
}

/// Adds to a list that forgets its oldest.
pub(super) fn push_last<T>(list: &mut VecDeque<T>, most: usize, item: T) {
    if list.len() == most {
        list.pop_front();
    }
    list.push_back(item);
}

/// The use of a tool.
pub(super) fn tool(name: &str, target: String) -> Observed {
    let name = short(name, NAME);
    Observed::Did(Activity::Tool { name, target })
}
