//! Failure entries: how one is written, and how one is recognised.

use super::model::Entry;
use super::text::plain;
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

    /// The entry's text without marker and indent.
    pub(super) fn text(&self) -> String {
        let at: String = self.at.chars().filter(|c| is_of_time(*c)).collect();
        let mut out = format!("[{} | {at}]", self.written_name());
        if self.times > 1 {
            out.push_str(&format!(" ×{}", self.times));
        }
        push_value(&mut out, ERROR, &self.error, "");
        push_value(
            &mut out,
            "\n**Attempted:**",
            &self.attempted,
            "not recorded",
        );
        let files: Vec<&str> = self.files.iter().map(String::as_str).collect();
        let files: Vec<&str> = files
            .into_iter()
            .filter(|file| !file.trim().is_empty())
            .collect();
        push_value(&mut out, "\n**Files:**", &files.join(", "), "none");
        push_value(&mut out, "\n**Context:**", &self.context, "");
        let last_good = self.last_good.as_deref().unwrap_or_default();
        if !last_good.trim().is_empty() {
            push_value(&mut out, "\n**Last good:**", last_good, "");
        }
        out
    }
}

/// An agent's text behind a label, neutralized as in prompts.
fn inert_below(value: &str) -> String {
    match value.split_once('\n') {
        Some((first, rest)) => format!("{}\n{}", inert(first), inert_prose(rest)),
        None => inert(value),
    }
    .trim_end()
    .to_owned()
}

/// Appends a labelled value. Only white space at its end and line ends before it are dropped.
fn push_value(out: &mut String, label: &str, value: &str, if_empty: &str) {
    // The label stands before the first line, so only the others could be headings or fences.
    let value = plain(value);
    let value = inert_below(value.trim_end().trim_start_matches('\n'));
    let value = match value.as_str() {
        "" => if_empty,
        value => value,
    };
    out.push_str(label);
    if !value.is_empty() {
        out.push(' ');
        out.push_str(value);
    }
}

/// The name in the text of a list item that is a failure entry.
pub(super) fn name_of(text: &str) -> Option<&str> {
    let inner = text.split('\n').next()?.strip_prefix('[')?;
    let mut ends = inner.match_indices(" | ");
    let (end, _) = ends.find(|(end, bar)| {
        let after = inner.get(end + bar.len()..).unwrap_or_default();
        let after = after.trim_start_matches(is_of_time).strip_prefix(']');
        after.is_some_and(|after| without_count(after).starts_with(ERROR))
    })?;
    inner.get(..end)
}

/// What stands after ` ×N`, where that is there.
fn without_count(text: &str) -> &str {
    let count = text.strip_prefix(" ×");
    let after = count.map(|count| count.trim_start_matches(|c: char| c.is_ascii_digit()));
    after.unwrap_or(text)
}

fn is_of_time(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '-' | ':' | ' ' | '.' | '+' | 'T' | 'Z')
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn agm_04_entries_are_recognised_by_their_head() {
        assert_eq!(
            name_of("[12-01 | 2026-01-20 14:32:15] **Error:** x"),
            Some("12-01")
        );
        assert_eq!(
            name_of("[t-00ff00 | 2026-01-20 14:32:15] ×12 **Error:**\ny"),
            Some("t-00ff00")
        );
        assert_eq!(
            name_of("[a] | b | 2026-01-20 14:32:15] **Error:** [c | 1] **Error:**"),
            { Some("a] | b") }
        );
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
}
