//! The seed's examples, what is read, and how new values look.

mod properties;

use serde_json::{Value, json};

use super::SpecState;
use super::{FixEntry, StateNews, read, update};

fn entry(ids: &[&str], last_error: &str) -> FixEntry {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    FixEntry::new(ids, last_error.to_owned())
}

fn fixes(total: usize, task: &str, ids: &[&str], last_error: &str) -> StateNews {
    StateNews {
        total_tasks: Some(total),
        fix_task_map: vec![(task.to_owned(), entry(ids, last_error))],
        ..StateNews::default()
    }
}

fn index(task_index: usize) -> StateNews {
    StateNews { task_index: Some(task_index), ..StateNews::default() }
}

const BEFORE: &str = r#"{
  "phase": "execution",
  "taskIndex": 2,
  "totalTasks": 10,
  "fixTaskMap": {}
}
"#;

const AFTER: &str = r#"{
  "phase": "execution",
  "taskIndex": 2,
  "totalTasks": 11,
  "fixTaskMap": {
    "1.3": {
      "attempts": 1,
      "fixTaskIds": ["1.3.1"],
      "lastError": "File not found: src/parser.ts"
    }
  }
}
"#;

fn first() -> StateNews {
    fixes(11, "1.3", &["1.3.1"], "File not found: src/parser.ts")
}

#[test]
fn rcs_01_the_example() {
    let after = update(BEFORE, &first()).unwrap();
    assert_eq!(after, AFTER);
    let value: Value = serde_json::from_str(&after).unwrap();
    let expected = json!({
        "phase": "execution", "taskIndex": 2, "totalTasks": 11,
        "fixTaskMap": {"1.3": {
            "attempts": 1, "fixTaskIds": ["1.3.1"], "lastError": "File not found: src/parser.ts",
        }},
    });
    assert_eq!(value, expected);
    let second = fixes(12, "1.3", &["1.3.1", "1.3.2"], "Syntax error in parser.ts line 42");
    let after = update(&after, &second).unwrap();
    assert_eq!(
        after,
        AFTER
            .replace("11", "12")
            .replace("\"attempts\": 1", "\"attempts\": 2")
            .replace("[\"1.3.1\"]", "[\"1.3.1\", \"1.3.2\"]")
            .replace("File not found: src/parser.ts", "Syntax error in parser.ts line 42")
    );
}

#[test]
fn rcs_01_the_map_is_made_where_it_is_missing() {
    let without = BEFORE.replace(",\n  \"fixTaskMap\": {}", "");
    assert_eq!(update(&without, &first()).unwrap(), AFTER);
    let null = BEFORE.replace("{}", "null");
    assert_eq!(update(&null, &first()).unwrap(), AFTER);
}

#[test]
fn rcs_01_a_new_file() {
    let news = StateNews { task_index: Some(2), ..first() };
    let expected = AFTER.replace("  \"phase\": \"execution\",\n", "");
    for blank in ["", "\n", "{}\n"] {
        assert_eq!(update(blank, &news).unwrap(), expected);
    }
    assert_eq!(update("", &StateNews::default()).unwrap(), "");
}

#[test]
fn rcs_01_entries_of_other_tasks_stay() {
    let after = update(AFTER, &fixes(12, "1.3.1", &["1.3.1.1"], "x")).unwrap();
    assert_eq!(
        after,
        AFTER.replace("11", "12").replace(
            "\n    }\n  }",
            r#"
    },
    "1.3.1": {
      "attempts": 1,
      "fixTaskIds": ["1.3.1.1"],
      "lastError": "x"
    }
  }"#
        )
    );
}

#[test]
fn rcs_02_a_repeated_update_changes_nothing() {
    assert_eq!(update(AFTER, &first()).unwrap(), AFTER);
    let mut twice = first();
    twice.fix_task_map.insert(0, ("1.3".into(), entry(&[], "old")));
    assert_eq!(update(BEFORE, &twice).unwrap(), AFTER);
}

