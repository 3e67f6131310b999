//! Gemini CLI as an agent: `gemini --output-format stream-json`.
//!
//! Only a `result` line with `status: success` is a success, and not even that after the program has said that it stops
//! (a loop). Exit codes are no evidence by themselves: it exits 0 when it is told to end and when an answer is blocked.

use std::time::Duration;

use jiff::{Span, SpanRelativeTo, Unit};

use super::event_fields::{Fields, MESSAGE, NAME, short};
use super::session::{EventParser, EventReader, Failure, RecentText, Session, seconds_after};
use super::{COMMAND, CredentialFile, Exit, Facts, Fault, LaunchRequest, Program, Setup, Usage, push_last};
use crate::model::Timestamp;
use crate::sandbox::{Belongings, Place};
use crate::text::{Pattern, group, head};

const FACTS: Facts = Facts {
    program: "gemini",
    // Names that the program resolves to the models of the day which the account may use.
    models: &["flash-lite", "flash", "pro"],
    tested: "0.61.0",
    install: "npm install -g @google/gemini-cli",
    login: "run `gemini` once and log in, or set GEMINI_API_KEY",
    credential_variables: &[
        "GEMINI_API_KEY",
        "GOOGLE_GENAI_USE_VERTEXAI",
        "GOOGLE_GENAI_USE_GCA",
        "GEMINI_CLI_USE_COMPUTE_ADC",
    ],
    credential_files: &[
        below_home(".gemini/oauth_creds.json"),
        below_home(".gemini/gemini-credentials.json"),
        below_home(".gemini/.env"),
    ],
    belongings: Belongings {
        state: &[Place::new("GEMINI_CLI_HOME", "", ".gemini")],
        copied: &[],
        commands: &[
            Place::new("GEMINI_CLI_HOME", "", ".gemini/settings.json"),
            Place::new("GEMINI_CLI_HOME", "", ".gemini/extensions"),
            Place::new("GEMINI_CLI_HOME", "", ".gemini/commands"),
            Place::new("GEMINI_CLI_HOME", "", ".gemini/policies"),
            Place::new("GEMINI_CLI_HOME", "", ".gemini/.env"),
        ],
        variables: &["GEMINI_*", "GOOGLE_*", "CODE_ASSIST_ENDPOINT"],
        needs: &[
            ("GOOGLE_GENAI_USE_VERTEXAI", ".config/gcloud"),
            ("GEMINI_CLI_USE_COMPUTE_ADC", ".config/gcloud"),
        ],
    },
};

const fn below_home(file: &'static str) -> CredentialFile {
    CredentialFile { moved_by: "GEMINI_CLI_HOME", usual: "", file }
}

/// Ends of signals that say how the task ended. Such a signal holds although a tool is used after it: models like to
/// note a topic or tick off a list with their last words, and then say nothing more.
const COMPLETIONS: [&str; 3] = ["</task-done>", "</task-failed>", "</promise>"];
/// Uses of tools whose result may still come.
const OPEN: usize = 64;
/// Tools that the program does not even offer where it would have to ask somebody first.
const ASKED_FOR: [&str; 4] = ["run_shell_command", "write_file", "replace", "web_fetch"];
/// The one warning after which the program stops although its result is a success.
const LOOP: &str = "Loop detected, stopping execution";
/// What the program says when an answer stops in the middle.
const CUT: &str = "Model stream ended without a finish reason.";
/// Types of errors that are the API's: most have none.
const API_TYPES: [&str; 4] = ["unknown", "Error", "ApiError", "GaxiosError"];
/// How much of an error's message is looked at.
const ERROR_LIMIT: usize = 64 * 1024;
/// How the advice begins that the program adds to a 429, and to nothing else.
const ADVICE: [&str; 2] = ["Please wait and try again later.", "Possible quota limitations"];
/// Why the program did not begin: it then has no word but its own exit codes.
const START_FAILURES: [(i32, Fault, &str); 4] = [
    (41, Fault::Auth, "found no usable credentials"),
    (44, Fault::Config, "could not set up its sandbox"),
    (52, Fault::Config, "refused its own settings"),
    (55, Fault::Permission, "does not trust this directory"),
];

