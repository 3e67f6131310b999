//! Precision and recall of the coarse fingerprint on the failures of public benchmark runs: pairs of
//! logs of one task, labelled by whether the same tests failed.
//! `RALPH_DATA=DIR cargo bench -p ralph --bench fingerprint`.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a tool for developers")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ralph_core::diagnose::{Fingerprint, Kind, fingerprint};

struct Row {
    task: String,
    failed: BTreeSet<String>,
    log: String,
}

fn main() {
    // `cargo test` runs benchmarks too, with this flag; they are not tests.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let Some(data) = std::env::var_os("RALPH_DATA").map(PathBuf::from) else {
        println!("fingerprint: SKIPPED, nothing measured: RALPH_DATA does not name the data directory");
        return;
    };
    let data = std::fs::read_to_string(data.join("failures_terminal_bench_dev.jsonl")).unwrap();
    let rows: Vec<Row> = data
        .lines()
        .map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let failed = row["failed_tests"].as_array().unwrap();
            Row {
                task: row["task_id"].as_str().unwrap().to_owned(),
                failed: failed.iter().map(|t| t.as_str().unwrap().to_owned()).collect(),
                log: row["tail"].as_str().unwrap().to_owned(),
            }
        })
        .collect();
    for (title, strength) in [
        ("whole logs", 0),
        ("without names and summaries", 1),
        ("also without `def test…`", 2),
        ("also without any line with test_ but for the file's name", 3),
        ("also without any line with test_", 4),
        ("instead with every test_… replaced", 5),
    ] {
        evaluate(title, &rows, strength);
    }
}

fn evaluate(title: &str, rows: &[Row], strength: u8) {
    let mut tasks: BTreeMap<&str, Vec<(&Row, Option<Fingerprint>)>> = BTreeMap::new();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows {
        let log = if strength == 0 { row.log.clone() } else { strip(&row.log, strength) };
        let print = fingerprint(&log);
        *kinds.entry(kind(print.as_ref()).to_owned()).or_default() += 1;
        tasks.entry(&row.task).or_default().push((row, print));
    }
    println!("== {title}: {kinds:?}");
    let mut all = [0; 3];
    let mut fine = [0; 2];
    let mut by_kind: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let mut by_task: Vec<([usize; 3], &str)> = Vec::new();
    for (task, prints) in &tasks {
        let mut counts = [0; 3];
        for (i, (row, print)) in prints.iter().enumerate() {
            for (other, print2) in prints.iter().take(i) {
                let same = row.failed == other.failed;
                let said = match (print, print2) {
                    (Some(a), Some(b)) => a.coarse == b.coarse,
                    _ => false,
                };
                if same && said {
                    let equal = print.as_ref().map(|p| &p.fine) == print2.as_ref().map(|p| &p.fine);
                    fine[usize::from(equal)] += 1;
                }
                let which = match (same, said) {
                    (true, true) => 0,
                    (false, true) => 1,
                    (true, false) => 2,
                    _ => continue,
                };
                counts[which] += 1;
                all[which] += 1;
                let mut both = [kind(print.as_ref()), kind(print2.as_ref())];
                both.sort_unstable();
                by_kind.entry(both.join("+")).or_default()[which] += 1;
            }
        }
        by_task.push((counts, task));
    }
    println!("   {}", figures(all));
    println!("   of the true pairs, fine differs in {} and is equal in {}", fine[0], fine[1]);
    for (kind, counts) in by_kind {
        println!("   {kind:18} {}", figures(counts));
    }
    by_task.sort_by_key(|(c, _)| std::cmp::Reverse(c[1] + c[2]));
    for (counts, task) in by_task.iter().filter(|(c, _)| c[1] + c[2] > 0).take(12) {
        println!("      {task:45} tp {:4} fp {:4} fn {:4}", counts[0], counts[1], counts[2]);
    }
}

fn kind(print: Option<&Fingerprint>) -> &'static str {
    print.map_or("none", |p| Kind::as_str(p.kind))
}

fn figures([tp, fp, fnn]: [usize; 3]) -> String {
    let ratio = |a: usize, b: usize| a as f64 / b.max(1) as f64;
    format!(
        "precision {:.4} recall {:.4} (tp {tp} fp {fp} fn {fnn})",
        ratio(tp, tp + fp),
        ratio(tp, tp + fnn)
    )
}

/// A log without the names of tests and the lines that sum up.
fn strip(log: &str, strength: u8) -> String {
    let mut out = String::new();
    let mut in_summary = false;
    for line in log.lines() {
        let banner = line.starts_with('=') && line.trim_end().ends_with('=');
        if banner {
            in_summary = line.contains("short test summary");
            let counts = [" failed", " passed", " error", " skipped"].iter().any(|w| line.contains(w));
            if in_summary || counts {
                continue;
            }
        }
        let header = line.starts_with('_') && line.trim_end().ends_with('_') && !line.contains("_ _ _");
        let status = ["FAILED ", "ERROR ", "PASSED ", "SKIPPED ", "XFAIL ", "XPASS "];
        let listed = status.iter().any(|s| line.starts_with(s));
        let progress = line.contains("::") && status.iter().any(|s| line.contains(&format!(" {}", s.trim())));
        let prompt = line.starts_with("root@");
        if (in_summary && !prompt) || header || listed || progress {
            continue;
        }
        let definition =
            line.trim_start().starts_with("def test") || line.trim_start().starts_with("async def test");
        if (2..5).contains(&strength) && definition {
            continue;
        }
        if strength == 4 && line.contains("test_") {
            continue;
        }
        if strength == 3 && line.replace("test_outputs.py", "").contains("test_") {
            continue;
        }
        if strength == 5 {
            let mut parts = line.split("test_");
            out.push_str(parts.next().unwrap_or_default());
            for part in parts {
                out.push_str("TEST");
                out.push_str(part.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'));
            }
        } else {
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}
