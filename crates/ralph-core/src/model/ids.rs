//! Names of things: ids Ralph makes, keys people give, phases.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("a key must not be empty")]
    EmptyKey,
    /// The key is too long or has characters that would break commands and signals.
    #[error("`{0}` cannot be a key: use up to 64 letters, digits and . _ - : / # +")]
    BadKey(String),
    /// The key could be mistaken for an id.
    #[error("`{0}` cannot be a key: it looks like a task id")]
    KeyLooksLikeId(String),
    /// The id is empty, too long or has characters that would break commands and files.
    #[error("`{0}` cannot be a learning's id: use up to 100 letters, digits and . _ - : / # + @")]
    BadLearningId(String),
    #[error("`{0}` is not a phase: a phase is a number such as 2 or 2.1")]
    BadPhase(String),
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes what was stored before; nothing is checked.
            pub fn from_stored(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

text_id!(
    /// A task's id: `t-` and six hex digits.
    TaskId
);
text_id!(
    /// A run's id: `r-` and eight hex digits.
    RunId
);
text_id!(
    /// A learning's id: `l-` and six hex digits, or what an imported file says.
    LearningId
);
text_id!(
    /// The secret of one claim; its holder may record the attempt.
    Token
);
text_id!(
    /// The name a task's author gave it (`1.3`, `12-01`, `V4`), unique in the project.
    Key
);

impl TaskId {
    pub fn from_random(bits: u32) -> Self {
        Self(format!("t-{:06x}", bits & 0xff_ffff))
    }

    pub fn has_form(text: &str) -> bool {
        text.strip_prefix("t-")
            .is_some_and(|hex| hex.len() == 6 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
    }
}

impl LearningId {
    pub fn from_random(bits: u64) -> Self {
        Self(format!("l-{:06x}", bits & 0xff_ffff))
    }

    /// Checks an id that a file gave.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        // Ids are shown in terminals and files and typed in commands: nothing hides in them, and none looks like a flag.
        let plain = |c: char| c.is_alphanumeric() || "._-:/#+@".contains(c);
        let fits = (1..=100).contains(&text.chars().count());
        if !fits || !text.chars().all(plain) || text.starts_with('-') {
            return Err(IdError::BadLearningId(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl RunId {
    pub fn from_random(bits: u32) -> Self {
        Self(format!("r-{bits:08x}"))
    }
}

impl Token {
    pub fn from_random(bits: u64) -> Self {
        Self(format!("{bits:016x}"))
    }
}

impl Key {
    /// Checks a key that a person or a file gave.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(IdError::EmptyKey);
        }
        let allowed = |c: char| c.is_alphanumeric() || "._-:/#+".contains(c);
        if text.chars().count() > 64 || !text.chars().all(allowed) || text.starts_with('-') {
            return Err(IdError::BadKey(text.to_owned()));
        }
        if TaskId::has_form(text) {
            return Err(IdError::KeyLooksLikeId(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

/// A part of the plan, compared as a number: `05` is `5`, `2.1` is not `2`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Phase(f64);

impl Phase {
    /// Reads a phase such as `2`, `05` or `2.1`.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let text = text.trim();
        let plain = !text.is_empty()
            && text.len() <= 12
            && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
            && text.starts_with(|c: char| c.is_ascii_digit())
            && !text.ends_with('.');
        match text.parse::<f64>() {
            Ok(number) if plain => Ok(Self(number)),
            _ => Err(IdError::BadPhase(text.to_owned())),
        }
    }

    pub fn from_stored(number: f64) -> Self {
        Self(number)
    }

    pub fn number(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Serialize for Phase {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Whole phases are whole numbers in JSON: `2`, not `2.0`.
        if self.0.fract() == 0.0 && self.0 < 1e12 {
            serializer.serialize_u64(self.0 as u64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_01_ids_are_t_and_six_hex_digits() {
        assert_eq!(TaskId::from_random(0xdead_beef).as_str(), "t-adbeef");
        assert_eq!(TaskId::from_random(1).as_str(), "t-000001");
        assert!(TaskId::has_form("t-0123af"));
        for other in ["t-0123AF", "t-123", "x-012345", "t-0123456", ""] {
            assert!(!TaskId::has_form(other), "{other}");
        }
    }

    #[test]
    fn plan_01_keys_people_use_are_accepted() {
        for key in ["1.3", "12-01", "V4", "VE2", "1.3.1.1", "auth/login", "日本"] {
            assert_eq!(Key::parse(key).unwrap().as_str(), key);
        }
        assert_eq!(Key::parse("  "), Err(IdError::EmptyKey));
        assert!(matches!(Key::parse("a b"), Err(IdError::BadKey(_))));
        assert!(matches!(Key::parse("-x"), Err(IdError::BadKey(_))));
        assert!(matches!(Key::parse("t-00ff00"), Err(IdError::KeyLooksLikeId(_))));
    }

    #[test]
    fn plan_03_phases_compare_as_numbers() {
        assert_eq!(Phase::parse("05").unwrap(), Phase::parse("5").unwrap());
        assert_ne!(Phase::parse("2").unwrap(), Phase::parse("2.1").unwrap());
        assert_eq!(Phase::parse("2.1").unwrap().to_string(), "2.1");
        assert_eq!(serde_json::to_string(&Phase::parse("05").unwrap()).unwrap(), "5");
        assert_eq!(serde_json::to_string(&Phase::parse("2.1").unwrap()).unwrap(), "2.1");
        for bad in ["", "x", "-1", "1.", ".5", "1e3", "inf", "1.2.3", "9999999999999"] {
            assert!(Phase::parse(bad).is_err(), "{bad}");
        }
    }
}
