//! The order of plans and what they wait for.

use super::{GsdFiles, draft, file, names, problems, small, task, with_roadmap};
use crate::plan::graph::CYCLE;

#[test]
fn phases_go_by_number_without_a_roadmap() {
    let files = small(&[
        ("10-a/10-01-PLAN.md", "wave: 1"),
        ("02.1-c/02.1-01-PLAN.md", "wave: 1"),
        ("03-d/03-01-PLAN.md", "wave: 1"),
        ("02-b/02-02-PLAN.md", "wave: 1"),
        ("02-b/02-01-PLAN.md", "wave: 2"),
    ]);
    assert_eq!(names(&draft(&files)), ["02-02", "02-01", "02.1-01", "03-01", "10-01"]);
}

#[test]
fn phases_go_as_the_roadmap_has_them() {
    let plans = ["01", "02", "02.1", "03", "04"].map(|phase| format!("{phase}-01-PLAN.md"));
    let plans: Vec<_> = plans.iter().map(|path| (path.as_str(), "wave: 1")).collect();
    let files = with_roadmap(small(&plans), "### Phase 3: a\n### Phase 2: b\n### Phase 1: c\n");
    assert_eq!(names(&draft(&files)), ["03-01", "04-01", "02-01", "02.1-01", "01-01"]);
}

#[test]
fn waves_and_phases_wait_for_those_before() {
    let files = small(&[
        ("01-01-PLAN.md", "wave: 1"),
        ("01-02-PLAN.md", "wave: 1"),
        ("01-03-PLAN.md", "wave: 3"),
        ("01-04-PLAN.md", "wave: 4\ndepends_on: [\"01\"]"),
        ("02-01-PLAN.md", "wave: 2"),
        ("02-02-PLAN.md", "plan: 02\ndepends_on:\n  - 01-01-slug-words\nwave: 2"),
        ("02-03-PLAN.md", "wave: 3"),
    ]);
    let draft = draft(&files);
    let after = |name: &str| task(&draft, name).after.join(" ");
    assert_eq!(after("01-01"), "");
    assert_eq!(after("01-03"), "01-01 01-02");
    assert_eq!(after("01-04"), "01-01 01-03");
    assert_eq!(after("02-01"), "01-01 01-02 01-03 01-04");
    assert_eq!(after("02-02"), "01-01 01-02 01-03 01-04");
    assert_eq!(after("02-03"), "02-01 02-02");
}

#[test]
fn the_first_part_waits_for_what_its_plan_waits_for() {
    let body = "<objective>a</objective><task><name>a</name></task><task><name>b</name></task>";
    let plans = vec![file("01-01-PLAN.md", "wave: 1", body), file("02-01-PLAN.md", "wave: 1", body)];
    let draft = draft(&GsdFiles { plans, ..GsdFiles::default() });
    assert_eq!(task(&draft, "01-01/1").after, [""; 0]);
    assert_eq!(task(&draft, "02-01").after, ["01-01"]);
    assert_eq!(task(&draft, "02-01/1").after, ["01-01"]);
    assert_eq!(task(&draft, "02-01/2").after, ["02-01/1"]);
}

#[test]
fn plans_are_named_in_many_ways() {
    for (name, after) in [
        ("03-01", "03-01"),
        ("3-1", "03-01"),
        ("03-01-PLAN.md", "03-01"),
        (".planning/phases/03-a/03-01-SUMMARY.md", "03-01"),
        ("Plan 03-01", "03-01"),
        ("03-01-api-layer", "03-01"),
        ("02", "05-02"),
        ("Phase 3", "03-01 03-02"),
        ("phase-03-slug", "03-01 03-02"),
        ("03-auth", "03-01 03-02"),
        ("03", "03-01 03-02"),
        ("none", ""),
    ] {
        let front = format!("wave: 1\ndepends_on: [\"{name}\", \"{name}\"]");
        let draft = draft(&small(&[
            ("05-01-PLAN.md", front.as_str()),
            ("05-02-PLAN.md", "wave: 1"),
            ("04-01-PLAN.md", "wave: 1"),
            ("03-01-PLAN.md", "wave: 1"),
            ("03-02-PLAN.md", "wave: 1"),
        ]));
        let after: Vec<&str> = after.split_whitespace().chain(["04-01"]).collect();
        assert_eq!(task(&draft, "05-01").after, after, "{name}");
    }
}

#[test]
fn what_is_done_and_gone_is_no_problem() {
    let files = small(&[("04-01-PLAN.md", "wave: 1\ndepends_on: [01-01, 02-05, phase-03, 03-slug]")]);
    let files = GsdFiles { finished: vec!["01-01".to_owned()], ..files };
    let draft = draft(&with_roadmap(files, "- [x] Phase 3: a\n- [x] 02-05: b\n"));
    assert_eq!((draft.tasks[0].after.len(), draft.notes.len()), (0, 4));
}

#[test]
fn of_cycles_the_earlier_plan_does_not_wait() {
    let draft = draft(&small(&[
        ("01-01-PLAN.md", "wave: 1\ndepends_on: [01-02]"),
        ("01-02-PLAN.md", "wave: 2\ndepends_on: [01-01]"),
        ("02-01-PLAN.md", "wave: 1\ndepends_on: [02-01]"),
    ]));
    let told = draft.notes.iter().filter(|note| note.text == CYCLE);
    let told: Vec<_> = told.map(|note| (note.path.as_deref().unwrap(), note.line)).collect();
    assert_eq!(told, [("01-01-PLAN.md", 3), ("02-01-PLAN.md", 3)]);
    assert_eq!(draft.tasks[1].after, ["01-01"]);
}

#[test]
fn waves_and_phases_never_contradict_what_a_plan_names() {
    let draft = draft(&small(&[
        ("01-01-PLAN.md", "wave: 1\ndepends_on: [01-02]"),
        ("01-02-PLAN.md", "wave: 2\ndepends_on: [02-01]"),
        ("01-03-PLAN.md", "wave: 1\ndepends_on: [09-09]"),
        ("02-01-PLAN.md", "wave: 1"),
    ]));
    let after = |name| task(&draft, name).after.join(",");
    assert_eq!((after("01-01"), after("01-02")), ("01-02".to_owned(), "02-01".to_owned()));
    assert_eq!((after("01-03"), after("02-01")), (String::new(), String::new()));
    assert!(draft.notes[0].text.contains("09-09"));
}

#[test]
fn there_is_an_end_to_plans() {
    let plan = |at: usize| file(&format!("{at:04}-1-PLAN.md"), "wave: 1", "<objective>a</objective>");
    let files = GsdFiles { plans: (0..2001).map(plan).collect(), ..GsdFiles::default() };
    assert_eq!(problems(&files).len(), 1);
}
