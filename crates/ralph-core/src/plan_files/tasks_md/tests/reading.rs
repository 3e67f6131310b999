//! How a spec is read.

use super::support::*;
use crate::plan_files::Problem;

#[test]
fn imp_01_what_is_a_task() {
    let text =
        "- [ ] a\n  - [ ] 1.1 b\n```\n- [ ] 1.2 c\n```\n- [X] 1.3: d\n  - [ ] 1.4 e\n- [ ] f\n";
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
    let problem = |line, expected: &str| Problem {
        line,
        expected: expected.to_owned(),
    };
    assert_eq!(
        try_draft(text).unwrap_err(),
        [
            problem(2, "task 1.2 has no title, expected `- [ ] 1.2 Title`"),
            problem(3, "task 1.1 has no title, expected `- [ ] 1.1 Title`"),
            problem(
                3,
                "line 3 repeats the key 1.1 of line 1, expected a unique key"
            ),
            problem(
                5,
                "line 5 repeats the key 1.1 of line 1, expected a unique key"
            ),
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
        let problem = Problem {
            line: 1,
            expected: expected.to_owned(),
        };
        assert_eq!(try_draft(text).unwrap_err(), [problem], "{text}");
    }
    let lines = |text: &str| -> Vec<usize> {
        try_draft(text)
            .unwrap_err()
            .iter()
            .map(|problem| problem.line)
            .collect()
    };
    assert_eq!(lines("a\n- [ ] **1.1** b\n\n```\n- [ ] 1.2 c\n"), [1, 2, 4]);
}

#[test]
fn what_may_be_meant_as_tasks_is_noted() {
    assert_eq!(
        notes("- [ ] 1.1 a\n- [ ] **1.2** b\n- [ ] c\n\n<!-- d\n- [ ] 1.3 e\n"),
        [
            (
                2,
                "this checkbox is not a task; a task line is `- [ ] 1.2 Title`".to_owned()
            ),
            (
                5,
                "this block is never closed and hides everything after it".to_owned()
            ),
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
    let text = "- [ ] 1.1 a\n  - **Do**:\n    1. b\n\n    2. c\n  - **Verify**:\n    ```\n    d\n    e\n    ```\n";
    let (unix, dos) = (draft(text), draft(&text.replace('\n', "\r\n")));
    assert_eq!(unix, dos);
    assert_eq!(unix.tasks[0].verify.as_deref(), Some("d\ne"));
    assert_eq!(unix.tasks[0].description, "1. b\n\n2. c");
}

#[test]
fn imp_03_the_gate_of_a_checkpoint_may_stand_in_its_title() {
    let verify = |text: &str| first(text).verify;
    assert_eq!(
        verify("- [ ] V1 [VERIFY] Check: `a` and `b`").unwrap(),
        "a && b"
    );
    assert_eq!(verify("- [ ] V1 [VERIFY:ALL] Check: `a`").unwrap(), "a");
    assert_eq!(
        verify("- [ ] V1 [VERIFY] Check: `a`\n  - **Verify**: `b`").unwrap(),
        "b"
    );
    assert_eq!(
        verify("- [ ] V1 [VERIFY] Check: `a`\n  - **Verify**: See"),
        None
    );
    assert_eq!(verify("- [ ] V1 Check: `a`"), None);
}

#[test]
fn notes_on_gates_name_the_line() {
    let text =
        "x\n- [ ] 1.1 a\n  - **Do**: b\n  - **Verify**:\n    - `pnpm c` says `OK`\n    - d\n";
    assert_eq!(
        notes(text),
        [
            (
                4,
                "Verify \"d\" is not a runnable command: the gate does not include it".to_owned()
            ),
            (
                4,
                "Verify runs \"OK\" as a command, but that program was not found".to_owned()
            ),
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
    let phases: Vec<_> = draft(text)
        .tasks
        .into_iter()
        .map(|task| task.phase)
        .collect();
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
fn fixes_that_mend_nothing_are_ordinary_tasks() {
    let text = "- [ ] 1.1 [FIX 1.2] a\n- [ ] 1.2 [FIX 1.1] b\n- [ ] 1.3 [FIX 1.3] c\n- [ ] 1.4 [FIX 9.9] d\n\
                - [ ] 1.5 [FIX 1.1] e\n";
    assert_eq!(
        order(text),
        ["1.1<1.5", "1.2<1.1", "1.3<1.2", "1.4<1.3", "1.5<"]
    );
    let fix_of: Vec<_> = draft(text)
        .tasks
        .into_iter()
        .map(|task| task.fix_of)
        .collect();
    assert_eq!(fix_of, [None, None, None, None, Some("1.1".to_owned())]);
    let lines: Vec<_> = notes(text).iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 2, 3, 4]);
}
