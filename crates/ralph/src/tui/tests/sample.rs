//! A project as tests show it: what a night may have come to, with one attempt under way.

use std::fs;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ralph_core::event::{EventKind, RunEvent, TaskRef};
use ralph_core::host::{ThisHost, process_owner};
use ralph_core::model::{Key, NewTask, Phase, RunId, Task, TaskId, Timestamp};
use ralph_core::project::Project;
use ralph_core::store::{NewRun, PlanCounts, Store};
use ratatui_core::backend::TestBackend;
use ratatui_core::layout::Size;
use ratatui_core::terminal::Terminal;
use rusqlite::{Connection, params};

use super::app::{App, Effect, Event};
use super::draw::draw;
use super::reader::Reader;
use super::view::{Reply, Request};
use crate::workspace::Workspace;

/// Long ago: an elapsed time is the same in every test.
pub const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
pub const RUN: &str = "r-00000001";

fn minutes_ago(minutes: i64) -> Timestamp {
    Timestamp::from_millis(NOW.as_millis() - minutes * 60_000)
}

/// A task as the store gives it.
pub fn task(key: &str, title: &str) -> Task {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::create(&dir.path().join("progress.db")).unwrap();
    let id = add(&mut store, key, title, None, &[]);
    store.task(id.as_str()).unwrap()
}

fn add(store: &mut Store, key: &str, title: &str, phase: Option<&str>, after: &[&TaskId]) -> TaskId {
    let new = NewTask {
        title: title.to_owned(),
        key: Some(Key::from_stored(key)),
        phase: phase.map(|phase| Phase::parse(phase).unwrap()),
        after: after.iter().map(|id| (*id).clone()).collect(),
        verify: Some("cargo test tick".to_owned()),
        ..NewTask::default()
    };
    let mut seed = key.bytes().map(u64::from).fold(7, |all, byte| all * 257 + byte);
    store
        .add_task(&new, minutes_ago(300), &mut || {
            seed += 1;
            seed
        })
        .unwrap()
}

pub struct Sample {
    dir: tempfile::TempDir,
}

