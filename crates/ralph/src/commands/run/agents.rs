//! The agents of a run: who works, how they are started, and whether their costs can be limited.

use std::path::Path;

use ralph_core::agent::{Agent, AgentKind, Launch, LaunchRequest};
use ralph_core::decide::{Budgets, Spent, meters, rest_usd, task_meters};
use ralph_core::engine::{Prompter, RunSettings, Templates};
use ralph_core::model::{Key, RunId, Task, TaskId};
use ralph_core::store::{Store, StoreError};
use serde::Serialize;

use crate::command_error::CommandError;
use crate::secrets::{shown, shown_words};
use crate::settings::{Settings, build_agent};
use crate::workspace::{Workspace, now};

/// Characters of one argument that are shown.
const SHOWN: usize = 200;

pub struct Crew {
    /// Who works first.
    main: Agent,
    /// Who works when the main agent cannot, in order.
    fallback: Vec<Agent>,
    reviewer: Agent,
    /// The others, whose logs of crashed runs can be read.
    others: Vec<Agent>,
}

impl Crew {
    pub fn of(settings: &Settings) -> Result<Self, CommandError> {
        let team = settings.team();
        let build = |name: &str| build_agent(name, &settings.agents);
        let others = settings.agents.keys().map(String::as_str).filter(|name| !team.contains(name));
        Ok(Self {
            main: build(settings.agent())?,
            reviewer: build(settings.reviewer())?,
            fallback: team.iter().skip(1).map(|name| build(name)).collect::<Result<_, _>>()?,
            others: others.map(build).collect::<Result<_, _>>()?,
        })
    }

    pub fn agent(&self) -> &Agent {
        &self.main
    }

    pub fn reviewer(&self) -> &Agent {
        &self.reviewer
    }

    pub fn fallback(&self) -> Vec<&Agent> {
        self.fallback.iter().collect()
    }

    /// The main agent, then the fallbacks.
    pub fn team(&self) -> impl Iterator<Item = &Agent> {
        std::iter::once(&self.main).chain(&self.fallback)
    }

    pub fn known(&self) -> Vec<&Agent> {
        self.team().chain(&self.others).collect()
    }
}

/// How an agent would be started, as people see it: what Ralph adds, without secrets.
#[derive(Debug, Serialize)]
pub struct ShownLaunch {
    program: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
    cwd: String,
    stdin_chars: usize,
}

/// What writes the prompts of this agent, were a run to start now.
pub fn prompter<'a>(
    workspace: &'a Workspace,
    templates: &'a Templates,
    agent: &'a Agent,
    settings: &'a RunSettings,
) -> Prompter<'a> {
    let Workspace { project, store } = workspace;
    Prompter { templates, project, store, agent, is_fallback: false, settings, now: now() }
}

/// What an attempt on a task may cost, were a run to start now.
pub fn rest_of_budgets(store: &Store, budgets: &Budgets, task: &Task) -> Result<Option<f64>, StoreError> {
    let spent = Spent { day: store.spent_on_day(now())?, ..Spent::default() };
    let mut all = meters(budgets, &spent);
    all.extend(task_meters(budgets, &store.spent_on_task(&task.id)?));
    Ok(rest_usd(&all))
}

pub fn rest_of_day(store: &Store, budgets: &Budgets) -> Result<Option<f64>, StoreError> {
    let spent = Spent { day: store.spent_on_day(now())?, ..Spent::default() };
    let day = Budgets { day_usd: budgets.day_usd, ..Budgets::default() };
    Ok(rest_usd(&meters(&day, &spent)))
}

