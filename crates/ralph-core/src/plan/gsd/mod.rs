//! Plans of get-shit-done: `.planning/phases/NN-slug/NN-MM-PLAN.md` and `.planning/ROADMAP.md`.
//!
//! ```text
//! plan file ─► frontmatter (wave, depends_on) + elements (objective, tasks) ─► plan ─┐
//! roadmap ───► order of phases, titles, ticks ───────────────────────────────────────┴─► draft
//! ```
//!
//! A plan is a task and its task elements are its parts, done one after another. Plans wait for
//! what `depends_on` names, for the wave before theirs and, in a first wave, for the phase before.
//! Whatever a plan waits for its first part waits for too, since only tasks without parts are run.

mod body;
mod markup;
mod plan;
mod roadmap;

use std::collections::{HashMap, HashSet};

use self::body::open_boxes;
use self::plan::Plan;
use self::roadmap::{Named, Names, PlanId, Roadmap, Shown, finished_id, normal, order, without_kind};
use super::graph::{CYCLE, drop_cycles, sequence};
use super::{Draft, DraftTask, FileProblem, Note, Problem};

/// How many plans there may be: all of one phase may wait for all of another.
const MOST: usize = 2000;

/// The files of a `.planning` directory, read by the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GsdFiles {
    /// Path and text of every `NN-MM-PLAN.md`, in any order.
    pub plans: Vec<(String, String)>,
    pub roadmap: Option<(String, String)>,
    /// Paths of SUMMARY files without `-SUMMARY.md`, or ids such as `01-02`, of the plans that are finished.
    pub finished: Vec<String>,
}

/// Reads the plans of a `.planning` directory. `can_run` tells whether there is a program of a name,
/// by which commands are told from sentences.
pub fn read(files: &GsdFiles, can_run: &dyn Fn(&str) -> bool) -> Result<Draft, Vec<FileProblem>> {
    let mut problems = Vec::new();
    let roadmap = files.roadmap.as_ref();
    let roadmap = roadmap.map_or_else(Roadmap::default, |(_, text)| Roadmap::of(text));
    let mut notes = Vec::new();
    let mut plans = read_plans(files, &roadmap, can_run, &mut notes, &mut problems);
    sort(&mut plans, &roadmap);
    let names = Names::of(&plans, &files.finished, &roadmap);
    let waits = waits(&plans, &names, &mut notes);
    if !problems.is_empty() {
        problems.sort();
        return Err(problems);
    }
    if let (Some((line, what)), Some((path, _))) = (&roadmap.unclosed, &files.roadmap) {
        notes.push(Note::in_file(path, *line, what.clone()));
    }
    if plans.is_empty() {
        notes.push(Note::new(0, "There are no plan files."));
    }
    let mut tasks = Vec::new();
    let ids: Vec<String> = plans.iter().map(|plan| plan.id.name.clone()).collect();
    for (plan, waits) in plans.into_iter().zip(waits) {
        let done = plan.is_complete || names.is_done(&plan.id.name);
        let phase = plan.id.phase.as_deref().map(normal);
        if phase.is_some_and(|phase| roadmap.ticked_phases.contains(&phase)) && !done {
            let text = "its phase is checked off in the roadmap, but the plan is not done";
            notes.push(Note::in_file(&plan.path, plan.task.line, text));
        }
        let after = waits.into_iter().map(|at| ids[at].clone()).collect();
        let listed = roadmap.plans.get(&normal(&plan.id.name));
        let own = Some(plan.task.title.clone()).filter(|title| !title.is_empty());
        let title = own.or_else(|| listed.and_then(|entry| entry.title.clone())).or(plan.heading.clone());
        let why = match done {
            true => "this plan is finished, but this checkbox in its text is open",
            false => {
                "this checkbox is part of the plan's text, which the agent gets; Ralph does not check it off"
            }
        };
        notes.extend(plan.open_boxes.iter().map(|line| Note::in_file(&plan.path, *line, why)));
        add(plan, title, after, done, &mut tasks, &mut notes);
    }
    if let Some((path, _)) = &files.roadmap {
        note_roadmap(path, &roadmap, &tasks, &mut notes);
    }
    Ok(Draft { tasks, notes })
}

