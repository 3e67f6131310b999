//! What several workers bring and cost, on the real binary.
//!
//! `cargo bench -p ralph --bench jobs` prints a table. Nothing here fails a build. Wanted: 8 workers at least 7 times as fast as one with
//! agents that take a second; landing at most 30 ms beyond the gate in a repository of 10,000 files; a working tree ready within
//! 100 ms at 50,000 files; at most 15 MB per worker.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints and may panic")]

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ralph_core::git::Git;
use ralph_core::model::Timestamp;
use serde_json::Value;

const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

fn main() {
    // `cargo test` runs benchmarks too, with this flag; they are not tests.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let parts: [(&str, fn()); 4] =
        [("speed", speed), ("landing", landing), ("ready", ready), ("memory", memory)];
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            part();
        }
    }
}

fn git(dir: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=b", "-c", "user.email=b@localhost"];
    let output = Command::new("git").args(identity).args(args).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn ralph(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(RALPH);
    command.args(args).current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null());
    command.env_remove("RALPH_RUN_ID").env("RALPH_SET_SANDBOX_MODE", "off");
    command.env("XDG_STATE_HOME", dir.join("../state"));
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "b").env(format!("GIT_{who}_EMAIL"), "b@localhost");
    }
    command
}

/// A project with so many files, whose agent takes so long and writes a file.
fn project(files: usize, pause: &str, tasks: usize) -> tempfile::TempDir {
    let all = tempfile::tempdir().unwrap();
    let dir = all.path().join("work");
    fs::create_dir(&dir).unwrap();
    git(&dir, &["init", "-q", "-b", "main"]);
    for n in 0..files {
        let path = dir.join(format!("d{}/f{n}.txt", n / 100));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{n}\n")).unwrap();
    }
    assert!(ralph(&dir, &["init"]).status().unwrap().success());
    let agent = format!(
        "cat > /dev/null; sleep {pause}; echo x > $RALPH_TASK_ID.txt; echo \"<task-done>$RALPH_TASK_ID</task-done>\""
    );
    let toml = format!(
        "[run]\nagent = \"b\"\n[gate]\nbaseline = \"off\"\n[agents.b]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", '''{agent}''']\n"
    );
    fs::write(dir.join(".ralph.toml"), toml).unwrap();
    git(&dir, &["add", "."]);
    git(&dir, &["commit", "-qm", "start"]);
    for n in 0..tasks {
        let title = format!("task {n}");
        let added = ralph(&dir, &["task", "add", &title, "--verify", "true"]).status().unwrap();
        assert!(added.success());
    }
    all
}

fn speed() {
    let per_task = |jobs: &str, tasks: usize| {
        let all = project(20, "1", tasks);
        let dir = all.path().join("work");
        let started = Instant::now();
        assert!(ralph(&dir, &["run", "-j", jobs, "--quiet"]).status().unwrap().success());
        started.elapsed().as_secs_f64() / tasks as f64
    };
    let (one, eight) = (per_task("1", 8), per_task("8", 64));
    println!(
        "agents that take 1 s: {one:.3} s per task with one worker, {eight:.3} s with 8: {:.1} times",
        one / eight
    );
}

fn landing() {
    let all = project(10_000, "0.2", 40);
    let dir = all.path().join("work");
    let output = ralph(&dir, &["run", "-j", "4", "--json"]).stdout(Stdio::piped()).output().unwrap();
    assert!(output.status.success());
    let mut began: HashMap<String, (Timestamp, Duration)> = HashMap::new();
    let mut took: Vec<Duration> = Vec::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let worker = event["worker"].as_str().unwrap().to_owned();
        let at: Timestamp = serde_json::from_value(event["at"].clone()).unwrap();
        match event["type"].as_str().unwrap() {
            "landing_started" => drop(began.insert(worker, (at, Duration::ZERO))),
            "gate_finished" => {
                if let Some((_, gates)) = began.get_mut(&worker) {
                    *gates += Duration::from_millis(event["duration_ms"].as_u64().unwrap());
                }
            }
            "landed" => {
                let (start, gates) = began.remove(&worker).unwrap();
                took.push(at.since(start).saturating_sub(gates));
            }
            _ => {}
        }
    }
    tell("landing at 10,000 files, beyond the gate", took);
}

fn ready() {
    let all = project(50_000, "0", 0);
    let dir = all.path().join("work");
    let first = git(&dir, &["rev-parse", "HEAD"]);
    fs::write(dir.join("d1/f100.txt"), "other\n").unwrap();
    git(&dir, &["commit", "-qam", "other"]);
    let second = git(&dir, &["rev-parse", "HEAD"]);
    let tree = all.path().join("w1");
    Git::discover(&dir).unwrap().add_tree(&tree, &first, &dir).unwrap();
    let git = Git::discover(&tree).unwrap();
    let mut clean = git.snapshot().unwrap();
    let (mut brought, mut seen) = (Vec::new(), Vec::new());
    for n in 0..20 {
        let tip = if n % 2 == 0 { &second } else { &first };
        let started = Instant::now();
        assert!(git.go_to(tip).unwrap());
        clean = git.brought_to(&clean, tip).unwrap();
        brought.push(started.elapsed());
        let started = Instant::now();
        assert_eq!(git.snapshot().unwrap(), clean);
        seen.push(started.elapsed());
    }
    tell("a working tree brought to another tip at 50,000 files", brought);
    tell("  one look at all of its files, after gates and hooks", seen);
    let mut status = Vec::new();
    for _ in 0..10 {
        let started = Instant::now();
        let words = ["status", "--porcelain=v2", "--untracked-files=all"];
        Command::new("git").args(words).current_dir(&tree).output().unwrap();
        status.push(started.elapsed());
    }
    tell("  git status alone", status);
}

fn memory() {
    let all = project(1000, "4", 8);
    let dir = all.path().join("work");
    let mut run = ralph(&dir, &["run", "-j", "4", "--quiet"]).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    let list = fs::read_to_string(format!("/proc/{0}/task/{0}/children", run.id())).unwrap_or_default();
    let mut all = Vec::new();
    for pid in list.split_whitespace() {
        let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let kib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0)
        };
        if command.contains("--worker") {
            // Each page by the number of processes that share it: the program's are in memory once.
            let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
            let share = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
            let share = share.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
            all.push((kib("RssAnon:"), share.unwrap_or(0), kib("VmRSS:")));
        }
    }
    run.wait().unwrap();
    let mb = |kib: u64| kib as f64 / 1024.0;
    for (data, share, whole) in all {
        println!(
            "a worker: {:.1} MB of data, {:.1} MB with its share of the program, {:.1} MB resident",
            mb(data),
            mb(share),
            mb(whole)
        );
    }
}

fn tell(what: &str, mut took: Vec<Duration>) {
    took.sort();
    let at = |share: usize| took[(took.len() - 1) * share / 100];
    println!("{what}: median {:.1?}, 90th {:.1?} of {}", at(50), at(90), took.len());
}
