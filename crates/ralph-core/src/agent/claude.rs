//! Claude Code as an agent: `claude -p --output-format stream-json --verbose`.
//!
//! Only a `result` line with `is_error: false` is a success. Exit codes, `subtype: success` and prose are not evidence: the
//! program prints `success` beside an API error and exits 0 when it is interrupted.

use super::event_fields::{Fields, MESSAGE, NAME, short, short_path};
use super::session::{EventParser, EventReader, Failure, Session};
use super::{
    Activity, CredentialFile, EndSignal, Exit, Facts, Fault, LaunchRequest, LimitNotice, Program, Setup,
};
use crate::sandbox::{Belongings, Place};

const FACTS: Facts = Facts {
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
    belongings: Belongings {
        state: &[
            Place::new("CLAUDE_CONFIG_DIR", ".claude", ""),
            Place::new("XDG_CACHE_HOME", ".cache", "claude"),
            Place::new("XDG_CACHE_HOME", ".cache", "claude-cli-nodejs"),
            Place::new("XDG_STATE_HOME", ".local/state", "claude"),
        ],
        copied: &[Place::new("", "", ".claude.json")],
        commands: &[
            Place::new("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
            Place::new("CLAUDE_CONFIG_DIR", ".claude", "settings.local.json"),
            Place::new("CLAUDE_CONFIG_DIR", ".claude", "hooks"),
            Place::new("CLAUDE_CONFIG_DIR", ".claude", "plugins"),
            Place::new("CLAUDE_CONFIG_DIR", ".claude", "skills"),
            Place::new("CLAUDE_CONFIG_DIR", ".claude", "commands"),
            Place::new("CLAUDE_CONFIG_DIR", ".claude", "agents"),
        ],
        variables: &[
            "ANTHROPIC_*",
            "CLAUDE_*",
            "CLAUDECODE",
            "DISABLE_*",
            "ENABLE_*",
            "BASH_DEFAULT_*",
            "BASH_MAX_*",
            "MAX_*",
            "MCP_*",
            "API_TIMEOUT_MS",
            "USE_BUILTIN_RIPGREP",
            "AWS_REGION",
            "AWS_PROFILE",
            "AWS_BEARER_TOKEN_BEDROCK",
            "CLOUD_ML_REGION",
            "GOOGLE_CLOUD_PROJECT",
            "VERTEX_*",
        ],
        needs: &[("CLAUDE_CODE_USE_BEDROCK", ".aws"), ("CLAUDE_CODE_USE_VERTEX", ".config/gcloud")],
    },
};

const BUDGET: &str = "--max-budget-usd";

pub(super) const PROGRAM: Program = Program {
    facts: Some(FACTS),
    arguments,
    // As root it refuses to skip permissions unless it is told that it runs in a sandbox.
    environment: |setup, request| {
        let is_needed = setup.skip_permissions && (request.is_root || request.is_confined);
        is_needed.then_some(("IS_SANDBOX", "1")).into_iter().collect()
    },
    // The rules are its system prompt.
    prompt: |_, task| task.to_owned(),
    // After TERM it ends without a word; after INT it still tells what it cost.
    first_signal: EndSignal::Interrupt,
    parser: EventParser::<ClaudeEvents>::boxed,
};

fn arguments(setup: &Setup, request: &LaunchRequest<'_>) -> Vec<String> {
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

/// Which inputs of a tool say what it is used on, most telling first; a file's path comes before all of them.
const TARGETS: [&str; 7] = ["command", "pattern", "url", "query", "path", "skill", "description"];
const TOKENS: [&str; 4] =
    ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];

#[derive(Debug, Default)]
pub(super) struct ClaudeEvents {
    /// Where the agent works; paths below it are shown without it.
    cwd: Option<String>,
    started: bool,
    /// Trouble since the service last answered.
    trouble: Trouble,
    /// When the last refusing limit resets.
    resets_at: Option<i64>,
    end: Option<Result<(), Failure>>,
}

/// What went wrong between the program and its service and was not followed by an answer.
#[derive(Debug, Default)]
struct Trouble {
    error: ApiError,
    message: String,
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
    fn event(&mut self, event: &Fields<'_>, session: &mut Session) {
        session.id(event.name("session_id"));
        match (event.word("type").as_str(), event.word("subtype").as_str()) {
            ("system", "init") => {
                self.cwd = event.text("cwd");
                if !std::mem::replace(&mut self.started, true) {
                    session.start(event.name("model"));
                }
            }
            ("system", "model_fallback" | "model_refusal_fallback" | "model_consent_fallback") => {
                session.model(event.name("fallback_model"));
            }
            ("system", "api_retry") => {
                let error = ApiError::of(event, "error_status", &["error"]);
                let count = |key: &str| event.get(key).unwrap_or_default();
                session.retry(count("attempt"), count("max_retries"), error.status);
                self.trouble.retried = Some(error);
            }
            ("rate_limit_event", _) => self.limit(&event.object("rate_limit_info"), session),
            ("assistant", _) => self.assistant(event, session),
            ("result", _) => self.result(event, session),
            _ => {}
        }
    }

    fn end(&self, exit: Exit, session: &Session) -> Result<(), Failure> {
        self.end.clone().unwrap_or_else(|| {
            let trouble = self.failure(&Fields::default(), self.trouble.message.clone());
            Err(session.unfinished("without a result", exit, Some(&trouble)))
        })
    }
}

impl ClaudeEvents {
    fn limit(&mut self, info: &Fields<'_>, session: &mut Session) {
        let Some(status) = info.name("status") else { return };
        let (resets_at, utilization) = (info.get("resetsAt"), info.get("utilization"));
        self.trouble.limit_refused = status == "rejected";
        if self.trouble.limit_refused {
            self.resets_at = resets_at;
        }
        if status == "allowed_warning" {
            session.act(Activity::LimitWarning { utilization });
        }
        session.report.limit =
            Some(LimitNotice { status, kind: info.name("rateLimitType"), resets_at, utilization });
    }

    /// What the model said or did, or the error that came in place of an answer.
    fn assistant(&mut self, event: &Fields<'_>, session: &mut Session) {
        session.concluded = false;
        // Words and errors of a sub-agent are not the session's.
        let is_sub_agent = event.text("parent_tool_use_id").is_some();
        let content = event.object("message").objects("content");
        if event.get("is_api_error_message") == Some(true) {
            if !is_sub_agent {
                let message = content.iter().find_map(|block| block.text("text"));
                self.trouble.message = short(&message.unwrap_or_default(), MESSAGE);
                self.trouble.error =
                    ApiError::of(event, "api_error_status", &["api_error", "api_error_type", "error"]);
                self.limit(&event.object("api_error_params").object("rate_limit_info"), session);
            }
            return;
        }
        if !is_sub_agent {
            self.trouble = Trouble::default();
        }
        for block in &content {
            match (block.word("type").as_str(), block.text("text"), block.text("name")) {
                ("text", Some(text), _) if is_sub_agent => session.quote(text),
                ("text", Some(text), _) => session.say(text),
                ("tool_use", _, Some(name)) => session.tool(&name, self.target(&block.object("input"))),
                _ => {}
            }
        }
    }

    fn target(&self, input: &Fields<'_>) -> String {
        match input.text("file_path").or_else(|| input.text("notebook_path")) {
            Some(path) => short_path(&path, self.cwd.as_deref()),
            None => input.first_of(&TARGETS),
        }
    }

    /// How a turn ended. A session goes on after a result when something it left in the background reports back. The cost
    /// is then the session's so far, the tokens and the text are the turn's: a signal given before such an afterthought
    /// still holds.
    fn result(&mut self, event: &Fields<'_>, session: &mut Session) {
        let report = &mut session.report;
        let cost = event.get("total_cost_usd").filter(|cost: &f64| *cost >= 0.0);
        // What was interrupted in the middle of its first answer is not counted; that is not nothing.
        let is_aborted = event.word("terminal_reason").starts_with("aborted_");
        if !is_aborted || cost.is_some_and(|cost| cost > 0.0) {
            report.cost_usd = cost.or(report.cost_usd);
            report.usage = report.usage.plus(event.object("usage").usage(TOKENS));
        }
        for denied in event.objects("permission_denials") {
            denied.name("tool_name").into_iter().for_each(|tool| session.deny(tool));
        }
        let text = event.text("result");
        session.concluded =
            event.get("is_error") == Some(false) && !event.word("subtype").starts_with("error_");
        self.end = Some(if session.concluded {
            text.iter().for_each(|text| session.answer.push_line(text));
            Ok(())
        } else {
            let message = failure_message(event, text.as_deref(), &session.program);
            session.refusal = text;
            Err(self.failure(event, message))
        });
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
