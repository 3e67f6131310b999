//! Notifications: a person who is away learns what matters through the channels in `[notify]`.
//!
//! `notice.rs` decides which events send one and its text, `channels.rs` and `webhook.rs` send it, and `queue.rs` gives
//! each channel a thread of its own, so that no run waits for a slow one.

mod channels;
mod notice;
mod queue;
mod webhook;

use std::collections::HashSet;

use ralph_core::event::{EventKind, Observer, RunEvent};
use ralph_core::exit::RunExit;
use ralph_core::host::{Host, ThisHost};
use ralph_core::model::{Cost, Outcome, RunId, TaskId, Timestamp};
use ralph_core::project::Project;
use ralph_core::store::PlanCounts;

pub use channels::{Cutoff, Delivery, Message, channels, end_leftover_processes};
pub use notice::{Occasion, Place, notice, sample};
pub use webhook::is_url;

use crate::settings::Settings;
use crate::workspace::{now, random};
use crate::{interrupts, output};
use notice::Notice;
use queue::Queues;

/// Where a failure to notify is shown while the run continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warnings {
    OnStderr,
    /// By the live display, which a line on stderr would garble.
    ByDisplay,
}

impl Place {
    pub fn of(project: &Project) -> Self {
        let root = project.root();
        let name = root.file_name().unwrap_or(root.as_os_str());
        Self {
            name: name.to_string_lossy().into_owned(),
            root: root.display().to_string(),
            host: ThisHost::new().owner().host,
        }
    }
}

/// The notifications of one run.
pub struct Notifications {
    /// None if the settings name no channel.
    queues: Option<Queues>,
    news: News,
    place: Place,
    warnings: Warnings,
    open_run: Option<OpenRun>,
}

impl Notifications {
    pub fn of(settings: &Settings, project: &Project, warnings: Warnings) -> Self {
        let on = settings.notify.on.value.clone();
        let channels = match on.is_empty() {
            true => Vec::new(),
            false => channels(settings, project.root()),
        };
        Self {
            queues: (!channels.is_empty()).then(|| Queues::start(channels)),
            news: News::new(on),
            place: Place::of(project),
            warnings,
            open_run: None,
        }
    }

    /// An observer that passes every event to the display and sends notifications beside it.
    pub fn beside<'n>(&'n mut self, display: &'n mut dyn Observer) -> NotifyingObserver<'n> {
        NotifyingObserver { notifications: self, display }
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
            let mut tell = |text: &str| output::note(text);
            queues.finish(&interrupts::told_to_stop, &mut tell);
            end_leftover_processes();
        }
    }

    fn post(&mut self, event: &RunEvent) {
        let Some(queues) = &self.queues else { return };
        if let Some(notice) = self.news.of(event, &self.place)
            && let Ok(message) = Message::new(notice, &mut random)
        {
            queues.post(message);
        }
    }
}

pub struct NotifyingObserver<'n> {
    notifications: &'n mut Notifications,
    display: &'n mut dyn Observer,
}

impl Observer for NotifyingObserver<'_> {
    fn event(&mut self, event: &RunEvent) {
        self.display.event(event);
        let notifications = &mut *self.notifications;
        notifications.post(event);
        notifications.open_run = OpenRun::after(notifications.open_run.take(), event);
        let Some(queues) = &mut notifications.queues else {
            return;
        };
        // At the end of the run and at the menu, warnings wait until the display is gone.
        if matches!(event.kind, EventKind::RunFinished { .. } | EventKind::Paused) {
            return;
        }
        for message in queues.failures() {
            match notifications.warnings {
                Warnings::OnStderr => output::note(format_args!("warning: {message}")),
                Warnings::ByDisplay => {
                    let kind = EventKind::Warning { message };
                    let warning = RunEvent::new(event.seq, event.at, &event.run_id, kind);
                    self.display.event(&warning);
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

    /// The notice about an event, if it is wanted and new.
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
    run_id: RunId,
    seq: u64,
    started_at: Timestamp,
    attempts: u32,
    done: u32,
    cost: Cost,
    tasks: PlanCounts,
}

impl OpenRun {
    /// The state after a further event; none before the run's start and after its end.
    fn after(known: Option<Self>, event: &RunEvent) -> Option<Self> {
        if let EventKind::RunStarted { tasks, .. } = &event.kind {
            return Some(Self {
                run_id: event.run_id.clone(),
                seq: event.seq,
                started_at: event.at,
                attempts: 0,
                done: 0,
                cost: Cost::default(),
                tasks: *tasks,
            });
        }
        let mut known = known?;
        known.seq = event.seq;
        match &event.kind {
            EventKind::RunFinished { .. } => return None,
            EventKind::AttemptFinished(finished) => {
                known.attempts += u32::from(finished.counted);
                known.done += u32::from(finished.outcome == Outcome::Done);
            }
            EventKind::Progress { tasks, cost } => {
                known.tasks = *tasks;
                known.cost = *cost;
            }
            _ => {}
        }
        Some(known)
    }

    /// The end that could not be recorded.
    fn failed(self, error: &str, now: Timestamp) -> RunEvent {
        let duration = now.since(self.started_at);
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
        RunEvent::new(self.seq + 1, now, &self.run_id, kind)
    }
}
