//! `ralph config path`.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use crate::command_error::CommandResult;
use crate::output;
use crate::workspace::find;

/// Print the path of the settings file.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let project = find(dir)?;
    let path = project.config();
    if args.json {
        output::json(&json!({ "path": path, "exists": path.exists() }));
        return Ok(ExitCode::SUCCESS);
    }
    output::line(path.display());
    if !path.exists() {
        output::note(
            "note: the file does not exist, so the defaults apply; create it with `ralph init`",
        );
    }
    Ok(ExitCode::SUCCESS)
}
