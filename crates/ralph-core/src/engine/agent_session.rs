//! One agent session: the process, its stream into the log and the parser, its signs of life; and the directory of logs.

use std::time::{Duration, Instant};

use super::Prompt;
use super::run::Run;
use super::run_context::RunContext;
use super::run_end::{EngineError, Result};
use super::state_md_sync::StateMd;
use crate::agent::{
    self, Activity, Agent, AttemptLog, EndSignal, Ending, Fault, LaunchRequest, ProcessLimits, ReadSession,
    SessionReader, Stop, Stream, Watch,
};
use crate::event::EventKind;
use crate::evidence::Session;
use crate::files::unguessable;
use crate::logs::LogDir;
use crate::model::Task;
use crate::project::{LOGS, RALPH_DIR};
use crate::sandbox::{ErrorLines, Subject, run_confined};
use crate::signals::{self, Completion};
use crate::store::Claimed;

/// An agent that stops by itself after this share of its budget has obeyed it.
const OBEYED_SHARE: f64 = 0.9;
/// Displays get no more than this many activities.
const BETWEEN_ACTIVITIES: Duration = Duration::from_millis(80);

impl Run<'_> {
    /// Starts the agent and reads it to its end. A program that cannot be started is a session too: a short one.
    pub(super) fn call_agent(
        &mut self,
        claimed: &Claimed,
        prompt: &Prompt,
        log: AttemptLog,
    ) -> Result<Session> {
        let task = &claimed.task;
        let run = &mut self.context;
        let agent = self.team.agent();
        let model = &prompt.choice.model;
        let budget_usd = self.budgets.rest(run, &task.id)?;
        let launch = agent.launch(&LaunchRequest {
            task_id: &task.id,
            task_key: task.key.as_ref().map(|key| key.as_str()),
            attempt: claimed.attempts.counted + 1,
            model,
            run_id: &run.id,
            project_root: run.project.root(),
            work_tree: run.work_tree,
            rules: &prompt.rules,
            task_prompt: &prompt.task,
            is_root: rustix::process::getuid().is_root(),
            is_confined: run.sandbox.backend().is_some(),
            budget_usd,
        });
        self.state_md.attempt_begins(run);
        let limits = ProcessLimits {
            wall: run.settings.attempt_timeout,
            idle: run.settings.idle_timeout,
            grace: run.settings.grace,
        };
        let interrupt = run.interrupt.clone();
        run.sandbox.clear_temporary_files();
        let confinement = run.confinement(Subject::Agent(agent))?;
        let mut guard = run.take_guard()?;
        let mut live = LiveSession {
            run,
            state_md: &mut self.state_md,
            agent,
            claimed,
            reader: SessionReader::new(agent, model, log, budget_usd),
            shown: None,
            concluded: false,
            ends_for_note: false,
            errors: confinement.as_ref().map(|_| Default::default()),
        };
        let ended = run_confined(confinement.as_ref(), launch, |launch| {
            agent::run_below(guard.as_mut(), launch, &limits, &interrupt, &mut live)
        });
        let LiveSession { run, reader, errors, .. } = live;
        let errors = errors.into_iter().flatten().flat_map(ErrorLines::finish).collect();
        run.denials = confinement.iter().flat_map(|confinement| confinement.denials(&errors)).collect();
        run.return_guard(guard)?;
        let ReadSession { mut stop, left_overs, report, log, .. } = reader.finish(ended);
        if let Some(error) = log.error() {
            let path = log.path().display();
            run.warn(format!("the log {path} is incomplete: {error}"))?;
        }
        if left_overs > 0 {
            let plural = if left_overs == 1 { "" } else { "es" };
            run.warn(format!("killed {left_overs} process{plural} the agent left running"))?;
        }
        run.tell_undone(confinement.as_ref())?;
        let signals = signals::parse(&report.result_text, &signal_scope(task, agent.ladder()));
        // The agent obeyed the budget it was given. A cap of its own settings, far below what is left, is a limit of one
        // session.
        let obeyed = matches!(report.ending, Ending::Faulted { fault: Fault::Budget, .. });
        let ours = budget_usd
            .is_some_and(|budget| report.cost_usd.is_none_or(|spent| spent >= OBEYED_SHARE * budget));
        if obeyed && ours && stop == Stop::Exited {
            stop = Stop::Budget;
        }
        // An agent that was told to stop with us has not failed by itself, whatever its exit code.
        if interrupt.first().is_some() && signals.completion == Completion::Absent {
            stop = Stop::Interrupted;
        }
        Ok(Session { stop, report, signals })
    }
}

