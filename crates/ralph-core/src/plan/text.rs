//! What is done to text alike for all formats: lines, titles, paths, phases of headings.

use crate::markdown::{indent, spans};

/// The text on one line: runs of white space and control characters become one space.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
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

/// The first sentence of a line, without the full stop at its end.
pub(crate) fn first_sentence(line: &str) -> &str {
    const SHORT_FORMS: [&str; 5] = ["e.g.", "i.e.", "etc.", "vs.", "cf."];
    let mut start = 0;
    for word in line.split_inclusive(' ') {
        let end = start + word.trim_end().len();
        start += word.len();
        let word = word.trim_end();
        let bare = word.trim_start_matches('(').to_lowercase();
        if word.ends_with(['.', '!', '?']) && !SHORT_FORMS.contains(&bare.as_str()) {
            let sentence = line.get(..end).unwrap_or(line);
            return sentence.strip_suffix('.').unwrap_or(sentence);
        }
    }
    line
}

/// The line, or its beginning up to a word's end with `…`; never more than `most` characters.
pub(crate) fn cut(line: &str, most: usize) -> String {
    let at = |chars: usize| line.char_indices().nth(chars).map(|(at, _)| at);
    let Some(end) = at(most) else {
        return line.to_owned();
    };
    // One place is for the mark.
    let room = at(most.saturating_sub(1)).unwrap_or(end);
    let (head, rest) = line.split_at_checked(room).unwrap_or((line, ""));
    let words = match head.rfind(' ') {
        Some(space) if !rest.starts_with(' ') => head.get(..space).unwrap_or(head),
        _ => head,
    };
    format!("{}…", words.trim_end_matches([' ', ',', ';', ':', '-']))
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

/// A text without what comes after a dash and without parentheses at its end.
pub(crate) fn without_notes(text: &str) -> &str {
    let dash = DASHES.into_iter().filter_map(|dash| text.find(dash)).min();
    let text = text.get(..dash.unwrap_or(text.len())).unwrap_or(text);
    let mut text = text.trim();
    while let Some(before) = before_parentheses(text) {
        text = before.trim_end();
    }
    text
}

/// What stands before ` (…)` at the end of a text. `app/(auth)` has none.
fn before_parentheses(text: &str) -> Option<&str> {
    text.strip_suffix(')')?;
    let mut depth = 0_usize;
    let (open, _) = text.char_indices().rev().find(|(_, c)| {
        match c {
            ')' => depth += 1,
            '(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })?;
    let before = text.get(..open)?;
    before.ends_with(char::is_whitespace).then_some(before)
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
    starts.zip(ends).filter_map(|(start, end)| text.get(start..end)).collect()
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

/// Reads `**Name**: value`, `**Name:** value`, `_Name: value_` and `Name: value`.
pub(crate) fn label(text: &str) -> Option<Label<'_>> {
    if let Some(text) = text.strip_prefix("**") {
        let (name, after) = text.split_once("**")?;
        let (name, value) = match name.strip_suffix(':') {
            Some(name) => (name, after),
            None => (name, after.strip_prefix(':')?),
        };
        return Some(Label { name: name.trim(), value: value.trim(), emphasis: Emphasis::Bold });
    }
    let Some(mark) = text.chars().next().filter(|c| matches!(c, '_' | '*')) else {
        let (name, value) = text.split_once(':')?;
        return Some(Label { name: name.trim(), value: value.trim(), emphasis: Emphasis::Plain });
    };
    let (name, value) = text.trim_start_matches(mark).split_once(':')?;
    // Also `_Name_: value` and `_Name:_ value`.
    let value = value.trim_start_matches(mark).trim();
    let value = value.strip_suffix(mark).unwrap_or(value);
    Some(Label { name: name.trim_end_matches(mark), value: value.trim(), emphasis: Emphasis::Italic })
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
        let phase = phase_words(words).filter(|phase| phase.is_called_phase || self.open.is_empty());
        self.count += usize::from(has_ended || phase.is_some());
        self.open.extend(phase.map(|phase| (level, phase.number)));
    }

    /// The phase of what comes next.
    pub(crate) fn current(&self) -> Option<&'a str> {
        self.open.last().map(|(_, number)| *number)
    }
}

/// The phase a heading or list item begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PhaseWords<'a> {
    pub(crate) number: &'a str,
    /// Whether the word `Phase` stands before it.
    pub(crate) is_called_phase: bool,
}

pub(crate) fn phase_words(words: &str) -> Option<PhaseWords<'_>> {
    // Emphasis and pictures may stand before the words.
    let words = words.trim_start_matches(|c: char| !c.is_alphanumeric());
    if let Some((word, after)) = words.split_at_checked("phase".len())
        && word.eq_ignore_ascii_case("phase")
        && after.starts_with([' ', '\t'])
    {
        let number = phase_number(after.trim_start(), |c| c.is_ascii_alphanumeric())?;
        return Some(PhaseWords { number, is_called_phase: true });
    }
    let number = phase_number(words, |c| c.is_ascii_digit())?;
    let after = words.get(number.len()..).unwrap_or_default();
    ends_number(number, after).then_some(PhaseWords { number, is_called_phase: false })
}

/// A digit, more of the same, and parts of that after points.
fn phase_number(text: &str, is_of_part: impl Fn(char) -> bool) -> Option<&str> {
    let is_of_number = |c: char| c == '.' || is_of_part(c);
    let end = text.find(|c| !is_of_number(c)).unwrap_or(text.len());
    let number = text.get(..end)?.trim_end_matches('.');
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && number.split('.').count() <= 2
        && number.len() <= 8;
    is_number.then_some(number)
}

/// A number in a sentence (`3 wishes`) is no phase; one that is set apart is.
fn ends_number(number: &str, after: &str) -> bool {
    let is_spaced = |after: &str| after.is_empty() || after.starts_with([' ', '\t', '*', '_']);
    match after.strip_prefix(['.', ')', ':']) {
        Some(after) => is_spaced(after),
        None if after.is_empty() => true,
        None => {
            let words = after.trim_start();
            is_spaced(after) && (number.contains('.') || words.starts_with(['-', '–', '—', '|']))
        }
    }
}

#[cfg(test)]
mod tests;
