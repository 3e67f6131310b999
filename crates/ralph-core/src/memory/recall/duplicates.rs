//! Near-duplicates: learnings of one category that say the same in nearly the same words.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::tokens::{each_word, each_word_and_token};
use super::weights::MAX_CONTENT_BYTES;
use super::{Candidate, Fate};
use crate::files::fnv;
use crate::text::first_bytes;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordSet {
    /// Hashes in order: comparing two sets is one walk, and no word is copied.
    hashes: Vec<u64>,
    /// For texts without any word, which are equal only when they are the same.
    whole: u64,
}

impl WordSet {
    pub fn new(text: &str) -> Self {
        let mut hashes = Vec::new();
        each_word(text, |word| hashes.push(fnv(word.as_bytes())));
        hashes.sort_unstable();
        hashes.dedup();
        Self { hashes, whole: fnv(text.trim().as_bytes()) }
    }

    /// One number per word; for a text without words, one for the text.
    pub(super) fn keys(&self) -> Vec<u64> {
        if self.hashes.is_empty() { vec![self.whole] } else { self.hashes.clone() }
    }

    /// Over 80% shared words (Jaccard); at exactly 80% the two are different.
    pub fn nearly_equals(&self, other: &Self) -> bool {
        let mut pair = [&self.hashes, &other.hashes];
        pair.sort_by_key(|hashes| hashes.len());
        let [small, large] = pair;
        if large.is_empty() {
            return self.whole == other.whole;
        }
        let needed = (small.len() + large.len()) * 4 / 9 + 1;
        // What they share is at most the smaller set: most pairs need no walk.
        let Some(mut spare) = small.len().checked_sub(needed) else { return false };
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

/// The index tokens of which a near-duplicate of `content` must have at least one, rare ones first; `df` says how many
/// learnings have a token. None where the text has too few words that the index knows.
///
/// A near-duplicate lacks less than a fifth of the words, so it cannot lack all of a fifth of them.
pub fn probe_tokens(content: &str, df: impl Fn(&str) -> u64) -> Option<Vec<String>> {
    let mut words: BTreeMap<String, Option<String>> = BTreeMap::new();
    each_word_and_token(content, |word, token| {
        let known = words.entry(word.to_owned()).or_default();
        // A word that is written in two ways, one of which the index does not know, is no probe.
        *known = token.map(str::to_owned);
    });
    let needed = words.len().div_ceil(5);
    let mut tokens: Vec<(u64, String)> =
        words.into_values().flatten().map(|token| (df(&token), token)).collect();
    if needed == 0 || tokens.len() < needed {
        return None;
    }
    tokens.sort_unstable();
    tokens.truncate(needed);
    Some(tokens.into_iter().map(|(_, token)| token).collect())
}

/// What becomes of learnings in ranked order when of near-duplicates only the most recent is kept, and of all only the
/// first `max`: the newest takes the place that the best of its group has earned.
pub(super) fn keep_newest(ranked: &[&Candidate], max: usize) -> Vec<Fate> {
    let mut fates = vec![Fate::BeyondLimit; ranked.len()];
    let set = |candidate: &&Candidate| WordSet::new(first_bytes(&candidate.content, MAX_CONTENT_BYTES));
    let sets: Vec<WordSet> = ranked.iter().map(set).collect();
    let mut chosen = 0;
    for best in 0..ranked.len() {
        if chosen >= max {
            break;
        }
        if fates[best] != Fate::BeyondLimit {
            continue;
        }
        chosen += 1;
        let repeats = |other: &usize| {
            ranked[*other].category == ranked[best].category && sets[best].nearly_equals(&sets[*other])
        };
        let mut group = vec![best];
        group.extend((best + 1..ranked.len()).filter(repeats));
        // Of equally new ones the better ranked.
        let newest = group.iter().max_by_key(|place| (ranked[**place].created_at_ms, Reverse(**place)));
        let kept = newest.copied();
        for place in group {
            fates[place] = if Some(place) == kept { Fate::Chosen } else { Fate::Repeats };
        }
    }
    fates
}

/// Groups of near-duplicates among learnings given best first: each group is the places of its best one and of all
/// those that nearly repeat it and are in no earlier group. Each learning is its category and content. Not every pair
/// is compared.
pub fn groups(sayings: &[(&str, &str)]) -> Vec<Vec<usize>> {
    let sets = sayings.iter().map(|(_, content)| WordSet::new(content));
    let sets: Vec<WordSet> = sets.collect();
    let index = RarestWords::new(&sets);
    let mut is_free = vec![true; sayings.len()];
    let mut seen = vec![usize::MAX; sayings.len()];
    let mut groups = Vec::new();
    for (place, (category, _)) in sayings.iter().enumerate() {
        if !is_free[place] {
            continue;
        }
        let mut group = index.suspects(place, &mut seen);
        group.retain(|other| {
            *other > place
                && is_free[*other]
                && sayings[*other].0 == *category
                && sets[place].nearly_equals(&sets[*other])
        });
        if group.is_empty() {
            continue;
        }
        group.push(place);
        group.sort_unstable();
        group.iter().for_each(|place| is_free[*place] = false);
        groups.push(group);
    }
    groups
}

/// The rarest fifth of each set's words, and who has each of them among theirs.
///
/// The argument of [`probe_tokens`] holds for both sides at once: with all words in one order, two sets that share over
/// four fifths also share a word among the first fifth of each.
struct RarestWords {
    /// For each set, its size and its rarest words in order.
    of: Vec<(usize, Vec<u64>)>,
    /// For each word, the sets that have it among their rarest, and at which position.
    by_word: HashMap<u64, Vec<(usize, usize)>>,
}

impl RarestWords {
    fn new(sets: &[WordSet]) -> Self {
        let mut counts: HashMap<u64, u32> = HashMap::new();
        for set in sets {
            for word in set.keys() {
                *counts.entry(word).or_default() += 1;
            }
        }
        let mut of = Vec::with_capacity(sets.len());
        let mut by_word: HashMap<u64, Vec<(usize, usize)>> = HashMap::new();
        for (place, set) in sets.iter().enumerate() {
            let mut counted: Vec<(u32, u64)> =
                set.keys().into_iter().map(|word| (counts[&word], word)).collect();
            let size = counted.len();
            counted.sort_unstable();
            counted.truncate(size.div_ceil(5));
            let words: Vec<u64> = counted.into_iter().map(|(_, word)| word).collect();
            for (position, word) in words.iter().enumerate() {
                by_word.entry(*word).or_default().push((place, position));
            }
            of.push((size, words));
        }
        Self { of, by_word }
    }

    /// The sets that may share over four fifths with this one, each once. `seen` says for which set each was last met.
    fn suspects(&self, place: usize, seen: &mut [usize]) -> Vec<usize> {
        let (size, words) = &self.of[place];
        let mut suspects = Vec::new();
        for (position, word) in words.iter().enumerate() {
            for (other, its_position) in &self.by_word[word] {
                if std::mem::replace(&mut seen[*other], place) == place {
                    continue;
                }
                let its_size = self.of[*other].0;
                // Nothing before this word is shared, so at most what follows it is.
                let most = (size - position).min(its_size - its_position);
                if most * 9 > (size + its_size) * 4 {
                    suspects.push(*other);
                }
            }
        }
        suspects
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether two learnings are near-duplicates: the same category and over 80% shared words.
    fn near_duplicates(a: (&str, &str), b: (&str, &str)) -> bool {
        let ((a_category, a_content), (b_category, b_content)) = (a, b);
        a_category == b_category && WordSet::new(a_content).nearly_equals(&WordSet::new(b_content))
    }

    #[test]
    fn lrn_07_over_80_percent_is_a_near_duplicate_and_exactly_80_is_not() {
        let base = "one two three four five six seven eight nine";
        // 9 of 10 words, then 8 of 10.
        assert!(near_duplicates(("c", base), ("c", &format!("{base} ten"))));
        assert!(!near_duplicates(
            ("c", "one two three four five six seven eight nine"),
            ("c", "one two three four five six seven eight ten")
        ));
        assert!(near_duplicates(("c", "Use the CACHE."), ("c", "use, the cache")));
    }

    #[test]
    fn lrn_07_other_categories_are_never_duplicates() {
        assert!(!near_duplicates(("a", "the same words"), ("b", "the same words")));
    }

    #[test]
    fn lrn_07_the_newest_is_kept_at_its_own_place() {
        let entry = |content: &str, created_at_ms| Candidate {
            content: content.to_owned(),
            created_at_ms,
            ..Candidate::default()
        };
        let entries = [entry("x y", 1), entry("else", 1), entry("y x", 3), entry("X y", 2)];
        let chosen = |max| -> Vec<usize> {
            let fates = keep_newest(&entries.iter().collect::<Vec<_>>(), max);
            (0..fates.len()).filter(|place| fates[*place] == Fate::Chosen).collect()
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

    proptest! {
        #[test]
        fn life_03_groups_are_exactly_the_near_duplicates_of_their_best(
            sayings in proptest::collection::vec(any_saying(), 0..12),
        ) {
            let given: Vec<(&str, &str)> =
                sayings.iter().map(|(category, content)| (category.as_str(), content.as_str())).collect();
            let found = groups(&given);
            let near = |a: usize, b: usize| near_duplicates(given[a], given[b]);
            // The plain way to say the same, pair by pair.
            let mut taken = vec![false; given.len()];
            let mut expected = Vec::new();
            for best in 0..given.len() {
                if taken[best] { continue; }
                let like: Vec<usize> =
                    (best + 1..given.len()).filter(|other| !taken[*other] && near(best, *other)).collect();
                if like.is_empty() { continue; }
                let group: Vec<usize> = std::iter::once(best).chain(like).collect();
                for place in &group { taken[*place] = true; }
                expected.push(group);
            }
            prop_assert_eq!(found, expected);
        }
    }
}
