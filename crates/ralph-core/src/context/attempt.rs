//! One failed attempt: its heading and its lines, whole or cut to a room.

use super::input::{AttemptReport, PastAttempt};
use super::measure::{chars, prefix, shorten};
use super::neutral::{code_lines, fence_for, inert, inert_line, labelled_lines};
use crate::text::without_signals;

/// The reason Ralph stores when it knows none; the absence of a report says as much.
const NO_REASON: &str = "Task failed (no structured report)";

/// Ends an attempt that is not whole.
const TRUNCATED: &str = "\n_(truncated)_\n";

/// Names longer than these are not names, and must not use up an attempt's minimum.
const MAX_MODEL: usize = 64;
const MAX_OUTCOME: usize = 32;

/// A piece of a field shorter than this (its label counted) says nothing.
const MIN_PIECE: usize = 40;

/// An attempt, ready to be laid out.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) number: u32,
    heading: String,
    fields: Vec<Field>,
    /// Whether the error output was over the display limit.
    pub(super) trace_was_cut: bool,
}

/// A line of the attempt's list, or several.
#[derive(Clone, Debug)]
struct Field {
    worth: Worth,
    text: FieldText,
    size: usize,
}

/// What a field is worth to the next attempt, most first. When there is no room for a piece of
/// each field, the least worth go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    Why,
    Approach,
    Output,
    Category,
    Outcome,
    NoReport,
    Files,
}

#[derive(Clone, Debug)]
enum FieldText {
    /// All or nothing.
    Fixed(String),
    /// May be cut anywhere.
    Prose(String),
    /// May be cut inside its fence.
    Code { fence: String, body: String },
}

impl Attempt {
    pub(super) fn new(attempt: &PastAttempt, trace_chars: usize) -> Self {
        let PastAttempt {
            number,
            duration_ms,
            ..
        } = attempt;
        let model = shorten(&inert_line(&attempt.model), MAX_MODEL);
        let outcome = shorten(&inert_line(&attempt.outcome), MAX_OUTCOME);
        let mut fields = Fields {
            list: Vec::new(),
            trace_chars,
            trace_was_cut: false,
        };
        match &attempt.report {
            Some(report) if !report.auto => fields.reported(report),
            report => {
                fields.fixed(
                    Worth::Outcome,
                    format!("- **Outcome:** {outcome} after {duration_ms}ms\n"),
                );
                fields.fixed(
                    Worth::NoReport,
                    "- **No structured failure report was provided.**\n".to_owned(),
                );
                if let Some(report) = report {
                    fields.found_by_ralph(report);
                }
            }
        }
        Self {
            number: *number,
            heading: format!("\n#### Attempt {number} ({model}, {outcome})\n\n"),
            fields: fields.list,
            trace_was_cut: fields.trace_was_cut,
        }
    }

    /// The size of the whole attempt.
    pub(super) fn size(&self) -> usize {
        self.fields.iter().fold(chars(&self.heading), |sum, field| {
            sum.saturating_add(field.size)
        })
    }

    /// The size of the attempt cut down to `of_fields` characters of its fields.
    pub(super) fn cut_size(&self, of_fields: usize) -> usize {
        chars(&self.heading) + chars(TRUNCATED) + of_fields
    }

    /// The whole attempt.
    pub(super) fn whole(&self) -> String {
        let fields: String = self.fields.iter().map(Field::whole).collect();
        inert(&format!("{}{fields}", self.heading))
    }

    /// The attempt in a room of at least [`Self::cut_size`]`(0)`, marked as cut. Short fields stay
    /// whole and long ones share what is left, so that one endless field does not hide the others.
    pub(super) fn cut(&self, room: usize) -> String {
        let room = room.saturating_sub(self.cut_size(0));
        let mut kept: Vec<&Field> = self.fields.iter().collect();
        let mut level = fair_level(&kept, room);
        while level < MIN_PIECE && kept.len() > 1 {
            let least = kept.iter().enumerate().max_by_key(|(_, field)| field.worth);
            let Some((least, _)) = least else { break };
            kept.remove(least);
            level = fair_level(&kept, room);
        }
        let fields: String = kept
            .iter()
            .filter_map(|field| field.within(level))
            .collect();
        let heading = match self.heading.strip_suffix('\n') {
            Some(heading) if fields.is_empty() => heading,
            Some(_) | None => &self.heading,
        };
        // Once more, for a cut can make a signal's name out of a longer word.
        inert(&format!("{heading}{fields}{TRUNCATED}"))
    }
}

