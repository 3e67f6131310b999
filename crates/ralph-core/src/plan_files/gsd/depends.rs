//! The plans that `depends_on` names, in the ways people name them.

use std::collections::{HashMap, HashSet};

use super::ids::{is_number, normal, without_kind};
use super::plan::Plan;
use super::roadmap::Roadmap;

/// What a name in `depends_on` stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Named<'a> {
    /// These plans, by their place.
    Plans(&'a [usize]),
    /// Something that is done and no longer among the files.
    Done,
    /// `none` and the like.
    Nothing,
    Unknown,
}

/// All that can be named.
#[derive(Debug)]
pub(super) struct Names<'a> {
    /// Plans by their ids in normal form.
    plans: HashMap<String, [usize; 1]>,
    phases: HashMap<String, Vec<usize>>,
    finished: HashSet<String>,
    roadmap: &'a Roadmap,
}

impl<'a> Names<'a> {
    pub(super) fn of(plans: &[Plan], finished: &[String], roadmap: &'a Roadmap) -> Self {
        let mut phases: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, plan) in plans.iter().enumerate() {
            if let Some(phase) = &plan.id.phase {
                phases.entry(normal(phase)).or_default().push(at);
            }
        }
        let ids = plans
            .iter()
            .enumerate()
            .map(|(at, plan)| (normal(&plan.id.name), [at]));
        let finished = finished.iter().map(|id| normal(bare(id)));
        Self {
            plans: ids.collect(),
            phases,
            finished: finished.collect(),
            roadmap,
        }
    }

    /// Whether a plan is done, by its summary or by the roadmap.
    pub(super) fn is_done(&self, id: &str) -> bool {
        let id = normal(id);
        let is_ticked = self
            .roadmap
            .plans
            .get(&id)
            .is_some_and(|entry| entry.is_ticked);
        is_ticked || self.finished.contains(&id)
    }

    /// What a name stands for in a plan of this phase.
    pub(super) fn find(&self, name: &str, phase: Option<&str>) -> Named<'_> {
        let name = bare(name);
        if ["", "none", "nothing", "n/a", "-"]
            .iter()
            .any(|nothing| name.eq_ignore_ascii_case(nothing))
        {
            return Named::Nothing;
        }
        if let Some(phase) = called_phase(name) {
            return self.phase(phase);
        }
        let mut words = name.split('-');
        let first = words.next().unwrap_or_default();
        let second = words.next();
        let short = second.map(|second| format!("{first}-{second}"));
        // The whole id, one with the plan's words behind it, or the number in the same phase.
        let of_same_phase = match (second, phase) {
            (None, Some(phase)) => Some(format!("{phase}-{first}")),
            _ => None,
        };
        let ids = [Some(name.to_owned()), short, of_same_phase];
        for id in ids.iter().flatten() {
            if let Some(plan) = self.plans.get(&normal(id)) {
                return Named::Plans(plan);
            }
        }
        if ids.iter().flatten().any(|id| self.is_done(id)) {
            return Named::Done;
        }
        // `01-foundation`, the directory of a phase.
        match second {
            Some(second) if is_number(second) => Named::Unknown,
            _ => self.phase(first),
        }
    }

    fn phase(&self, phase: &str) -> Named<'_> {
        let phase = normal(phase);
        match self.phases.get(&phase) {
            Some(plans) => Named::Plans(plans),
            None if self.roadmap.ticked_phases.contains(&phase) => Named::Done,
            None => Named::Unknown,
        }
    }
}

/// The name without directories, kind of file and the word `Plan`.
fn bare(name: &str) -> &str {
    let name = name.trim().trim_matches('`');
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let name = without_kind(name);
    name.strip_prefix("Plan ")
        .or_else(|| name.strip_prefix("plan-"))
        .unwrap_or(name)
        .trim()
}

/// The number in `Phase 2`, `phase-02-slug`.
fn called_phase(name: &str) -> Option<&str> {
    let (word, rest) = name.split_at_checked("phase".len())?;
    let number = rest
        .trim_start_matches(['-', ' ', '_'])
        .split(['-', ' ', ':'])
        .next()?;
    (word.eq_ignore_ascii_case("phase") && is_number(number)).then_some(number)
}
