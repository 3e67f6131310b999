//! Taking list items out of a file: removed bullets and failure entries that are no longer wanted.

use std::ops::Range;

use super::layout::{Depth, Layout, OwnedSection, Part};
use super::model::Section;
use super::plan::Plan;
use crate::markdown::Kind;

/// The file without what is to go; `None` if nothing is.
pub(super) fn take_out(layout: &Layout<'_>, plan: &Plan<'_>, line_end: &str) -> Option<String> {
    let gone: Vec<Range<usize>> = layout
        .sections
        .iter()
        .flat_map(|section| gone_from(layout, section, plan))
        .collect();
    (!gone.is_empty()).then(|| without(layout, &gone, line_end))
}

/// The lines of a section that go, in file order.
fn gone_from(layout: &Layout<'_>, section: &OwnedSection, plan: &Plan<'_>) -> Vec<Range<usize>> {
    let mut gone = Vec::new();
    for (at, part) in section.parts.iter().enumerate() {
        let home = home_of(layout, section, part, plan);
        let stays = home.map(|wanted| plan.staying(part, wanted));
        let stays =
            stays.unwrap_or_else(|| part.blocks.iter().map(|block| !plan.owns(block)).collect());
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
            gone.push(part.start..layout.end_of_content(part.start, part.end));
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
        && written
            .phase(label)
            .is_some_and(|home| home.start == part.start);
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
        layout.end_of_content(between.start, between.end) == between.start
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
