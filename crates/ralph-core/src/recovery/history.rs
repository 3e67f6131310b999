//! How the fixes of a task ended: one line in the log.

use std::fmt;

/// The fixes of one task and how they ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixHistory {
    /// The task's key.
    pub key: String,
    /// The keys of its fix tasks, in order.
    pub fixes: Vec<String>,
    /// How it ended.
    pub end: FinalState,
}

/// How a task with fixes ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FinalState {
    /// The task was done.
    Pass,
    /// A human has to go on with it.
    Fail(FailReason),
}

/// Why a task with fixes was given to a human.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailReason {
    /// A task has used up its fixes.
    MaxLimit,
    /// The chain of fixes is too deep.
    MaxDepth,
    /// There are too many fixes below the root.
    MaxBelowRoot,
    /// Not said.
    Unknown,
}

impl FixHistory {
    /// The text of its line, without the list's marker:
    /// `Task 1.3: 1 fix attempted (1.3.1) - Final: PASS`.
    #[must_use]
    pub fn text(&self) -> String {
        let (count, end) = (self.fixes.len(), self.end);
        let noun = if count == 1 { "fix" } else { "fixes" };
        let fixes = self.fixes.join(", ");
        format!(
            "Task {}: {count} {noun} attempted ({fixes}) - Final: {end}",
            self.key
        )
    }

    /// The key of the task whose line this is.
    pub(crate) fn key_of(text: &str) -> Option<&str> {
        let word = text
            .trim()
            .strip_prefix("Task ")?
            .split_whitespace()
            .next()?;
        word.strip_suffix(':').filter(|key| !key.is_empty())
    }

    /// What such a text says.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let key = Self::key_of(text)?.to_owned();
        let (_, rest) = text.split_once('(')?;
        let (fixes, rest) = rest.split_once(')')?;
        let (_, end) = rest.split_once("Final:")?;
        let fixes = fixes
            .split(',')
            .map(str::trim)
            .filter(|fix| !fix.is_empty());
        let fixes = fixes.map(str::to_owned).collect();
        let end = FinalState::read(end.trim())?;
        Some(Self { key, fixes, end })
    }
}

impl FinalState {
    const ALL: [Self; 5] = [
        Self::Pass,
        Self::Fail(FailReason::MaxLimit),
        Self::Fail(FailReason::MaxDepth),
        Self::Fail(FailReason::MaxBelowRoot),
        Self::Fail(FailReason::Unknown),
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail(FailReason::MaxLimit) => "FAIL (max limit)",
            Self::Fail(FailReason::MaxDepth) => "FAIL (max depth)",
            Self::Fail(FailReason::MaxBelowRoot) => "FAIL (max below root)",
            Self::Fail(FailReason::Unknown) => "FAIL",
        }
    }

    /// The more telling ones come first: the last is the start of the others.
    pub(crate) fn read(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|state| text.starts_with(state.as_str()))
    }
}

impl fmt::Display for FinalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(key: &str, count: usize, end: FinalState) -> FixHistory {
        let fixes = (1..=count).map(|n| format!("{key}.{n}")).collect();
        FixHistory {
            key: key.into(),
            fixes,
            end,
        }
    }

    #[test]
    fn rch_01_the_line_of_a_task_that_passed() {
        assert_eq!(
            history("1.3", 2, FinalState::Pass).text(),
            "Task 1.3: 2 fixes attempted (1.3.1, 1.3.2) - Final: PASS"
        );
        assert_eq!(
            history("2.1", 1, FinalState::Pass).text(),
            "Task 2.1: 1 fix attempted (2.1.1) - Final: PASS"
        );
    }

    #[test]
    fn rch_02_the_line_of_a_task_that_reached_a_limit() {
        assert_eq!(
            history("3.4", 3, FinalState::Fail(FailReason::MaxLimit)).text(),
            "Task 3.4: 3 fixes attempted (3.4.1, 3.4.2, 3.4.3) - Final: FAIL (max limit)"
        );
        for reason in [
            FailReason::MaxDepth,
            FailReason::MaxBelowRoot,
            FailReason::Unknown,
        ] {
            let text = history("V4", 1, FinalState::Fail(reason)).text();
            assert!(
                text.starts_with("Task V4: 1 fix attempted (V4.1) - Final: FAIL"),
                "{text}"
            );
        }
    }

    #[test]
    fn rch_01_02_lines_read_back() {
        for end in FinalState::ALL {
            let written = history("1.3", 3, end);
            assert_eq!(FixHistory::read(&written.text()), Some(written));
        }
        for other in [
            "",
            "Task 1.3",
            "Task 1.3: (a) - Final: MAYBE",
            "1.3: 1 (a) Final: PASS",
        ] {
            assert_eq!(FixHistory::read(other), None, "{other}");
        }
    }
}
