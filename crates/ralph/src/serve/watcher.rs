//! One thread looks for what is new and tells all pages. However many pages are open, the store is asked once; while none is, not at
//! all.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ralph_core::agent::Interrupt;
use ralph_core::host::{ThisHost, is_stopped};
use ralph_core::model::{RunId, TaskId, Timestamp};
use serde::Serialize;

use super::access::Changes;
use super::connections::{Message, MessageSender};
use super::now::Now;
use super::task::keep_end;
use crate::command_error::CommandError;
use crate::commands::logs::{LogText, LoggedAttempt};
use crate::facts::CurrentAttempt;
use crate::settings::Settings;
use crate::ui::lines;
use crate::workspace::Workspace;

/// How often the store is asked whether something changed.
const TICK: Duration = Duration::from_millis(100);
/// Reading the state of a large plan takes its time: so many times as long passes before it is read again.
const SHARE: u32 = 2;
/// How often to look whether a run died or was suspended, which nobody writes down.
const LIVENESS: Duration = Duration::from_secs(1);
/// After an error.
const PAUSE: Duration = Duration::from_secs(1);
/// Live output that is kept of an attempt, and how much of a log is read at once.
const OUTPUT_BYTES: usize = 8 * 1024;
const READS: usize = 32;
/// Lines on what happened last.
const RECENT: usize = 30;
/// Events of which those lines are made: some have none.
const EVENTS: u32 = 500;

pub struct Watcher {
    pub root: PathBuf,
    pub messages: MessageSender,
    /// How many pages are open.
    pub pages: Arc<AtomicUsize>,
    pub interrupt: Interrupt,
    pub changes: Changes,
}

/// What is known of the project while pages are open.
struct Watched {
    workspace: Workspace,
    settings: Settings,
    /// The file that was opened: another one may take its place.
    file: Option<(u64, u64)>,
    version: Option<u64>,
    is_due: bool,
    /// When the state was read last, and how long that took.
    read: Option<(Instant, Duration)>,
    told: String,
    attempts: Vec<CurrentAttempt>,
    /// When that was looked at last, and what was found before the state was read last.
    liveness: (Instant, Vec<(RunId, bool)>),
    outputs: HashMap<TaskId, Output>,
    recent: Recent,
}

/// The live output of an attempt.
#[derive(Default)]
struct Output {
    log: Option<LogText>,
    path: Option<String>,
    text: String,
}

#[derive(Default)]
struct Recent {
    run: Option<RunId>,
    seq: u64,
    lines: Vec<RecentLine>,
}

#[derive(Clone, Serialize)]
struct RecentLine {
    at: Timestamp,
    text: String,
}

impl Watcher {
    pub fn run(self) {
        let mut watched: Option<Watched> = None;
        let mut trouble = String::new();
        let mut is_first = true;
        while self.interrupt.first().is_none() {
            // Read once before anybody asks: the first page has something to show at once. What a later page is told first is
            // from when the last one was there, and is read again at once.
            if self.pages.load(Ordering::Relaxed) == 0 && !is_first {
                thread::park_timeout(Duration::from_secs(1));
                continue;
            }
            is_first = false;
            match self.tick(&mut watched) {
                Ok(()) => {
                    if !trouble.is_empty() {
                        trouble.clear();
                        self.over("trouble");
                        self.event("trouble", &serde_json::Value::Null, None);
                    }
                    thread::park_timeout(TICK);
                }
                Err(error) => {
                    watched = None;
                    if error.message() != trouble {
                        trouble = error.message().to_owned();
                        let value = serde_json::json!({ "error": trouble, "hints": error.hints() });
                        self.event("trouble", &value, Some("trouble"));
                    }
                    thread::park_timeout(PAUSE);
                }
            }
        }
    }

    fn tick(&self, slot: &mut Option<Watched>) -> Result<(), CommandError> {
        let watched = match slot {
            Some(watched) if watched.file == self.file() => watched,
            _ => slot.insert(self.open()?),
        };
        let version = watched.workspace.store.changes()?;
        if watched.version != Some(version) {
            watched.version = Some(version);
            watched.is_due = true;
            self.tell_recent(watched)?;
        }
        watched.check_liveness()?;
        let may_read = watched.read.is_none_or(|(at, took)| at.elapsed() >= took * SHARE);
        if watched.is_due && may_read {
            watched.is_due = false;
            self.tell_now(watched)?;
        }
        self.tell_output(watched)
    }

    fn file(&self) -> Option<(u64, u64)> {
        let found = std::fs::metadata(self.root.join(".ralph/progress.db")).ok()?;
        Some((found.dev(), found.ino()))
    }

    fn open(&self) -> Result<Watched, CommandError> {
        let file = self.file();
        let workspace = Workspace::open_to_read(Some(&self.root))?;
        Ok(Watched {
            settings: workspace.settings()?,
            workspace,
            file,
            version: None,
            is_due: true,
            read: None,
            told: String::new(),
            attempts: Vec::new(),
            liveness: (Instant::now(), Vec::new()),
            outputs: HashMap::new(),
            recent: Recent::default(),
        })
    }

