//! Writing the file: what is wanted is made comparable with what the file holds, what is to go is taken out,
//! what is missing is put in.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use super::layout::{Block, Layout, OwnedSection, Part};
use super::texts::{PhaseLabel, item_lines, name_of, tidy};
use super::{Bullet, Entry, Section, Wanted};
use crate::markdown::{Insertion, Kind, Spacing, commonest_line_end};

/// The file with what is wanted in it; `None` is a file that does not exist yet.
///
/// `is_ours` tells by its name whether a failure entry is Ralph's to replace. Entries under a name
/// that `wanted` holds are, whatever it says. With nothing to change the file comes back as it is.
pub fn write(file: Option<&str>, wanted: &Wanted, is_ours: &dyn Fn(&str) -> bool) -> String {
    let plan = Plan::new(wanted, is_ours);
    let original = file.unwrap_or_default();
    let layout = Layout::of(original);
    let line_end = commonest_line_end(original);
    match take_out(&layout, &plan, line_end) {
        None => put_in(&layout, &plan, line_end, file.is_none()).unwrap_or_else(|| original.to_owned()),
        Some(rest) => put_in(&Layout::of(&rest), &plan, line_end, false).unwrap_or(rest),
    }
}

/// What a file is to hold and what is to go from it.
struct Plan<'a> {
    bullets: Vec<PlannedBullet<'a>>,
    /// Texts of failure entries by phase, oldest first; no phase is empty.
    failures: BTreeMap<PhaseLabel, Vec<String>>,
    /// The phases from which a bullet is to go; no phase is everywhere in the section.
    remove: HashMap<(Section, Cow<'a, str>), Vec<PhaseLabel>>,
    names: HashSet<String>,
    is_ours: &'a dyn Fn(&str) -> bool,
}

/// A bullet with its place and text in the form in which they are compared.
struct PlannedBullet<'a> {
    section: Section,
    phase: PhaseLabel,
    text: Cow<'a, str>,
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
    fn new(wanted: &'a Wanted, is_ours: &'a dyn Fn(&str) -> bool) -> Self {
        let bullets = wanted.bullets.iter().map(PlannedBullet::new);
        let bullets: Vec<_> = bullets.filter(PlannedBullet::is_writable).collect();
        let mut failures: BTreeMap<PhaseLabel, Vec<String>> = BTreeMap::new();
        let mut names = HashSet::new();
        for phase in wanted.failures.iter().filter(|phase| !phase.entries.is_empty()) {
            let texts = failures.entry(PhaseLabel::new(phase.phase.as_deref())).or_default();
            texts.extend(phase.entries.iter().map(Entry::text));
            names.extend(phase.entries.iter().map(Entry::written_name));
        }
        let mut remove: HashMap<(Section, Cow<'a, str>), Vec<PhaseLabel>> = HashMap::new();
        if !wanted.remove.is_empty() {
            // Of equal bullets the first is the one that is written. What is wanted at the same place stays.
            let places = bullets.iter().rev().map(|bullet| ((bullet.section, &*bullet.text), &bullet.phase));
            let places: HashMap<_, _> = places.collect();
            for PlannedBullet { section, phase, text } in wanted.remove.iter().map(PlannedBullet::new) {
                let wanted_at = places.get(&(section, &*text));
                let stays = wanted_at.is_some_and(|at| phase == PhaseLabel::NoPhase || **at == phase);
                if !stays && !text.is_empty() {
                    remove.entry((section, text)).or_default().push(phase);
                }
            }
        }
        Self { bullets, failures, remove, names, is_ours }
    }

    /// Whether a list item is to go because `remove` names it.
    fn removes(&self, section: &OwnedSection<'_>, part: &Part<'_>, block: &Block<'_>) -> bool {
        let phases = self.remove.get(&(section.name, Cow::Borrowed(&*block.text)));
        block.entry_name.is_none()
            && phases
                .into_iter()
                .flatten()
                .any(|phase| *phase == PhaseLabel::NoPhase || *phase == section.bullet_phase(part))
    }

    /// Whether a list item is a failure entry that Ralph may replace.
    fn owns(&self, block: &Block<'_>) -> bool {
        let name = block.entry_name.as_deref();
        name.is_some_and(|name| self.names.contains(name) || (self.is_ours)(name))
    }

    /// The entries that belong in this part, where it is the one for its phase.
    fn home_of(&self, layout: &Layout<'_>, part: &Part<'_>) -> Option<&[String]> {
        let label = part.phase_begun()?;
        let home = layout.section(Section::FailureContext)?.phase(label)?;
        self.failures.get(label).map(Vec::as_slice).filter(|_| home.start == part.start)
    }
}

