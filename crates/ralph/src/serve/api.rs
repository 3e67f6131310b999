//! What takes longer than an answer may: reading views, and changing something. A few threads do it, each with the store open; what
//! several pages ask for is read once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use ralph_core::agent::Interrupt;
use ralph_core::model::{RunId, Timestamp};
use serde::Serialize;
use serde_json::json;

use super::access::Changes;
use super::changes;
use super::connections::{Id, Message, MessageSender};
use super::dag::draw;
use super::groups::shown;
use super::http::{Answer, Method, Request};
use super::now::Now;
use super::task::{DiffView, LogView, PromptView, TaskView};
use crate::command_error::CommandError;
use crate::facts::{DecisionFacts, History, MemoryFacts, PhaseNames, PlanFacts, RunLine};
use crate::plots;
use crate::report::{Format, ReportFacts};
use crate::settings::{Settings, build_agent};
use crate::ui::format;
use crate::workspace::Workspace;

/// Two, so that a slow one (a diff in a large repository) does not hold everything up.
const THREADS: usize = 2;
/// Requests that wait. Beyond it pages are told to ask again.
const WAITING: usize = 256;
/// Answers that are kept.
const KEPT: usize = 64;
/// Runs that are compared.
const RUNS: usize = 200;

struct Job {
    id: Id,
    request: Request,
}

/// Hands requests to the threads.
pub struct Api {
    jobs: SyncSender<Job>,
}

impl Api {
    pub fn open(
        root: &Path,
        messages: &MessageSender,
        interrupt: &Interrupt,
        changes: Changes,
    ) -> Result<Self, CommandError> {
        let (sender, jobs) = sync_channel(WAITING);
        let jobs = Arc::new(Mutex::new(jobs));
        for _ in 0..THREADS {
            let thread = ApiThread {
                root: root.to_owned(),
                interrupt: interrupt.clone(),
                changes,
                workspace: None,
                kept: HashMap::new(),
            };
            let (jobs, messages) = (jobs.clone(), messages.clone());
            let work = move || thread.work(&jobs, &messages);
            thread::Builder::new()
                .name("views".to_owned())
                .spawn(work)
                .map_err(|error| CommandError::environment(format_args!("cannot start a thread: {error}")))?;
        }
        Ok(Self { jobs: sender })
    }

    /// Whether there was room.
    pub fn take(&self, id: Id, request: Request) -> bool {
        match self.jobs.try_send(Job { id, request }) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
        }
    }
}

struct ApiThread {
    root: PathBuf,
    interrupt: Interrupt,
    changes: Changes,
    workspace: Option<Workspace>,
    /// Answers by their address, with the version of the store that they were read from.
    kept: HashMap<String, (u64, Answer)>,
}

impl ApiThread {
    fn work(mut self, jobs: &Mutex<Receiver<Job>>, messages: &MessageSender) {
        loop {
            let job = jobs.lock().ok().and_then(|jobs| jobs.recv().ok());
            let Some(Job { id, request }) = job else { return };
            let answer = match request.method {
                Method::Post => changes::answer(&self.root, &request.body),
                Method::Get => self.view(&request).unwrap_or_else(|error| {
                    // Mostly there is nothing to show, and the page says why. The next one opens the store anew, which may have
                    // been replaced.
                    self.workspace = None;
                    Answer::failed(200, error.message(), error.hints())
                }),
            };
            messages.send(Message::Answer { to: id, answer });
        }
    }

    fn view(&mut self, request: &Request) -> Result<Answer, CommandError> {
        let workspace = match self.workspace.take() {
            Some(workspace) => workspace,
            None => {
                // Versions are those of one connection.
                self.kept.clear();
                Workspace::open_to_read(Some(&self.root))?
            }
        };
        let version = workspace.store.changes()?;
        let address = format!("{}?{}", request.path, request.query.as_deref().unwrap_or_default());
        // What git, the clock or a log say is no matter of the store.
        let is_lasting = ["/api/plan", "/api/decisions", "/api/memory"].contains(&request.path.as_str());
        if let Some((of, answer)) = self.kept.get(&address)
            && *of == version
        {
            let answer = answer.clone();
            self.workspace = Some(workspace);
            return Ok(answer);
        }
        let answer = self.read(&workspace, request)?;
        self.workspace = Some(workspace);
        if is_lasting {
            if self.kept.len() >= KEPT {
                self.kept.clear();
            }
            self.kept.insert(address, (version, answer.clone()));
        }
        Ok(answer)
    }

