//! What a store on a PostgreSQL server costs, against SQLite on the same machine.
//!
//! `cargo bench -p ralph --bench team` prints a table. Nothing here fails a build. Wanted: 2,000 claims a second with 32 workers; a claim
//! that costs the same with 1,000 tasks and 100,000 (at most 1.5 times); at most 10 ms per attempt beyond SQLite's.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints and may panic"
)]

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ralph_core::model::{RunId, Timestamp, Token};
use ralph_core::store::{ClaimRequest, Owner, Patience, Purpose, Scope, ServerAddress, Store};

const RALPH: &str = env!("CARGO_BIN_EXE_ralph");
const AGENT: &str =
    "echo \"<no-change-needed>a benchmark</no-change-needed>\n<task-done>$RALPH_TASK_ID</task-done>\"";

fn main() {
    // `cargo test` runs benchmarks too, with this flag; they are not tests.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let url = url();
    claims(&url);
    overhead(&url);
}

fn url() -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/test-postgres");
    let output = Command::new(script).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn schema() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    format!("bench_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

fn claims(url: &str) {
    for (tasks, workers, most) in [(1_000, 1, 300), (100_000, 1, 300), (20_000, 32, 4_000)] {
        let address = ServerAddress::parse(url, &schema()).unwrap();
        Store::migrate_server(&address).unwrap();
        let fill = format!(
            "INSERT INTO {}.tasks (id, position, title, created_at, updated_at)
             SELECT 't-' || n, n, 'task ' || n, '2026', '2026' FROM generate_series(1, {tasks}) n",
            address.schema()
        );
        let set = format!("SET search_path TO {}", address.schema());
        let tidy = format!("VACUUM ANALYZE {}.tasks", address.schema());
        let fill = Command::new("psql").args([url, "-qc", &set, "-c", &fill, "-c", &tidy]).status();
        assert!(fill.unwrap().success());
        let tokens = AtomicU64::new(1);
        let started = Mutex::new(None);
        let ready = Barrier::new(workers);
        let taken: Vec<String> = thread::scope(|scope| {
            let work = |worker: usize| {
                let mut store = Store::open_server(&address, Patience::default()).unwrap();
                // A connection reads its statements once.
                for _ in 0..10 {
                    let claimed =
                        store.claim(&request(worker, tokens.fetch_add(1, Ordering::Relaxed))).unwrap();
                    claimed.expect("there are enough tasks");
                }
                ready.wait();
                started.lock().unwrap().get_or_insert_with(Instant::now);
                let mut taken = Vec::new();
                while taken.len() < most / workers {
                    let number = tokens.fetch_add(1, Ordering::Relaxed);
                    let Some(claimed) = store.claim(&request(worker, number)).unwrap() else { continue };
                    taken.push(claimed.task.id.to_string());
                }
                taken
            };
            let all: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
            all.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        let elapsed = started.into_inner().unwrap().unwrap().elapsed();
        let distinct: HashSet<&String> = taken.iter().collect();
        assert_eq!(distinct.len(), taken.len());
        let rate = taken.len() as f64 / elapsed.as_secs_f64();
        println!("{tasks:>7} tasks, {workers:>2} workers: {rate:>6.0} claims a second");
    }
}

fn request(worker: usize, number: u64) -> ClaimRequest {
    let now = Timestamp::from_secs(1_800_000_000);
    ClaimRequest {
        purpose: Purpose::Attempt,
        later: Vec::new(),
        scope: Scope::All,
        run_id: RunId::from_stored(format!("r-{worker}")),
        worker: "w1".to_owned(),
        owner: Owner { host: "here".to_owned(), pid: 1, pid_started: "boot".to_owned() },
        token: Token::from_random(number),
        now,
        expires_at: now.plus(Duration::from_secs(60)),
        limit: None,
    }
}

/// Time per attempt of a run with an agent that does nothing.
fn overhead(url: &str) {
    const ATTEMPTS: u32 = 40;
    let mut times = Vec::new();
    for store in [String::new(), format!("[store]\nurl = \"{url}\"\nschema = \"{}\"\n", schema())] {
        let dir = tempfile::tempdir().unwrap();
        let toml = format!(
            "{store}[run]\nagent = \"b\"\n[agents.b]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", '''{AGENT}''']\n"
        );
        fs::write(dir.path().join(".ralph.toml"), toml).unwrap();
        if !store.is_empty() {
            ralph(dir.path(), &["store", "init"]);
        }
        let mut plan = String::from("{\"type\":\"ralph\",\"version\":1}\n");
        for n in 0..ATTEMPTS {
            writeln!(plan, r#"{{"type":"task","key":"K{n}","title":"task {n}"}}"#).unwrap();
        }
        fs::write(dir.path().join("plan.jsonl"), plan).unwrap();
        ralph(dir.path(), &["import", "plan.jsonl"]);
        let started = Instant::now();
        ralph(dir.path(), &["run", "--quiet"]);
        times.push(started.elapsed() / ATTEMPTS);
    }
    println!("per attempt: {:.1?} on SQLite, {:.1?} on PostgreSQL", times[0], times[1]);
}

fn ralph(dir: &Path, args: &[&str]) {
    let mut command = Command::new(RALPH);
    command.args(args).current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(command.env_remove("RALPH_RUN_ID").status().unwrap().success(), "{args:?}");
}
