//! Codex as an agent: `codex exec --json`.
//!
//! Only a turn that ends with `turn.completed` is a success. An `error` is none yet: Codex tells so that it tries its
//! service again, and says `turn.failed` when it gives up. Errors carry nothing but a message, so the sentences that Codex
//! makes itself are what there is to go by ([`super::faults`]).

use jiff::civil::{self, DateTime, Time};
use jiff::{ToSpan, Zoned};

use super::event_fields::{Fields, MESSAGE, NAME, SHOWN, short, short_path};
use super::session::{ACTIONS, EventParser, EventReader, Failure, Session};
use super::{COMMAND, CredentialFile, Exit, Facts, Fault, LaunchRequest, Program, Setup, Usage};
use crate::sandbox::{Belongings, Place};
use crate::text::head;

/// What is known of Codex before it is started.
///
/// The models are the current one of each tier in the catalogue that this version brings along (`codex debug models`):
/// for easier tasks, for everyday work, for the most demanding. `OPENAI_API_KEY` is no credential: `codex exec` does
/// not read it.
const FACTS: Facts = Facts {
    program: "codex",
    models: &["gpt-6-luna", "gpt-6.1-sol", "gpt-6-astra"],
    tested: "0.166.0",
    install: "npm install -g @openai/codex",
    login: "run `codex login`, or set CODEX_API_KEY",
    credential_variables: &["CODEX_API_KEY", "CODEX_ACCESS_TOKEN"],
    credential_files: &[CredentialFile { moved_by: "CODEX_HOME", usual: ".codex", file: "auth.json" }],
    belongings: Belongings {
        state: &[Place::new("CODEX_HOME", ".codex", "")],
        copied: &[],
        commands: &[
            Place::new("CODEX_HOME", ".codex", "config.toml"),
            Place::new("CODEX_HOME", ".codex", "hooks.json"),
            Place::new("CODEX_HOME", ".codex", "rules"),
            Place::new("CODEX_HOME", ".codex", "prompts"),
            Place::new("CODEX_HOME", ".codex", "AGENTS.md"),
        ],
        variables: &["CODEX_*", "OPENAI_*", "AZURE_OPENAI_*"],
        needs: &[],
    },
};

/// Settings of Codex's own that an unattended session needs; all else is the user's.
///
/// Nobody is there to be told of an update, and each such question costs a name look-up. Without the last one a
/// session without a network never ends: Codex then asks again every minute, whatever its limits on retries, until
/// the attempt's time is over. How long a service is waited for is Ralph's to decide.
const SETTINGS: [&str; 3] = [
    "check_for_update_on_startup=false",
    "analytics.enabled=false",
    "features.unbounded_connection_retries=false",
];
/// Commands may then write below the work tree and in temporary directories. By itself Codex lets a session that
/// nobody watches write nothing at all. As a setting and not as a flag, because a flag may be given only once.
const SANDBOX: &str = "sandbox_mode=workspace-write";
/// How much of an error's message is looked at.
const ERROR_LIMIT: usize = 16 * 1024;

pub(super) const PROGRAM: Program =
    Program { facts: Some(FACTS), arguments, parser: EventParser::<CodexEvents>::boxed, ..COMMAND };

