//! The failures with what their messages say, which of them are the same, and the pattern that follows.

use std::collections::HashSet;

use super::common::{commonest, distinct};
use super::suggestion::Trouble;
use super::{Fact, NAME_CHARS, NO_FAILURES, Surroundings};
use crate::diagnose::{Cause, Diagnosis, diagnose};
use crate::text::{clean, head, one_line};

const MESSAGE_BYTES: usize = 100_000;

/// How long the pattern, a message and a test's name in it may get.
const PATTERN_CHARS: usize = 160;
const MESSAGE_CHARS: usize = 500;
const TEST_CHARS: usize = 60;

/// Messages with fewer words in common have nothing in common.
const LEAST_WORDS: usize = 2;

/// What makes two failures the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sameness {
    /// The attempt took too long, whatever was on screen by then.
    TimedOut,
    Coarse(String),
    /// There is no fingerprint, because the agent just ended.
    NoSignal,
    /// The messages agree but for their numbers.
    Message(String),
}

#[derive(Clone, Debug)]
pub(super) struct Failure<'f> {
    pub(super) fact: &'f Fact,
    pub(super) diagnosis: Diagnosis,
    /// The line that says best what went wrong.
    pub(super) message: Option<String>,
    pub(super) sameness: Sameness,
}

impl<'f> Failure<'f> {
    pub(super) fn new(fact: &'f Fact) -> Self {
        let text = clean(head(&fact.message, MESSAGE_BYTES));
        let diagnosis = diagnose(&text);
        let lines = diagnosis.error_line.as_deref().into_iter().chain(text.lines());
        let mut lines = lines.map(|line| one_line(line, MESSAGE_CHARS));
        let message = lines.find(|line| !line.is_empty());
        let sameness = if fact.is_error_type(&["timeout", "idle_timeout"]) {
            Sameness::TimedOut
        } else if let Some(coarse) = fact.coarse.as_ref().filter(|coarse| !coarse.is_empty()) {
            Sameness::Coarse(coarse.clone())
        } else if fact.outcome == "no_sigil" {
            Sameness::NoSignal
        } else {
            let message = message.clone().unwrap_or_else(|| fact.kind());
            Sameness::Message(without_numbers(&message.to_lowercase()))
        };
        Self { fact, diagnosis, message, sameness }
    }

    /// Whether the failure has this cause, and what it is about where that is told.
    pub(super) fn cause(&self, cause: Cause, error_types: &[&str]) -> Option<Option<String>> {
        // A test of the project's own log-in says the same words and means its own code.
        let may_be_own = matches!(cause, Cause::Authentication | Cause::Permission);
        if may_be_own && !self.fact.failing.is_empty() {
            return None;
        }
        let told = self.diagnosis.cause(cause);
        told.or_else(|| self.fact.is_error_type(error_types).then_some(None))
    }

    /// Whether its message or its type tells of a build that failed.
    pub(super) fn is_build_error(&self) -> bool {
        let types = ["build_error", "compile_error", "compilation_error"];
        !self.diagnosis.compiler_errors.is_empty()
            || self.fact.is_error_type(&types)
            || self.fact.message.contains("could not compile")
    }

    fn name(&self) -> String {
        let name = self.fact.key.as_deref().unwrap_or(&self.fact.task);
        match one_line(name, NAME_CHARS).replace('`', "'") {
            name if name.is_empty() => "TASK".to_owned(),
            name => name,
        }
    }

    /// The task's name as a word of a command that somebody may copy into a shell.
    pub(super) fn argument(&self) -> &str {
        let names = [self.fact.key.as_deref(), Some(self.fact.task.as_str())];
        let mut names = names.into_iter().flatten();
        names.find(|name| is_plain_word(name)).unwrap_or("TASK")
    }
}

/// Every number as `#`: times, line numbers and counts make no other failure.
fn without_numbers(line: &str) -> String {
    let mut signs: Vec<char> = line.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
    signs.dedup_by(|next, before| *next == '#' && *before == '#');
    signs.into_iter().collect()
}

/// Whether a shell takes it for one word and nothing else, and a command not for an option.
fn is_plain_word(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    !name.is_empty() && name.len() <= NAME_CHARS && !name.starts_with('-') && name.chars().all(plain)
}

