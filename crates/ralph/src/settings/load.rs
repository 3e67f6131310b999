//! Reading `.ralph.toml` and the environment; every mistake is named with its place and the nearest valid word.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use ralph_core::files::{Limit, Links, read_text};
use toml_edit::{Document, Item, TableLike};

use super::agents::{self, AgentSettings};
use super::keys::{self, KEYS, Key, Kind};
use super::toml_error::{self, line_of};
use super::{Setting, Settings, Source, Value, duration};
use crate::command_error::CommandError;

/// How settings are named in the environment: `RALPH_SET_RUN_MAX_ATTEMPTS`.
const PREFIX: &str = "RALPH_SET_";

/// The settings of a file that holds this text.
pub(super) fn parse(
    file: &Path,
    text: &str,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Settings, CommandError> {
    let mut settings = Settings {
        values: defaults()?,
        below_spec: std::collections::BTreeMap::new(),
        agents: agents::built_in(),
        agent_fields: BTreeMap::new(),
    };
    let name = file.file_name().unwrap_or(file.as_os_str());
    read_file(&mut settings, &name.to_string_lossy(), text)?;
    read_environment(&mut settings, environment)?;
    Ok(settings)
}

/// The text of the settings' file; empty where there is none.
pub(super) fn read(file: &Path) -> Result<String, CommandError> {
    match read_text(file, Links::Follow, Limit::SETTINGS) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => {
            let path = file.display();
            Err(CommandError::environment(format_args!(
                "cannot read {path}: {error}"
            )))
        }
    }
}

fn defaults() -> Result<BTreeMap<(&'static str, &'static str), Setting>, CommandError> {
    KEYS.iter()
        .map(|key| {
            let value = match key.default {
                "" => None,
                text => Some(from_text(key, text).map_err(CommandError::environment)?),
            };
            Ok((
                (key.section, key.name),
                Setting {
                    value,
                    source: Source::Default,
                },
            ))
        })
        .collect()
}

fn read_file(settings: &mut Settings, name: &str, text: &str) -> Result<(), CommandError> {
    let document: Document<&str> =
        Document::parse(text).map_err(|error| toml_error::explain(name, text, &error))?;
    let line = |table: &dyn TableLike, key: &str| {
        let key = table.get_key_value(key).and_then(|(key, _)| key.span());
        key.map_or(0, |span| line_of(text, span.start))
    };
    for (section, item) in document.iter() {
        let Some(table) = item.as_table_like() else {
            let message = format!("{name}: `{section}` is not a section");
            return Err(suggest(message, section, keys::sections()));
        };
        if section == "agents" {
            read_agents(settings, name, table, &line)?;
            continue;
        }
        if !keys::sections().contains(&section) {
            let message = format!("{name}: unknown section [{section}]");
            return Err(suggest(message, section, keys::sections()));
        }
        for (key_name, item) in table.iter() {
            let Some(key) = keys::find(section, key_name) else {
                let message = format!("{name}: unknown key `{key_name}` in [{section}]");
                let names = KEYS
                    .iter()
                    .filter(|key| key.section == section)
                    .map(|key| key.name);
                return Err(suggest(message, key_name, names));
            };
            let value = from_item(key, item).map_err(|why| {
                CommandError::usage(format_args!("{name}: [{section}] {key_name}: {why}"))
            })?;
            let setting = Setting {
                value: Some(value),
                source: Source::File {
                    line: line(table, key_name),
                },
            };
            settings.values.insert((key.section, key.name), setting);
        }
    }
    Ok(())
}

fn read_agents(
    settings: &mut Settings,
    file: &str,
    table: &dyn TableLike,
    line: &dyn Fn(&dyn TableLike, &str) -> usize,
) -> Result<(), CommandError> {
    for (name, item) in table.iter() {
        let Some(agent) = item.as_table_like() else {
            let message = format!("{file}: `agents.{name}` is not a section");
            return Err(CommandError::usage(message).hint(format_args!("write [agents.{name}]")));
        };
        let before = settings.agents.get(name);
        let fields = agent
            .iter()
            .map(|(field, _)| (field.to_owned(), line(agent, field)))
            .collect();
        let agent: AgentSettings = agents::read(file, name, agent, before)?;
        settings.agents.insert(name.to_owned(), agent);
        settings.agent_fields.insert(name.to_owned(), fields);
    }
    Ok(())
}