/// The file without what is to go; `None` if nothing is.
fn take_out(layout: &Layout<'_>, plan: &Plan<'_>, line_end: &str) -> Option<String> {
    let mut gone: Vec<Range<usize>> = Vec::new();
    for section in &layout.sections {
        for (at, part) in section.parts.iter().enumerate() {
            let home = plan.home_of(layout, part);
            // What stays of Ralph's entries are the oldest ones that are wanted, in their order; the rest
            // can then be added at the end. So a new failure moves none of the old ones.
            let mut next = home.unwrap_or_default().iter().map(|text| tidy(text)).peekable();
            let mut blocks = Vec::new();
            let mut has_lost_entries = false;
            for block in &part.blocks {
                let stays = !plan.owns(block) || next.next_if(|text| *text == block.text).is_some();
                if !stays || plan.removes(section, part, block) {
                    blocks.push(block.start..block.end);
                }
                has_lost_entries |= !stays;
            }
            let has_nested = section.parts.get(at + 1).is_some_and(|next| next.is_nested);
            let may_go = has_lost_entries && home.is_none() && !has_nested && part.phase_begun().is_some();
            if may_go && is_emptied(layout, part, &blocks) {
                gone.push(part.start..layout.file.end_of_content(part.start, part.end));
            } else {
                gone.extend(blocks);
            }
        }
    }
    (!gone.is_empty()).then(|| without(layout, &gone, line_end))
}

/// Whether only the heading remains of a part once `gone` is out of it.
fn is_emptied(layout: &Layout<'_>, part: &Part<'_>, gone: &[Range<usize>]) -> bool {
    let mut from = part.start + 1;
    let end = part.end..part.end;
    gone.iter().chain([&end]).all(|block| {
        let between = from..block.start;
        from = block.end;
        layout.file.end_of_content(between.start, between.end) == between.start
    })
}

/// The file without some of its lines, which are given in order. Where a blank line stands before
/// and after them one goes too; the end of the file counts as one.
fn without(layout: &Layout<'_>, gone: &[Range<usize>], line_end: &str) -> String {
    let lines = &layout.file.lines;
    let (mark, tail) = (layout.file.mark, layout.file.tail);
    let size = lines.iter().map(|line| line.raw.len()).sum::<usize>();
    let mut out = String::with_capacity(mark.len() + size + tail.len());
    out.push_str(mark);
    // What stands last in `out`, and how long `out` is without that line.
    let mut last: Option<(Kind, usize)> = None;
    let mut gone = gone.iter().peekable();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let Some(range) = gone.next_if(|range| range.start == at) else {
            last = Some((line.kind, out.len()));
            out.push_str(line.raw);
            at += 1;
            continue;
        };
        at = range.end;
        let next = layout.kind(at);
        match (last, next) {
            (Some((Kind::Blank, _)), Some(Kind::Blank)) => at += 1,
            (Some((Kind::Blank, length)), None) if tail.is_empty() => {
                out.truncate(length);
                last = None;
            }
            (Some((above, _)), Some(below)) if would_join(above, below, layout, at) => {
                last = Some((Kind::Blank, out.len()));
                out.push_str(line_end);
            }
            _ => {}
        }
    }
    out.push_str(tail);
    out
}

