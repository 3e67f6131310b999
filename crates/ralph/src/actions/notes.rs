//! Notes to a task's next attempt, and taking back what was done to the plan.

use ralph_core::event::{EventKind, RunEvent, TaskRef};
use ralph_core::model::{RunId, Status, Task};
use ralph_core::store::{
    ActionKind, AddedNote, FieldChange, NOTE_CHARS, Note, NoteTime, PlanAction, StoreError,
};
use ralph_core::text::{clean, few, mask_secrets, one_line};
use serde::Serialize;

use super::{Receipt, active_runs};
use crate::command_error::CommandError;
use crate::ui::style::Standing;
use crate::workspace::{Workspace, now};

/// Characters of a text that a sentence quotes.
const QUOTED: usize = 60;

#[derive(Clone, Debug, Serialize)]
pub struct NoteReceipt {
    pub note: Note,
    /// The run whose attempt ends for the note.
    pub ends_attempt_of: Option<RunId>,
    #[serde(flatten)]
    pub receipt: Receipt,
}

/// Tells a task's next attempt something, and with [`NoteTime::Now`] ends the attempt under way for it.
pub fn add_note(
    workspace: &mut Workspace,
    name: &str,
    text: &str,
    time: NoteTime,
) -> Result<NoteReceipt, CommandError> {
    let task = workspace.task(name)?;
    let name = task.name().to_owned();
    let text = note_text(text)?;
    refuse_parent(workspace, &task)?;
    // An attempt whose process died is not under way.
    workspace.forget_dead_claims()?;
    let mut events = Vec::new();
    for run in active_runs(workspace, None)? {
        let kind = EventKind::NoteAdded { task: TaskRef::from(&task), note: text.clone(), now: false };
        events.push(RunEvent::new(0, now(), &run.id, kind));
    }
    let AddedNote { note, ends, too_late } =
        workspace.store.add_note(&task.id, &text, time, &mut events, now())?;
    let told = match &ends {
        Some(ended) => format!(
            "{name} {} · run {} ends attempt {} (not counted) and retries with the note",
            task.title, ended.run_id, ended.attempt
        ),
        None => format!("{name} {} · note for the next attempt", task.title),
    };
    let mut receipt = Receipt::line(told);
    match &too_late {
        Some(attempt) => {
            receipt = receipt.hint(format!(
                "attempt {} is already past its gate and cannot be ended for the note",
                attempt.attempt
            ));
        }
        None if time == NoteTime::Now && ends.is_none() => {
            receipt = receipt.hint("no attempt is under way");
        }
        None => {}
    }
    let task = workspace.task(task.id.as_str())?;
    receipt.hints.extend(what_it_waits_for(&task));
    Ok(NoteReceipt { note, ends_attempt_of: ends.map(|ended| ended.run_id), receipt })
}

fn note_text(text: &str) -> Result<String, CommandError> {
    let text = clean(text);
    let text = mask_secrets(text.trim()).into_owned();
    match text.chars().count() {
        0 => Err(CommandError::usage("the note is empty")),
        length if length > NOTE_CHARS => Err(CommandError::usage(format_args!(
            "the note has {length} characters; at most {NOTE_CHARS} are allowed"
        ))
        .hint("put the rest into a file and name it in the note, or into the task: ralph task edit ID --description -")),
        _ => Ok(text),
    }
}

/// A parent gets no attempts as long as its subtasks are open.
fn refuse_parent(workspace: &Workspace, task: &Task) -> Result<(), CommandError> {
    let children = workspace.store.children(&task.id)?;
    let open = children.iter().filter(|child| !child.status.satisfies());
    let open: Vec<String> = open.map(|child| child.name().to_owned()).collect();
    let Some(first) = open.first() else { return Ok(()) };
    let (name, subtasks) = (task.name(), few(&open, 5));
    Err(CommandError::usage(format_args!("{name} gets no attempts while its subtasks are open: {subtasks}"))
        .hint(format_args!("tell one of them: ralph note {first} \"…\"")))
}

/// What has to happen before the next attempt.
fn what_it_waits_for(task: &Task) -> Option<String> {
    let (name, standing) = (task.name(), Standing::from(task).plain());
    match task.status {
        Status::Pending | Status::InProgress => None,
        Status::Blocked => Some(format!("{name} is blocked; to have it attempted again: ralph run {name}")),
        Status::Done | Status::Failed | Status::Skipped => {
            Some(format!("{name} is {standing}; to have it attempted again: ralph task reset {name}"))
        }
    }
}