/// The roadmap with the boxes of these plans ticked or open, and those of phases that are finished by it ticked.
pub(super) fn marked(text: &str, marks: &[(&str, bool)]) -> Vec<(usize, bool)> {
    let marks = marks.iter().map(|(name, done)| (normal(name), *done)).collect();
    let roadmap = Roadmap::of(text);
    let changed = roadmap.marked(&marks).into_iter().filter(|(one, done)| one.is_ticked != *done);
    changed.map(|(one, done)| (one.at, done)).collect()
}

/// Notes phases without plans, and the boxes that stay open when agents have done all they can.
fn note_roadmap(path: &str, roadmap: &Roadmap, tasks: &[DraftTask], notes: &mut Vec<Note>) {
    let plans: HashMap<String, &DraftTask> =
        tasks.iter().filter(|task| task.parent.is_none()).map(|task| (normal(&task.name), task)).collect();
    let doable = doable(tasks);
    let marks = plans.iter().filter(|(_, task)| !task.done && doable.contains(task.name.as_str()));
    let marks: HashMap<String, bool> = marks.map(|(id, _)| (id.clone(), true)).collect();
    let ticked: HashSet<usize> =
        roadmap.marked(&marks).into_iter().filter(|(_, done)| *done).map(|(one, _)| one.line).collect();
    let with_plans: HashSet<String> =
        tasks.iter().filter_map(|task| task.phase.as_deref()).map(normal).collect();
    let mut told = HashSet::new();
    for one in roadmap.boxes.iter().filter(|one| !one.is_ticked && !ticked.contains(&one.line)) {
        let why = match &one.what {
            Shown::Phase(phase) if !with_plans.contains(phase) => {
                told.insert(phase.as_str());
                "this phase has no plans, so there is nothing to run for it"
            }
            Shown::Phase(_) => {
                "Ralph checks off a phase when all plans that the roadmap lists for it are; here it cannot"
            }
            Shown::Plan(id) => match plans.get(id) {
                None => "there is no file for this plan",
                Some(task) if task.done => "this plan is finished, but its box is open",
                Some(_) => "this plan needs a person",
            },
            Shown::Other => "this checkbox is neither a phase nor a plan, and Ralph does not check it off",
        };
        notes.push(Note::in_file(path, one.line, why));
    }
    for phase in roadmap.phases.iter().filter(|phase| !with_plans.contains(*phase)) {
        if let Some(line) = roadmap.lines.get(phase)
            && !roadmap.ticked_phases.contains(phase)
            && told.insert(phase)
        {
            let text = format!("phase {phase} has no plans, so there is nothing to run for it");
            notes.push(Note::in_file(path, *line, text));
        }
    }
}

/// The tasks that agents can do: those that are no person's and wait for no person's.
fn doable(tasks: &[DraftTask]) -> HashSet<&str> {
    let mut parts: HashMap<&str, Vec<&DraftTask>> = HashMap::new();
    for task in tasks {
        parts.entry(task.parent.as_deref().unwrap_or_default()).or_default().push(task);
    }
    let mut doable: HashSet<&str> = HashSet::new();
    loop {
        let before = doable.len();
        for task in tasks {
            let mut waits = task.after.iter().map(String::as_str);
            let parts = parts.get(task.name.as_str()).into_iter().flatten();
            let can_begin = waits.all(|name| doable.contains(name));
            let mut parts = parts.map(|part| part.name.as_str());
            if task.done || (!task.for_person && can_begin && parts.all(|part| doable.contains(part))) {
                doable.insert(&task.name);
            }
        }
        if doable.len() == before {
            return doable;
        }
    }
}