/// The most each field may take so that all together stay within the room.
fn fair_level(fields: &[&Field], room: usize) -> usize {
    let mut sizes: Vec<usize> = fields.iter().map(|field| field.size).collect();
    sizes.sort_unstable();
    let mut left = room;
    for (done, size) in sizes.iter().enumerate() {
        let fair = left / (sizes.len() - done);
        if *size > fair {
            return fair;
        }
        left -= size;
    }
    usize::MAX
}

/// Collects the fields of an attempt in their order.
struct Fields {
    list: Vec<Field>,
    trace_chars: usize,
    trace_was_cut: bool,
}

impl Fields {
    fn reported(&mut self, report: &AttemptReport) {
        self.prose(Worth::Approach, "Approach", &report.what_was_tried);
        self.prose(Worth::Why, "Why it failed", &report.why_it_failed);
        let category = report
            .error_category
            .as_deref()
            .filter(|name| !name.trim().is_empty());
        self.prose(Worth::Category, "Error type", category.unwrap_or("unknown"));
        self.files(&report.relevant_files);
        self.code(report.stack_trace.as_deref());
    }

    /// What Ralph stored for want of a report: the error must reach the next attempt all the same.
    fn found_by_ralph(&mut self, report: &AttemptReport) {
        if report.why_it_failed.trim() != NO_REASON {
            self.prose(Worth::Why, "Why it failed", &report.why_it_failed);
        }
        let category = report
            .error_category
            .as_deref()
            .filter(|category| *category != "unknown");
        self.prose(Worth::Category, "Error type", category.unwrap_or_default());
        self.files(&report.relevant_files);
        let said = |text: &&str| !text.trim().is_empty();
        let trace = report.stack_trace.as_deref().filter(said);
        // Old signals say nothing that is not told elsewhere, and an old suggestion is not to be repeated.
        let excerpt = report.excerpt.as_deref().map(without_signals);
        let excerpt = excerpt.as_deref().filter(said);
        let repeats_reason = |text: &&str| text.trim() == report.why_it_failed.trim();
        self.code(trace.or(excerpt).filter(|text| !repeats_reason(text)));
    }

    fn files(&mut self, files: &[String]) {
        let names: Vec<String> = files
            .iter()
            .map(|file| inert_line(file))
            .filter(|file| !file.is_empty())
            .collect();
        self.prose(Worth::Files, "Files involved", &names.join(", "));
    }

    fn fixed(&mut self, worth: Worth, line: String) {
        let size = chars(&line);
        self.list.push(Field {
            worth,
            text: FieldText::Fixed(line),
            size,
        });
    }

    fn prose(&mut self, worth: Worth, label: &str, value: &str) {
        let lines = labelled_lines(value);
        if lines.is_empty() {
            return;
        }
        let text = format!("- **{label}:** {}\n", lines.join("\n  "));
        self.list.push(Field {
            worth,
            size: chars(&text),
            text: FieldText::Prose(text),
        });
    }

    fn code(&mut self, output: Option<&str>) {
        let whole = code_lines(output.unwrap_or_default()).join("\n");
        let shown = prefix(&whole, self.trace_chars).trim_end();
        if shown.is_empty() {
            return;
        }
        self.trace_was_cut = shown.len() < whole.len();
        let text = FieldText::Code {
            fence: fence_for(shown),
            body: shown.to_owned(),
        };
        let mut field = Field {
            worth: Worth::Output,
            text,
            size: 0,
        };
        field.size = chars(&field.whole());
        self.list.push(field);
    }
}

impl Field {
    fn whole(&self) -> String {
        match &self.text {
            FieldText::Fixed(text) | FieldText::Prose(text) => text.clone(),
            FieldText::Code { fence, body } => fenced(fence, &indented(body)),
        }
    }

    fn within(&self, room: usize) -> Option<String> {
        if self.size <= room {
            return Some(self.whole());
        }
        if room < MIN_PIECE {
            return None;
        }
        match &self.text {
            FieldText::Fixed(_) => None,
            FieldText::Prose(text) => Some(format!("{}\n", shorten(text.trim_end(), room - 1))),
            FieldText::Code { fence, body } => {
                let for_body = room.checked_sub(chars(&fenced(fence, "")))?;
                let piece = shorten(&indented(body), for_body);
                (chars(&piece) > MIN_PIECE / 2).then(|| fenced(fence, &piece))
            }
        }
    }
}

fn fenced(fence: &str, body: &str) -> String {
    format!("- **Error output:**\n  {fence}\n{body}\n  {fence}\n")
}

fn indented(body: &str) -> String {
    let indent = |line: &str| {
        if line.is_empty() {
            String::new()
        } else {
            format!("  {line}")
        }
    };
    body.split('\n').map(indent).collect::<Vec<_>>().join("\n")
}
