//! Tests of the readers of streams, and what they share: recorded streams, arbitrary JSON, played processes.

mod claude_stream;
mod codex_stream;
mod fault_table;
mod gemini_stream;
mod launches;
mod opencode_stream;
mod recorded;

use std::cell::RefCell;
use std::fs;
use std::rc::Rc;

use proptest::prelude::*;
use serde_json::Value;

use super::{AgentReport, Ending, Exit, Fault, Launch, Stop};

/// A process that a test plays instead of starting it.
pub(crate) struct Played {
    pub exit: Exit,
    pub stop: Stop,
    pub output: String,
}

type Player = Rc<dyn Fn(&Launch) -> Played>;

thread_local! {
    static PLAYER: RefCell<Option<Player>> = const { RefCell::new(None) };
}

/// While this lives, processes of its thread are played.
pub(crate) struct Playing;

impl Drop for Playing {
    fn drop(&mut self) {
        PLAYER.set(None);
    }
}

/// Plays the processes of this thread, for tests that live through thousands of attempts.
pub(crate) fn play(player: Player) -> Playing {
    PLAYER.set(Some(player));
    Playing
}

pub(super) fn played(launch: &Launch) -> Option<Played> {
    // A played process may itself run others, so the player is not borrowed meanwhile.
    let player = PLAYER.with_borrow(Clone::clone)?;
    Some(player(launch))
}

/// The class of a report's fault, if it is one.
pub(super) fn fault_of(report: &AgentReport) -> Option<Fault> {
    match report.ending {
        Ending::Completed => None,
        Ending::Faulted { fault, .. } => Some(fault),
    }
}

/// The message of a report's fault.
pub(super) fn message_of(report: &AgentReport) -> &str {
    match &report.ending {
        Ending::Completed => "completed",
        Ending::Faulted { message, .. } => message,
    }
}

/// Every recorded stream of a program, by the end of its name; nothing, loudly, where none are at hand.
pub(super) fn recorded(program: &str) -> Vec<(String, String)> {
    let Some(folder) = std::env::var_os("RALPH_AGENT_SAMPLES") else {
        eprintln!("SKIPPED: RALPH_AGENT_SAMPLES names no folder of recorded streams");
        return Vec::new();
    };
    let mut streams = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let case = file.strip_prefix(program).and_then(|rest| rest.strip_prefix('-'));
        if let Some(case) = case.and_then(|name| name.strip_suffix(".jsonl")) {
            streams.push((case.to_owned(), fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(!streams.is_empty(), "no {program}-*.jsonl in the folder");
    streams
}

/// JSON of any shape, with keys and words that a reader looks for.
pub(super) fn json(
    keys: &'static [&'static str],
    words: &'static [&'static str],
) -> impl Strategy<Value = Value> + Clone {
    let key = prop::sample::select(keys);
    let leaf = prop_oneof![
        prop::sample::select(words).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..8).prop_map(|fields| {
                let fields = fields.into_iter();
                fields.map(|(key, value)| (key.to_owned(), value)).collect()
            }),
        ]
    })
}
