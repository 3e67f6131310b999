//! `ralph logs --prune`: deletes what every run deletes at its end, now.

use std::process::ExitCode;
use std::time::Duration;

use ralph_core::engine::protected_logs;
use ralph_core::logs::{Pruned, plan, prune};
use serde_json::json;

use super::Args;
use crate::command_error::{CommandError, CommandResult};
use crate::commands::run::log_limits;
use crate::output;
use crate::ui::format;
use crate::workspace::{Workspace, now};

const SHOWN: usize = 15;

pub fn run(workspace: &Workspace, args: &Args) -> CommandResult {
    let settings = workspace.settings()?;
    let dir = workspace.project.logs();
    let broken = |e: std::io::Error| CommandError::environment(format_args!("{}: {e}", dir.display()));
    let protected = protected_logs(&workspace.store, None)?;
    let files = plan(&dir, &protected, &log_limits(&settings), now()).map_err(broken)?;
    let done = if args.dry_run {
        Pruned { files: files.len() as u64, bytes: files.iter().map(|file| file.bytes).sum() }
    } else {
        match prune(&dir, &files, Duration::MAX) {
            (done, None) => done,
            (_, Some(error)) => {
                return Err(broken(error).hint("check the permissions of .ralph/logs"));
            }
        }
    };
    if args.json {
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        output::json(&json!({
            "files": done.files,
            "bytes": done.bytes,
            "dry_run": args.dry_run,
            "names": names,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    if args.dry_run {
        for file in files.iter().take(SHOWN) {
            output::line(format_args!("{}  {}", file.name, format::bytes(file.bytes)));
        }
        if files.len() > SHOWN {
            output::line(format_args!("… and {} more", files.len() - SHOWN));
        }
    }
    let would = if args.dry_run { "would be deleted" } else { "deleted" };
    output::line(format_args!(
        "{} {would}, {}",
        format::counted(done.files, "log"),
        format::bytes(done.bytes)
    ));
    Ok(ExitCode::SUCCESS)
}
