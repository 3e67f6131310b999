//! Points in time: RFC 3339, UTC, millisecond precision, everywhere.

use std::fmt;
use std::time::{Duration, SystemTime};

use jiff::tz::TimeZone;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time as Ralph stores and prints it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    pub fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    pub fn as_millis(self) -> i64 {
        self.0
    }

    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|time| Self(time.as_millisecond()))
    }

    /// Reads a time that another program wrote: with a space, without a zone (then it is UTC), or a date alone.
    pub fn parse_lenient(text: &str) -> Option<Self> {
        let text = text.trim();
        Self::parse(text)
            .or_else(|| Self::parse(&format!("{text}Z")))
            .or_else(|| Self::parse(&format!("{text}T00:00:00Z")))
    }

    /// The same moment on the clock of this machine: `2026-11-17 23:58:03`.
    pub fn local(self) -> String {
        self.in_zone(TimeZone::system())
    }

    /// The same as people say it: `16:44` on the day of `near`, else `2026-11-17 16:44`.
    pub fn local_near(self, near: Self) -> String {
        let text = self.local();
        let same_day = text.get(..10) == near.local().get(..10);
        let from = if same_day { 11 } else { 0 };
        text.get(from..16).unwrap_or(&text).to_owned()
    }

    fn in_zone(self, zone: TimeZone) -> String {
        let Ok(time) = jiff::Timestamp::from_millisecond(self.0) else { return self.to_string() };
        let time = time.to_zoned(zone).datetime();
        let (date, clock) = (time.date(), time.time());
        format!("{date} {:02}:{:02}:{:02}", clock.hour(), clock.minute(), clock.second())
    }

    pub fn minus(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.as_millis().saturating_sub(millis))
    }

    pub fn plus(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis))
    }

    /// How long it is from `earlier` to here; zero if that is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{time:.3}"),
            // Out of jiff's range: the far end, so that what lies ahead does not seem long past.
            Err(_) if self.0 > 0 => write!(f, "9999-12-30T22:00:00.000Z"),
            Err(_) => write!(f, "1970-01-01T00:00:00.000Z"),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("not a valid time"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sch_01_times_are_rfc_3339_in_utc() {
        let time = Timestamp::from_millis(1_700_000_000_123);
        assert_eq!(time.to_string(), "2023-11-14T22:13:20.123Z");
        assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
        assert_eq!(Timestamp::parse("2023-11-15T00:13:20.123+02:00"), Some(time));
        assert_eq!(Timestamp::parse("yesterday"), None);
        assert_eq!(Timestamp::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn people_see_the_time_of_their_own_clock() {
        let time = Timestamp::from_millis(1_700_000_000_123);
        let hours = |hours| TimeZone::fixed(jiff::tz::offset(hours));
        assert_eq!(time.in_zone(hours(0)), "2023-11-14 22:13:20");
        assert_eq!(time.in_zone(hours(3)), "2023-11-15 01:13:20");
        let never = Timestamp::from_millis(i64::MAX);
        assert_eq!(never.in_zone(hours(3)), "9999-12-30T22:00:00.000Z");
    }

    #[test]
    fn differences_never_go_below_zero() {
        let early = Timestamp::from_secs(10);
        let late = early.plus(Duration::from_secs(5));
        assert_eq!(late.since(early), Duration::from_secs(5));
        assert_eq!(early.since(late), Duration::ZERO);
    }
}
