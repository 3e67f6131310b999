//! What people change about the plan. Each change can be taken back.

use std::collections::HashSet;
use std::slice;

use super::plan::known;
use super::sql::{Connection, Statements};
use super::undo::{self, ActionKind};
use super::{Durability, Random, Result, Store, StoreError, breaker, claims, fixes, status, task_changes};
use crate::model::{DoneBy, NewTask, Status, TaskEdit, TaskId, Timestamp, Verification};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    Done,
    /// It is done, and a gate passed.
    Verified(Box<Verification>),
    Failed {
        reason: Option<String>,
    },
    /// It is left out; what depends on it may go on.
    Skipped {
        reason: Option<String>,
    },
    /// It is to be done again.
    Pending,
    /// It was blocked, and a person wants it attempted again.
    GoAhead,
}

impl Mark {
    fn action(&self) -> ActionKind {
        match self {
            Self::Done | Self::Verified(_) => ActionKind::Done,
            Self::Failed { .. } => ActionKind::Fail,
            Self::Skipped { .. } => ActionKind::Skip,
            Self::Pending => ActionKind::Reset,
            Self::GoAhead => ActionKind::GoAhead,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    Refuse,
    Delete,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deleted {
    pub tasks: Vec<TaskId>,
    /// Tasks that waited for one of them and no longer do.
    pub freed: Vec<TaskId>,
}

impl Store {
    pub fn add_task(&mut self, new: &NewTask, now: Timestamp, random: Random<'_>) -> Result<TaskId> {
        self.write(Durability::Power, |tx| {
            undo::record(tx, ActionKind::Add, &[], now, || task_changes::add(tx, new, now, random))
        })
    }

    pub fn edit_task(&mut self, id: &TaskId, edit: &TaskEdit, now: Timestamp) -> Result<()> {
        self.write(Durability::Power, |tx| {
            undo::record(tx, ActionKind::Edit, slice::from_ref(id), now, || {
                task_changes::change(tx, id, edit, now)?;
                claims::renew_attempts(tx, id)?;
                if let Some(parent) = &edit.parent {
                    task_changes::move_below(tx, id, parent.as_ref(), now)?;
                }
                status::settle(tx, now)
            })
        })
    }

    pub fn mark(&mut self, id: &TaskId, mark: &Mark, now: Timestamp) -> Result<()> {
        self.mark_all(&[(id.clone(), mark.clone())], now)
    }

    /// All of them or none.
    pub fn mark_all(&mut self, marks: &[(TaskId, Mark)], now: Timestamp) -> Result<()> {
        let Some((_, first)) = marks.first() else { return Ok(()) };
        let ids: Vec<TaskId> = marks.iter().map(|(id, _)| id.clone()).collect();
        self.write(Durability::Power, |tx| {
            undo::record(tx, first.action(), &ids, now, || {
                marks.iter().try_for_each(|(id, mark)| mark_one(tx, id, mark, now))
            })
        })
    }

    /// Removes tasks with all that was recorded of them; learnings stay.
    pub fn delete_task(&mut self, id: &TaskId, children: Children, now: Timestamp) -> Result<Deleted> {
        self.write(Durability::Power, |tx| {
            undo::record(tx, ActionKind::Delete, slice::from_ref(id), now, || delete(tx, id, children, now))
        })
    }

    /// Makes `blocked` wait for `blocker`. `false` if it did already.
    pub fn add_dependency(&mut self, blocked: &TaskId, blocker: &TaskId, now: Timestamp) -> Result<bool> {
        self.write(Durability::Power, |tx| {
            undo::record(tx, ActionKind::AddDependency, slice::from_ref(blocked), now, || {
                known(tx, blocked)?;
                known(tx, blocker)?;
                let added = task_changes::depend(tx, blocked, blocker)?;
                status::refuse_cycle(tx, blocked)?;
                task_changes::touch(tx, blocked, now)?;
                Ok(added)
            })
        })
    }

    /// Ends that. `false` if there was no such dependency.
    pub fn remove_dependency(&mut self, blocked: &TaskId, blocker: &TaskId, now: Timestamp) -> Result<bool> {
        self.write(Durability::Power, |tx| {
            undo::record(tx, ActionKind::RemoveDependency, slice::from_ref(blocked), now, || {
                let removed = task_changes::no_longer_depend(tx, blocked, blocker)?;
                task_changes::touch(tx, blocked, now)?;
                // A parent may have waited for nothing else.
                status::settle(tx, now)?;
                Ok(removed)
            })
        })
    }
}

fn mark_one(tx: &Connection, id: &TaskId, mark: &Mark, now: Timestamp) -> Result<()> {
    let task = known(tx, id)?;
    claims::refuse_claimed(tx, id)?;
    match mark {
        Mark::Done => task_changes::finish(tx, &task, DoneBy::Person, &Verification::default(), now)?,
        Mark::Verified(verification) => task_changes::finish(tx, &task, DoneBy::Gate, verification, now)?,
        Mark::Skipped { reason } => task_changes::skip(tx, id, reason.as_deref(), now)?,
        Mark::GoAhead if task_changes::checkpoint(tx, id)?.is_some() => {
            return Err(StoreError::Checkpoint { task: task.name().to_owned() });
        }
        Mark::Pending | Mark::GoAhead => task_changes::reset(tx, id, task.status, now)?,
        Mark::Failed { reason } => {
            status::set(tx, id, Status::Failed, reason.as_deref(), now)?;
            // A failed child keeps its parent open.
            status::reopen_ancestors(tx, slice::from_ref(id), now)?;
        }
    }
    status::settle(tx, now)
}

fn delete(tx: &Connection, id: &TaskId, children: Children, now: Timestamp) -> Result<Deleted> {
    let task = known(tx, id)?;
    let below = status::below(tx, id)?;
    if children == Children::Refuse && !below.is_empty() {
        let names = "SELECT name FROM tasks WHERE parent_id = ?1 ORDER BY position";
        return Err(StoreError::HasChildren { task: task.name().to_owned(), children: tx.all(names, [id])? });
    }
    // Deepest first, so that every parent's counters are kept while it is still there.
    let mut doomed: Vec<TaskId> = below.into_iter().map(|(id, _)| id).rev().collect();
    doomed.push(id.clone());
    let mut freed = Vec::new();
    for id in &doomed {
        claims::refuse_claimed(tx, id)?;
        fixes::skip_needless(tx, id, now)?;
        breaker::leave(tx, id)?;
        freed.extend(task_changes::remove(tx, id)?);
    }
    let gone: HashSet<&TaskId> = doomed.iter().collect();
    freed.retain(|id| !gone.contains(id));
    freed.sort();
    freed.dedup();
    status::settle(tx, now)?;
    Ok(Deleted { tasks: doomed, freed })
}
