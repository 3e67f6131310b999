//! What a state file says.

use super::model::{FixEntry, SpecState, StateProblem, key};
use super::scan::{Document, Member, Object};
use super::value::{count, parsed};
use crate::text::one_line;

const FOUND_CHARS: usize = 40;

pub(super) fn read(document: &Document<'_>) -> SpecState {
    let mut reader = Reader {
        document,
        notes: Vec::new(),
    };
    let mut state = SpecState::default();
    for (name, member) in document.root.named() {
        match name {
            key::RECOVERY_MODE => {
                state.recovery_mode = reader.value(name, member, "true or false", parsed);
            }
            key::MAX_FIX_TASKS_PER_ORIGINAL => {
                state.max_fix_tasks_per_original = reader.limit(name, member);
            }
            key::MAX_FIX_TASK_DEPTH => state.max_fix_task_depth = reader.limit(name, member),
            key::MAX_TASK_ITERATIONS => state.max_task_iterations = reader.limit(name, member),
            key::TASK_INDEX => state.task_index = reader.count(name, member),
            key::TOTAL_TASKS => state.total_tasks = reader.count(name, member),
            key::TASK_ITERATION => state.task_iteration = reader.count(name, member),
            key::PHASE => state.phase = reader.value(name, member, "a string", parsed),
            key::FIX_TASK_MAP => state.fix_task_map = reader.fix_task_map(name, member),
            _ => state
                .other
                .push((name.to_owned(), document.part(&member.value).to_owned())),
        }
    }
    state.notes = reader.finished_notes();
    state
}

struct Reader<'d, 'a> {
    document: &'d Document<'a>,
    /// Where in the text, and what.
    notes: Vec<(usize, String)>,
}

impl<'a> Reader<'_, 'a> {
    /// A value of the right kind. `null` is no value; another kind is noted.
    fn value<T>(
        &mut self,
        name: &str,
        member: &Member,
        expected: &str,
        read: impl FnOnce(&'a str) -> Option<T>,
    ) -> Option<T> {
        let json = self.document.part(&member.value);
        if json == "null" {
            return None;
        }
        let value = read(json);
        if value.is_none() {
            let found = one_line(json, FOUND_CHARS);
            let note = format!("`{name}` is ignored: expected {expected}, found {found}");
            self.notes.push((member.start(), note));
        }
        value
    }

    fn count(&mut self, name: &str, member: &Member) -> Option<usize> {
        self.value(name, member, "a whole number", count)
    }

    fn limit(&mut self, name: &str, member: &Member) -> Option<usize> {
        let positive = |json: &str| count(json).filter(|number| *number > 0);
        self.value(name, member, "a positive integer", positive)
    }

    fn object(&mut self, name: &str, member: &Member) -> Option<Object> {
        let (text, range) = (self.document.text, member.value.clone());
        self.value(name, member, "an object", |_| Object::of(text, range))
    }

    fn fix_task_map(&mut self, name: &str, member: &Member) -> Vec<(String, FixEntry)> {
        let Some(map) = self.object(name, member) else {
            return Vec::new();
        };
        let entries = map.named().into_iter().filter_map(|(task, member)| {
            let entry = self.object(task, member)?;
            Some((task.to_owned(), self.fix_entry(&entry)))
        });
        entries.collect()
    }

    fn fix_entry(&mut self, entry: &Object) -> FixEntry {
        let ids = entry.get(key::FIX_TASK_IDS);
        let ids = ids.and_then(|ids| self.value(key::FIX_TASK_IDS, ids, "a list of keys", parsed));
        let fix_task_ids: Vec<String> = ids.unwrap_or_default();
        let attempts = entry.get(key::ATTEMPTS);
        let attempts = attempts.and_then(|attempts| self.count(key::ATTEMPTS, attempts));
        let error = entry.get(key::LAST_ERROR);
        let error = error.and_then(|error| self.value(key::LAST_ERROR, error, "a string", parsed));
        FixEntry {
            attempts: attempts.unwrap_or(fix_task_ids.len()),
            fix_task_ids,
            last_error: error.unwrap_or_default(),
        }
    }

    /// The notes with their lines, which are counted in one go.
    fn finished_notes(mut self) -> Vec<StateProblem> {
        self.notes.sort_by_key(|(at, _)| *at);
        let (mut line, mut counted) = (1, 0);
        let notes = self.notes.into_iter().map(|(at, expected)| {
            let between = self.document.part(&(counted..at));
            line += between.matches('\n').count();
            counted = at;
            StateProblem { line, expected }
        });
        notes.collect()
    }
}
