//! The examples of seed 002 and of the format, as they stand.

use super::*;

const FORMAT: &str = "\
# Tasks: my-feature
## Phase 1: Make It Work (POC)
- [ ] 1.1 [P] Create the module
  - **Do**:
    1. First step
    2. Second step
  - **Files**: src/a.ts, `src/b.ts`
  - **Done when**: It compiles
  - **Verify**: `pnpm test`
  - **Commit**: `feat(x): add module`
  - _Requirements: FR-1, AC-1.2_
  - _Design: Component A_
- [ ] V1 [VERIFY] Quality checkpoint: `pnpm lint`
- [x] 1.2.1 [FIX 1.2] Fix: foo
";

#[test]
fn imp_03_the_format_is_read() {
    let draft = draft(FORMAT);
    let mark_of = |line: usize| {
        let before: usize = FORMAT.split_inclusive('\n').take(line - 1).map(str::len).sum();
        Some(before + 3..before + 4)
    };
    let created = DraftTask {
        name: "1.1".into(),
        named_by_author: true,
        title: "Create the module".into(),
        description: "1. First step\n2. Second step\n\nRequirements: FR-1, AC-1.2\nDesign: Component A"
            .into(),
        phase: Some("1".into()),
        verify: Some("pnpm test".into()),
        files: vec!["src/a.ts".into(), "src/b.ts".into()],
        done_when: Some("It compiles".into()),
        commit: Some("feat(x): add module".into()),
        markers: vec!["P".into()],
        line: 3,
        mark: mark_of(3),
        ..DraftTask::default()
    };
    let checked = DraftTask {
        name: "V1".into(),
        named_by_author: true,
        title: "Quality checkpoint: `pnpm lint`".into(),
        phase: Some("1".into()),
        after: vec!["1.1".into()],
        verify: Some("pnpm lint".into()),
        markers: vec!["VERIFY".into()],
        line: 13,
        mark: mark_of(13),
        ..DraftTask::default()
    };
    let fix = DraftTask {
        name: "1.2.1".into(),
        named_by_author: true,
        title: "Fix: foo".into(),
        phase: Some("1".into()),
        after: vec!["V1".into()],
        markers: vec!["FIX 1.2".into()],
        done: true,
        line: 14,
        mark: mark_of(14),
        ..DraftTask::default()
    };
    assert_eq!(draft.tasks, [created, checked, fix]);
    let note = "[FIX 1.2] names no task in this file: Ralph treats 1.2.1 as an ordinary task";
    assert_eq!(notes(FORMAT), [(14, note.to_owned())]);
}

const ORIGINAL: &str = "\
- [ ] 1.3 Add failure parser
  - **Do**: Add parsing logic to implement.md
  - **Files**: plugins/ralph-specum/commands/implement.md
  - **Done when**: Parser extracts error details
  - **Verify**: grep -q \"Parse Failure\" implement.md
  - **Commit**: feat(coordinator): add failure parser
";

#[test]
fn imp_03_the_seeds_original_is_read() {
    let original = first(ORIGINAL);
    assert_eq!(original.description, "Add parsing logic to implement.md");
    assert_eq!(original.files, ["plugins/ralph-specum/commands/implement.md"]);
    assert_eq!(original.done_when.unwrap(), "Parser extracts error details");
    assert_eq!(original.verify.unwrap(), "grep -q \"Parse Failure\" implement.md");
    assert_eq!(original.commit.unwrap(), "feat(coordinator): add failure parser");
}

const GENERATED: &str = "\
- [ ] 1.3.1 [FIX 1.3] Fix: File not found: src/parser.ts
  - **Do**: Address the error: File not found: src/parser.ts
    1. Analyze the failure: Checked alternate paths
    2. Review related code in Files list
    3. Implement fix for: File not found: src/parser.ts
  - **Files**: plugins/ralph-specum/commands/implement.md
  - **Done when**: Error \"File not found: src/parser.ts\" no longer occurs
  - **Verify**: grep -q \"Parse Failure\" implement.md
  - **Commit**: `fix(recovery): address missing file from task 1.3`";

