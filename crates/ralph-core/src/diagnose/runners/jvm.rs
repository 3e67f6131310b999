//! Maven's surefire and Gradle.

use super::super::Tool;
use super::super::names::Names;
use super::junit::without_parentheses;

/// What the runners of the JVM named.
#[derive(Default)]
pub(super) struct Jvm {
    /// `class.test -- Time elapsed: 0.01 s <<< FAILURE!`
    marked: Names,
    /// The lines below `Failures:` and `Errors:` at the end.
    results: Names,
    gradle: Names,
    in_results: bool,
}

impl Jvm {
    pub(super) fn line(&mut self, line: &str) {
        if let Some((name, _)) = line
            .strip_suffix(" FAILED")
            .and_then(|l| l.split_once(" > "))
        {
            // `com.foo.BarTest > testX() FAILED`
            if !name.contains(' ') && !name.contains("::") && !name.is_empty() {
                let whole = line.strip_suffix(" FAILED").unwrap_or(line);
                self.gradle.add(whole.trim_end_matches("()"));
            }
            return;
        }
        let Some(text) = line.strip_prefix("[ERROR]") else {
            self.in_results &= line.starts_with("  ");
            return;
        };
        if let Some((before, _)) = text.split_once(" <<< ") {
            self.marked(before.trim());
            return;
        }
        match text.trim() {
            "Failures:" | "Errors:" => self.in_results = true,
            name if self.in_results && text.starts_with("   ") => {
                let end = name.find([':', ' ']).unwrap_or(name.len());
                let test = name.get(..end).unwrap_or(name);
                if test.contains('.') {
                    self.results.add(test);
                }
            }
            _ => self.in_results = false,
        }
    }

    /// `com.foo.BarTest.testX -- Time elapsed: …` or, before 3.0, `testX(com.foo.BarTest)  Time …`.
    fn marked(&mut self, text: &str) {
        if text.starts_with("Tests run") {
            return;
        }
        let name = text.split("Time elapsed").next().unwrap_or_default();
        let name = name.trim_end_matches([' ', '-']);
        match name.strip_suffix(')').and_then(|n| n.split_once('(')) {
            Some((test, class)) if class.contains('.') && !test.contains('.') => {
                self.marked.add(&format!("{class}.{test}"));
            }
            _ => self.marked.add(&without_parentheses(name)),
        }
    }

    pub(super) fn finish(self) -> (Tool, Names) {
        if !self.gradle.is_empty() {
            return (Tool::Gradle, self.gradle);
        }
        let best = if self.marked.is_empty() {
            self.results
        } else {
            self.marked
        };
        (Tool::Surefire, best)
    }
}
