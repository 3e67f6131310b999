//! The live display of a run: what it does now, how far the plan is, and a line per finished attempt above.

use std::collections::BTreeMap;
use std::io::stdout;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ralph_core::event::{EventKind, Observer, RunEvent};
use ralph_core::model::{Cost, Status, Timestamp};
use ralph_core::store::PlanCounts;
use ralph_core::text::one_line;

use super::keys::TerminalMode;
use super::progress::{LiveLines, TICK, spinner};
use super::style::{BOLD, CYAN, DIM, paint};
use super::{format, lines, style, table};
use crate::output;

const BAR: u64 = 24;
/// Columns of a task's name where each of several workers has one line.
const MANY: usize = 40;
/// Events come faster than anybody reads.
const LEAST_PAUSE: Duration = Duration::from_millis(100);

pub struct Terminal {
    screen: Arc<Mutex<Screen>>,
    names: lines::WorkerNames,
    /// Keeps typed keys from being echoed into the live lines.
    mode: Option<TerminalMode>,
    /// The thread that draws ends when this is dropped. None where it could not be started.
    _ticker: Option<Sender<()>>,
}

struct Screen {
    live: LiveLines,
    drawn_at: Instant,
    /// Off while a person is asked, and after the end.
    is_on: bool,
    /// What each worker is at, by its name; a run by itself has one.
    workers: BTreeMap<String, Present>,
    /// Whether the run has several.
    many: bool,
    tasks: PlanCounts,
    cost: Cost,
    started: Instant,
}

/// What a worker is at.
#[derive(Default)]
struct Present {
    /// Task, attempt and model, and since when.
    current: Option<(String, Instant)>,
    doing: String,
    waits_until: Option<Timestamp>,
}

impl Present {
    fn set_doing(&mut self, text: impl Into<String>) {
        self.doing = text.into();
        self.waits_until = None;
    }

    /// What it does, and how long it will take where that is known.
    fn doing(&self, room: usize) -> Option<String> {
        if self.doing.is_empty() {
            return None;
        }
        let left = self.waits_until.map(|until| until.since(crate::workspace::now()));
        let left = left.map(|left| format!(" · {} left", format::duration(left)));
        let doing = paint(DIM, table::cut(&one_line(&self.doing, 500), room));
        Some(format!("{doing}{}", left.unwrap_or_default()))
    }
}

impl Terminal {
    pub fn new() -> Self {
        let screen = Arc::new(Mutex::new(Screen {
            live: LiveLines::new(stdout()),
            drawn_at: Instant::now(),
            is_on: true,
            workers: BTreeMap::new(),
            many: false,
            tasks: PlanCounts::default(),
            cost: Cost::default(),
            started: Instant::now(),
        }));
        let (alive, over) = channel::<()>();
        let drawn = Arc::clone(&screen);
        let draw = move || {
            while over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                lock(&drawn).draw();
            }
        };
        let ticker = thread::Builder::new().spawn(draw).ok().map(|_| alive);
        Self {
            screen,
            names: lines::WorkerNames::default(),
            mode: Some(TerminalMode::no_echo()),
            _ticker: ticker,
        }
    }

    fn turn_off(&mut self) {
        let mut screen = lock(&self.screen);
        if std::mem::replace(&mut screen.is_on, false) {
            screen.live.draw("", &[]);
        }
        drop(screen);
        self.mode = None;
    }
}

