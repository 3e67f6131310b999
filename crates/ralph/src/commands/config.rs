//! `ralph config …`: the settings in force, where each comes from, and changes to them. Secrets are masked.

use std::path::Path;

use ralph_core::agent::AgentKind;
use ralph_core::project::Project;
use ralph_core::text::one_line;
use serde::Serialize;
use serde_json::{Value, json};
use toml_edit::ser::ValueSerializer;

use super::run::Crew;
use crate::command_error::{CommandError, CommandResult};
use crate::output::{self, Json};
use crate::secrets::{shown, shown_words};
use crate::settings::edit::{self, Name};
use crate::settings::{
    AGENT_FIELDS, AgentSettings, Key, RENAMED, Renamed, Settings, Source, format_name, nearest,
};
use crate::ui::table::Table;
use crate::workspace::{find, find_settings};

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Show the settings that differ from the default, and where each comes from.
    ///
    /// Secrets are masked.
    Show {
        /// Show all settings, including the defaults.
        #[arg(short, long)]
        all: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the value of a setting, or an empty line if it is not set.
    ///
    /// Secrets are masked. Examples: ralph config get run.model, ralph config get agents.claude.models
    Get {
        /// The setting's name.
        #[arg(value_name = "SECTION.KEY")]
        setting: String,
        /// Print JSON, including where the value comes from.
        #[arg(long)]
        json: bool,
    },
    /// Change a setting in .ralph.toml.
    ///
    /// Comments and the rest of the file are kept. An invalid value changes nothing. Examples: ralph config set
    /// run.max_cost_usd 20, ralph config set run.fallback codex,gemini
    Set {
        /// The setting's name.
        #[arg(value_name = "SECTION.KEY")]
        setting: String,
        /// The new value; a list is separated by commas or written as in TOML.
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a setting from .ralph.toml so that its default applies.
    Unset {
        /// The setting's name.
        #[arg(value_name = "SECTION.KEY")]
        setting: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the path of the settings file.
    Path(Json),
}

pub fn run(dir: Option<&Path>, command: &Command) -> CommandResult {
    match command {
        Command::Show { all, json } => show(dir, *all, *json),
        Command::Get { setting, json } => {
            let (_, settings) = find_settings(dir)?;
            let setting = renamed(setting).map_or_else(|| setting.clone(), |(name, _)| name);
            let row = row(&settings, &setting).ok_or_else(|| unknown(&setting, &settings))?;
            let value = text(&row.value).unwrap_or_default();
            output::print(*json, &row, || output::line(value))
        }
        Command::Set { setting, value, json } => match renamed(setting) {
            Some((name, renamed)) => set(&File::read(dir)?, &name, renamed.value(value), *json),
            None => set(&File::read(dir)?, setting, value, *json),
        },
        Command::Unset { setting, json } => {
            let setting = renamed(setting).map_or_else(|| setting.clone(), |(name, _)| name);
            unset(&File::read(dir)?, &setting, *json)
        }
        Command::Path(args) => {
            let path = find(dir)?.config();
            let document = json!({ "path": path, "exists": path.exists() });
            output::print(args.json, &document, || {
                output::line(path.display());
                if !path.exists() {
                    output::note(
                        "note: the file does not exist, so the defaults apply; create it with `ralph init`",
                    );
                }
            })
        }
    }
}

#[derive(Debug, Serialize)]
pub struct Row {
    pub section: String,
    pub key: &'static str,
    /// A text or a list of texts; of agents also tables and flags.
    pub value: Value,
    source: String,
    pub line: Option<usize>,
    default: Value,
}

impl Row {
    /// The name people give it: `run.model`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    /// Whether something sets it: the file, the environment or a spec.
    pub fn is_set(&self) -> bool {
        self.source != Source::Default.to_string()
    }
}

pub fn rows(settings: &Settings) -> Vec<Row> {
    let defaults = Settings::default();
    let both = settings.all().zip(defaults.all());
    let plain = both.map(|((key, setting), (_, default))| Row {
        section: key.section.to_owned(),
        key: key.name,
        value: setting.shown(),
        source: setting.source().to_string(),
        line: setting.source().line(),
        default: default.shown(),
    });
    let agents = settings.agents.iter().flat_map(|(name, agent)| {
        let built_in = defaults.agents.get(name);
        AGENT_FIELDS.iter().map(move |field| {
            let source = settings.agent_source(name, field.name);
            Row {
                section: format!("agents.{name}"),
                key: field.name,
                value: agent_value(agent, field.name),
                source: source.to_string(),
                line: source.line(),
                default: built_in.map_or(Value::Null, |agent| agent_value(agent, field.name)),
            }
        })
    });
    plain.chain(agents).collect()
}

/// The value of an agent's field; null where the agent does not have it.
fn agent_value(agent: &AgentSettings, field: &str) -> Value {
    let setup = &agent.setup;
    let is_command = agent.kind == AgentKind::Command;
    let words = |words: &[String]| Value::from(shown_words(words.iter().map(String::as_str), usize::MAX));
    let value = match field {
        "kind" => agent.kind.as_str().into(),
        "command" => words(&setup.command),
        "models" => words(&setup.models),
        "args" => words(&setup.args),
        "fallback" => words(&agent.fallback),
        "account" => setup.account.clone().into(),
        "output" if is_command => format_name(setup.output).into(),
        "skip_permissions" if !is_command => setup.skip_permissions.into(),
        "price" => {
            let prices = setup.prices.iter();
            prices.map(|(model, price)| (model.clone(), json!(price))).collect()
        }
        "env" => {
            let env = setup.env.iter();
            env.map(|(name, value)| (name.clone(), shown(name, value, usize::MAX))).collect()
        }
        _ => Value::Null,
    };
    match &value {
        Value::Array(words) if words.is_empty() => Value::Null,
        Value::Object(table) if table.is_empty() => Value::Null,
        _ => value,
    }
}

/// A value as text: words as they are, the rest as TOML has it; none where there is no value.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.serialize(ValueSerializer::new()).ok()?.to_string()),
    }
}

