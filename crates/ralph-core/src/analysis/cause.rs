//! Causes outside the code, known by what programs say about them.

use super::place::is_file;
use super::seen::{Line, Seen};

/// Longer ones are not names of programs, packages or hosts.
const NAME_CHARS: usize = 80;

/// Something outside the code that makes attempts fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A program is not there.
    MissingProgram,
    /// There is no room left.
    DiskFull,
    /// A service or the network does not answer.
    Unreachable,
    /// Credentials are missing or refused.
    Authentication,
    /// Access is denied.
    Permission,
    /// A package is not installed.
    MissingDependency,
}

/// A cause that was found, and what it is about where that is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) name: Option<String>,
}

impl Cause {
    /// Whether a failure has this cause.
    pub(super) fn find(self, one: &Seen<'_>) -> Option<Found> {
        // A test of the project's own log-in says the same words and means its own code.
        let own_code =
            matches!(self, Self::Authentication | Self::Permission) && !one.fact.failing.is_empty();
        if own_code {
            return None;
        }
        let in_text = one.lines.iter().find_map(|line| self.in_line(line));
        let reported = || one.is_error_type(self.error_types());
        in_text.or_else(|| reported().then_some(Found { name: None }))
    }

    fn error_types(self) -> &'static [&'static str] {
        match self {
            Self::MissingProgram => &["spawn"],
            Self::Unreachable => &["network"],
            Self::Authentication => &["auth"],
            Self::Permission => &["permission"],
            Self::DiskFull | Self::MissingDependency => &[],
        }
    }

    fn in_line(self, line: &Line) -> Option<Found> {
        match self {
            Self::MissingProgram => missing_program(line),
            Self::DiskFull => any_of(line, &DISK_FULL).then_some(Found { name: None }),
            Self::Unreachable => unreachable_place(line),
            Self::Authentication => any_of(line, &AUTHENTICATION).then_some(Found { name: None }),
            Self::Permission => any_of(line, &PERMISSION).then(|| Found {
                name: words(line).find(|word| word.contains('/')).and_then(name),
            }),
            Self::MissingDependency => missing_dependency(line),
        }
    }
}

const DISK_FULL: [&str; 4] = [
    "no space left on device",
    "enospc",
    "disk full",
    "disk quota exceeded",
];

const AUTHENTICATION: [&str; 8] = [
    "authentication failed",
    "authentication required",
    "invalid api key",
    "invalid credentials",
    "not logged in",
    "could not read username",
    "permission denied (publickey",
    "401 unauthorized",
];

const PERMISSION: [&str; 5] = [
    "permission denied",
    "eacces",
    "operation not permitted",
    "access is denied",
    "read-only file system",
];

const UNREACHABLE: [&str; 17] = [
    "cannot connect",
    "can't connect",
    "could not connect",
    "couldn't connect",
    "unable to connect",
    "failed to connect",
    "connection timed out",
    "connection error",
    "connection refused",
    "econnrefused",
    "econnreset",
    "connection reset by peer",
    "network is unreachable",
    "no route to host",
    "name or service not known",
    "failure in name resolution",
    "getaddrinfo",
];

/// After these stands the name of the host.
const UNRESOLVED: [&str; 2] = ["could not resolve host", "enotfound"];

/// After these stands the name of the package.
const MISSING_PACKAGE: [&str; 9] = [
    "cannot find module",
    "no module named",
    "cannot find package",
    "can't find crate for",
    "no required module provides package",
    "cannot load such file --",
    "could not find a version that satisfies the requirement",
    "no matching package named",
    "failed to resolve import",
];

/// A gate's own line, without what Ralph adds about the gate.
fn said(text: &str) -> &str {
    text.split_once(" (the gate ")
        .map_or(text, |(said, _)| said)
}

/// The shells whose `x: not found` means a program.
const SHELLS: [&str; 5] = ["sh:", "/bin/sh:", "bash:", "/bin/bash:", "dash:"];

fn any_of(line: &Line, phrases: &[&str]) -> bool {
    phrases
        .iter()
        .any(|phrase| position(&line.lower, phrase).is_some())
}

/// Where a phrase stands as words of its own: `FileNotFoundError` is no `enotfound`.
fn position(lower: &str, phrase: &str) -> Option<usize> {
    let in_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let whole = |at: &usize| {
        let before = lower.get(..*at).and_then(|text| text.chars().next_back());
        let after = lower.get(at + phrase.len()..);
        let after = after.and_then(|text| text.chars().next());
        let last = phrase.chars().next_back();
        let runs_on = in_word(last) && in_word(after);
        !in_word(before) && !runs_on
    };
    lower.match_indices(phrase).map(|(at, _)| at).find(whole)
}

