//! One thread and one queue per channel: no run waits for a slow one, and none holds up another.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::channels::{Channel, Cutoff, Message};
use crate::ui::format;

/// How long the end of a run is delayed at most.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// The same after Ctrl-C or TERM.
const LONGEST_WAIT_INTERRUPTED: Duration = Duration::from_secs(2);
/// A longer wait is announced.
const SILENT_WAIT: Duration = Duration::from_secs(1);
/// How long processes have to end after the cutoff.
const PROCESS_END: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(5);

pub struct Queues {
    workers: Vec<Worker>,
    failures: Receiver<String>,
    report: Sender<String>,
    reported: HashSet<String>,
    longest_wait: Duration,
}

struct Worker {
    name: &'static str,
    has_process: bool,
    /// None when no more messages come.
    queue: Option<Sender<Arc<Posted>>>,
    /// The messages that wait or are being sent.
    posted: Vec<Arc<Posted>>,
    /// None where it could not be started.
    thread: Option<JoinHandle<()>>,
}

struct Posted {
    message: Arc<Message>,
    cutoff: Cutoff,
    /// Whether it was sent, or its failure reported.
    is_settled: AtomicBool,
}

impl Posted {
    fn is_waiting(&self) -> bool {
        !self.is_settled.load(Ordering::Relaxed)
    }

    /// Whether it says how the run ended.
    fn is_end(&self) -> bool {
        self.message.notice.exit_code.is_some()
    }
}

impl Queues {
    pub fn start(channels: Vec<Channel>) -> Self {
        let (report, failures) = mpsc::channel();
        let start = |channel| Worker::start(channel, report.clone());
        Self {
            workers: channels.into_iter().map(start).collect(),
            failures,
            report,
            reported: HashSet::new(),
            longest_wait: LONGEST_WAIT,
        }
    }

    /// Queues a message for every channel without waiting.
    pub fn post(&mut self, message: Message) {
        let message = Arc::new(message);
        for worker in &mut self.workers {
            if let Err(why) = worker.post(&message) {
                // The receiver is ours, so sending cannot fail.
                let _ = self.report.send(failure(&message, worker.name, why));
            }
        }
    }

    /// The failures since the last call, each text once per run.
    pub fn failures(&mut self) -> Vec<String> {
        let reported = &mut self.reported;
        self.failures.try_iter().filter(|failure| reported.insert(failure.clone())).collect()
    }

    /// Waits until everything is sent, within bounds. When half the time is over, everything makes way for the message
    /// about the end of the run.
    pub fn finish(mut self, interrupted: &dyn Fn() -> bool, tell: &mut dyn FnMut(&str)) {
        for worker in &mut self.workers {
            worker.queue = None;
        }
        let started = Instant::now();
        let mut announced = false;
        loop {
            self.warn(tell);
            let longest = if interrupted() { LONGEST_WAIT_INTERRUPTED } else { self.longest_wait };
            let elapsed = started.elapsed();
            let busy = self.workers.iter().filter(|worker| worker.is_busy());
            let busy: Vec<&str> = busy.map(|worker| worker.name).collect();
            if busy.is_empty() || elapsed >= longest {
                break;
            }
            if elapsed >= longest / 2 {
                self.workers.iter().for_each(Worker::make_way_for_end);
            }
            if !announced && elapsed >= SILENT_WAIT {
                announced = true;
                let (busy, seconds) = (busy.join(", "), longest.as_secs());
                tell(&format!("sending notifications ({busy}), up to {seconds} s; press Ctrl-C to skip"));
            }
            thread::sleep(POLL);
        }
        // Failures that came with the last message.
        self.warn(tell);
        for worker in &self.workers {
            let unsent = worker.cut();
            if unsent > 0 {
                let unsent = format::counted(unsent as u64, "notification");
                tell(&format!("warning: {unsent} not sent in time: {}", worker.name));
            }
        }
        let cut = Instant::now();
        let ending = |worker: &Worker| worker.has_process && worker.is_busy();
        while cut.elapsed() < PROCESS_END && self.workers.iter().any(ending) {
            thread::sleep(POLL);
        }
    }

    fn warn(&mut self, tell: &mut dyn FnMut(&str)) {
        for failure in self.failures() {
            tell(&format!("warning: {failure}"));
        }
    }
}

fn failure(message: &Message, channel: &str, why: &str) -> String {
    let occasion = message.notice.occasion.as_str();
    format!("cannot send the notification `{occasion}`: {channel}: {why}")
}

impl Worker {
    fn start(channel: Channel, report: Sender<String>) -> Self {
        let (queue, posted) = mpsc::channel::<Arc<Posted>>();
        let Channel { name, target, has_process, send } = channel;
        let channel = target.map_or(name.to_owned(), |target| format!("{name} {target}"));
        let work = move || {
            for posted in posted {
                if posted.cutoff.is_over() {
                    continue;
                }
                let sent = send(&posted.message, &posted.cutoff);
                // What was cut short is counted and reported at the end.
                if sent.is_err() && posted.cutoff.is_over() {
                    continue;
                }
                if let Err(why) = sent {
                    let _ = report.send(failure(&posted.message, &channel, &why));
                }
                posted.is_settled.store(true, Ordering::Relaxed);
            }
        };
        let thread = thread::Builder::new().spawn(work).ok();
        Self { name, has_process, queue: Some(queue), posted: Vec::new(), thread }
    }

    fn post(&mut self, message: &Arc<Message>) -> Result<(), &'static str> {
        self.posted.retain(|posted| posted.is_waiting());
        let posted = Arc::new(Posted {
            message: Arc::clone(message),
            cutoff: Cutoff::default(),
            is_settled: AtomicBool::new(false),
        });
        let queue = self.queue.as_ref().filter(|_| self.thread.is_some()).ok_or("cannot start a thread")?;
        queue.send(Arc::clone(&posted)).map_err(|_| "the sender has stopped")?;
        self.posted.push(posted);
        Ok(())
    }

    fn is_busy(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Gives up the other messages, if the end of the run waits behind them.
    fn make_way_for_end(&self) {
        let waiting = || self.posted.iter().filter(|posted| posted.is_waiting());
        if waiting().any(|posted| posted.is_end()) {
            waiting().filter(|posted| !posted.is_end()).for_each(|posted| posted.cutoff.now());
        }
    }

    /// Gives up everything; how many messages were not sent.
    fn cut(&self) -> usize {
        let waiting = self.posted.iter().filter(|posted| posted.is_waiting());
        waiting.inspect(|posted| posted.cutoff.now()).count()
    }
}

#[cfg(test)]
mod tests;
