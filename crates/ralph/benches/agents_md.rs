//! What keeping AGENTS.md costs when it is large: 1 MB, ten thousand bullets.
//!
//! `cargo bench -p ralph --bench agents_md` compares a failing attempt in a project with that file with one in a project
//! that keeps none but has learned the same, and times one sync without files and database. Nothing here fails a build.
//! Wanted: at most 20 ms more.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints and may panic")]

use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ralph_core::memory::agents_md::{Known, Situation, Wanted, read, reconcile, write};
use ralph_core::model::LearningId;

const BULLETS: usize = 10_000;
const ATTEMPTS: usize = 20;

fn main() {
    // `cargo test` runs benchmarks too, with this flag; they are not tests.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    println!("one sync of the text alone {:>8.2?}", (0..20).map(|_| sync()).min().unwrap_or_default());
    println!("one attempt                 without    with {BULLETS} bullets    more");
    for _ in 0..3 {
        for (name, learns) in [("that fails", false), ("that fails and learns", true)] {
            let without = measure(false, learns);
            let with = measure(true, learns);
            println!("{name:<25} {without:>8.2?}  {with:>18.2?}  {:>8.2?}", with.saturating_sub(without));
        }
    }
}

fn file() -> String {
    let mut text = String::from("# Project Learnings\n\n## Codebase Patterns\n\n");
    for n in 0..BULLETS {
        let words =
            format!("bullet{n} about part{} and module{} of this code base, written by hand", n * 7, n * 13);
        text.push_str(&format!("- {words}, {:04x}.\n", n * 31));
    }
    text
}

/// Reads the file, compares it with as many learnings, and writes one more.
fn sync() -> Duration {
    let text = file();
    let learned = read(&text).bullets;
    let started = Instant::now();
    let known = learned.iter().enumerate().map(|(n, bullet)| {
        Known::new(LearningId::from_random(n as u64), "code_structure", &[], &bullet.text, true)
    });
    let known: Vec<Known> = known.collect();
    let found = read(&text);
    let plan = reconcile(&Situation {
        found: Some(&found),
        last: None,
        branch: None,
        rolled_back: false,
        after_attempt: true,
        written_at: None,
        learnings: &known,
    });
    let mut wanted = Wanted { bullets: found.bullets, remove: plan.remove, ..Wanted::default() };
    let mut new = wanted.bullets[0].clone();
    new.text = "one more".to_owned();
    wanted.bullets.push(new);
    black_box(write(Some(&text), &wanted, &|_| false));
    started.elapsed()
}

fn measure(kept: bool, learns: bool) -> Duration {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    ralph(root, &["init"]);
    let config = |kept: bool| {
        let text = format!(
            "[run]\nagent = \"b\"\nmax_attempts = 1000\nmax_total_attempts = 1000\n[memory]\nagents_md = {kept}\n[breaker]\nthreshold = 1000\n\
         [agents.b]\nkind = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n"
        );
        std::fs::write(root.join(".ralph.toml"), text).unwrap();
    };
    config(true);
    let learning = "echo \"<learning category='other' tags='t'>Part number$RALPH_ATTEMPT wants wheel$RALPH_ATTEMPT of axle$RALPH_ATTEMPT</learning>\"";
    let agent = format!(
        "cat >/dev/null\necho \"FAILURE_REASON: number $RALPH_ATTEMPT\"\n{}\necho \"<task-failed>$RALPH_TASK_ID</task-failed>\"\n",
        if learns { learning } else { "" }
    );
    std::fs::write(root.join("agent.sh"), agent).unwrap();
    std::fs::write(root.join("AGENTS.md"), file()).unwrap();
    ralph(root, &["task", "add", "One", "--phase", "1"]);
    // Learns the bullets; both projects have them in their database.
    ralph(root, &["run", "--once"]);
    config(kept);
    let limit = ATTEMPTS.to_string();
    let started = Instant::now();
    ralph(root, &["run", "--limit", &limit]);
    let whole = started.elapsed();
    let started = Instant::now();
    ralph(root, &["run", "--once"]);
    let once = started.elapsed();
    whole.saturating_sub(once) / (ATTEMPTS as u32 - 1)
}

fn ralph(root: &Path, args: &[&str]) {
    Command::new(env!("CARGO_BIN_EXE_ralph"))
        .args(args)
        .current_dir(root)
        .env_remove("RALPH_RUN_ID")
        .env("RALPH_SET_SANDBOX_MODE", "off")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
}
