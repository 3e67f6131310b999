//! The plot on learnings: shown, helped, harmed.

use super::Plot;
use super::canvas::Ink;
use super::charts::{Mark, Row};
use crate::facts::{LearningFacts, MemoryFacts};
use crate::ui::format::number;

/// Learnings drawn; the table has more.
const DRAWN: usize = 10;

fn times(n: u64) -> String {
    format!("{} time{}", number(n), if n == 1 { "" } else { "s" })
}

pub fn memory(facts: &MemoryFacts) -> Plot {
    let title = match (facts.learnings, facts.ever_shown) {
        (0, _) => "No learnings yet".to_owned(),
        (1, 0) => "The only learning was not shown yet".to_owned(),
        (all, 0) => format!("None of {} learnings was shown yet", number(all)),
        (all, shown) => format!(
            "{} of {} learning{} {} shown; helped {}, harmed {} (all runs)",
            number(shown),
            number(all),
            if all == 1 { "" } else { "s" },
            if shown == 1 { "was" } else { "were" },
            times(facts.helped),
            times(facts.harmed)
        ),
    };
    let shown: Vec<&LearningFacts> = facts.most_shown.iter().filter(|one| one.shown > 0).collect();
    let rows: Vec<Row> = shown
        .iter()
        .take(DRAWN)
        .map(|one| {
            let rest = one.shown.saturating_sub(one.helped + one.harmed);
            let record = format!("shown {}, helped {}, harmed {}", one.shown, one.helped, one.harmed);
            Row {
                name: Some(one.name.clone()),
                label: ralph_core::text::one_line(&one.category, 20),
                mark: Mark::Bar(vec![
                    (one.helped as f64, Ink::Good),
                    (one.harmed as f64, Ink::Bad),
                    (rest as f64, Ink::Idle),
                ]),
                says: format!("{}: {record}", one.name),
                value: record,
            }
        })
        .collect();
    let cells = facts.most_shown.iter().map(|one| {
        vec![
            one.id.clone(),
            ralph_core::text::one_line(&one.category, 40),
            one.name.clone(),
            one.shown.to_string(),
            one.helped.to_string(),
            one.harmed.to_string(),
        ]
    });
    let headings = vec!["Id", "Category", "Learning", "Shown", "Helped", "Harmed"];
    let note = (!rows.is_empty()).then(|| {
        "Green: attempts that were done with the learning in the prompt. Red: attempts that failed with it. Gray: shown without a result."
            .to_owned()
    });
    Plot::of_rows("memory", title, note, &rows, headings, cells)
}
