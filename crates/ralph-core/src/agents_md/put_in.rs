//! Putting in what a file lacks: bullets, failure entries and the headings they stand under.

use std::collections::{BTreeMap, HashSet};

use super::layout::{Depth, Layout, OwnedSection, Part};
use super::model::Section;
use super::phase::PhaseLabel;
use super::plan::Plan;
use super::splice::{Insertion, Spacing, is_indented, next_content, spliced};
use crate::markdown::Kind;

const TITLE: &str = "# Project Learnings";
const INTRO: &str = "Failure learnings from current phase - cleared on phase completion.";

/// The file with what it lacks; `None` if it lacks nothing.
pub(super) fn put_in(
    layout: &Layout<'_>,
    plan: &Plan<'_>,
    line_end: &str,
    is_new_file: bool,
) -> Option<String> {
    let missing = Missing::of(layout, plan);
    let end = layout.file.lines.len();
    let mut here = Vec::new();
    let mut at_the_end = Vec::new();
    for name in Section::ALL {
        let lacks = missing.of_section(name);
        if lacks.is_empty() {
            continue;
        }
        match layout.section(name) {
            Some(section) => add_to(layout, section, lacks, &mut here),
            None => add_section(name, lacks, end, &mut at_the_end),
        }
    }
    if here.is_empty() && at_the_end.is_empty() {
        return None;
    }
    if is_new_file {
        here.push(Insertion::heading(end, TITLE.to_owned()));
    }
    // What belongs in the last section comes before a new one; the order is kept otherwise.
    here.append(&mut at_the_end);
    here.sort_by_key(|insertion| insertion.at);
    Some(spliced(layout, &here, line_end))
}

/// What a section lacks, by phase; in sections without phases all of it has none.
type Lacks<'p> = BTreeMap<PhaseLabel, Vec<&'p str>>;

/// What the file lacks.
#[derive(Default)]
struct Missing<'p> {
    bullets: BTreeMap<Section, Lacks<'p>>,
    entries: Lacks<'p>,
}

/// What is to be added to one section.
struct ToAdd<'m, 'p> {
    bullets: Option<&'m Lacks<'p>>,
    entries: Option<&'m Lacks<'p>>,
}

impl<'p> Missing<'p> {
    fn of(layout: &Layout<'_>, plan: &'p Plan<'_>) -> Self {
        let mut missing = Self::default();
        if !plan.bullets.is_empty() {
            let mut there = HashSet::with_capacity(2 * plan.bullets.len());
            for (section, _, block) in layout.blocks() {
                if block.entry_name.is_none() {
                    there.insert((section.name, &*block.text));
                }
            }
            for bullet in &plan.bullets {
                if there.insert((bullet.section, &bullet.text)) {
                    let lacks = missing.bullets.entry(bullet.section).or_default();
                    lacks
                        .entry(bullet.phase.clone())
                        .or_default()
                        .push(&bullet.text);
                }
            }
        }
        let section = layout.section(Section::FailureContext);
        for (label, wanted) in &plan.failures {
            // What was not wanted is out by now, so all that is left of ours stays.
            let part = section.and_then(|section| section.phase(label));
            let there = part.map_or(0, |part| {
                part.blocks.iter().filter(|block| plan.owns(block)).count()
            });
            let lacks: Vec<&str> = wanted.iter().skip(there).map(String::as_str).collect();
            if !lacks.is_empty() {
                missing.entries.insert(label.clone(), lacks);
            }
        }
        missing
    }

    fn of_section(&self, name: Section) -> ToAdd<'_, 'p> {
        let is_for_entries = name == Section::FailureContext && !self.entries.is_empty();
        ToAdd {
            bullets: self.bullets.get(&name),
            entries: is_for_entries.then_some(&self.entries),
        }
    }
}

impl ToAdd<'_, '_> {
    fn is_empty(&self) -> bool {
        self.bullets.is_none() && self.entries.is_none()
    }
}

fn add_section(name: Section, lacks: ToAdd<'_, '_>, at: usize, out: &mut Vec<Insertion>) {
    out.push(Insertion::heading(at, name.heading().to_owned()));
    if name == Section::FailureContext {
        out.push(Insertion::heading(at, INTRO.to_owned()));
    }
    let bullets = || lacks.bullets.into_iter().flatten();
    // What has no phase comes before the first phase's heading.
    for (_, texts) in bullets().filter(|(label, _)| **label == PhaseLabel::NoPhase) {
        out.push(Insertion::list(at, Spacing::Apart, texts));
    }
    for (label, texts) in bullets().filter(|(label, _)| **label != PhaseLabel::NoPhase) {
        out.push(Insertion::heading(at, label.heading()));
        out.push(Insertion::list(at, Spacing::Apart, texts));
    }
    for (label, texts) in lacks.entries.into_iter().flatten() {
        add_phase_of_entries(label, texts, at, out);
    }
}

