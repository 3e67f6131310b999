//! `ralph learnings import`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ralph_core::model::{LearningId, NewLearning};
use ralph_core::store::{Imported, ImportedLearning, LearningStore, StoreError};
use ralph_core::text::MASK;
use serde_json::json;

use super::wording::{IN_FILES, Wording};
use crate::command_error::{CommandError, CommandResult};
use crate::input::{Lines, Object};
use crate::output;
use crate::ui::format::counted;
use crate::ui::progress::waiting;
use crate::workspace::{Workspace, now, random};

/// Import learnings from a file of JSON lines, all of them or none.
///
/// Each line is {"id", "category", "title", "content", "tags", "created_at"}; id, title, tags and created_at are
/// optional. Ids are kept, so importing the same file again adds nothing. Nothing is merged.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file to read; `-` reads stdin.
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let mut workspace = Workspace::open(dir)?;
    let lines = Lines::read(dir, &args.file)?;
    let mut wording = Wording::new(IN_FILES);
    let mut learnings: Vec<ImportedLearning> = Vec::new();
    // Where each id stands: the line, and the place in the list.
    let mut known: HashMap<LearningId, (usize, usize)> = HashMap::new();
    let mut masked = 0;
    for (number, line) in lines.iter() {
        let learning = read(line, &mut wording).map_err(|what| refused(&lines, number, &what))?;
        masked += u64::from(wording.take_masked());
        if let Some(id) = &learning.id {
            let (first, place) = *known.entry(id.clone()).or_insert((number, learnings.len()));
            let other = learnings.get(place).map(|other| &other.learning);
            if other.is_some_and(|other| differ(other, &learning.learning)) {
                let what = format!("line {first} uses the id `{id}` for another learning");
                return Err(refused(&lines, number, &what));
            }
        }
        learnings.push(learning);
    }
    let what = format!("importing {}", learning_count(learnings.len()));
    let store = &mut workspace.store;
    let imported = waiting(&what, || {
        store.import_learnings(&learnings, now(), &mut random)
    })
    .map_err(|error| match &error {
        StoreError::LearningIdTaken(id) => match known.get(id) {
            Some((number, _)) => refused(&lines, *number, &error.to_string())
                .hint("remove the id to import it as a new learning"),
            None => error.into(),
        },
        _ => error.into(),
    })?;
    if masked > 0 {
        output::note(format_args!(
            "masked possible secrets in {}; they are stored as {MASK}",
            counted(masked, "learning")
        ));
    }
    tell(args, &imported);
    Ok(ExitCode::SUCCESS)
}

fn tell(args: &Args, imported: &Imported) {
    let Imported { added, known } = imported;
    if args.json {
        output::json(&json!({ "imported": added.len(), "known": known.len(), "ids": added }));
        return;
    }
    let already = match known.len() {
        0 => String::new(),
        1 => ", 1 already existed".into(),
        n => format!(", {n} already existed"),
    };
    let added = learning_count(added.len());
    output::line(format_args!("imported {added}{already}"));
}

fn read(line: &str, wording: &mut Wording) -> Result<ImportedLearning, String> {
    let object = Object::parse(line)?;
    let id = match object.name("id")? {
        // A number is kept as it is written.
        Some(id) if !id.get().starts_with('"') => Some(id.get().to_owned()),
        _ => object.text("id")?,
    };
    let id = id
        .map(|id| LearningId::parse(&id))
        .transpose()
        .map_err(|error| error.to_string())?;
    let required = |name: &str| {
        let text = object.text(name)?;
        text.ok_or_else(|| format!("expected a `{name}` that is a string"))
    };
    let title = wording.title(&object.text("title")?.unwrap_or_default())?;
    let mut content = required("content")?;
    if content.trim().is_empty() {
        // A title alone says something, too.
        content = title.clone().unwrap_or_default();
    }
    Ok(ImportedLearning {
        id,
        created_at: object.time("created_at")?,
        learning: NewLearning {
            category: wording.category(&required("category")?)?,
            title,
            content: wording.content(&content)?,
            tags: wording.tags(&object.texts("tags")?)?,
        },
    })
}

fn differ(one: &NewLearning, other: &NewLearning) -> bool {
    (&one.category, &one.content) != (&other.category, &other.content)
}

fn refused(lines: &Lines, number: usize, what: &str) -> CommandError {
    lines.error(number, what).hint("nothing was imported")
}

fn learning_count(n: usize) -> String {
    counted(u64::try_from(n).unwrap_or(u64::MAX), "learning")
}
