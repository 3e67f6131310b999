//! How a session ended, and what was amiss when it did.

use jiff::Zoned;

use super::super::strays::Strays;
use super::super::{Ending, Exit, Fault, LimitNotice};
use super::classify::{fault, known, wording};
use super::resets::resets_at;

/// How much of an error's message is looked at.
const ERROR_LIMIT: usize = 16 * 1024;

/// What the stream said about its end so far.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// How the last turn ended, if it did.
    pub end: Option<End>,
    /// The last error, if the service did not answer since.
    pub trouble: Option<Trouble>,
    /// Lines that were cut at the reader's limit and so could not be read.
    pub cut_lines: u64,
}

/// How a turn ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With an answer.
    Completed,
    /// In Codex's words.
    Failed(String),
}

/// What went wrong between Codex and its service.
#[derive(Debug)]
pub(super) struct Trouble {
    fault: Fault,
    message: String,
}

impl Trouble {
    /// An error in Codex's words.
    pub fn new(message: &str) -> Self {
        Self {
            fault: fault(message),
            message: message.to_owned(),
        }
    }

    /// One that made Codex try again: whatever the reason, it has at least not been answered.
    pub fn retried(message: &str) -> Self {
        Self {
            fault: known(message).unwrap_or(Fault::Network),
            message: message.to_owned(),
        }
    }
}

impl Outcome {
    /// The end of a session whose process ended like this, and what it printed besides.
    pub fn ending(self, exit: Exit, now: fn() -> Zoned, program: &str, strays: &Strays) -> Ending {
        let how = match exit {
            Exit::Code(code) => format!("exit code {code}"),
            Exit::Signal(signal) => format!("signal {signal}"),
        };
        match self.end {
            Some(End::Completed) if is_orderly(exit) => Ending::Completed,
            Some(End::Completed) => {
                let told = format!("{program} failed after its answer ({how})");
                faulted(None, told, now)
            }
            Some(End::Failed(message)) => {
                let told = match wording(&message) {
                    words if words.is_empty() => {
                        format!("{program} failed without an error message")
                    }
                    words => words,
                };
                faulted(Some(&Trouble::new(&message)), told, now)
            }
            None => {
                let cut = match self.cut_lines {
                    0 => String::new(),
                    count => format!("; output lines too long to read: {count}"),
                };
                let why = self.trouble.as_ref().map(|it| wording(&it.message));
                let why = why.filter(|why| !why.is_empty());
                let why = why.map(|why| format!(": {why}"));
                let why = why.unwrap_or_else(|| strays.told());
                let told = format!("{program} ended without a result ({how}{cut}){why}");
                faulted(self.trouble.as_ref(), told, now)
            }
        }
    }
}

fn faulted(trouble: Option<&Trouble>, message: String, now: fn() -> Zoned) -> Ending {
    let fault = trouble.map_or(Fault::Crash, |trouble| trouble.fault);
    let limited = trouble.filter(|_| fault == Fault::RateLimit);
    Ending::Faulted {
        fault,
        message,
        resets_at: limited.and_then(|trouble| resets_at(&trouble.message, &now())),
    }
}

/// The limit that ended a session.
pub(super) fn limit(ending: &Ending) -> Option<LimitNotice> {
    match ending {
        Ending::Faulted {
            fault: Fault::RateLimit,
            resets_at,
            ..
        } => Some(LimitNotice {
            status: "rejected".into(),
            kind: None,
            resets_at: *resets_at,
            utilization: None,
        }),
        _ => None,
    }
}

/// The start of an error's message.
pub(super) fn head(message: &str) -> &str {
    let end = message.floor_char_boundary(message.len().min(ERROR_LIMIT));
    message.get(..end).unwrap_or_default()
}

/// Whether an end is one that may follow an answer: by itself, or because it was told to.
fn is_orderly(exit: Exit) -> bool {
    matches!(exit, Exit::Code(0 | 129 | 130 | 143) | Exit::Signal(_))
}
