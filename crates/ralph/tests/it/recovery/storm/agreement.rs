//! What must hold of the files and the database of a spec, whatever happened to it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use serde_json::{Value, json};

use super::plan::HOPELESS;
use crate::support::Project;

/// A task as the database has it.
struct Known {
    status: String,
    reason: Option<String>,
    /// The key of the task it is to fix.
    fixes: Option<String>,
}

/// A task line: its key, and whether its box is ticked.
type Lines = Vec<(String, bool)>;

pub fn check(project: &Project, by_hand: &str) {
    let file = project.read("specs/storm/tasks.md");
    let plan = plan(project);
    only_ralphs_changes(by_hand, &file);
    let lines = task_lines(&file);
    same_tasks(project, &plan, &lines);
    in_families(&lines);
    limits_hold(&plan);
    state_agrees(project, &plan, &lines);
    log_agrees(project, &plan);
    attempts_agree(project, &plan);
    nothing_is_left(&project.root());
    let again = project.json(&["import", "specs/storm", "--json"]);
    assert_eq!(again["added"], json!([]), "{again}");
    assert_eq!(again["updated"], json!([]), "{again}");
    assert_eq!(again["unchanged"], json!(lines.len()), "{again}");
}

/// The same tasks are in the file and in the database; gives how many.
pub fn same_tasks_in(project: &Project) -> usize {
    let lines = task_lines(&project.read("specs/storm/tasks.md"));
    same_tasks(project, &plan(project), &lines);
    lines.len()
}

