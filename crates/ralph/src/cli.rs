//! The command line: one place that lists every command. Doc comments are the help texts.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::commands::{
    analyze, breaker, complete, completions, config, context, control, demo, doctor, export,
    failures, fingerprint, guard, history, import, init, learnings, limits, logs, man, notify,
    replay, run, stats, status, task, trust,
};

/// Run coding agents over a plan of tasks, one fresh session per attempt, until every task is verifiably done.
#[derive(Debug, Parser)]
#[command(
    name = "ralph",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
#[command(
    after_help = "Get started: `ralph demo` shows a complete run in a scratch project.\n\
    Then, in your own project: `ralph init`, `ralph task add \"…\" --verify \"…\"`, `ralph run`."
)]
pub struct Cli {
    /// Run as if started in this directory.
    #[arg(short = 'C', long = "dir", value_name = "DIR", global = true)]
    pub dir: Option<PathBuf>,

    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// Every command.
#[derive(Debug, Subcommand)]
pub enum Command {
    Init(init::Args),
    Demo(demo::Args),
    #[command(hide = true)]
    DemoAgent(demo::agent::Args),
    Import(import::Args),
    Export(export::Args),
    /// Show and change the tasks of the plan.
    #[command(subcommand)]
    Task(task::Command),
    Run(run::Args),
    Stop(control::StopArgs),
    Pause(control::PauseArgs),
    Resume(control::ResumeArgs),
    Status(status::Args),
    Analyze(analyze::Args),
    /// Show or close the circuit breaker.
    #[command(subcommand)]
    Breaker(breaker::Command),
    /// Show or clear the usage limits that agents have hit.
    #[command(subcommand)]
    Limits(limits::Command),
    Stats(stats::Args),
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
    Fingerprint(fingerprint::Args),
    Doctor(doctor::Args),
    Trust(trust::Args),
    /// Show and change settings.
    #[command(subcommand)]
    Config(config::Command),
    /// Test the notifications.
    #[command(subcommand)]
    Notify(notify::Command),
    Completions(completions::Args),
    Man(man::Args),
    #[command(hide = true)]
    Complete(complete::Args),
    #[command(hide = true)]
    Guard(guard::Args),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Commands that print no data: they change something and are silent, or print a file of another kind.
    const SILENT: [&str; 10] = [
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
        let has_json = command
            .get_arguments()
            .any(|argument| argument.get_long() == Some("json"));
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
