//! `### Previous Attempts`: chosen newest first, shown oldest first, the newest always there. Each attempt is
//! whole or cut to its room.

use super::{LeftOut, PastAttempt, Section, TRACE_CHARS, chars, shorten};
use crate::model::ReportRow;
use crate::text::neutral::{code_lines, fence_for, inert, inert_line, labelled_lines, prose_lines};
use crate::text::{first_chars, without_signals};

pub(super) const PREVIOUS_ATTEMPTS: &str = "Previous Attempts";

const OMITTED: &str = "\n_(Earlier attempts truncated due to context budget)_\n";

const SUGGESTION: &str = "\n**Suggested approach for this retry:**\n";

/// How much of the newest attempt's fields even a long suggestion leaves standing.
const FIELDS_FLOOR: usize = 40;

/// How much of a suggestion must be shown for it to count as shown.
const SUGGESTION_FLOOR: usize = 80;

/// A piece of a suggestion shorter than this is not shown.
const SUGGESTION_SCRAP: usize = 12;

#[derive(Clone, Debug)]
pub(super) struct Attempts {
    intro: String,
    earlier: Vec<Attempt>,
    newest: Attempt,
    suggestion: String,
}

impl Attempts {
    /// `None` where there are no attempts. They come oldest first.
    pub(super) fn new(attempts: &[PastAttempt]) -> Option<Self> {
        let (newest, earlier) = attempts.split_last()?;
        let suggested = newest.report.as_ref().and_then(|report| report.retry_suggestion.as_deref());
        let suggested = prose_lines(suggested.unwrap_or_default()).join("\n");
        let suggestion = match suggested.as_str() {
            "" => String::new(),
            text => inert(&format!("{SUGGESTION}{text}\n")),
        };
        Some(Self {
            intro: format!(
                "\n### {PREVIOUS_ATTEMPTS}\n\nThis task has been attempted {} time(s) before. \
                 **Do not repeat these approaches.**\n",
                attempts.len()
            ),
            earlier: earlier.iter().map(Attempt::new).collect(),
            newest: Attempt::new(newest),
            suggestion,
        })
    }

    pub(super) fn demand(&self) -> usize {
        let earlier = self.earlier.iter().map(Attempt::size).fold(0, usize::saturating_add);
        self.frame().saturating_add(self.newest.size()).saturating_add(earlier)
    }

    /// The room without which the newest attempt and a recognisable piece of its suggestion cannot
    /// both be shown.
    pub(super) fn kernel(&self) -> usize {
        self.kernel_with(SUGGESTION_FLOOR)
    }

    /// The room in which the newest attempt, however cut, leaves its suggestion whole, unless that
    /// is longer than `max_suggestion`.
    pub(super) fn reserve(&self, max_suggestion: usize) -> usize {
        self.kernel_with(max_suggestion.max(SUGGESTION_FLOOR))
    }

    fn kernel_with(&self, max_suggestion: usize) -> usize {
        let suggestion = chars(&self.suggestion).min(chars(SUGGESTION) + max_suggestion);
        let newest = self.newest.size().min(self.newest.cut_size(FIELDS_FLOOR));
        (chars(&self.intro) + self.note().len() + newest + suggestion).min(self.demand())
    }

    /// The section in the room: everything, or the newest with as many before it as fit, or the
    /// newest alone and cut.
    pub(super) fn render(&self, room: usize) -> Section {
        if self.demand() <= room {
            self.lay_out("", &self.earlier, self.newest.whole(), &self.suggestion)
        } else if self.frame() + self.note().len() + self.newest.size() <= room {
            self.newest_whole(room)
        } else {
            self.newest_cut(room)
        }
    }

    fn newest_whole(&self, room: usize) -> Section {
        let note = self.note();
        let mut left = room - self.frame() - note.len() - self.newest.size();
        let mut first = self.earlier.len();
        for (index, attempt) in self.earlier.iter().enumerate().rev() {
            let Some(rest) = left.checked_sub(attempt.size()) else { break };
            left = rest;
            first = index;
        }
        let (omitted, shown) = self.earlier.split_at(first);
        let mut section = self.lay_out(note, shown, self.newest.whole(), &self.suggestion);
        section.left_out.extend(no_room_for(omitted, left));
        section
    }

