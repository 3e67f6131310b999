//! The owned sections of a file: their parts (what stands under one heading) and list items.

use std::borrow::Cow;

use super::Section;
use super::texts::{PhaseLabel, item_text, name_of};
use crate::markdown::{Kind, Line, Lines, atx_heading};

/// A file's lines and the owned sections in them.
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
    pub(super) under: Under,
    pub(super) depth: Depth,
    pub(super) blocks: Vec<Block<'a>>,
}

/// What a part belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Under {
    Section,
    Phase(PhaseLabel),
    /// A person's own subsection.
    Own,
}

/// Whether a part's heading is that of the section or subsection, or a deeper one within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    Top,
    Nested,
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
    /// The phase that bullets in this part have.
    pub(super) fn learning_phase(&self, section: Section) -> PhaseLabel {
        match &self.under {
            Under::Phase(label) if section == Section::PhaseSpecific => label.clone(),
            _ => PhaseLabel::NoPhase,
        }
    }

    /// Whether the part begins with the heading of a phase.
    pub(super) fn phase_begun(&self) -> Option<&PhaseLabel> {
        match &self.under {
            Under::Phase(label) if self.depth == Depth::Top => Some(label),
            _ => None,
        }
    }
}

impl<'a> OwnedSection<'a> {
    /// The first part that begins with the phase's heading.
    pub(super) fn phase(&self, label: &PhaseLabel) -> Option<&Part<'a>> {
        self.parts.iter().find(|part| part.phase_begun() == Some(label))
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
            match line.kind {
                Kind::Heading(..=2) => {
                    is_open = false;
                    if let Some(name) = owned(line) {
                        is_open = true;
                        let parts = vec![Part::new(start, Under::Section, Depth::Top)];
                        sections.push(OwnedSection { name, parts });
                    }
                }
                Kind::Heading(level) if is_open => {
                    if let Some(section) = sections.last_mut() {
                        section.begin_part(start, level, line);
                    }
                }
                Kind::Bullet if is_open => {
                    at = end_of_item(&file.lines, start);
                    if let Some(section) = sections.last_mut() {
                        section.add_block(&file.lines, start, at);
                    }
                }
                _ => {}
            }
            if let Some(part) = sections.last_mut().filter(|_| is_open).and_then(|s| s.parts.last_mut()) {
                part.end = at;
            }
        }
        Self { file, sections }
    }

    /// The section that is written to where there are several of one name: the first.
    pub(super) fn section(&self, name: Section) -> Option<&OwnedSection<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// All list items of the owned sections.
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

impl<'a> OwnedSection<'a> {
    fn begin_part(&mut self, start: usize, level: usize, line: &Line<'_>) {
        let above = self.parts.last().map_or(Under::Section, |part| part.under.clone());
        let part = match level {
            3 => Part::new(start, self.subsection(line), Depth::Top),
            _ => Part::new(start, above, Depth::Nested),
        };
        self.parts.push(part);
    }

    fn subsection(&self, line: &Line<'_>) -> Under {
        let label = atx_heading(line.text).and_then(|(_, words)| PhaseLabel::of_heading(words));
        match (self.name, label) {
            (Section::FailureContext, Some(label)) => Under::Phase(label),
            (Section::PhaseSpecific, Some(label)) if label != PhaseLabel::NoPhase => Under::Phase(label),
            _ => Under::Own,
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

impl Part<'_> {
    fn new(start: usize, under: Under, depth: Depth) -> Self {
        Self { start, end: start + 1, under, depth, blocks: Vec::new() }
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
