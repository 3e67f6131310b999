//! One attempt: where its log is, what is in it, and how it ended.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use ralph_core::agent::{AgentKind, LogReader, Setup, StreamParser, partial_line};
use ralph_core::logs::{LogDir, LogStream};
use ralph_core::model::{Attempt, Task, Timestamp};
use ralph_core::text::clean_bytes;
use serde_json::json;

use super::Args;
use super::follow;
use super::page::{Page, TAIL_LINES, last_lines};
use super::story;
use super::target::{self, Standing, Target, Wanted};
use crate::command_error::{CommandError, CommandResult};
use crate::settings::{Settings, build_agent};
use crate::ui::{self, format};
use crate::workspace::{Workspace, now};
use crate::{interrupts, output};

/// How much of standard error is looked at for its last lines.
const ERRORS_SEEN: u64 = 16 * 1024;
/// How much of a log is copied at once.
const CHUNK: usize = 64 * 1024;

pub fn run(workspace: &Workspace, task: Task, args: &Args) -> CommandResult {
    let run = args.run.as_deref().map(|id| story::named(workspace, id));
    let wanted =
        Wanted { number: args.attempt, try_number: args.try_number, run: run.transpose()?.map(|run| run.id) };
    if args.follow {
        interrupts::quit_on_interrupt()?;
        return follow::task(workspace, &task, &wanted, args);
    }
    let Some(target) = target::find(workspace, &task, &wanted)? else {
        return Err(no_attempt(workspace, &task, &wanted));
    };
    let path = target.path(workspace);
    if args.json {
        output::json(&document(&task, &target, &path));
    } else if args.path {
        output::line(path.display());
    } else {
        let mut shown = Shown::open(workspace, &task, &target, args)?;
        while shown.more(None)? && !output::is_closed() {}
        shown.end(&target.standing);
    }
    Ok(ExitCode::SUCCESS)
}

pub fn no_attempt(workspace: &Workspace, task: &Task, wanted: &Wanted) -> CommandError {
    let name = task.name();
    let history = workspace.store.history(Some(&task.id)).unwrap_or_default();
    let is_it = |attempt: &&Attempt| match (wanted.number, wanted.try_number) {
        (Some(n), _) => attempt.attempt == n,
        (None, Some(n)) => attempt.attempt_number == n,
        (None, None) => true,
    };
    let without_log = history.iter().rev().find(is_it).filter(|one| one.log_path.is_none());
    if let Some(attempt) = without_log {
        let (number, outcome) = (attempt.attempt, format::outcome_line(attempt));
        return CommandError::usage(format_args!(
            "attempt {number} of {name} ran only the gate; it has no log"
        ))
        .hint(format_args!("it ended with: {outcome}"));
    }
    let which = match (wanted.number, wanted.try_number) {
        (Some(n), _) => format!("has no attempt {n}"),
        (None, Some(n)) => format!("has no attempt ({n})"),
        (None, None) if wanted.run.is_some() => "has no attempts".to_owned(),
        (None, None) => {
            return CommandError::usage(format_args!("{name} has no attempts yet"))
                .hint("run `ralph status` to see the plan");
        }
    };
    let run = wanted.run.as_ref();
    let run = run.map(|run| format!(" in run {run}")).unwrap_or_default();
    CommandError::usage(format_args!("{name} {which}{run}"))
        .hint(format_args!("run `ralph history {name}` to see its attempts"))
}

fn document(task: &Task, target: &Target, path: &Path) -> serde_json::Value {
    let outcome = match &target.standing {
        Standing::Ended(attempt) => Some(attempt.outcome),
        Standing::UnderWay | Standing::Lost => None,
    };
    json!({
        "task_id": task.id,
        "attempt": target.number,
        "attempt_number": target.try_number,
        "path": path,
        "agent": target.agent,
        "model": target.model,
        "started_at": target.started_at,
        "under_way": matches!(target.standing, Standing::UnderWay),
        "outcome": outcome,
        "exists": path.exists(),
    })
}

/// A log that is being shown.
pub struct Shown {
    body: Body,
    /// The directory of the log, and the name of what it has from standard error.
    errors: (Rc<LogDir>, String),
}

enum Body {
    Raw(LogStream, Vec<u8>),
    Read(LogReader, Page),
}

