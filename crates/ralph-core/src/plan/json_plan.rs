//! Plans in JSON: prd.json in its dialects, Task Master's tasks.json, beads' issues.jsonl, and GitHub issues as `gh` lists them.
//!
//! All of them are lists of objects that say the same under different names, so one reader knows the names:
//!
//! ```json
//! { "userStories": [ { "id": "US-1", "title": "…", "acceptanceCriteria": ["…"],
//!                      "priority": 1, "passes": false, "dependsOn": ["US-0"] } ] }
//! ```
//!
//! Names are compared without case, `_` and `-`. Members that are not known here are left alone; `null` is the same as a member
//! that is not there.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use jsonc_parser::ast::{Array, Object, Value};
use jsonc_parser::common::Ranged;

use super::command::{self, CanRun, Directory};
use super::graph::refuse_cycles;
use super::json::{Document, text_of};
use super::outline::made_up_name;
use super::text::{one_line, paragraphs};
use super::{Draft, DraftTask, Format, Note, Problem, key};
use crate::markdown::list_item;
use crate::text::Pattern;

/// Members that hold tasks, the most telling first.
const LISTS: [&str; 9] =
    ["userstories", "stories", "features", "tasks", "items", "issues", "backlog", "todos", "requirements"];
/// Members that hold groups of tasks, each with a list of its own.
const GROUPS: [&str; 6] = ["phases", "epics", "milestones", "sprints", "modules", "sections"];
/// Members of a task that hold its parts.
const PARTS: [&str; 5] = ["subtasks", "children", "userstories", "stories", "tasks"];
/// How deep lists are looked for, and tasks are nested.
const DEEPEST: usize = 4;

const TITLES: [&str; 8] = ["title", "name", "summary", "feature", "story", "task", "text", "description"];
const IDS: [&str; 5] = ["id", "key", "storyid", "taskid", "number"];
const DEPENDENCIES: [&str; 7] =
    ["dependson", "dependencies", "blockedby", "requires", "prerequisites", "deps", "after"];
const CRITERIA: [&str; 6] =
    ["acceptancecriteria", "acceptance", "criteria", "acceptancetests", "successcriteria", "donewhen"];
const COMMANDS: [&str; 7] =
    ["verify", "verifycommand", "verification", "testcommand", "test", "validationcommand", "gate"];
/// Members that say with true whether a task is done.
const FLAGS: [&str; 7] = ["passes", "passed", "passing", "done", "completed", "complete", "implemented"];
const STATUS: [&str; 2] = ["status", "state"];

