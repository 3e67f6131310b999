//! `ralph serve`: the dashboard.

use std::path::Path;
use std::process::ExitCode;

use crate::command_error::CommandResult;
use crate::serve::{Changes, Dashboard, Place};
use crate::workspace::Workspace;
use crate::{interrupts, output};

/// Serve a dashboard for the browser: what runs, what needs you, the plan, attempts, decisions, memory and runs.
///
/// Prints the link to open; it holds a token, so that nobody else can use the dashboard. The dashboard shows a run that any process
/// makes, and finished and crashed ones. Press Ctrl-C to end it; runs continue.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The port to listen on (default: a free one).
    #[arg(long, value_name = "PORT", default_value = "0", hide_default_value = true)]
    port: u16,
    /// The address to listen on. With any other than this machine's own, everyone with the link can use the dashboard
    /// from elsewhere, and everything is sent unencrypted.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: String,
    /// Whether the dashboard may pause, resume and stop runs, leave notes, skip tasks, give go-aheads and undo (default: only
    /// with the default --host).
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    allow_actions: Option<bool>,
}

pub fn run(dir: Option<&Path>, args: &Args) -> CommandResult {
    // A project without a plan is reported now and not to the browser.
    let root = Workspace::open_to_read(dir)?.project.root().to_owned();
    let place = Place::of(&args.host, args.port)?;
    let changes = match args.allow_actions.unwrap_or(place.is_loopback()) {
        true => Changes::Allowed,
        false => Changes::Off,
    };
    let dashboard = Dashboard::bind(&place, changes)?;
    let interrupt = interrupts::listen()?;
    output::line(dashboard.link());
    if !place.is_loopback() {
        let may = match changes {
            Changes::Allowed => "see this project and act on it",
            Changes::Off => "see this project",
        };
        output::note(format_args!(
            "warning: the dashboard listens on {}, not only on this machine. Everyone who has the link can {may}.",
            place.address
        ));
        output::note(
            "warning: nothing is encrypted: others on the network can read the link and what the page shows.",
        );
        output::note(" hint: leave --host out and use an SSH tunnel: ssh -L 8080:127.0.0.1:PORT HOST");
        if place.address.is_unspecified() {
            output::note(" hint: from elsewhere, replace the address in the link with one of this machine");
        }
    }
    output::note("Open the link in a browser. Press Ctrl-C to end the dashboard; runs continue.");
    dashboard.serve(&root, &interrupt)?;
    Ok(ExitCode::SUCCESS)
}
