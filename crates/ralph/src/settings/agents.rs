//! `[agents.NAME]`: which programs can be used, and how.

use std::collections::{BTreeMap, BTreeSet};

use ralph_core::agent::{Agent, AgentKind, Price, Prices, Setup};
use toml_edit::{Item, TableLike};

use super::load::{nearest, suggest};
use super::{Key, Kind};
use crate::command_error::CommandError;

const fn field(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { section: "agents", name, kind, doc }
}

/// The keys of `[agents.NAME]`.
pub const FIELDS: [Key; 10] = [
    field(
        "kind",
        Kind::Choice(|| AgentKind::ALL.map(AgentKind::as_str).into()),
        "The type of agent: which program's options and output format Ralph uses.",
    ),
    field(
        "command",
        Kind::Arguments,
        "Program and arguments. With `kind = \"command\"`, `{model}` is replaced by the model's name.",
    ),
    field("models", Kind::Words, "Model names, cheapest first."),
    field(
        "price",
        Kind::Table("{ small = 2, large = { input = 3, output = 15 } }"),
        "Dollars per million tokens for each model: a number, or `{ input, output, cache_read, cache_write }`. 0 means free. Overrides the built-in list prices, from which Ralph estimates the cost (`~$0.42`) when the agent reports tokens but no cost.",
    ),
    field("args", Kind::Arguments, "Extra arguments, added after Ralph's own."),
    field(
        "env",
        Kind::Table("{ NAME = \"value\" }"),
        "Environment variables for the agent. If you put secrets here, make the file readable only by you.",
    ),
    field(
        "output",
        Kind::Choice(|| FORMATS.map(|(name, _)| name).into()),
        "With `kind = \"command\"`: the format of its standard output.",
    ),
    field(
        "skip_permissions",
        Kind::Flag,
        "Let the agent use every tool without asking, because nobody is there to answer (default `true`). No effect with `kind = \"command\"`.",
    ),
    field(
        "account",
        Kind::Text,
        "The account that pays for it: agents with the same account share its usage limits, also on other machines of a team. By default the agent's name.",
    ),
    field(
        "fallback",
        Kind::Words,
        "Fallback agents for this agent, in order. `[run] fallback` takes precedence.",
    ),
];

/// What a `command` may print, by the name in the settings.
const FORMATS: [(&str, AgentKind); 5] = [
    ("text", AgentKind::Command),
    ("claude", AgentKind::Claude),
    ("codex", AgentKind::Codex),
    ("gemini", AgentKind::Gemini),
    ("opencode", AgentKind::Opencode),
];

pub fn format_name(format: AgentKind) -> &'static str {
    let known = FORMATS.iter().find(|(_, known)| *known == format);
    known.map_or("text", |(name, _)| name)
}

#[derive(Clone, Debug, PartialEq)]
pub struct AgentSettings {
    pub kind: AgentKind,
    pub setup: Setup,
    /// Its fallback agents, unless `[run] fallback` says otherwise.
    pub fallback: Vec<String>,
}

pub(super) fn built_in() -> BTreeMap<String, AgentSettings> {
    let known = AgentKind::ALL.into_iter().filter(|kind| kind.facts().is_some());
    known.map(|kind| (kind.as_str().to_owned(), plain(kind, kind.as_str()))).collect()
}

fn plain(kind: AgentKind, name: &str) -> AgentSettings {
    let facts = kind.facts();
    let models = facts.map(|facts| facts.models).unwrap_or_default();
    AgentSettings {
        kind,
        setup: Setup {
            name: name.to_owned(),
            command: facts.iter().map(|facts| facts.program.to_owned()).collect(),
            models: models.iter().copied().map(str::to_owned).collect(),
            skip_permissions: true,
            ..Setup::default()
        },
        fallback: Vec::new(),
    }
}

