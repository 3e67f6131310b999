//! Names that begin with what somebody types: ranges of an index, so that a few names out of a hundred thousand cost what
//! they cost out of ten.
//!
//! The first and the last of all names are always in an answer. So what all names of an answer begin with, all there are
//! begin with, and a shell may type it for the person.

use std::collections::HashSet;

use super::plan::row_limit;
use super::sql::{Connection, ReadResult, Row, Statements, bind, record};
use super::{Result, Store};
use crate::text::one_line;

const ABOUT: usize = 80;

/// A thing by its name, with a short line on what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub name: String,
    pub about: String,
}

struct Names {
    column: &'static str,
    about: &'static str,
    table: &'static str,
    /// What is shown, and in which order, where nothing was typed yet.
    shown: &'static str,
    order: &'static str,
}

const TASKS: Names =
    Names { column: "name", about: "title", table: "tasks", shown: "name", order: "position" };
const IDS: Names = Names { column: "id", ..TASKS };
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

impl Store {
    /// Names and ids of tasks. Without a prefix one name per task, in plan order.
    pub fn task_names(&self, prefix: &str, most: usize) -> Result<Vec<Named>> {
        self.read_once(|conn| {
            let mut names = TASKS.names(conn, prefix, most)?;
            if !prefix.is_empty() {
                let room = most.saturating_sub(names.len()).max(1);
                names.extend(IDS.range(conn, prefix, room)?);
            }
            Ok(each_once(names))
        })
    }

    /// Ids of learnings. Without a prefix the newest come first.
    pub fn learning_names(&self, prefix: &str, most: usize) -> Result<Vec<Named>> {
        self.read_once(|conn| LEARNINGS.names(conn, prefix, most))
    }

    /// Ids of runs. Without a prefix the newest come first.
    pub fn run_names(&self, prefix: &str, most: usize) -> Result<Vec<Named>> {
        self.read_once(|conn| RUNS.names(conn, prefix, most))
    }
}

impl Names {
    fn names(&self, conn: &Connection, prefix: &str, most: usize) -> Result<Vec<Named>> {
        if !prefix.is_empty() {
            return self.range(conn, prefix, most);
        }
        let mut names: Vec<Named> = conn.all(&self.head(), [row_limit(most)])?;
        if names.len() >= most {
            names.extend(self.range(conn, "", 1)?);
        }
        Ok(each_once(names))
    }

    fn head(&self) -> String {
        let Self { shown, about, table, order, .. } = self;
        format!("SELECT {shown} AS name, {about} AS about FROM {table} ORDER BY {order} LIMIT ?1")
    }

    fn range(&self, conn: &Connection, prefix: &str, most: usize) -> Result<Vec<Named>> {
        // No character comes after this one, so no name with the prefix comes after the two together.
        let end = format!("{prefix}\u{10ffff}");
        let mut names = Vec::new();
        for (order, most) in [("", most), ("DESC", 1)] {
            let most = row_limit(most);
            let values = bind! { prefix, end, most };
            names.extend(conn.all::<_, Vec<_>>(&self.between(order), values)?);
        }
        Ok(each_once(names))
    }

    fn between(&self, order: &str) -> String {
        let Self { column, about, table, .. } = self;
        format!(
            "SELECT {column} AS name, {about} AS about FROM {table}
             WHERE {column} >= :prefix AND {column} <= :end ORDER BY {column} {order} LIMIT :most"
        )
    }
}

record!(Named { name, about via about });

fn about(row: &Row<'_>, name: &str) -> ReadResult<String> {
    Ok(one_line(&row.get::<String>(name)?, ABOUT))
}

fn each_once(mut names: Vec<Named>) -> Vec<Named> {
    let mut seen = HashSet::new();
    names.retain(|named| seen.insert(named.name.clone()));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_out_of_an_index() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(&dir.path().join("x.db")).unwrap();
        for names in [TASKS, IDS, LEARNINGS, RUNS] {
            for sql in [names.head(), names.between(""), names.between("DESC")] {
                let mut query =
                    store.conn().file().unwrap().prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
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
