//! `[agents.NAME]`: which programs can be used, and how.

use std::collections::BTreeMap;

use ralph_core::agent::{Agent, AgentKind, OutputFormat, Price, Prices, Setup};
use toml_edit::{Item, TableLike};

use super::keys::nearest;
use super::load::suggest;
use crate::command_error::CommandError;

/// A field of `[agents.NAME]`.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
}

const fn field(name: &'static str, doc: &'static str) -> Field {
    Field { name, doc }
}

/// All of them, in the order they are documented.
pub const FIELDS: [Field; 9] = [
    field(
        "kind",
        "The type of agent: which program's options and output format Ralph uses.",
    ),
    field(
        "command",
        "Program and arguments. With `kind = \"command\"`, `{model}` is replaced by the model's name.",
    ),
    field("models", "Model names, cheapest first."),
    field(
        "price",
        "Dollars per million tokens for each model: a number, or `{ input, output, cache_read, cache_write }`. 0 means free. Overrides the built-in list prices, from which Ralph estimates the cost (`~$0.42`) when the agent reports tokens but no cost.",
    ),
    field("args", "Extra arguments, added after Ralph's own."),
    field(
        "env",
        "Environment variables for the agent. If you put secrets here, make the file readable only by you.",
    ),
    field(
        "output",
        "With `kind = \"command\"`: the format of its standard output.",
    ),
    field(
        "skip_permissions",
        "Let the agent use every tool without asking, because nobody is there to answer (default `true`). No effect with `kind = \"command\"`.",
    ),
    field(
        "fallback",
        "Fallback agents for this agent, in order. `[run] fallback` takes precedence.",
    ),
];

/// What a `command` may print, by the name in the settings.
pub const FORMATS: [(&str, OutputFormat); 5] = [
    ("text", OutputFormat::Text),
    ("claude", OutputFormat::Claude),
    ("codex", OutputFormat::Codex),
    ("gemini", OutputFormat::Gemini),
    ("opencode", OutputFormat::Opencode),
];

/// The name of a format in the settings.
pub fn format_name(format: OutputFormat) -> &'static str {
    let known = FORMATS.iter().find(|(_, known)| *known == format);
    known.map_or("text", |(name, _)| name)
}

/// An agent of the settings.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentSettings {
    /// Which program's options and output format Ralph uses.
    pub kind: AgentKind,
    /// The rest.
    pub setup: Setup,
    /// Its fallback agents, unless `[run] fallback` says otherwise.
    pub fallback: Vec<String>,
}

/// The agents that need no settings.
pub(super) fn built_in() -> BTreeMap<String, AgentSettings> {
    let known = AgentKind::ALL.into_iter();
    known
        .filter(|kind| kind.facts().is_some())
        .map(|kind| (kind.as_str().to_owned(), plain(kind, kind.as_str())))
        .collect()
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

fn kinds() -> [&'static str; 5] {
    AgentKind::ALL.map(AgentKind::as_str)
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
        Some(item) => plain(kind(&place, item)?, name),
        None => before.cloned().ok_or_else(|| {
            CommandError::usage(format_args!("{place} has no `kind`"))
                .hint(format_args!("available kinds: {}", kinds().join(", ")))
        })?,
    };
    let setup = &mut agent.setup;
    for (field, item) in table.iter() {
        match field {
            "kind" => {}
            "price" => setup.prices = prices(&place, item)?,
            "fallback" => {
                agent.fallback = list(item).ok_or_else(|| wrong(field, "a list of agents"))?;
            }
            "command" => {
                setup.command = words(item)
                    .filter(|words| words.first().is_some_and(|program| !program.is_empty()))
                    .ok_or_else(|| wrong(field, "a list such as [\"prog\", \"arg\"]"))?;
            }
            "models" => {
                setup.models = list(item).ok_or_else(|| wrong(field, "a list of names"))?;
                if let Some(twice) = repeated(&setup.models) {
                    return Err(wrong(
                        field,
                        &format!("each name once, but `{twice}` appears twice"),
                    ));
                }
            }
            "args" => setup.args = list(item).ok_or_else(|| wrong(field, "a list of strings"))?,
            "env" => setup.env = env(item).ok_or_else(|| wrong(field, "a table of strings"))?,
            "output" => setup.output = format(&place, item)?,
            "skip_permissions" => {
                setup.skip_permissions = item
                    .as_bool()
                    .ok_or_else(|| wrong(field, "true or false"))?;
            }
            other => {
                let message = format!("{place}: unknown key `{other}`");
                return Err(suggest(message, other, FIELDS.map(|field| field.name)));
            }
        }
    }
    if setup.command.is_empty() {
        let message = format!("{place} has no `command`");
        return Err(
            CommandError::usage(message).hint("for example command = [\"sh\", \"agent.sh\"]")
        );
    }
    Ok(agent)
}

