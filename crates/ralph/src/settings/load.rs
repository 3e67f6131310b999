//! Reading `.ralph.toml` and the environment. Every mistake is named with its place and the nearest valid word, but never
//! with the line itself: that may hold a secret.

use std::ffi::OsString;

use toml_edit::{Document, Item, TableLike, TomlError, Value};

use super::agents::{self, AgentSettings};
use super::types::{Kind, Source};
use super::{KEYS, RENAMED, Renamed, Settings};
use crate::command_error::CommandError;

/// How settings are named in the environment: `RALPH_SET_RUN_MAX_ATTEMPTS`.
pub const PREFIX: &str = "RALPH_SET_";

pub(super) fn read_file(settings: &mut Settings, name: &str, text: &str) -> Result<(), CommandError> {
    let document: Document<&str> = Document::parse(text).map_err(|error| not_toml(name, text, &error))?;
    let line = |table: &dyn TableLike, key: &str| {
        let key = table.get_key_value(key).and_then(|(key, _)| key.span());
        key.map_or(0, |span| line_of(text, span.start))
    };
    for (section, item) in document.iter() {
        let Some(table) = item.as_table_like() else {
            return Err(not_a_section(name, section, item));
        };
        if section == "agents" {
            read_agents(settings, name, table, &line)?;
            continue;
        }
        if !sections().contains(&section) {
            let message = format!("{name}: unknown section [{section}]");
            return Err(suggest(message, section, sections()));
        }
        for (key, item) in table.iter() {
            let renamed = Renamed::find(section, key);
            if let Some(Renamed { new, .. }) = renamed.filter(|renamed| table.contains_key(renamed.new)) {
                let message =
                    format!("{name}: [{section}] `{key}` is the old name of `{new}`, which is set, too");
                return Err(CommandError::usage(message).hint(format_args!("delete the line of `{key}`")));
            }
            let key = renamed.map_or(key, |renamed| renamed.new);
            let known = || KEYS.iter().filter(|known| known.section == section);
            let kind = known().find(|known| known.name == key).map(|known| known.kind);
            let Some((kind, setting)) = kind.zip(settings.find_mut(section, key)) else {
                let message = format!("{name}: unknown key `{key}` in [{section}]");
                return Err(suggest(message, key, known().map(|known| known.name)));
            };
            let written = renamed.map_or(key, |renamed| renamed.old);
            let source = Source::File { line: line(table, written) };
            let noted = renamed.map(|renamed| (source.clone(), renamed));
            text_of(kind, item)
                .and_then(|text| setting.read(renamed.map_or(&text, |renamed| renamed.value(&text)), source))
                .map_err(|why| CommandError::usage(format_args!("{name}: [{section}] {key}: {why}")))?;
            settings.old_names.extend(noted);
        }
    }
    Ok(())
}

/// A name that should be a section: `[[notify]]`, or a key that stands above the first section.
fn not_a_section(file: &str, name: &str, item: &Item) -> CommandError {
    if sections().contains(&name) {
        let written =
            if item.is_array_of_tables() { format!("[[{name}]]") } else { format!("`{name} = …`") };
        let message = format!("{file}: {written} is not allowed: `{name}` is a section");
        return CommandError::usage(message).hint(format_args!("write [{name}]"));
    }
    let of = |key: &&super::Key| key.name == name;
    let message = format!("{file}: `{name}` stands outside a section");
    match KEYS.iter().find(of) {
        Some(key) => CommandError::usage(message).hint(format_args!("write it under [{}]", key.section)),
        None => suggest(message, name, sections()),
    }
}

fn not_toml(file: &str, text: &str, error: &TomlError) -> CommandError {
    let at = error.span().map_or(text.len(), |span| span.start);
    let line = line_of(text, at);
    let twice = defined_twice(text, line).filter(|_| error.message() == "duplicate key");
    let (message, hint) = match twice {
        Some(Twice { what, first, hint }) => {
            (format!("{file} {what} twice, on lines {first} and {line}"), hint)
        }
        None => {
            let why = error.message().lines().next().unwrap_or_default();
            let message = format!("{file} is not valid TOML: line {line}: {why}");
            (message, format!("fix line {line} of {file}"))
        }
    };
    CommandError::usage(message).hint(hint)
}