impl Sample {
    /// A project without a task.
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("todo");
        fs::create_dir_all(root.join(".ralph/logs")).unwrap();
        let toml = "[run]\nagent = \"claude\"\n[agents.claude]\nmodels = [\"haiku\", \"sonnet\"]\n";
        fs::write(root.join(".ralph.toml"), toml).unwrap();
        let sample = Self { dir };
        drop(sample.store());
        sample
    }

    fn project(&self) -> Project {
        Project::at(self.dir.path().join("todo"))
    }

    pub fn store(&self) -> Store {
        Store::create(&self.project().database()).unwrap()
    }

    pub fn database(&self) -> Connection {
        Connection::open(self.project().database()).unwrap()
    }

    /// The plan of the examples, without a run.
    pub fn plan() -> Self {
        let sample = Self::empty();
        let mut store = sample.store();
        add(&mut store, "1.1", "Keep the list in a file", Some("1"), &[]);
        add(&mut store, "1.3", "Describe the format", Some("1"), &[]);
        add(&mut store, "2.1", "Count what is left", Some("2"), &[]);
        let tick = add(&mut store, "2.2", "Tick items off", Some("2"), &[]);
        add(&mut store, "2.3", "Undo", Some("2"), &[]);
        let import = add(&mut store, "2.4", "Import from CSV", Some("2"), &[]);
        add(&mut store, "3.1", "Make it a command", Some("3"), &[&tick]);
        add(&mut store, "3.2", "Write the manual", Some("3"), &[&import, &tick]);
        sample
    }

    /// The same four hours into a run of this process, with an attempt under way.
    pub fn night() -> Self {
        let sample = Self::plan();
        let mut store = sample.store();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let owner = process_owner(host, rustix::process::getpid()).unwrap();
        let _ = ThisHost::new();
        let run = NewRun {
            id: RunId::from_stored(RUN),
            started_at: minutes_ago(252),
            owner: owner.clone(),
            settings: "{\"run.max_cost_usd\":\"20\"}".to_owned(),
            output: None,
            expires_at: Timestamp::from_millis(NOW.as_millis() + 1_000_000),
            defaults_revision: 9,
            jobs: 1,
            branch: None,
            sandbox: ralph_core::sandbox::Enforced::default(),
        };
        let kind = EventKind::RunStarted {
            agent: "claude".to_owned(),
            strategy: "adaptive".to_owned(),
            limit: None,
            tasks: PlanCounts { total: 8, pending: 8, ..PlanCounts::default() },
            without_gate: 0,
            ungated: Vec::new(),
            gates_off: false,
            already_green: Vec::new(),
            asked: Default::default(),
            jobs: 1,
            branch: None,
            sandbox: None,
        };
        store.start_run(&run, &mut RunEvent::new(1, minutes_ago(252), &run.id, kind)).unwrap();
        let import = TaskRef::from(&store.task("2.4").unwrap());
        let kind = EventKind::HandedOver { task: import, reason: "same failure 3 times".to_owned() };
        store.append_event(&mut RunEvent::new(2, minutes_ago(60), &run.id, kind)).unwrap();
        let id = |key: &str| store.task(key).unwrap().id;
        let db = sample.database();
        let set = |key: &str, what: &str| {
            db.execute(&format!("UPDATE tasks SET {what} WHERE id = ?1"), [id(key).as_str()]).unwrap();
        };
        for key in ["1.1", "2.1"] {
            set(key, "status = 'done', verified = 1, done_by = 'gate', level = 'gate'");
        }
        set("1.3", "status = 'done', done_by = 'agent'");
        set("2.2", "status = 'in_progress'");
        set("2.4", "status = 'blocked', needs_human = 1, reason = 'same failure 3 times (quote_in_field)'");
        for (learning, category, content, shown, helped, harmed) in [
            ("l-1", "pitfall", "`wc -l` gives 1 for an empty list", 3, 3, 0),
            ("l-2", "pattern", "Write the list to a temporary file and rename it", 5, 2, 1),
        ] {
            db.execute(
                "INSERT INTO learnings (id, category, content, relevance_tags, created_at, shown, helpful, harmful)
                 VALUES (?1, ?2, ?3, '[]', ?4, ?5, ?6, ?7)",
                params![learning, category, content, minutes_ago(200).to_string(), shown, helped, harmed],
            ).unwrap();
        }
        let attempt = |key: &str,
                       number: u32,
                       model: &str,
                       outcome: &str,
                       message: Option<&str>,
                       failing: &[&str]| {
            let failing = serde_json::to_string(failing).unwrap();
            db.execute(
                "INSERT INTO iteration_outcomes (task_id, attempt_number, ordinal, counted, model, started_at, duration_ms, outcome,
                     error_type, message, run_id, agent, cost_usd, rationale, gate_outcome, failing_tests, fingerprint_coarse)
                 VALUES (?1, ?2, ?2, 1, ?3, ?4, 420000, ?5, iif(?5 = 'failed', 'test_failure', NULL), ?6, ?7, 'claude', 0.24,
                     'adaptive: sonnet (60% chance, ~$0.20), then opus', iif(?5 = 'done', 'passed', 'failed'), ?8, 'c' || ?8)",
                params![id(key).as_str(), number, model, minutes_ago(100 - i64::from(number)).to_string(), outcome, message, RUN, failing],
            ).unwrap();
            db.execute(
                "INSERT OR REPLACE INTO strategy_metrics (task_id, total_attempts) VALUES (?1, ?2)",
                params![id(key).as_str(), number],
            )
            .unwrap();
        };
        attempt("1.1", 1, "haiku", "done", None, &[]);
        attempt("2.1", 1, "haiku", "failed", Some("the gate `make` exited with code 1"), &["a"]);
        attempt("2.1", 2, "sonnet", "done", None, &[]);
        attempt("2.2", 1, "sonnet", "failed", Some("3 of 41 tests failed"), &["a", "b", "c"]);
        for number in 1..4 {
            attempt("2.4", number, "sonnet", "failed", Some("quote_in_field fails"), &["quote"]);
        }
        db.execute(
            "INSERT INTO failure_reports (task_id, attempt_number, what_was_tried, why_it_failed, retry_suggestion, created_at)
             VALUES (?1, 1, 'A loop over the lines.', 'It counts from 0.', 'Count from 1.', ?2)",
            params![id("2.2").as_str(), minutes_ago(90).to_string()],
        ).unwrap();
        db.execute("INSERT INTO learning_uses VALUES (?1, 1, 0, 'l-2')", [id("2.2").as_str()]).unwrap();
        let log = ".ralph/logs/live.jsonl";
        db.execute(
            "INSERT INTO claims (task_id, run_id, worker, host, pid, pid_started, token, claimed_at, heartbeat_at, expires_at,
                 purpose, attempt_number, iteration, agent, model, started_at, log_path, learnings)
             VALUES (?1, ?2, 'w1', ?3, ?4, ?5, 'x', ?6, ?6, ?7, 'attempt', 2, 5, 'claude', 'sonnet', ?6, ?8, '[\"l-1\",\"l-2\"]')",
            params![id("2.2").as_str(), RUN, owner.host, owner.pid, owner.pid_started, minutes_ago(6).to_string(),
                Timestamp::from_millis(NOW.as_millis() + 1_000_000).to_string(), log],
        ).unwrap();
        db.execute("UPDATE runs SET cost_usd = 3.3, attempts = 6, done = 3", []).unwrap();
        sample.log(&["I look at the tests first.", "The first item has number 1."]);
        sample
    }

    /// Writes what the agent of the attempt under way said.
    pub fn log(&self, said: &[&str]) {
        let line = |text: &&str| {
            serde_json::json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": text }] } }).to_string() + "\n"
        };
        let text: String = said.iter().map(line).collect();
        fs::write(self.dir.path().join("todo/.ralph/logs/live.jsonl"), text).unwrap();
    }

    /// Keeps the prompt of the attempt under way.
    pub fn keep_prompt(&self, text: &str) {
        fs::write(self.dir.path().join("todo/.ralph/logs/live.prompt.md"), text).unwrap();
    }

    /// Looks at it in a terminal of this size.
    pub fn show(self, width: u16, height: u16) -> Shown {
        self.show_run(width, height, None)
    }

    pub fn show_run(self, width: u16, height: u16, run: Option<&str>) -> Shown {
        let workspace = Workspace { project: self.project(), store: self.store() };
        let settings = crate::settings::Settings::load(&self.project().config(), std::iter::empty()).unwrap();
        let told = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let tell = told.clone();
        let mut reader = Reader::new(workspace, settings, run.map(RunId::from_stored), move |one| {
            tell.borrow_mut().push(one)
        });
        let mut app = App::new(Size::new(width, height), NOW, false, run.map(str::to_owned));
        let wanted = app.first();
        reader.answer(Request::Show(Box::new(wanted)));
        let mut shown = Shown { sample: self, app, reader, told, effects: Vec::new() };
        shown.settle();
        shown
    }
}

