//! How failure entries, phase headings and list items are written and read back.

use std::borrow::Cow;

use super::Entry;
use crate::markdown::{bullet, bulleted};
use crate::text::Pattern;
use crate::text::neutral::{inert, inert_prose};

const ERROR: &str = " **Error:**";

impl Entry {
    /// The name as it is written: on one line, and such that it can be read back.
    pub(super) fn written_name(&self) -> String {
        let name = plain(&self.name).replace('\n', " ");
        match name_of(&format!("[{name} | ]{ERROR}")) {
            Some(read) if read == name => name,
            _ => name.replace('|', "/"),
        }
    }

    pub(super) fn text(&self) -> String {
        let at: String = self.at.chars().filter(|c| c.is_ascii_digit() || "-: .+TZ".contains(*c)).collect();
        let mut out = format!("[{} | {at}]", self.written_name());
        if self.times > 1 {
            out.push_str(&format!(" ×{}", self.times));
        }
        push_value(&mut out, ERROR, &self.error, "");
        push_value(&mut out, "\n**Attempted:**", &self.attempted, "not recorded");
        let files = self.files.iter().map(String::as_str).filter(|file| !file.trim().is_empty());
        let files: Vec<&str> = files.collect();
        push_value(&mut out, "\n**Files:**", &files.join(", "), "none");
        push_value(&mut out, "\n**Context:**", &self.context, "");
        let last_good = self.last_good.as_deref().unwrap_or_default();
        if !last_good.trim().is_empty() {
            push_value(&mut out, "\n**Last good:**", last_good, "");
        }
        out
    }
}

/// Appends a labelled value, neutralized as in prompts. Only white space at its end and line ends before it are dropped.
fn push_value(out: &mut String, label: &str, value: &str, if_empty: &str) {
    let value = plain(value);
    let value = value.trim_end().trim_start_matches('\n');
    // The label stands before the first line, so only the others could be headings or fences.
    let value = match value.split_once('\n') {
        Some((first, rest)) => format!("{}\n{}", inert(first), inert_prose(rest)),
        None => inert(value),
    };
    let value = if value.trim_end().is_empty() { if_empty } else { value.trim_end() };
    out.push_str(label);
    if !value.is_empty() {
        out.push(' ');
        out.push_str(value);
    }
}

/// The name in the text of a list item that is a failure entry.
pub(super) fn name_of(text: &str) -> Option<&str> {
    static HEAD: Pattern = Pattern::new(r"^\[(.*?) \| [-0-9: .+TZ]*\](?: ×[0-9]*)? \*\*Error:\*\*");
    HEAD.captures(text)?.get(1).map(|name| name.as_str())
}

/// A phase as it is compared and ordered: numbers, then names, then no phase.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum PhaseLabel {
    /// A decimal number without needless zeros.
    Number {
        /// Digits before the point; first, so that the longer number is the greater.
        length: usize,
        digits: String,
    },
    Named(String),
    NoPhase,
}

const NO_PHASE: &str = "No phase:";

impl PhaseLabel {
    pub(super) fn new(label: Option<&str>) -> Self {
        let label = label.unwrap_or_default();
        if let Some(number) = Self::number(label) {
            return number;
        }
        let spaced: String = label.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let first = words.first().and_then(|word| word.split(':').next());
        if let Some(number) = first.and_then(Self::number) {
            return number;
        }
        let name = words.join(" ");
        match name.trim_end_matches([':', ' ']) {
            "" => Self::NoPhase,
            name => Self::Named(name.to_owned()),
        }
    }

    fn number(text: &str) -> Option<Self> {
        static NUMBER: Pattern = Pattern::new(r"^0*([0-9]+?)(?:\.0*|(\.[0-9]*[1-9])0*)?$");
        let found = NUMBER.captures(text).filter(|_| !text.ends_with('.'))?;
        let group = |number| found.get(number).map_or("", |found| found.as_str());
        Some(Self::Number { length: group(1).len(), digits: format!("{}{}", group(1), group(2)) })
    }

    /// The phase whose subsection a heading with these words begins.
    pub(super) fn of_heading(words: &str) -> Option<Self> {
        if words == NO_PHASE {
            return Some(Self::NoPhase);
        }
        let label = words.strip_prefix("Phase")?;
        if !label.starts_with(char::is_whitespace) {
            return None;
        }
        match Self::new(Some(label)) {
            // Without the colon it is a person's own heading, such as `### Phase overview`.
            Self::Named(_) if !words.ends_with(':') => None,
            Self::NoPhase => None,
            label => Some(label),
        }
    }

    pub(super) fn heading(&self) -> String {
        match self.label() {
            Some(label) => format!("### Phase {label}:"),
            None => format!("### {NO_PHASE}"),
        }
    }

    /// The label without needless zeros.
    pub(super) fn label(&self) -> Option<String> {
        match self {
            Self::Number { digits, .. } => Some(digits.clone()),
            Self::Named(name) => Some(name.clone()),
            Self::NoPhase => None,
        }
    }
}

/// A bullet's text as it reads back from a file: `\n` as line end, no control characters but tabs,
/// no white space around it or at the end of a line.
pub fn bullet_text(text: &str) -> String {
    tidy(text).into_owned()
}

/// What [`bullet_text`] gives; borrowed where the text is so already, as most are.
pub(super) fn tidy(text: &str) -> Cow<'_, str> {
    match plain(text) {
        Cow::Borrowed(plain) if !plain.trim().contains('\n') => Cow::Borrowed(plain.trim()),
        plain => Cow::Owned(Vec::from_iter(plain.trim().split('\n').map(str::trim_end)).join("\n")),
    }
}

/// The text with `\n` as its only line end and without control characters but tabs.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    let is_odd = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n").replace(is_odd, ""))
}

