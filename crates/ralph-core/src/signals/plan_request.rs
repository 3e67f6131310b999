//! Requests to change the plan: a line `TASK_MODIFICATION_REQUEST` and a JSON object below it.
//!
//! Every text gives an answer in linear time, because a request reaches at most to the next marker.

use std::ops::Range;

use serde::Serialize;
use serde_json::Value;

use super::proposed_task::{Fields, ProposedTask, proposed_tasks};
use super::quotations::Quotations;
use super::{given, is_placeholder};
use crate::model::names;
use crate::text::{Pattern, first_chars, group};

pub(super) const MARKER: &str = "TASK_MODIFICATION_REQUEST";
/// The marker alone on its line, but for a kind or the object's beginning.
pub(super) static MARKED_LINE: Pattern =
    Pattern::new(r"(?m)^[ \t\r`#*\u{feff}]*(?<marker>TASK_MODIFICATION_REQUEST)(?<rest>[^\n{]*)");
const REQUESTS: usize = 20;
/// Unreadable requests kept of one answer: a few are enough to say what is wrong.
const UNREADABLE: usize = 5;
/// The longest object that is read, in characters.
const OBJECT_CHARS: usize = 100_000;

/// How to write a request, in Markdown without a heading; for a prompt whose task is stuck or failed
/// before. Its own example is no request.
pub const PLAN_REQUEST_INSTRUCTIONS: &str = include_str!("plan_request_instructions.md");

names! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    pub enum ChangeKind {
        /// The task becomes the parent of smaller ones.
        SplitTask => "SPLIT_TASK",
        /// Something must be done before the task.
        AddPrerequisite => "ADD_PREREQUISITE",
        /// Something is left to do after the task.
        AddFollowup => "ADD_FOLLOWUP",
    }
}

impl ChangeKind {
    /// Reads a name as agents write it; case, blanks and the marks between words do not matter, nor does a left-out `ADD`
    /// or `TASK`.
    pub fn read(name: &str) -> Option<Self> {
        match fold(name).as_str() {
            "splittask" | "split" => Some(Self::SplitTask),
            "addprerequisite" | "addprerequisites" | "prerequisite" => Some(Self::AddPrerequisite),
            "addfollowup" | "addfollowups" | "followup" => Some(Self::AddFollowup),
            _ => None,
        }
    }

    /// Whether the original still has to be done once the change is made, whatever the agent said
    /// about it in the same answer.
    pub const fn leaves_original_open(self) -> bool {
        matches!(self, Self::SplitTask | Self::AddPrerequisite)
    }
}

/// One request. Nothing is checked yet but its kind; texts may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanRequest {
    pub kind: ChangeKind,
    /// The task it is about, by id or key, as written.
    pub original: String,
    pub reasoning: String,
    pub proposed: Vec<ProposedTask>,
}

/// Why a request cannot be read, in one sentence that says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableRequest {
    #[error("no JSON object follows the marker: write one directly after the marker's line")]
    NoObject,
    #[error("the JSON object after the marker is never closed: write it completely, up to the last brace")]
    Unclosed,
    #[error(
        "the JSON object after the marker does not end within {OBJECT_CHARS} characters: close it, and \
         propose fewer or shorter tasks"
    )]
    TooLong,
    #[error("the object after the marker is not valid JSON ({0}): correct it and send it again")]
    NotJson(String),
    #[error("the request has no `type`: use SPLIT_TASK, ADD_PREREQUISITE or ADD_FOLLOWUP")]
    NoType,
    #[error("`{0}` is not a request type: use SPLIT_TASK, ADD_PREREQUISITE or ADD_FOLLOWUP")]
    UnknownType(String),
    #[error("cannot read the field `{0}`: write a string, or an array of strings")]
    BadField(&'static str),
    #[error(
        "cannot read `proposedTasks`: write an array of objects with title, do, files, doneWhen \
         and verify"
    )]
    BadTasks,
}

use UnreadableRequest as Unreadable;

/// The requests of `text` in order, each once. Examples that still hold the prompt's placeholders are
/// skipped.
pub fn plan_requests(text: &str) -> Vec<Result<PlanRequest, UnreadableRequest>> {
    let mut found: Vec<Result<PlanRequest, Unreadable>> = Vec::new();
    for (kind, body) in sections(text, &Quotations::of(text)) {
        for request in read_section(kind, body) {
            let (most, is_ok) = match &request {
                Ok(_) => (REQUESTS, true),
                Err(_) => (UNREADABLE, false),
            };
            let count = found.iter().filter(|one| one.is_ok() == is_ok).count();
            if count < most && !found.contains(&request) {
                found.push(request);
            }
        }
    }
    found
}

