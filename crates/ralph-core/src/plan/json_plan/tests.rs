//! Whole files, and what holds for any file.

use super::{format_of, mark};
use crate::plan::graph::CYCLE;
use crate::plan::{Draft, DraftTask, Format, Problem};
use proptest::prelude::*;

fn read(file: &str) -> Result<Draft, Vec<Problem>> {
    super::read(Format::Prd, file, &|word| word == "npm")
}

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
fn what_is_no_plan_says_what_was_found_and_what_is_missing() {
    for (file, line) in [("\n{\"rows\": []}", 2), ("{\"userStories\":\n{}}", 1), ("3", 1), ("{}", 1)] {
        let found = problems(file);
        assert_eq!((found.len(), found[0].0), (1, line), "{file}");
        assert!(found[0].1.contains("expected an array such as `userStories`"), "{found:?}");
    }
    assert!(problems("{\"rows\": [], \"x\": 1}")[0].1.contains("found an object with `rows`, `x`"));
}

#[test]
fn what_is_no_task_names_its_line() {
    assert_eq!(lines("[\n{},\n{\"id\": \"a\",\n\"title\": \"\"},\n3]"), [2, 3, 5]);
}

#[test]
fn imp_07_members_of_other_types_are_passed_over() {
    let file = "[{\n\"id\": [],\n\"title\": true,\n\"description\": \"Do it\",\n\"acceptanceCriteria\": [1, {}],\n\
        \"priority\": {},\n\"passes\": \"no\",\n\"dependsOn\": {},\n\"notes\": [],\n\"verify\": [],\n\
        \"files\": [[]],\n\"phase\": {}\n}]";
    let task = tasks(file).remove(0);
    assert_eq!((task.title.as_str(), task.done, task.phase), ("Do it", false, None));
    assert!(!task.named_by_author);
}

#[test]
fn names_that_are_used_twice_or_are_no_keys_are_told() {
    let file = "[{\"id\": \"a\", \"title\": \"x\"},\n{\"id\": \"a\", \"title\": \"y\"},\n{\"id\": \"a b\", \"title\": \"z\"}]";
    let draft = read(file).unwrap();
    let names: Vec<&str> = draft.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names[..2], ["a", "a-2"]);
    assert!(names[2].starts_with("z-") && !draft.tasks[2].named_by_author);
    let told: Vec<usize> = draft.notes.iter().map(|note| note.line).collect();
    assert_eq!(told, [1, 2, 3]);
    let again = "[{\"id\": \"b\", \"title\": \"x\",\n\"dependsOn\": [\"c\"]}]";
    let draft = read(again).unwrap();
    assert_eq!(draft.tasks[0].after, [""; 0]);
    assert!(draft.notes.iter().any(|note| note.line == 2 && note.text.contains("`c`")), "{:?}", draft.notes);
}

#[test]
fn dialects_say_the_same() {
    for (file, format) in [
        (
            "[{\"category\": \"ui\", \"description\": \"Log in\", \"steps\": [\"Open\"], \"passes\": false}]",
            Format::Prd,
        ),
        (
            "{\"features\": [{\"name\": \"Log in\", \"acceptance\": [\"Open\"], \"status\": \"todo\"}]}",
            Format::Prd,
        ),
        (
            "{\"prd\": {\"user_stories\": [{\"summary\": \"Log in\", \"acceptance_criteria\": \"- Open\", \"status\": \"todo\"}]}}",
            Format::Prd,
        ),
        (
            "{\"epics\": [{\"title\": \"E\", \"stories\": [{\"title\": \"Log in\", \"criteria\": [{\"text\": \"Open\"}], \"done\": false}]}]}",
            Format::Prd,
        ),
        (
            "{\"tasks\": [{\"id\": 1, \"title\": \"Log in\", \"details\": \"Open\", \"status\": \"pending\", \"subtasks\": []}]}",
            Format::TaskMaster,
        ),
        (
            "{\"id\":\"bd-1\",\"title\":\"Log in\",\"description\":\"Open\",\"status\":\"open\",\"issue_type\":\"task\"}\n",
            Format::Beads,
        ),
        ("[{\"number\": 4, \"title\": \"Log in\", \"body\": \"Open\", \"state\": \"OPEN\"}]", Format::Github),
    ] {
        assert_eq!(format_of(file), Some(format), "{file}");
        let task = read_as(format, file).tasks.remove(0);
        assert_eq!((task.title.as_str(), task.done), ("Log in", false), "{file}");
        assert!(task.description.contains("Open"), "{file}: {}", task.description);
        let done = mark(format, file, &[(&task.name, true)]);
        if format == Format::Github {
            continue;
        }
        assert!(read_as(format, &done).tasks[0].done, "{done}");
        let open = mark(format, &done, &[(&task.name, false)]);
        assert_eq!(open.replace("todo", "pending"), file.replace("todo", "pending"));
    }
}

