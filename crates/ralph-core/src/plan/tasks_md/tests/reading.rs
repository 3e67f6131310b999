//! How a spec is read.

use super::super::{Words, nearly_a_task, roots};
use super::*;

#[test]
fn imp_01_what_is_a_task() {
    let text = "- [ ] a\n  - [ ] 1.1 b\n```\n- [ ] 1.2 c\n```\n- [X] 1.3: d\n  - [ ] 1.4 e\n- [ ] f\n";
    let draft = draft(text);
    let names: Vec<_> = draft.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["1.3"]);
    let only = &draft.tasks[0];
    assert_eq!((only.title.as_str(), only.done, only.line), ("d", true, 6));
    assert_eq!(only.description, "- [ ] 1.4 e\n- [ ] f");
    assert_eq!(draft.notes, []);
}

#[test]
fn imp_07_all_problems_are_told_in_order() {
    let text = "- [ ] 1.1 a\n- [ ] 1.2\n- [ ] 1.1 [P]\n- [x] 1.3 b\n- [ ] 1.1 c\n";
    let problem = |line, expected: &str| Problem { line, expected: expected.to_owned() };
    assert_eq!(
        try_draft(text).unwrap_err(),
        [
            problem(2, "task 1.2 has no title, expected `- [ ] 1.2 Title`"),
            problem(3, "task 1.1 has no title, expected `- [ ] 1.1 Title`"),
            problem(3, "line 3 repeats the key 1.1 of line 1, expected a unique key"),
            problem(5, "line 5 repeats the key 1.1 of line 1, expected a unique key"),
        ]
    );
    assert_eq!(
        try_draft(text).unwrap_err()[0].to_string(),
        "line 2: task 1.2 has no title, expected `- [ ] 1.2 Title`"
    );
}

#[test]
fn imp_07_a_file_without_tasks() {
    let expected = "no tasks found, expected lines such as `- [ ] 1.1 Create the module`";
    for text in ["", "\u{feff}", "# a\n- [ ] b\n", "  - [ ] 1.1 a\n"] {
        let problem = Problem { line: 1, expected: expected.to_owned() };
        assert_eq!(try_draft(text).unwrap_err(), [problem], "{text}");
    }
    let lines = |text: &str| -> Vec<usize> {
        try_draft(text).unwrap_err().iter().map(|problem| problem.line).collect()
    };
    assert_eq!(lines("a\n- [ ] **1.1** b\n\n```\n- [ ] 1.2 c\n"), [1, 2, 4]);
}

#[test]
fn what_may_be_meant_as_tasks_is_noted() {
    assert_eq!(
        notes("- [ ] 1.1 a\n- [ ] **1.2** b\n- [ ] c\n\n<!-- d\n- [ ] 1.3 e\n"),
        [
            (2, "this checkbox is not a task; a task line is `- [ ] 1.2 Title`".to_owned()),
            (5, "this block is never closed and hides everything after it".to_owned()),
        ]
    );
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
    let text = "x\n- [ ] 1.1 a\n  - **Do**: b\n  - **Verify**:\n    - `pnpm c` says `OK`\n    - d\n";
    assert_eq!(
        notes(text),
        [
            (4, "Verify \"d\" is not a runnable command: the gate does not include it".to_owned()),
            (4, "Verify runs \"OK\" as a command, but that program was not found".to_owned()),
        ]
    );
}

