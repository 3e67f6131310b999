//! Everything a person does to a plan or a run, for the commands and for every view. Each action gives a receipt: what was
//! done, in sentences that are ready to show. Nothing here prints or asks.

mod notes;
mod runs;

use ralph_core::model::{NewTask, Status, Task, TaskEdit};
use ralph_core::store::{Children, Deleted, Mark, PlanNode};
use ralph_core::text::few;
use serde::Serialize;

pub use notes::{add_note, describe_action, undo};
pub use runs::{Ask, Force, On, RunAnswer, active_runs, ask_runs, receipt_of, stop_runs};

use crate::command_error::CommandError;
use crate::commands::run::{Crew, unlisted_model};
use crate::facts::PlanFacts;
use crate::ui::style::Standing;
use crate::workspace::{Workspace, now, random};

/// What an action came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Receipt {
    /// What was done.
    pub lines: Vec<String>,
    /// What follows from it, what is left to do, what could not be done beside it.
    pub hints: Vec<String>,
}

impl Receipt {
    fn line(line: impl Into<String>) -> Self {
        Self { lines: vec![line.into()], hints: Vec::new() }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// All of it in one line.
    pub fn sentence(&self) -> String {
        self.lines.iter().chain(&self.hints).map(String::as_str).collect::<Vec<_>>().join("; ")
    }
}

/// Tasks of these names; all of them exist, or nothing is done.
fn named(workspace: &Workspace, names: &[String]) -> Result<Vec<Task>, CommandError> {
    names.iter().map(|name| workspace.task(name)).collect()
}

/// Marks tasks, all of them or none.
pub fn mark(
    workspace: &mut Workspace,
    names: &[String],
    as_what: impl Fn(&Workspace, &Task) -> Result<Mark, CommandError>,
) -> Result<Receipt, CommandError> {
    let tasks = named(workspace, names)?;
    let marks = tasks.iter().map(|task| Ok((task.id.clone(), as_what(workspace, task)?)));
    let marks: Vec<_> = marks.collect::<Result<_, CommandError>>()?;
    workspace.forget_dead_claims()?;
    let skipped = skipped_tasks(workspace)?;
    let last = last_action(workspace)?;
    workspace.store.mark_all(&marks, now())?;
    let mut receipt = Receipt { lines: Vec::new(), hints: workspace.refresh_pages()? };
    if last_action(workspace)? == last {
        receipt.hints.push("nothing changed".to_owned());
    }
    for task in &tasks {
        let task = workspace.task(task.id.as_str())?;
        let word = Standing::from(&task).plain();
        receipt.lines.push(format!("{} {} · {word}", task.name(), task.title));
    }
    // Marking a parent as done skips what is open below it.
    let mut also = skipped_tasks(workspace)?;
    also.retain(|task| !skipped.contains(task) && !tasks.iter().any(|marked| marked.id == task.id));
    if !also.is_empty() {
        let names: Vec<String> = also.iter().map(|task| task.name.clone()).collect();
        receipt.lines.push(format!("skipped with it: {}", few(&names, 20)));
    }
    Ok(receipt)
}

/// The number of the last action that can be taken back.
fn last_action(workspace: &Workspace) -> Result<Option<i64>, CommandError> {
    Ok(workspace.store.plan_actions(1)?.first().map(|action| action.id))
}

fn skipped_tasks(workspace: &Workspace) -> Result<Vec<PlanNode>, CommandError> {
    let mut plan = workspace.store.skeleton()?;
    plan.retain(|node| node.status == Status::Skipped);
    Ok(plan)
}

pub fn done(workspace: &mut Workspace, names: &[String]) -> Result<Receipt, CommandError> {
    mark(workspace, names, |_, _| Ok(Mark::Done))
}

pub fn fail(
    workspace: &mut Workspace,
    names: &[String],
    reason: Option<String>,
) -> Result<Receipt, CommandError> {
    mark(workspace, names, |_, _| Ok(Mark::Failed { reason: reason.clone() }))
}

pub fn skip(
    workspace: &mut Workspace,
    names: &[String],
    reason: Option<String>,
) -> Result<Receipt, CommandError> {
    mark(workspace, names, |_, _| Ok(Mark::Skipped { reason: reason.clone() }))
}

pub fn reset(workspace: &mut Workspace, names: &[String]) -> Result<Receipt, CommandError> {
    mark(workspace, names, |_, _| Ok(Mark::Pending))
}

/// Lets a blocked task be attempted again, by a run that goes on or by the next one.
pub fn go_ahead(workspace: &mut Workspace, name: &str) -> Result<Receipt, CommandError> {
    let task = workspace.task(name)?;
    let name = task.name();
    if task.status != Status::Blocked {
        let standing = Standing::from(&task).plain();
        let error = CommandError::usage(format_args!("{name} is not blocked ({standing})"));
        return Err(match task.status {
            Status::Pending | Status::InProgress => error,
            _ => error.hint(format_args!("to have it attempted again: ralph task reset {name}")),
        });
    }
    let next = PlanFacts::read(workspace)?.retry_commands().remove(&task.id);
    workspace.forget_dead_claims()?;
    workspace.store.mark(&task.id, &Mark::GoAhead, now())?;
    let receipt = Receipt {
        lines: vec![format!("{name} {} · may be attempted again", task.title)],
        hints: workspace.refresh_pages()?,
    };
    let run = format!("ralph run {name}");
    Ok(match (next.filter(|next| *next != run), active_runs(workspace, None)?.first()) {
        (Some(next), _) => {
            receipt.hint(format!("what blocked it may block it again; to change that: {next}"))
        }
        (None, Some(active)) => receipt.hint(format!("run {} attempts it if it is in its scope", active.id)),
        (None, None) => receipt.hint(format!("to start it: {run}")),
    })
}

/// Adds a task; the receipt says what it is called.
pub fn add(workspace: &mut Workspace, new: &NewTask) -> Result<(Task, Receipt), CommandError> {
    let id = workspace.store.add_task(new, now(), &mut random)?;
    let task = workspace.task(id.as_str())?;
    let mut receipt = Receipt::line(format!("{} {} · added", task.name(), task.title));
    receipt.hints.extend(new.model.as_deref().and_then(|model| unknown_model(workspace, model)));
    Ok((task, receipt))
}

pub fn edit(workspace: &mut Workspace, name: &str, edit: &TaskEdit) -> Result<Receipt, CommandError> {
    let task = workspace.task(name)?;
    let last = last_action(workspace)?;
    workspace.store.edit_task(&task.id, edit, now())?;
    let is_changed = last_action(workspace)? != last;
    let task = workspace.task(task.id.as_str())?;
    let what = if is_changed { "changed" } else { "nothing changed" };
    let mut receipt = Receipt::line(format!("{} {} · {what}", task.name(), task.title));
    let models = [&edit.model, &edit.next_model].into_iter().flatten().flatten();
    receipt.hints.extend(models.filter_map(|model| unknown_model(workspace, model)));
    Ok(receipt)
}

/// Chooses the model of a task's next attempt; none leaves it to the strategy again.
pub fn choose_model(
    workspace: &mut Workspace,
    name: &str,
    model: Option<String>,
) -> Result<Receipt, CommandError> {
    let task = workspace.task(name)?;
    let told = match &model {
        Some(model) => format!("{} {} · {model} for the next attempt", task.name(), task.title),
        None => format!("{} {} · no model chosen for the next attempt", task.name(), task.title),
    };
    let change = TaskEdit { next_model: Some(model), ..TaskEdit::default() };
    Ok(Receipt { lines: vec![told], ..edit(workspace, task.id.as_str(), &change)? })
}

/// A warning about a model that the agent does not have comes now, not in the middle of a run.
fn unknown_model(workspace: &Workspace, model: &str) -> Option<String> {
    // Settings that cannot be read are reported where they matter.
    let crew = workspace.settings().and_then(|settings| Crew::of(&settings)).ok()?;
    unlisted_model(crew.agent(), model)
}

/// Deletes a task with its history. The caller has asked the person.
pub fn delete(
    workspace: &mut Workspace,
    name: &str,
    children: Children,
) -> Result<(Deleted, Receipt), CommandError> {
    let task = workspace.task(name)?;
    workspace.forget_dead_claims()?;
    let deleted = workspace.store.delete_task(&task.id, children, now())?;
    let mut receipt = Receipt::line(format!("{} {} · deleted", task.name(), task.title));
    for freed in &deleted.freed {
        let other = workspace.task(freed.as_str());
        let name = other.map_or_else(|_| freed.to_string(), |task| task.name().to_owned());
        receipt.hints.push(format!("{name} no longer depends on {}", task.name()));
    }
    Ok((deleted, receipt))
}

/// Whether one task waits for another from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    Begins,
    Ends,
}

pub fn depend(
    workspace: &mut Workspace,
    name: &str,
    dependency: &str,
    wait: Wait,
) -> Result<Receipt, CommandError> {
    let (task, other) = (workspace.task(name)?, workspace.task(dependency)?);
    let store = &mut workspace.store;
    let (is_changed, done, already) = match wait {
        Wait::Begins => {
            (store.add_dependency(&task.id, &other.id, now())?, "depends on", "already depends on")
        }
        Wait::Ends => {
            let removed = store.remove_dependency(&task.id, &other.id, now())?;
            (removed, "no longer depends on", "does not depend on")
        }
    };
    let told = |words: &str| format!("{} {words} {}", task.name(), other.name());
    Ok(match is_changed {
        true => Receipt::line(told(done)),
        false => Receipt { lines: Vec::new(), hints: vec![told(already)] },
    })
}
