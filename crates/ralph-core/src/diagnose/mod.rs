//! What a command's output says of its failure: output in, [`Diagnosis`] out.
//!
//! The output is read once, line by line, while it streams: the first 8 MiB, then the blocks that hold words of a
//! failure, up to 16 MiB, then only the lines that name failing tests, and the end of what was skipped. What each reader
//! keeps is bounded. Fingerprint, report, error line, error output, the analysis of several failures and the kind of an
//! error are all views of the one diagnosis, so that they cannot disagree.

mod causes;
mod compiler;
mod error_line;
mod error_words;
mod fingerprint;
mod lines;
mod messages;
mod own_lines;
mod reports;
mod runners;
pub(crate) mod shapes;
mod test_counts;

pub use causes::{Cause, ErrorKind};
pub use compiler::CompilerError;
pub use error_words::{denies_error, reports_error};
pub use fingerprint::{Fingerprint, Kind, Relation, Tool, comparable, relation};
pub use own_lines::FailingTest;

use compiler::Compiler;
use error_line::{ErrorLine, LineInContext};
use messages::{Explanation, Messages};
use reports::{Event, Report};
use runners::Runners;
use shapes::{files_in, marked};
use test_counts::Tally;

use std::sync::LazyLock;

use crate::agent::BoundedText;
use crate::model::TestCounts;
use crate::text::{Pattern, cut_words, mask_secrets};

/// So much of the beginning of an output is read whatever it says, so much of what follows where it tells of failures, and
/// so much of the end. A gigabyte of output must cost neither its memory nor minutes of reading.
const BEGIN_BYTES: usize = if cfg!(test) { 1 } else { 8 } * 1024 * 1024;
const TELLING_BYTES: usize = BEGIN_BYTES;
const END_BYTES: usize = BEGIN_BYTES / 8;
/// So much of each block after that is read where it names failing tests, and so many lines from each of the names on.
const NAMES_BYTES: usize = 4 * 1024;
const LINES_OF_NAME: usize = 6;

/// Lines are read in blocks of about this size, because secrets are masked in whole blocks.
const BLOCK_BYTES: usize = 64 * 1024;

/// A line without an end is read in pieces of this size.
const LINE_BYTES: usize = 1024 * 1024;

const FILES: usize = 5;

/// What an output says of a failure. Secrets are masked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// What the failure is recognized by; none where the output is blank.
    pub fingerprint: Option<Fingerprint>,
    /// The line that tells best what went wrong.
    pub error_line: Option<String>,
    /// The failing tests with their own lines, in the order in which they were reported.
    pub failing_tests: Vec<FailingTest>,
    pub compiler_errors: Vec<CompilerError>,
    /// How many tests there were, where a runner says so.
    pub tests: Option<TestCounts>,
    /// The error line and those around it; where nothing tells of an error, the last lines.
    around: LineInContext,
    /// Whether anything in the output tells of an error, or there is only chatter.
    has_evidence: bool,
}

impl Diagnosis {
    /// The diagnosis of a gate with this command. Where the output tells nothing of the failure, the command is
    /// what it is recognized by: two commands that fail silently need not fail alike.
    pub fn of_gate(mut self, command: &str) -> Self {
        if !self.has_evidence {
            let chatter = self.fingerprint.take().map(|print| print.evidence);
            let (fine, coarse): (Vec<String>, Vec<String>) =
                chatter.unwrap_or_default().into_iter().partition(|line| line.starts_with("message: "));
            let command = format!("gate: {}", mask_secrets(command.trim()));
            let coarse: Vec<String> = std::iter::once(command).chain(coarse).collect();
            self.fingerprint = Some(Fingerprint::new(Kind::Lines, None, &coarse, &fine));
        }
        self
    }

    /// What went wrong in one line: the first failing test with its message, else the error line.
    pub fn headline(&self) -> Option<String> {
        let line = self.error_line.as_deref();
        let mut told = self.failing_tests.iter().filter(|test| !test.lines.is_empty());
        let has_line = |test: &&FailingTest| {
            let is_in = |line: &str| test.lines.iter().any(|own| line.contains(own.as_str()));
            line.is_none_or(is_in)
        };
        let Some(test) = told.clone().find(has_line).or_else(|| told.next()) else {
            return self.error_line.clone();
        };
        match line {
            Some(line) if test.is_told_by(line) => Some(line.to_owned()),
            _ => Some(test.headline()),
        }
    }

    /// The tests that failed, by the names that stay the same from run to run.
    pub fn failing(&self) -> &[String] {
        self.fingerprint.as_ref().map_or(&[], |print| &print.failing)
    }

    /// The same without what it says of these tests.
    pub fn without_tests(mut self, known: &[String]) -> Self {
        let is_known = |test: &FailingTest| known.contains(&test.name);
        self.failing_tests.retain(|test| !is_known(test));
        self
    }

