//! Keys of tasks: `1.3`, `1.3.1`, `12-01`, `V4`, `VE2`, `VF`, `VF.1`.

/// The key that a text begins with, and what stands after it; a `:` or `.` that closes the key is
/// no part of either.
pub(super) fn leading_key(text: &str) -> Option<(&str, &str)> {
    let (key, after) = text.split_at_checked(key_length(text)?)?;
    let open = after.strip_prefix([':', '.']).unwrap_or(after);
    let is_whole = open.is_empty() || open.starts_with([' ', '\t']);
    is_whole.then_some((key, open))
}

/// Bytes of the key that a text begins with, whatever comes after it.
pub(super) fn key_length(text: &str) -> Option<usize> {
    let base = base_length(text)?;
    Some(base + dotted_length(text.get(base..)?))
}

/// Whether `key` is below `ancestor`, as `1.3.1` is below `1.3` and `1.30` is not.
pub(super) fn is_below(key: &str, ancestor: &str) -> bool {
    key.strip_prefix(ancestor)
        .is_some_and(|rest| rest.starts_with('.'))
}

/// `1` with what makes it a key (`.3`, `-01`), or `V4`, `VE2`, `VF2`, `VF`.
fn base_length(text: &str) -> Option<usize> {
    let prefix = ["VE", "VF", "V"].into_iter().find(|p| text.starts_with(p));
    let start = prefix.map_or(0, str::len);
    let number = digits(text.get(start..)?);
    let end = start + number;
    match prefix {
        Some("VF") => Some(end),
        Some(_) => (number > 0).then_some(end),
        None => {
            let second = text.get(end..)?.strip_prefix(['.', '-'])?;
            let second = digits(second);
            (number > 0 && second > 0).then_some(end + 1 + second)
        }
    }
}

/// Length of as many `.N` as a text begins with.
fn dotted_length(text: &str) -> usize {
    let mut length = 0;
    while let Some(number) = text.get(length..).and_then(|rest| rest.strip_prefix('.')) {
        match digits(number) {
            0 => break,
            found => length += 1 + found,
        }
    }
    length
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imp_02_keys() {
        for key in [
            "1.3",
            "1.3.1",
            "12.4",
            "01.02.003",
            "12-01",
            "12-01.1",
            "V4",
            "V4.1",
            "VE2",
            "VE2.1.1",
            "VF",
            "VF.1",
            "VF2",
            "VF2.10",
        ] {
            assert_eq!(leading_key(key), Some((key, "")), "{key}");
            for (end, after) in [
                (" a", " a"),
                ("\ta", "\ta"),
                (": a", " a"),
                (". a", " a"),
                (".", ""),
            ] {
                let text = format!("{key}{end}");
                assert_eq!(leading_key(&text), Some((key, after)), "{text}");
            }
        }
    }

    #[test]
    fn imp_02_no_keys() {
        for text in [
            "",
            "3",
            "3 a",
            "3. a",
            "3) a",
            "1.a",
            "1.3a",
            "1.3) a",
            "1.3.a",
            "1..3 a",
            "1.3:: a",
            "1.3:a",
            "V",
            "VE",
            "V a",
            "VX1",
            "VFa",
            "V.1",
            "VE.1",
            "v4",
            "T1",
            "T001",
            "US-001",
            "2024-01-02 a",
            "1-",
            "-1",
            "1.é",
            "**1.3** a",
            "1.3[P] a",
        ] {
            assert_eq!(leading_key(text), None, "{text}");
        }
    }

    #[test]
    fn rci_01_descendants() {
        assert!(is_below("1.3.1", "1.3") && is_below("VF.1.2", "VF"));
        assert!(!is_below("1.3", "1.3") && !is_below("1.30", "1.3") && !is_below("1.4.1", "1.3"));
    }
}
