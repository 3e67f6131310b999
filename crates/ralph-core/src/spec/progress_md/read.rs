//! What a log says.

use std::collections::HashSet;

use super::layout::{Layout, Section};
use super::model::{Completed, Progress};
use crate::markdown::{Kind, bullet};
use crate::recovery::FixHistory;

pub(super) fn read(layout: &Layout<'_>) -> Progress {
    let completed = layout.items(Section::Completed);
    let completed = completed.filter_map(|item| Completed::read(item.first));
    let history = layout.items(Section::FixHistory);
    let history = history.filter_map(|item| FixHistory::read(item.first));
    let learnings = layout.items(Section::Learnings);
    Progress {
        completed: last_of_each(completed.collect(), |task| &task.key),
        current: current(layout),
        fix_history: last_of_each(history.collect(), |history| &history.key),
        learnings: learnings.map(|item| layout.item_text(item)).collect(),
    }
}

fn current(layout: &Layout<'_>) -> Option<String> {
    let span = layout.sections(Section::Current).next()?;
    let (_, line) = layout.first_content(span)?;
    let text = match line.kind {
        Kind::Paragraph | Kind::Other => line.text,
        Kind::Bullet => bullet(line.text)?,
        Kind::Blank | Kind::Heading(_) | Kind::Inside | Kind::Closed => return None,
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn last_of_each<T>(mut all: Vec<T>, key: impl Fn(&T) -> &String) -> Vec<T> {
    let mut seen = HashSet::new();
    all.reverse();
    all.retain(|one| seen.insert(key(one).clone()));
    all.reverse();
    all
}