fn add_phase_of_entries(label: &PhaseLabel, texts: &[&str], at: usize, out: &mut Vec<Insertion>) {
    out.push(Insertion::heading(at, label.heading()));
    add_entries(texts, at, out);
}

fn add_entries(texts: &[&str], at: usize, out: &mut Vec<Insertion>) {
    out.extend(
        texts
            .iter()
            .map(|text| Insertion::list(at, Spacing::Apart, &[text])),
    );
}

fn add_to(
    layout: &Layout<'_>,
    section: &OwnedSection,
    lacks: ToAdd<'_, '_>,
    out: &mut Vec<Insertion>,
) {
    let Some(top) = section.parts.first() else {
        return;
    };
    if lacks.entries.is_some() && !has_intro(layout, top) {
        out.push(Insertion::heading(top.start + 1, INTRO.to_owned()));
    }
    // New subsections come after what is added to the one they follow.
    let mut new_phases = Vec::new();
    for (label, texts) in lacks.bullets.into_iter().flatten() {
        let part = match label {
            PhaseLabel::NoPhase => Some(top),
            label => section.phase(label),
        };
        if let Some(part) = part {
            let ends_in_bullet = part
                .blocks
                .last()
                .is_some_and(|last| last.entry_name.is_none());
            let spacing = if ends_in_bullet {
                Spacing::Tight
            } else {
                Spacing::Apart
            };
            out.push(Insertion::list(end_of_items(layout, part), spacing, texts));
        } else {
            let at = place_for_phase(layout, section, label);
            new_phases.push(Insertion::heading(at, label.heading()));
            new_phases.push(Insertion::list(at, Spacing::Apart, texts));
        }
    }
    for (label, texts) in lacks.entries.into_iter().flatten() {
        match section.phase(label) {
            Some(part) => add_entries(texts, end_of_items(layout, part), out),
            None => {
                let at = place_for_phase(layout, section, label);
                add_phase_of_entries(label, texts, at, &mut new_phases);
            }
        }
    }
    out.append(&mut new_phases);
}

fn has_intro(layout: &Layout<'_>, top: &Part) -> bool {
    let lines = layout
        .file
        .lines
        .get(top.start..top.end)
        .unwrap_or_default();
    lines.iter().any(|line| line.text.trim() == INTRO)
}

/// The line before which another item of a part's list goes.
fn end_of_items(layout: &Layout<'_>, part: &Part) -> usize {
    let Some(last) = part.blocks.last() else {
        return layout.end_of_content(part.start, part.end);
    };
    // Text that follows an item directly is shown as part of it, and so is what is indented below.
    let mut at = last.end;
    while at < part.end {
        let next = next_content(layout, at);
        match layout.kind(next) {
            Some(Kind::Paragraph) if next == at => at += 1,
            Some(Kind::Paragraph | Kind::Other)
                if at > last.end && next < part.end && is_indented(layout, next) =>
            {
                at = next + 1;
            }
            _ => break,
        }
    }
    at
}

/// The line before which a new subsection goes, so that phases stand in order.
fn place_for_phase(layout: &Layout<'_>, section: &OwnedSection, label: &PhaseLabel) -> usize {
    let begun = |part: &Part| part.phase_begun().cloned();
    let later = section
        .parts
        .iter()
        .find(|part| begun(part).is_some_and(|one| one > *label));
    if let Some(later) = later {
        return later.start;
    }
    let last_phase = section
        .parts
        .iter()
        .rposition(|part| part.phase_begun().is_some());
    let after = section
        .parts
        .iter()
        .enumerate()
        .skip(last_phase.map_or(0, |last| last + 1));
    let next_own = after
        .filter(|_| last_phase.is_some())
        .find(|(_, part)| part.depth == Depth::Top)
        .map(|(_, part)| part.start);
    let start = section.parts.first().map_or(0, |part| part.start);
    let end = section.parts.last().map_or(start, |part| part.end);
    layout.end_of_content(start, next_own.unwrap_or(end))
}
