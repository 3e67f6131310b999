//! `ralph stats`.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use ralph_core::adaptive::{Expectation, expectations};
use ralph_core::agent::output_prices;
use ralph_core::model::{FlakySums, RunId, Stats, Sums, TaskId};
use ralph_core::store::ConflictKind;
use ralph_core::text::one_line;
use serde::Serialize;
use serde_json::{Value, json};

use crate::command_error::{CommandError, CommandResult};
use crate::output;
use crate::settings::build_agent;
use crate::ui::style::Standing;
use crate::ui::{format, style, table::Table};
use crate::workspace::Workspace;

/// Show success rates, costs and times by model, task and error, and the results of retries.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only attempts of this run; `ralph runs` lists them.
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Tasks shown in the table; JSON has all of them.
const MOST_TASKS: usize = 20;

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let workspace = Workspace::open_to_read(dir)?;
    let run = args.run.as_deref().map(|id| workspace.run(id)).transpose()?;
    let stats = workspace.store.stats(run.as_ref().map(|run| &run.id))?;
    let expected = expected(&workspace)?;
    let tasks = workspace.store.tasks(None)?;
    let standings = tasks.iter().map(|task| (task.id.clone(), Standing::from(task))).collect();
    let conflicts = conflicts(&workspace, run.as_ref().map(|run| &run.id))?;
    let none = super::history::none_yet(&workspace, None)?;
    output::print(args.json, &as_json(&stats, &expected, &standings, &conflicts), || {
        match stats.total.attempts {
            0 => output::note(none),
            _ => output::text(human(&stats, &expected, &standings, &conflicts)),
        }
    })
}

/// Where each task stands: done alone does not say whether a gate verified it.
type Standings = HashMap<TaskId, Standing>;

/// What the adaptive strategy expects of the models of the project's agent.
fn expected(workspace: &Workspace) -> Result<Vec<Expectation>, CommandError> {
    let settings = workspace.settings()?;
    let name = settings.agent();
    // What was is worth showing also when the agent of today cannot be used.
    let Ok(agent) = build_agent(name, &settings.agents) else { return Ok(Vec::new()) };
    let mut beliefs = workspace.store.beliefs(agent.name())?;
    beliefs.set_prices(agent.ladder(), output_prices(&agent.prices()));
    Ok(expectations(&beliefs, agent.ladder()))
}

/// How often two tasks did not go together when the second was to land.
#[derive(Debug, Serialize)]
struct Conflicts {
    kind: ConflictKind,
    task: String,
    /// None where it was no task's work.
    with: Option<String>,
    times: u64,
}

fn conflicts(workspace: &Workspace, run: Option<&RunId>) -> Result<Vec<Conflicts>, CommandError> {
    let store = &workspace.store;
    let name =
        |id: &TaskId| store.task(id.as_str()).map_or_else(|_| id.to_string(), |task| task.name().to_owned());
    let mut all: Vec<Conflicts> = Vec::new();
    for one in store.conflicts()? {
        if run.is_some() && one.run_id.as_ref() != run {
            continue;
        }
        let (kind, task) = (one.kind, name(&one.task_id));
        let with: Vec<Option<String>> = match one.others.is_empty() {
            true => vec![None],
            false => one.others.iter().map(|other| Some(name(other))).collect(),
        };
        for with in with {
            match all.iter_mut().find(|known| known.kind == kind && known.task == task && known.with == with)
            {
                Some(known) => known.times += 1,
                None => all.push(Conflicts { kind, task: task.clone(), with, times: 1 }),
            }
        }
    }
    all.sort_by_key(|of| std::cmp::Reverse(of.times));
    Ok(all)
}

fn as_json(stats: &Stats, expected: &[Expectation], standings: &Standings, conflicts: &[Conflicts]) -> Value {
    let retries = &stats.retries;
    let models = stats.models.iter().map(|of| with_sums(json!({ "model": of.model }), &of.sums));
    let tasks = stats.tasks.iter().map(|of| {
        let verified = standings.get(&of.task_id).is_some_and(|standing| standing.verified);
        let task = json!({
            "task_id": of.task_id, "key": of.key, "spec": of.spec, "title": of.title, "status": of.status,
            "verified": verified, "models": of.models,
        });
        with_sums(task, &of.sums)
    });
    json!({
        "total": with_sums(json!({}), &stats.total),
        "by_model": models.collect::<Vec<_>>(),
        "by_task": tasks.collect::<Vec<_>>(),
        "by_error_category": stats.categories,
        "escalation": {
            "first_attempt": with_sums(json!({}), &retries.first),
            // The old name, for one release.
            "first_try": with_sums(json!({}), &retries.first),
            "same_model_again": with_sums(json!({}), &retries.same_model),
            "other_model": with_sums(json!({}), &retries.other_model),
            "after_note": with_sums(json!({}), &retries.after_note),
        },
        "expected": expected,
        "conflicts": conflicts,
        "flaky_gates": stats.flaky_gates.iter().map(with_rate).collect::<Vec<_>>(),
        "flaky_tests": stats.flaky_tests.iter().map(with_rate).collect::<Vec<_>>(),
        "reviews": stats.reviews,
    })
}

