//! The command line: every command, one file each. Doc comments are the help texts.

pub mod breaker;
pub mod complete;
pub mod config;
pub mod context;
pub mod control;
pub mod demo;
mod detect;
pub mod diff;
pub mod doctor;
pub mod failures;
pub mod history;
pub mod import;
pub mod init;
pub mod learnings;
pub mod limits;
pub mod logs;
pub mod man;
pub mod note;
pub mod notify;
pub mod plan;
pub mod replay;
pub mod report;
pub mod run;
pub mod runs;
pub mod serve;
pub mod stats;
pub mod status;
pub mod store;
pub mod task;
pub mod trust;
pub mod ui;
pub mod undo;
pub mod workers;
pub mod worktrees;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::actions::Receipt;
use crate::command_error::{CommandError, CommandResult};
use crate::output::{self, Json};

/// Run coding agents over a plan of tasks, one fresh session per attempt, until every task is verifiably done.
#[derive(Debug, Parser)]
#[command(name = "ralph", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "Get started: `ralph demo` shows a complete run in a scratch project.\n\
    Then, in your own project: `ralph init`, `ralph task add \"…\" --verify \"…\"`, `ralph run`.")]
pub struct Cli {
    /// Run as if started in this directory.
    #[arg(short = 'C', long = "dir", value_name = "DIR", global = true)]
    pub dir: Option<PathBuf>,

    /// This is one of several workers of a run, which the run itself starts.
    #[arg(long, hide = true)]
    pub worker: bool,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Init(init::Args),
    Demo(demo::Args),
    #[command(hide = true)]
    DemoAgent(demo::AgentArgs),
    Import(import::Args),
    Export(import::ExportArgs),
    Plan(plan::Args),
    /// Show and change the tasks of the plan.
    #[command(subcommand)]
    Task(task::Command),
    Run(run::Args),
    Ui(ui::Args),
    Note(note::Args),
    Undo(undo::Args),
    Stop(control::StopArgs),
    /// Pause the active run after its current attempt, until `ralph resume`.
    Pause(control::RunArgs),
    /// Resume a paused run.
    Resume(control::RunArgs),
    Status(status::Args),
    Serve(serve::Args),
    Runs(runs::Args),
    Diff(diff::Args),
    /// Show what the latest failures have in common and what to do about it.
    Analyze(Json),
    /// Show or close the circuit breaker.
    #[command(subcommand)]
    Breaker(breaker::Command),
    /// Show or clear the usage limits that agents have hit.
    #[command(subcommand)]
    Limits(limits::Command),
    #[command(subcommand)]
    Store(store::Command),
    /// Show and remove the working trees that `ralph run --jobs` makes.
    #[command(subcommand)]
    Worktrees(worktrees::Command),
    /// List who works on the plan at this moment: hosts, workers, what they do and since when.
    Workers(Json),
    Stats(stats::Args),
    Report(report::Args),
    Replay(replay::Args),
    History(history::Args),
    /// Show why attempts failed.
    #[command(subcommand)]
    Failures(failures::Command),
    /// Show, search and change learnings.
    #[command(subcommand)]
    Learnings(learnings::Command),
    Logs(logs::Args),
    Context(context::Args),
    Fingerprint(failures::FingerprintArgs),
    Doctor(doctor::Args),
    Trust(trust::Args),
    /// Show and change settings.
    #[command(subcommand)]
    Config(config::Command),
    /// Test the notifications.
    #[command(subcommand)]
    Notify(notify::Command),
    Completions(complete::ScriptArgs),
    Man(man::Args),
    #[command(hide = true)]
    Complete(complete::Args),
    #[command(hide = true)]
    Guard(control::GuardArgs),
}

