//! How much room the memory part has, and how it is meant to be divided.

/// The settings of the memory part. All sizes are Unicode characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// What the whole memory part may take, titles and blank lines counted.
    pub budget_chars: usize,
    /// How many learnings are shown at most.
    pub max_learnings: usize,
    /// How much of a stack trace is shown at most.
    pub trace_chars: usize,
    /// How the budget is divided first.
    pub shares: Shares,
    /// What each section keeps however much the others have to say.
    pub minimums: Minimums,
}

/// What each section gets first. The numbers are proportions: they add up to the default budget,
/// and for another budget they are scaled to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Previous Attempts.
    pub attempts: usize,
    /// Learnings from Previous Iterations.
    pub learnings: usize,
    /// Loop Status; what it does not need is left over for the others.
    pub status: usize,
}

/// What no other section may take while the section has something to say. Loop Status has no entry
/// because its minimum is its real size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minimums {
    /// Previous Attempts.
    pub attempts: usize,
    /// Learnings from Previous Iterations.
    pub learnings: usize,
    /// Failure Context.
    pub phase_failures: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            budget_chars: 5000,
            max_learnings: 5,
            trace_chars: 500,
            shares: Shares {
                attempts: 3000,
                learnings: 1500,
                status: 500,
            },
            minimums: Minimums {
                attempts: 500,
                learnings: 300,
                phase_failures: 200,
            },
        }
    }
}

impl Limits {
    /// The attempts' share of this budget.
    pub(super) fn attempts_share(&self) -> usize {
        self.scaled(self.shares.attempts)
    }

    /// The learnings' share of this budget.
    pub(super) fn learnings_share(&self) -> usize {
        self.scaled(self.shares.learnings)
    }

    fn scaled(&self, share: usize) -> usize {
        let Shares {
            attempts,
            learnings,
            status,
        } = self.shares;
        let whole = [attempts, learnings, status]
            .iter()
            .map(|part| *part as u128)
            .sum::<u128>();
        // In 128 bits, for a setting may be as large as it likes.
        let scaled = (share as u128 * self.budget_chars as u128)
            .checked_div(whole)
            .unwrap_or(0);
        usize::try_from(scaled).unwrap_or(self.budget_chars)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bud_03_shares_are_exact_at_the_default_and_scale_with_the_budget() {
        let default = Limits::default();
        assert_eq!(
            (default.attempts_share(), default.learnings_share()),
            (3000, 1500)
        );
        let half = Limits {
            budget_chars: 2500,
            ..default
        };
        assert_eq!((half.attempts_share(), half.learnings_share()), (1500, 750));
    }

    #[test]
    fn bud_01_extreme_settings_do_not_overflow() {
        let limits = Limits {
            budget_chars: usize::MAX,
            shares: Shares {
                attempts: usize::MAX,
                learnings: 0,
                status: usize::MAX,
            },
            ..Limits::default()
        };
        assert_eq!(limits.attempts_share(), usize::MAX / 2);
        let none = Limits {
            shares: Shares {
                attempts: 0,
                learnings: 0,
                status: 0,
            },
            ..limits
        };
        assert_eq!(none.attempts_share(), 0);
    }
}