fn read_plans(
    files: &GsdFiles,
    roadmap: &Roadmap,
    can_run: &dyn Fn(&str) -> bool,
    notes: &mut Vec<Note>,
    problems: &mut Vec<FileProblem>,
) -> Vec<Plan> {
    let mut plans = Vec::new();
    let mut first_of: HashMap<String, &str> = HashMap::new();
    let mut uses: HashMap<String, usize> = HashMap::new();
    let stems: HashSet<&str> = files.plans.iter().map(|(path, _)| without_kind(path)).collect();
    let (by_path, others): (HashSet<&str>, HashSet<&str>) =
        files.finished.iter().map(String::as_str).partition(|path| stems.contains(path));
    let by_id: HashSet<String> = others.into_iter().map(finished_id).collect();
    let is_finished = |path: &str| {
        let id = finished_id(path);
        by_path.contains(without_kind(path)) || by_id.contains(&id) || roadmap.has_ticked(&id)
    };
    if let Some((path, _)) = files.plans.get(MOST) {
        let expected = format!("there are too many plans; expected at most {MOST}");
        problems.push(Problem::new(1, expected).in_file(path));
    }
    let mut left_out = Vec::new();
    for (path, text) in files.plans.iter().take(MOST) {
        let mut found = Vec::new();
        let plan = Plan::read(path, text, can_run, &mut found);
        // Of what is finished nobody needs to know.
        if !is_finished(path) && plan.as_ref().is_none_or(|plan| !plan.is_complete) {
            notes.extend(found.iter().map(|one| Note::in_file(path, one.line, one.expected.clone())));
        }
        let Some(mut plan) = plan else {
            let boxes = open_boxes(text).into_iter();
            notes.extend(boxes.map(|line| Note::in_file(path, line, "Ralph leaves this file out")));
            left_out.extend(found.into_iter().map(|one| one.in_file(path)));
            continue;
        };
        let id = normal(&plan.id.name);
        let times = uses.entry(id.clone()).or_default();
        *times += 1;
        if *times == 1 {
            first_of.insert(id, path);
        } else {
            let name = format!("{}#{times}", plan.id.name);
            let first = first_of.get(&id).copied().unwrap_or_default();
            let text = format!("{first} is already plan {}; Ralph calls this one {name}", plan.id.name);
            notes.push(Note::in_file(path, 1, text));
            plan.id.name = name;
        }
        plans.push(plan);
    }
    if plans.is_empty() {
        problems.append(&mut left_out);
    }
    plans
}

/// For each plan the plans it waits for: those it names, then those of its place.
fn waits(plans: &[Plan], names: &Names<'_>, notes: &mut Vec<Note>) -> Vec<Vec<usize>> {
    let mut waits = Vec::with_capacity(plans.len());
    for plan in plans {
        let mut known = HashSet::new();
        let mut all = Vec::new();
        // The same plans may be named in many ways; taking them once is enough.
        let mut taken = HashSet::new();
        for name in &plan.depends_on {
            let why = match names.find(name, plan.id.phase.as_deref()) {
                Named::Plans(named) => {
                    if taken.insert(named.as_ptr()) {
                        all.extend(named.iter().filter(|at| known.insert(**at)));
                    }
                    continue;
                }
                Named::Nothing => continue,
                Named::Done => "is done and not in this directory",
                Named::Unknown => "is not in this directory; Ralph ignores the dependency",
            };
            let text = format!("it depends on `{name}`, which {why}");
            notes.push(Note::in_file(&plan.path, plan.depends_on_line, text));
        }
        waits.push(all);
    }
    for at in drop_cycles(&mut waits, plans.iter().map(|_| None)) {
        notes.push(Note::in_file(&plans[at].path, plans[at].depends_on_line, CYCLE));
    }
    // What a plan names counts more than its place: the wave before does not hold it where that wave depends on it.
    let sequence = sequence(&waits);
    let mut ranks = vec![0; plans.len()];
    sequence.iter().enumerate().for_each(|(rank, at)| ranks[*at] = rank);
    for (at, by_place) in waits_by_place(plans).into_iter().enumerate() {
        let known: HashSet<usize> = waits[at].iter().copied().collect();
        let is_before = |other: &usize| ranks[*other] < ranks[at] && !known.contains(other);
        waits[at].extend(by_place.into_iter().filter(is_before));
    }
    waits
}

