//! Cost limits hold only for agents whose costs can be known; that is said before a run, not after it.

use ralph_core::agent::{Agent, OutputFormat};

use crate::command_error::CommandError;
use crate::settings::Settings;

/// An agent whose costs are unknown, so that limits do not hold for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlimited {
    pub message: String,
    /// What to do about it: one of these.
    pub fixes: Vec<String>,
    /// Whether no attempt of the run could be limited.
    pub stops: bool,
}

/// Which models a run is told to use, besides those of its agents' lists.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChosenModels<'a> {
    /// The one of the command line, which wins over everything.
    pub forced: Option<&'a str>,
    /// Those of the tasks that may run.
    pub of_tasks: &'a [String],
}

/// The agents that work under a cost limit and whose costs cannot be known, the chosen one first.
pub fn unlimited<'a>(
    settings: &Settings,
    team: impl Iterator<Item = &'a dyn Agent>,
    chosen: ChosenModels<'_>,
) -> Vec<Unlimited> {
    let run = &settings.run;
    let (limit, flag) = if run.max_cost_usd.is_some() {
        ("max_cost_usd", "--max-cost")
    } else if run.max_cost_usd_per_task.is_some() {
        ("max_cost_usd_per_task", "--max-task-cost")
    } else if run.max_cost_usd_per_day.is_some() {
        ("max_cost_usd_per_day", "--max-daily-cost")
    } else {
        return Vec::new();
    };
    let team = team.enumerate();
    team.filter_map(|(place, agent)| {
        let is_fallback = place > 0;
        let unknown = match is_fallback {
            // A fallback uses only its own models.
            true => unknown_models(agent, None, ChosenModels::default()),
            false => unknown_models(agent, run.model.as_deref(), chosen),
        }?;
        let name = agent.name();
        let models = unknown.models.join(", ");
        let subject = match models == name {
            true => format!("the cost of {name} is unknown"),
            false => format!("the cost of {models} ({name}) is unknown"),
        };
        let until = match unknown.until_it_runs {
            true => " until it names a model with a known price",
            false => "",
        };
        let role = if is_fallback { " while this fallback runs" } else { "" };
        Some(Unlimited {
            message: format!(
                "{subject}{until}, so the limit ([run] {limit} or {flag}) cannot be enforced{role}"
            ),
            fixes: fixes(agent, &unknown.models),
            stops: unknown.certain && !is_fallback,
        })
    })
    .collect()
}

/// Models that an agent may use and whose cost cannot be known.
struct Unknown<'a> {
    /// At least one.
    models: Vec<&'a str>,
    /// Whether a run is sure to use one of them.
    certain: bool,
    /// Whether the program chooses its model by itself, and may say which.
    until_it_runs: bool,
}

fn unknown_models<'a>(
    agent: &'a dyn Agent,
    configured: Option<&'a str>,
    chosen: ChosenModels<'a>,
) -> Option<Unknown<'a>> {
    let ladder = agent.ladder();
    let is_unknown = |model: &&str| !agent.can_tell_cost(model);
    let mut asked_for: Vec<&str> = match chosen.forced {
        Some(forced) => vec![forced],
        None => {
            let of_tasks = chosen.of_tasks.iter().map(String::as_str);
            configured.into_iter().chain(of_tasks).collect()
        }
    };
    asked_for.retain(is_unknown);
    if !asked_for.is_empty() {
        asked_for.dedup();
        return Some(Unknown { models: asked_for, certain: true, until_it_runs: false });
    }
    if chosen.forced.is_some() || configured.is_some_and(|model| !ladder.iter().any(|m| m == model)) {
        return None;
    }
    if ladder.is_empty() {
        // The agent's name stands for its own default, and OpenCode reports the cost only of models it has a price for.
        let name = agent.name();
        let is_text = agent.output() == OutputFormat::Text;
        let in_doubt = is_unknown(&name) || agent.output() == OutputFormat::Opencode;
        return in_doubt.then(|| Unknown { models: vec![name], certain: is_text, until_it_runs: !is_text });
    }
    let models: Vec<&str> = ladder.iter().map(String::as_str).filter(is_unknown).collect();
    (!models.is_empty()).then_some(Unknown {
        certain: models.len() == ladder.len(),
        models,
        until_it_runs: false,
    })
}

