//! Which agent works next, where some are limited or unavailable, and how long to wait before a service is asked again.

use std::time::Duration;

use crate::model::Timestamp;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Availability {
    pub limited_until: Option<Timestamp>,
    /// It does not work at all.
    pub outage: Option<Outage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// Its service fails; it is asked again then.
    Until(Timestamp),
    /// Its set-up is wrong; no attempt of this run fixes that.
    Permanent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Works(usize),
    /// Nobody can; this one is the first who can again.
    Waits {
        member: usize,
        until: Timestamp,
    },
    /// Nobody can, and waiting does not help.
    Nobody,
}

impl Availability {
    /// From when on it can work; `None` is never.
    fn free_from(&self, now: Timestamp) -> Option<Timestamp> {
        let limited = self.limited_until.unwrap_or(now);
        let out = match self.outage {
            None => now,
            Some(Outage::Until(until)) => until,
            Some(Outage::Permanent) => return None,
        };
        Some(limited.max(out).max(now))
    }
}

/// The first in order who can work now, else the one who can soonest.
pub fn next_agent(team: &[Availability], now: Timestamp) -> Turn {
    let free = team
        .iter()
        .enumerate()
        .filter_map(|(member, availability)| Some((availability.free_from(now)?, member)));
    match free.min() {
        None => Turn::Nobody,
        Some((from, member)) if from <= now => Turn::Works(member),
        Some((until, member)) => Turn::Waits { member, until },
    }
}

/// Doubles with every failure up to `cap`, and moves by up to a half either way so that many workers do not
/// come back together. `jitter` is a random number in 0..1.
pub fn backoff(base: Duration, failures: u32, cap: Duration, jitter: f64) -> Duration {
    let doubled = base.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1).min(20)));
    let factor = 0.5 + jitter.clamp(0.0, 1.0);
    doubled.min(cap).mul_f64(factor).min(cap)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn limited(until: i64) -> Availability {
        Availability { limited_until: Some(at(until)), outage: None }
    }

    fn out(outage: Outage) -> Availability {
        Availability { limited_until: None, outage: Some(outage) }
    }

    #[test]
    fn the_first_who_can_works_and_else_the_soonest_is_waited_for() {
        let well = Availability::default();
        let cases: [(&[Availability], Turn); 8] = [
            (&[well, well], Turn::Works(0)),
            (&[limited(200), well], Turn::Works(1)),
            (&[limited(50), well], Turn::Works(0)),
            (&[out(Outage::Permanent), well], Turn::Works(1)),
            (&[limited(300), limited(200)], Turn::Waits { member: 1, until: at(200) }),
            (&[out(Outage::Until(at(150))), limited(200)], Turn::Waits { member: 0, until: at(150) }),
            (&[out(Outage::Permanent), out(Outage::Permanent)], Turn::Nobody),
            (&[], Turn::Nobody),
        ];
        for (team, turn) in cases {
            assert_eq!(next_agent(team, at(100)), turn, "{team:?}");
        }
    }

    #[test]
    fn who_is_limited_and_unavailable_waits_for_both() {
        let both = Availability { limited_until: Some(at(300)), outage: Some(Outage::Until(at(200))) };
        let until = at(300);
        assert_eq!(next_agent(&[both], at(100)), Turn::Waits { member: 0, until });
    }

    #[test]
    fn out_06_waits_double_and_jitter() {
        let base = Duration::from_secs(2);
        let cap = Duration::from_secs(60);
        assert_eq!(backoff(base, 1, cap, 0.5), Duration::from_secs(2));
        assert_eq!(backoff(base, 3, cap, 0.5), Duration::from_secs(8));
        assert_eq!(backoff(base, 1, cap, 0.0), Duration::from_secs(1));
        assert!(backoff(base, 1, cap, 0.99) > Duration::from_millis(2900));
    }

    proptest! {
        #[test]
        fn never_over_the_cap_never_a_panic(
            base in 0_u64..10_000_000,
            failures in any::<u32>(),
            cap in 0_u64..100_000_000,
            jitter in any::<f64>(),
        ) {
            let jitter = if jitter.is_nan() { 0.0 } else { jitter };
            let cap = Duration::from_millis(cap);
            prop_assert!(backoff(Duration::from_millis(base), failures, cap, jitter) <= cap);
        }
    }
}
