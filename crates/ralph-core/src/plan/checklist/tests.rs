//! Whole files.

mod any;

use super::read;
use crate::plan::graph::CYCLE;
use crate::plan::outline::{made_up_name, title_of};
use crate::plan::{Draft, DraftTask};

fn draft(file: &str) -> Draft {
    read(file, &|_| false).unwrap_or_else(|problems| panic!("{problems:?}\n{file}"))
}

fn tasks(file: &str) -> Vec<DraftTask> {
    draft(file).tasks
}

fn titles(file: &str) -> Vec<String> {
    tasks(file).into_iter().map(|task| task.title).collect()
}

fn problems(file: &str) -> Vec<(usize, String)> {
    let problems = read(file, &|_| false).expect_err(file);
    problems.into_iter().map(|problem| (problem.line, problem.expected)).collect()
}

/// Titles with the titles of what they are a part of.
fn tree(file: &str) -> Vec<(String, Option<String>)> {
    let tasks = tasks(file);
    let title = |name: &String| tasks.iter().find(|task| task.name == *name).unwrap().title.clone();
    tasks.iter().map(|task| (task.title.clone(), task.parent.as_ref().map(title))).collect()
}

fn pair(title: &str, parent: Option<&str>) -> (String, Option<String>) {
    (title.to_owned(), parent.map(str::to_owned))
}

#[test]
fn a_whole_file() {
    let file = "\u{feff}# Plan\r\n\r\n## Phase 1: Base\r\n- [x] T001 Set **up**\r\n  More of it.\r\n\r\n\
        \u{20} - plain\r\n    - deeper\r\n  - Verify: `cargo test`\r\n  - Files: `a.rs`, b.rs\r\n\
        - [ ] T002: Next\r\n  After: T001\r\n";
    let tasks = tasks(file);
    assert_eq!(tasks.len(), 2);
    let first = DraftTask {
        name: "T001".to_owned(),
        named_by_author: true,
        title: "Set **up**".to_owned(),
        description: "More of it.\n\n- plain\n  - deeper".to_owned(),
        phase: Some("1".to_owned()),
        verify: Some("cargo test".to_owned()),
        files: vec!["a.rs".to_owned(), "b.rs".to_owned()],
        done: true,
        line: 4,
        mark: Some(34..35),
        ..DraftTask::default()
    };
    assert_eq!(tasks[0], first);
    assert_eq!((tasks[1].title.as_str(), &tasks[1].after), ("Next", &vec!["T001".to_owned()]));
}

#[test]
fn all_kinds_of_lists() {
    assert_eq!(titles("- [ ] a\n* [x] b\n+ [X] c\n1. [ ] d\n2) [ ] e\n"), ["a", "b", "c", "d", "e"]);
    assert_eq!(titles("\t- [ ] a\n\t\t- [ ] b"), ["a", "b"]);
}

#[test]
fn nesting_goes_by_indent() {
    let file = "- [ ] a\n  - [ ] b\n    1. [ ] c\n  - [ ] d\n - [ ] e\n\t- [ ] f\n- plain\n  - [ ] g\n";
    assert_eq!(
        tree(file),
        [
            pair("a", None),
            pair("b", Some("a")),
            pair("c", Some("b")),
            pair("d", Some("a")),
            pair("e", None),
            pair("f", Some("e")),
            pair("g", None),
        ]
    );
    assert_eq!(tree("- [ ] a\n  - group\n    - [ ] b"), [pair("a", None), pair("b", Some("a"))]);
    assert_eq!(tree("- [ ] a\n\ntext\n  - [ ] b"), [pair("a", None), pair("b", None)]);
}

#[test]
fn fences_and_comments_hold_no_items() {
    let file = "- [ ] a\n  ```\n  - [ ] no\n  ```\n<!-- - [ ] no\n- [ ] no\n-->\n- [ ] b\n";
    let tasks = tasks(file);
    assert_eq!(tasks.len(), 2);
    assert_eq!(tasks[0].description, "```\n- [ ] no\n```");
    assert_eq!(tasks[1].line, 8);
}

#[test]
fn text_after_a_part_belongs_to_the_whole() {
    let tasks = tasks("- [ ] a\n  one\n  - [ ] b\n\n    of b\n\n  two\n");
    assert_eq!(tasks[0].description, "one\n\ntwo");
    assert_eq!(tasks[1].description, "of b");
}

#[test]
fn fences_keep_their_lines() {
    let tasks = tasks("- [ ] a\n    ~~~\n  less\n\n      more\n    ~~~\n\n- [ ] b\n");
    assert_eq!(tasks[0].description, "~~~\nless\n\n  more\n~~~");
}

#[test]
fn headings_give_the_phase() {
    let file = "- [ ] a\n## 2. Core\n- [ ] b\n  ## Phase 9\n### Notes\n- [ ] c\n## Other\n- [ ] d\n";
    let phases: Vec<_> = tasks(file).into_iter().map(|task| task.phase).collect();
    assert_eq!(phases, [None, Some("2".to_owned()), Some("2".to_owned()), None]);
}

#[test]
fn a_ticked_whole_is_believed_and_its_open_parts_are_noted() {
    let draft = draft("- [x] a\n  - [x] b\n    - [ ] c\n- [x] d\n  - [x] e\n- [ ] f\n  - [x] g\n");
    let done: Vec<bool> = draft.tasks.iter().map(|task| task.done).collect();
    assert_eq!(done, [true, true, false, true, true, false, true]);
    let lines: Vec<usize> = draft.notes.iter().map(|note| note.line).collect();
    assert_eq!(lines, [3]);
}

