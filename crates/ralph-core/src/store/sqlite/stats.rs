//! Sums over attempts, made by the database so that a million rows stay there.

use rusqlite::{Connection, Row, params};

use super::rows;
use crate::model::{CategorySums, Key, ModelSums, RetrySums, RunId, Stats, Sums, TaskId, TaskSums};
use crate::text;

/// The columns [`sums`] reads, over rows of `iteration_outcomes o`.
const SUMS: &str = "sum(o.counted), sum(o.counted AND o.outcome = 'done'), sum(o.cost_usd),
    sum(iif(o.counted, o.duration_ms, 0)), sum(o.counted AND o.cost_usd IS NULL),
    coalesce(max(o.cost_estimated), 0)";

/// Everything, of one run or of all.
pub(super) fn stats(conn: &Connection, run: Option<&RunId>) -> rusqlite::Result<Stats> {
    let run = run.map(RunId::as_str);
    Ok(Stats {
        total: conn
            .prepare_cached(&format!(
                "SELECT {SUMS} FROM iteration_outcomes o
                 WHERE (?1 IS NULL OR o.run_id = ?1) AND o.model <> 'none'"
            ))?
            .query_row(params![run], |row| sums(row, 0))?,
        models: models(conn, run)?,
        tasks: tasks(conn, run)?,
        categories: categories(conn, run)?,
        retries: retries(conn, run)?,
    })
}

/// [`SUMS`] from a column on; sums over nothing are NULL.
fn sums(row: &Row<'_>, column: usize) -> rusqlite::Result<Sums> {
    Ok(Sums {
        attempts: rows::count(row, column)?,
        done: rows::count(row, column + 1)?,
        cost_usd: row.get(column + 2)?,
        duration_ms: rows::count(row, column + 3)?,
        without_cost: rows::count(row, column + 4)?,
        cost_estimated: row.get(column + 5)?,
    })
}

fn models(conn: &Connection, run: Option<&str>) -> rusqlite::Result<Vec<ModelSums>> {
    conn.prepare_cached(&format!(
        "SELECT o.model, {SUMS} FROM iteration_outcomes o
         WHERE (?1 IS NULL OR o.run_id = ?1) AND o.model <> 'none' GROUP BY o.model ORDER BY 2 DESC, 1"
    ))?
    .query_map(params![run], |row| {
        Ok(ModelSums {
            model: row.get(0)?,
            sums: sums(row, 1)?,
        })
    })?
    .collect()
}

fn tasks(conn: &Connection, run: Option<&str>) -> rusqlite::Result<Vec<TaskSums>> {
    conn.prepare_cached(&format!(
        "SELECT t.id, t.key, t.title, t.status,
                (SELECT json_group_array(model) FROM (
                    SELECT m.model FROM iteration_outcomes m
                    WHERE m.task_id = t.id AND m.counted AND m.model <> 'none' AND (?1 IS NULL OR m.run_id = ?1)
                    GROUP BY m.model ORDER BY min(m.attempt_number))),
                {SUMS}
         FROM iteration_outcomes o JOIN tasks t ON t.id = o.task_id
         WHERE (?1 IS NULL OR o.run_id = ?1) AND o.model <> 'none'
         GROUP BY t.id ORDER BY coalesce(sum(o.cost_usd), 0) DESC, sum(o.counted) DESC, t.position"
    ))?
    .query_map(params![run], |row| {
        Ok(TaskSums {
            task_id: TaskId::from_stored(row.get::<_, String>(0)?),
            key: row.get::<_, Option<String>>(1)?.map(Key::from_stored),
            title: text::plain_line(&row.get::<_, String>(2)?, usize::MAX),
            status: rows::status(row, 3)?,
            models: rows::json_list(&row.get::<_, String>(4)?),
            sums: sums(row, 5)?,
        })
    })?
    .collect()
}

fn categories(conn: &Connection, run: Option<&str>) -> rusqlite::Result<Vec<CategorySums>> {
    conn.prepare_cached(
        "SELECT CASE WHEN coalesce(r.error_category, 'unknown') <> 'unknown' THEN r.error_category
                    ELSE coalesce(o.error_type, iif(o.outcome = 'no_sigil', 'no_sigil', 'unknown')) END,
                count(*), count(DISTINCT r.task_id)
         FROM failure_reports r JOIN iteration_outcomes o
             ON o.task_id = r.task_id AND o.attempt_number = r.attempt_number
         WHERE (?1 IS NULL OR o.run_id = ?1) AND o.model <> 'none' GROUP BY 1 ORDER BY 2 DESC, 1",
    )?
    .query_map(params![run], |row| {
        Ok(CategorySums {
            category: row.get(0)?,
            failures: row.get(1)?,
            tasks: row.get(2)?,
        })
    })?
    .collect()
}

fn retries(conn: &Connection, run: Option<&str>) -> rusqlite::Result<RetrySums> {
    let mut retries = RetrySums::default();
    // The attempt before may belong to another run: the comparison comes first, then the choice of run.
    let mut query = conn.prepare_cached(&format!(
        "SELECT CASE WHEN before IS NULL THEN 'first' WHEN before = model THEN 'same' ELSE 'other' END, {SUMS}
         FROM (SELECT *, lag(model) OVER (PARTITION BY task_id ORDER BY attempt_number) AS before
               FROM iteration_outcomes WHERE counted AND model <> 'none') o
         WHERE ?1 IS NULL OR o.run_id = ?1 GROUP BY 1"
    ))?;
    let mut found = query.query(params![run])?;
    while let Some(row) = found.next()? {
        let of = match row.get::<_, String>(0)?.as_str() {
            "first" => &mut retries.first,
            "same" => &mut retries.same_model,
            _ => &mut retries.other_model,
        };
        *of = sums(row, 1)?;
    }
    Ok(retries)
}
