//! What a stuck task's agent is told besides the warning: what it must not do again, and to look for the cause first.

use super::Course;
use crate::text::{first_sentence, one_line};

/// Approaches that are named.
const NAMED: usize = 3;
/// How much of each.
const APPROACH_CHARS: usize = 100;

/// Further lines of the warning. `approaches` are what was tried, oldest first, in the agents' own words.
#[must_use]
pub fn stance<'t>(course: &Course, approaches: impl Iterator<Item = &'t str>) -> Vec<String> {
    if !course.stuck {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let signs: Vec<&str> = course
        .signs
        .iter()
        .filter(|sign| !sign.is_progress())
        .map(|sign| sign.words())
        .collect();
    if !signs.is_empty() {
        lines.push(format!("Evidence: {}.", signs.join("; ")));
    }
    let mut tried: Vec<String> = Vec::new();
    for approach in approaches {
        let said = first_sentence(approach).unwrap_or_else(|| one_line(approach, APPROACH_CHARS));
        let said = one_line(&said, APPROACH_CHARS);
        if !said.is_empty() && !tried.contains(&said) {
            tried.push(said);
        }
    }
    let skip = tried.len().saturating_sub(NAMED);
    let tried: Vec<String> = tried
        .iter()
        .skip(skip)
        .map(|said| format!("“{said}”"))
        .collect();
    if !tried.is_empty() {
        lines.push(format!(
            "Already tried, do not repeat: {}",
            tried.join("; ")
        ));
    }
    lines.push(
        "Diagnose first: reproduce the failure, state its cause in one sentence, and only then change anything."
            .to_owned(),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{FailedTry, Policy, course};

    #[test]
    fn str_03_a_stuck_task_is_told_what_not_to_repeat_and_to_diagnose_first() {
        let same = FailedTry {
            coarse: Some("a".into()),
            fine: Some("a".into()),
            changed: Some(false),
            ..FailedTry::default()
        };
        let policy = Policy::default();
        let stuck = course(&[same.clone(), same.clone(), same.clone()], &policy);
        let said = ["One batch.", "", "One batch.", "Two batches. And more."];
        insta::assert_snapshot!(stance(&stuck, said.into_iter()).join("\n"), @r"
        Evidence: the same failure twice in a row; two attempts in a row changed no files.
        Already tried, do not repeat: “One batch.”; “Two batches.”
        Diagnose first: reproduce the failure, state its cause in one sentence, and only then change anything.
        ");
        assert!(stance(&course(&[same], &policy), said.into_iter()).is_empty());
    }
}
