//! The state file of a spec, `.ralph-state.json`: text in, text out.
//!
//! Nothing is rendered anew: keys that Ralph does not know, their order, the form of numbers and lines that are not
//! Ralph's stay as they are, and a value that is already there is left alone.

use std::collections::{HashMap, HashSet};

use jsonc_parser::ParseOptions;
use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};

use super::Problem;
use super::json::{Document, member};
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
    /// How many fix tasks one task may have.
    pub max_fix_tasks_per_original: Option<usize>,
    /// How many fix tasks may stand one below the other.
    pub max_fix_task_depth: Option<usize>,
    /// How often a task may be tried.
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
    /// The error of the newest failure.
    pub last_error: String,
}

impl FixEntry {
    /// The entry of a task with these fixes.
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
    let mut reader = Reader { document: &document, notes: Vec::new() };
    for (name, found) in members(root(&document)?) {
        match name {
            "recoveryMode" => {
                let flag = |value: &Value<'_>| value.as_boolean_lit().map(|flag| flag.value);
                state.recovery_mode = reader.value(found, "true or false", flag);
            }
            "maxFixTasksPerOriginal" => state.max_fix_tasks_per_original = reader.limit(found),
            "maxFixTaskDepth" => state.max_fix_task_depth = reader.limit(found),
            "maxTaskIterations" => state.max_task_iterations = reader.limit(found),
            TASK_INDEX | TOTAL_TASKS | "taskIteration" => drop(reader.count(found)),
            "phase" => drop(reader.value(found, "a string", text_of)),
            FIX_TASK_MAP => {
                let map = reader.value(found, "an object", |value| value.as_object().cloned());
                for (task, found) in map.iter().flat_map(members) {
                    let entry = reader.fix_entry(found);
                    state.fix_task_map.extend(entry.map(|entry| (task.to_owned(), entry)));
                }
            }
            _ => {}
        }
    }
    state.notes = reader.notes;
    state.notes.sort_by_key(|note| note.line);
    Ok(state)
}

/// The members of an object that count, in the order of the text: of several with one name the last.
fn members<'o, 'a>(object: &'o Object<'a>) -> Vec<(&'o str, &'o ObjectProp<'a>)> {
    let mut seen = HashSet::new();
    let all = object.properties.iter().rev();
    let all = all.map(|found| (found.name.as_str(), found));
    let mut counting: Vec<_> = all.filter(|(name, _)| seen.insert(*name)).collect();
    counting.reverse();
    counting
}

struct Reader<'d, 'a> {
    document: &'d Document<'a>,
    notes: Vec<Problem>,
}

impl Reader<'_, '_> {
    /// A value of the right kind. `null` is no value; another kind is noted.
    fn value<'o, 'a: 'o, T>(
        &mut self,
        found: &'o ObjectProp<'a>,
        expected: &str,
        read: impl FnOnce(&'o Value<'a>) -> Option<T>,
    ) -> Option<T> {
        if found.value.as_null_keyword().is_some() {
            return None;
        }
        let value = read(&found.value);
        if value.is_none() {
            let name = found.name.as_str();
            let json = one_line(self.document.text(&found.value), FOUND_CHARS);
            let text = format!("`{name}` is ignored: expected {expected}, found {json}");
            self.notes.push(Problem::new(self.document.line(found), text));
        }
        value
    }

    fn count(&mut self, found: &ObjectProp<'_>) -> Option<usize> {
        self.value(found, "a whole number", count)
    }

    fn limit(&mut self, found: &ObjectProp<'_>) -> Option<usize> {
        let positive = |value: &Value<'_>| count(value).filter(|number| *number > 0);
        self.value(found, "a positive integer", positive)
    }

    fn fix_entry(&mut self, found: &ObjectProp<'_>) -> Option<FixEntry> {
        let entry = self.value(found, "an object", |value| value.as_object())?;
        let ids = member(entry, FIX_TASK_IDS);
        let ids = ids.and_then(|ids| self.value(ids, "a list of keys", texts_of));
        let fix_task_ids = ids.unwrap_or_default();
        let attempts = member(entry, ATTEMPTS).and_then(|found| self.count(found));
        let error = member(entry, LAST_ERROR);
        let error = error.and_then(|error| self.value(error, "a string", text_of));
        Some(FixEntry {
            attempts: attempts.unwrap_or(fix_task_ids.len()),
            fix_task_ids,
            last_error: error.unwrap_or_default(),
        })
    }
}

fn text_of(value: &Value<'_>) -> Option<String> {
    value.as_string_lit().map(|text| text.value.to_string())
}

fn texts_of(value: &Value<'_>) -> Option<Vec<String>> {
    value.as_array()?.elements.iter().map(text_of).collect()
}

/// The natural number that a value is, also if it is written as `3.0`.
fn count(value: &Value<'_>) -> Option<usize> {
    let number = value.as_number_lit()?.value;
    let (whole, rest) = number.split_once('.').unwrap_or((number, "0"));
    let is_whole = rest.bytes().all(|byte| byte == b'0');
    whole.parse().ok().filter(|_| is_whole)
}

