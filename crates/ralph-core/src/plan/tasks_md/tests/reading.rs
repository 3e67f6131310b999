//! How a spec is read.

use super::super::Words;
use super::super::order::roots;
use super::*;

/// Names, titles and parents of all tasks, as `1.1 b <1`.
fn tree(text: &str) -> Vec<String> {
    let short = |name: &str| if name.len() > 16 { "?".to_owned() } else { name.to_owned() };
    let parent = |task: &DraftTask| task.parent.as_deref().map(|of| format!(" <{}", short(of)));
    let tasks = draft(text).tasks.into_iter();
    tasks
        .map(|task| format!("{} {}{}", short(&task.name), task.title, parent(&task).unwrap_or_default()))
        .collect()
}

#[test]
fn imp_01_what_is_a_task() {
    let text = "- [ ] a\n  - [ ] 1.1 b\n```\n- [ ] 1.2 c\n```\n- [X] 1.3: d\n  - [ ] 1.4 e\n    - [x] s\n  - [ ] t\n- [ ] f\n";
    assert_eq!(tree(text), ["? a", "1.1 b <?", "1.3 d", "1.4 e <1.3", "? f"]);
    let draft = draft(text);
    let whole = &draft.tasks[2];
    assert_eq!((whole.description.as_str(), whole.done, whole.line), ("- t", true, 6));
    assert_eq!((draft.tasks[3].description.as_str(), draft.tasks[3].steps.as_slice()), ("- s", &[8][..]));
    let note = "the task above it is checked, so Ralph skips this one";
    assert_eq!(
        notes(text),
        [
            (7, note.to_owned()),
            (9, "this step is open, but its task is checked; Ralph treats the task as done".to_owned())
        ]
    );
}

#[test]
fn imp_02_boxes_of_every_dialect_are_tasks() {
    // Numbers at one column, as Kiro writes them.
    let flat = "- [x] 1. a\n  - b\n- [x] 1.1 c\n- [ ]* 1.2 d\n- [-] 2. e\n- [ ] 2.1 f\n- [~] 3. g\n";
    assert_eq!(tree(flat), ["1 a", "1.1 c <1", "1.2 d <1", "2 e", "2.1 f <2", "3 g"]);
    assert_eq!(order(flat), ["1<", "1.1<", "1.2<1.1", "2<", "2.1<1.1", "3<2.1"]);
    let nested =
        "- [ ] 1. a\n  - [ ] 1.1 b\n    - [ ] 1.1.1 c\n  - [ ] 1.2 d\n    - [ ] 1. step\n- [ ] 2. e\n";
    assert_eq!(tree(nested), ["1 a", "1.1 b <1", "1.1.1 c <1.1", "1.2 d <1", "2 e"]);
    assert_eq!(order(nested), ["1<", "1.1<", "1.1.1<", "1.2<1.1.1", "2<1.2"]);
    let ids = "- [ ] **1.1** a\n* [X] **1.1a: b**\n+ [ ] US-001 [US1] c\n1. [ ] T014b [P] [US2] d\n- [ ] 1.a e\n- [ ] VF f\n\
               - [x] **P9-02:** g\n- [ ] `12-01` h\n";
    let found = ["1.1 a", "1.1a b", "US-001 c", "T014b d", "1.a e", "VF f", "P9-02 g", "12-01 h"];
    assert_eq!(tree(ids), found);
    assert_eq!(draft(ids).tasks[3].markers, ["P", "US2"]);
}

#[test]
fn imp_02_a_key_that_is_used_again_gets_a_number() {
    let text = "- [ ] 1.1 a\n- [ ] 1.2\n- [ ] 1.1 [P]\n- [ ] 1.1 c\n- [ ] d\n- [ ] d\n";
    let names = tree(text);
    assert_eq!(names[..4], ["1.1 a", "1.2 1.2", "1.1#2 [P]", "1.1#3 c"]);
    let note = |line, name: &str| {
        (line, format!("the key 1.1 is used by a task above; Ralph calls this task {name}"))
    };
    assert_eq!(notes(text), [note(3, "1.1#2"), note(4, "1.1#3")]);
    let marked = mark(text, &[("1.1#2", true)]);
    assert_eq!(marked, text.replace("- [ ] 1.1 [P]", "- [x] 1.1 [P]"));
}

