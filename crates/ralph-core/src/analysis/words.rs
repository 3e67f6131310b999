//! Counting and wording that several lines share.

use crate::text::one_line;

/// More than half.
pub(super) fn is_most(count: usize, of: usize) -> bool {
    count.saturating_mul(2) > of
}

/// At least three of four.
pub(super) fn is_nearly_all(count: usize, of: usize) -> bool {
    count > 0 && count.saturating_mul(4) >= of.saturating_mul(3)
}

/// Each different item with how often it came, in the order of first appearance.
pub(super) fn tally<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<(T, usize)> {
    let mut counts: Vec<(T, usize)> = Vec::new();
    for item in items {
        match counts.iter_mut().find(|(known, _)| *known == item) {
            Some((_, count)) => *count += 1,
            None => counts.push((item, 1)),
        }
    }
    counts
}

/// The item that came most often; of equals the one that came first, which is the newest.
pub(super) fn commonest<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Option<(T, usize)> {
    // Of equals `max_by_key` takes the last.
    tally(items)
        .into_iter()
        .rev()
        .max_by_key(|(_, count)| *count)
}

/// The different items in the order of first appearance.
pub(super) fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    tally(items).into_iter().map(|(item, _)| item).collect()
}

/// `a`, `a and b`, `a, b and c`; of more than three the first two and how many there are besides.
pub(super) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first, second] => format!("{first} and {second}"),
        [first, second, third] => format!("{first}, {second} and {third}"),
        [first, second, more @ ..] => format!("{first}, {second} and {} more", more.len()),
    }
}

/// A name or command as code; backticks in it would end the code.
pub(super) fn code(text: &str, max_chars: usize) -> String {
    format!("`{}`", one_line(text, max_chars).replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_is_more_than_half_and_nearly_all_three_of_four() {
        let most: Vec<usize> = (0..=5).filter(|count| is_most(*count, 5)).collect();
        assert_eq!(most, [3, 4, 5]);
        assert!(!is_most(2, 4) && !is_most(0, 0));
        assert!(is_nearly_all(3, 4) && is_nearly_all(4, 5));
        assert!(!is_nearly_all(3, 5) && !is_nearly_all(0, 0));
    }

    #[test]
    fn of_equals_the_first_is_the_commonest() {
        assert_eq!(commonest(["b", "a", "b", "a"]), Some(("b", 2)));
        assert_eq!(commonest(["b", "a", "a"]), Some(("a", 2)));
        assert_eq!(commonest(Vec::<u8>::new()), None);
    }

    #[test]
    fn names_are_listed_as_a_sentence_would() {
        let names: Vec<String> = ["a", "b", "c", "d"].map(String::from).into();
        let lists: Vec<String> = (0..=4).map(|count| listed(&names[..count])).collect();
        assert_eq!(lists, ["", "a", "a and b", "a, b and c", "a, b and 2 more"]);
    }

    #[test]
    fn code_stays_code() {
        assert_eq!(code("a `b`\nc", 20), "`a 'b' c`");
    }
}
