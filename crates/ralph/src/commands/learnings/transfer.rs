//! Learnings as JSON lines: `ralph learnings import`, `export` and `search --batch`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ralph_core::engine::recall;
use ralph_core::files::write_whole;
use ralph_core::memory::recall::{RecallPolicy, RecallQuery, ScoreParts};
use ralph_core::model::{Learning, LearningId, NewLearning, Timestamp};
use ralph_core::store::{ImportedLearning, StoreError};
use ralph_core::text::{MASK, clean};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::FilterArgs;
use super::wording::{IN_FILES, Wording};
use crate::command_error::{CommandError, CommandResult};
use crate::input::{Lines, Object};
use crate::output;
use crate::ui::format::counted;
use crate::ui::progress::{Progress, waiting};
use crate::workspace::{Workspace, now, random, start_dir};

/// Import learnings from a file of JSON lines, all of them or none.
///
/// Each line is {"id", "category", "title", "content", "tags", "created_at"}; id, title, tags and created_at are
/// optional. Ids are kept, so importing the same file again adds nothing. Nothing is merged.
#[derive(Debug, clap::Args)]
pub struct ImportArgs {
    /// The file to read; `-` reads stdin.
    file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn import(dir: Option<&Path>, workspace: &mut Workspace, args: &ImportArgs) -> CommandResult {
    let lines = Lines::read(dir, &args.file)?;
    let mut wording = Wording::new(IN_FILES);
    let mut learnings: Vec<ImportedLearning> = Vec::new();
    // Where each id stands: the line, and the place in the list.
    let mut known: HashMap<LearningId, (usize, usize)> = HashMap::new();
    let mut masked = 0;
    for (number, line) in lines.iter() {
        let learning = imported_learning(line, &mut wording).map_err(|what| lines.error(number, &what))?;
        masked += u64::from(wording.take_masked());
        if let Some(id) = &learning.id {
            let (first, place) = *known.entry(id.clone()).or_insert((number, learnings.len()));
            let other = learnings.get(place).map(|other| &other.learning);
            let new = &learning.learning;
            if other.is_some_and(|old| (&old.category, &old.content) != (&new.category, &new.content)) {
                let what = format!("line {first} uses the id `{id}` for another learning");
                return Err(lines.error(number, &what));
            }
        }
        learnings.push(learning);
    }
    let what = format!("importing {}", counted(learnings.len() as u64, "learning"));
    let store = &mut workspace.store;
    let imported = waiting(&what, || store.import_learnings(&learnings, now(), &mut random));
    let imported = imported.map_err(|error| match &error {
        StoreError::LearningIdTaken(id) => {
            let line = known.get(id).map_or(0, |(number, _)| *number);
            lines.error(line, &error.to_string()).hint("remove the id to import it as a new learning")
        }
        _ => error.into(),
    })?;
    if masked > 0 {
        output::note(format_args!(
            "masked possible secrets in {}; they are stored as {MASK}",
            counted(masked, "learning")
        ));
    }
    let (added, known) = (imported.added, imported.known.len());
    let document = json!({ "imported": added.len(), "known": known, "ids": added });
    output::print(args.json, &document, || {
        let already = match known {
            0 => String::new(),
            n => format!(", {n} already existed"),
        };
        let count = counted(added.len() as u64, "learning");
        output::line(format_args!("imported {count}{already}"));
    })
}

fn imported_learning(line: &str, wording: &mut Wording) -> Result<ImportedLearning, String> {
    let object = Object::parse(line)?;
    let id = match object.name("id")? {
        // A number is kept as it is written.
        Some(id) if !id.get().starts_with('"') => Some(id.get().to_owned()),
        _ => object.text("id")?,
    };
    let id = id.map(|id| LearningId::parse(&id)).transpose().map_err(|error| error.to_string())?;
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

/// Export learnings as JSON lines, oldest first, for `ralph learnings import`.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// The file to write; stdout if omitted.
    file: Option<PathBuf>,
    #[command(flatten)]
    filter: FilterArgs,
    /// Write one JSON array instead of JSON lines.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Line<'l> {
    id: &'l LearningId,
    category: Cow<'l, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<Cow<'l, str>>,
    content: Cow<'l, str>,
    tags: Vec<Cow<'l, str>>,
    created_at: Timestamp,
}

impl<'l> Line<'l> {
    /// Cleaned as an import would, so that what comes back is exported as it was.
    fn new(learning: &'l Learning) -> Self {
        Self {
            id: &learning.id,
            category: clean(&learning.category),
            title: learning.title.as_deref().map(clean),
            content: clean(&learning.content),
            tags: learning.tags.iter().map(|tag| clean(tag)).collect(),
            created_at: learning.created_at,
        }
    }
}

pub fn export(dir: Option<&Path>, workspace: &Workspace, args: &ExportArgs) -> CommandResult {
    let filter = args.filter.filter(workspace)?;
    let mut learnings = workspace.store.learnings(&filter)?;
    learnings.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    let bytes = encoded(&learnings, args.json)
        .map_err(|error| CommandError::environment(format_args!("cannot write JSON: {error}")))?;
    let Some(file) = args.file.as_deref().filter(|file| *file != Path::new("-")) else {
        output::bytes(&bytes);
        return Ok(ExitCode::SUCCESS);
    };
    save(&start_dir(dir)?.join(file), &bytes).map_err(|error| CommandError::cannot_write(file, &error))?;
    let counted = counted(learnings.len() as u64, "learning");
    output::note(format_args!("exported {counted} to {}", file.display()));
    Ok(ExitCode::SUCCESS)
}

fn encoded(learnings: &[Learning], json: bool) -> serde_json::Result<Vec<u8>> {
    let lines: Vec<Line<'_>> = learnings.iter().map(Line::new).collect();
    if json {
        return serde_json::to_vec_pretty(&lines).map(|bytes| [&bytes[..], b"\n"].concat());
    }
    let mut bytes = Vec::new();
    for line in &lines {
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// Writes a file whole or not at all. What is no plain file, a pipe for instance, is written to as it is.
fn save(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays; the file it names is written.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&path) {
        Ok(there) if !there.is_file() => OpenOptions::new().write(true).open(&path)?.write_all(bytes),
        _ => write_whole(&path, bytes),
    }
}

struct Question<'t> {
    /// Echoed as it is written.
    id: &'t RawValue,
    query: RecallQuery,
    before: Option<Timestamp>,
}

#[derive(Serialize)]
struct Answer<'t> {
    id: &'t RawValue,
    results: Vec<Match<'t>>,
}

#[derive(Serialize)]
struct Match<'t> {
    id: &'t str,
    score: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<&'t ScoreParts>,
}

pub fn search_batch(
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
    for (place, Question { id, query, before }) in questions.iter().enumerate() {
        let as_of = before.unwrap_or_else(now);
        let recalled = recall(&workspace.store, query, as_of, *before, policy)?;
        let results = recalled.chosen().map(|(ranked, _)| Match {
            id: &ranked.scored.id,
            score: ranked.scored.score,
            parts: explain.then_some(&ranked.scored.parts),
        });
        let results = results.collect();
        progress.aside(|| output::json_line(&Answer { id, results }));
        if output::is_closed() {
            break;
        }
        progress.at(place + 1);
    }
    Ok(ExitCode::SUCCESS)
}

fn question(line: &str) -> Result<Question<'_>, String> {
    let object = Object::parse(line)?;
    let id = object.name("id")?;
    Ok(Question {
        id: id.ok_or("expected an `id` that is a string or a number")?,
        query: RecallQuery {
            title: object.text("title")?.unwrap_or_default(),
            text: object.text("description")?.unwrap_or_default(),
            ..RecallQuery::default()
        },
        before: object.time("before")?,
    })
}
