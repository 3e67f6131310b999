//! An attempt's log as people read it. Text in, text out; what agents wrote is cleaned here.

use std::time::Duration;

use ralph_core::agent::{Activity, AgentReport, Ending, LogEntry};
use ralph_core::model::{Attempt, GateOutcome, Task, Timestamp};
use ralph_core::text::{StreamMask, clean, head, mask_secrets};

use super::attempt::{LoggedAttempt, State};
use crate::ui::style::{self, BOLD, CYAN, DIM, YELLOW, paint};
use crate::ui::table::block;
use crate::ui::{format, lines};

pub const TAIL_LINES: usize = 20;
/// How much of one line, or of one thing said, is shown.
const MOST: usize = 256 * 1024;
/// Columns of a time in front.
const TIME: usize = 8;

pub struct Page {
    task: String,
    width: usize,
    started_at: Timestamp,
    /// The last thing the agent said, which its result mostly repeats.
    last_said: String,
    /// The log is nothing but text.
    plain: bool,
    /// Hides secrets, which may be spread over several lines or messages.
    mask: StreamMask,
}

impl Page {
    pub fn new(task: &Task, width: usize, started_at: Timestamp) -> Self {
        Self {
            task: task.name().to_owned(),
            width,
            started_at,
            last_said: String::new(),
            plain: false,
            mask: StreamMask::default(),
        }
    }

    pub fn header(&self, task: &Task, logged: &LoggedAttempt) -> String {
        let attempt = &logged.attempt;
        let mut parts = vec![paint(BOLD, format_args!("{} {}", task.name(), task.title))];
        parts.push(format::attempt_name(attempt.counted, attempt.attempt, attempt.attempt_number));
        parts.extend(format::agent_and_model(attempt.agent.as_deref(), Some(&attempt.model)));
        parts.push(attempt.started_at.local());
        match logged.state {
            State::Running => parts.push(paint(CYAN, "in progress")),
            State::Lost => parts.push(paint(YELLOW, "interrupted by a crash")),
            State::Ended => {
                parts.push(format::outcome(attempt));
                parts.extend(format::attempt_cost(attempt));
            }
        }
        self.block(&parts.join(" · "), "", "  ") + "\n"
    }

    /// The next entry of the log. `at` is when it came, where that is known.
    pub fn entry(&mut self, at: Option<Timestamp>, entry: LogEntry) -> String {
        let time = self.time(at);
        match entry {
            LogEntry::Line { text, complete } => {
                self.plain = true;
                let cut = if complete { "" } else { CUT };
                let shown = self.shown(&text, cut);
                self.block(&shown, "", "")
            }
            // No word of the agent's own, but mostly the reason of its end.
            LogEntry::NoEvent { text } => {
                let shown = self.shown(&text, "");
                self.block(shown.trim_end(), &paint(DIM, "┆ "), "  ")
            }
            LogEntry::Said { text } => {
                let shown = self.shown(&text, "");
                self.last_said = text;
                let shown = shown.trim_matches('\n').trim_end();
                if shown.trim().is_empty() {
                    return String::new();
                }
                self.block(shown, &format!("{time}● "), &self.indent(&time))
            }
            LogEntry::Did(activity) => {
                let (mark, style) = match activity {
                    Activity::Tool { .. } => ("→", CYAN),
                    Activity::Retrying { .. } | Activity::LimitWarning { .. } => ("~", YELLOW),
                    Activity::Started { .. } | Activity::Said { .. } => ("·", DIM),
                };
                let mark = paint(style, mark);
                let line = self.shown(&lines::activity(&activity), "");
                self.block(&line, &format!("{time}{mark} "), &self.indent(&time))
            }
        }
    }

    /// The next text of the log, fit for a terminal. Only twice what is shown is looked at: enough to recognize a secret that
    /// is cut where the shown part ends.
    fn shown(&mut self, text: &str, then: &str) -> String {
        bounded(self.mask.mask(&clean(head(text, 2 * MOST))), then)
    }

    /// What stands below the log: the result, unless it was read already, and how the attempt ended.
    pub fn end(&self, logged: &LoggedAttempt, report: &AgentReport, errors: &[String]) -> String {
        let mut text = String::new();
        let result = report.result_text.trim();
        if !self.plain && !result.is_empty() && !self.has_said(result) {
            text.push_str(&format!("{}\n", paint(BOLD, "result:")));
            text.push_str(&self.block(&shown(result), "  ", "  "));
        }
        text.push('\n');
        match logged.state {
            State::Running => {
                let more = format!("in progress; to follow it: ralph logs -f {}", self.task);
                let mark = paint(CYAN, "…");
                text.push_str(&self.block(&more, &format!("{mark} "), "  "));
            }
            State::Lost => {
                let said = match &report.ending {
                    Ending::Completed => {
                        "Ralph crashed before recording this attempt; the next run records it"
                    }
                    Ending::Faulted { .. } => "Ralph crashed during this attempt",
                };
                text.push_str(&format!("{} {said}\n", paint(YELLOW, "~")));
            }
            State::Ended => text.push_str(&self.ended(&logged.attempt)),
        }
        if !errors.is_empty() {
            text.push_str("  last lines of its stderr:\n");
            text.push_str(&self.quoted(errors));
        }
        text
    }