fn kind(place: &str, item: &Item) -> Result<AgentKind, CommandError> {
    let word = word(place, "kind", item)?;
    AgentKind::parse(word)
        .ok_or_else(|| suggest(format!("{place}: unknown kind `{word}`"), word, kinds()))
}

fn format(place: &str, item: &Item) -> Result<OutputFormat, CommandError> {
    let word = word(place, "output", item)?;
    let known = FORMATS.iter().find(|(name, _)| *name == word);
    known.map(|(_, format)| *format).ok_or_else(|| {
        let message = format!("{place}: unknown output format `{word}`");
        suggest(message, word, FORMATS.map(|(name, _)| name))
    })
}

fn word<'i>(place: &str, field: &str, item: &'i Item) -> Result<&'i str, CommandError> {
    item.as_str()
        .ok_or_else(|| CommandError::usage(format_args!("{place} {field}: expected a string")))
}

/// A list of strings, or one string that is split at spaces.
fn words(item: &Item) -> Option<Vec<String>> {
    match item.as_str() {
        Some(text) => Some(text.split_whitespace().map(str::to_owned).collect()),
        None => list(item),
    }
}

fn list(item: &Item) -> Option<Vec<String>> {
    item.as_array()?
        .iter()
        .map(|value| value.as_str().map(str::to_owned))
        .collect()
}

fn repeated(names: &[String]) -> Option<&String> {
    let earlier = |place: usize| names.iter().take(place);
    let mut all = names.iter().enumerate();
    all.find(|(place, name)| earlier(*place).any(|other| other == *name))
        .map(|(_, name)| name)
}

fn env(item: &Item) -> Option<Vec<(String, String)>> {
    item.as_table_like()?
        .iter()
        .map(|(name, value)| Some((name.to_owned(), value.as_str()?.to_owned())))
        .collect()
}

const PRICE_FIELDS: [&str; 4] = ["input", "output", "cache_read", "cache_write"];

/// Dollars per million tokens by model: one number, or one each for what is read and written.
fn prices(place: &str, item: &Item) -> Result<Prices, CommandError> {
    let table = item.as_table_like().ok_or_else(|| {
        CommandError::usage(format_args!("{place} price: expected a table of models"))
            .hint("for example price = { small = 2, large = { input = 3, output = 15 } }")
    })?;
    let mut prices = Prices::new();
    for (model, item) in table.iter() {
        let place = format!("{place} price.{model}");
        let price = match item.as_table_like() {
            None => {
                let both = amount(&place, item)?;
                Price {
                    input: both,
                    output: both,
                    ..Price::default()
                }
            }
            Some(parts) => price(&place, parts)?,
        };
        prices.insert(model.to_owned(), price);
    }
    Ok(prices)
}

fn price(place: &str, parts: &dyn TableLike) -> Result<Price, CommandError> {
    let mut price = Price::default();
    for (part, item) in parts.iter() {
        let value = amount(&format!("{place}.{part}"), item);
        match part {
            "input" => price.input = value?,
            "output" => price.output = value?,
            "cache_read" => price.cache_read = Some(value?),
            "cache_write" => price.cache_write = Some(value?),
            other => {
                let message = format!("{place}: unknown key `{other}`");
                return Err(suggest(message, other, PRICE_FIELDS));
            }
        }
    }
    for needed in ["input", "output"] {
        if parts.get(needed).is_none() {
            return Err(
                CommandError::usage(format_args!("{place} has no `{needed}`"))
                    .hint("set both `input` and `output`, in dollars per million tokens"),
            );
        }
    }
    Ok(price)
}

fn amount(place: &str, item: &Item) -> Result<f64, CommandError> {
    item.as_float()
        .or_else(|| item.as_integer().map(|whole| whole as f64))
        .filter(|amount| amount.is_finite() && *amount >= 0.0)
        .ok_or_else(|| {
            CommandError::usage(format_args!(
                "{place}: expected a price in dollars per million tokens"
            ))
        })
}

/// The agent of that name, ready for work.
pub fn build(
    name: &str,
    agents: &BTreeMap<String, AgentSettings>,
) -> Result<Box<dyn Agent>, CommandError> {
    let Some(settings) = agents.get(name) else {
        let names: Vec<&str> = agents.keys().map(String::as_str).collect();
        let error = CommandError::usage(format_args!("unknown agent `{name}`"));
        let error = match nearest(name, names.iter().copied()) {
            Some(nearest) => error.hint(format_args!("did you mean `{nearest}`?")),
            None => error.hint(format_args!("available agents: {}", names.join(", "))),
        };
        let section = match name.trim() {
            "" => "NAME",
            name => name,
        };
        return Err(error.hint(format_args!(
            "to use your own program, add [agents.{section}] with kind = \"command\" and command = [\"…\"] to \
             .ralph.toml"
        )));
    };
    Ok(settings.kind.build(settings.setup.clone()))
}
