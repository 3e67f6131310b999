//! How long a large file takes. The figures: `cargo test --release speed -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use super::support::*;
use crate::memory::agents_md::{Section, Wanted, read, write};

/// 1 MB: 10,000 bullets and 1,000 entries among a person's text.
fn large() -> (String, Wanted) {
    let filler = "some words that a person might have written here ";
    let text = |at: usize| format!("learning {at}: {}", filler.trim());
    let mut wanted = Wanted::default();
    for at in 0..10_000 {
        let section = [Section::ErrorFixes, Section::CodebasePatterns, Section::PhaseSpecific][at % 3];
        let mut one = bullet(section, &text(at));
        one.place.phase = (at % 7 > 0).then(|| (at % 7).to_string());
        wanted.bullets.push(one);
    }
    for label in 1..=10 {
        let entries: Vec<_> = (0..100).map(|at| entry(&format!("{label}-{at}"), &text(at))).collect();
        wanted.failures.push(phase(&label.to_string(), &entries));
    }
    let file = write(None, &wanted, &|_| true);
    let prose = format!("# Notes\n\n{}\n\n", filler.repeat(20)).repeat(100);
    (prose + &file, wanted)
}

fn fastest(mut work: impl FnMut()) -> Duration {
    let mut measured = Vec::new();
    for _ in 0..100 {
        let start = Instant::now();
        work();
        measured.push(start.elapsed());
    }
    measured.into_iter().min().unwrap()
}

#[test]
#[ignore = "a measurement"]
fn speed_of_a_large_file() {
    let (file, wanted) = large();
    let mut more = wanted.clone();
    more.bullets.push(bullet(Section::ErrorFixes, "new"));
    more.failures[3].entries.remove(0);
    more.failures[3].entries.push(entry("9-9", "new"));
    let mut changed = wanted.clone();
    changed.bullets.push(bullet(Section::ErrorFixes, "new"));
    changed.remove = changed.bullets.drain(..3_000).collect();
    for phase in &mut changed.failures {
        phase.entries.remove(0);
        phase.entries.push(entry("9-9", "new"));
    }
    println!("{} bytes, {} bullets", file.len(), read(&file).bullets.len());
    let (old, lines) = (&file, "- \n".repeat(300_000));
    for (what, time) in [
        ("read", fastest(|| drop(read(old)))),
        ("write, nothing changes", fastest(|| drop(write(Some(old), &wanted, &|_| true)))),
        (
            "write, one more bullet and entry, one entry less",
            fastest(|| drop(write(Some(old), &more, &|_| true))),
        ),
        (
            "write, 3,000 bullets and 10 entries less, 10 entries more",
            fastest(|| drop(write(Some(old), &changed, &|_| true))),
        ),
        ("write, a new file", fastest(|| drop(write(None, &wanted, &|_| true)))),
        ("write, 300,000 odd lines", fastest(|| drop(write(Some(&lines), &changed, &|_| true)))),
    ] {
        println!("{what}: {:.2} ms", time.as_secs_f64() * 1e3);
    }
}

/// Texts on which a careless scan takes quadratic time; this would then run for minutes.
#[test]
fn large_hostile_files_take_linear_time() {
    let heading = "## Failure Context\n";
    for unit in [
        "- \n",
        "\n",
        " \n",
        "-\n\n",
        "```\n",
        "~~~\n```\n",
        "<!--\n",
        "<pre>\n",
        "a\n",
        "- a\n\n",
        "#\n",
        "### Phase 1:\n",
        "#### a\n",
        "- [a | 1] **Error:** x\n\n",
        "- [a | | ",
        " | ",
        "##",
        "- a\nb\n\n  c\n",
        "1. a\n",
        "\r",
        "  ## a\n",
        "`",
        "---\n",
        "### Phase 1:\n- [a | 1] **Error:** x\n",
    ] {
        let file = format!("{heading}{}", unit.repeat(200_000 / unit.len()));
        let wanted = Wanted {
            bullets: vec![bullet(Section::FailureContext, "a b"), in_phase("2", "c")],
            remove: vec![bullet(Section::FailureContext, "a")],
            failures: vec![phase("1", &[entry("b", "x")])],
        };
        assert!(write(Some(&file), &wanted, &|_| true).contains("- a b"));
    }
}
