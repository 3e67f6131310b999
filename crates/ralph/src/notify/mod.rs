//! Notifications: a person who is away learns what matters through the channels in `[notify]`.
//!
//! `notice.rs` decides which events send one and its text, `channels.rs` and `webhook.rs` send it, and `queue.rs` gives
//! each channel a thread of its own, so that no run waits for a slow one.

mod channels;
mod notice;
mod queue;
mod webhook;

use std::collections::HashSet;
use std::path::PathBuf;

use ralph_core::event::{EventKind, Observer, RunEvent};
use ralph_core::exit::RunExit;
use ralph_core::model::{Cost, Outcome, RunId, TaskId, Timestamp};
use ralph_core::project::Project;
use ralph_core::store::PlanCounts;

pub use channels::{Cutoff, Delivery, Message, channels, end_leftover_processes};
pub use notice::{Occasion, Place, notice, sample};
pub use webhook::is_url;

use crate::report::{ReportFile, write_at_end};
use crate::settings::Settings;
use crate::workspace::{now, random};
use crate::{interrupts, output};
use notice::Notice;
use queue::Queues;

/// The display of a run, and its notifications: an observer that sends them beside what it shows.
pub struct Notifications {
    /// None when the run is over.
    display: Option<Box<dyn Observer>>,
    /// Whether a line on standard error would garble the display.
    is_live: bool,
    /// None if the settings name no channel.
    queues: Option<Queues>,
    news: News,
    place: Place,
    open_run: Option<OpenRun>,
    /// None if the settings want no report.
    reporter: Option<Reporter>,
}

/// Writes the report of a run when that ends, before anybody is told: what is told names it.
struct Reporter {
    project: Project,
    settings: Settings,
    /// Where Ralph's directory led when the run began: an agent may have replaced it by a link since.
    real_dir: Option<PathBuf>,
    /// Set when it was written, or why it could not be.
    written: Option<Result<ReportFile, String>>,
}

impl Reporter {
    fn of(settings: &Settings, project: &Project) -> Option<Self> {
        let real_dir = || project.ralph_dir().canonicalize().ok();
        let new = || Self {
            project: project.clone(),
            settings: settings.clone(),
            real_dir: real_dir(),
            written: None,
        };
        settings.report.at_end.then(new)
    }

    fn write(&mut self, run: &RunId) -> Option<&ReportFile> {
        let dir = self.project.ralph_dir();
        self.written = Some(match dir.canonicalize().ok() == self.real_dir {
            true => write_at_end(&self.project, &self.settings, run),
            false => Err(format!("{} was replaced during the run", dir.display())),
        });
        self.written.as_ref()?.as_ref().ok()
    }
}

impl Notifications {
    pub fn new(settings: &Settings, project: &Project, display: Box<dyn Observer>, is_live: bool) -> Self {
        let on = settings.notify.on.value.clone();
        let channels = if on.is_empty() { Vec::new() } else { channels(settings, project.root()) };
        Self {
            display: Some(display),
            is_live,
            queues: (!channels.is_empty()).then(|| Queues::start(channels)),
            news: News::new(on),
            place: Place::of(project),
            open_run: None,
            reporter: Reporter::of(settings, project),
        }
    }

    pub fn close_display(&mut self) {
        self.display = None;
    }

    /// Where the report of the run is, or why there is none, if the settings want one.
    pub fn report(&self) -> Option<&Result<ReportFile, String>> {
        self.reporter.as_ref()?.written.as_ref()
    }

    /// The run failed. If not even its end could be recorded, no event said so.
    pub fn run_failed(&mut self, error: &str) {
        if let Some(run) = self.open_run.take() {
            self.post(&run.failed(error, now()));
        }
    }

    /// Waits for what is still being sent, within bounds, and leaves no process behind.
    pub fn finish(self) {
        if let Some(queues) = self.queues {
            queues.finish(&interrupts::told_to_stop, &mut |text| output::note(text));
            end_leftover_processes();
        }
    }

    fn post(&mut self, event: &RunEvent) {
        let is_end = matches!(event.kind, EventKind::RunFinished { .. });
        let report = self.reporter.as_mut().filter(|_| is_end).and_then(|one| one.write(&event.run_id));
        let Some(queues) = &mut self.queues else { return };
        if let Some(notice) = self.news.of(event, &self.place)
            && let notice = report.iter().fold(notice, |notice, file| notice.with_report(file))
            && let Ok(message) = Message::new(notice, &mut random)
        {
            queues.post(message);
        }
    }

    fn show(&mut self, event: &RunEvent) {
        if let Some(display) = &mut self.display {
            display.event(event);
        }
    }
}

