//! Logs as people and agents also leave them.

use super::*;

#[test]
fn rch_03_line_ends_stay_as_they_are() {
    let log = "## Completed Tasks\r\n- [x] 1.1 A\r\n\r\n## Learnings\r\n- x";
    let updated = update(log, &done("1.1", "B", "abc123"));
    assert_eq!(updated, log.replace("1.1 A", "1.1 B - abc123"));
    assert_eq!(
        update(&updated, &learnt(&["y"])),
        "## Completed Tasks\r\n- [x] 1.1 B - abc123\r\n\r\n## Learnings\r\n- x\r\n- y\r\n"
    );
}

#[test]
fn rch_03_without_a_final_newline_only_what_is_due_is_added() {
    assert_eq!(update("## Learnings\n- x", &learnt(&["x"])), "## Learnings\n- x");
    assert_eq!(update("## Learnings\n- x", &learnt(&["y"])), "## Learnings\n- x\n- y\n");
    assert_eq!(update("## Current Task\na", &current("b")), "## Current Task\nb");
    assert_eq!(update("\u{feff}", &learnt(&["y"])), "\u{feff}# Progress\n\n## Learnings\n- y\n");
}

#[test]
fn rch_03_a_heading_in_a_fence_is_none() {
    let log = "# P\n\n```md\n## Learnings\n- x\n```\n\n- a\n\n  ```\n## Learnings\n- y\n";
    // The second one stands at column 0: it ends the item, and the fence within it.
    assert_eq!(learnings(log), ["y"]);
    let log = "# P\n\n```md\n## Learnings\n- x\n```\n";
    let updated = update(log, &learnt(&["x"]));
    assert_eq!(updated, format!("{log}\n## Learnings\n- x\n"));
}

#[test]
fn rch_03_nothing_goes_into_a_fence_that_is_never_closed() {
    let log = "# P\n\n## Learnings\n- x\n\n```\n- y\n";
    assert_eq!(update(log, &learnt(&["y"])), "# P\n\n## Learnings\n- x\n- y\n\n```\n- y\n");
    assert_eq!(update("```\n", &done("1", "A", "")), "## Completed Tasks\n- [x] 1 A\n\n```\n");
}

#[test]
fn rch_03_other_text_of_a_section_stays() {
    let log = "## Completed Tasks\nNone yet.\n\n### Notes\nHm.\n\n## Learnings\n";
    assert_eq!(
        update(log, &done("1", "A", "")),
        "## Completed Tasks\nNone yet.\n\n- [x] 1 A\n\n### Notes\nHm.\n\n## Learnings\n"
    );
    let log = "## Completed Tasks\n- [x] 1 A\n  by hand\n\nNotes:\n- b\n";
    assert_eq!(
        update(log, &done("2", "B", "")),
        "## Completed Tasks\n- [x] 1 A\n  by hand\n- [x] 2 B\n\nNotes:\n- b\n"
    );
    assert_eq!(update(log, &done("1", "C", "abc123")), log.replace("1 A", "1 C - abc123"));
}

#[test]
fn the_current_task_replaces_no_block() {
    for block in ["```\na\n```\n", "<!-- a\nb -->\n", "> a\n", "### a\n", "1. a\n", "-\n", "***\n"] {
        let log = format!("## Current Task\n{block}");
        let updated = update(&log, &current("1.3 C"));
        assert_eq!(updated, format!("## Current Task\n1.3 C\n\n{block}"));
        let again = update(&updated, &current("# 1.4"));
        assert_eq!(again, format!("## Current Task\n\\# 1.4\n\n{block}"));
    }
}

#[test]
fn rch_03_the_first_of_two_sections_is_written_to_and_both_are_read() {
    let log = "## Learnings\n- a\n\n## Learnings\n- b\n";
    assert_eq!(update(log, &learnt(&["b", "c"])), "## Learnings\n- a\n- c\n\n## Learnings\n- b\n");
    assert_eq!(learnings(log), ["a", "b"]);
}

#[test]
fn rch_03_an_indented_heading_is_not_swallowed() {
    let log = "  ## Learnings\n- a\n";
    let updated = update(log, &fixes("1", 1, Pass));
    assert_eq!(learnings(&updated), ["a"]);
    assert_eq!(update(&updated, &fixes("1", 1, Pass)), updated);
}

#[test]
fn hostile_text_ends_no_line_and_no_section() {
    let hostile = "x\n## Learnings\n- y\r- [x] 9 z\u{1b}[31m";
    let updated = update("", &done("1", hostile, hostile));
    assert_eq!(updated, "# Progress\n\n## Completed Tasks\n- [x] 1 x ## Learnings - y - [x] 9 z - x\n");
    let updated = update("", &learnt(&[hostile, "--", "# a"]));
    assert_eq!(learnings(&updated), ["x ## Learnings - y - [x] 9 z", "--", "# a"]);
}

/// Texts on which a careless scan takes quadratic time; this would then run for minutes.
#[test]
fn large_hostile_files_take_linear_time() {
    for unit in ["- \n", "\n", "- a\n\n", "- [x] 1 a\n", "a\n", "```\n", "## Learnings\n", "- a\nb\n"] {
        let log = format!("## Completed Tasks\n{}", unit.repeat(400_000 / unit.len()));
        let mut news = learnt(&["new"]);
        news.completed = (0..10_000).map(|n| completed(&format!("9.{n}"), "t", "")).collect();
        assert!(update(&log, &news).contains("[x] 9.9999 t"));
    }
}