/// The failures, newest first, and what stands around them.
pub(super) struct Failures<'f> {
    pub(super) facts: &'f [Fact],
    pub(super) all: Vec<Failure<'f>>,
    pub(super) around: &'f Surroundings,
    /// Service and set-up troubles, where there are more of them than failures.
    pub(super) trouble: Option<Trouble>,
    top: Option<Sameness>,
}

impl<'f> Failures<'f> {
    pub(super) fn new(facts: &'f [Fact], around: &'f Surroundings) -> Self {
        let all: Vec<Failure<'f>> = facts.iter().map(Failure::new).collect();
        let top = commonest(all.iter().map(|one| &one.sameness)).map(|(top, _)| top.clone());
        Self { facts, all, around, trouble: Trouble::dominating(&around.recent_uncounted, facts.len()), top }
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// The failures that are the commonest one, newest first.
    pub(super) fn alike(&self) -> Vec<&Failure<'f>> {
        let is_top = |one: &&Failure<'f>| self.top.as_ref() == Some(&one.sameness);
        self.all.iter().filter(is_top).collect()
    }

    /// Other errors that came as often as the commonest one, each with its failures, newest first.
    fn tied(&self) -> Vec<Vec<&Failure<'f>>> {
        let kinds = distinct(self.all.iter().map(|one| &one.sameness));
        let others = kinds.into_iter().filter(|kind| self.top.as_ref() != Some(kind));
        let alike = others.map(|kind| self.all.iter().filter(|one| one.sameness == *kind).collect());
        alike.filter(|alike: &Vec<&Failure<'f>>| alike.len() == self.alike().len()).collect()
    }

    /// The commonest error with its message and how often it came.
    pub(super) fn pattern(&self) -> String {
        let trouble = self.trouble.as_ref();
        let lead = trouble.map_or_else(String::new, |trouble| format!("{trouble}; "));
        one_line(&format!("{lead}{}", self.counted()), PATTERN_CHARS)
    }

    fn counted(&self) -> String {
        let (count, alike) = (self.count(), self.alike());
        let Some(newest) = alike.first() else { return NO_FAILURES.to_owned() };
        if alike.len() > 1 || count == 1 {
            let of_all = |alike: &Vec<&Failure<'f>>| format!("{} of {count}: {}", alike.len(), what(alike));
            let tied = self.tied();
            return match tied.as_slice() {
                [] => of_all(&alike),
                [other] => {
                    // Each gets its half of the line.
                    let half = |text: String| one_line(&text, PATTERN_CHARS / 2 - 1);
                    format!("{}; {}", half(of_all(&alike)), half(of_all(other)))
                }
                others => {
                    let kinds = others.len() + 1;
                    format!("{kinds} errors, {} of {count} each; newest: {}", alike.len(), what(&alike))
                }
            };
        }
        // No two are the same; at least they may be of one kind.
        match commonest(self.all.iter().map(|one| one.fact.kind())) {
            Some((kind, times)) if times > 1 => {
                let newest = self.all.iter().find(|one| one.fact.kind() == kind);
                let newest = newest.and_then(|one| one.message.as_deref());
                let newest = newest.unwrap_or_default();
                format!("{times} of {count}: {kind}, with different messages; newest: {newest}")
            }
            _ => format!("{count} different errors; newest: {}", what(&[newest])),
        }
    }
}

