//! The page as a whole.

use super::bar::bar;
use super::history::table;
use super::inline::{at_start, inline};
use super::view::{AttemptView, RunView, StateView, TaskView};
use crate::store::PlanCounts;

/// How long names and texts may get.
const NAME_CHARS: usize = 80;
const TEXT_CHARS: usize = 200;
/// The lines of an analysis are bounded already; this holds for whatever else comes.
const ANALYSIS_CHARS: usize = 300;
const ANALYSIS_LINES: usize = 10;

/// How many waiting tasks are named.
const WAITING: usize = 20;

const NOTE: &str = "_Ralph generates and overwrites this file: do not edit it. `ralph history` lists every \
                    attempt._";

/// The text of the file.
#[must_use]
pub fn render(view: &StateView) -> String {
    let mut lines: Vec<String> = ["# Ralph state", "", NOTE, ""].map(String::from).into();
    lines.extend(standing(view));
    lines.extend(progress(&view.counts));
    lines.extend(waiting(&view.waiting));
    lines.extend(["", "## History", ""].map(String::from));
    lines.extend(table(&view.history));
    lines.extend(analysis(view.analysis.as_deref().unwrap_or_default()));
    lines.push(String::new());
    lines.join("\n")
}

fn standing(view: &StateView) -> Vec<String> {
    let run = view.run.as_ref().map_or_else(|| "none yet".to_owned(), run);
    let mut lines = vec![
        format!("- **Project:** {}", inline(&view.project, NAME_CHARS)),
        format!("- **Updated:** {}", inline(&view.updated_at, NAME_CHARS)),
        format!("- **Run:** {run}"),
        format!(
            "- **Circuit breaker:** {}",
            inline(&view.breaker, NAME_CHARS)
        ),
    ];
    lines.extend(view.under_way.iter().take(WAITING).map(under_way));
    lines.push(format!("- **Next task:** {}", next(view)));
    lines
}

fn under_way(attempt: &AttemptView) -> String {
    format!(
        "- **Running:** {}, attempt {} with {}, since {}",
        task(&attempt.task),
        attempt.attempt,
        inline(&attempt.model, NAME_CHARS),
        inline(&attempt.since, NAME_CHARS)
    )
}

fn task(task: &TaskView) -> String {
    let name = inline(&task.name, NAME_CHARS);
    match task.title.trim().is_empty() {
        true => name,
        false => format!("{name}: {}", inline(&task.title, TEXT_CHARS)),
    }
}

fn run(run: &RunView) -> String {
    let RunView { iteration, .. } = run;
    let limit = run
        .limit
        .map_or_else(String::new, |limit| format!(" of {limit}"));
    let cost = match run.cost_usd {
        Some(cost) if cost.is_finite() => {
            let about = if run.cost_estimated { "~" } else { "" };
            format!(", {about}${cost:.2}")
        }
        Some(_) | None => String::new(),
    };
    format!(
        "{}: {}, started {}, iteration {iteration}{limit}{cost}",
        inline(&run.id, NAME_CHARS),
        inline(&run.status, TEXT_CHARS),
        inline(&run.started_at, NAME_CHARS),
    )
}

fn next(view: &StateView) -> String {
    match &view.next {
        Some(next) => task(next),
        None if view.counts.total == 0 => "none: there are no tasks yet".to_owned(),
        None if view.counts.is_settled() => "none: nothing left to do".to_owned(),
        None => "none is ready".to_owned(),
    }
}

fn progress(counts: &PlanCounts) -> Vec<String> {
    let mut lines: Vec<String> = ["", "## Progress", ""].map(String::from).into();
    lines.push(bar(counts.done, counts.total));
    if counts.total > 0 {
        lines.push(String::new());
        lines.push(counts.summary());
    }
    lines
}

fn waiting(waiting: &[(String, String)]) -> Vec<String> {
    if waiting.is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<String> = ["", "## Blocked (needs you)", ""].map(String::from).into();
    lines.extend(waiting.iter().take(WAITING).map(|(name, why)| {
        let name = inline(name, NAME_CHARS);
        format!("- **{name}**: {}", inline(why, TEXT_CHARS))
    }));
    let more = waiting.len().saturating_sub(WAITING);
    if more > 0 {
        lines.push(format!("- and {more} more"));
    }
    lines
}

/// The analysis as a list: indented lines would run together where Markdown is shown.
fn analysis(analysis: &[String]) -> Vec<String> {
    let found: Vec<String> = analysis
        .iter()
        .map(|line| at_start(line, ANALYSIS_CHARS))
        .filter(|line| !line.is_empty() && line != "Failure Analysis:")
        .take(ANALYSIS_LINES)
        .map(|line| format!("- {line}"))
        .collect();
    if found.is_empty() {
        return Vec::new();
    }
    let heading = ["", "## Failure Analysis", ""].map(String::from);
    heading.into_iter().chain(found).collect()
}
