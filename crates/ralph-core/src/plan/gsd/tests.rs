//! Whole directories, and what holds for any files.

mod any;
mod hostile;
mod order;

use super::{FileProblem, GsdFiles, read};
use crate::plan::{Draft, DraftTask};

/// A plan file with this frontmatter and body.
fn file(path: &str, front: &str, body: &str) -> (String, String) {
    (path.to_owned(), format!("---\n{front}\n---\n\n{body}\n"))
}

/// Small plans by path and frontmatter.
fn small(plans: &[(&str, &str)]) -> GsdFiles {
    let plans = plans.iter().map(|(path, front)| file(path, front, "<objective>Do it.</objective>"));
    GsdFiles { plans: plans.collect(), ..GsdFiles::default() }
}

fn with_roadmap(files: GsdFiles, roadmap: &str) -> GsdFiles {
    GsdFiles { roadmap: Some(("ROADMAP.md".to_owned(), roadmap.to_owned())), ..files }
}

fn draft(files: &GsdFiles) -> Draft {
    read(files, &|word| matches!(word, "npm" | "cargo")).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn problems(files: &GsdFiles) -> Vec<FileProblem> {
    read(files, &|_| false).expect_err("problems")
}

fn names(draft: &Draft) -> Vec<&str> {
    draft.tasks.iter().map(|task| task.name.as_str()).collect()
}

fn task<'a>(draft: &'a Draft, name: &str) -> &'a DraftTask {
    draft.tasks.iter().find(|task| task.name == name).expect(name)
}

const BODY: &str = r#"<objective>
Build the parser of all things. It reads.

Purpose: Needed.
</objective>

<execution_context>
@~/.claude/execute-plan.md
</execution_context>

<context>
@.planning/PROJECT.md
@src/a.rs
</context>

<tasks>

<task type="auto">
  <name>Task 1: Write it</name>
  <files>src/a.rs, src/b.rs</files>
  <action>
    Write `a`:
    ```rust
    fn a() -> Vec<u8> { todo }
    ```
  </action>
  <verify>
    <automated>cargo test a</automated>
  </verify>
  <done>Tests pass</done>
</task>

<!-- <task type="auto"><name>No</name></task> -->

<task type="auto">
  <name>Task 2: Show it</name>
  <action>Show it.</action>
  <verify>Page shows it</verify>
</task>

<task type="checkpoint:human-verify" gate="blocking">
  <what-built>The page</what-built>
  <how-to-verify>Visit it</how-to-verify>
</task>

</tasks>

<verification>
- [ ] cargo test
</verification>

<success_criteria>
- It reads
</success_criteria>
"#;

#[test]
fn a_whole_plan() {
    let front = "phase: 01-base\nplan: 02\nwave: 1\ndepends_on: []\nfiles_modified:\n  - src/a.rs";
    let files = GsdFiles { plans: vec![file("p/01-base/01-02-PLAN.md", front, BODY)], ..GsdFiles::default() };
    let draft = draft(&files);
    assert_eq!(names(&draft), ["01-02", "01-02/1", "01-02/2", "01-02/3"]);
    let plan = DraftTask {
        name: "01-02".to_owned(),
        named_by_author: true,
        title: "Build the parser of all things".to_owned(),
        description: "Build the parser of all things. It reads.\n\nPurpose: Needed.\n\n\
            Context:\n@.planning/PROJECT.md\n@src/a.rs"
            .to_owned(),
        phase: Some("01".to_owned()),
        files: vec!["src/a.rs".to_owned()],
        done_when: Some("- It reads\n\n- [ ] cargo test".to_owned()),
        line: 10,
        ..DraftTask::default()
    };
    assert_eq!(draft.tasks[0], plan);
    let first = DraftTask {
        name: "01-02/1".to_owned(),
        named_by_author: true,
        title: "Write it".to_owned(),
        description: "Write `a`:\n```rust\nfn a() -> Vec<u8> { todo }\n```\n\nDone when: Tests pass"
            .to_owned(),
        phase: Some("01".to_owned()),
        parent: Some("01-02".to_owned()),
        verify: Some("cargo test a".to_owned()),
        files: vec!["src/a.rs".to_owned(), "src/b.rs".to_owned()],
        done_when: Some("Tests pass".to_owned()),
        line: 27,
        ..DraftTask::default()
    };
    assert_eq!(draft.tasks[1], first);
    assert_eq!(draft.tasks[2].after, ["01-02/1"]);
    assert_eq!(draft.tasks[3].title, "Checkpoint: The page");
    let notes: Vec<_> = draft
        .notes
        .iter()
        .map(|note| (note.line, note.path.as_ref().unwrap().ends_with("01-02-PLAN.md")))
        .collect();
    assert_eq!(notes, [(58, true), (44, true), (50, true)]);
}

