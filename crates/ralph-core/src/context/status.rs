//! `### Loop Status`: where the run and the task stand, whole or not at all.

use super::input::LoopStatus;
use super::measure::{chars, shorten};
use super::neutral::inert_line;

/// The section's title.
pub(super) const TITLE: &str = "Loop Status";

const WARNING: &str = "
> ⚠️ **Stuck loop detected.** This task has failed 3+ times consecutively.
> Consider: decomposing the task, trying a fundamentally different approach,
> or signaling `<task-failed>` with a clear explanation.
";

/// What a stuck task's agent may do besides trying again. The rules say how.
const PLAN_CHANGE: &str = "> If the task is too large or something must be done first, request a plan \
                           change: `TASK_MODIFICATION_REQUEST` with `SPLIT_TASK` or `ADD_PREREQUISITE`, as \
                           described above.\n";

/// Names and reasons longer than this are not names and reasons.
const MAX_VALUE: usize = 200;

/// The section in its forms, fullest first: the hints after the warning may go, what the section
/// must have may not.
#[derive(Clone, Debug)]
pub(super) struct Status {
    forms: Vec<String>,
    stuck: bool,
}

impl Status {
    pub(super) fn new(status: &LoopStatus) -> Self {
        let LoopStatus {
            iteration,
            attempt,
            consecutive_failures,
            ..
        } = status;
        let LoopStatus {
            run_successes,
            run_total,
            ..
        } = status;
        let limit = match status.limit {
            Some(limit) if limit > 0 => limit.to_string(),
            Some(_) | None => "unlimited".to_owned(),
        };
        let percent = percent(*run_successes, *run_total);
        let model = shorten(&inert_line(&status.model), MAX_VALUE);
        let rationale = shorten(&inert_line(&status.rationale), MAX_VALUE);
        let warning = if status.stuck { WARNING } else { "" };
        let bare = format!(
            "\n### {TITLE}\n\n\
             - **Iteration:** {iteration} of {limit}\n\
             - **This task:** attempt #{attempt}, {consecutive_failures} consecutive failure(s)\n\
             - **Run success rate:** {run_successes}/{run_total} iterations succeeded \
             ({percent}%)\n\
             - **Current model:** {model} ({rationale})\n{warning}"
        );
        let mut hints: String = status
            .further_lines
            .iter()
            .map(|line| inert_line(line))
            .filter(|line| status.stuck && !line.is_empty())
            .map(|line| format!("> {line}\n"))
            .collect();
        if status.stuck && status.may_change_plan {
            hints.push_str(PLAN_CHANGE);
        }
        let full = (!hints.is_empty()).then(|| format!("{bare}{hints}"));
        Self {
            forms: full.into_iter().chain([bare]).collect(),
            stuck: status.stuck,
        }
    }

    /// Whether the section carries the warning, for which room is kept before anything else.
    pub(super) fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// The fullest form that fits.
    pub(super) fn within(&self, room: usize) -> Option<&str> {
        self.forms
            .iter()
            .map(String::as_str)
            .find(|form| chars(form) <= room)
    }

    /// The form without hints, if it fits.
    pub(super) fn smallest_within(&self, room: usize) -> Option<&str> {
        self.forms
            .last()
            .map(String::as_str)
            .filter(|form| chars(form) <= room)
    }

    /// The size below which there is no form at all.
    pub(super) fn smallest(&self) -> usize {
        self.forms.last().map_or(0, |form| chars(form))
    }

    /// Whether a form is not the fullest one.
    pub(super) fn lacks_hints(&self, form: &str) -> bool {
        self.forms.first().is_some_and(|full| full != form)
    }
}

/// A share in whole percent, halves rounded up; nothing of nothing is 0.
fn percent(part: u32, whole: u32) -> u64 {
    let (part, whole) = (u64::from(part), u64::from(whole));
    (200 * part + whole).checked_div(2 * whole).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loop_03_percentages_are_rounded_to_whole_numbers() {
        let rates = [
            (4, 6, 67),
            (6, 11, 55),
            (6, 7, 86),
            (4, 5, 80),
            (1, 8, 13),
            (3, 3, 100),
        ];
        for (part, whole, expected) in rates {
            assert_eq!(percent(part, whole), expected, "{part}/{whole}");
        }
    }

    #[test]
    fn loop_03_nothing_of_nothing_is_zero() {
        assert_eq!(percent(0, 0), 0);
        assert_eq!(percent(u32::MAX, u32::MAX), 100);
    }
}
