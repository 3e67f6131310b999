//! What a command's output says of its failure: output in, [`Diagnosis`] out.
//!
//! The output is read once, line by line, while it streams. Every reader below sees every line, because what
//! matters may stand anywhere; what each of them keeps is bounded. Fingerprint, report and error line are all
//! made from the one diagnosis, so that they cannot disagree.

mod compiler;
mod diagnostic;
mod error_line;
mod error_lines;
mod exception;
mod failing_tests;
mod fingerprint;
mod go_event;
mod hash;
mod lines;
mod names;
mod normal;
mod quotes;
mod relation;
mod runners;
mod shape;
mod summary;
mod xml;

pub use error_line::error_line;
pub use error_lines::reports_error;
pub use failing_tests::FailingTest;
pub use fingerprint::{Fingerprint, Kind, Tool};
pub use relation::{Relation, relation};

use compiler::Compiler;
use error_line::ErrorLine;
use error_lines::ErrorLines;
use exception::Exceptions;
use failing_tests::FailingTests;
use go_event::Event;
use runners::Runners;

use crate::agent::BoundedText;
use crate::text::{clean, cut_words, mask_secrets};

/// How much of the beginning of an output is read as it comes, and how much of the end of a longer one. A
/// gigabyte of output must cost neither its memory nor minutes of reading.
const READ_BYTES: usize = 16 * 1024 * 1024;
const END_BYTES: usize = 1024 * 1024;

/// Lines are read in blocks of about this size, because secrets are masked in whole blocks.
const BLOCK_BYTES: usize = 64 * 1024;

/// A line without an end is read in pieces of this size.
const LINE_BYTES: usize = 1024 * 1024;

/// What an output says of a failure. Secrets are masked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// What the failure is recognized by; none where the output is blank.
    pub fingerprint: Option<Fingerprint>,
    /// The line that tells best what went wrong.
    pub error_line: Option<String>,
    /// The failing tests with their own lines, in the order in which they were reported.
    pub failing_tests: Vec<FailingTest>,
    /// Whether anything in the output tells of an error, or there is only chatter.
    has_evidence: bool,
}

impl Diagnosis {
    /// The diagnosis of a gate with this command. Where the output tells nothing of the failure, the command is
    /// what it is recognized by: two commands that fail silently need not fail alike.
    #[must_use]
    pub fn of_gate(mut self, command: &str) -> Self {
        if !self.has_evidence {
            let chatter = self.fingerprint.take().map(|print| print.evidence);
            let (fine, coarse): (Vec<String>, Vec<String>) = chatter
                .unwrap_or_default()
                .into_iter()
                .partition(|line| line.starts_with("message: "));
            let command = format!("gate: {}", mask_secrets(command.trim()));
            let coarse: Vec<String> = std::iter::once(command).chain(coarse).collect();
            self.fingerprint = Some(Fingerprint::new(Kind::Lines, None, &coarse, &fine));
        }
        self
    }

    /// What went wrong in one line: the first failing test with its message, else the error line.
    #[must_use]
    pub fn headline(&self) -> Option<String> {
        let line = self.error_line.as_deref();
        let told = self.failing_tests.iter().find(|test| {
            let has_line = |line: &str| test.lines.iter().any(|own| line.contains(own.as_str()));
            !test.lines.is_empty() && line.is_none_or(has_line)
        });
        let first = || {
            self.failing_tests
                .iter()
                .find(|test| !test.lines.is_empty())
        };
        let Some(test) = told.or_else(first) else {
            return self.error_line.clone();
        };
        match line {
            Some(line) if test.is_told_by(line) => Some(line.to_owned()),
            _ => Some(test.headline()),
        }
    }

    /// The failing tests with their own lines, within this many characters; none where there are no such lines.
    #[must_use]
    pub fn excerpt(&self, max_chars: usize) -> Option<String> {
        let mut text = String::new();
        if self.failing_tests.iter().all(|test| test.lines.is_empty()) {
            return None;
        }
        for test in &self.failing_tests {
            for line in test.shown() {
                let used = text.chars().count();
                if used + line.chars().count() + 1 > max_chars {
                    let room = max_chars.saturating_sub(used);
                    text.push_str(&cut_words(&line, room));
                    return Some(text.trim_end().to_owned());
                }
                text.push_str(&line);
                text.push('\n');
            }
        }
        Some(text.trim_end().to_owned()).filter(|text| !text.is_empty())
    }
}

