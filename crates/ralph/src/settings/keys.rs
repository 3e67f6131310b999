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
        "The agent to use: claude, or one of [agents.NAME].",
    ),
    key(
        "run",
        "fallback",
        Kind::Words,
        "",
        "Agents that stand in, in this order, where the agent is limited or out of order.",
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
        "cost-optimized",
        "How the model of an attempt is chosen.",
    ),
    key(
        "run",
        "model",
        Kind::Text,
        "",
        "The model a strategy starts from.",
    ),
    key(
        "run",
        "value_usd",
        Kind::Number,
        "5",
        "What a done task is worth; `adaptive` asks a human rather than spend more.",
    ),
    key(
        "run",
        "limit",
        Kind::Count,
        "",
        "Attempts one run may make.",
    ),
    key(
        "run",
        "max_cost_usd",
        Kind::Number,
        "",
        "What one run may cost; no attempt starts above it.",
    ),
    key(
        "run",
        "max_cost_usd_per_task",
        Kind::Number,
        "",
        "What one task may cost, over all runs; then it waits for a human.",
    ),
    key(
        "run",
        "max_cost_usd_per_day",
        Kind::Number,
        "",
        "What all runs of one day (UTC) may cost.",
    ),
    key(
        "run",
        "max_minutes_per_task",
        Kind::Number,
        "",
        "How long agents may work on one task, over all runs; then it waits for a human.",
    ),
    key(
        "run",
        "max_minutes",
        Kind::Number,
        "",
        "How long one run may take; the attempt under way is finished.",
    ),
    key(
        "run",
        "max_attempts",
        Kind::Count,
        "5",
        "Failures in a row after which a task waits for a human.",
    ),
    key(
        "run",
        "max_total_attempts",
        Kind::Count,
        "15",
        "Counted attempts on a task and its fix tasks, over all runs, after which it is blocked until you give a go-ahead.",
    ),
    key(
        "run",
        "escalate_after",
        Kind::Count,
        "2",
        "Failures in a row after which the next model is tried, unless there is progress.",
    ),
    key(
        "run",
        "stuck_after",
        Kind::Count,
        "3",
        "Failures in a row after which a task is stuck: its prompt warns and asks for a diagnosis.",
    ),
    key(
        "run",
        "attempt_timeout",
        Kind::Duration,
        "30m",
        "How long one attempt may take; 0 for no limit.",
    ),
    key(
        "run",
        "idle_timeout",
        Kind::Duration,
        "10m",
        "How long an agent may be silent; 0 switches it off.",
    ),
    key(
        "run",
        "grace",
        Kind::Duration,
        "5s",
        "How long a process has between TERM and KILL.",
    ),
    key(
        "run",
        "service_retries",
        Kind::CountOrZero,
        "4",
        "How often a troubled service is tried again.",
    ),
    key(
        "run",
        "backoff",
        Kind::Duration,
        "2s",
        "The first wait for a troubled service; doubles each time.",
    ),
    key(
        "run",
        "backoff_cap",
        Kind::Duration,
        "5m",
        "The longest such wait.",
    ),
    key(
        "run",
        "max_wait",
        Kind::Duration,
        "24h",
        "How long the end of a usage limit is waited for; 0 for not at all.",
    ),
    key(
        "run",
        "pause_on",
        Kind::Choice(&["never", "breaker", "stuck", "failure"]),
        "breaker",
        "When a person at a terminal is asked.",
    ),
    key(
        "run",
        "pause_timeout",
        Kind::Duration,
        "10m",
        "How long such a question waits for an answer.",
    ),
    key(
        "memory",
        "budget_chars",
        Kind::CountOrZero,
        "5000",
        "Characters of a prompt that memory may take.",
    ),
    key(
        "memory",
        "max_learnings",
        Kind::CountOrZero,
        "5",
        "Learnings shown in one prompt.",
    ),
    key(
        "memory",
        "agents_md",
        Kind::FlagOrPath,
        "true",
        "Whether AGENTS.md is kept, or where.",
    ),
    key(
        "breaker",
        "threshold",
        Kind::Count,
        "5",
        "Failures in a row, over all tasks, that open the breaker.",
    ),
    key(
        "breaker",
        "on_open",
        Kind::Choice(&["exit", "wait"]),
        "exit",
        "What an open breaker does to a run.",
    ),
    key(
        "breaker",
        "cooldown",
        Kind::Duration,
        "15m",
        "How long `wait` waits before it probes.",
    ),
    key(
        "recovery",
        "enabled",
        Kind::Flag,
        "false",
        "Whether a failed task gets a fix task.",
    ),
    key(
        "recovery",
        "max_fix_tasks_per_original",
        Kind::Count,
        "3",
        "Fix tasks one task may get.",
    ),
    key(
        "recovery",
        "max_fix_task_depth",
        Kind::Count,
        "3",
        "How deep fixes of fixes may go.",
    ),
    key(
        "gate",
        "verify",
        Kind::Text,
        "",
        "The gate of tasks that have none of their own.",
    ),
    key(
        "gate",
        "timeout",
        Kind::Duration,
        "10m",
        "How long a gate, or a commit, may take; 0 for no limit.",
    ),
    key(
        "gate",
        "retries",
        Kind::CountOrZero,
        "0",
        "How often a failing gate is run again; a pass then is a flake.",
    ),
    key(
        "gate",
        "precheck",
        Kind::Flag,
        "false",
        "Whether gates are run before a task's first attempt.",
    ),
    key(
        "gate",
        "require",
        Kind::Flag,
        "false",
        "Whether a run refuses to start while tasks in its scope have no gate.",
    ),
    key(
        "git",
        "commit",
        Kind::Choice(&["off", "on-success"]),
        "off",
        "Whether Ralph commits done work.",
    ),
    key(
        "git",
        "rollback",
        Kind::Choice(&["off", "stash", "reset"]),
        "off",
        "What happens to the work of a failed attempt.",
    ),
    key("git", "branch", Kind::Text, "", "The branch to work on."),
    key(
        "git",
        "on_dirty",
        Kind::Choice(&["continue", "refuse"]),
        "continue",
        "What a run that commits or rolls back does where files are changed and uncommitted at its start.",
    ),
    key(
        "git",
        "query_timeout",
        Kind::Duration,
        "10s",
        "How long git may take to answer before the run ends. Large repositories, and those where git took long before, get more.",
    ),
    key(
        "notify",
        "on",
        Kind::Choices(&["done", "blocked", "breaker", "limit", "budget", "error"]),
        "done, blocked, breaker, limit, budget, error",
        "What a person is told of.",
    ),
    key(
        "notify",
        "webhook",
        Kind::Text,
        "",
        "Where notices are posted as JSON.",
    ),
    key(
        "notify",
        "webhook_secret",
        Kind::Text,
        "",
        "What posts are signed with (HMAC-SHA256).",
    ),
    key(
        "notify",
        "webhook_timeout",
        Kind::Duration,
        "10s",
        "How long one post may take; 0 for no limit.",
    ),
    key(
        "notify",
        "webhook_retries",
        Kind::CountOrZero,
        "3",
        "How often a post that failed is tried again.",
    ),
    key(
        "notify",
        "command",
        Kind::Text,
        "",
        "A command that gets each notice as JSON on its standard input.",
    ),
    key(
        "notify",
        "bell",
        Kind::Flag,
        "false",
        "Whether the terminal rings.",
    ),
    key(
        "notify",
        "desktop",
        Kind::Flag,
        "false",
        "Whether the desktop shows notices, where there is one.",
    ),
    key(
        "hooks",
        "before_run",
        Kind::Text,
        "",
        "A command before a run, with the event as JSON on its standard input.",
    ),
    key(
        "hooks",
        "before_attempt",
        Kind::Text,
        "",
        "A command before an attempt.",
    ),
    key(
        "hooks",
        "after_attempt",
        Kind::Text,
        "",
        "A command after an attempt.",
    ),
    key(
        "hooks",
        "after_run",
        Kind::Text,
        "",
        "A command after a run.",
    ),
    key(
        "hooks",
        "timeout",
        Kind::Duration,
        "1m",
        "How long a hook may take; 0 for no limit.",
    ),
    key(
        "hooks",
        "veto",
        Kind::Flag,
        "true",
        "Whether a before_… hook that fails stops the run.",
    ),
    key(
        "logs",
        "keep_days",
        Kind::CountOrZero,
        "30",
        "How long raw logs are kept; 0 for ever.",
    ),
    key(
        "logs",
        "max_mb",
        Kind::CountOrZero,
        "1024",
        "How much room raw logs may take; the oldest go first. 0 for any.",
    ),
    key(
        "logs",
        "max_attempt_mb",
        Kind::CountOrZero,
        "256",
        "How large the raw log of one attempt may grow; past that, only its last half is kept, and the log says so. 0 for any.",
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