/// What makes the costs of models known.
fn fixes(agent: &dyn Agent, models: &[&str]) -> Vec<String> {
    let name = agent.name();
    let prices = |price: &str| {
        let prices = models.iter().map(|model| format!("{} = {price}", toml_edit::Key::new(*model)));
        format!("price = {{ {} }}", prices.collect::<Vec<_>>().join(", "))
    };
    match agent.output() {
        OutputFormat::Text => vec![
            format!("if it is free: {} under [agents.{name}] in .ralph.toml", prices("0")),
            format!("if it prints Claude's events: output = \"claude\" under [agents.{name}]"),
        ],
        OutputFormat::Opencode => {
            vec!["choose a model: --model PROVIDER/MODEL, or remove the limit".to_owned()]
        }
        _ => vec![format!(
            "set its price in dollars per million tokens: {} under [agents.{name}] in .ralph.toml, or remove the limit",
            prices("{ input = 1, output = 4 }")
        )],
    }
}

/// Refuses a run whose cost limit could not hold; warns where it holds only in part.
pub(super) fn check<'a>(
    settings: &Settings,
    team: impl Iterator<Item = &'a dyn Agent>,
    chosen: ChosenModels<'_>,
) -> Result<Vec<String>, CommandError> {
    let mut warnings = Vec::new();
    for one in unlimited(settings, team, chosen) {
        if one.stops {
            return Err(one.fixes.iter().fold(CommandError::usage(one.message), CommandError::hint));
        }
        warnings.push(format!("{}; {}", one.message, one.fixes.join("; ")));
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
        let priced = Price { input: 1.0, output: 2.0, ..Price::default() };
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
        let own = agent("script", AgentKind::Command, &["a", "b"]);
        let codex = agent("codex", AgentKind::Codex, &["gpt-6-sol", "own"]);
        let free = agent("free", AgentKind::Codex, &[]);
        let opencode = agent("opencode", AgentKind::Opencode, &[]);
        let claude = agent("claude", AgentKind::Claude, &["haiku"]);
        // The settings, the team, the model of the command line, of a task, and what each stops or only warns of.
        for (setting, team, forced, of_task, expected) in [
            ("limit = 1", vec![&script], None, None, vec![]),
            ("max_cost_usd = 1", vec![&claude], None, None, vec![]),
            ("max_cost_usd = 1", vec![&script], None, None, vec![("the cost of script is unknown", true)]),
            (
                "max_cost_usd = 1",
                vec![&own],
                None,
                None,
                vec![("the cost of a, b (script) is unknown", true)],
            ),
            (
                "max_cost_usd_per_day = 1",
                vec![&claude, &script],
                None,
                Some("haiku"),
                vec![("while this fallback runs", false)],
            ),
            ("max_cost_usd_per_task = 1", vec![&codex], None, None, vec![("the cost of own (codex)", false)]),
            (
                "max_cost_usd = 1",
                vec![&codex],
                Some("own"),
                None,
                vec![("the cost of own (codex) is unknown", true)],
            ),
            (
                "max_cost_usd = 1\nmodel = \"strange\"",
                vec![&codex],
                None,
                None,
                vec![("the cost of strange (codex) is unknown", true)],
            ),
            (
                "max_cost_usd = 1",
                vec![&codex],
                None,
                Some("weird"),
                vec![("the cost of weird (codex) is unknown", true)],
            ),
            ("max_cost_usd = 1\nmodel = \"strange\"", vec![&codex], Some("gpt-6-sol"), Some("weird"), vec![]),
            ("max_cost_usd = 1", vec![&free], None, None, vec![("until it names a model", false)]),
            (
                "max_cost_usd = 1",
                vec![&opencode],
                None,
                None,
                vec![("the cost of opencode is unknown until it names", false)],
            ),
            ("max_cost_usd = 1", vec![&opencode], Some("a/b"), None, vec![]),
        ] {
            let team = team.into_iter().map(AsRef::as_ref);
            let of_tasks: Vec<String> = of_task.map(str::to_owned).into_iter().collect();
            let chosen = ChosenModels { forced, of_tasks: &of_tasks };
            let found = unlimited(&limited(setting), team, chosen);
            assert_eq!(found.len(), expected.len(), "{setting}: {found:?}");
            for (found, (text, stops)) in found.iter().zip(expected) {
                assert!(found.message.contains(text) && found.stops == stops, "{found:?}");
            }
        }
    }
}
