//! Every setting there is: the one table that reading, checking, documentation and `config show` share.

/// What kind of value a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A whole number from 1.
    Count,
    /// A whole number from 0.
    CountOrZero,
    /// A number above 0.
    Number,
    /// A duration: seconds, or with a unit such as `30m`.
    Duration,
    /// `true` or `false`.
    Flag,
    /// `true`, `false` or a path.
    FlagOrPath,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of names.
    Words,
    /// A list of some of these words.
    Choices(&'static [&'static str]),
}

/// A setting.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its table in `.ralph.toml`.
    pub section: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What it is where nothing sets it; empty for nothing.
    pub default: &'static str,
    /// What it does.
    pub doc: &'static str,
}

const fn key(
    section: &'static str,
    name: &'static str,
    kind: Kind,
    default: &'static str,
    doc: &'static str,
) -> Key {
    Key {
        section,
        name,
        kind,
        default,
        doc,
    }
}

/// All of them, in the order they are documented.
pub const KEYS: &[Key] = &[
    key(
        "run",
        "agent",
        Kind::Text,
        "claude",
        "The agent to use: a built-in one such as `claude`, or a name from `[agents.NAME]`.",
    ),
    key(
        "run",
        "fallback",
        Kind::Words,
        "",
        "Fallback agents, in order, used when the main agent is rate-limited or unavailable.",
    ),
    key(
        "run",
        "strategy",
        Kind::Choice(&[
            "fixed",
            "escalate",
            "cost-optimized",
            "plan-then-execute",
            "adaptive",
        ]),
        "adaptive",
        "How Ralph chooses the model for each attempt.",
    ),
    key(
        "run",
        "model",
        Kind::Text,
        "",
        "The model the strategy starts with.",
    ),
    key(
        "run",
        "value_usd",
        Kind::Number,
        "15",
        "What a finished task is worth, in dollars. `adaptive` blocks a task instead of spending more on it.",
    ),
    key(
        "run",
        "limit",
        Kind::Count,
        "",
        "Maximum number of attempts in one run.",
    ),
    key(
        "run",
        "max_cost_usd",
        Kind::Number,
        "",
        "Cost limit of one run, in dollars. No new attempt starts once it is reached.",
    ),
    key(
        "run",
        "max_cost_usd_per_task",
        Kind::Number,
        "",
        "Cost limit of one task over all runs, in dollars. The task is blocked once it is reached.",
    ),
    key(
        "run",
        "max_cost_usd_per_day",
        Kind::Number,
        "",
        "Cost limit of all runs on one day (UTC), in dollars.",
    ),
    key(
        "run",
        "max_minutes_per_task",
        Kind::Number,
        "",
        "Time limit of one task over all runs, in minutes. The task is blocked once it is reached.",
    ),
    key(
        "run",
        "max_minutes",
        Kind::Number,
        "",
        "Time limit of one run, in minutes. The current attempt still finishes.",
    ),
    key(
        "run",
        "max_attempts",
        Kind::Count,
        "5",
        "Consecutive failures after which a task is blocked and needs you.",
    ),
    key(
        "run",
        "max_total_attempts",
        Kind::Count,
        "15",
        "Counted attempts on a task and its fix tasks, over all runs, after which the task is blocked until you allow more.",
    ),
    key(
        "run",
        "escalate_after",
        Kind::Count,
        "2",
        "Consecutive failures after which Ralph switches to the next stronger model, unless there is progress.",
    ),
    key(
        "run",
        "stuck_after",
        Kind::Count,
        "3",
        "Consecutive failures after which a task counts as stuck: its prompt then warns the agent and asks for a diagnosis.",
    ),
    key(
        "run",
        "accept_green",
        Kind::Flag,
        "false",
        "Count an attempt that ends without reporting a result as done if its gate passes and did not pass before the attempt. Gates then run before every attempt, too.",
    ),
    key(
        "run",
        "attempt_timeout",
        Kind::Duration,
        "30m",
        "Time limit of one attempt. 0 means no limit.",
    ),
    key(
        "run",
        "idle_timeout",
        Kind::Duration,
        "10m",
        "How long an agent may print nothing before Ralph stops it. 0 means no limit.",
    ),
    key(
        "run",
        "grace",
        Kind::Duration,
        "5s",
        "How long a process has to exit after SIGTERM before Ralph sends SIGKILL.",
    ),
    key(
        "run",
        "service_retries",
        Kind::CountOrZero,
        "4",
        "How often Ralph retries after an API or network error.",
    ),
    key(
        "run",
        "backoff",
        Kind::Duration,
        "2s",
        "Delay before the first such retry. It doubles with each retry.",
    ),
    key(
        "run",
        "backoff_cap",
        Kind::Duration,
        "5m",
        "Longest delay between retries.",
    ),
    key(
        "run",
        "max_wait",
        Kind::Duration,
        "24h",
        "Longest time to wait for a usage limit to reset. 0 means do not wait.",
    ),
    key(
        "run",
        "pause_on",
        Kind::Choice(&["never", "breaker", "stuck", "failure"]),
        "breaker",
        "When a run in a terminal pauses and asks you what to do.",
    ),
    key(
        "run",
        "pause_timeout",
        Kind::Duration,
        "10m",
        "How long such a pause waits for your answer.",
    ),
    key(
        "memory",
        "budget_chars",
        Kind::CountOrZero,
        "5000",
        "Maximum size of the memory part of a prompt, in characters.",
    ),
    key(
        "memory",
        "max_learnings",
        Kind::CountOrZero,
        "5",
        "Maximum number of learnings in one prompt.",
    ),
    key(
        "memory",
        "agents_md",
        Kind::FlagOrPath,
        "true",
        "Whether Ralph maintains AGENTS.md, or the path to use instead.",
    ),
    key(
        "breaker",
        "threshold",
        Kind::Count,
        "5",
        "Consecutive failures, over all tasks, that open the circuit breaker.",
    ),
    key(
        "breaker",
        "on_open",
        Kind::Choice(&["exit", "wait"]),
        "exit",
        "What a run does when the circuit breaker opens: exit, or wait and run one trial attempt.",
    ),
    key(
        "breaker",
        "cooldown",
        Kind::Duration,
        "15m",
        "With `on_open = \"wait\"`: how long to wait before the trial attempt.",
    ),
    key(
        "recovery",
        "enabled",
        Kind::Flag,
        "false",
        "Whether Ralph adds a fix task when a task fails.",
    ),
    key(
        "recovery",
        "max_fix_tasks_per_original",
        Kind::Count,
        "3",
        "Maximum number of fix tasks per task.",
    ),
    key(
        "recovery",
        "max_fix_task_depth",
        Kind::Count,
        "3",
        "How deeply fix tasks may be nested (a fix of a fix has depth 2).",
    ),
    key(
        "gate",
        "verify",
        Kind::Text,
        "",
        "The gate for tasks that have none of their own.",
    ),
    key(
        "gate",
        "timeout",
        Kind::Duration,
        "10m",
        "Time limit of a gate or a commit. 0 means no limit.",
    ),
    key(
        "gate",
        "retries",
        Kind::CountOrZero,
        "0",
        "How often to rerun a failing gate. If a rerun passes, the gate is recorded as flaky.",
    ),
    key(
        "gate",
        "precheck",
        Kind::Flag,
        "false",
        "Whether to run a task's gate before its first attempt.",
    ),
    key(
        "gate",
        "require",
        Kind::Flag,
        "false",
        "Whether a run refuses to start while a task in its scope has no gate.",
    ),
    key(
        "git",
        "commit",
        Kind::Choice(&["off", "on-success"]),
        "off",
        "Whether Ralph commits the changes of a finished task.",
    ),
    key(
        "git",
        "rollback",
        Kind::Choice(&["off", "stash", "reset"]),
        "off",
        "What to do with the changes of a failed attempt.",
    ),
    key(
        "git",
        "branch",
        Kind::Text,
        "",
        "The branch to work on. Ralph creates it if it does not exist.",
    ),
    key(
        "git",
        "on_dirty",
        Kind::Choice(&["continue", "refuse"]),
        "continue",
        "What to do when the working tree is dirty at start, if Ralph commits or rolls back.",
    ),
    key(
        "git",
        "query_timeout",
        Kind::Duration,
        "10s",
        "How long a git query may take before the run stops with an error. Ralph allows more in large or slow repositories.",
    ),
    key(
        "notify",
        "on",
        Kind::Choices(&["done", "blocked", "breaker", "limit", "budget", "error"]),
        "done, blocked, breaker, limit, budget, error",
        "Events that send a notification.",
    ),
    key(
        "notify",
        "webhook",
        Kind::Text,
        "",
        "URL that receives each notification as a JSON POST.",
    ),
    key(
        "notify",
        "webhook_secret",
        Kind::Text,
        "",
        "Secret that signs webhook requests (HMAC-SHA256).",
    ),
    key(
        "notify",
        "webhook_timeout",
        Kind::Duration,
        "10s",
        "Time limit of one webhook request. 0 means no limit.",
    ),
    key(
        "notify",
        "webhook_retries",
        Kind::CountOrZero,
        "3",
        "How often Ralph retries a failed webhook request.",
    ),
    key(
        "notify",
        "command",
        Kind::Text,
        "",
        "Command that receives each notification as JSON on stdin.",
    ),
    key(
        "notify",
        "bell",
        Kind::Flag,
        "false",
        "Whether to ring the terminal bell.",
    ),
    key(
        "notify",
        "desktop",
        Kind::Flag,
        "false",
        "Whether to show desktop notifications, where a desktop is available.",
    ),
    key(
        "hooks",
        "before_run",
        Kind::Text,
        "",
        "Command to run before a run. Hooks receive the event as JSON on stdin.",
    ),
    key(
        "hooks",
        "before_attempt",
        Kind::Text,
        "",
        "Command to run before each attempt.",
    ),
    key(
        "hooks",
        "after_attempt",
        Kind::Text,
        "",
        "Command to run after each attempt.",
    ),
    key(
        "hooks",
        "after_run",
        Kind::Text,
        "",
        "Command to run after a run.",
    ),
    key(
        "hooks",
        "timeout",
        Kind::Duration,
        "1m",
        "Time limit of one hook. 0 means no limit.",
    ),
    key(
        "hooks",
        "veto",
        Kind::Flag,
        "true",
        "Whether a failing `before_run` or `before_attempt` hook stops the run.",
    ),
    key(
        "logs",
        "keep_days",
        Kind::CountOrZero,
        "30",
        "How many days to keep raw logs. 0 means forever.",
    ),
    key(
        "logs",
        "max_mb",
        Kind::CountOrZero,
        "1024",
        "Maximum total size of raw logs, in MB. Ralph deletes the oldest first. 0 means no limit.",
    ),
    key(
        "logs",
        "max_attempt_mb",
        Kind::CountOrZero,
        "256",
        "Maximum size of one attempt's raw log, in MB. A larger log keeps only its end and says so. 0 means no limit.",
    ),
];

