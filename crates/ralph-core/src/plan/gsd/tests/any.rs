//! What holds for any files.

use super::super::{GsdFiles, read};
use proptest::prelude::*;

fn any_file() -> impl Strategy<Value = (String, String)> {
    let path = "[0-3]{1,2}-[0-3]{1,2}-PLAN\\.md";
    let front = prop::collection::vec(
        prop::sample::select(vec![
            "wave: 1",
            "wave: 2",
            "depends_on: [01-01]",
            "depends_on: [\"1\", 02-02]",
            "phase: 1",
            "- 01-03",
            "depends_on:",
            "files_modified: [a.rs]",
            "x: [",
            "wave: x",
        ]),
        0..4,
    );
    let body = prop::collection::vec(
        prop::sample::select(vec![
            "<objective>",
            "</objective>",
            "<task type=\"auto\">",
            "</task>",
            "<name>a</name>",
            "text. More",
            "<verify>npm test</verify>",
            "<done>x</done>",
            "```",
            "<!--",
            "-->",
            "<task type=\"checkpoint:x\">",
            "# Plan",
            "## Objective",
            "<action>",
            "</action>",
            "<tasks>",
        ]),
        0..12,
    );
    (path, front, body).prop_map(|(path, front, body)| {
        (path, format!("---\n{}\n---\n{}", front.join("\n"), body.join("\n")))
    })
}

fn a_good_file() -> impl Strategy<Value = (String, String)> {
    ("0[1-3]-0[1-4]-PLAN\\.md", 1u8..4, 0usize..3).prop_map(|(path, wave, tasks)| {
        let tasks = "<task><name>a</name></task>\n".repeat(tasks);
        (path, format!("---\nwave: {wave}\n---\n<objective>Do it.</objective>\n{tasks}"))
    })
}

proptest! {
    #[test]
    fn never_panics(path in any::<String>(), text in any::<String>(), roadmap in any::<String>()) {
        let files = GsdFiles {
            plans: vec![(path.clone(), text.clone()), ("01-01-PLAN.md".to_owned(), text)],
            roadmap: Some((path.clone(), roadmap)),
            finished: vec![path],
        };
        let _ = read(&files, &|_| true);
    }

    #[test]
    fn drafts_hold_together(
        plans in prop_oneof![prop::collection::vec(any_file(), 0..6), prop::collection::vec(a_good_file(), 0..8)],
        roadmap in "(- \\[[ x]\\] Phase [0-3]: a\n|- \\[x\\] 0[1-3]-0[1-3]: a\n){0,4}",
    ) {
        let files = GsdFiles { plans, roadmap: Some((String::new(), roadmap)), finished: Vec::new() };
        match read(&files, &|word| word == "npm") {
            Ok(draft) => {
                let places: std::collections::HashMap<_, _> =
                    draft.tasks.iter().enumerate().map(|(at, task)| (&task.name, at)).collect();
                prop_assert_eq!(places.len(), draft.tasks.len());
                for task in &draft.tasks {
                    prop_assert!(!task.title.is_empty() && !task.title.contains('\n'));
                    prop_assert!(task.parent.iter().chain(&task.after).all(|name| places.contains_key(name)));
                    prop_assert!(crate::plan::key::is_usable(&task.name));
                    // A part waits for the one before it or for all its plan waits for.
                    if let Some(parent) = &task.parent {
                        let is_first = task.name.ends_with("/1");
                        prop_assert!(!is_first || task.after == draft.tasks[places[parent]].after);
                        prop_assert!(is_first || task.after.len() == 1);
                    }
                }
            }
            Err(problems) => {
                prop_assert!(problems.is_sorted());
                prop_assert!(problems.iter().all(|problem| problem.line >= 1));
            }
        }
    }

    #[test]
    fn the_order_of_files_does_not_matter(plans in prop::collection::vec(a_good_file(), 0..8)) {
        let mut seen = std::collections::HashSet::new();
        let mut plans: Vec<_> = plans.into_iter().filter(|(path, _)| seen.insert(path.clone())).collect();
        let of = |plans: &[(String, String)]| {
            read(&GsdFiles { plans: plans.to_vec(), ..GsdFiles::default() }, &|_| true).unwrap()
        };
        let before = of(&plans);
        plans.reverse();
        prop_assert_eq!(of(&plans), before);
    }
}
