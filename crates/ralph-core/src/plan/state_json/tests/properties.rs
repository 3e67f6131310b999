//! What holds for any file and any news.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use super::super::{FixEntry, StateNews, read, update};

fn space() -> impl Strategy<Value = &'static str> {
    select(vec!["", "", "", " ", " ", "\n", "\n  ", "\n\n", "\r\n\t", "\t"])
}

fn name() -> impl Strategy<Value = String> {
    let known = vec![
        "phase",
        "taskIndex",
        "totalTasks",
        "taskIteration",
        "fixTaskMap",
        "1.3",
        "V4",
        "attempts",
        "fixTaskIds",
        "lastError",
        "recoveryMode",
        "a",
        "b",
    ];
    let known = select(known).prop_map(|name| format!("\"{name}\""));
    prop_oneof![12 => known, 2 => Just(r#""\u0061""#.to_owned())]
}

/// The text of any JSON value, spaced anyhow.
fn value() -> impl Strategy<Value = String> {
    let texts = vec![
        "null",
        "true",
        "0",
        "1",
        "2.0",
        "-1",
        "1.5e3",
        "1E400",
        r#""""#,
        r#""x""#,
        r#""\"}\\""#,
        r#""\u00e9é""#,
        "[]",
        "{}",
        "{ }",
        "[\n]",
        r#"["1.3.1"]"#,
    ];
    let leaf = select(texts).prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 5, |inner| prop_oneof![object(inner.clone()), list(inner)])
}

fn list(inner: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let items = vec((space(), inner, space()), 1..4);
    items.prop_map(|items| {
        let items = items.iter().map(|(a, value, b)| format!("{a}{value}{b}"));
        format!("[{}]", items.collect::<Vec<_>>().join(","))
    })
}

fn object(inner: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let members = vec(([space(), space(), space(), space()], name(), inner), 0..6);
    members.prop_map(|members| {
        let members = members.iter().map(|([a, b, c, d], name, value)| format!("{a}{name}{b}:{c}{value}{d}"));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    })
}

fn file() -> impl Strategy<Value = String> {
    let parts = (option::weighted(0.1, Just("\u{feff}")), space(), object(value()), space());
    parts.prop_map(|(mark, a, object, b)| format!("{}{a}{object}{b}", mark.unwrap_or_default()))
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![select(vec!["x", "1.3.1", "V4", "1.3"]).prop_map(str::to_owned), any::<String>()]
}

prop_compose! {
    fn entry()(
        attempts in 0usize..4,
        fix_task_ids in vec(text(), 0..4),
        last_error in text(),
    ) -> FixEntry {
        FixEntry { attempts, fix_task_ids, last_error }
    }
}

prop_compose! {
    fn news()(
        task_index in option::of(0usize..4),
        total_tasks in option::of(0usize..4),
        fix_task_map in vec((text(), entry()), 0..4),
    ) -> StateNews {
        StateNews { task_index, total_tasks, fix_task_map }
    }
}

/// Sets a member of a value, which becomes an object if it is none.
fn set(value: &mut Value, key: &str, member: Value) {
    if !value.is_object() {
        *value = Value::Object(serde_json::Map::new());
    }
    value[key] = member;
}

/// The news put into a value the plain way.
fn expected(mut value: Value, news: &StateNews) -> Value {
    let counts = [("taskIndex", news.task_index), ("totalTasks", news.total_tasks)];
    for (key, count) in counts {
        if let Some(count) = count {
            set(&mut value, key, count.into());
        }
    }
    for (task, entry) in &news.fix_task_map {
        let mut map = value["fixTaskMap"].take();
        let mut old = map.get_mut(task.as_str()).map_or(Value::Null, Value::take);
        set(&mut old, "attempts", entry.attempts.into());
        set(&mut old, "fixTaskIds", entry.fix_task_ids.clone().into());
        set(&mut old, "lastError", entry.last_error.as_str().into());
        set(&mut map, task, old);
        set(&mut value, "fixTaskMap", map);
    }
    value
}

/// `2.0` and `2` are one number here.
fn normal(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(items) => items.into_iter().map(normal).collect(),
        Value::Object(members) => members.into_iter().map(|(key, value)| (key, normal(value))).collect(),
        other => other,
    }
}

fn parsed(text: &str) -> Option<Value> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn rcs_01_the_news_are_in_the_file_and_all_else_is_as_before(file in file(), news in news()) {
        let updated = update(&file, &news).unwrap();
        // Numbers that the plain way cannot read are left out.
        if let Some(before) = parsed(&file) {
            let after = parsed(&updated);
            prop_assert_eq!(after.map(normal), Some(normal(expected(before, &news))));
        }
    }

    #[test]
    fn rcs_02_an_update_repeated_changes_nothing(file in file(), news in news()) {
        let once = update(&file, &news).unwrap();
        prop_assert_eq!(update(&once, &news).unwrap(), once);
    }

    #[test]
    fn rcs_03_without_the_spaces_the_old_text_is_a_subsequence(file in file(), index in 4usize..9) {
        // Only a new member: nothing of the old text may be gone.
        let file = file.replace("taskIndex", "index");
        let news = StateNews { task_index: Some(index), ..StateNews::default() };
        let updated = update(&file, &news).unwrap();
        let dense = |text: &str| text.split_whitespace().collect::<String>();
        let member = format!("\"taskIndex\":{index}");
        let dense_new = dense(&updated);
        let removed = dense_new.replace(&format!(",{member}"), "").replace(&member, "");
        prop_assert_eq!(removed, dense(&file));
    }

    #[test]
    fn rcs_04_any_text_comes_back(error in any::<String>(), key in any::<String>()) {
        let entry = FixEntry::new(vec![key.clone()], error);
        let news = StateNews { fix_task_map: vec![(key, entry)], ..StateNews::default() };
        let read = read(&update("", &news).unwrap()).unwrap();
        prop_assert_eq!(read.fix_task_map, news.fix_task_map);
    }

    #[test]
    fn imp_07_no_text_breaks_anything(
        text in any::<String>(),
        json in "[{}\\[\\]\",:a0 \n\\\\]{0,20}",
        news in news(),
    ) {
        for text in [text, json] {
            if let Ok(updated) = update(&text, &news) {
                prop_assert!(read(&updated).is_ok());
            }
            if let Err(problem) = read(&text) {
                prop_assert!(problem.line > 0 && !problem.expected.is_empty());
            }
        }
    }
}
