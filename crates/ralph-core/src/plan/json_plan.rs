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

mod fields;
mod lists;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use jsonc_parser::ast::Value;

use self::fields::{
    CRITERIA, DELETED, DONE, FLAGS, Fields, IDS, LEFT_OUT, Mark, Piece, STATUS, StatusWords, TITLES, pieces,
    plain,
};
pub(crate) use self::lists::format_of;
use self::lists::{Group, List, is_list, lists};
use super::check::{check, runnable};
use super::command::{CanRun, Directory, all_of, is_command};
use super::graph::{CYCLE, drop_cycles};
use super::json::text_of;
use super::outline::made_up_name;
use super::text::{is_placeholder, one_line, paragraphs};
use super::{Draft, DraftTask, Format, Note, Problem, key};
use crate::text::Pattern;

/// Members of a task that hold its parts.
const PARTS: [&str; 5] = ["subtasks", "children", "userstories", "stories", "tasks"];
/// How deep lists are looked for, and tasks are nested.
const DEEPEST: usize = 4;

pub fn read(format: Format, text: &str, can_run: CanRun<'_>) -> Result<Draft, Vec<Problem>> {
    let pieces = pieces(format, text)?;
    let mut plan = Plan { format, can_run, items: Vec::new(), notes: Vec::new(), problems: Vec::new() };
    for piece in &pieces {
        let fault = piece.document.fault.iter();
        plan.notes.extend(
            fault.map(|fault| Note::new(fault.line, format!("{}; Ralph reads it anyway", fault.expected))),
        );
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
        let mut others = Vec::new();
        for value in &list.array.elements {
            match (value, text_of(value)) {
                (Value::Object(object), _) => {
                    self.add(&Fields::new(piece, object), depth, parent, &list.group);
                }
                (text, Some(words)) if !words.trim().is_empty() => {
                    self.add_text(&words, piece.line(text), parent, &list.group);
                }
                (other, _) => others.push(piece.line(other)),
            }
        }
        if let [first, more @ ..] = others.as_slice() {
            let more = match more.len() {
                0 => String::new(),
                count => format!(" (nor are {count} elements after it)"),
            };
            let expected = format!("not a task{more}; expected an object with a title");
            self.problems.push(Problem::new(*first, expected));
        }
    }

    /// Adds a task that is no more than its title.
    fn add_text(&mut self, words: &str, line: usize, parent: Option<usize>, group: &Group) {
        let (title, rest) = headline(words);
        let task = DraftTask {
            title,
            description: rest.unwrap_or_default(),
            phase: group.phase.map(|phase| phase.to_string()),
            priority: i64::try_from(self.items.len() + 1).unwrap_or(i64::MAX),
            line,
            ..DraftTask::default()
        };
        let prefix = group.prefix.clone();
        let (marks, after) = (Vec::new(), Vec::new());
        self.items.push(Item { task, marks, parent, parent_name: None, after, after_line: line, prefix });
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
            &if self.format == Format::Prd { fields.others() } else { String::new() },
            &group.title.as_ref().map(|title| format!("Part of: {title}")).unwrap_or_default(),
            &if labels.is_empty() { String::new() } else { format!("Labels: {}", labels.join(", ")) },
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
            let is_script = text.contains(['|', '&', ';']) && is_command(&text, self.can_run);
            let command = if is_script { runnable(&text, self.can_run) } else { check(&text, self.can_run) };
            match command {
                _ if is_placeholder(&text) => {}
                Ok(command) => commands.push(command),
                Err(why) => self.notes.push(Note::new(
                    line,
                    format!("this check cannot be a gate ({why}): {}", one_line(&text)),
                )),
            }
        }
        all_of(&commands, Directory::Own)
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
        for at in drop_cycles(&mut edges, self.items.iter().map(|item| item.parent)) {
            self.notes.push(Note::new(self.items[at].task.line, CYCLE));
        }
        let name = |at: usize| self.items[at].task.name.as_str();
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
        let mut draft = Draft { tasks, notes: self.notes };
        draft.note_open_parts();
        Ok(draft)
    }

    /// Whether `above` is the parent of `at`, or the parent of its parent, …
    fn is_above(&self, above: usize, at: usize) -> bool {
        let parents =
            |from: usize| std::iter::successors(self.items[from].parent, |at| self.items[*at].parent);
        parents(at).any(|parent| parent == above)
    }
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
