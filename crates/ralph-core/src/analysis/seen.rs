//! A failure made ready for reading: its lines clean and bounded, and what makes it the same as another.

use super::input::Fact;
use crate::diagnose::reports_error;
use crate::text::{clean, one_line};

/// How many lines of a message are read, and how much of each.
const MAX_LINES: usize = 200;
const MAX_LINE_CHARS: usize = 500;

/// Names longer than this are not names.
const NAME_CHARS: usize = 40;

/// A line of a message, and the same in lower case: byte positions agree.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) lower: String,
}

/// What makes two failures the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sameness {
    /// The attempt took too long, whatever was on screen by then.
    TimedOut,
    /// The fingerprints agree.
    Coarse(String),
    /// There is no fingerprint, because the agent just ended.
    NoSignal,
    /// The messages agree but for their numbers.
    Message(String),
}

/// A failure and what can be read from its message.
#[derive(Clone, Debug)]
pub(super) struct Seen<'f> {
    pub(super) fact: &'f Fact,
    pub(super) lines: Vec<Line>,
    pub(super) sameness: Sameness,
}

impl<'f> Seen<'f> {
    pub(super) fn new(fact: &'f Fact) -> Self {
        let lines: Vec<Line> = clean(&fact.message)
            .lines()
            .take(MAX_LINES)
            .map(|line| one_line(line, MAX_LINE_CHARS))
            .filter(|line| !line.is_empty())
            .map(|text| Line {
                lower: text.to_ascii_lowercase(),
                text,
            })
            .collect();
        let sameness = if timed_out(fact) {
            Sameness::TimedOut
        } else if let Some(coarse) = fact.coarse.as_ref().filter(|coarse| !coarse.is_empty()) {
            Sameness::Coarse(coarse.clone())
        } else if fact.outcome == "no_sigil" {
            Sameness::NoSignal
        } else {
            match telling(&lines) {
                Some(line) => Sameness::Message(without_numbers(&line.lower)),
                None => Sameness::Message(kind(fact)),
            }
        };
        Self {
            fact,
            lines,
            sameness,
        }
    }

    /// The line that says best what went wrong.
    pub(super) fn telling(&self) -> Option<&str> {
        telling(&self.lines).map(|line| line.text.as_str())
    }

    /// What kind of failure it was, in a few words.
    pub(super) fn kind(&self) -> String {
        kind(self.fact)
    }

    pub(super) fn timed_out(&self) -> bool {
        timed_out(self.fact)
    }

    pub(super) fn is_error_type(&self, wanted: &[&str]) -> bool {
        is_error_type(self.fact, wanted)
    }

    /// The task's name, for people.
    pub(super) fn name(&self) -> String {
        let name = self.fact.key.as_deref().unwrap_or(&self.fact.task);
        let name = one_line(name, NAME_CHARS).replace('`', "'");
        if name.is_empty() {
            "TASK".to_owned()
        } else {
            name
        }
    }

    /// The task's name as a word of a command that somebody may copy into a shell.
    pub(super) fn argument(&self) -> &str {
        [self.fact.key.as_deref(), Some(self.fact.task.as_str())]
            .into_iter()
            .flatten()
            .find(|name| is_plain_word(name))
            .unwrap_or("TASK")
    }
}

fn timed_out(fact: &Fact) -> bool {
    is_error_type(fact, &["timeout", "idle_timeout"])
}

fn is_error_type(fact: &Fact, wanted: &[&str]) -> bool {
    let own = fact.error_type.as_deref();
    own.is_some_and(|own| wanted.contains(&own))
}

fn kind(fact: &Fact) -> String {
    let words = match (fact.error_type.as_deref(), fact.outcome.as_str()) {
        (Some("timeout" | "idle_timeout"), _) => "timed out",
        (Some("crash"), _) => "the agent crashed",
        (Some(other), _) if !other.trim().is_empty() => other,
        (_, "no_sigil") => "ended without reporting a result",
        (_, "") => "failed",
        (_, outcome) => outcome,
    };
    one_line(words, NAME_CHARS)
}

fn telling(lines: &[Line]) -> Option<&Line> {
    let mut all = lines.iter();
    all.find(|line| reports_error(&line.text))
        .or_else(|| lines.first())
}

/// Every number as `#`: times, line numbers and counts make no other failure.
fn without_numbers(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut in_number = false;
    for c in line.chars() {
        if !c.is_ascii_digit() {
            out.push(c);
        } else if !in_number {
            out.push('#');
        }
        in_number = c.is_ascii_digit();
    }
    out
}

/// Whether a shell takes it for one word and nothing else, and a command not for an option.
fn is_plain_word(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    !name.is_empty()
        && name.len() <= NAME_CHARS
        && !name.starts_with('-')
        && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(message: &str) -> Fact {
        Fact {
            message: message.into(),
            outcome: "failed".into(),
            ..Fact::default()
        }
    }

    #[test]
    fn the_telling_line_is_the_one_with_the_error() {
        let shown = |message: &str| Seen::new(&said(message)).telling().map(str::to_owned);
        let build = "Compiling x\nfinished with 0 errors\nerror[E0433]: nope\nerror: more";
        assert_eq!(shown(build).as_deref(), Some("error[E0433]: nope"));
        assert_eq!(
            shown("one\ntest a FAILED").as_deref(),
            Some("test a FAILED")
        );
        assert_eq!(shown("\n one \n two").as_deref(), Some("one"));
        assert_eq!(shown(" \n"), None);
    }

    #[test]
    fn the_same_but_for_numbers_is_the_same_and_a_fingerprint_says_more() {
        let of = |message: &str| Seen::new(&said(message)).sameness;
        assert_eq!(of("Error: line 12"), of("error: line 7"));
        assert_ne!(of("Error: line 12"), of("error: column 7"));
        let mut printed = said("Error: line 12");
        printed.coarse = Some("ab".into());
        assert_eq!(
            Seen::new(&printed).sameness,
            Sameness::Coarse("ab".to_owned())
        );
        printed.error_type = Some("timeout".into());
        assert_eq!(Seen::new(&printed).sameness, Sameness::TimedOut);
    }

    #[test]
    fn a_command_to_copy_has_no_hostile_word() {
        let named = |key: &str, task: &str| {
            let fact = Fact {
                key: Some(key.into()),
                task: task.into(),
                ..Fact::default()
            };
            Seen::new(&fact).argument().to_owned()
        };
        assert_eq!(named("1.2", "t-1"), "1.2");
        assert_eq!(named("x; rm -rf ~", "t-1"), "t-1");
        assert_eq!(named("--all", "$(x)"), "TASK");
    }
}
