//! go test and gotestsum.

use super::super::Tool;
use super::super::names::{Names, untimed};

/// What go test named.
#[derive(Default)]
pub(super) struct Go(Names);

impl Go {
    /// `--- FAIL: TestA/sub (0.00s)`, or with gotestsum `=== FAIL: pkg TestA/sub (0.00s)`.
    pub(super) fn line(&mut self, line: &str) {
        let text = line.trim_start();
        let name = text
            .strip_prefix("--- FAIL: ")
            .or_else(|| text.strip_prefix("=== FAIL: "));
        if let Some(name) = name.and_then(|n| untimed(n).rsplit(' ').next()) {
            self.0.add(name);
        }
    }

    pub(super) fn finish(self) -> (Tool, Names) {
        (Tool::GoTest, self.0)
    }
}