fn with_rate(of: &FlakySums) -> Value {
    json!({ "name": of.name, "gate": of.gate, "flaky": of.flaky, "runs": of.runs, "rate": of.rate() })
}

/// An object with the sums, and what follows from them.
fn with_sums(mut object: Value, sums: &Sums) -> Value {
    let sums = json!({
        "attempts": sums.attempts,
        "done": sums.done,
        "success_rate": sums.success_rate(),
        "cost_usd": sums.cost_usd,
        "cost_estimated": sums.cost_estimated,
        "cost_per_done_usd": sums.cost_per_done(),
        "attempts_without_cost": sums.without_cost,
        "duration_ms": sums.duration_ms,
        "mean_duration_ms": sums.mean_duration_ms(),
    });
    if let (Value::Object(object), Value::Object(sums)) = (&mut object, sums) {
        object.extend(sums);
    }
    object
}

fn human(stats: &Stats, expected: &[Expectation], standings: &Standings, conflicts: &[Conflicts]) -> String {
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
        ("after your note", &stats.retries.after_note),
    ] {
        if sums.attempts > 0 {
            again.row(cells(what.into(), sums));
        }
    }
    part("Retry results", &again);
    if !stats.categories.is_empty() {
        let mut errors = Table::new(["ERROR", "FAILURES", "TASKS"]);
        for of in &stats.categories {
            let name = match of.category.as_str() {
                "no_sigil" => "ended without reporting a result".to_owned(),
                category => one_line(category, 60),
            };
            errors.row([name, of.failures.to_string(), of.tasks.to_string()]);
        }
        part("By error", &errors);
    }
    if !stats.reviews.is_empty() {
        let mut reviews = Table::new(["", "REVIEWS", "ACCEPTED", "REJECTED", "COST", "MEAN TIME"]);
        for of in &stats.reviews {
            let name = format::agent_and_model(Some(&of.agent), Some(&of.model)).unwrap_or_default();
            let mean = of.duration_ms.checked_div(of.reviews).map(Duration::from_millis);
            reviews.row([
                one_line(&name, 60),
                of.reviews.to_string(),
                of.accepted.to_string(),
                of.rejected.to_string(),
                format::cost_at_least(of.cost_usd, of.cost_estimated, of.without_cost),
                mean.map(format::duration).unwrap_or_default(),
            ]);
        }
        part("Reviews", &reviews);
    }
    for (title, heading, flaky) in
        [("Flaky gates", "GATE", &stats.flaky_gates), ("Flaky tests", "TEST", &stats.flaky_tests)]
    {
        if flaky.is_empty() {
            continue;
        }
        let mut table = Table::new([heading, "FLAKY", "RUNS", "RATE"]);
        for of in flaky.iter().take(MOST_TASKS) {
            let rate = format!("{:.0}%", of.rate() * 100.0);
            table.row([one_line(&of.name, 80), of.flaky.to_string(), of.runs.to_string(), rate]);
        }
        part(title, &table);
    }
    if !conflicts.is_empty() {
        let mut table = Table::new(["TASK", "WITH", "WHY", "TIMES"]);
        for of in conflicts.iter().take(MOST_TASKS) {
            let with = of.with.clone().unwrap_or_else(|| "no task".to_owned());
            table.row([of.task.clone(), with, of.kind.to_string(), of.times.to_string()]);
        }
        part("Work that did not land", &table);
    }
    let mut tasks = Table::new([
        "TASK", "ATTEMPTS", "DONE", "RATE", "COST", "PER DONE", "TIME", "STATUS", "MODELS", "TITLE",
    ]);
    for of in stats.tasks.iter().take(MOST_TASKS) {
        let [attempts, done, rate, cost, per_done] = figures(&of.sums);
        tasks.row([
            of.name.clone(),
            attempts,
            done,
            rate,
            cost,
            per_done,
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

const SUM_HEADINGS: [&str; 7] = ["", "ATTEMPTS", "DONE", "RATE", "COST", "PER DONE", "MEAN TIME"];

fn cells(name: String, sums: &Sums) -> [String; 7] {
    let mean = sums.mean_duration_ms().map(|mean| format::duration(Duration::from_millis(mean)));
    let [attempts, done, rate, cost, per_done] = figures(sums);
    [name, attempts, done, rate, cost, per_done, mean.unwrap_or_default()]
}

fn figures(sums: &Sums) -> [String; 5] {
    [
        sums.attempts.to_string(),
        sums.done.to_string(),
        format!("{:.0}%", sums.success_rate() * 100.0),
        format::cost_at_least(sums.cost_usd, sums.cost_estimated, sums.without_cost),
        format::cost(sums.cost_per_done(), sums.cost_estimated),
    ]
}
