//! Values: those that are wanted, and whether a text is one already.

/// A value that is to stand in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Text(String),
    Count(usize),
    List(Vec<String>),
    /// These members; others may stand beside them.
    Object(Vec<(String, Wanted)>),
}

impl Wanted {
    /// Whether a JSON text has this value. Objects are compared by their members, not here.
    pub(super) fn is(&self, json: &str) -> bool {
        match self {
            Self::Text(text) => parsed::<String>(json).as_ref() == Some(text),
            Self::Count(number) => count(json) == Some(*number),
            Self::List(list) => parsed::<Vec<String>>(json).as_ref() == Some(list),
            Self::Object(_) => false,
        }
    }
}

/// The value of a JSON text, if it is of that kind.
pub(super) fn parsed<T: serde::de::DeserializeOwned>(json: &str) -> Option<T> {
    serde_json::from_str(json).ok()
}

/// The natural number that a JSON text is, also if it is written as `3.0`.
pub(super) fn count(json: &str) -> Option<usize> {
    let whole = json.split_once('.').map_or(json, |(whole, rest)| {
        let is_whole = !rest.is_empty() && rest.bytes().all(|byte| byte == b'0');
        if is_whole { whole } else { json }
    });
    parsed(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rcs_03_a_number_is_the_same_in_another_form() {
        assert_eq!(count("3"), Some(3));
        assert_eq!(count("3.0"), Some(3));
        assert_eq!(count("3.00"), Some(3));
        for other in [
            "3.5",
            "-3",
            "-0.0",
            "\"3\"",
            "true",
            "null",
            "1e2",
            "99999999999999999999",
            "[3.0",
        ] {
            assert_eq!(count(other), None, "{other}");
        }
    }

    #[test]
    fn rcs_04_texts_and_lists_are_compared_by_value() {
        assert!(Wanted::Text("a\n".into()).is(r#""\u0061\n""#));
        assert!(!Wanted::Text("a".into()).is("1"));
        assert!(Wanted::List(vec!["a".into()]).is("[ \"a\" ]"));
        assert!(!Wanted::List(vec!["1".into()]).is("[1]"));
    }
}
