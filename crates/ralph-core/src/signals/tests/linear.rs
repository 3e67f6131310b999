//! Time grows with the text and not with its square.

use std::hint::black_box;
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::hostile::{FRAGMENTS, setting};
use super::signals;
use crate::model::Difficulty;
use crate::testing::cpu_time;

/// Four times the text takes about four times as long; sixteen times would be the square.
const MOST: u32 = 10;

/// One bad moment does not make a parser slow: for so long a text is measured again.
const PATIENCE: Duration = Duration::from_secs(5);

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
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        for (best, text) in best.iter_mut().zip(&texts) {
            let started = cpu_time();
            black_box(signals(text));
            *best = (cpu_time() - started).min(*best);
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
    &[Many("<learning category='c' tags='t'>"), Many("</learning>")],
    &[Once("<learning category='c' tags='"), Many("a,"), Once("'>x</learning>")],
    &[Once("<promise a='"), Many("<learning a=\""), Many("<next-model b='")],
    &[Once("<failure-report>"), Many("some_key: v\n"), Once("</failure-report>")],
    &[
        Once("<failure-report>what_tried:"),
        Many("\n"),
        Once("x\n"),
        Many("what_tried:\n"),
        Once("</failure-report>"),
    ],
    &[Once("<failure-report>what_tried: x"), Many("\n"), Many("what_tried:\n"), Once("</failure-report>")],
    &[Once("Task 1.3: x FAILED\n- Error: y\n"), Many("  z\n"), Many("- Error: y\n")],
];

#[test]
fn sig_05_time_grows_with_the_text() {
    for unit in UNITS {
        assert_linear(&[Many(unit)], 1 << 17);
    }
    for shape in SHAPES {
        assert_linear(shape, 1 << 17);
    }
}

/// What a shape may stand in, so that it is read as more than loose ends.
const FRAMES: [(&str, &str); 5] = [
    ("", ""),
    ("<failure-report>", "</failure-report>"),
    ("<retry-suggestion>", "</retry-suggestion>"),
    ("<learning category='c' tags='t'>", "</learning>"),
    ("<learning category='c' tags='", "'>x</learning>"),
];

#[test]
fn sig_05_time_grows_with_texts_of_any_shape() {
    let inputs = setting("RALPH_HOSTILE_INPUTS").unwrap_or(0);
    for seed in 0..100 + inputs / 100 {
        let mut rng = Rng::with_seed(seed);
        let (open, close) = FRAMES[rng.usize(0..FRAMES.len())];
        // Few fragments, each more than once: what is slow is slow because of one that comes again.
        let fragments = [(); 3].map(|()| FRAGMENTS[rng.usize(0..FRAGMENTS.len())]);
        let mut runs = vec![Once(open)];
        for _ in 0..rng.usize(1..8) {
            let text = fragments[rng.usize(0..fragments.len())];
            runs.push(if rng.bool() { Many(text) } else { Once(text) });
        }
        runs.push(Once(close));
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