impl Observer for Notifications {
    fn event(&mut self, event: &RunEvent) {
        self.show(event);
        self.post(event);
        self.open_run = OpenRun::after(self.open_run.take(), event);
        // At the end of the run and at the menu, warnings wait until the display is gone.
        if matches!(event.kind, EventKind::RunFinished { .. } | EventKind::Paused) {
            return;
        }
        for message in self.queues.as_mut().map(Queues::failures).unwrap_or_default() {
            match self.is_live {
                false => output::note(format_args!("warning: {message}")),
                true => {
                    let kind = EventKind::Warning { message };
                    self.show(&RunEvent::new(event.seq, event.at, &event.run_id, kind));
                }
            }
        }
    }
}

/// Picks what is new out of a run's events: a person is told each thing once.
#[derive(Debug, Default)]
struct News {
    /// What a person wants to be told.
    on: Vec<Occasion>,
    blocked: HashSet<TaskId>,
    /// Whether the open breaker was told; forgotten when a task is done.
    breaker: bool,
    /// Whether a usage limit was told; forgotten when an attempt counts.
    limit: bool,
}

impl News {
    fn new(on: Vec<Occasion>) -> Self {
        Self { on, ..Self::default() }
    }

    fn of(&mut self, event: &RunEvent, place: &Place) -> Option<Notice> {
        if let EventKind::AttemptFinished(finished) = &event.kind {
            self.breaker &= finished.outcome != Outcome::Done;
            self.limit &= !finished.counted;
        }
        let notice = notice(event, place).filter(|notice| self.on.contains(&notice.occasion))?;
        let is_new = match &event.kind {
            EventKind::AttemptFinished(finished) => self.blocked.insert(finished.task.task_id.clone()),
            EventKind::HandedOver { task, .. }
            | EventKind::GivenUp { task, .. }
            | EventKind::LostFound { task, .. } => self.blocked.insert(task.task_id.clone()),
            EventKind::BreakerOpened { .. } => !std::mem::replace(&mut self.breaker, true),
            // The end of a run by the breaker says what its opening said.
            EventKind::RunFinished { exit_code: 6, .. } => !self.breaker,
            EventKind::Waiting { .. } => !std::mem::replace(&mut self.limit, true),
            _ => true,
        };
        is_new.then_some(notice)
    }
}

/// What the events have said about a run that has not ended, in case it fails without an event.
#[derive(Clone, Debug)]
struct OpenRun {
    started: RunEvent,
    attempts: u32,
    done: u32,
    cost: Cost,
    tasks: PlanCounts,
}

impl OpenRun {
    /// The state after a further event; none before the run's start and after its end.
    fn after(known: Option<Self>, event: &RunEvent) -> Option<Self> {
        let mut run = match &event.kind {
            EventKind::RunFinished { .. } => return None,
            EventKind::RunStarted { tasks, .. } => {
                let started = event.clone();
                Self { started, attempts: 0, done: 0, cost: Cost::default(), tasks: *tasks }
            }
            _ => known?,
        };
        match &event.kind {
            EventKind::AttemptFinished(finished) => {
                run.attempts += u32::from(finished.counted);
                run.done += u32::from(finished.outcome == Outcome::Done);
            }
            EventKind::Progress { tasks, cost } => (run.tasks, run.cost) = (*tasks, *cost),
            _ => {}
        }
        run.started.seq = event.seq;
        Some(run)
    }

    fn failed(self, error: &str, now: Timestamp) -> RunEvent {
        let duration = now.since(self.started.at);
        let kind = EventKind::RunFinished {
            exit_code: i32::from(RunExit::Error.code()),
            outcome: RunExit::Error.word().to_owned(),
            reason: error.to_owned(),
            hint: None,
            budget: None,
            attempts: self.attempts,
            done: self.done,
            cost: self.cost,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            tasks: self.tasks,
        };
        RunEvent::new(self.started.seq + 1, now, &self.started.run_id, kind)
    }
}

/// What the settings make of notifications.
#[cfg(test)]
pub fn described(settings: &Settings) -> String {
    let channels = channels(settings, std::path::Path::new("/"));
    let names: Vec<&str> = channels.iter().map(|channel| channel.name).collect();
    let on = settings.notify.on.value.clone();
    let project = Project::at("/");
    let report = Reporter::of(settings, &project).is_some();
    let file = ReportFile::of(settings, &project, &RunId::from_stored("r"));
    format!("{names:?} {:?} {:?} {report} {file:?}", webhook::Webhook::of(settings), News::new(on))
}
