//! `ralph learnings add`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::model::{NewLearning, Source};
use ralph_core::store::LearningStore;

use super::wording::{BY_HAND, Wording};
use crate::command_error::{CommandError, CommandResult};
use crate::workspace::{Workspace, now, random};
use crate::{input, output};

/// Add a learning by hand.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to remember; `-` reads it from stdin.
    content: String,
    /// The category: success_pattern, pitfall, tool_usage, code_structure, testing_strategy,
    /// debugging_technique, or a word of your own.
    #[arg(long, value_name = "C", default_value = "other")]
    category: String,
    /// Keywords to find it by: words, phrases, symbols, paths; can be repeated.
    #[arg(long, visible_alias = "tag", value_name = "A,B", value_delimiter = ',')]
    tags: Vec<String>,
    /// A one-line title.
    #[arg(long, value_name = "T")]
    title: Option<String>,
    /// Pin it: Ralph never withholds or prunes it.
    #[arg(long)]
    pin: bool,
    /// Print the new learning as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: Args) -> CommandResult {
    let mut workspace = Workspace::open(dir)?;
    let mut wording = Wording::new(BY_HAND);
    let content = input::argument(args.content, "content")?;
    let new = new(
        &mut wording,
        &args.category,
        args.title,
        &content,
        &args.tags,
    )
    .map_err(CommandError::usage)?;
    let id = workspace
        .store
        .add_learning(&new, Source::Human, now(), &mut random)?;
    if args.pin {
        workspace.store.pin_learning(&id, true)?;
    }
    wording.tell_masked();
    if args.json {
        output::json(&workspace.store.learning(id.as_str())?);
    } else {
        output::line(format_args!("added {id}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn new(
    wording: &mut Wording,
    category: &str,
    title: Option<String>,
    content: &str,
    tags: &[String],
) -> Result<NewLearning, String> {
    Ok(NewLearning {
        category: wording.category(category)?,
        title: wording.title(&title.unwrap_or_default())?,
        content: wording.content(content)?,
        tags: wording.tags(tags)?,
    })
}