    fn read(&self, workspace: &Workspace, request: &Request) -> Result<Answer, CommandError> {
        let store = &workspace.store;
        let settings = workspace.settings()?;
        let task = || request.value("task").unwrap_or_default();
        let number = |name: &str| request.value(name).and_then(|n| n.parse::<u32>().ok());
        Ok(match request.path.as_str() {
            "/api/now" => ok(&Now::read(workspace, &settings, self.changes)?.0),
            "/api/plan" => {
                let (group, from) = (request.value("group"), number("from").unwrap_or_default());
                let phases = PhaseNames::read(workspace);
                ok(&draw(&PlanFacts::without_attempts(workspace)?, &phases, group.as_deref(), from as usize))
            }
            "/api/task" => ok(&TaskView::read(workspace, &settings, &task())?),
            "/api/prompt" => ok(&PromptView::read(workspace, &settings, &task(), number("number"))?),
            "/api/log" => ok(&LogView::read(workspace, &task(), number("number"))?),
            "/api/diff" => ok(&DiffView::read(workspace, &task(), number("attempt"), &self.interrupt)?),
            "/api/decisions" => {
                let run = request.value("run").filter(|run| !run.is_empty());
                let run = run.map(|run| workspace.run(&run)).transpose()?.map(|run| run.id);
                let with_strategies = request.value("strategies").as_deref() != Some("0");
                ok(&json!({ "plots": decisions(workspace, &settings, run.as_ref(), with_strategies)? }))
            }
            "/api/memory" => ok(&memory(workspace)?),
            "/api/runs" => {
                let lines = RunLine::newest(store, RUNS)?;
                let rows: Vec<RunRow> = lines.iter().rev().map(RunRow::from).collect();
                ok(&json!({ "plot": plots::runs(&lines), "runs": rows }))
            }
            "/report" => self.report(workspace, &settings, request)?,
            _ => Answer::error(404, "there is no such page"),
        })
    }

    /// The report of a run as a page of its own.
    fn report(
        &self,
        workspace: &Workspace,
        settings: &Settings,
        request: &Request,
    ) -> Result<Answer, CommandError> {
        let run = workspace.run(&request.value("run").unwrap_or_default())?;
        let facts = ReportFacts::read(workspace, settings, &run, &self.interrupt)?;
        Ok(Answer::document(&Format::Html.of(&facts)))
    }
}

fn ok(value: &impl Serialize) -> Answer {
    Answer::json(200, value)
}

fn decisions(
    workspace: &Workspace,
    settings: &Settings,
    run: Option<&RunId>,
    with_strategies: bool,
) -> Result<Vec<plots::Plot>, CommandError> {
    let agent = build_agent(settings.agent(), &settings.agents).ok().filter(|_| with_strategies);
    let history = agent.as_ref().map(|agent| History::of(settings, agent));
    Ok(plots::decisions(&DecisionFacts::read(&workspace.store, run, history)?))
}

/// The plot on learnings, and the learnings.
fn memory(workspace: &Workspace) -> Result<serde_json::Value, CommandError> {
    let facts = MemoryFacts::read(&workspace.store)?;
    let rows = facts.most_shown.iter().map(|one| {
        json!({
            "id": one.id, "category": shown(&one.category, 40), "content": shown(&one.content, 600), "pinned": one.pinned,
            "shown": one.shown, "helped": one.helped, "harmed": one.harmed,
        })
    });
    let rows: Vec<_> = rows.collect();
    let left_out = facts.learnings.saturating_sub(rows.len() as u64);
    Ok(json!({ "plot": plots::memory(&facts), "learnings": rows, "left_out": left_out }))
}

/// A run as the page lists it.
#[derive(Serialize)]
struct RunRow {
    id: RunId,
    active: bool,
    started_at: Timestamp,
    duration_ms: u64,
    outcome: String,
    class: &'static str,
    done: String,
    verified: u64,
    failed: u64,
    attempts: u64,
    cost: String,
    agents: String,
}

impl From<&RunLine> for RunRow {
    fn from(of: &RunLine) -> Self {
        let class = match (of.active, of.exit_code) {
            (true, _) => "run",
            (_, Some(0)) => "ok",
            (_, None) => "bad",
            _ => "weak",
        };
        Self {
            id: of.run_id.clone(),
            active: of.active,
            started_at: of.started_at,
            duration_ms: of.duration_ms,
            outcome: match of.outcome.as_str() {
                "died" => "crashed".to_owned(),
                word => shown(&word.replace('_', " "), 40),
            },
            class,
            done: of.done_in_words(),
            verified: of.done_verified,
            failed: of.failed,
            attempts: of.attempts,
            cost: format::short_total(&of.cost),
            agents: shown(&of.agents_in_words(), 120),
        }
    }
}
