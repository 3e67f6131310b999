//! The log of an attempt: which one is meant, where it is, showing it, and following it while the run goes on.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;

use ralph_core::agent::{AgentKind, LogReader, Setup, StreamParser, partial_line};
use ralph_core::host::{Host, ThisHost, is_stale};
use ralph_core::logs::{LogDir, LogStream, errors_name, prompt_name};
use ralph_core::model::{Attempt, RunId, Task, Timestamp};
use ralph_core::store::{Claim, Store};
use ralph_core::text::{clean_bytes, mask_secrets};
use serde_json::json;

use super::page::{Page, TAIL_LINES, last_lines};
use super::{Args, LOOK_AGAIN};
use crate::command_error::{CommandError, CommandResult};
use crate::settings::{Settings, build_agent};
use crate::ui::{self, format};
use crate::workspace::{Workspace, is_active, now};
use crate::{interrupts, output};

/// How much of standard error is read for its last lines.
const ERRORS_READ: u64 = 16 * 1024;
/// More than Ralph keeps of a prompt.
const PROMPT_READ: u64 = 1024 * 1024;
/// How much of a raw log is copied at once.
const CHUNK: usize = 64 * 1024;

pub fn run(workspace: &Workspace, task: &Task, args: &Args) -> CommandResult {
    let run = args.run.as_deref().map(|id| workspace.run(id)).transpose()?;
    let logs = TaskLogs { workspace, task, args, run: run.map(|run| run.id) };
    if args.follow {
        interrupts::quit_on_interrupt()?;
        return logs.follow();
    }
    let Some(logged) = logs.newest()? else { return Err(logs.no_attempt()) };
    let path = logged.path(workspace);
    if args.json {
        let attempt = &logged.attempt;
        output::json(&json!({
            "task_id": task.id,
            "attempt": attempt.attempt,
            "attempt_number": attempt.attempt_number,
            "path": path,
            "agent": attempt.agent,
            "model": attempt.model,
            "started_at": attempt.started_at,
            "under_way": logged.state == State::Running,
            "outcome": (logged.state == State::Ended).then_some(attempt.outcome),
            "exists": path.exists(),
        }));
    } else if args.path {
        output::line(path.display());
    } else {
        let mut shown = ShownLog::open(workspace, task, &logged, args)?;
        shown.show_rest(None)?;
        shown.end(&logged);
    }
    Ok(ExitCode::SUCCESS)
}

/// The logs of a task that the command line asks for.
struct TaskLogs<'a> {
    workspace: &'a Workspace,
    task: &'a Task,
    args: &'a Args,
    /// Only attempts of this run.
    run: Option<RunId>,
}

