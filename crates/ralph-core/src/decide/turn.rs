//! Which agent works next, where some are limited or out of order.

use crate::model::Timestamp;

/// How an agent stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Its usage limit ends then.
    pub limited_until: Option<Timestamp>,
    /// It does not work at all.
    pub out: Option<Out>,
}

/// For how long an agent is out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Out {
    /// Its service is troubled; it is worth another try then.
    Until(Timestamp),
    /// Its set-up is wrong; no try of this run mends that.
    ForGood,
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// This one can work now.
    Works(usize),
    /// Nobody can; this one is the first who can again.
    Waits {
        /// Who.
        member: usize,
        /// When.
        until: Timestamp,
    },
    /// Nobody can, and waiting does not help.
    Nobody,
}

impl Standing {
    /// From when on it can work; `None` is never.
    fn free_from(&self, now: Timestamp) -> Option<Timestamp> {
        let limited = self.limited_until.unwrap_or(now);
        let out = match self.out {
            None => now,
            Some(Out::Until(until)) => until,
            Some(Out::ForGood) => return None,
        };
        Some(limited.max(out).max(now))
    }
}

/// The first in order who can work now, else the one who can soonest.
#[must_use]
pub fn whose_turn(team: &[Standing], now: Timestamp) -> Turn {
    let free = team
        .iter()
        .enumerate()
        .filter_map(|(member, standing)| Some((standing.free_from(now)?, member)));
    match free.min() {
        None => Turn::Nobody,
        Some((from, member)) if from <= now => Turn::Works(member),
        Some((until, member)) => Turn::Waits { member, until },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn limited(until: i64) -> Standing {
        Standing {
            limited_until: Some(at(until)),
            out: None,
        }
    }

    fn out(out: Out) -> Standing {
        Standing {
            limited_until: None,
            out: Some(out),
        }
    }

    #[test]
    fn the_first_who_can_works_and_else_the_soonest_is_waited_for() {
        let well = Standing::default();
        let cases: [(&[Standing], Turn); 8] = [
            (&[well, well], Turn::Works(0)),
            (&[limited(200), well], Turn::Works(1)),
            (&[limited(50), well], Turn::Works(0)),
            (&[out(Out::ForGood), well], Turn::Works(1)),
            (
                &[limited(300), limited(200)],
                Turn::Waits {
                    member: 1,
                    until: at(200),
                },
            ),
            (
                &[out(Out::Until(at(150))), limited(200)],
                Turn::Waits {
                    member: 0,
                    until: at(150),
                },
            ),
            (&[out(Out::ForGood), out(Out::ForGood)], Turn::Nobody),
            (&[], Turn::Nobody),
        ];
        for (team, turn) in cases {
            assert_eq!(whose_turn(team, at(100)), turn, "{team:?}");
        }
    }

    #[test]
    fn who_is_limited_and_out_of_order_waits_for_both() {
        let both = Standing {
            limited_until: Some(at(300)),
            out: Some(Out::Until(at(200))),
        };
        let until = at(300);
        assert_eq!(
            whose_turn(&[both], at(100)),
            Turn::Waits { member: 0, until }
        );
    }
}