/// The lines of a list item. The indent keeps whatever stands in them from being a heading, an item
/// or a fence of the document.
pub(super) fn item_lines(text: &str) -> Vec<String> {
    let mut lines = text.split('\n');
    let head = bulleted(lines.next().unwrap_or_default());
    let rest = lines.map(|line| match line {
        "" => String::new(),
        line => format!("  {line}"),
    });
    std::iter::once(head).chain(rest).collect()
}

pub(super) fn item_text<'a>(mut lines: impl Iterator<Item = &'a str>) -> Cow<'a, str> {
    let first = lines.next().unwrap_or_default();
    let first = bullet(first).unwrap_or(first);
    let mut text = Cow::Borrowed(first);
    for line in lines {
        let text = text.to_mut();
        text.push('\n');
        text.push_str(without_indent(line));
    }
    match text {
        Cow::Borrowed(first) => tidy(first),
        Cow::Owned(text) => Cow::Owned(bullet_text(&text)),
    }
}

/// A line without two columns of its indent; a tab goes as a whole.
fn without_indent(line: &str) -> &str {
    let Some(rest) = line.strip_prefix(' ') else { return line.strip_prefix('\t').unwrap_or(line) };
    rest.strip_prefix([' ', '\t']).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn agm_04_entries_are_recognised_by_their_head() {
        assert_eq!(name_of("[12-01 | 2026-01-20 14:32:15] **Error:** x"), Some("12-01"));
        assert_eq!(name_of("[t-00ff00 | 2026-01-20 14:32:15] ×12 **Error:**\ny"), Some("t-00ff00"));
        assert_eq!(name_of("[a] | b | 2026-01-20 14:32:15] **Error:** [c | 1] **Error:**"), {
            Some("a] | b")
        });
        for other in [
            "[12-01 | 2026-01-20 14:32:15] x **Error:**",
            "[12-01 | tomorrow] **Error:** x",
            "[12-01] **Error:** x",
            "x [12-01 | 2026-01-20 14:32:15] **Error:** x",
            "[12-01 |\n2026-01-20 14:32:15] **Error:** x",
            "",
        ] {
            assert_eq!(name_of(other), None, "{other}");
        }
    }

    fn label(text: &str) -> PhaseLabel {
        PhaseLabel::new(Some(text))
    }

    #[test]
    fn agm_03_07_labels_compare_as_numbers() {
        assert_eq!(label("05"), label("5"));
        assert_eq!(label(" 2.10"), label("2.1"));
        assert_eq!(label("2.0"), label("2"));
        assert_ne!(label("2"), label("2.1"));
        assert_eq!(label("00").heading(), "### Phase 0:");
        assert_eq!(label("012.50").heading(), "### Phase 12.5:");
        let sorted = ["0", "2", "2.05", "2.1", "9", "10", "alpha"].map(label);
        assert!(sorted.is_sorted());
        assert!(sorted.iter().all(|one| *one < PhaseLabel::NoPhase));
        assert_eq!(PhaseLabel::new(None), label(" \n:"));
    }

    #[test]
    fn agm_03_headings_of_phases() {
        for words in ["Phase 5:", "Phase 05", "Phase  5: Login", "Phase 5 (login):", "Phase 5.0"] {
            assert_eq!(PhaseLabel::of_heading(words), Some(label("5")), "{words}");
        }
        assert_eq!(PhaseLabel::of_heading("No phase:"), Some(PhaseLabel::NoPhase));
        assert_eq!(PhaseLabel::of_heading("Phase set up:"), Some(label("set up")));
        for other in ["Phase", "Phase :", "Phase overview", "Phases 5:", "phase 5:", "No phase"] {
            assert_eq!(PhaseLabel::of_heading(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn any_label_reads_back_from_its_heading(text in r"(\PC|[0-9.: \x00-\x1f#]){0,12}") {
            let label = label(&text);
            let heading = label.heading();
            let (level, words) = crate::markdown::atx_heading(&heading).unwrap();
            prop_assert_eq!(level, 3);
            prop_assert_eq!(PhaseLabel::of_heading(words), Some(label));
        }
    }

    #[test]
    fn text_is_made_plain() {
        assert_eq!(bullet_text(" a \r\n\tb\u{7}\rc\t\n\n"), "a\n\tb\nc");
        assert_eq!(bullet_text("\u{1}\u{2} \n"), "");
        assert_eq!(bullet_text("a\n \t\nb"), "a\n\nb");
        assert_eq!(bullet_text("\u{1b}[31mred"), "[31mred");
    }

    #[test]
    fn lines_are_indented_and_blank_ones_stay_empty() {
        assert_eq!(item_lines("a\n\n# b\n  c"), ["- a", "", "  # b", "    c"]);
        assert_eq!(item_lines("- -"), ["+ - -"]);
        assert_eq!(item_lines("--\nx"), ["+ --", "  x"]);
        assert_eq!(item_lines("* *"), ["- * *"]);
    }

    #[test]
    fn an_indent_of_two_columns_goes() {
        let lines = ["*   a", "  b", "\tc", " \td", "     e", "", " f"];
        assert_eq!(item_text(lines.into_iter()), "a\nb\nc\nd\n   e\n\nf");
        assert_eq!(item_text(["+", "  a"].into_iter()), "a");
    }

    proptest! {
        #[test]
        fn agm_12_any_text_reads_back_from_its_lines(text in r"(\PC|[\x00-\x1f \t\n\r#*+`~-]){0,60}") {
            let plain = bullet_text(&text);
            prop_assert_eq!(bullet_text(&plain), plain.as_str());
            let lines = item_lines(&plain);
            prop_assert_eq!(item_text(lines.iter().map(String::as_str)), plain);
        }
    }
}
