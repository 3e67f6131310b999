//! Cost limits hold only for agents whose costs can be known; that is said before a run, not after it.

use ralph_core::agent::{Agent, OutputFormat};

use crate::command_error::CommandError;
use crate::settings::Settings;

/// The settings that limit costs, and their flags.
const LIMITS: [(&str, &str); 3] = [
    ("max_cost_usd", "--max-cost"),
    ("max_cost_usd_per_task", "--max-task-cost"),
    ("max_cost_usd_per_day", "--max-daily-cost"),
];

/// An agent whose costs are unknown, so that limits do not hold for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlimited {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub fix: String,
    /// Whether no attempt of the run could be limited.
    pub stops: bool,
}

/// The agents that work under a cost limit and whose costs cannot be known, the chosen one first. `model` is what the run is
/// made to use.
pub fn unlimited<'a>(
    settings: &Settings,
    team: impl Iterator<Item = &'a dyn Agent>,
    model: Option<&str>,
) -> Vec<Unlimited> {
    let is_set = |(name, _): &&(&'static str, &str)| settings.number("run", name).is_some();
    let Some((limit, flag)) = LIMITS.iter().find(is_set) else {
        return Vec::new();
    };
    let fix_limit = format!("remove the limit ([run] {limit} or {flag})");
    let team = team.enumerate();
    team.filter_map(|(place, agent)| {
        let unknown = unknown_models(agent, model.filter(|_| place == 0))?;
        let name = agent.name();
        let (subject, stops) = match unknown {
            Unknown::All => (format!("the cost of {name} is unknown"), place == 0),
            Unknown::Some(models) => {
                let models = models.join(", ");
                (format!("the cost of {models} ({name}) is unknown"), false)
            }
            Unknown::UntilItRuns => {
                let why = "until it names a model with a known price";
                (format!("the cost of {name} is unknown {why}"), false)
            }
        };
        let role = if place == 0 {
            ""
        } else {
            " when this fallback works"
        };
        Some(Unlimited {
            message: format!("{subject}, so [run] {limit} cannot hold{role}"),
            fix: format!("{}, or {fix_limit}", fix(agent)),
            stops,
        })
    })
    .collect()
}

enum Unknown {
    All,
    Some(Vec<String>),
    /// The program chooses its model by itself, and may say which.
    UntilItRuns,
}

/// Which of the models that an agent may use have no known cost.
fn unknown_models(agent: &dyn Agent, forced: Option<&str>) -> Option<Unknown> {
    let names = agent.ladder().iter().map(String::as_str);
    let models: Vec<&str> = match forced {
        Some(forced) => vec![forced],
        // An agent without models is its own model name.
        None if agent.ladder().is_empty() => vec![agent.name()],
        None => names.collect(),
    };
    let is_unknown = |model: &&str| !agent.can_tell_cost(model);
    let unknown: Vec<&str> = models.iter().copied().filter(is_unknown).collect();
    let chooses = forced.is_none() && agent.ladder().is_empty();
    match unknown.len() {
        0 => None,
        _ if chooses && agent.output() != OutputFormat::Text => Some(Unknown::UntilItRuns),
        n if n == models.len() => Some(Unknown::All),
        _ => Some(Unknown::Some(
            unknown.into_iter().map(str::to_owned).collect(),
        )),
    }
}

/// What makes the costs of an agent known.
fn fix(agent: &dyn Agent) -> String {
    let name = agent.name();
    let model = agent.ladder().first().map_or(name, String::as_str);
    match agent.output() {
        OutputFormat::Text => format!(
            "set output = \"claude\" under [agents.{name}] in .ralph.toml if it prints Claude's events (or \"codex\", \
             \"gemini\", \"opencode\"), price = {{ \"{model}\" = 0 }} if it costs nothing"
        ),
        _ => format!(
            "set its prices in dollars per million tokens: price = {{ \"{model}\" = {{ input = 1, output = 4 }} }} under \
             [agents.{name}] in .ralph.toml"
        ),
    }
}

/// Refuses a run whose cost limit could not hold; warns where it holds only in part.
pub(super) fn check<'a>(
    settings: &Settings,
    team: impl Iterator<Item = &'a dyn Agent>,
    model: Option<&str>,
) -> Result<Vec<String>, CommandError> {
    let mut warnings = Vec::new();
    for one in unlimited(settings, team, model) {
        if one.stops {
            return Err(CommandError::usage(one.message).hint(one.fix));
        }
        warnings.push(format!("{}; {}", one.message, one.fix));
    }
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use ralph_core::agent::{AgentKind, Price, Setup};

    use super::*;

    #[test]
    fn a_cost_can_be_known_where_it_is_reported_or_tokens_have_a_price() {
        use AgentKind::{Claude, Codex, Command, Gemini, Opencode};
        use OutputFormat::Text;
        let priced = Price {
            input: 1.0,
            output: 2.0,
            ..Price::default()
        };
        // Whether it is known of a model with a price, of one without, and of a free one.
        for (kind, output, expected) in [
            (Claude, Text, [true, true, true]),
            (Opencode, Text, [true, true, true]),
            (Codex, Text, [true, false, true]),
            (Gemini, Text, [true, false, true]),
            (Command, Text, [false, false, true]),
            (Command, OutputFormat::Claude, [true, true, true]),
            (Command, OutputFormat::Codex, [true, false, true]),
        ] {
            let prices = [("priced", priced), ("free", Price::default())];
            let agent = kind.build(Setup {
                output,
                prices: prices.map(|(name, price)| (name.to_owned(), price)).into(),
                ..Setup::default()
            });
            let known = ["priced", "other", "free"].map(|model| agent.can_tell_cost(model));
            assert_eq!(known, expected, "{kind:?} {output:?}");
        }
    }

    #[test]
    fn agents_that_no_limit_holds_for_are_named() {
        let limited = |setting: &str| {
            let dir = tempfile::tempdir().expect("a directory");
            let file = dir.path().join(".ralph.toml");
            std::fs::write(&file, format!("[run]\n{setting}\n")).expect("a file");
            Settings::load(&file, std::iter::empty()).expect("settings")
        };
        let agent = |name: &str, kind: AgentKind, models: &[&str]| {
            kind.build(Setup {
                name: name.to_owned(),
                models: models.iter().map(|&model| model.to_owned()).collect(),
                ..Setup::default()
            })
        };
        let script = agent("script", AgentKind::Command, &[]);
        let codex = agent("codex", AgentKind::Codex, &["gpt-6-sol", "own"]);
        let free = agent("free", AgentKind::Codex, &[]);
        let claude = agent("claude", AgentKind::Claude, &["haiku"]);
        // The limit, the team, the model asked for, and what each stops or only warns of.
        for (setting, team, model, expected) in [
            ("limit = 1", vec![&script], None, vec![]),
            ("max_cost_usd = 1", vec![&claude], None, vec![]),
            (
                "max_cost_usd = 1",
                vec![&script],
                None,
                vec![("the cost of script is unknown", true)],
            ),
            (
                "max_cost_usd_per_day = 1",
                vec![&claude, &script],
                None,
                vec![("when this fallback works", false)],
            ),
            (
                "max_cost_usd_per_task = 1",
                vec![&codex],
                None,
                vec![("the cost of own (codex)", false)],
            ),
            (
                "max_cost_usd = 1",
                vec![&codex],
                Some("own"),
                vec![("the cost of codex is unknown", true)],
            ),
            ("max_cost_usd = 1", vec![&codex], Some("gpt-6-sol"), vec![]),
            (
                "max_cost_usd = 1",
                vec![&free],
                None,
                vec![("until it names a model", false)],
            ),
        ] {
            let team = team.into_iter().map(AsRef::as_ref);
            let found = unlimited(&limited(setting), team, model);
            assert_eq!(found.len(), expected.len(), "{setting}: {found:?}");
            for (found, (text, stops)) in found.iter().zip(expected) {
                assert!(
                    found.message.contains(text) && found.stops == stops,
                    "{found:?}"
                );
            }
        }
    }
}
