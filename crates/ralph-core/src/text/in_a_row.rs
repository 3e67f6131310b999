//! How often something happened, in words.

/// `3 times in a row`; what happened once happened in no row.
#[must_use]
pub fn in_a_row(times: u32) -> String {
    match times {
        1 => "once".to_owned(),
        times => format!("{times} times in a row"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_is_no_row() {
        assert_eq!(in_a_row(1), "once");
        assert_eq!(in_a_row(2), "2 times in a row");
    }
}
