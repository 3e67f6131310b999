//! When a usage limit ends: Codex tells it to people, by the clock on their wall.

use jiff::civil::{self, DateTime, Time};
use jiff::{ToSpan, Zoned};

/// Unix seconds when a limit is over, as Codex tells it at `now`: `… try again at 9:17 AM.` for a time today, and
/// `… at Nov 18th, 2026 9:17 AM.` for a later one, both in the zone of the machine. The seconds are cut off, so that
/// the limit is over for sure only when that minute is.
pub(super) fn resets_at(message: &str, now: &Zoned) -> Option<i64> {
    let at = message.to_ascii_lowercase().rfind("try again at ")?;
    let told = message.get(at + "try again at ".len()..)?;
    let told = told.trim_end_matches('.');
    let minute = match told.rsplit_once(", ") {
        Some((day, rest)) => {
            DateTime::strptime("%b %d, %Y %I:%M %p", format!("{}, {rest}", number(day)))
        }
        None => Time::strptime("%I:%M %p", told).map(|time| today(time, now)),
    };
    let over = minute.ok()?.checked_add(1.minute()).ok()?;
    let over = over.to_zoned(now.time_zone().clone()).ok()?;
    Some(over.timestamp().as_second())
}

/// A time of the day on which it was told. Just after midnight that may have been yesterday.
fn today(time: Time, now: &Zoned) -> DateTime {
    let is_new = now.time() < civil::time(0, 2, 0, 0);
    let told_before = is_new && time >= civil::time(23, 58, 0, 0);
    let day = match told_before {
        true => now.date().yesterday().unwrap_or(now.date()),
        false => now.date(),
    };
    day.to_datetime(time)
}

/// `Nov 18th` without the letters after its number.
fn number(day: &str) -> &str {
    day.trim_end_matches(|letter: char| letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use jiff::tz::{Offset, TimeZone};
    use proptest::prelude::*;

    use super::*;

    /// 2026-11-16, 09:16:30, an hour east of Greenwich.
    fn now() -> Zoned {
        let zone = TimeZone::fixed(Offset::constant(1));
        let time: DateTime = "2026-11-16T09:16:30".parse().unwrap();
        time.to_zoned(zone).unwrap()
    }

    #[test]
    fn what_was_told_just_before_midnight_is_not_a_day_ahead() {
        let midnight: DateTime = "2026-11-17T00:00:20".parse().unwrap();
        let midnight = midnight.to_zoned(TimeZone::UTC).unwrap();
        let told = |message: &str| {
            let second = resets_at(message, &midnight)?;
            Some(jiff::Timestamp::from_second(second).unwrap().to_string())
        };
        let just_over = told("Try again at 11:59 PM.");
        assert_eq!(just_over.as_deref(), Some("2026-11-17T00:00:00Z"));
        let ahead = told("Try again at 11:00 PM.");
        assert_eq!(ahead.as_deref(), Some("2026-11-17T23:01:00Z"));
    }

    fn told(message: &str) -> Option<String> {
        let second = resets_at(message, &now())?;
        Some(jiff::Timestamp::from_second(second).unwrap().to_string())
    }

    #[test]
    fn times_of_today_and_of_later_days() {
        for (message, expected) in [
            (
                "You’ve hit your usage limit. Try again at 9:17 AM.",
                "2026-11-16T08:18:00Z",
            ),
            (
                "… to purchase more credits or try again at 12:00 PM.",
                "2026-11-16T11:01:00Z",
            ),
            ("… or try again at 12:59 AM.", "2026-11-16T00:00:00Z"),
            (
                "… Try again at Nov 18th, 2026 9:17 AM.",
                "2026-11-18T08:18:00Z",
            ),
            (
                "… or try again at Jan 1st, 2027 11:59 PM.",
                "2027-01-01T23:00:00Z",
            ),
            (
                "… or try again at Dec 2nd, 2026 1:05 PM.",
                "2026-12-02T12:06:00Z",
            ),
        ] {
            assert_eq!(told(message).as_deref(), Some(expected), "{message}");
        }
    }

    #[test]
    fn no_time_is_none() {
        for message in [
            "",
            "You’ve hit your usage limit. Try again later.",
            "try again at ",
            "try again at noon.",
            "try again at 25:00 AM.",
            "try again at Feb 30th, 2026 9:17 AM.",
            "try again at , .",
        ] {
            assert_eq!(told(message), None, "{message}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in ".{0,40}", time in "[0-9:APM, thNov]{0,24}") {
            let _ = resets_at(&format!("{text}try again at {time}"), &now());
            let _ = resets_at(&text, &now());
        }
    }
}
