//! Who waits for whom: finding circles before they are stored.

use std::collections::{HashMap, VecDeque};

use rusqlite::Connection;

use crate::model::TaskId;

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
