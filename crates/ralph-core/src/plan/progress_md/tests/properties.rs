//! What holds for any log and any news.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Lines that mean something, alone or together.
const LINES: [&str; 50] = [
    "",
    "",
    "",
    "",
    " ",
    "text",
    "  text",
    "    text",
    "\ttext",
    "- a",
    "* b",
    "- a ",
    "-",
    "- ",
    " - a",
    "  - a",
    "- - -",
    "***",
    "---",
    "===",
    "  ---",
    "1. a",
    "2) a",
    "> a",
    "# H",
    "## H",
    "  ## H",
    "### H",
    "## Completed Tasks",
    "## Completed Tasks",
    "## completed tasks: ##",
    "  ## Completed Tasks",
    "## Current Task",
    "## Current Task",
    "   ## Current Task",
    "## Fix Task History",
    "## Fix Task History",
    "## Learnings",
    "## Learnings",
    "  ## Learnings",
    "- [x] 1.1 A - abc123",
    "- [x] 1.2 B",
    "* [ ] 1.1",
    "- [x] **1.3**: C",
    "- Task 1.1: 1 fix attempted (1.1.1) - Final: FAIL",
    "- Task 1.2: old",
    "```",
    "  ```",
    "<!--",
    "-->",
];

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        30 => select(&LINES[..]).prop_map(str::to_owned),
        1 => "[ \t`~#*+=<>!|-]{0,6}",
        1 => r"\PC{0,8}",
    ]
}

fn file() -> impl Strategy<Value = String> {
    let end = prop_oneof![8 => Just("\n"), 3 => Just("\r\n"), 1 => Just("\r\r\n"), 1 => Just("\r")];
    let lines = vec((line(), end), 0..20);
    (option::weighted(0.1, Just("\u{feff}")), lines, line()).prop_map(|(mark, lines, last)| {
        let lines = lines.iter().map(|(line, end)| format!("{line}{end}"));
        mark.unwrap_or_default().to_owned() + &lines.collect::<String>() + &last
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => select(vec!["a", "b", "A - abc123", "text", "1. a", "--"]).prop_map(str::to_owned),
        1 => vec(line(), 1..4).prop_map(|lines| lines.join("\n")),
        1 => any::<String>(),
    ]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => select(vec!["1.1", "1.2", "1.3", "1.1.1", "V4"]).prop_map(str::to_owned),
        1 => text(),
    ]
}

prop_compose! {
    fn task()(key in key(), title in text(), commit in option::of(text())) -> Completed {
        Completed { key, title, commit }
    }
}

prop_compose! {
    fn fix()(
        key in key(),
        fixes in vec(key(), 0..3),
        end in select(vec![FinalState::Pass, MAX_LIMIT]),
    ) -> FixHistory {
        FixHistory { key, fixes, end }
    }
}

prop_compose! {
    fn news()(
        completed in vec(task(), 0..4),
        current in option::of(text()),
        fix_history in vec(fix(), 0..3),
        learnings in vec(text(), 0..3),
    ) -> News {
        News { completed, current, fix_history, learnings }
    }
}

/// The lines of a file without their ends, which the last one may lack.
fn lines(file: &str) -> Vec<&str> {
    let lines = file.trim_start_matches('\u{feff}').split_inclusive('\n');
    lines.map(|line| line.strip_suffix('\n').unwrap_or(line)).collect()
}

/// Whether all these lines stand in the others, in the same order.
fn stand_in(part: &[&str], whole: &[&str]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|line| whole.any(|other| other == line))
}

/// The same where one of the lines may be missing.
fn all_but_one_stand_in(part: &[&str], whole: &[&str]) -> bool {
    (0..part.len()).any(|at| {
        let (before, after) = part.split_at(at);
        stand_in(&[before, &after[1..]].concat(), whole)
    })
}

/// The headings of a file, as Markdown has them.
fn headings(file: &str) -> Vec<String> {
    let lines = crate::markdown::Lines::of(file).lines;
    let headings = lines.iter().filter(|line| matches!(line.kind, Kind::Heading(_)));
    headings.map(|line| line.text.to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn rch_03_the_same_news_again_change_nothing(file in file(), news in news()) {
        let once = update(&file, &news);
        prop_assert_eq!(update(&once, &news), once);
    }

    #[test]
    fn rch_03_no_text_breaks_anything(file in any::<String>(), news in news()) {
        let once = update(&file, &news);
        prop_assert_eq!(update(&once, &news), once);
    }

    #[test]
    fn rch_03_learnings_only_add_lines(file in file(), learnings in vec(text(), 0..4)) {
        let before = (finished(&file), super::learnings(&file));
        let updated = update(&file, &News { learnings, ..News::default() });
        // The last line may have got a line end, of which `\r` is part.
        let trimmed = |file| {
            let lines = lines(file).into_iter().map(|line| line.trim_end_matches('\r'));
            lines.collect::<Vec<_>>()
        };
        prop_assert!(stand_in(&trimmed(&file), &trimmed(&updated)));
        prop_assert_eq!(finished(&updated), before.0);
        let after = super::learnings(&updated);
        prop_assert!(before.1.iter().all(|learning| after.contains(learning)));
    }

    #[test]
    fn rch_03_other_lines_stay_as_they_were(file in file(), news in news()) {
        let updated = update(&file, &news);
        let is_own = |line: &&str| ["[x]", "[ ]", "Task "].iter().any(|own| line.contains(own));
        let mut other = lines(&file);
        other.pop();
        other.retain(|line| !is_own(line));
        let updated_lines = lines(&updated);
        // The first line of Current Task may be another one.
        let is_other = news.current.is_some() && all_but_one_stand_in(&other, &updated_lines);
        prop_assert!(is_other || stand_in(&other, &updated_lines));
        let (before, after) = (headings(&file), headings(&updated));
        let before: Vec<&str> = before.iter().map(String::as_str).collect();
        let after: Vec<&str> = after.iter().map(String::as_str).collect();
        prop_assert!(stand_in(&before, &after));
        prop_assert!(after.len() <= before.len() + 5);
    }

    #[test]
    fn rch_04_what_was_told_is_read_back(file in file(), news in news()) {
        let updated = update(&file, &news);
        let written = finished(&updated);
        for (at, task) in news.completed.iter().enumerate() {
            let Some(entry) = Entry::completed(task) else { continue };
            let later = &news.completed[at + 1..];
            let is_newest = later.iter().all(|other| written_key(&other.key) != entry.key);
            if is_newest && entry.replaces {
                prop_assert!(written.contains(&flat(&entry.text)));
            }
        }
        let learned = super::learnings(&updated);
        for learning in &news.learnings {
            let text = flat(learning);
            prop_assert!(text.is_empty() || learned.contains(&text));
        }
    }

    #[test]
    fn rch_03_no_news_leave_the_file_alone(file in file()) {
        prop_assert_eq!(update(&file, &News::default()), file);
    }
}