    /// What the next attempt is to see, within this many characters: the failing tests with their own lines, else the
    /// error line and those around it. None where nothing tells of an error.
    pub fn error_output(&self, max_chars: usize) -> Option<String> {
        if self.failing_tests.iter().any(|test| !test.lines.is_empty()) {
            let tests = self.failing_tests.iter().flat_map(FailingTest::shown);
            return Some(fitting(tests, max_chars));
        }
        self.error_line.as_ref()?;
        let whole = fitting(self.around.lines(), usize::MAX);
        match whole.chars().count() <= max_chars {
            true => Some(whole),
            false => Some(fitting(self.around.lines().skip(self.around.before.len()), max_chars)),
        }
    }

    /// The project's files that the failing tests, compiler errors and the error line name.
    pub fn files(&self) -> Vec<String> {
        let tests = self.failing_tests.iter().flat_map(|test| {
            let own = test.lines.iter().map(String::as_str);
            std::iter::once(test.name.as_str()).chain(own).map(|line| (line, true))
        });
        let errors = self.compiler_errors.iter().filter_map(|error| Some((error.path()?, true)));
        let nothing_tells = self.error_line.is_none();
        let frame = |line: &str| line.trim_start().starts_with("File \"");
        let around =
            self.around.lines().map(|line| (line, nothing_tells || reports_error(line) || frame(line)));
        let mut files: Vec<String> = Vec::new();
        for (line, tells) in tests.chain(errors).chain(around) {
            for (path, numbered) in files_in(line) {
                let path = path.trim_start_matches("./");
                let inside = !path.starts_with(['/', '-', '~', '$']) && !path.contains("..");
                let known = files.iter().any(|file| file == path);
                if (numbered || tells) && inside && !known && files.len() < FILES {
                    files.push(path.to_owned());
                }
            }
        }
        files
    }

    /// Whether a cause outside the code is told of, and what it is about where that is told.
    pub fn cause(&self, cause: Cause) -> Option<Option<String>> {
        self.around.lines().find_map(|line| cause.in_line(line))
    }

    pub fn kind(&self) -> Option<ErrorKind> {
        let lines: Vec<&str> = self.around.lines().collect();
        ErrorKind::in_text(&lines.join(" "))
    }
}

fn fitting(lines: impl Iterator<Item = impl AsRef<str>>, max_chars: usize) -> String {
    let mut text = String::new();
    for line in lines {
        let line = line.as_ref();
        let used = text.chars().count();
        if used.saturating_add(line.chars().count()).saturating_add(1) > max_chars {
            text.push_str(&cut_words(line, max_chars.saturating_sub(used)));
            break;
        }
        text.push_str(line);
        text.push('\n');
    }
    text.trim_end().to_owned()
}

#[derive(Default)]
pub struct Reader {
    runners: Runners,
    report: Report,
    compiler: Compiler,
    messages: Messages,
    error_line: ErrorLine,
    tally: Tally,
    /// What pytest explains in the lines that are being read.
    explanation: Option<Explanation>,
    /// What has come and was not read: the beginning of a block.
    pending: Vec<u8>,
    read_bytes: usize,
    /// Whether the block before told of a failure: what it says may go on in the next.
    goes_on: bool,
    /// The end of what was skipped since.
    skipped: Option<BoundedText>,
}

/// Words of which at least one stands where something failed.
fn tells_of_failure(block: &[u8]) -> bool {
    static WORDS: LazyLock<Option<regex::bytes::Regex>> = LazyLock::new(|| {
        regex::bytes::Regex::new("FAIL|panic|Traceback|error|Error|not ok |✕|✖|×|● |Exception").ok()
    });
    WORDS.as_ref().is_some_and(|words| words.is_match(block))
}

/// What stands in lines that name a failing test.
static NAMES_FAILURE: Pattern = Pattern::new("FAIL|not ok |panicked at|✕|✖|×|● ");