#[test]
fn a_plan_without_tasks_is_one_task() {
    let body = "<objective>Do it.</objective>\n<feature>\n  <name>x</name>\n</feature>\n<verification>npm test</verification>";
    let files = GsdFiles { plans: vec![file("01-01-PLAN.md", "type: tdd", body)], ..GsdFiles::default() };
    let draft = draft(&files);
    assert_eq!(names(&draft), ["01-01"]);
    assert_eq!(draft.tasks[0].description, "Do it.\n\nFeature: <name>x</name>");
    assert_eq!(draft.tasks[0].verify.as_deref(), Some("npm test"));
}

#[test]
fn titles_come_from_the_roadmap_or_a_heading_too() {
    let body = "# Plan 1.1: Head\n<task><name>a</name></task>";
    let plans = ["01-01-PLAN.md", "01-02-PLAN.md"].map(|path| file(path, "wave: 1", body));
    let files = GsdFiles { plans: plans.to_vec(), ..GsdFiles::default() };
    let draft = draft(&with_roadmap(files, "- [ ] 01-01-PLAN.md — Road\n"));
    assert_eq!(task(&draft, "01-01").title, "Road");
    assert_eq!(task(&draft, "01-02").title, "Head");
}

#[test]
fn plans_in_markdown_are_read_too() {
    let body = "# Plan 5.2: Tips\n\n## Objective\nAdd tips. Many.\n\n## Tasks\n\n<task type=\"auto\">\n<name>a</name>\n</task>\n";
    let files = GsdFiles {
        plans: vec![file(".gsd/phases/5/2-PLAN.md", "phase: 5\nplan: 2", body)],
        ..GsdFiles::default()
    };
    let draft = draft(&files);
    assert_eq!(names(&draft), ["5-2", "5-2/1"]);
    assert_eq!(draft.tasks[0].title, "Add tips");
}

#[test]
fn finished_plans_are_done_with_their_parts() {
    let body = "<objective>a</objective><task><name>a</name></task>";
    let plans = ["01-01", "01-02", "01-03"].map(|id| file(&format!("{id}-PLAN.md"), "wave: 1", body));
    let files = GsdFiles {
        plans: plans.to_vec(),
        finished: vec!["1-01".to_owned(), "09-09".to_owned()],
        ..GsdFiles::default()
    };
    let draft =
        draft(&with_roadmap(files, "- [x] **Phase 1: a**\n- [x] 01-02-PLAN.md\n- [ ] 01-03-PLAN.md\n"));
    let done: Vec<bool> = draft.tasks.iter().map(|task| task.done).collect();
    assert_eq!(done, [true, true, true, true, false, false]);
    assert_eq!(draft.notes[0].path.as_deref(), Some("01-03-PLAN.md"));
    assert!(draft.notes[0].text.contains("its phase is checked off"));
}

#[test]
fn finished_plans_are_done_whatever_they_look_like() {
    let plans = vec![
        file("01-01-PLAN.md", "wave: 1", "<objective>never closed"),
        file("01-02-PLAN.md", "status: complete", "## Tasks\n### Task 1: a\nb\n"),
        ("02-01-PLAN.md".to_owned(), "# Plan\n**Status:** Complete\n\n## Tasks\n### 1. a\nb\n".to_owned()),
        ("02-02-PLAN.md".to_owned(), "# Plan\n## Tasks\n### 1. a\n- [x] b\n".to_owned()),
        file("03-01-PLAN.md", "wave: 1", "<objective>a</objective>"),
    ];
    let files = GsdFiles { plans, finished: vec!["x/01-01".to_owned()], ..GsdFiles::default() };
    let draft = draft(&with_roadmap(files, "- [x] Phase 3: a\n"));
    assert!(draft.tasks.iter().all(|task| task.done), "{draft:?}");
    assert_eq!(draft.notes, []);
    assert_eq!(names(&draft), ["01-01", "01-02", "01-02/1", "02-01", "02-01/1", "02-02", "02-02/1", "03-01"]);
}

#[test]
fn plans_in_plain_markdown_have_their_tasks_under_headings() {
    let body = "# Plan 19-01: Launcher\n\n## Goal\nLaunch it.\n\n## Tasks\n\n### 1. Create `A`\n```\n# no heading\n```\n\
        - **Verify:** `npm test`\n\n#### Why\nBecause.\n\n### Task 2 — Use it\nLook.\n- **Verify:** look again\n\n## Done\n- [ ] all\n";
    let files =
        GsdFiles { plans: vec![("19-01-PLAN.md".to_owned(), body.to_owned())], ..GsdFiles::default() };
    let draft = draft(&files);
    let found: Vec<_> = draft
        .tasks
        .iter()
        .map(|task| (task.name.as_str(), task.title.as_str(), task.verify.as_deref()))
        .collect();
    assert_eq!(
        found,
        [
            ("19-01", "Launch it", None),
            ("19-01/1", "Create `A`", Some("npm test")),
            ("19-01/2", "Use it", None)
        ]
    );
    assert!(draft.tasks[1].description.ends_with("#### Why\nBecause."));
    assert_eq!(draft.tasks[2].after, ["19-01/1"]);
    let lines: Vec<_> = draft.notes.iter().map(|note| note.line).collect();
    assert_eq!(lines, [22, 17]);
}