impl TaskLogs<'_> {
    fn all(&self) -> Result<Vec<LoggedAttempt>, CommandError> {
        LoggedAttempt::all(&self.workspace.store, self.task)
    }

    fn newest(&self) -> Result<Option<LoggedAttempt>, CommandError> {
        let is_wanted = |logged: &LoggedAttempt| self.has_number(&logged.attempt) && self.is_in_run(logged);
        Ok(self.all()?.into_iter().rfind(is_wanted))
    }

    fn has_number(&self, attempt: &Attempt) -> bool {
        self.args.attempt.is_none_or(|n| attempt.attempt == n)
            && self.args.try_number.is_none_or(|n| attempt.attempt_number == n)
    }

    fn is_in_run(&self, logged: &LoggedAttempt) -> bool {
        self.run.as_ref().is_none_or(|run| logged.attempt.run_id.as_ref() == Some(run))
    }

    /// Whether a run is active that may make such an attempt.
    fn may_come(&self) -> Result<bool, CommandError> {
        match &self.run {
            Some(run) => Ok(self.workspace.store.run(run)?.as_ref().is_some_and(is_active)),
            None => self.workspace.has_active_run(),
        }
    }

    fn no_attempt(&self) -> CommandError {
        let name = self.task.name();
        let history = self.workspace.store.history(Some(&self.task.id)).unwrap_or_default();
        let newest = history.iter().rev().find(|attempt| self.has_number(attempt));
        if let Some(attempt) = newest.filter(|attempt| attempt.log_path.is_none()) {
            return CommandError::usage(format_args!(
                "attempt {} of {name} ran only the gate; it has no log",
                attempt.attempt
            ))
            .hint(format_args!("it ended with: {}", format::outcome_line(attempt)))
            .hint(format_args!("its output: ralph failures show {name} {}", attempt.attempt));
        }
        let which = match (self.args.attempt, self.args.try_number) {
            (Some(n), _) => format!("has no attempt {n}"),
            (None, Some(n)) => format!("has no attempt ({n})"),
            (None, None) if self.run.is_some() => "has no attempts".to_owned(),
            (None, None) => {
                return CommandError::usage(format_args!("{name} has no attempts yet"))
                    .hint("run `ralph status` to see the plan");
            }
        };
        let run = self.run.as_ref().map(|run| format!(" in run {run}")).unwrap_or_default();
        CommandError::usage(format_args!("{name} {which}{run}"))
            .hint(format_args!("run `ralph history {name}` to see its attempts"))
    }

    /// Shows the task's attempts as they are made, until the run ends.
    fn follow(&self) -> CommandResult {
        let mut last = None;
        while let Some(logged) = self.wait_for_attempt(last)? {
            if last.is_some() && !self.args.raw {
                output::line("");
            }
            self.follow_one(&logged)?;
            let is_only_one = self.args.attempt.is_some() || self.args.try_number.is_some();
            if output::is_closed() || is_only_one {
                return Ok(ExitCode::SUCCESS);
            }
            last = Some(logged.attempt.attempt_number);
        }
        match last {
            Some(_) => Ok(ExitCode::SUCCESS),
            None => Err(self.no_attempt()),
        }
    }

    /// The attempt after `last`, or the newest one to begin with; waits for it while a run is active.
    fn wait_for_attempt(&self, last: Option<u32>) -> Result<Option<LoggedAttempt>, CommandError> {
        loop {
            // Checked first, so that an attempt that began until then is found.
            let may_come = self.may_come()?;
            let is_next =
                |logged: &LoggedAttempt| Some(logged.attempt.attempt_number) > last && self.is_in_run(logged);
            let found = match last {
                None => self.newest()?,
                Some(_) => self.all()?.into_iter().find(is_next),
            };
            if found.is_some() || !may_come || output::wait_unless_closed(LOOK_AGAIN) {
                return Ok(found);
            }
        }
    }

    /// Shows an attempt to its end, or until nobody reads.
    fn follow_one(&self, logged: &LoggedAttempt) -> Result<(), CommandError> {
        let mut shown = match ShownLog::open(self.workspace, self.task, logged, self.args) {
            Ok(shown) => shown,
            // The log of an attempt that is over may be deleted; others are to come.
            Err(error) if logged.state != State::Running && self.workspace.has_active_run()? => {
                output::note(error.message());
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        // What is there already arrived at some time before.
        shown.show_rest(None)?;
        if logged.state != State::Running {
            shown.end(logged);
            return Ok(());
        }
        loop {
            let number = logged.attempt.attempt_number;
            let now_is = self.all()?.into_iter().find(|logged| logged.attempt.attempt_number == number);
            // After that check, so that the log of an attempt that ended is read to its end.
            shown.show_rest(Some(now()))?;
            match now_is {
                Some(logged) if logged.state == State::Running => {}
                Some(over) => {
                    shown.end(&over);
                    return Ok(());
                }
                // Its task was deleted, or the attempt given back.
                None => return Ok(()),
            }
            if output::wait_unless_closed(LOOK_AGAIN) {
                return Ok(());
            }
        }
    }
}

/// An attempt that has a log. Of one that is not recorded yet only what its claim tells is known.
#[derive(Debug)]
pub struct LoggedAttempt {
    pub attempt: Attempt,
    /// The log's path below the project's root.
    pub log: String,
    pub state: State,
    /// The machine that works on it, of one that is not recorded yet.
    pub host: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Running,
    /// Ralph crashed; the next run records it.
    Lost,
    Ended,
}

impl LoggedAttempt {
    /// A task's attempts that have a log, oldest first; a running one is the last.
    pub fn all(store: &Store, task: &Task) -> Result<Vec<Self>, CommandError> {
        // Claims first: an attempt that ends between the two reads is then in both instead of in neither.
        let claims = store.claims()?;
        let history = store.history(Some(&task.id))?;
        let mut all: Vec<Self> = history.into_iter().filter_map(Self::recorded).collect();
        if let Some(claim) = claims.into_iter().find(|claim| claim.task_id == task.id) {
            let running = Self::claimed(task, claim, store.attempt_counts(&task.id)?.counted);
            let last = all.last().map_or(0, |logged| logged.attempt.attempt_number);
            all.extend(running.filter(|logged| logged.attempt.attempt_number > last));
        }
        Ok(all)
    }

    fn recorded(attempt: Attempt) -> Option<Self> {
        Some(Self { log: attempt.log_path.clone()?, attempt, state: State::Ended, host: None })
    }

    fn claimed(task: &Task, claim: Claim, counted: u32) -> Option<Self> {
        let lost = is_stale(&claim, ThisHost::new().liveness(&claim.owner), now());
        let known = claim.attempt;
        let host = Some(claim.owner.host);
        Some(Self {
            host,
            attempt: Attempt {
                attempt: counted + 1,
                attempt_number: Some(known.attempt_number).filter(|number| *number > 0)?,
                run_id: Some(claim.run_id),
                agent: known.agent,
                model: known.model?,
                ..Attempt::new(task, known.started_at?)
            },
            log: known.log_path?,
            state: if lost { State::Lost } else { State::Running },
        })
    }

    pub fn is_running(&self) -> bool {
        self.state == State::Running
    }

    /// The prompt that it had, clean and masked.
    pub fn prompt(&self, workspace: &Workspace, task: &Task) -> Result<String, CommandError> {
        let read = || -> io::Result<Vec<u8>> {
            let (dir, name) = LogDir::of_record(workspace.project.root(), &self.log)?;
            let mut bytes = Vec::new();
            dir.read(&prompt_name(&name))?.take(PROMPT_READ).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().map_err(|error| {
            let (attempt, name) = (self.attempt.attempt, task.name());
            let what = format!("the prompt of attempt {attempt} of {name}");
            match error.kind() {
                io::ErrorKind::NotFound => CommandError::environment(format_args!("{what} was not kept"))
                    .hint(
                        "prompts are kept and deleted with their logs; earlier versions of Ralph kept none",
                    ),
                _ => CommandError::environment(format_args!("cannot read {what}: {error}")),
            }
        })?;
        Ok(mask_secrets(&clean_bytes(&bytes)).into_owned())
    }

    fn path(&self, workspace: &Workspace) -> PathBuf {
        workspace.project.root().join(&self.log)
    }
}

/// A log as text without styles and as wide as it comes, for views. What it says is clean and masked.
pub struct LogText(AttemptReader);

impl LogText {
    pub fn open(workspace: &Workspace, task: &Task, logged: &LoggedAttempt) -> Result<Self, CommandError> {
        AttemptReader::open(workspace, task, logged, usize::MAX).map(Self)
    }

    /// What was written since the last time, some of it; none if that is nothing.
    pub fn more(&mut self) -> io::Result<Option<String>> {
        let (text, more) = self.0.next(None)?;
        Ok(more.then(|| anstream::adapter::strip_str(&text).to_string()))
    }

    /// What stands below the log of an attempt that is over: how it ended.
    pub fn end(self, logged: &LoggedAttempt) -> String {
        anstream::adapter::strip_str(&self.0.end(logged)).to_string()
    }
}

/// A log that is being shown.
struct ShownLog {
    body: Body,
}

enum Body {
    Raw(LogStream, Vec<u8>),
    Read(Box<AttemptReader>),
}

/// Reads the log of an attempt as text for people, also while it grows.
pub struct AttemptReader {
    reader: LogReader,
    /// Whether the agent is in the settings, so that its own events are read.
    is_known: bool,
    page: Page,
    dir: Rc<LogDir>,
    /// The file of the agent's standard error.
    stderr: String,
}

impl AttemptReader {
    /// `width` is how many columns a line may have.
    pub fn open(
        workspace: &Workspace,
        task: &Task,
        logged: &LoggedAttempt,
        width: usize,
    ) -> Result<Self, CommandError> {
        let settings = workspace.settings()?;
        let (log, dir, name) = open_log(workspace, task, logged, &settings)?;
        let (parser, is_known) = parser(&logged.attempt, &settings);
        Ok(Self {
            reader: LogReader::new(log, parser),
            is_known,
            page: Page::new(task, width, logged.attempt.started_at),
            dir,
            stderr: errors_name(&name),
        })
    }

    /// What the next part of the log tells, and whether there may be more. `arrived` is now, where it has just come.
    pub fn next(&mut self, arrived: Option<Timestamp>) -> io::Result<(String, bool)> {
        let Self { reader, page, .. } = self;
        let mut text = String::new();
        let more = reader.read(&mut |at, entry| text.push_str(&page.entry(at.or(arrived), entry)))?;
        Ok((text, more))
    }

    /// What stands below the log.
    pub fn end(mut self, logged: &LoggedAttempt) -> String {
        let mut text = String::new();
        let report = self.reader.finish(&mut |at, entry| text.push_str(&self.page.entry(at, entry)));
        // Most attempts have no standard error.
        let errors = end_of_file(&self.dir, &self.stderr).unwrap_or_default();
        let errors = last_lines(&clean_bytes(&errors), TAIL_LINES);
        text.push_str(&self.page.end(logged, &report, &errors));
        text
    }
}

fn open_log(
    workspace: &Workspace,
    task: &Task,
    logged: &LoggedAttempt,
    settings: &Settings,
) -> Result<(LogStream, Rc<LogDir>, String), CommandError> {
    if let Some(elsewhere) = elsewhere(workspace, task, logged)? {
        return Ok(elsewhere);
    }
    let missing = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => deleted(task, logged, settings),
        _ => CommandError::environment(format_args!(
            "cannot read {}: {error}",
            logged.path(workspace).display()
        )),
    };
    let (dir, name) = LogDir::of_record(workspace.project.root(), &logged.log).map_err(missing)?;
    let dir = Rc::new(dir);
    let log = LogStream::open(dir.clone(), &name).map_err(missing)?;
    Ok((log, dir, name))
}

/// The end of a log that another machine has, as far as the database has it; none where the log is here.
fn elsewhere(
    workspace: &Workspace,
    task: &Task,
    logged: &LoggedAttempt,
) -> Result<Option<(LogStream, Rc<LogDir>, String)>, CommandError> {
    let here =
        LogDir::of_record(workspace.project.root(), &logged.log).and_then(|(dir, name)| dir.read(&name));
    if here.is_ok() {
        return Ok(None);
    }
    let own = ThisHost::new().owner().host;
    if let Some(host) = logged.host.as_ref().filter(|host| **host != own) {
        let what = format!("attempt {} of {}", logged.attempt.attempt, task.name());
        return Err(CommandError::environment(format_args!("the log of {what} is on {host}"))
            .hint("what it said last is shown here when it has ended"));
    }
    let Some(output) = workspace.store.attempt_output(&task.id, logged.attempt.attempt_number)? else {
        return Ok(None);
    };
    output::note(format_args!(
        "note: this is the end of the log; all of it is on {} in {}",
        output.host, logged.log
    ));
    let failed = |error: io::Error| CommandError::environment(format_args!("cannot show the log: {error}"));
    // The same readers read it.
    let place = tempfile::tempdir().map_err(failed)?;
    let dir = Rc::new(LogDir::open(place.path()).map_err(failed)?);
    let name = "end.jsonl".to_owned();
    // A last line that is longer than what is stored was left out.
    let text = if output.tail.trim().is_empty() { &output.final_text } else { &output.tail };
    dir.write_whole(&name, text.as_bytes()).map_err(failed)?;
    let log = LogStream::open(Rc::clone(&dir), &name).map_err(failed)?;
    Ok(Some((log, dir, name)))
}

impl ShownLog {
    /// Opens the log and shows what stands above it.
    fn open(
        workspace: &Workspace,
        task: &Task,
        logged: &LoggedAttempt,
        args: &Args,
    ) -> Result<Self, CommandError> {
        if args.raw {
            let (log, ..) = open_log(workspace, task, logged, &workspace.settings()?)?;
            return Ok(Self { body: Body::Raw(log, vec![0; CHUNK]) });
        }
        let reader = AttemptReader::open(workspace, task, logged, ui::width())?;
        if !reader.is_known {
            let name = logged.attempt.agent.as_deref().unwrap_or_default();
            output::note(format_args!(
                "note: the agent `{name}` is no longer in the settings, so its log is shown as text"
            ));
        }
        output::text(reader.page.header(task, logged));
        Ok(Self { body: Body::Read(Box::new(reader)) })
    }

    /// Shows what was written since the last time. `arrived` is now, where it has just come.
    fn show_rest(&mut self, arrived: Option<Timestamp>) -> Result<(), CommandError> {
        let failed = |e| CommandError::environment(format_args!("cannot read the log: {e}"));
        while self.show_some(arrived).map_err(failed)? && !output::is_closed() {}
        Ok(())
    }

    fn show_some(&mut self, arrived: Option<Timestamp>) -> io::Result<bool> {
        match &mut self.body {
            Body::Raw(log, buffer) => {
                let length = log.read(buffer)?;
                output::bytes(buffer.get(..length).unwrap_or_default());
                Ok(length > 0)
            }
            Body::Read(reader) => {
                let (text, more) = reader.next(arrived)?;
                output::text(text);
                Ok(more)
            }
        }
    }

    /// Shows what stands below the log.
    fn end(self, logged: &LoggedAttempt) {
        if let Body::Read(reader) = self.body {
            output::text(reader.end(logged));
        }
    }
}

/// The reader for the agent that made the attempt; for one that is no longer in the settings, a reader of text. Whether the agent
/// is known.
fn parser(attempt: &Attempt, settings: &Settings) -> (Box<dyn StreamParser>, bool) {
    let name = attempt.agent.as_deref().unwrap_or_default();
    match build_agent(name, &settings.agents) {
        Ok(agent) => (agent.parser(), true),
        Err(_) => (AgentKind::Command.build(Setup::default()).parser(), false),
    }
}

fn end_of_file(dir: &LogDir, name: &str) -> io::Result<Vec<u8>> {
    let mut file = dir.read(name)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(ERRORS_READ)))?;
    let mut end = Vec::new();
    file.take(ERRORS_READ).read_to_end(&mut end)?;
    if length > ERRORS_READ {
        // What was cut in two may be half a secret, which nothing would recognize.
        end.drain(..partial_line(&end));
    }
    Ok(end)
}

/// A log that is not there any more, and which setting that may be due to.
fn deleted(task: &Task, logged: &LoggedAttempt, settings: &Settings) -> CommandError {
    let (days, room) = (*settings.logs.keep_days, *settings.logs.max_mb);
    let limits = crate::commands::run::log_limits(settings);
    let age = now().since(logged.attempt.ended_at());
    let why = match (limits.max_age, limits.max_bytes) {
        (Some(most), _) if logged.state == State::Ended && age > most => {
            format!("was deleted after {days} days ([logs] keep_days = {days})")
        }
        (_, Some(_)) => {
            format!("was deleted because logs exceeded {room} MB ([logs] max_mb = {room})")
        }
        _ => "is missing; Ralph did not delete it".to_owned(),
    };
    let (attempt, name) = (logged.attempt.attempt, task.name());
    CommandError::environment(format_args!("the log of attempt {attempt} of {name} {why}"))
        .hint(format_args!("`ralph history {name}` and `ralph failures show {name}` still show the result"))
}
