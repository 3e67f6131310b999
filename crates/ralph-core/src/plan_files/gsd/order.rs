//! In which order plans come, and what that alone makes them wait for.

use std::collections::HashMap;

use super::ids::{normal, order};
use super::plan::Plan;
use super::roadmap::Roadmap;

/// Sorts the plans: phases as the roadmap has them, within a phase by wave, then by number.
pub(super) fn sort(plans: &mut [Plan], roadmap: &Roadmap) {
    let ranks = Ranks::of(roadmap);
    plans.sort_by_cached_key(|plan| {
        let phase = plan.id.phase.as_deref();
        (
            ranks.of_phase(phase),
            plan.wave,
            order(&plan.id.plan),
            plan.id.name.clone(),
        )
    });
}

/// What a phase is sorted by: its place in the roadmap (or that of the phase before it), whether it
/// stands there itself, and its number.
type Rank = (usize, bool, Vec<(u64, String)>);

struct Ranks {
    places: HashMap<String, usize>,
    /// Phases of the roadmap by number, each with its place.
    by_number: Vec<(Vec<(u64, String)>, usize)>,
}

impl Ranks {
    fn of(roadmap: &Roadmap) -> Self {
        let places = roadmap.phases.iter().enumerate();
        let mut by_number: Vec<_> = places
            .clone()
            .map(|(place, phase)| (order(phase), place + 1))
            .collect();
        by_number.sort();
        Self {
            places: places
                .map(|(place, phase)| (phase.clone(), place + 1))
                .collect(),
            by_number,
        }
    }

    fn of_phase(&self, phase: Option<&str>) -> Rank {
        let Some(phase) = phase else {
            return (usize::MAX, true, Vec::new());
        };
        let number = order(phase);
        match self.places.get(&normal(phase)) {
            Some(place) => (*place, false, number),
            // A phase put in later (2.1) comes after the one it was put in behind.
            None => {
                let before = self
                    .by_number
                    .partition_point(|(listed, _)| *listed <= number);
                let before = before.checked_sub(1).and_then(|at| self.by_number.get(at));
                (before.map_or(0, |(_, place)| *place), true, number)
            }
        }
    }
}

/// For each of the sorted plans what it waits for by its place: all plans of the wave before, or,
/// in the first wave, all plans of the phase before.
pub(super) fn waits(plans: &[Plan]) -> Vec<Vec<usize>> {
    let mut waits = Vec::with_capacity(plans.len());
    let mut phase_before = 0..0;
    let mut wave_before = 0..0;
    let mut phase_start = 0;
    let mut wave_start = 0;
    for (at, plan) in plans.iter().enumerate() {
        let last = at.checked_sub(1).and_then(|last| plans.get(last));
        let is_same_phase = last.is_some_and(|last| phase_of(last) == phase_of(plan));
        let is_same_wave = last.is_some_and(|last| last.wave == plan.wave);
        if !is_same_phase {
            phase_before = phase_start..at;
            phase_start = at;
            wave_start = at;
            wave_before = 0..0;
        } else if !is_same_wave {
            wave_before = wave_start..at;
            wave_start = at;
        }
        let waits_for = if wave_start == phase_start {
            &phase_before
        } else {
            &wave_before
        };
        waits.push(waits_for.clone().collect());
    }
    waits
}

fn phase_of(plan: &Plan) -> Option<String> {
    plan.id.phase.as_deref().map(normal)
}
