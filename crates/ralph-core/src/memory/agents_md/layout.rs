//! The owned sections of a file: their parts (what stands under one heading) and list items.

use std::borrow::Cow;

use super::Section;
use super::texts::{PhaseLabel, item_text, name_of};
use crate::markdown::{Kind, Line, Lines, atx_heading};

#[derive(Debug)]
pub(super) struct Layout<'a> {
    pub(super) file: Lines<'a>,
    pub(super) sections: Vec<OwnedSection<'a>>,
}

#[derive(Debug)]
pub(super) struct OwnedSection<'a> {
    pub(super) name: Section,
    /// The first is the section's own heading with what stands before any other heading.
    pub(super) parts: Vec<Part<'a>>,
}

/// A heading and what stands between it and the next one of any level.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) start: usize,
    /// The line after the last.
    pub(super) end: usize,
    phase: Option<PhaseLabel>,
    /// Whether its heading is a deeper one than that of the section or subsection.
    pub(super) is_nested: bool,
    pub(super) blocks: Vec<Block<'a>>,
}

#[derive(Debug)]
pub(super) struct Block<'a> {
    pub(super) start: usize,
    /// The line after the last.
    pub(super) end: usize,
    /// Its text, as [`super::bullet_text`] has it.
    pub(super) text: Cow<'a, str>,
    /// Where it is a failure entry: the name in it.
    pub(super) entry_name: Option<String>,
}

impl Part<'_> {
    /// The phase whose heading the part begins with.
    pub(super) fn phase_begun(&self) -> Option<&PhaseLabel> {
        self.phase.as_ref().filter(|_| !self.is_nested)
    }
}

impl<'a> OwnedSection<'a> {
    pub(super) fn phase(&self, label: &PhaseLabel) -> Option<&Part<'a>> {
        self.parts.iter().find(|part| part.phase_begun() == Some(label))
    }

    /// The phase that bullets in one of its parts have.
    pub(super) fn bullet_phase(&self, part: &Part<'_>) -> PhaseLabel {
        let phase = part.phase.clone().filter(|_| self.name == Section::PhaseSpecific);
        phase.unwrap_or(PhaseLabel::NoPhase)
    }

    fn begin_part(&mut self, start: usize, phase: Option<PhaseLabel>, is_nested: bool) {
        self.parts.push(Part { start, end: start + 1, phase, is_nested, blocks: Vec::new() });
    }

    /// The phase whose subsection a heading of the third level begins; other subsections are a person's own.
    fn subsection(&self, line: &Line<'_>) -> Option<PhaseLabel> {
        let label = PhaseLabel::of_heading(atx_heading(line.text)?.1)?;
        match self.name {
            Section::FailureContext => Some(label),
            Section::PhaseSpecific => Some(label).filter(|label| *label != PhaseLabel::NoPhase),
            _ => None,
        }
    }

    fn add_block(&mut self, lines: &[Line<'a>], start: usize, end: usize) {
        let own = lines.get(start..end).unwrap_or_default();
        let text = item_text(own.iter().map(|line| line.text));
        let name = name_of(&text).filter(|_| self.name == Section::FailureContext);
        let entry_name = name.map(str::to_owned);
        if let Some(part) = self.parts.last_mut() {
            part.blocks.push(Block { start, end, text, entry_name });
        }
    }
}

impl<'a> Layout<'a> {
    pub(super) fn of(file: &'a str) -> Self {
        let file = Lines::of(file);
        let mut sections: Vec<OwnedSection<'a>> = Vec::new();
        // Whether the last of `sections` goes on.
        let mut is_open = false;
        let mut at = 0;
        while let Some(line) = file.lines.get(at) {
            let start = at;
            at += 1;
            if let Kind::Heading(..=2) = line.kind {
                let name = owned(line);
                is_open = name.is_some();
                sections.extend(name.map(|name| OwnedSection { name, parts: Vec::new() }));
            }
            let Some(section) = sections.last_mut().filter(|_| is_open) else { continue };
            match line.kind {
                Kind::Heading(..=2) => section.begin_part(start, None, false),
                Kind::Heading(3) => section.begin_part(start, section.subsection(line), false),
                Kind::Heading(_) => {
                    let above = section.parts.last().and_then(|part| part.phase.clone());
                    section.begin_part(start, above, true);
                }
                Kind::Bullet => {
                    at = end_of_item(&file.lines, start);
                    section.add_block(&file.lines, start, at);
                }
                _ => {}
            }
            section.parts.last_mut().into_iter().for_each(|part| part.end = at);
        }
        Self { file, sections }
    }

    /// The section that is written to where there are several of one name: the first.
    pub(super) fn section(&self, name: Section) -> Option<&OwnedSection<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }

    pub(super) fn blocks(&self) -> impl Iterator<Item = (&OwnedSection<'a>, &Part<'a>, &Block<'a>)> {
        self.sections.iter().flat_map(|section| {
            let parts = section.parts.iter();
            parts.flat_map(move |part| part.blocks.iter().map(move |block| (section, part, block)))
        })
    }

    pub(super) fn kind(&self, at: usize) -> Option<Kind> {
        self.file.lines.get(at).map(|line| line.kind)
    }
}

/// The section that a heading at column 0 begins.
fn owned(line: &Line<'_>) -> Option<Section> {
    let (level, words) = atx_heading(line.text)?;
    let mut all = Section::ALL.into_iter();
    all.find(|section| level == 2 && section.title() == words)
}

/// The line after the last one of the list item that begins at `start`.
fn end_of_item(lines: &[Line<'_>], start: usize) -> usize {
    let mut end = start + 1;
    for (at, line) in lines.iter().enumerate().skip(start + 1) {
        match line.kind {
            Kind::Inside => end = at + 1,
            Kind::Blank => {}
            _ => break,
        }
    }
    end
}