impl Reader {
    pub fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        while self.pending.len() >= BLOCK_BYTES && self.read_block() {}
    }

    pub fn finish(mut self) -> Diagnosis {
        let pending = std::mem::take(&mut self.pending);
        self.tally.block(&pending);
        if let Some(skipped) = self.skipped.take() {
            self.read(&skipped.into_text());
        }
        self.read(&String::from_utf8_lossy(&pending));
        self.end_explanation();
        let (names, runner, failing_tests) = self.runners.finish();
        let (compiler_errors, builder) = self.compiler.finish();
        let around = self.error_line.finish();
        let mut has_evidence = true;
        let mut last_lines = Vec::new();
        let fingerprint = if !names.is_empty() {
            let names: Vec<String> = names.into_iter().collect();
            let messages = self.messages.exceptions();
            Some(Fingerprint::new(Kind::Tests, runner, &names, &messages))
        } else if !compiler_errors.is_empty() {
            let (errors, messages) = compiler::evidence(&compiler_errors);
            Some(Fingerprint::new(Kind::Compiler, builder, &errors, &messages))
        } else {
            let last = self.messages.last_lines();
            has_evidence = last.report_errors;
            last_lines = last.shown;
            let fine: Vec<String> = last.end.into_iter().collect();
            let found = !last.lines.is_empty();
            found.then(|| Fingerprint::new(Kind::Lines, None, &last.lines, &fine))
        };
        Diagnosis {
            fingerprint,
            error_line: around.as_ref().map(|told| told.line.clone()),
            failing_tests,
            compiler_errors,
            tests: self.tally.finish(),
            around: around.unwrap_or(LineInContext { before: last_lines, ..LineInContext::default() }),
            has_evidence,
        }
    }

    /// Reads what is pending up to its last line; whether there was one.
    fn read_block(&mut self) -> bool {
        let end = match memchr::memrchr(b'\n', &self.pending) {
            Some(end) => end + 1,
            None if self.pending.len() < LINE_BYTES => return false,
            None => self.pending.len(),
        };
        let block: Vec<u8> = self.pending.drain(..end).collect();
        self.tally.block(&block);
        let tells = self.read_bytes < BEGIN_BYTES || tells_of_failure(&block);
        let has_room = self.read_bytes < BEGIN_BYTES + TELLING_BYTES;
        if (tells || self.goes_on) && has_room {
            self.read_bytes += block.len();
            self.skipped = None;
            self.read(&String::from_utf8_lossy(&block));
        } else {
            if tells {
                self.read_names(&String::from_utf8_lossy(&block));
            }
            let skipped = self.skipped.get_or_insert_with(|| BoundedText::new(0, END_BYTES));
            skipped.push(&block);
        }
        self.goes_on = tells;
        true
    }

    /// Reads the lines of a block that name failing tests, and a few below each.
    fn read_names(&mut self, block: &str) {
        if !NAMES_FAILURE.is_match(block) {
            return;
        }
        let (mut room, mut lines_left) = (NAMES_BYTES, 0);
        for line in lines::raw_lines(&mask_secrets(block)) {
            if NAMES_FAILURE.is_match(line) {
                lines_left = LINES_OF_NAME;
            }
            if lines_left > 0 && line.len() <= room {
                lines_left -= 1;
                room -= line.len();
                self.line(line);
            }
        }
    }

    fn read(&mut self, text: &str) {
        for line in lines::raw_lines(&mask_secrets(text)) {
            self.line(line);
        }
    }

    fn line(&mut self, raw: &str) {
        let shown = lines::visible(raw);
        let line = lines::without_clock(&shown);
        // A whole report may stand on one line.
        let is_report = raw.len() > lines::LINE_BYTES && raw.contains("<testcase");
        let report = raw.find('<').filter(|_| is_report).and_then(|at| raw.get(at..));
        for failure in self.report.line(report.unwrap_or(line)) {
            self.runners.failure(&failure);
            self.messages.failure(&failure);
        }
        let Some(event) = Event::read(line) else {
            self.plain_line(&shown, line, true);
            return;
        };
        self.runners.event(&event);
        if event.output.trim().is_empty() {
            self.messages.aside(line);
            return;
        }
        for raw in lines::raw_lines(&event.output) {
            let shown = lines::visible(raw);
            self.plain_line(&shown, lines::without_clock(&shown), false);
        }
    }

    /// A line that is no event: as it is shown, and without a logger's clock.
    fn plain_line(&mut self, shown: &str, line: &str, names_tests: bool) {
        let text = marked(line).filter(|text| !text.is_empty() || self.explanation.is_some());
        if let Some(text) = text {
            // A report repeats it with XML's escapes.
            if !self.report.in_test() {
                self.explanation.get_or_insert_default().push(text, shown);
                self.runners.line(line);
            }
            return;
        }
        self.end_explanation();
        if names_tests
            && !self.report.in_test()
            && let Some(message) = self.runners.line(line)
        {
            self.messages.summarize(line, &message);
        }
        self.compiler.line(line);
        self.messages.line(line);
        self.error_line.line(shown);
    }

    fn end_explanation(&mut self) {
        if let Some(explanation) = self.explanation.take() {
            self.messages.explanation(&explanation);
            self.error_line.explanation(&explanation);
        }
    }
}

pub fn diagnose(output: &str) -> Diagnosis {
    let mut reader = Reader::default();
    reader.push(output.as_bytes());
    reader.finish()
}

/// The fingerprint of a failing command's output; `None` where the output is blank, because two
/// commands that said nothing need not have failed alike.
pub fn fingerprint(output: &str) -> Option<Fingerprint> {
    diagnose(output).fingerprint
}

/// The line of a text that tells best what went wrong, trimmed, if any does.
pub fn error_line(text: &str) -> Option<String> {
    diagnose(text).error_line
}

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
