//! Why something behind a marker is no request.

use serde::Serialize;

use crate::modification::quoted::quoted;

use super::object::MOST_CHARS;

/// Why a request cannot be read, in one sentence that says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// No JSON object comes after the marker.
    #[error("no JSON object follows the marker: write one directly after the marker's line")]
    NoObject,
    /// The object has no end.
    #[error(
        "the JSON object after the marker is never closed: write it completely, up to the last brace"
    )]
    Unclosed,
    /// The object is too long.
    #[error(
        "the JSON object after the marker does not end within {MOST_CHARS} characters: close it, and \
         propose fewer or shorter tasks"
    )]
    TooLong,
    /// The object is not JSON.
    #[error("the object after the marker is not valid JSON ({0}): correct it and send it again")]
    NotJson(String),
    /// The kind of change is missing.
    #[error("the request has no `type`: use SPLIT_TASK, ADD_PREREQUISITE or ADD_FOLLOWUP")]
    NoType,
    /// The kind of change is none of the three.
    #[error("`{0}` is not a request type: use SPLIT_TASK, ADD_PREREQUISITE or ADD_FOLLOWUP")]
    UnknownType(String),
    /// A field holds something that cannot stand there.
    #[error("the field `{0}` cannot be read: write a string, or an array of strings")]
    BadField(&'static str),
    /// The proposed tasks are neither objects nor Markdown.
    #[error(
        "`proposedTasks` cannot be read: write an array of objects with title, do, files, doneWhen \
         and verify"
    )]
    BadTasks,
}

impl Fault {
    /// A kind that does not exist, in a form that is safe to show.
    pub(super) fn unknown_type(name: &str) -> Self {
        Self::UnknownType(quoted(name))
    }
}
