//! `ralph learnings export`.

use std::borrow::Cow;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ralph_core::model::{Learning, LearningId, Timestamp};
use ralph_core::store::LearningStore;
use ralph_core::text::clean;
use serde::Serialize;

use super::Wanted;
use crate::command_error::{CommandError, CommandResult, written};
use crate::output;
use crate::ui::format::counted;
use crate::workspace::{Workspace, start_dir};

/// Export learnings as JSON lines, oldest first, for `ralph learnings import`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file to write; stdout if omitted.
    file: Option<PathBuf>,
    #[command(flatten)]
    wanted: Wanted,
    /// Write one JSON array instead of JSON lines.
    #[arg(long)]
    json: bool,
}

/// A learning as files have it.
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

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::look(dir)?;
    let mut learnings = workspace
        .store
        .learnings(&args.wanted.filter(&workspace)?)?;
    learnings.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    let write = |out: &mut dyn Write| {
        if args.json {
            as_array(&learnings, out)
        } else {
            as_lines(&learnings, out)
        }
    };
    let Some(file) = args.file.as_deref().filter(|file| *file != Path::new("-")) else {
        return written(write(&mut BufWriter::new(io::stdout().lock())));
    };
    save(&start_dir(dir)?.join(file), write).map_err(|error| {
        CommandError::environment(format_args!("cannot write {}: {error}", file.display()))
            .hint("check the permissions and the free space of the directory")
    })?;
    let counted = counted(learnings.len() as u64, "learning");
    output::note(format_args!("exported {counted} to {}", file.display()));
    Ok(ExitCode::SUCCESS)
}

fn as_lines(learnings: &[Learning], out: &mut dyn Write) -> io::Result<()> {
    for learning in learnings {
        serde_json::to_writer(&mut *out, &Line::new(learning))?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

fn as_array(learnings: &[Learning], out: &mut dyn Write) -> io::Result<()> {
    let lines: Vec<Line<'_>> = learnings.iter().map(Line::new).collect();
    serde_json::to_writer_pretty(&mut *out, &lines)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Writes a file whole or not at all. What is no plain file, a pipe for instance, is written to as it is.
fn save(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // A link stays; the file it names is written.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let there = fs::metadata(&path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        let mut out = BufWriter::new(OpenOptions::new().write(true).open(&path)?);
        return write(&mut out);
    }
    let dir = path.parent().unwrap_or(Path::new("."));
    let new = tempfile::Builder::new()
        .prefix(".ralph-export-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(dir)?;
    if let Some(there) = there {
        new.as_file().set_permissions(there.permissions())?;
    }
    write(&mut BufWriter::new(new.as_file()))?;
    new.as_file().sync_all()?;
    new.persist(&path).map_err(|error| error.error)?;
    Ok(())
}
