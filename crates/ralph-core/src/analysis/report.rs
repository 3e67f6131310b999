//! The analysis itself, and its text.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The line above the others.
const HEADING: &str = "Failure Analysis:";

/// What was found. As JSON this is `ralph analyze --json`, so the names of its fields stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analysis {
    /// How many failures were looked at.
    pub failures: usize,
    /// The commonest error and how often it came.
    pub pattern: Option<String>,
    /// The commonest file and how often it was named or changed.
    pub affected: Option<String>,
    /// The phase or key prefix that the failing tasks share.
    pub shared: Option<String>,
    /// The models tried, and whether that was an escalation.
    pub models: Option<String>,
    /// What to do.
    pub suggestion: String,
}

impl Analysis {
    /// The text line by line: the heading, then what was found, the suggestion last.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let found = [
            ("Pattern", self.pattern.as_deref()),
            ("Affected", self.affected.as_deref()),
            ("Shared", self.shared.as_deref()),
            ("Models", self.models.as_deref()),
            ("Suggestion", Some(self.suggestion.as_str())),
        ];
        let lines = found
            .into_iter()
            .filter_map(|(label, value)| value.map(|value| format!("  {label}: {value}")));
        std::iter::once(HEADING.to_owned()).chain(lines).collect()
    }
}

impl fmt::Display for Analysis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}
