//! A whole file as a draft of a plan.

use std::collections::HashMap;

use super::blocks::Blocks;
use super::command::Programs;
use super::lines::{Kind, Line};
use super::nearly::nearly_a_task;
use super::order::{Step, in_circles, waits};
use super::phase::Phases;
use super::syntax::heading;
use super::task::Read;
use crate::plan_files::{Draft, DraftTask, Note, Problem};

/// Reads a spec. `can_run` says whether a program of this name is there; it tells commands from
/// prose in a `Verify` that is no code.
///
/// # Errors
///
/// All that keeps the file from being a plan, in the order of lines.
pub fn read(text: &str, can_run: &dyn Fn(&str) -> bool) -> Result<Draft, Vec<Problem>> {
    let mut lines = Vec::with_capacity(text.len() / 32);
    let blocks = Blocks::with_lines(text, |line| lines.push(line));
    let mut notes = hidden_tasks(&lines, &blocks);
    if blocks.all.is_empty() {
        return Err(without_tasks(notes));
    }
    let (reads, mut steps) = read_blocks(&lines, &blocks, can_run);
    let numbers = first_numbers(&reads);
    let problems = problems(&reads, &numbers);
    if !problems.is_empty() {
        return Err(problems);
    }
    link_fixes(&reads, &numbers, &mut steps, &mut notes);
    let mut tasks = Vec::with_capacity(reads.len());
    for read in reads {
        notes.extend(read.notes);
        tasks.push(read.task);
    }
    put_in_order(&mut tasks, &steps);
    notes.sort_by_key(|note| note.line);
    Ok(Draft { tasks, notes })
}

fn read_blocks<'a>(
    lines: &[Line<'a>],
    blocks: &Blocks<'a>,
    can_run: &dyn Fn(&str) -> bool,
) -> (Vec<Read<'a>>, Vec<Step>) {
    let mut programs = Programs::new(can_run);
    let mut phases = Phases::default();
    let mut passed = 0;
    let mut reads = Vec::with_capacity(blocks.all.len());
    let mut steps = Vec::with_capacity(blocks.all.len());
    for block in &blocks.all {
        for line in lines.get(passed..block.lines.start).unwrap_or_default() {
            let found = heading(line.text).filter(|_| line.kind == Kind::Heading);
            found
                .into_iter()
                .for_each(|(level, words)| phases.pass(level, words));
        }
        passed = block.lines.start;
        let own = lines.get(block.lines.clone()).unwrap_or_default();
        let mut read = Read::of(block, own, &mut programs);
        read.task.phase = phases.number().map(str::to_owned);
        steps.push(Step {
            is_parallel: read.is_parallel,
            phase: phases.count,
            fix_of: None,
        });
        reads.push(read);
    }
    (reads, steps)
}

/// The number of the first task with each key.
fn first_numbers(reads: &[Read<'_>]) -> HashMap<String, usize> {
    let mut numbers = HashMap::with_capacity(reads.len());
    for (at, read) in reads.iter().enumerate() {
        numbers.entry(read.task.name.clone()).or_insert(at);
    }
    numbers
}

fn problems(reads: &[Read<'_>], numbers: &HashMap<String, usize>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (at, read) in reads.iter().enumerate() {
        let DraftTask { name, line, .. } = &read.task;
        if read.task.title.is_empty() {
            let expected = format!("task {name} has no title, expected `- [ ] {name} Title`");
            problems.push(Problem {
                line: *line,
                expected,
            });
        }
        let first = numbers.get(name).and_then(|first| reads.get(*first));
        if let Some(first) = first.filter(|_| numbers.get(name) != Some(&at)) {
            let of = first.task.line;
            let expected =
                format!("line {line} repeats the key {name} of line {of}, expected a unique key");
            problems.push(Problem {
                line: *line,
                expected,
            });
        }
    }
    problems
}

/// Tells each fix its original. What has none, or mends itself in the end, is an ordinary task.
fn link_fixes(
    reads: &[Read<'_>],
    numbers: &HashMap<String, usize>,
    steps: &mut [Step],
    notes: &mut Vec<Note>,
) {
    let original = |read: &Read<'_>| read.fix_of.and_then(|key| numbers.get(key)).copied();
    let mut fix_of: Vec<_> = reads.iter().map(original).collect();
    for at in in_circles(&fix_of) {
        fix_of.get_mut(at).into_iter().for_each(|of| *of = None);
    }
    for ((read, step), of) in reads.iter().zip(steps).zip(fix_of) {
        step.fix_of = of;
        if let Some(key) = read.fix_of.filter(|_| of.is_none()) {
            let why = match numbers.contains_key(key) {
                true => format!("[FIX {key}] is circular"),
                false => format!("[FIX {key}] names no task in this file"),
            };
            let text = format!("{why}: Ralph treats {} as an ordinary task", read.task.name);
            notes.push(Note {
                line: read.task.line,
                text,
            });
        }
    }
}

fn put_in_order(tasks: &mut [DraftTask], steps: &[Step]) {
    let names: Vec<_> = tasks.iter().map(|task| task.name.clone()).collect();
    let name = |at: usize| names.get(at).cloned();
    for ((task, step), waits) in tasks.iter_mut().zip(steps).zip(waits(steps)) {
        task.after = waits.into_iter().filter_map(name).collect();
        task.fix_of = step.fix_of.and_then(name);
    }
}

/// Notes on what may be meant as tasks and is not seen.
fn hidden_tasks(lines: &[Line<'_>], blocks: &Blocks<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    for (at, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.kind == Kind::Text)
    {
        if let Some(key) = nearly_a_task(line.text) {
            let text = format!("this checkbox is not a task; a task line is `- [ ] {key} Title`");
            notes.push(Note { line: at + 1, text });
        }
    }
    notes.extend(blocks.never_closed.map(|at| {
        let text = "this block is never closed and hides everything after it".to_owned();
        Note { line: at + 1, text }
    }));
    notes
}

fn without_tasks(notes: Vec<Note>) -> Vec<Problem> {
    let expected = "no tasks found, expected lines such as `- [ ] 1.1 Create the module`";
    let first = Problem {
        line: 1,
        expected: expected.to_owned(),
    };
    let others = notes.into_iter().map(|Note { line, text }| Problem {
        line,
        expected: text,
    });
    std::iter::once(first).chain(others).collect()
}