/// A screen that is looked at, with what it reads behind it and nothing in between.
pub struct Shown {
    pub sample: Sample,
    pub app: App,
    reader: Reader<'static>,
    told: std::rc::Rc<std::cell::RefCell<Vec<Reply>>>,
    /// What the app asked of others than the reader.
    pub effects: Vec<Effect>,
}

impl Shown {
    /// Reads until there is nothing new.
    pub fn settle(&mut self) {
        for _ in 0..20 {
            self.reader.look();
            let told: Vec<Reply> = self.told.borrow_mut().drain(..).collect();
            if told.is_empty() {
                return;
            }
            for one in told {
                self.event(Event::Reply(one));
            }
        }
    }

    pub fn event(&mut self, event: Event) {
        for effect in self.app.update(event) {
            match effect {
                Effect::Request(request) => self.reader.answer(request),
                other => self.effects.push(other),
            }
        }
    }

    pub fn key(&mut self, code: KeyCode) {
        self.event(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        self.settle();
    }

    /// Types letters.
    pub fn keys(&mut self, keys: &str) {
        keys.chars().for_each(|c| self.key(KeyCode::Char(c)));
    }

    pub fn resize(&mut self, width: u16, height: u16) {
        self.event(Event::Resize(Size::new(width, height)));
        self.settle();
    }

    /// What stands on the screen, without times of day, which depend on where a test runs.
    pub fn screen(&self) -> String {
        let Size { width, height } = self.app.size;
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &self.app)).unwrap();
        let buffer = terminal.backend().buffer();
        let rows = (0..height).map(|y| {
            let row: String =
                (0..width).filter_map(|x| buffer.cell((x, y))).map(|cell| cell.symbol()).collect();
            row.trim_end().to_owned()
        });
        let screen = rows.collect::<Vec<_>>().join("\n");
        // Which process this is depends on where a test runs.
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let process = format!("process {} on {host}", std::process::id());
        screen.replace(&process, &format!("{:<1$}", "process 7 on h", process.chars().count()))
    }

    #[track_caller]
    pub fn expect(&self, text: &str) {
        assert!(self.screen().contains(text), "no {text:?} in\n{}", self.screen());
    }
}
