//! A task, looked at closely: its attempts with what each of them shows, its notes, and what it waits for.
//!
//! `ralph task show --json` prints it: fields may be added, none goes.

use std::collections::HashMap;

use ralph_core::decide::Sign;
use ralph_core::engine::signs_of;
use ralph_core::event::TaskRef;
use ralph_core::model::{Attempt, ReportRow, Task, TaskId};
use ralph_core::store::{FailureFilter, Note, PlanChangeRow, Purpose, StoreError};
use ralph_core::text::mask_secrets;
use serde::Serialize;

use super::{CurrentAttempt, PlanFacts};
use crate::command_error::CommandError;
use crate::commands::run::policy;
use crate::settings::Settings;
use crate::ui::style::Standing;
use crate::workspace::{Workspace, interrupted_tasks};

#[derive(Debug, Serialize)]
pub struct TaskFacts {
    #[serde(flatten)]
    pub task: Task,
    #[serde(skip)]
    pub standing: Standing,
    /// The model that the user chose for the next attempt.
    pub next_model: Option<String>,
    /// What to type to have it attempted again, where only a person can do that.
    pub next_command: Option<String>,
    pub parent: Option<Related>,
    pub subtasks: Vec<Related>,
    pub dependencies: Vec<Related>,
    pub dependents: Vec<Related>,
    pub under_way: Option<CurrentAttempt>,
    /// Every recorded attempt, oldest first.
    pub history: Vec<AttemptFacts>,
    /// What the user told its attempts, oldest first.
    pub notes: Vec<Note>,
    /// Changes of the plan that its agents asked for.
    pub plan_changes: Vec<PlanChangeRow>,
}

/// Another task, and where it stands.
#[derive(Debug, Serialize)]
pub struct Related {
    #[serde(flatten)]
    pub task: TaskRef,
    #[serde(flatten)]
    pub standing: Standing,
}

#[derive(Debug, Serialize)]
pub struct AttemptFacts {
    /// Model and rationale, duration, cost, outcome, error, verification, commits, log.
    #[serde(flatten)]
    pub record: Attempt,
    /// What it shows beside the failures before it.
    pub trend: Option<Trend>,
    pub report: Option<ReportRow>,
    /// The notes that its prompt had.
    pub notes: Vec<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrendKind {
    SameFailure,
    Progress,
    NoProgress,
}

/// Whether a failed attempt brought the task further.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trend {
    pub kind: TrendKind,
    /// Why, in a few words: `fewer tests fail`.
    pub words: String,
}

impl Trend {
    fn of(signs: &[Sign]) -> Option<Self> {
        let same = |sign: &Sign| matches!(sign, Sign::SameFailure | Sign::Alternating);
        let kind = match signs {
            [] => return None,
            _ if signs.iter().any(same) => TrendKind::SameFailure,
            _ if signs.iter().all(|sign| sign.is_progress()) => TrendKind::Progress,
            _ => TrendKind::NoProgress,
        };
        let words = signs.iter().map(|sign| sign.words()).collect::<Vec<_>>().join(", ");
        Some(Self { kind, words })
    }
}

