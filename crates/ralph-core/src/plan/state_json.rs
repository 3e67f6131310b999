//! The state file of a spec, `.ralph-state.json`: text in, text out.
//!
//! Nothing is rendered anew: keys that Ralph does not know, their order, the form of numbers and lines that are not
//! Ralph's stay as they are, and a value that is already there is left alone.

use std::collections::{HashMap, HashSet};

use jsonc_parser::ParseOptions;
use jsonc_parser::ast::{Object, Value};
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};

use super::Problem;
use super::json::{Document, Members, text_of};
use crate::text::one_line;

const NEW_FILE: &str = "{}\n";
const FOUND_CHARS: usize = 40;

const TASK_INDEX: &str = "taskIndex";
const TOTAL_TASKS: &str = "totalTasks";
const FIX_TASK_MAP: &str = "fixTaskMap";
const ATTEMPTS: &str = "attempts";
const FIX_TASK_IDS: &str = "fixTaskIds";
const LAST_ERROR: &str = "lastError";

/// What a state file says, as far as Ralph goes by it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecState {
    /// Whether recovery is on, where `recoveryMode` is exactly `true` or `false`.
    pub recovery_mode: Option<bool>,
    pub max_fix_tasks_per_original: Option<usize>,
    /// How many fix tasks may stand one below the other.
    pub max_fix_task_depth: Option<usize>,
    pub max_task_iterations: Option<usize>,
    /// The fixes of each task that had some, in the file's order.
    pub fix_task_map: Vec<(String, FixEntry)>,
    /// Values of the wrong kind, which are passed over.
    pub notes: Vec<Problem>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FixEntry {
    pub attempts: usize,
    pub fix_task_ids: Vec<String>,
    pub last_error: String,
}

impl FixEntry {
    pub fn new(fix_task_ids: Vec<String>, last_error: String) -> Self {
        Self { attempts: fix_task_ids.len(), fix_task_ids, last_error }
    }
}

/// What is to stand in the file. What is not named here is not touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateNews {
    /// The number of the task that is next, counted from 0.
    pub task_index: Option<usize>,
    pub total_tasks: Option<usize>,
    /// The fixes of tasks, each entry whole. Entries of other tasks stay.
    pub fix_task_map: Vec<(String, FixEntry)>,
}

/// The document in a text; none where the text is blank.
fn parse(text: &str) -> Result<Option<Document<'_>>, Problem> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Ok(None);
    }
    Document::of(text, |words, column| format!("expected valid JSON: {words} (column {column})")).map(Some)
}

fn root<'d, 'a>(document: &'d Document<'a>) -> Result<&'d Object<'a>, Problem> {
    let line = document.line(&document.value);
    let object = document.value.as_object();
    object.ok_or_else(|| Problem::new(line, "expected a JSON object `{…}`"))
}

/// What the file says; an empty text is a file that does not exist yet.
pub fn read(text: &str) -> Result<SpecState, Problem> {
    let mut state = SpecState::default();
    let Some(document) = parse(text)? else {
        return Ok(state);
    };
    let wrong = |name: &str, expected: &str, found: &str| {
        format!("`{name}` is ignored: expected {expected}, found {}", one_line(found, FOUND_CHARS))
    };
    let problems = &mut state.notes;
    let mut file = Members { document: &document, object: root(&document)?, problems, wrong };
    let limit = |file: &mut Members<'_, '_>, name| {
        file.get(name, "a positive integer", |value| count(value).filter(|number| *number > 0))
    };
    state.recovery_mode =
        file.get("recoveryMode", "true or false", |value| Some(value.as_boolean_lit()?.value));
    state.max_fix_tasks_per_original = limit(&mut file, "maxFixTasksPerOriginal");
    state.max_fix_task_depth = limit(&mut file, "maxFixTaskDepth");
    state.max_task_iterations = limit(&mut file, "maxTaskIterations");
    for name in [TASK_INDEX, TOTAL_TASKS, "taskIteration"] {
        file.get(name, "a whole number", count);
    }
    file.get("phase", "a string", text_of);
    let map = file.get(FIX_TASK_MAP, "an object", |value| value.as_object());
    for task in map.map(names).unwrap_or_default() {
        let Some(object) = map else { break };
        let mut map = Members { document: &document, object, problems: file.problems, wrong };
        let Some(object) = map.get(task, "an object", |value| value.as_object()) else {
            continue;
        };
        let mut entry = Members { document: &document, object, problems: map.problems, wrong };
        let fix_task_ids = entry.get(FIX_TASK_IDS, "a list of keys", texts_of).unwrap_or_default();
        let attempts = entry.get(ATTEMPTS, "a whole number", count).unwrap_or(fix_task_ids.len());
        let last_error = entry.get(LAST_ERROR, "a string", text_of).unwrap_or_default();
        state.fix_task_map.push((task.to_owned(), FixEntry { attempts, fix_task_ids, last_error }));
    }
    state.notes.sort_by_key(|note| note.line);
    Ok(state)
}

