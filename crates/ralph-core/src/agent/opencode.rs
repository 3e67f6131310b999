//! OpenCode as an agent: `opencode run --format json`.
//!
//! There is no last event. A session is finished when a step ended with `stop` and nothing followed; a step that ended
//! otherwise, or an error that no step overcame, is no success. Of its own retries the program tells little: a step
//! that begins again. Events of sub-agents' sessions are not printed.

use jiff::fmt::rfc2822::DateTimeParser;

use super::event_fields::{Fields, MESSAGE, SHOWN, short};
use super::observed::{End, EventParser, EventReader, Failure, Observed, RecentText, tool};
use super::{
    Activity, Agent, CredentialFile, Exit, Facts, Fault, Launch, LaunchRequest, Setup, StreamParser, Usage,
};

/// What is known of OpenCode before it is started.
pub(super) const FACTS: Facts = Facts {
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
};

/// How often the program tries its service again.
const MAX_RETRIES: u64 = 5;
/// What the program says of a tool that was turned down because nobody could be asked.
const REJECTED: &str = "The user rejected permission to use this specific tool call.";
/// How it begins to say that a rule of the user's forbids a tool.
const FORBIDDEN: &str =
    "The user has specified a rule which prevents you from using this specific tool call.";
/// No service asks for more patience than a year.
const LONGEST_WAIT_MS: f64 = 366.0 * 24.0 * 3600.0 * 1000.0;

/// OpenCode, started once per attempt.
#[derive(Clone, Debug)]
pub struct Opencode(pub Setup);

impl Agent for Opencode {
    fn setup(&self) -> &Setup {
        &self.0
    }

    fn arguments(&self, request: &LaunchRequest<'_>) -> Vec<String> {
        let mut words = vec!["run", "--format", "json"];
        if let Some(model) = self.0.named(request.model) {
            words.extend(["--model", model]);
        }
        if self.0.skip_permissions {
            // What the user's own settings deny stays denied. Without this the program turns every question down.
            words.push("--auto");
        }
        // A session without a title asks the model for one, which costs a request that no event counts.
        let task = request.task_key.unwrap_or(request.task_id.as_str());
        let title = format!("Ralph: task {task}, attempt {}", request.attempt);
        if !self.0.has_arg("--title") {
            words.extend(["--title", &title]);
        }
        words.into_iter().map(String::from).collect()
    }

    fn launch(&self, request: &LaunchRequest<'_>) -> Launch {
        let mut launch = self.settings_launch(request);
        // The program works where this says, not where it was started.
        launch.env.push(("PWD".to_owned(), request.work_tree.into()));
        launch
    }

    fn parser(&self) -> Box<dyn StreamParser> {
        EventParser::<OpencodeEvents>::boxed("opencode")
    }
}

#[derive(Debug, Default)]
pub(super) struct OpencodeEvents {
    said: RecentText,
    /// What was said in the present step.
    answer: RecentText,
    /// The message of a step that has begun and not ended.
    open_step: Option<String>,
    /// Whether any step has begun.
    started: bool,
    step_retries: u64,
    /// Why the last step ended.
    reason: Option<String>,
    /// The last event was a step that ended with `stop`: nothing was said or done since.
    concluded: bool,
    /// An error that no step has overcome.
    trouble: Option<Failure>,
    /// An error was overcome; the exit code tells of it all the same.
    overcame: bool,
    cost_usd: f64,
    usage: Usage,
}

impl EventReader for OpencodeEvents {
    const COUNTS_EACH_STEP: bool = true;

    fn event(&mut self, event: &Fields<'_>, program: &str) -> Vec<Observed> {
        let id = event.name("sessionID").map(Observed::SessionId);
        let part = event.object("part");
        let kind = event.word("type");
        let goes_on = ["step_start", "text", "reasoning", "tool_use", "step_finish", "error"];
        if goes_on.contains(&kind.as_str()) {
            self.concluded = false;
        }
        let observed = match kind.as_str() {
            "step_start" => self.step_start(&part),
            "text" => self.said(&part),
            "tool_use" => tool_use(&part),
            "step_finish" => self.step_finish(&part),
            "error" => {
                self.trouble = Some(self.failure(event, program));
                Vec::new()
            }
            _ => Vec::new(),
        };
        id.into_iter().chain(observed).collect()
    }

    fn conclusion(&self) -> Option<&str> {
        self.concluded.then(|| self.final_text())
    }

    fn end(&self, exit: Exit, _program: &str) -> End {
        if let Some(trouble) = &self.trouble {
            return End::Failed(trouble.clone(), None);
        }
        // It is ended when it lingers after its last word.
        let was_ended = matches!(exit, Exit::Signal(_) | Exit::Code(129 | 130 | 143));
        if self.concluded && (exit == Exit::Code(0) || was_ended || self.overcame) {
            return End::Completed(Some(self.final_text().to_owned()));
        }
        match self.reason.as_deref().filter(|_| self.open_step.is_none()) {
            Some("length") => {
                let message = "the model reached its output token limit";
                End::Failed(Failure::new(Fault::Crash, message), None)
            }
            Some(reason) => End::Unfinished(format!("after a step with finish reason `{reason}`"), None),
            None => End::Unfinished("without finishing".into(), None),
        }
    }
}

