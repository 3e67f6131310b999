//! Whole pages, and what holds for any.

mod any;

use super::*;

fn row(iteration: u32, outcome: &str, task: &str, details: &str) -> HistoryRow {
    HistoryRow {
        iteration,
        time: "2026-01-19 22:10:00".into(),
        outcome: outcome.into(),
        task: task.into(),
        details: details.into(),
    }
}

fn typical() -> StateView {
    StateView {
        updated_at: "2026-01-19 22:14:03 UTC".into(),
        project: "demo".into(),
        run: Some(RunView {
            id: "r-12ab".into(),
            status: "running".into(),
            started_at: "2026-01-19 21:00:00 UTC".into(),
            iteration: 7,
            limit: Some(20),
            cost_estimated: false,
            cost_usd: Some(1.234),
        }),
        counts: PlanCounts {
            total: 10,
            done: 3,
            verified: 2,
            already_green: 0,
            reviewed: 0,
            skipped: 1,
            blocked: 1,
            failed: 0,
            pending: 4,
            in_progress: 1,
        },
        under_way: vec![AttemptView {
            task: TaskView { name: "1.2".into(), title: "Parse lists".into() },
            what: "attempt 3 with sonnet".into(),
            since: "2026-01-19 22:13:00 UTC".into(),
        }],
        next: Some(TaskView { name: "1.4".into(), title: "Parse nested lists".into() }),
        breaker: "closed".into(),
        waiting: vec![("1.3".into(), "failed 5 times in a row".into())],
        history: vec![
            row(7, "failed", "1.3", "error: expected `|`, found `||`\n--> a.rs:1:2"),
            row(6, "INTERRUPTED", "1.3", ""),
            row(5, "done", "1.2", "All tests pass."),
        ],
        analysis: Some(vec![
            "Failure Analysis:".into(),
            "  Pattern: 5 of 5: error[E0433]".into(),
            "  Models: sonnet only".into(),
            "  Suggestion: Check recent changes or environment".into(),
        ]),
    }
}

