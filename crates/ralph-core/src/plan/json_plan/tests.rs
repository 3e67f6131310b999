//! Whole files, and what holds for any file.

use super::read;
use crate::plan::DraftTask;
use proptest::prelude::*;

fn tasks(file: &str) -> Vec<DraftTask> {
    read(file).unwrap_or_else(|problems| panic!("{problems:?}\n{file}")).tasks
}

fn problems(file: &str) -> Vec<(usize, String)> {
    let problems = read(file).expect_err(file);
    problems.into_iter().map(|problem| (problem.line, problem.expected)).collect()
}

fn lines(file: &str) -> Vec<usize> {
    problems(file).into_iter().map(|(line, _)| line).collect()
}

#[test]
fn a_whole_file() {
    let file = r#"{
  "project": "x",
  "userStories": [
    {
      "id": "US-1",
      "title": "Log  in",
      "description": "As a user.",
      "acceptanceCriteria": ["Form shows", "Tests pass"],
      "priority": 3,
      "passes": true,
      "notes": "Mind the gap.",
      "verify": "npm test",
      "files": ["a.ts", "b.ts"],
      "phase": 2
    },
    { "id": "US-2", "title": "Log out", "dependsOn": ["US-1", "US-1"], "passes": null }
  ]
}"#;
    let tasks = tasks(&format!("\u{feff}{file}"));
    let first = DraftTask {
        name: "US-1".to_owned(),
        named_by_author: true,
        title: "Log in".to_owned(),
        description: "As a user.\n\nAcceptance criteria:\n- Form shows\n- Tests pass\n\nMind the gap."
            .to_owned(),
        phase: Some("2".to_owned()),
        verify: Some("npm test".to_owned()),
        files: vec!["a.ts".to_owned(), "b.ts".to_owned()],
        done_when: Some("Form shows; Tests pass".to_owned()),
        priority: 3,
        done: true,
        line: 4,
        mark: Some(224..228),
        ..DraftTask::default()
    };
    assert_eq!(tasks[0], first);
    assert_eq!((tasks[1].after.as_slice(), tasks[1].priority), (&["US-1".to_owned()][..], 2));
    assert_eq!((tasks[1].line, tasks[1].done), (16, false));
}

#[test]
fn variants() {
    let tasks = tasks(
        r#"[{"id": 1, "title": "a", "acceptanceCriteria": "- x\n- y\n", "files": "a, b"},
            {"id": "2", "title": "b", "dependencies": "1", "dependsOn": [1], "priority": 2.0}]"#,
    );
    assert_eq!(tasks[0].description, "Acceptance criteria:\n- x\n- y");
    assert_eq!((tasks[0].done_when.as_deref(), tasks[0].files.len()), (Some("x; y"), 2));
    assert_eq!((tasks[1].after.as_slice(), tasks[1].priority), (&["1".to_owned()][..], 2));
}

#[test]
fn nothing_to_do_is_told() {
    let draft = read("{\n\"userStories\": []}").unwrap();
    assert_eq!((draft.tasks.len(), draft.notes[0].line), (0, 2));
}

#[test]
fn bad_json_names_its_line() {
    assert_eq!(lines("{\n\"userStories\": [\n}"), [3]);
    assert_eq!(lines(""), [1]);
    let (_, expected) = problems("{\n\"a\" 1}").remove(0);
    assert_eq!(expected, "this is not valid JSON (column 5): expected `:`");
    assert_eq!(lines(&"[".repeat(100_000)).len(), 1);
}

#[test]
fn files_without_stories() {
    assert_eq!(lines("\n{\"stories\": []}"), [2]);
    assert_eq!(lines("{\"userStories\":\n{}}"), [1]);
    assert_eq!(lines("3"), [1]);
}

#[test]
fn wrong_types_name_the_line_of_their_key() {
    let file = "[{\n\"id\": [],\n\"title\": true,\n\"description\": {},\n\"acceptanceCriteria\": [1, {}],\n\
        \"priority\": \"high\",\n\"passes\": \"no\",\n\"dependsOn\": {},\n\"notes\": [],\n\"verify\": [],\n\
        \"files\": [[]],\n\"phase\": {}\n},\n3]";
    assert_eq!(lines(file), [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14]);
}

