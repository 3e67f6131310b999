//! `ralph run --detach`: the same run in the background, with its display in a file.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use ralph_core::agent::{Activity, LogEntry, LogReader};
use ralph_core::event::EventKind;
use ralph_core::exit::RunExit;
use ralph_core::files::unguessable;
use ralph_core::logs::{LogDir, LogStream};
use ralph_core::model::RunId;
use ralph_core::store::RunRow;
use serde_json::json;

use super::Args;
use crate::command_error::{self, CommandError, CommandResult};
use crate::commands::doctor::{Level, agents, machine};
use crate::facts::{CurrentWait, PlanFacts, RunFacts};
use crate::output;
use crate::settings::{Settings, build_agent};
use crate::workspace::{Workspace, now};

/// The variable by which a run in the background knows where it prints.
const OUTPUT: &str = "RALPH_DETACHED_OUTPUT";
/// How long a run may take to be on record.
const START: Duration = Duration::from_secs(20);
/// How long the agent's first event is waited for.
const FIRST_EVENT: Duration = Duration::from_secs(10);
/// The same for an agent whose login was not found: it may print events before its service refuses it.
const FIRST_ANSWER: Duration = Duration::from_secs(20);
/// How long a run is watched after it.
const SETTLE: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// How much of what a run that did not start printed is shown.
const SHOWN: u64 = 16 * 1024;

/// Starts the run as a process of its own and waits until its agent works, so that a run that cannot work is told at once.
pub(super) fn detach(workspace: &Workspace, settings: &Settings, args: &Args) -> CommandResult {
    let mut started = Started::new(workspace, settings)?;
    let start = started.wait(workspace, settings, Until::Works)?;
    let Started { child, shown, .. } = &started;
    match start {
        Start::Exited { recorded } => Ok(started.show_output(recorded)),
        Start::Works(run) => {
            report(args, child, &run.id, shown, None);
            if !args.json && !args.quiet {
                output::line(HOW_TO_LOOK);
                if let Some(wait) = CurrentWait::read(&workspace.store, &run.id)? {
                    output::line(format_args!("It is waiting for {}", wait.reason));
                }
            }
            Ok(ExitCode::SUCCESS)
        }
        Start::Ended(run) => {
            let end = RunFacts::read(&workspace.store, &PlanFacts::read(workspace)?, &run)?;
            report(args, child, &run.id, shown, Some(&end));
            if !is_failure(&end) {
                return Ok(ExitCode::SUCCESS);
            }
            let mut hints: Vec<String> = end.hint.iter().cloned().collect();
            hints.push(format!("see its output: {shown}"));
            command_error::print(reason(&end), &hints);
            Ok(ExitCode::from(u8::try_from(exit_code(&end)).unwrap_or(1)))
        }
    }
}

/// The same for a person who looks on: as soon as the run is on record. Else the exit code of what it said instead.
pub(super) fn start(
    workspace: &Workspace,
    settings: &Settings,
) -> Result<Result<(), ExitCode>, CommandError> {
    let mut started = Started::new(workspace, settings)?;
    Ok(match started.wait(workspace, settings, Until::Recorded)? {
        Start::Exited { recorded } => Err(started.show_output(recorded)),
        Start::Works(_) | Start::Ended(_) => Ok(()),
    })
}

/// A run's process in the background, and where it prints.
struct Started {
    child: Child,
    dir: LogDir,
    name: String,
    /// The path of its output below the project's root.
    shown: String,
    login_found: bool,
}

impl Started {
    fn new(workspace: &Workspace, settings: &Settings) -> Result<Self, CommandError> {
        let login_found = check_first(workspace, settings)?;
        let logs = workspace.project.logs();
        let name = output_name();
        let dir = LogDir::make(&logs).map_err(|error| CommandError::cannot_write(&logs, &error))?;
        let shown = shown_path(workspace, &dir.path_of(&name));
        let child = spawn(&dir, &name, &shown)?;
        Ok(Self { child, dir, name, shown, login_found })
    }

    fn wait(
        &mut self,
        workspace: &Workspace,
        settings: &Settings,
        until: Until,
    ) -> Result<Start, CommandError> {
        let Self { shown, login_found, .. } = self;
        Wait { workspace, settings, output: shown, login_found: *login_found, until }
            .for_work(&mut self.child)
    }

    fn show_output(&mut self, recorded: bool) -> ExitCode {
        let code = show_output(&mut self.child, &self.dir, &self.name);
        if !recorded {
            let _ = self.dir.remove(&self.name);
        }
        code
    }
}

