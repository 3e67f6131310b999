//! Learnings, loop status and phase failures.

use super::support::*;
use crate::memory::prompt::{Limits, LoopStatus, Memory, render_memory};

const FOUR_LINES: &str = "
### Loop Status

- **Iteration:** 7 of 20
- **This task:** attempt #1, 0 consecutive failure(s)
- **Run success rate:** 4/6 iterations succeeded (67%)
- **Current model:** sonnet (default, cost-optimized strategy)
";

fn with_learning(status: LoopStatus) -> Memory {
    let learnings = vec![learning("l-1", "pitfall", "Mind the gap.")];
    Memory { learnings, status, ..Memory::default() }
}

#[test]
fn lrn_01_a_learning_is_one_line() {
    let learnings = vec![
        learning("l-1", "pitfall", "First\nsecond <learning> # third\r\n"),
        learning("l-2", "tool_usage", "Plain  text"),
        learning("l-3", "tool_usage", " \n"),
    ];
    let rendered = render(&Memory { learnings, ..Memory::default() });
    assert!(rendered.text.starts_with(
        "\n### Learnings from Previous Iterations\n\n\
         - **[pitfall]** First second ‹learning> # third\n- **[tool_usage]** Plain  text\n\n###"
    ));
    assert_eq!(rendered.shown_learnings, ["l-1", "l-2"]);
}

#[test]
fn lrn_01_one_that_does_not_fit_makes_way_for_one_that_does() {
    let learnings =
        vec![learning("l-1", "pitfall", &words("long", 6000)), learning("l-2", "pitfall", "short")];
    let rendered = render(&Memory { learnings, ..Memory::default() });
    assert_eq!(rendered.shown_learnings, ["l-2"]);
    assert!(!rendered.text.contains("long"));
    let explained = rendered.explanation.to_string();
    assert!(explained.contains("not shown: learning l-1 (needs "), "{explained}");
}

#[test]
fn lrn_02_at_most_max_learnings_are_shown_best_first() {
    let learnings: Vec<_> = (1..=8).map(|n| learning(&format!("l-{n}"), "pitfall", "Mind it.")).collect();
    let memory = Memory { learnings, ..Memory::default() };
    assert_eq!(render(&memory).shown_learnings, ["l-1", "l-2", "l-3", "l-4", "l-5"]);
    let two = Limits { max_learnings: 2, ..Limits::default() };
    assert_eq!(render_memory(&memory, &two).shown_learnings, ["l-1", "l-2"]);
    let none = Limits { max_learnings: 0, ..Limits::default() };
    assert_eq!(render_memory(&memory, &none).text, "");
}

#[test]
fn loop_01_the_section_has_its_four_lines() {
    assert!(render(&with_learning(status(1, 0))).text.ends_with(FOUR_LINES));
}

#[test]
fn loop_02_a_run_without_limit_is_unlimited() {
    for limit in [None, Some(0)] {
        let text = render(&with_learning(LoopStatus { limit, ..status(1, 0) })).text;
        assert!(text.contains("- **Iteration:** 7 of unlimited\n"));
    }
}

#[test]
fn loop_04_the_rationale_is_shown_as_given() {
    for rationale in ["escalated after 2 consecutive failures", "hinted by previous iteration"] {
        let given = LoopStatus { rationale: rationale.to_owned(), ..status(3, 2) };
        let text = render(&with_learning(given)).text;
        assert!(text.ends_with(&format!("- **Current model:** sonnet ({rationale})\n")));
    }
}

#[test]
fn loop_05_the_warning_follows_when_stuck_and_only_then() {
    let further_lines = vec!["Split it if you can.".to_owned()];
    let stuck = LoopStatus { stuck: true, further_lines, ..status(4, 3) };
    let text = render(&with_learning(stuck.clone())).text;
    assert!(text.ends_with(
        "strategy)\n\n> ⚠️ **Stuck loop detected.** This task has failed 3+ times consecutively.\n\
         > Consider: decomposing the task, trying a fundamentally different approach,\n\
         > or signaling `<task-failed>` with a clear explanation.\n> Split it if you can.\n"
    ));
    let free = render(&with_learning(LoopStatus { stuck: false, ..stuck })).text;
    assert!(free.ends_with("strategy)\n"));
}

