//! How fast signals are read out of an answer, friendly or not, and whether four times the text takes four times as long.
//!
//! `cargo bench -p ralph --bench signals` prints a table. Nothing here fails a build.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use ralph_core::signals::{Scope, parse};

const MB: usize = 1_000_000;
const ROUNDS: usize = 5;

/// An answer as agents write them: prose, a list, code, a word for Ralph here and there.
const ANSWER: &str = "I looked at the failing test first. `parse_date` took the month for the day whenever the string \
came from a US locale, so every date after the 12th was rejected and the others were silently wrong.

- `src/dates.rs`: the order of day and month now comes from the locale, not from the separator
- `src/dates/tests.rs`: cases for both orders, for `Vec<Date>` and for a year of two digits

```rust
fn parse_date(text: &str, order: Order) -> Result<Date, ParseError> {
    let parts: Vec<&str> = text.split(['/', '-', '.']).collect();
    if parts.len() < 3 || parts.iter().any(|part| part.is_empty()) {
        return Err(ParseError::new(text));
    }
    order.assemble(&parts)
}
```

All 214 tests pass, and `cargo clippy` has nothing to say.

<learning category=\"pitfall\" tags=\"dates, src/dates.rs, locale\">The separator says nothing about the order of day \
and month: always ask the locale.</learning>

<failure-report>
what_tried: Guessed the order from the separator
why_failed: Both orders use slashes
error_category: logic_error
relevant_files: src/dates.rs
stack_trace: assertion failed: left == right
    at src/dates/tests.rs:31
</failure-report>

<difficulty-estimate>easy</difficulty-estimate>
<task-done>t-abc123</task-done>

";

/// What is repeated, and what it is called in the table.
const TEXTS: [(&str, &str); 6] = [
    ("answers of an agent", ANSWER),
    ("<", "<"),
    ("<learning ", "<learning "),
    (
        "nested tags",
        "<failure-report><retry-suggestion><learning category='c' tags='t'>x</learning></retry-suggestion>",
    ),
    ("unclosed <failure-report>", "<failure-report>\nwhat_tried: x\n"),
    ("key: value", "some_key: and its value\n"),
];

fn main() {
    // `cargo test` runs benchmarks too, with this flag; they are not tests.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    println!("reading signals               10 MB       MB/s   40 MB / 10 MB (linear: 4)");
    for (name, unit) in TEXTS {
        measure(name, |bytes| unit.repeat(bytes / unit.len()));
    }
    measure("key: value in a report", |bytes| {
        let lines = "some_key: and its value\n".repeat(bytes / 24);
        format!("<failure-report>\n{lines}</failure-report>\n")
    });
}

fn measure(name: &str, text: impl Fn(usize) -> String) {
    let small = text(10 * MB);
    let large = text(40 * MB);
    let mut best = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        // Taken in turns, so that a busy moment of the machine meets both.
        for (best, text) in best.iter_mut().zip([&small, &large]) {
            *best = (*best).min(time(text));
        }
    }
    let [small_time, large_time] = best.map(|time| time.as_secs_f64());
    let speed = small.len() as f64 / MB as f64 / small_time;
    println!("  {name:<26} {:>6.1} ms {speed:>8.0}   {:.2}", small_time * 1000.0, large_time / small_time);
}

fn time(text: &str) -> Duration {
    let ladder = ["haiku".to_owned(), "sonnet".to_owned()];
    let scope = Scope { task_id: "t-abc123", task_key: Some("1.3"), ladder: &ladder };
    let started = Instant::now();
    black_box(parse(black_box(text), &scope));
    started.elapsed()
}
