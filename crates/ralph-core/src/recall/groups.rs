//! Groups of near-duplicates among many learnings, without comparing each with each.

use std::collections::HashMap;

use super::dedupe::WordSet;

/// What [`groups`] needs to know of one learning.
#[derive(Debug, Clone, Copy)]
pub struct Saying<'c> {
    /// Its category.
    pub category: &'c str,
    /// Its content.
    pub content: &'c str,
}

/// Groups of near-duplicates among learnings given best first: each group is the places of its best one and of all
/// those that nearly repeat it and are in no earlier group.
#[must_use]
pub fn groups(sayings: &[Saying<'_>]) -> Vec<Vec<usize>> {
    let sets: Vec<WordSet> = sayings.iter().map(|s| WordSet::new(s.content)).collect();
    let index = RarestWords::new(&sets);
    let mut taken = vec![false; sayings.len()];
    let mut seen = vec![usize::MAX; sayings.len()];
    let mut groups = Vec::new();
    for (place, (saying, set)) in sayings.iter().zip(&sets).enumerate() {
        if taken.get(place).copied().unwrap_or(true) {
            continue;
        }
        let mut group = vec![place];
        for other in index.suspects(place, &mut seen) {
            let free = !taken.get(other).copied().unwrap_or(true);
            if other > place
                && free
                && sayings
                    .get(other)
                    .is_some_and(|o| o.category == saying.category)
                && sets.get(other).is_some_and(|o| set.nearly_equals(o))
            {
                group.push(other);
            }
        }
        if group.len() == 1 {
            continue;
        }
        group.sort_unstable();
        for place in &group {
            if let Some(flag) = taken.get_mut(*place) {
                *flag = true;
            }
        }
        groups.push(group);
    }
    groups
}

/// The rarest fifth of each set's words, and who has each of them among theirs.
///
/// The argument of [`probe_tokens`](super::dedupe::probe_tokens) holds for both sides at once: with all words in one order, two sets that share over
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
            let mut counted: Vec<(u32, u64)> = set
                .keys()
                .into_iter()
                .map(|word| (counts.get(&word).copied().unwrap_or(0), word))
                .collect();
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
        let Some((size, words)) = self.of.get(place) else {
            return Vec::new();
        };
        let mut suspects = Vec::new();
        for (position, word) in words.iter().enumerate() {
            for (other, its_position) in self.by_word.get(word).into_iter().flatten() {
                let Some(last) = seen.get_mut(*other).filter(|last| **last != place) else {
                    continue;
                };
                *last = place;
                let its_size = self.of.get(*other).map_or(0, |(size, _)| *size);
                // Nothing before this word is shared, so at most what follows it is.
                let most = (size - position).min(its_size.saturating_sub(*its_position));
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
    use crate::recall::dedupe::near_duplicates;

    fn any_saying() -> impl Strategy<Value = (String, String)> {
        let word = "(cache|parser|the|of|a|Größe|日本語|C\\+\\+|x_y|42|!!)";
        ("[ab]", proptest::collection::vec(word, 0..14))
            .prop_map(|(category, words)| (category, words.join(" ")))
    }

    proptest! {
        #[test]
        fn life_03_groups_are_exactly_the_near_duplicates_of_their_best(
            sayings in proptest::collection::vec(any_saying(), 0..12),
        ) {
            let given: Vec<Saying<'_>> =
                sayings.iter().map(|(category, content)| Saying { category, content }).collect();
            let found = groups(&given);
            let near = |a: usize, b: usize| near_duplicates(
                (given[a].category, given[a].content), (given[b].category, given[b].content));
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
