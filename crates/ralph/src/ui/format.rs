//! Numbers and rows as people read them.

use std::time::Duration;

use ralph_core::model::{Attempt, Cost, Timestamp};
use ralph_core::text::one_line;

use super::style;
use super::table::Table;

/// A duration: `0.4s`, `12s`, `3:05`, `1:02:03`.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{:.1}s", duration.as_secs_f64()),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!(
            "{}:{:02}:{:02}",
            seconds / 3600,
            seconds % 3600 / 60,
            seconds % 60
        ),
    }
}

/// How long ago, in the unit that says enough: `12s`, `5m`, `3h`, `90d`.
pub fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A point in time, to the second.
pub fn time(time: Timestamp) -> String {
    let text = time.to_string();
    text.get(..19).unwrap_or(&text).replace('T', " ")
}

/// The day of a point in time.
pub fn day(time: Timestamp) -> String {
    time.to_string().chars().take(10).collect()
}

/// The time of day, to the second.
pub fn clock(time: Timestamp) -> String {
    time.to_string().chars().skip(11).take(8).collect()
}

/// A cost; unknown is not zero, and an estimate is shown as one: `~$0.42`.
pub fn cost(usd: Option<f64>, is_estimate: bool) -> String {
    let about = if is_estimate { "~" } else { "" };
    match usd {
        None => "-".into(),
        Some(usd) if usd > 0.0 && usd < 0.095 => format!("{about}${usd:.3}"),
        Some(usd) => format!("{about}${usd:.2}"),
    }
}

/// What an attempt cost, where that is known.
pub fn attempt_cost(attempt: &Attempt) -> Option<String> {
    let estimated = attempt.cost_estimated;
    attempt.cost_usd.map(|usd| cost(Some(usd), estimated))
}

/// What several tries cost, where any were made or told: `$4.12`, `at least $4.12`, `cost unknown`.
pub fn total(total: &Cost) -> Option<String> {
    match total.cost_usd {
        None => Some("cost unknown".to_owned()),
        Some(usd) if total.cost_unknown > 0 => Some(format!(
            "at least {}",
            cost(Some(usd), total.cost_estimated)
        )),
        Some(usd) => (usd > 0.0).then(|| cost(Some(usd), total.cost_estimated)),
    }
}

/// The same for a table: `$4.12`, `≥$4.12`, `-`; nothing where nothing was spent.
pub fn short_total(total: &Cost) -> String {
    match total.cost_usd {
        Some(usd) if usd <= 0.0 && total.cost_unknown == 0 => String::new(),
        Some(usd) if total.cost_unknown > 0 => {
            format!("≥{}", cost(Some(usd), total.cost_estimated))
        }
        known => cost(known, total.cost_estimated),
    }
}

/// A number of bytes: `512 B`, `3.2 MB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (1_000_000_000_000, "TB"),
        (1_000_000_000, "GB"),
        (1_000_000, "MB"),
        (1000, "kB"),
    ];
    match UNITS.iter().find(|(unit, _)| n >= *unit) {
        // In tenths, rounded down: room that is not there is not promised.
        Some((unit, name)) => format!("{}.{} {name}", n / unit, n % unit * 10 / unit),
        None => format!("{n} B"),
    }
}

/// A number of things: `1 attempt`, `2 attempts`.
pub fn counted(n: u64, thing: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {thing}{plural}")
}

/// How an attempt ended, in a few words.
pub fn outcome(attempt: &Attempt) -> String {
    let error = attempt
        .error_type
        .as_ref()
        .map(|error| format!(" ({error})"))
        .unwrap_or_default();
    format!("{}{error}", attempt.outcome.as_str().replace('_', " "))
}

/// Attempts as a table.
pub fn history(attempts: &[Attempt]) -> String {
    let mut table = Table::new([
        "",
        "TASK",
        "TRY",
        "MODEL",
        "TIME",
        "COST",
        "STARTED",
        "WHY THAT MODEL",
        "OUTCOME",
    ]);
    for attempt in attempts {
        let name = attempt
            .key
            .as_ref()
            .map_or(attempt.task_id.as_str(), |key| key.as_str());
        let what = match &attempt.detail.message {
            Some(message) => format!("{}: {message}", outcome(attempt)),
            None => outcome(attempt),
        };
        table.row([
            style::outcome_mark(attempt.outcome, attempt.counted),
            name.to_owned(),
            if attempt.counted {
                attempt.attempt.to_string()
            } else {
                // It has no number that counts; by this one `ralph logs --try` finds it.
                format!("({})", attempt.detail.attempt_number)
            },
            attempt.model.clone(),
            duration(Duration::from_millis(attempt.duration_ms)),
            attempt_cost(attempt).unwrap_or_default(),
            time(attempt.started_at),
            one_line(attempt.rationale.as_deref().unwrap_or_default(), 60),
            what,
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_costs_are_short() {
        for (millis, text) in [
            (400, "0.4s"),
            (12_300, "12s"),
            (185_000, "3:05"),
            (3_723_000, "1:02:03"),
            (0, "0.0s"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), text);
        }
        for (seconds, text) in [
            (0, "0s"),
            (59, "59s"),
            (3599, "59m"),
            (7200, "2h"),
            (172_799, "47h"),
            (172_800, "2d"),
        ] {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
        for (n, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1999, "1.9 kB"),
            (50_000_000, "50.0 MB"),
            (12_345_000_000, "12.3 GB"),
        ] {
            assert_eq!(bytes(n), text);
        }
        let moment = Timestamp::from_millis(1_700_000_000_123);
        assert_eq!(
            (day(moment), clock(moment)),
            ("2023-11-14".into(), "22:13:20".into())
        );
        assert_eq!(cost(None, true), "-");
        assert_eq!(cost(Some(0.0), false), "$0.00");
        assert_eq!(cost(Some(0.0021), false), "$0.002");
        assert_eq!(cost(Some(1.5), false), "$1.50");
        assert_eq!(cost(Some(0.42), true), "~$0.42");
        let about = Cost::new(4.12, 1).estimated(true);
        assert_eq!(total(&about).as_deref(), Some("at least ~$4.12"));
        assert_eq!(short_total(&about), "≥~$4.12");
    }
}
