//! `.ralph/STATE.md`: where the run stands, for people. Pure; the caller writes the file.

use crate::store::PlanCounts;
use crate::text::one_line;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateView {
    /// When the page is written: `YYYY-MM-DD HH:MM:SS` on the clock of this machine, shown as it is.
    pub updated_at: String,
    pub project: String,
    pub run: Option<RunView>,
    pub counts: PlanCounts,
    pub under_way: Vec<AttemptView>,
    pub next: Option<TaskView>,
    /// `closed`, `open` or `half_open`.
    pub breaker: String,
    /// Tasks that wait for a human, and why.
    pub waiting: Vec<(String, String)>,
    pub history: Vec<HistoryRow>,
    /// The lines of the failure analysis, with or without its heading.
    pub analysis: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunView {
    pub id: String,
    /// `running`, or how it ended.
    pub status: String,
    pub started_at: String,
    pub iteration: u32,
    pub limit: Option<u32>,
    pub cost_usd: Option<f64>,
    pub cost_estimated: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskView {
    pub name: String,
    pub title: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptView {
    pub task: TaskView,
    /// `attempt 2 with sonnet`.
    pub what: String,
    pub since: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryRow {
    /// Its number in the run.
    pub iteration: u32,
    pub time: String,
    /// `done`, `failed`, `no_sigil`, `error`, or the word to show.
    pub outcome: String,
    pub task: String,
    pub details: String,
}

/// How long names and texts may get.
const NAME_CHARS: usize = 80;
const TEXT_CHARS: usize = 200;
/// The lines of an analysis are bounded already; this holds for whatever else comes.
const ANALYSIS_CHARS: usize = 300;
const ANALYSIS_LINES: usize = 10;

const WAITING: usize = 20;

const NOTE: &str = "_Ralph generates and overwrites this file: do not edit it. `ralph history` lists every \
                    attempt._";

pub fn render(view: &StateView) -> String {
    let name = |text: &str| inline(text, NAME_CHARS);
    let run = view.run.as_ref().map_or_else(|| "none yet".to_owned(), run);
    let mut lines = vec![
        "# Ralph state".to_owned(),
        String::new(),
        NOTE.to_owned(),
        String::new(),
        format!("- **Project:** {}", name(&view.project)),
        format!("- **Updated:** {}", name(&view.updated_at)),
        format!("- **Run:** {run}"),
        format!("- **Circuit breaker:** {}", name(&view.breaker)),
    ];
    lines.extend(view.under_way.iter().take(WAITING).map(under_way));
    lines.push(format!("- **Next task:** {}", next(view)));
    let mut progress = vec![bar(view.counts.done, view.counts.total)];
    if view.counts.total > 0 {
        progress.extend([String::new(), view.counts.summary()]);
    }
    for (title, content) in [
        ("Progress", progress),
        ("Blocked (needs you)", waiting(&view.waiting)),
        ("History", table(&view.history)),
        ("Failure Analysis", analysis(view.analysis.as_deref().unwrap_or_default())),
    ] {
        if !content.is_empty() {
            lines.extend([String::new(), format!("## {title}"), String::new()]);
            lines.extend(content);
        }
    }
    lines.join("\n") + "\n"
}

fn under_way(attempt: &AttemptView) -> String {
    format!(
        "- **Running:** {}, {}, since {}",
        task(&attempt.task),
        inline(&attempt.what, TEXT_CHARS),
        inline(&attempt.since, NAME_CHARS)
    )
}

fn task(task: &TaskView) -> String {
    let name = inline(&task.name, NAME_CHARS);
    if task.title.trim().is_empty() { name } else { format!("{name}: {}", inline(&task.title, TEXT_CHARS)) }
}

fn run(run: &RunView) -> String {
    let RunView { iteration, .. } = run;
    let limit = run.limit.map_or_else(String::new, |limit| format!(" of {limit}"));
    let about = if run.cost_estimated { "~" } else { "" };
    let cost = run.cost_usd.filter(|cost| cost.is_finite());
    let cost = cost.map_or_else(String::new, |cost| format!(", {about}${cost:.2}"));
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

fn waiting(waiting: &[(String, String)]) -> Vec<String> {
    let line = |(name, why): &(String, String)| {
        format!("- **{}**: {}", inline(name, NAME_CHARS), inline(why, TEXT_CHARS))
    };
    let mut lines: Vec<String> = waiting.iter().take(WAITING).map(line).collect();
    let more = waiting.len() - lines.len();
    lines.extend((more > 0).then(|| format!("- and {more} more")));
    lines
}

/// The analysis as a list: indented lines would run together where Markdown is shown.
fn analysis(analysis: &[String]) -> Vec<String> {
    let lines = analysis.iter().map(|line| at_start(line, ANALYSIS_CHARS));
    let lines = lines.filter(|line| !line.is_empty() && line != "Failure Analysis:");
    lines.take(ANALYSIS_LINES).map(|line| format!("- {line}")).collect()
}

const ROWS: usize = 15;

/// How much of a row's texts is shown.
const CELL_CHARS: usize = 60;
const DETAIL_CHARS: usize = 200;

const START: &str = "<!-- HISTORY_START -->";
const HEADER: &str = "| # | Time | Outcome | Task | Details |";
const SEPARATOR: &str = "|---|---|---|---|---|";
const END: &str = "<!-- HISTORY_END -->";

/// The lines from marker to marker.
fn table(history: &[HistoryRow]) -> Vec<String> {
    let head = [START, HEADER, SEPARATOR].map(String::from);
    let rows = history.iter().take(ROWS).map(row);
    head.into_iter().chain(rows).chain([END.to_owned()]).collect()
}

fn row(row: &HistoryRow) -> String {
    format!(
        "| {} | {} | {} | {} | {} |",
        row.iteration,
        cell(&row.time, CELL_CHARS),
        cell(outcome(&row.outcome), CELL_CHARS),
        cell(&row.task, CELL_CHARS),
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

const CELLS: u128 = 20;

/// `[████████░░░░░░░░░░░░] 40% (4 of 10 tasks)`. Rounded down: full means everything.
fn bar(finished: u64, total: u64) -> String {
    let finished = finished.min(total);
    let wide = u128::from(finished);
    let share = |of: u128| (wide * of).checked_div(u128::from(total)).unwrap_or(0);
    let cells: String = (0..CELLS).map(|at| if at < share(CELLS) { '█' } else { '░' }).collect();
    let tasks = if total == 1 { "task" } else { "tasks" };
    format!("[{cells}] {}% ({finished} of {total} {tasks})", share(100))
}

/// One clean, bounded line that opens no comment: Ralph's markers are comments.
fn inline(text: &str, max_chars: usize) -> String {
    one_line(text, max_chars).replace("<!--", "‹!--")
}

/// The same where nothing of Ralph's stands before it: what would be a heading, a quote or a fence
/// begins with punctuation, and a backslash makes that plain.
fn at_start(text: &str, max_chars: usize) -> String {
    let line = inline(text, max_chars);
    if line.starts_with(|c: char| c.is_ascii_punctuation()) { format!("\\{line}") } else { line }
}

/// The same for a cell of a table. Backslashes before a `|` are doubled, so that it is escaped for
/// readers that pair backslashes as well as for those that look at the last one only.
fn cell(text: &str, max_chars: usize) -> String {
    let line = inline(text, max_chars);
    let mut out = String::with_capacity(line.len());
    let mut backslashes = 0;
    for c in line.chars() {
        if c == '|' {
            out.push_str(&"\\".repeat(backslashes + 1));
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests;