/// What follows each marker: the kind given on its line, or empty, and the text up to the next marker.
fn sections<'t>(text: &'t str, quotations: &Quotations) -> Vec<(&'t str, &'t str)> {
    let markers = MARKED_LINE.captures_iter(text).filter_map(|found| {
        let (line, marker) = (found.get(0)?, found.name("marker")?);
        let kind = marked_kind(group(&found, "rest")).filter(|_| !quotations.cover(marker.start()));
        Some((line, kind?))
    });
    let markers: Vec<_> = markers.collect();
    let ends = markers.iter().skip(1).map(|(line, _)| line.start()).chain([text.len()]);
    let sections = markers.iter().zip(ends);
    sections.map(|((line, kind), end)| (*kind, text.get(line.end()..end).unwrap_or_default())).collect()
}

/// Where the objects of the requests stand that are not quoted, be they valid JSON or not. One that is never closed is none:
/// it would hide everything behind it.
pub(super) fn objects(text: &str, quotations: &Quotations) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (_, body) in sections(text, quotations) {
        let mut rest = object_start(body);
        while let Some(object) = rest {
            let length = object_length(object, true).or_else(|| object_length(object, false));
            let Some(length) = length else {
                break;
            };
            // Both are parts of the text.
            let start = object.as_ptr().addr() - text.as_ptr().addr();
            found.push(start..start + length);
            rest = object.get(length..).and_then(object_start);
        }
    }
    found
}

/// How far an object reaches that a text begins with. Broken JSON may have a quotation mark too few; then only braces tell.
fn object_length(text: &str, heed_strings: bool) -> Option<usize> {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if std::mem::take(&mut is_escaped) => {}
            b'\\' => is_escaped = in_string,
            b'"' => in_string = heed_strings && !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string && depth == 1 => return Some(at + 1),
            b'}' if !in_string => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The kind given beside the marker, or empty; `None` where the marker is part of a word or a sentence.
fn marked_kind(rest: &str) -> Option<&str> {
    let kind = rest.trim_matches(|c: char| " \t\r`#*\u{feff}:\"-()=".contains(c));
    // The info word of a fence that opens on the marker's line.
    let kind = if kind.eq_ignore_ascii_case("json") { "" } else { kind };
    let is_longer_word = rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    // Anything but a kind, right or wrong, is the rest of a sentence.
    let is_loud = |c: char| c.is_ascii_uppercase() || c == '_';
    let may_be_kind = kind.is_empty()
        || ChangeKind::read(kind).is_some()
        || is_example(kind)
        || kind.contains('_') && kind.chars().all(is_loud);
    (may_be_kind && !is_longer_word).then_some(kind)
}

/// The requests behind one marker: some agents write several objects there. What follows the first
/// counts only where it names a kind itself, since answers hold other objects too.
fn read_section(kind: &str, body: &str) -> Vec<Result<PlanRequest, Unreadable>> {
    let mut found = Vec::new();
    if is_example(kind) {
        return found;
    }
    let Some(text) = object_start(body) else {
        // Some agents fill in every heading they know.
        let line = body.trim_start().lines().next().unwrap_or_default();
        let word = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '.' | '*' | '_' | '`'));
        let says_none = !word.is_empty() && given(word).is_none();
        found.extend((!says_none).then_some(Err(Unreadable::NoObject)));
        return found;
    };
    let cut = first_chars(text, OBJECT_CHARS);
    let is_cut = cut.len() < text.len();
    let json = escape_controls(cut);
    let mut rest = Some(json.as_str());
    let mut is_first = true;
    while let Some(text) = rest.filter(|_| found.len() < REQUESTS) {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let request = match values.next() {
            Some(Ok(value)) if is_first => request(Fields::new(value), kind),
            Some(Ok(value)) if value["type"].as_str().and_then(ChangeKind::read).is_some() => {
                request(Fields::new(value), "")
            }
            Some(Err(error)) if is_first => not_json(cut, is_cut, &error),
            _ => break,
        };
        found.extend(request.transpose());
        rest = text.get(values.byte_offset()..).and_then(object_start);
        is_first = false;
    }
    found
}

/// The text from the object on that it begins with, blank lines, commas and fences aside.
fn object_start(text: &str) -> Option<&str> {
    let mut text = text;
    loop {
        text = text.trim_start_matches([' ', '\t', '\r', '\n', ',']);
        if !(text.starts_with("```") || text.starts_with("~~~")) {
            return text.starts_with('{').then_some(text);
        }
        let line = memchr::memchr2(b'\n', b'{', text.as_bytes())?;
        text = text.get(line..)?;
    }
}

