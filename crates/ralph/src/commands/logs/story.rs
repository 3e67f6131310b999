//! The story of a run: its events, as `ralph run` shows them in a pipe, with the time in front.

use std::process::ExitCode;

use ralph_core::event::EventKind;
use ralph_core::model::{RunId, TaskId};
use ralph_core::store::{RunRow, StoredEvent};
use serde::Serialize;
use serde_json::value::RawValue;

use super::Args;
use super::follow::LOOK_AGAIN;
use crate::command_error::{CommandError, CommandResult};
use crate::secrets::mask_json;
use crate::ui::style::{BOLD, DIM, paint};
use crate::ui::wrap::fold;
use crate::ui::{self, format, plain};
use crate::workspace::{Workspace, is_active};
use crate::{interrupts, output};

const PORTION: u32 = 500;
/// Columns of the time in front.
const TIME: usize = 10;

pub fn run(workspace: &Workspace, args: &Args) -> CommandResult {
    let run = chosen(workspace, args)?;
    if args.path {
        return path(workspace, &run);
    }
    if args.json && !args.follow {
        return document(workspace, &run, args);
    }
    if args.follow {
        interrupts::quit_on_interrupt()?;
    }
    let mut story = match args.raw || args.json {
        true => Telling::Json,
        false => Telling::Lines(Story::new(ui::width())),
    };
    tell(workspace, &run, args, &mut |event| match &mut story {
        Telling::Json => output::line(&event.json),
        Telling::Lines(story) => output::text(story.line(event)),
    })
}

enum Telling {
    Json,
    Lines(Story),
}

/// The events of a task as JSON lines, as long as a run goes on.
pub fn follow_task(workspace: &Workspace, task: &TaskId, args: &Args) -> CommandResult {
    interrupts::quit_on_interrupt()?;
    let run = chosen(workspace, args)?;
    #[derive(serde::Deserialize)]
    struct Named {
        task_id: Option<TaskId>,
    }
    tell(workspace, &run, args, &mut |event| {
        let named: Option<Named> = serde_json::from_str(&event.json).ok();
        if named.and_then(|named| named.task_id).as_ref() == Some(task) {
            output::line(&event.json);
        }
    })
}

fn no_run() -> CommandError {
    CommandError::usage("no runs yet").hint("start one with `ralph run`")
}

fn chosen(workspace: &Workspace, args: &Args) -> Result<RunRow, CommandError> {
    match &args.run {
        Some(id) => named(workspace, id),
        None => workspace.present_run()?.ok_or_else(no_run),
    }
}

pub fn named(workspace: &Workspace, id: &str) -> Result<RunRow, CommandError> {
    let run = workspace.store.run(&RunId::from_stored(id))?;
    run.ok_or_else(|| {
        CommandError::usage(format_args!("unknown run `{id}`"))
            .hint("run `ralph history --json` to see the run of each attempt")
    })
}

fn path(workspace: &Workspace, run: &RunRow) -> CommandResult {
    let Some(path) = &run.output else {
        return Err(CommandError::usage(format_args!(
            "run {} has no log file: it printed to its terminal",
            run.id
        ))
        .hint("run `ralph logs --raw` to see its events"));
    };
    output::line(workspace.project.root().join(path).display());
    Ok(ExitCode::SUCCESS)
}

/// A run with its events, as one document.
#[derive(Serialize)]
struct Document {
    run_id: RunId,
    path: Option<std::path::PathBuf>,
    active: bool,
    #[serde(flatten)]
    run: RunRow,
    events: Vec<Box<RawValue>>,
}

fn document(workspace: &Workspace, run: &RunRow, args: &Args) -> CommandResult {
    let mut events = Vec::new();
    tell(workspace, run, args, &mut |event| {
        events.extend(RawValue::from_string(event.json.clone()).ok());
    })?;
    let root = workspace.project.root();
    output::json(&Document {
        run_id: run.id.clone(),
        path: run.output.as_ref().map(|path| root.join(path)),
        active: is_active(run),
        run: run.clone(),
        events,
    });
    Ok(ExitCode::SUCCESS)
}

