//! Workers of runs that have several: who lives, which working tree is whose, what their attempts are at, and what they
//! reserved of the budgets.

use serde::{Deserialize, Serialize};

use super::claims::refuse_moved;
use super::connection::Writes;
use super::sql::{Changes, Json, Statements, bind, record};
use super::{Durability, Owner, Result, Store};
use crate::model::{RunId, TaskId, Timestamp, Token, names};

names! {
    /// What an attempt under way is at.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Stage {
        /// The agent works.
        Working => "working",
        /// The gates run.
        Verifying => "verifying",
        /// The work is combined with what others landed, and put on the branch.
        Landing => "landing",
    }
}

/// A worker that was not seen to end, and the working tree that it leases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkerRow {
    pub run_id: RunId,
    pub worker: String,
    #[serde(flatten)]
    pub owner: Owner,
    #[serde(skip)]
    pub expires_at: Timestamp,
    pub work_tree: String,
}

/// What of the budgets other attempts under way may still use up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reserved {
    /// By others of the same run.
    pub run_usd: f64,
    /// By all others.
    pub all_usd: f64,
    /// How many others of the run there are.
    pub attempts: u32,
}

names! {
    /// Why good work could not land.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ConflictKind {
        /// Others had landed changes of the same lines.
        Conflict => "conflict",
        /// The gate failed when it was combined with what others had landed.
        IntegrationFailure => "integration_failure",
    }
}

/// Work that did not go together with what others landed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConflictRecord {
    pub task_id: TaskId,
    pub attempt_number: u32,
    pub run_id: Option<RunId>,
    pub at: Timestamp,
    pub kind: ConflictKind,
    /// The tasks whose work it does not go together with.
    pub others: Vec<TaskId>,
    pub files: Vec<String>,
    /// What the attempt did to the files, and what the others did.
    #[serde(skip)]
    pub own_diff: String,
    #[serde(skip)]
    pub landed_diff: String,
}

record!(WorkerRow { run_id, worker, owner, expires_at, work_tree });
record!(Reserved { run_usd, all_usd, attempts });
record!(ConflictRecord { task_id, attempt_number, run_id, at, kind, others, files, own_diff, landed_diff });

impl Store {
    /// Puts a worker on record with the working tree that it leases. `false` where that is leased by another.
    pub fn add_worker(&mut self, worker: &WorkerRow) -> Result<bool> {
        self.write(Durability::Process, |tx| {
            // Other machines may have a tree of that name.
            let work_tree = &*tx.local(&worker.work_tree);
            if tx.has("SELECT 1 FROM workers WHERE work_tree = ?1", [work_tree])? {
                return Ok(false);
            }
            tx.change(
                "DELETE FROM workers WHERE run_id = :run AND worker = :worker",
                bind! { run: worker.run_id, worker: worker.worker },
            )?;
            let Owner { host, pid, pid_started } = &worker.owner;
            tx.insert(
                "workers",
                bind! {
                    run_id: worker.run_id, worker: worker.worker, host, pid, pid_started,
                    expires_at: worker.expires_at, work_tree,
                },
            )?;
            Ok(true)
        })
    }

    pub fn remove_worker(&mut self, owner: &Owner) -> Result<()> {
        let Owner { host, pid, pid_started } = owner;
        self.change(
            Durability::Process,
            "DELETE FROM workers WHERE host = :host AND pid = :pid AND pid_started = :started",
            bind! { host, pid, started: pid_started },
        )
    }

    pub fn workers(&self) -> Result<Vec<WorkerRow>> {
        let mut all: Vec<WorkerRow> =
            self.all("SELECT * FROM workers ORDER BY run_id, length(worker), worker", [])?;
        for worker in &mut all {
            let shown = match self.conn().known_here(&worker.work_tree) {
                Some(here) => here.to_owned(),
                None => {
                    let path = worker.work_tree.rsplit('\n').next().unwrap_or_default();
                    format!("{}:{path}", worker.owner.host)
                }
            };
            worker.work_tree = shown;
        }
        Ok(all)
    }

    /// The branch that a run's work lands on; none for a run in the project's own tree.
    pub fn run_branch(&self, run: &RunId) -> Result<Option<String>> {
        Ok(self.first("SELECT branch FROM runs WHERE id = ?1", [run])?.flatten())
    }

    /// The branches that earlier runs landed on, newest first.
    pub fn landing_branches(&self, except: &RunId, most: u32) -> Result<Vec<String>> {
        let sql = "SELECT branch FROM runs WHERE branch IS NOT NULL AND id <> :except
             GROUP BY branch ORDER BY max(number) DESC LIMIT :most";
        self.all(sql, bind! { except, most })
    }

    /// From now on a run's work lands on another branch.
    pub fn set_run_branch(&mut self, run: &RunId, branch: &str) -> Result<()> {
        let sql = "UPDATE runs SET branch = :branch WHERE id = :run";
        self.change(Durability::Process, sql, bind! { run, branch })
    }

    /// Counted attempts of agents in a run.
    pub fn iterations(&self, run: &RunId) -> Result<u32> {
        let found: Option<u32> = self.first("SELECT iterations FROM runs WHERE id = ?1", [run])?;
        Ok(found.unwrap_or(0))
    }

