//! What is done to text alike for all formats: lines, titles, paths, phases of headings.

use crate::markdown::{Line, Lines, indent, spans};
use crate::text::{Pattern, plain_line};

/// Of the name of a phase.
const PHASE_NAME_CHARS: usize = 80;

/// The text on one line.
pub(crate) fn one_line(text: &str) -> String {
    plain_line(text, usize::MAX)
}

/// The line without up to `columns` columns of its indent, and without white space at its end.
pub(crate) fn dedented(line: &str, columns: usize) -> String {
    let mut gone = 0;
    let mut rest = line;
    while gone < columns {
        match rest.bytes().next() {
            Some(b' ') => gone += 1,
            // A tab may reach over the edge.
            Some(b'\t') => gone += 4 - gone % 4,
            _ => break,
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    let kept = gone.saturating_sub(columns);
    format!("{}{}", " ".repeat(kept), rest.trim_end())
}

/// Several lines without the indent they share and without blank lines around them. The first line
/// may stand behind a tag, so that its indent says nothing.
pub(crate) fn block(text: &str) -> String {
    let shared = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let shared = shared.map(|line| indent(line).0).min().unwrap_or(0);
    let mut lines = text.lines();
    let mut out = lines.next().unwrap_or_default().trim().to_owned();
    for line in lines {
        out.push('\n');
        out.push_str(&dedented(line, shared));
    }
    out.trim_matches('\n').trim_end().to_owned()
}

/// The parts that say something, each after a blank line.
pub(crate) fn paragraphs<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

/// Whether a value only says that there is none: `None`, `N/A`, `-`.
pub(crate) fn is_placeholder(value: &str) -> bool {
    let word = value.trim().trim_matches('`').trim_end_matches('.');
    ["", "none", "nothing", "n/a", "tbd", "-", "–", "—"]
        .iter()
        .any(|placeholder| word.eq_ignore_ascii_case(placeholder))
}

/// What a note behind a value begins with.
const DASHES: [&str; 3] = [" - ", " – ", " — "];

/// A text without what comes after a dash and without parentheses at its end. `app/(auth)` has none.
pub(crate) fn without_notes(text: &str) -> &str {
    static PARENTHESES: Pattern = Pattern::new(r"(?:[ \t]+\((?:[^()]|\([^()]*\))*\))+$");
    let dash = DASHES.into_iter().filter_map(|dash| text.find(dash)).min();
    let text = text[..dash.unwrap_or(text.len())].trim();
    let notes = PARENTHESES.regex().and_then(|regex| regex.find(text));
    text[..notes.map_or(text.len(), |notes| notes.start())].trim_end()
}

/// The paths in a text such as `` src/a.ts (create), `src/b.ts` ``.
pub(crate) fn paths(text: &str) -> Vec<String> {
    let pieces = between_commas(text).into_iter();
    pieces.flat_map(paths_in_piece).filter(|path| !is_placeholder(path)).collect()
}

/// What one piece between commas names: its codes, or itself without notes.
fn paths_in_piece(piece: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut at = 0;
    for span in spans(piece) {
        // A code in a note is no file.
        let between = piece.get(at..span.whole.start).unwrap_or_default();
        if between.contains('(') || DASHES.into_iter().any(|dash| between.contains(dash)) {
            break;
        }
        paths.push(span.content.trim().to_owned());
        at = span.whole.end;
    }
    if paths.is_empty() {
        paths.push(without_notes(piece).to_owned());
    }
    paths
}

/// Splits at commas, but not within code, nor within parentheses or braces that are closed.
fn between_commas(text: &str) -> Vec<&str> {
    let mut codes = spans(text).into_iter().map(|span| span.whole).peekable();
    let mut pieces = Vec::new();
    let mut loose = Vec::new();
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        while codes.next_if(|code| code.end <= at).is_some() {}
        match byte {
            _ if codes.peek().is_some_and(|code| code.contains(&at)) => {}
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth = depth.saturating_sub(1),
            b',' => {
                loose.push(at);
                pieces.extend((depth == 0).then_some(at));
            }
            _ => {}
        }
    }
    let commas = if depth == 0 { pieces } else { loose };
    let starts = std::iter::once(0).chain(commas.iter().map(|comma| comma + 1));
    let ends = commas.iter().copied().chain([text.len()]);
    starts.zip(ends).map(|(start, end)| &text[start..end]).collect()
}

/// A name before a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a str,
    pub(crate) emphasis: Emphasis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Emphasis {
    Bold,
    Italic,
    Plain,
}

/// Reads `**Name**: value`, `**Name:** value`, `_Name: value_`, `_Name_: value` and `Name: value`.
pub(crate) fn label(text: &str) -> Option<Label<'_>> {
    static BOLD: Pattern = Pattern::new(r"^\*\*(.*?)(?::\*\*|\*\*:)(.*)$");
    static ITALIC: Pattern = Pattern::new(r"^(?:_+([^:]*?)_*:_*(.*?)_?|\*+([^:]*?)\**:\**(.*?)\*?)$");
    static PLAIN: Pattern = Pattern::new(r"^([^:]*):(.*)$");
    let (pattern, emphasis) = match text.as_bytes() {
        [b'*', b'*', ..] => (&BOLD, Emphasis::Bold),
        [b'*' | b'_', ..] => (&ITALIC, Emphasis::Italic),
        _ => (&PLAIN, Emphasis::Plain),
    };
    let found = pattern.captures(text)?;
    let mut groups = found.iter().skip(1).flatten().map(|group| group.as_str().trim());
    Some(Label { name: groups.next()?, value: groups.next()?, emphasis })
}