/// Tells a run's events, and the new ones too where it is followed, until it has ended or nobody listens. Secrets
/// were masked when they were stored; the reader may know more of them.
fn tell(
    workspace: &Workspace,
    run: &RunRow,
    args: &Args,
    each: &mut dyn FnMut(&StoredEvent),
) -> CommandResult {
    let store = &workspace.store;
    let mut last = 0;
    loop {
        // Looked at first: what was told until then is read.
        let ended = !args.follow || !store.run(&run.id)?.is_some_and(|run| is_active(&run));
        loop {
            let mut events = store.some_events(&run.id, last, PORTION)?;
            let Some(newest) = events.last() else { break };
            last = newest.seq;
            for event in &mut events {
                if !args.raw {
                    mask_json(&mut event.json);
                }
                each(event);
            }
            if output::is_closed() {
                return Ok(ExitCode::SUCCESS);
            }
        }
        if ended || output::wait_unless_closed(LOOK_AGAIN) {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// Events as lines, with the time in front and the day above.
struct Story {
    width: usize,
    day: String,
    /// Attempts so far that count against no task; the end of a run names only the others.
    uncounted: u64,
}

impl Story {
    fn new(width: usize) -> Self {
        Self { width, day: String::new(), uncounted: 0 }
    }

    fn line(&mut self, event: &StoredEvent) -> String {
        let mut text = String::new();
        let Some(line) = self.told(event) else {
            return text;
        };
        let day = format::day(event.at);
        if day != self.day {
            text.push_str(&paint(DIM, &day));
            text.push('\n');
            self.day = day;
        }
        let time = paint(DIM, format_args!("{:<TIME$}", format::clock(event.at)));
        let mut lead = time;
        for line in line.lines() {
            for piece in pieces(line, self.width.saturating_sub(TIME).max(10)) {
                text.push_str(&lead);
                text.push_str(&piece);
                text.push('\n');
                lead = " ".repeat(TIME);
            }
        }
        text
    }

    /// An event in words; of a kind that this version does not know, at least its name.
    fn told(&mut self, event: &StoredEvent) -> Option<String> {
        let Some(read) = event.read() else {
            return Some(format!("· {}", event.kind.replace('_', " ")));
        };
        match &read.kind {
            EventKind::RunFinished {
                reason, hint, exit_code, attempts, cost, duration_ms, tasks, ..
            } => {
                let ended = format::run_end(*exit_code == 0, reason);
                let attempts = format::attempts(u64::from(*attempts), self.uncounted);
                let time = format::duration(std::time::Duration::from_millis(*duration_ms));
                let cost = format::total(cost).map(|cost| format!(", {cost}"));
                let spent = format!("{attempts}, {time}{}", cost.unwrap_or_default());
                let mut text = format!("{}\n{spent}", paint(BOLD, ended));
                // Runs of older versions did not tell what was verified.
                if event.json.contains("\"verified\"") {
                    text.push_str(&format!("\n{}", tasks.summary()));
                }
                if let Some(hint) = hint {
                    text.push_str(&format!("\nhint: {hint}"));
                }
                return Some(text);
            }
            EventKind::AttemptFinished(attempt) => self.uncounted += u64::from(!attempt.counted),
            EventKind::WaitOver => return Some("resumed".to_owned()),
            _ => {}
        }
        plain::line(&read)
    }
}

/// A line in pieces that fit; one that has to be broken loses its colours.
fn pieces(line: &str, room: usize) -> Vec<String> {
    if ui::table::shown(line) <= room {
        return vec![line.to_owned()];
    }
    let bare = anstream::adapter::strip_str(line).to_string();
    fold(&bare, room).into_iter().map(std::borrow::Cow::into_owned).collect()
}

#[cfg(test)]
mod tests;
