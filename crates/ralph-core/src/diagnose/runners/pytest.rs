//! pytest: the short summary, the verbose progress, the headers of its failures.

use super::super::Tool;
use super::super::names::Names;
use super::super::shape;

/// What the summary says of a test that failed.
const STATUSES: [&str; 4] = ["FAILED ", "ERROR ", "SUBFAIL ", "SUBFAILED "];

/// What pytest named, by how well: the best source that has anything counts.
#[derive(Default)]
pub(super) struct Pytest {
    /// `path::test` of summary and progress.
    ids: Names,
    /// `____ test ____` above each failure.
    headers: Names,
    /// `def test` in the listings, for outputs that were cut down to those.
    listed: Names,
    section: Section,
    listing: Option<String>,
    /// A listing without its beginning: the set would be incomplete.
    unnamed: bool,
}

/// Which part of the report a line belongs to.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Section {
    /// Before any banner: perhaps the rest of the failures.
    #[default]
    Unknown,
    Failures,
    Other,
}

impl Pytest {
    pub(super) fn line(&mut self, line: &str) {
        if let Some(title) = banner(line, '=') {
            self.section = match title {
                "FAILURES" | "ERRORS" => Section::Failures,
                _ => Section::Other,
            };
            self.listing = None;
        } else if let Some(id) = id(line) {
            self.ids.add(id);
        } else if self.section == Section::Other {
        } else if let Some(title) = banner(line, '_') {
            let name = [
                "ERROR at setup of ",
                "ERROR at teardown of ",
                "ERROR collecting ",
            ]
            .iter()
            .find_map(|lead| title.strip_prefix(lead))
            .unwrap_or(title);
            self.headers.add(name);
        } else if let Some(name) = test_function(line) {
            self.listing = Some(name.to_owned());
        } else if shape::raised_at(line).is_some() {
            match self.listing.take() {
                Some(name) => self.listed.add(&name),
                None => self.unnamed = true,
            }
        }
    }

    pub(super) fn finish(self) -> (Tool, Names) {
        let listed = if self.unnamed {
            Names::default()
        } else {
            self.listed
        };
        let best = [self.ids, self.headers]
            .into_iter()
            .find(|names| !names.is_empty());
        (Tool::Pytest, best.unwrap_or(listed))
    }
}

/// The title of a line such as `==== FAILURES ====`.
pub(in super::super) fn banner(line: &str, fill: char) -> Option<&str> {
    let inner = line
        .strip_prefix(fill)?
        .strip_suffix(fill)?
        .trim_matches(fill);
    let title = inner.strip_prefix(' ')?.strip_suffix(' ')?.trim();
    (title.contains(|c: char| c.is_alphanumeric())).then_some(title)
}

/// What the short summary says of a test: `FAILED path::test - message`.
pub(in super::super) fn summary(line: &str) -> Option<(&str, &str)> {
    let rest = STATUSES.iter().find_map(|word| line.strip_prefix(word))?;
    let rest = rest.trim_start();
    let id = without_message(rest);
    let path = id.split("::").next().unwrap_or_default();
    let file = path.ends_with(".py") || (id.contains("::") && path.contains('.'));
    let message = rest.get(id.len()..).unwrap_or_default().trim_start();
    let message = message.strip_prefix("- ").unwrap_or_default();
    (file && !path.contains(' ')).then_some((id, message))
}

fn is_summary(line: &str) -> bool {
    STATUSES.iter().any(|word| line.starts_with(word))
}

/// The test that a line of the summary or of the progress says has failed.
fn id(line: &str) -> Option<&str> {
    let line = without_worker(line);
    if is_summary(line) {
        return summary(line).map(|(id, _)| id);
    }
    // `path::test FAILED   [ 50%]`
    let line = line.trim_end();
    let status = match line.strip_suffix("%]").and_then(|l| l.rsplit_once('[')) {
        Some((before, percent)) if percent.trim().parse::<u8>().is_ok() => before.trim_end(),
        _ => line,
    };
    let id = status
        .strip_suffix(" FAILED")
        .or_else(|| status.strip_suffix(" ERROR"))?;
    let (path, _) = id.split_once("::")?;
    (path.ends_with(".py") && !path.contains(' ')).then_some(id)
}

/// A line without xdist's `[gw0] [ 50%] `.
fn without_worker(line: &str) -> &str {
    let Some((_, rest)) = line.strip_prefix("[gw").and_then(|r| r.split_once("] ")) else {
        return line;
    };
    match rest.strip_prefix('[').and_then(|r| r.split_once("%] ")) {
        Some((_, rest)) => rest,
        None => rest,
    }
}

/// An id without ` - message`; a parameter may hold that dash as well.
fn without_message(text: &str) -> &str {
    let from = match text.find(['[', ' ']) {
        Some(open) if text.get(open..).is_some_and(|t| t.starts_with('[')) => {
            // The last bracket before the message, or the only one.
            text.find("] - ")
                .or_else(|| text.rfind(']'))
                .unwrap_or(open)
        }
        _ => 0,
    };
    let rest = text.get(from..).unwrap_or_default();
    let end = rest.find(" - ").map_or(text.len(), |at| from + at);
    text.get(..end).unwrap_or(text).trim_end()
}

/// `    def test_x(…` in a listing.
fn test_function(line: &str) -> Option<&str> {
    let code = line.strip_prefix("    ")?;
    let code = code.strip_prefix("async ").unwrap_or(code);
    let (name, _) = code.strip_prefix("def ")?.split_once('(')?;
    name.starts_with("test").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fp_01_ids() {
        for (line, expected) in [
            ("FAILED a.py::t - ValueError: x - y", Some("a.py::t")),
            ("FAILED a.py::t[a - b] - assert 0", Some("a.py::t[a - b]")),
            ("FAILED a.py::t[a b]", Some("a.py::t[a b]")),
            ("FAILED a.py::t - assert [1] - [2]", Some("a.py::t")),
            ("ERROR tests/a.py - ImportError", Some("tests/a.py")),
            ("ERROR tests/a.py", Some("tests/a.py")),
            (
                "a.py::C::t[1] FAILED          [ 50%]",
                Some("a.py::C::t[1]"),
            ),
            ("a.py::t ERROR", Some("a.py::t")),
            ("[gw0] [ 50%] FAILED a.py::t", Some("a.py::t")),
            ("a.py::t PASSED [ 50%]", None),
            ("PASSED a.py::t", None),
            ("XFAIL a.py::t - FAILED", None),
            ("FAILED (failures=1)", None),
            ("ERROR: not found: a.py", None),
            ("ERROR the build broke in a.py", None),
        ] {
            assert_eq!(id(line), expected, "{line}");
        }
    }

    #[test]
    fn banners() {
        assert_eq!(banner("=== FAILURES ===", '='), Some("FAILURES"));
        assert_eq!(banner("_ test_x _", '_'), Some("test_x"));
        assert_eq!(banner("_ _ _ _", '_'), None);
        assert_eq!(banner("__init__", '_'), None);
        assert_eq!(banner("=", '='), None);
    }
}
