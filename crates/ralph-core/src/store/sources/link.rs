//! Who waits for whom in an imported plan, and in which order its tasks stand.

use std::collections::{HashMap, HashSet};

use super::ImportRequest;
use super::import::Before;
use crate::model::{TaskId, Timestamp};
use crate::plan::{Draft, Format};
use crate::store::sql::{Connection, Statements};
use crate::store::{Result, plan, status, task_changes};

/// What is known of the tasks of a file, by the names that it uses.
#[derive(Clone, Copy)]
pub(super) struct Known<'k> {
    pub before: &'k HashMap<String, Before>,
    pub ids: &'k HashMap<&'k str, TaskId>,
    /// Finished tasks whose place another one took.
    pub replaced: &'k HashMap<&'k str, TaskId>,
}

pub(super) fn link<'d>(
    tx: &Connection,
    request: &ImportRequest<'d>,
    known: &Known<'_>,
    touched: &mut HashSet<&'d str>,
    now: Timestamp,
) -> Result<()> {
    let (draft, Known { before, ids, replaced }) = (request.draft, *known);
    // Only formats that nest can take a task out of its parent.
    let nests = request.format != Format::TasksMd.as_str();
    let made = made_by_ralph(tx, ids)?;
    let mut waits_anew = false;
    let mut moved: Vec<TaskId> = Vec::new();
    for task in &draft.tasks {
        let Some(id) = ids.get(task.name.as_str()) else { continue };
        let parent = task.parent.as_deref().and_then(|name| ids.get(name));
        let may_have_one = parent.is_some() || nests && before.contains_key(&task.name);
        if may_have_one && status::parent_of(tx, id)?.as_ref() != parent {
            task_changes::set_parent(tx, id, parent)?;
            moved.push(id.clone());
            touched.insert(&task.name);
        }
        if made.contains(task.name.as_str()) {
            // Whom it waits for was settled when it was made.
            continue;
        }
        let none = Vec::new();
        let old = before.get(&task.name).map_or(&none, |known| &known.after);
        let mut old = without_made(old, draft, &made);
        for name in &old {
            if let Some(replaced) = replaced.get(name) {
                task_changes::no_longer_depend(tx, id, replaced)?;
            }
        }
        old.retain(|name| !replaced.contains_key(name));
        let new = without_made(&task.after, draft, &made);
        for name in old.iter().filter(|name| !new.contains(name)) {
            let blocker = before.get(*name).map(|known| &known.id);
            if let Some(blocker) = blocker.or_else(|| ids.get(name)) {
                task_changes::no_longer_depend(tx, id, blocker)?;
                touched.insert(&task.name);
            }
        }
        for name in new.iter().filter(|name| !old.contains(name)) {
            if let Some(blocker) = ids.get(name)
                && task_changes::depend(tx, id, blocker)?
            {
                waits_anew = true;
                touched.insert(&task.name);
            }
        }
    }
    // Of most formats the reader has seen to it that there is no cycle; together with what was there one may close.
    let unseen = request.format == Format::Lines.as_str();
    let waits_anew = waits_anew && !before.is_empty() || !moved.is_empty();
    if unseen || waits_anew || has_other_tasks(tx, ids.len())? {
        status::refuse_any_cycle(tx)?;
    }
    let mut open = Vec::new();
    for id in moved {
        if !plan::known(tx, &id)?.status.satisfies() {
            open.push(id);
        }
    }
    status::reopen_ancestors(tx, &open, now)
}

/// Names of tasks that Ralph put into the plan and the file: fixes, and what agents asked for.
fn made_by_ralph<'n>(tx: &Connection, ids: &HashMap<&'n str, TaskId>) -> Result<HashSet<&'n str>> {
    let sql = "SELECT task_id FROM fixes WHERE attempt_number IS NOT NULL
         UNION SELECT task_id FROM changed_in";
    let made: HashSet<TaskId> = tx.all(sql, [])?;
    let names = ids.iter().filter(|(_, id)| made.contains(id));
    Ok(names.map(|(name, _)| *name).collect())
}

/// Whom a task waits for, seen past what Ralph put in between.
fn without_made<'d>(after: &'d [String], draft: &'d Draft, made: &HashSet<&str>) -> Vec<&'d str> {
    if !after.iter().any(|name| made.contains(name.as_str())) {
        return after.iter().map(String::as_str).collect();
    }
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut queue: Vec<&'d str> = after.iter().rev().map(String::as_str).collect();
    while let Some(name) = queue.pop() {
        if !seen.insert(name) {
            continue;
        }
        if !made.contains(name) {
            found.push(name);
            continue;
        }
        let task = draft.tasks.iter().find(|task| task.name == name);
        // A fix stands aside of the order: nobody waits for what it waits for on its account.
        if let Some(task) = task.filter(|task| task.fix_of.is_none()) {
            queue.extend(task.after.iter().rev().map(String::as_str));
        }
    }
    found
}

pub(super) fn has_other_tasks(tx: &Connection, own: usize) -> Result<bool> {
    let all: i64 = tx.one("SELECT sum(n) FROM task_counts", [])?;
    Ok(usize::try_from(all).is_ok_and(|all| all > own))
}

/// Gives the file's tasks the file's order, within the positions they have.
pub(super) fn put_in_order(tx: &Connection, draft: &Draft, ids: &HashMap<&str, TaskId>) -> Result<()> {
    let mut positions: Vec<(f64, &TaskId)> = Vec::new();
    for task in &draft.tasks {
        if let Some(id) = ids.get(task.name.as_str()) {
            positions.push((tx.one("SELECT position FROM tasks WHERE id = ?1", [id])?, id));
        }
    }
    if positions.is_sorted_by(|one, other| one.0 < other.0) {
        return Ok(());
    }
    let mut free: Vec<f64> = positions.iter().map(|(at, _)| *at).collect();
    free.sort_by(f64::total_cmp);
    // Out of the way first: no two tasks may share a position even for a moment.
    let mut low: f64 = tx.one("SELECT min(position) FROM tasks", [])?;
    for (_, id) in &positions {
        low -= 1.0;
        task_changes::set_position(tx, id, low)?;
    }
    for (at, (_, id)) in free.into_iter().zip(&positions) {
        task_changes::set_position(tx, id, at)?;
    }
    Ok(())
}
