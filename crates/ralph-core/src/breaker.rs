//! The circuit breaker's rule: when failures of several tasks together mean that something systemic is wrong.
//!
//! ```text
//!            a row of failures that is systemic            next run, or after the cool-down
//!   closed ───────────────────────────────────────► open ───────────────────────────────────► half open
//!     ▲                                              ▲ │ a person resumes or skips                │  │
//!     │                                              │ └───────────────► closed                   │  │
//!     │                                              └──────────── the probe fails ───────────────┘  │
//!     └───────────────────────────────────────────────────── any attempt succeeds ───────────────────┘
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::model::{Outcome, names};

/// Failures in a row that are looked at; older ones change nothing.
pub const MOST_LINKS: u32 = 200;
/// So many different tasks are too many for chance.
const TASKS: usize = 3;
/// So many, where they fail for the same cause.
const TASKS_OF_ONE_CAUSE: usize = 2;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// The task; for a fix task the task it fixes, for a part of a split the task that was split.
    pub root: String,
    /// What kind of failure it was; equal means the same cause.
    pub coarse: Option<String>,
}

names! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum BreakerState {
        #[default]
        Closed => "closed",
        /// Too many failures: nothing goes through.
        Open => "open",
        /// One trial attempt goes through.
        HalfOpen => "half_open",
    }
}

/// The breaker when an attempt is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BreakerStanding {
    pub state: BreakerState,
    pub failures: u64,
    /// The newest of them; read only while it is closed.
    pub links: Vec<Link>,
    /// Whom a failure of the attempt's task counts for.
    pub root: String,
    pub is_probe: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerChange {
    /// Nothing: it does not count.
    None,
    /// Failures before a success are forgotten.
    Forget,
    /// An attempt that was under way when it opened succeeded: not everything is broken, but nothing was fixed either.
    Reset,
    Close,
    /// A failure joins the row, and may open it.
    Count {
        opens: bool,
    },
}

impl BreakerStanding {
    /// What an attempt means; one that does not count means nothing.
    pub fn after(
        &self,
        counted: bool,
        outcome: Outcome,
        coarse: Option<&str>,
        threshold: u32,
    ) -> BreakerChange {
        match (counted, outcome, self.state) {
            (false, _, _) => BreakerChange::None,
            (true, Outcome::Done, BreakerState::Closed) => BreakerChange::Forget,
            (true, Outcome::Done, BreakerState::Open) => BreakerChange::Reset,
            (true, Outcome::Done, BreakerState::HalfOpen) => BreakerChange::Close,
            (true, _, BreakerState::Open) => BreakerChange::Count { opens: false },
            // Only the trial decides; others were under way before.
            (true, _, BreakerState::HalfOpen) => BreakerChange::Count { opens: self.is_probe },
            (true, _, BreakerState::Closed) => {
                let mut links = self.links.clone();
                links.push(Link { root: self.root.clone(), coarse: coarse.map(str::to_owned) });
                BreakerChange::Count { opens: is_systemic(&links, self.failures + 1, threshold) }
            }
        }
    }
}

/// Whether a row of counted failures, with no success between, means that something systemic is wrong. One hard task
/// among many never does.
pub fn is_systemic(links: &[Link], failures: u64, threshold: u32) -> bool {
    if failures < u64::from(threshold.max(1)) {
        return false;
    }
    let tasks: BTreeSet<&str> = links.iter().map(|link| link.root.as_str()).collect();
    if tasks.len() >= TASKS {
        return true;
    }
    !shared_causes(links).is_empty()
}

