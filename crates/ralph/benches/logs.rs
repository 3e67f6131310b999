//! Logs by the hundred thousand, and one of a gigabyte. Run with `cargo bench -p ralph --bench logs`.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement prints and fails by panicking")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use ralph_core::logs::{Limits, Protected, plan, prune};
use ralph_core::model::Timestamp;

const LOGS: usize = 100_000;
const BIG: usize = 1_000_000_000;

fn main() {
    // `cargo test` runs benchmarks too, with this flag; they are not tests.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    old_logs();
    big_log();
}

fn ralph(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ralph"));
    command.args(args).current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// A project whose one task is done.
fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    assert!(ralph(dir.path(), &["init"]).status().unwrap().success());
    let config = dir.path().join(".ralph.toml");
    let text = fs::read_to_string(&config).unwrap();
    let text = text.replacen("[run]", "[run]\nagent = \"script\"", 1);
    let agent = "\n[agents.script]\nkind = \"command\"\n\
        command = [\"sh\", \"-c\", \"cat > /dev/null; echo \\\"<task-done>$RALPH_TASK_ID</task-done>\\\"\"]\n";
    fs::write(config, text + agent).unwrap();
    for args in [&["task", "add", "A", "--key", "a"][..], &["run", "--quiet"]] {
        assert!(ralph(dir.path(), args).status().unwrap().success());
    }
    dir
}

/// Makes so many logs, the first of them old.
fn fill(dir: &Path, old: usize) {
    let then = SystemTime::now() - Duration::from_secs(100 * 86_400);
    for n in 0..LOGS {
        let path = dir.join(format!("t-{n:06x}-001-r-00000001.jsonl"));
        let mut file = fs::File::create(path).unwrap();
        file.write_all(b"{}\n").unwrap();
        if n < old {
            file.set_modified(then).unwrap();
        }
    }
}

fn old_logs() {
    println!("{LOGS} logs");
    let limits = Limits::new(30, 1024);
    let now = Timestamp::from(SystemTime::now());
    for old in [0, 1000, LOGS] {
        let dir = tempfile::tempdir().unwrap();
        fill(dir.path(), old);
        let started = Instant::now();
        let files = plan(dir.path(), &Protected::default(), &limits, now).unwrap();
        let looked = started.elapsed();
        let (done, _) = prune(dir.path(), &files, Duration::from_secs(1));
        println!(
            "  {old:>6} of them old: found in {looked:.1?}, with {} deleted {:.1?} (wanted: below 2 s)",
            done.files,
            started.elapsed()
        );
    }
    let dir = project();
    fill(&dir.path().join(".ralph/logs"), LOGS);
    let started = Instant::now();
    assert!(ralph(dir.path(), &["run", "--quiet"]).status().unwrap().success());
    println!("  a run with nothing to do, all of them old: {:.1?} (wanted: below 2 s)", started.elapsed());
}

fn big_log() {
    println!("a log of 1 GB");
    let said = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I go on and on."}]}}"#;
    for (name, line) in [("text", "a line of output that says nothing at all"), ("events", said)] {
        let dir = project();
        let output = ralph(dir.path(), &["logs", "a", "--path"]).stdout(Stdio::piped()).output().unwrap();
        let log = String::from_utf8(output.stdout).unwrap();
        let mut file = fs::File::create(log.trim_end()).unwrap();
        let block = format!("{line}\n").repeat(20_000);
        for _ in 0..BIG / block.len() {
            file.write_all(block.as_bytes()).unwrap();
        }
        if name == "events" {
            let config = dir.path().join(".ralph.toml");
            let text = fs::read_to_string(&config).unwrap();
            let claude = "[agents.script]\noutput = \"claude\"";
            fs::write(config, text.replace("[agents.script]", claude)).unwrap();
        }
        let started = Instant::now();
        let mut child = ralph(dir.path(), &["logs", "a"]).spawn().unwrap();
        let mut peak = 0;
        while child.try_wait().unwrap().is_none() {
            let path = format!("/proc/{}/status", child.id());
            let status = fs::read_to_string(path).unwrap_or_default();
            let line = status.lines().find(|line| line.starts_with("VmHWM:"));
            let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
            peak = peak.max(kib.unwrap_or(0));
            std::thread::sleep(Duration::from_millis(20));
        }
        println!(
            "  {name:<6} peak {:.1} MB in {:.1?} (wanted: below 32 MB)",
            peak as f64 / 1024.0,
            started.elapsed()
        );
    }
}
