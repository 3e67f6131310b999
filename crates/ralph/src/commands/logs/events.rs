//! The events of a run: as JSON, or as the lines that `ralph run` prints in a pipe, with the time in front.

use std::process::ExitCode;

use ralph_core::event::EventKind;
use ralph_core::model::{RunId, TaskId};
use ralph_core::store::{RunRow, StoredEvent};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Args, LOOK_AGAIN};
use crate::command_error::{CommandError, CommandResult};
use crate::secrets::mask_json;
use crate::ui::style::{BOLD, DIM, paint};
use crate::ui::table::block;
use crate::ui::{self, format, lines};
use crate::workspace::{Workspace, is_active};
use crate::{interrupts, output};

/// Events read at once.
const PORTION: u32 = 500;
/// Columns of the time in front.
const TIME: usize = 10;

/// Shows a run's events; with a task, only its events, as JSON lines.
pub fn run(workspace: &Workspace, task: Option<&TaskId>, args: &Args) -> CommandResult {
    let run = match &args.run {
        Some(id) => workspace.run(id)?,
        None => workspace
            .present_run()?
            .ok_or_else(|| CommandError::usage("no runs yet").hint("start one with `ralph run`"))?,
    };
    if args.path {
        return path(workspace, &run);
    }
    if args.json && !args.follow {
        return document(workspace, run, args);
    }
    if args.follow {
        interrupts::quit_on_interrupt()?;
    }
    let mut story = Story::new(ui::width());
    for_each(workspace, &run, args, &mut |event| match args.raw || args.json {
        true if task.is_none_or(|task| is_about(event, task)) => output::line(&event.json),
        true => {}
        false => output::text(story.line(event)),
    })
}

fn is_about(event: &StoredEvent, task: &TaskId) -> bool {
    #[derive(Deserialize)]
    struct OfTask {
        task_id: TaskId,
    }
    serde_json::from_str(&event.json).is_ok_and(|of: OfTask| of.task_id == *task)
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

fn document(workspace: &Workspace, run: RunRow, args: &Args) -> CommandResult {
    let mut events = Vec::new();
    for_each(workspace, &run, args, &mut |event| {
        events.extend(RawValue::from_string(event.json.clone()).ok());
    })?;
    let root = workspace.project.root();
    output::json(&Document {
        run_id: run.id.clone(),
        path: run.output.as_ref().map(|path| root.join(path)),
        active: is_active(&run),
        run,
        events,
    });
    Ok(ExitCode::SUCCESS)
}

/// Passes on a run's events, and the new ones too where it is followed, until it has ended or nobody reads. Secrets
/// were masked when they were stored; the reader may know more of them.
fn for_each(
    workspace: &Workspace,
    run: &RunRow,
    args: &Args,
    each: &mut dyn FnMut(&StoredEvent),
) -> CommandResult {
    let store = &workspace.store;
    let mut last = 0;
    loop {
        // Checked first, so that events written until then are read.
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
pub struct Story {
    width: usize,
    day: String,
    /// Attempts so far that count against no task; the end of a run names only the others.
    uncounted: u64,
    names: lines::WorkerNames,
}

impl Story {
    pub fn new(width: usize) -> Self {
        Self { width, day: String::new(), uncounted: 0, names: lines::WorkerNames::default() }
    }

    pub fn line(&mut self, event: &StoredEvent) -> String {
        let Some(line) = self.words(event) else { return String::new() };
        let mut text = String::new();
        let local = event.at.local();
        let (day, clock) = local.split_once(' ').unwrap_or((&local, ""));
        if day != self.day {
            text.push_str(&format!("{}\n", paint(DIM, day)));
            self.day = day.to_owned();
        }
        let time = paint(DIM, format_args!("{clock:<TIME$}"));
        text + &block(&line, &time, &" ".repeat(TIME), self.width)
    }

    /// An event in words; of a kind that this version does not know, at least its name.
    fn words(&mut self, event: &StoredEvent) -> Option<String> {
        let Some(read) = event.read() else {
            return Some(format!("· {}", event.kind.replace('_', " ")));
        };
        match &read.kind {
            EventKind::RunFinished {
                reason, hint, exit_code, attempts, cost, duration_ms, tasks, ..
            } => {
                let ended = paint(BOLD, format::run_end(*exit_code == 0, reason));
                let spent = format::spent(u64::from(*attempts), self.uncounted, *duration_ms, cost);
                let mut lines = vec![ended, spent];
                // Runs of older versions did not tell what was verified.
                if event.json.contains("\"verified\"") {
                    lines.push(tasks.summary());
                }
                lines.extend(hint.as_ref().map(|hint| format!("hint: {hint}")));
                return Some(lines.join("\n"));
            }
            EventKind::AttemptFinished(attempt) => self.uncounted += u64::from(!attempt.counted),
            EventKind::WaitOver => return Some("resumed".to_owned()),
            _ => {}
        }
        let line = lines::plain_line(&read)?;
        Some(self.names.name(&read, line))
    }
}

#[cfg(test)]
mod tests;
