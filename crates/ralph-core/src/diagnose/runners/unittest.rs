//! Python's own test runner, and Django's.

use super::super::Tool;
use super::super::names::Names;

/// What unittest named.
#[derive(Default)]
pub(super) struct Unittest {
    /// `FAIL: test (case)` above each failure.
    headers: Names,
    /// `test (case) ... FAIL` while it runs.
    progress: Names,
}

impl Unittest {
    pub(super) fn line(&mut self, line: &str) {
        let header = line
            .strip_prefix("FAIL: ")
            .or_else(|| line.strip_prefix("ERROR: "));
        if let Some(name) = header.and_then(name) {
            self.headers.add(&name);
            return;
        }
        let text = line.trim();
        let running = text
            .strip_suffix(" ... FAIL")
            .or_else(|| text.strip_suffix(" ... ERROR"));
        if let Some(name) = running.and_then(name) {
            self.progress.add(&name);
        }
    }

    pub(super) fn finish(self) -> (Tool, Names) {
        let best = if self.headers.is_empty() {
            self.progress
        } else {
            self.headers
        };
        (Tool::Unittest, best)
    }
}

/// `test_a (mod.Case)` and, since 3.11, `test_a (mod.Case.test_a)`: the same name; a sub-test's
/// parameters follow.
pub(in super::super) fn name(text: &str) -> Option<String> {
    let (test, rest) = text.trim_end().split_once(" (")?;
    let (case, parameters) = rest.split_once(')')?;
    let valid = |part: &str, more: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|c| c.is_alphanumeric() || "_.<>".contains(c) || more.contains(c))
    };
    // `numpy (1.2.3)` is no test.
    if case.starts_with(|c: char| c.is_ascii_digit())
        || !valid(test, "")
        || !valid(case, "-")
        || !(case.contains('.') || test.starts_with("test"))
    {
        return None;
    }
    let whole = if case.ends_with(&format!(".{test}")) {
        case.to_owned()
    } else {
        format!("{case}.{test}")
    };
    Some(format!("{whole}{parameters}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fp_01_names_of_old_and_new_releases_are_equal() {
        assert_eq!(name("test_a (m.T)"), name("test_a (m.T.test_a)"));
        assert_eq!(
            name("test_a (m.T) (i=1)").as_deref(),
            Some("m.T.test_a (i=1)")
        );
        assert_eq!(name("setUpClass (m.T)").as_deref(), Some("m.T.setUpClass"));
        assert_eq!(name("could not open (a.b)"), None);
        assert_eq!(name("no case"), None);
    }
}