#[test]
fn rcs_03_unknown_keys_and_forms_are_kept() {
    let text = r#"{
  "name" : "x",  "phase": "execution",
  "numbers": [1.0, 1e5, -0],
  "taskIndex": 2.0,

  "awaitingApproval": false,
  "fixTaskMap": {"1.3": {"by": "hand", "attempts": 1, "fixTaskIds": [ "1.3.1" ], "lastError": "\u0078"}}
}"#;
    let same = StateNews {
        task_index: Some(2),
        fix_task_map: vec![("1.3".into(), entry(&["1.3.1"], "x"))],
        ..StateNews::default()
    };
    assert_eq!(update(text, &same).unwrap(), text);
    let moved = update(text, &index(3)).unwrap();
    assert_eq!(moved, text.replace("2.0", "3"));
    let mut fixed = same.clone();
    fixed.fix_task_map = vec![("1.3".into(), entry(&["1.3.1", "1.3.2"], "y"))];
    assert_eq!(
        update(text, &fixed).unwrap(),
        text.replace("\"attempts\": 1", "\"attempts\": 2")
            .replace("[ \"1.3.1\" ]", "[ \"1.3.1\", \"1.3.2\" ]")
            .replace("\\u0078", "y")
    );
}

#[test]
fn rcs_03_of_two_equal_keys_the_last_is_edited() {
    let text = r#"{"taskIndex": 1, "x": 0, "taskIndex": 2}"#;
    assert_eq!(update(text, &index(3)).unwrap(), r#"{"taskIndex": 1, "x": 0, "taskIndex": 3}"#);
    assert_eq!(update(text, &index(2)).unwrap(), text);
}

#[test]
fn rcs_04_any_error_text_comes_back() {
    for error in ["a \"b\" \\ c\nd\te", "\u{0}\u{1b}[31m", "\\u0041", "ä 漢 🎉", "}]\",", ""] {
        let text = update(AFTER, &fixes(11, "1.3", &["1.3.1"], error)).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["fixTaskMap"]["1.3"]["lastError"], error);
        assert_eq!(read(&text).unwrap().fix_task_map[0].1.last_error, error);
    }
}

#[test]
fn imp_07_what_is_no_object_is_not_touched() {
    for text in ["[]", "{", "3", "{\"a\": }"] {
        assert!(update(text, &first()).is_err());
        assert!(update(text, &StateNews::default()).is_err());
        assert!(read(text).is_err());
    }
}

fn both(text: &str) -> String {
    update(text, &fixes(3, "V4", &["V4.1"], "x")).unwrap()
}

#[test]
fn rcs_03_values_on_one_line_stay_there() {
    let text = r#"{"a":1,"totalTasks":2,"taskIndex":3}"#;
    let news = StateNews { task_index: Some(3), total_tasks: Some(4), ..StateNews::default() };
    assert_eq!(update(text, &news).unwrap(), text.replace('2', "4"));
}

#[test]
fn rcs_03_with_tabs_and_windows_line_ends() {
    assert_eq!(
        both("{\r\n\t\"totalTasks\": 2\r\n}\r\n"),
        "{\r\n\t\"totalTasks\": 3,\r\n\t\"fixTaskMap\": {\r\n\t\t\"V4\": \
         {\r\n\t\t\t\"attempts\": 1,\r\n\t\t\t\"fixTaskIds\": [\"V4.1\"],\r\n\t\t\t\"lastError\": \
         \"x\"\r\n\t\t}\r\n\t}\r\n}\r\n"
    );
}

#[test]
fn rcs_03_lists_with_an_item_a_line_as_jq_writes_them() {
    let text = "{\n  \"fixTaskMap\": {\n    \"1\": {\n      \"attempts\": 1,\n      \"fixTaskIds\": \
                [\n        \"1.1\"\n      ],\n      \"lastError\": \"x\"\n    }\n  }\n}\n";
    let mut news = fixes(3, "1", &["1.1", "1.2", "1.3"], "x");
    news.total_tasks = None;
    assert_eq!(
        update(text, &news).unwrap(),
        text.replace("\"attempts\": 1", "\"attempts\": 3")
            .replace("\"1.1\"\n", "\"1.1\",\n        \"1.2\",\n        \"1.3\"\n")
    );
}

#[test]
fn rcs_03_with_a_blank_line() {
    assert_eq!(
        update("{\n    \"a\": 1,\n\n    \"b\": 2\n}", &index(3)).unwrap(),
        "{\n    \"a\": 1,\n\n    \"b\": 2,\n    \"taskIndex\": 3\n}"
    );
    assert_eq!(update("\u{feff}{\n}", &index(3)).unwrap(), "\u{feff}{\n  \"taskIndex\": 3\n}");
}

