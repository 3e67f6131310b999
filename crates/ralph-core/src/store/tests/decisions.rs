//! The numbers behind plots, against sums made by hand.

use super::Fixture;
use crate::model::{Key, NewTask, RunId, Timestamp};
use crate::store::DELETED_TASKS;

/// One run: a is verified, reset and verified again; b fails, then is verified after a review; c fails at the end.
fn history() -> Fixture {
    let mut f = Fixture::new();
    f.start_run("r-1");
    for title in ["a", "b", "c"] {
        f.add(NewTask { title: title.into(), key: Some(Key::from_stored(title)), ..NewTask::default() })
            .unwrap();
    }
    let rows = [
        // task, number, start (seconds), duration, outcome, gate, cost, model, agent, error
        ("a", 1, 0, 10, "done", "'passed'", "0.10", "small", "'x'", "NULL"),
        ("b", 1, 20, 10, "failed", "'failed'", "0.20", "small", "'x'", "NULL"),
        ("b", 2, 40, 20, "done", "'passed'", "0.40", "big", "'x'", "NULL"),
        ("a", 2, 70, 10, "done", "'passed'", "0.05", "small", "'x'", "NULL"),
        ("c", 1, 90, 10, "failed", "NULL", "NULL", "big", "'x'", "NULL"),
        ("c", 2, 110, 10, "error", "NULL", "NULL", "big", "'x'", "'spawn'"),
    ];
    for (task, number, at, seconds, outcome, gate, cost, model, agent, error) in rows {
        let (counted, at) = (u8::from(error == "NULL"), Timestamp::from_secs(1_700_000_000 + at));
        let sql = format!(
            "INSERT INTO iteration_outcomes (task_id, attempt_number, ordinal, counted, run_id, agent, model, started_at,
                 duration_ms, outcome, gate_outcome, cost_usd, error_type)
             SELECT id, {number}, {number}, {counted}, 'r-1', {agent}, '{model}',
                 '{at}', {seconds}000, '{outcome}', {gate}, {cost},
                 {error}
             FROM tasks WHERE title = '{task}'"
        );
        f.store.conn().execute_batch(&sql).unwrap();
    }
    f.store
        .conn()
        .execute_batch(
            "INSERT INTO side_sessions (kind, goal, round, run_id, agent, model, started_at, duration_ms, outcome, cost_usd, cost_estimated,
                 host, pid, pid_started)
             VALUES ('review', 'b', 2, 'r-1', 'y', 'critic', '2023-11-14T22:14:10Z', 5000,
                 'done', 0.25, 0, 'h', 1, 's');
             UPDATE runs SET cost_usd = 1.30, cost_unknown = 1 WHERE id = 'r-1'",
        )
        .unwrap();
    f
}

#[test]
fn the_cost_of_verified_tasks_counts_each_task_once_and_everything_that_was_spent() {
    let f = history();
    for run in [None, Some(RunId::from_stored("r-1"))] {
        let points = f.store.verified_points(run.as_ref()).unwrap();
        let rounded = |usd: Option<f64>| (usd.unwrap() * 100.0).round() / 100.0;
        let seen: Vec<_> = points
            .iter()
            .map(|point| {
                let at = point.at.as_millis() / 1000 - 1_700_000_000;
                (at, point.name.clone(), point.verified, rounded(point.spent_usd), point.without_cost)
            })
            .collect();
        let key = |task: &str| f.store.task(task).map(|task| Some(task.name)).unwrap();
        // The end of the last session: one attempt told no cost, and one was never started.
        assert_eq!(seen, [(60, key("b"), 1, 0.95, 0), (80, key("a"), 2, 1.0, 0), (120, None, 2, 1.0, 1)]);
    }
}

#[test]
fn spending_by_model_has_reviews_and_what_deleted_tasks_cost() {
    let f = history();
    let run = RunId::from_stored("r-1");
    let spend = f.store.model_spend(Some(&run)).unwrap();
    let seen: Vec<_> = spend
        .iter()
        .map(|of| {
            let usd = of.cost_usd.map(|usd| (usd * 100.0).round() / 100.0);
            (of.model.as_str(), usd, of.attempts, of.verified, of.without_cost)
        })
        .collect();
    let expected = [
        ("big", Some(0.4), 2, 1, 1),
        ("small", Some(0.35), 3, 2, 0),
        ("critic", Some(0.25), 0, 0, 0),
        (DELETED_TASKS, Some(0.3), 0, 0, 0),
    ];
    assert_eq!(seen, expected);
    let retries = f.store.stats(Some(&run)).unwrap().retries;
    let sums =
        [retries.first, retries.same_model, retries.other_model].map(|sums| (sums.attempts, sums.done));
    assert_eq!(sums, [(4, 2), (0, 0), (1, 1)], "a is done anew after its reset");
}

#[test]
fn a_replay_takes_the_newest_outcomes_oldest_first() {
    let f = history();
    let outcomes = |most| -> Vec<_> {
        let rows = f.store.outcomes_of("x", most).unwrap();
        rows.into_iter().map(|row| (row.model, row.done, row.cost_usd)).collect()
    };
    let all = outcomes(usize::MAX);
    assert_eq!(all.len(), 5, "the attempt that was never started does not count");
    assert_eq!(all[0], ("small".to_owned(), true, Some(0.10)));
    assert_eq!(outcomes(2), all[3..]);
}
