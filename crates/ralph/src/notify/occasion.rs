//! What a person can be told of.

use serde::Serialize;

/// The occasions of `[notify] on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Occasion {
    /// The run ended and everything is done.
    Done,
    /// A task waits for a person, or all that is left does.
    Blocked,
    /// The circuit breaker opened.
    Breaker,
    /// A usage limit is waited for, or a limit ended the run.
    Limit,
    /// A budget is nearly or wholly used up.
    Budget,
    /// The run ended by an error, or was aborted.
    Error,
}

impl Occasion {
    /// All of them, in the order of the settings.
    pub const ALL: [Self; 6] = [
        Self::Done,
        Self::Blocked,
        Self::Breaker,
        Self::Limit,
        Self::Budget,
        Self::Error,
    ];

    /// Its word in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Blocked => "blocked",
            Self::Breaker => "breaker",
            Self::Limit => "limit",
            Self::Budget => "budget",
            Self::Error => "error",
        }
    }

    /// Those that a list of words names.
    pub fn named(words: &[String]) -> Vec<Self> {
        let wanted = |occasion: &Self| words.iter().any(|word| word == occasion.as_str());
        Self::ALL.into_iter().filter(wanted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::keys::{Kind, find};

    #[test]
    fn the_settings_know_every_occasion_and_no_other() {
        let words = Occasion::ALL.map(Occasion::as_str);
        let key = find("notify", "on").unwrap();
        let Kind::Choices(known) = key.kind else {
            panic!("{:?}", key.kind);
        };
        assert_eq!(known, words);
        assert_eq!(key.default, words.join(", "));
    }
}