/// What is waited for after a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    Recorded,
    Works,
}

const HOW_TO_LOOK: &str = "  ralph status --watch   watch its progress\n  ralph logs -f          follow its output\n  \
     ralph pause            pause after the current attempt\n  ralph stop             stop it";

/// What can be seen without starting anything: a plan, the agent's program, and whether git allows what the settings ask for.
/// The run itself checks the same, and more. `false` if the agent may not be logged in.
fn check_first(workspace: &Workspace, settings: &Settings) -> Result<bool, CommandError> {
    if workspace.store.counts()?.total == 0 {
        return Err(CommandError::no_plan("there is no plan").hint("add a task: ralph task add TITLE"));
    }
    let project = &workspace.project;
    let team = settings.team();
    let git = machine::git_obstacles(project, settings, Some(&workspace.store)).into_iter();
    let mut stops = agents::missing(settings, &team, project.root())
        .into_iter()
        .chain(git.filter(|finding| finding.level == Level::Error));
    if let Some(finding) = stops.next() {
        let error = CommandError::environment(&finding.message);
        return Err(finding.fix.into_iter().fold(error, CommandError::hint));
    }
    if let Some(name) = team.first()
        && let Some(agent) = settings.agents.get(*name)
        && agents::credentials_of(agent).is_some_and(|seen| seen.is_empty())
    {
        let login = agent.kind.facts().map_or("", |facts| facts.login);
        output::note(format_args!("note: no login found for {name}; if it is not logged in: {login}"));
        return Ok(false);
    }
    Ok(true)
}

fn report(args: &Args, child: &Child, run: &RunId, output: &str, end: Option<&RunFacts>) {
    let pid = child.id();
    if args.json {
        return output::json(&json!({
            "run_id": run, "pid": pid, "output": output, "ended": end.is_some(),
            "exit_code": end.map(exit_code), "reason": end.map(reason),
            "hint": end.and_then(|end| end.hint.as_ref()),
        }));
    }
    match end {
        Some(end) if is_failure(end) => {}
        _ if args.quiet => output::line(run),
        Some(end) => {
            output::line(format_args!("Run {run} has already ended: {}. Output: {output}", reason(end)))
        }
        None => output::line(format_args!(
            "Run {run} is running in the background (process {pid}). Output: {output}"
        )),
    }
}

fn reason(end: &RunFacts) -> &str {
    end.reason.as_deref().unwrap_or("the run has ended")
}

fn exit_code(end: &RunFacts) -> i32 {
    end.exit_code.unwrap_or(1)
}

/// A limit is a planned end.
fn is_failure(end: &RunFacts) -> bool {
    let planned = [RunExit::Finished, RunExit::Limit].map(|exit| i32::from(exit.code()));
    !planned.contains(&exit_code(end))
}

/// Where a run that was started by [`detach`] prints. It leaves its terminal.
pub(super) fn output() -> Option<String> {
    let path = env::var(OUTPUT).ok().filter(|path| !path.is_empty())?;
    // Fails only for a leader of a group, which already has nobody above it.
    let _ = rustix::process::setsid();
    Some(path)
}

fn output_name() -> String {
    let time: String = now().to_string().chars().filter(char::is_ascii_digit).take(14).collect();
    format!("run-{time}-{}.log", unguessable())
}

fn shown_path(workspace: &Workspace, path: &Path) -> String {
    let root = workspace.project.root();
    let below = path.strip_prefix(root).unwrap_or(path);
    below.display().to_string()
}

fn spawn(dir: &LogDir, name: &str, shown: &str) -> Result<Child, CommandError> {
    let unwritable = |error| CommandError::cannot_write(&dir.path_of(name), &error);
    // Both streams share one position: neither writes over the other.
    let out = dir.create(name).map_err(unwritable)?;
    let err = out.try_clone().map_err(unwritable)?;
    let command = env::current_exe().and_then(|program| {
        Command::new(program)
            .args(arguments(env::args_os().skip(1)))
            .env(OUTPUT, shown)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
    });
    command.map_err(|error| CommandError::environment(format_args!("cannot start the run: {error}")))
}

/// The command line without the flag that led here.
fn arguments(all: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut after_dashes = false;
    all.filter(|word| {
        after_dashes |= word == "--";
        after_dashes || !["--detach", "--ui", "--json"].iter().any(|flag| word == *flag)
    })
    .collect()
}

