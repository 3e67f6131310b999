//! `ralph note`: tells a task's next attempt something.

use std::path::Path;

use ralph_core::store::{NOTE_CHARS, NoteTime};
use ralph_core::text::one_line;

use super::print;
use crate::actions::add_note;
use crate::command_error::CommandResult;
use crate::ui::format;
use crate::ui::table::Table;
use crate::workspace::Workspace;
use crate::{input, output};

/// Tell a task's next attempt something.
///
/// The prompt of the task's next attempt contains the note, and so does the one after it if that attempt is not counted. At most
/// 2,000 characters. Without a text, lists the task's notes. `ralph undo` removes a note until an attempt has it in its prompt.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task's id or key.
    task: String,
    /// The note; `-` reads it from stdin.
    text: Option<String>,
    /// End the current attempt without counting it, and retry with the note.
    #[arg(long, requires = "text")]
    now: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: Args) -> CommandResult {
    let Some(text) = args.text else {
        return list(&Workspace::open_to_read(dir)?, &args.task, args.json);
    };
    let text = input::argument(text, "note")?;
    let time = if args.now { NoteTime::Now } else { NoteTime::NextAttempt };
    let noted = add_note(&mut Workspace::open(dir)?, &args.task, &text, time)?;
    output::print(args.json, &noted, || print(&noted.receipt))
}

fn list(workspace: &Workspace, task: &str, json: bool) -> CommandResult {
    let task = workspace.task(task)?;
    let notes = workspace.notes(Some(&task.id))?;
    output::list(json, &notes, "no notes; leave one with `ralph note TASK \"text\"`", || {
        let mut table = Table::new(["WRITTEN", "STATE", "NOTE"]);
        for note in &notes {
            table.row([note.created_at.local(), format::note_state(note), one_line(&note.text, NOTE_CHARS)]);
        }
        table.render()
    })
}
