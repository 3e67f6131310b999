//! Sums over attempts, made by the database so that a million rows stay there.

use super::sql::{Statements, line, record};
use super::{Result, Store};
use crate::model::{CategorySums, FlakySums, ModelSums, RetrySums, ReviewSums, RunId, Stats, Sums, TaskSums};

/// The columns of [`Sums`], over rows of `iteration_outcomes o`.
const SUMS: &str = "sum(o.counted) AS attempts, sum(o.counted AND o.outcome = 'done') AS done,
    sum(o.cost_usd) AS cost_usd, sum(iif(o.counted, o.duration_ms, 0)) AS duration_ms,
    sum(o.counted AND o.cost_usd IS NULL) AS without_cost, max(o.cost_estimated) AS cost_estimated";

/// Attempts by agents, of the run `?1` or of all.
const WANTED: &str = "(?1 IS NULL OR o.run_id = ?1) AND o.model <> 'none'";

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
             GROUP BY o.model HAVING attempts > 0 OR sum(o.cost_usd) > 0 ORDER BY attempts DESC, o.model"
        );
        let tasks = format!(
            "SELECT t.id, t.key, t.spec, t.name, t.title, t.status,
                    (SELECT json_group_array(model) FROM (
                        SELECT m.model FROM iteration_outcomes m WHERE m.task_id = t.id AND m.counted
                            AND m.model <> 'none' AND (?1 IS NULL OR m.run_id = ?1)
                        GROUP BY m.model ORDER BY min(m.attempt_number))) AS models,
                    {SUMS}
             FROM iteration_outcomes o JOIN tasks t ON t.id = o.task_id WHERE {WANTED}
             GROUP BY t.id HAVING attempts > 0 OR sum(o.cost_usd) > 0
             ORDER BY coalesce(sum(o.cost_usd), 0) DESC, attempts DESC, t.position"
        );
        let categories = format!(
            "SELECT CASE WHEN coalesce(r.error_category, 'unknown') <> 'unknown' THEN r.error_category
                        ELSE coalesce(o.error_type, iif(o.outcome = 'no_sigil', 'no_sigil', 'unknown'))
                        END AS category,
                    count(*) AS failures, count(DISTINCT r.task_id) AS tasks
             FROM failure_reports r JOIN iteration_outcomes o
                 ON o.task_id = r.task_id AND o.attempt_number = r.attempt_number
             WHERE {WANTED} GROUP BY category ORDER BY failures DESC, category"
        );
        // The attempt before may belong to another run: the comparison comes first, then the choice of run. A task that was
        // done and is done again begins anew.
        let retries = format!(
            "SELECT CASE WHEN before IS NULL OR after_done THEN 'first' WHEN before = model THEN 'same'
                         ELSE 'other' END AS kind, {SUMS}
             FROM (SELECT *, lag(model) OVER past AS before, lag(outcome) OVER past IS 'done' AS after_done
                   FROM iteration_outcomes WHERE counted AND model <> 'none'
                   WINDOW past AS (PARTITION BY task_id ORDER BY attempt_number)) o
             WHERE {WANTED} GROUP BY kind"
        );
        // Old rows, and rows that another program wrote, may hold no JSON.
        let runs =
            "WITH runs (command, flaky, tests) AS (
                 SELECT g.value ->> '$.command', coalesce(g.value ->> '$.flaky', 0), coalesce(g.value -> '$.flaky_tests', '[]')
                 FROM iteration_outcomes o, json_each(o.verification, '$.gates') g
                 WHERE (?1 IS NULL OR o.run_id = ?1) AND json_valid(o.verification)),
             sums (command, runs) AS (SELECT command, count(*) FROM runs GROUP BY command) ";
        let flaky_gates = format!(
            "{runs} SELECT r.command AS name, r.command AS gate, sum(r.flaky) AS flaky, s.runs
             FROM runs r JOIN sums s ON s.command = r.command
             GROUP BY r.command HAVING sum(r.flaky) > 0 ORDER BY flaky DESC, name"
        );
        let flaky_tests = format!(
            "{runs} SELECT t.value AS name, r.command AS gate, count(*) AS flaky, s.runs
             FROM runs r JOIN sums s ON s.command = r.command, json_each(r.tests) t
             GROUP BY name, gate ORDER BY flaky DESC, name"
        );
        let reviews = "SELECT agent, model, count(*) AS reviews, sum(outcome = 'done') AS accepted,
                 sum(outcome = 'failed') AS rejected, sum(cost_usd) AS cost_usd, max(cost_estimated) AS cost_estimated,
                 sum(cost_usd IS NULL) AS without_cost, sum(duration_ms) AS duration_ms
             FROM side_sessions WHERE kind = 'review' AND outcome IS NOT NULL AND (?1 IS NULL OR run_id = ?1)
             GROUP BY agent, model ORDER BY reviews DESC, agent, model";
        self.read_once(|conn| {
            let mut stats = Stats {
                total: conn.one(&format!("SELECT {SUMS} FROM iteration_outcomes o WHERE {WANTED}"), [run])?,
                models: conn.all(&models, [run])?,
                tasks: conn.all(&tasks, [run])?,
                categories: conn.all(&categories, [run])?,
                retries: RetrySums::default(),
                flaky_gates: conn.all(&flaky_gates, [run])?,
                flaky_tests: conn.all(&flaky_tests, [run])?,
                reviews: conn.all(reviews, [run])?,
            };
            for (kind, sums) in conn.all::<(String, Sums), Vec<_>>(&retries, [run])? {
                match kind.as_str() {
                    "first" => stats.retries.first = sums,
                    "same" => stats.retries.same_model = sums,
                    _ => stats.retries.other_model = sums,
                }
            }
            Ok(stats)
        })
    }
}
