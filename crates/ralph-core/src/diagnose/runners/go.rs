//! go test and gotestsum.

use super::super::Tool;
use super::super::go_event::Event;
use super::super::names::{Names, is_duration, untimed};

/// What go calls the package of files that were named on the command line.
const NO_PACKAGE: &str = "command-line-arguments";

/// What go test named.
#[derive(Default)]
pub(super) struct Go {
    /// Tests of a package that is not known yet: its name follows them.
    open: Names,
    named: Names,
    /// gotestsum's list at the end, which repeats what went before with shorter names of packages.
    summary: Names,
}

impl Go {
    /// `--- FAIL: TestA/sub (0.00s)`, or with gotestsum `=== FAIL: pkg TestA/sub (0.00s)`.
    pub(super) fn line(&mut self, line: &str) {
        let text = line.trim_start();
        if let Some(name) = failed(text) {
            self.open.add(name);
        } else if let Some(name) = text.strip_prefix("=== FAIL: ") {
            let mut words = untimed(name).split_whitespace();
            match (words.next(), words.next()) {
                (Some(package), Some(test)) => self.summary.add(&qualified(package, test)),
                (Some(test), None) => self.summary.add(test),
                _ => {}
            }
        } else if let Some(package) = finished(line, "FAIL") {
            self.close(package);
        } else if finished(line, "ok").is_some() {
            self.close("");
        }
    }

    pub(super) fn event(&mut self, event: &Event) {
        if let Some((package, test)) = event.failed() {
            self.named.add(&qualified(package, test));
        }
    }

    fn close(&mut self, package: &str) {
        for test in std::mem::take(&mut self.open).into_sorted() {
            self.named.add(&qualified(package, &test));
        }
    }

    pub(super) fn finish(mut self) -> (Tool, Names) {
        self.close("");
        let best = if self.summary.is_empty() {
            self.named
        } else {
            self.summary
        };
        (Tool::GoTest, best)
    }
}

/// The test of `--- FAIL: TestA (0.00s)`, which may follow what a test printed without a line end.
fn failed(text: &str) -> Option<&str> {
    let at = text.rfind("--- FAIL: ")?;
    let name = text.get(at..)?.strip_prefix("--- FAIL: ")?.trim();
    let plain = untimed(name);
    (at == 0 || plain.len() < name.len()).then_some(plain)
}

/// The package of `FAIL example.com/p 0.003s`, with tabs between them.
fn finished<'a>(line: &'a str, outcome: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(outcome)?;
    let mut words = rest.split_whitespace();
    let package = words.next().filter(|_| rest.starts_with([' ', '\t']))?;
    words
        .next()
        .is_some_and(|time| is_duration(time) || time == "(cached)")
        .then_some(package)
}

/// As go writes it in a stack trace.
fn qualified(package: &str, test: &str) -> String {
    if package.is_empty() || package == NO_PACKAGE {
        test.to_owned()
    } else {
        format!("{package}.{test}")
    }
}
