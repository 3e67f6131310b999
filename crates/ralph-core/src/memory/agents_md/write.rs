//! Writing the file: what is wanted is made comparable with what the file holds, what is to go is taken out,
//! what is missing is put in.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use super::layout::{Block, Depth, Layout, OwnedSection, Part};
use super::texts::{PhaseLabel, item_lines, name_of, tidy};
use super::{Bullet, Section, Wanted};
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
    remove: HashMap<Cow<'a, str>, Vec<Target>>,
    names: HashSet<String>,
    is_ours: &'a dyn Fn(&str) -> bool,
}

/// A bullet with its place and text in the form in which they are compared.
struct PlannedBullet<'a> {
    section: Section,
    phase: PhaseLabel,
    text: Cow<'a, str>,
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
    fn new(wanted: &'a Wanted, is_ours: &'a dyn Fn(&str) -> bool) -> Self {
        let bullets = wanted.bullets.iter().map(PlannedBullet::new);
        let bullets: Vec<_> = bullets.filter(PlannedBullet::is_writable).collect();
        let mut failures: BTreeMap<PhaseLabel, Vec<String>> = BTreeMap::new();
        let mut names = HashSet::new();
        for phase in wanted.failures.iter().filter(|phase| !phase.entries.is_empty()) {
            let label = PhaseLabel::new(phase.phase.as_deref());
            let texts = failures.entry(label).or_default();
            for entry in &phase.entries {
                texts.push(entry.text());
                names.insert(entry.written_name());
            }
        }
        Self { remove: removals(&wanted.remove, &bullets), bullets, failures, names, is_ours }
    }

    /// Whether a list item is to go because `remove` names it.
    fn removes(&self, section: Section, part: &Part, block: &Block) -> bool {
        let targets = self.remove.get(&block.text).map(Vec::as_slice);
        block.entry_name.is_none()
            && targets.unwrap_or_default().iter().any(|target| {
                target.section == section
                    && (target.phase == PhaseLabel::NoPhase || target.phase == part.learning_phase(section))
            })
    }

    /// Whether a list item is a failure entry that Ralph may replace.
    fn owns(&self, block: &Block) -> bool {
        let name = block.entry_name.as_deref();
        name.is_some_and(|name| self.names.contains(name) || (self.is_ours)(name))
    }

    /// For each list item of the subsection in which a phase's entries belong: whether it may stay.
    ///
    /// What stays of Ralph's entries are the oldest ones that are wanted, in their order; the rest
    /// can then be added at the end. So a new failure moves none of the old ones.
    fn staying(&self, part: &Part, wanted: &[String]) -> Vec<bool> {
        let mut next = wanted.iter().map(|text| tidy(text)).peekable();
        let stays = |block: &Block| !self.owns(block) || next.next_if(|text| *text == block.text).is_some();
        part.blocks.iter().map(stays).collect()
    }
}

/// What `remove` asks for, without what is wanted at the same place.
fn removals<'a>(remove: &'a [Bullet], bullets: &[PlannedBullet<'_>]) -> HashMap<Cow<'a, str>, Vec<Target>> {
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
        let PlannedBullet { section, phase, text } = bullet;
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

/// The file without what is to go; `None` if nothing is.
fn take_out(layout: &Layout<'_>, plan: &Plan<'_>, line_end: &str) -> Option<String> {
    let gone: Vec<Range<usize>> =
        layout.sections.iter().flat_map(|section| gone_from(layout, section, plan)).collect();
    (!gone.is_empty()).then(|| without(layout, &gone, line_end))
}

/// The lines of a section that go, in file order.
fn gone_from(layout: &Layout<'_>, section: &OwnedSection, plan: &Plan<'_>) -> Vec<Range<usize>> {
    let mut gone = Vec::new();
    for (at, part) in section.parts.iter().enumerate() {
        let home = home_of(layout, section, part, plan);
        let stays = home.map(|wanted| plan.staying(part, wanted));
        let stays = stays.unwrap_or_else(|| part.blocks.iter().map(|block| !plan.owns(block)).collect());
        let mut blocks = Vec::new();
        let mut has_lost_entries = false;
        for (block, stays) in part.blocks.iter().zip(stays) {
            if !stays || plan.removes(section.name, part, block) {
                blocks.push(block.start..block.end);
            }
            has_lost_entries |= !stays;
        }
        let next = section.parts.get(at + 1);
        let is_alone = next.is_none_or(|next| next.depth == Depth::Top);
        if has_lost_entries
            && home.is_none()
            && is_alone
            && part.phase_begun().is_some()
            && is_emptied(layout, part, &blocks)
        {
            gone.push(part.start..layout.file.end_of_content(part.start, part.end));
        } else {
            gone.extend(blocks);
        }
    }
    gone
}

/// The entries that belong in this part, where it is the one for its phase.
fn home_of<'p>(
    layout: &Layout<'_>,
    section: &OwnedSection,
    part: &Part,
    plan: &'p Plan<'_>,
) -> Option<&'p [String]> {
    let label = part.phase_begun()?;
    let written = layout.section(Section::FailureContext)?;
    let is_home = section.name == Section::FailureContext
        && written.phase(label).is_some_and(|home| home.start == part.start);
    let wanted = plan.failures.get(label).map(Vec::as_slice);
    wanted.filter(|_| is_home)
}

/// Whether only the heading remains of a part once `gone` is out of it.
fn is_emptied(layout: &Layout<'_>, part: &Part, gone: &[Range<usize>]) -> bool {
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
        here.push(heading(end, TITLE.to_owned()));
    }
    // What belongs in the last section comes before a new one; the order is kept otherwise.
    here.append(&mut at_the_end);
    here.sort_by_key(|insertion| insertion.at);
    Some(layout.file.spliced(&BTreeMap::new(), &here, line_end))
}

