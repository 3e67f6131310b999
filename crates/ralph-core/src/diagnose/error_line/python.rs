//! pytest's report, unittest's, and Python's tracebacks: they take several lines to say one thing.

use super::super::shape;
use super::stated;

/// What has been read of Python's failures.
#[derive(Default)]
pub(super) struct Python {
    /// The first line of pytest's summary.
    summary: Option<String>,
    /// What pytest marked with `E` for the first failing test.
    mark: Option<String>,
    /// Whether the marked lines that are being read are the first failure's.
    marking: bool,
    /// Whether the next marked lines belong to the same failure: an exception led to another.
    chained: bool,
    /// The indent of the traceback that is being read.
    traceback: Option<usize>,
    /// How the last traceback ended.
    ended: Option<String>,
    /// Whether the line before was the one above unittest's headings.
    after_ruler: bool,
    /// How many failures unittest has headed; the first one counts.
    headed: usize,
}

impl Python {
    /// Reads a line; `true` where it needs no other reader.
    pub(super) fn line(&mut self, line: &str, trimmed: &str) -> bool {
        if let Some(text) = shape::marked(line).filter(|text| !text.is_empty()) {
            self.mark(text, trimmed);
            return true;
        }
        self.marking = false;
        if is_link(trimmed) {
            self.chained = true;
            return true;
        }
        if is_summary(trimmed) {
            self.summary.get_or_insert_with(|| trimmed.to_owned());
            return true;
        }
        let heads = trimmed.starts_with("FAIL: ") || trimmed.starts_with("ERROR: ");
        self.headed += usize::from(self.after_ruler && heads);
        self.after_ruler = trimmed.len() >= 70 && trimmed.bytes().all(|b| b == b'=');
        self.in_traceback(line, trimmed)
    }

    /// A line of pytest's explanation: the exception or the assertion speaks for all.
    fn mark(&mut self, text: &str, trimmed: &str) {
        let starts = !self.marking;
        self.marking = true;
        if starts && (self.mark.is_none() || self.chained) {
            self.mark = Some(trimmed.to_owned());
        } else if self.mark.as_deref().is_some_and(speaks) || self.summary.is_some() {
            return;
        }
        self.chained = false;
        if speaks_text(text) {
            self.mark = Some(trimmed.to_owned());
        }
    }

    /// Whether the line is part of a traceback; its last one, at the indent of the first, is kept.
    fn in_traceback(&mut self, line: &str, trimmed: &str) -> bool {
        let indent = indent(line);
        let body = line.get(indent..).unwrap_or_default();
        if body.contains("Traceback (most recent call last)") {
            self.traceback = Some(indent);
            return true;
        }
        let Some(begin) = self.traceback else {
            return false;
        };
        if indent > begin || trimmed.is_empty() {
            return true;
        }
        self.traceback = None;
        if self.headed < 2 || self.ended.is_none() {
            self.ended = Some(trimmed.to_owned());
        }
        true
    }

    /// The line that pytest has for the first failure, and the end of the last traceback.
    pub(super) fn finish(self) -> (Option<String>, Option<String>) {
        let is_whole = |line: &String| line.contains(" - ") && !line.ends_with("...");
        let best = match self.summary {
            Some(line) if is_whole(&line) => Some(line),
            summary => self.mark.or(summary),
        };
        (best, self.ended)
    }
}

fn speaks(marked: &str) -> bool {
    speaks_text(marked.strip_prefix('E').unwrap_or(marked).trim_start())
}

fn speaks_text(text: &str) -> bool {
    text.starts_with("assert ") || stated::is_exception(text)
}

/// What stands between an exception and the one it led to.
fn is_link(line: &str) -> bool {
    line.starts_with("The above exception was the direct cause")
        || line.starts_with("During handling of the above exception")
}

/// `FAILED tests/test_a.py::test_b - message`, `ERROR tests/test_a.py`.
fn is_summary(line: &str) -> bool {
    line.strip_prefix("FAILED ")
        .or_else(|| line.strip_prefix("ERROR "))
        .and_then(|rest| rest.split(' ').next())
        .is_some_and(|name| name.contains(".py::") || name.ends_with(".py"))
}

/// How far a line is indented, the bars of an exception group counted.
fn indent(line: &str) -> usize {
    let blanks = |text: &str| text.len() - text.trim_start().len();
    let own = blanks(line);
    let rest = line.get(own..).unwrap_or_default();
    match rest.strip_prefix("| ").or_else(|| rest.strip_prefix("+ ")) {
        Some(inner) if own > 0 => own + 2 + blanks(inner),
        _ => own,
    }
}
