//! jest, vitest and mocha.

use super::super::Tool;
use super::super::names::{Names, untimed};

/// Endings of the files that hold tests.
const ENDINGS: [&str; 10] = [
    ".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte",
];

/// What stands after jest's dot without being a test.
const NO_TESTS: [&str; 4] = [
    "Console",
    "Test suite failed to run",
    "Cannot log after tests",
    "Validation",
];

/// What the JavaScript runners named.
#[derive(Default)]
pub(super) struct Javascript {
    /// `● suite › test` and `FAIL  file > suite > test`.
    tests: Names,
    /// Files that failed as a whole.
    files: Names,
    /// `✕ test` in a tree: the suite is not on the line.
    crossed: Names,
    mocha: Names,
    is_vitest: bool,
    /// The file that is being reported.
    file: String,
    file_has_tests: bool,
    in_mocha: bool,
    title: Vec<String>,
}

impl Javascript {
    pub(super) fn line(&mut self, line: &str) {
        let text = line.trim();
        if let Some(rest) = text.strip_prefix("FAIL ") {
            self.failed_file(rest.trim_start());
        } else if text.starts_with("PASS ") {
            self.close_file();
        } else if let Some(title) = text.strip_prefix("● ") {
            let title = title.trim();
            if !NO_TESTS.iter().any(|other| title.starts_with(other)) && !self.file.is_empty() {
                self.file_has_tests = true;
                self.tests.add(&format!("{} › {title}", self.file));
            }
        } else if let Some(name) = text.strip_prefix(['✕', '×']) {
            // Others like the sign as well: only in a file's report, or with a time.
            let plain = untimed(name);
            if !self.file.is_empty() || plain.len() < name.trim_end().len() {
                self.crossed.add(plain);
            }
        } else if let Some(count) = text.strip_suffix(" failing") {
            self.in_mocha |= count.parse::<u32>().is_ok();
        } else if self.in_mocha {
            self.mocha_title(line, text);
        }
    }

    /// `src/a.test.js (5.1 s)`, `src/a.test.ts > suite > test`, `|unit| src/a.test.ts [ … ]`.
    fn failed_file(&mut self, rest: &str) {
        let rest = match rest.strip_prefix('|').and_then(|r| r.split_once("| ")) {
            Some((_, rest)) => rest.trim_start(),
            None => rest,
        };
        let path = rest.split(' ').next().unwrap_or_default();
        if !ENDINGS.iter().any(|end| path.ends_with(end)) {
            return;
        }
        if rest.get(path.len()..).is_some_and(|r| r.starts_with(" > ")) {
            self.is_vitest = true;
            self.tests.add(untimed(rest));
            return;
        }
        self.is_vitest |= rest.contains(" [ ");
        self.close_file();
        path.clone_into(&mut self.file);
    }

    /// A file in which no test failed has failed as a whole.
    fn close_file(&mut self) {
        if !self.file.is_empty() && !self.file_has_tests {
            self.files.add(&self.file);
        }
        self.file.clear();
        self.file_has_tests = false;
    }

    /// `  1) suite`, then deeper `test:`.
    fn mocha_title(&mut self, line: &str, text: &str) {
        let numbered = text
            .split_once(") ")
            .filter(|(n, _)| n.parse::<u32>().is_ok());
        if let Some((_, title)) = numbered {
            self.title = vec![title.to_owned()];
        } else if self.title.is_empty() || text.is_empty() || !line.starts_with("     ") {
            self.title.clear();
            return;
        } else {
            self.title.push(text.to_owned());
        }
        if text.ends_with(':') {
            let title = std::mem::take(&mut self.title).join(" › ");
            self.mocha.add(title.trim_end_matches(':'));
        } else if self.title.len() > 20 {
            self.title.clear();
        }
    }

    pub(super) fn finish(mut self) -> (Tool, Names) {
        self.close_file();
        if !self.mocha.is_empty() {
            return (Tool::Mocha, self.mocha);
        }
        let tool = if self.is_vitest {
            Tool::Vitest
        } else {
            Tool::Jest
        };
        let mut names = self.tests;
        if names.is_empty() {
            names = self.crossed;
        }
        // A summary repeats a file that was reported before.
        names.merge(self.files);
        (tool, names)
    }
}