impl Shown {
    /// Opens the log and shows what stands above it.
    pub fn open(
        workspace: &Workspace,
        task: &Task,
        target: &Target,
        args: &Args,
    ) -> Result<Self, CommandError> {
        let path = target.path(workspace);
        let settings = workspace.settings()?;
        let missing = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => gone(task, target, &settings),
            _ => CommandError::environment(format_args!("cannot read {}: {error}", path.display())),
        };
        let opened = LogDir::of_record(workspace.project.root(), &target.log);
        let (dir, name) = opened.map_err(missing)?;
        let dir = Rc::new(dir);
        let log = LogStream::open(dir.clone(), &name).map_err(missing)?;
        let stem = name.strip_suffix(".jsonl").unwrap_or(&name);
        let errors = (dir, format!("{stem}.stderr.log"));
        let body = if args.raw {
            Body::Raw(log, vec![0; CHUNK])
        } else {
            let parser = parser(target, &settings);
            let reader = LogReader::new(log, parser);
            let page = Page::new(task, ui::width(), target.started_at);
            output::text(page.header(task, target));
            Body::Read(reader, page)
        };
        Ok(Self { body, errors })
    }

    /// Shows what is there next; whether anything was. `arrived` is now, where it has just come.
    pub fn more(&mut self, arrived: Option<Timestamp>) -> Result<bool, CommandError> {
        let read = match &mut self.body {
            Body::Raw(log, buffer) => log.read(buffer).map(|n| {
                output::bytes(buffer.get(..n).unwrap_or_default());
                n > 0
            }),
            Body::Read(reader, page) => {
                let mut text = String::new();
                let read = reader.read(&mut |at, told| {
                    text.push_str(&page.told(at.or(arrived), told));
                });
                output::text(text);
                read
            }
        };
        read.map_err(|e| CommandError::environment(format_args!("cannot read the log: {e}")))
    }

    /// Shows what stands below it.
    pub fn end(self, standing: &Standing) {
        if let Body::Read(reader, mut page) = self.body {
            let mut text = String::new();
            let report = reader.finish(&mut |at, told| text.push_str(&page.told(at, told)));
            let (dir, name) = &self.errors;
            text.push_str(&page.end(standing, &report, &errors(dir, name)));
            output::text(text);
        }
    }
}

/// The reader for the agent that made the attempt; for one that is not known any more, a reader of text.
fn parser(target: &Target, settings: &Settings) -> Box<dyn StreamParser> {
    let name = target.agent.as_deref().unwrap_or_default();
    match build_agent(name, &settings.agents) {
        Ok(agent) => agent.parser(),
        Err(_) => {
            output::note(format_args!(
                "note: the agent `{name}` is no longer in the settings, so its log is shown as text"
            ));
            AgentKind::Command.build(Setup::default()).parser()
        }
    }
}

/// The end of standard error.
fn errors(dir: &LogDir, name: &str) -> Vec<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = dir.read(name)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(ERRORS_SEEN)))?;
        let mut end = Vec::new();
        file.take(ERRORS_SEEN).read_to_end(&mut end)?;
        if length > ERRORS_SEEN {
            // What was cut in two may be half a secret, which nothing would recognize.
            end.drain(..partial_line(&end));
        }
        Ok(end)
    };
    // Most attempts have none.
    last_lines(&clean_bytes(&read().unwrap_or_default()), TAIL_LINES)
}

/// A log that is not there any more, and which setting that may be due to.
fn gone(task: &Task, target: &Target, settings: &Settings) -> CommandError {
    let days = *settings.logs.keep_days;
    let room = *settings.logs.max_mb;
    let ended = match &target.standing {
        Standing::Ended(attempt) => Some(attempt.started_at.plus(Duration::from_millis(attempt.duration_ms))),
        Standing::UnderWay | Standing::Lost => None,
    };
    let limits = crate::commands::run::log_limits(settings);
    let age = ended.map_or(Duration::ZERO, |ended| now().since(ended));
    let why = match (limits.max_age, limits.max_bytes) {
        (Some(most), _) if age > most => {
            format!("was deleted after {days} days ([logs] keep_days = {days})")
        }
        (_, Some(_)) => {
            format!("was deleted because logs exceeded {room} MB ([logs] max_mb = {room})")
        }
        _ => "is missing; Ralph did not delete it".to_owned(),
    };
    CommandError::environment(format_args!("the log of attempt {} of {} {why}", target.number, task.name()))
        .hint(format_args!(
            "`ralph history {}` and `ralph failures show {}` still show the result",
            task.name(),
            task.name()
        ))
}
