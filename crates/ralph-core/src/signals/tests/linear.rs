//! Time grows with the text and not with its square.

use std::hint::black_box;
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::hostile::{FRAGMENTS, setting};
use super::signals;
use crate::model::Difficulty;

/// Four times the text takes about four times as long; sixteen times would be the square.
const MOST: u32 = 10;

/// How often a text may be measured before it counts as slow: a busy machine is not a slow parser.
const ROUNDS: usize = 20;

/// Part of a text that is to become long.
#[derive(Clone, Copy, Debug)]
enum Run {
    Once(&'static str),
    Many(&'static str),
}

use Run::{Many, Once};

/// The runs one after another, about `bytes` long.
fn long(runs: &[Run], bytes: usize) -> String {
    let many = runs.iter().filter(|run| matches!(run, Many(_))).count();
    let share = bytes / many.max(1);
    let text = |run: &Run| match run {
        Once(text) => (*text).to_owned(),
        Many(unit) => unit.repeat(share.div_ceil(unit.len())),
    };
    runs.iter().map(text).collect()
}

#[track_caller]
fn assert_linear(runs: &[Run], bytes: usize) {
    let texts = [long(runs, bytes), long(runs, 4 * bytes)];
    let mut best = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        for (best, text) in best.iter_mut().zip(&texts) {
            let started = Instant::now();
            black_box(signals(text));
            *best = started.elapsed().min(*best);
        }
        if best[1] < best[0] * MOST {
            return;
        }
    }
    panic!("{bytes} bytes and four times as many take {best:?}: {runs:?}");
}

/// What is repeated by itself.
const UNITS: [&str; 24] = [
    ">",
    "\n",
    "`",
    "` ",
    "*",
    "<learning a=\"",
    "<learning a='b' ",
    "<learning a='<",
    "</failure-report>",
    "<task-done>",
    "<failure-report><learning category='c' tags='t'>",
    "<task-done>1.3</task-done>",
    "<task-done>1.3</task-done>\n",
    "Task 1.3: x FAILED\n",
    "Task 1.3: x FAILED\n- Error: y\n",
    "- Error: y\n",
    "FAILURE_REASON: ",
    "TASK_COMPLETE\n",
    "<failure-report>what_tried: x\n",
    "what_tried: x\n",
    "<promise>1<next-model>2</promise>3</next-model>",
    "could not ",
    "<learning category='c' tags='t'>x</learning>",
    "ä\u{2028}<\u{202e}",
];

/// Where one long part could be read again for every piece of another.
const SHAPES: [&[Run]; 9] = [
    &[Many("<"), Many("</learning>")],
    &[Once("<learning"), Many(" a='b'"), Once(">x</learning>")],
    &[
        Many("<learning category='c' tags='t'>"),
        Many("</learning>"),
    ],
    &[
        Once("<learning category='c' tags='"),
        Many("a,"),
        Once("'>x</learning>"),
    ],
    &[
        Once("<promise a='"),
        Many("<learning a=\""),
        Many("<next-model b='"),
    ],
    &[
        Once("<failure-report>"),
        Many("some_key: v\n"),
        Once("</failure-report>"),
    ],
    &[
        Once("<failure-report>what_tried:"),
        Many("\n"),
        Once("x\n"),
        Many("what_tried:\n"),
        Once("</failure-report>"),
    ],
    &[
        Once("<failure-report>what_tried: x"),
        Many("\n"),
        Many("what_tried:\n"),
        Once("</failure-report>"),
    ],
    &[
        Once("Task 1.3: x FAILED\n- Error: y\n"),
        Many("  z\n"),
        Many("- Error: y\n"),
    ],
];

#[test]
fn sig_05_time_grows_with_the_text() {
    for unit in UNITS {
        assert_linear(&[Many(unit)], 1 << 18);
    }
    for shape in SHAPES {
        assert_linear(shape, 1 << 18);
    }
}

#[test]
fn sig_05_time_grows_with_texts_of_any_shape() {
    let inputs = setting("RALPH_HOSTILE_INPUTS").unwrap_or(0);
    for seed in 0..50 + inputs / 1000 {
        let mut rng = Rng::with_seed(seed);
        let mut run = |_| {
            let text = FRAGMENTS[rng.usize(0..FRAGMENTS.len())];
            if rng.bool() { Many(text) } else { Once(text) }
        };
        let runs: Vec<Run> = (0..8).map(&mut run).collect();
        assert_linear(&runs, 1 << 15);
    }
}

#[test]
fn sig_05_ten_megabytes_are_read_to_their_end() {
    for unit in ["<", "<learning ", "<failure-report>"] {
        let end = "\n<difficulty-estimate>easy</difficulty-estimate>\nTASK_COMPLETE";
        let text = long(&[Many(unit), Once(end)], 10_000_000);
        assert_eq!(signals(&text).difficulty, Some(Difficulty::Easy), "{unit}");
    }
}