/// The setting with this name.
pub fn find(section: &str, name: &str) -> Option<&'static Key> {
    KEYS.iter()
        .find(|key| key.section == section && key.name == name)
}

/// The words that a setting such as `git.commit` takes; none where it takes anything else.
pub fn choices(name: &str) -> &'static [&'static str] {
    let key = name
        .split_once('.')
        .and_then(|(section, name)| find(section, name));
    match key.map(|key| key.kind) {
        Some(Kind::Choice(words) | Kind::Choices(words)) => words,
        Some(Kind::Flag | Kind::FlagOrPath) => &["true", "false"],
        _ => &[],
    }
}

/// The sections there are, `agents` included.
pub fn sections() -> Vec<&'static str> {
    let mut sections: Vec<&str> = KEYS.iter().map(|key| key.section).collect();
    sections.push("agents");
    sections.dedup();
    sections
}

/// The candidate most like a word, if one is near enough to be meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_02_every_key_of_the_design_is_there() {
        for (section, names) in [
            (
                "run",
                "agent strategy model limit max_cost_usd max_minutes max_attempts max_total_attempts attempt_timeout idle_timeout \
                 pause_on pause_timeout",
            ),
            ("memory", "budget_chars max_learnings agents_md"),
            ("breaker", "threshold on_open cooldown"),
            (
                "recovery",
                "enabled max_fix_tasks_per_original max_fix_task_depth",
            ),
            ("gate", "verify timeout retries require"),
            ("git", "commit rollback branch"),
        ] {
            for name in names.split_whitespace() {
                assert!(find(section, name).is_some(), "[{section}] {name}");
            }
        }
    }

    #[test]
    fn a_slip_of_the_finger_finds_its_key() {
        let names = || KEYS.iter().map(|key| key.name);
        assert_eq!(nearest("max_atempts", names()), Some("max_attempts"));
        assert_eq!(nearest("timout", names()), Some("timeout"));
        assert_eq!(nearest("zzz", names()), None);
    }
}
