//! What is wanted, made comparable with what a file holds.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::entry::name_of;
use super::layout::{Block, Part};
use super::model::{Bullet, Section, Wanted};
use super::phase::PhaseLabel;
use super::text::tidy;

/// What a file is to hold and what is to go from it.
pub(super) struct Plan<'a> {
    /// In the given order.
    pub(super) bullets: Vec<PlannedBullet<'a>>,
    /// Texts of failure entries by phase, oldest first; no phase is empty.
    pub(super) failures: BTreeMap<PhaseLabel, Vec<String>>,
    remove: HashMap<Cow<'a, str>, Vec<Target>>,
    names: HashSet<String>,
    is_ours: &'a dyn Fn(&str) -> bool,
}

/// A bullet with its place and text in the form in which they are compared.
pub(super) struct PlannedBullet<'a> {
    pub(super) section: Section,
    pub(super) phase: PhaseLabel,
    pub(super) text: Cow<'a, str>,
}

/// Where a bullet is to go from; without a phase from everywhere in the section.
#[derive(PartialEq, Eq)]
struct Target {
    section: Section,
    phase: PhaseLabel,
}

impl<'a> PlannedBullet<'a> {
    fn new(bullet: &'a Bullet) -> Self {
        let section = bullet.place.section;
        let phase = bullet.place.phase.as_deref();
        Self {
            section,
            phase: PhaseLabel::new(phase.filter(|_| section == Section::PhaseSpecific)),
            text: tidy(&bullet.text),
        }
    }

    /// Whether it would read back as a bullet.
    fn is_writable(&self) -> bool {
        let is_entry = self.section == Section::FailureContext && name_of(&self.text).is_some();
        !self.text.is_empty() && !is_entry
    }
}

impl<'a> Plan<'a> {
    pub(super) fn new(wanted: &'a Wanted, is_ours: &'a dyn Fn(&str) -> bool) -> Self {
        let bullets = wanted.bullets.iter().map(PlannedBullet::new);
        let bullets: Vec<_> = bullets.filter(PlannedBullet::is_writable).collect();
        let mut failures: BTreeMap<PhaseLabel, Vec<String>> = BTreeMap::new();
        let mut names = HashSet::new();
        for phase in wanted
            .failures
            .iter()
            .filter(|phase| !phase.entries.is_empty())
        {
            let label = PhaseLabel::new(phase.phase.as_deref());
            let texts = failures.entry(label).or_default();
            for entry in &phase.entries {
                texts.push(entry.text());
                names.insert(entry.written_name());
            }
        }
        Self {
            remove: removals(&wanted.remove, &bullets),
            bullets,
            failures,
            names,
            is_ours,
        }
    }

    /// Whether a list item is to go because `remove` names it.
    pub(super) fn removes(&self, section: Section, part: &Part, block: &Block) -> bool {
        let targets = self.remove.get(&block.text).map(Vec::as_slice);
        block.entry_name.is_none()
            && targets.unwrap_or_default().iter().any(|target| {
                target.section == section
                    && (target.phase == PhaseLabel::NoPhase
                        || target.phase == part.learning_phase(section))
            })
    }

    /// Whether a list item is a failure entry that Ralph may replace.
    pub(super) fn owns(&self, block: &Block) -> bool {
        let name = block.entry_name.as_deref();
        name.is_some_and(|name| self.names.contains(name) || (self.is_ours)(name))
    }

    /// For each list item of the subsection in which a phase's entries belong: whether it may stay.
    ///
    /// What stays of Ralph's entries are the oldest ones that are wanted, in their order; the rest
    /// can then be added at the end. So a new failure moves none of the old ones.
    pub(super) fn staying(&self, part: &Part, wanted: &[String]) -> Vec<bool> {
        let mut next = wanted.iter().map(|text| tidy(text)).peekable();
        let stays =
            |block: &Block| !self.owns(block) || next.next_if(|text| *text == block.text).is_some();
        part.blocks.iter().map(stays).collect()
    }
}

/// What `remove` asks for, without what is wanted at the same place.
fn removals<'a>(
    remove: &'a [Bullet],
    bullets: &[PlannedBullet<'_>],
) -> HashMap<Cow<'a, str>, Vec<Target>> {
    let mut out: HashMap<Cow<'a, str>, Vec<Target>> = HashMap::new();
    if remove.is_empty() {
        return out;
    }
    let mut wanted: HashMap<(Section, &str), &PhaseLabel> = HashMap::new();
    for bullet in bullets {
        let place = wanted.entry((bullet.section, &bullet.text));
        place.or_insert(&bullet.phase);
    }
    for bullet in remove.iter().map(PlannedBullet::new) {
        let PlannedBullet {
            section,
            phase,
            text,
        } = bullet;
        let elsewhere = wanted.get(&(section, &*text));
        let stays = elsewhere.is_some_and(|at| phase == PhaseLabel::NoPhase || **at == phase);
        if stays || text.is_empty() {
            continue;
        }
        let targets = out.entry(text).or_default();
        let target = Target { section, phase };
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    out
}