/// The phase that the headings above a task give it.
#[derive(Debug, Default)]
pub(crate) struct Phases<'a> {
    /// Headings of phases, each deeper than the one before it.
    open: Vec<(usize, &'a str)>,
    /// Goes up with every phase that begins or ends.
    pub(crate) count: usize,
}

impl<'a> Phases<'a> {
    pub(crate) fn heading(&mut self, level: usize, words: &'a str) {
        let before = self.open.len();
        while self.open.pop_if(|(open, _)| *open >= level).is_some() {}
        let has_ended = self.open.len() < before;
        // Below `## Phase 2` a `### 1. Setup` is a part of phase 2.
        let phase =
            phase_words(words).filter(|(_, is_called_phase)| *is_called_phase || self.open.is_empty());
        self.count += usize::from(has_ended || phase.is_some());
        self.open.extend(phase.map(|(number, _)| (level, number)));
    }

    /// The phase of what comes next.
    pub(crate) fn current(&self) -> Option<&'a str> {
        self.open.last().map(|(_, number)| *number)
    }
}

/// The names that the headings of a text give its phases: `Storage` in `## Phase 1: Storage`. The first one of each number.
pub(crate) fn phase_names(text: &str) -> Vec<(String, String)> {
    let mut names: Vec<(String, String)> = Vec::new();
    let mut phases = Phases::default();
    let lines = Lines::of(text).lines;
    for (level, words) in lines.iter().filter(|line| line.hidden.is_none()).filter_map(Line::heading) {
        let before = phases.count;
        phases.heading(level, words);
        let Some((number, _)) = phase_words(words).filter(|_| phases.count > before) else { continue };
        // What stands before the number has no digit.
        let name = words.split_once(number).map_or("", |(_, rest)| rest);
        let around = |c: char| c.is_whitespace() || ".:-–—|*_#".contains(c);
        let name = name.trim_start_matches(|c| around(c) || c == ')').trim_end_matches(around);
        let name = plain_line(name, PHASE_NAME_CHARS);
        if !name.is_empty() && names.iter().all(|(known, _)| known != number) {
            names.push((number.to_owned(), name));
        }
    }
    names
}

/// The number of the phase that a heading or list item begins with, and whether the word `Phase` stands before it. A number in a
/// sentence (`3 wishes`) is no phase; one that is set apart is.
pub(crate) fn phase_words(words: &str) -> Option<(&str, bool)> {
    static CALLED_PHASE: Pattern =
        Pattern::new(r"^(?i-u:phase)[ \t]+([0-9][0-9A-Za-z]*(?:\.[0-9A-Za-z]+)?)\.*(?:$|[^0-9A-Za-z.])");
    static SET_APART: Pattern =
        Pattern::new(r"^([0-9]+(?:\.[0-9]+)?)(?:[.):]?$|[.):][ \t*_]|[ \t*_][ \t]*[-–—|])");
    static DOTTED: Pattern = Pattern::new(r"^([0-9]+\.[0-9]+)[ \t*_]");
    // Emphasis and pictures may stand before the words.
    let words = words.trim_start_matches(|c: char| !c.is_alphanumeric());
    let (number, is_called_phase) = [&CALLED_PHASE, &SET_APART, &DOTTED]
        .iter()
        .zip([true, false, false])
        .find_map(|(pattern, is_called)| Some((pattern.captures(words)?.get(1)?.as_str(), is_called)))?;
    (number.len() <= 8).then_some((number, is_called_phase))
}

#[cfg(test)]
mod tests;
