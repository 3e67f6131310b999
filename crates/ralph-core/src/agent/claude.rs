//! Claude Code as an agent: `claude -p --output-format stream-json --verbose`.
//!
//! Only a `result` line with `is_error: false` is a success. Exit codes, `subtype: success` and prose are not evidence: the
//! program prints `success` beside an API error and exits 0 when it is interrupted.

use super::event_fields::{Fields, MESSAGE, NAME, short, short_path};
use super::observed::{End, EventParser, EventReader, Failure, Observed, RecentText, tool};
use super::{
    Activity, Agent, CredentialFile, EndSignal, Exit, Facts, Fault, LaunchRequest, LimitNotice, Setup,
    StreamParser, Usage,
};

/// What is known of Claude Code before it is started.
pub(super) const FACTS: Facts = Facts {
    program: "claude",
    models: &["haiku", "sonnet", "opus"],
    tested: "2.1.325",
    install: "npm install -g @anthropic-ai/claude-code",
    login: "run `claude` once and log in, or set ANTHROPIC_API_KEY",
    credential_variables: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
    ],
    credential_files: &[CredentialFile {
        moved_by: "CLAUDE_CONFIG_DIR",
        usual: ".claude",
        file: ".credentials.json",
    }],
};

const BUDGET: &str = "--max-budget-usd";

/// Claude Code, started once per attempt.
#[derive(Clone, Debug)]
pub struct Claude(pub Setup);

impl Agent for Claude {
    fn setup(&self) -> &Setup {
        &self.0
    }

    fn prompt(&self, _rules: &str, task: &str) -> String {
        task.to_owned()
    }

    fn system_prompt(&self, rules: &str) -> Option<String> {
        Some(rules.to_owned())
    }

    fn arguments(&self, request: &LaunchRequest<'_>) -> Vec<String> {
        let setup = &self.0;
        let mut words = vec!["-p", "--output-format", "stream-json", "--verbose"];
        if let Some(model) = setup.named(request.model) {
            words.extend(["--model", model]);
        }
        if setup.skip_permissions {
            words.push("--dangerously-skip-permissions");
        }
        if !request.rules.is_empty() {
            words.extend(["--append-system-prompt", request.rules]);
        }
        // The smallest rest is still more than nothing, which would be no cap.
        let budget = request.budget_usd.filter(|_| !setup.has_arg(BUDGET));
        let budget = budget.map(|budget| format!("{:.4}", budget.max(0.0001)));
        if let Some(budget) = &budget {
            words.extend([BUDGET, budget]);
        }
        words.into_iter().map(String::from).collect()
    }

    /// As root it refuses to skip permissions unless it is told that it runs in a sandbox.
    fn environment(&self, request: &LaunchRequest<'_>) -> Vec<(&'static str, &'static str)> {
        let is_refused = self.0.skip_permissions && request.is_root;
        is_refused.then_some(("IS_SANDBOX", "1")).into_iter().collect()
    }

    /// After TERM it ends without a word; after INT it still tells what it cost.
    fn first_signal(&self) -> EndSignal {
        EndSignal::Interrupt
    }

    fn parser(&self) -> Box<dyn StreamParser> {
        EventParser::<ClaudeEvents>::boxed("claude")
    }
}

#[derive(Debug, Default)]
pub(super) struct ClaudeEvents {
    /// Where the agent works; paths below it are shown without it.
    cwd: Option<String>,
    started: bool,
    /// The texts of the results that were successes; nearly always one.
    answers: RecentText,
    usage: Usage,
    /// Trouble since the service last answered.
    trouble: Trouble,
    /// When the last refusing limit resets.
    resets_at: Option<i64>,
    /// How the last turn ended.
    end: Option<TurnEnd>,
    /// The last event was a successful result: nothing was said or done since.
    concluded: bool,
}

/// What a `result` says.
#[derive(Debug)]
enum TurnEnd {
    /// Whether with a text.
    Success(bool),
    /// With the text in place of an answer.
    Failure(Failure, Option<String>),
}

/// What went wrong between the program and its service and was not followed by an answer.
#[derive(Debug, Default)]
struct Trouble {
    error: ApiError,
    message: Option<String>,
    retried: Option<ApiError>,
    limit_refused: bool,
}

/// An error of the service or of the way to it.
#[derive(Debug, Default)]
struct ApiError {
    /// HTTP status, where there was an HTTP answer.
    status: Option<u16>,
    /// The program's typed cause, the service's own type, the program's coarse kind; most errors have not all.
    types: Vec<String>,
}

