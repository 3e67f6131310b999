//! Durations as people write them: `90`, `90s`, `30m`, `1h30m`, `90d`.

use std::time::Duration;

/// Reads a duration; a number without a unit is seconds.
pub fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let unit_end = tail
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(tail.len());
        let (unit, next) = tail.split_at(unit_end);
        let factor = match unit {
            "ms" => 0.001,
            "s" | "sec" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        let part = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * factor).ok()?;
        total = total.checked_add(part)?;
        rest = next.trim_start();
    }
    (!text.is_empty()).then_some(total)
}

/// Writes a duration the way [`parse`] reads it.
pub fn show(duration: Duration) -> String {
    let millis = duration.as_millis();
    if !millis.is_multiple_of(1000) {
        return format!("{millis}ms");
    }
    let seconds = duration.as_secs();
    let parts = [
        (seconds / 3600, "h"),
        (seconds % 3600 / 60, "m"),
        (seconds % 60, "s"),
    ];
    let text: String = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, unit)| format!("{n}{unit}"))
        .collect();
    if text.is_empty() { "0".into() } else { text }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn people_write_them_in_many_ways() {
        for (text, seconds) in [
            ("90", 90.0),
            ("90s", 90.0),
            ("30m", 1800.0),
            ("1h30m", 5400.0),
            ("1h 5s", 3605.0),
            ("90d", 7_776_000.0),
            ("1d12h", 129_600.0),
            ("0.5", 0.5),
        ] {
            assert_eq!(
                parse(text),
                Some(Duration::from_secs_f64(seconds)),
                "{text}"
            );
        }
        assert_eq!(parse("0"), Some(Duration::ZERO));
        assert_eq!(parse("0s"), Some(Duration::ZERO));
        assert_eq!(parse(""), None);
        for bad in ["", "x", "5x", "-3", "m", "1h30", "inf", "nan", "1e400"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(millis in 1_u64..10_000_000) {
            let duration = Duration::from_millis(millis);
            prop_assert_eq!(parse(&show(duration)), Some(duration));
        }

        #[test]
        fn any_text_is_harmless(text in ".{0,40}") {
            let _ = parse(&text);
        }
    }
}
