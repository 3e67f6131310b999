//! `ralph stats`.

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use ralph_core::adaptive::{Expectation, expectations};
use ralph_core::agent::output_prices;
use ralph_core::model::{Stats, Sums, TaskId};
use ralph_core::text::one_line;
use serde_json::{Map, Value, json};

use super::failures::known_run;
use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::settings::build_agent;
use crate::ui::style::Standing;
use crate::ui::{format, style, table::Table};
use crate::workspace::Workspace;

/// Show success rates, costs and times by model, task and error, and the results of retries.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only attempts of this run.
    #[arg(long)]
    run: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Tasks shown in the table; JSON has all of them.
const MOST_TASKS: usize = 20;

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    let run = args.run.as_deref().map(|id| known_run(&workspace, id));
    let stats = workspace.store.stats(run.transpose()?.as_ref())?;
    let expected = expected(&workspace)?;
    if args.json {
        output::json(&as_json(&stats, &expected, &standings(&workspace)?));
    } else if stats.total.attempts == 0 {
        output::note(super::history::none_yet(&workspace, None)?);
    } else {
        output::text(human(&stats, &expected, &standings(&workspace)?));
    }
    Ok(ExitCode::SUCCESS)
}

/// Where each task stands: done alone does not say whether a gate verified it.
fn standings(workspace: &Workspace) -> Result<Standings, CommandError> {
    let tasks = workspace.store.tasks(None)?.into_iter();
    Ok(tasks.map(|task| (task.id.clone(), Standing::from(&task))).collect())
}

type Standings = HashMap<TaskId, Standing>;

/// What the adaptive strategy expects of the models of the project's agent.
fn expected(workspace: &Workspace) -> Result<Vec<Expectation>, CommandError> {
    let settings = workspace.settings()?;
    let name = settings.agent();
    // What was is worth showing also when the agent of today cannot be used.
    let Ok(agent) = build_agent(name, &settings.agents) else {
        return Ok(Vec::new());
    };
    let mut beliefs = workspace.store.beliefs(agent.name())?;
    beliefs.set_prices(agent.ladder(), output_prices(&agent.prices()));
    Ok(expectations(&beliefs, agent.ladder()))
}

fn as_json(stats: &Stats, expected: &[Expectation], standings: &Standings) -> Value {
    let retries = &stats.retries;
    json!({
        "total": sums(&stats.total, json!({})),
        "by_model": stats.models.iter()
            .map(|of| sums(&of.sums, json!({ "model": of.model })))
            .collect::<Vec<_>>(),
        "by_task": stats.tasks.iter()
            .map(|of| sums(&of.sums, json!({
                "task_id": of.task_id, "key": of.key, "title": of.title, "status": of.status,
                "verified": standings.get(&of.task_id).is_some_and(|standing| standing.verified),
                "models": of.models,
            })))
            .collect::<Vec<_>>(),
        "by_error_category": stats.categories,
        "escalation": {
            "first_try": sums(&retries.first, json!({})),
            "same_model_again": sums(&retries.same_model, json!({})),
            "other_model": sums(&retries.other_model, json!({})),
        },
        "expected": expected,
    })
}

/// The sums, and what follows from them, after what they are of.
fn sums(sums: &Sums, of: Value) -> Value {
    let mut object: Map<String, Value> = of.as_object().cloned().unwrap_or_default();
    for (name, value) in [
        ("attempts", json!(sums.attempts)),
        ("done", json!(sums.done)),
        ("success_rate", json!(sums.success_rate())),
        ("cost_usd", json!(sums.cost_usd)),
        ("cost_estimated", json!(sums.cost_estimated)),
        ("cost_per_done_usd", json!(sums.cost_per_done())),
        ("attempts_without_cost", json!(sums.without_cost)),
        ("duration_ms", json!(sums.duration_ms)),
        ("mean_duration_ms", json!(sums.mean_duration_ms())),
    ] {
        object.insert(name.to_owned(), value);
    }
    Value::Object(object)
}

