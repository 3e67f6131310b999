//! OpenCode as an agent: `opencode run --format json`.
//!
//! There is no last event. A session is finished when a step ended with `stop` and nothing followed; a step that ended
//! otherwise, or an error that no step overcame, is no success. Of its own retries the program tells little: a step
//! that begins again. Events of sub-agents' sessions are not printed.

use std::time::Duration;

use jiff::fmt::rfc2822::DateTimeParser;

use super::event_fields::{Fields, MESSAGE, SHOWN, short};
use super::session::{EventParser, EventReader, Failure, Session, seconds_after};
use super::{COMMAND, CredentialFile, Exit, Facts, Fault, LaunchRequest, Program, Setup, Usage};
use crate::model::Timestamp;
use crate::sandbox::{Belongings, Place};

const FACTS: Facts = Facts {
    program: "opencode",
    // They are `provider/model` and depend on the user's providers: the user's own default stands.
    models: &[],
    tested: "1.18.33",
    install: "npm install -g opencode-ai",
    login: "opencode auth login",
    // Any provider's key will do; these are the usual ones.
    credential_variables: &[
        "OPENCODE_API_KEY",
        "OPENCODE_AUTH_CONTENT",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_GENERATIVE_AI_API_KEY",
    ],
    credential_files: &[CredentialFile {
        moved_by: "XDG_DATA_HOME",
        usual: ".local/share",
        file: "opencode/auth.json",
    }],
    belongings: Belongings {
        state: &[
            Place::new("XDG_DATA_HOME", ".local/share", "opencode"),
            Place::new("XDG_STATE_HOME", ".local/state", "opencode"),
            Place::new("XDG_CACHE_HOME", ".cache", "opencode"),
            // It keeps its plugins up to date there, and does not start where it cannot.
            Place::new("XDG_CONFIG_HOME", ".config", "opencode"),
        ],
        copied: &[],
        commands: &[
            Place::new("XDG_CONFIG_HOME", ".config", "opencode/opencode.json"),
            Place::new("XDG_CONFIG_HOME", ".config", "opencode/opencode.jsonc"),
            Place::new("XDG_CONFIG_HOME", ".config", "opencode/config.json"),
            Place::new("XDG_CONFIG_HOME", ".config", "opencode/plugin"),
            Place::new("XDG_CONFIG_HOME", ".config", "opencode/plugins"),
            Place::new("XDG_CONFIG_HOME", ".config", "opencode/tool"),
            Place::new("XDG_CONFIG_HOME", ".config", "opencode/tools"),
        ],
        // The keys of its providers.
        variables: &[
            "OPENCODE_*",
            "ANTHROPIC_*",
            "OPENAI_*",
            "OPENROUTER_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_*",
            "GROQ_API_KEY",
            "MISTRAL_API_KEY",
            "DEEPSEEK_API_KEY",
            "XAI_API_KEY",
            "TOGETHER_API_KEY",
            "FIREWORKS_API_KEY",
            "CEREBRAS_API_KEY",
            "AZURE_*",
            "AWS_REGION",
            "AWS_PROFILE",
            "AWS_BEARER_TOKEN_BEDROCK",
            "GITHUB_COPILOT_*",
        ],
        needs: &[],
    },
};

/// How often the program tries its service again.
const MAX_RETRIES: u64 = 5;
/// What the program says of a tool that was turned down because nobody could be asked.
const REJECTED: &str = "The user rejected permission to use this specific tool call.";
/// How it begins to say that a rule of the user's forbids a tool.
const FORBIDDEN: &str =
    "The user has specified a rule which prevents you from using this specific tool call.";
/// No service asks for more patience than a year.
const LONGEST_WAIT: Duration = Duration::from_secs(366 * 24 * 3600);

pub(super) const PROGRAM: Program =
    Program { facts: Some(FACTS), arguments, parser: EventParser::<OpencodeEvents>::boxed, ..COMMAND };

fn arguments(setup: &Setup, request: &LaunchRequest<'_>) -> Vec<String> {
    let mut words = vec!["run", "--format", "json"];
    if let Some(model) = setup.named(request.model) {
        words.extend(["--model", model]);
    }
    if setup.skip_permissions {
        // What the user's own settings deny stays denied. Without this the program turns every question down.
        words.push("--auto");
    }
    // A session without a title asks the model for one, which costs a request that no event counts.
    let task = request.task_key.unwrap_or(request.task_id.as_str());
    let title = format!("Ralph: task {task}, attempt {}", request.attempt);
    if !setup.has_arg("--title") {
        words.extend(["--title", &title]);
    }
    words.into_iter().map(String::from).collect()
}

