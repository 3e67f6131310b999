//! What a run looks at in git before it begins, and what others may ask to know whether one would.

use std::collections::HashMap;

use super::left_work::cut_off_work;
use super::run::{EngineError, Run, StopRun};
use super::work_tree::{CommitWhen, GitSettings, cannot};
use crate::event::EventKind;
use crate::exit::RunExit;
use crate::git::{Obstacle, Snapshot, Wants, Weight};
use crate::import::{PROGRESS_MD, STATE_JSON};
use crate::model::{LeftFile, TaskId};
use crate::plan_files::Format;
use crate::store::{Store, StoreError};

impl GitSettings {
    /// What these settings need of git.
    pub fn wants(&self) -> Wants<'_> {
        Wants {
            commits: self.commit == CommitWhen::OnSuccess,
            rolls_back: self.rollback.is_some(),
            branch: self.branch.as_deref(),
        }
    }
}

impl Run<'_, '_> {
    /// Trouble with git that attempts would only find out one by one; why the run cannot start, if it cannot.
    pub(super) fn mind_obstacles(&mut self) -> Result<Option<StopRun>, EngineError> {
        let Some(git) = &self.git else {
            return Ok(None);
        };
        let obstacles = match git.obstacles(self.engine.settings.git.wants()) {
            Ok(obstacles) => obstacles,
            Err(error) => return Ok(Some(cannot(&error))),
        };
        for obstacle in obstacles {
            match obstacle.weight() {
                Weight::Stops => return Ok(Some(stopped_by(&obstacle))),
                Weight::Hinders => {
                    let message = format!("{obstacle}; {}", obstacle.mended_by());
                    self.tell(EventKind::Warning { message })?;
                }
            }
        }
        Ok(None)
    }
}

fn stopped_by(obstacle: &Obstacle) -> StopRun {
    let mut stop = StopRun::new(RunExit::Error, obstacle.to_string());
    stop.hint = Some(format!("{}; then `ralph run` again", obstacle.mended_by()));
    stop
}

/// Files of the project that Ralph writes too, besides its own directory: they are never an attempt's work.
pub fn own_files(agents_md: Option<&str>, store: &dyn Store) -> Result<Vec<String>, StoreError> {
    let mut own: Vec<String> = agents_md.map(str::to_owned).into_iter().collect();
    for source in store.sources()? {
        let beside = |name: &str| match source.path.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{name}"),
            None => name.to_owned(),
        };
        if source.format == Format::TasksMd.as_str() {
            own.extend([beside(PROGRESS_MD), beside(STATE_JSON), source.path.clone()]);
        }
    }
    Ok(own)
}

/// What is uncommitted and no task's, as a run would see it at its start. Nothing is written.
pub fn dirt_of_others(
    store: &dyn Store,
    settings: &GitSettings,
    tree: &Snapshot,
) -> Result<Vec<String>, StoreError> {
    if settings.commit == CommitWhen::Never {
        return Ok(tree.dirty());
    }
    let mut left: HashMap<TaskId, Vec<LeftFile>> = HashMap::new();
    for (task, file) in store.left_work()? {
        left.entry(task).or_default().push(file);
    }
    // Of a run that was killed the next one finds out what was its work.
    left.extend(cut_off_work(store, tree)?);
    let files = left.into_values().flatten();
    let tasks = files.filter(|file| tree.is_as_left(file));
    let tasks: Vec<Vec<u8>> = tasks.map(|file| file.path).collect();
    Ok(tree.without(&tasks).dirty())
}
