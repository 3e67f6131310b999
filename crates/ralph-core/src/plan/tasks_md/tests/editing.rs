//! Boxes that are ticked, blocks that are put in, and how they look.

use super::super::render;
use super::*;

const NEW: &str = "- [ ] 1.3.1 [FIX 1.3] b\n  - **Do**: c";

fn after(text: &str) -> String {
    insert_after(text, "1.3", NEW).unwrap()
}

#[test]
fn rci_03_one_blank_line_on_each_side() {
    let expected = format!("- [ ] 1.3 a\n  - x\n\n{NEW}\n\n- [ ] 1.4 d\n");
    assert_eq!(after("- [ ] 1.3 a\n  - x\n\n- [ ] 1.4 d\n"), expected);
    assert_eq!(after("- [ ] 1.3 a\n  - x\n- [ ] 1.4 d\n"), expected);
    assert_eq!(after("- [ ] 1.3 a\n  - x\n\n\n- [ ] 1.4 d\n"), expected);
}

#[test]
fn rci_03_blank_lines_that_are_there_stay() {
    assert_eq!(after("- [ ] 1.3 a\n \t\n\r\n\n## b\n"), format!("- [ ] 1.3 a\n \t\n{NEW}\n\r\n\n## b\n"));
    assert_eq!(after("- [ ] 1.3 a\n\n---\n\n## b\n"), format!("- [ ] 1.3 a\n\n{NEW}\n\n---\n\n## b\n"));
}

#[test]
fn rci_03_at_the_end_of_the_file() {
    let expected = format!("- [ ] 1.3 a\n\n{NEW}\n");
    for text in ["- [ ] 1.3 a", "- [ ] 1.3 a\n", "- [ ] 1.3 a\n\n"] {
        assert_eq!(after(text), expected, "{text:?}");
    }
    assert_eq!(after("- [ ] 1.3 a\n\n\n"), format!("{expected}\n"));
    assert_eq!(after("- [ ] 1.3 a\n  "), format!("- [ ] 1.3 a\n  \n{NEW}\n"));
}

#[test]
fn what_is_never_closed_does_not_swallow_the_block() {
    assert_eq!(after("- [ ] 1.3 a\n\n```\n- [ ] 1.4 b"), format!("- [ ] 1.3 a\n\n{NEW}\n\n```\n- [ ] 1.4 b"));
}

#[test]
fn imp_08_the_commonest_line_end_is_used() {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    assert_eq!(
        after("- [ ] 1.3 a\r\n- [ ] 1.4 d\r\ne\n"),
        crlf(&format!("- [ ] 1.3 a\n\n{NEW}\n\n- [ ] 1.4 d\n")) + "e\n"
    );
    assert_eq!(after("- [ ] 1.3 a\n- [ ] 1.4 d\r\n"), format!("- [ ] 1.3 a\n\n{NEW}\n\n- [ ] 1.4 d\r\n"));
}

#[test]
fn rci_02_the_order_of_keys() {
    let add = |text: &str, of: &str, key: &str| {
        insert_after(text, of, &format!("- [ ] {key} [FIX {of}] x")).unwrap()
    };
    let mut text = "- [x] 1.3 a\n\n- [ ] 1.30 b\n\n- [ ] 1.4 b\n".to_owned();
    for (of, key) in [("1.3", "1.3.1"), ("1.3.1", "1.3.1.1"), ("1.3", "1.3.2"), ("1.3.1", "1.3.1.2")] {
        text = add(&text, of, key);
    }
    let keys: Vec<_> = draft(&text).tasks.into_iter().map(|task| task.name).collect();
    assert_eq!(keys, ["1.3", "1.3.1", "1.3.1.1", "1.3.1.2", "1.3.2", "1.30", "1.4"]);
    assert!(!text.contains("\n\n\n"));
}

