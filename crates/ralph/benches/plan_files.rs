//! What plans in files cost when they are large: a tasks.md of ten thousand tasks.
//!
//! `cargo bench -p ralph --bench plan_files` times the import and what keeping the file true adds to an attempt. Nothing here fails
//! a build. Wanted: import at most 0.5 s, one task marked done at most 15 ms.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints and may panic")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const TASKS: usize = 10_000;
const ATTEMPTS: u32 = 20;

fn main() {
    // `cargo test` runs benchmarks too, with this flag; they are not tests.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    println!("{TASKS} tasks   import   again   an attempt without the file   with it   more");
    for _ in 0..3 {
        let spec = project();
        let import = time(spec.path(), &["import", "specs/big"]);
        let again = time(spec.path(), &["import", "specs/big"]);
        let with = per_attempt(spec.path());
        // The same plan, but from a format that is not kept true.
        ralph(spec.path(), &["export", "--output", "plan.jsonl"]);
        let lines = project();
        std::fs::copy(spec.path().join("plan.jsonl"), lines.path().join("plan.jsonl")).unwrap();
        ralph(lines.path(), &["import", "plan.jsonl"]);
        let without = per_attempt(lines.path());
        println!(
            "              {import:>7.0?} {again:>7.0?} {without:>27.1?} {with:>9.1?} {:>6.1?}",
            with.saturating_sub(without)
        );
    }
}

fn per_attempt(root: &Path) -> Duration {
    let limit = ATTEMPTS.to_string();
    let many = time(root, &["run", "--limit", &limit]);
    let once = time(root, &["run", "--once"]);
    many.saturating_sub(once) / (ATTEMPTS - 1)
}

fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    ralph(root, &["init"]);
    std::fs::write(
        root.join(".ralph.toml"),
        "[run]\nagent = \"b\"\n[agents.b]\nkind = \"command\"\ncommand = [\"echo\", \"TASK_COMPLETE\"]\n",
    )
    .unwrap();
    let mut text = String::from("# Tasks: big\n");
    for task in 0..TASKS {
        if task % 2500 == 0 {
            let _ = write!(text, "\n## Phase {}: Part\n", task / 2500 + 1);
        }
        let key = format!("{}.{}", task / 2500 + 1, task % 2500 + 1);
        let _ = write!(
            text,
            "\n- [ ] {key} Implement piece {task}\n  - **Do**: Write the module for piece {task} and wire it\n    \
             1. Create src/piece{task}.rs\n    2. Export it from src/mod.rs\n  - **Files**: src/piece{task}.rs, src/mod.rs\n  \
             - **Done when**: The piece compiles and its test passes\n  - **Verify**: `true`\n  \
             - **Commit**: `feat(big): piece {task}`\n"
        );
    }
    std::fs::create_dir_all(root.join("specs/big")).unwrap();
    std::fs::write(root.join("specs/big/tasks.md"), text).unwrap();
    dir
}

fn time(root: &Path, args: &[&str]) -> Duration {
    let started = Instant::now();
    ralph(root, args);
    started.elapsed()
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