impl TaskFacts {
    pub fn read(workspace: &Workspace, settings: &Settings, name: &str) -> Result<Self, CommandError> {
        let store = &workspace.store;
        let task = workspace.task(name)?;
        let id = &task.id;
        let history = store.history(Some(id))?;
        let signs = signs_of(&history, &policy(settings));
        let filter = FailureFilter { task: Some(id.clone()), ..FailureFilter::default() };
        let reports = store.failure_reports(&filter)?.into_iter();
        let mut reports: HashMap<u32, ReportRow> =
            reports.map(|row| (row.attempt_number, row.report)).collect();
        let notes = workspace.notes(Some(id))?;
        let of_attempt = |number: u32| {
            let shown = notes.iter().filter(|note| note.attempt_number == Some(number));
            shown.map(|note| note.id).collect()
        };
        let history = history.into_iter().zip(signs).map(|(record, signs)| AttemptFacts {
            trend: Trend::of(&signs),
            report: reports.remove(&record.attempt_number),
            notes: of_attempt(record.attempt_number),
            record,
        });
        let history: Vec<AttemptFacts> = history.collect();
        let interrupted = interrupted_tasks(&workspace.store)?;
        let mut claims = store.claims()?.into_iter();
        let claim = claims.find(|claim| claim.task_id == *id && claim.purpose == Purpose::Attempt);
        let claim = claim.filter(|_| !interrupted.contains_key(id));
        let under_way = claim.map(|claim| CurrentAttempt::read(store, &claim)).transpose()?.flatten();
        let next_command = next_command(workspace, &task, history.last())?;
        let related = |id: &TaskId| related(workspace, id);
        let all = |ids: &[TaskId]| -> Result<Vec<Related>, StoreError> {
            let tasks = ids.iter().map(&related).collect::<Result<Vec<_>, _>>()?;
            Ok(tasks.into_iter().flatten().collect())
        };
        Ok(Self {
            standing: Standing::from(&task),
            next_model: store.metrics(id)?.users_model,
            next_command,
            parent: task.parent_id.as_ref().map(&related).transpose()?.flatten(),
            subtasks: store.children(id)?.iter().map(Related::from).collect(),
            dependencies: all(&task.depends_on)?,
            dependents: all(&store.dependents(id)?)?,
            under_way,
            history,
            notes,
            plan_changes: store.plan_changes(id)?,
            task: masked(task),
        })
    }
}

/// The whole plan is read only where the answer may be with another task.
fn next_command(
    workspace: &Workspace,
    task: &Task,
    last: Option<&AttemptFacts>,
) -> Result<Option<String>, CommandError> {
    if PlanFacts::is_blocked_along(task.status, task.reason.as_deref()) {
        return Ok(PlanFacts::read(workspace)?.retry_commands().remove(&task.id));
    }
    let ended = last.map(|last| (last.record.outcome, last.record.gate));
    Ok(super::next_command(task.name(), task.status, task.reason.as_deref(), ended))
}

/// None where an old file names a task that it does not hold.
fn related(workspace: &Workspace, id: &TaskId) -> Result<Option<Related>, StoreError> {
    match workspace.store.task(id.as_str()) {
        Err(StoreError::UnknownTask(_)) => Ok(None),
        task => Ok(Some(Related::from(&task?))),
    }
}

impl From<&Task> for Related {
    fn from(task: &Task) -> Self {
        Self { task: TaskRef::from(task), standing: Standing::from(task) }
    }
}

/// A task as it is shown: `ralph export` alone prints a gate with the secrets in it, because its output is imported again.
pub fn masked(mut task: Task) -> Task {
    let mask = |text: &mut String| *text = mask_secrets(text).into_owned();
    mask(&mut task.title);
    mask(&mut task.description);
    task.verify.iter_mut().for_each(mask);
    task
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ses_07_a_trend_says_whether_an_attempt_brought_the_task_further() {
        use Sign::{Alternating, Committed, FewerFailing, NewError, NoChange, SameFailure};
        for (signs, kind) in [
            (&[SameFailure][..], TrendKind::SameFailure),
            (&[Alternating, NewError], TrendKind::SameFailure),
            (&[SameFailure, Committed], TrendKind::SameFailure),
            (&[FewerFailing], TrendKind::Progress),
            (&[NewError, Committed], TrendKind::Progress),
            (&[NoChange], TrendKind::NoProgress),
            (&[NoChange, NewError], TrendKind::NoProgress),
        ] {
            assert_eq!(Trend::of(signs).unwrap().kind, kind, "{signs:?}");
        }
        assert_eq!(Trend::of(&[]), None);
        assert_eq!(Trend::of(&[FewerFailing, Committed]).unwrap().words, "fewer tests fail, new commits");
    }
}
