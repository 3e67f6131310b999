//! The members of a task in JSON, under whatever name a dialect gives them.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;

use super::super::json::{Document, text_of};
use super::super::text::one_line;
use super::super::{Format, Problem};
use crate::markdown::list_item;

pub(super) const TITLES: [&str; 8] =
    ["title", "name", "summary", "feature", "story", "task", "text", "description"];
pub(super) const IDS: [&str; 5] = ["id", "key", "storyid", "taskid", "number"];
pub(super) const CRITERIA: [&str; 6] =
    ["acceptancecriteria", "acceptance", "criteria", "acceptancetests", "successcriteria", "donewhen"];
pub(super) const STATUS: [&str; 2] = ["status", "state"];
pub(super) const DONE: [&str; 13] = [
    "done",
    "completed",
    "complete",
    "closed",
    "passed",
    "passing",
    "pass",
    "finished",
    "implemented",
    "verified",
    "merged",
    "shipped",
    "resolved",
];
pub(super) const LEFT_OUT: [&str; 9] = [
    "cancelled",
    "canceled",
    "deferred",
    "skipped",
    "wontfix",
    "dropped",
    "obsolete",
    "rejected",
    "outofscope",
];
/// What beads calls an issue that was deleted.
pub(super) const DELETED: &str = "tombstone";
const DEPENDENCIES: [&str; 7] =
    ["dependson", "dependencies", "blockedby", "requires", "prerequisites", "deps", "after"];
const COMMANDS: [&str; 7] =
    ["verify", "verifycommand", "verification", "testcommand", "test", "validationcommand", "gate"];
/// Members that are told elsewhere, or tell an agent nothing.
const NOT_TOLD: [&str; 30] = [
    "assignee",
    "body",
    "branch",
    "branchname",
    "category",
    "completedat",
    "createdat",
    "createdby",
    "description",
    "design",
    "details",
    "files",
    "finishedat",
    "labels",
    "notes",
    "order",
    "owner",
    "paths",
    "phase",
    "priority",
    "startedat",
    "steps",
    "tags",
    "technicalnotes",
    "teststrategy",
    "type",
    "updatedat",
    "url",
    "version",
    "lastupdated",
];
/// How much of such a member an agent is told, in bytes.
const LONGEST: usize = 4000;
/// Members that say with true whether a task is done.
pub(super) const FLAGS: [&str; 7] =
    ["passes", "passed", "passing", "done", "completed", "complete", "implemented"];

/// A document in the file, and where it begins.
pub(super) struct Piece<'a> {
    pub(super) document: Document<'a>,
    pub(super) lines_before: usize,
    pub(super) offset: usize,
}

/// The whole file is one document; beads has one in each line.
pub(super) fn pieces(format: Format, text: &str) -> Result<Vec<Piece<'_>>, Vec<Problem>> {
    let invalid = |words: &str, column: usize| format!("this is not valid JSON (column {column}): {words}");
    if format != Format::Beads || text.trim_start_matches('\u{feff}').trim_start().starts_with('[') {
        let document = Document::of_people(text, invalid).map_err(|problem| vec![problem])?;
        return Ok(vec![Piece { document, lines_before: 0, offset: 0 }]);
    }
    let mut pieces = Vec::new();
    let mut problems = Vec::new();
    let mut offset = 0;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        if !line.trim_start_matches('\u{feff}').trim().is_empty() {
            match Document::of(line, invalid) {
                Ok(document) => pieces.push(Piece { document, lines_before: at, offset }),
                Err(problem) => problems.push(Problem::new(at + 1, problem.expected)),
            }
        }
        offset += line.len();
    }
    if problems.is_empty() { Ok(pieces) } else { Err(problems) }
}

impl Piece<'_> {
    pub(super) fn line(&self, of: &impl Ranged) -> usize {
        self.lines_before + self.document.line(of)
    }
}

/// A member that says whether a task is done, and where its value stands.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    pub(super) range: Range<usize>,
    /// The status it gives; none where it is true or false.
    pub(super) status: Option<String>,
    pub(super) is_done: bool,
    /// Whether it is that of an acceptance criterion, which is set with its task and never taken back.
    pub(super) is_criterion: bool,
}

impl Mark {
    /// What stands there instead, where something else has to.
    pub(super) fn edit(&self, done: bool, words: &StatusWords) -> Option<String> {
        if self.is_done == done || self.is_criterion && !done {
            return None;
        }
        Some(match (&self.status, done) {
            (None, done) => done.to_string(),
            (Some(_), true) => format!("\"{}\"", words.done),
            (Some(_), false) => format!("\"{}\"", words.open),
        })
    }
}

