//! Texts that mean no good: signals torn apart, nested, repeated, mutated, cut in the middle of a character.

use fastrand::Rng;

use super::valid;
use crate::signals::limits;
use crate::text::clean_bytes;

/// What signals are made of, whole and broken, and what stands around them.
pub(in super::super) const FRAGMENTS: [&str; 92] = [
    "<",
    ">",
    "/",
    "</",
    "/>",
    "=",
    "\"",
    "'",
    "`",
    "|",
    ",",
    ":",
    ".",
    "...",
    "…",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "x",
    "\nx\n",
    "x ",
    "a, ",
    "-",
    "#",
    "**",
    "```\n",
    "~~~\n",
    "```rust\n",
    "> ",
    "    ",
    "<!-- ",
    " -->",
    "<![CDATA[",
    "]]>",
    "&lt;",
    "1.3",
    "t-abc123",
    "ID",
    "<task-done>",
    "</task-done>",
    "<task-failed>",
    "</task-failed>",
    "<promise>",
    "</promise>",
    "COMPLETE",
    "FAILURE",
    "<next-model>",
    "</next-model>",
    "sonnet",
    "<failure-report>",
    "</failure-report>",
    "what_tried:",
    "what_tried: x\n",
    "why_failed: y\n",
    "error_category: ",
    "relevant_files: a, b\n",
    "stack_trace:",
    "stack_trace: z\n  at a.rs:1\n",
    "some_key: v\n",
    "https://a.b/c: ",
    "<learning ",
    "<learning category=\"c\" tags='t'>",
    "<learning tags='t'\ncategory=\"c\"\n>",
    "<learning category=\"",
    "</learning>",
    "</learning\n >",
    "<learnings>",
    "<LEARNING category='c' tags='t'>",
    "category=",
    " category='c'",
    " tags=\"t, u\"",
    "tags=t",
    "<difficulty-estimate>",
    "</difficulty-estimate>",
    "hard",
    "blocked",
    "<retry-suggestion>",
    "</retry-suggestion>",
    "TASK_COMPLETE",
    "\nTASK_COMPLETE\n",
    "FAILURE_REASON: ",
    "\nFAILURE_REASON: r\n",
    "Task 1.3: ",
    " FAILED\n",
    "\nTask 1.3: x FAILED\n",
    "- Error: e\n",
    "- Attempted fix: ",
    "could not complete",
    "no ",
];

/// Characters that are longer, wider, emptier or more powerful than they look.
const ODD: [char; 32] = [
    '\0',
    '\u{7}',
    '\u{8}',
    '\u{b}',
    '\u{c}',
    '\u{1b}',
    '\u{7f}',
    '\u{85}',
    '\u{9b}',
    '\u{9d}',
    'ä',
    '\u{a0}',
    '\u{ad}',
    '\u{301}',
    'İ',
    'ẞ',
    'ﬁ',
    '’',
    '\u{200b}',
    '\u{200d}',
    '\u{2028}',
    '\u{202e}',
    '\u{2066}',
    '\u{3000}',
    '。',
    '日',
    '＜',
    '\u{e0001}',
    '\u{fdd0}',
    '\u{feff}',
    '🦀',
    '\u{10ffff}',
];

/// A hostile text; the same for the same state of the generator.
pub(super) fn hostile(rng: &mut Rng) -> String {
    let mut bytes = Vec::new();
    if rng.u8(0..4) == 0 {
        bytes.extend(valid::signals(rng, &super::scope()).text.bytes());
    } else {
        for _ in 0..rng.usize(1..10) {
            add_piece(&mut bytes, rng);
        }
    }
    for _ in 0..rng.usize(0..4) {
        mutate(&mut bytes, rng);
    }
    if rng.u8(0..24) == 0 {
        swell(&mut bytes, rng);
    }
    if rng.bool() { clean_bytes(&bytes) } else { String::from_utf8_lossy(&bytes).into_owned() }
}

/// How many copies: mostly a few, now and then thousands, rarely a million.
fn copies(rng: &mut Rng) -> usize {
    let most = match rng.u32(..) % 200_000 {
        0 => 1 << 20,
        1..=100 => 1 << 13,
        101..=4_000 => 1 << 8,
        _ => 1 << 3,
    };
    rng.usize(1..=most)
}

