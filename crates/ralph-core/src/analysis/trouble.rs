//! Failures that count against no task: service and set-up.

use std::fmt;

/// Set-up: nothing works before somebody has seen to it.
const SET_UP: [&str; 4] = ["auth", "spawn", "permission", "config"];

/// The service: it may pass.
const SERVICE: [&str; 3] = ["rate_limit", "overloaded", "network"];

/// Troubles of late, commonest first, never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    /// The commonest kind.
    pub(super) main: &'static str,
    kinds: Vec<(&'static str, u64)>,
}

impl Trouble {
    /// The troubles, where there are more of them than counted failures.
    pub(super) fn dominating(uncounted: &[(String, u32)], failures: usize) -> Option<Self> {
        let times = |kind: &str| -> u64 {
            let own = uncounted.iter().filter(|(own, _)| own == kind);
            own.map(|(_, times)| u64::from(*times)).sum()
        };
        let mut kinds: Vec<(&'static str, u64)> = SET_UP
            .iter()
            .chain(&SERVICE)
            .map(|kind| (*kind, times(kind)))
            .filter(|(_, times)| *times > 0)
            .collect();
        kinds.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        let total: u64 = kinds.iter().map(|(_, times)| times).sum();
        let (main, _) = *kinds.first()?;
        let dominates = usize::try_from(total).is_ok_and(|total| total > failures);
        dominates.then_some(Self { main, kinds })
    }

    /// What to do about the commonest kind where it is a matter of set-up.
    pub(super) fn set_up_advice(&self) -> Option<&'static str> {
        match self.main {
            "spawn" => Some("install the agent's program or fix PATH: it could not be started"),
            "auth" => Some("log in again or renew the key: the agent's authentication failed"),
            "permission" => Some("allow the tools the agent asks for: permission was denied"),
            "config" => Some("check agent and model in .ralph.toml: the API does not know them"),
            _ => None,
        }
    }

    /// What to do about the commonest kind where it is the service's.
    pub(super) fn service_advice(&self) -> Option<&'static str> {
        match self.main {
            "rate_limit" => Some("wait for the usage limit to reset, or use another agent"),
            "overloaded" => Some("try again later: the agent's API is overloaded"),
            "network" => Some("check the network: the agent's API is unreachable"),
            _ => None,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The others would crowd out what is counted.
        for (kind, times) in self.kinds.iter().take(2) {
            write!(f, "{times} × {kind}, ")?;
        }
        f.write_str("not counted")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(uncounted: &[(&str, u32)], failures: usize) -> Option<Trouble> {
        let uncounted: Vec<(String, u32)> = uncounted
            .iter()
            .map(|(kind, times)| ((*kind).to_owned(), *times))
            .collect();
        Trouble::dominating(&uncounted, failures)
    }

    #[test]
    fn ana_02_troubles_are_told_only_where_there_are_more_of_them_than_failures() {
        assert_eq!(of(&[("network", 5)], 5), None);
        let trouble = of(&[("network", 2), ("auth", 3), ("network", 2)], 6).unwrap();
        assert_eq!(trouble.to_string(), "4 × network, 3 × auth, not counted");
        assert_eq!(trouble.main, "network");
    }

    #[test]
    fn words_that_are_no_trouble_are_passed_over() {
        assert_eq!(of(&[("interrupted", 9), ("lost", 9), ("auth", 0)], 0), None);
        assert_eq!(
            of(&[("auth", u32::MAX), ("auth", u32::MAX)], 0)
                .unwrap()
                .main,
            "auth"
        );
    }

    #[test]
    fn every_trouble_has_one_advice() {
        for kind in SET_UP.iter().chain(&SERVICE) {
            let trouble = of(&[(kind, 1)], 0).unwrap();
            let advice = [trouble.set_up_advice(), trouble.service_advice()];
            assert_eq!(advice.iter().flatten().count(), 1, "{kind}");
            assert_eq!(advice[0].is_some(), SET_UP.contains(kind), "{kind}");
        }
    }
}