/// Which inputs of a tool say what it is used on, most telling first; a file's path comes before all of them.
const TARGETS: [&str; 7] = ["command", "pattern", "url", "query", "path", "name", "description"];

#[derive(Debug, Default)]
pub(super) struct OpencodeEvents {
    /// The message of a step that has begun and not ended.
    open_step: Option<String>,
    started: bool,
    step_retries: u64,
    reason: Option<String>,
    /// An error that no step has overcome.
    trouble: Option<Failure>,
    /// An error was overcome; the exit code tells of it all the same.
    overcame: bool,
}

impl EventReader for OpencodeEvents {
    const COUNTS_EACH_STEP: bool = true;

    fn event(&mut self, event: &Fields<'_>, session: &mut Session) {
        session.id(event.name("sessionID"));
        let part = event.object("part");
        let kind = event.word("type");
        let goes_on = ["step_start", "text", "reasoning", "tool_use", "step_finish", "error"];
        session.concluded &= !goes_on.contains(&kind.as_str());
        match kind.as_str() {
            "step_start" => self.step_start(&part, session),
            // What is synthetic is said by the program to the model, such as to go on after a summary.
            "text" if part.get("synthetic") != Some(true) => {
                if let Some(text) = part.text("text") {
                    session.answer.push_line(&text);
                    session.say(text);
                }
            }
            "tool_use" => tool_use(&part, session),
            "step_finish" => self.step_finish(&part, session),
            "error" => self.trouble = Some(self.failure(event, &session.program)),
            _ => {}
        }
    }

    fn end(&self, exit: Exit, session: &Session) -> Result<(), Failure> {
        if let Some(trouble) = &self.trouble {
            return Err(trouble.clone());
        }
        // It is ended when it lingers after its last word.
        let is_orderly = matches!(exit, Exit::Signal(_) | Exit::Code(0 | 129 | 130 | 143));
        if session.concluded && (is_orderly || self.overcame) {
            return Ok(());
        }
        Err(match self.reason.as_deref().filter(|_| self.open_step.is_none()) {
            Some("length") => Failure::new(Fault::Crash, "the model reached its output token limit"),
            Some(reason) => {
                session.unfinished(&format!("after a step with finish reason `{reason}`"), exit, None)
            }
            None => session.unfinished("without finishing", exit, None),
        })
    }
}

impl OpencodeEvents {
    fn step_start(&mut self, part: &Fields<'_>, session: &mut Session) {
        let is_first = !std::mem::replace(&mut self.started, true);
        let message = part.name("messageID").unwrap_or_default();
        let is_retry = self.open_step.as_ref() == Some(&message);
        self.open_step = Some(message);
        session.answer.clear();
        self.step_retries = if is_retry { self.step_retries + 1 } else { 0 };
        if is_retry {
            session.retry(self.step_retries, MAX_RETRIES, None);
        } else if is_first {
            session.start(None);
        }
    }

    fn step_finish(&mut self, part: &Fields<'_>, session: &mut Session) {
        self.open_step = None;
        self.overcame |= self.trouble.take().is_some();
        // `stop`, `tool-calls`, `length`, `content-filter`, `unknown`.
        self.reason = part.name("reason");
        session.concluded = self.reason.as_deref() == Some("stop");
        // No count includes another; what the model thinks costs what it writes.
        let tokens = part.object("tokens");
        let cache = tokens.object("cache").usage(["", "", "read", "write"]);
        let counts =
            [tokens.usage(["input", "output", "", ""]), tokens.usage(["", "reasoning", "", ""]), cache];
        let report = &mut session.report;
        report.usage = counts.into_iter().fold(report.usage, Usage::plus);
        // Nothing is what a model without a known price costs too.
        if let Some(cost) = part.get("cost").filter(|cost: &f64| cost.is_finite() && *cost > 0.0) {
            *report.cost_usd.get_or_insert(0.0) += cost;
        }
    }

    fn failure(&self, event: &Fields<'_>, program: &str) -> Failure {
        let error = event.object("error");
        let data = error.object("data");
        let name = error.word("name");
        let fault = match Fault::of_type(&name) {
            Some(fault) => fault,
            // Names are added over time; the fields then decide.
            None if name == "APIError" || data.get::<u16>("statusCode").is_some() => answer_fault(&data),
            // An unknown model, or a provider without credentials: the program says neither, but it had not begun.
            None if data.text("ref").is_some() && !self.started => Fault::Config,
            None => service_fault(&data).unwrap_or(Fault::Crash),
        };
        Failure {
            fault,
            message: message(&error, &data, fault, program),
            resets_at: resets_at(
                &data.object("responseHeaders"),
                event.get("timestamp").map(Timestamp::from_millis),
            ),
        }
    }
}