fn missing_program(line: &Line) -> Option<Found> {
    let lower = &line.lower;
    if let Some((before, after)) = around(line, "command not found") {
        // zsh names the program afterwards, the others before.
        let program = match after.strip_prefix(':') {
            Some(after) => after.split_whitespace().next(),
            None => last_part(before),
        };
        return found(program);
    }
    if let Some((before, _)) = around(line, "executable file not found") {
        return found(last_part(before));
    }
    if let Some((before, _)) = around(line, "is not recognized as an internal or external command")
    {
        return found(last_part(before));
    }
    if let Some((_, after)) = around(line, "no such command") {
        return found(after.split_whitespace().find(|word| *word != ":"));
    }
    if position(lower, "enoent").is_some()
        && let Some((_, after)) = around(line, "spawn ")
    {
        return found(after.split_whitespace().next());
    }
    if SHELLS.iter().any(|shell| lower.starts_with(shell))
        && let Some(before) = said(&line.text).strip_suffix(": not found")
    {
        return found(last_part(before));
    }
    // A shell's script: `tests/lib.sh: 29: prog: not found`.
    if let Some((before, _)) = said(&line.text).split_once(": not found") {
        let mut parts = before.split(": ");
        let numbered = |part: &str| {
            let number = part.strip_prefix("line ").unwrap_or(part);
            !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
        };
        if parts.any(numbered) {
            return found(last_part(before));
        }
    }
    if lower.contains("env: ")
        && let Some((before, _)) = around(line, ": no such file or directory")
    {
        return found(last_part(before));
    }
    None
}

fn unreachable_place(line: &Line) -> Option<Found> {
    for phrase in UNRESOLVED {
        if let Some((_, after)) = around(line, phrase) {
            let mut hosts = after.split_whitespace().map(bare);
            return found(hosts.find(|word| !word.is_empty()));
        }
    }
    any_of(line, &UNREACHABLE).then(|| Found {
        name: words(line).find(|word| is_address(word)).and_then(name),
    })
}

fn missing_dependency(line: &Line) -> Option<Found> {
    let after = MISSING_PACKAGE
        .iter()
        .find_map(|phrase| around(line, phrase).map(|(_, after)| after))?;
    let package = after
        .split_whitespace()
        .map(bare)
        .find(|word| !word.is_empty())?;
    // The project's own files are not to be installed.
    let own = ["./", "../", "/", "~", "@/", "src/"];
    let own = own.iter().any(|start| package.starts_with(start)) || is_file(package);
    if own { None } else { found(Some(package)) }
}

/// What stands before and after a phrase.
fn around<'l>(line: &'l Line, phrase: &str) -> Option<(&'l str, &'l str)> {
    let at = position(&line.lower, phrase)?;
    Some((line.text.get(..at)?, line.text.get(at + phrase.len()..)?))
}

/// The last part of `bash: line 1: foo: `, whatever it is quoted with.
fn last_part(text: &str) -> Option<&str> {
    text.trim_end_matches([':', ' ']).rsplit(": ").next()
}

fn words(line: &Line) -> impl Iterator<Item = &str> {
    line.text.split_whitespace().map(bare)
}

/// A word without the quotes and stops around it.
fn bare(word: &str) -> &str {
    let around = |c: char| "\"'`‘’“”()[]{}<>,;:!".contains(c);
    word.trim_matches(around)
        .trim_end_matches('.')
        .trim_end_matches(around)
}

/// `127.0.0.1:5432`, `localhost:80`, `db:5432`, but not `lib.rs:12`.
fn is_address(word: &str) -> bool {
    let Some((host, port)) = word.rsplit_once(':') else {
        return false;
    };
    let hostlike = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let is_port = (2..=5).contains(&port.len()) && port.bytes().all(|b| b.is_ascii_digit());
    let is_host = !host.is_empty() && host.chars().all(hostlike) && !is_file(host);
    // A short number after a plain word is a line or a count.
    let known = host.contains('.') || host == "localhost" || port.len() >= 4;
    is_port && is_host && known
}

fn found(word: Option<&str>) -> Option<Found> {
    Some(Found {
        name: word.and_then(name),
    })
}

/// A word that can be a name; what is none is left out rather than shown.
fn name(word: &str) -> Option<String> {
    let word = bare(word);
    let allowed = |c: char| c.is_alphanumeric() || "._/+@-:=<>~".contains(c);
    let is_name = !word.is_empty()
        && word.chars().count() <= NAME_CHARS
        && word.chars().all(allowed)
        && word.chars().any(char::is_alphanumeric);
    is_name.then(|| word.to_owned())
}

#[cfg(test)]
mod tests;
