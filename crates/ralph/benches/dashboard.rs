//! The dashboard with 10,000 tasks and 100,000 attempts, its events, and what a hundred pages cost a run. Run with
//! `cargo bench -p ralph --bench dashboard`; needs chromium and chromedriver.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement prints and fails by panicking")]

#[path = "../tests/it/serve/browser.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod browser;

/// What the browser's module needs of the tests.
mod support {
    pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(120);
}

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

use browser::{Browser, Scheme};

const TASKS: usize = 10_000;
const ATTEMPTS: usize = 100_000;
const PHASES: usize = 80;
const RUNS: usize = 100;
const AT: &str = "2026-11-18T22:00:00Z";

fn main() {
    // `cargo test` runs benchmarks too, with this flag; they are not tests.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let large = large_project();
    page(large.path());
    latency("with 10,000 tasks", large.path());
    latency("with one task", small_project(1).path());
    report();
    open_pages();
}

fn ralph(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ralph"));
    command.args(args).current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A project whose agent is done at once.
fn small_project(tasks: usize) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    assert!(ralph(dir.path(), &["init"]).status().unwrap().success());
    let config = dir.path().join(".ralph.toml");
    let agent = "\n[agents.script]\nkind = \"command\"\n\
        command = [\"sh\", \"-c\", \"cat > /dev/null; sleep 0.05; echo \\\"<task-done>$RALPH_TASK_ID</task-done>\\\"\"]\n";
    fs::write(&config, fs::read_to_string(&config).unwrap() + agent).unwrap();
    assert!(ralph(dir.path(), &["config", "set", "run.agent", "script"]).status().unwrap().success());
    for n in 0..tasks {
        let verify = ["task", "add", &format!("Task {n}"), "--verify", "true"];
        assert!(ralph(dir.path(), &verify).status().unwrap().success());
    }
    dir
}

fn large_project() -> tempfile::TempDir {
    let dir = small_project(1);
    let mut conn = Connection::open(dir.path().join(".ralph/progress.db")).unwrap();
    conn.pragma_update(None, "synchronous", "OFF").unwrap();
    let tx = conn.transaction().unwrap();
    fill(&tx, TASKS, ATTEMPTS, RUNS);
    tx.commit().unwrap();
    dir
}

/// Tasks in phases, each after the one before it, with attempts on them in so many runs.
fn fill(tx: &rusqlite::Transaction<'_>, tasks: usize, attempts: usize, runs: usize) {
    for n in 0..runs {
        tx.prepare_cached(
            "INSERT INTO runs (id, started_at, ended_at, outcome, exit_code, settings, host, pid, pid_started)
             VALUES (?1, ?2, ?2, 'finished', 0, '{}', 'h', 1, '1')",
        )
        .unwrap()
        .execute(params![format!("r-{n:08x}"), AT])
        .unwrap();
    }
    for n in 0..tasks {
        let status = match n % 10 {
            0..6 => "done",
            6 => "blocked",
            _ => "pending",
        };
        tx.prepare_cached(
            "INSERT INTO tasks (id, title, description, status, phase, created_at, updated_at, position)
             VALUES (?1, ?2, '', ?3, ?4, ?5, ?5, ?6)",
        )
        .unwrap()
        .execute(params![
            format!("t-{n:06x}"),
            format!("Task {n} of the plan"),
            status,
            1 + n * PHASES / tasks,
            AT,
            n + 10
        ])
        .unwrap();
        if n > 0 && n % 7 != 0 {
            tx.prepare_cached("INSERT INTO dependencies (blocker_id, blocked_id) VALUES (?1, ?2)")
                .unwrap()
                .execute(params![format!("t-{:06x}", n - 1), format!("t-{n:06x}")])
                .unwrap();
        }
    }
    for n in 0..attempts {
        let (task, number) = (format!("t-{:06x}", n % tasks), n / tasks + 1);
        let outcome = if n % 3 == 0 { "failed" } else { "done" };
        tx.prepare_cached(
            "INSERT INTO iteration_outcomes (task_id, attempt_number, model, started_at, duration_ms, outcome, ordinal,
                 counted, run_id, agent, cost_usd) VALUES (?1, ?2, ?3, ?4, 60000, ?5, ?2, 1, ?6, 'script', 0.12)",
        )
        .unwrap()
        .execute(params![task, number, ["small", "large"][n % 2], AT, outcome, format!("r-{:08x}", n * runs / attempts)])
        .unwrap();
        if outcome == "failed" && runs == 1 {
            tx.prepare_cached(
                "INSERT INTO failure_reports (task_id, attempt_number, what_was_tried, why_it_failed, error_category,
                     relevant_files, created_at) VALUES (?1, ?2, 'Split the line at commas', 'quote_in_field', 'test_failure', '[]', ?3)",
            )
            .unwrap()
            .execute(params![task, number, AT])
            .unwrap();
        }
    }
}

/// A dashboard, and its host, link and cookie.
struct Serve {
    child: Child,
    link: String,
    host: String,
    cookie: String,
}