/// The names of the tasks that failed, in the order in which they first failed.
pub(super) fn task_names(failures: &[&Failure<'_>]) -> Vec<String> {
    let mut tasks = HashSet::new();
    let firsts = failures.iter().rev().filter(|one| tasks.insert(&one.fact.task));
    firsts.map(|one| one.name()).collect()
}

/// What failures that are alike have in common, in words.
fn what(alike: &[&Failure<'_>]) -> String {
    let Some(newest) = alike.first() else { return String::new() };
    let kind = newest.fact.kind();
    let Some(own) = &newest.message else { return kind };
    let Some(message) = common_message(alike) else {
        return match newest.sameness {
            Sameness::TimedOut | Sameness::NoSignal => kind,
            _ => format!("{kind}, with different messages; newest: {own}"),
        };
    };
    let shared = |test: &&String| alike.iter().all(|one| one.fact.failing.contains(test));
    match (&newest.sameness, newest.fact.failing.iter().find(shared)) {
        // The message alone may not say so, and may be another one each time.
        (Sameness::TimedOut, _) if message.starts_with(&kind) => message,
        (Sameness::TimedOut | Sameness::NoSignal, _) => format!("{kind}: {message}"),
        (_, Some(test)) if !message.contains(test.as_str()) => {
            let test = one_line(test, TEST_CHARS);
            match newest.fact.failing.len() {
                0 | 1 => format!("{test} fails: {message}"),
                all => format!("{test} and {} more fail: {message}", all - 1),
            }
        }
        _ => message,
    }
}

/// The message that all have; of messages that differ, the words they begin and end with.
fn common_message(alike: &[&Failure<'_>]) -> Option<String> {
    let told: Vec<&str> = alike.iter().filter_map(|one| one.message.as_deref()).collect();
    let (first, others) = told.split_first()?;
    if others.iter().all(|other| other == first) {
        return Some((*first).to_owned());
    }
    // Which gate it was and how it ended is not the error.
    let error = |told: &&'_ str| told.split(" (the gate ").next().unwrap_or_default().to_owned();
    let errors: Vec<String> = told.iter().map(error).collect();
    let all: Vec<Vec<&str>> = errors.iter().map(|e| e.split_whitespace().collect()).collect();
    let shortest = all.iter().min_by_key(|words| words.len())?;
    let same_at = |at: &dyn Fn(&[&str]) -> Option<String>| all.iter().all(|words| at(words) == at(shortest));
    let from_start = |n: &usize| same_at(&|words| words.get(*n).map(ToString::to_string));
    let from_end = |n: &usize| same_at(&|words| words.iter().rev().nth(*n).map(ToString::to_string));
    let start = (0..shortest.len()).take_while(from_start).count();
    if start == shortest.len() && all.iter().all(|words| words.len() == start) {
        return Some(shortest.join(" "));
    }
    let end = (0..shortest.len() - start).take_while(from_end).count();
    let head = shortest.get(..start)?.join(" ");
    let tail = shortest.get(shortest.len() - end..)?.join(" ");
    (start + end >= LEAST_WORDS).then(|| format!("{head} … {tail}").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(message: &str) -> Fact {
        Fact { message: message.into(), outcome: "failed".into(), ..Fact::default() }
    }

    #[test]
    fn the_telling_line_is_the_one_with_the_error() {
        let build = "Compiling x\nfinished with 0 errors\nerror[E0433]: nope\nerror: more";
        for (message, expected) in [
            (build, Some("error[E0433]: nope")),
            ("one\ntest a FAILED", Some("test a FAILED")),
            ("\n one \n two", Some("one")),
            (" \n", None),
        ] {
            assert_eq!(Failure::new(&said(message)).message.as_deref(), expected);
        }
    }

    #[test]
    fn the_same_but_for_numbers_is_the_same_and_a_fingerprint_says_more() {
        let of = |message: &str| Failure::new(&said(message)).sameness;
        assert_eq!(of("Error: line 12"), of("error: line 7"));
        assert_ne!(of("Error: line 12"), of("error: column 7"));
        let mut printed = said("Error: line 12");
        printed.coarse = Some("ab".into());
        assert_eq!(Failure::new(&printed).sameness, Sameness::Coarse("ab".into()));
        printed.error_type = Some("timeout".into());
        assert_eq!(Failure::new(&printed).sameness, Sameness::TimedOut);
    }

    #[test]
    fn a_command_to_copy_has_no_hostile_word() {
        let named = |key: &str, task: &str| {
            let fact = Fact { key: Some(key.into()), task: task.into(), ..Fact::default() };
            Failure::new(&fact).argument().to_owned()
        };
        assert_eq!(named("1.2", "t-1"), "1.2");
        assert_eq!(named("x; rm -rf ~", "t-1"), "t-1");
        assert_eq!(named("--all", "$(x)"), "TASK");
    }

    #[test]
    fn failing_tests_of_a_log_in_are_about_the_projects_own_code() {
        let mut fact = said("expected 200, got 401 Unauthorized: permission denied");
        for cause in [Cause::Authentication, Cause::Permission] {
            fact.failing = vec!["login".into()];
            assert_eq!(Failure::new(&fact).cause(cause, &[]), None);
            fact.failing.clear();
            assert!(Failure::new(&fact).cause(cause, &[]).is_some());
        }
    }
}