fn read_as(format: Format, file: &str) -> Draft {
    super::read(format, file, &|word| word == "npm").unwrap_or_else(|problems| panic!("{problems:?}\n{file}"))
}

#[test]
fn task_master_in_both_layouts() {
    let tasks = r#"[{"id": 1, "title": "A", "status": "done", "dependencies": [], "testStrategy": "Look."},
        {"id": "2", "title": "B", "status": "pending", "priority": "high", "dependencies": [1], "subtasks": [
            {"id": 1, "title": "B1", "status": "pending", "dependencies": []},
            {"id": 2, "title": "B2", "status": "in-progress", "dependencies": [1, "3"]}]},
        {"id": 3, "title": "C", "status": "deferred", "dependencies": [9]}]"#;
    let old = format!("{{\"tasks\": {tasks}}}");
    let tagged = format!("{{\"master\": {{\"tasks\": {tasks}}}}}");
    let several = format!("{{\"master\": {{\"tasks\": {tasks}}}, \"next\": {{\"tasks\": {tasks}}}}}");
    for file in [&old, &tagged, &several] {
        let draft = read_as(Format::TaskMaster, file);
        let names: Vec<&str> = draft.tasks.iter().map(|task| task.name.as_str()).take(5).collect();
        assert_eq!(names, ["1", "2", "2.1", "2.2", "3"]);
        let after: Vec<&[String]> = draft.tasks.iter().map(|task| task.after.as_slice()).take(5).collect();
        assert_eq!(after[1], ["1"]);
        assert_eq!(after[2], ["1"], "a part waits for what its whole waits for");
        assert_eq!(after[3], ["2.1", "3", "1"]);
        assert_eq!((draft.tasks[3].parent.as_deref(), draft.tasks[1].priority), (Some("2"), 1));
        assert!(draft.tasks[4].skipped && draft.tasks[0].description.contains("Test strategy: Look."));
        assert!(draft.notes.iter().any(|note| note.text.contains("`9` is not in this file")));
    }
    let draft = read_as(Format::TaskMaster, &several);
    let names: Vec<&str> = draft.tasks.iter().map(|task| task.name.as_str()).skip(5).collect();
    assert_eq!(names, ["next/1", "next/2", "next/2.1", "next/2.2", "next/3"]);
    assert_eq!(draft.tasks[8].after, ["next/2.1", "next/3", "next/1"]);
    let marked = mark(Format::TaskMaster, &several, &[("next/2.2", true), ("1", false)]);
    let changed: Vec<(&str, &str)> =
        several.split('"').zip(marked.split('"')).filter(|(before, after)| before != after).collect();
    assert_eq!(changed, [("done", "pending"), ("in-progress", "done")]);
}

