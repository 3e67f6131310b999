//! Settings and agents as rows: section, key, value and where that comes from. Secrets are masked.

use ralph_core::agent::{AgentKind, Price, Prices};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::secrets::{shown, shown_words};
use crate::settings::{self, AGENT_FIELDS, AgentSettings, Settings, Source, format_name};

/// One setting.
#[derive(Debug, Serialize)]
pub struct Row {
    /// `run`, or `agents.NAME`.
    pub section: String,
    /// Its name there.
    pub key: &'static str,
    /// A text; of agents also lists, tables and flags.
    pub value: Option<Value>,
    /// Which layer it comes from.
    pub source: String,
    /// The line of `.ralph.toml`, if it comes from there.
    pub line: Option<usize>,
    /// What it would be if nothing set it.
    pub default: Option<Value>,
}

impl Row {
    /// The name people give it: `run.model`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    /// The value as text: as it is, lists and tables as `.ralph.toml` has them.
    pub fn text(&self) -> Option<String> {
        self.value.as_ref().map(text)
    }

    /// The default as text.
    pub fn default_text(&self) -> Option<String> {
        self.default.as_ref().map(text)
    }

    /// Whether something sets it: the file, the environment or a spec.
    pub fn is_set(&self) -> bool {
        self.source != Source::Default.to_string()
    }

    /// Where it comes from, to the line: `.ralph.toml:3`.
    pub fn place(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.source),
            None => self.source.clone(),
        }
    }
}

/// All of them, in the order of documentation.
pub fn rows(settings: &Settings) -> Vec<Row> {
    // The defaults are built in and always valid.
    let defaults = Settings::defaults().ok();
    let plain = settings.all().map(|(key, setting)| {
        let default = defaults.as_ref();
        let default = default.and_then(|all| all.get(key.section, key.name));
        let json = |value: &settings::Value| match value {
            settings::Value::List(words) => json!(words),
            value => settings::shown(key, value).into(),
        };
        Row {
            section: key.section.to_owned(),
            key: key.name,
            value: setting.value.as_ref().map(json),
            source: setting.source.to_string(),
            line: setting.source.line(),
            default: default.map(json),
        }
    });
    let agents = settings.agents.iter().flat_map(|(name, agent)| {
        let built_in = defaults.as_ref().and_then(|all| all.agents.get(name));
        AGENT_FIELDS.iter().map(move |field| {
            let source = settings.agent_source(name, field.name);
            Row {
                section: format!("agents.{name}"),
                key: field.name,
                value: value(agent, field.name),
                source: source.to_string(),
                line: source.line(),
                default: built_in.and_then(|agent| value(agent, field.name)),
            }
        })
    });
    plain.chain(agents).collect()
}

/// What an agent's field is; nothing where it says nothing.
fn value(agent: &AgentSettings, field: &str) -> Option<Value> {
    let setup = &agent.setup;
    let words = |words: &[String]| {
        let shown = shown_words(words.iter().map(String::as_str), usize::MAX);
        (!shown.is_empty()).then(|| json!(shown))
    };
    match field {
        "kind" => Some(agent.kind.as_str().into()),
        "command" => words(&setup.command),
        "models" => words(&setup.models),
        "args" => words(&setup.args),
        "output" => (agent.kind == AgentKind::Command).then(|| format_name(setup.output).into()),
        "skip_permissions" => {
            (agent.kind != AgentKind::Command).then(|| setup.skip_permissions.into())
        }
        "price" => prices(&setup.prices),
        "fallback" => words(&agent.fallback),
        "env" => {
            let pairs = setup.env.iter();
            let env: Map<String, Value> = pairs
                .map(|(name, value)| (name.clone(), shown(name, value, usize::MAX).into()))
                .collect();
            (!env.is_empty()).then_some(Value::Object(env))
        }
        _ => None,
    }
}

fn prices(prices: &Prices) -> Option<Value> {
    let table: Map<String, Value> = prices
        .iter()
        .map(|(model, price)| (model.clone(), parts(price)))
        .collect();
    (!table.is_empty()).then_some(Value::Object(table))
}

fn parts(price: &Price) -> Value {
    let mut parts = Map::new();
    parts.insert("input".into(), price.input.into());
    parts.insert("output".into(), price.output.into());
    let cached = [
        ("cache_read", price.cache_read),
        ("cache_write", price.cache_write),
    ];
    for (name, amount) in cached {
        if let Some(amount) = amount {
            parts.insert(name.into(), amount.into());
        }
    }
    Value::Object(parts)
}

/// A value as text: words as they are, the rest as TOML has it.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => inline(other),
    }
}

/// A value on one line, as TOML has it.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(table) => {
            let pairs: Vec<String> = table
                .iter()
                .map(|(name, value)| format!("{} = {}", toml_edit::Key::new(name), inline(value)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(toml: &str, name: &str) -> Row {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".ralph.toml");
        std::fs::write(&file, toml).unwrap();
        let settings = Settings::load(&file, std::iter::empty()).unwrap();
        let mut all = rows(&settings).into_iter();
        all.find(|row| row.name() == name).unwrap()
    }

    #[test]
    fn agents_are_shown_field_by_field_without_their_secrets() {
        let toml = "[agents.claude]\nenv = { ANTHROPIC_API_KEY = 'hunter2', \"A.B\" = 'x' }\n\
                    args = ['--api-key', 'hunter2']\nprice = { haiku = 1, opus = { input = 3, output = 15.5, cache_read = 1 } }";
        let shown = |name: &str| {
            let row = row(toml, name);
            (row.text().unwrap_or_default(), row.source)
        };
        let file = ".ralph.toml".to_owned();
        let default = "default".to_owned();
        assert_eq!(
            shown("agents.claude.env"),
            (
                "{ \"A.B\" = \"x\", ANTHROPIC_API_KEY = \"[masked]\" }".into(),
                file.clone()
            )
        );
        assert_eq!(
            shown("agents.claude.args"),
            ("[\"--api-key\", \"[masked]\"]".into(), file.clone())
        );
        assert_eq!(
            shown("agents.claude.price"),
            (
                "{ haiku = { input = 1.0, output = 1.0 }, opus = { cache_read = 1.0, input = 3.0, output = 15.5 } }"
                    .into(),
                file
            )
        );
        assert_eq!(
            shown("agents.claude.kind"),
            ("claude".into(), default.clone())
        );
        assert_eq!(
            shown("agents.claude.skip_permissions"),
            ("true".into(), default)
        );
    }

    #[test]
    fn every_field_is_shown() {
        let toml = "[agents.x]\nkind = 'command'\ncommand = ['a', '--m', '{model}']\nmodels = ['m']\nargs = ['b']\n\
                    env = { A = '1' }\noutput = 'claude'\nskip_permissions = false\nfallback = [\"codex\"]\nprice = { m = 1 }";
        for field in AGENT_FIELDS {
            let toml = match field.name {
                "skip_permissions" => &toml.replace("kind = 'command'", "kind = 'claude'"),
                _ => toml,
            };
            let row = row(toml, &format!("agents.x.{}", field.name));
            assert_eq!(row.source, ".ralph.toml", "{}", field.name);
            assert!(row.text().is_some_and(|text| !text.is_empty()), "{row:?}");
        }
    }
}