#[test]
fn imp_07_a_file_without_tasks() {
    let expected = crate::plan::NO_TASKS;
    for text in ["", "\u{feff}", "# a\n- b\n"] {
        let problem = Problem { line: 1, expected: expected.to_owned() };
        assert_eq!(try_draft(text).unwrap_err(), [problem], "{text}");
    }
    let lines = |text: &str| -> Vec<usize> {
        try_draft(text).unwrap_err().iter().map(|problem| problem.line).collect()
    };
    assert_eq!(lines("| [ ] | a |\n[ ] b\n### [ ] c\n~~[ ] d~~\n[x](y)\n[x]: z\n"), [1, 1, 2, 3, 4]);
    assert_eq!(lines("a\n> - [ ] b\n\n```\n- [ ] 1.2 c\n"), [1, 2, 4]);
}

#[test]
fn imp_07_boxes_that_are_no_tasks_are_noted() {
    let text = "- [ ] 1.1 a\n- [ ]\n- [] b\n- [ ]c\n- [?] d\n> * [ ] e\n- [1] f\n- [x](g)\n- [link] h\n\n<!-- i\n- [ ] 1.3 j\n";
    let lines: Vec<_> = notes(text).iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 3, 4, 5, 6, 11]);
    assert_eq!(draft(text).tasks.len(), 1);
}

#[test]
fn imp_04_dependencies_that_are_named() {
    let text = "- [ ] T001 a\n- [ ] T002 [P] b (depends on T004)\n- [ ] T003 [P] c\n- [ ] T004 d — depends on T001, T003\n\
                - [ ] T005 e (depends on T001–T003 and T009)\n  - **Depends on**: T004, T005\n- [ ] T006 f (Depends on T006)\n";
    assert_eq!(
        order(text),
        ["T001<", "T002<T004", "T003<T001", "T004<T003,T001", "T005<T002,T004,T001,T003", "T006<T005"]
    );
    assert_eq!(notes(text), [(5, "no task has the key T009, so Ralph ignores this dependency".to_owned())]);
    let circle = "- [ ] 1.1 a (depends on 1.2)\n- [ ] 1.2 b (depends on 1.1)\n- [ ] 1.3 c\n";
    assert_eq!(order(circle), ["1.1<", "1.2<1.1", "1.3<1.2"]);
    assert_eq!(notes(circle).len(), 1);
    let whole = "- [ ] 1. a (depends on 2.1)\n  - [ ] 1.1 b (depends on 1)\n- [ ] 2. c\n  - [ ] 2.1 d\n  - [ ] 2.2 e\n";
    assert_eq!(order(whole), ["1<2.1", "1.1<2.1", "2<", "2.1<", "2.2<1.1"]);
}

#[test]
fn imp_02_optional_tasks_are_left_out_with_a_note() {
    let text = "- [ ] 1. a\n  - [ ]* 1.1 b\n    - [ ] step\n- [ ]* 2. c\n  - [ ] 2.1 d (depends on 1.1)\n- [x]* 3. e\n- [ ] 4. f\n";
    assert_eq!(order(text), ["1<", "1.1<", "2<1", "2.1<1,1.1", "3<1", "4<1"]);
    let mut draft = draft(text);
    draft.leave_out_optional(|name| name == "2.1");
    let left: Vec<_> = draft.tasks.iter().map(|task| (task.name.as_str(), task.after.join(","))).collect();
    let expected = [("1", ""), ("2.1", "1"), ("3", "1"), ("4", "1")];
    assert_eq!(left, expected.map(|(name, after)| (name, after.to_owned())));
    assert_eq!(draft.tasks[1].parent, None);
    let lines: Vec<_> = draft.notes.iter().map(|note| note.line).collect();
    assert_eq!(lines, [2, 3, 4]);
}

#[test]
fn imp_03_the_description_holds_all_that_no_field_does() {
    let text = "\
- [ ] 1.1 A title
  that goes on
  - **Skills**: e2e
    - more
  - Note: b
  - **Do**: Start
    1. c
       ```sh
       - **Do**: d
       ```

    2. e
  <!-- not shown -->
  - **Files**:
    - `src/a.ts` (create)
    - src/b.ts, src/c.ts
    1. None
  - **Done when**: f
    - g
  - **Commit**: None (nothing to commit)
  - **Verify**: Look at it
  - **Requirements**: FR-1
  - _Design: h_

A paragraph.

---

## Next
";
    let task = first(text);
    assert_eq!(
        task.description,
        "Start\n1. c\n   ```sh\n   - **Do**: d\n   ```\n\n2. e\n\nthat goes on\n\n\
         - **Skills**: e2e\n  - more\n- Note: b\n\nA paragraph.\n\n\
         Verify: Look at it\nRequirements: FR-1\nDesign: h"
    );
    assert_eq!(task.files, ["src/a.ts", "src/b.ts", "src/c.ts"]);
    assert_eq!(task.done_when.unwrap(), "f\n- g");
    assert_eq!((task.commit, task.verify), (None, None));
    let note = "Verify \"Look at it\" is not a runnable command: the task has no gate";
    assert_eq!(notes(text), [(21, note.to_owned())]);
}

