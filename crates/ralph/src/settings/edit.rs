//! Changes to `.ralph.toml`. Everything else in it stays as it is: comments, order, blank lines.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ralph_core::files::{resolve, write_whole};
use toml_edit::{Array, Document, DocumentMut, Item, Key, TableLike, TomlError, Value};

use super::{Key as Setting, Kind};
use crate::command_error::CommandError;

/// Writes the file unless there is one. `true` if it was written.
pub fn create_file(path: &Path, text: &str) -> Result<bool, CommandError> {
    // Ralph does not obey settings that every user may write, whatever the umask is.
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o664).open(path);
    match opened.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(CommandError::cannot_write(path, &error)),
    }
}

/// Writes the file, new or in place of the one that is there. A link stays one: what it leads to is replaced.
pub fn replace_file(path: &Path, text: &str) -> Result<(), CommandError> {
    if create_file(path, text)? {
        return Ok(());
    }
    resolve(path)
        .and_then(|path| write_whole(&path, text.as_bytes()))
        .map_err(|error| CommandError::cannot_write(path, &error))
}

/// The name of a setting: `run.model`, `agents.mine.models`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The table, from the top: `run`, or `agents` and the agent's name.
    pub table: Vec<String>,
    pub key: String,
}

impl Name {
    /// Reads a name. An agent's own name may hold dots.
    pub fn parse(text: &str) -> Option<Self> {
        let (table, key) = text.rsplit_once('.')?;
        let table = match table.strip_prefix("agents.") {
            Some(agent) => vec!["agents".to_owned(), agent.to_owned()],
            None => vec![table.to_owned()],
        };
        let is_whole = !key.is_empty() && table.iter().all(|part| !part.is_empty());
        is_whole.then(|| Self { table, key: key.to_owned() })
    }

    pub fn agent(&self) -> Option<&str> {
        match &self.table[..] {
            [agents, name] if agents == "agents" => Some(name),
            _ => None,
        }
    }
}

/// A value as the setting's kind wants it, from what a person typed. The value is checked later, with the whole file.
pub fn typed(name: &Name, text: &str) -> Result<Value, String> {
    let kind = Setting::named(name).map_or(Kind::Text, |setting| setting.kind);
    Ok(match (kind, text.parse::<Value>()) {
        (Kind::Text | Kind::Choice(_), _) => Value::from(text),
        (Kind::Network(words), _) if words.contains(&text) => Value::from(text),
        (Kind::Words | Kind::Patterns | Kind::Choices(_) | Kind::Network(_), value) => {
            array(text, value, ",")
        }
        (Kind::Arguments, value) => array(text, value, " "),
        (Kind::Table(_), Ok(value @ Value::InlineTable(_))) => value,
        (Kind::Table(_), _) => return Err(format!("expected {}", kind.expected())),
        (_, Ok(value @ (Value::Integer(_) | Value::Float(_) | Value::Boolean(_)))) => value,
        // What is no number or flag stays a text: a duration, or a mistake that is reported later.
        _ => Value::from(text),
    })
}

/// A list: as TOML writes it, or words with something between them.
fn array(text: &str, value: Result<Value, TomlError>, between: &str) -> Value {
    if let Ok(value @ Value::Array(_)) = value {
        return value;
    }
    let words = text.split(between).map(str::trim);
    Value::Array(Array::from_iter(words.filter(|word| !word.is_empty())))
}

pub fn set(text: &str, name: &Name, value: Value) -> Result<String, TomlError> {
    let mut document: DocumentMut = text.parse()?;
    let Some(table) = find_table(document.as_table_mut(), &name.table) else {
        // At the end: further up it would come between a table and the comments before it.
        let gap = match text {
            text if text.is_empty() || text.ends_with("\n\n") => "",
            text if text.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        let header: Vec<String> = name.table.iter().map(|part| Key::new(part).to_string()).collect();
        let (header, key, value) = (header.join("."), Key::new(&name.key), value.to_string());
        return Ok(format!("{text}{gap}[{header}]\n{key} = {}\n", value.trim()));
    };
    match table.get_mut(&name.key) {
        Some(Item::Value(old)) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        _ => {
            table.insert(&name.key, Item::Value(value));
        }
    }
    Ok(document.to_string())
}

fn find_table<'t>(root: &'t mut dyn TableLike, path: &[String]) -> Option<&'t mut dyn TableLike> {
    let Some((name, rest)) = path.split_first() else { return Some(root) };
    find_table(root.get_mut(name)?.as_table_like_mut()?, rest)
}

