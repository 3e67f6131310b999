//! One session of an agent that prints events. A reader per program tells the [`Session`] what each event says, in terms that all
//! programs share; the session makes the report of it, and what displays and readers of logs are told. What is kept is bounded,
//! whatever is printed.

use std::time::Duration;

use super::event_fields::{Fields, MESSAGE, NAME, SHOWN, first_line, short};
use super::{
    Activity, AgentReport, Ending, Exit, Fault, LimitNotice, LogEntry, Price, StreamParser, push_last,
};
use crate::model::Timestamp;
use crate::text::one_line;

pub(super) const ACTIONS: usize = 36;
const DENIALS: usize = 32;
/// How much of the agent's words is kept in case no result repeats them.
const SAID_LIMIT: usize = 256 * 1024;
/// Lines that are no events: so many are remembered, and so many characters of each.
const TEXT_LINES: usize = 3;
const TEXT_LINE_CHARS: usize = 200;
/// A longer line that begins like an event is taken for one.
const LONGEST_CHECKED: usize = 64 * 1024;

pub(super) trait EventReader: Default + Send {
    /// Whether cost and tokens are told while the session goes on, so that it can be stopped at a limit.
    const COUNTS_EACH_STEP: bool = false;

    fn event(&mut self, event: &Fields<'_>, session: &mut Session);
    /// The stream is over: what was said in pieces and not told yet.
    fn rest(&mut self, _session: &mut Session) {}
    /// How the session ended, whose process ended like this.
    fn end(&self, exit: Exit, session: &Session) -> Result<(), Failure>;
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

impl From<Failure> for Ending {
    fn from(failure: Failure) -> Self {
        Self::Faulted {
            fault: failure.fault,
            message: failure.message,
            resets_at: failure.resets_at.filter(|_| failure.fault == Fault::RateLimit),
        }
    }
}

/// What a session's events have said so far.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// What the program is called, in messages: another name than the reader's where a command prints such events.
    pub program: String,
    pub report: AgentReport,
    /// The final words, where the program tells which these are.
    pub answer: RecentText,
    /// What the program said in place of an answer when it failed.
    pub refusal: Option<String>,
    /// The last event was the end of a success.
    pub concluded: bool,
    /// All that was said, in case there are no final words.
    pub said: RecentText,
    /// Lines that were cut at the limit and so could not be read.
    cut_lines: u64,
    /// The last lines that were no events.
    text_lines: Vec<String>,
    /// What the present line tells a display, and a reader of the log.
    activity: Option<Activity>,
    entries: Vec<LogEntry>,
}

impl Session {
    pub fn id(&mut self, id: Option<String>) {
        self.report.session_id = id.or(self.report.session_id.take());
    }

    /// The concrete model that answers from here on, where it is told.
    pub fn model(&mut self, model: Option<String>) {
        self.report.model = model.or(self.report.model.take());
    }

    pub fn start(&mut self, model: Option<String>) {
        self.model(model.clone());
        self.act(Activity::Started { model });
    }

    /// Something the session said, whole.
    pub fn say(&mut self, text: String) {
        self.said.push_line(&text);
        self.quote(text);
    }

    /// Something a sub-agent said, whose words are not the session's.
    pub fn quote(&mut self, text: String) {
        self.show(&text);
        self.entries.push(LogEntry::Said { text });
    }

    /// The line that is being said by a program that prints pieces; for displays.
    pub fn show(&mut self, text: &str) {
        let shown = first_line(text).map(|text| Activity::Said { text });
        self.activity = shown.or(self.activity.take());
    }

    /// Lines that were finished by a program that prints pieces; for readers of logs.
    pub fn log(&mut self, lines: &str) {
        let text = lines.trim_end_matches('\n').to_owned();
        if !text.trim().is_empty() {
            self.entries.push(LogEntry::Said { text });
        }
    }

    pub fn tool(&mut self, name: &str, target: String) {
        let name = short(name, NAME);
        let action = one_line(&format!("{name} {target}"), SHOWN);
        push_last(&mut self.report.actions, ACTIONS, action);
        self.act(Activity::Tool { name, target });
    }

    /// The program retries its service: which retry it is (0 where the program does not count) and how many there may be.
    pub fn retry(&mut self, attempt: u64, max: u64, status: Option<u16>) {
        self.report.retries += 1;
        let attempt = if attempt == 0 { self.report.retries } else { attempt };
        self.act(Activity::Retrying { attempt, max, status });
    }

    pub fn act(&mut self, activity: Activity) {
        self.activity = Some(activity.clone());
        self.entries.push(LogEntry::Did(activity));
    }

    pub fn deny(&mut self, tool: String) {
        let denials = &mut self.report.denials;
        if denials.len() < DENIALS && !denials.contains(&tool) {
            denials.push(tool);
        }
    }

    /// A line that is no event: what a program that crashes prints, or one that was started wrongly.
    fn note(&mut self, line: &str) {
        let line = short(line, TEXT_LINE_CHARS);
        if !line.is_empty() {
            push_last(&mut self.text_lines, TEXT_LINES, line);
        }
    }

    /// The final words; where there are none, all that was said.
    fn final_text(&self) -> &str {
        match self.answer.as_str() {
            answer if answer.trim().is_empty() => self.said.as_str(),
            answer => answer,
        }
    }

