//! What carries a notice: one trait, a file per way.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ralph_core::agent::{Interrupt, Signal};

use super::bell::Bell;
use super::command::NotifyCommand;
use super::desktop::Desktop;
use super::notice::Notice;
use super::webhook::Webhook;
use crate::settings::Settings;

/// How often somebody who waits looks whether it is over.
const LOOK_UP: Duration = Duration::from_millis(20);

/// A notice, ready to be carried.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// The notice.
    pub notice: Notice,
    /// The same as JSON.
    pub json: String,
    /// Tells this one from every other.
    pub delivery: String,
}

impl Parcel {
    /// Packs a notice; the bits are random.
    pub fn new(notice: Notice, random: &mut dyn FnMut() -> u64) -> Self {
        let json = serde_json::to_string(&notice).unwrap_or_default();
        let delivery = format!("{:016x}{:016x}", random(), random());
        Self {
            notice,
            json,
            delivery,
        }
    }
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It was taken.
    Sent,
    /// There is nobody here to take it, for this reason.
    Nowhere(&'static str),
}

/// A way to tell a person.
pub trait Sender: Send {
    /// Its name in the settings.
    fn name(&self) -> &'static str;
    /// Where it goes, without anything secret.
    fn target(&self) -> Option<String> {
        None
    }
    /// How long one notice may take by its own limits.
    fn patience(&self) -> Duration;
    /// Whether it runs a process, which must not be left behind.
    fn has_process(&self) -> bool {
        false
    }
    /// Carries a notice; why it could not, if so. Begins nothing new after the cut-off.
    fn send(&self, parcel: &Parcel, cutoff: &Cutoff) -> Result<Delivery, String>;
}

/// The ways that the settings name.
pub fn senders(settings: &Settings, root: &Path) -> Vec<Box<dyn Sender>> {
    let mut senders: Vec<Box<dyn Sender>> = Vec::new();
    if let Some(webhook) = Webhook::of(settings) {
        senders.push(Box::new(webhook));
    }
    if let Some(command) = settings.text("notify", "command") {
        senders.push(Box::new(NotifyCommand::new(command, root)));
    }
    if settings.flag("notify", "bell") {
        senders.push(Box::new(Bell));
    }
    if settings.flag("notify", "desktop") {
        senders.push(Box::new(Desktop::here(root)));
    }
    senders
}

/// Whether there is no more time. Shared by all who send.
#[derive(Clone, Debug, Default)]
pub struct Cutoff(Interrupt);

impl Cutoff {
    /// There is no more time.
    pub fn now(&self) {
        self.0.raise(Signal::Terminate);
    }

    /// Whether there is none.
    pub fn is_over(&self) -> bool {
        self.0.first().is_some()
    }

    /// The same for processes.
    pub fn interrupt(&self) -> &Interrupt {
        &self.0
    }

    /// Waits, but not beyond the end.
    pub fn wait(&self, duration: Duration) {
        let started = Instant::now();
        while !self.is_over() {
            let left = duration.saturating_sub(started.elapsed());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(LOOK_UP));
        }
    }
}
