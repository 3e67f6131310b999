//! What is read, what is passed over.

use super::support::*;
use crate::spec::state_json::{SpecState, read};

#[test]
fn rcl_01_recovery_is_on_only_where_it_is_exactly_true() {
    let on = read(r#"{"recoveryMode": true}"#).unwrap();
    assert_eq!(on.recovery_mode, Some(true));
    for off in ["false", "null", "\"true\"", "1", "{}", "[true]"] {
        let state = read(&format!("{{\"recoveryMode\": {off}}}")).unwrap();
        assert_ne!(state.recovery_mode, Some(true), "{off}");
        assert_eq!(
            state.notes.is_empty(),
            off == "false" || off == "null",
            "{off}"
        );
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
        [
            state.max_fix_tasks_per_original,
            state.max_fix_task_depth,
            state.max_task_iterations,
        ]
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
    assert_eq!(state.phase.as_deref(), Some("execution"));
    assert_eq!(
        [state.task_index, state.total_tasks, state.task_iteration],
        [Some(2), Some(12), Some(1)]
    );
    let mut first = entry(&["2.1.1"], "e");
    first.attempts = 3;
    let expected = [
        ("2.1", first),
        ("1.3", entry(&["1.3.1", "1.3.2"], "")),
        ("1.4", entry(&[], "")),
    ];
    assert_eq!(
        state.fix_task_map,
        expected.map(|(task, entry)| (task.to_owned(), entry))
    );
    let other = [("name", "\"x\""), ("commits", "[1,  2]")];
    assert_eq!(
        state.other,
        other.map(|(key, json)| (key.to_owned(), json.to_owned()))
    );
    let lines: Vec<usize> = state.notes.iter().map(|note| note.line).collect();
    assert_eq!(lines, [10, 11]);
}

/// Files on which a careless scan takes quadratic time; this would then run for minutes.
#[test]
fn large_hostile_files_take_linear_time() {
    let entries: Vec<String> = (0..50_000)
        .map(|n| format!("\n\"{n}\": {{\"attempts\": -1}}"))
        .collect();
    let text = format!("{{\"fixTaskMap\": {{{}}}}}", entries.join(","));
    let state = read(&text).unwrap();
    assert_eq!(
        (state.fix_task_map.len(), state.notes.len()),
        (50_000, 50_000)
    );
    let news = crate::spec::state_json::StateNews {
        fix_task_map: state.fix_task_map,
        ..Default::default()
    };
    let updated = crate::spec::state_json::update(&text, &news).unwrap();
    assert_eq!(read(&updated).unwrap().notes, []);
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(read(&deep).is_ok());
}
