//! Files made to take long.

use super::super::{GsdFiles, read};
use super::file;

#[test]
fn large_files_take_linear_time() {
    let begun = crate::testing::cpu_time();
    let parts = [
        "<task><name>a</name><files>a.rs, b.rs</files><verify>npm test passes</verify></task>\n",
        "<verify><automated>a</automated></verify>",
        "# Objective\n",
        "<objective>",
        "<!-- -->",
        "word. ",
        "`",
    ];
    for part in parts {
        let body = part.repeat(10_000);
        let front = "- a: [b, 'c]\n".repeat(10_000);
        let plan = format!("<objective>{body}</objective><task>{body}</task>\n{body}");
        let plans = vec![file("01-01-PLAN.md", &front, &plan)];
        let roadmap = Some((String::new(), body));
        let _ = read(&GsdFiles { plans, roadmap, finished: Vec::new() }, &|_| true);
    }
    let front = format!("depends_on: [{}]", "phase-1-x, 09-01, 1, ".repeat(10_000));
    let plans = (1..60).map(|at| file(&format!("01-{at}-PLAN.md"), "wave: 1", "<objective>a</objective>"));
    let plans = plans.chain([file("02-01-PLAN.md", &front, "<objective>a</objective>")]);
    let found = read(&GsdFiles { plans: plans.collect(), ..GsdFiles::default() }, &|_| true);
    assert_eq!(found.unwrap().notes.len() % 10_000, 1);
    assert!((crate::testing::cpu_time() - begun).as_secs() < 40);
}

#[test]
fn many_plans_may_wait_for_many() {
    let begun = crate::testing::cpu_time();
    let plan = |phase: usize, at: usize| {
        file(&format!("{phase}-{at}-PLAN.md"), "wave: 1", "<objective>a</objective>")
    };
    let plans = (0..1000).flat_map(|at| [plan(1, at), plan(2, at)]).collect();
    let draft = read(&GsdFiles { plans, ..GsdFiles::default() }, &|_| true).unwrap();
    assert_eq!(draft.tasks[1999].after.len(), 1000);
    assert!((crate::testing::cpu_time() - begun).as_secs() < 20);
}
