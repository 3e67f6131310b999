//! Any Markdown list with checkboxes: `- [ ] Do this`.
//!
//! ```text
//! lines ─► items (checkboxes, whose part each is, the lines below them)
//!            ├─► names   the author's word before the title, or one made from the titles
//!            └─► fields  `Verify:`, `Files:`, `After:`; the other lines are the description
//! ```
//!
//! The order of the items is the order of the plan, and nothing more: what must wait for what is
//! only what `After:` says.

mod fields;
mod items;
mod key_word;
mod names;
mod phases;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::plan_files::cycles::{chain, cycles};
use crate::plan_files::draft::{Draft, DraftTask, Note, Problem};
use fields::Fields;
use items::{Item, Items};
use names::Named;

/// Reads a Markdown file's checkboxes as a plan.
///
/// # Errors
/// All that is wrong with the file, by line.
pub fn read(text: &str) -> Result<Draft, Vec<Problem>> {
    let Items {
        items,
        mut notes,
        mut problems,
    } = items::collect(text);
    let named = names::names(&items, &mut notes);
    let fields: Vec<Fields> = items
        .iter()
        .map(|item| fields::read(&item.below, &mut notes))
        .collect();
    let after = after(&named, &fields, &mut problems);
    refuse_circles(&items, &named, &after, &mut problems);
    let done = done(&items, &mut notes);
    if !problems.is_empty() {
        problems.sort_by(|a, b| (a.line, &a.expected).cmp(&(b.line, &b.expected)));
        return Err(problems);
    }
    notes.sort_by_key(|note| note.line);
    let name_of = |at: usize| named.get(at).map(|named| named.name.clone());
    let mut tasks = Vec::with_capacity(items.len());
    for ((((item, named), fields), after), done) in
        items.iter().zip(&named).zip(fields).zip(after).zip(done)
    {
        tasks.push(DraftTask {
            name: named.name.clone(),
            named_by_author: named.is_by_author,
            title: named.title.clone(),
            description: fields.description,
            phase: item.phase.map(str::to_owned),
            parent: item.parent.and_then(name_of),
            after: after.into_iter().filter_map(name_of).collect(),
            verify: fields.verify,
            files: fields.files,
            done,
            line: item.line,
            ..DraftTask::default()
        });
    }
    Ok(Draft { tasks, notes })
}

/// For each item the items it waits for.
fn after(named: &[Named], fields: &[Fields], problems: &mut Vec<Problem>) -> Vec<Vec<usize>> {
    let keys: HashMap<&str, usize> = named
        .iter()
        .enumerate()
        .filter(|(_, named)| named.is_by_author)
        .map(|(at, named)| (named.name.as_str(), at))
        .collect();
    let mut all = Vec::with_capacity(fields.len());
    for fields in fields {
        let mut known = Vec::new();
        let mut is_known = std::collections::HashSet::new();
        for (line, name) in &fields.after {
            match keys.get(name) {
                Some(at) if is_known.insert(*at) => known.push(*at),
                Some(_) => {}
                None => problems.push(Problem {
                    line: *line,
                    expected: format!(
                        "no item has the key `{name}`; expected a key that an item starts with, such as \
                         T001 in `- [ ] T001 Title`"
                    ),
                }),
            }
        }
        all.push(known);
    }
    all
}

/// A whole waits for its parts, so these links count as well.
fn refuse_circles(
    items: &[Item<'_>],
    named: &[Named],
    after: &[Vec<usize>],
    problems: &mut Vec<Problem>,
) {
    let mut edges = after.to_vec();
    for (at, item) in items.iter().enumerate() {
        if let Some(edges) = item.parent.and_then(|parent| edges.get_mut(parent)) {
            edges.push(at);
        }
    }
    for circle in cycles(&edges) {
        let lines = circle
            .iter()
            .filter_map(|at| items.get(*at))
            .map(|item| item.line);
        let names = circle
            .iter()
            .map(|at| named.get(*at).map_or("", |named| &named.name));
        problems.push(Problem {
            line: lines.min().unwrap_or(1),
            expected: format!(
                "these items depend on each other in a cycle: {}; expected an order in which they can be done",
                chain(names)
            ),
        });
    }
}

/// Which items are done: a ticked one is not while a part of it is open.
fn done(items: &[Item<'_>], notes: &mut Vec<Note>) -> Vec<bool> {
    let mut has_open_part = vec![false; items.len()];
    let mut done = vec![false; items.len()];
    // Parts stand below their whole, so backwards they come first.
    for (at, item) in items.iter().enumerate().rev() {
        let is_open_below = has_open_part.get(at).copied().unwrap_or_default();
        let is_done = item.is_ticked && !is_open_below;
        if item.is_ticked && is_open_below {
            notes.push(Note {
                line: item.line,
                text: "This item is checked, but items below it are not; Ralph treats it as open."
                    .to_owned(),
            });
        }
        if let Some(done) = done.get_mut(at) {
            *done = is_done;
        }
        if let Some(above) = item.parent.and_then(|parent| has_open_part.get_mut(parent)) {
            *above |= !is_done;
        }
    }
    done
}
