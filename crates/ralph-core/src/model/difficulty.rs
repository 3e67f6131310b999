//! How hard the agent found a task, in its own words.

use serde::{Deserialize, Serialize};

/// The five values of `<difficulty-estimate>`, easiest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difficulty {
    /// A few obvious lines.
    Trivial,
    /// Straightforward, along known patterns.
    Easy,
    /// Ordinary feature work over several modules.
    Moderate,
    /// Subtle or far-reaching.
    Hard,
    /// Nothing more can be done without a person.
    Blocked,
}

impl Difficulty {
    /// Every value, easiest first.
    pub const ALL: [Self; 5] = [
        Self::Trivial,
        Self::Easy,
        Self::Moderate,
        Self::Hard,
        Self::Blocked,
    ];

    /// The name used in signals, in the database and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trivial => "trivial",
            Self::Easy => "easy",
            Self::Moderate => "moderate",
            Self::Hard => "hard",
            Self::Blocked => "blocked",
        }
    }

    /// Reads exactly one of the five names; whitespace around it is ignored.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        Self::ALL.into_iter().find(|value| value.as_str() == text)
    }
}

impl std::fmt::Display for Difficulty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Difficulty;

    #[test]
    fn dif_01_exactly_five_names_after_trimming() {
        for value in Difficulty::ALL {
            assert_eq!(Difficulty::parse(&format!(" \n{value}\t")), Some(value));
        }
        for wrong in [
            "",
            "super-hard",
            "Hard",
            "trivial|easy|moderate|hard|blocked",
            "hard easy",
        ] {
            assert_eq!(Difficulty::parse(wrong), None, "{wrong:?}");
        }
    }
}
