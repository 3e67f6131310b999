//! Who is worth ranking, among all that have one of the query's best words.

use std::collections::HashMap;

use super::query::heavier;

/// The documents that have the most of what is looked for, best first, of equal ones the one indexed later.
///
/// `found` holds for each term what it is worth and who has it.
#[must_use]
pub fn shortlist(found: &[(f64, Vec<i64>)]) -> Vec<i64> {
    let mut sums: HashMap<i64, f64> = HashMap::new();
    for (worth, documents) in found {
        for document in documents {
            *sums.entry(*document).or_default() += worth;
        }
    }
    let mut all: Vec<(i64, f64)> = sums.into_iter().collect();
    all.sort_unstable_by(|(a, a_sum), (b, b_sum)| heavier(*a_sum, *b_sum).then_with(|| b.cmp(a)));
    all.into_iter().map(|(document, _)| document).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_and_rarest_words_come_first() {
        let found = [(3.0, vec![1]), (1.0, vec![1, 2, 3]), (1.5, vec![3, 4])];
        assert_eq!(shortlist(&found), [1, 3, 4, 2]);
        assert!(shortlist(&[]).is_empty());
    }
}
