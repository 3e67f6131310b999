//! Small pieces of text for people and shells: durations, lists, counts, quoted words.

use std::time::Duration;

/// A duration in one or two units: `30 min`, `1 h 30 min`, `45 s`, `200 ms`.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes) = (seconds / 3600, seconds % 3600 / 60);
    let two = |first: u64, unit: &str, second: u64, part: &str| match second {
        0 => format!("{first} {unit}"),
        _ => format!("{first} {unit} {second} {part}"),
    };
    match seconds {
        0 => format!("{} ms", duration.as_millis()),
        1..60 => format!("{seconds} s"),
        60..3600 => two(minutes, "min", seconds % 60, "s"),
        _ => two(hours, "h", minutes, "min"),
    }
}

/// The first `most` names, and how many more there are: `a, b and 3 more`.
pub fn few(names: &[String], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(String::as_str).collect();
    match names.len().saturating_sub(most) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// `3 times in a row`, or `once`.
pub fn in_a_row(times: u32) -> String {
    match times {
        1 => "once".to_owned(),
        times => format!("{times} times in a row"),
    }
}

/// Characters that mean nothing to a shell, wherever they stand.
const PLAIN: &str = "-_./:=,@%+";

/// A text as one word of a POSIX shell.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    #[test]
    fn durations_are_said_in_one_or_two_units() {
        for (millis, said) in [
            (200, "200 ms"),
            (45_000, "45 s"),
            (60_000, "1 min"),
            (90_000, "1 min 30 s"),
            (1_800_000, "30 min"),
            (7_200_000, "2 h"),
            (5_400_000, "1 h 30 min"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), said);
        }
    }

    #[test]
    fn the_rest_is_counted() {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(few(&names, 3), "a, b, c");
        assert_eq!(few(&names, 1), "a and 2 more");
        assert_eq!(few(&[], 3), "");
    }

    #[test]
    fn once_is_no_row() {
        assert_eq!(in_a_row(1), "once");
        assert_eq!(in_a_row(2), "2 times in a row");
    }

    #[test]
    fn plain_words_stay_readable() {
        assert_eq!(shell_word("/srv/a-b_c.d"), "/srv/a-b_c.d");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("a b"), "'a b'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word("~"), "'~'");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn a_shell_reads_the_same_text(text in "[^\\x00]{0,20}") {
            let script = format!("printf %s {}", shell_word(&text));
            let said = Command::new("sh").args(["-c", &script]).output().unwrap();
            prop_assert_eq!(String::from_utf8_lossy(&said.stdout), text);
        }
    }
}
