//! One block as a task of a draft.

use super::blocks::Block;
use super::command::Programs;
use super::fields::Fields;
use super::head::Words;
use super::lines::Line;
use crate::plan_files::{DraftTask, Note};

/// A task with what its block alone does not decide.
pub(super) struct Read<'a> {
    pub(super) task: DraftTask,
    /// The key in `[FIX KEY]`.
    pub(super) fix_of: Option<&'a str>,
    pub(super) is_parallel: bool,
    pub(super) notes: Vec<Note>,
}

impl<'a> Read<'a> {
    /// Reads a block; `lines` are its own.
    pub(super) fn of(block: &Block<'a>, lines: &[Line<'a>], programs: &mut Programs<'_>) -> Self {
        let words = Words::of(block.head.words);
        let content = lines
            .iter()
            .take_while(|line| line.end <= block.content_end)
            .count();
        let mut fields = Fields::of(lines.get(1..content).unwrap_or_default(), programs);
        if words.is_checkpoint() && fields.verify_at.is_none() {
            fields.gate.add_title(words.title, programs);
        }
        let line = block.lines.start + 1;
        let notes = notes(&fields, line);
        let task = DraftTask {
            name: block.head.key.to_owned(),
            named_by_author: true,
            title: words.title.to_owned(),
            description: fields.description(),
            verify: fields.gate.command(),
            files: fields.files,
            done_when: fields.done_when,
            commit: fields.commit,
            markers: words
                .markers
                .iter()
                .map(|marker| (*marker).to_owned())
                .collect(),
            done: block.head.is_done,
            line,
            ..DraftTask::default()
        };
        let (fix_of, is_parallel) = (words.fix_of(), words.is_parallel());
        Self {
            task,
            fix_of,
            is_parallel,
            notes,
        }
    }
}

/// What a person should know of the gate of a task that begins at `line`.
fn notes(fields: &Fields, line: usize) -> Vec<Note> {
    let line = fields.verify_at.map_or(line, |at| line + 1 + at);
    let consequence = match fields.gate.command() {
        Some(_) => "the gate does not include it",
        None => "the task has no gate",
    };
    let prose = fields.gate.prose.iter().map(|text| {
        format!(
            "Verify \"{}\" is not a runnable command: {consequence}",
            one_line(text)
        )
    });
    let doubtful = fields.gate.doubtful.iter().map(|code| {
        format!(
            "Verify runs \"{}\" as a command, but that program was not found",
            one_line(code)
        )
    });
    prose
        .chain(doubtful)
        .map(|text| Note { line, text })
        .collect()
}

fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}
