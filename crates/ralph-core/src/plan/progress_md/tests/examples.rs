//! Logs as they usually are.

use super::*;

const LOG: &str = "\
## Completed Tasks
- [x] 1.1 Task A - abc123
- [x] 1.2 Task B - def456

## Learnings
- Some learning
";

#[test]
fn rch_01_rch_03_the_example() {
    let updated = update(LOG, &fixes("1.2", 2, Pass));
    assert_eq!(
        updated,
        "\
## Completed Tasks
- [x] 1.1 Task A - abc123
- [x] 1.2 Task B - def456

## Fix Task History
- Task 1.2: 2 fixes attempted (1.2.1, 1.2.2) - Final: PASS

## Learnings
- Some learning
"
    );
}

#[test]
fn rch_01_rch_02_lines_are_added_below_each_other() {
    let updated = update(LOG, &fixes("1.3", 2, Pass));
    let updated = update(&updated, &fixes("2.1", 1, Pass));
    let updated = update(&updated, &fixes("3.4", 3, MAX_LIMIT));
    assert!(updated.contains(
        "
## Fix Task History
- Task 1.3: 2 fixes attempted (1.3.1, 1.3.2) - Final: PASS
- Task 2.1: 1 fix attempted (2.1.1) - Final: PASS
- Task 3.4: 3 fixes attempted (3.4.1, 3.4.2, 3.4.3) - Final: FAIL (max limit)

## Learnings
"
    ));
}

#[test]
fn rch_02_rch_03_a_later_pass_replaces_the_line() {
    let failed = update(LOG, &fixes("1.3", 3, MAX_LIMIT));
    let passed = update(&failed, &fixes("1.3", 3, Pass));
    assert_eq!(passed, failed.replace("FAIL (max limit)", "PASS"));
    assert_eq!(passed.matches("Task 1.3:").count(), 1);
}

#[test]
fn rch_03_a_task_without_fixes_has_no_line() {
    assert_eq!(update(LOG, &fixes("1.3", 0, Pass)), LOG);
    assert_eq!(update("", &fixes("1.3", 0, Pass)), "");
}

#[test]
fn rch_03_without_learnings_the_section_goes_to_the_end() {
    assert_eq!(
        update("# Log\n\n## Blockers\nNone", &fixes("V4", 1, Pass)),
        "# Log\n\n## Blockers\nNone\n\n## Fix Task History\n\
         - Task V4: 1 fix attempted (V4.1) - Final: PASS\n"
    );
}

#[test]
fn rch_04_a_finished_task_is_added_once() {
    let updated = update(LOG, &done("1.3", "Task C", "0a1b2c3"));
    let line = "- [x] 1.2 Task B - def456\n";
    let expected = LOG.replace(line, &format!("{line}- [x] 1.3 Task C - 0a1b2c3\n"));
    assert_eq!(updated, expected);
    assert_eq!(update(&updated, &done("1.3", "Task C", "0a1b2c3")), updated);
}

#[test]
fn rch_04_a_second_completion_replaces_the_line() {
    assert_eq!(
        update(LOG, &done("1.1", "Task A, again", "0a1b2c3")),
        LOG.replace("Task A - abc123", "Task A, again - 0a1b2c3")
    );
    // Without a commit a line knows less than the one that is there.
    assert_eq!(update(LOG, &done("1.1", "Task A, again", "")), LOG);
    let open = "## Completed Tasks\n- [ ] 1.1 A\n";
    assert_eq!(update(open, &done("1.1", "A", "")), open.replace("[ ]", "[x]"));
    let both = News {
        completed: vec![completed("1.2", "Old", "aaaaaa"), completed("1.2", "New", "bbbbbb")],
        ..News::default()
    };
    assert_eq!(update(LOG, &both), LOG.replace("Task B - def456", "New - bbbbbb"));
}

#[test]
fn rch_04_keys_are_whole_words() {
    let log = "## Completed Tasks\n- [x] 1.30 A\n- [x] 1.3.1 B\n";
    assert_eq!(
        update(log, &done("1.3", "C", "")),
        "## Completed Tasks\n- [x] 1.30 A\n- [x] 1.3.1 B\n- [x] 1.3 C\n"
    );
}