pub(super) const PROGRAM: Program = Program {
    facts: Some(FACTS),
    arguments,
    // It would start itself a second time, for a larger heap, and the first process then ignores signals.
    environment: |_, request| {
        // Its own sandbox is a container, which cannot be had in one.
        let own = request.is_confined.then_some(("GEMINI_SANDBOX", "false"));
        [("GEMINI_CLI_NO_RELAUNCH", "true")].into_iter().chain(own).collect()
    },
    prompt,
    parser: EventParser::<GeminiEvents>::boxed,
    ..COMMAND
};

/// A session that may use every tool must also trust the directory; else both are left to the program's own settings.
fn arguments(setup: &Setup, request: &LaunchRequest<'_>) -> Vec<String> {
    let mut words = vec!["--output-format", "stream-json"];
    if setup.skip_permissions {
        words.extend(["--yolo", "--skip-trust"]);
    }
    if let Some(model) = setup.named(request.model) {
        words.extend(["-m", model]);
    }
    words.into_iter().map(String::from).collect()
}

/// In what it takes for a person's typing, `@word` names a file: the program looks for one whose name holds `word`
/// anywhere in the project, puts its content into the prompt and its path in place of `@word`. A test's name, an
/// address or a decorator in an error would so bring in files that nobody asked for. It leaves `\@` alone.
fn prompt(rules: &str, task: &str) -> String {
    let text = (COMMAND.prompt)(rules, task);
    let escaped = text.replace("\\@", "@").replace('@', "\\@");
    match escaped == text {
        true => text,
        false => format!("Note: in this prompt every `\\@` means a plain at sign.\n\n{escaped}"),
    }
}

/// Which parameters of a tool say what it is used on, most telling first.
const TARGETS: [&str; 10] =
    ["file_path", "command", "pattern", "dir_path", "url", "query", "agent_name", "name", "title", "prompt"];
/// What is written to a cache is not counted.
const TOKENS: [&str; 4] = ["input_tokens", "output_tokens", "cached", ""];

#[derive(Debug, Default)]
pub(super) struct GeminiEvents {
    /// An event has been read.
    begun: bool,
    /// What was said in the present turn.
    turn: RecentText,
    /// What no reader of a log was told yet.
    untold: RecentText,
    /// Whether the answer says how the task ended.
    has_completion: bool,
    /// Ids and names of the last uses of tools.
    open: Vec<(String, String)>,
    /// The agent chose to plan only, in which tools are denied that it may use else.
    is_planning: bool,
    /// Why the program stopped, if nothing was said or done since.
    stopped: Option<String>,
    result: Option<TurnResult>,
}

#[derive(Debug)]
struct TurnResult {
    is_success: bool,
    error: Option<ResultError>,
}

#[derive(Debug)]
struct ResultError {
    kind: String,
    message: String,
    at: Option<Timestamp>,
}

impl EventReader for GeminiEvents {
    fn event(&mut self, event: &Fields<'_>, session: &mut Session) {
        let Some(kind) = event.text("type") else { return };
        self.begun = true;
        match kind.as_str() {
            "init" => {
                session.id(event.name("session_id"));
                session.start(event.name("model"));
            }
            "message" if event.word("role") == "assistant" => self.message(event, session),
            "tool_use" => {
                self.go_on();
                self.end_turn(session);
                self.tool_use(event, session);
            }
            "tool_result" => self.tool_result(event).into_iter().for_each(|tool| session.deny(tool)),
            "error" => {
                let message = event.word("message");
                if event.word("severity") == "error" || message == LOOP {
                    self.stopped = Some(short(&message, MESSAGE));
                }
            }
            "result" => {
                self.end_turn(session);
                self.result(event, session);
            }
            _ => {}
        }
        session.concluded = self.is_success();
    }

    fn rest(&mut self, session: &mut Session) {
        self.end_turn(session);
    }