/// Why the JSON cannot be read; nothing where it is a prompt's example.
fn not_json(cut: &str, is_cut: bool, error: &serde_json::Error) -> Result<Option<PlanRequest>, Unreadable> {
    if error.is_eof() {
        return Err(if is_cut { Unreadable::TooLong } else { Unreadable::Unclosed });
    }
    // Some prompts show the three kinds as alternatives outside the quotes, which is no JSON.
    let start = cut.split("\n\n").next().unwrap_or_default();
    match ChangeKind::ALL.iter().all(|kind| start.contains(kind.as_str())) {
        true => Ok(None),
        // The message holds a position and names of signs, never the agent's text.
        false => Err(Unreadable::NotJson(error.to_string())),
    }
}

/// The text with line ends and tabs inside of JSON strings written as escapes: agents write Markdown
/// blocks that way, and nothing else can be meant.
fn escape_controls(json: &str) -> String {
    let (mut in_string, mut is_escaped) = (false, false);
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        let was_escaped = std::mem::take(&mut is_escaped);
        match c {
            '"' if !was_escaped => in_string = !in_string,
            '\\' if in_string => is_escaped = !was_escaped,
            _ => {}
        }
        match c {
            '\r' if in_string => {}
            '\n' if in_string => out.push_str("\\n"),
            '\t' if in_string => out.push_str("\\t"),
            _ => out.push(c),
        }
    }
    out
}

/// Reads the fields of a request; `marked` is the kind given beside the marker, or empty. `None` for an
/// example.
fn request(mut fields: Fields, marked: &str) -> Result<Option<PlanRequest>, Unreadable> {
    let named = fields.text("type", &["modificationType", "action", "kind"])?;
    let named = if named.is_empty() { marked } else { &named };
    let original = fields.text("originalTaskId", &["originalTask", "originalId", "taskId", "task"])?;
    if is_example(named) || !original.is_empty() && is_placeholder(&original) {
        return Ok(None);
    }
    let mut reasoning = fields.text("reasoning", &["reason", "rationale"])?;
    let names = ["proposedTask", "proposed", "newTasks", "tasks", "subtasks"];
    let mut proposed = match fields.take("proposedTasks", &names) {
        Some(Value::Array(tasks)) => proposed_tasks(tasks)?,
        Some(task) => proposed_tasks(vec![task])?,
        None => Vec::new(),
    };
    let is_unfilled = |text: &str| !text.is_empty() && is_placeholder(text);
    if is_unfilled(&reasoning) && proposed.iter().all(|task| is_unfilled(&task.title)) {
        return Ok(None);
    }
    // A request that is filled in only partly was meant; the refusal will say what is missing.
    let titles = proposed.iter_mut().map(|task| &mut task.title);
    for text in titles.chain([&mut reasoning]) {
        if is_placeholder(text) {
            text.clear();
        }
    }
    let kind = match ChangeKind::read(named) {
        Some(kind) => kind,
        None if named.is_empty() => return Err(Unreadable::NoType),
        None => return Err(Unreadable::UnknownType(quoted(named))),
    };
    Ok(Some(PlanRequest { kind, original, reasoning, proposed }))
}

/// Whether a kind is the prompt's own: a placeholder, or the alternatives side by side.
fn is_example(kind: &str) -> bool {
    !kind.is_empty() && (is_placeholder(kind) || kind.contains('|'))
}

/// A name without case, blanks and the marks between its words.
pub(super) fn fold(name: &str) -> String {
    let name = name.chars().filter(char::is_ascii_alphanumeric);
    name.map(|c| c.to_ascii_lowercase()).collect()
}

/// A name out of a request as it may be shown in a sentence: nothing in it can end its backticks, its
/// line or its sentence, or be a signal.
pub(super) fn quoted(name: &str) -> String {
    const MOST_CHARS: usize = 64;
    let plain = |c: char| match c {
        c if c.is_alphanumeric() || " ._-:/#+,".contains(c) => c,
        _ => '?',
    };
    let name = name.trim();
    let shown = first_chars(name, MOST_CHARS);
    let mark = if shown.len() < name.len() { "…" } else { "" };
    shown.chars().map(plain).chain(mark.chars()).collect()
}

#[cfg(test)]
#[path = "plan_request_tests.rs"]
mod tests;