    fn newest_cut(&self, room: usize) -> Section {
        let note = self.note();
        let name = format!("attempt {}", self.newest.number);
        let bare = chars(&self.intro) + note.len() + self.newest.cut_size(0);
        let Some(spare) = room.checked_sub(bare) else {
            let mut section = Section { left_out: no_room_for(&self.earlier, 0), ..Section::default() };
            section.left_out.push(LeftOut::no_room(name, bare, room));
            return section;
        };
        let suggestion = self.suggestion_beside_newest(spare);
        let for_newest = self.newest.cut_size(spare.saturating_sub(chars(&suggestion)));
        // A suggestion that had to be cut may leave room for the whole attempt.
        let is_whole = self.newest.size() <= for_newest;
        let newest = if is_whole { self.newest.whole() } else { self.newest.cut(for_newest) };
        let mut section = self.lay_out(note, &[], newest, &suggestion);
        section.left_out.extend(no_room_for(&self.earlier, 0));
        if !is_whole {
            let what = format!("part of {name}");
            section.left_out.push(LeftOut::no_room(what, self.newest.size(), for_newest));
        }
        let (needed, given) = (chars(&self.suggestion), chars(&suggestion));
        if given < needed {
            let what = format!("part of the suggestion of {name}");
            section.left_out.push(LeftOut::no_room(what, needed, given));
        }
        section
    }

    /// The suggestion comes before the attempt's own lines; only one that would leave next to
    /// nothing of them is cut, and then shares the room with them.
    fn suggestion_beside_newest(&self, spare: usize) -> String {
        let fields = self.newest.size().saturating_sub(self.newest.cut_size(0));
        if chars(&self.suggestion) + fields.min(FIELDS_FLOOR) <= spare {
            return self.suggestion.clone();
        }
        let room = spare.saturating_sub(fields).max(spare / 2);
        let for_text = room.saturating_sub(chars(SUGGESTION) + 1);
        if for_text < SUGGESTION_SCRAP {
            return String::new();
        }
        let text = self.suggestion.strip_prefix(SUGGESTION).unwrap_or_default();
        inert(&format!("{SUGGESTION}{}\n", shorten(text.trim_end(), for_text)))
    }

    /// What stands around the attempts when they are whole.
    fn frame(&self) -> usize {
        chars(&self.intro) + chars(&self.suggestion)
    }

    /// The note that attempts are missing, which is plain ASCII; empty where none can be.
    fn note(&self) -> &'static str {
        if self.earlier.is_empty() { "" } else { OMITTED }
    }

    fn lay_out(&self, note: &str, earlier: &[Attempt], newest: String, end: &str) -> Section {
        let cut_trace = |attempt: &Attempt| {
            let what = format!("end of the error output of attempt {}", attempt.number);
            LeftOut::new(what, "over the display limit")
        };
        let shown = earlier.iter().chain([&self.newest]);
        let left_out = shown.filter(|attempt| attempt.trace_was_cut).map(cut_trace).collect();
        let earlier: String = earlier.iter().map(Attempt::whole).collect();
        let text = [&self.intro, note, &earlier, &newest, end].concat();
        Section { text, left_out, ..Section::default() }
    }
}

fn no_room_for(attempts: &[Attempt], left: usize) -> Vec<LeftOut> {
    let name = |attempt: &Attempt| format!("attempt {}", attempt.number);
    attempts.iter().map(|a| LeftOut::no_room(name(a), a.size(), left)).collect()
}

/// The reason Ralph stores when it knows none; the absence of a report says as much.
const NO_REASON: &str = "Task failed (no structured report)";

/// Ends an attempt that is not whole.
const TRUNCATED: &str = "\n_(truncated)_\n";

/// Names longer than these are not names, and must not use up an attempt's minimum.
const MAX_MODEL: usize = 64;
const MAX_OUTCOME: usize = 32;

/// A piece of a field shorter than this (its label counted) says nothing.
const MIN_PIECE: usize = 40;

#[derive(Clone, Debug)]
struct Attempt {
    number: u32,
    heading: String,
    fields: Vec<Field>,
    /// Whether the error output was over the display limit.
    trace_was_cut: bool,
}

