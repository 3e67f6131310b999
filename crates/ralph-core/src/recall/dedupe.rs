//! Near-duplicates: learnings of one category that say the same in nearly the same words.

use super::tokens::each_word;

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
        // What they share is at most the smaller set: most pairs need no walk.
        if small.len() * 5 <= large.len() * 4 {
            return false;
        }
        let mut shared = 0;
        let mut rest = large.iter().peekable();
        for hash in small {
            while rest.next_if(|other| *other < hash).is_some() {}
            shared += usize::from(rest.next_if_eq(&hash).is_some());
        }
        shared * 5 > (small.len() + large.len() - shared) * 4
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

/// What [`keep_newest`] needs to know of one learning.
pub(super) struct Entry<'c> {
    pub category: &'c str,
    pub content: &'c str,
    pub created_at_ms: i64,
}

/// Of entries in ranked order, the places of the first `max` that remain when of near-duplicates only the most
/// recent is kept, at its own place.
pub(super) fn keep_newest(entries: &[Entry<'_>], max: usize) -> Vec<usize> {
    let sets: Vec<WordSet> = entries
        .iter()
        .map(|entry| WordSet::new(entry.content))
        .collect();
    let mut dropped = vec![false; entries.len()];
    let mut kept = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        if kept.len() >= max {
            break;
        }
        if dropped.get(place).copied().unwrap_or(true) {
            continue;
        }
        let Some(set) = sets.get(place) else { continue };
        let mut newer_follows = false;
        let mut older = Vec::new();
        for (later, other) in entries.iter().enumerate().skip(place + 1) {
            if other.category == entry.category
                && sets
                    .get(later)
                    .is_some_and(|other| set.nearly_equals(other))
            {
                newer_follows |= other.created_at_ms > entry.created_at_ms;
                older.push(later);
            }
        }
        if newer_follows {
            continue;
        }
        kept.push(place);
        for place in older {
            if let Some(flag) = dropped.get_mut(place) {
                *flag = true;
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
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
        assert_eq!(keep_newest(&entries, 5), [1, 2]);
        assert_eq!(keep_newest(&entries, 1), [1]);
    }

    #[test]
    fn texts_without_words_are_duplicates_only_of_themselves() {
        assert!(near_duplicates(("c", "!!"), ("c", "!!")));
        assert!(!near_duplicates(("c", "!!"), ("c", "??")));
    }
}