/// The distinct names of an object's members, in the order of the text; of several with one name the last counts.
fn names<'o>(object: &'o Object<'_>) -> Vec<&'o str> {
    let mut seen = HashSet::new();
    let names = object.properties.iter().rev().map(|found| found.name.as_str());
    let mut names: Vec<&str> = names.filter(|name| seen.insert(*name)).collect();
    names.reverse();
    names
}

fn texts_of(value: &Value<'_>) -> Option<Vec<String>> {
    value.as_array()?.elements.iter().map(text_of).collect()
}

/// The natural number that a value is, also if it is written as `3.0`.
fn count(value: &Value<'_>) -> Option<usize> {
    whole_number(value.as_number_lit()?.value)
}

fn whole_number(number: &str) -> Option<usize> {
    let (whole, rest) = number.split_once('.').unwrap_or((number, "0"));
    let is_whole = rest.bytes().all(|byte| byte == b'0');
    whole.parse().ok().filter(|_| is_whole)
}

/// The file with the news in it; an empty text becomes a new file.
pub fn update(text: &str, news: &StateNews) -> Result<String, Problem> {
    let Some(document) = parse(text)? else {
        return if news == &StateNews::default() { Ok(text.to_owned()) } else { update(NEW_FILE, news) };
    };
    root(&document)?;
    let body = text.trim_start_matches('\u{feff}');
    let mark = text.strip_suffix(body).unwrap_or_default();
    let invalid = |error: jsonc_parser::errors::ParseError| {
        Problem::new(error.line_display(), error.kind().to_string())
    };
    let root = CstRootNode::parse(body, &ParseOptions::default()).map_err(invalid)?;
    let object = root.object_value_or_set();
    for (name, number) in [(TASK_INDEX, news.task_index), (TOTAL_TASKS, news.total_tasks)] {
        number.into_iter().for_each(|number| set_count(&object, name, number));
    }
    if !news.fix_task_map.is_empty() {
        let found = last(&object, FIX_TASK_MAP);
        let map = found.unwrap_or_else(|| object.append(FIX_TASK_MAP, CstInputValue::Object(Vec::new())));
        set_entries(&map.object_value_or_set(), &news.fix_task_map);
    }
    Ok(format!("{mark}{root}"))
}

fn last(object: &CstObject, name: &str) -> Option<CstObjectProp> {
    let members = object.properties();
    let mut members = members.into_iter().rev();
    members.find(|found| found.decoded_name().as_deref() == Some(name))
}

/// Sets a member, unless it has this value already, in whatever form.
fn set(object: &CstObject, name: &str, value: CstInputValue, is_same: impl FnOnce(&CstNode) -> bool) {
    match last(object, name) {
        Some(found) if found.value().is_some_and(|value| is_same(&value)) => {}
        Some(found) => found.set_value(value),
        None => drop(object.append(name, value)),
    }
}

fn set_count(object: &CstObject, name: &str, number: usize) {
    let count = |node: &CstNode| whole_number(&node.as_number_lit()?.to_string());
    set(object, name, number.into(), |node| count(node) == Some(number));
}

fn decoded(node: &CstNode) -> Option<String> {
    node.as_string_lit()?.decoded_value().ok()
}

fn set_entries(map: &CstObject, entries: &[(String, FixEntry)]) {
    let newest: HashMap<&str, &FixEntry> =
        entries.iter().map(|(task, entry)| (task.as_str(), entry)).collect();
    let there = map.properties().into_iter();
    let there: HashMap<String, CstObjectProp> =
        there.filter_map(|found| Some((found.decoded_name()?, found))).collect();
    for (task, entry) in entries.iter().filter(|(task, entry)| std::ptr::eq(newest[task.as_str()], entry)) {
        let found = there.get(task).cloned();
        let found = found.unwrap_or_else(|| map.append(task, CstInputValue::Object(Vec::new())));
        let object = found.object_value_or_set();
        set_count(&object, ATTEMPTS, entry.attempts);
        set_ids(&object, &entry.fix_task_ids);
        set(&object, LAST_ERROR, entry.last_error.as_str().into(), |node| {
            decoded(node).as_ref() == Some(&entry.last_error)
        });
    }
}

/// Ids are most often added to those that are there, which keep their form.
fn set_ids(entry: &CstObject, ids: &[String]) {
    let list = last(entry, FIX_TASK_IDS).and_then(|found| found.array_value());
    let there: Option<Vec<String>> =
        list.as_ref().and_then(|list| list.elements().iter().map(decoded).collect());
    match (list, there.and_then(|there| ids.strip_prefix(there.as_slice()))) {
        (Some(list), Some(new)) => new.iter().for_each(|id| drop(list.append(id.as_str().into()))),
        _ => {
            let ids = ids.iter().map(|id| id.as_str().into()).collect();
            set(entry, FIX_TASK_IDS, CstInputValue::Array(ids), |_| false);
        }
    }
}

#[cfg(test)]
mod tests;