    fn event(&self, kind: &str, value: &impl Serialize, name: Option<&str>) {
        let Ok(json) = serde_json::to_string(value) else { return };
        let frame = format!("event: {kind}\ndata: {json}\n\n").into_bytes().into();
        self.messages.send(Message::Event { name: name.map(str::to_owned), frame });
    }

    fn over(&self, name: &str) {
        self.messages.send(Message::Over { name: name.to_owned() });
    }

    fn tell_now(&self, watched: &mut Watched) -> Result<(), CommandError> {
        let begun = Instant::now();
        // Settings may be changed while pages are open.
        watched.settings = watched.workspace.settings()?;
        // Before: a run that ends in between is found by the next look.
        watched.liveness.1 = runs_at_work(&watched.workspace)?;
        let (facts, attempts) = Now::read(&watched.workspace, &watched.settings, self.changes)?;
        watched.attempts = attempts;
        let json = serde_json::to_string(&facts).map_err(CommandError::environment)?;
        if json != watched.told {
            self.event("now", &facts, Some("now"));
            watched.told = json;
        }
        watched.read = Some((Instant::now(), begun.elapsed()));
        Ok(())
    }

    /// The last lines that the run would have printed.
    fn tell_recent(&self, watched: &mut Watched) -> Result<(), CommandError> {
        let store = &watched.workspace.store;
        let Some(run) = watched.workspace.present_run()? else { return Ok(()) };
        let recent = &mut watched.recent;
        if recent.run.as_ref() != Some(&run.id) {
            let last = store.last_event(&run.id, None)?.map_or(0, |event| event.seq);
            let seq = last.saturating_sub(u64::from(EVENTS));
            *recent = Recent { run: Some(run.id.clone()), seq, lines: Vec::new() };
        }
        let events = store.some_events(&run.id, recent.seq, EVENTS)?;
        let Some(last) = events.last() else { return Ok(()) };
        recent.seq = last.seq;
        for event in &events {
            let Some(line) = event.read().and_then(|event| lines::plain_line(&event)) else { continue };
            let text = anstream::adapter::strip_str(&line).to_string();
            recent.lines.push(RecentLine { at: event.at, text: super::groups::shown_lines(&text, 2000) });
        }
        let old = recent.lines.len().saturating_sub(RECENT);
        recent.lines.drain(..old);
        self.event("recent", &recent.lines, Some("recent"));
        Ok(())
    }

    fn tell_output(&self, watched: &mut Watched) -> Result<(), CommandError> {
        let Watched { workspace, attempts, outputs, .. } = watched;
        outputs.retain(|task, _| {
            let is_on = attempts.iter().any(|one| one.task.task_id == *task);
            if !is_on {
                self.over(&format!("output {task}"));
            }
            is_on
        });
        for attempt in attempts.iter().filter(|attempt| attempt.log_path.is_some()) {
            let id = &attempt.task.task_id;
            let output = outputs.entry(id.clone()).or_default();
            if output.more(workspace, attempt) {
                let value = serde_json::json!({ "task": id, "text": output.text });
                self.event("output", &value, Some(&format!("output {id}")));
            }
        }
        Ok(())
    }
}

impl Watched {
    /// Has the state read again if a run died or was suspended.
    fn check_liveness(&mut self) -> Result<(), CommandError> {
        let (checked, known) = &mut self.liveness;
        if checked.elapsed() < LIVENESS {
            return Ok(());
        }
        *checked = Instant::now();
        self.is_due |= *known != runs_at_work(&self.workspace)?;
        Ok(())
    }
}

/// The runs at work, and whether each is suspended.
fn runs_at_work(workspace: &Workspace) -> Result<Vec<(RunId, bool)>, CommandError> {
    let host = ThisHost::new();
    let runs = crate::actions::active_runs(workspace, None)?.into_iter();
    Ok(runs.map(|run| (run.id, is_stopped(&host, &run.owner))).collect())
}

impl Output {
    /// Reads on; whether there is something new. A log that cannot be read has nothing to show.
    fn more(&mut self, workspace: &Workspace, attempt: &CurrentAttempt) -> bool {
        let mut is_new = false;
        if self.path != attempt.log_path {
            *self = Self { path: attempt.log_path.clone(), ..Self::default() };
            is_new = true;
        }
        if self.log.is_none() {
            self.log = open_log(workspace, attempt);
        }
        let Some(log) = &mut self.log else { return is_new };
        for _ in 0..READS {
            match log.more() {
                Ok(Some(more)) => {
                    is_new |= !more.is_empty();
                    self.text.push_str(&more);
                    keep_end(&mut self.text, 4 * OUTPUT_BYTES, OUTPUT_BYTES);
                }
                Ok(None) => break,
                Err(_) => {
                    self.log = None;
                    break;
                }
            }
        }
        keep_end(&mut self.text, OUTPUT_BYTES, OUTPUT_BYTES);
        is_new
    }
}

fn open_log(workspace: &Workspace, attempt: &CurrentAttempt) -> Option<LogText> {
    let task = workspace.task(attempt.task.task_id.as_str()).ok()?;
    let logged = LoggedAttempt::all(&workspace.store, &task).ok()?.pop().filter(LoggedAttempt::is_running)?;
    LogText::open(workspace, &task, &logged).ok()
}
