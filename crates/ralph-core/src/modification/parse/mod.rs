//! Finding requests in an agent's answer.
//!
//! Total and linear: every text gives an answer, and no part of it is looked at more than a few
//! times, because a request reaches at most to the next marker.

mod block;
mod code;
mod fault;
mod fields;
mod headline;
mod marker;
mod object;
mod placeholder;
mod proposed;

use serde::Serialize;
use serde_json::Value;

use super::request::{Kind, Request};
use fields::Fields;
use marker::{Section, sections};
use placeholder::{is_alternatives, is_placeholder};

pub use fault::Fault;

/// Requests kept of one answer.
const REQUESTS: usize = 20;
/// Broken requests kept of one answer: a few are enough to say what is wrong.
const BROKEN: usize = 5;

/// What stands behind a marker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// A request that can be read; whether it can be granted is another question.
    Request(Request),
    /// The agent meant to ask for something, but it cannot be read.
    Broken {
        /// Why, for the next attempt to see.
        reason: Fault,
    },
}

/// The requests of `text` in order, each once. Examples that still hold the prompt's placeholders are
/// passed over.
#[must_use]
pub fn parse(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let (mut requests, mut broken) = (0, 0);
    for section in sections(text).iter().flat_map(Section::each) {
        let (one, count, most) = match read(&section) {
            Ok(None) => continue,
            Ok(Some(request)) => (Found::Request(request), &mut requests, REQUESTS),
            Err(reason) => (Found::Broken { reason }, &mut broken, BROKEN),
        };
        if *count < most && !found.contains(&one) {
            *count += 1;
            found.push(one);
        }
    }
    found
}

impl<'a> Section<'a> {
    /// One section for each object: some agents write several behind one marker. What follows the first counts only
    /// where it names a kind itself, since answers hold other objects too.
    fn each(&self) -> Vec<Self> {
        let mut all = vec![Section {
            kind: self.kind,
            body: self.body,
        }];
        let mut rest = object::after(self.body);
        while let Some(body) = rest.filter(|_| all.len() < REQUESTS) {
            let named = object::object(body)
                .and_then(object::json)
                .ok()
                .and_then(|value| Kind::parse(value.get("type")?.as_str()?));
            if named.is_none() {
                break;
            }
            all.push(Section { kind: "", body });
            rest = object::after(body);
        }
        all
    }
}

/// Reads one request; `None` for an example.
fn read(section: &Section<'_>) -> Result<Option<Request>, Fault> {
    if is_example(section.kind) {
        return Ok(None);
    }
    let object = match object::object(section.body) {
        Err(Fault::NoObject) if says_none(section.body) => return Ok(None),
        object => object?,
    };
    match object::json(object) {
        Ok(value) => request(Fields::new(value), section.kind),
        // Some prompts show the three kinds as alternatives outside the quotes, which is no JSON.
        Err(_) if Kind::ALL.iter().all(|kind| object.contains(kind.as_str())) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Reads the fields of a request; `marked` is the kind given beside the marker, or empty.
fn request(mut fields: Fields, marked: &str) -> Result<Option<Request>, Fault> {
    let named = fields.text(&["type", "modificationType", "action", "kind"], "type")?;
    let named = if named.is_empty() { marked } else { &named };
    let original = fields.text(
        &[
            "originalTaskId",
            "originalTask",
            "originalId",
            "taskId",
            "task",
        ],
        "originalTaskId",
    )?;
    if is_example(named) || (!original.is_empty() && is_placeholder(&original)) {
        return Ok(None);
    }
    let mut reasoning = fields.text(&["reasoning", "reason", "rationale"], "reasoning")?;
    let tasks = fields.take(&[
        "proposedTasks",
        "proposedTask",
        "proposed",
        "newTasks",
        "tasks",
        "subtasks",
    ]);
    let mut proposed = match tasks {
        Some(Value::Array(tasks)) => proposed::read_all(tasks)?,
        Some(task) => proposed::read_all(vec![task])?,
        None => Vec::new(),
    };

    let untitled = |text: &str| !text.is_empty() && is_placeholder(text);
    let titles = proposed.iter().filter(|task| untitled(&task.title)).count();
    if untitled(&reasoning) && titles == proposed.len() {
        return Ok(None);
    }
    // A request that is filled in only partly was meant; what is missing will be said of it.
    for text in proposed
        .iter_mut()
        .map(|task| &mut task.title)
        .chain([&mut reasoning])
    {
        if is_placeholder(text) {
            text.clear();
        }
    }
    let kind = match Kind::parse(named) {
        Some(kind) => kind,
        None if named.is_empty() => return Err(Fault::NoType),
        None => return Err(Fault::unknown_type(named)),
    };
    Ok(Some(Request {
        kind,
        original,
        reasoning,
        proposed,
    }))
}

/// Whether the first line says that there is no request: some agents fill in every heading they know.
fn says_none(body: &str) -> bool {
    let line = body.trim_start().lines().next().unwrap_or_default();
    let word = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '.' | '*' | '_' | '`'));
    !word.is_empty() && placeholder::given(word).is_none()
}

/// Whether a kind is the prompt's own: a placeholder, or the alternatives side by side.
fn is_example(kind: &str) -> bool {
    !kind.is_empty() && (is_placeholder(kind) || is_alternatives(kind))
}

#[cfg(test)]
mod tests;