#[test]
fn boxes_of_the_roadmap_that_stay_open_are_noted() {
    let person = "<objective>a</objective><task type=\"checkpoint:human-verify\"><name>a</name></task>\n<task><name>b</name></task>";
    let plans = vec![
        file("01-01-PLAN.md", "wave: 1", "<objective>a</objective>"),
        file("02-01-PLAN.md", "wave: 1", person),
        file("02-02-PLAN.md", "wave: 2", "<objective>a</objective>"),
    ];
    let files = GsdFiles { plans, ..GsdFiles::default() };
    let roadmap = "- [ ] Phase 1: a\n- [ ] Phase 2: b\n- [ ] Phase 3: c\n- [ ] 01-01\n- [ ] 02-01\n- [ ] 02-02\n- [ ] 02-03\n- [ ] d\n## Phase 4\n";
    let draft = draft(&with_roadmap(files, roadmap));
    let lines: Vec<_> = draft
        .notes
        .iter()
        .filter(|note| note.path.as_deref() == Some("ROADMAP.md"))
        .map(|note| note.line)
        .collect();
    assert_eq!(lines, [2, 3, 5, 6, 7, 8, 9]);
    let person: Vec<_> =
        draft.tasks.iter().filter(|task| task.for_person).map(|task| task.name.as_str()).collect();
    assert_eq!(person, ["02-01/1"]);
}

#[test]
fn no_plans_are_told() {
    let draft = draft(&GsdFiles::default());
    assert_eq!((draft.tasks.len(), draft.notes.len()), (0, 1));
}

#[test]
fn a_malformed_plan_keeps_no_other_from_being_read() {
    let plans = vec![
        file("a/01-01-PLAN.md", "wave: 1", "# Do it\n<task>\n<name>a\n</task>"),
        file("a/1-1-PLAN.md", "wave: 2", "<objective>Twice</objective>"),
        ("a/01-03-PLAN.md".to_owned(), "---\nwave: 1\nDo that.\n".to_owned()),
        file("a/01-04-PLAN.md", "wave: 1", "\n"),
        file("a/01-05-PLAN.md", "wave: 1", "<task type=\"checkpoint:decision\">"),
        file("a/x y-PLAN.md", "wave: 1", "<objective>a</objective>\n- [ ] box"),
        file("b-01/02-01-PLAN.md", "wave: one\ndepends_on: [01-01]", "<objective>a"),
        file("b-01/02-02-PLAN.md", "wave: one", "<task><name>Good</name></task>"),
    ];
    let finished = vec!["a/1-1".to_owned()];
    let draft = draft(&GsdFiles { plans, finished, ..GsdFiles::default() });
    let notes = draft.notes.iter().map(|note| {
        let path = note.path.as_deref().unwrap_or_default();
        let end = note.text.rsplit("; ").next().unwrap_or_default();
        (path, note.line, end)
    });
    let whole = "the agent gets the whole plan as one task";
    assert_eq!(
        notes.collect::<Vec<_>>(),
        [
            ("a/01-01-PLAN.md", 7, whole),
            ("a/1-1-PLAN.md", 1, "Ralph calls this one 1-1#2"),
            ("a/01-03-PLAN.md", 1, whole),
            ("a/01-04-PLAN.md", 4, "Ralph leaves it out"),
            ("a/01-05-PLAN.md", 5, whole),
            ("a/x y-PLAN.md", 1, "Ralph leaves it out"),
            ("a/x y-PLAN.md", 6, "Ralph leaves this file out"),
            ("b-01/02-01-PLAN.md", 6, whole),
            ("b-01/02-01-PLAN.md", 2, "Ralph takes it as the first"),
            ("b-01/02-02-PLAN.md", 2, "Ralph takes it as the first"),
        ]
    );
    let of = |name: &str| task(&draft, name);
    let description = of("01-01").description.as_str();
    assert_eq!(description, "# Do it\n<task>\n<name>a\n</task>");
    // The summary is beside the second plan of this number.
    assert_eq!((of("01-01").done, of("1-1#2").done), (false, true));
    assert_eq!((of("01-05").for_person, of("01-03").for_person), (true, false));
    assert_eq!((of("01-03").title.as_str(), of("02-02/1").title.as_str()), ("Plan 01-03", "Good"));
    assert!(of("02-01").after.contains(&"01-01".to_owned()));
}

#[test]
fn files_of_which_none_is_a_plan_are_refused() {
    let plans = vec![
        file("a/01-04-PLAN.md", "wave: 1", "\n"),
        file("a/x y-PLAN.md", "wave: 1", "<objective>a</objective>"),
    ];
    let found = problems(&GsdFiles { plans, ..GsdFiles::default() });
    let places: Vec<_> = found.iter().map(|problem| (problem.path.as_str(), problem.line)).collect();
    assert_eq!(places, [("a/01-04-PLAN.md", 4), ("a/x y-PLAN.md", 1)]);
}
