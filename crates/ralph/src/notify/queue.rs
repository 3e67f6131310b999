//! One thread and one short queue per way of telling: nobody waits for a slow one, and none holds up another.

mod line;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::sender::{Parcel, Sender};
use crate::threads;
use line::Line;

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
    told: HashSet<String>,
    /// How long the end of the run is held up at most.
    at_most: Duration,
}

struct Worker {
    name: &'static str,
    patience: Duration,
    has_process: bool,
    line: Arc<Line>,
    /// None where it could not be started.
    thread: Option<JoinHandle<()>>,
}

impl Queues {
    /// Starts a thread for each way.
    pub fn start(senders: Vec<Box<dyn Sender>>) -> Self {
        let (report, failures) = mpsc::channel();
        let start = |sender| Worker::start(sender, report.clone());
        Self {
            workers: senders.into_iter().map(start).collect(),
            failures,
            report,
            told: HashSet::new(),
            at_most: AT_MOST,
        }
    }

    /// Gives a notice to everybody, and does not wait.
    pub fn post(&self, parcel: Parcel) {
        let parcel = Arc::new(parcel);
        for worker in &self.workers {
            if let Some((unsent, why)) = worker.take(&parcel) {
                let occasion = unsent.notice.occasion.as_str();
                // The receiver is our own.
                let _ = self.report.send(format!(
                    "cannot send the notification `{occasion}`: {}: {why}",
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

    /// Waits until everything is sent, but not for ever; tells what is worth it. Where the time is short, the notice of
    /// the run's end comes first.
    pub fn finish(mut self, told_to_stop: &dyn Fn() -> bool, tell: &mut dyn FnMut(&str)) {
        let allowed = self.allowed();
        for worker in &self.workers {
            worker.line.close();
        }
        let started = Instant::now();
        let mut hinted = false;
        loop {
            self.warn(tell);
            let busy = self.workers.iter().zip(&allowed);
            let busy = busy.filter(|(worker, _)| worker.is_busy());
            let Some(allowed) = busy.map(|(_, allowed)| *allowed).max() else {
                break;
            };
            let most = match told_to_stop() {
                true => AT_MOST_TOLD_TO_STOP,
                false => allowed,
            };
            let elapsed = started.elapsed();
            if elapsed >= most {
                break;
            }
            for worker in &self.workers {
                worker.mind_the_end(most, elapsed);
            }
            if !hinted && elapsed >= WITHOUT_A_WORD {
                hinted = true;
                tell(&format!(
                    "sending notifications ({}), up to {}s; press Ctrl-C to skip",
                    self.busy_names().join(", "),
                    most.as_secs()
                ));
            }
            thread::sleep(LOOK_AGAIN);
        }
        // What failed last.
        self.warn(tell);
        for worker in &self.workers {
            let unsent = worker.line.unsent();
            let (name, plural) = (worker.name, if unsent == 1 { "" } else { "s" });
            if unsent > 0 {
                tell(&format!(
                    "warning: {unsent} notification{plural} not sent in time: {name}"
                ));
            }
            worker.line.cut();
        }
        let cut = Instant::now();
        let ending = |worker: &Worker| worker.has_process && worker.is_busy();
        while cut.elapsed() < LAST_MOMENT && self.workers.iter().any(ending) {
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// How long each may take for what it has, by its own limits.
    fn allowed(&self) -> Vec<Duration> {
        let own = |worker: &Worker| {
            let open = u32::try_from(worker.line.open()).unwrap_or(u32::MAX);
            worker.patience.saturating_mul(open).saturating_add(SLACK)
        };
        let workers = self.workers.iter();
        workers
            .map(|worker| own(worker).min(self.at_most))
            .collect()
    }

    fn warn(&mut self, tell: &mut dyn FnMut(&str)) {
        for failure in self.failures() {
            tell(&format!("warning: {failure}"));
        }
    }

    fn busy_names(&self) -> Vec<&'static str> {
        let busy = self.workers.iter().filter(|worker| worker.is_busy());
        busy.map(|worker| worker.name).collect()
    }
}

impl Worker {
    fn start(sender: Box<dyn Sender>, report: mpsc::Sender<String>) -> Self {
        let line = Arc::new(Line::default());
        let own = Arc::clone(&line);
        let (name, patience) = (sender.name(), sender.patience());
        let has_process = sender.has_process();
        let work = move || {
            while let Some((parcel, cutoff)) = own.next() {
                match sender.send(&parcel, &cutoff) {
                    Ok(_) => own.dealt_with(),
                    // Told at the end.
                    Err(_) if cutoff.is_over() => own.was_cut_short(),
                    Err(why) => {
                        let occasion = parcel.notice.occasion.as_str();
                        let target = sender.target().map(|target| format!(" {target}"));
                        let _ = report.send(format!(
                            "cannot send the notification `{occasion}`: {name}{}: {why}",
                            target.unwrap_or_default()
                        ));
                        own.dealt_with();
                    }
                }
            }
        };
        let thread = threads::start("notify", work).ok();
        Self {
            name,
            patience,
            has_process,
            line,
            thread,
        }
    }

    /// Takes a notice; what is not sent instead, and why, if so.
    fn take(&self, parcel: &Arc<Parcel>) -> Option<(Arc<Parcel>, &'static str)> {
        match &self.thread {
            None => return Some((Arc::clone(parcel), "cannot start a thread")),
            Some(thread) if thread.is_finished() => {
                return Some((Arc::clone(parcel), "the sender has stopped"));
            }
            Some(_) => {}
        }
        let gone = self.line.put(Arc::clone(parcel))?;
        Some((gone, "the queue is full"))
    }

    /// Lets the notice of the run's end go first where the time may not be enough for all: behind what is on its way,
    /// and ahead of that too when there would be no time left.
    fn mind_the_end(&self, most: Duration, elapsed: Duration) {
        let left = most.saturating_sub(elapsed);
        if left <= self.patience.saturating_mul(2) {
            self.line.end_first();
        }
        if left <= self.patience.min(most / 2) {
            self.line.make_way();
        }
    }

    fn is_busy(&self) -> bool {
        let thread = self.thread.as_ref();
        thread.is_some_and(|thread| !thread.is_finished())
    }
}

#[cfg(test)]
mod tests;