#[test]
fn imp_03_commits_of_several_lines() {
    let commit = |text: &str| first(&format!("- [ ] 1.1 a\n  - **Commit**:{text}\n")).commit;
    assert_eq!(commit(" fix: a\n\n    b").unwrap(), "fix: a\n\nb");
    assert_eq!(commit("\n    ```\n    fix: a\n    ```").unwrap(), "fix: a");
    assert_eq!(commit(" `fix: a`\n  - **Commit**: b").unwrap(), "fix: a");
    assert_eq!(commit(""), None);
}

#[test]
fn imp_03_fields_with_any_line_end() {
    let text =
        "- [ ] 1.1 a\n  - **Do**:\n    1. b\n\n    2. c\n  - **Verify**:\n    ```\n    d\n    e\n    ```\n";
    let (unix, dos) = (draft(text), draft(&text.replace('\n', "\r\n")));
    assert_eq!(unix, dos);
    assert_eq!(unix.tasks[0].verify.as_deref(), Some("d\ne"));
    assert_eq!(unix.tasks[0].description, "1. b\n\n2. c");
}

#[test]
fn imp_03_the_gate_of_a_checkpoint_may_stand_in_its_title() {
    let verify = |text: &str| first(text).verify;
    assert_eq!(verify("- [ ] V1 [VERIFY] Check: `a` and `b`").unwrap(), "a && b");
    assert_eq!(verify("- [ ] V1 [VERIFY:ALL] Check: `a`").unwrap(), "a");
    assert_eq!(verify("- [ ] V1 [VERIFY] Check: `a`\n  - **Verify**: `b`").unwrap(), "b");
    assert_eq!(verify("- [ ] V1 [VERIFY] Check: `a`\n  - **Verify**: See"), None);
    assert_eq!(verify("- [ ] V1 Check: `a`"), None);
}

#[test]
fn notes_on_gates_name_the_line() {
    let text = "x\n- [ ] 1.1 a\n  - **Do**: b\n  - **Verify**:\n    - `pnpm c`\n    - d\n";
    let note = "Verify \"d\" is not a runnable command: the gate does not include it";
    assert_eq!(notes(text), [(4, note.to_owned())]);
}

#[test]
fn notes_stand_in_the_order_of_lines() {
    let text = "- [ ] 1.1 a\n  - **Verify**: Look\n- [ ]\n- [ ] 1.3 [FIX 9.9] c\n\
                - [ ] 1.4 d\n  - **Verify**: See\n";
    let lines: Vec<_> = notes(text).iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 3, 4, 6]);
}

#[test]
fn imp_04_phases() {
    let text = "# Tasks\n- [ ] 0.1 a\n## Phase 1: A\n- [ ] 1.1 b\n### Notes\n- [ ] 1.2 c\n```\n## Phase 8\n```\n\
                - [ ] 1.3 d\n## Notes\n- [ ] 1.4 e\n## 2. B\n- [ ] 2.1 f\n";
    let phases: Vec<_> = draft(text).tasks.into_iter().map(|task| task.phase).collect();
    let expected = [None, Some("1"), Some("1"), Some("1"), None, Some("2")];
    assert_eq!(phases, expected.map(|phase| phase.map(str::to_owned)));
}

#[test]
fn imp_04_groups_side_by_side() {
    let text = "\
- [ ] 1.1 a
- [ ] 1.2 [P] b
- [ ] 1.3 [P] c
- [x] 1.2.1 [FIX 1.2] d
- [ ] 1.4 [P] e
- [ ] V1 [P] [VERIFY] f
- [ ] 1.5 [P] g
## Phase 2
- [ ] 2.1 [P] h
### More
- [ ] 2.2 [P] i
- [ ] 2.3 j
";
    assert_eq!(
        order(text),
        [
            "1.1<",
            "1.2<1.1,1.2.1",
            "1.3<1.1",
            "1.2.1<1.1",
            "1.4<1.1",
            "V1<1.2,1.3,1.4",
            "1.5<V1",
            "2.1<1.5",
            "2.2<1.5",
            "2.3<2.1,2.2",
        ]
    );
}