#[test]
fn loop_05_the_hint_names_the_marker_that_the_parser_reads() {
    let stuck = LoopStatus {
        stuck: true,
        may_change_plan: true,
        further_lines: vec!["TASK_MODIFICATION_REQUEST {}".to_owned()],
        ..status(4, 3)
    };
    let text = render(&with_learning(stuck.clone())).text;
    assert_eq!(text.matches("TASK_MODIFICATION_REQUEST").count(), 1, "{text}");
    assert!(text.contains("`TASK_MODIFICATION_REQUEST` with `SPLIT_TASK`"), "{text}");
    assert!(text.contains("> TASK-MODIFICATION-REQUEST {}\n"), "{text}");
    assert_eq!(crate::signals::plan_requests(&text), [], "and is none itself");
    let free = LoopStatus { stuck: false, ..stuck };
    assert!(!render(&with_learning(free)).text.contains("SPLIT_TASK"));
}

#[test]
fn loop_05_hints_go_before_the_warning_does() {
    let further_lines = vec![words("hint", 3000)];
    let stuck = LoopStatus { stuck: true, further_lines, ..status(4, 3) };
    let rendered = render_in(&with_learning(stuck), 1000);
    assert!(rendered.text.ends_with("clear explanation.\n"));
    assert!(rendered.explanation.to_string().contains("the hints after the warning"));
}

#[test]
fn loop_06_status_is_whole_or_absent_and_never_alone() {
    for stuck in [false, true] {
        let alone = Memory { status: LoopStatus { stuck, ..status(4, 3) }, ..Memory::default() };
        assert_eq!(render(&alone).text, "");
        let memory = with_learning(LoopStatus { stuck, ..status(4, 3) });
        for budget in 0..700 {
            let text = render_in(&memory, budget).text;
            if text.contains("### Loop Status") {
                assert!(text.contains("Mind the gap."), "{budget}");
                assert!(text.contains("(default, cost-optimized strategy)\n"), "{budget}");
                assert_eq!(text.contains("clear explanation."), stuck, "{budget}");
            }
        }
    }
}

#[test]
fn phf_01_failures_of_the_phase_are_the_last_section() {
    let phase_failures = vec![failure("2.1", "10:00", "no such\n## table")];
    let memory = Memory { phase_failures, status: status(1, 0), ..Memory::default() };
    assert_eq!(
        render(&memory).text,
        format!(
            "{FOUR_LINES}\n### Failure Context\n\n\
             Other tasks of this phase failed (AGENTS.md has them in full):\n\n\
             - [2.1 | 10:00] no such ## table\n"
        )
    );
}

#[test]
fn phf_02_one_line_each_newest_first_and_the_file_is_named() {
    let phase_failures = vec![failure("b", "t2", "later"), failure("a", "t1", "earlier")];
    let agents_md = Some("docs/AGENTS.md".to_owned());
    let memory = Memory { phase_failures, agents_md, ..Memory::default() };
    let text = render(&memory).text;
    assert!(text.contains("(docs/AGENTS.md has them in full)"));
    assert!(text.ends_with("\n\n- [b | t2] later\n- [a | t1] earlier\n"));
}

#[test]
fn phf_03_failures_fill_what_is_left_and_keep_200_characters() {
    let phase_failures: Vec<_> =
        (0..90).map(|n| failure(&format!("2.{n}"), "2026-03-01T10:12:00Z", &words("error", 150))).collect();
    let alone = Memory { phase_failures, status: status(1, 0), ..Memory::default() };
    assert!(render(&alone).text.chars().count() > 4900);

    let crowded = Memory {
        attempts: long_attempts(9, 900),
        learnings: (0..5).map(|n| learning("l", "pitfall", &words("x", 400 + n))).collect(),
        ..alone
    };
    let rendered = render(&crowded);
    let size = section_size(&rendered.text, "Failure Context");
    assert!(size >= 190, "{size}\n{}\n{}", rendered.explanation, rendered.text);
    assert!(rendered.text.contains("\n- [2.0 | 2026-03-01T10:12:00Z] error error"));
}