pub(super) struct StatusWords {
    pub(super) done: String,
    pub(super) open: String,
}

pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '\'')).flat_map(char::to_lowercase).collect()
}

/// The value of the member with this name; `null` is none.
pub(super) fn find<'v, 'a>(object: &'v Object<'a>, name: &str) -> Option<&'v Value<'a>> {
    let mut members = object.properties.iter().rev();
    let found = members.find(|member| plain(member.name.as_str()) == name)?;
    Some(&found.value).filter(|value| value.as_null_keyword().is_none())
}

/// The members of a task.
pub(super) struct Fields<'v, 'a> {
    pub(super) piece: &'v Piece<'a>,
    pub(super) object: &'v Object<'a>,
    /// The names of its members as they are compared.
    pub(super) names: Vec<String>,
}

impl<'v, 'a> Fields<'v, 'a> {
    pub(super) fn new(piece: &'v Piece<'a>, object: &'v Object<'a>) -> Self {
        let names = object.properties.iter().map(|member| plain(member.name.as_str())).collect();
        Self { piece, object, names }
    }

    /// The value of a member; `null` is none, and of several the last counts, as everywhere in JSON.
    pub(super) fn find(&self, name: &str) -> Option<&'v Value<'a>> {
        let at = self.names.iter().rposition(|known| known == name)?;
        self.object
            .properties
            .get(at)
            .map(|member| &member.value)
            .filter(|value| value.as_null_keyword().is_none())
    }

    pub(super) fn line(&self) -> usize {
        self.piece.line(self.object)
    }

    /// The first of these members that is there.
    pub(super) fn get(&self, names: &[&str]) -> Option<&'v Value<'a>> {
        names.iter().find_map(|name| self.find(name))
    }