#[test]
fn rcg_06_the_seeds_fix_task_is_read() {
    let original = first(ORIGINAL);
    let error = "File not found: src/parser.ts";
    let fix = DraftTask {
        name: "1.3.1".into(),
        title: format!("Fix: {error}"),
        description: format!(
            "Address the error: {error}\n1. Analyze the failure: Checked alternate paths\n\
             2. Review related code in Files list\n3. Implement fix for: {error}"
        ),
        files: original.files,
        done_when: Some(format!("Error \"{error}\" no longer occurs")),
        verify: original.verify,
        commit: Some("fix(recovery): address missing file from task 1.3".into()),
        fix_of: Some("1.3".into()),
        ..DraftTask::default()
    };
    let read = draft(&format!("{ORIGINAL}\n{GENERATED}\n"));
    let read = read.tasks.iter().find(|task| task.name == "1.3.1").unwrap();
    assert_eq!(
        (&read.title, &read.description, &read.files, &read.done_when, &read.verify, &read.commit),
        (&fix.title, &fix.description, &fix.files, &fix.done_when, &fix.verify, &fix.commit)
    );
    assert_eq!(read.fix_of, fix.fix_of);
}

const BEFORE: &str = "\
- [ ] 1.3 Add failure parser
  - **Do**: Add parsing logic
  - **Files**: implement.md
  - **Verify**: grep pattern
  - **Commit**: feat: add parser

- [ ] 1.4 Next task
";

const INSERTED: &str = "\
- [ ] 1.3.1 [FIX 1.3] Fix: File not found error
  - **Do**: Address the error: File not found
    1. Analyze the failure: Checked alternate paths
    2. Review related code in Files list
    3. Implement fix for: File not found
  - **Files**: implement.md
  - **Done when**: Error \"File not found\" no longer occurs
  - **Verify**: grep pattern
  - **Commit**: `fix(recovery): address missing file from task 1.3`";

#[test]
fn rci_03_the_seeds_insertion() {
    let after = insert_after(BEFORE, "1.3", INSERTED).unwrap();
    let (head, tail) = BEFORE.split_once("- [ ] 1.4").unwrap();
    assert_eq!(after, format!("{head}{INSERTED}\n\n- [ ] 1.4{tail}"));
    assert_eq!(order(&after), ["1.3<1.3.1", "1.3.1<", "1.4<1.3"]);
    let crlf = |text: &str| text.replace('\n', "\r\n");
    assert_eq!(insert_after(&crlf(BEFORE), "1.3", INSERTED).unwrap(), crlf(&after));
    // The task may be ticked already.
    let done = mark(BEFORE, &[("1.3", true)]);
    assert_eq!(insert_after(&done, "1.3", INSERTED).unwrap(), mark(&after, &[("1.3", true)]));
}

#[test]
fn rci_02_the_seeds_nested_fixes() {
    let mut text = BEFORE.to_owned();
    for (of, key) in [("1.3", "1.3.1"), ("1.3.1", "1.3.1.1"), ("1.3", "1.3.2")] {
        text = insert_after(&text, of, &format!("- [ ] {key} [FIX {of}] Fix: it")).unwrap();
    }
    assert_eq!(order(&text), ["1.3<1.3.1,1.3.2", "1.3.1<1.3.1.1", "1.3.1.1<", "1.3.2<", "1.4<1.3"]);
}

/// The example of a finished spec in the seed's progress file.
#[test]
fn imp_06_ticked_tasks_are_done() {
    let text = "## Completed Tasks\n- [x] 1.1 Task A - abc123\n- [x] 1.2 Task B - def456\n";
    let done: Vec<_> = draft(text).tasks.iter().map(|task| task.done).collect();
    assert_eq!(done, [true, true]);
}
