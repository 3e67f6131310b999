//! What Ralph itself costs, measured on the real binary: ratios within one run, because machines are noisy.
//!
//! `cargo bench -p ralph` prints a table. Nothing here fails a build.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints and may panic")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RALPH: &str = env!("CARGO_BIN_EXE_ralph");
/// `true`-like: it says done, and why nothing changed.
const AGENT: &str =
    "echo \"<no-change-needed>a benchmark</no-change-needed>\n<task-done>$RALPH_TASK_ID</task-done>\"";

fn main() {
    // `cargo test` runs benchmarks too, with this flag; they are not tests.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    // A name on the command line runs that part alone: `cargo bench -p ralph -- overhead`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let parts: [(&str, fn()); 6] = [
        ("overhead", overhead),
        ("large_repository", large_repository),
        ("plan_sizes", plan_sizes),
        ("memory", memory),
        ("start_up", start_up),
        ("sandbox", sandbox),
    ];
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            part();
        }
    }
}

fn ralph(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(RALPH);
    command.args(args).current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null());
    command.env_remove("RALPH_RUN_ID").env("RALPH_SET_SANDBOX_MODE", "off");
    command
}

fn project(agent: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q"]);
    fs::write(dir.path().join("a.txt"), "a\n").unwrap();
    assert!(ralph(dir.path(), &["init"]).status().unwrap().success());
    let toml = format!(
        "[run]\nagent = \"b\"\n[agents.b]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", '''{agent}''']\n"
    );
    fs::write(dir.path().join(".ralph.toml"), toml).unwrap();
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "start"]);
    dir
}

