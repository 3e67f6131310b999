//! One thread and one short queue per way of telling: nobody waits for a slow one, and none holds up another.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::sender::{Cutoff, Parcel, Sender};

/// Notices that may wait in one queue.
const ROOM: usize = 32;
/// How long the end of a run is held up at most.
const AT_MOST: Duration = Duration::from_secs(30);
/// The same where somebody wants Ralph to stop.
const AT_MOST_TOLD_TO_STOP: Duration = Duration::from_secs(2);
/// What senders get beyond their own limits, so that they can say themselves how they failed.
const SLACK: Duration = Duration::from_millis(500);
/// How long it is held up without a word.
const WITHOUT_A_WORD: Duration = Duration::from_secs(1);
/// How long processes have to end then.
const LAST_MOMENT: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Notices on their way.
pub struct Queues {
    workers: Vec<Worker>,
    failures: Receiver<String>,
    report: mpsc::Sender<String>,
    cutoff: Cutoff,
    told: HashSet<String>,
}

struct Worker {
    name: &'static str,
    patience: Duration,
    has_process: bool,
    queue: Option<SyncSender<Arc<Parcel>>>,
    /// Notices that were not dealt with yet.
    open: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

impl Queues {
    /// Starts a thread for each way.
    pub fn start(senders: Vec<Box<dyn Sender>>) -> Self {
        let (report, failures) = mpsc::channel();
        let cutoff = Cutoff::default();
        let start = |sender| Worker::start(sender, report.clone(), cutoff.clone());
        Self {
            workers: senders.into_iter().map(start).collect(),
            failures,
            report,
            cutoff,
            told: HashSet::new(),
        }
    }

    /// Gives a notice to everybody, and does not wait.
    pub fn post(&self, parcel: Parcel) {
        let parcel = Arc::new(parcel);
        for worker in &self.workers {
            if let Err(why) = worker.take(&parcel) {
                let occasion = parcel.notice.occasion.as_str();
                // The receiver is our own.
                let _ = self.report.send(format!(
                    "a notice ({occasion}) was not sent: {}: {why}",
                    worker.name
                ));
            }
        }
    }

    /// What failed since the last look, each thing once.
    pub fn failures(&mut self) -> Vec<String> {
        let new: Vec<String> = self.failures.try_iter().collect();
        let told = &mut self.told;
        new.into_iter()
            .filter(|failure| told.insert(failure.clone()))
            .collect()
    }

    /// Waits until everything is sent, but not for ever; tells what is worth it.
    pub fn finish(mut self, told_to_stop: &dyn Fn() -> bool, tell: &mut dyn FnMut(&str)) {
        for worker in &mut self.workers {
            worker.queue = None;
        }
        let started = Instant::now();
        let mut hinted = false;
        loop {
            for failure in self.failures() {
                tell(&format!("warning: {failure}"));
            }
            let busy = self.workers.iter().filter(|worker| worker.is_busy());
            let Some(patience) = busy.map(|worker| worker.patience).max() else {
                // What failed last.
                for failure in self.failures() {
                    tell(&format!("warning: {failure}"));
                }
                return;
            };
            let most = match told_to_stop() {
                true => AT_MOST_TOLD_TO_STOP,
                false => AT_MOST.min(patience + SLACK),
            };
            let elapsed = started.elapsed();
            if elapsed >= most {
                break;
            }
            if !hinted && elapsed >= WITHOUT_A_WORD {
                hinted = true;
                tell(&format!(
                    "sending notices ({}), for {}s at most; Ctrl-C does without them",
                    self.busy_names().join(", "),
                    most.as_secs()
                ));
            }
            thread::sleep(LOOK_AGAIN);
        }
        for worker in self.workers.iter().filter(|worker| worker.is_busy()) {
            let open = worker.open.load(Ordering::SeqCst);
            let (name, plural) = (worker.name, if open == 1 { "" } else { "s" });
            tell(&format!(
                "warning: {open} notice{plural} not sent in time: {name}"
            ));
        }
        self.cutoff.now();
        let cut = Instant::now();
        let ending = |worker: &Worker| worker.has_process && worker.is_busy();
        while cut.elapsed() < LAST_MOMENT && self.workers.iter().any(ending) {
            thread::sleep(LOOK_AGAIN);
        }
    }

    fn busy_names(&self) -> Vec<&'static str> {
        let busy = self.workers.iter().filter(|worker| worker.is_busy());
        busy.map(|worker| worker.name).collect()
    }
}

impl Worker {
    fn start(sender: Box<dyn Sender>, report: mpsc::Sender<String>, cutoff: Cutoff) -> Self {
        let (queue, parcels) = mpsc::sync_channel::<Arc<Parcel>>(ROOM);
        let open = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&open);
        let (name, patience) = (sender.name(), sender.patience());
        let has_process = sender.has_process();
        let thread = thread::spawn(move || {
            for parcel in parcels {
                if cutoff.is_over() {
                    return;
                }
                let sent = sender.send(&parcel, &cutoff);
                // What is cut short at the end is told there.
                if let (Err(why), false) = (sent, cutoff.is_over()) {
                    let occasion = parcel.notice.occasion.as_str();
                    let target = sender.target().map(|target| format!(" {target}"));
                    let _ = report.send(format!(
                        "a notice ({occasion}) was not sent: {name}{}: {why}",
                        target.unwrap_or_default()
                    ));
                }
                counter.fetch_sub(1, Ordering::SeqCst);
            }
        });
        Self {
            name,
            patience,
            has_process,
            queue: Some(queue),
            open,
            thread,
        }
    }

    fn take(&self, parcel: &Arc<Parcel>) -> Result<(), &'static str> {
        let queue = self.queue.as_ref().ok_or("it has ended")?;
        self.open.fetch_add(1, Ordering::SeqCst);
        let taken = queue.try_send(Arc::clone(parcel));
        taken.map_err(|error| {
            self.open.fetch_sub(1, Ordering::SeqCst);
            match error {
                TrySendError::Full(_) => "too many wait already",
                TrySendError::Disconnected(_) => "it has ended",
            }
        })
    }

    fn is_busy(&self) -> bool {
        !self.thread.is_finished()
    }
}

#[cfg(test)]
mod tests;
