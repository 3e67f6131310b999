//! The begin of an attempt: the tree as it is, the log, the record that says who works on what.

use super::super::run::{EngineError, Run};
use super::Task;
use super::prepare::Ready;
use crate::agent::AttemptLog;
use crate::files::private;
use crate::git::{Kept, Snapshot};
use crate::store::{AttemptStart, UnfinishedAttempt};

/// An attempt that is on record as begun.
pub(super) struct Begun {
    pub start: UnfinishedAttempt,
    /// The tree before it.
    pub tree: Option<Snapshot>,
    /// The branch it is to stay on, where that matters.
    pub branch: Option<String>,
    /// The same, to the byte, where a failed attempt is rolled back.
    pub kept: Option<Kept>,
    /// What that is called.
    pub kept_name: String,
}

impl Run<'_, '_> {
    pub(super) fn begin(
        &mut self,
        task: &Task<'_>,
        ready: &Ready,
    ) -> Result<(Begun, AttemptLog), EngineError> {
        let claimed = task.claimed;
        let tree = self.look_at_tree()?;
        self.remember_look(&claimed.task.id, tree.as_ref())?;
        let kept_name = format!("{}-{:03}", claimed.task.id, task.number());
        let kept = self.keep_tree(&kept_name)?;
        // What was told since it was made stands before it.
        let event = self.event(ready.started.kind.clone());
        // Before the attempt begins: one that cannot be logged is not made.
        let log = self.open_log(&ready.log_name)?;
        let choice = &ready.prompt.choice;
        let start = AttemptStart {
            task_id: claimed.task.id.clone(),
            token: task.token.clone(),
            attempt_number: task.number(),
            iteration: self.attempts + 1,
            agent: self.agent().name().to_owned(),
            model: choice.model.clone(),
            rationale: choice.rationale.clone(),
            started_at: self.engine.clock.now(),
            commit_before: tree
                .as_ref()
                .and_then(|tree| tree.head().map(str::to_owned)),
            log_path: Some(log_path(&ready.log_name)),
            work_dir: self.engine.work_tree.display().to_string(),
            learnings: ready.prompt.learnings.clone(),
        };
        self.engine.store.begin_attempt(&start, &event)?;
        self.engine.observer.event(&event);
        let begun = Begun {
            start: UnfinishedAttempt::from(start),
            tree,
            branch: self.present_branch(),
            kept,
            kept_name,
        };
        Ok((begun, log))
    }

    fn open_log(&self, name: &str) -> Result<AttemptLog, EngineError> {
        let logs = self.engine.project.logs();
        let path = logs.join(name);
        self.engine
            .project
            .make_dir()
            .and_then(|()| private::make_dir(&logs))
            .and_then(|()| AttemptLog::create(&path))
            .map_err(|source| EngineError::Log {
                path: path.display().to_string(),
                source,
            })
    }
}

/// Where a log is, below the project's root.
pub(super) fn log_path(name: &str) -> String {
    format!("{}/logs/{name}", crate::project::RALPH_DIR)
}
