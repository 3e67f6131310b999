//! What a run looks at in git and in its gates before it begins, and what others may ask to know whether one would.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::left_work::cut_off_work;
use super::run::{EngineError, Run, StopRun};
use super::work_tree::{CommitWhen, GitSettings, cannot};
use crate::event::EventKind;
use crate::exit::RunExit;
use crate::gate::{self, Unready};
use crate::git::{Obstacle, Snapshot, Wants, Weight};
use crate::import::{PROGRESS_MD, STATE_JSON};
use crate::model::{LeftFile, TaskId};
use crate::plan_files::Format;
use crate::store::{PlanNode, Scope, Store, StoreError};
use crate::text::few;

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

impl Run<'_, '_> {
    /// Warns of gates whose program is missing: an attempt is not needed to find that out.
    pub(super) fn warn_of_unready_gates(&mut self) -> Result<(), EngineError> {
        if !self.engine.settings.gate.enabled {
            return Ok(());
        }
        let mut gates = open_gates(
            self.engine.store,
            self.engine.settings.gate.verify.as_deref(),
        )?;
        if let Scope::Below(roots) = &self.engine.settings.scope {
            let inside = below(&self.engine.store.skeleton()?, roots);
            gates.retain(|gate| inside.contains(&gate.task));
        }
        for unready in unready_gates(&gates, self.engine.work_tree) {
            let message = told_unready(&unready);
            let fix = &unready.problem.fix;
            let message = format!("{message}; {fix}, or change the gates");
            self.tell(EventKind::Warning { message })?;
        }
        Ok(())
    }
}

/// A gate that will be run: the task's name and the command.
pub struct DueGate {
    task: TaskId,
    /// The task's key, else its id.
    pub name: String,
    /// The task's own gate, else the project's.
    pub command: String,
}

/// The gates of unfinished tasks; `of_project` is the gate of those that have none. Bounded: a plan may be very long.
pub fn open_gates(store: &dyn Store, of_project: Option<&str>) -> Result<Vec<DueGate>, StoreError> {
    let open = store.open_gates(MOST_GATES)?.into_iter();
    let due = open.filter_map(|gate| {
        Some(DueGate {
            task: gate.task,
            name: gate.name,
            command: gate.command.or_else(|| of_project.map(str::to_owned))?,
        })
    });
    Ok(due.collect())
}

/// The programs of these gates that cannot be started.
pub fn unready_gates(gates: &[DueGate], dir: &Path) -> Vec<Unready> {
    let gates = gates.iter();
    let named = gates.map(|gate| (gate.name.as_str(), gate.command.as_str()));
    gate::unready(named, dir)
}

/// What is wrong, and whose gates are concerned.
pub fn told_unready(unready: &Unready) -> String {
    let gates = match unready.tasks.len() {
        1 => "the gate of",
        _ => "the gates of",
    };
    let tasks = few(&unready.tasks, NAMED_TASKS);
    format!("{gates} {tasks} cannot run: {}", unready.problem.why)
}

/// Tasks that are named in one warning.
const NAMED_TASKS: usize = 5;
/// Gates that are looked at.
const MOST_GATES: usize = 5000;

/// These tasks and all below them.
fn below(plan: &[PlanNode], roots: &[TaskId]) -> HashSet<TaskId> {
    let mut children: HashMap<&TaskId, Vec<&TaskId>> = HashMap::new();
    for node in plan {
        if let Some(parent) = &node.parent {
            children.entry(parent).or_default().push(&node.id);
        }
    }
    let mut inside: HashSet<TaskId> = HashSet::new();
    let mut next: Vec<&TaskId> = roots.iter().collect();
    while let Some(id) = next.pop() {
        if inside.insert(id.clone()) {
            next.extend(children.get(id).into_iter().flatten().copied());
        }
    }
    inside
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
