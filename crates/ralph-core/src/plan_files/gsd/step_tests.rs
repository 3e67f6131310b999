use super::super::elements::Tags;
use super::{Step, files, read};
use proptest::prelude::*;

fn steps(file: &str) -> (Vec<Step>, usize) {
    let mut problems = Vec::new();
    let tags = Tags::of(file);
    let tasks = tags.within(0..file.len(), &mut problems);
    let mut steps = Vec::new();
    for task in tasks.iter().filter(|element| element.name == "task") {
        let parts = tags.within(task.range.clone(), &mut problems);
        steps.push(read(task, &parts, &|word| word == "npm"));
    }
    (steps, problems.len())
}

fn step(file: &str) -> Step {
    let (mut steps, problems) = steps(file);
    assert_eq!((steps.len(), problems), (1, 0), "{file}");
    steps.remove(0)
}

#[test]
fn a_whole_task() {
    let step = step(
        "\n<task type=\"auto\" tdd=\"true\">\n  <name>Task 1: Add **it**</name>\n  <files>a.rs, b.rs (new)</files>\n  \
         <read_first>\n    - c.rs\n  </read_first>\n  <action>\n    Do it.\n      Well.\n  </action>\n  \
         <verify><automated>npm test</automated></verify>\n  <done>It works</done>\n</task>\n",
    );
    assert_eq!((step.line, step.title.as_str()), (2, "Add **it**"));
    assert_eq!(step.files, ["a.rs", "b.rs"]);
    assert_eq!(
        step.description,
        "Read first: - c.rs\n\nDo it.\n  Well.\n\nDone when: It works"
    );
    assert_eq!(
        (step.verify.as_deref(), step.done_when.as_deref()),
        (Some("npm test"), Some("It works"))
    );
    assert!(step.notes.is_empty());
}

#[test]
fn checks_in_words_go_to_done_when() {
    let step = step("<task><name>a</name><verify>Page shows</verify><done>b</done></task>");
    assert_eq!(
        (step.verify, step.done_when.as_deref()),
        (None, Some("b\n\nPage shows"))
    );
    assert_eq!(step.notes.len(), 1);
}

#[test]
fn checkpoints_are_for_people() {
    let title = |file: &str| {
        let step = step(file);
        assert!(step.notes[0].contains("a person"), "{file}");
        step.title
    };
    let of = |kind: &str, inner: &str| {
        title(&format!(
            "<task type=\"checkpoint:{kind}\" gate=\"blocking\">{inner}</task>"
        ))
    };
    assert_eq!(
        of("human-verify", "<what-built>The page. More.</what-built>"),
        "Checkpoint: The page"
    );
    assert_eq!(
        of("decision", "<decision>Which one?</decision>"),
        "Checkpoint: Which one?"
    );
    assert_eq!(
        of("human-action", "<name>Task 3: CHECKPOINT: key</name>"),
        "Checkpoint: key"
    );
    assert_eq!(of("human-verify", ""), "Checkpoint: human verify");
}

#[test]
fn titles_have_to_come_from_somewhere() {
    assert_eq!(
        step("<task><action>Do it. Well.</action></task>").title,
        "Do it"
    );
    assert_eq!(
        step("<task><name>Task 1: A. B.</name></task>").title,
        "A. B."
    );
    assert_eq!(step("<task name=\"x\"></task>").title, "x");
    assert_eq!(step("<task></task>").title, "");
}

#[test]
fn paths_without_remarks() {
    assert_eq!(
        files("a.rs, src/{b,c}.rs,\n- `d/e` (new, big)\n f — old"),
        ["a.rs", "src/{b,c}.rs", "d/e"]
    );
    assert_eq!(
        files("Makefile\n`Dockerfile`\nAll the tests\n(none — manual)\nN/A"),
        ["Makefile", "Dockerfile"]
    );
}

proptest! {
    #[test]
    fn never_panics(inner in any::<String>(), near in "(<name>|</name>|<done>|</done>|a|é|\n|,|\\(|`){0,20}") {
        for inner in [inner, near] {
            let _ = (steps(&format!("<task type=\"checkpoint\">{inner}</task>")), files(&inner));
        }
    }
}
