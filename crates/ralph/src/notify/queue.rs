//! One thread and one short queue per channel: no run waits for a slow one, and none holds up another.

use std::collections::{HashSet, VecDeque};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
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
const CAPACITY: usize = 32;

pub struct Queues {
    workers: Vec<Worker>,
    failures: Receiver<String>,
    report: mpsc::Sender<String>,
    reported: HashSet<String>,
    longest_wait: Duration,
}

struct Worker {
    name: &'static str,
    has_process: bool,
    queue: Arc<Queue>,
    /// None where it could not be started.
    thread: Option<JoinHandle<()>>,
}

impl Queues {
    pub fn start(channels: Vec<Box<dyn Channel>>) -> Self {
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
    pub fn post(&self, message: Message) {
        let message = Arc::new(message);
        for worker in &self.workers {
            if let Some((unsent, why)) = worker.post(&message) {
                let what = unsent.notice.occasion.as_str();
                let name = worker.name;
                // The receiver is ours, so sending cannot fail.
                let _ = self.report.send(failure(what, name, why));
            }
        }
    }

    /// The failures since the last call, each text once per run.
    pub fn failures(&mut self) -> Vec<String> {
        let reported = &mut self.reported;
        self.failures.try_iter().filter(|failure| reported.insert(failure.clone())).collect()
    }

    /// Waits until everything is sent, within bounds. When half the time is over, the end of the run goes first.
    pub fn finish(mut self, interrupted: &dyn Fn() -> bool, tell: &mut dyn FnMut(&str)) {
        for worker in &self.workers {
            worker.queue.close();
        }
        let started = Instant::now();
        let mut announced = false;
        loop {
            self.warn(tell);
            let longest = match interrupted() {
                true => LONGEST_WAIT_INTERRUPTED,
                false => self.longest_wait,
            };
            let elapsed = started.elapsed();
            let busy = self.workers.iter().filter(|worker| worker.is_busy());
            let busy: Vec<&str> = busy.map(|worker| worker.name).collect();
            if busy.is_empty() || elapsed >= longest {
                break;
            }
            if elapsed >= longest / 2 {
                for worker in &self.workers {
                    worker.queue.make_way_for_end();
                }
            }
            if !announced && elapsed >= SILENT_WAIT {
                announced = true;
                tell(&format!(
                    "sending notifications ({}), up to {}s; press Ctrl-C to skip",
                    busy.join(", "),
                    longest.as_secs()
                ));
            }
            thread::sleep(POLL);
        }
        // Failures that came with the last message.
        self.warn(tell);
        for worker in &self.workers {
            let unsent = worker.queue.cut();
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

fn failure(occasion: &str, channel: &str, why: &str) -> String {
    format!("cannot send the notification `{occasion}`: {channel}: {why}")
}

impl Worker {
    fn start(channel: Box<dyn Channel>, report: mpsc::Sender<String>) -> Self {
        let queue = Arc::new(Queue::default());
        let (name, has_process) = (channel.name(), channel.has_process());
        let own = Arc::clone(&queue);
        let work = move || {
            while let Some((message, cutoff)) = own.next() {
                let sent = channel.send(&message, &cutoff);
                // What was cut short is counted and reported at the end.
                let is_cut = sent.is_err() && cutoff.is_over();
                if let Err(why) = sent
                    && !is_cut
                {
                    let target = channel.target().map(|target| format!(" {target}"));
                    let channel = format!("{name}{}", target.unwrap_or_default());
                    let what = message.notice.occasion.as_str();
                    let _ = report.send(failure(what, &channel, &why));
                }
                own.sent(is_cut);
            }
        };
        Self { name, has_process, queue, thread: thread::Builder::new().spawn(work).ok() }
    }

    /// Queues a message; if one is dropped for it, which and why.
    fn post(&self, message: &Arc<Message>) -> Option<(Arc<Message>, &'static str)> {
        match &self.thread {
            None => Some((Arc::clone(message), "cannot start a thread")),
            Some(thread) if thread.is_finished() => Some((Arc::clone(message), "the sender has stopped")),
            Some(_) => {
                let dropped = self.queue.push(Arc::clone(message))?;
                Some((dropped, "the queue is full"))
            }
        }
    }

    fn is_busy(&self) -> bool {
        let thread = self.thread.as_ref();
        thread.is_some_and(|thread| !thread.is_finished())
    }
}

/// The messages that wait for one channel, and the one being sent.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<Message>>,
    /// What can cut short the message that is being sent.
    sending: Option<Cutoff>,
    is_closed: bool,
    cut_short: usize,
}

impl Queue {
    /// A full queue drops its oldest message: newer ones say more.
    fn push(&self, message: Arc<Message>) -> Option<Arc<Message>> {
        let mut state = self.state();
        let dropped = match state.waiting.len() < CAPACITY {
            true => None,
            false => state.waiting.pop_front(),
        };
        state.waiting.push_back(message);
        self.changed.notify_all();
        dropped
    }

    /// No more messages come.
    fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }

    /// Waits for the next message, until none can come.
    fn next(&self) -> Option<(Arc<Message>, Cutoff)> {
        let mut state = self.state();
        loop {
            if let Some(message) = state.waiting.pop_front() {
                let cutoff = Cutoff::default();
                state.sending = Some(cutoff.clone());
                return Some((message, cutoff));
            }
            if state.is_closed {
                return None;
            }
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn sent(&self, is_cut: bool) {
        let mut state = self.state();
        state.sending = None;
        state.cut_short += usize::from(is_cut);
    }

    /// Moves the end of the run to the front, and cuts short what is being sent before it.
    fn make_way_for_end(&self) {
        let mut state = self.state();
        let end = state.waiting.iter().rposition(|message| is_end(message));
        if let Some(end) = end.and_then(|end| state.waiting.remove(end)) {
            state.waiting.push_front(end);
            if let Some(sending) = &state.sending {
                sending.now();
            }
        }
    }

    /// Ends everything; how many messages were not sent.
    fn cut(&self) -> usize {
        let mut state = self.state();
        let waiting = state.waiting.drain(..).count();
        if let Some(sending) = &state.sending {
            sending.now();
        }
        waiting + usize::from(state.sending.is_some()) + state.cut_short
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the message says how the run ended.
fn is_end(message: &Message) -> bool {
    message.notice.exit_code.is_some()
}

#[cfg(test)]
mod tests;
