//! Sums over attempts, made by the database so that a million rows stay there.

use super::sql::{Connection, Statements, line, record};
use super::{Result, Store};
use crate::model::{CategorySums, FlakySums, ModelSums, RetrySums, ReviewSums, RunId, Stats, Sums, TaskSums};

/// The columns of [`Sums`], over rows of `iteration_outcomes o`.
const SUMS: &str = "sum(o.counted) AS attempts, sum(o.counted = 1 AND o.outcome = 'done') AS done,
    sum(o.cost_usd) AS cost_usd, sum(CASE WHEN o.counted = 1 THEN o.duration_ms ELSE 0 END) AS duration_ms,
    sum(o.counted = 1 AND o.cost_usd IS NULL) AS without_cost, max(o.cost_estimated) AS cost_estimated";

/// Attempts by agents, of the run `?1` or of all.
const WANTED: &str = "(CAST(?1 AS TEXT) IS NULL OR o.run_id = ?1) AND o.model <> 'none'";

record!(Sums { attempts, done, cost_usd, duration_ms, without_cost, cost_estimated });
record!(ModelSums { model, sums });
record!(TaskSums { task_id = "id", key, spec, name, title via line, status, models, sums });
record!(CategorySums { category, failures, tasks });
record!(FlakySums { name, gate, flaky, runs });
record!(ReviewSums {
    agent,
    model,
    reviews,
    accepted,
    rejected,
    cost_usd,
    cost_estimated,
    without_cost,
    duration_ms,
});

impl Store {
    pub fn stats(&self, run: Option<&RunId>) -> Result<Stats> {
        let models = format!(
            "SELECT o.model, {SUMS} FROM iteration_outcomes o WHERE {WANTED}
             GROUP BY o.model HAVING sum(o.counted) > 0 OR sum(o.cost_usd) > 0 ORDER BY attempts DESC, o.model"
        );
        let tasks = format!(
            "SELECT t.id, t.key, t.spec, t.name, t.title, t.status,
                    (SELECT json_group_array(model) FROM (
                        SELECT m.model FROM iteration_outcomes m WHERE m.task_id = t.id AND m.counted = 1
                            AND m.model <> 'none' AND (CAST(?1 AS TEXT) IS NULL OR m.run_id = ?1)
                        GROUP BY m.model ORDER BY min(m.attempt_number)) AS used) AS models,
                    {SUMS}
             FROM iteration_outcomes o JOIN tasks t ON t.id = o.task_id WHERE {WANTED}
             GROUP BY t.id HAVING sum(o.counted) > 0 OR sum(o.cost_usd) > 0
             ORDER BY coalesce(sum(o.cost_usd), 0) DESC, attempts DESC, t.position"
        );
        let categories = format!(
            "SELECT CASE WHEN coalesce(r.error_category, 'unknown') <> 'unknown' THEN r.error_category
                        ELSE coalesce(o.error_type, CASE WHEN o.outcome = 'no_sigil' THEN 'no_sigil' ELSE 'unknown' END)
                        END AS category,
                    count(*) AS failures, count(DISTINCT r.task_id) AS tasks
             FROM failure_reports r JOIN iteration_outcomes o
                 ON o.task_id = r.task_id AND o.attempt_number = r.attempt_number
             WHERE {WANTED} GROUP BY category ORDER BY failures DESC, category"
        );
        // Old rows, and rows that another program wrote, may hold no JSON.
        let runs =
            "WITH runs (command, flaky, tests) AS (
                 SELECT g.value ->> '$.command',
                     CASE WHEN CAST(g.value ->> '$.flaky' AS TEXT) IN ('1', 'true') THEN 1 ELSE 0 END, coalesce(g.value -> '$.flaky_tests', '[]')
                 FROM iteration_outcomes o, json_each(o.verification, '$.gates') g
                 WHERE (CAST(?1 AS TEXT) IS NULL OR o.run_id = ?1) AND json_valid(o.verification)),
             sums (command, runs) AS (SELECT command, count(*) FROM runs GROUP BY command) ";
        let flaky_gates = format!(
            "{runs} SELECT r.command AS name, r.command AS gate, sum(r.flaky) AS flaky, s.runs
             FROM runs r JOIN sums s ON s.command = r.command
             GROUP BY r.command, s.runs HAVING sum(r.flaky) > 0 ORDER BY flaky DESC, name"
        );
        let flaky_tests = format!(
            "{runs} SELECT t.value AS name, r.command AS gate, count(*) AS flaky, s.runs
             FROM runs r JOIN sums s ON s.command = r.command, json_each(r.tests) t
             GROUP BY t.value, r.command, s.runs ORDER BY flaky DESC, name"
        );
        let reviews = "SELECT agent, model, count(*) AS reviews, sum(outcome = 'done') AS accepted,
                 sum(outcome = 'failed') AS rejected, sum(cost_usd) AS cost_usd, max(cost_estimated) AS cost_estimated,
                 sum(cost_usd IS NULL) AS without_cost, sum(duration_ms) AS duration_ms
             FROM side_sessions WHERE kind = 'review' AND outcome IS NOT NULL AND (CAST(?1 AS TEXT) IS NULL OR run_id = ?1)
             GROUP BY agent, model ORDER BY reviews DESC, agent, model";
        self.read_once(|conn| {
            Ok(Stats {
                total: conn.one(&format!("SELECT {SUMS} FROM iteration_outcomes o WHERE {WANTED}"), [run])?,
                models: conn.all(&models, [run])?,
                tasks: conn.all(&tasks, [run])?,
                categories: conn.all(&categories, [run])?,
                retries: retry_sums(conn, run)?,
                flaky_gates: conn.all(&flaky_gates, [run])?,
                flaky_tests: conn.all(&flaky_tests, [run])?,
                reviews: conn.all(reviews, [run])?,
            })
        })
    }

    /// What first attempts, retries and changes of model brought.
    pub fn retry_sums(&self, run: Option<&RunId>) -> Result<RetrySums> {
        self.read(|conn| retry_sums(conn, run))
    }
}

