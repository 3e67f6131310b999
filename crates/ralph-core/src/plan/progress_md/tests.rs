//! Logs as they usually are, as people leave them, and what holds for any.

mod examples;
mod odd_files;
mod properties;

use super::*;
use crate::recovery::FinalState;
use crate::recovery::FinalState::Pass;

const MAX_LIMIT: FinalState = FinalState::MaxLimit;

fn completed(key: &str, title: &str, commit: &str) -> Completed {
    let commit = (!commit.is_empty()).then(|| commit.to_owned());
    Completed { key: key.into(), title: title.into(), commit }
}

fn done(key: &str, title: &str, commit: &str) -> News {
    News { completed: vec![completed(key, title, commit)], ..News::default() }
}

fn current(line: &str) -> News {
    News { current: Some(line.into()), ..News::default() }
}

fn history(key: &str, count: usize, end: FinalState) -> FixHistory {
    let fixes = (1..=count).map(|n| format!("{key}.{n}")).collect();
    FixHistory { key: key.into(), fixes, end }
}

fn fixes(key: &str, count: usize, end: FinalState) -> News {
    News { fix_history: vec![history(key, count, end)], ..News::default() }
}

fn learnt(learnings: &[&str]) -> News {
    let learnings = learnings.iter().map(|text| (*text).to_owned()).collect();
    News { learnings, ..News::default() }
}

/// The bullets under Learnings.
fn learnings(log: &str) -> Vec<String> {
    let layout = Layout::of(log);
    let items = layout.items(Section::Learnings);
    items.map(|item| layout.item_text(item)).collect()
}

/// The finished tasks' lines.
fn finished(log: &str) -> Vec<String> {
    let layout = Layout::of(log);
    let items = layout.items(Section::Completed);
    items.map(|item| flat(item.first)).collect()
}