fn read_environment(
    settings: &mut Settings,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Result<(), CommandError> {
    let variable = |key: &Key| {
        format!(
            "{PREFIX}{}_{}",
            key.section.to_uppercase(),
            key.name.to_uppercase()
        )
    };
    for (name, value) in environment {
        // Other programs' variables may be anything.
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        let name = name.to_owned();
        let Some(text) = value.to_str() else {
            return Err(CommandError::usage(format_args!(
                "{name} is not valid UTF-8"
            )));
        };
        let Some(key) = KEYS.iter().find(|key| variable(key) == name) else {
            let names: Vec<String> = KEYS.iter().map(variable).collect();
            let message = format!("unknown environment variable {name}");
            return Err(suggest(message, &name, names.iter().map(String::as_str)));
        };
        let value = from_text(key, text)
            .map_err(|why| CommandError::usage(format_args!("{name}: {why}")))?;
        let setting = Setting {
            value: Some(value),
            source: Source::Environment(name),
        };
        settings.values.insert((key.section, key.name), setting);
    }
    Ok(())
}

pub(super) fn suggest<'a>(
    message: String,
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> CommandError {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    match keys::nearest(word, candidates.iter().copied()) {
        Some(nearest) => {
            CommandError::usage(message).hint(format_args!("did you mean `{nearest}`?"))
        }
        None => CommandError::usage(message)
            .hint(format_args!("valid names: {}", candidates.join(", "))),
    }
}

/// A value from TOML. Numbers and flags may also be written as text.
fn from_item(key: &Key, item: &Item) -> Result<Value, String> {
    if let Some(text) = item.as_str() {
        return from_text(key, text);
    }
    if let Some(n) = item.as_integer() {
        return from_text(key, &n.to_string());
    }
    if let Some(n) = item.as_float() {
        return from_text(key, &n.to_string());
    }
    if let Some(words) = item.as_array() {
        let words = words.iter().map(|word| word.as_str().map(str::trim));
        let words: Option<Vec<&str>> = words.collect();
        return match (words, key.kind) {
            (Some(words), Kind::Words | Kind::Choices(_)) => from_text(key, &words.join(",")),
            _ => Err(expected(key.kind)),
        };
    }
    match item.as_bool() {
        Some(flag) => from_text(key, &flag.to_string()),
        None => Err(expected(key.kind)),
    }
}

/// A value from text, checked against its kind.
pub(super) fn from_text(key: &Key, text: &str) -> Result<Value, String> {
    let wrong = || format!("`{text}` is not {}", expected(key.kind));
    match key.kind {
        Kind::Text => Ok(Value::Text(text.to_owned())),
        Kind::FlagOrPath if is_no_file(text) => Err(wrong()),
        Kind::FlagOrPath => Ok(Value::Text(text.to_owned())),
        Kind::Count => {
            let n = text.parse::<u64>().ok().filter(|n| *n > 0);
            n.map(Value::Count).ok_or_else(wrong)
        }
        Kind::CountOrZero => text.parse().map(Value::Count).map_err(|_| wrong()),
        Kind::Number => {
            let n = text
                .parse::<f64>()
                .ok()
                .filter(|n| n.is_finite() && *n > 0.0);
            n.map(Value::Number).ok_or_else(wrong)
        }
        Kind::Duration => duration::parse(text).map(Value::Duration).ok_or_else(wrong),
        Kind::Flag => text.parse().map(Value::Flag).map_err(|_| wrong()),
        Kind::Words => Ok(Value::List(list(text))),
        Kind::Choices(words) => {
            let chosen = list(text);
            let known = |word: &String| words.contains(&word.as_str());
            match chosen.iter().find(|word| !known(word)) {
                None => Ok(Value::List(chosen)),
                Some(word) => Err(format!(
                    "`{word}` is not one of: {}{}",
                    words.join(", "),
                    did_you_mean(word, words)
                )),
            }
        }
        Kind::Choice(words) if words.contains(&text) => Ok(Value::Text(text.to_owned())),
        Kind::Choice(words) => Err(format!("{}{}", wrong(), did_you_mean(text, words))),
    }
}

fn did_you_mean(text: &str, words: &[&str]) -> String {
    let nearest = keys::nearest(text, words.iter().copied());
    let hint = nearest.map(|word| format!("; did you mean `{word}`?"));
    hint.unwrap_or_default()
}

/// The words of a list, each once.
fn list(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(',').map(str::trim) {
        if !word.is_empty() && !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    words
}

fn expected(kind: Kind) -> String {
    match kind {
        Kind::Text => "a string".into(),
        Kind::Count => "a whole number of at least 1".into(),
        Kind::CountOrZero => "a whole number (0 or more)".into(),
        Kind::Number => "a number above 0".into(),
        Kind::Duration => "a duration such as 90, \"30m\" or \"1h30m\"".into(),
        Kind::Flag => "true or false".into(),
        Kind::FlagOrPath => "true, false or the path of a file outside .git and .ralph".into(),
        Kind::Choice(words) => format!("one of: {}", words.join(", ")),
        Kind::Words => "a list such as [\"a\", \"b\"]".into(),
        Kind::Choices(words) => format!("a list of some of: {}", words.join(", ")),
    }
}

/// Whether a path cannot be that of a file for people and agents.
fn is_no_file(path: &str) -> bool {
    let path = path.trim().trim_start_matches("./");
    let parts: Vec<&str> = path.split('/').collect();
    let own = |part: &&str| [".git", ".ralph", ".ralph.toml"].contains(part);
    path.starts_with('~')
        || path.parse::<f64>().is_ok()
        || parts.iter().any(own)
        || matches!(parts.last(), Some(&"" | &"." | &"..")) && !path.is_empty()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn settings(toml: &str, env: &[(&str, &str)]) -> Result<Settings, String> {
        let file = Path::new(".ralph.toml");
        let env = env
            .iter()
            .map(|(k, v)| (OsString::from(k), OsString::from(v)));
        parse(file, toml, env).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn agm_01_only_a_file_can_be_kept_for_people_and_agents() {
        for path in [
            "AGENTS.md",
            "docs/AGENTS.md",
            "/srv/a.md",
            "../shared/A.md",
            "./x",
            ".x/a",
        ] {
            assert!(!is_no_file(path), "{path}");
        }
        for path in [
            "3",
            "~/x.md",
            "docs/",
            "..",
            ".git/config",
            ".ralph.toml",
            ".ralph/x.md",
        ] {
            assert!(is_no_file(path), "{path}");
        }
    }

    #[test]
    fn cli_03_environment_wins_over_file_over_default() {
        let toml = "[run]\nmax_attempts = 3\nattempt_timeout = \"2m\"\nidle_timeout = 7\n";
        let loaded =
            settings(toml, &[("RALPH_SET_RUN_MAX_ATTEMPTS", "2"), ("OTHER", "x")]).unwrap();
        assert_eq!(loaded.count("run", "max_attempts"), Some(2));
        assert_eq!(
            loaded.duration("run", "attempt_timeout"),
            Some(Duration::from_secs(120))
        );
        assert_eq!(
            loaded.duration("run", "idle_timeout"),
            Some(Duration::from_secs(7))
        );
        assert_eq!(loaded.text("run", "agent"), Some("claude"));
        assert_eq!(loaded.count("run", "limit"), None);
    }

    #[test]
    fn cli_02_unknown_names_are_errors_that_name_the_nearest() {
        for (toml, nearest) in [
            ("[run]\nmax_atempts = 3", "max_attempts"),
            ("[runn]\nmodel = 'x'", "run"),
            ("[gate]\ntimeut = 3", "timeout"),
            ("[agents.mine]\nkind = 'command'\ncomand = ['x']", "command"),
            ("[agents.mine]\nkind = 'comand'\ncommand = ['x']", "command"),
            ("[run]\nstrategy = 'escalat'", "escalate"),
        ] {
            let error = settings(toml, &[]).unwrap_err();
            assert!(error.contains(nearest), "{toml}: {error}");
        }
        let error = settings("", &[("RALPH_SET_RUN_MODL", "x")]).unwrap_err();
        assert!(error.contains("RALPH_SET_RUN_MODEL"), "{error}");
    }

    #[test]
    fn values_of_the_wrong_kind_are_refused() {
        for toml in [
            "[run]\nlimit = 0",
            "[run]\nlimit = 'many'",
            "[run]\nattempt_timeout = 'soon'",
            "[gate]\nprecheck = 3",
            "[run]\nlimit = [1]",
            "run = 3",
            "[run",
        ] {
            assert!(settings(toml, &[]).is_err(), "{toml}");
        }
    }
}