impl OpencodeEvents {
    fn step_start(&mut self, part: &Fields<'_>) -> Vec<Observed> {
        let is_first = !std::mem::replace(&mut self.started, true);
        let message = part.name("messageID").unwrap_or_default();
        let is_retry = self.open_step.as_ref() == Some(&message);
        self.open_step = Some(message);
        self.answer.clear();
        self.step_retries = if is_retry { self.step_retries + 1 } else { 0 };
        let activity = if is_retry {
            Activity::Retrying { attempt: self.step_retries, max: MAX_RETRIES, status: None }
        } else if is_first {
            Activity::Started { model: None }
        } else {
            return Vec::new();
        };
        vec![Observed::Did(activity)]
    }

    fn said(&mut self, part: &Fields<'_>) -> Vec<Observed> {
        // Set on what the program says to the model, such as to go on after a summary.
        if part.get("synthetic") == Some(true) {
            return Vec::new();
        }
        let Some(text) = part.text("text") else {
            return Vec::new();
        };
        self.said.push_line(&text);
        self.answer.push_line(&text);
        vec![Observed::Said(text)]
    }

    fn step_finish(&mut self, part: &Fields<'_>) -> Vec<Observed> {
        self.open_step = None;
        self.overcame |= self.trouble.take().is_some();
        // `stop`, `tool-calls`, `length`, `content-filter`, `unknown`.
        self.reason = part.name("reason");
        self.concluded = self.reason.as_deref() == Some("stop");
        // No count includes another; what the model thinks costs what it writes.
        let tokens = part.object("tokens");
        let cache = tokens.object("cache");
        self.usage = self.usage.plus(Usage {
            input: tokens.get("input"),
            output: tokens.get("output"),
            cache_read: cache.get("read"),
            cache_write: cache.get("write"),
        });
        self.usage = self.usage.plus(Usage { output: tokens.get("reasoning"), ..Usage::default() });
        let cost = part.get("cost").filter(|cost: &f64| cost.is_finite() && *cost > 0.0);
        self.cost_usd += cost.unwrap_or_default();
        // Nothing is what a model without a known price costs too.
        let cost = Some(self.cost_usd).filter(|cost| *cost > 0.0 && cost.is_finite());
        let cost = cost.map(Observed::Cost);
        [Observed::Used(self.usage)].into_iter().chain(cost).collect()
    }

    /// The last step's words; those of all, where it said nothing.
    fn final_text(&self) -> &str {
        match self.answer.as_str().trim().is_empty() {
            true => self.said.as_str(),
            false => self.answer.as_str(),
        }
    }

    /// What an `error` event comes to.
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
            resets_at: resets_at(&data.object("responseHeaders"), event.get("timestamp")),
        }
    }
}

fn tool_use(part: &Fields<'_>) -> Vec<Observed> {
    let Some(name) = part.text("tool") else {
        return Vec::new();
    };
    // How the use ended; it is told of only then.
    let state = part.object("state");
    let used = tool(&name, target(&state.object("input"), &state.word("title")));
    let told = state.word("error");
    let is_denied = state.word("status") == "error" && (told == REJECTED || told.starts_with(FORBIDDEN));
    let denied = part.name("tool").filter(|_| is_denied).map(Observed::Denied);
    denied.into_iter().chain([used]).collect()
}

/// What a tool is used on: the most telling of its inputs. The title of a file's use is its path below the repository.
fn target(input: &Fields<'_>, title: &str) -> String {
    let Some(path) = input.text("filePath") else {
        return input.first_of(&["command", "pattern", "url", "query", "path", "name", "description"]);
    };
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

/// Unix seconds when a limit is over, not too early by a fraction, from the headers of the answer that refused; `None`
/// where they name no time to come.
fn resets_at(headers: &Fields<'_>, answered_at_ms: Option<i64>) -> Option<i64> {
    let number = |key: &str| headers.text(key)?.trim().parse::<f64>().ok();
    let seconds = || number("retry-after").map(|seconds| 1000.0 * seconds);
    if let Some(wait_ms) = number("retry-after-ms").or_else(seconds) {
        if !(wait_ms > 0.0 && wait_ms <= LONGEST_WAIT_MS) {
            return None;
        }
        // Within a year of milliseconds, which is a whole number far below 2^53.
        #[expect(clippy::cast_possible_truncation, reason = "bounded above")]
        let wait_ms = wait_ms.ceil() as i64;
        let until = answered_at_ms?.checked_add(wait_ms)?;
        return Some(until.div_euclid(1000) + i64::from(until.rem_euclid(1000) > 0));
    }
    let date = headers.word("retry-after");
    let date = DateTimeParser::new().parse_timestamp(date.trim()).ok();
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