    fn end(&self, exit: Exit, session: &Session) -> Result<(), Failure> {
        if self.is_success() {
            return Ok(());
        }
        let error = self.result.as_ref().and_then(|result| result.error.as_ref());
        let failure = match (error, &self.stopped) {
            (Some(error), _) => error.failure(exit, &session.program),
            (None, Some(message)) if message == CUT => Failure::new(Fault::Network, message),
            // A loop, a turn limit, an answer that was blocked or empty.
            (None, Some(message)) => Failure::new(Fault::Crash, message),
            (None, None) => {
                let known = START_FAILURES.iter().find(|(code, ..)| exit == Exit::Code(*code));
                known.filter(|_| !self.begun).map_or(Failure::new(Fault::Crash, ""), |(_, fault, why)| {
                    Failure::new(*fault, format!("{} {why} ({exit})", session.program))
                })
            }
        };
        let lacks = match self.result {
            Some(_) => "without a successful result",
            None => "without a result",
        };
        Err(match failure.message.is_empty() {
            true => session.unfinished(lacks, exit, Some(&failure)),
            false => failure,
        })
    }
}

impl GeminiEvents {
    /// Something was said or done: whatever ended before has not ended.
    fn go_on(&mut self) {
        (self.stopped, self.result) = (None, None);
    }

    /// A piece of what the assistant says; one that does not continue the last stands on a line of its own.
    fn message(&mut self, event: &Fields<'_>, session: &mut Session) {
        let Some(text) = event.text("content") else { return };
        self.go_on();
        let continues = event.get("delta") == Some(true);
        for part in [&mut self.turn, &mut self.untold] {
            if continues { part.push(&text) } else { part.push_line(&text) }
        }
        let recent = self.turn.as_str();
        let start = recent.ceil_char_boundary(recent.len().saturating_sub(4096));
        let mut lines = recent.get(start..).unwrap_or_default().lines();
        if let Some(line) = lines.rfind(|line| !line.trim().is_empty()) {
            session.show(line);
        }
        session.log(&self.untold.take_lines());
    }

    /// The turn is over: a tool is used, or the session ends.
    fn end_turn(&mut self, session: &mut Session) {
        session.log(&self.untold.take());
        let turn = self.turn.take();
        if turn.trim().is_empty() {
            return;
        }
        session.said.push_line(&turn);
        let completes = COMPLETIONS.iter().any(|end| turn.contains(end));
        // The last turn that said something counts, or all from the last one that said how the task ended.
        if completes || !self.has_completion {
            session.answer.clear();
        }
        session.answer.push_line(&turn);
        self.has_completion |= completes;
    }

    fn tool_use(&mut self, event: &Fields<'_>, session: &mut Session) {
        let Some(name) = event.name("tool_name") else { return };
        if let Some(id) = event.name("tool_id") {
            push_last(&mut self.open, OPEN, (id, name.clone()));
        }
        session.tool(&name, event.object("parameters").first_of(&TARGETS));
    }

    /// The tool whose use was denied, if it was.
    fn tool_result(&mut self, event: &Fields<'_>) -> Option<String> {
        let id = event.name("tool_id")?;
        let at = self.open.iter().position(|(open, _)| *open == id)?;
        let (_, tool) = self.open.remove(at);
        if event.word("status") == "success" {
            match tool.as_str() {
                "enter_plan_mode" => self.is_planning = true,
                "exit_plan_mode" => self.is_planning = false,
                _ => {}
            }
        }
        let is_denied = match event.object("error").word("type").as_str() {
            "policy_violation" => true,
            "tool_not_registered" => ASKED_FOR.contains(&tool.as_str()),
            _ => false,
        };
        (is_denied && !self.is_planning).then_some(tool)
    }

    fn result(&mut self, event: &Fields<'_>, session: &mut Session) {
        let error = |error: Fields<'_>| ResultError {
            kind: error.text("type").unwrap_or("unknown".into()),
            message: head(&error.word("message"), ERROR_LIMIT).to_owned(),
            at: Timestamp::parse(&event.word("timestamp")),
        };
        self.result = Some(TurnResult {
            is_success: event.word("status") == "success",
            error: event.find("error").map(error),
        });
        if let Some(stats) = event.find("stats") {
            session.model(most_used(&stats.object("models")));
            session.report.usage = usage(&stats);
        }
    }

    fn is_success(&self) -> bool {
        let result = self.result.as_ref();
        self.stopped.is_none() && result.is_some_and(|result| result.is_success)
    }
}