fn show(dir: Option<&Path>, all: bool, json: bool) -> CommandResult {
    let (_, settings) = find_settings(dir)?;
    let mut rows = rows(&settings);
    rows.retain(|row| all || row.is_set());
    output::print(json, &rows, || {
        if rows.is_empty() {
            return output::line(
                "All settings have their default values. To list them: ralph config show --all",
            );
        }
        let shown = |value: &Value| match text(value) {
            Some(text) => one_line(&text, usize::MAX),
            None => "-".into(),
        };
        let mut table = Table::new(["SETTING", "VALUE", "DEFAULT", "SOURCE"]);
        // A field that an agent does not have is not shown.
        let has_value = |row: &&Row| !row.value.is_null() || !row.section.starts_with("agents.");
        for row in rows.iter().filter(has_value) {
            let source = match row.line {
                Some(line) => format!("{}:{line}", row.source),
                None => row.source.clone(),
            };
            table.row([row.name(), shown(&row.value), shown(&row.default), source]);
        }
        output::text(table.render());
        if !all {
            output::note(
                "`ralph config show --all` shows all settings; `ralph config set KEY VALUE` changes one",
            );
        }
    })
}

/// The new name of a setting that a person calls by its old one.
fn renamed(setting: &str) -> Option<(String, &'static Renamed)> {
    let (section, old) = setting.split_once('.')?;
    let renamed = Renamed::find(section, old)?;
    Some((format!("{section}.{}", renamed.new), renamed))
}

fn without_old_name(file: &File, name: &Name) -> Result<String, CommandError> {
    let text = file.text.clone();
    let mut old =
        RENAMED.iter().filter(|renamed| [renamed.section] == *name.table && renamed.new == name.key);
    let Some(renamed) = old.next() else {
        return Ok(text);
    };
    let old = Name { key: renamed.old.to_owned(), ..name.clone() };
    Ok(edit::unset(&text, &old).map_err(|_| file.not_toml())?.unwrap_or(text))
}

fn row(settings: &Settings, name: &str) -> Option<Row> {
    rows(settings).into_iter().find(|row| row.name() == name)
}

