//! One file per command.

pub mod analyze;
pub mod breaker;
pub mod complete;
pub mod completions;
pub mod config;
pub mod context;
pub mod control;
pub mod demo;
pub mod doctor;
pub mod export;
pub mod failures;
pub mod fingerprint;
pub mod guard;
pub mod history;
pub mod import;
pub mod init;
pub mod learnings;
pub mod limits;
pub mod logs;
pub mod man;
pub mod notify;
pub mod replay;
pub mod run;
pub mod stats;
pub mod status;
pub mod task;
pub mod trust;

use crate::cli::{Cli, Command};
use crate::command_error::{CommandError, CommandResult};

/// Runs the command that was asked for.
pub fn dispatch(cli: Cli) -> CommandResult {
    let dir = cli.dir.as_deref();
    crate::inside::check(dir, &cli.command)?;
    let result = match cli.command {
        // Only a run has an exit code of its own for a plan that is not there.
        Command::Run(args) => return run::run(dir, &args),
        Command::Init(args) => init::run(dir, &args),
        Command::Import(args) => import::run(dir, &args),
        Command::Export(args) => export::run(dir, &args),
        Command::Doctor(args) => doctor::run(dir, &args),
        Command::Demo(args) => demo::run(&args),
        Command::DemoAgent(args) => demo::agent::run(&args),
        Command::Task(command) => task::run(dir, command),
        Command::Replay(args) => replay::run(dir, &args),
        Command::Analyze(args) => analyze::run(dir, &args),
        Command::Breaker(command) => breaker::run(dir, &command),
        Command::Limits(command) => limits::run(dir, &command),
        Command::Stop(args) => control::stop(dir, &args),
        Command::Pause(args) => control::pause(dir, &args),
        Command::Resume(args) => control::resume(dir, &args),
        Command::Stats(args) => stats::run(dir, &args),
        Command::Status(args) => status::run(dir, &args),
        Command::History(args) => history::run(dir, &args),
        Command::Failures(command) => failures::run(dir, &command),
        Command::Learnings(command) => learnings::run(dir, command),
        Command::Logs(args) => logs::run(dir, &args),
        Command::Context(args) => context::run(dir, &args),
        Command::Config(command) => config::run(dir, &command),
        Command::Complete(args) => complete::run(&args),
        Command::Notify(command) => notify::run(dir, &command),
        Command::Completions(args) => completions::run(&args),
        Command::Fingerprint(args) => fingerprint::run(dir, &args),
        Command::Guard(args) => guard::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Trust(args) => trust::run(dir, &args),
    };
    result.map_err(CommandError::outside_a_run)
}
