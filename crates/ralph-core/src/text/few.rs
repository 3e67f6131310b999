//! Lists for people.

/// The first `most` names, and how many more there are: `a, b and 3 more`.
#[must_use]
pub fn few(names: &[String], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(String::as_str).collect();
    match names.len().saturating_sub(most) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_counted() {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(few(&names, 3), "a, b, c");
        assert_eq!(few(&names, 1), "a and 2 more");
        assert_eq!(few(&[], 3), "");
    }
}