fn unknown(name: &str, settings: &Settings) -> CommandError {
    let rows = rows(settings);
    let section = name.rsplit_once('.').map(|(section, _)| section);
    let rows_there: Vec<&Row> =
        rows.iter().filter(|row| section.is_none_or(|section| row.section == section)).collect();
    let near = match rows_there.is_empty() {
        // A right section makes all its names alike: only the keys are compared then.
        false => {
            let key = nearest(name.rsplit('.').next().unwrap_or(name), rows_there.iter().map(|row| row.key));
            rows_there.iter().find(|row| Some(row.key) == key).map(|row| row.name())
        }
        true => {
            let names: Vec<String> = rows.iter().map(Row::name).collect();
            nearest(name, names.iter().map(String::as_str)).map(str::to_owned)
        }
    };
    CommandError::usage(format_args!("unknown setting `{name}`")).hint(match near {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "run `ralph config show --all` to see every setting".to_owned(),
    })
}

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

    /// What the file alone would set, if it held this text.
    fn settings(&self, text: &str) -> Result<Settings, CommandError> {
        Settings::parse(&self.project.config(), text, std::iter::empty())
    }

    /// Why the file cannot be read as TOML.
    fn not_toml(&self) -> CommandError {
        self.settings(&self.text).err().unwrap_or_else(|| {
            CommandError::environment("cannot change .ralph.toml").hint("edit the file by hand")
        })
    }

    /// What is in force in place of the file's value, and where it comes from.
    fn overridden(&self, setting: &str) -> Option<Row> {
        let (_, settings) = find_settings(Some(self.project.root())).ok()?;
        row(&settings, setting).filter(|row| row.line.is_none() && row.is_set())
    }

    fn report(&self, setting: &str, old: Option<String>, new: Option<String>, json: bool) -> CommandResult {
        let path = self.project.config();
        let is_changed = Settings::read(&path)? != self.text;
        let overridden = self.overridden(setting);
        let document = json!({
            "setting": setting, "old": old, "new": new, "changed": is_changed, "path": path,
            "overridden_by": overridden.as_ref().map(|row| &row.source),
        });
        let shown = |text: Option<&str>| match text {
            None | Some("") => "not set".to_owned(),
            Some(text) => text.to_owned(),
        };
        output::print(json, &document, || {
            let new = shown(new.as_deref());
            output::line(match (is_changed, &old) {
                (true, _) => format!("{setting}: {} → {new}", shown(old.as_deref())),
                (false, None) => format!("{setting} is not set in .ralph.toml"),
                (false, Some(_)) => format!("{setting} is already {new}"),
            });
            if let Some(Row { value, source, .. }) = &overridden {
                let value = shown(text(value).as_deref());
                output::note(format_args!("note: {source} overrides this setting with {value}"));
            }
        })
    }
}

fn set(file: &File, setting: &str, value: &str, json: bool) -> CommandResult {
    let before = file.settings(&file.text)?;
    let name = known_name(setting, &before)?;
    let wrong = |why| CommandError::usage(format_args!("{setting}: {why}"));
    let value = edit::typed(&name, value).map_err(wrong)?;
    let with = |text: &str, name: &Name, value| edit::set(text, name, value).map_err(|_| file.not_toml());
    let mut text = without_old_name(file, &name)?;
    let is_new = |agent| !before.agents.contains_key(agent);
    if name.key == "command" && name.agent().is_some_and(is_new) {
        let kind = Name { key: "kind".into(), ..name.clone() };
        text = with(&text, &kind, "command".into())?;
    }
    text = with(&text, &name, value)?;
    let after = file.settings(&text).map_err(|error| {
        // The file is not to blame: it is as it was.
        let message = error.message();
        let why = message.rsplit_once(&format!("{}: ", name.key));
        let why = why.map_or(message, |(_, why)| why);
        CommandError::usage(format_args!("{setting}: {why}"))
    })?;
    let unset_by_default = value_text(&Settings::default(), setting).is_none();
    if unset_by_default && value_text(&after, setting).is_none_or(|text| text.is_empty()) {
        return unset(file, setting, json);
    }
    if name.agent().is_some() || setting == "run.agent" || setting == "run.fallback" {
        Crew::of(&after)?;
    }
    edit::replace_file(&file.project.config(), &text)?;
    file.report(setting, value_text(&before, setting), value_text(&after, setting), json)
}

