//! What looking costs with 10,000 tasks and 100,000 attempts: the terminal UI in a real pseudo-terminal.
//!
//! `cargo bench -p ralph --bench views` prints each figure with its goal. Nothing here fails a build.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints and may panic"
)]

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use expectrl::process::Process;
use expectrl::process::unix::UnixProcess;
use expectrl::session::OsSession;
use ralph_core::store::Store;
use rusqlite::{Connection, params};

const RALPH: &str = env!("CARGO_BIN_EXE_ralph");
const TASKS: u32 = 10_000;
const ATTEMPTS: u32 = 100_000;
const ROUNDS: usize = 15;
const SIZE: (u16, u16) = (100, 30);

fn main() {
    // `cargo test` runs benchmarks too, with this flag; they are not tests.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let (small, large) = (figures(10, 20), figures(TASKS, ATTEMPTS));
    println!("terminal UI with {TASKS} tasks and {ATTEMPTS} attempts (with 10 tasks and 20 attempts)");
    for ((figure, small), (_, large)) in small.iter().zip(&large) {
        println!("  {:<22} {large:>8}  ({small:>8})  {}", figure.name, figure.goal);
    }
}

struct Figure {
    name: &'static str,
    goal: &'static str,
}

/// The figures of a project of this size.
fn figures(tasks: u32, attempts: u32) -> Vec<(Figure, String)> {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), tasks, attempts);
    let bare = median((0..ROUNDS).map(|_| timed(|| run(dir.path(), &["--version"]))));
    let ready = median((0..ROUNDS).map(|_| {
        let started = Instant::now();
        let mut ui = Ui::start(dir.path());
        ui.until(|screen| screen.contains("1 Plan") && screen.contains("sonnet 1.0 s"));
        let ready = started.elapsed();
        ui.quit();
        ready
    }));
    let mut ui = Ui::start(dir.path());
    ui.until(|screen| screen.contains("sonnet 1.0 s"));
    // Down and up again: the mark moves to the other row.
    let key = median((0..4 * ROUNDS).map(|n| {
        let (key, row) = if n % 2 == 0 { ("j", "▌· t-000001") } else { ("k", "▌· t-000000") };
        timed(|| {
            ui.press(key);
            ui.until(|screen| screen.contains(row));
        })
    }));
    ui.press("G");
    let last = format!("▌· t-{:06x}", tasks - 1);
    ui.until(|screen| screen.contains(&last));
    let database = Connection::open(dir.path().join(".ralph/progress.db")).unwrap();
    let event = median((0..ROUNDS).map(|n| {
        let title = format!("changed {n} times");
        database
            .execute("UPDATE tasks SET title = ?1 WHERE position = ?2", params![title, tasks - 1])
            .unwrap();
        timed(|| ui.until(|screen| screen.contains(&title)))
    }));
    let [resident, data] = ["VmRSS:", "RssAnon:"].map(|name| format!("{} MB", ui.memory(name)));
    ui.quit();
    let time = |time: Duration| format!("{time:.1?}");
    [
        ("a bare start", "", time(bare)),
        ("ready", "goal: 150 ms", time(ready)),
        ("a key is answered", "goal: 16 ms", time(key)),
        ("a change is seen", "goal: 300 ms", time(event)),
        ("memory", "goal: below 60 MB", resident),
        ("of that, data", "", data),
    ]
    .map(|(name, goal, value)| (Figure { name, goal }, value))
    .into()
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    times[times.len() / 2]
}

fn run(dir: &Path, args: &[&str]) {
    let mut command = Command::new(RALPH);
    assert!(command.args(args).current_dir(dir).stdout(Stdio::null()).status().unwrap().success());
}

fn fill(dir: &Path, tasks: u32, attempts: u32) {
    std::fs::create_dir_all(dir.join(".ralph/logs")).unwrap();
    let toml = "[run]\nagent = \"b\"\n[agents.b]\nkind = \"command\"\ncommand = [\"true\"]\n";
    std::fs::write(dir.join(".ralph.toml"), toml).unwrap();
    let database = dir.join(".ralph/progress.db");
    drop(Store::create(&database).unwrap());
    let mut conn = Connection::open(&database).unwrap();
    conn.pragma_update(None, "synchronous", "OFF").unwrap();
    let tx = conn.transaction().unwrap();
    let at = "2026-11-16T22:00:00Z";
    for n in 0..tasks {
        let sql =
            "INSERT INTO tasks (id, title, description, status, created_at, updated_at, position, phase)
             VALUES (?1, ?2, ?3, 'pending', ?4, ?4, ?5, ?6)";
        let (title, text) =
            (format!("Part {n} of something larger"), "What to do, in some detail. ".repeat(20));
        let id = format!("t-{n:06x}");
        tx.prepare_cached(sql).unwrap().execute(params![id, title, text, at, n, n / 100]).unwrap();
    }
    for n in 0..attempts {
        let task = format!("t-{:06x}", n % tasks);
        let sql = "INSERT INTO iteration_outcomes (task_id, attempt_number, model, started_at, duration_ms, outcome,
                 ordinal, counted, run_id, message, gate_output) VALUES (?1, ?2, 'sonnet', ?3, 1000, 'failed', ?2, 1, 'r-1', ?4, ?5)";
        let output = "test tick::unknown_number ... FAILED\n".repeat(10);
        let values = params![task, n / tasks + 1, at, "3 of 41 tests failed", output];
        tx.prepare_cached(sql).unwrap().execute(values).unwrap();
    }
    tx.commit().unwrap();
}

/// The UI in a terminal.
struct Ui {
    session: OsSession,
    screen: vt100::Parser,
}

impl Ui {
    fn start(dir: &Path) -> Self {
        let mut command = Command::new(RALPH);
        command.arg("ui").current_dir(dir).env("TERM", "xterm-256color").env_remove("RALPH_RUN_ID");
        let mut process = UnixProcess::spawn_command(command).unwrap();
        process.set_window_size(SIZE.0, SIZE.1).unwrap();
        let stream = process.open_stream().unwrap();
        Self {
            session: OsSession::new(process, stream).unwrap(),
            screen: vt100::Parser::new(SIZE.1, SIZE.0, 0),
        }
    }

    fn until(&mut self, wanted: impl Fn(&str) -> bool) {
        let started = Instant::now();
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.session.try_read(&mut buffer) {
                Ok(0) => panic!("it has ended"),
                Ok(length) => {
                    self.screen.process(&buffer[..length]);
                    if wanted(&self.screen.screen().contents()) {
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_micros(200));
                }
                Err(error) => panic!("{error}"),
            }
            assert!(started.elapsed() < Duration::from_secs(60), "{}", self.screen.screen().contents());
        }
    }

    fn press(&mut self, keys: &str) {
        self.session.write_all(keys.as_bytes()).unwrap();
        self.session.flush().unwrap();
    }

    /// Memory of this kind, in megabytes.
    fn memory(&self, name: &str) -> u64 {
        let pid = self.session.get_process().pid();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024 / 1_000_000
    }

    fn quit(mut self) {
        self.press("q");
        self.session.get_process().wait().unwrap();
    }
}
