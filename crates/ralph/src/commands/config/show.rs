//! `ralph config show`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::text::one_line;

use super::rows::rows;
use crate::command_error::CommandResult;
use crate::output;
use crate::ui::table::Table;
use crate::workspace::find_settings;

/// Show the settings in force, agents included, and where each comes from. Secrets are masked.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let (_, settings) = find_settings(dir)?;
    let rows = rows(&settings);
    if args.json {
        output::json(&rows);
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(["SETTING", "VALUE", "FROM"]);
    // What an agent says nothing of is no setting that could be looked up by its name.
    let is_said =
        |section: &str, text: &Option<String>| text.is_some() || !section.starts_with("agents.");
    for row in rows {
        let text = row.text();
        if is_said(&row.section, &text) {
            let name = format!("[{}] {}", row.section, row.key);
            let text = text.map_or_else(|| "-".into(), |text| one_line(&text, usize::MAX));
            table.row([name, text, row.source]);
        }
    }
    output::text(table.render());
    Ok(ExitCode::SUCCESS)
}
