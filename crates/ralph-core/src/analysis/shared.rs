//! `Shared:` the phase or the key prefix of nearly all failures, where they are of several tasks.

use super::input::Fact;
use super::words::{commonest, distinct, is_nearly_all};
use crate::text::one_line;

/// Longer ones are not phases or keys.
const NAME_CHARS: usize = 40;

/// Parts of a key that are looked at.
const MAX_PARTS: usize = 8;

/// The line's text.
pub(super) fn shared(facts: &[Fact]) -> Option<String> {
    let phase = |fact: &Fact| fact.phase.clone().filter(|phase| !phase.trim().is_empty());
    if let Some(phase) = common(facts, phase) {
        return Some(worded("phase", &phase, facts.len()));
    }
    // The longest prefix says most.
    let prefix = (1..=MAX_PARTS)
        .rev()
        .find_map(|parts| common(facts, |fact| prefix(fact.key.as_deref()?, parts)))?;
    Some(worded("key prefix", &prefix, facts.len()))
}

fn worded(what: &str, (value, count): &(String, usize), of: usize) -> String {
    let value = one_line(value, NAME_CHARS);
    if *count == of {
        format!("{what} {value}")
    } else {
        format!("{what} {value} ({count} of {of})")
    }
}

/// The value that nearly all failures have, two tasks among them.
fn common(facts: &[Fact], of: impl Fn(&Fact) -> Option<String>) -> Option<(String, usize)> {
    let (value, count) = commonest(facts.iter().filter_map(&of))?;
    let sharing = facts
        .iter()
        .filter(|fact| of(fact).as_ref() == Some(&value));
    let tasks = distinct(sharing.map(|fact| fact.task.as_str())).len();
    (tasks > 1 && is_nearly_all(count, facts.len())).then_some((value, count))
}

/// The first parts of a key: two of `1.2.3` are `1.2`, one of `12-01` is `12`.
fn prefix(key: &str, parts: usize) -> Option<String> {
    let ends = key.match_indices(['.', '-', '/']).map(|(at, _)| at);
    let end = ends.chain([key.len()]).nth(parts.checked_sub(1)?)?;
    key.get(..end)
        .filter(|prefix| !prefix.is_empty())
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyed(keys: &[&str]) -> Vec<Fact> {
        let fact = |key: &&str| Fact {
            task: (*key).to_owned(),
            key: Some((*key).to_owned()),
            ..Fact::default()
        };
        keys.iter().map(fact).collect()
    }

    fn of(keys: &[&str]) -> Option<String> {
        shared(&keyed(keys))
    }

    #[test]
    fn ana_02_the_longest_common_prefix_of_keys_is_told() {
        assert_eq!(of(&["1.2.1", "1.2.3"]).as_deref(), Some("key prefix 1.2"));
        assert_eq!(of(&["12-01", "12-02"]).as_deref(), Some("key prefix 12"));
        assert_eq!(
            of(&["1.2.1", "1.2.3", "1.2", "3.1"]).as_deref(),
            Some("key prefix 1.2 (3 of 4)")
        );
        assert_eq!(of(&["1.1", "12.1"]), None);
        assert_eq!(of(&["V4", "V5"]), None);
    }

    #[test]
    fn ana_02_one_task_shares_nothing() {
        assert_eq!(of(&["1.2", "1.2", "1.2"]), None);
        assert_eq!(of(&["1.2"]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn ana_02_a_phase_is_shared_by_three_of_four() {
        let mut facts = keyed(&["1.1", "2.1", "3.1", "4.1"]);
        for fact in facts.iter_mut().take(3) {
            fact.phase = Some("2".into());
        }
        assert_eq!(shared(&facts).as_deref(), Some("phase 2 (3 of 4)"));
        facts[0].phase = Some("1".into());
        assert_eq!(shared(&facts), None);
    }
}