fn human(stats: &Stats, expected: &[Expectation], standings: &Standings) -> String {
    let mut text = String::new();
    let mut part = |heading: &str, table: &Table| {
        text.push_str(&format!("{}\n{}\n", style::paint(style::BOLD, heading), table.render()));
    };
    let mut models = Table::new(SUM_HEADINGS);
    for of in &stats.models {
        models.row(cells(one_line(&of.model, 60), &of.sums));
    }
    models.row(cells("all".into(), &stats.total));
    part("By model", &models);
    if expected.iter().any(|of| of.tries > 0) {
        let mut table = Table::new(["", "ATTEMPTS", "SUCCESS", "COST"]);
        for of in expected {
            let seen = stats.models.iter().find(|seen| seen.model == of.model);
            let is_estimate = of.costs_seen == 0 || seen.is_some_and(|seen| seen.sums.cost_estimated);
            let cost = (!of.cost_is_guess).then_some(of.cost_usd);
            table.row([
                one_line(&of.model, 60),
                of.tries.to_string(),
                format!("{:.0}%", of.chance * 100.0),
                format::cost(cost, is_estimate),
            ]);
        }
        part("Expected for a new task", &table);
    }
    let mut again = Table::new(SUM_HEADINGS);
    for (what, sums) in [
        ("first attempt", &stats.retries.first),
        ("retry, same model", &stats.retries.same_model),
        ("retry, other model", &stats.retries.other_model),
    ] {
        if sums.attempts > 0 {
            again.row(cells(what.into(), sums));
        }
    }
    part("Retry results", &again);
    if !stats.categories.is_empty() {
        let mut errors = Table::new(["ERROR", "FAILURES", "TASKS"]);
        for of in &stats.categories {
            let name = one_line(&of.category, 60);
            errors.row([name, of.failures.to_string(), of.tasks.to_string()]);
        }
        part("By error", &errors);
    }
    let mut tasks = Table::new([
        "TASK", "ATTEMPTS", "DONE", "RATE", "COST", "PER DONE", "TIME", "STATUS", "MODELS", "TITLE",
    ]);
    for of in stats.tasks.iter().take(MOST_TASKS) {
        tasks.row([
            of.key.as_ref().map_or(of.task_id.to_string(), ToString::to_string),
            of.sums.attempts.to_string(),
            of.sums.done.to_string(),
            percent(&of.sums),
            at_least(&of.sums),
            per_done(&of.sums),
            format::duration(Duration::from_millis(of.sums.duration_ms)),
            standings.get(&of.task_id).map_or_else(|| style::status(of.status), |standing| standing.word()),
            one_line(&of.models.join(", "), 60),
            of.title.clone(),
        ]);
    }
    part("By task, most expensive first", &tasks);
    if let Some(more) = stats.tasks.len().checked_sub(MOST_TASKS + 1) {
        let more = format::counted(more as u64 + 1, "more task");
        text.push_str(&format!("… and {more}; --json shows all\n\n"));
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

fn percent(sums: &Sums) -> String {
    format!("{:.0}%", sums.success_rate() * 100.0)
}

/// The cost; where some of it is not known, what it is at least.
fn at_least(sums: &Sums) -> String {
    let known = format::cost(sums.cost_usd, sums.cost_estimated);
    if sums.cost_usd.is_some() && sums.without_cost > 0 { format!("≥{known}") } else { known }
}

fn per_done(sums: &Sums) -> String {
    format::cost(sums.cost_per_done(), sums.cost_estimated)
}

const SUM_HEADINGS: [&str; 7] = ["", "ATTEMPTS", "DONE", "RATE", "COST", "PER DONE", "MEAN TIME"];

fn cells(name: String, sums: &Sums) -> [String; 7] {
    [
        name,
        sums.attempts.to_string(),
        sums.done.to_string(),
        percent(sums),
        at_least(sums),
        per_done(sums),
        sums.mean_duration_ms().map(|mean| format::duration(Duration::from_millis(mean))).unwrap_or_default(),
    ]
}