#[test]
fn rcs_03_values_of_another_kind_are_replaced() {
    let text = r#"{"taskIndex": "2", "fixTaskMap": {"V4": 1, "V5": {"fixTaskIds": 7}}}"#;
    let mut news = index(2);
    news.fix_task_map = vec![("V4".into(), entry(&[], "")), ("V5".into(), entry(&["a", "b"], ""))];
    let value: Value = serde_json::from_str(&update(text, &news).unwrap()).unwrap();
    let entry =
        |ids: Value, attempts: usize| json!({"attempts": attempts, "fixTaskIds": ids, "lastError": ""});
    let map = json!({"V4": entry(json!([]), 0), "V5": entry(json!(["a", "b"]), 2)});
    assert_eq!(value, json!({"taskIndex": 2, "fixTaskMap": map}));
}

#[test]
fn rcl_01_recovery_is_on_only_where_it_is_exactly_true() {
    let on = read(r#"{"recoveryMode": true}"#).unwrap();
    assert_eq!(on.recovery_mode, Some(true));
    for off in ["false", "null", "\"true\"", "1", "{}", "[true]"] {
        let state = read(&format!("{{\"recoveryMode\": {off}}}")).unwrap();
        assert_ne!(state.recovery_mode, Some(true), "{off}");
        assert_eq!(state.notes.is_empty(), off == "false" || off == "null", "{off}");
    }
    for none in ["", "{}"] {
        assert_eq!(read(none).unwrap(), SpecState::default());
    }
}

#[test]
fn rcl_03_rcd_01_limits_are_positive_integers() {
    let text = r#"{"maxFixTasksPerOriginal": 2, "maxFixTaskDepth": 4, "maxTaskIterations": 7.0}"#;
    let state = read(text).unwrap();
    let limits = |state: &SpecState| {
        [state.max_fix_tasks_per_original, state.max_fix_task_depth, state.max_task_iterations]
    };
    assert_eq!(limits(&state), [Some(2), Some(4), Some(7)]);
    assert_eq!(state.notes, []);
    let text = "{\n\"maxFixTasksPerOriginal\": 0,\n\"maxFixTaskDepth\": \"3\",\n\"maxTaskIterations\": -1}";
    let state = read(text).unwrap();
    assert_eq!(limits(&state), [None; 3]);
    let notes: Vec<String> = state.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "line 2: `maxFixTasksPerOriginal` is ignored: expected a positive integer, found 0",
            "line 3: `maxFixTaskDepth` is ignored: expected a positive integer, found \"3\"",
            "line 4: `maxTaskIterations` is ignored: expected a positive integer, found -1",
        ]
    );
}

#[test]
fn imp_06_a_spec_goes_on_where_it_stood() {
    let text = r#"{
  "phase": "execution",
  "taskIndex": 2,
  "totalTasks": 12,
  "taskIteration": 1,
  "name": "x",
  "fixTaskMap": {
    "2.1": {"attempts": 3, "fixTaskIds": ["2.1.1"], "lastError": "e", "by": 1},
    "1.3": {"fixTaskIds": ["1.3.1", "1.3.2"]},
    "1.4": {"attempts": null, "fixTaskIds": [1], "lastError": null},
    "1.5": 3
  },
  "commits": [1,  2]
}"#;
    let state = read(text).unwrap();
    let mut first = entry(&["2.1.1"], "e");
    first.attempts = 3;
    let expected = [("2.1", first), ("1.3", entry(&["1.3.1", "1.3.2"], "")), ("1.4", entry(&[], ""))];
    assert_eq!(state.fix_task_map, expected.map(|(task, entry)| (task.to_owned(), entry)));
    let lines: Vec<usize> = state.notes.iter().map(|note| note.line).collect();
    assert_eq!(lines, [10, 11]);
}

/// Files on which a careless scan takes quadratic time; this would then run for minutes.
#[test]
fn large_hostile_files_take_linear_time() {
    let entries: Vec<String> = (0..5_000).map(|n| format!("\n\"{n}\": {{\"attempts\": -1}}")).collect();
    let text = format!("{{\"fixTaskMap\": {{{}}}}}", entries.join(","));
    let state = read(&text).unwrap();
    assert_eq!((state.fix_task_map.len(), state.notes.len()), (5_000, 5_000));
    let news = StateNews { fix_task_map: state.fix_task_map, ..Default::default() };
    let updated = update(&text, &news).unwrap();
    assert_eq!(read(&updated).unwrap().notes, []);
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(read(&deep).is_err());
}
