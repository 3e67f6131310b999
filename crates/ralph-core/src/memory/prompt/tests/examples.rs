//! The four situations of the specification, section for section, with texts of our own.

use insta::assert_snapshot;

use super::support::*;
use crate::memory::prompt::{LoopStatus, Memory};
use crate::model::ReportRow;

#[test]
fn ctx_04_first_attempt_with_nothing_to_remember_is_the_plain_prompt() {
    let mut task = task("t-f13cf2", "Add a retry queue", "Failed uploads go to `src/queue.rs`.");
    task.parent = parent("Make uploads reliable", "Nothing a user sends may be lost.");
    task.prerequisites = vec![
        done("t-0eb603", "Name the queue's states", Some("Five states, one table")),
        done("t-0dfebf", "Write the upload client", None),
    ];
    task.specs_dir = Some(".ralph/specs".to_owned());
    let memory = Memory { status: status(1, 0), ..Memory::default() };
    assert_snapshot!(prompt(&task, &memory), @"
    ## Assigned Task

    **ID:** t-f13cf2
    **Title:** Add a retry queue

    ### Description
    Failed uploads go to `src/queue.rs`.

    ### Parent Context
    **Parent:** Make uploads reliable
    Nothing a user sends may be lost.

    ### Completed Prerequisites
    - [t-0eb603] Name the queue's states: Five states, one table
    - [t-0dfebf] Write the upload client

    ### Reference Specs
    Read all files in: .ralph/specs
    ");
}

#[test]
fn ctx_05_one_failure_gives_attempts_and_status() {
    let mut task = task("t-76ba69", "Move the settings", "Settings move to the new table.");
    task.prerequisites = vec![done("t-f13cf2", "Add a retry queue", Some("Queue with back-off"))];
    task.specs_dir = Some(".ralph/specs".to_owned());
    let memory = Memory {
        attempts: vec![attempt(
            1,
            "sonnet",
            Some(ReportRow {
                relevant_files: vec!["src/settings.rs".to_owned(), "src/store.rs".to_owned()],
                stack_trace_snippet: Some("error[E0382]: borrow of moved value: `row`\n".to_owned()),
                retry_suggestion: Some("Read the rows first, then write them.".to_owned()),
                ..report("Copied every row in one statement", "A row was used twice", "build_error")
            }),
        )],
        status: LoopStatus { iteration: 6, run_total: 5, ..status(2, 1) },
        ..Memory::default()
    };
    assert_snapshot!(prompt(&task, &memory), @"
    ## Assigned Task

    **ID:** t-76ba69
    **Title:** Move the settings

    ### Description
    Settings move to the new table.

    ### Completed Prerequisites
    - [t-f13cf2] Add a retry queue: Queue with back-off

    ### Reference Specs
    Read all files in: .ralph/specs

    ### Previous Attempts

    This task has been attempted 1 time(s) before. **Do not repeat these approaches.**

    #### Attempt 1 (sonnet, failed)

    - **Approach:** Copied every row in one statement
    - **Why it failed:** A row was used twice
    - **Error type:** build_error
    - **Files involved:** src/settings.rs, src/store.rs
    - **Error output:**
      ```
      error[E0382]: borrow of moved value: `row`
      ```

    **Suggested approach for this retry:**
    Read the rows first, then write them.

    ### Loop Status

    - **Iteration:** 6 of 20
    - **This task:** attempt #2, 1 consecutive failure(s)
    - **Run success rate:** 4/5 iterations succeeded (80%)
    - **Current model:** sonnet (default, cost-optimized strategy)
    ");
}

#[test]
fn ctx_05_three_failures_and_learnings_give_all_three_and_the_warning() {
    let mut task = task("t-84be01", "Check the manual", "Every example in the manual must run.");
    task.specs_dir = Some(".ralph/specs".to_owned());
    let files = vec!["docs/manual.md".to_owned()];
    let memory = Memory {
        attempts: vec![
            attempt(
                1,
                "sonnet",
                Some(ReportRow {
                    relevant_files: files.clone(),
                    ..report("Went through it in one go", "Broke two links", "logic_error")
                }),
            ),
            attempt(2, "sonnet", None),
            attempt(
                3,
                "opus",
                Some(ReportRow {
                    relevant_files: files,
                    stack_trace_snippet: Some("example 4 ... FAILED\n  expected 3, got 4".to_owned()),
                    retry_suggestion: Some("Leave the prose.\nRun example 4 alone.".to_owned()),
                    ..report("Chapter by chapter", "Example 4 prints 4", "test_failure")
                }),
            ),
        ],
        learnings: vec![
            learning("l-1", "success_pattern", "Run an example before editing it."),
            learning("l-2", "pitfall", "The checker skips blocks without a language."),
        ],
        status: LoopStatus {
            iteration: 12,
            run_successes: 6,
            run_total: 11,
            model: "opus".to_owned(),
            rationale: "escalated after 3 consecutive failures".to_owned(),
            stuck: true,
            ..status(4, 3)
        },
        ..Memory::default()
    };
    assert_snapshot!(prompt(&task, &memory), @"
    ## Assigned Task

    **ID:** t-84be01
    **Title:** Check the manual

    ### Description
    Every example in the manual must run.

    ### Reference Specs
    Read all files in: .ralph/specs

    ### Previous Attempts

    This task has been attempted 3 time(s) before. **Do not repeat these approaches.**

    #### Attempt 1 (sonnet, failed)

    - **Approach:** Went through it in one go
    - **Why it failed:** Broke two links
    - **Error type:** logic_error
    - **Files involved:** docs/manual.md

    #### Attempt 2 (sonnet, failed)

    - **Outcome:** failed after 61000ms
    - **No structured failure report was provided.**

    #### Attempt 3 (opus, failed)

    - **Approach:** Chapter by chapter
    - **Why it failed:** Example 4 prints 4
    - **Error type:** test_failure
    - **Files involved:** docs/manual.md
    - **Error output:**
      ```
      example 4 ... FAILED
        expected 3, got 4
      ```

    **Suggested approach for this retry:**
    Leave the prose.
    Run example 4 alone.

    ### Learnings from Previous Iterations

    - **[success_pattern]** Run an example before editing it.
    - **[pitfall]** The checker skips blocks without a language.

    ### Loop Status

    - **Iteration:** 12 of 20
    - **This task:** attempt #4, 3 consecutive failure(s)
    - **Run success rate:** 6/11 iterations succeeded (55%)
    - **Current model:** opus (escalated after 3 consecutive failures)

    > ⚠️ **Stuck loop detected.** This task has failed 3+ times consecutively.
    > Consider: decomposing the task, trying a fundamentally different approach,
    > or signaling `<task-failed>` with a clear explanation.
    ");
}

#[test]
fn ctx_05_learnings_alone_give_learnings_and_status() {
    let mut task = task("t-71b433", "Write the index", "An index of all commands.");
    task.prerequisites = vec![done("t-84be01", "Check the manual", Some("All examples run"))];
    let memory = Memory {
        learnings: vec![
            learning("l-3", "code_structure", "Each command has a file of its own."),
            learning("l-4", "tool_usage", "`just docs` builds the manual alone."),
        ],
        status: LoopStatus { iteration: 8, run_successes: 6, run_total: 7, ..status(1, 0) },
        ..Memory::default()
    };
    assert_snapshot!(prompt(&task, &memory), @"
    ## Assigned Task

    **ID:** t-71b433
    **Title:** Write the index

    ### Description
    An index of all commands.

    ### Completed Prerequisites
    - [t-84be01] Check the manual: All examples run

    ### Learnings from Previous Iterations

    - **[code_structure]** Each command has a file of its own.
    - **[tool_usage]** `just docs` builds the manual alone.

    ### Loop Status

    - **Iteration:** 8 of 20
    - **This task:** attempt #1, 0 consecutive failure(s)
    - **Run success rate:** 6/7 iterations succeeded (86%)
    - **Current model:** sonnet (default, cost-optimized strategy)
    ");
}

#[test]
fn ctx_03_failure_context_comes_last() {
    let memory = Memory {
        attempts: vec![attempt(1, "haiku", None)],
        learnings: vec![learning("l-1", "pitfall", "Ports below 1024 are closed here.")],
        status: status(2, 1),
        phase_failures: vec![
            failure("2.3", "2026-03-01 10:12", "port 80: permission denied"),
            failure("2.1", "2026-03-01 09:40", "cannot find `serve`"),
        ],
        agents_md: None,
    };
    assert_snapshot!(render(&memory).text.trim(), @"
    ### Previous Attempts

    This task has been attempted 1 time(s) before. **Do not repeat these approaches.**

    #### Attempt 1 (haiku, failed)

    - **Outcome:** failed after 61000ms
    - **No structured failure report was provided.**

    ### Learnings from Previous Iterations

    - **[pitfall]** Ports below 1024 are closed here.

    ### Loop Status

    - **Iteration:** 7 of 20
    - **This task:** attempt #2, 1 consecutive failure(s)
    - **Run success rate:** 4/6 iterations succeeded (67%)
    - **Current model:** sonnet (default, cost-optimized strategy)

    ### Failure Context

    Other tasks of this phase failed (AGENTS.md has them in full):

    - [2.3 | 2026-03-01 10:12] port 80: permission denied
    - [2.1 | 2026-03-01 09:40] cannot find `serve`
    ");
}
