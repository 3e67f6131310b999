//! Sums over attempts, made by the database so that a million rows stay there.

use rusqlite::Connection;

use super::sql::{Row, Statements};
use super::{Result, Store};
use crate::model::{CategorySums, ModelSums, RetrySums, RunId, Stats, Sums, TaskSums};

/// The columns [`sums`] reads, over rows of `iteration_outcomes o`.
const SUMS: &str = "sum(o.counted) AS attempts, sum(o.counted AND o.outcome = 'done') AS done,
    sum(o.cost_usd) AS cost, sum(iif(o.counted, o.duration_ms, 0)) AS duration,
    sum(o.counted AND o.cost_usd IS NULL) AS without_cost,
    coalesce(max(o.cost_estimated), 0) AS estimated";

/// Attempts by agents, of the run `?1` or of all.
const WANTED: &str = "(?1 IS NULL OR o.run_id = ?1) AND o.model <> 'none'";

impl Store {
    /// Sums over attempts, of one run or of all.
    pub fn stats(&self, run: Option<&RunId>) -> Result<Stats> {
        self.read_once(|conn| {
            let total = format!("SELECT {SUMS} FROM iteration_outcomes o WHERE {WANTED}");
            Ok(Stats {
                total: conn.one(&total, [run], sums)?,
                models: models(conn, run)?,
                tasks: tasks(conn, run)?,
                categories: categories(conn, run)?,
                retries: retries(conn, run)?,
            })
        })
    }
}

/// Sums over nothing are NULL.
fn sums(row: &Row<'_>) -> rusqlite::Result<Sums> {
    Ok(Sums {
        attempts: row.count("attempts")?,
        done: row.count("done")?,
        cost_usd: row.get("cost")?,
        duration_ms: row.count("duration")?,
        without_cost: row.count("without_cost")?,
        cost_estimated: row.get("estimated")?,
    })
}

fn models(conn: &Connection, run: Option<&RunId>) -> Result<Vec<ModelSums>> {
    let sql = format!(
        "SELECT o.model, {SUMS} FROM iteration_outcomes o WHERE {WANTED}
         GROUP BY o.model HAVING attempts > 0 OR sum(o.cost_usd) > 0 ORDER BY attempts DESC, o.model"
    );
    conn.all(&sql, [run], |row| Ok(ModelSums { model: row.get("model")?, sums: sums(row)? }))
}

fn tasks(conn: &Connection, run: Option<&RunId>) -> Result<Vec<TaskSums>> {
    let sql = format!(
        "SELECT t.id, t.key, t.title, t.status,
                (SELECT json_group_array(model) FROM (
                    SELECT m.model FROM iteration_outcomes m WHERE m.task_id = t.id AND m.counted
                        AND m.model <> 'none' AND (?1 IS NULL OR m.run_id = ?1)
                    GROUP BY m.model ORDER BY min(m.attempt_number))) AS models,
                {SUMS}
         FROM iteration_outcomes o JOIN tasks t ON t.id = o.task_id WHERE {WANTED}
         GROUP BY t.id HAVING attempts > 0 OR sum(o.cost_usd) > 0
         ORDER BY coalesce(sum(o.cost_usd), 0) DESC, attempts DESC, t.position"
    );
    conn.all(&sql, [run], |row| {
        Ok(TaskSums {
            task_id: row.get("id")?,
            key: row.get("key")?,
            title: row.line("title")?,
            status: row.get("status")?,
            models: row.json("models")?,
            sums: sums(row)?,
        })
    })
}

fn categories(conn: &Connection, run: Option<&RunId>) -> Result<Vec<CategorySums>> {
    let sql = format!(
        "SELECT CASE WHEN coalesce(r.error_category, 'unknown') <> 'unknown' THEN r.error_category
                    ELSE coalesce(o.error_type, iif(o.outcome = 'no_sigil', 'no_sigil', 'unknown'))
                    END AS category,
                count(*) AS failures, count(DISTINCT r.task_id) AS tasks
         FROM failure_reports r JOIN iteration_outcomes o
             ON o.task_id = r.task_id AND o.attempt_number = r.attempt_number
         WHERE {WANTED} GROUP BY category ORDER BY failures DESC, category"
    );
    conn.all(&sql, [run], |row| {
        Ok(CategorySums {
            category: row.get("category")?,
            failures: row.get("failures")?,
            tasks: row.get("tasks")?,
        })
    })
}

fn retries(conn: &Connection, run: Option<&RunId>) -> Result<RetrySums> {
    // The attempt before may belong to another run: the comparison comes first, then the choice of run.
    let sql = format!(
        "SELECT CASE WHEN before IS NULL THEN 'first' WHEN before = model THEN 'same'
                     ELSE 'other' END AS kind, {SUMS}
         FROM (SELECT *, lag(model) OVER (PARTITION BY task_id ORDER BY attempt_number) AS before
               FROM iteration_outcomes WHERE counted AND model <> 'none') o
         WHERE {WANTED} GROUP BY kind"
    );
    let found: Vec<(String, Sums)> = conn.all(&sql, [run], |row| Ok((row.get("kind")?, sums(row)?)))?;
    let mut retries = RetrySums::default();
    for (kind, sums) in found {
        match kind.as_str() {
            "first" => retries.first = sums,
            "same" => retries.same_model = sums,
            _ => retries.other_model = sums,
        }
    }
    Ok(retries)
}
