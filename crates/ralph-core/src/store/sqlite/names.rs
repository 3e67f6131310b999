//! Names by how they begin: ranges of an index, so that a few names out of a hundred thousand cost what they cost out of ten.

use rusqlite::{Connection, Row, params};

use super::SqliteStore;
use crate::store::{NameStore, Named, Result};
use crate::text::one_line;

/// Characters of what a name stands for.
const ABOUT: usize = 80;

/// Where names are: an indexed column, what it is about, and the order without a beginning.
struct Names {
    column: &'static str,
    about: &'static str,
    table: &'static str,
    /// The column shown without a beginning.
    shown: &'static str,
    order: &'static str,
}

const KEYS: Names = Names {
    column: "key",
    about: "title",
    table: "tasks",
    shown: "coalesce(key, id)",
    order: "position",
};
const IDS: Names = Names {
    column: "id",
    ..KEYS
};
const LEARNINGS: Names = Names {
    column: "id",
    about: "coalesce(title, substr(content, 1, 200))",
    table: "learnings",
    shown: "id",
    order: "created_at DESC",
};
const RUNS: Names = Names {
    column: "id",
    about: "started_at || coalesce(', ' || outcome, '')",
    table: "runs",
    shown: "id",
    order: "started_at DESC",
};

impl NameStore for SqliteStore {
    fn task_names(&self, prefix: &str, most: usize) -> Result<Vec<Named>> {
        self.read_once(|conn| {
            if !prefix.is_empty() {
                let mut names = KEYS.range(conn, prefix, most)?;
                names.extend(IDS.range(conn, prefix, most)?);
                return Ok(names);
            }
            let mut names = KEYS.first(conn, most)?;
            if names.len() >= most {
                names.extend(KEYS.ends(conn)?);
                let mut nameless = conn.prepare_cached("SELECT 1 FROM tasks WHERE key IS NULL")?;
                if nameless.exists([])? {
                    names.extend(IDS.ends(conn)?);
                }
            }
            Ok(each_once(names))
        })
    }

    fn learning_names(&self, prefix: &str, most: usize) -> Result<Vec<Named>> {
        self.read_once(|conn| LEARNINGS.names(conn, prefix, most))
    }

    fn run_names(&self, prefix: &str, most: usize) -> Result<Vec<Named>> {
        self.read_once(|conn| RUNS.names(conn, prefix, most))
    }
}

impl Names {
    fn names(&self, conn: &Connection, prefix: &str, most: usize) -> rusqlite::Result<Vec<Named>> {
        if !prefix.is_empty() {
            return self.range(conn, prefix, most);
        }
        let mut names = self.first(conn, most)?;
        if names.len() >= most {
            names.extend(self.ends(conn)?);
        }
        Ok(each_once(names))
    }

    /// Those at the head of the order.
    fn first(&self, conn: &Connection, most: usize) -> rusqlite::Result<Vec<Named>> {
        conn.prepare_cached(&self.head())?
            .query_map([limit(most)], named)?
            .collect()
    }

    fn head(&self) -> String {
        let Self {
            shown,
            about,
            table,
            order,
            ..
        } = self;
        format!("SELECT {shown}, {about} FROM {table} ORDER BY {order} LIMIT ?1")
    }

    /// Those that begin so, and the last of them.
    fn range(&self, conn: &Connection, prefix: &str, most: usize) -> rusqlite::Result<Vec<Named>> {
        // No character comes after this one, so nothing that begins so comes after the two together.
        let end = format!("{prefix}\u{10ffff}");
        let mut names = Vec::new();
        for (order, most) in [("", most), ("DESC", 1)] {
            let mut query = conn.prepare_cached(&self.between(order))?;
            for name in query.query_map(params![prefix, end, limit(most)], named)? {
                names.push(name?);
            }
        }
        Ok(each_once(names))
    }

    fn between(&self, order: &str) -> String {
        let Self {
            column,
            about,
            table,
            ..
        } = self;
        format!(
            "SELECT {column}, {about} FROM {table} WHERE {column} >= ?1 AND {column} <= ?2
             ORDER BY {column} {order} LIMIT ?3"
        )
    }

    /// The first and the last of all.
    fn ends(&self, conn: &Connection) -> rusqlite::Result<Vec<Named>> {
        self.range(conn, "", 1)
    }
}

fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

fn named(row: &Row<'_>) -> rusqlite::Result<Named> {
    let about: Option<String> = row.get(1)?;
    Ok(Named {
        name: row.get(0)?,
        about: one_line(&about.unwrap_or_default(), ABOUT),
    })
}

fn each_once(names: Vec<Named>) -> Vec<Named> {
    let mut seen = std::collections::HashSet::new();
    names
        .into_iter()
        .filter(|named| seen.insert(named.name.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_out_of_an_index() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::create(&dir.path().join("x.db")).unwrap();
        for names in [KEYS, IDS, LEARNINGS, RUNS] {
            for sql in [names.head(), names.between(""), names.between("DESC")] {
                let mut query = store
                    .conn
                    .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                    .unwrap();
                let mut steps = query.raw_query();
                let mut plan: Vec<String> = Vec::new();
                while let Some(step) = steps.next().unwrap() {
                    plan.push(step.get(3).unwrap());
                }
                // A second step would be a sort of everything.
                assert_eq!(plan.len(), 1, "{sql}: {plan:?}");
                assert!(plan[0].contains("INDEX"), "{sql}: {plan:?}");
            }
        }
    }
}
