//! One user story as a task.

use serde_json::Value;

use super::lines::StoryLines;
use super::values::Values;
use crate::plan_files::draft::{DraftTask, Problem};
use crate::plan_files::key;
use crate::plan_files::markdown::list_item;
use crate::plan_files::text::{one_line, paragraphs};

/// A story, read. Where it has problems its fields may be empty.
#[derive(Debug, Default)]
pub(super) struct Story {
    /// Without what it waits for.
    pub(super) task: DraftTask,
    pub(super) id_line: usize,
    pub(super) depends_on: Vec<String>,
    pub(super) depends_on_line: usize,
}

/// Reads the story that stands at this position, counted from 1.
pub(super) fn read(
    value: &Value,
    lines: &StoryLines,
    position: usize,
    problems: &mut Vec<Problem>,
) -> Story {
    let Value::Object(object) = value else {
        let expected = "not a story; expected an object with `id` and `title`".to_owned();
        problems.push(Problem {
            line: lines.of(""),
            expected,
        });
        return Story::default();
    };
    let mut values = Values {
        object,
        lines,
        problems,
    };
    let name = id(&mut values);
    let title = title(&mut values);
    let criteria = criteria(&mut values);
    let mut depends_on = values.texts("dependsOn");
    depends_on.extend(values.texts("dependencies"));
    let depends_on_key = if lines.keys.contains_key("dependsOn") {
        "dependsOn"
    } else {
        "dependencies"
    };
    let task = DraftTask {
        name: name.unwrap_or_default(),
        named_by_author: true,
        title: title.unwrap_or_default(),
        description: description(&mut values, &criteria),
        phase: values.name("phase"),
        verify: values.text("verify"),
        files: files(&mut values),
        done_when: (!criteria.is_empty()).then(|| criteria.join("; ")),
        priority: values
            .number("priority")
            .unwrap_or(i64::try_from(position).unwrap_or(i64::MAX)),
        done: values.flag("passes").unwrap_or(false),
        line: lines.of(""),
        ..DraftTask::default()
    };
    Story {
        task,
        id_line: lines.of("id"),
        depends_on,
        depends_on_line: lines.of(depends_on_key),
    }
}

fn id(values: &mut Values<'_>) -> Option<String> {
    let problems = values.problems.len();
    let id = values.name("id");
    match id {
        Some(id) if key::is_usable(&id) => return Some(id),
        Some(id) => {
            let id = one_line(&id);
            values.problem(
                "id",
                format!("the id `{id}` cannot be a key; expected {}", key::RULE),
            );
        }
        None => values.missing("id", problems),
    }
    None
}

fn title(values: &mut Values<'_>) -> Option<String> {
    let problems = values.problems.len();
    let title = values.text("title");
    if title.is_none() {
        values.missing("title", problems);
    }
    title.map(|title| one_line(&title))
}

/// The criteria, each on one line. One text may hold a list.
fn criteria(values: &mut Values<'_>) -> Vec<String> {
    let texts = values.texts("acceptanceCriteria");
    let is_one_text = values
        .object
        .get("acceptanceCriteria")
        .is_some_and(Value::is_string);
    let lines: Vec<&str> = match is_one_text {
        true => texts.iter().flat_map(|text| text.lines()).collect(),
        false => texts.iter().map(String::as_str).collect(),
    };
    let lines = lines
        .into_iter()
        .map(str::trim)
        .map(|line| list_item(line).unwrap_or(line));
    lines
        .map(one_line)
        .filter(|line| !line.is_empty())
        .collect()
}

fn description(values: &mut Values<'_>, criteria: &[String]) -> String {
    let said = values.text("description").unwrap_or_default();
    let notes = values.text("notes").unwrap_or_default();
    let mut list = String::new();
    if !criteria.is_empty() {
        list = format!("Acceptance criteria:\n- {}", criteria.join("\n- "));
    }
    paragraphs([said.as_str(), &list, &notes])
}

/// Paths; one text may hold several between commas.
fn files(values: &mut Values<'_>) -> Vec<String> {
    let is_one_text = values.object.get("files").is_some_and(Value::is_string);
    let texts = values.texts("files");
    let paths: Vec<&str> = match is_one_text {
        true => texts.iter().flat_map(|text| text.split(',')).collect(),
        false => texts.iter().map(String::as_str).collect(),
    };
    paths
        .into_iter()
        .map(one_line)
        .filter(|path| !path.is_empty())
        .collect()
}
