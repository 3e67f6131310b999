//! New values look like those that are there.

use super::support::*;
use crate::spec::state_json::{StateNews, update};

fn both(text: &str) -> String {
    let news = StateNews {
        task_iteration: Some(1),
        ..fixes(3, "V4", &["V4.1"], "x")
    };
    update(text, &news).unwrap()
}

#[test]
fn rcs_03_on_one_line() {
    assert_eq!(
        both(r#"{"a":1}"#),
        r#"{"a":1,"totalTasks":3,"taskIteration":1,"fixTaskMap":{"V4":{"attempts":1,"fixTaskIds":["V4.1"],"lastError":"x"}}}"#
    );
    assert_eq!(
        both("{ \"a\": 1, \"fixTaskMap\": {} }\n"),
        "{ \"a\": 1, \"fixTaskMap\": {\"V4\": {\"attempts\": 1, \"fixTaskIds\": [\"V4.1\"], \
         \"lastError\": \"x\"}}, \"totalTasks\": 3, \"taskIteration\": 1 }\n"
    );
}

#[test]
fn rcs_03_with_tabs_and_windows_line_ends() {
    assert_eq!(
        both("{\r\n\t\"totalTasks\": 2\r\n}\r\n"),
        "{\r\n\t\"totalTasks\": 3,\r\n\t\"taskIteration\": 1,\r\n\t\"fixTaskMap\": {\r\n\t\t\"V4\": \
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
fn rcs_03_with_the_comma_first_or_a_blank_line() {
    assert_eq!(
        update("{ \"a\": 1\n, \"b\": 2\n}", &index(3)).unwrap(),
        "{ \"a\": 1\n, \"b\": 2\n, \"taskIndex\": 3\n}"
    );
    assert_eq!(
        update("{\n    \"a\": 1,\n\n    \"b\": 2\n}", &index(3)).unwrap(),
        "{\n    \"a\": 1,\n\n    \"b\": 2,\n    \"taskIndex\": 3\n}"
    );
    assert_eq!(
        update("\u{feff}{\n}", &index(3)).unwrap(),
        "\u{feff}{\n  \"taskIndex\": 3\n}"
    );
}

#[test]
fn rcs_03_values_of_another_kind_are_replaced() {
    let text = r#"{"taskIndex": "2", "fixTaskMap": {"V4": 1, "V5": {"fixTaskIds": 7}}}"#;
    let mut news = index(2);
    news.fix_task_map = vec![
        ("V4".into(), entry(&[], "")),
        ("V5".into(), entry(&["a", "b"], "")),
    ];
    assert_eq!(
        update(text, &news).unwrap(),
        "{\"taskIndex\": 2, \"fixTaskMap\": {\"V4\": {\"attempts\": 0, \"fixTaskIds\": [], \
         \"lastError\": \"\"}, \"V5\": {\"fixTaskIds\": [\"a\", \"b\"], \"attempts\": 2, \
         \"lastError\": \"\"}}}"
    );
}