/// Whether two lines mean something else when they come to stand together: two paragraphs become
/// one, a paragraph above a rule becomes a heading.
fn would_join(above: Kind, below: Kind, layout: &Layout<'_>, at: usize) -> bool {
    let is_bare_marker = || {
        let line = layout.file.lines.get(at);
        line.is_some_and(|line| line.text.trim().len() == 1)
    };
    match (above, below) {
        (Kind::Paragraph, Kind::Bullet) => is_bare_marker(),
        (Kind::Paragraph, Kind::Other) => true,
        (Kind::Paragraph | Kind::Bullet | Kind::Inside | Kind::Other, Kind::Paragraph) => true,
        _ => false,
    }
}

const TITLE: &str = "# Project Learnings";
const INTRO: &str = "Failure learnings from current phase - cleared on phase completion.";

/// The file with what it lacks; `None` if it lacks nothing.
fn put_in(layout: &Layout<'_>, plan: &Plan<'_>, line_end: &'static str, is_new_file: bool) -> Option<String> {
    let missing = missing(layout, plan);
    if missing.is_empty() {
        return None;
    }
    let mut insertions = Vec::new();
    if is_new_file {
        insertions.push(apart(layout.file.lines.len(), TITLE.to_owned()));
    }
    // What belongs in the last section comes before a new one; the order is kept otherwise.
    let is_new = |name: &Section| layout.section(*name).is_none();
    for (name, lacks) in missing.iter().filter(|(name, _)| !is_new(name)) {
        add_to_section(layout, *name, lacks, &mut insertions);
    }
    for (name, lacks) in missing.iter().filter(|(name, _)| is_new(name)) {
        add_to_section(layout, *name, lacks, &mut insertions);
    }
    insertions.sort_by_key(|insertion| insertion.at);
    Some(layout.file.spliced(&BTreeMap::new(), &insertions, line_end))
}

/// A heading or another line that stands alone.
fn apart(at: usize, line: String) -> Insertion {
    Insertion { at, spacing: Spacing::Apart, lines: vec![line] }
}

fn list(at: usize, spacing: Spacing, texts: &[&str]) -> Insertion {
    let lines = texts.iter().flat_map(|text| item_lines(text)).collect();
    Insertion { at, spacing, lines }
}

/// What a section lacks, by phase; in sections without phases all bullets have none.
#[derive(Default)]
struct Lacks<'p> {
    bullets: BTreeMap<PhaseLabel, Vec<&'p str>>,
    entries: BTreeMap<PhaseLabel, Vec<&'p str>>,
}

fn missing<'p>(layout: &Layout<'_>, plan: &'p Plan<'_>) -> BTreeMap<Section, Lacks<'p>> {
    let mut missing: BTreeMap<Section, Lacks<'p>> = BTreeMap::new();
    let there = layout.blocks().filter(|(.., block)| block.entry_name.is_none());
    let mut there: HashSet<_> = there.map(|(section, _, block)| (section.name, &*block.text)).collect();
    for bullet in &plan.bullets {
        if there.insert((bullet.section, &bullet.text)) {
            let lacks = missing.entry(bullet.section).or_default();
            lacks.bullets.entry(bullet.phase.clone()).or_default().push(&bullet.text);
        }
    }
    let section = layout.section(Section::FailureContext);
    for (label, wanted) in &plan.failures {
        // What was not wanted is out by now, so all that is left of ours stays.
        let part = section.and_then(|section| section.phase(label));
        let there = part.map_or(0, |part| part.blocks.iter().filter(|block| plan.owns(block)).count());
        let lacks: Vec<&str> = wanted.iter().skip(there).map(String::as_str).collect();
        if !lacks.is_empty() {
            let section = missing.entry(Section::FailureContext).or_default();
            section.entries.insert(label.clone(), lacks);
        }
    }
    missing
}

