//! cargo test and cargo nextest.

use super::super::Tool;
use super::super::names::Names;

/// What the Rust runners named.
#[derive(Default)]
pub(super) struct Rust {
    libtest: Names,
    nextest: Names,
    in_list: bool,
}

impl Rust {
    pub(super) fn line(&mut self, line: &str) {
        let text = line.trim();
        if text == "failures:" {
            self.in_list = true;
            return;
        }
        if let Some(name) = text
            .strip_prefix("test ")
            .and_then(|t| t.strip_suffix(" ... FAILED"))
        {
            self.libtest.add(&unplaced(name));
        } else if self.in_list {
            // A documentation test's name holds blanks: `src/lib.rs - f (line 3)`.
            let is_name = !text.is_empty() && (!text.contains(' ') || text.contains(" - "));
            self.in_list = line.starts_with("    ") && is_name && !text.ends_with(':');
            if self.in_list {
                self.libtest.add(&unplaced(text));
            }
        } else {
            self.nextest(text);
        }
    }

    /// `FAIL [   0.025s] (1/4) demo tests::err`, `TRY 2 FAIL [ …`.
    fn nextest(&mut self, text: &str) {
        let Some((status, rest)) = text.split_once(" [") else {
            return;
        };
        let Some((time, rest)) = rest.split_once("] ") else {
            return;
        };
        let clock = time.trim().trim_start_matches('>');
        if clock
            .strip_suffix('s')
            .is_none_or(|t| t.parse::<f64>().is_err())
        {
            return;
        }
        let rest = rest.trim_start();
        let counted = rest.strip_prefix('(').and_then(|r| r.split_once(") "));
        let name = counted.map_or(rest, |(_, name)| name).trim_start();
        let outcome = status.rsplit(' ').next().unwrap_or_default();
        if matches!(
            outcome,
            "FAIL" | "TIMEOUT" | "ABORT" | "LEAK-FAIL" | "XFAIL"
        ) || outcome.starts_with("SIG")
        {
            self.nextest.add(name);
        } else if matches!(outcome, "PASS" | "FLAKY") || status.starts_with("FLAKY") {
            // It failed before and passed when tried again.
            self.nextest.remove(name);
        }
    }

    pub(super) fn finish(self) -> (Tool, Names) {
        // nextest shows libtest's output of each test as well.
        if self.nextest.is_empty() {
            (Tool::CargoTest, self.libtest)
        } else {
            (Tool::Nextest, self.nextest)
        }
    }
}

/// A name without what libtest adds: `- should panic`, and the line of a documentation test.
fn unplaced(name: &str) -> String {
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    let name = name.strip_suffix(" - compile").unwrap_or(name);
    match name.rsplit_once(" (line ") {
        Some((before, _)) => before.to_owned(),
        None => name.to_owned(),
    }
}