#[test]
fn fixes_that_fix_nothing_are_ordinary_tasks() {
    let text = "- [ ] 1.1 [FIX 1.2] a\n- [ ] 1.2 [FIX 1.1] b\n- [ ] 1.3 [FIX 1.3] c\n- [ ] 1.4 [FIX 9.9] d\n\
                - [ ] 1.5 [FIX 1.1] e\n";
    assert_eq!(order(text), ["1.1<1.5", "1.2<1.1", "1.3<1.2", "1.4<1.3", "1.5<"]);
    let fix_of: Vec<_> = draft(text).tasks.into_iter().map(|task| task.fix_of).collect();
    assert_eq!(fix_of, [None, None, None, None, Some("1.1".to_owned())]);
    let lines: Vec<_> = notes(text).iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 2, 3, 4]);
}

/// Name and content of each block.
fn blocks(file: &str) -> Vec<(String, String)> {
    let spec = Spec::of(file);
    let block = |item: &crate::plan::outline::Item<'_>| {
        let lines = spec.outline.lines_below(item);
        (item.name.clone(), lines.iter().map(|line| line.raw).collect())
    };
    spec.outline.items.iter().map(block).collect()
}

fn block(name: &str, below: &str) -> (String, String) {
    (name.to_owned(), below.to_owned())
}

#[test]
fn imp_01_a_block_ends_at_the_next_task_heading_or_end_of_file() {
    assert_eq!(
        blocks("x\n- [ ] 1.1 a\n  b\n- c\n\n- [x] 1.2 d\n\n### e\n- [ ] V1 f\n\ng"),
        [block("1.1", "  b\n- c\n"), block("1.2", ""), block("V1", "\ng")]
    );
    assert_eq!(
        blocks("- [ ] 1. a\n  b\n  - [ ] 1.1 c\n    d\n  - e\n\nf\n- [ ] 2. g\n"),
        [block("1", "  b\n  - e\n\nf\n"), block("1.1", "    d\n"), block("2", "")]
    );
}

#[test]
fn blank_lines_and_rules_at_the_end_are_no_content() {
    assert_eq!(blocks("- [ ] 1.1 a\n\n---\n  b\n \n---\n\n* * *\n## c\n"), [block("1.1", "\n---\n  b\n")]);
    assert_eq!(blocks("- [ ] 1.1 a\n```\n---\n```\n"), [block("1.1", "```\n---\n```\n")]);
}

#[test]
fn what_is_never_closed_belongs_to_no_block() {
    for tail in ["```\n- [ ] 1.2 b\n\n    ```\n", "<!-- a\n# b", "~~~"] {
        for below in ["", "```\n```\n"] {
            let file = format!("- [ ] 1.1 a\n{below}\n{tail}");
            assert_eq!(blocks(&file), [block("1.1", below)], "{file}");
            assert_eq!(notes(&file)[0].0, below.lines().count() + 3, "{file}");
        }
    }
}

#[test]
fn imp_01_code_and_comments_hide_tasks_to_their_end() {
    for (text, keys) in [
        ("```sh\n- [ ] 1.1 a\n# b\n   ````\n- [ ] 1.2 c", &["1.2"][..]),
        ("~~~\n- [ ] 1.1 a\n    ~~~\n~~~\n- [ ] 1.2 c", &["1.2"]),
        ("```\n- [ ] 1.1 a\n``` x\n", &[]),
        ("<!-- a\n- [ ] 1.1 a\n   b --> c\n- [ ] 1.2 a", &["1.2"]),
        ("<!-- a -->\n- [ ] 1.1 a", &["1.1"]),
        ("a <!--\n- [ ] 1.1 a", &["1.1"]),
        ("<details>\n- [ ] 1.1 a\n</details>", &["1.1"]),
        // What stands in an item ends with it.
        ("- [ ] 1.1 a\n  ```\n  b\n- [ ] 1.2 c", &["1.1", "1.2"]),
        ("- [ ] 1.1 a\n  <!--\n  b\n- [ ] 1.2 c\n  -->", &["1.1", "1.2"]),
        ("- ~~~\n  a\n- [ ] 1.2 c\n ~~~", &["1.2"]),
    ] {
        let found: Vec<_> = blocks(text).into_iter().map(|(name, _)| name).collect();
        assert_eq!(found, keys, "{text}");
    }
}

