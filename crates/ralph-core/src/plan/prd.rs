//! prd.json: user stories with ids, acceptance criteria and whether they pass.
//!
//! ```json
//! { "userStories": [ { "id": "US-1", "title": "…", "acceptanceCriteria": ["…"],
//!                      "priority": 1, "passes": false, "dependsOn": ["US-0"] } ] }
//! ```
//!
//! An array of stories without an object around it is read as well. Keys that are not known here
//! are left alone; `null` is the same as a key that is not there.

use std::collections::HashMap;

use jsonc_parser::ast::Value;

use super::graph::{refuse_cycles, resolve};
use super::json::{Document, Members, member, text_of};
use super::text::{one_line, paragraphs};
use super::{Draft, DraftTask, Note, Problem, key};
use crate::markdown::list_item;

const STORIES: &str = "userStories";

pub fn read(text: &str) -> Result<Draft, Vec<Problem>> {
    let invalid = |words: &str, column: usize| format!("this is not valid JSON (column {column}): {words}");
    let document = Document::of(text, invalid).map_err(|problem| vec![problem])?;
    let stories = match &document.value {
        Value::Array(stories) => Some(stories),
        Value::Object(object) => member(object, STORIES).and_then(|found| found.value.as_array()),
        _ => None,
    };
    let Some(stories) = stories else {
        let expected = format!("there are no stories; expected an array `{STORIES}`");
        return Err(vec![Problem::new(document.line(&document.value), expected)]);
    };
    let mut problems = Vec::new();
    let mut read = Vec::with_capacity(stories.elements.len());
    for (at, value) in stories.elements.iter().enumerate() {
        match value {
            Value::Object(object) => {
                let wrong =
                    |key: &str, what: &str, _: &str| format!("`{key}` has the wrong type; expected {what}");
                let problems = &mut problems;
                let mut members = Members { document: &document, object, problems, wrong };
                read.push(Story::of(&mut members, at + 1));
            }
            _ => {
                let expected = "not a story; expected an object with `id` and `title`";
                problems.push(Problem::new(document.line(value), expected));
            }
        }
    }
    let after = after(&read, &mut problems);
    if !problems.is_empty() {
        problems.sort();
        return Err(problems);
    }
    let mut notes = Vec::new();
    if read.is_empty() {
        let line = document.line(stories);
        notes.push(Note::new(line, "There are no stories in the file."));
    }
    let tasks = read.into_iter().zip(after);
    let tasks = tasks.map(|(story, after)| DraftTask { after, ..story.task });
    Ok(Draft { tasks: tasks.collect(), notes })
}

/// For each story the ids it waits for; twice the same id, unknown ones and cycles are problems.
fn after(stories: &[Story], problems: &mut Vec<Problem>) -> Vec<Vec<String>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (at, story) in stories.iter().enumerate() {
        let id = story.task.name.as_str();
        if id.is_empty() {
            continue;
        }
        let first = *places.entry(id).or_insert(at);
        if let Some(first) = stories.get(first).filter(|_| first != at) {
            let expected =
                format!("the id `{id}` is already used on line {}; expected a unique id", first.id_line);
            problems.push(Problem::new(story.id_line, expected));
        }
    }
    let unknown = |id: &str| format!("no story has the id `{id}`; expected the id of a story in this file");
    let names = |story: &Story| {
        let names = story.depends_on.iter().map(|id| (story.depends_on_line, id.clone()));
        names.collect::<Vec<_>>()
    };
    let edges: Vec<Vec<usize>> =
        stories.iter().map(|story| resolve(&names(story), &places, unknown, problems)).collect();
    let id = |at: usize| stories[at].task.name.as_str();
    refuse_cycles("stories", &edges, id, |at| stories[at].depends_on_line, problems);
    edges.iter().map(|known| known.iter().map(|at| id(*at).to_owned()).collect()).collect()
}

/// A story, read. Where it has problems its fields may be empty.
#[derive(Debug, Default)]
struct Story {
    /// Without what it waits for.
    task: DraftTask,
    id_line: usize,
    depends_on: Vec<String>,
    depends_on_line: usize,
}

