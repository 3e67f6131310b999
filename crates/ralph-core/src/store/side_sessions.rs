//! Sessions of agents that are no attempts: what `ralph plan` asked, and reviews. Recorded beside the attempts on tasks.

use serde::Serialize;

use super::sql::{Changes, Statements, bind, record};
use super::{Durability, Owner, Result, Store};
use crate::model::{AttemptCost, ErrorType, Outcome, RunId, TaskId, Timestamp, names};

names! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SessionKind {
        #[default]
        Plan => "plan",
        /// Of an attempt's work.
        Review => "review",
    }
}

/// One session, as `ralph history --json` prints it beside attempts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SideSession {
    pub kind: SessionKind,
    /// The goal of the plan, or the title of the task whose work is reviewed.
    pub goal: String,
    /// Whose work is reviewed.
    pub task_id: Option<TaskId>,
    /// The round of planning, or the task's attempt that is reviewed.
    pub attempt: u32,
    pub run_id: RunId,
    pub agent: String,
    pub model: String,
    pub started_at: Timestamp,
    pub duration_ms: u64,
    /// None while it goes on, or where Ralph died meanwhile. A review that rejects the work has `failed`.
    pub outcome: Option<Outcome>,
    pub error_type: Option<ErrorType>,
    pub message: Option<String>,
    pub cost_usd: Option<f64>,
    pub cost_estimated: bool,
    pub tokens_input: Option<u64>,
    pub tokens_output: Option<u64>,
    pub session_id: Option<String>,
    pub log_path: Option<String>,
}

record!(SideSession {
    kind, goal, task_id, attempt = "round", run_id, agent, model, started_at, duration_ms, outcome, error_type, message,
    cost_usd, cost_estimated, tokens_input, tokens_output, session_id, log_path,
} reads {});

impl Store {
    pub fn begin_side_session(&mut self, session: &SideSession, owner: &Owner) -> Result<i64> {
        self.write(Durability::Process, |tx| {
            let Owner { host, pid, pid_started } = owner;
            tx.insert_numbered_record("side_sessions", "id", session, bind! { host, pid, pid_started })
        })
    }

    /// Records how a session ended and what it cost. What a review costs is part of what its run costs.
    pub fn end_side_session(&mut self, id: i64, session: &SideSession, now: Timestamp) -> Result<()> {
        self.write(Durability::Power, |tx| {
            tx.update_record("side_sessions", session, bind! { id: id })?;
            if session.kind == SessionKind::Review {
                let started = session.error_type != Some(ErrorType::Spawn);
                let (cost, estimated) = (session.cost_usd.unwrap_or(0.0), session.cost_estimated);
                let unknown = started && session.cost_usd.is_none();
                let add = "SET cost_usd = cost_usd + :cost, cost_unknown = cost_unknown + :unknown,
                     cost_estimated = cost_estimated + :estimated";
                tx.change(&format!("UPDATE totals {add}"), bind! { cost, unknown, estimated })?;
                let run = &session.run_id;
                let sql = format!("UPDATE runs {add} WHERE id = :run");
                tx.change(&sql, bind! { cost, unknown, estimated, run })?;
            }
            match session.cost_usd {
                Some(usd) => super::runs::spend(tx, now, AttemptCost::new(usd, session.cost_estimated)),
                None => Ok(()),
            }
        })
    }

    /// Records what its answer came to.
    pub fn judge_side_session(&mut self, id: i64, outcome: Outcome, message: Option<&str>) -> Result<()> {
        let sql = "UPDATE side_sessions SET outcome = :outcome, message = :message WHERE id = :id";
        self.change(Durability::Process, sql, bind! { id, outcome, message })
    }

    /// All of them, oldest first; those of one task where it is given.
    pub fn side_sessions(&self, task: Option<&TaskId>) -> Result<Vec<SideSession>> {
        self.all(
            "SELECT * FROM side_sessions WHERE CAST(?1 AS TEXT) IS NULL OR task_id = ?1 ORDER BY id",
            [task],
        )
    }
}
