//! `ralph learnings search --batch`: many searches, a line of JSON each.

use std::io::{self, Write};
use std::path::Path;

use ralph_core::engine::recall;
use ralph_core::model::Timestamp;
use ralph_core::recall::{RecallPolicy, RecallQuery, ScoreParts};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::command_error::{CommandError, CommandResult, written};
use crate::input::{Lines, Object};
use crate::ui::progress::Progress;
use crate::workspace::{Workspace, now};

/// Answers are written in pieces of about this size.
const PIECE: usize = 64 * 1024;

struct Question<'t> {
    /// Echoed as it is written.
    id: &'t RawValue,
    query: RecallQuery,
    before: Option<Timestamp>,
}

#[derive(Serialize)]
struct Answer<'t> {
    id: &'t RawValue,
    results: Vec<Found<'t>>,
}

#[derive(Serialize)]
struct Found<'t> {
    id: &'t str,
    score: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<&'t ScoreParts>,
}

pub(super) fn run(
    dir: Option<&Path>,
    workspace: &Workspace,
    file: &Path,
    policy: &RecallPolicy,
    explain: bool,
) -> CommandResult {
    let lines = Lines::read(dir, file)?;
    // All of them before the first answer: a bad line must not leave half a result.
    let questions = lines
        .iter()
        .map(|(number, line)| question(line).map_err(|what| lines.error(number, &what)))
        .collect::<Result<Vec<_>, CommandError>>()?;
    let mut progress = Progress::new(questions.len());
    let mut piece = Vec::new();
    for (place, question) in questions.iter().enumerate() {
        answer(workspace, question, policy, explain, &mut piece)?;
        if piece.len() >= PIECE {
            if let Err(error) = progress.aside(|| write(&piece)) {
                return written(Err(error));
            }
            piece.clear();
        }
        progress.at(place + 1);
    }
    drop(progress);
    written(write(&piece))
}

fn question(line: &str) -> Result<Question<'_>, String> {
    let object = Object::parse(line)?;
    let id = object
        .name("id")?
        .ok_or("expected an `id` that is a string or a number")?;
    let query = RecallQuery {
        title: object.text("title")?.unwrap_or_default(),
        text: object.text("description")?.unwrap_or_default(),
        ..RecallQuery::default()
    };
    Ok(Question {
        id,
        query,
        before: object.time("before")?,
    })
}

/// Adds a question's answer to a piece.
fn answer(
    workspace: &Workspace,
    question: &Question<'_>,
    policy: &RecallPolicy,
    explain: bool,
    piece: &mut Vec<u8>,
) -> Result<(), CommandError> {
    let Question { id, query, before } = question;
    let as_of = before.unwrap_or_else(now);
    let recalled = recall(&workspace.store, query, as_of, *before, policy)?;
    let results = recalled
        .chosen()
        .map(|(ranked, _)| Found {
            id: &ranked.scored.id,
            score: ranked.scored.score,
            parts: explain.then_some(&ranked.scored.parts),
        })
        .collect();
    serde_json::to_writer(&mut *piece, &Answer { id, results })
        .map_err(|error| CommandError::environment(format_args!("cannot write JSON: {error}")))?;
    piece.push(b'\n');
    Ok(())
}

fn write(piece: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(piece)?;
    out.flush()
}