fn add_piece(bytes: &mut Vec<u8>, rng: &mut Rng) {
    match rng.u8(0..16) {
        0..=5 => bytes.extend(fragment(rng)),
        6..=8 => bytes.extend(fragment(rng).repeat(copies(rng))),
        9 => bytes.extend(valid::signals(rng, &super::scope()).text.bytes()),
        10 => {
            let odd = char::to_string(&ODD[rng.usize(0..ODD.len())]);
            bytes.extend(odd.repeat(copies(rng)).bytes());
        }
        11 => bytes.extend(rng.char(..).to_string().bytes()),
        12 => bytes.extend((0..rng.usize(0..16)).map(|_| rng.u8(..))),
        13 => add_attributes(bytes, rng),
        14 => nest(bytes, rng),
        _ => add_line(bytes, rng),
    }
}

fn fragment(rng: &mut Rng) -> &'static [u8] {
    FRAGMENTS[rng.usize(0..FRAGMENTS.len())].as_bytes()
}

/// An opening tag with attributes in any order, number and quoting, good or bad.
fn add_attributes(bytes: &mut Vec<u8>, rng: &mut Rng) {
    bytes.extend(b"<learning");
    for _ in 0..copies(rng) {
        let name = ["category", "tags", "id", "x-y_z", "ä", ""][rng.usize(0..6)];
        let equals = ["=", " = ", "=\n", "==", ""][rng.usize(0..5)];
        let (open, close) = [("\"", "\""), ("'", "'"), ("\"", "'"), ("", ""), ("“", "”")][rng.usize(0..5)];
        let value = ["c", "a, b", "<learning", "<b>", "", "...", "=\""][rng.usize(0..7)];
        let gap = [" ", "\n", "\t ", ""][rng.usize(0..4)];
        bytes.extend([gap, name, equals, open, value, close].concat().bytes());
    }
    bytes.extend(["", ">", " >", "/>"][rng.usize(0..4)].bytes());
}

/// Puts everything so far between tags, which need not match.
fn nest(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..rng.usize(1..4) {
        let (before, after) = (fragment(rng), fragment(rng));
        bytes.splice(0..0, before.iter().copied());
        bytes.extend(after);
    }
}

/// A line that looks like one of a report or of a block.
fn add_line(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let indent = " ".repeat(rng.usize(0..4));
    let key = ["what_tried", "why_failed", "stack_trace", "- Error", "Task 1.3"][rng.usize(0..5)];
    bytes.extend(format!("\n{indent}{key}: ").bytes());
    bytes.extend(fragment(rng));
    bytes.extend(["\n", "\r\n", " FAILED\n", ""][rng.usize(0..4)].bytes());
}

/// A place in the text and one behind it, seldom far away.
fn range(bytes: &[u8], rng: &mut Rng) -> std::ops::Range<usize> {
    let start = rng.usize(0..=bytes.len());
    let most = if rng.u8(..) < 16 { bytes.len() } else { 32 };
    start..bytes.len().min(start + rng.usize(0..=most))
}

/// Makes whatever stands at some place far longer than it may be.
fn swell(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let number = rng.usize(100..3 * limits::FIELD_CHARS / 2);
    let growth = match rng.u8(0..5) {
        0 => "aä日🦀".repeat(number / 4),
        1 => "some words ".repeat(number / 10),
        2 => (0..number / 12).map(|n| format!(", item {n}")).collect(),
        3 => (0..number / 100).map(|n| format!(",{n}{}", "x".repeat(200))).collect(),
        _ => (0..number / 20)
            .map(|n| format!("<learning category='c' tags='t'>{n}</learning>"))
            .collect::<String>(),
    };
    // After a letter, which is where values are.
    let letters = || (0..bytes.len()).filter(|at| bytes[*at].is_ascii_alphanumeric());
    let at = match letters().count() {
        0 => 0,
        letter_count => letters().nth(rng.usize(0..letter_count)).map_or(0, |at| at + 1),
    };
    bytes.splice(at..at, growth.into_bytes());
}

fn mutate(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let part = range(bytes, rng);
    match rng.u8(0..8) {
        0 => bytes.truncate(part.start),
        1 => drop(bytes.drain(part)),
        2 => {
            let copy = bytes[part.clone()].to_vec();
            bytes.splice(part.end..part.end, copy);
        }
        3 => {
            // Two neighbouring parts change places.
            let middle = rng.usize(part.start..=part.end);
            bytes[part.clone()].rotate_left(middle - part.start);
        }
        4 => {
            let with = fragment(rng);
            bytes.splice(part, with.iter().copied());
        }
        5 => {
            for byte in &mut bytes[part] {
                *byte ^= 1 << rng.u8(0..8);
            }
        }
        6 => bytes[part].make_ascii_uppercase(),
        _ => {
            let other = valid::signals(rng, &super::scope()).text;
            let cut = range(other.as_bytes(), rng);
            bytes.splice(part, other.as_bytes()[cut].iter().copied());
        }
    }
}