impl ApiError {
    fn of(event: &Fields<'_>, status: &str, types: &[&str]) -> Self {
        Self { status: event.get(status), types: types.iter().filter_map(|key| event.name(key)).collect() }
    }

    fn fault(&self) -> Option<Fault> {
        // Without a status `server_error` means that no answer came: the request timed out on the way.
        let is_timeout = |name: &String| self.status.is_none() && name == "server_error";
        let types = self.types.iter().filter(|name| !is_timeout(name));
        Fault::of_answer(self.status, Fault::of_types(types))
            .or_else(|| self.types.iter().any(is_timeout).then_some(Fault::Network))
    }
}

impl EventReader for ClaudeEvents {
    fn event(&mut self, event: &Fields<'_>, program: &str) -> Vec<Observed> {
        let mut observed: Vec<_> = event.name("session_id").map(Observed::SessionId).into_iter().collect();
        match event.word("type").as_str() {
            "system" => observed.extend(self.system(event)),
            "rate_limit_event" => observed.extend(self.limit(&event.object("rate_limit_info"))),
            "assistant" => {
                self.concluded = false;
                observed.extend(self.assistant(event));
            }
            "result" => observed.extend(self.result(event, program)),
            _ => {}
        }
        observed
    }

    fn conclusion(&self) -> Option<&str> {
        self.concluded.then(|| self.answers.as_str())
    }

    fn end(&self, _exit: Exit, _program: &str) -> End {
        match &self.end {
            Some(TurnEnd::Success(has_text)) => {
                End::Completed(has_text.then(|| self.answers.as_str().to_owned()))
            }
            Some(TurnEnd::Failure(failure, text)) => End::Failed(failure.clone(), text.clone()),
            None => {
                let message = self.trouble.message.clone().unwrap_or_default();
                let trouble = self.failure(&Fields::default(), message);
                End::Unfinished("without a result".into(), Some(trouble))
            }
        }
    }
}

impl ClaudeEvents {
    fn system(&mut self, event: &Fields<'_>) -> Vec<Observed> {
        match event.word("subtype").as_str() {
            "init" => {
                self.cwd = event.text("cwd");
                if std::mem::replace(&mut self.started, true) {
                    return Vec::new();
                }
                let model = event.name("model");
                let started = Observed::Did(Activity::Started { model: model.clone() });
                model.map(Observed::Model).into_iter().chain([started]).collect()
            }
            "model_fallback" | "model_refusal_fallback" | "model_consent_fallback" => {
                let model = event.name("fallback_model");
                model.map(Observed::Model).into_iter().collect()
            }
            "api_retry" => {
                let error = ApiError::of(event, "error_status", &["error"]);
                let retrying = Activity::Retrying {
                    attempt: event.get("attempt").unwrap_or_default(),
                    max: event.get("max_retries").unwrap_or_default(),
                    status: error.status,
                };
                self.trouble.retried = Some(error);
                vec![Observed::Did(retrying)]
            }
            _ => Vec::new(),
        }
    }

    /// What the service said about a usage limit.
    fn limit(&mut self, info: &Fields<'_>) -> Vec<Observed> {
        let Some(status) = info.name("status") else {
            return Vec::new();
        };
        let utilization = info.get("utilization");
        let warning = (status == "allowed_warning").then_some(Activity::LimitWarning { utilization });
        let resets_at = info.get("resetsAt");
        self.trouble.limit_refused = status == "rejected";
        if self.trouble.limit_refused {
            self.resets_at = resets_at;
        }
        let notice =
            Observed::Limit(LimitNotice { status, kind: info.name("rateLimitType"), resets_at, utilization });
        let warning = warning.map(Observed::Did);
        [notice].into_iter().chain(warning).collect()
    }

    /// What the model said or did, or the error that came in place of an answer.
    fn assistant(&mut self, event: &Fields<'_>) -> Vec<Observed> {
        // Words and errors of a sub-agent are not the session's.
        let is_sub_agent = event.text("parent_tool_use_id").is_some();
        let content = event.object("message").objects("content");
        if event.get("is_api_error_message") == Some(true) {
            if is_sub_agent {
                return Vec::new();
            }
            let message = content.iter().find_map(|block| block.text("text"));
            self.trouble.message = message.map(|text| short(&text, MESSAGE));
            self.trouble.error =
                ApiError::of(event, "api_error_status", &["api_error", "api_error_type", "error"]);
            return self.limit(&event.object("api_error_params").object("rate_limit_info"));
        }
        if !is_sub_agent {
            self.trouble = Trouble::default();
        }
        let observed = content.iter().filter_map(|block| match block.word("type").as_str() {
            "text" if is_sub_agent => block.text("text").map(Observed::SubAgentSaid),
            "text" => block.text("text").map(Observed::Said),
            "tool_use" => Some(tool(&block.text("name")?, self.target(&block.object("input")))),
            _ => None,
        });
        observed.collect()
    }

