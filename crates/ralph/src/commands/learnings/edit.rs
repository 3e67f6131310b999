//! `ralph learnings edit`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::model::LearningId;
use ralph_core::store::{LearningEdit, LearningStore};

use super::wording::{BY_HAND, Wording};
use crate::command_error::{CommandError, CommandResult};
use crate::workspace::{Workspace, now, random};
use crate::{input, output};

/// Change a learning: a new one with a new id takes its place, and its record with it.
///
/// `ralph learnings restore ID` brings the old one back. An empty text clears title or tags: --title "".
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its id.
    id: String,
    /// New category.
    #[arg(long, value_name = "C")]
    category: Option<String>,
    /// New tags, in place of the old ones. May be given several times.
    #[arg(long, visible_alias = "tag", value_name = "A,B", value_delimiter = ',')]
    tags: Option<Vec<String>>,
    /// New title.
    #[arg(long, value_name = "T")]
    title: Option<String>,
    /// New content; `-` reads it from standard input.
    #[arg(long, value_name = "TEXT")]
    content: Option<String>,
    /// Print the new learning as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: Args) -> CommandResult {
    let mut workspace = Workspace::open(dir)?;
    let json = args.json;
    let old = LearningId::from_stored(args.id.trim());
    let mut wording = Wording::new(BY_HAND);
    let edit = edit(&mut wording, args)?;
    if edit == LearningEdit::default() {
        return Err(CommandError::usage("nothing to change was given")
            .hint("for example --content \"…\" or --tags a,b; see `ralph learnings edit --help`"));
    }
    let new = workspace
        .store
        .edit_learning(&old, &edit, now(), &mut random)?;
    wording.tell_masked();
    if json {
        output::json(&workspace.store.learning(new.as_str())?);
    } else {
        output::line(format_args!("{old} is now {new}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn edit(wording: &mut Wording, args: Args) -> Result<LearningEdit, CommandError> {
    let content = args
        .content
        .map(|text| input::argument(text, "content"))
        .transpose()?;
    let worded = || -> Result<LearningEdit, String> {
        Ok(LearningEdit {
            category: args.category.map(|c| wording.category(&c)).transpose()?,
            title: args.title.map(|title| wording.title(&title)).transpose()?,
            content: content.map(|text| wording.content(&text)).transpose()?,
            tags: args.tags.map(|tags| wording.tags(&tags)).transpose()?,
        })
    };
    worded().map_err(CommandError::usage)
}