fn plan(project: &Project) -> BTreeMap<String, Known> {
    let database = project.database();
    let mut query = database
        .prepare(
            "SELECT t.key, t.status, t.reason, o.key FROM tasks t
             LEFT JOIN fixes f ON f.task_id = t.id LEFT JOIN tasks o ON o.id = f.original_id",
        )
        .unwrap();
    let rows = query.query_map([], |row| {
        let known = Known { status: row.get(1)?, reason: row.get(2)?, fixes: row.get(3)? };
        Ok((row.get::<_, String>(0)?, known))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// The parts of a task line: its key, and whether its box is ticked.
fn task_line(line: &str) -> Option<(&str, bool)> {
    let rest = line.strip_prefix("- [")?;
    let key = rest.get(3..)?.split_whitespace().next()?;
    let is_key = key.starts_with('V') || key.starts_with(|c: char| c.is_ascii_digit());
    is_key.then(|| (key, !rest.starts_with(' ')))
}

fn task_lines(file: &str) -> Lines {
    let mut fenced = false;
    let mut found = Lines::new();
    for line in file.lines() {
        fenced ^= line.starts_with("```") || line.starts_with("~~~");
        if let Some((key, ticked)) = task_line(line).filter(|_| !fenced) {
            found.push((key.to_owned(), ticked));
        }
    }
    found
}

/// Line by line, line ends included: boxes apart, the file is the author's, with blocks of fix tasks put in.
fn only_ralphs_changes(by_hand: &str, file: &str) {
    let (by_hand, notes) = without_notes(by_hand);
    let (file, found) = without_notes(file);
    assert_eq!(found, notes, "a person's line is gone or doubled");
    let open = |line: &str| match task_line(line) {
        Some(_) => format!("- [ ]{}", &line[5..]),
        None => line.to_owned(),
    };
    let begins = |at: usize| file.get(at).is_some_and(|line| line.contains("] Fix: "));
    let mut expected = by_hand.iter();
    let mut next = expected.next();
    let (mut in_block, mut after_block) = (false, false);
    for (at, line) in file.iter().enumerate() {
        in_block |= begins(at);
        if in_block {
            in_block = !line.starts_with("  - **Commit**");
            after_block = !in_block;
        } else if next.is_some_and(|next| open(next) == open(line)) {
            next = expected.next();
            after_block = false;
        } else {
            let around = line.trim().is_empty() && (after_block || begins(at + 1));
            assert!(around, "line {}: {line:?} in place of {next:?}", at + 1);
        }
    }
    assert_eq!(next, None, "it is gone");
}

/// The lines of a text, and apart from them the notes that a person appended. A note that a killed run had swapped out comes
/// back after those that were written before the next run found it.
fn without_notes(text: &str) -> (Vec<String>, BTreeSet<String>) {
    let lines = text.split_inclusive('\n').map(str::to_owned);
    let (notes, others): (Vec<String>, Vec<String>) = lines.partition(|line| line.starts_with("Note "));
    let count = notes.len();
    let notes: BTreeSet<String> = notes.into_iter().collect();
    assert_eq!(notes.len(), count, "a note stands there twice");
    (others, notes)
}

fn same_tasks(project: &Project, plan: &BTreeMap<String, Known>, lines: &Lines) {
    let keys: HashSet<&str> = lines.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys.len(), lines.len(), "a task stands there twice");
    let known: HashSet<&str> = plan.keys().map(String::as_str).collect();
    assert_eq!(keys, known);
    for (key, ticked) in lines {
        let task = &plan[key];
        assert_eq!(*ticked, task.status == "done", "{key}: {}", task.status);
        if task.status != "done" {
            let hopeless = HOPELESS.map(|(root, _)| root);
            assert_eq!(task.status, "blocked", "{key}");
            assert!(
                hopeless.iter().any(|root| key.starts_with(root)),
                "{key} could be done: {:?}\n{}",
                task.reason,
                attempts_below(project, key)
            );
            assert!(task.reason.as_ref().is_some_and(|why| !why.is_empty()), "{key}");
        }
    }
}

/// Every attempt on a task and its fixes, one per line.
fn attempts_below(project: &Project, key: &str) -> String {
    let attempts = project.history().into_iter();
    let below = attempts.filter(|attempt| attempt["key"].as_str().unwrap().starts_with(key));
    below.map(|attempt| format!("{attempt}\n")).collect()
}

/// Behind each task stand those below it, in the order of their numbers.
fn in_families(lines: &Lines) {
    let mut family: Vec<Vec<u32>> = Vec::new();
    for (key, _) in lines {
        let numbers: Vec<u32> =
            key.trim_start_matches('V').split('.').map(|number| number.parse().unwrap()).collect();
        let depth = if key.starts_with('V') { 1 } else { 2 };
        if numbers.len() == depth {
            family = vec![numbers];
            continue;
        }
        let parent = numbers[..numbers.len() - 1].to_vec();
        assert!(family.contains(&parent), "{key} stands apart");
        assert!(family.last().unwrap() < &numbers, "{key} is out of order");
        family.push(numbers);
    }
}

fn fixes_of(plan: &BTreeMap<String, Known>) -> BTreeMap<&str, Vec<&str>> {
    let mut fixes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, task) in plan {
        if let Some(fixed) = &task.fixes {
            fixes.entry(fixed).or_default().push(key);
        }
    }
    fixes
}

fn limits_hold(plan: &BTreeMap<String, Known>) {
    let mut below: HashMap<&str, usize> = HashMap::new();
    for (key, task) in plan {
        let (mut root, mut depth) = (key, 0);
        let mut above = &task.fixes;
        while let Some(fixed) = above {
            (root, depth, above) = (fixed, depth + 1, &plan[fixed].fixes);
        }
        assert!(depth <= 3, "{key}");
        *below.entry(root).or_default() += usize::from(depth > 0);
    }
    assert!(below.values().all(|fixes| *fixes <= 9), "{below:?}");
    assert!(fixes_of(plan).values().all(|fixes| fixes.len() <= 3));
    assert!(below.values().filter(|fixes| **fixes > 0).count() > 10, "it was no storm");
}

fn state_agrees(project: &Project, plan: &BTreeMap<String, Known>, lines: &Lines) {
    let state: Value = serde_json::from_str(&project.read("specs/storm/.ralph-state.json")).unwrap();
    assert_eq!(state["totalTasks"], json!(lines.len()));
    let open = lines.iter().position(|(key, ticked)| !ticked && plan[key].fixes.is_none());
    assert_eq!(state["taskIndex"], json!(open.unwrap()));
    assert_eq!((&state["phase"], &state["mine"]), (&json!("execution"), &json!([1.5, null])));
    let fixes = fixes_of(plan);
    let map = state["fixTaskMap"].as_object().unwrap();
    assert_eq!(map.len(), fixes.len());
    for (key, fixes) in fixes {
        let entry = &map[key];
        assert_eq!(entry["attempts"], json!(fixes.len()), "{key}");
        assert_eq!(entry["fixTaskIds"], json!(fixes), "{key}");
        assert!(entry["lastError"].as_str().is_some_and(|error| !error.is_empty()), "{key}");
    }
}

fn log_agrees(project: &Project, plan: &BTreeMap<String, Known>) {
    let log = project.read("specs/storm/.progress.md");
    let section = |name: &str| {
        let (_, rest) = log.split_once(&format!("## {name}\n")).unwrap();
        rest.split("\n## ").next().unwrap()
    };
    let mut completed: HashMap<&str, usize> = HashMap::new();
    for (key, ticked) in section("Completed Tasks").lines().filter_map(task_line) {
        assert!(ticked, "{key}");
        *completed.entry(key).or_default() += 1;
    }
    let mut ended: HashMap<&str, Vec<&str>> = HashMap::new();
    for line in section("Fix Task History").lines() {
        if let Some((key, rest)) = line.strip_prefix("- Task ").and_then(|l| l.split_once(": ")) {
            let (_, end) = rest.split_once("Final: ").unwrap();
            ended.entry(key).or_default().push(end);
        }
    }
    let fixes = fixes_of(plan);
    for (key, task) in plan {
        let done = task.status == "done";
        assert_eq!(completed.remove(key.as_str()).unwrap_or(0), usize::from(done), "{key}\n{log}");
        let limit = HOPELESS.iter().find(|(root, _)| root == key).map(|(_, end)| *end);
        let end = if done { Some("PASS") } else { limit };
        let expected = end.filter(|_| fixes.contains_key(key.as_str()));
        let found = ended.remove(key.as_str()).unwrap_or_default();
        assert_eq!(found, Vec::from_iter(expected), "{key}\n{log}");
    }
    assert!(completed.is_empty() && ended.is_empty(), "{log}");
    assert!(log.starts_with("# Progress\n\nBy hand.\n"), "{log}");
    assert!(section("Learnings").contains("- Mine\n"), "{log}");
    assert!(log.contains("- [x] 1.1 Old title - abc1234\n"), "{log}");
}

/// No try is missing, none is recorded twice, and each counted failure has its fix.
fn attempts_agree(project: &Project, plan: &BTreeMap<String, Known>) {
    let mut numbers: HashMap<String, u64> = HashMap::new();
    let mut done: HashMap<String, usize> = HashMap::new();
    let mut failed: HashMap<String, usize> = HashMap::new();
    let mut recorded: HashMap<String, usize> = HashMap::new();
    for attempt in project.history() {
        let key = attempt["key"].as_str().unwrap().to_owned();
        let number = numbers.entry(key.clone()).or_default();
        *number += 1;
        assert_eq!(attempt["attempt_number"], json!(*number), "{key}");
        let run = attempt["run_id"].as_str().unwrap();
        *recorded.entry(format!("{run} {key}")).or_default() += 1;
        if attempt["outcome"] == "done" {
            *done.entry(key).or_default() += 1;
        } else if attempt["counted"] == json!(true) && attempt["gate"] != "passed" {
            // Where the gate passed and only the signal is missing, there is nothing to fix.
            *failed.entry(key).or_default() += 1;
        }
    }
    let mut started: HashMap<String, usize> = HashMap::new();
    for start in project.read("starts.txt").lines() {
        *started.entry(start.to_owned()).or_default() += 1;
    }
    for (start, times) in started {
        assert!(recorded.get(&start).is_some_and(|known| *known >= times), "{start}");
    }
    let fixes = fixes_of(plan);
    for (key, task) in plan {
        let ticked_before = ["1.1", "1.2"].contains(&key.as_str());
        let is_done = task.status == "done";
        let times = done.get(key).copied().unwrap_or(0);
        assert_eq!(times, usize::from(is_done && !ticked_before), "{key}");
        let failures = failed.get(key).copied().unwrap_or(0);
        let fixed = fixes.get(key.as_str()).map_or(0, Vec::len);
        let at_limit = !is_done && failures > fixed;
        assert_eq!(failures, fixed + usize::from(at_limit), "{key}");
    }
    let database = project.database();
    for (query, expected) in [
        ("PRAGMA integrity_check", "ok"),
        ("SELECT count(*) FROM pragma_foreign_key_check", "0"),
        ("SELECT count(*) FROM claims", "0"),
        ("SELECT count(*) FROM runs WHERE ended_at IS NULL", "0"),
    ] {
        let found: rusqlite::types::Value = database.query_row(query, [], |row| row.get(0)).unwrap();
        let found = match found {
            rusqlite::types::Value::Text(text) => text,
            rusqlite::types::Value::Integer(number) => number.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(found, expected, "{query}");
    }
}

fn nothing_is_left(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        let left = [".ralph-new.", ".ralph-swap.", "ralph-saved"];
        assert!(!left.iter().any(|mark| name.contains(mark)), "{name} in {}", folder.display());
        if entry.file_type().unwrap().is_dir() {
            nothing_is_left(&entry.path());
        }
    }
}
