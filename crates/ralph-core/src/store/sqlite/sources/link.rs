//! Who waits for whom in a plan that was taken in, and in which order its tasks stand.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, params};

use super::import::Before;
use crate::model::{TaskId, Timestamp};
use crate::plan_files::{Draft, Format};
use crate::store::ImportRequest;
use crate::store::sqlite::{Refusal, change, graph, status};

/// Parents and dependencies as the file has them. What a person added beside stays.
pub(super) fn link<'d>(
    tx: &Connection,
    request: &ImportRequest<'d>,
    before: &HashMap<String, Before>,
    ids: &HashMap<&str, TaskId>,
    touched: &mut HashSet<&'d str>,
    now: Timestamp,
) -> std::result::Result<(), Refusal> {
    let draft = request.draft;
    // Only formats that nest can take a task out of its parent.
    let nests = request.format != Format::TasksMd.as_str();
    let made = made_by_ralph(tx, ids)?;
    let mut waits_anew = false;
    let mut moved: Vec<TaskId> = Vec::new();
    for task in &draft.tasks {
        let Some(id) = ids.get(task.name.as_str()) else {
            continue;
        };
        let parent = task.parent.as_deref().and_then(|name| ids.get(name));
        let may_have_one = parent.is_some() || nests && before.contains_key(&task.name);
        if may_have_one && known_parent(tx, id)?.as_ref() != parent {
            change::set_parent(tx, id, parent)?;
            moved.push(id.clone());
            touched.insert(&task.name);
        }
        if made.contains(task.name.as_str()) {
            // Whom it waits for was settled when it was made.
            continue;
        }
        let none = Vec::new();
        let old = before.get(&task.name).map_or(&none, |known| &known.after);
        let old = without_made(old, draft, &made);
        let new = without_made(&task.after, draft, &made);
        for name in old.iter().filter(|name| !new.contains(name)) {
            let blocker = before.get(*name).map(|known| &known.id);
            if let Some(blocker) = blocker.or_else(|| ids.get(name)) {
                tx.prepare_cached(
                    "DELETE FROM dependencies WHERE blocked_id = ?1 AND blocker_id = ?2",
                )?
                .execute([id.as_str(), blocker.as_str()])?;
                touched.insert(&task.name);
            }
        }
        for name in new.iter().filter(|name| !old.contains(name)) {
            if let Some(blocker) = ids.get(name)
                && change::depend(tx, id, blocker)?
            {
                waits_anew = true;
                touched.insert(&task.name);
            }
        }
    }
    // Of most formats the reader has seen to it that there is none; together with what was there one may close.
    let unseen = request.format == Format::Lines.as_str();
    let waits_anew = waits_anew && !before.is_empty() || !moved.is_empty();
    if unseen || waits_anew || has_other_tasks(tx, ids.len())? {
        graph::refuse_any_circle(tx)?;
    }
    let mut open = Vec::new();
    for id in moved {
        if !change::known(tx, &id)?.status.satisfies() {
            open.push(id);
        }
    }
    status::reopen_ancestors(tx, &open, now)?;
    Ok(())
}

/// Names of tasks that Ralph put into the plan and the file: fixes, and what agents asked for.
fn made_by_ralph<'n>(
    tx: &Connection,
    ids: &HashMap<&'n str, TaskId>,
) -> rusqlite::Result<HashSet<&'n str>> {
    let made: HashSet<String> = tx
        .prepare_cached(
            "SELECT task_id FROM fixes WHERE attempt_number IS NOT NULL
             UNION SELECT task_id FROM changed_in",
        )?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let is_made = |(_, id): &(&&'n str, &TaskId)| made.contains(id.as_str());
    Ok(ids.iter().filter(is_made).map(|(name, _)| *name).collect())
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

pub(super) fn has_other_tasks(tx: &Connection, own: usize) -> rusqlite::Result<bool> {
    let all: i64 = tx
        .prepare_cached("SELECT coalesce(sum(n), 0) FROM task_counts")?
        .query_row([], |row| row.get(0))?;
    Ok(usize::try_from(all).is_ok_and(|all| all > own))
}

fn known_parent(tx: &Connection, id: &TaskId) -> rusqlite::Result<Option<TaskId>> {
    tx.prepare_cached("SELECT parent_id FROM tasks WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get::<_, Option<String>>(0))
        .map(|id| id.map(TaskId::from_stored))
}

/// Gives the file's tasks the file's order, within the places they have.
pub(super) fn put_in_order(
    tx: &Connection,
    draft: &Draft,
    ids: &HashMap<&str, TaskId>,
) -> rusqlite::Result<()> {
    let mut place = tx.prepare_cached("SELECT position FROM tasks WHERE id = ?1")?;
    let mut places: Vec<(f64, &TaskId)> = Vec::new();
    for task in &draft.tasks {
        if let Some(id) = ids.get(task.name.as_str()) {
            places.push((place.query_row([id.as_str()], |row| row.get(0))?, id));
        }
    }
    let in_order = places.windows(2).all(|two| match two {
        [one, other] => one.0 < other.0,
        _ => true,
    });
    if in_order {
        return Ok(());
    }
    let mut free: Vec<f64> = places.iter().map(|(at, _)| *at).collect();
    free.sort_by(f64::total_cmp);
    // Out of the way first: no two tasks may share a place even for a moment.
    let mut low: f64 = tx
        .prepare_cached("SELECT min(position) FROM tasks")?
        .query_row([], |row| row.get(0))?;
    for (_, id) in &places {
        low -= 1.0;
        tx.prepare_cached("UPDATE tasks SET position = ?2 WHERE id = ?1")?
            .execute(params![id.as_str(), low])?;
    }
    for (at, (_, id)) in free.into_iter().zip(&places) {
        tx.prepare_cached("UPDATE tasks SET position = ?2 WHERE id = ?1")?
            .execute(params![id.as_str(), at])?;
    }
    Ok(())
}
