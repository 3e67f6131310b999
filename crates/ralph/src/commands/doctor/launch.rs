//! What Ralph adds to the agent's command line and environment, so that a person sees it before an agent does.

use std::path::Path;

use ralph_core::agent::{Agent, Launch};
use ralph_core::engine::{Prompter, RunSettings, Templates};
use ralph_core::model::TaskId;
use ralph_core::project::Project;
use ralph_core::store::{Scope, Store};
use ralph_core::text::{MASK, shell_word};

use super::Finding;
use crate::commands::run;
use crate::secrets::{shown, shown_words};
use crate::settings::{Settings, build_agent};
use crate::workspace::now;

const SHOWN: usize = 60;
/// Variables of the attempt, which every agent gets.
const OF_THE_ATTEMPT: &str = "RALPH_";
const RULES: &str = "(signal rules)";
const PROMPT: &str = "(prompt)";

/// How the chosen agent would be started on the next task; nothing if its settings are wrong.
pub fn finding(settings: &Settings, chosen: &str, root: &Path, store: Option<&Store>) -> Option<Finding> {
    let agent = build_agent(chosen, &settings.agents).ok()?;
    let run_settings = run::run_settings(settings, Scope::All, &run::Args::default());
    let next = store.and_then(|store| next_model(store, &run_settings, &agent, root));
    // With no task to run no strategy has chosen a model yet: the configured one is shown, else the cheapest.
    let model = next.or(run_settings.model).or_else(|| agent.ladder().first().cloned()).unwrap_or_default();
    let run = &settings.run;
    let budgets = [*run.max_cost_usd, *run.max_cost_usd_per_task, *run.max_cost_usd_per_day];
    let budget = budgets.into_iter().flatten().reduce(f64::min);
    let task = TaskId::from_stored("t-000000");
    let launch = run::launch(&agent, root, (&task, None), &model, (RULES, PROMPT), budget);
    let message = format!("how Ralph starts {chosen}");
    Some(Finding::ok("launch", message).with(lines(&launch, &agent)))
}

/// The model that a run would choose for the first task that is ready.
fn next_model(store: &Store, settings: &RunSettings, agent: &Agent, root: &Path) -> Option<String> {
    let project = Project::at(root);
    let id = store.ready(&Scope::All, 1).ok()?.into_iter().next()?;
    let task = store.task(id.as_str()).ok()?;
    let prompter = Prompter {
        templates: &Templates::load(&project).ok()?,
        project: &project,
        store,
        agent,
        is_fallback: false,
        settings,
        now: now(),
    };
    let decision = prompter.decision(&task, &store.metrics(&id).ok()?).ok()?;
    Some(decision.choice.model)
}

fn lines(launch: &Launch, agent: &Agent) -> Vec<String> {
    let words = std::iter::once(&launch.program).chain(&launch.args);
    let words = shown_words(words.map(String::as_str), SHOWN);
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let mut lines = vec![words.join(" ")];
    if !launch.stdin.is_empty() {
        let rules = match agent.system_prompt(RULES) {
            Some(_) => "",
            None => ", preceded by the signal rules",
        };
        lines.push(format!("standard input: the prompt{rules}"));
    }
    let is_own = |name: &str| name.starts_with(OF_THE_ATTEMPT);
    let (own, added): (Vec<_>, Vec<_>) = launch.env.iter().partition(|(name, _)| is_own(name));
    for (name, value) in added {
        lines.push(format!("{name}={}", quoted(&shown(name, &value.to_string_lossy(), SHOWN))));
    }
    let own: Vec<&str> = own.iter().map(|(name, _)| name.as_str()).collect();
    lines.push(format!("environment: {}", own.join(", ")));
    lines
}

fn quoted(word: &str) -> String {
    if word.contains(MASK) { word.to_owned() } else { shell_word(word) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail(toml: &str, agent: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".ralph.toml");
        std::fs::write(&file, toml).unwrap();
        let settings = Settings::load(&file, std::iter::empty()).unwrap();
        finding(&settings, agent, Path::new("/p"), None).unwrap().detail
    }

    #[test]
    fn the_command_line_is_shown_without_secrets_and_long_texts() {
        let long = "x".repeat(300);
        let toml = format!(
            "[run]\nmax_cost_usd = 2\n[agents.claude]\nargs = ['--api-key', 'hunter2', \"it's\", '{long}']\n\
             env = {{ ANTHROPIC_API_KEY = 'hunter2', MODE = 'a b' }}"
        );
        let detail = detail(&toml, "claude");
        let line = &detail[0];
        assert!(line.starts_with("claude -p "), "{line}");
        assert!(line.contains("--model haiku"), "{line}");
        assert!(line.contains("--append-system-prompt '(signal rules)'"), "{line}");
        assert!(line.contains("--max-budget-usd 2.0000"), "{line}");
        assert!(line.contains("--api-key [masked]"), "{line}");
        assert!(line.len() < 400 && line.contains('…'), "{line}");
        assert!(detail.contains(&"ANTHROPIC_API_KEY=[masked]".to_owned()), "{detail:?}");
        assert!(detail.contains(&"MODE='a b'".to_owned()), "{detail:?}");
        assert!(detail.contains(&"standard input: the prompt".to_owned()), "{detail:?}");
        assert!(!detail.join("\n").contains("hunter2"));
    }

    #[test]
    fn a_command_is_shown_as_it_is() {
        let toml =
            "[agents.mine]\nkind = 'command'\ncommand = ['my agent', '--m={model}']\nmodels = ['a', 'b']";
        let detail = detail(toml, "mine");
        assert_eq!(detail[0], "'my agent' --m=a");
        assert!(detail[2].starts_with("environment: RALPH_TASK_ID, RALPH_TASK_KEY"), "{detail:?}");
    }
}
