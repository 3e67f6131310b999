//! prd.json: user stories with ids, acceptance criteria and whether they pass.
//!
//! ```json
//! { "userStories": [ { "id": "US-1", "title": "…", "acceptanceCriteria": ["…"],
//!                      "priority": 1, "passes": false, "dependsOn": ["US-0"] } ] }
//! ```
//!
//! An array of stories without an object around it is read as well. Keys that are not known here
//! are left alone; `null` is the same as a key that is not there.

mod lines;
mod story;
mod values;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::plan_files::cycles::{chain, cycles};
use crate::plan_files::draft::{Draft, DraftTask, Note, Problem};
use crate::plan_files::text::without_mark;
use lines::StoryLines;
use story::Story;

/// The key of the array of stories.
const STORIES: &str = "userStories";

/// Reads a prd.json.
///
/// # Errors
/// All that is wrong with the file, by line.
pub fn read(text: &str) -> Result<Draft, Vec<Problem>> {
    let text = without_mark(text);
    let value: Value = serde_json::from_str(text).map_err(|error| vec![bad_json(&error)])?;
    let found = lines::find(text);
    let stories = match &value {
        Value::Array(stories) => Some(stories),
        Value::Object(object) => object.get(STORIES).and_then(Value::as_array),
        _ => None,
    };
    let Some(stories) = stories else {
        let expected = format!("there are no stories; expected an array `{STORIES}`");
        return Err(vec![Problem {
            line: found.line,
            expected,
        }]);
    };
    let mut problems = Vec::new();
    let nowhere = StoryLines::default();
    let mut read = Vec::with_capacity(stories.len());
    for (at, value) in stories.iter().enumerate() {
        let lines = found.stories.get(at).unwrap_or(&nowhere);
        read.push(story::read(value, lines, at + 1, &mut problems));
    }
    let after = after(&read, &mut problems);
    if !problems.is_empty() {
        problems.sort_by(|a, b| (a.line, &a.expected).cmp(&(b.line, &b.expected)));
        return Err(problems);
    }
    let mut notes = Vec::new();
    if read.is_empty() {
        let text = "There are no stories in the file.".to_owned();
        notes.push(Note {
            line: found.line,
            text,
        });
    }
    let tasks = read.into_iter().zip(after);
    let tasks = tasks
        .map(|(story, after)| DraftTask {
            after,
            ..story.task
        })
        .collect();
    Ok(Draft { tasks, notes })
}

fn bad_json(error: &serde_json::Error) -> Problem {
    let message = error.to_string();
    let message = message
        .rsplit_once(" at line ")
        .map_or(message.as_str(), |(message, _)| message);
    let expected = format!(
        "this is not valid JSON (column {}): {message}",
        error.column()
    );
    Problem {
        line: error.line().max(1),
        expected,
    }
}

/// For each story the ids it waits for; twice the same id, unknown ones and circles are problems.
fn after(stories: &[Story], problems: &mut Vec<Problem>) -> Vec<Vec<String>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (at, story) in stories.iter().enumerate() {
        let id = story.task.name.as_str();
        if id.is_empty() {
            continue;
        }
        match places.get(id).and_then(|first| stories.get(*first)) {
            Some(first) => problems.push(Problem {
                line: story.id_line,
                expected: format!(
                    "the id `{id}` is already used on line {}; expected a unique id",
                    first.id_line
                ),
            }),
            None => {
                places.insert(id, at);
            }
        }
    }
    let mut edges = Vec::with_capacity(stories.len());
    let mut names = Vec::with_capacity(stories.len());
    for story in stories {
        let mut known = Vec::new();
        let mut is_known = HashSet::new();
        for id in &story.depends_on {
            match places.get(id.as_str()) {
                Some(at) if is_known.insert(*at) => known.push(*at),
                Some(_) => {}
                None => problems.push(Problem {
                    line: story.depends_on_line,
                    expected: format!(
                        "no story has the id `{id}`; expected the id of a story in this file"
                    ),
                }),
            }
        }
        let id = |at: &usize| stories.get(*at).map(|story| story.task.name.clone());
        names.push(known.iter().filter_map(id).collect());
        edges.push(known);
    }
    for circle in cycles(&edges) {
        let lines = circle.iter().filter_map(|at| stories.get(*at));
        let ids = circle
            .iter()
            .map(|at| stories.get(*at).map_or("", |story| &story.task.name));
        problems.push(Problem {
            line: lines.map(|story| story.depends_on_line).min().unwrap_or(1),
            expected: format!(
                "these stories depend on each other in a cycle: {}; expected an order in which they can be done",
                chain(ids)
            ),
        });
    }
    names
}
