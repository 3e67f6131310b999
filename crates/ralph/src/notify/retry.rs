//! Whether a post that failed is tried again, and when. Pure.

use std::time::Duration;

use ralph_core::decide::backoff;

/// The first wait; doubles each time.
const FIRST: Duration = Duration::from_millis(500);
/// The longest wait of our own choice.
const LONGEST: Duration = Duration::from_secs(10);
/// The longest wait that a server may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(60);

/// How a post went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The server answered.
    Status {
        /// With this code.
        code: u16,
        /// And asked for so much time.
        retry_after: Option<Duration>,
    },
    /// No answer came, for this reason; one may come the next time.
    None(String),
    /// It cannot be posted at all.
    Impossible(String),
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing: the notice was taken.
    Delivered,
    /// Another try after a wait.
    Wait(Duration),
    /// Nothing: it would not help, or was tried often enough.
    GiveUp,
}

/// What follows from the answer to a try, counted from 1. `jitter` is a random number in 0..1.
pub fn after(tries: u32, retries: u32, answer: &Answer, jitter: f64) -> Next {
    let asked = match answer {
        Answer::Status {
            code: 200..=299, ..
        } => return Next::Delivered,
        Answer::Status {
            code: 408 | 429 | 500..=599,
            retry_after,
        } => *retry_after,
        Answer::None(_) => None,
        Answer::Status { .. } | Answer::Impossible(_) => return Next::GiveUp,
    };
    if tries > retries {
        return Next::GiveUp;
    }
    let own = backoff(FIRST, tries, LONGEST, jitter);
    Next::Wait(own.max(asked.unwrap_or_default().min(LONGEST_ASKED)))
}

/// What all tries may take together, if nobody asks for more time.
pub fn longest(retries: u32, timeout: Duration) -> Duration {
    let tries = timeout.saturating_mul(retries.saturating_add(1));
    // A hundred waits are longer than anybody waits.
    let waits = (1..=retries.min(100)).map(|failed| backoff(FIRST, failed, LONGEST, 1.0));
    tries.saturating_add(waits.sum())
}

/// The seconds that a `Retry-After` asks for; a date is not read.
pub fn asked(header: &str) -> Option<Duration> {
    header.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn status(code: u16) -> Answer {
        Answer::Status {
            code,
            retry_after: None,
        }
    }

    fn wait(millis: u64) -> Next {
        Next::Wait(Duration::from_millis(millis))
    }

    #[test]
    fn what_may_mend_itself_is_tried_again_with_doubling_waits() {
        for answer in [
            status(408),
            status(429),
            status(500),
            status(503),
            Answer::None("refused".into()),
        ] {
            assert_eq!(after(1, 3, &answer, 0.5), wait(500), "{answer:?}");
            assert_eq!(after(2, 3, &answer, 0.5), wait(1000), "{answer:?}");
            assert_eq!(after(3, 3, &answer, 0.5), wait(2000), "{answer:?}");
            assert_eq!(after(4, 3, &answer, 0.5), Next::GiveUp, "{answer:?}");
            assert_eq!(after(1, 0, &answer, 0.5), Next::GiveUp, "{answer:?}");
        }
        assert_eq!(after(1, 3, &status(500), 0.0), wait(250));
        assert_eq!(after(1, 3, &status(500), 1.0), wait(750));
    }

    #[test]
    fn what_will_not_mend_itself_is_given_up() {
        for code in [
            301, 302, 307, 308, 400, 401, 403, 404, 410, 413, 422, 600, 100,
        ] {
            assert_eq!(after(1, 3, &status(code), 0.5), Next::GiveUp, "{code}");
        }
        let impossible = Answer::Impossible("no URL".into());
        assert_eq!(after(1, 3, &impossible, 0.5), Next::GiveUp);
        for code in [200, 201, 202, 204] {
            assert_eq!(after(1, 3, &status(code), 0.5), Next::Delivered, "{code}");
        }
    }

    #[test]
    fn a_server_may_ask_for_more_time_but_not_for_any() {
        let answer = |secs| Answer::Status {
            code: 429,
            retry_after: Some(Duration::from_secs(secs)),
        };
        assert_eq!(after(1, 3, &answer(7), 0.5), wait(7000));
        assert_eq!(after(1, 3, &answer(0), 0.5), wait(500));
        assert_eq!(after(1, 3, &answer(86_400), 0.5), wait(60_000));
        assert_eq!(after(4, 3, &answer(7), 0.5), Next::GiveUp);
        assert_eq!(asked(" 12 "), Some(Duration::from_secs(12)));
        assert_eq!(asked("-1"), None);
        assert_eq!(asked("Wed, 21 Oct 2026 07:28:00 GMT"), None);
    }

    #[test]
    fn all_tries_and_waits_together() {
        let second = Duration::from_secs(1);
        assert_eq!(longest(0, second), second);
        assert_eq!(longest(2, second), Duration::from_millis(3000 + 750 + 1500));
        assert!(longest(u32::MAX, second) > second);
    }

    proptest! {
        #[test]
        fn no_wait_is_longer_than_a_minute(
            tries in any::<u32>(), retries in any::<u32>(), code in any::<u16>(), secs in any::<u64>(), jitter in 0.0..1.0
        ) {
            let answer = Answer::Status { code, retry_after: Some(Duration::from_secs(secs)) };
            if let Next::Wait(wait) = after(tries, retries, &answer, jitter) {
                prop_assert!(tries <= retries);
                prop_assert!(wait <= LONGEST_ASKED);
            }
        }
    }
}