    /// Whether a result repeats what was read: the last thing said, or, for want of a result, everything.
    fn has_said(&self, result: &str) -> bool {
        let last = self.last_said.trim();
        last.ends_with(result) || (!last.is_empty() && result.ends_with(last))
    }

    fn ended(&self, attempt: &Attempt) -> String {
        let time = format::duration(Duration::from_millis(attempt.duration_ms));
        let mut facts = vec![time];
        facts.extend(format::attempt_cost(attempt));
        if let (Some(input), Some(output)) = (attempt.tokens_input, attempt.tokens_output) {
            facts.push(format!("{input} tokens in, {output} out"));
        }
        let mark = style::outcome_mark(attempt.outcome, attempt.counted, attempt.verified);
        let ended = shown(&format::outcome_line(attempt));
        let mut text = self.block(&ended, &format!("{mark} "), "  ");
        text.push_str(&self.block(&facts.join(", "), "  ", "  "));
        if !attempt.denials.is_empty() {
            let denied = attempt.denials.join(", ");
            text.push_str(&self.block(&format!("denied tools: {denied}"), "  ", "  "));
        }
        let gate = match attempt.gate {
            None | Some(GateOutcome::Passed) => return text,
            Some(GateOutcome::Broken) => "  the gate cannot run; last lines of its output:\n",
            Some(GateOutcome::FailedDifferently) => {
                "  the gate fails with a different error now; last lines of its output:\n"
            }
            Some(GateOutcome::Failed) => "  last lines of the gate's output:\n",
            Some(GateOutcome::TimedOut) => "  the gate timed out; last lines of its output:\n",
        };
        let output = attempt.gate_output.as_deref().unwrap_or_default();
        let tail = last_lines(&shown(output), TAIL_LINES);
        if !tail.is_empty() {
            text.push_str(gate);
            text.push_str(&self.quoted(&tail));
        }
        text
    }

    fn quoted(&self, lines: &[String]) -> String {
        let bar = format!("  {} ", paint(DIM, "│"));
        lines.iter().map(|line| self.block(&shown(line), &bar, &bar)).collect()
    }

    /// `+3:05   `; nothing where no time is known.
    fn time(&self, at: Option<Timestamp>) -> String {
        // A time before the start comes from another clock; no time is better than a wrong one.
        let Some(at) = at.filter(|at| *at >= self.started_at) else { return String::new() };
        // As a stopwatch shows it: these stand below each other.
        let since = match at.since(self.started_at).as_secs() {
            seconds @ 0..60 => format!("+{seconds}s"),
            seconds @ 60..3600 => format!("+{}:{:02}", seconds / 60, seconds % 60),
            seconds => {
                let (minutes, seconds) = (seconds / 60, seconds % 60);
                format!("+{}:{:02}:{seconds:02}", minutes / 60, minutes % 60)
            }
        };
        paint(DIM, format_args!("{since:<TIME$}"))
    }

    fn indent(&self, time: &str) -> String {
        " ".repeat(if time.is_empty() { 2 } else { TIME + 2 })
    }

    fn block(&self, text: &str, first: &str, others: &str) -> String {
        block(text, first, others, self.width)
    }
}

/// Where more stood than is shown.
const CUT: &str = " [… truncated; --raw shows all]";

/// Text of an agent that stands for itself, fit for a terminal.
fn shown(text: &str) -> String {
    bounded(mask_secrets(&clean(text)).into_owned(), "")
}

/// Masked text, at most so much of it; what is to follow it, or a word on what was left out.
fn bounded(mut text: String, then: &str) -> String {
    let start = head(&text, MOST).len();
    let then = if start < text.len() { CUT } else { then };
    text.truncate(start);
    text.push_str(then);
    text
}

/// The last lines of a text of an agent or a gate, without blank ones at its end. Masked as a whole: a key may
/// stand on several lines.
pub fn last_lines(text: &str, most: usize) -> Vec<String> {
    let text = mask_secrets(text);
    let lines: Vec<&str> = text.trim_end().trim_start_matches('\n').lines().collect();
    let from = lines.len().saturating_sub(most);
    lines.into_iter().skip(from).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
