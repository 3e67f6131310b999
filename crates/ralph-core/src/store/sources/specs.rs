//! Specs: the names of plan files, and which tasks show them with their keys.

use super::SourceFile;
use crate::plan::spec_names;
use crate::store::Result;
use crate::store::sql::{Changes, Connection, Statements, bind, record};

/// Where a key is unique: within a file, or among the tasks that came from none.
#[derive(Clone, Debug, Default)]
pub(in crate::store) struct KeySpace {
    pub source_id: Option<i64>,
    pub spec: Option<String>,
    pub spec_shown: bool,
}

record!(KeySpace { source_id, spec, spec_shown });

impl KeySpace {
    pub(in crate::store) fn of(conn: &Connection, source: Option<i64>) -> Result<Self> {
        let sql = "SELECT id AS source_id, spec, (SELECT count(*) FROM sources o WHERE o.id = s.id
                 OR EXISTS (SELECT 1 FROM tasks t WHERE t.source_id = o.id)) > 1 AS spec_shown
             FROM sources s WHERE id = ?1";
        match source {
            Some(source) => conn.one(sql, [source]),
            None => Ok(Self::default()),
        }
    }
}

/// Gives every file its name: a new file may make others' names longer.
pub(in crate::store) fn name_specs(conn: &Connection) -> Result<()> {
    let sources: Vec<SourceFile> = conn.all("SELECT * FROM sources ORDER BY id", [])?;
    let named: Vec<(i64, String)> = conn.all("SELECT id, spec FROM sources ORDER BY id", [])?;
    let files = sources.iter().map(|source| (source.path.as_str(), source.format.as_str()));
    for ((id, before), spec) in named.iter().zip(&spec_names(files)) {
        if before != spec {
            conn.change("UPDATE sources SET spec = :spec WHERE id = :id", bind! { id, spec })?;
            conn.change("UPDATE tasks SET spec = :spec WHERE source_id = :id", bind! { id, spec })?;
        }
    }
    show_specs(conn)
}

/// Settles which tasks show their spec: all that have one where there are several, and those whose key another task has.
pub(in crate::store) fn show_specs(conn: &Connection) -> Result<()> {
    let sql =
        "SELECT count(*) > 1 FROM sources s WHERE EXISTS (SELECT 1 FROM tasks t WHERE t.source_id = s.id)";
    let several: bool = conn.one(sql, [])?;
    conn.change(
        "UPDATE tasks SET spec_shown = 1 - spec_shown
         WHERE spec_shown <> CASE WHEN :several = 1 AND source_id IS NOT NULL
             OR EXISTS (SELECT 1 FROM tasks o WHERE o.key = tasks.key AND o.id <> tasks.id) THEN 1 ELSE 0 END",
        bind! { several },
    )
}
