use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::memory::state_md::{AttemptView, HistoryRow, RunView, StateView, TaskView, render};
use crate::store::PlanCounts;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        r"[a|\\ \n\r<!>#\-`*\u{0}\u{85}\u{2028}]{0,40}",
        Just("<!-- HISTORY_END -->".to_owned()),
        Just("\n<!-- HISTORY_START -->\n# Title\n".to_owned()),
        Just("long word ".repeat(90)),
        Just("|".repeat(500)),
    ]
}

prop_compose! {
    fn row()(
        iteration in any::<u32>(),
        (time, outcome, task, details) in (text(), text(), text(), text()),
    ) -> HistoryRow {
        HistoryRow { iteration, time, outcome, task, details }
    }
}

prop_compose! {
    fn run()(
        (id, status, started_at) in (text(), text(), text()),
        (iteration, limit, cost_usd) in (any::<u32>(), any::<Option<u32>>(), any::<Option<f64>>()),
    ) -> RunView {
        RunView { id, status, started_at, iteration, limit, cost_usd, cost_estimated: iteration % 2 == 0 }
    }
}

prop_compose! {
    fn view()(
        (updated_at, project, breaker) in (text(), text(), text()),
        (run, next) in (option::of(run()), option::of((text(), text()))),
        (total, done, skipped) in (any::<u64>(), any::<u64>(), any::<u64>()),
        waiting in vec((text(), text()), 0..4),
        history in vec(row(), 0..20),
        analysis in option::of(vec(text(), 0..8)),
    ) -> StateView {
        let counts = PlanCounts { total, done, skipped, ..PlanCounts::default() };
        let next = next.map(|(name, title)| TaskView { name, title });
        let under_way = next.iter().map(|task: &TaskView| AttemptView {
            task: task.clone(), what: breaker.clone(), since: updated_at.clone(),
        }).collect();
        StateView { updated_at, project, run, counts, under_way, next, breaker, waiting, history, analysis }
    }
}

/// The cells of a row for a reader that takes a `\` for the partner of the character after it.
fn cells_paired(row: &str) -> usize {
    let mut bars = 0;
    let mut escaped = false;
    for c in row.chars() {
        bars += usize::from(c == '|' && !escaped);
        escaped = c == '\\' && !escaped;
    }
    bars - 1
}

/// The same for one that looks only at the character before the bar.
fn cells_simple(row: &str) -> usize {
    row.replace("\\|", "").matches('|').count() - 1
}

proptest! {
    #[test]
    fn ana_06_the_table_is_well_formed_whatever_it_says(view in view()) {
        let page = render(&view);
        for marker in ["<!-- HISTORY_START -->", "<!-- HISTORY_END -->"] {
            prop_assert_eq!(page.lines().filter(|line| *line == marker).count(), 1);
            prop_assert_eq!(page.matches(marker).count(), 1);
        }
        prop_assert_eq!(page.matches("<!--").count(), 2);
        let (_, rest) = page.split_once("<!-- HISTORY_START -->\n").unwrap();
        let (table, _) = rest.split_once("<!-- HISTORY_END -->").unwrap();
        let lines: Vec<&str> = table.lines().collect();
        prop_assert_eq!(lines[0], "| # | Time | Outcome | Task | Details |");
        prop_assert_eq!(lines[1], "|---|---|---|---|---|");
        let rows = &lines[2..];
        prop_assert_eq!(rows.len(), view.history.len().min(15));
        for (line, row) in rows.iter().zip(&view.history) {
            let start = format!("| {} | ", row.iteration);
            prop_assert!(line.starts_with(&start) && line.ends_with(" |"), "{}", line);
            prop_assert_eq!(cells_paired(line), 5, "{}", line);
            prop_assert_eq!(cells_simple(line), 5, "{}", line);
        }
    }

    #[test]
    fn ana_04_no_text_makes_a_heading_or_breaks_a_line(view in view()) {
        let page = render(&view);
        let own = ["# Ralph state", "## Progress", "## Blocked (needs you)", "## History",
            "## Failure Analysis"];
        let headings: Vec<&str> = page.lines().filter(|line| line.starts_with('#')).collect();
        prop_assert!(headings.iter().all(|line| own.contains(line)), "{:?}", headings);
        prop_assert!(headings.iter().all(|l| headings.iter().filter(|o| *o == l).count() == 1));
        for line in page.lines() {
            prop_assert!(!line.contains(char::is_control), "{:?}", line);
            prop_assert!(!line.contains(['\u{2028}', '\u{2029}']), "{:?}", line);
            let item = line.strip_prefix("- ").unwrap_or_default();
            prop_assert!(!item.starts_with(['#', '>', '`', '~', '<', '-']), "{:?}", line);
        }
        prop_assert!(page.ends_with('\n') && !page.ends_with("\n\n"));
    }

    #[test]
    fn ana_05_the_page_is_bounded_and_always_the_same(view in view()) {
        let page = render(&view);
        prop_assert_eq!(&page, &render(&view));
        prop_assert!(page.chars().count() < 20_000);
        let bar = page.lines().find(|line| line.starts_with('[')).unwrap();
        prop_assert_eq!(bar.matches(['█', '░']).count(), 20);
    }
}