/// How an agent would be started for the first attempt of a run. `rules` and `task_prompt` are its prompt.
pub fn launch(
    agent: &Agent,
    root: &Path,
    (task_id, task_key): (&TaskId, Option<&Key>),
    model: &str,
    (rules, task_prompt): (&str, &str),
    budget_usd: Option<f64>,
) -> Launch {
    agent.launch(&LaunchRequest {
        task_id,
        task_key: task_key.map(Key::as_str),
        attempt: 1,
        model,
        run_id: &RunId::from_stored("r-…"),
        project_root: root,
        work_tree: root,
        rules,
        task_prompt,
        is_root: rustix::process::getuid().is_root(),
        is_confined: false,
        budget_usd,
    })
}

pub fn shown_launch(launch: Launch) -> ShownLaunch {
    let env = launch.env.iter();
    let env = env.map(|(name, value)| (name.clone(), shown(name, &value.to_string_lossy(), SHOWN)));
    ShownLaunch {
        args: shown_words(launch.args.iter().map(String::as_str), SHOWN),
        env: env.collect(),
        program: launch.program,
        cwd: launch.cwd.display().to_string(),
        stdin_chars: launch.stdin.chars().count(),
    }
}

impl ShownLaunch {
    /// As a command line that a person can read.
    pub fn render(&self) -> String {
        let env: String = self.env.iter().map(|(name, value)| format!("  {name}={value}\n")).collect();
        let args: String = self.args.iter().map(|arg| format!("  {arg}\n")).collect();
        format!(
            "in {}\n{env}{}\n{args}standard input: {} characters (print them with `ralph context`)\n",
            self.cwd, self.program, self.stdin_chars
        )
    }
}

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
    team: impl Iterator<Item = &'a Agent>,
    chosen: ChosenModels<'_>,
) -> Vec<Unlimited> {
    let run = &settings.run;
    let limits = [
        (*run.max_cost_usd, "max_cost_usd", "--max-cost"),
        (*run.max_cost_usd_per_task, "max_cost_usd_per_task", "--max-task-cost"),
        (*run.max_cost_usd_per_day, "max_cost_usd_per_day", "--max-daily-cost"),
    ];
    let Some((_, limit, flag)) = limits.into_iter().find(|(limit, ..)| limit.is_some()) else {
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
        let until = if unknown.until_it_runs { " until it names a model with a known price" } else { "" };
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
    agent: &'a Agent,
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
        let is_text = agent.output() == AgentKind::Command;
        let in_doubt = is_unknown(&name) || agent.output() == AgentKind::Opencode;
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
fn fixes(agent: &Agent, models: &[&str]) -> Vec<String> {
    let name = agent.name();
    let prices = |price: &str| {
        let prices = models.iter().map(|model| format!("{} = {price}", toml_edit::Key::new(*model)));
        format!("price = {{ {} }}", prices.collect::<Vec<_>>().join(", "))
    };
    match agent.output() {
        AgentKind::Command => vec![
            format!("if it is free: {} under [agents.{name}] in .ralph.toml", prices("0")),
            format!("if it prints Claude's events: output = \"claude\" under [agents.{name}]"),
        ],
        AgentKind::Opencode => {
            vec!["choose a model: --model PROVIDER/MODEL, or remove the limit".to_owned()]
        }
        _ => vec![format!(
            "set its price in dollars per million tokens: {} under [agents.{name}] in .ralph.toml, or remove the limit",
            prices("{ input = 1, output = 4 }")
        )],
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::agent::{AgentKind, Price, Setup};

    use super::*;

    #[test]
    fn a_cost_can_be_known_where_it_is_reported_or_tokens_have_a_price() {
        use AgentKind::{Claude, Codex, Command, Gemini, Opencode};
        let priced = Price { input: 1.0, output: 2.0, ..Price::default() };
        // Whether it is known of a model with a price, of one without, and of a free one.
        for (kind, output, expected) in [
            (Claude, Command, [true, true, true]),
            (Opencode, Command, [true, true, true]),
            (Codex, Command, [true, false, true]),
            (Gemini, Command, [true, false, true]),
            (Command, Command, [false, false, true]),
            (Command, Claude, [true, true, true]),
            (Command, Codex, [true, false, true]),
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
            let team = team.into_iter();
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