#[test]
fn a_key_on_several_items_gets_a_number() {
    let draft = draft("- [ ] T1 a\n- [ ] T1 b\n- [ ] T2 c\n");
    let found: Vec<_> = draft.tasks.iter().map(|task| (task.name.as_str(), task.title.as_str())).collect();
    assert_eq!(found, [("T1", "a"), ("T1#2", "b"), ("T2", "c")]);
    assert!(draft.tasks.iter().all(|task| task.named_by_author));
    assert_eq!((draft.notes.len(), draft.notes[0].line), (1, 2));
}

#[test]
fn the_same_path_again_gets_a_number() {
    let tasks = tasks("- [ ] a\n  - [ ] x\n- [ ] b\n  - [ ] x\n- [ ] a\n  - [ ] x\n");
    assert_eq!(tasks[4].name, format!("{}#2", tasks[0].name));
    assert_ne!(tasks[1].name, tasks[3].name);
    assert_ne!(tasks[1].name, tasks[5].name);
}

#[test]
fn a_check_without_code_is_text() {
    let draft = draft("- [ ] a\n  - Verify: look at it\n- [ ] b\n  - Verify: `x`\n  - Verify: `y`.\n");
    assert_eq!(draft.tasks[0].description, "- Verify: look at it");
    assert_eq!((draft.tasks[0].verify.as_ref(), draft.notes[0].line), (None, 2));
    assert_eq!(draft.tasks[1].verify.as_deref(), Some("x && y"));
}

#[test]
fn other_marks_in_boxes_are_told() {
    let draft = draft("- [ ] a\n  - [?] odd\n- [~] half\n- [1] link\n- [ ]\n");
    assert_eq!(draft.tasks[0].description, "- [?] odd");
    assert_eq!((draft.tasks[1].title.as_str(), draft.tasks[1].done), ("half", false));
    let lines: Vec<usize> = draft.notes.iter().map(|note| note.line).collect();
    assert_eq!(lines, [2, 3, 5]);
}

#[test]
fn unknown_names_are_noted() {
    let draft = draft("- [ ] T1 a\n  Depends on: T9, T1x\n- [ ] b\n  After: none\n  After: T8\n");
    let lines: Vec<usize> = draft.notes.iter().map(|note| note.line).collect();
    assert_eq!(lines, [2, 2, 5]);
    assert!(draft.notes[1].text.contains("T1x") && draft.notes[2].text.contains("T8"));
}

#[test]
fn of_cycles_the_earlier_item_does_not_wait() {
    for (file, line, after) in [
        ("- [ ] T1 a\n  After: T1\n", 1, &[""][..]),
        ("- [ ] T0 x\n- [ ] T1 a\n  - [ ] T2 b\n    After: T1\n", 3, &["", "", ""]),
        ("- [ ] T1 a\n  After: T3\n- [ ] T2 b\n  After: T1\n- [ ] T3 c\n  After: T2\n", 1, &["", "T1", "T2"]),
    ] {
        let draft = draft(file);
        let told: Vec<_> = draft.notes.iter().map(|note| (note.line, note.text.as_str())).collect();
        assert_eq!(told, [(line, CYCLE)], "{file}");
        assert_eq!(draft.tasks.iter().map(|task| task.after.join(" ")).collect::<Vec<_>>(), after, "{file}");
    }
}

#[test]
fn all_problems_come_at_once_in_order() {
    let found = problems("- [ ]\n\n```\n- [ ] b\n");
    let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 1, 3]);
    assert_eq!(problems("").len(), 1);
    assert_eq!(problems("# Readme\n\ntext\n")[0].0, 1);
}

#[test]
fn nesting_has_an_end() {
    let nested = |depth: usize| -> String {
        (0..depth).map(|level| format!("{}- [ ] t\n", "  ".repeat(level))).collect()
    };
    assert_eq!(tasks(&nested(100)).len(), 100);
    assert_eq!(problems(&nested(101))[0].0, 101);
}

#[test]
fn large_files_take_linear_time() {
    let begun = crate::testing::cpu_time();
    let mut file = String::new();
    for item in 0..40_000 {
        file.push_str(&format!("- [ ] T{item}: same\n  After: T0\n  text\n\n"));
    }
    assert_eq!(draft(&file).notes.len(), 1);
    let same = "- [ ] same\n".repeat(100_000);
    assert_eq!(tasks(&same).len(), 100_000);
    let long = format!("- [ ] {}", "<!-- `*_".repeat(200_000));
    assert_eq!(tasks(&long).len(), 1);
    assert!((crate::testing::cpu_time() - begun).as_secs() < 20);
}

#[test]
fn titles_lose_marks_around_the_whole() {
    assert_eq!(title_of("**Set  up**"), "Set up");
    assert_eq!(title_of("Set up <!-- id: 3 --> now"), "Set up now");
    assert_eq!(title_of("Strip `<!-- x -->`"), "Strip `<!-- x -->`");
    assert_eq!(title_of("Strip <!-- x"), "Strip <!-- x");
    assert_eq!(title_of("<!-- x -->"), "<!-- x -->");
}

#[test]
fn names_never_change() {
    // Names are kept in databases: these must stay what they are.
    assert_eq!(made_up_name("", "Set up"), "set-up-5c6799dd1389bdaa");
    assert_eq!(
        made_up_name("T1", "Write the very first test of all"),
        "write-the-very-first-tes-4bbd68218fd71676"
    );
    assert_eq!(made_up_name("", "日本語"), "item-9e4ddcf33f63a809");
}

#[test]
fn emphasis_and_capitals_do_not_matter() {
    assert_eq!(made_up_name("", "Set *up* `it`."), made_up_name("", "set UP it"));
    assert_ne!(made_up_name("", "Set up"), made_up_name("a", "Set up"));
    assert_ne!(made_up_name("", "Speak C"), made_up_name("", "Speak C++"));
}
