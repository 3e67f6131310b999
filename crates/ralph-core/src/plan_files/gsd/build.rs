//! From the files to the draft.

use std::collections::{HashMap, HashSet};

use super::depends::{Named, Names};
use super::files::{FileProblem, GsdFiles};
use super::ids::normal;
use super::order;
use super::plan::{self, Plan};
use super::roadmap::Roadmap;
use crate::plan_files::cycles::{chain, cycles};
use crate::plan_files::draft::{Draft, DraftTask, Note};

/// How many plans there may be: all of one phase may wait for all of another.
const MOST: usize = 2000;

/// Reads the plans of a `.planning` directory. `can_run` tells whether there is a program of a name,
/// by which commands are told from sentences.
///
/// # Errors
/// All that is wrong with the files, by file and line.
pub fn read(files: &GsdFiles, can_run: &dyn Fn(&str) -> bool) -> Result<Draft, Vec<FileProblem>> {
    let mut problems = Vec::new();
    let mut plans = read_plans(files, can_run, &mut problems);
    let roadmap = files
        .roadmap
        .as_ref()
        .map(|(_, text)| Roadmap::of(text))
        .unwrap_or_default();
    order::sort(&mut plans, &roadmap);
    let names = Names::of(&plans, &files.finished, &roadmap);
    let mut notes = Vec::new();
    let waits = waits(&plans, &names, &mut notes, &mut problems);
    if !problems.is_empty() {
        problems.sort();
        return Err(problems);
    }
    if let (Some((line, what)), Some((path, _))) = (&roadmap.unclosed, &files.roadmap) {
        notes.push(Note {
            line: *line,
            text: format!("{path}: {what}."),
        });
    }
    if plans.is_empty() {
        notes.push(Note {
            line: 0,
            text: "There are no plan files.".to_owned(),
        });
    }
    let mut tasks = Vec::new();
    for (plan, waits) in plans.iter().zip(&waits) {
        let is_done = names.is_done(&plan.id.name);
        let is_phase_ticked = plan
            .id
            .phase
            .as_ref()
            .is_some_and(|phase| roadmap.ticked_phases.contains(&normal(phase)));
        if is_phase_ticked && !is_done {
            let text = format!(
                "{}: its phase is checked off in the roadmap, but the plan is not done.",
                plan.path
            );
            notes.push(Note {
                line: plan.line,
                text,
            });
        }
        let after = waits
            .iter()
            .filter_map(|at| plans.get(*at))
            .map(|plan| plan.id.name.clone());
        let of_roadmap = roadmap
            .plans
            .get(&normal(&plan.id.name))
            .and_then(|entry| entry.title.clone());
        add(
            plan,
            of_roadmap,
            after.collect(),
            is_done,
            &mut tasks,
            &mut notes,
        );
    }
    Ok(Draft { tasks, notes })
}

fn read_plans(
    files: &GsdFiles,
    can_run: &dyn Fn(&str) -> bool,
    problems: &mut Vec<FileProblem>,
) -> Vec<Plan> {
    let mut plans = Vec::new();
    let mut first_of: HashMap<String, &str> = HashMap::new();
    if let Some((path, _)) = files.plans.get(MOST) {
        let expected = format!("there are too many plans; expected at most {MOST}");
        problems.push(FileProblem {
            path: path.clone(),
            line: 1,
            expected,
        });
    }
    for (path, text) in files.plans.iter().take(MOST) {
        let mut found = Vec::new();
        let plan = plan::read(path, text, can_run, &mut found);
        problems.extend(found.into_iter().map(|problem| FileProblem {
            path: path.clone(),
            line: problem.line,
            expected: problem.expected,
        }));
        let Some(plan) = plan else {
            continue;
        };
        match first_of.get(&normal(&plan.id.name)) {
            Some(first) => problems.push(FileProblem {
                path: path.clone(),
                line: 1,
                expected: format!(
                    "{first} is already plan {}; expected another number",
                    plan.id.name
                ),
            }),
            None => {
                first_of.insert(normal(&plan.id.name), path);
                plans.push(plan);
            }
        }
    }
    plans
}