    /// The number of a claimed attempt in a run, if every one that is under way counts.
    pub fn next_iteration(&self, run: &RunId) -> Result<u32> {
        let sql = "SELECT coalesce((SELECT iterations FROM runs WHERE id = ?1), 0)
             + max((SELECT count(*) FROM claims WHERE run_id = ?1 AND purpose = 'attempt'), 1)";
        self.one(sql, [run])
    }

    /// Attempts of a run that are claimed.
    pub fn attempts_under_way(&self, run: &RunId) -> Result<u32> {
        self.one("SELECT count(*) FROM claims WHERE run_id = ?1 AND purpose = 'attempt'", [run])
    }

    /// Remembers what an attempt is at.
    pub fn set_stage(&mut self, task: &TaskId, token: &Token, stage: Stage) -> Result<()> {
        let sql = "UPDATE claims SET stage = :stage WHERE task_id = :task AND token = :token";
        let values = bind! { task, token, stage };
        self.write_rows(Writes::Claims, Durability::Process, |tx| tx.change(sql, values))
    }

    /// Reserves what an attempt may cost, in one transaction with a look at what others reserved. `decide` gives none where
    /// the attempt has to wait.
    pub fn reserve(
        &mut self,
        task: &TaskId,
        token: &Token,
        run: &RunId,
        mut decide: impl FnMut(&Reserved) -> Option<f64>,
    ) -> Result<Option<f64>> {
        self.write(Durability::Process, |tx| {
            refuse_moved(tx, task, token)?;
            let sql = "SELECT coalesce(sum(reserved_usd) FILTER (WHERE run_id = :run), 0.0) AS run_usd,
                     coalesce(sum(reserved_usd), 0.0) AS all_usd,
                     count(*) FILTER (WHERE run_id = :run AND reserved_usd > 0) AS attempts
                 FROM claims WHERE task_id <> :task";
            let reserved: Reserved = tx.one(sql, bind! { run, task })?;
            let Some(usd) = decide(&reserved) else { return Ok(None) };
            tx.change("UPDATE claims SET reserved_usd = :usd WHERE task_id = :task", bind! { usd, task })?;
            Ok(Some(usd))
        })
    }

    /// What an attempt lately cost on average, in any run; 0 where nobody knows.
    pub fn usual_cost(&self) -> Result<f64> {
        self.one(
            "SELECT coalesce(avg(cost_usd), 0.0) FROM (SELECT cost_usd FROM iteration_outcomes
                 WHERE counted = 1 AND cost_usd IS NOT NULL ORDER BY started_at DESC LIMIT 20) AS latest",
            [],
        )
    }

    pub fn add_conflict(&mut self, conflict: &ConflictRecord) -> Result<()> {
        let ConflictRecord { task_id, attempt_number, run_id, at, kind, .. } = conflict;
        self.write(Durability::Process, |tx| {
            tx.insert(
                "conflicts",
                bind! {
                    task_id, attempt_number, run_id, at, kind, others: Json(&conflict.others),
                    files: Json(&conflict.files), own_diff: conflict.own_diff, landed_diff: conflict.landed_diff,
                },
            )
        })
    }

    /// What the task's last recorded attempt did not go together with, where that is why it failed.
    pub fn last_conflict(&self, task: &TaskId) -> Result<Option<ConflictRecord>> {
        let sql = "SELECT * FROM conflicts WHERE task_id = ?1 AND attempt_number =
                 (SELECT max(attempt_number) FROM iteration_outcomes WHERE task_id = ?1)
             ORDER BY id DESC LIMIT 1";
        self.first(sql, [task])
    }

    /// Where the work of an attempt is kept that was undone.
    pub fn undone_ref(&self, task: &TaskId, attempt_number: u32) -> Result<Option<String>> {
        let sql = "SELECT undone_ref FROM iteration_outcomes
             WHERE task_id = :task AND attempt_number = :attempt_number";
        Ok(self.first(sql, bind! { task, attempt_number })?.flatten())
    }

    /// Every conflict, oldest first.
    pub fn conflicts(&self) -> Result<Vec<ConflictRecord>> {
        self.all("SELECT * FROM conflicts ORDER BY id", [])
    }

    /// The files that attempts on a task changed.
    pub fn changed_files(&self, task: &TaskId) -> Result<Vec<String>> {
        let sql = "SELECT DISTINCT value FROM iteration_outcomes, json_each(files_changed)
             WHERE task_id = ?1 AND json_valid(files_changed) LIMIT 200";
        self.all(sql, [task])
    }

    /// The tasks that commits are the work of.
    pub fn tasks_of_commits(&self, commits: &[String]) -> Result<Vec<TaskId>> {
        let mut tasks = Vec::new();
        for commit in commits {
            let sql = "SELECT task_id FROM iteration_outcomes WHERE commit_after = ?1 LIMIT 1";
            let found: Option<TaskId> = self.first(sql, [commit])?;
            tasks.extend(found.filter(|task| !tasks.contains(task)));
        }
        Ok(tasks)
    }
}
