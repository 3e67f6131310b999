//! A task as a text that a person edits: fields, an empty line, the description.

use ralph_core::model::{Task, TaskEdit};

use crate::commands::task::edit::title;

const FIELDS: [&str; 5] = ["Title", "Gate", "Model", "Priority", "Done when"];

pub fn text_of(task: &Task) -> String {
    let field = |text: &Option<String>| text.clone().unwrap_or_default();
    let values = [
        task.title.clone(),
        field(&task.verify),
        field(&task.model),
        task.priority.to_string(),
        field(&task.done_when),
    ];
    let fields = FIELDS.iter().zip(values);
    let fields: String = fields.map(|(name, value)| format!("{name}: {value}\n")).collect();
    format!("{fields}\n{}\n", task.description)
}

/// What was changed in the text; none where nothing was.
pub fn changes(task: &Task, text: &str) -> Result<Option<Box<TaskEdit>>, String> {
    let (fields, description) = text.split_once("\n\n").unwrap_or((text, ""));
    // A gate may have several lines; they end where the next field begins.
    let mut values: [Option<String>; 5] = Default::default();
    let mut last: Option<usize> = None;
    for line in fields.lines() {
        let named =
            FIELDS.iter().position(|name| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')));
        match (named, last) {
            (Some(at), _) => {
                let value = line.split_once(':').map_or("", |(_, value)| value).trim();
                if let Some(field) = values.get_mut(at) {
                    *field = Some(value.to_owned());
                }
                last = Some(at);
            }
            (None, Some(at)) => {
                if let Some(Some(field)) = values.get_mut(at) {
                    *field += &format!("\n{line}");
                }
            }
            (None, None) => return Err(format!("unknown field in `{line}`; nothing was changed")),
        }
    }
    let [new_title, gate, model, priority, done_when] = values;
    let mut edit = TaskEdit::default();
    let new_title = new_title.unwrap_or_default();
    if new_title != task.title {
        edit.title = Some(title(&new_title).map_err(|error| error.message().to_owned())?);
    }
    let optional = |new: Option<String>, old: &Option<String>| {
        let new = new.filter(|new| !new.trim().is_empty());
        (new != *old).then_some(new)
    };
    edit.verify = optional(gate, &task.verify);
    edit.model = optional(model, &task.model);
    edit.done_when = optional(done_when, &task.done_when);
    let priority = priority.unwrap_or_default();
    if priority != task.priority.to_string() {
        let number =
            priority.parse().map_err(|_| format!("`{priority}` is not a priority: expected a number"));
        edit.priority = Some(number?);
    }
    let description = description.trim_end();
    if description != task.description.trim_end() {
        edit.description = Some(description.to_owned());
    }
    Ok(Some(Box::new(edit)).filter(|edit| !edit.is_empty()))
}

/// Which fields an edit changes, in words.
pub fn described(edit: &TaskEdit) -> String {
    let fields = [
        (edit.title.is_some(), "title"),
        (edit.verify.is_some(), "gate"),
        (edit.model.is_some(), "model"),
        (edit.priority.is_some(), "priority"),
        (edit.done_when.is_some(), "done when"),
        (edit.description.is_some(), "description"),
    ];
    let changed: Vec<&str> = fields.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
    changed.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing::task;

    #[test]
    fn a_text_that_was_not_touched_changes_nothing() {
        let mut task = task("2.2", "Tick items off");
        for (gate, description) in [(None, ""), (Some("make a\nmake b"), "One.\n\nTwo: three.\n")] {
            task.verify = gate.map(str::to_owned);
            task.description = description.to_owned();
            assert_eq!(changes(&task, &text_of(&task)), Ok(None), "{gate:?}");
        }
    }

    #[test]
    fn every_field_can_be_changed_and_cleared() {
        let mut task = task("2.2", "Tick items off");
        task.verify = Some("make".to_owned());
        let text = "Title: New\nGate:\nModel: opus\nPriority: 3\nDone when: it ticks\n\nDo it.\n\nWell.\n";
        let edit = changes(&task, text).unwrap().unwrap();
        let expected = TaskEdit {
            title: Some("New".to_owned()),
            verify: Some(None),
            model: Some(Some("opus".to_owned())),
            priority: Some(3),
            done_when: Some(Some("it ticks".to_owned())),
            description: Some("Do it.\n\nWell.".to_owned()),
            ..TaskEdit::default()
        };
        assert_eq!(*edit, expected);
        assert_eq!(described(&edit), "title, gate, model, priority, done when, description");
    }

    #[test]
    fn what_cannot_be_read_changes_nothing() {
        let task = task("2.2", "Tick items off");
        for text in ["", "Title:\n", "Titel: x\n\n", "Title: Tick items off\nPriority: high\n"] {
            assert!(changes(&task, text).is_err(), "{text:?}");
        }
    }
}
