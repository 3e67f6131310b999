//! The Test Anything Protocol, and the reporter of Node's own runner.

use super::super::Tool;
use super::super::names::{Names, untimed};

/// What was `not ok`, and what Node crossed out.
#[derive(Default)]
pub(super) struct Tap {
    not_ok: Names,
    crossed: Names,
}

impl Tap {
    pub(super) fn line(&mut self, line: &str) {
        let text = line.trim_start();
        if let Some(rest) = text
            .strip_prefix("not ok ")
            .filter(|r| r.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
        {
            let rest = rest
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .trim_start();
            let rest = rest.strip_prefix("- ").unwrap_or(rest);
            let (name, directive) = rest.rsplit_once(" # ").unwrap_or((rest, ""));
            let directive = directive.to_ascii_lowercase();
            if !directive.starts_with("todo") && !directive.starts_with("skip") {
                self.not_ok.add(untimed(name));
            }
        } else if let Some(name) = text.strip_prefix("✖ ") {
            // Only with its time: other programs like the sign as well.
            let plain = untimed(name);
            if plain.len() < name.trim_end().len() {
                self.crossed.add(plain);
            }
        }
    }

    pub(super) fn finish(self) -> (Tool, Names) {
        if self.not_ok.is_empty() {
            (Tool::NodeTest, self.crossed)
        } else {
            (Tool::Tap, self.not_ok)
        }
    }
}