/// What the sandbox adds to an attempt: the same run without it and with each backend.
fn sandbox() {
    const ATTEMPTS: usize = 40;
    println!("\nsandbox: {ATTEMPTS} attempts without gates");
    let mut without = None;
    for backend in ["off", "bubblewrap", "landlock"] {
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let dir = project(AGENT);
            fill(dir.path(), ATTEMPTS, |_| None);
            let mut command = ralph(dir.path(), &["run"]);
            if backend != "off" {
                command.env("RALPH_SET_SANDBOX_MODE", "auto").env("RALPH_SANDBOX_BACKEND", backend);
            }
            let started = Instant::now();
            command.status().unwrap();
            best = best.min(started.elapsed());
        }
        let each = best / u32::try_from(ATTEMPTS).unwrap();
        let more = each.saturating_sub(*without.get_or_insert(each));
        println!("  {backend:<11} {:>6.1} ms an attempt, {:>5.1} ms more", millis(each), millis(more));
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Imports tasks; `after` says which task, by its number, each depends on.
fn fill(dir: &Path, tasks: usize, after: impl Fn(usize) -> Option<usize>) {
    let mut plan = String::from("{\"type\":\"ralph\",\"version\":1}\n");
    for n in 0..tasks {
        let after: Vec<String> = after(n).iter().map(|n| format!("\"K{n}\"")).collect();
        let after = after.join(",");
        writeln!(plan, r#"{{"type":"task","key":"K{n}","title":"task {n}","after":[{after}]}}"#).unwrap();
    }
    fs::write(dir.join(".ralph/plan.jsonl"), plan).unwrap();
    assert!(ralph(dir, &["import", ".ralph/plan.jsonl"]).stderr(Stdio::null()).status().unwrap().success());
}

/// Time per attempt of a run over `n` attempts.
fn per_attempt(dir: &Path, n: u32) -> Duration {
    let limit = n.to_string();
    let started = Instant::now();
    let status = ralph(dir, &["run", "--quiet", "--limit", &limit]).stderr(Stdio::null()).status().unwrap();
    assert!(matches!(status.code(), Some(0 | 4)), "{status}");
    started.elapsed() / n
}

/// A bare loop: spawn the same command, read its output, commit one row.
fn bare(dir: &Path, n: u32) -> Duration {
    let conn = rusqlite::Connection::open(dir.join("bare.db")).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    conn.pragma_update(None, "synchronous", "FULL").unwrap();
    conn.execute_batch("CREATE TABLE IF NOT EXISTS rows (text TEXT)").unwrap();
    let started = Instant::now();
    for _ in 0..n {
        let output = Command::new("sh")
            .args(["-c", AGENT])
            .current_dir(dir)
            .env("RALPH_TASK_ID", "t-000000")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        conn.execute("INSERT INTO rows VALUES (?1)", [String::from_utf8(output.stdout).unwrap()]).unwrap();
    }
    started.elapsed() / n
}

fn git_status(dir: &Path, n: u32) -> Duration {
    let started = Instant::now();
    for _ in 0..n {
        Command::new("git").args(["status", "--porcelain=v2"]).current_dir(dir).output().unwrap();
    }
    started.elapsed() / n
}

fn overhead() {
    println!("harness overhead per attempt (agent prints one line; git repository)");
    let dir = project(AGENT);
    fill(dir.path(), 1600, |_| None);
    let rounds = 200;
    let mut differences = Vec::new();
    for _ in 0..6 {
        let bare = bare(dir.path(), rounds);
        let ralph = per_attempt(dir.path(), rounds);
        let ratio = ralph.as_secs_f64() / bare.as_secs_f64();
        println!(
            "  bare {bare:>8.2?}  ralph {ralph:>8.2?}  ratio {ratio:.2}  more {:.2?}",
            ralph.saturating_sub(bare)
        );
        differences.push(ralph.saturating_sub(bare));
    }
    println!("  one `git status` alone: {:.2?}", git_status(dir.path(), rounds));
    println!("  database pages per attempt: {:.1} (wanted: at most 20)", pages_per_attempt(dir.path(), 100));
    differences.sort();
    let (least, median) = (differences[0], differences[differences.len() / 2]);
    println!("  more per attempt: median {median:.2?}, least {least:.2?} (wanted: ratio 2.00, or 3 ms more)");
}

/// Database pages that an attempt writes: the frames of the write-ahead log, which an open snapshot keeps from being reused.
fn pages_per_attempt(dir: &Path, n: u32) -> f64 {
    let database = dir.join(".ralph/progress.db");
    let conn = rusqlite::Connection::open(&database).unwrap();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    conn.execute_batch("BEGIN; SELECT count(*) FROM tasks").unwrap();
    per_attempt(dir, n);
    let frame = 24 + conn.query_row("PRAGMA page_size", [], |row| row.get::<_, u64>(0)).unwrap();
    let log = fs::metadata(dir.join(".ralph/progress.db-wal")).unwrap().len();
    (log / frame) as f64 / f64::from(n)
}

fn git(dir: &Path, args: &[&str]) {
    let identity = ["-c", "user.name=b", "-c", "user.email=b@localhost"];
    let mut command = Command::new("git");
    let command = command.args(identity).args(args).current_dir(dir);
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{args:?}");
}

/// Time per round of the commands a person would type to commit a change.
fn by_hand(dir: &Path, n: u32) -> Duration {
    let started = Instant::now();
    for _ in 0..n {
        Command::new("sh").args(["-c", CHANGE]).current_dir(dir).status().unwrap();
        git(dir, &["status", "--porcelain=v2"]);
        git(dir, &["add", "-A"]);
        git(dir, &["commit", "-qm", "by hand"]);
    }
    started.elapsed() / n
}

/// What one more attempt costs a run: its start is left out.
fn one_more_attempt(dir: &Path, n: u32) -> Duration {
    let run = |attempts: u32| per_attempt(dir, attempts) * attempts;
    let (short, long) = (run(2), run(2 + n));
    long.saturating_sub(short) / n
}

const CHANGE: &str = "date +%s%N > changed.txt";

fn large_repository() {
    println!(
        "an attempt that is committed in a repository of 100,000 files, against `git status`, `git add -A` and \
         `git commit`"
    );
    let dir = project(&format!("{CHANGE}; {AGENT}"));
    for n in 0..100_000 {
        let path = dir.path().join(format!("src/{}/{n}.txt", n / 100));
        if n % 100 == 0 {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        fs::write(path, format!("{n}\n")).unwrap();
    }
    for (key, value) in [("user.name", "b"), ("user.email", "b@localhost")] {
        git(dir.path(), &["config", key, value]);
    }
    git(dir.path(), &["add", "-A"]);
    git(dir.path(), &["commit", "-qm", "many"]);
    fill(dir.path(), 1000, |_| None);
    let toml = fs::read_to_string(dir.path().join(".ralph.toml")).unwrap();
    let commit = "[git]\ncommit = \"on-success\"\n";
    let rollback = "rollback = \"reset\"\n";
    let gate = "[gate]\nverify = \"true\"\n";
    for (name, settings) in [
        ("commit", commit.to_owned()),
        ("commit, rollback", format!("{commit}{rollback}")),
        ("commit, gate", format!("{commit}{gate}")),
        ("commit, rollback, gate", format!("{commit}{rollback}{gate}")),
    ] {
        fs::write(dir.path().join(".ralph.toml"), format!("{toml}{settings}")).unwrap();
        git(dir.path(), &["commit", "-qam", "settings"]);
        let mut ratios = Vec::new();
        for _ in 0..5 {
            let (hand, ralph) = (by_hand(dir.path(), 5), one_more_attempt(dir.path(), 5));
            ratios.push((ralph.as_secs_f64() / hand.as_secs_f64(), hand, ralph));
        }
        ratios.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (ratio, hand, ralph) = ratios[ratios.len() / 2];
        println!(
            "  {name:<24} by hand {hand:>8.2?}  ralph {ralph:>8.2?}  ratio {ratio:.2} (wanted: at most 1.50)"
        );
    }
}

/// The shapes of plan that are measured.
#[derive(Clone, Copy, Debug)]
enum Shape {
    AllReady,
    Chain,
    HalfWaitsFirst,
}

fn plan_sizes() {
    println!("an attempt in a plan of 100,000 tasks, against one in a plan of 1,000");
    for shape in [Shape::AllReady, Shape::Chain, Shape::HalfWaitsFirst] {
        let make = |tasks: usize| {
            let dir = project(AGENT);
            match shape {
                Shape::AllReady => fill(dir.path(), tasks, |_| None),
                Shape::Chain => fill(dir.path(), tasks, |n| n.checked_sub(1)),
                // Half the plan waits for the last task and stands before the other half.
                Shape::HalfWaitsFirst => fill(dir.path(), tasks, |n| (n < tasks / 2).then_some(tasks - 1)),
            }
            dir
        };
        let (small, large) = (make(1000), make(100_000));
        // Taken in turns, so that a busy moment of the machine meets both.
        let mut best = [Duration::MAX; 2];
        for _ in 0..4 {
            for (best, dir) in best.iter_mut().zip([&small, &large]) {
                *best = (*best).min(per_attempt(dir.path(), 100));
            }
        }
        let [small, large] = best;
        let ratio = large.as_secs_f64() / small.as_secs_f64();
        let name = format!("{shape:?}");
        println!("  {name:<16} {small:>8.2?} → {large:>8.2?}  ratio {ratio:.2} (wanted: at most 1.50)");
    }
}

fn memory() {
    println!("1 GB of agent output");
    for (name, agent) in [
        ("lines", "yes 'a line of output that says nothing at all' | head -c 1000000000"),
        ("no newline at all", "head -c 1000000000 /dev/zero"),
    ] {
        let dir = project(&format!("{agent}; echo; {AGENT}"));
        fill(dir.path(), 1, |_| None);
        let started = Instant::now();
        let mut child = ralph(dir.path(), &["run", "--quiet"]).spawn().unwrap();
        let mut peak = 0;
        while child.try_wait().unwrap().is_none() {
            let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            let line = status.lines().find(|line| line.starts_with("VmHWM:"));
            let kib =
                line.and_then(|line| line.split_whitespace().nth(1)).and_then(|n| n.parse::<u64>().ok());
            peak = peak.max(kib.unwrap_or(0));
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(child.wait().unwrap().success());
        println!(
            "  {name:<18} peak {:.1} MB in {:.1?} (wanted: below 32 MB)",
            peak as f64 / 1024.0,
            started.elapsed()
        );
    }
}

fn start_up() {
    let dir = tempfile::tempdir().unwrap();
    assert!(ralph(dir.path(), &["init"]).status().unwrap().success());
    let mut times: Vec<Duration> = (0..100)
        .map(|_| {
            let started = Instant::now();
            assert!(ralph(dir.path(), &["status"]).status().unwrap().success());
            started.elapsed()
        })
        .collect();
    times.sort();
    println!("start-up (`ralph status`, empty project)");
    println!("  median {:.2?}, 95% {:.2?} (wanted: below 10 ms)", times[50], times[95]);
}
