//! What choosing a model costs when there is much to go by: a million attempts on a hundred thousand tasks.
//!
//! `cargo bench -p ralph --bench decision` prints a table. Nothing here fails a build. Wanted: below 1 ms.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints and may panic")]

use std::path::Path;
use std::time::{Duration, Instant};

use ralph_core::agent::{AgentKind, Setup};
use ralph_core::engine::{Prompter, RunSettings, Templates};
use ralph_core::model::{Strategy, Task, TaskMetrics, Timestamp};
use ralph_core::project::Project;
use ralph_core::store::Store;
use rusqlite::{Connection, params};

const TASKS: u32 = 100_000;
const ATTEMPTS_EACH: u32 = 10;
const WORDS: u32 = 5_000;
const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn main() {
    // `cargo test` runs benchmarks too, with this flag; they are not tests.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let project = Project::at(dir.path());
    std::fs::create_dir_all(project.ralph_dir()).unwrap();
    drop(Store::create(&project.database()).unwrap());
    fill(&project.database());
    let store = Store::open(&project.database()).unwrap();
    println!("a decision with {} attempts, {TASKS} tasks   median      99th", TASKS * ATTEMPTS_EACH);
    for (what, last) in [("first try", true), ("retry", false)] {
        for strategy in Strategy::ALL {
            let times = decisions(&project, &store, strategy, last);
            let at = |share: usize| times[(times.len() - 1) * share / 100];
            println!("{what:>10} {strategy:<34} {:>9.2?} {:>9.2?}", at(50), at(99));
        }
    }
}

/// Times of decisions, in order; on tasks never tried, or on such as failed ten times.
fn decisions(project: &Project, store: &Store, strategy: Strategy, fresh: bool) -> Vec<Duration> {
    let agent = AgentKind::Command.build(Setup {
        name: "b".into(),
        command: vec!["true".into()],
        models: ["haiku", "sonnet", "opus"].map(String::from).to_vec(),
        ..Setup::default()
    });
    let settings = RunSettings { strategy, ..RunSettings::default() };
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
    let first = if fresh { TASKS } else { 0 };
    let mut times: Vec<Duration> = (0..500)
        .map(|n| {
            let (task, metrics) = load(store, first + n);
            let started = Instant::now();
            let decision = prompter.decision(&task, &metrics).unwrap();
            let time = started.elapsed();
            assert!(!decision.choice.model.is_empty());
            time
        })
        .collect();
    times.sort_unstable();
    times
}

fn load(store: &Store, number: u32) -> (Task, TaskMetrics) {
    let task = store.task(&format!("t-{number:06x}")).unwrap();
    let metrics = store.metrics(&task.id).unwrap();
    (task, metrics)
}

/// A cheap, repeatable source of words; few are frequent and most are rare.
struct Words(u64);

impl Words {
    fn next(&mut self) -> String {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = (self.0 >> 33) as f64 / (1_u64 << 31) as f64;
        let mut rank = f64::from(WORDS).powf(share) as u64 + 700;
        let mut word = String::from("w");
        while rank > 0 {
            word.push(char::from(b'a' + (rank % 26) as u8));
            rank /= 26;
        }
        word
    }

    fn some(&mut self, count: u32) -> Vec<String> {
        (0..count).map(|_| self.next()).collect()
    }
}

fn fill(database: &Path) {
    let mut words = Words(7);
    let mut conn = Connection::open(database).unwrap();
    conn.pragma_update(None, "synchronous", "OFF").unwrap();
    let tx = conn.transaction().unwrap();
    for n in 0..TASKS + 500 {
        let id = format!("t-{n:06x}");
        let (title, text) = (words.some(6), words.some(60));
        tx.prepare_cached(
            "INSERT INTO tasks (id, title, description, status, created_at, updated_at, position)
             VALUES (?1, ?2, ?3, 'pending', ?4, ?4, ?5)",
        )
        .unwrap()
        .execute(params![id, title.join(" "), text.join(" "), NOW.to_string(), n])
        .unwrap();
        if n < TASKS {
            tried(&tx, &id, n, &title, &text);
        }
    }
    let model = serde_json::json!({ "ability": 1.2, "variance": 0.1, "tries": 400, "cost_zeros": 0,
        "cost_count": 400, "cost_mean": -0.7, "cost_squares": 200.0 });
    let shares = [20.0; 17];
    let bucket = serde_json::json!({ "tasks": shares, "cost_count": 400, "cost_sum": 3.0 });
    let beliefs = serde_json::json!({
        "agents": { "b": { "haiku": model, "sonnet": model, "opus": model } },
        "difficulties": { "trivial": bucket, "easy": bucket, "moderate": bucket, "hard": bucket,
            "blocked": bucket, "unknown": bucket },
        "retries": [60, 400],
    });
    tx.execute("UPDATE totals SET beliefs = ?1", [beliefs.to_string()]).unwrap();
    tx.commit().unwrap();
}

fn tried(tx: &Connection, id: &str, n: u32, title: &[String], text: &[String]) {
    for number in 1..=ATTEMPTS_EACH {
        tx.prepare_cached(
            "INSERT INTO iteration_outcomes (task_id, attempt_number, model, started_at, duration_ms, outcome,
                 ordinal, counted, run_id, cost_usd) VALUES (?1, ?2, 'sonnet', ?3, 1000, 'failed', ?2, 1, 'r-1', 0.5)",
        )
        .unwrap()
        .execute(params![id, number, Timestamp::from_millis(NOW.as_millis() + i64::from(n)).to_string()])
        .unwrap();
    }
    tx.prepare_cached(
        "INSERT INTO strategy_metrics (task_id, total_attempts, consecutive_failures, difficulty_estimate, trials)
         VALUES (?1, ?2, 4, 'moderate', '[[\"sonnet\",4,0]]')",
    )
    .unwrap()
    .execute(params![id, ATTEMPTS_EACH])
    .unwrap();
    let all: Vec<&String> = title.iter().chain(text).collect();
    let joined = |words: &[String]| words.join(" ");
    tx.prepare_cached(
        "INSERT INTO task_docs (task_id, title, words, files, terms) VALUES (?1, ?2, ?3, json_array('src/a.rs', 'src/b.rs'), ?4)",
    )
    .unwrap()
    .execute(params![
        id,
        joined(title),
        all.iter()
            .map(|word| word.as_str())
            .collect::<Vec<_>>()
            .join(" "),
        serde_json::to_string(&all.iter().collect::<std::collections::BTreeSet<_>>()).unwrap()
    ])
    .unwrap();
}
