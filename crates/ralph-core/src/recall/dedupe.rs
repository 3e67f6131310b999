//! Near-duplicates: learnings of one category that say the same in nearly the same words.

use std::collections::BTreeMap;

use super::Fate;
use super::tokens::{each_word, each_word_and_token};

/// The set of lower-cased words of a text, ready to be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordSet {
    /// Hashes in order: comparing two sets is one walk, and no word is copied.
    hashes: Vec<u64>,
    /// For texts without any word, which are equal only when they are the same.
    whole: u64,
}

impl WordSet {
    /// The words of a text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut hashes = Vec::new();
        each_word(text, |word| hashes.push(hash(word)));
        hashes.sort_unstable();
        hashes.dedup();
        Self {
            hashes,
            whole: hash(text.trim()),
        }
    }

    /// One number per word; for a text without words, one for the text.
    pub(super) fn keys(&self) -> Vec<u64> {
        if self.hashes.is_empty() {
            vec![self.whole]
        } else {
            self.hashes.clone()
        }
    }

    /// Over 80% shared words (Jaccard); at exactly 80% the two are different.
    #[must_use]
    pub fn nearly_equals(&self, other: &Self) -> bool {
        let (small, large) = if self.hashes.len() <= other.hashes.len() {
            (&self.hashes, &other.hashes)
        } else {
            (&other.hashes, &self.hashes)
        };
        if large.is_empty() {
            return self.whole == other.whole;
        }
        let needed = (small.len() + large.len()) * 4 / 9 + 1;
        // What they share is at most the smaller set: most pairs need no walk.
        let Some(mut spare) = small.len().checked_sub(needed) else {
            return false;
        };
        // And most that do end after a few steps, when too many words of the smaller set were missed.
        let mut rest = large.iter().peekable();
        for hash in small {
            while rest.next_if(|other| *other < hash).is_some() {}
            if rest.next_if_eq(&hash).is_none() {
                match spare.checked_sub(1) {
                    Some(left) => spare = left,
                    None => return false,
                }
            }
        }
        true
    }
}

fn hash(text: &str) -> u64 {
    // FNV-1a: short, the same on every machine, and fast for words.
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Whether two learnings are near-duplicates: the same category and over 80% shared words.
#[must_use]
pub fn near_duplicates(a: (&str, &str), b: (&str, &str)) -> bool {
    let ((a_category, a_content), (b_category, b_content)) = (a, b);
    a_category == b_category && WordSet::new(a_content).nearly_equals(&WordSet::new(b_content))
}

/// The index tokens of which a near-duplicate of `content` must have at least one, rare ones first; `df` says how many
/// learnings have a token. None where the text has too few words that the index knows.
///
/// A near-duplicate lacks less than a fifth of the words, so it cannot lack all of a fifth of them.
#[must_use]
pub fn probe_tokens(content: &str, df: impl Fn(&str) -> u64) -> Option<Vec<String>> {
    let mut words: BTreeMap<String, Option<String>> = BTreeMap::new();
    each_word_and_token(content, |word, token| {
        let known = words.entry(word.to_owned()).or_default();
        // A word that is written in two ways, one of which the index does not know, is no probe.
        *known = token.map(str::to_owned);
    });
    let needed = words.len().div_ceil(5);
    let mut tokens: Vec<(u64, String)> = words
        .into_values()
        .flatten()
        .map(|token| (df(&token), token))
        .collect();
    if needed == 0 || tokens.len() < needed {
        return None;
    }
    tokens.sort_unstable();
    tokens.truncate(needed);
    Some(tokens.into_iter().map(|(_, token)| token).collect())
}

/// What [`keep_newest`] needs to know of one learning.
pub(super) struct Entry<'c> {
    pub category: &'c str,
    pub content: &'c str,
    pub created_at_ms: i64,
}

