//! Hostile texts by the thousand, each checked in full. How to run millions: CONTRIBUTING.md.

mod text;
mod valid;

use std::num::NonZero;
use std::thread;

use fastrand::Rng;

use super::bounds::assert_bounded;
use super::scope;
use crate::signals::{Completion, Promise, Scope, Signals, limits, parse};

pub(super) use text::FRAGMENTS;

/// How many texts a plain test run tries.
const INPUTS: u64 = 50_000;

/// Signals that are read whatever stands before them: nothing can quote them away.
const AT_THE_END: &str = "\n<learning category=\"pitfall\" tags=\"a\">found at the end</learning>\n\
    <task-failed>t-abc123</task-failed>\n";

#[test]
fn sig_05_hostile_texts_are_survived() {
    let first = setting("RALPH_HOSTILE_SEED").unwrap_or(0);
    let inputs = setting("RALPH_HOSTILE_INPUTS").unwrap_or(INPUTS);
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let seeds = first..first.saturating_add(inputs);
    thread::scope(|threads| {
        for worker in 0..workers {
            let seeds = seeds.clone().skip(worker).step_by(workers);
            threads.spawn(move || seeds.for_each(check));
        }
    });
}

/// A number in the environment.
pub(super) fn setting(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name}={value}")))
}

/// Tells how to repeat the text that broke something.
struct Repeat {
    seed: u64,
}

impl Drop for Repeat {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("again: RALPH_HOSTILE_SEED={} RALPH_HOSTILE_INPUTS=1", self.seed);
        }
    }
}

/// Everything that must hold for the text of a seed.
fn check(seed: u64) {
    let _repeat = Repeat { seed };
    let mut rng = Rng::with_seed(seed);
    let ladder = ["haiku".to_owned(), "Sonnet".to_owned()];
    let scope = Scope { ladder: &ladder, ..scope() };
    let front = rng.bool().then(|| valid::signals(&mut rng, &scope));
    let is_ended = rng.bool();
    let text = [
        front.as_ref().map_or("", |front| &front.text),
        &text::hostile(&mut rng),
        if is_ended { AT_THE_END } else { "" },
    ]
    .concat();

    let found = parse(&text, &scope);
    assert_bounded(&found);
    assert_eq!(found, parse(&text, &scope), "the same text twice");
    if let Some(front) = &front {
        assert_front_is_read(&front.means, &found);
    }
    if is_ended {
        assert_end_is_read(&found);
    }
}

/// What stands in front is read as if nothing followed; only a failure may come on top of it.
#[track_caller]
fn assert_front_is_read(front: &Signals, found: &Signals) {
    let known = |wanted: bool, same: bool| assert!(same || !wanted, "{front:#?}\n{found:#?}");
    known(front.failure_report.is_some(), front.failure_report == found.failure_report);
    known(front.difficulty.is_some(), front.difficulty == found.difficulty);
    known(front.retry_suggestion.is_some(), front.retry_suggestion == found.retry_suggestion);
    known(front.next_model.is_some(), front.next_model == found.next_model);
    known(front.failed_block.is_some(), front.failed_block == found.failed_block);
    known(front.failure_reason.is_some(), front.failure_reason == found.failure_reason);
    known(true, found.learnings.starts_with(&front.learnings));
    match front.completion {
        Completion::Failed => known(true, found.completion == Completion::Failed),
        Completion::Done => known(true, found.completion != Completion::Absent),
        Completion::Absent => {}
    }
    match front.promise {
        Some(Promise::Failure) => known(true, found.promise == Some(Promise::Failure)),
        Some(Promise::Complete) => known(true, found.promise.is_some()),
        None => {}
    }
}

#[track_caller]
fn assert_end_is_read(found: &Signals) {
    assert_eq!(found.completion, Completion::Failed);
    let last = found.learnings.last().map(|last| last.content.as_str());
    assert!(last == Some("found at the end") || found.learnings.len() == limits::LEARNINGS, "{found:#?}");
}