#[test]
fn ids_and_titles_are_needed() {
    let found = problems("[\n{},\n{\"id\": \" \",\n\"title\": \"\"}]");
    let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 2, 3, 4]);
    assert_eq!(
        self::lines("[{\"id\": \"t-00ff00\", \"title\": \"a\"}, {\"id\": \"a b\", \"title\": \"a\"}]").len(),
        2
    );
}

#[test]
fn ids_are_unique_and_known() {
    let file = "[{\"id\": \"a\", \"title\": \"x\"},\n{\"title\": \"x\",\n\"id\": \"a\"},\n\
        {\"id\": \"b\", \"title\": \"x\",\n\"dependsOn\": [\"c\"]}]";
    let found = problems(file);
    assert_eq!((found[0].0, found[1].0), (3, 5));
    assert!(found[0].1.contains("line 1") && found[1].1.contains("`c`"));
}

#[test]
fn cycles_are_problems() {
    let file = "[{\"id\": \"a\", \"title\": \"x\",\n\"dependsOn\": [\"b\"]},\n\
        {\"id\": \"b\", \"title\": \"x\", \"dependsOn\": [\"a\"]},\n\
        {\"id\": \"c\", \"title\": \"x\", \"dependsOn\": \"c\"}]";
    let found = problems(file);
    assert_eq!((found[0].0, found[1].0, found.len()), (2, 4, 2));
    assert!(found[0].1.contains("a → b → a"));
}

#[test]
fn large_files_take_linear_time() {
    let begun = crate::testing::cpu_time();
    let stories: Vec<String> = (0..20_000)
        .map(|at| {
            format!("{{\"id\": \"s{at}\", \"title\": \"x\", \"dependsOn\": [\"s{}\"]}}", (at + 1) % 20_000)
        })
        .collect();
    assert_eq!(problems(&format!("[{}]", stories.join(",\n"))).len(), 1);
    assert!((crate::testing::cpu_time() - begun).as_secs() < 10);
}

fn value() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "\"a\"",
        "\"b\"",
        "\"c d\"",
        "1",
        "2.5",
        "true",
        "null",
        "[]",
        "{}",
        "[\"a\"]",
        "[\"b\", 1]",
    ])
    .prop_map(str::to_owned)
}

fn story() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "id",
        "title",
        "description",
        "acceptanceCriteria",
        "priority",
        "passes",
        "dependsOn",
        "dependencies",
        "notes",
        "verify",
        "files",
        "phase",
        "other",
    ]);
    prop::collection::vec((key, value()), 0..8).prop_map(|pairs| {
        let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("\n\"{key}\": {value}")).collect();
        format!(
            "{{\"id\": \"a\", \"title\": \"x\"{}{}}}",
            if pairs.is_empty() { "" } else { "," },
            pairs.join(",")
        )
    })
}

proptest! {
    #[test]
    fn never_panics(text in any::<String>(), near in "[\\[\\]{}\",:a1\n]{0,40}") {
        let _ = (read(&text), read(&near));
    }

    #[test]
    fn drafts_hold_together(stories in prop::collection::vec(story(), 0..4)) {
        let file = format!("{{\"userStories\": [{}]}}", stories.join(",\n"));
        let last = file.lines().count();
        match read(&file) {
            Ok(draft) => {
                prop_assert_eq!(draft.tasks.len(), stories.len());
                prop_assert!(draft.tasks.iter().all(|task| crate::plan::key::is_usable(&task.name)));
                prop_assert!(draft.tasks.iter().all(|task| !task.title.is_empty()));
            }
            Err(problems) => {
                prop_assert!(problems.is_sorted_by_key(|problem| problem.line));
                prop_assert!(problems.iter().all(|problem| (1..=last).contains(&problem.line)));
            }
        }
    }
}