#[test]
fn rci_02_a_descendant_far_away_counts() {
    let text = "- [ ] 1.3.1 a\n- [ ] 1.3 b\n- [ ] 1.4 c\n- [ ] 1.3.2 d\n## e\n";
    assert_eq!(
        insert_after(text, "1.3", "- [ ] 1.3.3 f").unwrap(),
        text.replace("## e", "\n- [ ] 1.3.3 f\n\n## e")
    );
    let text = "- [ ] 1.3.1 a\n- [ ] 1.3 b\n- [ ] 1.4 c\n";
    assert_eq!(
        insert_after(text, "1.3", "- [ ] 1.3.3 f").unwrap(),
        text.replace("- [ ] 1.4", "\n- [ ] 1.3.3 f\n\n- [ ] 1.4")
    );
}

#[test]
fn rci_01_without_the_task_there_is_no_place() {
    for text in ["", "- [ ] 1.30 a\n- [ ] 1.3.1 b\n  - 1.3 c\n", "```\n- [ ] 1.3 a\n```\n"] {
        assert_eq!(insert_after(text, "1.3", NEW), None);
        assert_eq!(insert_before(text, "1.3", NEW), None);
    }
}

#[test]
fn before_a_task() {
    for (text, expected) in [
        ("# a\n- [ ] 1.3 b\n", "# a\n\n- [ ] 1.9 e\n\n- [ ] 1.3 b\n"),
        ("# a\n\n- [ ] 1.3 b\n", "# a\n\n- [ ] 1.9 e\n\n- [ ] 1.3 b\n"),
        ("# a\n\n\n- [ ] 1.3 b\n", "# a\n\n- [ ] 1.9 e\n\n- [ ] 1.3 b\n"),
        ("a\n\n---\n- [ ] 1.3 b\n", "a\n\n---\n\n- [ ] 1.9 e\n\n- [ ] 1.3 b\n"),
        ("- [ ] 1.3 b", "- [ ] 1.9 e\n\n- [ ] 1.3 b"),
        ("\n\r\n- [ ] 1.3 b", "- [ ] 1.9 e\n\n\r\n- [ ] 1.3 b"),
        ("\u{feff}- [ ] 1.3 b", "\u{feff}- [ ] 1.9 e\n\n- [ ] 1.3 b"),
    ] {
        assert_eq!(insert_before(text, "1.3", "\n- [ ] 1.9 e\n").unwrap(), expected);
    }
}

const FILE: &str = "- [ ] 1.1 a\r\n  - 1.2 b\r\n```\n- [ ] 1.2 c\n```\n- [ ] 1.2 é\n\
                    - [X] 1.20 e\n- [x] 1.2.1 f\n- [ ] 1.1 g";

#[test]
fn imp_08_only_the_character_in_the_checkbox_changes() {
    let expected = FILE.replace("- [ ] 1.2 é", "- [x] 1.2 é").replace("[X]", "[ ]");
    let marked = mark(FILE, &[("1.2", true), ("1.20", false)]);
    assert_eq!(marked, expected);
}

#[test]
fn steps_are_ticked_with_their_task_and_never_opened() {
    let text = "- [ ] 1.1 a\n  - [ ] b\n    * [X] c\n- [-] 1.2 d\n  1. [~] e\n- [ ] f\n";
    let done = text.replace("[ ] 1.1", "[x] 1.1").replace("[ ] b", "[x] b");
    assert_eq!(mark(text, &[("1.1", true)]), done);
    assert_eq!(mark(&done, &[("1.1", false)]), done.replace("[x] 1.1", "[ ] 1.1"));
    assert_eq!(mark(text, &[("1.2", false)]), text);
    let all: Vec<String> = draft(text).tasks.into_iter().map(|task| task.name).collect();
    let all: Vec<(&str, bool)> = all.iter().map(|name| (name.as_str(), true)).collect();
    let ticked = done.replace("[-]", "[x]").replace("[~]", "[x]").replace("[ ]", "[x]");
    assert_eq!(mark(text, &all), ticked);
}