#[test]
fn the_current_task_is_the_first_line_of_its_section() {
    let log = "## Current Task\n\n1.2 Task B\nSince noon.\n\n## Learnings\n";
    let updated = update(log, &current("1.3 Task C"));
    assert_eq!(updated, log.replace("1.2 Task B", "1.3 Task C"));
    let updated = update(&updated, &current("None: all tasks are done"));
    assert_eq!(updated, log.replace("1.2 Task B", "None: all tasks are done"));
    let item = "## Current Task\n* 1.2 Task B\n  - since noon\n";
    assert_eq!(update(item, &current("1.3 C")), item.replace("1.2 Task B", "1.3 C"));
}

#[test]
fn learnings_are_added_and_not_twice() {
    let updated = update(LOG, &learnt(&["Some  learning", "New\none", "New one", ""]));
    assert_eq!(updated, LOG.to_owned() + "- New one\n");
    let wrapped = "## Learnings\n- a long\n  one\n- another\nlong one\n";
    assert_eq!(update(wrapped, &learnt(&["a long one", "another long one"])), wrapped);
    assert_eq!(update(wrapped, &learnt(&["b"])), format!("{wrapped}- b\n"));
}

#[test]
fn rch_03_all_sections_are_made_in_order() {
    let news = News {
        completed: vec![completed("1.1", "A", "abc123")],
        current: Some("1.2 B".into()),
        fix_history: vec![history("1.1", 1, Pass)],
        learnings: vec!["x".into()],
    };
    let sections = "\
## Completed Tasks
- [x] 1.1 A - abc123

## Current Task
1.2 B

## Fix Task History
- Task 1.1: 1 fix attempted (1.1.1) - Final: PASS

## Learnings
- x
";
    assert_eq!(update("", &news), format!("# Progress\n\n{sections}"));
    assert_eq!(update("# Mine\n", &news), format!("# Mine\n\n{sections}"));
    let empty = "## Completed Tasks\n\n## Current Task\n\n## Fix Task History\n\n## Learnings\n";
    assert_eq!(update(empty, &news), sections);
    let tight = "## Completed Tasks\n## Current Task\n## Fix Task History\n## Learnings";
    assert_eq!(update(tight, &news), sections);
    let (first, last) = ("# P\n\n## Current Task\n1.1 A\n", "## Next\n- y\n");
    assert_eq!(update(&format!("{first}\n{last}"), &done("1.1", "A", "abc123")), {
        format!("# P\n\n## Completed Tasks\n- [x] 1.1 A - abc123\n\n## Current Task\n1.1 A\n\n{last}")
    });
}

#[test]
fn rch_04_a_finished_task_has_one_line() {
    for (task, text) in [
        (completed("1.1", "Task A", "abc123"), "[x] 1.1 Task A - abc123"),
        (completed("1.1", "Task A", ""), "[x] 1.1 Task A"),
        (completed("V4", "", "abc1234"), "[x] V4 - abc1234"),
        (completed("V4", "", ""), "[x] V4"),
        (completed("a b", "x\ny", " \n"), "[x] a-b x y"),
    ] {
        assert_eq!(Entry::completed(&task).unwrap().text, text);
    }
    assert!(Entry::completed(&completed(" ", "x", "")).is_none());
    for (line, key) in [
        ("- [X]  **1.3**:  Title  ", Some(("1.3", true))),
        ("- [ ] 1.3 Title", Some(("1.3", false))),
        ("- 1.3 Title", None),
        ("- [x]", None),
        ("- [x]1.3", None),
        ("- [y] 1", None),
    ] {
        let item = Item { start: 0, end: 1, line, first: bullet(line).unwrap() };
        let found = completed_key(&item);
        let found = found.as_ref().map(|(key, done)| (key.as_str(), *done));
        assert_eq!(found, key, "{line}");
    }
}

#[test]
fn a_line_of_its_own_is_a_paragraph() {
    assert_eq!(paragraph("1.3 Add\nparser"), "1.3 Add parser");
    assert_eq!(paragraph("# x"), "\\# x");
    assert_eq!(paragraph("12) x"), "12\\) x");
    assert_eq!(paragraph(" \n"), "");
}
