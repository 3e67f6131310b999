//! What a page asks to be done, and the receipt for it.

use std::path::Path;

use ralph_core::store::NoteTime;
use serde::Deserialize;

use super::http::Answer;
use crate::actions::{self, Ask, Force, On, Receipt, ask_runs, receipt_of, stop_runs};
use crate::command_error::CommandError;
use crate::workspace::Workspace;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Pause,
    Resume,
    Stop,
    StopAfterAttempt,
    Note,
    NoteNow,
    /// A note to a blocked task, and a go-ahead.
    NoteAndGoAhead,
    Skip,
    GoAhead,
    Reset,
    Undo,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Asked {
    action: Option<Action>,
    task: String,
    text: String,
    run: Option<String>,
}

/// Does what the body of a request asks for.
pub fn answer(root: &Path, body: &[u8]) -> Answer {
    let Ok(asked) = serde_json::from_slice::<Asked>(body) else {
        return Answer::error(400, "this is no action");
    };
    match perform(root, &asked) {
        Ok(receipt) => Answer::json(200, &receipt),
        Err(error) => Answer::failed(409, error.message(), error.hints()),
    }
}

fn perform(root: &Path, asked: &Asked) -> Result<Receipt, CommandError> {
    let Some(action) = asked.action else { return Err(CommandError::usage("no action is named")) };
    let mut workspace = Workspace::open(Some(root))?;
    let workspace = &mut workspace;
    let run = asked.run.as_deref();
    let tasks = std::slice::from_ref(&asked.task);
    let ask = |workspace: &mut Workspace, ask: Ask| Ok(receipt_of(&ask_runs(workspace, run, ask)?));
    let note = |workspace: &mut Workspace, time: NoteTime| {
        Ok::<_, CommandError>(actions::add_note(workspace, &asked.task, &asked.text, time)?.receipt)
    };
    match action {
        Action::Pause => ask(workspace, Ask::Pause),
        Action::Resume => ask(workspace, Ask::Resume),
        Action::StopAfterAttempt => ask(workspace, Ask::StopAfterAttempt),
        Action::Stop => Ok(receipt_of(&stop_runs(workspace, run, &On::AllHosts, Force::Graceful)?)),
        Action::Note => note(workspace, NoteTime::NextAttempt),
        Action::NoteNow => note(workspace, NoteTime::Now),
        Action::NoteAndGoAhead => {
            let mut receipt = note(workspace, NoteTime::NextAttempt)?;
            let go_ahead = actions::go_ahead(workspace, &asked.task)?;
            // That it is blocked was true until now.
            receipt.hints = go_ahead.hints;
            receipt.lines.extend(go_ahead.lines);
            Ok(receipt)
        }
        Action::Skip => actions::skip(workspace, tasks, reason(&asked.text)),
        Action::GoAhead => actions::go_ahead(workspace, &asked.task),
        Action::Reset => actions::reset(workspace, tasks),
        Action::Undo => match actions::undo(workspace, None)? {
            Some((_, receipt)) => Ok(receipt),
            None => Err(CommandError::usage("there is nothing to undo")),
        },
    }
}

fn reason(text: &str) -> Option<String> {
    let text = super::groups::shown(text, 500);
    Some(text).filter(|text| !text.is_empty())
}
