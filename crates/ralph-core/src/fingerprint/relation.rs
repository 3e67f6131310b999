//! What two failures of the same task have to do with each other.

use super::Fingerprint;

/// How a failure compares with the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// The same failure, with the same message.
    Same,
    /// The same place fails in another way, or fewer tests fail and no other ones.
    Progress,
    /// Another failure.
    Different,
}

impl Relation {
    /// The word for it in output and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Progress => "progress",
            Self::Different => "different",
        }
    }
}

/// Compares a failure with the one before.
#[must_use]
pub fn relation(before: &Fingerprint, now: &Fingerprint) -> Relation {
    relation_of(
        (&before.coarse, &before.fine, &before.failing),
        (&now.coarse, &now.fine, &now.failing),
    )
}

/// The same from stored data: coarse, fine and the sorted failing tests of each.
#[must_use]
pub fn relation_of(before: (&str, &str, &[String]), now: (&str, &str, &[String])) -> Relation {
    if before.0 == now.0 {
        return if before.1 == now.1 {
            Relation::Same
        } else {
            Relation::Progress
        };
    }
    if shrank(before.2, now.2) {
        Relation::Progress
    } else {
        Relation::Different
    }
}

/// Whether it is the same failure again, whatever its message.
#[must_use]
pub fn same_failure(before: &Fingerprint, now: &Fingerprint) -> bool {
    before.coarse == now.coarse
}

/// Whether a sorted set is a real part of another, and not empty: an empty one names nothing.
fn shrank(before: &[String], now: &[String]) -> bool {
    let mut rest = before.iter();
    !now.is_empty()
        && now.len() < before.len()
        && now.iter().all(|name| rest.any(|other| other == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fp_04_same_progress_and_different() {
        let set = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let (ab, a, c, none) = (set(&["a", "b"]), set(&["a"]), set(&["c"]), set(&[]));
        let to = |now| relation_of(("1", "2", &ab), now);
        assert_eq!(to(("1", "2", &ab)), Relation::Same);
        assert_eq!(to(("1", "3", &ab)), Relation::Progress);
        assert_eq!(to(("4", "5", &a)), Relation::Progress);
        assert_eq!(to(("4", "5", &c)), Relation::Different);
        assert_eq!(to(("4", "5", &none)), Relation::Different);
        assert_eq!(
            relation_of(("4", "5", &a), ("1", "2", &ab)),
            Relation::Different
        );
    }
}