fn lock(screen: &Mutex<Screen>) -> MutexGuard<'_, Screen> {
    screen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Screen {
    fn draw(&mut self) {
        if self.is_on && self.drawn_at.elapsed() >= LEAST_PAUSE {
            self.print("");
        }
    }

    /// Prints a text above the live lines.
    fn print(&mut self, text: &str) {
        let text: String = table::wrap_all(text);
        if self.is_on {
            let lines = self.lines();
            self.live.draw(&text, &lines);
            self.drawn_at = Instant::now();
        } else {
            output::text(text);
        }
    }

    fn lines(&self) -> Vec<String> {
        let room = super::width().saturating_sub(4).max(10);
        let mut lines = Vec::new();
        for (name, present) in &self.workers {
            let doing = present.doing(room);
            let Some((current, since)) = &present.current else {
                let name = if self.many { format!("{name} ") } else { String::new() };
                lines.extend(doing.map(|doing| format!("  {name}{doing}")));
                continue;
            };
            let elapsed = since.elapsed();
            let (spinner, time) = (spinner(elapsed), format::elapsed(elapsed));
            if self.many {
                // One line for each, so that all of them are seen.
                let doing = doing.map(|doing| format!(" · {doing}")).unwrap_or_default();
                lines.push(format!("{spinner} {name} {current} · {time}{doing}"));
                continue;
            }
            lines.push(format!("{spinner} {current} · {time}"));
            lines.extend(doing.map(|doing| format!("  {doing}")));
        }
        if self.tasks.total > 0 {
            let cost = format::total(&self.cost).map(|cost| format!(" {cost}")).unwrap_or_default();
            let bar = style::bar(&self.tasks, BAR);
            lines.push(format!("  {}", table::cut(&self.tasks.summary(), room)));
            lines.push(format!("  {bar}{cost} · {}", format::elapsed(self.started.elapsed())));
        }
        lines
    }

    fn see(&mut self, event: &RunEvent) {
        let many = self.many;
        let present = self.workers.entry(event.worker.clone()).or_default();
        match &event.kind {
            EventKind::RunStarted { tasks, jobs, .. } => {
                self.tasks = *tasks;
                self.many = *jobs > 1;
            }
            EventKind::AttemptStarted { task, attempt, choice, agent, learnings, notes, .. } => {
                let who = format::agent_and_model(Some(agent), Some(&choice.model)).unwrap_or_default();
                let shown = lines::learnings_shown(learnings.len(), " · ");
                let noted = lines::notes_shown(notes.len(), " · ");
                let facts = format!(" · attempt {attempt} · {who}{shown}{noted}");
                let room = super::width().saturating_sub(table::shown(&facts) + 12).max(10);
                let room = if many { room.min(MANY) } else { room };
                let name = table::cut(&format!("{} {}", task.name(), task.title), room);
                present.current =
                    Some((format!("{}{}", paint(BOLD, name), paint(CYAN, facts)), Instant::now()));
                present.set_doing("starting");
                // The counts come after each attempt; meanwhile this task is not waiting.
                self.tasks.moved(Status::Pending, Status::InProgress);
            }
            EventKind::Activity { activity, .. } => present.set_doing(lines::activity(activity)),
            EventKind::GateStarted { command, .. } => present.set_doing(format!("gate: {command}")),
            EventKind::LandingStarted { .. } => present.set_doing("landing"),
            EventKind::AttemptFinished(_) if many => *present = Present::default(),
            EventKind::ReviewStarted { agent, model, .. } => {
                let who = format::agent_and_model(Some(agent), Some(model)).unwrap_or_default();
                present.set_doing(format!("review by {who}"));
            }
            EventKind::Progress { tasks, cost } => (self.tasks, self.cost) = (*tasks, *cost),
            EventKind::Waiting { reason, until, .. } => {
                present.current = None;
                present.set_doing(format!("waiting for {reason}"));
                present.waits_until = *until;
            }
            EventKind::Paused | EventKind::WaitOver => present.set_doing(""),
            EventKind::Interrupted { .. } => present.set_doing("stopping"),
            _ => {}
        }
    }
}

impl Observer for Terminal {
    fn event(&mut self, event: &RunEvent) {
        lock(&self.screen).see(event);
        let line = lines::line(event).map(|line| self.names.name(event, line));
        match event.kind {
            EventKind::Paused | EventKind::RunFinished { .. } => self.turn_off(),
            EventKind::Resumed => {
                self.mode.get_or_insert_with(TerminalMode::no_echo);
                lock(&self.screen).is_on = true;
            }
            _ => {}
        }
        match line {
            Some(line) => lock(&self.screen).print(&line),
            None => lock(&self.screen).draw(),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // An error may end a run without its last event.
        self.turn_off();
    }
}