/// The causes of a row of failures: kinds of failure that more than one task met. Where several tasks fail each in its own
/// way, there is none.
pub fn shared_causes(links: &[Link]) -> BTreeSet<&str> {
    let mut causes: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for link in links {
        if let Some(coarse) = &link.coarse {
            causes.entry(coarse).or_default().insert(&link.root);
        }
    }
    causes
        .into_iter()
        .filter(|(_, tasks)| tasks.len() >= TASKS_OF_ONE_CAUSE)
        .map(|(cause, _)| cause)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(links: &[(&str, Option<&str>)]) -> Vec<Link> {
        let link = |(root, coarse): &(&str, Option<&str>)| Link {
            root: (*root).into(),
            coarse: coarse.map(str::to_owned),
        };
        links.iter().map(link).collect()
    }

    fn opens(links: &[(&str, Option<&str>)]) -> bool {
        is_systemic(&row(links), links.len() as u64, 5)
    }

    #[test]
    fn brk_01_02_one_task_alone_never_opens_it() {
        assert!(!opens(&[("a", Some("x")); 50]));
    }

    #[test]
    fn brk_02_three_tasks_or_two_with_one_cause() {
        let (a, b, c) = (("a", Some("x")), ("b", Some("y")), ("c", Some("z")));
        assert!(!opens(&[a, a, b, c]), "four are too few");
        assert!(opens(&[a, a, a, b, c]));
        assert!(!opens(&[a, a, a, a, b]), "two tasks, two causes");
        assert!(opens(&[a, a, a, a, ("b", Some("x"))]));
        assert!(!opens(&[("a", None), ("a", None), ("a", None), ("b", None), ("b", None)]));
        let older = row(&[a, b]);
        assert!(!is_systemic(&older, 4, 5) && !is_systemic(&older, 5, 5));
    }

    /// A cheap, repeatable source of numbers from 0 to 1.
    struct Luck(u64);

    impl Luck {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as f64 / (1_u64 << 31) as f64
        }
    }

    /// A run in plan order, five attempts per task; after how many attempts the breaker opened, if it did.
    fn run(tasks: usize, mut attempt: impl FnMut(usize) -> Result<(), String>) -> Option<u32> {
        let mut links: Vec<Link> = Vec::new();
        let mut attempts = 0;
        for task in 0..tasks {
            for _ in 0..5 {
                attempts += 1;
                let Err(cause) = attempt(task) else {
                    links.clear();
                    break;
                };
                links.push(Link { root: format!("t{task}"), coarse: Some(cause) });
                if is_systemic(&links, links.len() as u64, 5) {
                    return Some(attempts);
                }
            }
        }
        None
    }

    #[test]
    fn brk_02_ordinary_bad_luck_and_one_hopeless_task_hardly_ever_open_it() {
        let mut luck = Luck(1);
        let mut opened = 0;
        for _ in 0..10_000 {
            let hopeless = (luck.next() * 10.0) as usize;
            let mut number = 0;
            let ended = run(10, |task| {
                number += 1;
                if task != hopeless && luck.next() < 0.74 {
                    Ok(())
                } else {
                    Err(format!("cause {number} of {task}"))
                }
            });
            opened += u32::from(ended.is_some());
        }
        assert!(opened <= 100, "{opened} of 10,000");
    }

    #[test]
    fn brk_02_when_everything_fails_for_one_cause_it_opens_at_once() {
        for tasks in 2..20 {
            let ended = run(tasks, |_| Err("the same".into()));
            assert_eq!(ended, Some(6), "{tasks} tasks: five attempts on the first, one on the next");
        }
    }

    #[test]
    fn a_cause_is_what_more_than_one_task_failed_of() {
        let (a, b, c) = (("a", Some("x")), ("b", Some("y")), ("c", Some("z")));
        assert!(shared_causes(&row(&[a, a, a, b, c])).is_empty());
        let links = row(&[a, b, c, ("b", Some("x")), ("c", None), ("a", None)]);
        assert_eq!(shared_causes(&links), BTreeSet::from(["x"]));
    }

    #[test]
    fn brk_07_the_threshold_is_a_setting() {
        let links = row(&[("a", Some("x")), ("b", Some("x"))]);
        assert!(is_systemic(&links, 2, 2) && !is_systemic(&links, 2, 3));
    }
}
