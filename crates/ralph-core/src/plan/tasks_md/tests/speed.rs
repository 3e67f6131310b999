//! How long a large file takes. The figures: `cargo test --release speed -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use super::*;

/// 3 MB: 10,000 tasks as people write them.
fn large() -> String {
    let mut text = "# Tasks: large\n\n".to_owned();
    for phase in 1..=100 {
        text.push_str(&format!("## Phase {phase}: Part\n\nFocus: this.\n\n"));
        for task in 1..=100 {
            text.push_str(&format!(
                "- [ ] {phase}.{task} [P] Create the module number {task}\n  - **Do**:\n    1. First step of it\n    \
                 2. Second step of it\n  - **Files**: src/a{task}.ts, `src/b.ts`\n  - **Done when**: It compiles and \
                 runs\n  - **Verify**: `pnpm test --run a{task}`\n  - **Commit**: `feat(x): add module {task}`\n  \
                 - _Requirements: FR-1, AC-1.2_\n  - _Design: Component A_\n\n"
            ));
        }
    }
    text
}

fn fastest(mut work: impl FnMut()) -> Duration {
    let mut measured = Vec::new();
    for _ in 0..50 {
        let start = Instant::now();
        work();
        measured.push(start.elapsed());
    }
    measured.into_iter().min().unwrap()
}

#[test]
#[ignore = "a measurement"]
fn speed_of_a_large_file() {
    let text = large();
    println!("{} bytes, {} tasks", text.len(), draft(&text).tasks.len());
    let spec = Spec::of(&text);
    for (what, time) in [
        ("parse", fastest(|| drop(Spec::of(&text)))),
        ("read", fastest(|| drop(spec.read(&|_| true)))),
        ("mark one", fastest(|| drop(mark(&text, &[("50.50", true)])))),
        ("insert one", fastest(|| drop(spec.insert_after("50.50", "- [ ] 50.50.1 x")))),
    ] {
        println!("{what}: {time:?}");
    }
}

/// What would take minutes if any line were looked at once for each other one.
#[test]
fn hostile_files_take_linear_time() {
    let n = 100_000;
    let head = "- [ ] 1.1 a\n";
    let stairs: String = (3..600).rev().map(|length| format!("  {}x\nb\n", "`".repeat(length))).collect();
    let closers: String = (3..600).rev().map(|length| format!("b\n  {}\n", "`".repeat(length))).collect();
    let chain: String = (2..2_000).map(|at| format!("- [ ] 1.{at} [FIX 1.{}] a\n", at - 1)).collect();
    for text in [
        format!("{head}{}", "  ```x\nb\n".repeat(n)),
        format!("{head}{}", "  <!--\nb\n".repeat(n)),
        format!("{head}{}", "  - **Do**: ```x\n".repeat(n)),
        format!("{head}{stairs}{closers}").repeat(2).replacen("1.1", "1.2", 1),
        format!("{head}  - **Verify**: {}", "` `` ".repeat(n)),
        format!("{head}  - **Verify**: {}", "A=1 !( ".repeat(n)),
        format!("{head}  - **Files**: {}", "a (".repeat(n)),
        format!("{head}  - **Files**: a {}", "(b) ".repeat(n)),
        format!("{head}{}", "\n".repeat(n)),
        format!("{head}{}", "  - **Do**: a\n".repeat(n)),
        format!("{head}{}", "  x\n".repeat(n)),
        format!("- [ ] 1.1 {}", "[P] ".repeat(n)),
        format!("{head}{chain}"),
        "- [ ] 1.".to_owned() + &"1.".repeat(n),
    ] {
        let start = crate::testing::cpu_time();
        drop(try_draft(&text));
        drop(insert_after(&text, "1.1", "- [ ] 1.1.1 b"));
        let time = crate::testing::cpu_time() - start;
        assert!(time < Duration::from_secs(10), "{time:?} {}", text.get(..40).unwrap());
    }
}