/// The line that holds this byte, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    let before = text.bytes().take(at);
    before.filter(|byte| *byte == b'\n').count() + 1
}

/// What a line defines for the second time, and the line that defined it first.
struct Twice {
    /// `defines [run]`, or ``sets `limit` ``.
    what: String,
    first: usize,
    hint: String,
}

fn defined_twice(text: &str, line: usize) -> Option<Twice> {
    let mut section = String::new();
    // The tables and the keys of all lines, with their whole names.
    let mut tables: Vec<(usize, String)> = Vec::new();
    let mut keys: Vec<(usize, String)> = Vec::new();
    for (number, line) in (1..).zip(text.lines().take(line)) {
        let plain = line.replace([' ', '\t', '"', '\''], "");
        let table = plain.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        if let Some((table, _)) = table {
            table.trim_start_matches('[').clone_into(&mut section);
            tables.push((number, section.clone()));
        } else if let Some((key, _)) = plain.split_once('=') {
            keys.push((number, format!("{section}.{key}").trim_start_matches('.').to_owned()));
        }
    }
    let first = |lines: &[(usize, String)], is_it: &dyn Fn(&str) -> bool| {
        lines.iter().rev().find(|(number, name)| *number < line && is_it(name)).map(|(number, _)| *number)
    };
    let of_table =
        |name: &str, first: usize, hint: String| Twice { what: format!("defines [{name}]"), first, hint };
    // A table may also be a dotted key: `mine.kind = "command"` below [agents].
    let together = |name: &str| format!("write all keys of [{name}] below one line [{name}]");
    if let Some((_, name)) = tables.last().filter(|(number, _)| *number == line) {
        if let Some(first) = first(&tables, &|other| other == name) {
            let hint = format!(
                "move the keys below line {line} to the table on line {first}, then delete line {line}"
            );
            return Some(of_table(name, first, hint));
        }
        let is_part =
            |key: &str| key == name || key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        return Some(of_table(name, first(&keys, &is_part)?, together(name)));
    }
    let (_, name) = keys.last().filter(|(number, _)| *number == line)?;
    let within = name.rsplit_once('.').map(|(within, _)| within).filter(|within| *within != section);
    if let Some(within) = within
        && let Some(first) = first(&tables, &|other| other == within)
    {
        return Some(of_table(within, first, together(within)));
    }
    let first = first(&keys, &|other| other == name)?;
    let key = name.strip_prefix(&section).unwrap_or(name).trim_start_matches('.');
    Some(Twice { what: format!("sets `{key}`"), first, hint: "delete one of the two lines".to_owned() })
}

fn sections() -> Vec<&'static str> {
    let mut sections: Vec<&str> = KEYS.iter().map(|key| key.section).collect();
    sections.push("agents");
    sections.dedup();
    sections
}

/// The text of a value in TOML. Numbers and flags may also be written as text.
fn text_of(kind: Kind, item: &Item) -> Result<String, String> {
    let is_list = matches!(kind, Kind::Words | Kind::Patterns | Kind::Choices(_) | Kind::Network(_));
    let text = match item.as_value() {
        Some(Value::String(text)) => Some(text.value().clone()),
        Some(Value::Integer(n)) => Some(n.value().to_string()),
        Some(Value::Float(n)) => Some(n.value().to_string()),
        Some(Value::Boolean(flag)) => Some(flag.value().to_string()),
        Some(Value::Array(words)) if is_list => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.map(|words| words.join(","))
        }
        _ => None,
    };
    text.ok_or_else(|| kind.expected())
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
        let fields = agent.iter().map(|(field, _)| (field.to_owned(), line(agent, field))).collect();
        let agent: AgentSettings = agents::read(file, name, agent, before)?;
        settings.agents.insert(name.to_owned(), agent);
        settings.agent_fields.insert(name.to_owned(), fields);
    }
    Ok(())
}

