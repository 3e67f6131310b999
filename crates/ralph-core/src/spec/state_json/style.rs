//! The style of a file: how its lines are indented, and what divides its values.

use super::scan::{Document, Member};

const INDENT: &str = "  ";

/// How new values are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) line_end: &'static str,
    /// One step of indent.
    pub(super) step: String,
    /// Between a name and its value.
    pub(super) colon: String,
    /// Between values on one line.
    pub(super) comma: &'static str,
}

/// Whether a value stands on a line of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Its line has this indent.
    OwnLine(String),
    /// Others stand on the same line.
    Inline,
}

impl Style {
    pub(super) fn of(document: &Document<'_>) -> Self {
        let text = document.text;
        let line_end = commonest_line_end(text);
        let Some(first) = document.root.members.first() else {
            return Self {
                line_end,
                step: INDENT.to_owned(),
                colon: ": ".to_owned(),
                comma: ", ",
            };
        };
        let step = match place_of(document, first) {
            Place::OwnLine(indent) => indent,
            Place::Inline => INDENT.to_owned(),
        };
        let colon = document.part(&(first.name.end..first.value.start));
        let colon = if colon.contains('\n') { ": " } else { colon };
        let comma = if colon.ends_with(':') { "," } else { ", " };
        Self {
            line_end,
            step,
            colon: colon.to_owned(),
            comma,
        }
    }
}

/// Where a member stands: alone at the start of its line or not.
pub(super) fn place_of(document: &Document<'_>, member: &Member) -> Place {
    let before = document.text.get(..member.start()).unwrap_or_default();
    let indent = before.trim_end_matches([' ', '\t', ',']).len();
    let (before, indent) = before.split_at_checked(indent).unwrap_or((before, ""));
    match before.ends_with('\n') {
        // A comma may stand first in the line.
        true => Place::OwnLine(indent.replace(',', " ")),
        false => Place::Inline,
    }
}

fn commonest_line_end(text: &str) -> &'static str {
    let all = text.matches('\n').count();
    let windows = text.matches("\r\n").count();
    if windows * 2 > all { "\r\n" } else { "\n" }
}