#[test]
fn a_block_beside_an_indented_task_is_indented() {
    let text = "- [ ] 1. a\n  - [ ] 1.1 b\n    - c\n  - [ ] 1.2 d\n  - e\n- [ ] 2. f\n";
    let after = insert_after(text, "1.1", "- [ ] 1.1.1 [FIX 1.1] g\n  - **Do**: h").unwrap();
    let expected = text.replace("    - c\n", "    - c\n\n  - [ ] 1.1.1 [FIX 1.1] g\n    - **Do**: h\n\n");
    assert_eq!(after, expected);
    assert_eq!(order(&after), ["1<", "1.1<1.1.1", "1.1.1<", "1.2<1.1", "2<1.2"]);
    assert_eq!(draft(&after).tasks[0].description, "- e");
    let after = insert_after(text, "1", "- [ ] 1.3 g").unwrap();
    assert_eq!(after, text.replace("  - e\n", "  - e\n\n- [ ] 1.3 g\n\n"));
}

#[test]
fn what_is_so_already_stays() {
    let same = mark(FILE, &[("1.20", true), ("1.2.1", true), ("1.1", false)]);
    assert_eq!(same, FILE);
    assert_eq!(mark(FILE, &[("9", true)]), FILE);
}

fn task_with(change: impl FnOnce(&mut DraftTask)) -> DraftTask {
    let mut task = DraftTask { name: "1.1".into(), title: "a".into(), ..DraftTask::default() };
    change(&mut task);
    task
}

#[test]
fn empty_fields_are_left_out() {
    let task = task_with(|task| task.done = true);
    assert_eq!(render(&task), "- [x] 1.1 a");
    let odd = task_with(|task| {
        task.title = " \n".into();
        task.description = "\n \n".into();
        task.done_when = Some(String::new());
        task.verify = Some(" ".into());
        task.commit = Some(String::new());
    });
    assert_eq!(render(&odd), "- [ ] 1.1 Untitled");
}

#[test]
fn all_fields() {
    let task = task_with(|task| {
        task.title = "Create\nthe  module".into();
        task.markers = vec!["P".into(), "RED".into()];
        task.description = "1. First\n2. Second\n\n   more".into();
        task.files = vec!["src/a.ts".into(), "src/a, b.ts".into(), "c (d)".into()];
        task.done_when = Some("It compiles\n- and runs".into());
        task.verify = Some("pnpm test".into());
        task.commit = Some("feat(x): add `module`".into());
    });
    let block = "\
- [ ] 1.1 [P] [RED] Create the module
  - **Do**:
    1. First
    2. Second

       more
  - **Files**: src/a.ts, `src/a, b.ts`, `c (d)`
  - **Done when**: It compiles
    - and runs
  - **Verify**: `pnpm test`
  - **Commit**: `` feat(x): add `module` ``";
    assert_eq!(render(&task), block);
    let read = first(block);
    assert_eq!(
        (read.description, read.files, read.done_when, read.verify, read.commit, read.markers),
        (task.description, task.files, task.done_when, task.verify, task.commit, task.markers)
    );
}

#[test]
fn commands_read_back_whatever_they_are() {
    for command in [
        "pnpm test",
        "echo `date`",
        "a | b",
        "- x",
        "[ -f a ]",
        "cat <<'E'\n```\n  a\nE\n\nb",
        "a `",
        "made up",
    ] {
        let task = task_with(|task| task.verify = Some(command.to_owned()));
        let block = render(&task);
        assert_eq!(first(&block).verify.as_deref(), Some(command), "{block}");
    }
}

#[test]
fn an_open_fence_in_one_field_leaves_the_others_alone() {
    let task = task_with(|task| {
        task.description = "See:\n```sh\na".into();
        task.done_when = Some("b: ```".into());
        task.verify = Some("c\nd".into());
    });
    let read = first(&render(&task));
    assert_eq!((read.description, read.verify), (task.description, task.verify));
    assert_eq!(read.done_when, task.done_when);
}

#[test]
fn a_prerequisite_goes_before_its_task() {
    let prerequisite = task_with(|task| task.description = "b".into());
    let block = render(&prerequisite);
    let text = insert_before("# x\n\n- [ ] 1.2 c\n", "1.2", &block).unwrap();
    assert_eq!(text, "# x\n\n- [ ] 1.1 a\n  - **Do**: b\n\n- [ ] 1.2 c\n");
    assert_eq!(order(&text), ["1.1<", "1.2<1.1"]);
}