impl Story {
    /// Reads the story that stands at this position, counted from 1.
    fn of(members: &mut Members<'_, '_>, position: usize) -> Self {
        let criteria = lines(members, "acceptanceCriteria", '\n');
        let criteria = criteria.iter().map(|line| line.trim());
        let criteria = criteria.map(|line| one_line(list_item(line).unwrap_or(line)));
        let criteria: Vec<String> = criteria.filter(|line| !line.is_empty()).collect();
        let mut depends_on = texts(members, "dependsOn");
        depends_on.extend(texts(members, "dependencies"));
        let depends_on_key = match member(members.object, "dependsOn") {
            Some(_) => "dependsOn",
            None => "dependencies",
        };
        let files = lines(members, "files", ',');
        let files = files.iter().map(|path| one_line(path));
        let passes = member(members.object, "passes").filter(|found| found.value.as_null_keyword().is_none());
        let mut id = required(members, "id", name);
        if !id.is_empty() && !key::is_usable(&id) {
            let expected = format!("the id `{}` cannot be a key; expected {}", one_line(&id), key::RULE);
            members.problem("id", expected);
            id.clear();
        }
        let priority = members.get("priority", "a whole number", |value| {
            let number = value.as_number_lit()?.value;
            number.parse().ok().or_else(|| number.parse().ok().and_then(whole))
        });
        let done = members.get("passes", "true or false", |value| Some(value.as_boolean_lit()?.value));
        let list = match criteria.is_empty() {
            true => String::new(),
            false => format!("Acceptance criteria:\n- {}", criteria.join("\n- ")),
        };
        let said = text(members, "description").unwrap_or_default();
        let notes = text(members, "notes").unwrap_or_default();
        let task = DraftTask {
            name: id,
            named_by_author: true,
            title: one_line(&required(members, "title", text)),
            description: paragraphs([said.as_str(), &list, &notes]),
            phase: name(members, "phase"),
            verify: text(members, "verify"),
            files: files.filter(|path| !path.is_empty()).collect(),
            done_when: (!criteria.is_empty()).then(|| criteria.join("; ")),
            priority: priority.unwrap_or(i64::try_from(position).unwrap_or(i64::MAX)),
            done: done.unwrap_or(false),
            line: members.document.line(members.object),
            mark: passes.map(|found| members.document.range(&found.value)),
            ..DraftTask::default()
        };
        Self { task, id_line: members.line("id"), depends_on, depends_on_line: members.line(depends_on_key) }
    }
}

type Read = fn(&mut Members<'_, '_>, &str) -> Option<String>;

/// A value that must be there; that it is missing is told unless something else is wrong with it.
fn required(members: &mut Members<'_, '_>, key: &str, read: Read) -> String {
    let told = members.problems.len();
    let value = read(members, key);
    if value.is_none() && members.problems.len() == told {
        let expected = format!("this story has no `{key}`; expected a value that is not empty");
        members.problem(key, expected);
    }
    value.unwrap_or_default()
}

fn text(members: &mut Members<'_, '_>, key: &str) -> Option<String> {
    let text = members.get(key, "a string", text_of)?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// A text that people also write as a number: an id, a phase.
fn name(members: &mut Members<'_, '_>, key: &str) -> Option<String> {
    let name = members.get(key, "a string", text_or_number)?;
    Some(name).filter(|name| !name.is_empty())
}

fn text_or_number(value: &Value<'_>) -> Option<String> {
    match value {
        Value::NumberLit(number) => Some(number.value.to_owned()),
        value => Some(text_of(value)?.trim().to_owned()),
    }
}

fn texts(members: &mut Members<'_, '_>, key: &str) -> Vec<String> {
    let texts = members.get(key, "an array of strings", |value| match value {
        Value::Array(values) => values.elements.iter().map(text_or_number).collect(),
        value => Some(vec![text_or_number(value)?]),
    });
    texts.unwrap_or_default().into_iter().filter(|text| !text.is_empty()).collect()
}

/// Texts, or one text that holds several.
fn lines(members: &mut Members<'_, '_>, key: &str, divider: char) -> Vec<String> {
    let texts = texts(members, key);
    match member(members.object, key).map(|found| &found.value) {
        Some(Value::StringLit(_)) => {
            let lines = texts.iter().flat_map(|text| text.split(divider));
            lines.map(str::to_owned).collect()
        }
        _ => texts,
    }
}

fn whole(number: f64) -> Option<i64> {
    // Beyond this, numbers with a point are not exact any more.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and within the bounds")]
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

#[cfg(test)]
mod tests;
