//! Specs in `tasks.md`: reading them as drafts of plans, and changing in them only what changed (`edit`).
//!
//! ```text
//! outline (tasks, their steps and the lines below them) ─► entries ─► fields, gate ─┐
//!            └─► phases, order, dependencies ─────────────────────────────────────────┴─► Draft
//! ```

mod edit;
mod fields;
mod gate;
mod order;

use self::fields::Fields;
use self::order::Order;
use super::command::CanRun;
use super::outline::{Dialect, Item, Outline, title_of};
use super::{Draft, DraftTask, NO_TASKS, Note, Problem};
use crate::text::Pattern;

pub use edit::render;

#[derive(Debug)]
pub struct Spec<'a> {
    text: &'a str,
    outline: Outline<'a>,
}

impl<'a> Spec<'a> {
    pub fn of(text: &'a str) -> Self {
        Self { text, outline: Outline::of(text, Dialect::Spec) }
    }

    /// Whether a task has a key as specs have them.
    pub fn is_spec(&self) -> bool {
        self.outline.is_spec()
    }

    pub fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    fn find(&self, key: &str) -> Option<&Item<'a>> {
        self.outline.items.iter().find(|item| item.name == key)
    }

    /// Reads the spec. `can_run` says whether a program of this name is there; it tells commands from
    /// prose in a `Verify` that is no code.
    pub fn read(&self, can_run: &dyn Fn(&str) -> bool) -> Result<Draft, Vec<Problem>> {
        let items = &self.outline.items;
        let mut notes = self.outline.notes.clone();
        if items.is_empty() {
            let hidden = notes.into_iter().map(|note| Problem::new(note.line, note.text));
            return Err([Problem::new(1, NO_TASKS)].into_iter().chain(hidden).collect());
        }
        let mut tasks = Vec::with_capacity(items.len());
        let mut order = Order::of(items);
        for (at, item) in items.iter().enumerate() {
            let words = Words::of(item.words);
            let mut fields = self.fields(item, can_run);
            let depends = std::mem::take(&mut fields.depends);
            order.add(at, &words, &depends, &mut notes);
            tasks.push(self.task(item, &words, fields, can_run, &mut notes));
        }
        for (task, place) in tasks.iter_mut().zip(order.places(&mut notes)) {
            let name = |at: usize| items[at].name.clone();
            task.after = place.after.into_iter().map(name).collect();
            task.fix_of = place.fix_of.map(name);
        }
        let mut draft = Draft { tasks, notes };
        draft.note_open_parts();
        Ok(draft)
    }

    fn fields(&self, item: &Item<'a>, can_run: CanRun<'_>) -> Fields {
        Fields::of(&self.outline.lines_below(item), can_run)
    }

    fn task(
        &self,
        item: &Item<'a>,
        words: &Words<'a>,
        mut fields: Fields,
        can_run: CanRun<'_>,
        notes: &mut Vec<Note>,
    ) -> DraftTask {
        if words.has("VERIFY") && fields.verify_at.is_none() {
            fields.gate.add_title(words.title, can_run);
        }
        let line = item.mark.line + 1;
        let verify_at = fields.verify_at.and_then(|at| item.below.get(at));
        let verify_line = verify_at.map_or(line, |at| at + 1);
        let told = fields.gate.notes().into_iter();
        notes.extend(told.map(|text| Note::new(verify_line, text)));
        for step in item.steps.iter().filter(|step| item.mark.is_done && !step.is_done) {
            let text = "this step is open, but its task is checked; Ralph treats the task as done";
            notes.push(Note::new(step.line + 1, text));
        }
        DraftTask {
            name: item.name.clone(),
            named_by_author: item.key.is_some(),
            title: match words.title {
                "" => item.title(),
                title => title_of(title),
            },
            description: fields.description(),
            phase: item.phase.map(str::to_owned),
            parent: item.parent.map(|parent| self.outline.items[parent].name.clone()),
            verify: fields.gate.command(),
            done_when: fields.done_when(),
            files: fields.files,
            protect: fields.protect,
            may_change: fields.may_change,
            commit: fields.commit,
            markers: words.markers.iter().map(ToString::to_string).collect(),
            done: item.mark.is_done,
            optional: item.is_optional,
            steps: item.steps.iter().map(|step| step.line + 1).collect(),
            line,
            mark: Some(item.mark.at..item.mark.at + 1),
            ..DraftTask::default()
        }
    }
}

/// Markers and title of a task, told apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Words<'a> {
    markers: Vec<&'a str>,
    title: &'a str,
}

impl<'a> Words<'a> {
    fn of(words: &'a str) -> Self {
        let mut found = Self { markers: Vec::new(), title: words.trim() };
        while let Some((marker, after)) = leading_marker(found.title) {
            found.markers.push(marker);
            found.title = after.trim_start();
        }
        found
    }

    fn fix_of(&self) -> Option<&'a str> {
        self.markers.iter().find_map(|marker| fixed_key(marker))
    }

    /// Whether it may run beside its neighbors. A checkpoint never does.
    fn is_parallel(&self) -> bool {
        self.has("P") && !self.has("VERIFY")
    }

    fn has(&self, name: &str) -> bool {
        self.markers.iter().any(|marker| is_named(marker, name))
    }
}

/// Text within the brackets of a marker at the start, and what stands after them.
fn leading_marker(text: &str) -> Option<(&str, &str)> {
    let (marker, after) = text.strip_prefix('[')?.split_once(']')?;
    static STORY: Pattern = Pattern::new("^US-?[0-9]{1,4}$");
    let names = ["P", "VERIFY", "RED", "GREEN", "YELLOW"];
    let is_known = fixed_key(marker).is_some()
        || STORY.is_match(marker)
        || names.into_iter().any(|name| is_named(marker, name));
    // `[P](…)` is a link.
    let stands_alone = after.is_empty() || after.starts_with([' ', '\t', '[']);
    (is_known && stands_alone).then_some((marker, after))
}

/// Whether a marker is `NAME` or `NAME:SUFFIX`.
fn is_named(marker: &str, name: &str) -> bool {
    let rest = marker.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with(':') && rest.len() > 1))
}

fn fixed_key(marker: &str) -> Option<&str> {
    let key = marker.strip_prefix("FIX ")?.trim();
    let is_one_word = !key.is_empty() && !key.contains([' ', '\t']);
    is_one_word.then_some(key)
}

#[cfg(test)]
mod tests;
