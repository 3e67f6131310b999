//! What gates said before any work: of a task, and of a commit with nothing changed on it.

use std::time::Duration;

use super::sql::{Changes, Json, Statements, bind};
use super::{Durability, Result, Store};
use crate::model::{BaselineRun, TaskId, Timestamp};

/// How long a result is reused for the same commit: what a gate needs besides the repository changes in time.
const REUSED_FOR: Duration = Duration::from_secs(7 * 24 * 3600);

/// A commit that is checked out in a working tree with nothing changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanCommit {
    pub commit: String,
    pub place: String,
}

impl Store {
    pub fn task_baseline(&self, task: &TaskId, command: &str) -> Result<Option<BaselineRun>> {
        let sql = "SELECT result FROM task_baselines WHERE task_id = :task AND command = :command";
        self.first(sql, bind! { task, command })
    }

    pub fn knows_baselines(&self) -> Result<bool> {
        self.has("SELECT 1 FROM task_baselines UNION ALL SELECT 1 FROM gate_baselines LIMIT 1", [])
    }

    pub fn commit_baseline(
        &self,
        at: &CleanCommit,
        command: &str,
        now: Timestamp,
    ) -> Result<Option<BaselineRun>> {
        let sql = "SELECT result FROM gate_baselines
             WHERE command = :command AND commit_id = :commit AND place = :place AND ran_at > :oldest";
        let (commit, place, oldest) = (&at.commit, &at.place, now.minus(REUSED_FOR));
        self.first(sql, bind! { command, commit, place, oldest })
    }

    pub fn set_task_baseline(&mut self, task: &TaskId, command: &str, found: &BaselineRun) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.upsert(
                "task_baselines",
                &["task_id", "command"],
                bind! { task_id: task, command, result: Json(found) },
            )
        })
    }

    pub fn set_commit_baseline(
        &mut self,
        at: &CleanCommit,
        command: &str,
        found: &BaselineRun,
        now: Timestamp,
    ) -> Result<()> {
        self.write(Durability::Process, |tx| {
            tx.change("DELETE FROM gate_baselines WHERE ran_at <= ?1", [now.minus(REUSED_FOR)])?;
            let values = bind! {
                command, commit_id: at.commit, place: at.place, ran_at: now, result: Json(found),
            };
            tx.upsert("gate_baselines", &["command", "commit_id", "place"], values)
        })
    }
}