/// The file with the news in it; an empty text becomes a new file.
pub fn update(text: &str, news: &StateNews) -> Result<String, Problem> {
    let Some(document) = parse(text)? else {
        return match news == &StateNews::default() {
            true => Ok(text.to_owned()),
            false => update(NEW_FILE, news),
        };
    };
    let counts = [(TASK_INDEX, news.task_index), (TOTAL_TASKS, news.total_tasks)];
    let counts = counts.map(|(name, number)| Some((name, number?)));
    let is_there = |object: &Object<'_>, name: &str, is: &dyn Fn(&Value<'_>) -> bool| {
        member(object, name).is_some_and(|found| is(&found.value))
    };
    let object = root(&document)?;
    let mut changes: Vec<(&str, CstInputValue)> = Vec::new();
    for (name, number) in counts.into_iter().flatten() {
        if !is_there(object, name, &|value| count(value) == Some(number)) {
            changes.push((name, number.into()));
        }
    }
    let map = member(object, FIX_TASK_MAP).and_then(|found| found.value.as_object());
    let map: HashMap<&str, _> = map.map(members).unwrap_or_default().into_iter().collect();
    // The newest entry of each task, in their order.
    let mut seen = HashSet::new();
    let mut entries: Vec<(&str, &FixEntry)> = Vec::new();
    for (task, entry) in news.fix_task_map.iter().rev() {
        let there = map.get(task.as_str()).and_then(|found| found.value.as_object());
        let is_same = there.is_some_and(|there| {
            is_there(there, ATTEMPTS, &|value| count(value) == Some(entry.attempts))
                && is_there(there, FIX_TASK_IDS, &|value| {
                    texts_of(value).as_ref() == Some(&entry.fix_task_ids)
                })
                && is_there(there, LAST_ERROR, &|value| text_of(value).as_ref() == Some(&entry.last_error))
        });
        if seen.insert(task) && !is_same {
            entries.push((task, entry));
        }
    }
    entries.reverse();
    if changes.is_empty() && entries.is_empty() {
        return Ok(text.to_owned());
    }
    let body = text.trim_start_matches('\u{feff}');
    let mark = text.strip_suffix(body).unwrap_or_default();
    let invalid = |error: jsonc_parser::errors::ParseError| {
        Problem::new(error.line_display(), error.kind().to_string())
    };
    let root = CstRootNode::parse(body, &ParseOptions::default()).map_err(invalid)?;
    let object = root.object_value_or_set();
    for (name, value) in changes {
        set(&object, name, value);
    }
    if !entries.is_empty() {
        set_entries(&object, &entries);
    }
    Ok(format!("{mark}{root}"))
}

fn last(object: &CstObject, name: &str) -> Option<CstObjectProp> {
    let members = object.properties();
    let mut members = members.into_iter().rev();
    members.find(|found| found.decoded_name().as_deref() == Some(name))
}

fn set(object: &CstObject, name: &str, value: CstInputValue) {
    match last(object, name) {
        Some(found) => found.set_value(value),
        None => drop(object.append(name, value)),
    }
}

fn set_entries(object: &CstObject, entries: &[(&str, &FixEntry)]) {
    let map = match last(object, FIX_TASK_MAP) {
        Some(found) => found.object_value_or_set(),
        None => {
            let new = object.append(FIX_TASK_MAP, CstInputValue::Object(Vec::new()));
            new.object_value_or_set()
        }
    };
    let there = map.properties().into_iter();
    let there: HashMap<String, CstObjectProp> =
        there.filter_map(|found| Some((found.decoded_name()?, found))).collect();
    for (task, entry) in entries {
        if let Some(there) = there.get(*task) {
            let there = there.object_value_or_set();
            set(&there, ATTEMPTS, entry.attempts.into());
            set_ids(&there, &entry.fix_task_ids);
            set(&there, LAST_ERROR, entry.last_error.as_str().into());
        } else {
            let ids = entry.fix_task_ids.iter().map(|id| id.as_str().into());
            let value = [
                (ATTEMPTS, entry.attempts.into()),
                (FIX_TASK_IDS, CstInputValue::Array(ids.collect())),
                (LAST_ERROR, entry.last_error.as_str().into()),
            ];
            let value = value.map(|(name, value)| (name.to_owned(), value));
            map.append(task, CstInputValue::Object(value.into()));
        }
    }
}

/// Ids are most often added to those that are there, which keep their form.
fn set_ids(entry: &CstObject, ids: &[String]) {
    let list = last(entry, FIX_TASK_IDS).and_then(|found| found.array_value());
    if let Some(list) = list {
        let there = list.elements().into_iter();
        let there: Option<Vec<String>> = there.map(|id| id.as_string_lit()?.decoded_value().ok()).collect();
        if let Some(new) = there.and_then(|there| ids.strip_prefix(there.as_slice())) {
            for id in new {
                list.append(id.as_str().into());
            }
            return;
        }
    }
    let ids = ids.iter().map(|id| id.as_str().into()).collect();
    set(entry, FIX_TASK_IDS, CstInputValue::Array(ids));
}

#[cfg(test)]
mod tests;
