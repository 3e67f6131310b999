//! prd.json: user stories with ids, acceptance criteria and whether they pass.
//!
//! ```json
//! { "userStories": [ { "id": "US-1", "title": "…", "acceptanceCriteria": ["…"],
//!                      "priority": 1, "passes": false, "dependsOn": ["US-0"] } ] }
//! ```
//!
//! An array of stories without an object around it is read as well. Keys that are not known here
//! are left alone; `null` is the same as a key that is not there.

use std::collections::{HashMap, HashSet};

use jsonc_parser::ast::{Object, ObjectProp, Value};

use super::graph::{chain, cycles};
use super::json::{Document, member};
use super::text::{one_line, paragraphs};
use super::{Draft, DraftTask, Note, Problem, key};
use crate::markdown::list_item;

/// The key of the array of stories.
const STORIES: &str = "userStories";

/// Reads a prd.json.
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
                let mut values = Values { document: &document, object, problems: &mut problems };
                read.push(values.story(at + 1));
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
    let mut edges = Vec::with_capacity(stories.len());
    for story in stories {
        let mut known = Vec::new();
        let mut is_known = HashSet::new();
        for id in &story.depends_on {
            match places.get(id.as_str()) {
                Some(at) if is_known.insert(*at) => known.push(*at),
                Some(_) => {}
                None => {
                    let expected =
                        format!("no story has the id `{id}`; expected the id of a story in this file");
                    problems.push(Problem::new(story.depends_on_line, expected));
                }
            }
        }
        edges.push(known);
    }
    let id = |at: &usize| stories.get(*at).map_or("", |story| &story.task.name);
    for cycle in cycles(&edges) {
        let lines = cycle.iter().filter_map(|at| stories.get(*at));
        let line = lines.map(|story| story.depends_on_line).min().unwrap_or(1);
        let expected = format!(
            "these stories depend on each other in a cycle: {}; expected an order in which they can be done",
            chain(cycle.iter().map(id))
        );
        problems.push(Problem::new(line, expected));
    }
    let names = edges.iter();
    names.map(|known| known.iter().map(|at| id(at).to_owned()).collect()).collect()
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

/// A story's object while it is read: values of the types they should have, or problems.
struct Values<'v, 'a> {
    document: &'v Document<'a>,
    object: &'v Object<'a>,
    problems: &'v mut Vec<Problem>,
}

impl<'v, 'a> Values<'v, 'a> {
    /// Reads the story that stands at this position, counted from 1.
    fn story(&mut self, position: usize) -> Story {
        let criteria = self.lines("acceptanceCriteria", '\n');
        let criteria = criteria.iter().map(|line| line.trim());
        let criteria = criteria.map(|line| one_line(list_item(line).unwrap_or(line)));
        let criteria: Vec<String> = criteria.filter(|line| !line.is_empty()).collect();
        let mut depends_on = self.texts("dependsOn");
        depends_on.extend(self.texts("dependencies"));
        let depends_on_key = match member(self.object, "dependsOn") {
            Some(_) => "dependsOn",
            None => "dependencies",
        };
        let files = self.lines("files", ',');
        let files = files.iter().map(|path| one_line(path));
        let passes = self.get("passes").map(|found| self.document.range(&found.value));
        let task = DraftTask {
            name: self.id().unwrap_or_default(),
            named_by_author: true,
            title: self.title().unwrap_or_default(),
            description: self.description(&criteria),
            phase: self.name("phase"),
            verify: self.text("verify"),
            files: files.filter(|path| !path.is_empty()).collect(),
            done_when: (!criteria.is_empty()).then(|| criteria.join("; ")),
            priority: self.number("priority").unwrap_or(i64::try_from(position).unwrap_or(i64::MAX)),
            done: self.flag("passes").unwrap_or(false),
            line: self.document.line(self.object),
            mark: passes,
            ..DraftTask::default()
        };
        Story { task, id_line: self.line("id"), depends_on, depends_on_line: self.line(depends_on_key) }
    }