impl Serve {
    fn start(dir: &Path) -> Self {
        let mut child = ralph(dir, &["serve"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut link = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut link).unwrap();
        let (host, token) = link.trim().strip_prefix("http://").unwrap().split_once("/#token=").unwrap();
        let body = format!("{{\"token\":\"{token}\"}}");
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "POST /api/session HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let cookie = reply.lines().find_map(|line| line.strip_prefix("Set-Cookie: ")).unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let host = host.to_owned();
        Self { child, link: link.trim().to_owned(), host, cookie }
    }

    fn get(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let (host, cookie) = (&self.host, &self.cookie);
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n").unwrap();
        stream
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// From the start of the navigation until the plan, the header and what needs somebody are there; and until the plots are. The first
/// page is opened as soon as the dashboard has said its link.
fn page(dir: &Path) {
    let browser = Browser::open(1280, 900, Scheme::Light);
    let ready = "document.querySelector('#plan-list .task') && document.querySelector('.need') && document.querySelector('#sums b')";
    let note = |name: &str, what: &str| {
        format!(
            "const {name} = () => ({what} ? (window.{name}After = performance.now()) : requestAnimationFrame({name})); {name}();"
        )
    };
    browser.on_new_pages(&(note("ready", ready) + &note("plots", "document.querySelector('#plots svg')")));
    let serve = Serve::start(dir);
    let link = serve.link.as_str();
    println!("dashboard with {TASKS} tasks and {ATTEMPTS} attempts");
    for (what, address) in [("first page", link), ("page again", link), ("page again", link)] {
        browser.go("about:blank");
        browser.go(address);
        browser.wait("window.plotsAfter");
        let after = |name: &str| browser.script(&format!("return window.{name}After")).as_f64().unwrap();
        let (ready, plots) = (after("ready"), after("plots"));
        println!("  {what}: complete after {ready:.0} ms, with plots after {plots:.0} ms  goal: 500 ms");
    }
    for path in [
        "/api/now",
        "/api/plan",
        "/api/plan?group=phase%202",
        "/api/task?task=t-000010",
        "/api/decisions",
        "/api/decisions?run=r-00000005&strategies=0",
        "/api/memory",
        "/api/runs",
    ] {
        let started = Instant::now();
        let mut bytes = Vec::new();
        serve.get(path).read_to_end(&mut bytes).unwrap();
        println!("  {path}: {:.0?}, {} KB", started.elapsed(), bytes.len() / 1024);
    }
}

/// From a change by another process until its event has arrived.
fn latency(what: &str, dir: &Path) {
    let serve = Serve::start(dir);
    let mut events = BufReader::new(serve.get("/api/events"));
    let conn = Connection::open(dir.join(".ralph/progress.db")).unwrap();
    conn.busy_timeout(Duration::from_secs(5)).unwrap();
    let mut wait_for = |text: &str| {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert!(events.read_line(&mut line).unwrap() > 0);
        }
    };
    wait_for("event: now");
    let mut times: Vec<Duration> = (0..20)
        .map(|n| {
            std::thread::sleep(Duration::from_millis(700));
            let title = format!("Changed {n} times");
            // Some task that every list shows.
            let sql = "UPDATE tasks SET title = ?1 WHERE id = (SELECT id FROM tasks WHERE status <> 'done' ORDER BY position LIMIT 1)";
            conn.execute(sql, [&title]).unwrap();
            let started = Instant::now();
            wait_for(&title);
            started.elapsed()
        })
        .collect();
    times.sort();
    println!(
        "an event {what}: median {:.0?}, longest {:.0?}   goal: 300 ms",
        times[times.len() / 2],
        times[times.len() - 1]
    );
}

fn report() {
    let dir = small_project(1);
    let mut conn = Connection::open(dir.path().join(".ralph/progress.db")).unwrap();
    let tx = conn.transaction().unwrap();
    fill(&tx, 200, 1000, 1);
    tx.commit().unwrap();
    let started = Instant::now();
    assert!(ralph(dir.path(), &["report", "-o", "night.html"]).status().unwrap().success());
    let took = started.elapsed();
    let size = fs::metadata(dir.path().join("night.html")).unwrap().len();
    println!("report of 1,000 attempts: {took:.0?}, {} KB  goal: 1 s, 2,048 KB", size / 1024);
}

/// The same run with no page and with a hundred, in turns.
fn open_pages() {
    const PAGES: usize = 100;
    const ROUNDS: usize = 5;
    let mut times = [Duration::ZERO; 2];
    for round in 0..ROUNDS * 2 {
        let dir = small_project(30);
        let serve = Serve::start(dir.path());
        let pages = if round % 2 == 0 { 0 } else { PAGES };
        let readers: Vec<_> = (0..pages)
            .map(|_| {
                let mut page = serve.get("/api/events");
                std::thread::spawn(move || {
                    let mut sink = [0; 64 * 1024];
                    while matches!(page.read(&mut sink), Ok(n) if n > 0) {}
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(500));
        let started = Instant::now();
        assert!(ralph(dir.path(), &["run"]).status().unwrap().success());
        times[round % 2] += started.elapsed();
        drop(serve);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    }
    let [without, with] = times.map(|time| time.as_secs_f64() / ROUNDS as f64);
    println!(
        "a run of 30 attempts: {without:.2} s without a page, {with:.2} s with {PAGES}: {:+.1}%  goal: below 2%",
        (with / without - 1.0) * 100.0
    );
}