const DONE: [&str; 13] = [
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
const LEFT_OUT: [&str; 9] = [
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
const DELETED: &str = "tombstone";

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
        if has("id") && (has("issue_type") || has("_type") || (has("title") && has("status"))) {
            return Some(Format::Beads);
        }
        if has("type") && !is_list {
            return Some(Format::Lines);
        }
    }
    let is_issue = |item: &Value| {
        let has = |name: &str| item.get(name).is_some();
        has("number") && has("title") && ["state", "url", "body", "labels"].iter().any(|name| has(name))
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

pub fn read(format: Format, text: &str, can_run: CanRun<'_>) -> Result<Draft, Vec<Problem>> {
    let pieces = pieces(format, text)?;
    let mut plan = Plan { format, can_run, items: Vec::new(), notes: Vec::new(), problems: Vec::new() };
    for piece in &pieces {
        plan.collect(piece);
    }
    plan.into_draft()
}

/// Shows tasks as done or open: changes only the members that say so.
pub(crate) fn mark(format: Format, text: &str, marks: &[(&str, bool)]) -> String {
    let Ok(pieces) = pieces(format, text) else {
        return text.to_owned();
    };
    let mut plan =
        Plan { format, can_run: &|_| false, items: Vec::new(), notes: Vec::new(), problems: Vec::new() };
    for piece in &pieces {
        plan.collect(piece);
    }
    plan.name_items();
    let words = plan.status_words();
    let wanted: HashMap<&str, bool> = marks.iter().copied().collect();
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for item in &plan.items {
        let Some(done) = wanted.get(item.task.name.as_str()) else {
            continue;
        };
        for mark in &item.marks {
            edits.extend(mark.edit(*done, &words).map(|new| (mark.range.clone(), new)));
        }
    }
    edits.sort_by_key(|(range, _)| range.start);
    let mut marked = String::with_capacity(text.len() + 16);
    let mut end = 0;
    for (range, new) in edits {
        marked.push_str(&text[end..range.start]);
        marked.push_str(&new);
        end = range.end;
    }
    marked.push_str(&text[end..]);
    marked
}

/// A document in the file, and where it begins.
struct Piece<'a> {
    document: Document<'a>,
    lines_before: usize,
    offset: usize,
}

/// The whole file is one document; beads has one in each line.
fn pieces(format: Format, text: &str) -> Result<Vec<Piece<'_>>, Vec<Problem>> {
    let invalid = |words: &str, column: usize| format!("this is not valid JSON (column {column}): {words}");
    if format != Format::Beads || text.trim_start_matches('\u{feff}').trim_start().starts_with('[') {
        let document = Document::of(text, invalid).map_err(|problem| vec![problem])?;
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

/// A member that says whether a task is done, and where its value stands.
#[derive(Clone, Debug)]
struct Mark {
    range: Range<usize>,
    /// The status it gives; none where it is true or false.
    status: Option<String>,
    is_done: bool,
    /// Whether it is that of an acceptance criterion, which is set with its task and never taken back.
    is_criterion: bool,
}

impl Mark {
    /// What stands there instead, where something else has to.
    fn edit(&self, done: bool, words: &StatusWords) -> Option<String> {
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

struct StatusWords {
    done: String,
    open: String,
}

/// A task as it was read, before it is known which names the file has.
struct Item {
    task: DraftTask,
    marks: Vec<Mark>,
    /// Where its parent stands among the items.
    parent: Option<usize>,
    /// What beads calls its parent.
    parent_name: Option<String>,
    /// Names of other tasks, as written.
    after: Vec<String>,
    after_line: usize,
    /// What stands before the names of this list: a tag of Task Master's that is not the main one.
    prefix: String,
}

struct Plan<'f> {
    format: Format,
    can_run: CanRun<'f>,
    items: Vec<Item>,
    notes: Vec<Note>,
    problems: Vec<Problem>,
}

/// A list of tasks, and what it is part of.
struct List<'v, 'a> {
    array: &'v Array<'a>,
    group: Group,
}

#[derive(Clone, Default)]
struct Group {
    phase: Option<usize>,
    title: Option<String>,
    /// What stands before the names of its tasks.
    prefix: String,
}

impl Plan<'_> {
    fn collect(&mut self, piece: &Piece<'_>) {
        let value = &piece.document.value;
        // A line of beads is a task itself.
        if let (Format::Beads, Value::Object(object)) = (self.format, value) {
            let fields = Fields::new(piece, object);
            if fields.text(&["title"]).is_some() {
                self.add(&fields, 0, None, &Group::default());
            }
            return;
        }
        let lists = lists(value, self.format);
        if lists.is_empty() {
            let found = match value {
                Value::Object(object) => {
                    let names = object.properties.iter().map(|member| format!("`{}`", member.name.as_str()));
                    let names: Vec<String> = names.take(8).collect();
                    format!(
                        "found an object with {}",
                        if names.is_empty() { "no members".into() } else { names.join(", ") }
                    )
                }
                _ => "found no object".to_owned(),
            };
            let expected = format!(
                "no list of tasks; {found}; expected an array such as `userStories`, `stories`, `features` or `tasks` of objects with a title"
            );
            self.problems.push(Problem::new(piece.line(value), expected));
        }
        for list in lists {
            if list.array.elements.is_empty() {
                self.notes.push(Note::new(piece.line(list.array), "There are no tasks in this list."));
            }
            self.add_list(piece, &list, 0, None);
        }
    }

    fn add_list(&mut self, piece: &Piece<'_>, list: &List<'_, '_>, depth: usize, parent: Option<usize>) {
        for value in &list.array.elements {
            match value {
                Value::Object(object) => self.add(&Fields::new(piece, object), depth, parent, &list.group),
                other => {
                    let expected = "not a task; expected an object with a title";
                    self.problems.push(Problem::new(piece.line(other), expected));
                }
            }
        }
    }

    fn add(&mut self, fields: &Fields<'_, '_>, depth: usize, parent: Option<usize>, group: &Group) {
        let status = fields.text(&STATUS).map(|status| plain(&status));
        if status.as_deref() == Some(DELETED) {
            return;
        }
        let at = self.items.len();
        let Some(mut item) = self.item(fields, at, status.as_deref(), group) else {
            return;
        };
        item.parent = parent;
        let is_number = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        let parent = parent.map(|parent| &self.items[parent]);
        match parent.filter(|parent| is_number(&item.task.name) && !parent.task.name.is_empty()) {
            // Task Master's `1` below `3` is `3.1`, and so are the names it waits for.
            Some(Item { task: whole, .. }) => {
                item.task.name = format!("{}.{}", whole.name, item.task.name);
                for name in item.after.iter_mut().filter(|name| is_number(name)) {
                    *name = format!("{}.{name}", whole.name);
                }
            }
            None if group.prefix.is_empty() || item.task.name.is_empty() => {}
            None => item.task.name = format!("{}/{}", group.prefix, item.task.name),
        }
        // A part does not begin before its whole may.
        item.after.extend(parent.map(|parent| parent.after.clone()).unwrap_or_default());
        self.items.push(item);
        let parts = fields.get(&PARTS).and_then(Value::as_array);
        if let Some(array) = parts.filter(|parts| depth < DEEPEST && is_list(parts)) {
            let parts = List { array, group: Group { title: None, ..group.clone() } };
            self.add_list(fields.piece, &parts, depth + 1, Some(at));
        }
    }

    /// Reads one task; none where it cannot be one.
    fn item(
        &mut self,
        fields: &Fields<'_, '_>,
        at: usize,
        status: Option<&str>,
        group: &Group,
    ) -> Option<Item> {
        let line = fields.line();
        let Some(title) = fields.text(&TITLES) else {
            self.problems
                .push(Problem::new(line, "this task has no `title`; expected a text that is not empty"));
            return None;
        };
        let description = fields.text(&["description", "body"]).filter(|text| *text != title);
        let (title, rest) = headline(&title);
        let criteria = fields.lines(&CRITERIA);
        let verify = self.gate(fields);
        let list_of = |words: &str, lines: Vec<String>| match lines.is_empty() {
            true => String::new(),
            false => format!("{words}:\n- {}", lines.join("\n- ")),
        };
        let said = |name: &str, words: &str| match fields.text(&[name]) {
            Some(text) if words.is_empty() => text,
            Some(text) => format!("{words}: {text}"),
            None => String::new(),
        };
        let labels =
            [fields.lines(&["labels"]), fields.lines(&["tags"]), fields.lines(&["category"])].concat();
        let description = paragraphs([
            rest.as_deref().unwrap_or_default(),
            description.as_deref().unwrap_or_default(),
            &said("details", ""),
            &list_of("Steps", fields.lines(&["steps"])),
            &list_of("Acceptance criteria", criteria.clone()),
            &said("design", "Design"),
            &said("teststrategy", "Test strategy"),
            &said("notes", ""),
            &said("technicalnotes", ""),
            &group.title.as_ref().map(|title| format!("Part of: {title}")).unwrap_or_default(),
            &match labels.is_empty() {
                true => String::new(),
                false => format!("Labels: {}", labels.join(", ")),
            },
        ]);
        let flag = fields.get(&FLAGS).and_then(|value| Some(value.as_boolean_lit()?.value));
        let done = flag.unwrap_or_else(|| status.is_some_and(|status| DONE.contains(&status)));
        let mut marks = fields.marks();
        let criteria_marks = fields.objects(&CRITERIA).into_iter().flat_map(|criterion| criterion.marks());
        marks.extend(criteria_marks.map(|mark| Mark { is_criterion: true, ..mark }));
        let id = fields.text(&IDS);
        let name = match (&id, self.format) {
            (Some(number), Format::Github) => format!("GH-{number}"),
            (Some(id), _) => id.clone(),
            (None, _) => String::new(),
        };
        let (mut after, after_line) = fields.dependencies();
        if self.format == Format::Github {
            after = issues_named(&description);
        }
        let own_phase = fields.text(&["phase"]).filter(|phase| phase.parse::<f64>().is_ok());
        let task = DraftTask {
            named_by_author: !name.is_empty(),
            name,
            title,
            description,
            phase: own_phase.or_else(|| group.phase.map(|phase| phase.to_string())),
            verify,
            files: fields.lines(&["files", "paths"]),
            done_when: (!criteria.is_empty()).then(|| criteria.join("; ")),
            priority: fields.priority().unwrap_or_else(|| i64::try_from(at + 1).unwrap_or(i64::MAX)),
            done,
            skipped: !done && status.is_some_and(|status| LEFT_OUT.contains(&status)),
            line,
            mark: marks.iter().find(|mark| !mark.is_criterion).map(|mark| mark.range.clone()),
            ..DraftTask::default()
        };
        let parent_name = fields.parent();
        Some(Item { task, marks, parent: None, parent_name, after, after_line, prefix: group.prefix.clone() })
    }

    /// The commands that prove a task: its own, and those of its acceptance criteria.
    fn gate(&mut self, fields: &Fields<'_, '_>) -> Option<String> {
        let mut commands = Vec::new();
        let criteria = fields.objects(&CRITERIA);
        let tests = criteria.iter().flat_map(|one| one.commands().into_iter().map(|text| (one.line(), text)));
        let own = fields.commands().into_iter().map(|text| (fields.line(), text));
        for (line, text) in own.chain(tests) {
            let text = text.trim();
            match command::is_command(text, self.can_run) {
                _ if text.is_empty() => {}
                true => commands.push(text.to_owned()),
                false => self.notes.push(Note::new(
                    line,
                    format!("not a command that can run here, so it is no gate: {}", one_line(text)),
                )),
            }
        }
        command::all_of(&commands, Directory::Own)
    }

    /// Gives every task a name of its own.
    fn name_items(&mut self) {
        let mut known: HashSet<String> = HashSet::new();
        for at in 0..self.items.len() {
            let parent = self.items[at].parent.map(|parent| self.items[parent].task.name.clone());
            let Item { task, .. } = &mut self.items[at];
            if !task.name.is_empty() && !key::is_usable(&task.name) {
                let text =
                    format!("the id `{}` cannot be a key (expected {})", one_line(&task.name), key::RULE);
                self.notes.push(Note::new(task.line, text));
                task.name.clear();
            }
            if task.name.is_empty() {
                task.named_by_author = false;
                task.name = made_up_name(parent.as_deref().unwrap_or_default(), &task.title);
            }
            if known.contains(&task.name) {
                let first = task.name.clone();
                let free = (2..).map(|number| format!("{first}-{number}")).find(|name| !known.contains(name));
                task.name = free.unwrap_or_default();
                if task.named_by_author {
                    let text =
                        format!("the id `{first}` is already used; this task is called `{}`", task.name);
                    self.notes.push(Note::new(task.line, text));
                }
            }
            known.insert(task.name.clone());
            task.parent = parent;
        }
    }

    /// Links children to the parents that they name. What a parent waits for, its children wait for too.
    fn link_parents(&mut self, places: &HashMap<String, usize>) {
        for at in 0..self.items.len() {
            let parent = self.items[at].parent_name.as_ref().and_then(|name| places.get(name));
            if let Some(parent) =
                parent.copied().filter(|parent| *parent != at && !self.is_above(at, *parent))
            {
                let inherited = self.items[parent].after.clone();
                let item = &mut self.items[at];
                item.parent = Some(parent);
                item.after.extend(inherited);
                let name = self.items[parent].task.name.clone();
                self.items[at].task.parent = Some(name);
            }
        }
    }

    /// The words that the file uses for done and for open tasks, else those that are usual in its format.
    fn status_words(&self) -> StatusWords {
        let commonest = |is_done: bool| {
            let mut counts: HashMap<&str, usize> = HashMap::new();
            for mark in self.items.iter().flat_map(|item| &item.marks).filter(|mark| mark.is_done == is_done)
            {
                let status = mark.status.as_deref();
                // Work in progress is open, but an open task is not in progress.
                let status = status.filter(|status| {
                    let status = plain(status);
                    is_done
                        || !(status.contains("progress")
                            || status == "blocked"
                            || LEFT_OUT.contains(&status.as_str()))
                });
                *counts.entry(status.unwrap_or_default()).or_default() += usize::from(status.is_some());
            }
            let best = counts.into_iter().filter(|(_, count)| *count > 0);
            best.max_by_key(|(word, count)| (*count, std::cmp::Reverse(*word)))
                .map(|(word, _)| word.to_owned())
        };
        let (done, open) = match self.format {
            Format::Beads => ("closed", "open"),
            _ => ("done", "pending"),
        };
        let open = commonest(false).unwrap_or_else(|| open.to_owned());
        let usual = if plain(&open) == "notstarted" { "completed" } else { done };
        StatusWords { done: commonest(true).unwrap_or_else(|| usual.to_owned()), open }
    }

    fn into_draft(mut self) -> Result<Draft, Vec<Problem>> {
        self.name_items();
        let places: HashMap<String, usize> =
            self.items.iter().enumerate().map(|(at, item)| (item.task.name.clone(), at)).collect();
        self.link_parents(&places);
        let mut edges = Vec::with_capacity(self.items.len());
        for (at, item) in self.items.iter().enumerate() {
            let mut after = Vec::new();
            // What is done waits for nothing.
            let names = item.after.iter().filter(|_| self.format == Format::Prd || !item.task.done);
            for name in names {
                let prefixed = format!("{}/{name}", item.prefix);
                // A number below a task may mean its sibling or a task of the first level.
                let alone = name.rsplit_once('.').map_or("", |(_, number)| number);
                let prefixed_alone = format!("{}/{alone}", item.prefix);
                let known = [prefixed.as_str(), name, &prefixed_alone, alone];
                let known = known.into_iter().find_map(|name| places.get(name));
                match known {
                    Some(other) if after.contains(other) => {}
                    // A task waits for its parts anyway, and a part cannot wait for its whole.
                    Some(other) if self.is_above(*other, at) || self.is_above(at, *other) => {}
                    Some(other) => after.push(*other),
                    None if self.format == Format::Prd => self.problems.push(Problem::new(
                        item.after_line,
                        format!(
                            "no task has the id `{}`; expected the id of a task in this file",
                            one_line(name)
                        ),
                    )),
                    None => self.notes.push(Note::new(
                        item.after_line,
                        format!(
                            "`{}` is not in this file, so Ralph ignores that dependency of {}",
                            one_line(name),
                            item.task.name
                        ),
                    )),
                }
            }
            edges.push(after);
        }
        let name = |at: usize| self.items[at].task.name.as_str();
        refuse_cycles("tasks", &edges, name, |at| self.items[at].after_line, &mut self.problems);
        if !self.problems.is_empty() {
            self.problems.sort();
            return Err(self.problems);
        }
        let unmarked = self.items.iter().filter(|item| item.task.mark.is_none() && !item.task.done);
        let unmarked: Vec<&Item> = unmarked.collect();
        if let (Some(first), true) = (unmarked.first(), self.format != Format::Github) {
            let text = match unmarked.len() {
                1 => "this task has no `passes` or `status`, so Ralph cannot mark it as done in the file"
                    .to_owned(),
                count => format!(
                    "{count} tasks from here on have no `passes` or `status`, so Ralph cannot mark them as done in the file"
                ),
            };
            self.notes.push(Note::new(first.task.line, text));
        }
        let names: Vec<Vec<String>> =
            edges.iter().map(|after| after.iter().map(|at| name(*at).to_owned()).collect()).collect();
        let tasks = self.items.into_iter().zip(names);
        let tasks = tasks.map(|(item, after)| DraftTask { after, ..item.task }).collect();
        self.notes.sort_by_key(|note| note.line);
        Ok(Draft { tasks, notes: self.notes })
    }

    /// Whether `above` is the parent of `at`, or the parent of its parent, …
    fn is_above(&self, above: usize, at: usize) -> bool {
        let parents =
            |from: usize| std::iter::successors(self.items[from].parent, |at| self.items[*at].parent);
        parents(at).any(|parent| parent == above)
    }
}

/// The lists of tasks in a value: in itself, in its members, or in groups.
fn lists<'v, 'a>(value: &'v Value<'a>, format: Format) -> Vec<List<'v, 'a>> {
    let plain_list = |array| List { array, group: Group::default() };
    let object = match value {
        Value::Array(array) => return vec![plain_list(array)],
        Value::Object(object) => object,
        _ => return Vec::new(),
    };
    let arrays = |names: &[&str]| names.iter().find_map(|name| find(object, name)?.as_array());
    if let Some(array) = arrays(&LISTS).filter(|array| is_list(array)) {
        return vec![plain_list(array)];
    }
    if let Some(groups) = arrays(&GROUPS) {
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
    // The only list needs no name before its tasks'.
    if let [only] = found.as_mut_slice() {
        only.group.prefix.clear();
    }
    found
}

/// Whether an array holds tasks, or could.
fn is_list(array: &Array<'_>) -> bool {
    array.elements.iter().all(|element| element.as_object().is_some() || element.as_array().is_none())
        && array.elements.iter().filter_map(Value::as_object).all(|object| {
            object.properties.is_empty() || TITLES.iter().chain(&IDS).any(|name| find(object, name).is_some())
        })
        && (array.elements.is_empty() || array.elements.iter().any(|element| element.as_object().is_some()))
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '\'')).flat_map(char::to_lowercase).collect()
}

/// The value of the member with this name; `null` is none.
fn find<'v, 'a>(object: &'v Object<'a>, name: &str) -> Option<&'v Value<'a>> {
    let mut members = object.properties.iter().rev();
    let found = members.find(|member| plain(member.name.as_str()) == name)?;
    Some(&found.value).filter(|value| value.as_null_keyword().is_none())
}

impl Piece<'_> {
    fn line(&self, of: &impl Ranged) -> usize {
        self.lines_before + self.document.line(of)
    }
}

