//! How hard a task is thought to be before anyone tried.

use serde::{Deserialize, Serialize};

/// A rough difficulty, easiest first; `unknown` is what all tasks together look like.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Bucket {
    /// A few obvious lines.
    Trivial,
    /// Straightforward.
    Easy,
    /// Ordinary work.
    Moderate,
    /// Subtle or far-reaching.
    Hard,
    /// Hardly to be done without a person.
    Blocked,
    /// Nobody said.
    #[default]
    Unknown,
}

impl Bucket {
    /// Every value.
    pub const ALL: [Self; 6] = [
        Self::Trivial,
        Self::Easy,
        Self::Moderate,
        Self::Hard,
        Self::Blocked,
        Self::Unknown,
    ];

    /// Its name in files and in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trivial => "trivial",
            Self::Easy => "easy",
            Self::Moderate => "moderate",
            Self::Hard => "hard",
            Self::Blocked => "blocked",
            Self::Unknown => "unknown",
        }
    }

    /// Reads a name, or a human estimate of the time the task takes as the public benchmarks have them; anything else
    /// is unknown.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if let Some(named) = Self::ALL
            .into_iter()
            .find(|b| b.as_str().eq_ignore_ascii_case(text))
        {
            return named;
        }
        match text {
            "<15 min fix" => Self::Easy,
            "15 min - 1 hour" => Self::Moderate,
            "1-4 hours" => Self::Hard,
            ">4 hours" => Self::Blocked,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Bucket;

    #[test]
    fn names_and_time_estimates_are_read_and_nothing_else() {
        for bucket in Bucket::ALL {
            assert_eq!(Bucket::parse(&format!(" {}\n", bucket.as_str())), bucket);
        }
        assert_eq!(Bucket::parse("Hard"), Bucket::Hard);
        assert_eq!(Bucket::parse("1-4 hours"), Bucket::Hard);
        assert_eq!(Bucket::parse(""), Bucket::Unknown);
        assert_eq!(Bucket::parse("very"), Bucket::Unknown);
    }
}
