//! Whether the gates of a plan can run, and which files Ralph itself writes: asked by a run at its start and by `ralph doctor`.

use std::collections::HashSet;
use std::path::Path;

use super::run_context::RunContext;
use super::run_end::Result;
use crate::decide::covered;
use crate::gate::{self, Unready};
use crate::model::{Task, TaskId};
use crate::plan::Format;
use crate::plan::import::{PROGRESS_MD, STATE_JSON};
use crate::store::{Scope, Store, StoreError};
use crate::text::few;

impl RunContext<'_> {
    /// Warns of gates whose program is missing: an attempt is not needed to find that out.
    pub(super) fn warn_of_unready_gates(&mut self) -> Result {
        if !self.settings.gate.enabled {
            return Ok(());
        }
        let gates = gates_in_scope(self.store, &self.settings.scope, self.settings.gate.default.as_deref())?;
        for unready in unready_gates(&gates, self.work_tree) {
            let (what, fix) = (told_unready(&unready), &unready.problem.fix);
            let gates = if unready.tasks.len() == 1 { "gate" } else { "gates" };
            self.warn(format!("{what}; {fix}, or change the {gates}"))?;
        }
        Ok(())
    }
}

/// A gate that will be run: the task's name and the command.
pub struct DueGate {
    pub(super) task: TaskId,
    pub name: String,
    pub command: String,
}

pub(super) fn gates_in_scope(
    store: &Store,
    scope: &Scope,
    of_project: Option<&str>,
) -> Result<Vec<DueGate>, StoreError> {
    let mut gates = open_gates(store, of_project)?;
    if *scope != Scope::All {
        let plan = store.skeleton()?;
        let inside: HashSet<&TaskId> = covered(&plan, scope).into_iter().collect();
        gates.retain(|gate| inside.contains(&gate.task));
    }
    Ok(gates)
}

/// The gates of unfinished tasks; `of_project` is the gate of those that have none. Bounded: a plan may be very long.
pub fn open_gates(store: &Store, of_project: Option<&str>) -> Result<Vec<DueGate>, StoreError> {
    let due = store.open_gates(MOST_GATES)?.into_iter().filter_map(|gate| {
        let command = gate.command.or_else(|| of_project.map(str::to_owned))?;
        Some(DueGate { task: gate.task, name: gate.name, command })
    });
    Ok(due.collect())
}

pub fn unready_gates(gates: &[DueGate], dir: &Path) -> Vec<Unready> {
    gate::unready(gates.iter().map(|gate| (gate.name.as_str(), gate.command.as_str())), dir)
}

/// What is wrong, and whose gates are concerned.
pub fn told_unready(unready: &Unready) -> String {
    let gates = if unready.tasks.len() == 1 { "the gate of" } else { "the gates of" };
    let tasks = few(&unready.tasks, NAMED_TASKS);
    format!("{gates} {tasks} cannot run: {}", unready.problem.why)
}

/// Tasks that are named in one warning.
const NAMED_TASKS: usize = 5;
const MOST_GATES: usize = 5000;

/// Files of the project that Ralph writes too, besides its own directory: they are never an attempt's work.
pub fn own_files(agents_md: Option<&str>, store: &Store) -> Result<Vec<String>, StoreError> {
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

pub(super) fn told_gate_fix(task: &Task, fix: &str) -> String {
    let name = task.name();
    format!("{fix}, or change the gate (`ralph task edit {name} --verify CMD`), then `ralph run {name}`")
}