fn tool_use(part: &Fields<'_>, session: &mut Session) {
    let Some(name) = part.text("tool") else { return };
    // How the use ended; it is told of only then.
    let state = part.object("state");
    let told = state.word("error");
    let is_denied = state.word("status") == "error" && (told == REJECTED || told.starts_with(FORBIDDEN));
    part.name("tool").filter(|_| is_denied).into_iter().for_each(|tool| session.deny(tool));
    session.tool(&name, target(&state.object("input"), &state.word("title")));
}

/// What a tool is used on. The title of a file's use is its path below the repository.
fn target(input: &Fields<'_>, title: &str) -> String {
    let Some(path) = input.text("filePath") else { return input.first_of(&TARGETS) };
    let above = path.strip_suffix(title).filter(|_| !title.is_empty());
    let is_below = above.is_some_and(|above| above.len() > 1 && above.ends_with('/'));
    short(if is_below { title } else { &path }, SHOWN)
}

/// The class of an error in place of an answer, or of the rest of one.
fn answer_fault(data: &Fields<'_>) -> Fault {
    let status: Option<u16> = data.get("statusCode");
    let known = Fault::of_answer(status, service_fault(data));
    known.unwrap_or_else(|| match data.get("isRetryable") {
        _ if status.is_some() => Fault::Crash,
        // The request or its connection is named, and no answer came.
        _ if data.find("metadata").is_some() => Fault::Network,
        Some(true) => Fault::Overloaded,
        Some(false) | None => Fault::Crash,
    })
}

/// The class of the service's own error, which stands in the body or, for want of one, as the message.
fn service_fault(data: &Fields<'_>) -> Option<Fault> {
    let body = data.text("responseBody").or_else(|| data.text("message"))?;
    let body = Fields::of(&body)?;
    let error = service_error(body);
    let details = error.objects("details");
    let reasons = details.iter().filter_map(|detail| detail.text("reason"));
    let kinds = ["status", "type"].into_iter().filter_map(|key| error.text(key));
    let types: Vec<String> = error.text("code").into_iter().chain(reasons).chain(kinds).collect();
    Fault::of_types(&types).or_else(|| Fault::of_status(error.get("code")?))
}

/// The fields of a service's error, which may be in an envelope.
fn service_error(body: Fields<'_>) -> Fields<'_> {
    body.find("error").unwrap_or(body)
}

fn message(error: &Fields<'_>, data: &Fields<'_>, fault: Fault, program: &str) -> String {
    let told = data.word("message");
    let inner = Fields::of(&told).and_then(|body| service_error(body).text("message"));
    let told = short(inner.as_deref().unwrap_or(&told), MESSAGE);
    if told.is_empty() {
        let name = error.text("name").unwrap_or("an unnamed error".into());
        return format!("{program} reported {}", short(&name, MESSAGE));
    }
    if fault == Fault::Config && data.text("ref").is_some() {
        return format!("cannot start {program}: check the model's name and the provider's API key ({told})");
    }
    told
}

/// Unix seconds when a limit is over, from the headers of the answer that refused at this time; `None` where they name no
/// time to come.
fn resets_at(headers: &Fields<'_>, answered_at: Option<Timestamp>) -> Option<i64> {
    let number = |key: &str| headers.text(key)?.trim().parse::<f64>().ok();
    let milliseconds = number("retry-after-ms").map(|wait| wait / 1000.0);
    if let Some(wait) = milliseconds.or_else(|| number("retry-after")) {
        let wait = Duration::try_from_secs_f64(wait).ok()?;
        return (!wait.is_zero() && wait <= LONGEST_WAIT).then_some(seconds_after(answered_at?, wait));
    }
    let date = DateTimeParser::new().parse_timestamp(headers.word("retry-after").trim()).ok();
    date.map(jiff::Timestamp::as_second).or_else(|| {
        let seconds = headers.text("anthropic-ratelimit-unified-reset")?;
        seconds.trim().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_from_the_repository_on() {
        let input = Fields::of(r#"{"filePath":"/p/src/a.rs"}"#).unwrap();
        let told = |title: &str| target(&input, title);
        assert_eq!(told("src/a.rs"), "src/a.rs");
        // Outside a repository the title begins at the root of all.
        for title in ["p/src/a.rs", "rc/a.rs", ""] {
            assert_eq!(told(title), "/p/src/a.rs");
        }
    }
}
