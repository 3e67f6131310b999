//! What one attempt found out, as the model of the next one reads it.

use serde_json::{Value, json};

use crate::model_server::{Reply, Request};
use crate::stage::{Stage, assigned, text_of, user_text};
use crate::support::Project;

const ATTEMPTS: &str = "### Previous Attempts";
const LEARNINGS: &str = "### Learnings from Previous Iterations";
const STATUS: &str = "### Loop Status";

/// The lexer is done and found out something about the parser's file.
const LEXER: &str = "The lexer splits its input.\n\n\
    <learning category=\"pitfall\" tags=\"parser, src/parser.rs\">\n\
    src/parser.rs is generated: change src/parser.rs.in,\nor the next build undoes it.\n\
    </learning>\n";

/// The banner is done and found out something that is nobody else's business.
const BANNER: &str = "The banner is blue.\n\n\
    <learning category=\"tool_usage\" tags=\"banner, assets/banner.svg\">\
    Edit assets/banner.svg in Inkscape; others drop its gradients.</learning>\n";

/// The parser fails with everything a failure can tell.
const FAILURE: &str = "It does not parse yet.\n\n\
    <failure-report>\n\
    what_tried: Recursive descent with one token of lookahead\n\
    why_failed: Left recursion: `expr` calls itself before it reads a token\n\
    error_category: logic_error\n\
    relevant_files: src/parser.rs, src/grammar.rs\n\
    stack_trace: thread 'main' has overflowed its stack\n\
    \x20   at parser::expr (src/parser.rs:12)\n\
    \x20   at parser::expr (src/parser.rs:12)\n\
    </failure-report>\n\n\
    <retry-suggestion>\nParse by precedence climbing.\nStart with `term`.\n</retry-suggestion>\n";

/// The memory part of the retry's prompt.
const REMEMBERED: &str = "### Previous Attempts

This task has been attempted 1 time(s) before. **Do not repeat these approaches.**

#### Attempt 1 (sonnet, failed)

- **Approach:** Recursive descent with one token of lookahead
- **Why it failed:** Left recursion: `expr` calls itself before it reads a token
- **Error type:** logic_error
- **Files involved:** src/parser.rs, src/grammar.rs
- **Error output:**
  ```
  thread 'main' has overflowed its stack
      at parser::expr (src/parser.rs:12)
      at parser::expr (src/parser.rs:12)
  ```

**Suggested approach for this retry:**
Parse by precedence climbing.
Start with `term`.

### Learnings from Previous Iterations

- **[pitfall]** src/parser.rs is generated: change src/parser.rs.in, or the next build undoes it.

### Loop Status

- **Iteration:** 4 of unlimited
- **This task:** attempt #2, 1 consecutive failure(s)
- **Run success rate:** 2/3 iterations succeeded (67%)
- **Current model:** sonnet (default, cost-optimized strategy)
";

/// Two tasks that are done at once, then the parser, which needs a second attempt.
fn played() -> Stage {
    let project = Project::new();
    project.add(&["Split the input", "-d", "Write the lexer."]);
    project.add(&["Paint the banner", "-d", "It is to be blue."]);
    let stage = Stage::of(project, answer);
    stage.run(0);
    stage
}

fn answer(request: &Request) -> Reply {
    let id = assigned(request);
    Reply::text(match request.session {
        1 => format!("{LEXER}<task-done>{id}</task-done>"),
        2 => format!("{BANNER}<task-done>{id}</task-done>"),
        3 => format!("{FAILURE}<task-failed>{id}</task-failed>"),
        _ => format!("It parses.\n\n<task-done>{id}</task-done>"),
    })
}

#[test]
fn ctx_03_lrn_08_a_retry_reads_report_suggestion_learning_and_status_in_this_order() {
    let stage = played();
    let requests = stage.model.requests();
    let prompts: Vec<String> = requests.iter().map(user_text).collect();
    let [lexer, banner, parser, retry] = prompts.as_slice() else {
        panic!("{} requests", prompts.len());
    };
    assert!(retry.contains(REMEMBERED), "{retry}");
    let stored = "SELECT count(*) FROM learnings WHERE content LIKE '%Inkscape%'";
    assert_eq!(stage.number(stored), 1);
    // The agent reads AGENTS.md by itself, before what Ralph tells it; there all learnings stand.
    let (read, told) = retry.split_once("## Assigned Task").unwrap();
    assert!(read.contains("Inkscape"), "{retry}");
    assert!(!told.contains("Inkscape"), "{retry}");

    // A first attempt has no failures to read of, but what another task learned.
    let learnt = REMEMBERED.split_once(LEARNINGS).unwrap().1;
    let learnt = learnt.split_once(STATUS).unwrap().0;
    assert!(parser.contains(&format!("\n\n{LEARNINGS}{learnt}{STATUS}\n")));
    assert!(!parser.contains(ATTEMPTS), "{parser}");
    for plain in [lexer, banner] {
        for title in [ATTEMPTS, LEARNINGS, STATUS] {
            assert!(!plain.contains(title), "{title}: {plain}");
        }
    }
    for request in &requests {
        documents_memory_signals(&text_of(&request["system"]));
    }
}

/// SIG-08
#[track_caller]
fn documents_memory_signals(system: &str) {
    for part in [
        "### Memory signals",
        "All of these are optional",
        "<failure-report>\n    what_tried: ",
        "<retry-suggestion>...</retry-suggestion>",
        "<learning category=\"...\" tags=\"...\">...</learning>",
        "<difficulty-estimate>trivial|easy|moderate|hard|blocked</difficulty-estimate>",
    ] {
        assert!(system.contains(part), "{part}: {system}");
    }
}

#[test]
fn life_01_history_names_the_learning_each_prompt_showed() {
    let stage = played();
    let learnt = "SELECT id FROM learnings WHERE category = 'pitfall'";
    let learnt = stage.maybe_text(learnt).unwrap();
    let history = stage.project.history();
    let outcomes: Vec<&Value> = history.iter().map(|attempt| &attempt["outcome"]).collect();
    assert_eq!(outcomes, ["done", "done", "failed", "done"]);
    let shown = history.iter().map(|attempt| &attempt["learnings_shown"]);
    let (nothing, it) = (json!([]), json!([learnt]));
    assert_eq!(shown.collect::<Vec<_>>(), [&nothing, &nothing, &it, &it],);
    // A task judges a learning once, by its last attempt.
    let record = "SELECT printf('shown %d, helpful %d, harmful %d', shown, helpful, harmful) \
        FROM learnings WHERE category = 'pitfall'";
    assert_eq!(stage.maybe_text(record).as_deref(), Some("shown 2, helpful 1, harmful 0"));
}