/// The attempt before may belong to another run: the comparison comes first, then the choice of run. A task that was done and is
/// done again begins anew.
fn retry_sums(conn: &Connection, run: Option<&RunId>) -> Result<RetrySums> {
    let of_run = match run {
        Some(_) => "task_id IN (SELECT task_id FROM iteration_outcomes WHERE run_id = ?1)",
        None => "CAST(?1 AS TEXT) IS NULL",
    };
    let sql = format!(
        "SELECT CASE WHEN before IS NULL OR after_done THEN 'first' WHEN before = model THEN 'same'
                     ELSE 'other' END AS kind, {SUMS}
         FROM (SELECT run_id, model, counted, outcome, cost_usd, cost_estimated, duration_ms,
                   lag(model) OVER past AS before, lag(outcome) OVER past IS NOT DISTINCT FROM 'done' AS after_done
               FROM iteration_outcomes WHERE counted = 1 AND model <> 'none' AND {of_run}
               WINDOW past AS (PARTITION BY task_id ORDER BY attempt_number)) o
         WHERE {WANTED} GROUP BY kind"
    );
    let mut retries = RetrySums::default();
    for (kind, sums) in conn.all::<(String, Sums), Vec<_>>(&sql, [run])? {
        match kind.as_str() {
            "first" => retries.first = sums,
            "same" => retries.same_model = sums,
            _ => retries.other_model = sums,
        }
    }
    let after_note = format!(
        "SELECT {SUMS} FROM notes n JOIN iteration_outcomes o ON o.task_id = n.task_id AND o.attempt_number = n.shown_in
         WHERE o.counted = 1 AND {WANTED} AND n.id = (
             SELECT min(id) FROM notes f WHERE f.task_id = n.task_id AND f.shown_in = n.shown_in)"
    );
    // Only read, a database may be of a version without notes.
    if conn.has_table("notes")? {
        retries.after_note = conn.one(&after_note, [run])?;
    }
    Ok(retries)
}
