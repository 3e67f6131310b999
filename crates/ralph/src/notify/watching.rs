//! The observer between a run and its display: it passes every event on, and what is news to those who carry it.

use ralph_core::event::{EventKind, Observer, RunEvent};
use ralph_core::host::{Host, ThisHost};
use ralph_core::project::Project;

use super::aside::end_what_is_left;
use super::queue::Queues;
use super::sender::{Parcel, senders};
use super::told::Told;
use super::under_way::UnderWay;
use super::{Occasion, Place};
use crate::settings::Settings;
use crate::workspace::{now, random};
use crate::{interrupts, output};

/// Where a failure to notify is told while the run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warnings {
    /// On standard error.
    OnStderr,
    /// By the display, which would be garbled otherwise.
    ByDisplay,
}

impl Place {
    /// A project on this machine.
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
    /// None where the settings name no way to tell anybody.
    queues: Option<Queues>,
    told: Told,
    place: Place,
    warnings: Warnings,
    under_way: Option<UnderWay>,
}

impl Notifications {
    /// As the settings want them.
    pub fn of(settings: &Settings, project: &Project, warnings: Warnings) -> Self {
        let on = Occasion::named(settings.list("notify", "on"));
        let senders = match on.is_empty() {
            true => Vec::new(),
            false => senders(settings, project.root()),
        };
        Self {
            queues: (!senders.is_empty()).then(|| Queues::start(senders)),
            told: Told::nothing(on),
            place: Place::of(project),
            warnings,
            under_way: None,
        }
    }

    /// Looks on together with a display.
    pub fn beside<'n>(&'n mut self, display: &'n mut dyn Observer) -> Watching<'n> {
        Watching {
            notifications: self,
            display,
        }
    }

    /// The run broke off. Where not even its end could be recorded, nobody was told so far.
    pub fn broke_off(&mut self, error: &str) {
        if let Some(run) = self.under_way.take() {
            self.look(&run.broken_off(error, now()));
        }
    }

    /// Waits for what is still on its way, within bounds. Nothing that was started for it stays behind.
    pub fn finish(self) {
        if let Some(queues) = self.queues {
            let mut tell = |text: &str| output::note(text);
            queues.finish(&interrupts::told_to_stop, &mut tell);
            end_what_is_left();
        }
    }

    fn look(&mut self, event: &RunEvent) {
        let Some(queues) = &self.queues else { return };
        if let Some(notice) = self.told.news(event, &self.place) {
            queues.post(Parcel::new(notice, &mut random));
        }
    }
}

/// Looks on at a run.
pub struct Watching<'n> {
    notifications: &'n mut Notifications,
    display: &'n mut dyn Observer,
}

impl Observer for Watching<'_> {
    fn event(&mut self, event: &RunEvent) {
        self.display.event(event);
        let notifications = &mut *self.notifications;
        if notifications.queues.is_none() {
            return;
        }
        notifications.look(event);
        notifications.under_way = UnderWay::after(notifications.under_way.take(), event);
        self.warn(event);
    }
}

impl Watching<'_> {
    /// Tells what could not be sent. At the end of the run that waits until the display is gone.
    fn warn(&mut self, event: &RunEvent) {
        let notifications = &mut *self.notifications;
        let Some(queues) = &mut notifications.queues else {
            return;
        };
        if matches!(
            event.kind,
            EventKind::RunFinished { .. } | EventKind::Paused
        ) {
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