/// The text without this setting, and without the header of its table if nothing else is in it; `None` where the text does
/// not set it.
pub fn unset(text: &str, name: &Name) -> Result<Option<String>, TomlError> {
    let document = Document::parse(text)?;
    let item = name.table.iter().try_fold(document.as_item(), |item, part| item.get(part));
    let Some((key, value)) = item.and_then(Item::as_table_like).and_then(|t| t.get_key_value(&name.key))
    else {
        return Ok(None);
    };
    let table = item.and_then(Item::as_table).filter(|_| value.is_value());
    let (Some(table), Some(key), Some(value)) = (table, key.span(), value.span()) else {
        let mut document: DocumentMut = text.parse()?;
        if let Some(table) = find_table(document.as_table_mut(), &name.table) {
            table.remove(&name.key);
        }
        return Ok(Some(document.to_string()));
    };
    // Lines are taken out, so that comments above the setting stay.
    let line = |at: usize| text.bytes().take(at).filter(|byte| *byte == b'\n').count();
    let mut gone: Vec<usize> = (line(key.start)..=line(value.end)).collect();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let has_header = table.len() == 1 && !table.is_implicit() && !table.is_dotted();
    if let Some(header) = table.span().filter(|_| has_header).map(|span| line(span.start)) {
        gone.push(header);
        let above = header.checked_sub(1);
        gone.extend(above.filter(|above| lines.get(*above).is_some_and(|line| line.trim().is_empty())));
    }
    let kept = lines.iter().enumerate().filter(|(number, _)| !gone.contains(number));
    Ok(Some(kept.map(|(_, line)| *line).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str, name: &str, value: &str) -> String {
        let name = Name::parse(name).unwrap();
        set(text, &name, typed(&name, value).unwrap()).unwrap()
    }

    #[test]
    fn a_setting_is_written_in_its_place_by_its_kind() {
        for (text, name, value, expected) in [
            ("", "run.model", "opus", "[run]\nmodel = \"opus\"\n"),
            ("# mine\n", "run.limit", "3", "# mine\n\n[run]\nlimit = 3\n"),
            ("# no end", "run.max_cost_usd", "2.5", "# no end\n\n[run]\nmax_cost_usd = 2.5\n"),
            (
                "[run]\n# why\nmodel = 'a'  # because\n# end\n",
                "run.model",
                "b",
                "[run]\n# why\nmodel = \"b\"  # because\n# end\n",
            ),
            (
                "[run]\nmodel = 'a'\n\n# git\n[git]\n",
                "run.limit",
                "3",
                "[run]\nmodel = 'a'\nlimit = 3\n\n# git\n[git]\n",
            ),
            ("run = { model = 'a' }\n", "run.limit", "3", "run = { model = 'a' , limit = 3 }\n"),
            ("run.model = 'a'\n", "run.limit", "3", "run.model = 'a'\nrun.limit = 3\n"),
            ("", "run.attempt_timeout", "1h30m", "[run]\nattempt_timeout = \"1h30m\"\n"),
            ("", "run.attempt_timeout", "90", "[run]\nattempt_timeout = 90\n"),
            ("", "recovery.enabled", "true", "[recovery]\nenabled = true\n"),
            ("", "memory.agents_md", "docs/A.md", "[memory]\nagents_md = \"docs/A.md\"\n"),
            ("", "memory.agents_md", "false", "[memory]\nagents_md = false\n"),
            ("", "run.fallback", "codex, gemini", "[run]\nfallback = [\"codex\", \"gemini\"]\n"),
            ("", "run.fallback", "[\"codex\"]", "[run]\nfallback = [\"codex\"]\n"),
            ("", "gate.default", "a \"b\" \\ c", "[gate]\ndefault = 'a \"b\" \\ c'\n"),
            ("", "agents.x.y.command", "sh a.sh", "[agents.\"x.y\"]\ncommand = [\"sh\", \"a.sh\"]\n"),
            ("", "agents.claude.env", "{ A = \"1\" }", "[agents.claude]\nenv = { A = \"1\" }\n"),
            (
                "[agents.claude]\nmodels = []\n",
                "agents.codex.models",
                "m",
                "[agents.claude]\nmodels = []\n\n[agents.codex]\nmodels = [\"m\"]\n",
            ),
        ] {
            assert_eq!(changed(text, name, value), expected, "{name} = {value}");
        }
        let env = Name::parse("agents.claude.env").unwrap();
        assert!(typed(&env, "A=1").is_err());
        for bad in ["", "run", "run.", ".model", "agents..kind"] {
            assert_eq!(Name::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_taken_out_leaves_the_rest_as_it_was() {
        for (text, name, expected) in [
            ("[run]\n# why\nmodel = 'a' # x\nlimit = 3\n", "run.model", Some("[run]\n# why\nlimit = 3\n")),
            (
                "# top\n\n[run]\nmodel = 'a'\n\n[git]\nbranch = 'b'\n",
                "run.model",
                Some("# top\n\n[git]\nbranch = 'b'\n"),
            ),
            ("# top\n\n[run]\nfallback = [\n 'a',\n]", "run.fallback", Some("# top\n")),
            ("run = { model = 'a', limit = 3 }\n", "run.model", Some("run = { limit = 3 }\n")),
            ("run.model = 'a'\nrun.limit = 3\n", "run.model", Some("run.limit = 3\n")),
            (
                "[agents.x]\nkind = 'a'\n[agents.x.env]\nA = '1'\n",
                "agents.x.env",
                Some("[agents.x]\nkind = 'a'\n"),
            ),
            ("[run]\nlimit = 3\n", "run.model", None),
            ("", "run.model", None),
        ] {
            let name = Name::parse(name).unwrap();
            let left = unset(text, &name).unwrap();
            assert_eq!(left.as_deref(), expected, "{text:?}");
        }
    }
}