    /// What a tool is used on: the most telling of its inputs.
    fn target(&self, input: &Fields<'_>) -> String {
        match input.text("file_path").or_else(|| input.text("notebook_path")) {
            Some(path) => short_path(&path, self.cwd.as_deref()),
            None => input.first_of(&["command", "pattern", "url", "query", "path", "skill", "description"]),
        }
    }

    /// How a turn ended. A session goes on after a result when something it left in the background reports back. The cost
    /// is then the session's so far, the tokens and the text are the turn's: a signal given before such an afterthought
    /// still holds.
    fn result(&mut self, event: &Fields<'_>, program: &str) -> Vec<Observed> {
        let mut observed = Vec::new();
        let cost = event.get("total_cost_usd").filter(|cost: &f64| *cost >= 0.0);
        // What was interrupted in the middle of its first answer is not counted; that is not nothing.
        let is_aborted = event.word("terminal_reason").starts_with("aborted_");
        if !is_aborted || cost.is_some_and(|cost| cost > 0.0) {
            observed.extend(cost.map(Observed::Cost));
            let tokens = event.object("usage");
            self.usage = self.usage.plus(Usage {
                input: tokens.get("input_tokens"),
                output: tokens.get("output_tokens"),
                cache_read: tokens.get("cache_read_input_tokens"),
                cache_write: tokens.get("cache_creation_input_tokens"),
            });
            observed.push(Observed::Used(self.usage));
        }
        let denials = event.objects("permission_denials").into_iter();
        observed.extend(denials.filter_map(|one| one.name("tool_name").map(Observed::Denied)));
        let text = event.text("result");
        self.concluded = event.get("is_error") == Some(false) && !event.word("subtype").starts_with("error_");
        self.end = Some(if self.concluded {
            if let Some(text) = &text {
                self.answers.push_line(text);
            }
            TurnEnd::Success(text.is_some())
        } else {
            let message = failure_message(event, text.as_deref(), program);
            TurnEnd::Failure(self.failure(event, message), text)
        });
        observed
    }

    /// An end that was no success, with the fields of its result if there was one.
    fn failure(&self, result: &Fields<'_>, message: String) -> Failure {
        Failure { fault: self.fault(result), message, resets_at: self.resets_at }
    }

    fn fault(&self, result: &Fields<'_>) -> Fault {
        let told = &self.trouble.error;
        let mut answer = ApiError::of(result, "api_error_status", &["api_error", "api_error_type"]);
        answer.status = answer.status.or(told.status);
        answer.types.extend(told.types.iter().cloned());
        // Limits of turns and money, an interruption: the program ended itself, whatever the service did before.
        let subtype = result.word("subtype");
        if subtype.starts_with("error_") && answer.status.is_none() {
            return match subtype.as_str() {
                "error_max_budget_usd" => Fault::Budget,
                _ => Fault::Crash,
            };
        }
        if result.word("stop_reason") == "refusal" {
            return Fault::Crash;
        }
        let retried = self.trouble.retried.as_ref();
        answer
            .fault()
            .or_else(|| self.trouble.limit_refused.then_some(Fault::RateLimit))
            .or_else(|| retried.map(|retry| retry.fault().unwrap_or(Fault::Network)))
            .unwrap_or(Fault::Crash)
    }
}

/// One line for people on a result that was no success.
fn failure_message(result: &Fields<'_>, text: Option<&str>, program: &str) -> String {
    let reason = result.word("terminal_reason");
    if reason.starts_with("aborted_") {
        return format!("{program} was interrupted ({})", short(&reason, NAME));
    }
    let errors: Vec<String> = result.get("errors").unwrap_or_default();
    let told = errors.first().map(String::as_str).or(text);
    match told.filter(|told| !told.trim().is_empty()) {
        Some(told) => short(told, MESSAGE),
        None => {
            let subtype = result.name("subtype").unwrap_or("no subtype".into());
            format!("{program} reported an error without a message ({subtype})")
        }
    }
}