fn add(
    plan: Plan,
    title: Option<String>,
    after: Vec<String>,
    done: bool,
    tasks: &mut Vec<DraftTask>,
    notes: &mut Vec<Note>,
) {
    let PlanId { name, phase, .. } = plan.id;
    let mut before = after.clone();
    tasks.push(DraftTask {
        name: name.clone(),
        named_by_author: true,
        title: title.unwrap_or_else(|| format!("Plan {name}")),
        phase: phase.clone(),
        after,
        done,
        ..plan.task
    });
    for (at, step) in plan.steps.into_iter().enumerate() {
        let part = format!("{name}/{}", at + 1);
        // Of what is finished nobody needs to know.
        for note in step.notes.iter().filter(|_| !done) {
            notes.push(Note::in_file(&plan.path, step.task.line, note));
        }
        tasks.push(DraftTask {
            name: part.clone(),
            named_by_author: true,
            phase: phase.clone(),
            parent: Some(name.clone()),
            after: std::mem::replace(&mut before, vec![part]),
            done,
            ..step.task
        });
    }
}

/// Sorts the plans: phases as the roadmap has them, within a phase by wave, then by number.
fn sort(plans: &mut [Plan], roadmap: &Roadmap) {
    let listed = roadmap.phases.iter().enumerate();
    let places: HashMap<&str, usize> =
        listed.clone().map(|(place, phase)| (phase.as_str(), place + 1)).collect();
    let mut by_number: Vec<_> = listed.map(|(place, phase)| (order(phase), place + 1)).collect();
    by_number.sort();
    // The place in the roadmap (or that of the phase before it), whether it stands there itself, and the number.
    let rank = |phase: Option<&str>| {
        let Some(phase) = phase else {
            return (usize::MAX, true, Vec::new());
        };
        let number = order(phase);
        match places.get(normal(phase).as_str()) {
            Some(place) => (*place, false, number),
            // A phase put in later (2.1) comes after the one it was put in behind.
            None => {
                let after = by_number.partition_point(|(listed, _)| *listed <= number);
                let before = after.checked_sub(1).and_then(|at| by_number.get(at));
                (before.map_or(0, |(_, place)| *place), true, number)
            }
        }
    };
    plans.sort_by_cached_key(|plan| {
        let phase = rank(plan.id.phase.as_deref());
        (phase, plan.wave, order(&plan.id.plan), plan.id.name.clone())
    });
}

/// For each of the sorted plans what it waits for by its place: all plans of the wave before, or,
/// in the first wave, all plans of the phase before.
fn waits_by_place(plans: &[Plan]) -> Vec<Vec<usize>> {
    let phase_of = |plan: &Plan| plan.id.phase.as_deref().map(normal);
    let mut waits: Vec<Vec<usize>> = Vec::with_capacity(plans.len());
    let mut before = 0..0;
    let (mut phase_start, mut wave_start) = (0, 0);
    for (at, plan) in plans.iter().enumerate() {
        let last = at.checked_sub(1).and_then(|last| plans.get(last));
        if last.is_some_and(|last| phase_of(last) != phase_of(plan)) {
            before = phase_start..at;
            (phase_start, wave_start) = (at, at);
        } else if last.is_some_and(|last| last.wave != plan.wave) {
            before = wave_start..at;
            wave_start = at;
        }
        waits.push(before.clone().collect());
    }
    waits
}

#[cfg(test)]
mod tests;
