//! `ralph context TASK`.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::agent::Agent;
use ralph_core::engine::{Prompt, RunSettings, Templates};
use ralph_core::model::Task;
use ralph_core::store::{RunRates, Scope};
use serde_json::json;

use crate::command_error::{CommandError, CommandResult};
use crate::commands::logs::LoggedAttempt;
use crate::commands::run;
use crate::output;
use crate::settings::{Count, Settings, build_agent};
use crate::ui::{scores, table};
use crate::workspace::Workspace;

/// Print the exact prompt of a task's next attempt, or of an earlier one.
///
/// Shows what the first attempt of a new run would get.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task's id or key.
    task: String,
    /// Print the system prompt instead, if the agent takes one.
    #[arg(long, conflicts_with_all = ["explain"])]
    system: bool,
    /// Print the prompt that an attempt had instead; N as in `ralph history`. It is kept as long as its log.
    #[arg(long, value_name = "N", conflicts_with_all = ["explain", "system", "launch", "limit", "once", "agent"])]
    attempt: Option<u32>,
    /// Show how Ralph would start the agent instead: program, arguments, environment variables.
    #[arg(long, conflicts_with_all = ["explain", "system"])]
    launch: bool,
    /// Show how the memory sections were built instead: sizes, what was left out and why, scores of learnings.
    #[arg(long)]
    explain: bool,
    /// Print the prompt of `ralph run --limit N`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Print the prompt of `ralph run --once`.
    #[arg(long, conflicts_with = "limit")]
    once: bool,
    /// The agent to build the prompt for.
    #[arg(long)]
    agent: Option<String>,
    /// Print JSON with all parts.
    #[arg(long)]
    json: bool,
}

/// The prompt that a task's next attempt would get, were a run to start now.
pub struct Preview {
    pub agent: Agent,
    pub run_settings: RunSettings,
    pub prompt: Prompt,
}

impl Preview {
    pub fn of(workspace: &Workspace, settings: &Settings, task: &Task) -> Result<Self, CommandError> {
        let agent = build_agent(settings.agent(), &settings.agents)?;
        let run_settings = run::run_settings(settings, Scope::All, &run::Args::default());
        let metrics = workspace.store.metrics(&task.id)?;
        let templates = Templates::load(&workspace.project)?;
        let prompter = run::prompter(workspace, &templates, &agent, &run_settings);
        let prompt = prompter.prompt(task, &metrics, 1, RunRates::default())?;
        Ok(Self { agent, run_settings, prompt })
    }
}

/// How the memory sections of a prompt were built.
pub fn explained(prompt: &Prompt) -> String {
    format!("{}{}", prompt.explanation, scores::considered(&prompt.recalled, &prompt.learnings))
}

/// What a task's next attempt would be told, as text, and how its memory sections came about.
#[derive(Debug, serde::Serialize)]
pub struct NextPrompt {
    pub model: String,
    pub rationale: String,
    /// Why Ralph would not start an attempt now.
    pub ask_human: Option<String>,
    pub system: Option<String>,
    pub prompt: String,
    pub explanation: String,
}

impl NextPrompt {
    pub fn read(workspace: &Workspace, settings: &Settings, name: &str) -> Result<Self, CommandError> {
        let Preview { agent, prompt, .. } = Preview::of(workspace, settings, &workspace.task(name)?)?;
        let explanation = explained(&prompt);
        Ok(Self {
            system: agent.system_prompt(&prompt.rules),
            prompt: agent.prompt(&prompt.rules, &prompt.task),
            model: prompt.choice.model,
            rationale: prompt.choice.rationale,
            ask_human: prompt.ask_human,
            explanation: anstream::adapter::strip_str(&explanation).to_string(),
        })
    }
}

/// Prints the prompt that an attempt had.
fn of_attempt(workspace: &Workspace, name: &str, number: u32, json: bool) -> CommandResult {
    let task = workspace.task(name)?;
    let all = LoggedAttempt::all(&workspace.store, &task)?;
    let Some(logged) = all.into_iter().rfind(|logged| logged.attempt.attempt == number) else {
        return Err(CommandError::usage(format_args!(
            "{} has no attempt {number} with a prompt",
            task.name()
        ))
        .hint(format_args!("run `ralph history {}` to see its attempts", task.name())));
    };
    let (prompt, attempt) = (logged.prompt(workspace, &task)?, &logged.attempt);
    let value = json!({
        "task_id": task.id, "attempt": attempt.attempt, "attempt_number": attempt.attempt_number,
        "agent": attempt.agent, "model": attempt.model, "prompt": prompt,
    });
    output::print(json, &value, || output::text(&prompt))
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    if let Some(number) = args.attempt {
        return of_attempt(&workspace, &args.task, number, args.json);
    }
    let mut settings = workspace.settings()?;
    settings.run.agent.set_flag(args.agent.clone());
    let limit = if args.once { Some(1) } else { args.limit };
    settings.run.limit.set_flag(limit.map(|n| Some(Count(n))));
    let task = workspace.task(&args.task)?;
    let Preview { agent, run_settings, prompt } = Preview::of(&workspace, &settings, &task)?;
    let stdin = agent.prompt(&prompt.rules, &prompt.task);
    let system = agent.system_prompt(&prompt.rules);
    let budget = run::rest_of_budgets(&workspace.store, &run_settings.budgets, &task)?;
    let texts = (prompt.rules.as_str(), prompt.task.as_str());
    let named = (&task.id, task.key.as_ref());
    let launch = run::launch(&agent, workspace.project.root(), named, &prompt.choice.model, texts, budget);
    let launch = run::shown_launch(launch);
    if args.json {
        let learnings: Vec<_> = prompt
            .recalled
            .ranking
            .iter()
            .map(|ranked| {
                json!({
                    "id": ranked.scored.id, "score": ranked.scored.score, "parts": ranked.scored.parts,
                    "shown": prompt.learnings.iter().any(|id| id.as_str() == ranked.scored.id),
                    "why": scores::fate(ranked, &prompt.learnings),
                })
            })
            .collect();
        output::json(&json!({
            "task_id": task.id, "agent": agent.name(), "model": prompt.choice.model,
            "rationale": prompt.choice.rationale, "block_reason": prompt.ask_human, "ask_human": prompt.ask_human, "system": system, "prompt": stdin,
            "learnings_shown": prompt.learnings, "notes": prompt.notes, "explanation": prompt.explanation,
            "learnings": learnings, "launch": launch,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(reason) = &prompt.ask_human {
        output::note(format_args!("note: Ralph would not start an attempt now: {reason}"));
    }
    if args.launch {
        output::text(launch.render());
    } else if args.explain {
        output::text(table::wrap_all(&explained(&prompt)));
    } else if args.system {
        match system {
            Some(text) => output::text(text),
            None => output::note("this agent takes no system prompt; the rules are part of the prompt"),
        }
    } else {
        output::text(stdin);
    }
    Ok(ExitCode::SUCCESS)
}