/// How a setting is named in the environment.
pub(super) fn variable(section: &str, name: &str) -> String {
    format!("{PREFIX}{}_{}", section.to_uppercase(), name.to_uppercase())
}

pub(super) fn read_environment(
    settings: &mut Settings,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Result<(), CommandError> {
    for (name, value) in environment {
        // Other programs' variables may be anything.
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        let Some(text) = value.to_str() else {
            return Err(CommandError::usage(format_args!("{name} is not valid UTF-8")));
        };
        let renamed = RENAMED.iter().find(|renamed| variable(renamed.section, renamed.old) == name);
        let key = KEYS.iter().find(|key| variable(key.section, key.name) == name);
        let key = renamed.map(|to| (to.section, to.new)).or(key.map(|key| (key.section, key.name)));
        let Some(setting) = key.and_then(|(section, name)| settings.find_mut(section, name)) else {
            let names: Vec<String> = KEYS.iter().map(|key| variable(key.section, key.name)).collect();
            let message = format!("unknown environment variable {name}");
            return Err(suggest(message, name, names.iter().map(String::as_str)));
        };
        let source = Source::Environment(name.to_owned());
        setting
            .read(renamed.map_or(text, |renamed| renamed.value(text)), source.clone())
            .map_err(|why| CommandError::usage(format_args!("{name}: {why}")))?;
        settings.old_names.extend(renamed.map(|renamed| (source, renamed)));
    }
    Ok(())
}

pub(super) fn suggest<'a>(
    message: String,
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> CommandError {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let hint = match nearest(word, candidates.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("valid names: {}", candidates.join(", ")),
    };
    CommandError::usage(message).hint(hint)
}

/// The candidate most like a word, if one is near enough to be meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::settings::BaselineWhen;

    fn settings(toml: &str, env: &[(&str, &str)]) -> Result<Settings, String> {
        let file = Path::new(".ralph.toml");
        let env = env.iter().map(|(k, v)| (OsString::from(k), OsString::from(v)));
        Settings::parse(file, toml, env).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn cli_03_environment_wins_over_file_over_default() {
        let toml = "[run]\nmax_attempts = 3\nattempt_timeout = \"2m\"\nidle_timeout = 7\n";
        let loaded = settings(toml, &[("RALPH_SET_RUN_MAX_ATTEMPTS", "2"), ("OTHER", "x")]).unwrap();
        assert_eq!(loaded.run.max_attempts.0, 2);
        assert_eq!(*loaded.run.attempt_timeout, Duration::from_secs(120));
        assert_eq!(*loaded.run.idle_timeout, Duration::from_secs(7));
        assert_eq!(*loaded.run.agent, "claude");
        assert_eq!(*loaded.run.limit, None);
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
            "[gate]\nbaseline = 3",
            "[run]\nlimit = [1]",
            "run = 3",
            "[run",
        ] {
            assert!(settings(toml, &[]).is_err(), "{toml}");
        }
    }

    #[test]
    fn old_names_are_accepted_with_their_values() {
        let old = "[gate]\nverify = 'make'\nretries = 3\nprecheck = false\n";
        let gate = settings(old, &[]).unwrap().gate;
        assert_eq!((gate.default.as_deref(), *gate.rerun), (Some("make"), 3));
        assert_eq!(*gate.baseline, BaselineWhen::Off);
        let env = [("RALPH_SET_GATE_PRECHECK", "true"), ("RALPH_SET_GATE_VERIFY", "x")];
        let read = settings(old, &env).unwrap();
        let gate = &read.gate;
        assert_eq!((gate.default.as_deref(), *gate.baseline), (Some("x"), BaselineWhen::First));
        let notices = read.old_names();
        let told: Vec<(&str, &str)> =
            notices.iter().map(|(what, fix)| (what.as_str(), fix.as_str())).collect();
        assert_eq!(told.len(), 5);
        for expected in [
            (
                ".ralph.toml: [gate] retries is now called rerun; the old name works for one release",
                "ralph config set gate.rerun 3",
            ),
            (
                "RALPH_SET_GATE_PRECHECK: [gate] precheck is now called baseline; the old name works for one release",
                "set RALPH_SET_GATE_BASELINE instead of RALPH_SET_GATE_PRECHECK",
            ),
        ] {
            assert!(told.contains(&expected), "{told:?}");
        }
        assert_eq!(settings("[gate]\ndefault = 'make'", &[]).unwrap().old_names(), []);
        let both = settings("[gate]\nverify = 'a'\ndefault = 'b'", &[]).unwrap_err();
        assert!(both.contains("`verify` is the old name of `default`"), "{both}");
    }

    #[test]
    fn a_slip_of_the_finger_finds_its_key() {
        let names = || KEYS.iter().map(|key| key.name);
        assert_eq!(nearest("max_atempts", names()), Some("max_attempts"));
        assert_eq!(nearest("timout", names()), Some("timeout"));
        assert_eq!(nearest("zzz", names()), None);
        // A name of one's own is no misspelling.
        assert_eq!(nearest("mine", ["claude", "gemini", "opencode"]), None);
    }

    #[test]
    fn what_is_no_section_is_named_with_what_to_write() {
        for (text, message, hint) in [
            (
                "[[notify]]\ncommand = 'x'\n",
                "[[notify]] is not allowed: `notify` is a section",
                "write [notify]",
            ),
            ("notify = 'x'\n", "`notify = …` is not allowed: `notify` is a section", "write [notify]"),
            ("max_attempts = 3\n", "`max_attempts` stands outside a section", "write it under [run]"),
            ("gates = 3\n", "`gates` stands outside a section", "did you mean `gate`?"),
        ] {
            let mut settings = Settings::default();
            let error = read_file(&mut settings, ".ralph.toml", text).unwrap_err();
            assert_eq!(
                (error.message(), &error.hints()[0][..]),
                (&format!(".ralph.toml: {message}")[..], hint)
            );
        }
    }

    fn explained(text: &str) -> String {
        let error = Document::parse(text).unwrap_err();
        let error = not_toml(".ralph.toml", text, &error);
        assert!(!error.message().contains('\n'), "{}", error.message());
        assert!(!error.hints().is_empty(), "{}", error.message());
        error.message().to_owned()
    }

    #[test]
    fn a_table_or_key_that_is_there_twice_is_named_with_both_lines() {
        for (text, expected) in [
            ("[run]\na = 1\n\n[run]\nb = 2\n", "[run] twice, on lines 1 and 4"),
            ("[a]\n\n[agents.x]\nb = 1\n[agents.\"x\"]\n", "[agents.x] twice, on lines 3 and 5"),
            ("[a]\nx = 1\n[run]\nx = 1\ny = 1\nx = 2\n", "sets `x` twice, on lines 4 and 6"),
            ("[run]\na = [\n1,\n]\n[ run ]\n", "[run] twice, on lines 1 and 5"),
            ("[agents]\nmine.a = 1\n[agents.mine]\nb = 1\n", "[agents.mine] twice, on lines 2 and 3"),
            ("[agents.mine]\na = 1\n[agents]\nmine.b = 1\n", "[agents.mine] twice, on lines 1 and 4"),
            ("run = { a = 1 }\n[run]\nb = 1\n", "[run] twice, on lines 1 and 2"),
            ("[run]\na = 1\n[[run]]\n", "[run] twice, on lines 1 and 3"),
        ] {
            let message = explained(text);
            assert!(message.ends_with(expected), "{text:?}: {message}");
        }
    }

    #[test]
    fn other_mistakes_are_named_with_their_line_and_without_the_text_that_may_be_secret() {
        for (text, line) in
            [("[run\n", 1), ("\n[notify]\nwebhook_secret = hunter2\n", 3), ("a = { b = 1, b = 2 }", 1)]
        {
            let message = explained(text);
            assert!(message.contains(&format!("line {line}: ")), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }
}
