//! What the tasks of a spec wait for: by the order in which they stand, by `[P]`, and by what their authors say (`depends on T012`).

use std::collections::{HashMap, HashSet};

use super::Words;
use crate::plan::Note;
use crate::plan::graph::{CYCLE, cycles, drop_cycles, sequence, with_parts};
use crate::plan::key::item_key;
use crate::plan::outline::Item;
use crate::text::Pattern;

/// How many neighbors run side by side at most.
const LARGEST_GROUP: usize = 5;

/// How many tasks a range may name: a file in which each task names all others would take forever.
const LARGEST_RANGE: usize = 200;

pub(super) struct Order<'o, 'a> {
    items: &'o [Item<'a>],
    by_name: HashMap<&'o str, usize>,
    steps: Vec<Step<'a>>,
    /// For each task those that its author says it depends on.
    depends: Vec<Vec<usize>>,
}

/// What the order of tasks depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Step<'a> {
    /// Whether it may run beside its neighbors.
    is_parallel: bool,
    /// The key of the task it is to fix, whether there is one or not.
    fix_of: Option<&'a str>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) after: Vec<usize>,
    pub(super) fix_of: Option<usize>,
}

impl<'o, 'a> Order<'o, 'a> {
    pub(super) fn of(items: &'o [Item<'a>]) -> Self {
        let names = items.iter().enumerate();
        Self {
            items,
            by_name: names.map(|(at, item)| (item.name.as_str(), at)).collect(),
            steps: Vec::with_capacity(items.len()),
            depends: vec![Vec::new(); items.len()],
        }
    }

    /// Adds a task: the words behind its key, and the texts of its fields that name others.
    pub(super) fn add(&mut self, at: usize, words: &Words<'a>, fields: &[String], notes: &mut Vec<Note>) {
        static DEPENDS_ON: Pattern = Pattern::new(r"(?i-u:\bdepends on\b:?)(?<name>.*)");
        self.steps.push(Step { is_parallel: words.is_parallel(), fix_of: words.fix_of() });
        let in_title = DEPENDS_ON.name(words.title);
        for text in fields.iter().map(String::as_str).chain(in_title) {
            let (named, unknown) = self.named(text);
            self.depends[at].extend(named.into_iter().filter(|other| *other != at));
            for name in unknown {
                let text = format!("no task has the key {name}, so Ralph ignores this dependency");
                notes.push(Note::new(self.items[at].mark.line + 1, text));
            }
        }
    }

    /// The tasks that a text such as `T008–T010, T012 and T013 (models)` begins with, and names that only look like keys.
    fn named<'t>(&self, text: &'t str) -> (Vec<usize>, Vec<&'t str>) {
        static WORD: Pattern = Pattern::new(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|[^ \t]");
        let (mut named, mut unknown) = (Vec::new(), Vec::new());
        let mut range_from = None;
        let words = WORD.regex().into_iter().flat_map(|regex| regex.find_iter(text));
        for word in words.map(|word| word.as_str()) {
            let range = || {
                let (first, last) = word.split_once('-')?;
                Some((*self.by_name.get(first)?, *self.by_name.get(last)?))
            };
            if let Some(at) = self.by_name.get(word) {
                let from = range_from.take().map_or(*at, |from: usize| from + 1);
                named.extend((from..=*at).rev().take(LARGEST_RANGE));
            } else if let Some((first, last)) = range() {
                named.extend((first..=last).rev().take(LARGEST_RANGE));
            } else if matches!(word, "-" | "–" | "—" | "to" | "through") && !named.is_empty() {
                range_from = named.iter().max().copied();
            } else if item_key(word).is_some() {
                unknown.push(word);
            } else if !matches!(
                word,
                "," | "and" | "&" | "+" | "/" | "`" | "*" | "task" | "tasks" | "Task" | "Tasks"
            ) {
                break;
            }
        }
        (named, unknown)
    }

    /// For each task what it waits for.
    pub(super) fn places(mut self, notes: &mut Vec<Note>) -> Vec<Place> {
        let fix_of = self.fixes(notes);
        self.drop_cycles(notes);
        let mut waits = self.by_order(&fix_of);
        for (at, depends) in self.depends.iter().enumerate().filter(|(_, depends)| !depends.is_empty()) {
            let mut known: HashSet<usize> = waits[at].iter().copied().collect();
            waits[at].extend(depends.iter().filter(|other| known.insert(**other)));
        }
        // A fix waits for what its original waits for by order, and the original for its fixes.
        for (at, root) in roots(&fix_of).into_iter().enumerate().filter(|(at, root)| at != root) {
            waits[at] = waits[root].clone();
        }
        for (at, of) in fix_of.iter().enumerate() {
            of.iter().for_each(|of| waits[*of].push(at));
        }
        waits.into_iter().zip(fix_of).map(|(after, fix_of)| Place { after, fix_of }).collect()
    }

    /// For each fix its original. What has none, or fixes itself in the end, is an ordinary task.
    fn fixes(&self, notes: &mut Vec<Note>) -> Vec<Option<usize>> {
        let original = |step: &Step<'_>| step.fix_of.and_then(|key| self.by_name.get(key)).copied();
        let mut fix_of: Vec<_> = self.steps.iter().map(original).collect();
        let edges: Vec<Vec<usize>> = fix_of.iter().map(|of| of.iter().copied().collect()).collect();
        for at in cycles(&edges).concat() {
            fix_of[at] = None;
        }
        for ((item, step), of) in self.items.iter().zip(&self.steps).zip(&fix_of) {
            if let Some(key) = step.fix_of.filter(|_| of.is_none()) {
                let why = match self.by_name.contains_key(key) {
                    true => "is circular",
                    false => "names no task in this file",
                };
                let text = format!("[FIX {key}] {why}: Ralph treats {} as an ordinary task", item.name);
                notes.push(Note::new(item.mark.line + 1, text));
            }
        }
        fix_of
    }

    /// Leaves out dependencies that could never be met. A part waits for what its whole waits for.
    fn drop_cycles(&mut self, notes: &mut Vec<Note>) {
        if self.depends.iter().all(Vec::is_empty) {
            return;
        }
        for (at, item) in self.items.iter().enumerate() {
            if let Some(parent) = item.parent {
                let of_whole = self.depends[parent].clone();
                self.depends[at].extend(of_whole);
            }
        }
        for at in drop_cycles(&mut self.depends, self.items.iter().map(|item| item.parent)) {
            notes.push(Note::new(self.items[at].mark.line + 1, CYCLE));
        }
    }

    /// Each task waits for the group before its own. Fixes have no place in this order, and wholes are done with their parts. Nothing waits
    /// for what is optional.
    fn by_order(&self, fix_of: &[Option<usize>]) -> Vec<Vec<usize>> {
        let mut is_whole = vec![false; self.items.len()];
        for item in self.items.iter().filter(|item| !item.is_optional) {
            item.parent.into_iter().for_each(|parent| is_whole[parent] = true);
        }
        let mut waits = vec![Vec::new(); self.items.len()];
        let mut before = Vec::new();
        let mut group: Vec<usize> = Vec::new();
        let mut group_phase = None;
        let parents: Vec<_> = self.items.iter().map(|item| item.parent).collect();
        let in_order = |at: &usize| fix_of[*at].is_none() && !is_whole[*at];
        for at in sequence(&with_parts(&self.depends, &parents)).into_iter().filter(in_order) {
            let item = &self.items[at];
            if item.is_optional {
                let is_around = |other: &usize| self.is_within(at, *other);
                waits[at] = if group.iter().any(is_around) { before.clone() } else { group.clone() };
                continue;
            }
            let phase = self.steps[at].is_parallel.then_some(item.phase_count);
            let joins = phase.is_some() && group_phase == phase && group.len() < LARGEST_GROUP;
            if !joins {
                before = std::mem::take(&mut group);
                group_phase = phase;
            }
            group.push(at);
            waits[at] = before.clone();
        }
        waits
    }

    fn is_within(&self, at: usize, whole: usize) -> bool {
        std::iter::successors(Some(at), |at| self.items[*at].parent).any(|at| at == whole)
    }
}

/// For each task the one at the end of its chain of fixes; itself where it is no fix.
pub(super) fn roots(fix_of: &[Option<usize>]) -> Vec<usize> {
    let mut roots: Vec<usize> = (0..fix_of.len()).collect();
    for at in 0..fix_of.len() {
        let mut chain = Vec::new();
        let mut here = at;
        // Each task is passed once, since a chain that was followed knows its root.
        while let Some(of) = fix_of[here]
            && roots[here] == here
        {
            chain.push(here);
            here = of;
        }
        for one in chain {
            roots[one] = roots[here];
        }
    }
    roots
}
