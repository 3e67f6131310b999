//! `ralph config show`: the settings in force and where each comes from.

use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;

use crate::command_error::CommandResult;
use crate::output;
use crate::ui::table::Table;
use crate::workspace::Workspace;

/// What to do with settings.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Show the settings in force and where each comes from.
    Show {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Serialize)]
struct Row {
    section: &'static str,
    key: &'static str,
    value: Option<String>,
    source: String,
}

pub fn run(dir: Option<&Path>, command: &Command) -> CommandResult {
    let Command::Show { json } = command;
    let settings = Workspace::open(dir)?.settings()?;
    let rows: Vec<Row> = settings
        .all()
        .map(|(key, setting)| Row {
            section: key.section,
            key: key.name,
            value: setting.value.as_ref().map(ToString::to_string),
            source: setting.source.to_string(),
        })
        .collect();
    if *json {
        output::json(&rows);
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(["SETTING", "VALUE", "FROM"]);
    for row in rows {
        let name = format!("[{}] {}", row.section, row.key);
        table.row([name, row.value.unwrap_or_else(|| "-".into()), row.source]);
    }
    output::text(table.render());
    Ok(ExitCode::SUCCESS)
}
