//! The failing tests that test runners name.

mod go;
mod javascript;
mod junit;
mod jvm;
mod other;
mod pytest;
mod rust;
mod tap;
mod unittest;

pub(super) use junit::method as junit_method;
pub(super) use pytest::{banner, summary};
pub(super) use unittest::name as unittest_name;

use super::Tool;
use super::go_event::Event;
use super::names::Names;

/// All runners, each reading every line: an output may hold several.
#[derive(Default)]
pub(super) struct Runners {
    pytest: pytest::Pytest,
    unittest: unittest::Unittest,
    rust: rust::Rust,
    javascript: javascript::Javascript,
    tap: tap::Tap,
    go: go::Go,
    jvm: jvm::Jvm,
    junit: junit::Junit,
    other: other::Other,
}

impl Runners {
    pub(super) fn line(&mut self, line: &str) {
        self.pytest.line(line);
        self.unittest.line(line);
        self.rust.line(line);
        self.javascript.line(line);
        self.tap.line(line);
        self.go.line(line);
        self.jvm.line(line);
        self.junit.line(line);
        self.other.line(line);
    }

    /// An event of `go test -json`.
    pub(super) fn event(&mut self, event: &Event) {
        self.go.event(event);
    }

    /// All names, and the runner that named most.
    pub(super) fn finish(self) -> (Names, Option<Tool>) {
        let mut all = Names::default();
        let mut most = (0, None);
        let found = [
            self.pytest.finish(),
            self.unittest.finish(),
            self.go.finish(),
            self.tap.finish(),
        ]
        .into_iter()
        .chain([
            self.rust.finish(),
            self.javascript.finish(),
            self.jvm.finish(),
            self.junit.finish(),
        ])
        .chain(self.other.finish());
        for (tool, names) in found {
            if names.len() > most.0 {
                most = (names.len(), Some(tool));
            }
            all.merge(names);
        }
        (all, most.1)
    }
}
