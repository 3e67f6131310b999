//! The sections that no help text has: exit status, files, environment, examples, where to read on.

use clap_mangen::roff::{Roff, bold, italic, roman};
use ralph_core::exit::RunExit;

/// What stands where, of a project.
const FILES: [(&str, &str); 8] = [
    (
        ".ralph.toml",
        "Settings; found by walking up from the working directory.",
    ),
    (
        ".ralph/progress.db",
        "The plan and all that was recorded (SQLite).",
    ),
    (
        ".ralph/logs/",
        "The raw output of every attempt, for its owner alone to read.",
    ),
    (".ralph/STATE.md", "Where the run stands."),
    (
        ".ralph/templates/",
        "Texts of prompts that replace the built-in ones.",
    ),
    (".ralph/specs/", "Documents that agents are told to read."),
    (
        "AGENTS.md",
        "What failed and what was learnt, for people and agents.",
    ),
    (
        "tasks.md, .progress.md, .ralph-state.json",
        "An imported spec, its log and where it stands.",
    ),
];

/// Variables that Ralph reads, and those it gives to agents.
const ENVIRONMENT: [(&str, &str); 5] = [
    (
        "RALPH_SET_SECTION_KEY",
        "A setting that wins over .ralph.toml: RALPH_SET_RUN_MAX_ATTEMPTS=3 for max_attempts under [run].",
    ),
    ("NO_COLOR", "No colours, in a terminal either."),
    (
        "CLICOLOR_FORCE",
        "Colours also where the output is no terminal, if it is not 0.",
    ),
    (
        "RALPH_TASK_ID, RALPH_TASK_KEY, RALPH_ATTEMPT, RALPH_MODEL, RALPH_RUN_ID, RALPH_PROJECT",
        "Set for agents and whatever they start. Where RALPH_RUN_ID is set, ralph run is refused. Inside an attempt only \
         reading commands work, whatever the environment.",
    ),
    (
        "ANTHROPIC_API_KEY and the like",
        "Agents inherit the whole environment, and so their credentials; ralph doctor says which are seen.",
    ),
];

const EXAMPLES: [(&str, &str); 6] = [
    ("ralph demo", "See a complete run in a scratch project."),
    ("ralph init", "Make this directory a project."),
    (
        "ralph task add \"Parse dates\" --key 1.1 --verify \"cargo test dates\"",
        "Add a task with its gate.",
    ),
    (
        "ralph run",
        "Run agents over the plan until every task is done.",
    ),
    (
        "ralph status; ralph history",
        "See where the plan stands, and every attempt.",
    ),
    (
        "ralph doctor",
        "See whether a run would work, and what mends what would not.",
    ),
];

const RUN_EXAMPLES: [(&str, &str); 4] = [
    ("ralph run", "Everything that is left."),
    ("ralph run 1.2 --once", "One attempt at one task."),
    (
        "ralph run --strategy adaptive --value-usd 8",
        "Models by what was learnt of them.",
    ),
    (
        "ralph run --dry-run",
        "What would be tried next, and why with that model.",
    ),
];

/// The sections that follow a page's options.
pub fn of(page: &str) -> Roff {
    let mut roff = Roff::default();
    match page {
        "ralph" => {
            let mut exits = RunExit::ALL;
            exits.sort_by_key(|exit| exit.code());
            let words = "Of ralph run. Other commands use 0, 1, 2 and 3 alike.";
            exits_of_runs(&mut roff, words, &exits);
            list(&mut roff, "FILES", &FILES);
            list(&mut roff, "ENVIRONMENT", &ENVIRONMENT);
            list(&mut roff, "EXAMPLES", &EXAMPLES);
        }
        "ralph-run" => {
            exits_of_runs(&mut roff, "The first that applies:", &RunExit::ALL);
            list(&mut roff, "EXAMPLES", &RUN_EXAMPLES);
            see_also(&mut roff);
        }
        "ralph-doctor" => {
            let exits = [
                ("0", "nothing would stop a run; there may be warnings"),
                ("1", "something would stop a run"),
            ];
            list(&mut roff, "EXIT STATUS", &exits);
            see_also(&mut roff);
        }
        _ => see_also(&mut roff),
    }
    roff
}

fn exits_of_runs(roff: &mut Roff, words: &str, exits: &[RunExit]) {
    roff.control("SH", ["EXIT STATUS"]);
    roff.text([roman(words)]);
    for exit in exits {
        item(roff, &exit.code().to_string(), exit.meaning());
    }
}

fn list(roff: &mut Roff, title: &str, items: &[(&str, &str)]) {
    roff.control("SH", [title]);
    for (name, text) in items {
        item(roff, name, text);
    }
}

fn item(roff: &mut Roff, name: &str, text: &str) {
    roff.control("TP", []);
    roff.text([bold(name)]);
    roff.text([roman(text)]);
}

fn see_also(roff: &mut Roff) {
    roff.control("SH", ["SEE ALSO"]);
    roff.text([italic("ralph"), roman("(1)")]);
}