fn kinds() -> [(&'static str, AgentKind); 5] {
    AgentKind::ALL.map(|kind| (kind.as_str(), kind))
}

/// Reads one agent's table, on top of a built-in one of the same name.
pub(super) fn read(
    file: &str,
    name: &str,
    table: &dyn TableLike,
    before: Option<&AgentSettings>,
) -> Result<AgentSettings, CommandError> {
    let place = format!("{file}: [agents.{name}]");
    let wrong = |field: &str, expected: &str| {
        CommandError::usage(format_args!("{place} {field}: expected {expected}"))
    };
    let mut agent = match table.get("kind") {
        Some(item) => plain(choice(&place, ("kind", "kind"), item, &kinds())?, name),
        None => before.cloned().ok_or_else(|| {
            let kinds = kinds().map(|(kind, _)| kind);
            CommandError::usage(format_args!("{place} has no `kind`"))
                .hint(format_args!("available kinds: {}", kinds.join(", ")))
        })?,
    };
    let setup = &mut agent.setup;
    for (field, item) in table.iter() {
        let list = |expected: &str| list(item).ok_or_else(|| wrong(field, expected));
        match field {
            "kind" => {}
            "price" => setup.prices = prices(&place, item)?,
            "fallback" => agent.fallback = list("a list of agents")?,
            "args" => setup.args = list("a list of strings")?,
            "models" => {
                setup.models = list("a list of names")?;
                if let Some(twice) = repeated(&setup.models) {
                    let expected = format!("each name once, but `{twice}` appears twice");
                    return Err(wrong(field, &expected));
                }
            }
            "command" => {
                // One string is split at spaces.
                let words = item.as_str().map(|text| text.split_whitespace().map(str::to_owned));
                let expected = "a list such as [\"prog\", \"arg\"]";
                setup.command = words.map_or_else(|| list(expected), |words| Ok(words.collect()))?;
                if setup.command.first().is_none_or(String::is_empty) {
                    return Err(wrong(field, expected));
                }
            }
            "account" => {
                let account = item.as_str().filter(|account| !account.trim().is_empty());
                setup.account = Some(account.ok_or_else(|| wrong(field, "a name"))?.to_owned());
            }
            "env" => setup.env = env(item).ok_or_else(|| wrong(field, "a table of strings"))?,
            "output" => {
                setup.output = choice(&place, ("output", "output format"), item, &FORMATS)?;
            }
            "skip_permissions" => {
                let flag = item.as_bool();
                setup.skip_permissions = flag.ok_or_else(|| wrong(field, "true or false"))?;
            }
            other => {
                let message = format!("{place}: unknown key `{other}`");
                return Err(suggest(message, other, FIELDS.map(|field| field.name)));
            }
        }
    }
    if setup.command.is_empty() {
        let message = format!("{place} has no `command`");
        return Err(CommandError::usage(message).hint("for example command = [\"sh\", \"agent.sh\"]"));
    }
    Ok(agent)
}

fn choice<T: Copy>(
    place: &str,
    (field, what): (&str, &str),
    item: &Item,
    all: &[(&'static str, T)],
) -> Result<T, CommandError> {
    let word = item
        .as_str()
        .ok_or_else(|| CommandError::usage(format_args!("{place} {field}: expected a string")))?;
    let known = all.iter().find(|(name, _)| *name == word);
    known.map(|(_, value)| *value).ok_or_else(|| {
        let message = format!("{place}: unknown {what} `{word}`");
        suggest(message, word, all.iter().map(|(name, _)| *name))
    })
}

fn list(item: &Item) -> Option<Vec<String>> {
    let values = item.as_array()?.iter();
    values.map(|value| value.as_str().map(str::to_owned)).collect()
}

fn repeated(names: &[String]) -> Option<&String> {
    let mut seen = BTreeSet::new();
    names.iter().find(|name| !seen.insert(*name))
}

fn env(item: &Item) -> Option<Vec<(String, String)>> {
    let pairs = item.as_table_like()?.iter();
    let pairs = pairs.map(|(name, value)| Some((name.to_owned(), value.as_str()?.to_owned())));
    pairs.collect()
}

const PRICE_FIELDS: [&str; 4] = ["input", "output", "cache_read", "cache_write"];

/// Dollars per million tokens by model: one number, or one each for what is read and written.
fn prices(place: &str, item: &Item) -> Result<Prices, CommandError> {
    let table = item.as_table_like().ok_or_else(|| {
        CommandError::usage(format_args!("{place} price: expected a table of models"))
            .hint("for example price = { small = 2, large = { input = 3, output = 15 } }")
    })?;
    let prices = table.iter().map(|(model, item)| {
        let price = price(&format!("{place} price.{model}"), item)?;
        Ok((model.to_owned(), price))
    });
    prices.collect()
}

fn price(place: &str, item: &Item) -> Result<Price, CommandError> {
    let Some(parts) = item.as_table_like() else {
        let both = amount(place, item)?;
        return Ok(Price { input: both, output: both, ..Price::default() });
    };
    if let Some((other, _)) = parts.iter().find(|(part, _)| !PRICE_FIELDS.contains(part)) {
        let message = format!("{place}: unknown key `{other}`");
        return Err(suggest(message, other, PRICE_FIELDS));
    }
    let part = |name: &str| {
        let item = parts.get(name);
        item.map(|item| amount(&format!("{place}.{name}"), item)).transpose()
    };
    let needed = |name: &str| {
        part(name)?.ok_or_else(|| {
            CommandError::usage(format_args!("{place} has no `{name}`"))
                .hint("set both `input` and `output`, in dollars per million tokens")
        })
    };
    Ok(Price {
        input: needed("input")?,
        output: needed("output")?,
        cache_read: part("cache_read")?,
        cache_write: part("cache_write")?,
    })
}

fn amount(place: &str, item: &Item) -> Result<f64, CommandError> {
    item.as_float()
        .or_else(|| item.as_integer().map(|whole| whole as f64))
        .filter(|amount| amount.is_finite() && *amount >= 0.0)
        .ok_or_else(|| {
            CommandError::usage(format_args!("{place}: expected a price in dollars per million tokens"))
        })
}

pub fn build(name: &str, agents: &BTreeMap<String, AgentSettings>) -> Result<Agent, CommandError> {
    let Some(settings) = agents.get(name) else {
        let names: Vec<&str> = agents.keys().map(String::as_str).collect();
        let error = CommandError::usage(format_args!("unknown agent `{name}`"));
        let error = match nearest(name, names.iter().copied()) {
            Some(nearest) => error.hint(format_args!("did you mean `{nearest}`?")),
            None => error.hint(format_args!("available agents: {}", names.join(", "))),
        };
        let section = if name.trim().is_empty() { "NAME" } else { name };
        return Err(error.hint(format_args!(
            "to use your own program, add [agents.{section}] with kind = \"command\" and command = [\"…\"] to \
             .ralph.toml"
        )));
    };
    Ok(settings.kind.build(settings.setup.clone()))
}