    fn id(&mut self) -> Option<String> {
        let told = self.problems.len();
        let Some(id) = self.name("id") else {
            self.missing("id", told);
            return None;
        };
        if !key::is_usable(&id) {
            let id = one_line(&id);
            let expected = format!("the id `{id}` cannot be a key; expected {}", key::RULE);
            self.problem("id", expected);
            return None;
        }
        Some(id)
    }

    fn title(&mut self) -> Option<String> {
        let told = self.problems.len();
        let title = self.text("title");
        if title.is_none() {
            self.missing("title", told);
        }
        title.map(|title| one_line(&title))
    }

    fn description(&mut self, criteria: &[String]) -> String {
        let said = self.text("description").unwrap_or_default();
        let notes = self.text("notes").unwrap_or_default();
        let mut list = String::new();
        if !criteria.is_empty() {
            list = format!("Acceptance criteria:\n- {}", criteria.join("\n- "));
        }
        paragraphs([said.as_str(), &list, &notes])
    }

    fn get(&self, key: &str) -> Option<&'v ObjectProp<'a>> {
        member(self.object, key).filter(|found| found.value.as_null_keyword().is_none())
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match &self.get(key)?.value {
            Value::StringLit(text) => Some(text.value.trim().to_owned()).filter(|text| !text.is_empty()),
            _ => self.wrong(key, "a string"),
        }
    }

    /// A text that people also write as a number: an id, a phase.
    fn name(&mut self, key: &str) -> Option<String> {
        match &self.get(key)?.value {
            Value::NumberLit(number) => Some(number.value.to_owned()),
            _ => self.text(key),
        }
    }

    fn texts(&mut self, key: &str) -> Vec<String> {
        let values = match self.get(key).map(|found| &found.value) {
            None => return Vec::new(),
            Some(Value::Array(values)) => values.elements.as_slice(),
            Some(value) => std::slice::from_ref(value),
        };
        let mut texts = Vec::with_capacity(values.len());
        for value in values {
            match value {
                Value::StringLit(text) => texts.push(text.value.trim().to_owned()),
                Value::NumberLit(number) => texts.push(number.value.to_owned()),
                _ => {
                    self.wrong::<()>(key, "an array of strings");
                    break;
                }
            }
        }
        texts.retain(|text| !text.is_empty());
        texts
    }

    /// Texts, or one text that holds several.
    fn lines(&mut self, key: &str, divider: char) -> Vec<String> {
        let texts = self.texts(key);
        match self.get(key).map(|found| &found.value) {
            Some(Value::StringLit(_)) => {
                let lines = texts.iter().flat_map(|text| text.split(divider));
                lines.map(str::to_owned).collect()
            }
            _ => texts,
        }
    }

    fn number(&mut self, key: &str) -> Option<i64> {
        let text = self.document.text(&self.get(key)?.value);
        let number = text.parse().ok();
        match number.or_else(|| text.parse().ok().and_then(whole)) {
            Some(number) => Some(number),
            None => self.wrong(key, "a whole number"),
        }
    }

    fn flag(&mut self, key: &str) -> Option<bool> {
        match &self.get(key)?.value {
            Value::BooleanLit(flag) => Some(flag.value),
            _ => self.wrong(key, "true or false"),
        }
    }

    fn wrong<T>(&mut self, key: &str, what: &str) -> Option<T> {
        self.problem(key, format!("`{key}` has the wrong type; expected {what}"));
        None
    }

    /// Tells that a key is missing, unless it was told since then that it is bad.
    fn missing(&mut self, key: &str, told: usize) {
        if self.problems.len() == told {
            let expected = format!("this story has no `{key}`; expected a value that is not empty");
            self.problem(key, expected);
        }
    }

    fn problem(&mut self, key: &str, expected: String) {
        self.problems.push(Problem::new(self.line(key), expected));
    }

    /// The line of a key, or that of the story.
    fn line(&self, key: &str) -> usize {
        let found = member(self.object, key);
        found.map_or_else(|| self.document.line(self.object), |found| self.document.line(found))
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