/// The members of a task.
struct Fields<'v, 'a> {
    piece: &'v Piece<'a>,
    object: &'v Object<'a>,
    /// The names of its members as they are compared.
    names: Vec<String>,
}

impl<'v, 'a> Fields<'v, 'a> {
    fn new(piece: &'v Piece<'a>, object: &'v Object<'a>) -> Self {
        let names = object.properties.iter().map(|member| plain(member.name.as_str())).collect();
        Self { piece, object, names }
    }

    /// The value of a member; `null` is none, and of several the last counts, as everywhere in JSON.
    fn find(&self, name: &str) -> Option<&'v Value<'a>> {
        let at = self.names.iter().rposition(|known| known == name)?;
        self.object
            .properties
            .get(at)
            .map(|member| &member.value)
            .filter(|value| value.as_null_keyword().is_none())
    }

    fn line(&self) -> usize {
        self.piece.line(self.object)
    }

    /// The first of these members that is there.
    fn get(&self, names: &[&str]) -> Option<&'v Value<'a>> {
        names.iter().find_map(|name| self.find(name))
    }

    /// The first of these members that has a text or a number.
    fn text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.find(name).and_then(word))
    }

    fn commands(&self) -> Vec<String> {
        match self.get(&COMMANDS) {
            Some(Value::Array(array)) => array.elements.iter().filter_map(text_of).collect(),
            Some(value) => text_of(value).into_iter().collect(),
            None => Vec::new(),
        }
    }

    fn objects(&self, names: &[&str]) -> Vec<Fields<'v, 'a>> {
        let array = self.get(names).and_then(Value::as_array);
        let elements = array.into_iter().flat_map(|array| &array.elements);
        let objects = elements.filter_map(Value::as_object);
        objects.map(|object| Fields::new(self.piece, object)).collect()
    }

    /// Texts, objects that have one, or one text that holds several lines.
    fn lines(&self, names: &[&str]) -> Vec<String> {
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

    /// What it waits for, and the line that says so. Beads tells the kind of each.
    fn dependencies(&self) -> (Vec<String>, usize) {
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
    fn parent(&self) -> Option<String> {
        let links = self.objects(&["dependencies"]);
        let link = links.iter().find(|link| link.text(&["type"]).as_deref() == Some("parent-child"))?;
        link.text(&["dependsonid"])
    }

    /// Smaller is sooner: a number, `P1`, or a word.
    fn priority(&self) -> Option<i64> {
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

    fn marks(&self) -> Vec<Mark> {
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

/// A text, or a number as people also write ids.
fn word(value: &Value<'_>) -> Option<String> {
    let text = match value {
        Value::NumberLit(number) => number.value.to_owned(),
        value => text_of(value)?.trim().to_owned(),
    };
    Some(text).filter(|text| !text.is_empty())
}

/// A title, and the whole text where the title is only its beginning.
fn headline(text: &str) -> (String, Option<String>) {
    let first = text.lines().next().unwrap_or(text);
    let title = one_line(first);
    (title, (first.len() < text.trim_end().len()).then(|| text.to_owned()))
}

/// `Depends on #12, #13`, `blocked by #4`.
fn issues_named(text: &str) -> Vec<String> {
    static NAMED: Pattern =
        Pattern::new(r"(?i)\b(?:depends on|blocked by|requires|after)[: ]+((?:#[0-9]+(?:,? (?:and )?)?)+)");
    let mut names = Vec::new();
    for found in NAMED.captures_iter(text) {
        let numbers = found[1].split('#').skip(1);
        let numbers =
            numbers.map(|number| number.chars().take_while(char::is_ascii_digit).collect::<String>());
        names.extend(numbers.map(|number| format!("GH-{number}")));
    }
    names
}

#[cfg(test)]
mod tests;
