//! `ralph completions SHELL`: a small script that asks Ralph itself what fits, so that it never grows stale.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::command_error::CommandResult;

/// Print the shell completion script.
///
/// Completes commands, flags, tasks, learnings, models and settings (elvish and powershell: commands and flags). To install
/// it for bash: ralph completions bash > ~/.local/share/bash-completion/completions/ralph. For zsh, write a file _ralph on
/// your fpath; for fish, ~/.config/fish/completions/ralph.fish.
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
