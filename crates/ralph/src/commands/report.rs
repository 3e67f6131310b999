//! `ralph report`: a run as a page for the morning after, or as Markdown.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ralph_core::files::write_whole;
use ralph_core::text::mask_secrets;
use serde_json::Value;

use crate::command_error::{CommandError, CommandResult};
use crate::report::{Format, ReportFacts, ReportFile, write};
use crate::workspace::{Workspace, start_dir};
use crate::{interrupts, output};

/// Write a report of a run: what is done and verified, what needs you, what failed and why, and what it cost.
///
/// Reports on the last run that made attempts, which may still be active. The page is one file that loads nothing and runs no script;
/// without -o it is written below .ralph/reports. Markdown is printed, for a pull request or a chat. Possible secrets are masked.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Report on this run instead; `ralph runs` lists them.
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Write to this file; `-` prints.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The format (default: from the file's extension, otherwise html).
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Print the report's data as JSON.
    #[arg(long, conflicts_with_all = ["output", "format"])]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    let settings = workspace.settings()?;
    let run = match &args.run {
        Some(id) => workspace.run(id)?,
        None => workspace.store.last_run_with_attempts()?.ok_or_else(|| {
            CommandError::usage("there is nothing to report: no run made an attempt yet")
                .hint("start one with `ralph run`; `ralph status` shows the plan")
        })?,
    };
    let facts = ReportFacts::read(&workspace, &settings, &run, &interrupts::listen()?)?;
    if args.json {
        let mut value = serde_json::to_value(&facts).map_err(CommandError::environment)?;
        mask(&mut value);
        output::json(&value);
        return Ok(ExitCode::SUCCESS);
    }
    let file = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    let named = file.map(|path| Format::of_file(path).ok_or_else(|| unknown_ending(path)));
    let format = match (args.format, named) {
        (Some(format), _) => format,
        (None, Some(named)) => named?,
        (None, None) => Format::Html,
    };
    let text = format.of(&facts);
    let path = match (file, &args.output, format) {
        (Some(path), ..) => {
            let path = start_dir(dir)?.join(path);
            if let Some(parent) = path.parent().filter(|parent| !parent.is_dir()) {
                let error = format_args!(
                    "cannot write {}: there is no directory {}",
                    path.display(),
                    parent.display()
                );
                return Err(
                    CommandError::usage(error).hint("create it first, or choose another file with -o")
                );
            }
            write_whole(&path, text.as_bytes()).map_err(|error| not_written(&path, &error))?;
            path
        }
        (None, None, Format::Html) => {
            let place = ReportFile::of(&settings, &workspace.project, &run.id);
            write(&place, &text).map_err(|error| not_written(&place.path, &error))?;
            place.path
        }
        _ => {
            output::text(text);
            return Ok(ExitCode::SUCCESS);
        }
    };
    output::line(format_args!("wrote the report of run {} to {}", run.id, path.display()));
    Ok(ExitCode::SUCCESS)
}

fn mask(value: &mut Value) {
    match value {
        Value::String(text) => *text = mask_secrets(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(mask),
        Value::Object(fields) => fields.values_mut().for_each(mask),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn unknown_ending(path: &Path) -> CommandError {
    CommandError::usage(format_args!("the name {} does not say the report's format", path.display()))
        .hint("end it in .html or .md, or pass --format html or --format md")
}

fn not_written(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::environment(format_args!("cannot write {}: {error}", path.display()))
        .hint("choose another file with -o, or print the report with `-o -`")
}