#[test]
fn beads_has_parents_order_and_its_own_words() {
    let file = "{\"id\":\"b-1\",\"title\":\"Epic\",\"status\":\"open\",\"issue_type\":\"epic\",\"dependencies\":[{\"depends_on_id\":\"b-2\",\"type\":\"blocks\"}]}\n\
        {\"id\":\"b-1.1\",\"title\":\"Part\",\"status\":\"in_progress\",\"priority\":0,\"issue_type\":\"task\",\"dependencies\":[{\"depends_on_id\":\"b-1\",\"type\":\"parent-child\"},{\"depends_on_id\":\"b-9\",\"type\":\"blocks\"},{\"depends_on_id\":\"b-2\",\"type\":\"related\"}]}\n\
        \n{\"id\":\"b-2\",\"title\":\"First\",\"status\":\"closed\",\"issue_type\":\"bug\"}\n\
        {\"id\":\"b-3\",\"title\":\"Gone\",\"status\":\"tombstone\",\"issue_type\":\"task\"}\n";
    assert_eq!(format_of(file), Some(Format::Beads));
    let draft = read_as(Format::Beads, file);
    let brief: Vec<_> = draft
        .tasks
        .iter()
        .map(|task| (task.name.as_str(), task.parent.as_deref(), task.done, task.line))
        .collect();
    assert_eq!(brief, [("b-1", None, false, 1), ("b-1.1", Some("b-1"), false, 2), ("b-2", None, true, 4)]);
    assert_eq!(draft.tasks[1].after, ["b-2"], "its epic waits for it");
    assert!(draft.notes.iter().any(|note| note.line == 2 && note.text.contains("b-9")));
    let marked = mark(Format::Beads, file, &[("b-1.1", true), ("b-1", true)]);
    assert_eq!(marked, file.replace("\"open\"", "\"closed\"").replace("in_progress", "closed"));
    assert_eq!(
        super::read(Format::Beads, "{\"id\":\"a\",\"title\":\"b\"}\nnonsense", &|_| false).unwrap_err()[0]
            .line,
        2
    );
}

#[test]
fn github_issues_are_named_by_number() {
    let file = "[{\"number\": 7, \"title\": \"A\", \"body\": \"Blocked by #8 and #9.\", \"state\": \"OPEN\", \"labels\": [{\"name\": \"ralph\"}]},\
        {\"number\": 8, \"title\": \"B\", \"body\": \"\", \"state\": \"CLOSED\"}]";
    let draft = read_as(Format::Github, file);
    assert_eq!(
        (draft.tasks[0].name.as_str(), draft.tasks[0].after.as_slice()),
        ("GH-7", &["GH-8".to_owned()][..])
    );
    assert!(draft.tasks[1].done && draft.tasks[0].description.contains("Labels: ralph"));
    assert!(draft.notes.iter().any(|note| note.text.contains("GH-9")));
}

#[test]
fn commands_of_criteria_are_gates_and_prose_is_none() {
    let file = "{\"userStories\": [{\"id\": \"a\", \"title\": \"x\", \"passes\": false, \"acceptanceCriteria\": [\n\
        {\"text\": \"T\", \"testCommand\": \"npm test || true\"},\n\
        {\"text\": \"U\", \"testCommand\": \"test -f a\"},\n\
        {\"text\": \"V\", \"testCommand\": \"Manual: look at it\"}]}]}";
    let draft = read_as(Format::Prd, file);
    assert_eq!(draft.tasks[0].verify.as_deref(), Some("test -f a"));
    assert_eq!(draft.notes.iter().map(|note| note.line).collect::<Vec<_>>(), [2, 4]);
    assert_eq!(draft.tasks[0].done_when.as_deref(), Some("T; U; V"));
    let checked = file.replace("\"text\": \"T\"", "\"text\": \"T\", \"passes\": false");
    let done = mark(Format::Prd, &checked, &[("a", true)]);
    assert_eq!(done, checked.replace("false", "true"), "criteria are marked with their story");
    assert_eq!(mark(Format::Prd, &done, &[("a", false)]).matches("true,").count(), 1, "and never taken back");
}