    /// The failure of a program that just stopped: what it lacks (`without a result`), and trouble that was not overcome.
    pub fn unfinished(&self, lacks: &str, exit: Exit, trouble: Option<&Failure>) -> Failure {
        let cut = match self.cut_lines {
            0 => String::new(),
            count => format!("; output lines too long to read: {count}"),
        };
        let told = trouble.map(|trouble| trouble.message.clone()).filter(|told| !told.is_empty());
        let why = match told.unwrap_or_else(|| short(&self.text_lines.join("; "), MESSAGE)) {
            why if why.is_empty() => why,
            why => format!(": {why}"),
        };
        Failure {
            fault: trouble.map_or(Fault::Crash, |trouble| trouble.fault),
            message: format!("{} ended {lacks} ({exit}{cut}){why}", self.program),
            resets_at: trouble.and_then(|trouble| trouble.resets_at),
        }
    }
}

/// The parser of a session's stream, with the reader of one program's events.
#[derive(Debug)]
pub(super) struct EventParser<R> {
    session: Session,
    reader: R,
    /// Whether an exit code that tells of an error makes a success a crash: for programs known only by their events.
    exit_code_counts: bool,
    stderr_error: Option<String>,
}

impl<R: EventReader + 'static> EventParser<R> {
    /// For a session of the program itself, whose events say how it ended, or of a command that prints such events.
    pub fn boxed(program: &str, is_command: bool) -> Box<dyn StreamParser> {
        Box::new(Self { exit_code_counts: is_command, ..Self::new(program, R::default()) })
    }

    pub fn new(program: &str, reader: R) -> Self {
        let session = Session { program: program.to_owned(), ..Session::default() };
        Self { session, reader, exit_code_counts: false, stderr_error: None }
    }

    fn read(&mut self, line: &[u8], complete: bool) {
        let session = &mut self.session;
        session.activity = None;
        session.entries.clear();
        if !complete {
            session.cut_lines += 1;
            return;
        }
        let text = String::from_utf8_lossy(line);
        let bare = text.trim_ascii();
        if let Some(event) = Fields::of(&text) {
            self.reader.event(&event, session);
        } else if !bare.is_empty() && (!bare.starts_with('{') || bare.len() <= LONGEST_CHECKED) {
            session.note(&text);
            session.entries.push(LogEntry::NoEvent { text: text.into_owned() });
        }
    }
}

impl<R: EventReader + 'static> StreamParser for EventParser<R> {
    fn line(&mut self, line: &[u8], complete: bool) -> Option<Activity> {
        self.read(line, complete);
        self.session.activity.take()
    }

    fn entries(&mut self, line: &[u8], complete: bool) -> Vec<LogEntry> {
        self.read(line, complete);
        std::mem::take(&mut self.session.entries)
    }

    fn rest(&mut self) -> Vec<LogEntry> {
        self.session.entries.clear();
        self.reader.rest(&mut self.session);
        std::mem::take(&mut self.session.entries)
    }

    fn conclusion(&self) -> Option<&str> {
        self.session.concluded.then(|| self.session.final_text())
    }

    /// Of a session that goes on; one that has ended need not be stopped.
    fn cost_so_far(&self, price: Option<&Price>) -> Option<f64> {
        if !R::COUNTS_EACH_STEP || self.session.concluded {
            return None;
        }
        let report = &self.session.report;
        report.cost_usd.or_else(|| price?.cost(&report.usage)).filter(|cost| cost.is_finite())
    }

    fn stderr_error(&mut self, line: &str) {
        self.session.note(line);
        self.stderr_error = Some(line.to_owned());
    }

    fn finish(mut self: Box<Self>, exit: Exit) -> AgentReport {
        self.rest();
        // Codes above are what shells make of signals: Ralph ends what lingers after its last word.
        let is_error_code = matches!(exit, Exit::Code(1..128));
        let ended = self.reader.end(exit, &self.session);
        let result_text = match &ended {
            Ok(()) => self.session.final_text(),
            Err(_) => self.session.refusal.as_deref().map_or(self.session.said.as_str(), recent),
        };
        let result_text = result_text.to_owned();
        let failure = match ended {
            Ok(()) if self.exit_code_counts && is_error_code => {
                Some(Failure::new(Fault::Crash, crash_message(exit, self.stderr_error.as_deref())))
            }
            ended => ended.err(),
        };
        let refused = failure.as_ref().filter(|failure| failure.fault == Fault::RateLimit);
        let refused = refused.map(|failure| LimitNotice {
            status: "rejected".into(),
            kind: None,
            resets_at: failure.resets_at,
            utilization: None,
        });
        let report = self.session.report;
        AgentReport {
            ending: failure.map_or(Ending::Completed, Ending::from),
            limit: report.limit.or(refused),
            result_text,
            ..report
        }
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
            self.0 = recent(&self.0).to_owned();
        }
    }

    pub fn push_line(&mut self, text: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.push(text);
    }

    pub fn as_str(&self) -> &str {
        recent(&self.0)
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn take_lines(&mut self) -> String {
        let end = self.0.rfind('\n').map_or(0, |newline| newline + 1);
        let rest = self.0.split_off(end);
        std::mem::replace(&mut self.0, rest)
    }

    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.0)
    }
}

/// The last [`SAID_LIMIT`] bytes, from a character's start on.
fn recent(text: &str) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(SAID_LIMIT));
    text.get(start..).unwrap_or_default()
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

/// Unix seconds when a wait from `at` on is over, not too early by a fraction.
pub(super) fn seconds_after(at: Timestamp, wait: Duration) -> i64 {
    at.plus(wait).as_millis().saturating_add(999).div_euclid(1000)
}