/// For each plan the plans it waits for: those it names, then those of its place.
fn waits(
    plans: &[Plan],
    names: &Names<'_>,
    notes: &mut Vec<Note>,
    problems: &mut Vec<FileProblem>,
) -> Vec<Vec<usize>> {
    let mut waits = Vec::with_capacity(plans.len());
    for (plan, by_place) in plans.iter().zip(order::waits(plans)) {
        let mut known = HashSet::new();
        let mut all = Vec::new();
        // The same plans may be named in many ways; looking at them once is enough.
        let mut looked_at = HashSet::new();
        for name in &plan.depends_on {
            match names.find(name, plan.id.phase.as_deref()) {
                Named::Plans(named) => {
                    if looked_at.insert(named.as_ptr()) {
                        all.extend(named.iter().filter(|at| known.insert(**at)));
                    }
                }
                Named::Nothing => {}
                Named::Done => {
                    let text = format!(
                        "{}: it depends on `{name}`, which is done and not in this folder.",
                        plan.path
                    );
                    notes.push(Note {
                        line: plan.depends_on_line,
                        text,
                    });
                }
                Named::Unknown => problems.push(FileProblem {
                    path: plan.path.clone(),
                    line: plan.depends_on_line,
                    expected: format!(
                        "there is no plan `{name}` here; expected an id such as 01-01"
                    ),
                }),
            }
        }
        all.extend(by_place.into_iter().filter(|at| known.insert(*at)));
        waits.push(all);
    }
    for circle in cycles(&waits) {
        let mut members = circle.iter().filter_map(|at| plans.get(*at));
        // Places alone make no circle, so one of them names another.
        let named = members.clone().find(|plan| !plan.depends_on.is_empty());
        if let Some(plan) = named.or_else(|| members.next()) {
            let ids = circle
                .iter()
                .map(|at| plans.get(*at).map_or("", |plan| &plan.id.name));
            problems.push(FileProblem {
                path: plan.path.clone(),
                line: plan.depends_on_line,
                expected: format!(
                    "these plans depend on each other in a cycle: {}; expected an order of waves and phases \
                     in which they can be done",
                    chain(ids)
                ),
            });
        }
    }
    waits
}

/// Adds a plan and its parts.
fn add(
    plan: &Plan,
    of_roadmap: Option<String>,
    after: Vec<String>,
    done: bool,
    tasks: &mut Vec<DraftTask>,
    notes: &mut Vec<Note>,
) {
    let name = &plan.id.name;
    let title = plan
        .title
        .clone()
        .or(of_roadmap)
        .or_else(|| plan.heading.clone());
    tasks.push(DraftTask {
        name: name.clone(),
        named_by_author: true,
        title: title.unwrap_or_else(|| format!("Plan {name}")),
        description: plan.description.clone(),
        phase: plan.id.phase.clone(),
        after: after.clone(),
        verify: plan.verify.clone(),
        files: plan.files.clone(),
        done_when: plan.done_when.clone(),
        done,
        line: plan.line,
        ..DraftTask::default()
    });
    let mut before = after;
    for (at, step) in plan.steps.iter().enumerate() {
        let part = format!("{name}/{}", at + 1);
        for note in &step.notes {
            let text = format!("{}: task {part}: {note}.", plan.path);
            notes.push(Note {
                line: step.line,
                text,
            });
        }
        tasks.push(DraftTask {
            name: part.clone(),
            named_by_author: true,
            title: step.title.clone(),
            description: step.description.clone(),
            phase: plan.id.phase.clone(),
            parent: Some(name.clone()),
            after: std::mem::replace(&mut before, vec![part]),
            verify: step.verify.clone(),
            files: step.files.clone(),
            done_when: step.done_when.clone(),
            done,
            line: step.line,
            ..DraftTask::default()
        });
    }
}
