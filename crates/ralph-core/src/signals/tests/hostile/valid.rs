//! Valid signals in many spellings, and what they mean.

use fastrand::Rng;

use crate::model::Difficulty;
use crate::signals::{Completion, FailedBlock, FailureReport, LearningSignal, Promise, Scope, Signals};

/// A text of signals, and what it means whatever follows it.
pub(super) struct Valid {
    pub(super) text: String,
    pub(super) means: Signals,
}

/// Values that are read as they are written, in attributes, lines and contents alike.
const WORDS: [&str; 14] = [
    "parser",
    "src/a.rs",
    "Vec<T>",
    "a > b",
    "naïve",
    "日本語",
    "100%",
    "C++",
    "key: value",
    "e\u{301}",
    "🦀",
    "...and more",
    "a<b",
    "it’s",
];

/// One to four signals, each for the task in scope.
pub(super) fn signals(rng: &mut Rng, scope: &Scope<'_>) -> Valid {
    let mut valid = Valid { text: String::new(), means: Signals::default() };
    for _ in 0..rng.usize(1..5) {
        valid.add(rng, scope);
        // A blank line ends whatever may go on over lines.
        valid.text.push_str("\n\n");
    }
    valid
}

impl Valid {
    fn add(&mut self, rng: &mut Rng, scope: &Scope<'_>) {
        let means = &mut self.means;
        let name = match scope.task_key {
            Some(key) if rng.bool() => key,
            _ => scope.task_id,
        };
        let margin = ["", "  ", "`", " `", "   "][rng.usize(0..5)];
        let text = match rng.u8(0..10) {
            0 => {
                if means.completion == Completion::Absent {
                    means.completion = Completion::Done;
                }
                format!("{margin}<task-done> {name}\n</task-done >{margin}")
            }
            1 => {
                means.completion = Completion::Failed;
                format!("{margin}<task-failed>{name}</task-failed>{margin}")
            }
            2 => {
                means.promise = Some(Promise::Failure);
                means.completion = Completion::Failed;
                format!("{margin}<promise>FAILURE</promise>{margin}")
            }
            3 => match scope.ladder {
                [] => String::new(),
                ladder => {
                    let model = &ladder[rng.usize(0..ladder.len())];
                    means.next_model.get_or_insert(model.clone());
                    format!("<next-model>\n{}</next-model>", model.to_uppercase())
                }
            },
            4 => {
                let value = Difficulty::ALL[rng.usize(0..Difficulty::ALL.len())];
                means.difficulty.get_or_insert(value);
                format!("so <difficulty-estimate> {value} </difficulty-estimate>, see?")
            }
            5 => {
                let value = format!("Try {}\r\n- {}", word(rng), word(rng));
                let text = format!("<retry-suggestion>\n{value} </retry-suggestion>.");
                means.retry_suggestion.get_or_insert(value);
                text
            }
            6 => {
                let (text, value) = report(rng);
                means.failure_report.get_or_insert(value);
                text
            }
            7 => {
                let (text, value) = block(rng, name);
                means.completion = Completion::Failed;
                means.failed_block.get_or_insert(value);
                text
            }
            8 => {
                let value = word(rng).to_owned();
                let text = format!("{margin}FAILURE_REASON:{value} {margin}");
                means.completion = Completion::Failed;
                means.failure_reason.get_or_insert(value);
                text
            }
            _ => {
                let (text, value) = learning(rng);
                means.learnings.push(value);
                text
            }
        };
        self.text.push_str(&text);
    }
}

fn word(rng: &mut Rng) -> &'static str {
    WORDS[rng.usize(0..WORDS.len())]
}

fn learning(rng: &mut Rng) -> (String, LearningSignal) {
    let mut tags = vec![word(rng).to_owned()];
    if rng.bool() {
        tags.push(format!("tag {}", rng.u8(..)));
    }
    let value = LearningSignal {
        category: word(rng).to_owned(),
        content: format!("{}\nand {}", word(rng), word(rng)),
        tags,
    };
    let quote = |rng: &mut Rng| if rng.bool() { '"' } else { '\'' };
    let (q, p) = (quote(rng), quote(rng));
    let mut attributes = vec![
        format!("category={q} {}{q}", value.category),
        format!("tags = {p}{},, {p}", value.tags.join(" ,\n")),
    ];
    if rng.bool() {
        attributes.push("id='7'".to_owned());
    }
    rng.shuffle(&mut attributes);
    let gap = [" ", "\n", "\t "][rng.usize(0..3)];
    let text = format!("<learning{gap}{}{gap}>\n{}\n</learning>", attributes.join(gap), value.content);
    (text, value)
}

fn report(rng: &mut Rng) -> (String, FailureReport) {
    let files = ["src/a.rs", "b c.rs", "d.rs"];
    let trace = format!("first {}\n    at a.rs:1\nwhatever: {}", word(rng), word(rng));
    let value = FailureReport {
        what_tried: word(rng).to_owned(),
        why_failed: format!("{}: {}", word(rng), word(rng)),
        error_category: "build_error".to_owned(),
        relevant_files: files.map(str::to_owned).to_vec(),
        stack_trace: Some(trace.clone()),
    };
    let mut lines = [
        // First, because inside a trace it would be a line like any other.
        "confidence: high".to_owned(),
        format!("what_tried:{}", value.what_tried),
        format!("why_failed :  {} ", value.why_failed),
        format!("error_category: {}", value.error_category),
        format!("relevant_files: {}", files.join(" ,")),
        format!("stack_trace: {trace}"),
    ];
    rng.shuffle(&mut lines[1..]);
    let end = if rng.bool() { "\n" } else { "\r\n" };
    let text = lines.join("\n").replace('\n', end);
    (format!("<failure-report>{end}{text}{end}</failure-report>"), value)
}

fn block(rng: &mut Rng, key: &str) -> (String, FailedBlock) {
    let value = FailedBlock {
        key: key.to_owned(),
        name: word(rng).to_owned(),
        error: Some(word(rng).to_owned()),
        attempted_fix: Some(word(rng).to_owned()),
        status: Some("stuck".to_owned()),
    };
    let mark = if rng.bool() { "**" } else { "" };
    let mut labels = vec![
        format!("- Error: {}", value.error.as_deref().unwrap_or_default()),
        format!("* {mark}Attempted fix:{mark} {}", value.attempted_fix.as_deref().unwrap_or_default()),
        "- Status: stuck".to_owned(),
    ];
    rng.shuffle(&mut labels);
    let text = format!("{mark}Task {key}: {} FAILED{mark}\n{}", value.name, labels.join("\n"));
    (text, value)
}
