//! Specs in `tasks.md`: reading them as drafts of plans, and changing in them only what changed (`edit`).
//!
//! ```text
//! lines ─► blocks (a task line and what stands below it) ─► entries ─► fields, gate ─┐
//!            └─► headings ─► phases, order ────────────────────────────────────────────┴─► Draft
//! ```

mod edit;
mod fields;
mod gate;

use std::collections::HashMap;
use std::ops::Range;

use self::fields::Fields;
use super::command::CanRun;
use super::graph::cycles;
use super::key::{leading_spec_key, spec_key};
use super::text::Phases;
use super::{Draft, DraftTask, Note, Problem};
use crate::markdown::{Lines, checkbox, is_rule};
use crate::text::Pattern;

pub use edit::{mark, render};

/// How many neighbors run side by side at most.
const LARGEST_GROUP: usize = 5;

#[derive(Debug)]
pub struct Spec<'a> {
    text: &'a str,
    file: Lines<'a>,
    blocks: Vec<Block<'a>>,
}

/// A task line with what stands below it, up to the next task or heading.
#[derive(Clone, Debug)]
struct Block<'a> {
    key: &'a str,
    is_done: bool,
    /// Markers and title.
    words: &'a str,
    /// Where the character in its box stands in the file, in bytes.
    mark: usize,
    /// Numbers of its lines, counted from 0.
    lines: Range<usize>,
    /// The line after its content: blank lines and rules that follow only lead over to what comes next.
    content_end: usize,
}

impl<'a> Spec<'a> {
    pub fn of(text: &'a str) -> Self {
        let file = Lines::of(text);
        let mut blocks: Vec<Block<'a>> = Vec::new();
        let mut is_open = false;
        for (at, line) in file.lines.iter().enumerate() {
            if let Some((key, words, is_done)) = task_line(line.text)
                && line.hidden.is_none()
            {
                is_open = true;
                blocks.push(Block {
                    key,
                    is_done,
                    words,
                    mark: line.start + "- [".len(),
                    lines: at..at + 1,
                    content_end: at + 1,
                });
                continue;
            }
            is_open &= line.heading().is_none();
            if let Some(block) = blocks.last_mut().filter(|_| is_open) {
                block.lines.end = at + 1;
                let is_rule = line.hidden.is_none() && is_rule(line.text);
                if !line.words().is_empty() && !is_rule {
                    block.content_end = at + 1;
                }
            }
        }
        Self { text, file, blocks }
    }

    /// Whether it has no task line: some checkbox at column 0, in no fence, with a key.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// Where the boxes of the tasks stand, in bytes. Of several tasks with one key the first counts.
    pub fn marks(&self) -> HashMap<String, usize> {
        let marks = self.blocks.iter().rev();
        marks.map(|block| (block.key.to_owned(), block.mark)).collect()
    }