/// A line of the attempt's list, or several. Only its body may be cut.
#[derive(Clone, Debug)]
struct Field {
    worth: Worth,
    start: String,
    body: String,
    end: String,
    /// A piece of the body that is no longer than this says nothing.
    scrap: usize,
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

impl Attempt {
    fn new(attempt: &PastAttempt) -> Self {
        let PastAttempt { number, duration_ms, .. } = attempt;
        let model = shorten(&inert_line(&attempt.model), MAX_MODEL);
        let outcome = shorten(&inert_line(&attempt.outcome), MAX_OUTCOME);
        let mut fields = Fields { list: Vec::new(), trace_was_cut: false };
        match &attempt.report {
            Some(report) if !report.auto => fields.reported(report),
            report => {
                fields.fixed(Worth::Outcome, format!("- **Outcome:** {outcome} after {duration_ms}ms"));
                fields.fixed(Worth::NoReport, "- **No structured failure report was provided.**".to_owned());
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

    fn size(&self) -> usize {
        self.fields.iter().fold(chars(&self.heading), |sum, field| sum.saturating_add(field.size))
    }

    /// The size of the attempt cut down to `of_fields` characters of its fields.
    fn cut_size(&self, of_fields: usize) -> usize {
        chars(&self.heading) + chars(TRUNCATED) + of_fields
    }

    fn whole(&self) -> String {
        let fields: String = self.fields.iter().map(Field::whole).collect();
        inert(&format!("{}{fields}", self.heading))
    }

    /// The attempt in a room of at least [`Self::cut_size`]`(0)`, marked as cut. Short fields stay
    /// whole and long ones share what is left, so that one endless field does not hide the others.
    fn cut(&self, room: usize) -> String {
        let room = room.saturating_sub(self.cut_size(0));
        let mut kept: Vec<&Field> = self.fields.iter().collect();
        let mut level = fair_level(&kept, room);
        while level < MIN_PIECE && kept.len() > 1 {
            let least = kept.iter().enumerate().max_by_key(|(_, field)| field.worth);
            let Some((least, _)) = least else { break };
            kept.remove(least);
            level = fair_level(&kept, room);
        }
        let fields: String = kept.iter().filter_map(|field| field.within(level)).collect();
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

struct Fields {
    list: Vec<Field>,
    trace_was_cut: bool,
}

impl Fields {
    fn reported(&mut self, report: &ReportRow) {
        self.prose(Worth::Approach, "Approach", &report.what_was_tried);
        self.prose(Worth::Why, "Why it failed", &report.why_it_failed);
        let category = report.error_category.as_deref().filter(|name| !name.trim().is_empty());
        self.prose(Worth::Category, "Error type", category.unwrap_or("unknown"));
        self.files(&report.relevant_files);
        self.code("Error output", report.stack_trace_snippet.as_deref());
    }

    /// What Ralph stored for want of a report: the error must reach the next attempt all the same.
    fn found_by_ralph(&mut self, report: &ReportRow) {
        if report.why_it_failed.trim() != NO_REASON {
            self.prose(Worth::Why, "Why it failed", &report.why_it_failed);
        }
        let category = report.error_category.as_deref().filter(|category| *category != "unknown");
        self.prose(Worth::Category, "Error type", category.unwrap_or_default());
        self.files(&report.relevant_files);
        let said = |text: &&str| !text.trim().is_empty();
        let trace = report.stack_trace_snippet.as_deref().filter(said);
        // Old signals say nothing that is not told elsewhere, and an old suggestion is not to be repeated.
        let excerpt = report.excerpt.as_deref().map(without_signals);
        let excerpt = excerpt.as_deref().filter(said);
        let repeats_reason = |text: &&str| text.trim() == report.why_it_failed.trim();
        // The excerpt is what the agent said, which need not be an error.
        let (label, text) = if trace.is_some() { ("Error output", trace) } else { ("Agent output", excerpt) };
        self.code(label, text.filter(|text| !repeats_reason(text)));
    }

    fn files(&mut self, files: &[String]) {
        let names: Vec<String> =
            files.iter().map(|file| inert_line(file)).filter(|file| !file.is_empty()).collect();
        self.prose(Worth::Files, "Files involved", &names.join(", "));
    }

    /// A line that is shown whole or not at all.
    fn fixed(&mut self, worth: Worth, line: String) {
        self.add(worth, String::new(), line, "\n".to_owned(), usize::MAX);
    }

    fn prose(&mut self, worth: Worth, label: &str, value: &str) {
        let lines = labelled_lines(value);
        if !lines.is_empty() {
            let text = format!("- **{label}:** {}", lines.join("\n  "));
            self.add(worth, String::new(), text, "\n".to_owned(), 0);
        }
    }

    fn code(&mut self, label: &str, output: Option<&str>) {
        let whole = code_lines(output.unwrap_or_default()).join("\n");
        let shown = first_chars(&whole, TRACE_CHARS).trim_end();
        if shown.is_empty() {
            return;
        }
        self.trace_was_cut = shown.len() < whole.len();
        let fence = fence_for(shown);
        let indent = |line: &str| if line.is_empty() { String::new() } else { format!("  {line}") };
        let body = Vec::from_iter(shown.split('\n').map(indent)).join("\n");
        let start = format!("- **{label}:**\n  {fence}\n");
        self.add(Worth::Output, start, body, format!("\n  {fence}\n"), MIN_PIECE / 2);
    }

    fn add(&mut self, worth: Worth, start: String, body: String, end: String, scrap: usize) {
        let size = chars(&start) + chars(&body) + chars(&end);
        self.list.push(Field { worth, start, body, end, scrap, size });
    }
}

impl Field {
    fn whole(&self) -> String {
        [&*self.start, &self.body, &self.end].concat()
    }

    fn within(&self, room: usize) -> Option<String> {
        if self.size <= room {
            return Some(self.whole());
        }
        let for_body = room.checked_sub(chars(&self.start) + chars(&self.end))?;
        let piece = shorten(&self.body, for_body);
        let is_telling = room >= MIN_PIECE && chars(&piece) > self.scrap;
        is_telling.then(|| [&*self.start, &piece, &self.end].concat())
    }
}
