//! What AGENTS.md is made from, and what is remembered of it.

use std::collections::HashSet;

use super::{Random, Result};
use crate::agents_md::{Known, LastWrite, PhaseEntries, Section};
use crate::context::PhaseFailure;
use crate::model::{LearningId, NewLearning, Source, TaskId, Timestamp};

/// A write of the file that succeeded.
#[derive(Clone, Debug)]
pub struct ConfirmedWrite {
    /// The branch it was made on.
    pub branch: Option<String>,
    /// What the file looks like.
    pub digest: String,
    /// Learnings that are in it now, or in another section than before.
    pub added: Vec<(LearningId, Section)>,
    /// Learnings that are no longer in it.
    pub gone: Vec<LearningId>,
    /// Tasks whose failures are in it.
    pub names: Vec<String>,
}

/// Failures and learnings as the file shows them.
pub trait AgentsMdStore {
    /// The failures of phases that are not over, by phase, oldest first and at most `cap` of each. Those of finished phases
    /// are forgotten, but for tasks that were skipped.
    fn failure_entries(&mut self, cap: u32) -> Result<Vec<PhaseEntries>>;
    /// Whether some of them are of phases that are over, and to be forgotten.
    fn has_finished_failures(&self) -> Result<bool>;
    /// Failures of other tasks of a task's phase, newest first; none for a task without a phase.
    fn phase_failures(&self, task: &TaskId, most: u32) -> Result<Vec<PhaseFailure>>;
    /// Names under which Ralph ever wrote failures into the file: those entries are its own.
    fn written_names(&self, path: &str) -> Result<HashSet<String>>;
    /// Whether a task of this name has ever failed.
    fn has_failed(&self, name: &str) -> Result<bool>;
    /// The learnings in use, oldest first.
    fn known_learnings(&self) -> Result<Vec<Known>>;
    /// Those in use that came after this many, oldest first.
    fn learnings_after(&self, newest: u64) -> Result<Vec<Known>>;
    /// Those that are not in use.
    fn put_away_learnings(&self) -> Result<Vec<Known>>;
    /// What the file held when it was last written, and whether it ever looked like this.
    fn last_write(&self, path: &str, digest: &str) -> Result<(Option<LastWrite>, bool)>;
    /// Remembers a write.
    fn confirm_write(&mut self, path: &str, write: &ConfirmedWrite) -> Result<()>;
    /// Puts learnings away that a person deleted from the file; no agent brings them back.
    fn delete_bullets(&mut self, ids: &[LearningId], now: Timestamp) -> Result<()>;
    /// Adds learnings that somebody wrote into the file.
    fn add_bullets(
        &mut self,
        bullets: &[NewLearning],
        source: Source,
        now: Timestamp,
        random: Random<'_>,
    ) -> Result<Vec<LearningId>>;
}
