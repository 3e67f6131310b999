//! The begin of an attempt: the tree as it is, the log, the record that says who works on what.

use super::super::run::{EngineError, Run};
use super::Task;
use super::prepare::Ready;
use crate::agent::AttemptLog;
use crate::event::EventKind;
use crate::files::unguessable;
use crate::git::{Git, Kept, Snapshot};
use crate::logs::LogDir;
use crate::project::LOGS;
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
        // What changed since the last attempt was not this one's doing; a fault is told by the call that meets it.
        let _ = self.git.as_ref().map(Git::program_changes);
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

    fn open_log(&mut self, name: &str) -> Result<AttemptLog, EngineError> {
        self.restore_logs()?;
        // An agent may have deleted it.
        let made = self.engine.project.make_dir();
        let bound = self.engine.settings.max_attempt_bytes;
        let logs = self.ralph_dir().map(|dir| dir.join(LOGS));
        let log = made
            .and(logs)
            .and_then(|logs| AttemptLog::create(LogDir::make(&logs)?, name, bound));
        self.logs_opened |= log.is_ok();
        log.map_err(|source| EngineError::Log {
            path: log_path(name),
            source,
        })
    }

    /// What an agent put in the place of the directory of logs is moved aside, and no log is written through it. What a
    /// link leads to is not touched.
    fn restore_logs(&mut self) -> Result<(), EngineError> {
        if !self.logs_opened {
            return Ok(());
        }
        let Ok(dir) = self.ralph_dir() else {
            return Ok(());
        };
        let logs = dir.join(LOGS);
        if !logs.is_symlink() && (logs.is_dir() || !logs.exists()) {
            return Ok(());
        }
        let aside = format!("{LOGS}.replaced-{}", unguessable());
        let message = match std::fs::rename(&logs, dir.join(&aside)) {
            Ok(()) => format!(
                ".ralph/{LOGS} was replaced by something that is not a directory; Ralph moved that to \
                 .ralph/{aside}"
            ),
            Err(error) => format!(".ralph/{LOGS} is not a directory and cannot be moved: {error}"),
        };
        self.tell(EventKind::Warning { message })
    }
}

/// Where a log is, below the project's root.
pub(super) fn log_path(name: &str) -> String {
    format!("{}/logs/{name}", crate::project::RALPH_DIR)
}
