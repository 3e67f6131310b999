//! Who waits for whom: finding circles before they are stored.

use std::collections::{HashMap, HashSet, VecDeque};

use rusqlite::Connection;

use super::Refusal;
use crate::model::TaskId;
use crate::store::StoreError;

/// The shortest circle through `start`, if there is one. A task waits for its dependencies, a parent for its
/// children; both kinds of waiting mix.
pub(super) fn circle(conn: &Connection, start: &TaskId) -> rusqlite::Result<Option<Vec<String>>> {
    let mut waits_for = conn.prepare_cached(
        "SELECT blocker_id FROM dependencies WHERE blocked_id = ?1
         UNION SELECT id FROM tasks WHERE parent_id = ?1",
    )?;
    let mut came_from: HashMap<String, String> = HashMap::new();
    let mut queue = VecDeque::from([start.as_str().to_owned()]);
    while let Some(here) = queue.pop_front() {
        let next = waits_for
            .query_map([&here], |row| row.get::<_, String>(0))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        for id in next {
            if id == start.as_str() {
                return names(conn, &path(&came_from, here, id)).map(Some);
            }
            if !came_from.contains_key(&id) {
                came_from.insert(id.clone(), here.clone());
                queue.push_back(id);
            }
        }
    }
    Ok(None)
}

/// Refuses a plan in which tasks wait for each other, whoever they are.
pub(super) fn refuse_any_circle(conn: &Connection) -> Result<(), Refusal> {
    let mut waits: HashMap<String, Vec<String>> = HashMap::new();
    let mut open: HashMap<String, usize> = HashMap::new();
    let mut query = conn.prepare_cached(
        "SELECT blocked_id, blocker_id FROM dependencies
         UNION ALL SELECT parent_id, id FROM tasks WHERE parent_id IS NOT NULL",
    )?;
    let mut found = query.query([])?;
    while let Some(row) = found.next()? {
        let (waiter, awaited): (String, String) = (row.get(0)?, row.get(1)?);
        *open.entry(waiter.clone()).or_default() += 1;
        open.entry(awaited.clone()).or_default();
        waits.entry(awaited).or_default().push(waiter);
    }
    let mut free: Vec<String> = open
        .iter()
        .filter(|(_, open)| **open == 0)
        .map(|(id, _)| id.clone())
        .collect();
    while let Some(id) = free.pop() {
        open.remove(&id);
        for waiter in waits.remove(&id).unwrap_or_default() {
            let Some(left) = open.get_mut(&waiter) else {
                continue;
            };
            *left -= 1;
            if *left == 0 {
                free.push(waiter);
            }
        }
    }
    // What is left is in a circle or waits for one: whoever follows the waiting comes into it.
    let Some(mut here) = open.keys().min().cloned() else {
        return Ok(());
    };
    let mut awaits = conn.prepare_cached(
        "SELECT blocker_id FROM dependencies WHERE blocked_id = ?1
         UNION SELECT id FROM tasks WHERE parent_id = ?1",
    )?;
    let mut seen = HashSet::new();
    while seen.insert(here.clone()) {
        let awaited = awaits
            .query_map([&here], |row| row.get::<_, String>(0))?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let Some(next) = awaited.into_iter().find(|id| open.contains_key(id)) else {
            return Ok(());
        };
        here = next;
    }
    match circle(conn, &TaskId::from_stored(here))? {
        Some(circle) => Err(StoreError::Cycle(circle).into()),
        None => Ok(()),
    }
}

/// Ids from `start` around the circle and back to it.
fn path(came_from: &HashMap<String, String>, last: String, start: String) -> Vec<String> {
    let mut ids = vec![start.clone()];
    let mut here = last;
    while here != start {
        let before = came_from.get(&here).cloned();
        ids.push(here);
        match before {
            Some(id) => here = id,
            None => break,
        }
    }
    ids.push(start);
    ids.reverse();
    ids
}

/// What people call these tasks.
fn names(conn: &Connection, ids: &[String]) -> rusqlite::Result<Vec<String>> {
    let mut query = conn.prepare_cached("SELECT coalesce(key, id) FROM tasks WHERE id = ?1")?;
    ids.iter()
        .map(|id| query.query_row([id], |row| row.get(0)))
        .collect()
}
