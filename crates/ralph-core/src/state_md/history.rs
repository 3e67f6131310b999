//! The history table between its markers.

use super::inline::cell;
use super::view::HistoryRow;

/// How many attempts the table shows.
const ROWS: usize = 15;

/// How much of a row's texts is shown.
const NAME_CHARS: usize = 60;
const DETAIL_CHARS: usize = 200;

const START: &str = "<!-- HISTORY_START -->";
const HEADER: &str = "| # | Time | Outcome | Task | Details |";
const SEPARATOR: &str = "|---|---|---|---|---|";
const END: &str = "<!-- HISTORY_END -->";

/// The lines from marker to marker.
pub(super) fn table(history: &[HistoryRow]) -> Vec<String> {
    let head = [START, HEADER, SEPARATOR].map(String::from);
    let rows = history.iter().take(ROWS).map(row);
    head.into_iter()
        .chain(rows)
        .chain([END.to_owned()])
        .collect()
}

fn row(row: &HistoryRow) -> String {
    format!(
        "| {} | {} | {} | {} | {} |",
        row.iteration,
        cell(&row.time, NAME_CHARS),
        cell(outcome(&row.outcome), NAME_CHARS),
        cell(&row.task, NAME_CHARS),
        cell(&row.details, DETAIL_CHARS),
    )
}

/// Stored outcomes as the table's words; any other is shown as given.
fn outcome(outcome: &str) -> &str {
    match outcome {
        "done" => "SUCCESS",
        "failed" | "no_sigil" | "error" => "FAILURE",
        other => other,
    }
}
