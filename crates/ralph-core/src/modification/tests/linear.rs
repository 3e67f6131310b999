//! Time grows with the text and not with its square.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::{FRAGMENTS, GOOD, request_of};
use crate::modification::{Kind, parse};
use crate::testing::cpu_time;

/// Four times the text takes about four times as long; sixteen times would be the square.
const MOST: u32 = 10;

#[track_caller]
fn assert_linear(unit: &str, text: &dyn Fn(&str) -> String) {
    let texts = [1 << 16, 1 << 18].map(|bytes: usize| text(&unit.repeat(bytes / unit.len())));
    let mut best = [Duration::MAX; 2];
    let begun = Instant::now();
    // One bad moment does not make a parser slow, so a text is measured again for a while.
    while begun.elapsed() < Duration::from_secs(5) {
        for (best, text) in best.iter_mut().zip(&texts) {
            let started = cpu_time();
            black_box(parse(text));
            *best = (cpu_time() - started).min(*best);
        }
        if best[1] < best[0] * MOST + Duration::from_millis(1) {
            return;
        }
    }
    panic!("{unit:?} takes {best:?}");
}

#[test]
fn sig_05_time_grows_with_the_text() {
    for unit in FRAGMENTS.into_iter().chain([
        "TASK_MODIFICATION_REQUEST ",
        "TASK_MODIFICATION_REQUEST {\"",
        "TASK_MODIFICATION_REQUEST\n{\"a\": \"b\"\n",
        "```\n",
        "` ",
        "{\"a\":[",
        GOOD,
    ]) {
        assert_linear(unit, &str::to_owned);
        assert_linear(unit, &|text| {
            format!("TASK_MODIFICATION_REQUEST\n{{\"{text}")
        });
    }
}

#[test]
fn sig_05_time_grows_with_a_block() {
    // As long as one object may be, in one string of it.
    for unit in [
        "`",
        "`` ` ",
        " - **Do",
        " - **Do**: x",
        "- [ ] a\n",
        "[A]",
        "\n  ",
        "a, ",
        "- **Do**: a\n",
        "# ",
    ] {
        let block = unit.repeat(90_000 / unit.len() / 2);
        let started = cpu_time();
        black_box(parse(&request_of(&block, Kind::SplitTask)));
        assert!(cpu_time() - started < Duration::from_secs(2), "{unit:?}");
    }
}