#[test]
fn every_mark_of_a_task_is_set_in_the_files_own_words() {
    let file = "{\"userStories\": [{\"id\": \"a\", \"title\": \"x\", \"passes\": true, \"status\": \"completed\"},\n\
        {\"id\": \"b\", \"title\": \"y\", \"passes\": false, \"status\": \"not_started\"}]}";
    let marked = mark(Format::Prd, file, &[("b", true), ("unknown", true)]);
    assert_eq!(marked, file.replace("false", "true").replace("not_started", "completed"));
    assert_eq!(mark(Format::Prd, "not json", &[("b", true)]), "not json");
    let none = read("[{\"id\": \"a\", \"title\": \"x\"},\n{\"id\": \"b\", \"title\": \"y\"}]").unwrap();
    assert!(none.notes[0].text.contains("2 tasks from here on have no `passes` or `status`"));
}

#[test]
fn a_missing_comma_and_an_open_part_of_a_finished_task_are_told() {
    let file = "[{\"id\": \"a\", \"title\": \"x\", \"passes\": true, \"subtasks\": [\n\
        {\"id\": \"b\", \"title\": \"y\" \"passes\": false},]}]";
    let draft = read(file).unwrap();
    let told: Vec<_> = draft.notes.iter().map(|note| (note.line, note.text.as_str())).collect();
    assert!(told[0].0 == 2 && told[0].1.ends_with("Ralph reads it anyway"), "{told:?}");
    assert_eq!(told[1], (2, "the task above it is checked, so Ralph skips this one"));
    assert_eq!(mark(Format::Prd, file, &[("b", true)]), file.replace("false", "true"));
    assert!(read("[{\"id\": }]").is_err());
}

#[test]
fn lists_of_texts_and_comments_are_read_and_what_is_no_task_is_told_once() {
    let file = "{ // by hand\n\"phases\": [{\"name\": \"P\", \"tasks\": [\"One\\nmore\", \"Two\"]}] }";
    let draft = read(file).unwrap();
    let titles: Vec<_> =
        draft.tasks.iter().map(|task| (task.title.as_str(), task.phase.as_deref())).collect();
    assert_eq!(titles, [("One", Some("1")), ("Two", Some("1"))]);
    assert_eq!(draft.tasks[0].description, "One\nmore");
    let told: Vec<_> = draft.notes.iter().map(|note| note.line).collect();
    assert_eq!(told, [1, 2], "the comment, and that nothing can be marked");
    assert_eq!(tasks("{\"tasks\": [\"One\", \"Two\"]}").len(), 2);
    let problems = problems("{\"tasks\": [{\"title\": \"a\"},\n1,\n2,\n3]}");
    let expected = "not a task (nor are 2 elements after it); expected an object with a title";
    assert_eq!(problems, [(2, expected.to_owned())]);
}

#[test]
fn issues_are_known_by_their_number() {
    assert_eq!(format_of("[{\"number\": 7, \"title\": \"a\"}]"), Some(Format::Github));
    assert_eq!(format_of("[{\"number\": 7, \"title\": \"a\", \"passes\": false}]"), Some(Format::Prd));
}

#[test]
fn of_cycles_the_later_task_waits() {
    let file = "[{\"id\": \"a\", \"title\": \"x\",\n\"dependsOn\": [\"b\"]},\n\
        {\"id\": \"b\", \"title\": \"x\", \"dependsOn\": [\"a\"]},\n\
        {\"id\": \"c\", \"title\": \"x\", \"dependsOn\": \"c\"}]";
    let draft = read(file).unwrap();
    let after: Vec<_> = draft.tasks.iter().map(|task| task.after.join(" ")).collect();
    assert_eq!(after, ["", "a", ""]);
    let told = draft.notes.iter().filter(|note| note.text == CYCLE);
    assert_eq!(told.map(|note| note.line).collect::<Vec<_>>(), [1, 4]);
}

#[test]
fn large_files_take_linear_time() {
    let begun = crate::testing::cpu_time();
    let stories: Vec<String> = (0..20_000)
        .map(|at| {
            format!("{{\"id\": \"s{at}\", \"title\": \"x\", \"dependsOn\": [\"s{}\"]}}", (at + 1) % 20_000)
        })
        .collect();
    let draft = read(&format!("[{}]", stories.join(",\n"))).unwrap();
    assert_eq!(draft.notes.iter().filter(|note| note.text == CYCLE).count(), 1);
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