/// Reads an output as it comes.
#[derive(Default)]
pub struct Reader {
    runners: Runners,
    compiler: Compiler,
    exceptions: Exceptions,
    error_lines: ErrorLines,
    error_line: ErrorLine,
    failing_tests: FailingTests,
    /// What has come and was not read: the beginning of a block.
    pending: Vec<u8>,
    read_bytes: usize,
    /// The end of an output that is too long to be read whole.
    end: Option<BoundedText>,
}

impl Reader {
    /// Takes the next part of the output.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = READ_BYTES.saturating_sub(self.read_bytes);
        let (now, late) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.read_bytes += now.len();
        self.pending.extend_from_slice(now);
        if self.pending.len() >= BLOCK_BYTES {
            self.read_block();
        }
        if !late.is_empty() {
            let end = self
                .end
                .get_or_insert_with(|| BoundedText::new(0, END_BYTES));
            end.push(late);
        }
    }

    /// The output is over.
    #[must_use]
    pub fn finish(mut self) -> Diagnosis {
        let pending = std::mem::take(&mut self.pending);
        self.read(&String::from_utf8_lossy(&pending));
        if let Some(end) = self.end.take() {
            self.read(&end.into_text());
        }
        let (names, runner) = self.runners.finish();
        let (errors, messages, builder) = self.compiler.finish();
        let error_line = self
            .error_line
            .finish()
            .map(|line| clean(&line).into_owned());
        let failing_tests = self.failing_tests.finish();
        let mut has_evidence = true;
        let fingerprint = if !names.is_empty() {
            let names: Vec<String> = names.into_sorted().collect();
            let messages = self.exceptions.all();
            Some(Fingerprint::new(Kind::Tests, runner, &names, &messages))
        } else if !errors.is_empty() {
            Some(Fingerprint::new(
                Kind::Compiler,
                builder,
                &errors,
                &messages,
            ))
        } else {
            let last = self.error_lines.finish();
            has_evidence = last.report_errors;
            let end = self.exceptions.last().or(last.end);
            let fine: Vec<String> = end.into_iter().collect();
            let found = !last.lines.is_empty();
            found.then(|| Fingerprint::new(Kind::Lines, None, &last.lines, &fine))
        };
        Diagnosis {
            fingerprint,
            error_line,
            failing_tests,
            has_evidence,
        }
    }

    fn read_block(&mut self) {
        let end = match memchr::memrchr(b'\n', &self.pending) {
            Some(end) => end + 1,
            None if self.pending.len() < LINE_BYTES => return,
            None => self.pending.len(),
        };
        let block: Vec<u8> = self.pending.drain(..end).collect();
        self.read(&String::from_utf8_lossy(&block));
    }

    fn read(&mut self, text: &str) {
        for line in lines::lines(&mask_secrets(text)) {
            self.line(&line);
        }
    }

    fn line(&mut self, shown: &str) {
        let line = lines::without_clock(shown);
        let Some(event) = Event::read(line) else {
            self.runners.line(line);
            self.failing_tests.line(line);
            self.plain_line(shown, line);
            return;
        };
        self.runners.event(&event);
        self.failing_tests.event(&event);
        if lines::lines(event.output()).all(|line| line.trim().is_empty()) {
            self.error_lines.aside(line);
        } else {
            for shown in lines::lines(event.output()) {
                self.plain_line(&shown, lines::without_clock(&shown));
            }
        }
    }

    /// A line that is no event: as it is shown, and without a logger's clock.
    fn plain_line(&mut self, shown: &str, line: &str) {
        self.compiler.line(line);
        self.exceptions.line(line);
        self.error_lines.line(line);
        self.error_line.line(shown);
    }
}

/// The diagnosis of a whole output.
#[must_use]
pub fn diagnose(output: &str) -> Diagnosis {
    let mut reader = Reader::default();
    reader.push(output.as_bytes());
    reader.finish()
}

/// The fingerprint of a failing command's output; `None` where the output is blank, because two
/// commands that said nothing need not have failed alike.
#[must_use]
pub fn fingerprint(output: &str) -> Option<Fingerprint> {
    diagnose(output).fingerprint
}

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