/// How a run in the background begins.
enum Start {
    /// Its agent is at work, or it is still busy after [`FIRST_EVENT`].
    Works(RunRow),
    Ended(RunRow),
    /// Its process ended without recording an end, or even a begin.
    Exited {
        recorded: bool,
    },
}

/// What is waited for after a run was started in the background.
struct Wait<'a> {
    workspace: &'a Workspace,
    settings: &'a Settings,
    /// The path by which the run is recognized.
    output: &'a str,
    login_found: bool,
    until: Until,
}

impl Wait<'_> {
    /// Waits for the agent's first event, the end of the run, or [`FIRST_EVENT`].
    fn for_work(&self, child: &mut Child) -> Result<Start, CommandError> {
        let (started, store) = (Instant::now(), &self.workspace.store);
        let longest = if self.login_found { FIRST_EVENT } else { FIRST_ANSWER };
        let mut first_event = None;
        loop {
            let exited = child.try_wait().ok().flatten().is_some();
            let mut runs = store.open_runs()?.into_iter().chain(store.last_run()?);
            match runs.find(|run| run.output.as_deref() == Some(self.output)) {
                Some(run) if run.ended_at.is_some() => return Ok(Start::Ended(run)),
                run if exited => return Ok(Start::Exited { recorded: run.is_some() }),
                Some(run) if self.until == Until::Recorded => return Ok(Start::Works(run)),
                Some(run) => {
                    if first_event.is_none() && self.is_at_work(&run)? {
                        first_event = Some(Instant::now());
                    }
                    // An agent that is refused may say a word before it fails.
                    let settled = first_event.is_some_and(|at| at.elapsed() >= SETTLE);
                    if settled || started.elapsed() >= longest {
                        return Ok(Start::Works(run));
                    }
                }
                None if started.elapsed() > START => {
                    let output = self.output;
                    return Err(CommandError::environment("the background run has not started yet")
                        .hint(format_args!("check {output} and `ralph status`")));
                }
                None => {}
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// Whether an agent of the run is at work, or an attempt has ended.
    fn is_at_work(&self, run: &RunRow) -> Result<bool, CommandError> {
        let store = &self.workspace.store;
        let started = store.events_of_kind(&run.id, "attempt_started")?;
        let is_at_work = started.iter().any(|event| match event.read().map(|event| event.kind) {
            Some(EventKind::AttemptStarted { agent, log_path: Some(log), .. }) => match self.login_found {
                true => {
                    let log = fs::symlink_metadata(self.workspace.project.root().join(log));
                    log.is_ok_and(|log| log.len() > 0)
                }
                false => self.has_answer(&agent, &log),
            },
            _ => false,
        });
        Ok(is_at_work || !store.events_of_kind(&run.id, "attempt_finished")?.is_empty())
    }

    /// Whether the agent said or did something, which it can only where its service answers.
    fn has_answer(&self, agent: &str, log: &str) -> bool {
        let log = LogDir::of_record(self.workspace.project.root(), log);
        let log = log.and_then(|(dir, name)| LogStream::open(Rc::new(dir), &name));
        let (Ok(log), Ok(agent)) = (log, build_agent(agent, &self.settings.agents)) else { return false };
        let mut answered = false;
        let mut on_entry = |_, entry| {
            let tool = matches!(entry, LogEntry::Did(Activity::Tool { .. }));
            answered |= tool || matches!(entry, LogEntry::Said { .. } | LogEntry::Line { .. });
        };
        let mut reader = LogReader::new(log, agent.parser());
        while matches!(reader.read(&mut on_entry), Ok(true)) {}
        answered
    }
}

/// What the process printed is what the user wants to read. Gives its exit code.
fn show_output(child: &mut Child, dir: &LogDir, name: &str) -> ExitCode {
    let mut said = String::new();
    if let Ok(file) = dir.read(name) {
        let _ = file.take(SHOWN).read_to_string(&mut said);
    }
    output::note(said.trim_end());
    let code = child.wait().ok().and_then(|status| status.code());
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_in_the_background_gets_the_same_command_line() {
        let line = ["run", "1.3", "--detach", "--json", "--limit", "3"];
        let kept = arguments(line.iter().map(OsString::from));
        assert_eq!(kept, ["run", "1.3", "--limit", "3"]);
        let kept = arguments(["run", "--ui", "a"].iter().map(OsString::from));
        assert_eq!(kept, ["run", "a"]);
        let kept = arguments(["run", "--", "--detach"].iter().map(OsString::from));
        assert_eq!(kept, ["run", "--", "--detach"]);
    }
}
