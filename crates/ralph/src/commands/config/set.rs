//! `ralph config set KEY VALUE` and `ralph config unset KEY`.

use std::env;
use std::path::Path;
use std::process::ExitCode;

use ralph_core::project::Project;
use serde_json::json;

use super::edit::{self, Name};
use super::get::unknown;
use super::rows::{Row, rows};
use crate::command_error::{CommandError, CommandResult};
use crate::commands::run::Crew;
use crate::output;
use crate::settings::{Settings, save};
use crate::workspace::{Workspace, find};

/// Change a setting in .ralph.toml.
///
/// Comments and the rest of the file are kept. An invalid value changes nothing. Examples: ralph config set
/// run.max_cost_usd 20, ralph config set run.fallback codex,gemini
#[derive(Debug, clap::Args)]
pub struct SetArgs {
    /// The setting's name.
    #[arg(value_name = "SECTION.KEY")]
    setting: String,
    /// The new value; a list is separated by commas or written as in TOML.
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Remove a setting from .ralph.toml so that its default applies.
#[derive(Debug, clap::Args)]
pub struct UnsetArgs {
    /// The setting's name.
    #[arg(value_name = "SECTION.KEY")]
    setting: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn set(dir: Option<&Path>, args: &SetArgs) -> CommandResult {
    let file = File::read(dir)?;
    let before = file.settings(&file.text)?;
    let name = known_name(&args.setting, &before)?;
    let wrong = |why| CommandError::usage(format_args!("{}: {why}", args.setting));
    let value = edit::typed(&name, &args.value).map_err(wrong)?;
    let mut text = file.text.clone();
    let is_new = |agent| !before.agents.contains_key(agent);
    if name.key == "command" && name.agent().is_some_and(is_new) {
        let kind = Name {
            key: "kind".into(),
            ..name.clone()
        };
        text = file.with(&text, &kind, "command".into())?;
    }
    text = file.with(&text, &name, value)?;
    let after = file.settings(&text)?;
    if name.agent().is_some() || args.setting == "run.agent" || args.setting == "run.fallback" {
        Crew::of(&after)?;
    }
    save::replace(&file.project.config(), &text)?;
    Change {
        file: &file,
        setting: &args.setting,
        old: row_text(&before, &args.setting),
        new: row_text(&after, &args.setting),
    }
    .report(args.json)
}

pub fn unset(dir: Option<&Path>, args: &UnsetArgs) -> CommandResult {
    let file = File::read(dir)?;
    // A file with a mistake in it can be fixed this way.
    let before = file.settings(&file.text).ok();
    let defaults = Settings::defaults()?;
    let known = before.as_ref().unwrap_or(&defaults);
    let Some(name) = Name::parse(&args.setting) else {
        return Err(unknown(&args.setting, &rows(known)));
    };
    let shorter = match edit::unset(&file.text, &name) {
        Ok(shorter) => shorter,
        Err(_) => return Err(file.not_toml()),
    };
    let Some(text) = shorter else {
        known_name(&args.setting, known)?;
        return Change {
            file: &file,
            setting: &args.setting,
            old: None,
            new: None,
        }
        .report(args.json);
    };
    let after = file.settings(&text);
    if let (Some(_), Err(error)) = (&before, after.as_ref().map(|_| ())) {
        return Err(CommandError::usage(error.message()).hint("nothing was changed"));
    }
    save::replace(&file.project.config(), &text)?;
    Change {
        file: &file,
        setting: &args.setting,
        old: row_text(known, &args.setting),
        new: after.ok().and_then(|after| row_text(&after, &args.setting)),
    }
    .report(args.json)
}

/// The settings' file of a project.
struct File {
    project: Project,
    text: String,
}

impl File {
    fn read(dir: Option<&Path>) -> Result<Self, CommandError> {
        let project = find(dir)?;
        let text = Settings::read(&project.config())?;
        Ok(Self { project, text })
    }

    /// What the file alone would set.
    fn settings(&self, text: &str) -> Result<Settings, CommandError> {
        Settings::parse(&self.project.config(), text, std::iter::empty())
    }

    fn with(
        &self,
        text: &str,
        name: &Name,
        value: toml_edit::Value,
    ) -> Result<String, CommandError> {
        edit::set(text, name, value).map_err(|_| self.not_toml())
    }

    /// Why the file cannot be read as TOML.
    fn not_toml(&self) -> CommandError {
        match self.settings(&self.text) {
            Err(error) => error,
            Ok(_) => {
                CommandError::environment("cannot change .ralph.toml").hint("edit the file by hand")
            }
        }
    }

    /// What is in force in place of the file's value, and where it comes from.
    fn overridden(&self, setting: &str) -> Option<Row> {
        let settings = match self.project.database().exists() {
            true => Workspace::look(Some(self.project.root()))
                .and_then(|workspace| workspace.settings())
                .ok()?,
            false => Settings::load(&self.project.config(), env::vars_os()).ok()?,
        };
        let mut rows = rows(&settings).into_iter();
        rows.find(|row| row.name() == setting && row.line.is_none() && row.source != "default")
    }
}

/// A name that can be set. Agents that are not there yet can get settings.
fn known_name(setting: &str, settings: &Settings) -> Result<Name, CommandError> {
    let rows = rows(settings);
    let name = Name::parse(setting);
    let is_field = |name: &Name| {
        let fields = crate::settings::AGENT_FIELDS.iter();
        name.agent().is_some() && fields.clone().any(|field| field.name == name.key)
    };
    let is_known = |name: &Name| is_field(name) || rows.iter().any(|row| row.name() == setting);
    name.filter(is_known).ok_or_else(|| unknown(setting, &rows))
}

fn row_text(settings: &Settings, setting: &str) -> Option<String> {
    let mut rows = rows(settings).into_iter();
    rows.find(|row| row.name() == setting)?.text()
}

/// What became of a setting.
struct Change<'c> {
    file: &'c File,
    setting: &'c str,
    old: Option<String>,
    new: Option<String>,
}

impl Change<'_> {
    fn report(&self, as_json: bool) -> CommandResult {
        let path = self.file.project.config();
        let is_changed = Settings::read(&path)? != self.file.text;
        let overridden = self.file.overridden(self.setting);
        if as_json {
            output::json(&json!({
                "setting": self.setting,
                "old": self.old,
                "new": self.new,
                "changed": is_changed,
                "path": path,
                "overridden_by": overridden.as_ref().map(|row| &row.source),
            }));
            return Ok(ExitCode::SUCCESS);
        }
        let shown = |text: &Option<String>| match text.as_deref() {
            None | Some("") => "not set".to_owned(),
            Some(text) => text.to_owned(),
        };
        let (setting, old, new) = (self.setting, shown(&self.old), shown(&self.new));
        match is_changed {
            true => output::line(format_args!("{setting}: {old} → {new}")),
            false if self.old.is_none() => {
                output::line(format_args!("{setting} is not set in .ralph.toml"));
            }
            false => output::line(format_args!("{setting} is already {new}")),
        }
        if let Some(row) = overridden {
            let value = shown(&row.text());
            output::note(format_args!(
                "note: {} overrides this setting with {value}",
                row.source
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}