    fn find(&self, key: &str) -> Option<&Block<'a>> {
        self.blocks.iter().find(|block| block.key == key)
    }

    fn fields(&self, block: &Block<'a>, can_run: CanRun<'_>) -> Fields {
        Fields::of(&self.file.lines[block.lines.start + 1..block.content_end], can_run)
    }

    /// Reads the spec. `can_run` says whether a program of this name is there; it tells commands from
    /// prose in a `Verify` that is no code.
    pub fn read(&self, can_run: &dyn Fn(&str) -> bool) -> Result<Draft, Vec<Problem>> {
        let mut notes = self.hidden_tasks();
        if self.blocks.is_empty() {
            let expected = "no tasks found, expected lines such as `- [ ] 1.1 Create the module`";
            let hidden = notes.into_iter().map(|note| Problem::new(note.line, note.text));
            return Err([Problem::new(1, expected)].into_iter().chain(hidden).collect());
        }
        let mut first: HashMap<&str, usize> = HashMap::with_capacity(self.blocks.len());
        let mut tasks = Vec::with_capacity(self.blocks.len());
        let mut steps = Vec::with_capacity(self.blocks.len());
        let mut problems = Vec::new();
        let mut phases = Phases::default();
        let mut passed = 0;
        for (at, block) in self.blocks.iter().enumerate() {
            for (level, words) in
                self.file.lines[passed..block.lines.start].iter().filter_map(|l| l.heading())
            {
                phases.heading(level, words);
            }
            passed = block.lines.start;
            let words = Words::of(block.words);
            let mut task = self.task(block, &words, can_run, &mut notes);
            task.phase = phases.current().map(str::to_owned);
            let (line, key) = (task.line, block.key);
            if task.title.is_empty() {
                let expected = format!("task {key} has no title, expected `- [ ] {key} Title`");
                problems.push(Problem::new(line, expected));
            }
            let of = *first.entry(key).or_insert(at);
            if of != at {
                let of = self.blocks[of].lines.start + 1;
                let expected =
                    format!("line {line} repeats the key {key} of line {of}, expected a unique key");
                problems.push(Problem::new(line, expected));
            }
            steps.push(Step {
                is_parallel: words.is_parallel(),
                phase: phases.count,
                fix_of: words.fix_of(),
            });
            tasks.push(task);
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let fix_of = self.fixes(&steps, &first, &mut notes);
        let waits = waits(&steps, &fix_of);
        let name = |at: usize| self.blocks[at].key.to_owned();
        for ((task, waits), of) in tasks.iter_mut().zip(waits).zip(fix_of) {
            task.after = waits.into_iter().map(name).collect();
            task.fix_of = of.map(name);
        }
        notes.sort_by_key(|note| note.line);
        Ok(Draft { tasks, notes })
    }

    fn task(
        &self,
        block: &Block<'a>,
        words: &Words<'a>,
        can_run: CanRun<'_>,
        notes: &mut Vec<Note>,
    ) -> DraftTask {
        let mut fields = self.fields(block, can_run);
        if words.has("VERIFY") && fields.verify_at.is_none() {
            fields.gate.add_title(words.title, can_run);
        }
        let line = block.lines.start + 1;
        let verify_line = fields.verify_at.map_or(line, |at| line + 1 + at);
        let told = fields.gate.notes().into_iter();
        notes.extend(told.map(|text| Note::new(verify_line, text)));
        DraftTask {
            name: block.key.to_owned(),
            named_by_author: true,
            title: words.title.to_owned(),
            description: fields.description(),
            verify: fields.gate.command(),
            done_when: fields.done_when(),
            files: fields.files,
            commit: fields.commit,
            markers: words.markers.iter().map(ToString::to_string).collect(),
            done: block.is_done,
            line,
            mark: Some(block.mark..block.mark + 1),
            ..DraftTask::default()
        }
    }

    /// Notes on what may be meant as tasks and is not seen.
    fn hidden_tasks(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        let mut blocks = self.blocks.iter().map(|block| block.lines.start).peekable();
        for (at, line) in self.file.lines.iter().enumerate() {
            let is_task = blocks.next_if_eq(&at).is_some();
            if let Some(key) = nearly_a_task(line.text)
                && !is_task
                && line.hidden.is_none()
            {
                let text = format!("this checkbox is not a task; a task line is `- [ ] {key} Title`");
                notes.push(Note::new(at + 1, text));
            }
        }
        if !self.file.tail.is_empty() {
            let text = "this block is never closed and hides everything after it";
            notes.push(Note::new(self.file.lines.len() + 1, text));
        }
        notes
    }

    /// For each fix its original. What has none, or fixes itself in the end, is an ordinary task.
    fn fixes(
        &self,
        steps: &[Step<'_>],
        first: &HashMap<&str, usize>,
        notes: &mut Vec<Note>,
    ) -> Vec<Option<usize>> {
        let original = |step: &Step<'_>| step.fix_of.and_then(|key| first.get(key)).copied();
        let mut fix_of: Vec<_> = steps.iter().map(original).collect();
        let edges: Vec<Vec<usize>> = fix_of.iter().map(|of| of.iter().copied().collect()).collect();
        for at in cycles(&edges).concat() {
            fix_of[at] = None;
        }
        for ((block, step), of) in self.blocks.iter().zip(steps).zip(&fix_of) {
            if let Some(key) = step.fix_of.filter(|_| of.is_none()) {
                let why = match first.contains_key(key) {
                    true => "is circular",
                    false => "names no task in this file",
                };
                let text = format!("[FIX {key}] {why}: Ralph treats {} as an ordinary task", block.key);
                notes.push(Note::new(block.lines.start + 1, text));
            }
        }
        fix_of
    }
}

/// Key, markers with title, and whether it is done, of a line such as `- [ ] 1.3 [P] Title` at column 0.
fn task_line(line: &str) -> Option<(&str, &str, bool)> {
    if !line.starts_with("- [") {
        return None;
    }
    let found = checkbox(line)?;
    let (key, words) = spec_key(found.words)?;
    Some((key, words, found.is_ticked()?))
}

/// The key in a line such as `- [ ] **1.3** Title` or `* [ ] 1.3 Title`, which a person may take
/// for a task line.
fn nearly_a_task(line: &str) -> Option<&str> {
    static BOX: Pattern = Pattern::new(r"^[-*+][ \t]*\[[^\]]?\][ \t]*[*_`#(\[]*(?i-u:task )?(.*)$");
    let (key, rest) = leading_spec_key(BOX.captures(line)?.get(1)?.as_str())?;
    (!rest.starts_with(char::is_alphanumeric)).then_some(key)
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
    let names = ["P", "VERIFY", "RED", "GREEN", "YELLOW"];
    let is_known = fixed_key(marker).is_some() || names.into_iter().any(|name| is_named(marker, name));
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

/// What the order of tasks depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Step<'a> {
    /// Whether it may run beside its neighbors.
    is_parallel: bool,
    /// Which phase it is in; only sameness counts.
    phase: usize,
    /// The key of the task it is to fix, whether there is one or not.
    fix_of: Option<&'a str>,
}

/// For each task the numbers of those it waits for; fixes are given without cycles. A fix waits for what its original waits for
/// by order, and the original for its fixes.
fn waits(steps: &[Step<'_>], fix_of: &[Option<usize>]) -> Vec<Vec<usize>> {
    let mut waits = by_order(steps, fix_of);
    for (at, root) in roots(fix_of).into_iter().enumerate().filter(|(at, root)| at != root) {
        waits[at] = waits[root].clone();
    }
    // After all, since what an original waits for by order must not hold its fixes.
    for (at, of) in fix_of.iter().enumerate() {
        of.iter().for_each(|of| waits[*of].push(at));
    }
    waits
}

/// The order of all that are no fixes: each waits for the group before its own.
fn by_order(steps: &[Step<'_>], fix_of: &[Option<usize>]) -> Vec<Vec<usize>> {
    let mut waits = vec![Vec::new(); steps.len()];
    let mut before = Vec::new();
    let mut group: Vec<usize> = Vec::new();
    let mut group_phase = None;
    for (at, step) in steps.iter().enumerate().filter(|(at, _)| fix_of[*at].is_none()) {
        let phase = step.is_parallel.then_some(step.phase);
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

/// For each task the one at the end of its chain of fixes; itself where it is no fix.
fn roots(fix_of: &[Option<usize>]) -> Vec<usize> {
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

#[cfg(test)]
mod tests;