#[test]
fn imp_02_what_looks_like_a_spec() {
    for text in ["# a\n\n- [x] V4 b", "\u{feff}- [ ] 12-01 a\r\n", "* [ ] **1.** a", "- [ ] a\n- [ ] T001 b"]
    {
        assert!(Spec::of(text).is_spec(), "{text}");
    }
    for text in [
        "",
        "- [ ] a",
        "- [ ] a\n  - [ ] 1.1 b",
        "```\n- [ ] 1.1 a\n```",
        "- [ ] US-001 a",
        "- [ ] **P1-01:** a",
    ] {
        assert!(!Spec::of(text).is_spec(), "{text}");
    }
}

#[test]
fn rci_01_a_task_is_found_by_its_whole_key() {
    let text = "é\n- [ ] 1.30 a\n- [ ] 1.3.1 b\n- [X] 1.3: c\n  d\n\n# e\n";
    let spec = Spec::of(text);
    assert_eq!(mark(text, &[("1.3", false)]), text.replace('X', " "));
    assert!(spec.has("1.3") && spec.has("1.30") && !spec.has("1"));
}

#[test]
fn rcg_04_the_verify_field_is_given_as_it_is_written() {
    let text =
        "- [ ] 1.3 a\n  - **Verify**: `b` && c\n  - **Commit**: d\n- [ ] 1.4 e\n  - **Verify**:\n    - `f`\n";
    let field = |key| Spec::of(text).verify_field(key);
    assert_eq!(field("1.3").as_deref(), Some("`b` && c"));
    assert_eq!((field("1.4"), field("1.5")), (None, None));
}

#[test]
fn imp_02_markers() {
    let words = Words::of("[P] [VERIFY:TEST][RED] [FIX  1.3]  Do [P] it");
    assert_eq!(words.markers, ["P", "VERIFY:TEST", "RED", "FIX  1.3"]);
    assert_eq!(words.title, "Do [P] it");
    assert_eq!(words.fix_of(), Some("1.3"));
    assert!(words.has("VERIFY") && !words.is_parallel());
    assert!(Words::of("[GREEN] [P] a").is_parallel());
    assert_eq!(Words::of("[YELLOW]").title, "");
    assert_eq!(Words::of("[P] [US1] [US-12] a").markers, ["P", "US1", "US-12"]);
}

#[test]
fn other_brackets_are_of_the_title() {
    for title in [
        "[Foo] a",
        "[P](x) a",
        "[FIX] a",
        "[FIX a b] c",
        "[PX] a",
        "[P:] a",
        "[P a",
        "[verify] a",
        "[VERIFYING] a",
        "[] a",
    ] {
        assert_eq!(Words::of(title), Words { markers: Vec::new(), title }, "{title}");
    }
}

#[test]
fn imp_04_a_group_has_five_at_most() {
    let text: String = (1..=8).map(|task| format!("- [ ] 1.{task} [P] a\n")).collect();
    let order = order(&(text + "- [ ] 1.9 b\n"));
    assert_eq!(order[4], "1.5<");
    assert_eq!(order[5], "1.6<1.1,1.2,1.3,1.4,1.5");
    assert_eq!(order[8], "1.9<1.6,1.7,1.8");
}

#[test]
fn rcx_fixes_stand_outside_the_order() {
    let task = |(at, fix): (usize, &Option<usize>)| match fix {
        Some(of) => format!("- [ ] 1.{at} [FIX 1.{of}] a\n"),
        None => format!("- [ ] 1.{at} a\n"),
    };
    let order = |fixes: &[Option<usize>]| order(&fixes.iter().enumerate().map(task).collect::<String>());
    assert_eq!(
        order(&[None, None, Some(1), Some(2), None]),
        ["1.0<", "1.1<1.0,1.2", "1.2<1.0,1.3", "1.3<1.0", "1.4<1.1"]
    );
    assert_eq!(order(&[Some(2), None, None]), ["1.0<1.1", "1.1<", "1.2<1.1,1.0"]);
}

#[test]
fn long_chains_have_one_root() {
    let chain: Vec<_> = (0..10_000_usize).map(|at| at.checked_sub(1)).collect();
    assert!(roots(&chain).iter().all(|root| *root == 0));
    let back: Vec<_> = (1..10_000).map(Some).chain([None]).collect();
    assert!(roots(&back).iter().all(|root| *root == 9_999));
}