/// A heading or another line that stands alone.
fn heading(at: usize, line: String) -> Insertion {
    Insertion { at, spacing: Spacing::Apart, lines: vec![line] }
}

/// A list of items with these texts.
fn list(at: usize, spacing: Spacing, texts: &[&str]) -> Insertion {
    let lines = texts.iter().flat_map(|text| item_lines(text)).collect();
    Insertion { at, spacing, lines }
}

/// What a section lacks, by phase; in sections without phases all of it has none.
type Lacks<'p> = BTreeMap<PhaseLabel, Vec<&'p str>>;

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
                    lacks.entry(bullet.phase.clone()).or_default().push(&bullet.text);
                }
            }
        }
        let section = layout.section(Section::FailureContext);
        for (label, wanted) in &plan.failures {
            // What was not wanted is out by now, so all that is left of ours stays.
            let part = section.and_then(|section| section.phase(label));
            let there = part.map_or(0, |part| part.blocks.iter().filter(|block| plan.owns(block)).count());
            let lacks: Vec<&str> = wanted.iter().skip(there).map(String::as_str).collect();
            if !lacks.is_empty() {
                missing.entries.insert(label.clone(), lacks);
            }
        }
        missing
    }

    fn of_section(&self, name: Section) -> ToAdd<'_, 'p> {
        let is_for_entries = name == Section::FailureContext && !self.entries.is_empty();
        ToAdd { bullets: self.bullets.get(&name), entries: is_for_entries.then_some(&self.entries) }
    }
}

impl ToAdd<'_, '_> {
    fn is_empty(&self) -> bool {
        self.bullets.is_none() && self.entries.is_none()
    }
}

fn add_section(name: Section, lacks: ToAdd<'_, '_>, at: usize, out: &mut Vec<Insertion>) {
    out.push(heading(at, name.heading().to_owned()));
    if name == Section::FailureContext {
        out.push(heading(at, INTRO.to_owned()));
    }
    let bullets = || lacks.bullets.into_iter().flatten();
    // What has no phase comes before the first phase's heading.
    for (_, texts) in bullets().filter(|(label, _)| **label == PhaseLabel::NoPhase) {
        out.push(list(at, Spacing::Apart, texts));
    }
    for (label, texts) in bullets().filter(|(label, _)| **label != PhaseLabel::NoPhase) {
        out.push(heading(at, label.heading()));
        out.push(list(at, Spacing::Apart, texts));
    }
    for (label, texts) in lacks.entries.into_iter().flatten() {
        add_phase_of_entries(label, texts, at, out);
    }
}

fn add_phase_of_entries(label: &PhaseLabel, texts: &[&str], at: usize, out: &mut Vec<Insertion>) {
    out.push(heading(at, label.heading()));
    add_entries(texts, at, out);
}

fn add_entries(texts: &[&str], at: usize, out: &mut Vec<Insertion>) {
    out.extend(texts.iter().map(|text| list(at, Spacing::Apart, &[text])));
}

fn add_to(layout: &Layout<'_>, section: &OwnedSection, lacks: ToAdd<'_, '_>, out: &mut Vec<Insertion>) {
    let Some(top) = section.parts.first() else {
        return;
    };
    if lacks.entries.is_some() && !has_intro(layout, top) {
        out.push(heading(top.start + 1, INTRO.to_owned()));
    }
    // New subsections come after what is added to the one they follow.
    let mut new_phases = Vec::new();
    for (label, texts) in lacks.bullets.into_iter().flatten() {
        let part = match label {
            PhaseLabel::NoPhase => Some(top),
            label => section.phase(label),
        };
        if let Some(part) = part {
            let ends_in_bullet = part.blocks.last().is_some_and(|last| last.entry_name.is_none());
            let spacing = if ends_in_bullet { Spacing::Tight } else { Spacing::Apart };
            out.push(list(end_of_items(layout, part), spacing, texts));
        } else {
            let at = place_for_phase(layout, section, label);
            new_phases.push(heading(at, label.heading()));
            new_phases.push(list(at, Spacing::Apart, texts));
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
    let lines = layout.file.lines.get(top.start..top.end).unwrap_or_default();
    lines.iter().any(|line| line.text.trim() == INTRO)
}

/// The line before which another item of a part's list goes.
fn end_of_items(layout: &Layout<'_>, part: &Part) -> usize {
    let Some(last) = part.blocks.last() else {
        return layout.file.end_of_content(part.start, part.end);
    };
    // Text that follows an item directly is shown as part of it, and so is what is indented below.
    let mut at = last.end;
    while at < part.end {
        let next = layout.file.next_content(at);
        match layout.kind(next) {
            Some(Kind::Paragraph) if next == at => at += 1,
            Some(Kind::Paragraph | Kind::Other)
                if at > last.end && next < part.end && layout.file.is_indented(next) =>
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
    let later = section.parts.iter().find(|part| begun(part).is_some_and(|one| one > *label));
    if let Some(later) = later {
        return later.start;
    }
    let last_phase = section.parts.iter().rposition(|part| part.phase_begun().is_some());
    let after = section.parts.iter().enumerate().skip(last_phase.map_or(0, |last| last + 1));
    let next_own = after
        .filter(|_| last_phase.is_some())
        .find(|(_, part)| part.depth == Depth::Top)
        .map(|(_, part)| part.start);
    let start = section.parts.first().map_or(0, |part| part.start);
    let end = section.parts.last().map_or(start, |part| part.end);
    layout.file.end_of_content(start, next_own.unwrap_or(end))
}
