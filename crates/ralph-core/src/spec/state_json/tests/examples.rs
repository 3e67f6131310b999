//! The seed's examples and the rules about them.

use serde_json::{Value, json};

use super::support::*;
use crate::spec::state_json::{StateNews, read, update};

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
    let second = fixes(
        12,
        "1.3",
        &["1.3.1", "1.3.2"],
        "Syntax error in parser.ts line 42",
    );
    let after = update(&after, &second).unwrap();
    assert_eq!(
        after,
        AFTER
            .replace("11", "12")
            .replace("\"attempts\": 1", "\"attempts\": 2")
            .replace("[\"1.3.1\"]", "[\"1.3.1\", \"1.3.2\"]")
            .replace(
                "File not found: src/parser.ts",
                "Syntax error in parser.ts line 42"
            )
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
    let news = StateNews {
        phase: Some("execution".into()),
        task_index: Some(2),
        ..first()
    };
    for blank in ["", "\n", "{}\n"] {
        assert_eq!(update(blank, &news).unwrap(), AFTER);
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
    twice
        .fix_task_map
        .insert(0, ("1.3".into(), entry(&[], "old")));
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
        phase: Some("execution".into()),
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
    assert_eq!(
        update(text, &index(3)).unwrap(),
        r#"{"taskIndex": 1, "x": 0, "taskIndex": 3}"#
    );
    assert_eq!(update(text, &index(2)).unwrap(), text);
}

#[test]
fn rcs_04_any_error_text_comes_back() {
    for error in [
        "a \"b\" \\ c\nd\te",
        "\u{0}\u{1b}[31m",
        "\\u0041",
        "ä 漢 🎉",
        "}]\",",
        "",
    ] {
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
