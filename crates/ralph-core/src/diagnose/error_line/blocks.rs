//! Failures whose message stands on a line after the one that announces it.

use std::borrow::Cow;

use super::Rank;

/// What the next line with text will be.
#[derive(Clone, Copy, Default)]
enum Expected {
    /// Nothing special.
    #[default]
    Nothing,
    /// A panic's message.
    Panic,
    /// The message of jest's failing test.
    Jest,
    /// The name of minitest's failing test.
    Minitest,
    /// The place and message of Go's failing test.
    Go,
    /// A YAML block with the message of a TAP test.
    Tap,
    /// The diagnostic of a compiler that names the place below it.
    Place,
}

/// Reads lines that belong together.
#[derive(Default)]
pub(super) struct Blocks {
    expected: Expected,
    /// The line that announced it.
    head: String,
    /// Whether jest shows what the tests printed.
    in_console: bool,
}

impl Blocks {
    /// Reads a trimmed line; gives one that is known by the lines around it.
    pub(super) fn line<'l>(&mut self, line: &'l str) -> Option<(Rank, Cow<'l, str>)> {
        if line.is_empty() {
            return None;
        }
        let expected = std::mem::take(&mut self.expected);
        if let Some(found) = self.announced(expected, line) {
            return Some(found);
        }
        if ["PASS ", "FAIL ", "Test Suites: "]
            .iter()
            .any(|begin| line.starts_with(begin))
        {
            self.in_console = false;
        }
        if let Some(test) = line.strip_prefix("● ") {
            self.in_console = test == "Console";
            if !self.in_console {
                self.expect(Expected::Jest, line);
                return Some((Rank::Named, line.into()));
            }
        } else if line.starts_with("thread ") && line.contains(" panicked at ") {
            if line.contains(" panicked at '") {
                return Some((Rank::Message, line.into()));
            }
            self.expect(Expected::Panic, line);
        } else if line.contains("test did not panic as expected") {
            return Some((Rank::Message, line.into()));
        } else if line.starts_with("--- FAIL: ") {
            self.expect(Expected::Go, line);
        } else if line.ends_with(") Failure:") || line.ends_with(") Error:") {
            self.expect(Expected::Minitest, line);
        } else if line == "Message:" {
            self.expect(Expected::Jest, line);
        } else if line == "error: |-" {
            self.expect(Expected::Tap, line);
        } else if may_name_place(line) {
            self.expect(Expected::Place, line);
        }
        None
    }

    /// Whether what is read now is what tests printed, not why they failed.
    pub(super) const fn in_console(&self) -> bool {
        self.in_console
    }

    fn expect(&mut self, expected: Expected, head: &str) {
        self.expected = expected;
        head.clone_into(&mut self.head);
    }

    fn announced<'l>(&self, expected: Expected, line: &'l str) -> Option<(Rank, Cow<'l, str>)> {
        let head = || Cow::Owned(self.head.clone());
        let line = match expected {
            Expected::Panic if is_bare_assertion(line) => head(),
            // `expect(received).toBe(expected)` says nothing; the test's name does.
            Expected::Jest if line.starts_with("expect(") => head(),
            Expected::Jest if line.starts_with("Jest encountered") => return None,
            Expected::Go if !line.contains(".go:") => return None,
            Expected::Place if line.starts_with("--> ") => {
                return Some((Rank::Diagnostic, head()));
            }
            Expected::Nothing | Expected::Place => return None,
            _ => line.into(),
        };
        Some((Rank::Message, line))
    }
}

/// Whether a panic's message says only that two values differ.
fn is_bare_assertion(message: &str) -> bool {
    message.starts_with("assertion `") && message.ends_with("` failed")
}

/// `error: …` of rustc and `F401 …` of ruff, both followed by ` --> path:1:8`.
fn may_name_place(line: &str) -> bool {
    let code = line.split(' ').next().unwrap_or_default();
    line.starts_with("error: ") || super::diagnostic::is_code(code)
}