fn arguments(setup: &Setup, request: &LaunchRequest<'_>) -> Vec<String> {
    let mut words = vec!["exec", "--json", "--skip-git-repo-check"];
    words.extend(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
    if setup.skip_permissions {
        words.push("--dangerously-bypass-approvals-and-sandbox");
    } else {
        words.extend(["-c", SANDBOX]);
    }
    if let Some(model) = setup.named(request.model) {
        words.extend(["-m", model]);
    }
    words.into_iter().map(String::from).collect()
}

const TOKENS: [&str; 4] =
    ["input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens"];

#[derive(Debug)]
pub(super) struct CodexEvents {
    /// Where the agent works, which its stream does not say; paths below it are shown without it.
    dir: Option<String>,
    /// The local time, in which Codex says when a limit resets.
    now: fn() -> Zoned,
    /// The last words of the turn under way.
    last: Option<String>,
    /// Uses of tools that began and did not end yet; those that ended are told once.
    open: Vec<(String, String)>,
    /// How the last turn ended, if it did: well, or with this error.
    end: Option<Result<(), String>>,
    /// The last error, if the service did not answer since.
    trouble: Option<Failure>,
}

impl Default for CodexEvents {
    fn default() -> Self {
        let dir = std::env::current_dir().ok().map(|dir| dir.display().to_string());
        Self { dir, now: Zoned::now, last: None, open: Vec::new(), end: None, trouble: None }
    }
}

impl EventReader for CodexEvents {
    fn event(&mut self, event: &Fields<'_>, session: &mut Session) {
        match event.word("type").as_str() {
            "thread.started" => {
                session.id(event.name("thread_id"));
                session.start(None);
            }
            "turn.started" => (self.end, self.last) = (None, None),
            "item.started" => self.item(&event.object("item"), false, session),
            "item.completed" => self.item(&event.object("item"), true, session),
            "turn.completed" => {
                // The counts are the thread's so far. Of several turns the words add up: a signal still holds though
                // an afterthought came.
                if let Some(last) = self.last.take() {
                    session.answer.push_line(&last);
                }
                if let Some(tokens) = event.find("usage") {
                    session.report.usage = usage(&tokens);
                }
                (self.trouble, self.end) = (None, Some(Ok(())));
            }
            "turn.failed" => {
                let message = event.object("error").word("message");
                self.end = Some(Err(head(&message, ERROR_LIMIT).to_owned()));
            }
            "error" => self.error(&event.word("message"), session),
            _ => {}
        }
        session.concluded = self.end == Some(Ok(()));
    }

    fn end(&self, exit: Exit, session: &Session) -> Result<(), Failure> {
        // An end that may follow an answer: by itself, or because it was told to.
        let is_orderly = matches!(exit, Exit::Code(0 | 129 | 130 | 143) | Exit::Signal(_));
        let program = &session.program;
        match &self.end {
            Some(Ok(())) if is_orderly => Ok(()),
            Some(Ok(())) => {
                Err(Failure::new(Fault::Crash, format!("{program} failed after its answer ({exit})")))
            }
            Some(Err(message)) => {
                let mut failure = self.failure(message, Fault::Crash);
                if failure.message.is_empty() {
                    failure.message = format!("{program} failed without an error message");
                }
                Err(failure)
            }
            None => Err(session.unfinished("without a result", exit, self.trouble.as_ref())),
        }
    }
}

impl CodexEvents {
    #[cfg(test)]
    pub fn in_dir(dir: String, now: fn() -> Zoned) -> Self {
        Self { dir: Some(dir), now, ..Self::default() }
    }

    /// Something was said, done or noticed: it began, or it ended.
    fn item(&mut self, item: &Fields<'_>, ended: bool, session: &mut Session) {
        match item.word("type").as_str() {
            "agent_message" if ended => {
                self.trouble = None;
                if let Some(text) = item.text("text") {
                    self.last = Some(text.clone());
                    session.say(text);
                }
            }
            // A warning, such as the one that another model answers from here on.
            "error" => {
                let message = item.word("message");
                let other = message.strip_prefix("model rerouted: ");
                let other = other.and_then(|rest| rest.split_once(" -> ")?.1.split(' ').next());
                session.model(other.map(|model| short(model, NAME)));
            }
            _ => self.tools(item, ended, session),
        }
    }

    /// Uses of tools began, or ended; one that did both is told once.
    fn tools(&mut self, item: &Fields<'_>, ended: bool, session: &mut Session) {
        for (name, target) in uses(item, self.dir.as_deref()) {
            if ended && item.word("status") == "declined" {
                session.deny(name.clone());
            }
            let is_this = |open: &(String, String)| open.0 == name && open.1 == target;
            if let Some(place) = self.open.iter().position(is_this) {
                if ended {
                    self.open.swap_remove(place);
                }
                continue;
            }
            self.trouble = None;
            if !ended && self.open.len() < ACTIONS {
                self.open.push((name.clone(), target.clone()));
            }
            session.tool(&name, target);
        }
    }

    /// An error that is not the end: `Reconnecting... 1/5 (why)`, or the one that `turn.failed` repeats.
    fn error(&mut self, message: &str, session: &mut Session) {
        let message = head(message, ERROR_LIMIT);
        let Some(retry) = message.strip_prefix("Reconnecting... ") else {
            self.trouble = Some(self.failure(message, Fault::Crash));
            return;
        };
        let (count, why) = retry.split_once(" (").unwrap_or((retry, ""));
        let why = why.strip_suffix(')').unwrap_or(why);
        // Whatever the reason, the service has at least not answered.
        self.trouble = Some(self.failure(why, Fault::Network));
        let mut numbers = count.split('/').map(|number| number.parse().unwrap_or_default());
        let mut number = || numbers.next().unwrap_or_default();
        session.retry(number(), number(), status(why));
    }

    fn failure(&self, message: &str, otherwise: Fault) -> Failure {
        Failure {
            fault: fault(message).unwrap_or(otherwise),
            message: wording(message),
            resets_at: resets_at(message, &(self.now)()),
        }
    }
}

/// The class of an error, where Codex's words have one.
fn fault(message: &str) -> Option<Fault> {
    status(message)
        .and_then(Fault::of_status)
        .or_else(|| Fault::of_sentence(message))
        .or_else(|| is_unknown_model(message).then_some(Fault::Config))
}

/// The HTTP status Codex names, where it names one.
fn status(message: &str) -> Option<u16> {
    let rest = ["unexpected status ", "exceeded retry limit, last status: "]
        .into_iter()
        .find_map(|start| message.strip_prefix(start))?;
    rest.get(..3)?.parse().ok()
}

/// Of a model that is not there Codex tells only what the service says, which has kept to these words.
fn is_unknown_model(message: &str) -> bool {
    let Some(refusal) = Fields::of(message) else {
        let starts = ["The model `", "The requested model '"];
        return starts.iter().any(|start| message.starts_with(start)) && message.contains("does not exist");
    };
    let detail = refusal.word("detail");
    let is_of_account =
        detail.starts_with("The '") && detail.contains("' model is not supported when using Codex");
    is_of_account || refusal.object("error").word("code") == "model_not_found"
}

/// One line for people: of a refused request's answer in JSON only its text.
fn wording(message: &str) -> String {
    let refusal = Fields::of(message);
    let text = refusal.and_then(|refusal| {
        let error = refusal.object("error").text("message");
        error.or_else(|| refusal.text("detail"))
    });
    short(text.as_deref().unwrap_or(message), MESSAGE)
}

/// Unix seconds when a usage limit is over, as Codex tells it to people at `now`: `… try again at 9:17 AM.` for a time
/// today, and `… at Nov 18th, 2026 9:17 AM.` for a later one, both in the zone of the machine. The seconds are cut off, so
/// that the limit is over for sure only when that minute is.
fn resets_at(message: &str, now: &Zoned) -> Option<i64> {
    let at = message.to_ascii_lowercase().rfind("try again at ")?;
    let told = message.get(at + "try again at ".len()..)?;
    let told = told.trim_end_matches('.');
    let minute = match told.rsplit_once(", ") {
        Some((day, rest)) => {
            // `Nov 18th` without the letters after its number.
            let day = day.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
            DateTime::strptime("%b %d, %Y %I:%M %p", format!("{day}, {rest}"))
        }
        None => Time::strptime("%I:%M %p", told).map(|time| {
            // Just after midnight it may have been told yesterday.
            let was_yesterday = now.time() < civil::time(0, 2, 0, 0) && time >= civil::time(23, 58, 0, 0);
            let yesterday = now.date().yesterday().ok().filter(|_| was_yesterday);
            yesterday.unwrap_or(now.date()).to_datetime(time)
        }),
    };
    let over = minute.ok()?.checked_add(1.minute()).ok()?;
    let over = over.to_zoned(now.time_zone().clone()).ok()?;
    Some(over.timestamp().as_second())
}

/// Codex prints zeros where its service counted nothing. The output includes the model's reasoning.
fn usage(tokens: &Fields<'_>) -> Usage {
    match tokens.usage(TOKENS) {
        Usage { input: Some(0), output: Some(0), .. } => Usage::default(),
        usage => usage.without_cached(),
    }
}

/// The tools an item uses and what on; a change of several files is several. Empty for what is said, thought or planned.
/// Ids are not read: a search has two.
fn uses(item: &Fields<'_>, dir: Option<&str>) -> Vec<(String, String)> {
    let one = |name: &str, target: &str| vec![(short(name, NAME), short(target, SHOWN))];
    match item.word("type").as_str() {
        "command_execution" => one("Bash", command(&item.word("command"))),
        "file_change" => {
            let changes = item.objects("changes").into_iter().take(ACTIONS);
            let changed = |change: Fields<'_>| {
                let name = match change.word("kind").as_str() {
                    "add" => "Write",
                    "delete" => "Delete",
                    _ => "Edit",
                };
                (name.to_owned(), short_path(&change.word("path"), dir))
            };
            changes.map(changed).collect()
        }
        "mcp_tool_call" => one(&format!("{}.{}", item.word("server"), item.word("tool")), ""),
        "collab_tool_call" => one(&item.word("tool"), &item.word("prompt")),
        // What is looked for may be known only when it was found.
        "web_search" if !item.word("query").is_empty() => one("WebSearch", &item.word("query")),
        _ => Vec::new(),
    }
}

