//! The clock: a machine whose time went back would put new attempts before old ones.

use std::time::Duration;

use ralph_core::model::Timestamp;

use super::finding::{Check, Finding};
use crate::ui::format::{age, time};

/// Clocks are set a little all the time.
const SLACK: Duration = Duration::from_secs(120);

/// Whether now is after what was recorded last.
pub fn judge(now: Timestamp, newest: Option<Timestamp>) -> Finding {
    match newest {
        Some(newest) if newest.since(now) > SLACK => Finding::warning(
            Check::Clock,
            format!(
                "the clock says {}, but an attempt was recorded at {}, {} later",
                time(now),
                time(newest),
                age(newest.since(now))
            ),
            "set the clock: timedatectl",
        ),
        _ => Finding::ok(Check::Clock, format!("{} UTC", time(now))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn time_that_went_back_is_noticed() {
        let now = Timestamp::from_secs(1_000_000);
        let level = |newest: Option<i64>| judge(now, newest.map(Timestamp::from_secs)).level;
        assert_eq!(level(None), Level::Ok);
        assert_eq!(level(Some(999_000)), Level::Ok);
        assert_eq!(level(Some(1_000_060)), Level::Ok);
        assert_eq!(level(Some(1_007_200)), Level::Warning);
        let message = judge(now, Some(Timestamp::from_secs(1_007_200))).message;
        assert!(message.ends_with("2 h later"), "{message}");
    }
}