/// Takes back the last thing that a person did to the plan, or the named one. None where there is nothing to take back.
pub fn undo(
    workspace: &mut Workspace,
    id: Option<i64>,
) -> Result<Option<(PlanAction, Receipt)>, CommandError> {
    let newest = workspace.store.plan_actions(usize::MAX)?;
    let found = match id {
        Some(id) => newest.iter().position(|action| action.id == id),
        None => Some(0),
    };
    let action = found.and_then(|place| newest.get(place));
    let Some(action) = action else {
        return match id {
            Some(id) => Err(CommandError::usage(format_args!("there is no action {id} to undo"))
                .hint("run `ralph undo --list` to see what can be undone")),
            None => Ok(None),
        };
    };
    workspace.forget_dead_claims()?;
    let undone = workspace.store.undo(Some(action.id), now()).map_err(|error| {
        let error = match error {
            StoreError::CannotUndo { why } => {
                CommandError::usage(format_args!("cannot undo that you {}: {why}", describe_action(action)))
            }
            error => error.into(),
        };
        match found.and_then(|place| newest.get(place + 1)) {
            Some(earlier) => error.hint(format_args!(
                "before it you {}; to undo that: ralph undo {}",
                describe_action(earlier),
                earlier.id
            )),
            None => error,
        }
    })?;
    let Some(action) = undone else { return Ok(None) };
    let mut receipt = Receipt::line(format!("undone: you {}", describe_action(&action)));
    for task in &action.tasks {
        if let Ok(task) = workspace.task(task.task_id.as_str()) {
            let standing = Standing::from(&task).plain();
            receipt.lines.push(format!("{} {} · {standing}", task.name(), task.title));
        }
    }
    receipt.hints.extend(workspace.refresh_pages()?);
    Ok(Some((action, receipt)))
}

/// What a person did, in a few words: `skipped 2.1, 2.2`.
pub fn describe_action(action: &PlanAction) -> String {
    let names: Vec<String> = action.tasks.iter().map(|task| task.name().to_owned()).collect();
    let names = match action.tasks.as_slice() {
        [task] => format!("{} ({})", task.name(), task.title),
        _ => few(&names, 5),
    };
    match action.action {
        ActionKind::Add => format!("added {names}"),
        ActionKind::Edit => describe_edit(&action.fields, &names),
        ActionKind::Done => format!("marked {names} as done"),
        ActionKind::Fail => format!("marked {names} as failed"),
        ActionKind::Skip => format!("skipped {names}"),
        ActionKind::Reset => format!("reset {names}"),
        ActionKind::GoAhead => format!("gave {names} a go-ahead"),
        ActionKind::Delete => format!("deleted {names}"),
        ActionKind::AddDependency => format!("added a dependency to {names}"),
        ActionKind::RemoveDependency => format!("removed a dependency from {names}"),
        ActionKind::Note => match &action.note {
            Some(note) => format!("left a note for {names}: {}", quoted(note)),
            None => format!("left a note for {names}"),
        },
    }
}

/// `changed the title and gate of 1 (T1): "X" → "T1"`: the values where only one field of a line changed.
fn describe_edit(fields: &[FieldChange], task: &str) -> String {
    let words: Vec<String> =
        fields.iter().filter_map(|one| field_word(&one.field)).map(str::to_owned).collect();
    let value = |text: &Option<String>| text.as_deref().map_or_else(|| "none".to_owned(), quoted);
    let first = fields.iter().find(|one| VALUES_SHOWN.contains(&one.field.as_str()));
    let change = first.map(|one| format!(": {} → {}", value(&one.before), value(&one.after)));
    match words.as_slice() {
        [] => format!("changed {task}"),
        [only] => format!("changed the {only} of {task}{}", change.unwrap_or_default()),
        [all @ .., last] => {
            format!("changed the {} and {last} of {task}{}", all.join(", "), change.unwrap_or_default())
        }
    }
}

/// Fields whose values are short enough for a sentence.
const VALUES_SHOWN: [&str; 7] = ["title", "verify", "key", "model", "users_model", "priority", "phase"];

fn field_word(column: &str) -> Option<&'static str> {
    Some(match column {
        "title" => "title",
        "description" => "description",
        "done_when" => "\"done when\"",
        "verify" => "gate",
        "files" => "files",
        "protect" => "protected files",
        "may_change" => "files it may change",
        "model" => "model",
        "users_model" => "next model",
        "priority" => "priority",
        "key" => "key",
        "phase" => "phase",
        "commit_message" => "commit message",
        "markers" => "markers",
        _ => return None,
    })
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", one_line(&mask_secrets(text), QUOTED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_described_by_its_fields_and_values() {
        let change = |field: &str, before: Option<&str>, after: Option<&str>| FieldChange {
            field: field.to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        for (fields, words) in [
            (vec![], "changed 2.3 (Undo)"),
            (
                vec![change("users_model", None, Some("opus"))],
                "changed the next model of 2.3 (Undo): none → \"opus\"",
            ),
            (
                vec![change("users_model", Some("opus"), None)],
                "changed the next model of 2.3 (Undo): \"opus\" → none",
            ),
            (vec![change("description", Some("a"), Some("b"))], "changed the description of 2.3 (Undo)"),
            (
                vec![change("title", Some("X"), Some("Y")), change("users_model", None, Some("opus"))],
                "changed the title and next model of 2.3 (Undo): \"X\" → \"Y\"",
            ),
            (vec![change("of_a_later_version", None, Some("x"))], "changed 2.3 (Undo)"),
        ] {
            assert_eq!(describe_edit(&fields, "2.3 (Undo)"), words);
        }
    }
}
