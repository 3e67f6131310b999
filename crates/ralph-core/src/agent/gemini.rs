//! Gemini CLI as an agent: `gemini --output-format stream-json`.
//!
//! Only a `result` line with `status: success` is a success, and not even that after the program has said that it stops
//! (a loop). Exit codes are no evidence by themselves: it exits 0 when it is told to end and when an answer is blocked.

use std::collections::VecDeque;
use std::sync::LazyLock;
use std::time::Duration;

use jiff::{Span, SpanRelativeTo, Unit};
use regex::Regex;

use super::event_fields::{Fields, MESSAGE, NAME, short};
use super::observed::{End, EventParser, EventReader, Failure, Observed, RecentText, push_last, tool};
use super::{Activity, Agent, CredentialFile, Exit, Facts, Fault, LaunchRequest, Setup, StreamParser, Usage};
use crate::model::Timestamp;

/// What is known of Gemini CLI before it is started.
pub(super) const FACTS: Facts = Facts {
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
/// How the advice begins that the program adds to a 429, and to nothing else.
const ADVICE: [&str; 2] = ["Please wait and try again later.", "Possible quota limitations"];
/// Why the program did not begin: it then has no word but its own exit codes.
const START_FAILURES: [(i32, Fault, &str); 4] = [
    (41, Fault::Auth, "found no usable credentials"),
    (44, Fault::Config, "could not set up its sandbox"),
    (52, Fault::Config, "refused its own settings"),
    (55, Fault::Permission, "does not trust this directory"),
];

/// Gemini CLI, started once per attempt.
#[derive(Clone, Debug)]
pub struct Gemini(pub Setup);

impl Agent for Gemini {
    fn setup(&self) -> &Setup {
        &self.0
    }

    /// In what it takes for a person's typing, `@word` names a file: the program looks for one whose name holds `word`
    /// anywhere in the project, puts its content into the prompt and its path in place of `@word`. A test's name, an
    /// address or a decorator in an error would so bring in files that nobody asked for. It leaves `\@` alone.
    fn prompt(&self, rules: &str, task: &str) -> String {
        let text = format!("{}\n\n{task}", rules.trim_end());
        let mut escaped = String::with_capacity(text.len());
        for (at, part) in text.split('@').enumerate() {
            if at > 0 {
                escaped.push_str(if escaped.ends_with('\\') { "@" } else { "\\@" });
            }
            escaped.push_str(part);
        }
        match escaped.len() > text.len() {
            true => format!("Note: in this prompt every `\\@` means a plain at sign.\n\n{escaped}"),
            false => text,
        }
    }

    /// A session that may use every tool must also trust the directory; else both are left to the program's own settings.
    fn arguments(&self, request: &LaunchRequest<'_>) -> Vec<String> {
        let mut words = vec!["--output-format", "stream-json"];
        if self.0.skip_permissions {
            words.extend(["--yolo", "--skip-trust"]);
        }
        if let Some(model) = self.0.named(request.model) {
            words.extend(["-m", model]);
        }
        words.into_iter().map(String::from).collect()
    }

    /// It would start itself a second time, for a larger heap, and the first process then ignores signals.
    fn environment(&self, _request: &LaunchRequest<'_>) -> Vec<(&'static str, &'static str)> {
        vec![("GEMINI_CLI_NO_RELAUNCH", "true")]
    }

    fn parser(&self) -> Box<dyn StreamParser> {
        EventParser::<GeminiEvents>::boxed("gemini")
    }
}

#[derive(Debug, Default)]
pub(super) struct GeminiEvents {
    /// An event has been read.
    begun: bool,
    /// What was said in the present turn.
    turn: RecentText,
    /// What no reader of a log was told yet.
    untold: RecentText,
    /// The last turn that said something, or all from the last one that said how the task ended.
    last: RecentText,
    /// Whether `last` says how the task ended.
    has_completion: bool,
    /// Ids and names of the last uses of tools.
    open: VecDeque<(String, String)>,
    /// The agent chose to plan only, in which tools are denied that it may use else.
    is_planning: bool,
    /// Why the program stopped, if nothing was said or done since.
    stopped: Option<String>,
    result: Option<TurnResult>,
}

/// What a `result` says.
#[derive(Debug)]
struct TurnResult {
    is_success: bool,
    error: Option<ResultError>,
}

#[derive(Debug)]
enum ResultError {
    /// The program's own, with its type and message.
    Own(String, String),
    Api(ApiError),
}

impl EventReader for GeminiEvents {
    fn event(&mut self, event: &Fields<'_>, _program: &str) -> Vec<Observed> {
        let Some(kind) = event.text("type") else {
            return Vec::new();
        };
        self.begun = true;
        let mut observed = match kind.as_str() {
            "init" => {
                let model = event.name("model");
                let started = Activity::Started { model: model.clone() };
                let id = event.name("session_id").map(Observed::SessionId);
                let told = [id, model.map(Observed::Model), Some(Observed::Did(started))];
                told.into_iter().flatten().collect()
            }
            "message" if event.word("role") == "assistant" => self.message(event),
            "tool_use" => {
                self.go_on();
                self.end_turn().into_iter().chain(self.tool_use(event)).collect()
            }
            "tool_result" => self.tool_result(event).into_iter().collect(),
            "error" => {
                let message = event.word("message");
                if event.word("severity") == "error" || message == LOOP {
                    self.stopped = Some(short(&message, MESSAGE));
                }
                Vec::new()
            }
            "result" => {
                let turn = self.end_turn();
                turn.into_iter().chain(self.result(event)).collect()
            }
            _ => Vec::new(),
        };
        // What was said comes before what was done.
        if let Some(lines) = self.finished_lines() {
            observed.insert(0, lines);
        }
        observed
    }

    fn rest(&mut self) -> Vec<Observed> {
        let turn = self.end_turn();
        self.finished_lines().into_iter().chain(turn).collect()
    }

    fn conclusion(&self) -> Option<&str> {
        self.is_success().then(|| self.last.as_str())
    }

    fn end(&self, exit: Exit, program: &str) -> End {
        if self.is_success() {
            return End::Completed(Some(self.last.as_str().to_owned()));
        }
        let error = self.result.as_ref().and_then(|result| result.error.as_ref());
        let failure = match (error, &self.stopped) {
            (Some(ResultError::Api(error)), _) => error.failure(exit),
            (Some(ResultError::Own(kind, message)), _) => {
                let fault = Fault::of_type(kind).unwrap_or(Fault::Crash);
                match message.is_empty() {
                    true => {
                        Failure::new(fault, format!("{program} reported an error without a message ({kind})"))
                    }
                    false => Failure::new(fault, message),
                }
            }
            (None, Some(message)) if message == CUT => Failure::new(Fault::Network, message),
            // A loop, a turn limit, an answer that was blocked or empty.
            (None, Some(message)) => Failure::new(Fault::Crash, message),
            (None, None) => {
                let known = START_FAILURES.iter().find(|(code, ..)| exit == Exit::Code(*code));
                match known.filter(|_| !self.begun) {
                    Some((_, fault, why)) => Failure::new(*fault, format!("{program} {why} ({exit})")),
                    None => Failure::new(Fault::Crash, ""),
                }
            }
        };
        if !failure.message.is_empty() {
            return End::Failed(failure, None);
        }
        let lacks = match self.result {
            Some(_) => "without a successful result",
            None => "without a result",
        };
        End::Unfinished(lacks.into(), Some(failure))
    }
}

impl GeminiEvents {
    /// Something was said or done: whatever ended before has not ended.
    fn go_on(&mut self) {
        self.stopped = None;
        self.result = None;
    }

    /// A piece of what the assistant says; one that does not continue the last stands on a line of its own.
    fn message(&mut self, event: &Fields<'_>) -> Vec<Observed> {
        let Some(text) = event.text("content") else {
            return Vec::new();
        };
        self.go_on();
        let continues = event.get("delta") == Some(true);
        for part in [&mut self.turn, &mut self.untold] {
            match continues {
                true => part.push(&text),
                false => part.push_line(&text),
            }
        }
        let recent = self.turn.as_str();
        let start = recent.ceil_char_boundary(recent.len().saturating_sub(4096));
        let mut lines = recent.get(start..).unwrap_or_default().lines();
        let line = lines.rfind(|line| !line.trim().is_empty());
        line.map(|line| Observed::Typing(line.to_owned())).into_iter().collect()
    }

    /// The lines that were finished since this was last asked; all of it when the turn is over.
    fn finished_lines(&mut self) -> Option<Observed> {
        let new = self.untold.take(!self.turn.is_empty());
        let new = new.trim_end_matches('\n');
        (!new.trim().is_empty()).then(|| Observed::Lines(new.to_owned()))
    }

    /// The turn is over: a tool is used, or the session ends.
    fn end_turn(&mut self) -> Option<Observed> {
        let turn = self.turn.take(false);
        if turn.trim().is_empty() {
            return None;
        }
        let completes = COMPLETIONS.iter().any(|end| turn.contains(end));
        if completes || !self.has_completion {
            self.last.clear();
        }
        self.last.push_line(&turn);
        self.has_completion |= completes;
        Some(Observed::Turn(turn))
    }

    fn tool_use(&mut self, event: &Fields<'_>) -> Option<Observed> {
        let name = event.name("tool_name")?;
        if let Some(id) = event.name("tool_id") {
            push_last(&mut self.open, OPEN, (id, name.clone()));
        }
        let target = event.object("parameters").first_of(&[
            "file_path",
            "command",
            "pattern",
            "dir_path",
            "url",
            "query",
            "agent_name",
            "name",
            "title",
            "prompt",
        ]);
        Some(tool(&name, target))
    }

    fn tool_result(&mut self, event: &Fields<'_>) -> Option<Observed> {
        let id = event.name("tool_id")?;
        let at = self.open.iter().position(|(open, _)| *open == id)?;
        let (_, tool) = self.open.remove(at)?;
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
        (is_denied && !self.is_planning).then_some(Observed::Denied(tool))
    }

    fn result(&mut self, event: &Fields<'_>) -> Vec<Observed> {
        let at = Timestamp::parse(&event.word("timestamp"));
        self.result = Some(TurnResult {
            is_success: event.word("status") == "success",
            error: event.find("error").map(|error| ResultError::of(&error, at)),
        });
        let Some(stats) = event.find("stats") else {
            return Vec::new();
        };
        let model = most_used(&stats.object("models")).map(Observed::Model);
        let used = Observed::Used(usage(&stats));
        model.into_iter().chain([used]).collect()
    }

    fn is_success(&self) -> bool {
        let result = self.result.as_ref();
        self.stopped.is_none() && result.is_some_and(|result| result.is_success)
    }
}

impl ResultError {
    /// What a result tells of at this time.
    fn of(error: &Fields<'_>, at: Option<Timestamp>) -> Self {
        let kind = error.text("type").unwrap_or("unknown".into());
        let message = error.word("message");
        let api = ApiError::read(&message, at).filter(|_| API_TYPES.contains(&kind.as_str()));
        api.map_or_else(|| Self::Own(short(&kind, NAME), short(&message, MESSAGE)), Self::Api)
    }
}

/// An error of the service, or of the way to it: `[API Error: …]` around the service's error as JSON, or only the message
/// of it, or what the HTTP client said. These are the program's words, never the model's.
#[derive(Debug, PartialEq)]
struct ApiError {
    /// The HTTP status, where the message tells it.
    status: Option<u16>,
    /// The service's reasons (`API_KEY_INVALID`).
    reasons: Vec<String>,
    /// What it says, for people.
    message: String,
    /// Unix seconds when a limit is over: the service tells how long to wait from the error on.
    resets_at: Option<i64>,
}

impl ApiError {
    /// Reads a message of this time; `None` where it is none of an API error.
    fn read(message: &str, at: Option<Timestamp>) -> Option<Self> {
        let rest = message.strip_prefix("[API Error: ")?;
        let is_advice = |advice: &str| ADVICE.iter().any(|start| advice.starts_with(start));
        let limited = rest.rsplit_once("]\n").filter(|(_, advice)| is_advice(advice));
        let words = match limited {
            Some((words, _)) => words,
            None => rest.strip_suffix(']').unwrap_or(rest),
        };
        let json = words.find('{').and_then(|start| words.get(start..));
        let body = json.and_then(Fields::of_first).unwrap_or_default();
        let body = body.find("error");
        let details = body.iter().flat_map(|body| body.objects("details"));
        let details: Vec<Fields<'_>> = details.collect();
        let delays = details.iter().filter_map(|detail| duration(&detail.word("retryDelay")));
        let wait = delays.chain(waits(words)).max();
        let resets_at = wait.zip(at).map(|(wait, at)| {
            let over = at.plus(wait).as_millis();
            over.saturating_add(999).div_euclid(1000)
        });
        let told = body.as_ref().and_then(|body| body.text("message"));
        Some(Self {
            status: body.as_ref().and_then(|body| body.get("code")).or(limited.map(|_| 429)),
            reasons: details.iter().filter_map(|detail| detail.name("reason")).collect(),
            message: short(told.as_deref().unwrap_or(words), MESSAGE),
            resets_at,
        })
    }

    fn failure(&self, exit: Exit) -> Failure {
        let status = self.status.or_else(|| status_of(exit));
        let typed = Fault::of_answer(status, Fault::of_types(&self.reasons));
        let fault = match status {
            Some(_) => typed,
            // No answer came, or one that the program keeps no status of. Of a 404 it passes on nothing but the
            // service's message, which always says so.
            None => typed.or(Fault::of_client_error(&self.message)).or_else(|| {
                let words = self.message.to_ascii_lowercase();
                words.contains("not found").then_some(Fault::Config)
            }),
        };
        let status = self.status.map(|status| format!(" ({status})"));
        Failure {
            fault: fault.unwrap_or(Fault::Crash),
            message: format!("{}{}", self.message, status.unwrap_or_default()),
            resets_at: self.resets_at,
        }
    }
}

/// The HTTP status that the program ends with after an API error; as much of it as an exit code can hold.
fn status_of(exit: Exit) -> Option<u16> {
    let Exit::Code(code) = exit else { return None };
    // Below that are the program's own codes.
    (400..=511).chain(520..=530).find(|status| i32::from(status % 256) == code)
}

/// The waits that the words speak of.
fn waits(words: &str) -> impl Iterator<Item = Duration> {
    static WAIT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new("(?:retry after|retry in|reset after) ([0-9.]+(?:ms|[smhd])[0-9.smhd]*)").ok()
    });
    let found = WAIT.iter().flat_map(|wait| wait.captures_iter(words));
    found.filter_map(|told| duration(told.get(1)?.as_str().trim_end_matches('.')))
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
    let count = |key: &str| stats.get::<u64>(key);
    let [total, input, output] = ["total_tokens", "input_tokens", "output_tokens"].map(count);
    if [total, input, output].iter().flatten().all(|count| *count == 0) {
        return Usage::default();
    }
    let cache_read = count("cached");
    // What the model thought to itself is paid for like what it said, and stands only in the total.
    let written = total.zip(input).map(|(total, input)| total.saturating_sub(input));
    Usage {
        input: input.map(|all| all.saturating_sub(cache_read.unwrap_or(0))),
        output: written.max(output),
        cache_read,
        cache_write: None,
    }
}

/// The full name of the model that did most; small helpers may have answered too.
fn most_used(models: &Fields<'_>) -> Option<String> {
    let used = models.iter().map(|(model, stats)| (stats.get::<u64>("total_tokens").unwrap_or(0), model));
    let (tokens, model) = used.max()?;
    (tokens > 0).then(|| short(model, NAME))
}
