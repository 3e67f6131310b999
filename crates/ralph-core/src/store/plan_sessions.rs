//! Planning sessions: what `ralph plan` asked agents for, recorded beside the attempts on tasks.

use serde::Serialize;

use super::sql::{Changes, Statements, bind, record};
use super::{Durability, Owner, Result, Store};
use crate::model::{AttemptCost, ErrorType, Outcome, RunId, Timestamp};

/// One session of `ralph plan`, as `ralph history --json` prints it beside attempts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PlanSession {
    pub goal: String,
    /// The round.
    pub attempt: u32,
    pub run_id: RunId,
    pub agent: String,
    pub model: String,
    pub started_at: Timestamp,
    pub duration_ms: u64,
    /// None while it goes on, or where Ralph died meanwhile.
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

record!(PlanSession {
    goal, attempt = "round", run_id, agent, model, started_at, duration_ms, outcome, error_type, message, cost_usd,
    cost_estimated, tokens_input, tokens_output, session_id, log_path,
} reads {});

impl Store {
    pub fn begin_plan_session(&mut self, session: &PlanSession, owner: &Owner) -> Result<i64> {
        self.write(Durability::Process, |tx| {
            let Owner { host, pid, pid_started } = owner;
            tx.insert_record("plan_sessions", session, bind! { host, pid, pid_started })?;
            Ok(tx.last_insert_rowid())
        })
    }

    /// Records how a session ended and what it cost.
    pub fn end_plan_session(&mut self, id: i64, session: &PlanSession, now: Timestamp) -> Result<()> {
        self.write(Durability::Power, |tx| {
            tx.update_record("plan_sessions", session, bind! { id: id })?;
            match session.cost_usd {
                Some(usd) => super::runs::spend(tx, now, AttemptCost::new(usd, session.cost_estimated)),
                None => Ok(()),
            }
        })
    }

    /// Records what the check of its plan found.
    pub fn judge_plan_session(&mut self, id: i64, outcome: Outcome, message: Option<&str>) -> Result<()> {
        let sql = "UPDATE plan_sessions SET outcome = :outcome, message = :message WHERE id = :id";
        self.change(Durability::Process, sql, bind! { id, outcome, message })
    }

    /// All of them, oldest first.
    pub fn plan_sessions(&self) -> Result<Vec<PlanSession>> {
        self.all("SELECT * FROM plan_sessions ORDER BY id", [])
    }
}
