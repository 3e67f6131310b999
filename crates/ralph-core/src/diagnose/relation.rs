//! What two failures of the same task have to do with each other.

/// How a failure compares with the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// The same failure, with the same message.
    Same,
    /// The same place fails in another way.
    NewMessage,
    /// Fewer tests fail, and no other ones.
    Fewer,
    /// All that failed before, and more.
    More,
    /// Another failure.
    Different,
}

/// Compares a failure with the one before: coarse and fine fingerprint and the sorted failing tests of each.
#[must_use]
pub fn relation(before: (&str, &str, &[String]), now: (&str, &str, &[String])) -> Relation {
    if before.0 == now.0 {
        return if before.1 == now.1 {
            Relation::Same
        } else {
            Relation::NewMessage
        };
    }
    if shrank(before.2, now.2) {
        Relation::Fewer
    } else if shrank(now.2, before.2) {
        Relation::More
    } else {
        Relation::Different
    }
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
    fn fp_04_same_another_message_fewer_more_and_different() {
        let set = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let (ab, a, c, none) = (set(&["a", "b"]), set(&["a"]), set(&["c"]), set(&[]));
        let to = |now| relation(("1", "2", &ab), now);
        assert_eq!(to(("1", "2", &ab)), Relation::Same);
        assert_eq!(to(("1", "3", &ab)), Relation::NewMessage);
        assert_eq!(to(("4", "5", &a)), Relation::Fewer);
        assert_eq!(to(("4", "5", &c)), Relation::Different);
        assert_eq!(to(("4", "5", &none)), Relation::Different);
        assert_eq!(relation(("4", "5", &a), ("1", "2", &ab)), Relation::More);
    }
}