fn unset(file: &File, setting: &str, json: bool) -> CommandResult {
    // A file with a mistake in it can be fixed this way.
    let before = file.settings(&file.text).ok();
    let defaults = Settings::default();
    let known = before.as_ref().unwrap_or(&defaults);
    let name = Name::parse(setting).ok_or_else(|| unknown(setting, known))?;
    let text = without_old_name(file, &name)?;
    let shorter = edit::unset(&text, &name).map_err(|_| file.not_toml())?;
    let Some(text) = shorter.or_else(|| (text != file.text).then_some(text)) else {
        known_name(setting, known)?;
        return file.report(setting, None, None, json);
    };
    let after = file.settings(&text);
    if let (Some(_), Err(error)) = (&before, &after) {
        return Err(CommandError::usage(error.message()));
    }
    edit::replace_file(&file.project.config(), &text)?;
    let new = after.ok().and_then(|after| value_text(&after, setting));
    file.report(setting, value_text(known, setting), new, json)
}

/// A name that can be set. Agents that are not there yet can get settings.
fn known_name(setting: &str, settings: &Settings) -> Result<Name, CommandError> {
    let name = Name::parse(setting).filter(|name| Key::named(name).is_some());
    name.ok_or_else(|| unknown(setting, settings))
}

fn value_text(settings: &Settings, setting: &str) -> Option<String> {
    text(&row(settings, setting)?.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(toml: &str, name: &str) -> Row {
        let file = Path::new(".ralph.toml");
        let settings = Settings::parse(file, toml, std::iter::empty()).unwrap();
        super::row(&settings, name).unwrap()
    }

    #[test]
    fn agents_are_shown_field_by_field_without_their_secrets() {
        let toml = "[agents.claude]\nenv = { ANTHROPIC_API_KEY = 'hunter2', \"A.B\" = 'x' }\n\
                    args = ['--api-key', 'hunter2']\nprice = { haiku = 1, opus = { input = 3, output = 15.5, cache_read = 1 } }";
        let shown = |name: &str| {
            let row = row(toml, name);
            (text(&row.value).unwrap_or_default(), row.source)
        };
        let file = ".ralph.toml".to_owned();
        let default = "default".to_owned();
        assert_eq!(
            shown("agents.claude.env"),
            ("{ \"A.B\" = \"x\", ANTHROPIC_API_KEY = \"[masked]\" }".into(), file.clone())
        );
        assert_eq!(shown("agents.claude.args"), ("[\"--api-key\", \"[masked]\"]".into(), file.clone()));
        assert_eq!(
            shown("agents.claude.price"),
            (
                "{ haiku = { input = 1.0, output = 1.0 }, opus = { cache_read = 1.0, input = 3.0, output = 15.5 } }"
                    .into(),
                file
            )
        );
        assert_eq!(shown("agents.claude.kind"), ("claude".into(), default.clone()));
        assert_eq!(shown("agents.claude.skip_permissions"), ("true".into(), default));
    }

    #[test]
    fn every_field_is_shown() {
        let toml = "[agents.x]\nkind = 'command'\ncommand = ['a', '--m', '{model}']\nmodels = ['m']\nargs = ['b']\n\
                    env = { A = '1' }\noutput = 'claude'\nskip_permissions = false\nfallback = [\"codex\"]\nprice = { m = 1 }\naccount = 'team'";
        for field in AGENT_FIELDS {
            let toml = match field.name {
                "skip_permissions" => &toml.replace("kind = 'command'", "kind = 'claude'"),
                _ => toml,
            };
            let row = row(toml, &format!("agents.x.{}", field.name));
            assert_eq!(row.source, ".ralph.toml", "{}", field.name);
            assert!(text(&row.value).is_some_and(|text| !text.is_empty()), "{row:?}");
        }
    }
}