pub fn dispatch(cli: Cli) -> CommandResult {
    let dir = cli.dir.as_deref();
    crate::inside::check(dir, &cli.command)?;
    let result = match cli.command {
        // Only a run has an exit code of its own for a plan that is not there.
        Command::Run(args) if cli.worker => return run::run_worker(dir, &args),
        Command::Run(args) => return run::run(dir, &args),
        Command::Init(args) => init::run(dir, &args),
        Command::Import(args) => import::run(dir, &args),
        Command::Export(args) => import::export(dir, &args),
        Command::Plan(args) => plan::run(dir, &args),
        Command::Doctor(args) => doctor::run(dir, &args),
        Command::Demo(args) => demo::run(&args),
        Command::DemoAgent(args) => demo::work(&args),
        Command::Task(command) => task::run(dir, command),
        Command::Replay(args) => replay::run(dir, &args),
        Command::Report(args) => report::run(dir, &args),
        Command::Analyze(args) => breaker::analyze(dir, args),
        Command::Breaker(command) => breaker::run(dir, &command),
        Command::Limits(command) => limits::run(dir, &command),
        Command::Store(command) => store::run(dir, &command),
        Command::Stop(args) => control::stop(dir, &args),
        Command::Pause(args) => control::pause(dir, &args),
        Command::Resume(args) => control::resume(dir, &args),
        Command::Stats(args) => stats::run(dir, &args),
        Command::Serve(args) => serve::run(dir, &args),
        Command::Runs(args) => runs::run(dir, &args),
        Command::Diff(args) => diff::run(dir, &args),
        Command::Status(args) => status::run(dir, &args),
        Command::History(args) => history::run(dir, &args),
        Command::Failures(command) => failures::run(dir, &command),
        Command::Learnings(command) => learnings::run(dir, command),
        Command::Logs(args) => logs::run(dir, &args),
        Command::Context(args) => context::run(dir, &args),
        Command::Config(command) => config::run(dir, &command),
        Command::Complete(args) => complete::run(&args),
        Command::Notify(command) => notify::run(dir, &command),
        Command::Completions(args) => complete::script(&args),
        Command::Fingerprint(args) => failures::fingerprint(dir, &args),
        Command::Guard(args) => control::guard(&args),
        Command::Man(args) => man::run(&args),
        Command::Trust(args) => trust::run(dir, &args),
        Command::Note(args) => note::run(dir, args),
        Command::Undo(args) => undo::run(dir, &args),
        Command::Worktrees(command) => worktrees::run(dir, &command),
        Command::Workers(args) => workers::run(dir, &args),
        Command::Ui(args) => ui::run(dir, &args),
    };
    result.map_err(CommandError::outside_a_run)
}

/// Prints what an action came to.
fn told(receipt: Result<Receipt, CommandError>) -> CommandResult {
    print(&receipt?);
    Ok(ExitCode::SUCCESS)
}

fn print(receipt: &Receipt) {
    receipt.lines.iter().for_each(output::line);
    receipt.hints.iter().for_each(output::note);
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Commands that print no data: they change something and are silent, print a file of another kind, or draw.
    const SILENT: [&str; 12] = [
        "task edit",
        "task done",
        "task fail",
        "task reset",
        "task skip",
        "task delete",
        "task deps add",
        "task deps rm",
        "completions",
        "man",
        "ui",
        "serve",
    ];

    fn collect(command: &clap::Command, path: &str, without: &mut Vec<String>) {
        let below: Vec<_> = command
            .get_subcommands()
            .filter(|below| !below.is_hide_set() && below.get_name() != "help")
            .collect();
        for below in &below {
            let path = format!("{path} {}", below.get_name());
            collect(below, path.trim(), without);
        }
        let has_json = command.get_arguments().any(|argument| argument.get_long() == Some("json"));
        if below.is_empty() && !has_json {
            without.push(path.to_owned());
        }
    }

    #[test]
    fn cli_01_every_command_that_prints_data_takes_json() {
        let mut command = Cli::command();
        command.build();
        let mut without = Vec::new();
        collect(&command, "", &mut without);
        without.sort();
        let mut silent = SILENT.map(str::to_owned);
        silent.sort();
        assert_eq!(without, silent);
    }
}
