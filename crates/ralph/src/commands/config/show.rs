//! `ralph config show`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::text::one_line;

use super::rows::{Row, rows};
use crate::command_error::CommandResult;
use crate::output;
use crate::ui::table::Table;
use crate::workspace::find_settings;

/// Show the settings that differ from the default, and where each comes from.
///
/// Secrets are masked.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show all settings, including the defaults.
    #[arg(short, long)]
    all: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let (_, settings) = find_settings(dir)?;
    let mut rows = rows(&settings);
    if !args.all {
        rows.retain(Row::is_set);
    }
    if args.json {
        output::json(&rows);
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        output::line(
            "All settings have their default values. To list them: ralph config show --all",
        );
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(["SETTING", "VALUE", "DEFAULT", "SOURCE"]);
    // A field that an agent does not have is not shown.
    for row in rows
        .iter()
        .filter(|row| row.value.is_some() || !row.section.starts_with("agents."))
    {
        let shown = |text: Option<String>| {
            text.map_or_else(|| "-".into(), |text| one_line(&text, usize::MAX))
        };
        table.row([
            row.name(),
            shown(row.text()),
            shown(row.default_text()),
            row.place(),
        ]);
    }
    output::text(table.render());
    if !args.all {
        output::note(
            "`ralph config show --all` shows all settings; `ralph config set KEY VALUE` changes one",
        );
    }
    Ok(ExitCode::SUCCESS)
}