/// A command without the shell it is run by: `/bin/bash -lc 'cargo test'` is `cargo test`.
fn command(words: &str) -> &str {
    // Only the start is shown; of a longer text the closing quote may be cut off with the rest.
    let words = head(words, 16 * SHOWN);
    let script = words
        .split_once(" -lc ")
        .or_else(|| words.split_once(" -c "))
        .filter(|(shell, _)| shell.ends_with("sh") && !shell.contains(char::is_whitespace));
    let script = script.map_or(words, |(_, script)| script);
    let quote = script.chars().next().filter(|sign| ['\'', '"'].contains(sign) && script != words);
    let Some(quote) = quote else { return script };
    let inside = script.strip_prefix(quote).unwrap_or(script);
    inside.strip_suffix(quote).unwrap_or(inside)
}

#[cfg(test)]
mod tests {
    use jiff::tz::{Offset, TimeZone};

    use super::*;

    /// 2026-11-16, 09:16:30, an hour east of Greenwich.
    fn now() -> Zoned {
        let zone = TimeZone::fixed(Offset::constant(1));
        let time: DateTime = "2026-11-16T09:16:30".parse().unwrap();
        time.to_zoned(zone).unwrap()
    }

    #[test]
    fn what_was_told_just_before_midnight_is_not_a_day_ahead() {
        let midnight: DateTime = "2026-11-17T00:00:20".parse().unwrap();
        let midnight = midnight.to_zoned(TimeZone::UTC).unwrap();
        let told = |message: &str| {
            let second = resets_at(message, &midnight)?;
            Some(jiff::Timestamp::from_second(second).unwrap().to_string())
        };
        let just_over = told("Try again at 11:59 PM.");
        assert_eq!(just_over.as_deref(), Some("2026-11-17T00:00:00Z"));
        let ahead = told("Try again at 11:00 PM.");
        assert_eq!(ahead.as_deref(), Some("2026-11-17T23:01:00Z"));
    }