/// Adds what a section lacks, and the section itself at the end of the file where it is missing.
fn add_to_section(layout: &Layout<'_>, name: Section, lacks: &Lacks<'_>, out: &mut Vec<Insertion>) {
    let section = layout.section(name);
    let top = section.and_then(|section| section.parts.first());
    let end = layout.file.lines.len();
    if top.is_none() {
        out.push(apart(end, name.heading()));
    }
    let needs_intro = name == Section::FailureContext && (top.is_none() || !lacks.entries.is_empty());
    if needs_intro && !top.is_some_and(|top| has_intro(layout, top)) {
        out.push(apart(top.map_or(end, |top| top.start + 1), INTRO.to_owned()));
    }
    let place = |label| section.map_or(end, |section| place_for_phase(layout, section, label));
    // New subsections come after what is added to the one they follow.
    let mut new_phases = Vec::new();
    if let Some(texts) = lacks.bullets.get(&PhaseLabel::NoPhase) {
        out.push(bullets_for(layout, top, end, texts));
    }
    for (label, texts) in lacks.bullets.iter().filter(|(label, _)| **label != PhaseLabel::NoPhase) {
        let part = section.and_then(|section| section.phase(label));
        if part.is_some() {
            out.push(bullets_for(layout, part, end, texts));
        } else {
            new_phases.push(apart(place(label), label.heading()));
            new_phases.push(list(place(label), Spacing::Apart, texts));
        }
    }
    for (label, texts) in &lacks.entries {
        let part = section.and_then(|section| section.phase(label));
        let at = part.map_or_else(|| place(label), |part| end_of_items(layout, part));
        let into = if part.is_some() { &mut *out } else { &mut new_phases };
        into.extend(part.is_none().then(|| apart(at, label.heading())));
        into.extend(texts.iter().map(|text| list(at, Spacing::Apart, &[text])));
    }
    out.append(&mut new_phases);
}

/// Bullets at the end of a part's list, or of the file where there is no such part.
fn bullets_for(layout: &Layout<'_>, part: Option<&Part<'_>>, end: usize, texts: &[&str]) -> Insertion {
    let last = part.and_then(|part| part.blocks.last());
    let spacing = match last.is_some_and(|last| last.entry_name.is_none()) {
        true => Spacing::Tight,
        false => Spacing::Apart,
    };
    list(part.map_or(end, |part| end_of_items(layout, part)), spacing, texts)
}

fn has_intro(layout: &Layout<'_>, top: &Part<'_>) -> bool {
    let lines = layout.file.lines.get(top.start..top.end).unwrap_or_default();
    lines.iter().any(|line| line.text.trim() == INTRO)
}

/// The line before which another item of a part's list goes.
fn end_of_items(layout: &Layout<'_>, part: &Part<'_>) -> usize {
    let Some(last) = part.blocks.last() else { return layout.file.end_of_content(part.start, part.end) };
    // Text that follows an item directly is shown as part of it, and so is what is indented below.
    let mut at = last.end;
    while at < part.end {
        let next = layout.file.next_content(at);
        match layout.kind(next) {
            Some(Kind::Paragraph) if next == at => at += 1,
            Some(Kind::Paragraph | Kind::Other)
                if at > last.end && next < part.end && layout.file.is_indented(next, 0) =>
            {
                at = next + 1;
            }
            _ => break,
        }
    }
    at
}

/// The line before which a new subsection goes, so that phases stand in order.
fn place_for_phase(layout: &Layout<'_>, section: &OwnedSection<'_>, label: &PhaseLabel) -> usize {
    let parts = &section.parts;
    if let Some(later) = parts.iter().find(|part| part.phase_begun().is_some_and(|one| one > label)) {
        return later.start;
    }
    let after_phases = parts.iter().rev().take_while(|part| part.phase_begun().is_none());
    // The person's first own subsection after the last phase.
    let next_own = match parts.iter().any(|part| part.phase_begun().is_some()) {
        true => after_phases.filter(|part| !part.is_nested).last(),
        false => None,
    };
    let start = parts.first().map_or(0, |part| part.start);
    let end = parts.last().map_or(start, |part| part.end);
    layout.file.end_of_content(start, next_own.map_or(end, |part| part.start))
}
