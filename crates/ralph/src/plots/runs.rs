//! The plot that compares runs: what each of them finished, and what that cost.

use super::Plot;
use super::canvas::Ink;
use super::charts::{Mark, Row};
use crate::facts::RunLine;
use crate::ui::format::{self, counted};

/// Runs drawn, the newest that made attempts.
const DRAWN: usize = 14;

/// Newest first.
pub fn runs(lines: &[RunLine]) -> Plot {
    let worked: Vec<&RunLine> = lines.iter().rev().filter(|run| run.attempts > 0).take(DRAWN).collect();
    let each = |run: &RunLine| {
        let usd = run.cost.cost_usd.filter(|usd| *usd > 0.0 && run.done_verified > 0)?;
        Some(usd / run.done_verified as f64)
    };
    let title = match worked.as_slice() {
        [] => "No run made an attempt yet".to_owned(),
        [last, rest @ ..] => {
            let verified = counted(last.done_verified, "task");
            match (each(last), rest.iter().find_map(|run| each(run))) {
                (Some(now), Some(before)) => format!(
                    "The last run verified {verified} for {} each; before it was {}",
                    format::cost(Some(now), last.cost.cost_estimated),
                    format::cost(Some(before), false)
                ),
                (Some(now), None) => format!(
                    "The last run verified {verified} for {} each",
                    format::cost(Some(now), last.cost.cost_estimated)
                ),
                (None, _) => format!("The last run verified {verified}"),
            }
        }
    };
    let amount = |run: &RunLine| format::short_total(&run.cost);
    let rows: Vec<Row> = worked
        .iter()
        .map(|run| {
            let cost = amount(run);
            let (verified, unverified, failed) = (run.done_verified, run.done_unverified, run.failed);
            let started = run.started_at.local();
            Row {
                name: None,
                label: started.get(..16).unwrap_or(&started).to_owned(),
                mark: Mark::Bar(vec![
                    (verified as f64, Ink::Good),
                    (unverified as f64, Ink::Weak),
                    (failed as f64, Ink::Bad),
                ]),
                value: match cost.is_empty() {
                    true => format!("{verified} verified"),
                    false => format!("{verified} verified · {cost}"),
                },
                says: format!(
                    "run {}: {verified} verified, {unverified} unverified, {} failed, {}",
                    run.run_id,
                    counted(failed, "attempt"),
                    if cost.is_empty() { "no cost" } else { &cost }
                ),
            }
        })
        .collect();
    let cells = worked.iter().map(|run| {
        vec![
            run.started_at.local(),
            run.done_verified.to_string(),
            run.done_unverified.to_string(),
            run.failed.to_string(),
            amount(run),
            format::cost(each(run), run.cost.cost_estimated),
        ]
    });
    let headings = vec!["Started", "Verified", "Unverified", "Failed attempts", "Cost", "Per verified task"];
    let note = (!rows.is_empty())
        .then(|| "Green: verified tasks. Yellow: done, unverified. Red: failed attempts.".to_owned());
    Plot::of_rows("runs", title, note, &rows, headings, cells)
}
