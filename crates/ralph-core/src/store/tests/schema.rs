//! The columns that the contract names, as the database itself describes them.

use std::collections::HashMap;

use rusqlite::Connection;

use super::Fixture;
use crate::store::sql::Changes;

/// `NOT NULL`, default and place in the primary key of each column.
fn columns(conn: &Connection, table: &str) -> HashMap<String, (bool, Option<String>, i64)> {
    conn.prepare(&format!("PRAGMA table_info({table})"))
        .unwrap()
        .query_map([], |row| Ok((row.get(1)?, (row.get(3)?, row.get(4)?, row.get(5)?))))
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

fn check(table: &str, key: &[&str], required: &[&str], optional: &[&str]) {
    let f = Fixture::new();
    let columns = columns(f.store.conn().file().unwrap(), table);
    let place = |name: &str| columns.get(name).map(|(_, _, place)| *place);
    for (n, name) in key.iter().enumerate() {
        assert_eq!(place(name), Some(n as i64 + 1), "{table}.{name}");
    }
    for name in required {
        assert!(columns.get(*name).is_some_and(|(not_null, ..)| *not_null), "{table}.{name}");
    }
    for name in optional {
        assert!(columns.get(*name).is_some_and(|(not_null, ..)| !not_null), "{table}.{name}");
    }
}

/// A table that belongs to tasks and is forgotten here would not come back with a deleted task.
#[test]
fn undo_knows_every_table_that_belongs_to_tasks() {
    use crate::store::undo::rows::{NOT_NOTED, TABLES};
    let f = Fixture::new();
    let sql = "SELECT DISTINCT t.name FROM sqlite_master t, pragma_foreign_key_list(t.name) k
         WHERE t.type = 'table' AND k.\"table\" = 'tasks'";
    let mut statement = f.store.conn().file().unwrap().prepare(sql).unwrap();
    let of_tasks: Vec<String> =
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let known = |name: &str| TABLES.iter().any(|table| table.name == name) || NOT_NOTED.contains(&name);
    let unknown: Vec<_> = of_tasks.iter().filter(|name| !known(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(of_tasks.len() > 20, "{of_tasks:?}");
}

#[test]
fn sch_02_the_columns_of_iteration_outcomes() {
    check(
        "iteration_outcomes",
        &["task_id", "attempt_number"],
        &["task_id", "attempt_number", "model", "started_at", "duration_ms", "outcome"],
        &["tokens_input", "tokens_output", "error_type"],
    );
}

#[test]
fn sch_04_the_columns_of_failure_reports() {
    check(
        "failure_reports",
        &["task_id", "attempt_number"],
        &["task_id", "attempt_number", "what_was_tried", "why_it_failed", "created_at"],
        &["error_category", "relevant_files", "stack_trace_snippet", "retry_suggestion"],
    );
}

#[test]
fn sch_05_the_columns_of_learnings() {
    check(
        "learnings",
        &["id"],
        &["category", "content", "relevance_tags", "created_at"],
        &["task_id", "pruned_at", "superseded_by"],
    );
}

#[test]
fn sch_06_the_columns_of_strategy_metrics() {
    let counters = ["total_attempts", "consecutive_failures", "stuck_flag"];
    check(
        "strategy_metrics",
        &["task_id"],
        &counters,
        &["last_attempt_at", "last_success_at", "difficulty_estimate", "suggested_model"],
    );
    let f = Fixture::new();
    let columns = columns(f.store.conn().file().unwrap(), "strategy_metrics");
    for name in counters {
        assert_eq!(columns[name].1.as_deref(), Some("0"), "{name}");
    }
}

#[test]
fn sch_10_the_further_columns_of_attempts_reports_learnings_and_runs() {
    let f = Fixture::new();
    for (table, names) in [
        (
            "iteration_outcomes",
            "run_id iteration cost_usd tokens_cache_read tokens_cache_write session_id rationale \
             fingerprint_coarse fingerprint_fine commit_before commit_after files_changed gate_output log_path",
        ),
        ("failure_reports", "excerpt auto"),
        ("learnings", "shown helpful harmful last_used_at pinned source"),
        ("runs", "id started_at ended_at outcome settings"),
    ] {
        let columns = columns(f.store.conn().file().unwrap(), table);
        for name in names.split_whitespace() {
            assert!(columns.contains_key(name), "{table}.{name}");
        }
    }
}

#[test]
fn sch_02_an_attempt_can_be_added_with_the_columns_of_the_contract_alone() {
    let mut f = Fixture::new();
    let id = f.task("a", &[]);
    for number in [1, 2] {
        f.store
            .conn()
            .changed(
                "INSERT INTO iteration_outcomes (task_id, attempt_number, model, started_at, duration_ms, outcome)
                 VALUES (?1, ?2, 'm', '2026-01-01T00:00:00Z', 1, 'failed')",
                rusqlite::params![id.as_str(), number],
            )
            .unwrap();
    }
    let attempts = f.store.history(Some(&id)).unwrap();
    let seen: Vec<_> = attempts.iter().map(|a| (a.attempt, a.counted)).collect();
    assert_eq!(seen, [(1, true), (2, true)]);
}

#[test]
fn counting_tasks_and_reading_events_scan_no_large_table() {
    let f = Fixture::new();
    for (sql, large) in [
        ("SELECT status, n, verified FROM task_counts", "SCAN t"),
        (
            "SELECT * FROM run_events WHERE id > 1 AND id < 9 AND run_id = 'r-1' ORDER BY id",
            "SCAN run_events",
        ),
    ] {
        let mut query = f.store.conn().file().unwrap().prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = query.query_map([], |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        assert!(!steps.iter().any(|step| step == large), "{steps:?}");
    }
}
