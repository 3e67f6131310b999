//! Which kind of plan a JSON text is, and where its lists of tasks are.

use jsonc_parser::ast::{Array, Value};

use super::super::Format;
use super::super::json::text_of;
use super::fields::{IDS, TITLES, find, plain};

/// Members that hold tasks, the most telling first.
const LISTS: [&str; 9] =
    ["userstories", "stories", "features", "tasks", "items", "issues", "backlog", "todos", "requirements"];
/// Members that hold groups of tasks, each with a list of its own.
const GROUPS: [&str; 6] = ["phases", "epics", "milestones", "sprints", "modules", "sections"];

/// Tells which kind of JSON plan a text is, by its content; none where it is no JSON at all.
pub(crate) fn format_of(text: &str) -> Option<Format> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let is_json = match text.strip_prefix('[').map(str::trim_start) {
        // A checkbox without a list (`[ ] x`) or a link is none.
        Some(inner) => inner.starts_with('{') || inner.trim_end() == "]",
        None => text.starts_with('{'),
    };
    if !is_json {
        return None;
    }
    use serde_json::Value;
    let first = text.lines().next().unwrap_or_default();
    if let Ok(Value::Object(line)) = serde_json::from_str(first) {
        let has = |name: &str| line.contains_key(name);
        let is_list = line.keys().any(|name| LISTS.contains(&plain(name).as_str()));
        let is_own = has("key") || has("after");
        if has("id") && (has("issue_type") || has("_type") || (has("title") && has("status") && !is_own)) {
            return Some(Format::Beads);
        }
        if (has("type") || (has("title") && is_own)) && !is_list {
            return Some(Format::Lines);
        }
    }
    let is_issue = |item: &Value| {
        let has = |name: &str| item.get(name).is_some();
        let is_own = ["id", "key", "status", "passes", "done"].iter().any(|name| has(name));
        has("number")
            && has("title")
            && (!is_own || ["state", "url", "body", "labels"].iter().any(|name| has(name)))
    };
    let is_task_master = |list: &Value| {
        let items = list.get("tasks").and_then(Value::as_array);
        items.is_some_and(|items| {
            items.iter().any(|item| item.get("testStrategy").is_some() || item.get("subtasks").is_some())
        })
    };
    Some(match serde_json::from_str(text) {
        Ok(Value::Array(items)) if items.first().is_some_and(is_issue) => Format::Github,
        Ok(Value::Object(object))
            if object.values().any(is_task_master) || is_task_master(&Value::Object(object.clone())) =>
        {
            Format::TaskMaster
        }
        _ => Format::Prd,
    })
}

/// A list of tasks, and what it is part of.
pub(super) struct List<'v, 'a> {
    pub(super) array: &'v Array<'a>,
    pub(super) group: Group,
}

#[derive(Clone, Default)]
pub(super) struct Group {
    pub(super) phase: Option<usize>,
    pub(super) title: Option<String>,
    /// What stands before the names of its tasks.
    pub(super) prefix: String,
}

/// The lists of tasks in a value: in itself, in its members, or in groups.
pub(super) fn lists<'v, 'a>(value: &'v Value<'a>, format: Format) -> Vec<List<'v, 'a>> {
    let plain_list = |array| List { array, group: Group::default() };
    let object = match value {
        Value::Array(array) => return vec![plain_list(array)],
        Value::Object(object) => object,
        _ => return Vec::new(),
    };
    let arrays = |names: &[&str]| names.iter().find_map(|name| find(object, name)?.as_array());
    if let Some(array) = arrays(&LISTS).filter(|array| is_list(array) || has_texts(array)) {
        return vec![plain_list(array)];
    }
    let grouped = arrays(&GROUPS);
    if let Some(groups) = grouped {
        let groups = groups.elements.iter().filter_map(Value::as_object).enumerate();
        let found = groups.filter_map(|(at, group)| {
            let array = LISTS.iter().find_map(|name| find(group, name)?.as_array())?;
            let title = TITLES.iter().find_map(|name| find(group, name).and_then(text_of));
            Some(List { array, group: Group { phase: Some(at + 1), title, prefix: String::new() } })
        });
        let found: Vec<_> = found.collect();
        if !found.is_empty() {
            return found;
        }
    }
    // Task Master's tags, and objects around the plan.
    let inner =
        object.properties.iter().filter_map(|member| Some((member.name.as_str(), member.value.as_object()?)));
    let mut found = Vec::new();
    for (name, object) in inner {
        let array =
            LISTS.iter().find_map(|list| find(object, list)?.as_array()).filter(|array| is_list(array));
        if let Some(array) = array {
            let is_tag = format == Format::TaskMaster && name != "master";
            let prefix = if is_tag { name.to_owned() } else { String::new() };
            found.push(List { array, group: Group { prefix, ..Group::default() } });
        }
    }
    // Groups that hold no tasks are the tasks.
    if found.is_empty() {
        found.extend(grouped.filter(|array| is_list(array) && !array.elements.is_empty()).map(plain_list));
    }
    // The only list needs no name before its tasks'.
    if let [only] = found.as_mut_slice() {
        only.group.prefix.clear();
    }
    found
}

/// Whether an array holds texts and nothing else: tasks that are no more than their titles.
fn has_texts(array: &Array<'_>) -> bool {
    !array.elements.is_empty() && array.elements.iter().all(|element| element.as_string_lit().is_some())
}

/// Whether an array holds tasks, or could.
pub(super) fn is_list(array: &Array<'_>) -> bool {
    array.elements.iter().all(|element| element.as_object().is_some() || element.as_array().is_none())
        && array.elements.iter().filter_map(Value::as_object).all(|object| {
            object.properties.is_empty() || TITLES.iter().chain(&IDS).any(|name| find(object, name).is_some())
        })
        && (array.elements.is_empty() || array.elements.iter().any(|element| element.as_object().is_some()))
}