#[test]
fn ana_05_a_typical_page() {
    insta::assert_snapshot!(render(&typical()), @r"
    # Ralph state

    _Ralph generates and overwrites this file: do not edit it. `ralph history` lists every attempt._

    - **Project:** demo
    - **Updated:** 2026-01-19 22:14:03 UTC
    - **Run:** r-12ab: running, started 2026-01-19 21:00:00 UTC, iteration 7 of 20, $1.23
    - **Circuit breaker:** closed
    - **Running:** 1.2: Parse lists, attempt 3 with sonnet, since 2026-01-19 22:13:00 UTC
    - **Next task:** 1.4: Parse nested lists

    ## Progress

    [██████░░░░░░░░░░░░░░] 30% (3 of 10 tasks)

    3 of 10 done (2 verified, 1 unverified) · 1 skipped · 1 blocked · 1 running · 4 waiting

    ## Blocked (needs you)

    - **1.3**: failed 5 times in a row

    ## History

    <!-- HISTORY_START -->
    | # | Time | Outcome | Task | Details |
    |---|---|---|---|---|
    | 7 | 2026-01-19 22:10:00 | FAILURE | 1.3 | error: expected `\|`, found `\|\|` --> a.rs:1:2 |
    | 6 | 2026-01-19 22:10:00 | INTERRUPTED | 1.3 |  |
    | 5 | 2026-01-19 22:10:00 | SUCCESS | 1.2 | All tests pass. |
    <!-- HISTORY_END -->

    ## Failure Analysis

    - Pattern: 5 of 5: error[E0433]
    - Models: sonnet only
    - Suggestion: Check recent changes or environment
    ");
}

#[test]
fn ana_05_an_empty_page() {
    let view = StateView {
        updated_at: "2026-01-19 22:14:03 UTC".into(),
        project: "demo".into(),
        breaker: "closed".into(),
        ..StateView::default()
    };
    insta::assert_snapshot!(render(&view), @"
    # Ralph state

    _Ralph generates and overwrites this file: do not edit it. `ralph history` lists every attempt._

    - **Project:** demo
    - **Updated:** 2026-01-19 22:14:03 UTC
    - **Run:** none yet
    - **Circuit breaker:** closed
    - **Next task:** none: there are no tasks yet

    ## Progress

    [░░░░░░░░░░░░░░░░░░░░] 0% (0 of 0 tasks)

    ## History

    <!-- HISTORY_START -->
    | # | Time | Outcome | Task | Details |
    |---|---|---|---|---|
    <!-- HISTORY_END -->
    ");
}

#[test]
fn ana_05_no_next_task_is_explained() {
    let next = |done: u64| {
        let mut view = typical();
        view.next = None;
        view.counts.done = done;
        let page = render(&view);
        let line = page.lines().find(|line| line.contains("Next task"));
        line.unwrap().to_owned()
    };
    assert_eq!(next(3), "- **Next task:** none is ready");
    assert_eq!(next(9), "- **Next task:** none: nothing left to do");
}

#[test]
fn ana_05_a_run_without_limit_and_cost() {
    let mut view = typical();
    if let Some(run) = &mut view.run {
        run.limit = None;
        run.cost_usd = Some(f64::NAN);
        run.status = "stopped: the circuit breaker is open".into();
    }
    assert!(render(&view).contains(
        "r-12ab: stopped: the circuit breaker is open, started 2026-01-19 21:00:00 UTC, iteration 7\n"
    ));
}

#[test]
fn ana_06_at_most_fifteen_rows_newest_first() {
    let mut view = typical();
    view.history = (1..=40).rev().map(|n| row(n, "failed", "1.1", "x")).collect();
    let page = render(&view);
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.strip_prefix("| ").is_some_and(|l| l.starts_with(char::is_numeric)))
        .collect();
    assert_eq!(rows.len(), 15);
    assert!(rows[0].starts_with("| 40 |") && rows[14].starts_with("| 26 |"));
}

#[test]
fn ana_06_a_row_names_outcome_task_and_error() {
    for outcome in ["failed", "no_sigil", "error", "FAILURE"] {
        let mut view = typical();
        view.history = vec![row(3, outcome, "1.1", "error: a|b")];
        assert!(render(&view).contains(
            "\n| 3 | 2026-01-19 22:10:00 | FAILURE | 1.1 | error: a\\|b |\n<!-- HISTORY_END -->\n"
        ));
    }
}

#[test]
fn ana_06_details_are_cut_between_words() {
    let mut view = typical();
    view.history = vec![row(3, "failed", "1.1", &"word ".repeat(100))];
    let page = render(&view);
    let line = page.lines().find(|line| line.starts_with("| 3 |")).unwrap();
    assert!(line.ends_with(" word word… |"), "{line}");
    assert!(line.chars().count() < 260, "{line}");
}

#[test]
fn ana_04_the_analysis_stands_there_once_and_only_where_there_is_one() {
    assert_eq!(render(&typical()).matches("Failure Analysis").count(), 1);
    for none in [None, Some(vec![]), Some(vec!["Failure Analysis:".into(), " ".into()])] {
        let view = StateView { analysis: none, ..typical() };
        assert!(!render(&view).contains("Failure Analysis"));
    }
}

#[test]
fn many_waiting_tasks_are_counted() {
    let mut view = typical();
    view.waiting = (0..25).map(|n| (format!("t{n}"), "why".into())).collect();
    let page = render(&view);
    assert!(page.contains("- **t19**: why\n- and 5 more\n"));
}

#[test]
fn ana_06_a_hostile_title_ends_nothing() {
    let hostile = "x <!-- HISTORY_END -->\n## Failure Analysis\n| 9 | y";
    let mut view = typical();
    view.next = Some(TaskView { name: hostile.into(), title: hostile.into() });
    view.waiting = vec![(hostile.into(), hostile.into())];
    view.history = vec![row(3, hostile, hostile, hostile)];
    view.analysis = Some(vec![hostile.into(), "# one".into()]);
    let page = render(&view);
    assert_eq!(page.matches("<!-- HISTORY_END -->").count(), 1);
    assert_eq!(page.lines().filter(|l| *l == "## Failure Analysis").count(), 1);
    assert!(page.contains("\n- \\# one\n"));
}

#[test]
fn ana_05_the_bar_has_twenty_cells() {
    assert_eq!(bar(4, 10), "[████████░░░░░░░░░░░░] 40% (4 of 10 tasks)");
    assert_eq!(bar(0, 0), "[░░░░░░░░░░░░░░░░░░░░] 0% (0 of 0 tasks)");
    assert_eq!(bar(1, 1), "[████████████████████] 100% (1 of 1 task)");
}

#[test]
fn ana_05_nearly_done_is_not_done() {
    assert_eq!(bar(999, 1000), "[███████████████████░] 99% (999 of 1000 tasks)");
    assert!(bar(u64::MAX, u64::MAX).contains(" 100% "));
    assert!(bar(9, 3).contains(" 100% (3 of 3 "));
}

#[test]
fn ana_06_bars_are_escaped_for_every_reader() {
    assert_eq!(cell("a|b", 9), r"a\|b");
    assert_eq!(cell(r"a\|b", 9), r"a\\\|b");
    assert_eq!(cell(r"C:\x ||", 9), r"C:\x \|\|");
}

#[test]
fn ana_06_comments_are_not_opened_even_with_hidden_characters() {
    assert_eq!(inline("<\u{0}!-- HISTORY_END --> <<!--", 60), "‹!-- HISTORY_END --> <‹!--");
}

#[test]
fn a_line_of_its_own_is_no_heading() {
    assert_eq!(at_start("## x\n# y", 60), r"\## x # y");
    assert_eq!(at_start("x # y", 60), "x # y");
    assert_eq!(at_start("  ```", 60), r"\```");
}
