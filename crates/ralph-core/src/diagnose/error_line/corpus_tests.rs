//! Real outputs with the line that a developer would want to see.

use crate::diagnose::error_line;
use std::path::Path;

/// One output and the lines that are right for it; none where it reports no error.
struct Case {
    name: String,
    text: String,
    right: Vec<String>,
}

fn corpus() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/errors");
    let table = std::fs::read_to_string(folder.join("expected.tsv")).unwrap();
    table
        .lines()
        .map(|row| {
            let (name, right) = row.split_once('\t').unwrap();
            Case {
                name: name.to_owned(),
                text: std::fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap(),
                right: right.split('\t').filter(|l| !l.is_empty()).map(str::to_owned).collect(),
            }
        })
        .collect()
}

/// Whether the rules were tuned on a case (FNV-1a of its name is even).
fn is_tuned_on(name: &str) -> bool {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, b| (hash ^ u32::from(b)).wrapping_mul(0x0100_0193));
    hash.is_multiple_of(2)
}

fn is_right(case: &Case, answer: Option<&str>) -> bool {
    match answer {
        Some(line) => case.right.iter().any(|right| right == line),
        None => case.right.is_empty(),
    }
}

#[test]
fn ext_02_the_error_that_matters_is_found_in_real_outputs() {
    let cases = corpus();
    assert!(cases.len() >= 60);
    for (half, tuned) in [("tuned on", true), ("held out", false)] {
        let mut hits = 0;
        let mut all = 0;
        for case in cases.iter().filter(|c| is_tuned_on(&c.name) == tuned) {
            let answer = error_line(&case.text);
            all += 1;
            if is_right(case, answer.as_deref()) {
                hits += 1;
            } else {
                println!("MISS {}: {answer:?}, not {:?}", case.name, case.right);
            }
        }
        println!("{half}: {hits} of {all}");
        assert!(hits * 10 >= all * 9, "{half}: {hits} of {all}");
    }
}

#[test]
fn the_corpus_is_sound() {
    for case in corpus() {
        assert!(case.text.len() <= 8192, "{} is too long", case.name);
        assert!(case.right.len() <= 2, "{} allows too many", case.name);
        assert_eq!(case.right.is_empty(), case.name.starts_with("none-"), "{}", case.name);
        for right in &case.right {
            assert!(case.text.lines().any(|l| l.trim() == right), "{}: {right}", case.name);
        }
    }
}