#[test]
fn notes_stand_in_the_order_of_lines() {
    let text = "- [ ] 1.1 a\n  - **Verify**: Look\n- [ ] **1.2** b\n- [ ] 1.3 [FIX 9.9] c\n\
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

/// Key, text and content of each block.
fn blocks(file: &str) -> Vec<(&str, &str, &str)> {
    let spec = Spec::of(file);
    let lines = &spec.file.lines;
    let part = |from: usize, to: usize| &file[lines[from].start..lines[to - 1].end()];
    let blocks = spec.blocks.iter().map(|block| {
        let start = block.lines.start;
        let whole = part(start, block.lines.end);
        (block.key, whole, part(start, block.content_end))
    });
    blocks.collect()
}

#[test]
fn imp_01_a_block_ends_at_the_next_task_heading_or_end_of_file() {
    assert_eq!(
        blocks("x\n- [ ] 1.1 a\n  b\n- [ ] c\n\n- [x] 1.2 d\n\n### e\n- [ ] V1 f\n\ng"),
        [
            ("1.1", "- [ ] 1.1 a\n  b\n- [ ] c\n\n", "- [ ] 1.1 a\n  b\n- [ ] c\n"),
            ("1.2", "- [x] 1.2 d\n\n", "- [x] 1.2 d\n"),
            ("V1", "- [ ] V1 f\n\ng", "- [ ] V1 f\n\ng"),
        ]
    );
}

#[test]
fn blank_lines_and_rules_at_the_end_are_no_content() {
    let file = "- [ ] 1.1 a\n\n---\n  b\n \n---\n\n* * *\n## c\n";
    let end = "- [ ] 1.1 a\n\n---\n  b\n";
    assert_eq!(blocks(file), [("1.1", file.strip_suffix("## c\n").unwrap(), end)]);
    let fence = "- [ ] 1.1 a\n```\n---\n```\n";
    assert_eq!(blocks(fence), [("1.1", fence, fence)]);
}

#[test]
fn what_is_never_closed_belongs_to_no_block() {
    for tail in ["```\n- [ ] 1.2 b\n\n    ```\n", "<!-- a\n# b", "~~~"] {
        for head in ["- [ ] 1.1 a\n", "- [ ] 1.1 a\n```\n```\n"] {
            let file = format!("{head}\n{tail}");
            assert_eq!(blocks(&file), [("1.1", &*format!("{head}\n"), head)], "{file}");
            let line = head.lines().count() + 1;
            assert_eq!(Spec::of(&file).file.lines.len(), line, "{file}");
        }
    }
    let file = "- [ ] 1.1 a\n## b\n```\n- [ ] 1.2 b\n";
    assert_eq!(blocks(file), [("1.1", "- [ ] 1.1 a\n", "- [ ] 1.1 a\n")]);
}

#[test]
fn imp_01_task_lines() {
    for (line, found) in [
        ("- [ ] 1.3 A b ", ("1.3", " A b", false)),
        ("- [x] V4:\tA", ("V4", "\tA", true)),
        ("- [X]  VF", ("VF", "", true)),
    ] {
        assert_eq!(task_line(line), Some(found), "{line}");
    }
    for other in [
        " - [ ] 1.3 A",
        "* [ ] 1.3 A",
        "-  [ ] 1.3 A",
        "- [] 1.3 A",
        "- [ ]1.3 A",
        "- [-] 1.3 A",
        "- [ ] A 1.3",
        "- [ ] **1.3** A",
        "- [ ]",
        "- 1.3 A",
        "",
        "- [é] 1.3 A",
    ] {
        assert_eq!(task_line(other), None, "{other}");
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
        let found: Vec<_> = Spec::of(text).blocks.iter().map(|block| block.key).collect();
        assert_eq!(found, keys, "{text}");
    }
}

#[test]
fn imp_02_what_looks_like_a_spec() {
    assert!(!Spec::of("# a\n\n- [x] V4 b").is_empty());
    assert!(!Spec::of("\u{feff}- [ ] 12-01 a\r\n").is_empty());
    for text in ["", "- [ ] a", "  - [ ] 1.1 a", "```\n- [ ] 1.1 a\n```"] {
        assert!(Spec::of(text).is_empty(), "{text}");
    }
}

#[test]
fn rci_01_a_task_is_found_by_its_whole_key() {
    let text = "é\n- [ ] 1.30 a\n- [ ] 1.3.1 b\n- [X] 1.3: c\n  d\n\n# e\n";
    let spec = Spec::of(text);
    assert_eq!(spec.marks()["1.3"], text.find('X').unwrap());
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
fn imp_02_what_a_person_may_take_for_a_task() {
    for line in [
        "- [ ] **1.3** a",
        "- [x] **1.3 a**",
        "* [ ] 1.3 a",
        "- [] 1.3 a",
        "- [-] 1.3 a",
        "- [ ]1.3 a",
        "- [ ] Task 1.3: a",
        "- [ ] `1.3` a",
        "-  [ ] 1.3 a",
        "- [ ] 1.3) a",
    ] {
        assert_eq!(nearly_a_task(line), Some("1.3"), "{line}");
    }
    for line in ["- [ ] a", "- [link] 1.3", "1.3 a", "- 1.3 a", "- [ ] 3. a", "- [ ] 1.3x", "- [ ]", ""] {
        assert_eq!(nearly_a_task(line), None, "{line}");
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
