//! What an agent's event stream tells Ralph: live activity while it runs, one report when it ends.

use serde::{Deserialize, Serialize};

use super::{Fault, Price};
use crate::model::AttemptCost;

/// Something the agent is doing right now, for displays only. Text is short and free of control codes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Activity {
    /// The session began, with this concrete model where the agent tells it.
    Started { model: Option<String> },
    /// The agent said something; the first line of it.
    Said { text: String },
    /// A tool (`Write`, `Bash`, …) and what it is used on: a path, a command.
    Tool { name: String, target: String },
    /// The agent waits for its service before it tries again.
    /// `max` is how often it allows itself to; `status` the HTTP status that led to it, where there was one.
    Retrying { attempt: u64, max: u64, status: Option<u16> },
    /// The service warned of a usage limit without refusing; 0 to 1 of it is used.
    LimitWarning { utilization: Option<f64> },
}

/// What a line of a log tells somebody who reads it: all of it, where an [`Activity`] is one short line.
#[derive(Clone, Debug, PartialEq)]
pub enum LogEntry {
    /// A line of output that is nothing but text, as it came.
    /// Of a long one only its beginning.
    Line {
        text: String,
        complete: bool,
    },
    /// A line among events that is none: nothing but text, as it came.
    NoEvent {
        text: String,
    },
    /// Something the agent said, whole and as it came.
    Said {
        text: String,
    },
    Did(Activity),
}

/// How the session ended, before signals and gate are looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Ending {
    /// The agent finished and its result text may be believed as far as signals go.
    #[default]
    Completed,
    /// It did not; `message` is the agent's structured error.
    Faulted {
        fault: Fault,
        message: String,
        /// Unix seconds when a limit is over, where the service told.
        resets_at: Option<i64>,
    },
}

/// Token counts as reported; `None` where the agent reported none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Input tokens, caches not included.
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
}

impl Usage {
    /// For programs that count what was read from and written to a cache as input too.
    pub(super) fn without_cached(self) -> Self {
        let cached = self.cache_read.unwrap_or(0).saturating_add(self.cache_write.unwrap_or(0));
        Self { input: self.input.map(|all| all.saturating_sub(cached)), ..self }
    }

    /// Both together; what neither counted stays unknown.
    pub(super) fn plus(self, more: Self) -> Self {
        let add = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (known, None) | (None, known) => known,
        };
        Self {
            input: add(self.input, more.input),
            output: add(self.output, more.output),
            cache_read: add(self.cache_read, more.cache_read),
            cache_write: add(self.cache_write, more.cache_write),
        }
    }
}

/// Everything one session's stream said, bounded in size whatever the agent printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentReport {
    pub ending: Ending,
    /// The final text, where signals are looked for.
    pub result_text: String,
    pub session_id: Option<String>,
    pub model: Option<String>,
    /// Cost in US dollars as reported; `None` is unknown, never zero.
    pub cost_usd: Option<f64>,
    pub usage: Usage,
    pub denials: Vec<String>,
    /// How often the agent had to try its service again.
    pub retries: u64,
    /// The last limit the service spoke of, allowed or not.
    pub limit: Option<LimitNotice>,
    /// The agent's last few actions, oldest first (`Write src/a.rs`, `Bash cargo test`).
    pub actions: Vec<String>,
}

impl AgentReport {
    /// What the session cost: as reported, else an estimate from its tokens and their price, else unknown. A model that
    /// the settings call free needs no estimate.
    pub fn cost_by(&self, price: Option<&Price>) -> Option<AttemptCost> {
        if let Some(usd) = self.cost_usd {
            return Some(AttemptCost::new(usd, false));
        }
        let price = price?;
        Some(AttemptCost::new(price.cost(&self.usage)?, !price.is_free()))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitNotice {
    pub status: String,
    /// Which limit (`five_hour`, `seven_day`, …).
    pub kind: Option<String>,
    pub resets_at: Option<i64>,
    pub utilization: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

impl std::fmt::Display for Exit {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(out, "exit code {code}"),
            Self::Signal(signal) => write!(out, "signal {signal}"),
        }
    }
}

/// Reads one session's output line by line; one per attempt.
pub trait StreamParser: Send {
    /// Takes one line without its line end. Lines over the reader's limit arrive cut, with `complete` false.
    fn line(&mut self, line: &[u8], complete: bool) -> Option<Activity>;
    /// Takes a line as [`Self::line`] does, and tells everything that is in it. Reading a log takes this one,
    /// a display of what happens now the other.
    fn entries(&mut self, line: &[u8], complete: bool) -> Vec<LogEntry>;
    /// What has come and was not told when the stream ended: words in the middle of a line, for instance.
    fn rest(&mut self) -> Vec<LogEntry> {
        Vec::new()
    }
    /// The final text, if the agent's last word was a successful result. A program that lingers after that, for
    /// something it left in the background, has nothing more to say. `None` where streams have no such word.
    fn conclusion(&self) -> Option<&str> {
        None
    }
    /// What the session has cost so far, where its stream tells that or its tokens before the end.
    fn cost_so_far(&self, _price: Option<&Price>) -> Option<f64> {
        None
    }
    /// Takes what standard error says went wrong, before the end: it explains a crash.
    fn stderr_error(&mut self, line: &str);
    fn finish(self: Box<Self>, exit: Exit) -> AgentReport;
}
