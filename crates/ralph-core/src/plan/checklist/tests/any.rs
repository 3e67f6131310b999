//! What holds for any file.

use super::super::read;
use super::tasks;
use proptest::prelude::*;

fn line() -> impl Strategy<Value = String> {
    let start = prop::sample::select(vec![
        "- [ ] ",
        "- [x] ",
        "* [ ] ",
        "1. [X] ",
        "- ",
        "",
        "# ",
        "## Phase ",
        "```",
        "<!-- ",
        "~~~",
        "After: ",
        "- Verify: ",
        "Files: ",
        "-->",
        "- [~] ",
    ]);
    let words = prop::sample::select(vec!["T1 a", "T2: b", "1.3 c", "a", "`x`", "**b**", "T1, T2", ""]);
    (0usize..6, start, words)
        .prop_map(|(columns, start, words)| format!("{}{start}{words}\n", " ".repeat(columns)))
}

proptest! {
    #[test]
    fn never_panics(text in any::<String>()) {
        let _ = read(&text, &|_| true);
    }

    #[test]
    fn drafts_hold_together(lines in prop::collection::vec(line(), 0..24)) {
        let file: String = lines.concat();
        match read(&file, &|_| true) {
            Ok(draft) => {
                let names: std::collections::HashSet<_> =
                    draft.tasks.iter().map(|task| &task.name).collect();
                prop_assert_eq!(names.len(), draft.tasks.len());
                for task in &draft.tasks {
                    prop_assert!(!task.title.is_empty() && !task.title.contains('\n'));
                    prop_assert!(task.parent.iter().chain(&task.after).all(|name| names.contains(name)));
                }
                prop_assert!(draft.tasks.is_sorted_by_key(|task| task.line));
            }
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                prop_assert!(problems.is_sorted_by_key(|problem| problem.line));
                prop_assert!(problems.iter().all(|problem| problem.line >= 1));
            }
        }
    }

    #[test]
    fn names_outlive_ticks_and_moves(
        items in prop::collection::vec(("[a-c]{1,2}", prop::collection::vec("[a-c]{1,2}", 0..3)), 1..6),
        ticks in any::<u64>(),
        turn in 0usize..6,
    ) {
        let write = |items: &[(String, Vec<String>)], ticks: u64, gap: &str| {
            let mut file = String::new();
            for (at, (title, parts)) in items.iter().enumerate() {
                let mark = if ticks >> at & 1 == 1 { 'x' } else { ' ' };
                file.push_str(&format!("- [{mark}] {title}\n{gap}"));
                for part in parts {
                    file.push_str(&format!("  - [{mark}] {part}\n{gap}"));
                }
            }
            file
        };
        let names = |file: &str| {
            let mut names: Vec<_> = tasks(file).into_iter().map(|task| (task.name, task.title)).collect();
            names.sort();
            names
        };
        // Items with the same title are told apart by their order alone.
        let mut seen = std::collections::HashSet::new();
        let mut items: Vec<_> = items.into_iter().filter(|(title, _)| seen.insert(title.clone())).collect();
        let before = names(&write(&items, 0, ""));
        let turn = turn % items.len();
        items.rotate_left(turn);
        prop_assert_eq!(names(&write(&items, ticks, "\n  text\n\n")), before);
    }
}
