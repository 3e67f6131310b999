//! `ralph config get SECTION.KEY`.

use std::path::Path;
use std::process::ExitCode;

use super::rows::{Row, rows};
use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::settings::keys::nearest;
use crate::workspace::find_settings;

/// Print the value of a setting, or an empty line if it is not set.
///
/// Secrets are masked. Examples: ralph config get run.model, ralph config get agents.claude.models
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The setting's name.
    #[arg(value_name = "SECTION.KEY")]
    setting: String,
    /// Print JSON, including where the value comes from.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let (_, settings) = find_settings(dir)?;
    let rows = rows(&settings);
    let Some(row) = rows.iter().find(|row| row.name() == args.setting) else {
        return Err(unknown(&args.setting, &rows));
    };
    if args.json {
        output::json(row);
    } else {
        output::line(row.text().unwrap_or_default());
    }
    Ok(ExitCode::SUCCESS)
}

pub fn unknown(name: &str, rows: &[Row]) -> CommandError {
    let error = CommandError::usage(format_args!("unknown setting `{name}`"));
    let names: Vec<String> = rows.iter().map(Row::name).collect();
    // Whoever knows the key but not its section is helped first.
    let of_key = rows.iter().find(|row| row.key == name).map(Row::name);
    match of_key
        .as_deref()
        .or_else(|| nearest(name, names.iter().map(String::as_str)))
    {
        Some(nearest) => error.hint(format_args!("did you mean `{nearest}`?")),
        None => error.hint("run `ralph config show --all` to see every setting"),
    }
}
