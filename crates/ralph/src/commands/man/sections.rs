//! The sections that no help text has: exit status, files, environment, examples, where to read on.

use clap_mangen::roff::{Roff, bold, italic, roman};
use ralph_core::exit::RunExit;

/// What stands where, of a project.
const FILES: [(&str, &str); 8] = [
    (
        ".ralph.toml",
        "Settings, read from the working directory or the nearest directory above it.",
    ),
    (
        ".ralph/progress.db",
        "The plan and the history of all attempts (SQLite).",
    ),
    (
        ".ralph/logs/",
        "The raw output of every attempt, readable only by its owner.",
    ),
    (".ralph/STATE.md", "The state of the current or last run."),
    (
        ".ralph/templates/",
        "Prompt templates that replace the built-in ones.",
    ),
    (
        ".ralph/specs/",
        "Documents that every prompt tells the agent to read.",
    ),
    (
        "AGENTS.md",
        "Failures and learnings, for people and agents.",
    ),
    (
        "tasks.md, .progress.md, .ralph-state.json",
        "An imported spec, its log and its state.",
    ),
];

/// Variables that Ralph reads, and those it gives to agents.
const ENVIRONMENT: [(&str, &str); 5] = [
    (
        "RALPH_SET_SECTION_KEY",
        "Overrides a setting of .ralph.toml: RALPH_SET_RUN_MAX_ATTEMPTS=3 sets max_attempts in [run].",
    ),
    ("NO_COLOR", "Disables colors."),
    (
        "CLICOLOR_FORCE",
        "Enables colors even if the output is not a terminal, unless it is 0.",
    ),
    (
        "RALPH_TASK_ID, RALPH_TASK_KEY, RALPH_ATTEMPT, RALPH_MODEL, RALPH_RUN_ID, RALPH_PROJECT",
        "Set for agents and the processes they start. If RALPH_RUN_ID is set, ralph run refuses to start. Inside an attempt \
         only commands that read are allowed, regardless of the environment.",
    ),
    (
        "ANTHROPIC_API_KEY and similar",
        "Agents inherit the whole environment, including their credentials. ralph doctor shows which ones it finds.",
    ),
];

const EXAMPLES: [(&str, &str); 6] = [
    ("ralph demo", "See a complete run in a scratch project."),
    ("ralph init", "Create a project in this directory."),
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
        "Show the progress of the plan, and all attempts.",
    ),
    (
        "ralph doctor",
        "Check whether a run would work, and how to fix what would not.",
    ),
];

const RUN_EXAMPLES: [(&str, &str); 4] = [
    ("ralph run", "Run all remaining tasks."),
    ("ralph run 1.2 --once", "Make one attempt at one task."),
    (
        "ralph run --strategy adaptive --value-usd 8",
        "Choose models by their recorded results.",
    ),
    (
        "ralph run --dry-run",
        "Show the next attempt, and why it would use that model.",
    ),
];

/// The sections that follow a page's options.
pub fn of(page: &str) -> Roff {
    let mut roff = Roff::default();
    match page {
        "ralph" => {
            let mut exits = RunExit::ALL;
            exits.sort_by_key(|exit| exit.code());
            let words =
                "Exit codes of ralph run. Other commands use 0, 1, 2 and 3 with the same meaning.";
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
                ("0", "a run would work; there may be warnings"),
                ("1", "a run would fail"),
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
