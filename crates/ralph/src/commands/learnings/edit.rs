//! `ralph learnings edit`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::model::LearningId;
use ralph_core::store::{LearningEdit, LearningStore};

use super::wording::{BY_HAND, Wording};
use crate::command_error::{CommandError, CommandResult};
use crate::workspace::{Workspace, now, random};
use crate::{input, output};

/// Change a learning; the changed version gets a new id and keeps the record of the old one.
///
/// `ralph learnings restore ID` restores the old version. An empty value clears the title or the tags: --title "".
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The learning's id.
    id: String,
    /// New category.
    #[arg(long, value_name = "C")]
    category: Option<String>,
    /// New tags, replacing the old ones; can be repeated.
    #[arg(long, visible_alias = "tag", value_name = "A,B", value_delimiter = ',')]
    tags: Option<Vec<String>>,
    /// New title.
    #[arg(long, value_name = "T")]
    title: Option<String>,
    /// New content; `-` reads it from stdin.
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
        return Err(CommandError::usage("nothing to change").hint(
            "pass an option such as --content or --tags; see `ralph learnings edit --help`",
        ));
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