pub(super) fn signal_scope<'t>(task: &'t Task, ladder: &'t [String]) -> signals::Scope<'t> {
    let task_key = task.key.as_ref().map(|key| key.as_str());
    signals::Scope { task_id: task.id.as_str(), task_key, ladder }
}

struct LiveSession<'s, 'a> {
    run: &'s mut RunContext<'a>,
    state_md: &'s mut StateMd,
    agent: &'s Agent,
    claimed: &'s Claimed,
    reader: SessionReader,
    shown: Option<Instant>,
    /// The agent has given its result, with a completion signal in it.
    concluded: bool,
    /// A person ends the attempt for a note.
    ends_for_note: bool,
    /// What may be refusals of the sandbox, where there is one: of both streams, whose lines come in pieces.
    errors: Option<[ErrorLines; 2]>,
}

impl Watch for LiveSession<'_, '_> {
    fn output(&mut self, stream: Stream, chunk: &[u8]) {
        let mut latest: Option<Activity> = None;
        if let Some([of_out, of_err]) = &mut self.errors {
            match stream {
                Stream::Out => of_out.push(chunk),
                Stream::Err => of_err.push(chunk),
            }
        }
        self.reader.read(stream, chunk, |activity| latest = Some(activity));
        self.concluded = self.reader.conclusion().is_some_and(|text| {
            let scope = signal_scope(&self.claimed.task, self.agent.ladder());
            signals::parse(text, &scope).completion != Completion::Absent
        });
        let due = self.shown.is_none_or(|at| at.elapsed() >= BETWEEN_ACTIVITIES);
        let said = matches!(latest, Some(Activity::Said { .. }));
        if let Some(activity) = latest.filter(|_| due || !said) {
            self.shown = Some(Instant::now());
            self.run.show(EventKind::Activity { task_id: self.claimed.task.id.clone(), activity });
        }
    }

    fn tick(&mut self) {
        self.run.beat();
        self.state_md.show_attempt(self.run);
        self.ends_for_note = self.run.is_ended_for_note(self.claimed);
    }

    fn concluded(&self) -> bool {
        self.concluded
    }

    fn first_signal(&self) -> EndSignal {
        self.agent.first_signal()
    }

    fn ends(&self) -> Option<Stop> {
        match self.concluded {
            true => None,
            false if self.reader.is_over_budget() => Some(Stop::Budget),
            false => self.ends_for_note.then_some(Stop::UserNote),
        }
    }
}

/// Where a log is, below the project's root.
pub(super) fn log_path(name: &str) -> String {
    format!("{}/{LOGS}/{name}", RALPH_DIR)
}

/// Makes the log of an attempt or of another session.
pub(super) fn open_log(run: &mut RunContext<'_>, name: &str) -> Result<AttemptLog> {
    if run.log_was_made {
        restore_directory(run)?;
    }
    // An agent may have deleted it.
    let made = run.project.make_dir();
    let bound = run.settings.max_attempt_bytes;
    let logs = run.ralph_dir().map(|dir| dir.join(LOGS));
    let log = made.and(logs).and_then(|logs| AttemptLog::create(LogDir::make(&logs)?, name, bound));
    run.log_was_made |= log.is_ok();
    Ok(log.map_err(|source| EngineError::Log { path: log_path(name), source })?)
}

/// What an agent put in the place of the directory of logs is moved aside, and no log is written through it. What a link
/// leads to is not touched.
fn restore_directory(run: &mut RunContext<'_>) -> Result {
    let Ok(dir) = run.ralph_dir() else { return Ok(()) };
    let logs = dir.join(LOGS);
    if !logs.is_symlink() && (logs.is_dir() || !logs.exists()) {
        return Ok(());
    }
    let aside = format!("{LOGS}.replaced-{}", unguessable());
    run.warn(match std::fs::rename(&logs, dir.join(&aside)) {
        Ok(()) => format!(
            ".ralph/{LOGS} was replaced by something that is not a directory; Ralph moved that to \
             .ralph/{aside}"
        ),
        Err(error) => format!("cannot move .ralph/{LOGS}, which is not a directory: {error}"),
    })
}
