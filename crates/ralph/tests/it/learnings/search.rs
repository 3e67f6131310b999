//! Finding learnings.

use serde_json::{Value, json};

use super::{import, learn, refused};
use crate::support::Project;

/// The ids a search finds, best first.
#[track_caller]
pub fn found(project: &Project, text: &str, args: &[&str]) -> Vec<String> {
    let mut all = vec!["learnings", "search", "--json"];
    all.extend(args);
    all.extend(["--", text]);
    let results = project.json(&all)["results"].clone();
    let id = |result: &Value| result["id"].as_str().unwrap().to_owned();
    results.as_array().unwrap().iter().map(id).collect()
}

#[test]
fn lrn_10_any_text_can_be_searched_for() {
    let project = Project::new();
    let texts = [
        "src/main.rs",
        "\"foo\"",
        "a-b",
        "C++",
        "日本語",
        "NEAR(",
        "col:",
        "^x",
        "'; DROP TABLE learnings; --",
    ];
    let ids: Vec<String> =
        texts.iter().map(|text| learn(&project, &format!("about {text} here"), &[])).collect();
    for (text, id) in texts.iter().zip(&ids) {
        assert_eq!(found(&project, text, &[]).first(), Some(id), "{text}");
        assert_eq!(found(&project, "", &["--title", text]).first(), Some(id), "{text}");
    }
    for text in ["*", "\"", "AND OR NOT", "", "  ", "--", "\u{1b}[2J", &"x".repeat(100_000)] {
        found(&project, text, &[]);
    }
    assert_eq!(found(&project, "日", &[]), [ids[4].clone()]);
}