    /// The first of these members that has a text or a number.
    pub(super) fn text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.find(name).and_then(word))
    }

    pub(super) fn commands(&self) -> Vec<String> {
        match self.get(&COMMANDS) {
            Some(Value::Array(array)) => array.elements.iter().filter_map(text_of).collect(),
            Some(value) => text_of(value).into_iter().collect(),
            None => Vec::new(),
        }
    }

    pub(super) fn objects(&self, names: &[&str]) -> Vec<Fields<'v, 'a>> {
        let array = self.get(names).and_then(Value::as_array);
        let elements = array.into_iter().flat_map(|array| &array.elements);
        let objects = elements.filter_map(Value::as_object);
        objects.map(|object| Fields::new(self.piece, object)).collect()
    }

    /// Texts, objects that have one, or one text that holds several lines.
    pub(super) fn lines(&self, names: &[&str]) -> Vec<String> {
        let texts: Vec<String> = match self.get(names) {
            Some(Value::Array(array)) => {
                let elements = array.elements.iter();
                let texts = elements.filter_map(|element| match element {
                    Value::Object(object) => Fields::new(self.piece, object).text(&[
                        "text",
                        "title",
                        "name",
                        "criterion",
                        "description",
                        "path",
                    ]),
                    other => word(other),
                });
                texts.collect()
            }
            Some(value) => {
                let divider = if names.contains(&"files") { ',' } else { '\n' };
                word(value).iter().flat_map(|text| text.split(divider)).map(str::to_owned).collect()
            }
            None => Vec::new(),
        };
        let lines = texts.iter().map(|line| line.trim());
        let lines = lines.map(|line| one_line(list_item(line).unwrap_or(line)));
        lines.filter(|line| !line.is_empty()).collect()
    }

    /// What no other field holds, under the names that the author gave it: texts, lists of them, and whatever else as it is written.
    pub(super) fn others(&self) -> String {
        let known: [&[&str]; 8] =
            [&TITLES, &IDS, &CRITERIA, &STATUS, &FLAGS, &DEPENDENCIES, &COMMANDS, &super::PARTS];
        let told = |(member, name): (&ObjectProp<'a>, &String)| {
            if NOT_TOLD.contains(&name.as_str()) || known.iter().any(|names| names.contains(&name.as_str())) {
                return None;
            }
            let lines = self.lines(&[name]);
            let text = match &member.value {
                Value::StringLit(text) => text.value.trim().to_owned(),
                Value::Array(array) if lines.len() == array.elements.len() => lines.join("\n- "),
                Value::Array(_) | Value::Object(_) => self.piece.document.source(&member.value).to_owned(),
                _ => return None,
            };
            let divider = if matches!(member.value, Value::Array(_)) { ":\n- " } else { ": " };
            (!text.is_empty() && text.len() <= LONGEST)
                .then(|| format!("{}{divider}{text}", spaced(member.name.as_str())))
        };
        let told: Vec<String> = self.object.properties.iter().zip(&self.names).filter_map(told).collect();
        told.join("\n\n")
    }

    /// What it waits for, and the line that says so. Beads tells the kind of each.
    pub(super) fn dependencies(&self) -> (Vec<String>, usize) {
        let mut names = Vec::new();
        let mut line = self.line();
        for (member, name) in self.object.properties.iter().zip(&self.names) {
            if !DEPENDENCIES.contains(&name.as_str()) {
                continue;
            }
            line = self.piece.line(member);
            match &member.value {
                Value::Array(array) => {
                    names.extend(array.elements.iter().filter_map(|element| match element {
                        Value::Object(object) => {
                            let fields = Fields::new(self.piece, object);
                            let kind = fields.text(&["type"]).unwrap_or_default();
                            let is_order =
                                matches!(kind.as_str(), "" | "blocks" | "waits-for" | "conditional-blocks");
                            fields.text(&["dependsonid", "id"]).filter(|_| is_order)
                        }
                        other => word(other),
                    }))
                }
                value => names.extend(
                    word(value).iter().flat_map(|text| text.split(',')).map(str::trim).map(str::to_owned),
                ),
            }
        }
        names.retain(|name| !name.is_empty() && !name.eq_ignore_ascii_case("none"));
        (names, line)
    }

    /// What beads links it to as a child.
    pub(super) fn parent(&self) -> Option<String> {
        let links = self.objects(&["dependencies"]);
        let link = links.iter().find(|link| link.text(&["type"]).as_deref() == Some("parent-child"))?;
        link.text(&["dependsonid"])
    }

    /// Smaller is sooner: a number, `P1`, or a word.
    pub(super) fn priority(&self) -> Option<i64> {
        let text = self.text(&["priority"])?.to_lowercase();
        let number = text.strip_prefix('p').unwrap_or(&text);
        if let Ok(number) = number.parse::<f64>() {
            // Beyond this, numbers with a point are not exact any more.
            const EXACT: f64 = 9_007_199_254_740_992.0;
            #[expect(clippy::cast_possible_truncation, reason = "it is within the bounds")]
            return (number.abs() <= EXACT).then_some(number as i64);
        }
        Some(match text.as_str() {
            "critical" | "urgent" | "highest" | "blocker" => 0,
            "high" | "must" | "must have" | "musthave" => 1,
            "low" | "could" | "nice to have" | "minor" => 3,
            "lowest" | "trivial" | "wont" => 4,
            _ => 2,
        })
    }

    pub(super) fn marks(&self) -> Vec<Mark> {
        let mut marks = Vec::new();
        for (member, name) in self.object.properties.iter().zip(&self.names) {
            let range = self.piece.document.range(&member.value);
            let range = range.start + self.piece.offset..range.end + self.piece.offset;
            match &member.value {
                Value::BooleanLit(flag) if FLAGS.contains(&name.as_str()) => {
                    marks.push(Mark { range, status: None, is_done: flag.value, is_criterion: false });
                }
                Value::StringLit(status) if name == "status" => {
                    let is_done = DONE.contains(&plain(&status.value).as_str());
                    marks.push(Mark {
                        range,
                        status: Some(status.value.to_string()),
                        is_done,
                        is_criterion: false,
                    });
                }
                _ => {}
            }
        }
        marks
    }
}

/// `suggestedTests` and `suggested_tests` as words: `Suggested tests`.
fn spaced(name: &str) -> String {
    let mut words = String::new();
    for c in name.chars() {
        match c {
            '_' | '-' => words.push(' '),
            c if words.is_empty() => words.extend(c.to_uppercase()),
            c if c.is_uppercase() && !words.ends_with(char::is_uppercase) => {
                words.push(' ');
                words.extend(c.to_lowercase());
            }
            c => words.push(c),
        }
    }
    words
}

/// A text, or a number as people also write ids.
pub(super) fn word(value: &Value<'_>) -> Option<String> {
    let text = match value {
        Value::NumberLit(number) => number.value.to_owned(),
        value => text_of(value)?.trim().to_owned(),
    };
    Some(text).filter(|text| !text.is_empty())
}