    fn told(message: &str) -> Option<String> {
        let second = resets_at(message, &now())?;
        Some(jiff::Timestamp::from_second(second).unwrap().to_string())
    }

    #[test]
    fn times_of_today_and_of_later_days() {
        for (message, expected) in [
            ("You’ve hit your usage limit. Try again at 9:17 AM.", "2026-11-16T08:18:00Z"),
            ("… to purchase more credits or try again at 12:00 PM.", "2026-11-16T11:01:00Z"),
            ("… or try again at 12:59 AM.", "2026-11-16T00:00:00Z"),
            ("… Try again at Nov 18th, 2026 9:17 AM.", "2026-11-18T08:18:00Z"),
            ("… or try again at Jan 1st, 2027 11:59 PM.", "2027-01-01T23:00:00Z"),
            ("… or try again at Dec 2nd, 2026 1:05 PM.", "2026-12-02T12:06:00Z"),
        ] {
            assert_eq!(told(message).as_deref(), Some(expected), "{message}");
        }
    }

    #[test]
    fn no_time_is_none() {
        for message in [
            "",
            "You’ve hit your usage limit. Try again later.",
            "try again at ",
            "try again at noon.",
            "try again at 25:00 AM.",
            "try again at Feb 30th, 2026 9:17 AM.",
            "try again at , .",
        ] {
            assert_eq!(told(message), None, "{message}");
        }
    }

    #[test]
    fn a_command_is_shown_without_its_shell() {
        for (words, expected) in [
            ("/bin/bash -lc 'cargo test'", "cargo test"),
            ("bash -lc ls", "ls"),
            ("/usr/bin/zsh -c \"echo 'b' $C\"", "echo 'b' $C"),
            ("cargo run -c 'x'", "cargo run -c 'x'"),
            ("git -c a=b commit", "git -c a=b commit"),
            ("make", "make"),
            ("", ""),
            ("sh -c '", ""),
        ] {
            assert_eq!(command(words), expected, "{words}");
        }
    }
}