#[test]
fn a_search_says_what_it_found_and_why() {
    let project = Project::new();
    import(
        &project,
        &[
            json!({ "id": "l-a", "category": "pitfall", "title": "Cache", "content": "Clear the cache\nfirst",
                    "tags": ["cache", "src/cache.rs"], "created_at": "2026-01-02T03:04:05.678Z" }),
            json!({ "id": "l-b", "category": "pattern", "content": "The parser has a cache", "tags": ["parser"],
                    "created_at": "2026-01-01T00:00:00Z" }),
            json!({ "id": "l-c", "category": "pattern", "content": "Something else altogether",
                    "created_at": "2026-01-01T00:00:00Z" }),
        ],
    );
    let text = "the cache in src/cache.rs is stale";
    let search = ["learnings", "search", text, "--before", "2026-02-01"];
    // Scores may be tuned; how they are shown stays.
    let steady = |args: &[&str]| project.ok(args).text().replace(|c: char| c.is_ascii_digit(), "0");
    insta::assert_snapshot!(steady(&search), @r"
    SCORE  ID   CATEGORY  CONTENT
    0.000  l-a  pitfall   Clear the cache first
    0.000  l-b  pattern   The parser has a cache
    ");
    let explained = [&search[..], &["--explain"]].concat();
    insta::assert_snapshot!(steady(&explained), @r"
    SCORE  ID   CATEGORY  CONTENT
    0.000  l-a  pitfall   Clear the cache first
           text 0.000, tags 0.000, paths 0.000, agreement 0.000, recency 0.000
    0.000  l-b  pattern   The parser has a cache
           text 0.000, agreement 0.000, recency 0.000
    ");
    let best = &project.json(&[&search[..], &["--json", "--limit", "1"]].concat())["results"];
    assert_eq!(best.as_array().unwrap().len(), 1);
    let score = best[0]["score"].as_f64().unwrap();
    assert_eq!(
        best[0],
        json!({ "id": "l-a", "score": score, "category": "pitfall", "title": "Cache",
                "content": "Clear the cache\nfirst", "tags": ["cache", "src/cache.rs"],
                "created_at": "2026-01-02T03:04:05.678Z" })
    );
    let parts = &project.json(&[&explained[..], &["--json"]].concat())["results"][0]["parts"];
    let sum: f64 = parts.as_object().unwrap().values().filter_map(Value::as_f64).sum();
    assert!((sum - score).abs() < 1e-9, "{parts}");
    let stdin = project.ralph_with_input(&["learnings", "search", "-", "--json"], "the parser\n");
    assert_eq!(stdin.expect_code(0).json()["results"][0]["id"], json!("l-b"));
    let nothing = project.ok(&["learnings", "search", "zebra"]);
    assert_eq!(nothing.stdout, "");
    assert!(nothing.stderr.contains("no learnings match"), "{}", nothing.stderr);
    assert_eq!(project.ok(&["learnings", "search", "zebra", "--json"]).json(), json!({ "results": [] }));
}

#[test]
fn a_search_as_of_a_time_sees_only_what_was_learned_before() {
    let project = Project::new();
    let line =
        |id: &str, at: &str| json!({ "id": id, "category": "c", "content": "the cache", "created_at": at });
    import(&project, &[line("l-1", "2026-01-01"), line("l-2", "2026-01-02T12:00:00.000Z")]);
    for (before, expected) in [
        ("2026-01-01", &[][..]),
        ("2026-01-01T00:00:00.001Z", &["l-1"]),
        ("2026-01-02T12:00:00.000Z", &["l-1"]),
        ("2026-01-02T14:00:00.001+02:00", &["l-2", "l-1"]),
    ] {
        assert_eq!(found(&project, "cache", &["--before", before]), expected, "{before}");
        let question = json!({ "id": 1, "description": "cache", "before": before });
        let answer = batch(&project, &question.to_string());
        let ids: Vec<&Value> = answer[0]["results"].as_array().unwrap().iter().map(|r| &r["id"]).collect();
        assert_eq!(ids, expected, "{before}");
    }
}

#[track_caller]
fn batch(project: &Project, lines: &str) -> Vec<Value> {
    let args = ["learnings", "search", "--batch", "-"];
    project.ralph_with_input(&args, lines).expect_code(0).json_lines()
}

#[test]
fn a_batch_answers_every_line_in_its_order() {
    let project = Project::new();
    let cache = learn(&project, "Clear the cache", &[]);
    let parser = learn(&project, "The parser is generated", &["--tags", "parser"]);
    let lines = "{\"id\": \"q\\u0031\", \"title\": \"cache\", \"description\": \"stale\"}\n\n\
        {\"id\": 1.50, \"description\": \"parser\", \"title\": null, \"files\": [\"x\"]}\r\n\
        {\"id\": 12345678901234567890123, \"title\": \"zebra\"}\n{\"id\": -3}";
    project.write("deep/queries.jsonl", lines);
    let args = ["-C", "deep", "learnings", "search", "--batch", "queries.jsonl"];
    let output = project.ok(&args);
    let answers = output.json_lines();
    let best = |place: usize| &answers[place]["results"][0]["id"];
    assert_eq!((best(0), best(1)), (&json!(cache), &json!(parser)));
    assert_eq!(answers[2]["results"], json!([]));
    assert_eq!(answers[3]["results"], json!([]));
    assert_eq!(answers.len(), 4);
    let as_written: Vec<&str> = output.stdout.lines().filter_map(|l| l.split(',').next()).collect();
    assert_eq!(
        as_written,
        ["{\"id\":\"q\\u0031\"", "{\"id\":1.50", "{\"id\":12345678901234567890123", "{\"id\":-3"]
    );
    assert_eq!(output.stderr, "");
    // The same order and the same scores as one by one.
    let one = project.json(&["learnings", "search", "stale", "--title", "cache", "--json"]);
    let of_batch = &answers[0]["results"][0];
    let (a, b) = (&one["results"][0]["score"], &of_batch["score"]);
    assert!((a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-6, "{a} {b}");
    assert_eq!(of_batch.as_object().unwrap().len(), 2, "{of_batch}");
    let explained = project.ok(&["learnings", "search", "--batch", "deep/queries.jsonl", "--explain"]);
    assert!(explained.json_lines()[0]["results"][0]["parts"]["text"].as_f64() > Some(0.0));
    assert!(batch(&project, "").is_empty());
}

#[test]
fn a_bad_line_of_a_batch_is_named_and_nothing_is_printed() {
    let project = Project::new();
    learn(&project, "Clear the cache", &[]);
    let good = "{\"id\": 1, \"title\": \"cache\"}\n\n";
    for (bad, expected) in [
        ("{\"id\": 2,", "JSON object"),
        ("[1]", "JSON object"),
        ("{\"title\": \"x\"}", "`id`"),
        ("{\"id\": null}", "`id`"),
        ("{\"id\": [1]}", "`id`"),
        ("{\"id\": 2, \"title\": 3}", "`title`"),
        ("{\"id\": 2, \"description\": [\"x\"]}", "`description`"),
        ("{\"id\": 2, \"before\": \"soon\"}", "`before`"),
        ("{\"id\": 2, \"before\": 5}", "`before`"),
    ] {
        project.write("q.jsonl", &format!("{good}{bad}\n{good}"));
        let output = project.ralph(&["learnings", "search", "--batch", "q.jsonl"]);
        refused(output, &["q.jsonl:3: ", "expected", expected]);
    }
    std::fs::write(project.path("q.jsonl"), b"{\"id\": 1}\n\xff").unwrap();
    let search = |args: &[&str]| project.ralph(&[&["learnings", "search"], args].concat());
    refused(search(&["--batch", "q.jsonl"]), &["q.jsonl:2: ", "UTF-8"]);
    refused(search(&["--batch", "none.jsonl"]), &["none.jsonl", "stdin"]);
    refused(search(&["text", "--batch", "q.jsonl"]), &["--batch"]);
    refused(search(&[]), &["TEXT"]);
    refused(search(&["x", "--limit", "0"]), &["--limit"]);
    refused(search(&["x", "--before", "soon"]), &["soon", "2026-01-31"]);
}

#[test]
fn a_reader_that_leaves_ends_a_batch_in_peace() {
    let project = Project::new();
    for n in 0..5 {
        learn(&project, &format!("Clear the cache {n}"), &[]);
    }
    project.write("q.jsonl", &"{\"id\": 1, \"title\": \"cache\"}\n".repeat(2000));
    for args in [&["search", "--batch", "q.jsonl"][..], &["export"], &["list", "--json"]] {
        let mut child = project
            .command(&[&["learnings"], args].concat())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}
