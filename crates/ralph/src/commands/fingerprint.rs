//! `ralph fingerprint`: how a failure is recognised.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ralph_core::diagnose::{Fingerprint, Tool, fingerprint};
use ralph_core::text::{clean_bytes, one_line};
use serde_json::json;

use crate::command_error::{CommandError, CommandResult};
use crate::ui::table;
use crate::workspace::start_dir;
use crate::{input, output};

/// Show the fingerprint by which Ralph recognizes a repeated failure.
///
/// The coarse fingerprint is computed from the names of failing tests, else from compiler errors, else from the last error
/// lines. The fine fingerprint adds exceptions and messages. Times, numbers and paths are ignored.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file with a command's output; stdin if omitted or `-`.
    file: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let bytes = match args.file.as_deref().filter(|file| *file != Path::new("-")) {
        None => input::stdin()?,
        Some(file) => {
            let path = start_dir(dir)?.join(file);
            input::file(&path).map_err(|e| {
                CommandError::usage(format_args!("cannot read {}: {e}", file.display()))
            })?
        }
    };
    let found = fingerprint(&clean_bytes(&bytes));
    if args.json {
        let kind = found.as_ref().map_or("none", |found| found.kind.as_str());
        let coarse = found.as_ref().map(|found| &found.coarse);
        let fine = found.as_ref().map(|found| &found.fine);
        output::json(&json!({ "coarse": coarse, "fine": fine, "kind": kind }));
    } else if let Some(found) = found {
        output::text(table::wrap_all(&human(&found)));
    } else {
        output::note("the output is empty: no fingerprint");
    }
    Ok(ExitCode::SUCCESS)
}

fn human(found: &Fingerprint) -> String {
    let tool = found.tool.map(Tool::as_str);
    let tool = tool.map(|tool| format!(", {tool}")).unwrap_or_default();
    let mut text = format!(
        "coarse  {}\nfine    {}\nkind    {}{tool}\n\nComputed from these normalized lines:\n",
        found.coarse,
        found.fine,
        found.kind.as_str()
    );
    for line in &found.evidence {
        text.push_str(&format!("  {}\n", one_line(line, 300)));
    }
    text
}
