//! `ralph notify test`: whether notices arrive.

use std::path::Path;
use std::process::ExitCode;

use ralph_core::agent::adopt_orphans;
use ralph_core::project::Project;
use serde::Serialize;
use serde_json::json;

use crate::command_error::{CommandError, CommandResult};
use crate::notify::{
    Cutoff, Delivery, Message, Occasion, Place, channels, end_leftover_processes, notice, sample,
};
use crate::output;
use crate::ui::style::{DIM, GREEN, RED, paint};
use crate::workspace::{find_settings, now, random};

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Send a test notification through every channel in [notify] and show which worked.
    ///
    /// Exits 1 if a channel failed. A channel that is not available here, such as the bell without a terminal, is not a failure.
    Test(Args),
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The event to simulate.
    #[arg(long, value_enum, default_value = "done")]
    occasion: Occasion,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Row {
    sender: &'static str,
    target: Option<String>,
    result: &'static str,
    /// Why it failed, or why it is not available here.
    reason: Option<String>,
}

pub fn run(dir: Option<&Path>, command: &Command) -> CommandResult {
    let Command::Test(args) = command;
    let (project, settings) = find_settings(dir)?;
    let message = message(&project, args.occasion)?;
    let channels = channels(&settings, project.root());
    if channels.is_empty() {
        return Err(CommandError::usage("no notification channel is configured")
            .hint("add one to [notify] in .ralph.toml: webhook, command, bell or desktop"));
    }
    // As in a run: what a command leaves in the background is known, and ended.
    adopt_orphans();
    let cutoff = Cutoff::default();
    let rows: Vec<Row> = channels
        .iter()
        .map(|channel| {
            let (result, reason) = match (channel.send)(&message, &cutoff) {
                Ok(Delivery::Sent) => ("sent", None),
                Ok(Delivery::Unavailable(why)) => ("nowhere", Some(why.to_owned())),
                Err(why) => ("failed", Some(why)),
            };
            let row = Row { sender: channel.name, target: channel.target.clone(), result, reason };
            if !args.json {
                output::line(line(&row));
            }
            row
        })
        .collect();
    end_leftover_processes();
    let failed = rows.iter().any(|row| row.result == "failed");
    if args.json {
        output::json(&json!({ "ok": !failed, "occasion": args.occasion, "senders": rows }));
    }
    if !settings.notify.on.contains(&args.occasion) {
        let word = args.occasion.as_str();
        output::note(format_args!(
            "note: a run does not send this notification: [notify] on does not contain `{word}`"
        ));
    }
    Ok(ExitCode::from(u8::from(failed)))
}

/// A sample that is clearly marked as a test.
fn message(project: &Project, occasion: Occasion) -> Result<Message, CommandError> {
    let place = Place::of(project);
    let mut notice = notice(&sample(occasion, now()), &place)
        .ok_or_else(|| CommandError::environment("no sample for this event"))?;
    notice.title = format!("Test: {}", notice.title);
    notice.message = format!("This is a test sent by `ralph notify test`.\n{}", notice.message);
    Message::new(notice, &mut random).map_err(CommandError::environment)
}

fn line(row: &Row) -> String {
    let target = row.target.as_ref().map(|target| format!(" {target}"));
    let name = format!("{}{}", row.sender, target.unwrap_or_default());
    let reason = row.reason.as_deref().unwrap_or_default();
    match row.result {
        "sent" => format!("{} {name}: sent", paint(GREEN, "✓")),
        "nowhere" => format!("{} {name}: {reason} here", paint(DIM, "-")),
        _ => format!("{} {name}: {reason}", paint(RED, "✗")),
    }
}
