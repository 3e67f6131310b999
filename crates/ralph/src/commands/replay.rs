//! `ralph replay`: which strategy would have been best.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ralph_core::adaptive::DEFAULT_VALUE_USD;
use ralph_core::replay::{Options, Report, Row, Score, read, replay};
use ralph_core::text::one_line;

use crate::command_error::{CommandError, CommandResult};
use crate::facts::replay_rows;
use crate::settings::build_agent;
use crate::ui::{format, table::Table};
use crate::workspace::Workspace;
use crate::{input, output};

/// Compare strategies on recorded outcomes: how much each would have solved, and at what cost.
///
/// Pass a FILE or --history. FILE is a CSV table with the columns task, model, success, cost_usd and optionally difficulty
/// and attempt. The loss is the cost per task plus the value of unsolved tasks. Tasks are replayed in the order of the
/// file, and `adaptive` learns as it goes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The CSV file; `-` reads stdin.
    #[arg(required_unless_present = "history")]
    file: Option<PathBuf>,
    /// Use this project's own attempts instead.
    #[arg(long, conflicts_with = "file")]
    history: bool,
    /// The models, cheapest first (with --history, default: the agent's models).
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    ladder: Vec<String>,
    /// What a solved task is worth, in dollars (default: 15; with --history, `[run] value_usd`).
    #[arg(long, value_name = "USD", value_parser = amount, allow_negative_numbers = true)]
    value: Option<f64>,
    /// Maximum number of attempts per task.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=20))]
    attempts: u32,
    /// Chance that a retry with the same model succeeds; halved with each further retry.
    #[arg(long, value_name = "P", default_value_t = 0.17, value_parser = chance)]
    retry_success: f64,
    /// Random seed for retries that were not recorded.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    let (rows, ladder, value_usd) = match &args.file {
        Some(file) => (from_file(dir, file)?, args.ladder.clone(), DEFAULT_VALUE_USD),
        None => of_project(dir, args)?,
    };
    if rows.is_empty() {
        return Err(CommandError::usage("no outcomes to replay")
            .hint("outcomes are counted attempts: the project has none yet, or the file has no rows"));
    }
    let options = Options {
        ladder: known_ladder(&rows, ladder, args)?,
        value_usd: args.value.unwrap_or(value_usd),
        attempts: args.attempts,
        retry_success: args.retry_success,
        seed: args.seed,
        model: None,
        impute: args.file.is_none(),
    };
    let report = replay(&rows, &options);
    if report.tasks == 0 {
        return Err(CommandError::usage(format_args!(
            "no task has an outcome for every model in {}",
            one_line(&options.ladder.join(", "), 300)
        ))
        .hint("remove models with few outcomes from --ladder"));
    }
    output::print(args.json, &report, || output::text(human(&report)))
}

/// The ladder, with models that have outcomes only; in the project's own history the others are left out.
fn known_ladder(rows: &[Row], mut ladder: Vec<String>, args: &Args) -> Result<Vec<String>, CommandError> {
    let mut models: Vec<&str> = rows.iter().map(|row| row.model.as_str()).collect();
    models.sort_unstable();
    models.dedup();
    let there_are = format!("models with outcomes: {}", one_line(&models.join(", "), 500));
    for model in &mut ladder {
        *model = model.trim().to_owned();
    }
    ladder.retain(|model| !model.is_empty());
    let mut seen = HashSet::new();
    if !ladder.iter().all(|model| seen.insert(model)) {
        return Err(CommandError::usage("--ladder names a model twice"));
    }
    if ladder.is_empty() {
        return Err(CommandError::usage("no models given").hint(there_are));
    }
    let unknown = |model: &String| !models.contains(&model.as_str());
    if let Some(model) = ladder.iter().find(|model| unknown(model))
        && !args.ladder.is_empty()
    {
        let model = one_line(model, 60);
        let message = format!("no outcomes for model `{model}`");
        return Err(CommandError::usage(message).hint(there_are));
    }
    ladder.retain(|model| !unknown(model));
    if ladder.is_empty() {
        return Err(CommandError::usage("no attempts with any of the agent's models").hint(there_are));
    }
    Ok(ladder)
}

fn from_file(dir: Option<&Path>, file: &Path) -> Result<Vec<Row>, CommandError> {
    let bytes = input::file(dir, file)?;
    read(&String::from_utf8_lossy(&bytes)).map_err(|error| {
        CommandError::usage(format_args!("{}: {error}", file.display()))
            .hint("expected the columns task, model, success, cost_usd and optionally difficulty, attempt")
    })
}

/// The project's counted attempts, oldest first, its agent's ladder, and what a task is worth in it.
fn of_project(dir: Option<&Path>, args: &Args) -> Result<(Vec<Row>, Vec<String>, f64), CommandError> {
    let workspace = Workspace::open_to_read(dir)?;
    let settings = workspace.settings()?;
    let agent = build_agent(settings.agent(), &settings.agents)?;
    let ladder = if args.ladder.is_empty() { agent.ladder().to_vec() } else { args.ladder.clone() };
    let rows = replay_rows(&workspace.store, agent.name(), usize::MAX)?;
    Ok((rows, ladder, *settings.run.value_usd))
}

fn human(report: &Report) -> String {
    let mut table = Table::new(["STRATEGY", "SOLVED", "COST PER TASK", "LOSS", "SEQUENCE"]);
    let mut row = |score: &Score, sequence: String| {
        table.row([
            score.name.clone(),
            format!("{:.1}%", score.solved * 100.0),
            format!("${:.3}", score.cost_per_task),
            format!("{:.3}", score.loss),
            sequence,
        ]);
    };
    for score in &report.strategies {
        row(score, String::new());
    }
    row(&report.best_fixed.score, report.best_fixed.sequence.join(", "));
    row(&report.oracle, String::new());
    let tasks = format::counted(report.tasks as u64, "task");
    let skipped = match report.skipped {
        0 => String::new(),
        n => format!("; {n} left out because some models have no outcome"),
    };
    let mut notes = String::new();
    if report.imputed > 0 {
        let n = format::counted(report.imputed as u64, "outcome");
        notes.push_str(&format!(
            "{n} not recorded: estimated from the model's success rate, so treat the figures as rough.\n"
        ));
    }
    if !report.without_cost.is_empty() {
        let models = one_line(&report.without_cost.join(", "), 300);
        notes.push_str(&format!("No recorded cost for {models}: counted as free.\n"));
    }
    if !report.best_fixed.exact {
        notes.push_str("There are too many fixed sequences to try them all.\n");
    }
    format!(
        "{tasks} replayed{skipped}. Loss is cost plus the value of unsolved tasks.\n{notes}\n{}",
        table.render()
    )
}

fn amount(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1e12).ok_or_else(|| "expected an amount between 0 and 1e12".to_owned())
}

fn chance(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1.0).ok_or_else(|| "expected a number between 0 and 1".to_owned())
}

fn number(text: &str, least: f64, most: f64) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    (least..=most).contains(&number).then_some(number)
}
