use super::*;
use proptest::prelude::*;

fn steps(file: &str) -> (Vec<Step>, usize) {
    let mut problems = Vec::new();
    let tags = Tags::of(file);
    let tasks = tags.within(0..file.len(), &mut problems);
    let mut steps = Vec::new();
    for task in tasks.iter().filter(|element| element.name == "task") {
        let parts = tags.within(task.range.clone(), &mut problems);
        steps.push(Step::read(task, &parts, &|word| word == "npm"));
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
    assert_eq!((step.task.line, step.task.title.as_str()), (2, "Add **it**"));
    assert_eq!(step.task.files, ["a.rs", "b.rs"]);
    assert_eq!(step.task.description, "Read first: - c.rs\n\nDo it.\n  Well.\n\nDone when: It works");
    assert_eq!(
        (step.task.verify.as_deref(), step.task.done_when.as_deref()),
        (Some("npm test"), Some("It works"))
    );
    assert!(step.notes.is_empty());
}

#[test]
fn checks_in_words_go_to_done_when() {
    let step = step("<task><name>a</name><verify>Page shows</verify><done>b</done></task>");
    assert_eq!((step.task.verify, step.task.done_when.as_deref()), (None, Some("b\n\nPage shows")));
    assert_eq!(step.notes.len(), 1);
}

#[test]
fn checkpoints_are_for_people() {
    let title = |file: &str| {
        let step = step(file);
        assert!(step.notes[0].contains("a person"), "{file}");
        step.task.title
    };
    let of = |kind: &str, inner: &str| {
        title(&format!("<task type=\"checkpoint:{kind}\" gate=\"blocking\">{inner}</task>"))
    };
    assert_eq!(of("human-verify", "<what-built>The page. More.</what-built>"), "Checkpoint: The page");
    assert_eq!(of("decision", "<decision>Which one?</decision>"), "Checkpoint: Which one?");
    assert_eq!(of("human-action", "<name>Task 3: CHECKPOINT: key</name>"), "Checkpoint: key");
    assert_eq!(of("human-verify", ""), "Checkpoint: human verify");
}

#[test]
fn titles_have_to_come_from_somewhere() {
    assert_eq!(step("<task><action>Do it. Well.</action></task>").task.title, "Do it");
    assert_eq!(step("<task><name>Task 1: A. B.</name></task>").task.title, "A. B.");
    assert_eq!(step("<task name=\"x\"></task>").task.title, "x");
    assert_eq!(step("<task id=\"a-1\" title=\"y\"></task>").task.title, "y");
    assert_eq!(step("<task><description>Do it. Well.</description></task>").task.title, "Do it");
    assert_eq!(step("<task></task>").task.title, "");
}

#[test]
fn paths_without_remarks() {
    assert_eq!(
        files("a.rs, src/{b,c}.rs,\n- `d/e` (new, big)\n f — old"),
        ["a.rs", "src/{b,c}.rs", "d/e", "f"]
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

fn check(content: &str) -> (Option<String>, String) {
    let Check { command, words, .. } = Check::of(content, &|word| word == "npm");
    (command, words)
}

fn pair(command: Option<&str>, words: &str) -> (Option<String>, String) {
    (command.map(str::to_owned), words.to_owned())
}

#[test]
fn automated_checks_are_commands() {
    assert_eq!(check("\n  <automated>foo -x</automated>\n"), pair(Some("foo -x"), ""));
    let two = "<automated>a</automated>\n<automated>b &amp;&amp; c</automated>\n<manual>Look.</manual>";
    assert_eq!(check(two), pair(Some("a && b && c"), "Look."));
    assert_eq!(check("<automated>\n  a\n  b\n</automated>"), pair(Some("set -e\na\nb"), ""));
    assert_eq!(check("<automated>`a`</automated>"), pair(Some("a"), ""));
}

#[test]
fn missing_ones_are_words() {
    let text = "MISSING — Wave 0 must create tests/a.py first";
    assert_eq!(check(&format!("<automated>{text}</automated>")), pair(None, text));
    assert_eq!(check("<automated></automated>"), pair(None, ""));
    assert_eq!(check("<automated>a"), pair(None, "<automated>a"));
}

#[test]
fn other_checks_are_commands_only_alone() {
    assert_eq!(check("npm test passes"), pair(Some("npm test"), ""));
    assert_eq!(check("\nnpm test\nLook at it.\n"), pair(None, "npm test\nLook at it."));
    assert_eq!(check("Page shows"), pair(None, "Page shows"));
}

proptest! {
    #[test]
    fn checks_never_panic(text in any::<String>(), near in "(<automated>|</automated>|a|\n|&amp;| |é){0,20}") {
        let _ = (check(&text), check(&near));
    }
}

#[test]
fn titles_are_first_sentences() {
    let title = |text| title_of(text).unwrap_or_default();
    assert_eq!(title("\n  Build the\n  parser. Then rest.\n"), "Build the parser");
    assert_eq!(title("Build it\nPurpose: because.\n"), "Build it");
    assert_eq!(title("Build it\n**Purpose:** because.\n"), "Build it");
    assert_eq!(title("Build:\n- a\n- b"), "Build");
    assert_eq!(title("- a\n- b"), "a");
    assert_eq!(title("word ".repeat(40).as_str()).chars().count(), 100);
    assert_eq!(title_of("\n \n"), None);
}

#[test]
fn numbers_go() {
    assert_eq!(without_number("Task 1: Do it"), "Do it");
    assert_eq!(without_number("Plan 5.2: Do: it"), "Do: it");
    assert_eq!(without_number("Task 2b — Do it"), "Do it");
    assert_eq!(without_number("Task list: do it"), "Task list: do it");
    assert_eq!(without_number("Task 1:"), "Task 1:");
}

#[test]
fn headings_stand_for_elements() {
    let found =
        Body::of("# Plan 5.2: Tips\n## Objective\nDo it.\n\nWell.\n## Context\n- a\n## Tasks\n<task>", 0)
            .headed();
    assert_eq!(found.title.as_deref(), Some("Tips"));
    assert_eq!((found.objective.as_str(), found.context.as_str()), ("Do it.\n\nWell.", "- a"));
}

#[test]
fn comments_in_code_are_no_headings() {
    assert_eq!(Body::of("```sh\n# Objective\nx\n```\n", 0).headed().title, None);
}

proptest! {
    #[test]
    fn prose_never_panics(text in any::<String>(), near in "[# TaskPlan1:—\n.-]{0,40}") {
        for text in [text, near] {
            let _ = (Body::of(&text, 0).headed(), without_number(&text));
            prop_assert!(title_of(&text).is_none_or(|title| title.chars().count() <= 100));
        }
    }
}
