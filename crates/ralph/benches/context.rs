//! What a prompt costs when there is much to remember: a million attempts, ten and a hundred thousand learnings.
//!
//! `cargo bench -p ralph --bench context` prints a table. Nothing here fails a build. The wanted figures: at most 10 ms
//! with 10,000 active learnings, at most 50 ms with 100,000.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints and may panic")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ralph_core::agent::{AgentKind, Setup};
use ralph_core::engine::{Prompter, RunSettings, Templates};
use ralph_core::model::{Task, TaskMetrics, Timestamp};
use ralph_core::project::Project;
use ralph_core::store::{RunRates, Store};
use rusqlite::{Connection, params};

const ATTEMPTS: u32 = 1_000_000;
const TASKS: u32 = 20_000;
/// Words there are; the nth is as frequent as one in n.
const VOCABULARY: f64 = 30_000.0;
const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn main() {
    // `cargo test` runs benchmarks too, with this flag; they are not tests.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    println!("prompt with {ATTEMPTS} attempts    median      99th   `ralph context`  (bare start)");
    for learnings in [10_000, 100_000] {
        measure(learnings);
    }
}

/// A cheap, repeatable source of numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, limit: u32) -> u32 {
        (self.next() % u64::from(limit)) as u32
    }

    /// A word; few are frequent and most are rare, as in any text.
    fn word(&mut self) -> String {
        let share = self.next() as f64 / (1_u64 << 31) as f64;
        let mut rank = VOCABULARY.powf(share) as u64 + 700;
        let mut word = String::new();
        while rank > 0 {
            word.push(char::from(b'a' + (rank % 26) as u8));
            rank /= 26;
        }
        word + "q"
    }

    fn words(&mut self, count: u32) -> String {
        let words: Vec<String> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }
}

fn measure(learnings: u32) {
    let dir = tempfile::tempdir().unwrap();
    let project = Project::at(dir.path());
    let database = project.database();
    std::fs::create_dir_all(project.ralph_dir()).unwrap();
    std::fs::write(
        project.config(),
        "[run]\nagent = \"b\"\n[agents.b]\nkind = \"command\"\ncommand = [\"true\"]\n",
    )
    .unwrap();
    drop(Store::create(&database).unwrap());
    fill(&database, learnings);
    let started = Instant::now();
    let store = Store::open(&database).unwrap();
    let indexing = started.elapsed();
    let tasks = tasks_with_failures(&store);
    let times = prompts(&project, &store, &tasks);
    drop(store);
    let whole = commands(dir.path(), &tasks);
    let bare = best_of(20, || run(dir.path(), &["--version"]));
    println!(
        "{learnings:>7} learnings          {:>9.2?} {:>9.2?}   {whole:>9.2?}        ({bare:.2?})   indexed in {indexing:.1?}",
        at(&times, 50),
        at(&times, 99),
    );
}

fn fill(database: &Path, learnings: u32) {
    let mut numbers = Numbers(7);
    let mut conn = Connection::open(database).unwrap();
    conn.pragma_update(None, "synchronous", "OFF").unwrap();
    let tx = conn.transaction().unwrap();
    let at = NOW.to_string();
    for n in 0..TASKS {
        tx.prepare_cached(
            "INSERT INTO tasks (id, title, description, status, created_at, updated_at, position)
             VALUES (?1, ?2, ?3, 'pending', ?4, ?4, ?5)",
        )
        .unwrap()
        .execute(params![format!("t-{n:06x}"), numbers.words(8), numbers.words(200), at, n])
        .unwrap();
    }
    for n in 0..ATTEMPTS {
        let task = format!("t-{:06x}", n % TASKS);
        let number = n / TASKS + 1;
        tx.prepare_cached(
            "INSERT INTO iteration_outcomes (task_id, attempt_number, model, started_at, duration_ms, outcome,
                 ordinal, counted, run_id) VALUES (?1, ?2, 'sonnet', ?3, 1000, 'failed', ?2, 1, 'r-1')",
        )
        .unwrap()
        .execute(params![task, number, at])
        .unwrap();
        tx.prepare_cached(
            "INSERT INTO failure_reports (task_id, attempt_number, what_was_tried, why_it_failed, error_category,
                 relevant_files, created_at) VALUES (?1, ?2, ?3, ?4, 'test_failure', '[\"src/a.rs\"]', ?5)",
        )
        .unwrap()
        .execute(params![task, number, numbers.words(12), numbers.words(12), at])
        .unwrap();
    }
    for n in 0..learnings {
        let tags: Vec<String> = (0..4).map(|_| numbers.word()).collect();
        let created = NOW.as_millis() - i64::from(numbers.below(80)) * 86_400_000;
        let length = 20 + numbers.below(60);
        tx.prepare_cached(
            "INSERT INTO learnings (id, category, content, relevance_tags, created_at)
             VALUES (?1, 'pitfall', ?2, ?3, ?4)",
        )
        .unwrap()
        .execute(params![
            format!("l-{n:06x}"),
            numbers.words(length),
            serde_json::to_string(&tags).unwrap(),
            Timestamp::from_millis(created).to_string()
        ])
        .unwrap();
    }
    tx.commit().unwrap();
}

fn tasks_with_failures(store: &Store) -> Vec<(Task, TaskMetrics)> {
    (0..300)
        .map(|n| {
            let task = store.task(&format!("t-{:06x}", n * 31)).unwrap();
            let metrics = store.metrics(&task.id).unwrap();
            (task, metrics)
        })
        .collect()
}

/// Times of prompts, in order.
fn prompts(project: &Project, store: &Store, tasks: &[(Task, TaskMetrics)]) -> Vec<Duration> {
    let agent = AgentKind::Command.build(Setup {
        name: "b".into(),
        command: vec!["true".into()],
        ..Setup::default()
    });
    let settings = RunSettings::default();
    let templates = Templates::load(project).unwrap();
    let prompter = Prompter {
        templates: &templates,
        project,
        store,
        agent: &agent,
        is_fallback: false,
        settings: &settings,
        now: NOW,
    };
    let mut times: Vec<Duration> = tasks
        .iter()
        .map(|(task, metrics)| {
            let started = Instant::now();
            let prompt = prompter.prompt(task, metrics, 1, RunRates::default()).unwrap();
            let time = started.elapsed();
            assert!(!prompt.learnings.is_empty());
            time
        })
        .collect();
    times.sort_unstable();
    times
}

fn at(times: &[Duration], share: usize) -> Duration {
    times[(times.len() - 1) * share / 100]
}

/// The whole command, as a person would wait for it.
fn commands(dir: &Path, tasks: &[(Task, TaskMetrics)]) -> Duration {
    let mut times: Vec<Duration> =
        tasks.iter().take(40).map(|(task, _)| run(dir, &["context", task.id.as_str()])).collect();
    times.sort_unstable();
    at(&times, 50)
}

fn run(dir: &Path, args: &[&str]) -> Duration {
    let started = Instant::now();
    let status = Command::new(env!("CARGO_BIN_EXE_ralph"))
        .args(args)
        .current_dir(dir)
        .env_remove("RALPH_RUN_ID")
        .env("RALPH_SET_SANDBOX_MODE", "off")
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    started.elapsed()
}

fn best_of(times: u32, mut measured: impl FnMut() -> Duration) -> Duration {
    (0..times).map(|_| measured()).min().unwrap()
}
