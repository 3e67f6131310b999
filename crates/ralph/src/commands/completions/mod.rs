//! `ralph completions SHELL`: a small script that asks Ralph itself what fits, so that it never grows stale.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::command_error::CommandResult;

/// Print a script that completes commands, flags, tasks, learnings, models and settings.
///
/// For example, once and for all: ralph completions bash > ~/.local/share/bash-completion/completions/ralph (zsh: a file
/// _ralph on your fpath; fish: ~/.config/fish/completions/ralph.fish). elvish and powershell complete commands and flags.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(args: &Args) -> CommandResult {
    let script = match args.shell {
        Shell::Bash => include_str!("ralph.bash").to_owned(),
        Shell::Zsh => include_str!("ralph.zsh").to_owned(),
        Shell::Fish => include_str!("ralph.fish").to_owned(),
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut Cli::command(), "ralph", &mut script);
            String::from_utf8_lossy(&script).into_owned()
        }
    };
    crate::output::text(script);
    Ok(ExitCode::SUCCESS)
}