impl ResultError {
    fn failure(&self, exit: Exit, program: &str) -> Failure {
        if API_TYPES.contains(&self.kind.as_str())
            && let Some(words) = self.message.strip_prefix("[API Error: ")
        {
            return api_failure(words, self.at, exit);
        }
        let message = short(&self.message, MESSAGE);
        let message = match message.is_empty() {
            true => format!("{program} reported an error without a message ({})", short(&self.kind, NAME)),
            false => message,
        };
        Failure::new(Fault::of_type(&self.kind).unwrap_or(Fault::Crash), message)
    }
}

/// An error of the service, or of the way to it: `[API Error: …]` around the service's error as JSON, or only the message
/// of it, or what the HTTP client said. These are the program's words, never the model's.
fn api_failure(words: &str, at: Option<Timestamp>, exit: Exit) -> Failure {
    let is_advice = |advice: &str| ADVICE.iter().any(|start| advice.starts_with(start));
    let limited = words.rsplit_once("]\n").filter(|(_, advice)| is_advice(advice));
    let words = match limited {
        Some((words, _)) => words,
        None => words.strip_suffix(']').unwrap_or(words),
    };
    let json = words.find('{').and_then(|start| words.get(start..));
    let body = json.and_then(Fields::of_first).unwrap_or_default().object("error");
    let details = body.objects("details");
    let message = short(body.text("message").as_deref().unwrap_or(words), MESSAGE);
    let told: Option<u16> = body.get("code").or(limited.map(|_| 429));
    let status = told.or_else(|| status_of(exit));
    let reasons: Vec<String> = details.iter().filter_map(|detail| detail.name("reason")).collect();
    let fault = Fault::of_answer(status, Fault::of_types(&reasons)).or_else(|| {
        // No answer came, or one that the program keeps no status of. Of a 404 it passes on nothing but the
        // service's message, which always says so.
        let is_unknown = || message.to_ascii_lowercase().contains("not found");
        let by_words = Fault::of_client_error(&message).or_else(|| is_unknown().then_some(Fault::Config));
        by_words.filter(|_| status.is_none())
    });
    let delays = details.iter().filter_map(|detail| duration(&detail.word("retryDelay")));
    Failure {
        fault: fault.unwrap_or(Fault::Crash),
        resets_at: delays.chain(waits(words)).max().zip(at).map(|(wait, at)| seconds_after(at, wait)),
        message: told.map_or(message.clone(), |status| format!("{message} ({status})")),
    }
}

/// The HTTP status that the program ends with after an API error; as much of it as an exit code can hold.
fn status_of(exit: Exit) -> Option<u16> {
    let Exit::Code(code) = exit else { return None };
    // Below that are the program's own codes.
    (400..=511).chain(520..=530).find(|status| i32::from(status % 256) == code)
}

fn waits(words: &str) -> impl Iterator<Item = Duration> {
    static WAIT: Pattern =
        Pattern::new("(?:retry after|retry in|reset after) (?<wait>[0-9.]+(?:ms|[smhd])[0-9.smhd]*)");
    WAIT.captures_iter(words).filter_map(|told| duration(group(&told, "wait").trim_end_matches('.')))
}

/// A duration such as `2s`, `0.5s`, `500ms`, `1h2m3s`.
fn duration(text: &str) -> Option<Duration> {
    let span: Span = text.parse().ok()?;
    let day = SpanRelativeTo::days_are_24_hours();
    let seconds = span.total((Unit::Second, day)).ok()?;
    let told = Duration::try_from_secs_f64(seconds).ok()?;
    (!told.is_zero()).then_some(told)
}

/// The tokens of a session. Where none at all were counted, nothing is known: a request that was cut counts none.
fn usage(stats: &Fields<'_>) -> Usage {
    let usage = stats.usage(TOKENS);
    let total: Option<u64> = stats.get("total_tokens");
    if [total, usage.input, usage.output].iter().flatten().all(|count| *count == 0) {
        return Usage::default();
    }
    // What the model thought to itself is paid for like what it said, and stands only in the total.
    let written = total.zip(usage.input).map(|(total, input)| total.saturating_sub(input));
    Usage { output: written.max(usage.output), ..usage }.without_cached()
}

/// The full name of the model that did most; small helpers may have answered too.
fn most_used(models: &Fields<'_>) -> Option<String> {
    let used = models.iter().map(|(model, stats)| (stats.get::<u64>("total_tokens").unwrap_or(0), model));
    let (tokens, model) = used.max()?;
    (tokens > 0).then(|| short(model, NAME))
}