/// What becomes of entries in ranked order when of near-duplicates only the most recent is kept, and of all only the
/// first `max`: the newest takes the place that the best of its group has earned.
pub(super) fn keep_newest(entries: &[Entry<'_>], max: usize) -> Vec<Fate> {
    let mut fates = vec![Fate::BeyondLimit; entries.len()];
    if max == 0 {
        return fates;
    }
    let sets: Vec<WordSet> = entries
        .iter()
        .map(|entry| WordSet::new(entry.content))
        .collect();
    let mut chosen = 0;
    for (place, (entry, set)) in entries.iter().zip(&sets).enumerate() {
        if chosen >= max {
            break;
        }
        if fates.get(place) != Some(&Fate::BeyondLimit) {
            continue;
        }
        let later: Vec<usize> = (place + 1..entries.len())
            .filter(|later| {
                let same = entries.get(*later).map(|other| other.category) == Some(entry.category);
                same && sets
                    .get(*later)
                    .is_some_and(|other| set.nearly_equals(other))
            })
            .collect();
        let mut group = vec![place];
        group.extend(later);
        // Of equally new ones the better ranked.
        let newest = |place: &usize| {
            let created = entries.get(*place).map(|entry| entry.created_at_ms);
            (created, std::cmp::Reverse(*place))
        };
        let kept = group.iter().copied().max_by_key(newest).unwrap_or(place);
        chosen += 1;
        for place in group {
            if let Some(fate) = fates.get_mut(place) {
                *fate = if place == kept {
                    Fate::Chosen
                } else {
                    Fate::Repeats
                };
            }
        }
    }
    fates
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lrn_07_over_80_percent_is_a_near_duplicate_and_exactly_80_is_not() {
        let base = "one two three four five six seven eight nine";
        // 9 of 10 words, then 8 of 10.
        assert!(near_duplicates(("c", base), ("c", &format!("{base} ten"))));
        assert!(!near_duplicates(
            ("c", "one two three four five six seven eight nine"),
            ("c", "one two three four five six seven eight ten")
        ));
        assert!(near_duplicates(
            ("c", "Use the CACHE."),
            ("c", "use, the cache")
        ));
    }

    #[test]
    fn lrn_07_other_categories_are_never_duplicates() {
        assert!(!near_duplicates(
            ("a", "the same words"),
            ("b", "the same words")
        ));
    }

    #[test]
    fn lrn_07_the_newest_is_kept_at_its_own_place() {
        let entry = |content, created_at_ms| Entry {
            category: "c",
            content,
            created_at_ms,
        };
        let entries = [
            entry("x y", 1),
            entry("else", 1),
            entry("y x", 3),
            entry("X y", 2),
        ];
        let chosen = |max| -> Vec<usize> {
            let fates = keep_newest(&entries, max);
            (0..fates.len())
                .filter(|place| fates[*place] == Fate::Chosen)
                .collect()
        };
        assert_eq!(chosen(5), [1, 2]);
        assert_eq!(chosen(1), [2], "the newest takes the place of the best");
        assert!(chosen(0).is_empty());
    }

    fn any_saying() -> impl Strategy<Value = (String, String)> {
        let word = "(cache|Cache|parseFiles|parsefiles|SQLite|sqlite|_of_|the|The|useD|of|a|Größe|GRÖẞE|日本語|C\\+\\+|c|x_y|X_Y|42|!!)";
        ("[ab]", proptest::collection::vec(word, 0..14))
            .prop_map(|(category, words)| (category, words.join(" ")))
    }

    proptest! {
        #[test]
        fn life_02_a_near_duplicate_always_has_one_of_the_probes(
            (one, other) in (any_saying(), any_saying()),
            rare in any::<u64>(),
        ) {
            let (a, b) = (one.1, other.1);
            if near_duplicates(("c", &a), ("c", &b))
                && let Some(probes) = probe_tokens(&a, |token| token.len() as u64 ^ rare)
            {
                let index = super::super::tokens::index_text(&b);
                let has = |probe: &String| index.split(' ').any(|token| token == probe);
                prop_assert!(probes.iter().any(has), "{a:?} {b:?} {probes:?}");
            }
        }
    }

    #[test]
    fn texts_without_words_are_duplicates_only_of_themselves() {
        assert!(near_duplicates(("c", "!!"), ("c", "!!")));
        assert!(!near_duplicates(("c", "!!"), ("c", "??")));
    }
}
