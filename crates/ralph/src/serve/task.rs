//! A task, looked at closely: its attempts as a timeline, with what each of them reported.

use ralph_core::agent::Interrupt;
use ralph_core::git::DiffForm;
use ralph_core::model::{Attempt, Outcome, Status, TaskId, Timestamp};
use serde::Serialize;

use super::groups::{Mark, shown, shown_lines};
use crate::command_error::CommandError;
use crate::commands::context::NextPrompt;
use crate::commands::diff;
use crate::commands::logs::{LogText, LoggedAttempt};
use crate::facts::{AttemptFacts, Related, TaskFacts, TrendKind};
use crate::settings::Settings;
use crate::ui::format;
use crate::workspace::Workspace;

/// Attempts shown, the newest.
const ATTEMPTS: usize = 60;
const TEXT_BYTES: usize = 24 * 1024;
/// Of a diff and of a log, which may be far longer.
const LONG_BYTES: usize = 400 * 1024;
/// Other tasks that are named.
const RELATED: usize = 60;

#[derive(Debug, Serialize)]
pub struct TaskView {
    pub id: TaskId,
    pub name: String,
    pub title: String,
    #[serde(flatten)]
    pub mark: Mark,
    pub description: String,
    pub verify: Option<String>,
    pub reason: Option<String>,
    /// What to type to have it attempted again.
    pub command: Option<String>,
    pub next_model: Option<String>,
    pub can_go_ahead: bool,
    pub can_reset: bool,
    pub can_skip: bool,
    pub can_note: bool,
    pub under_way: Option<UnderWay>,
    pub parent: Vec<Other>,
    pub subtasks: Vec<Other>,
    pub dependencies: Vec<Other>,
    pub dependents: Vec<Other>,
    pub notes: Vec<NoteView>,
    pub attempts: Vec<AttemptView>,
    /// Older ones that are left out.
    pub more_attempts: usize,
}

#[derive(Debug, Serialize)]
pub struct UnderWay {
    /// In the database; 0 until it began.
    pub number: u32,
    pub what: String,
    pub since: Timestamp,
}

#[derive(Debug, Serialize)]
pub struct Other {
    pub id: TaskId,
    pub name: String,
    pub title: String,
    #[serde(flatten)]
    pub mark: Mark,
}

#[derive(Debug, Serialize)]
pub struct NoteView {
    pub text: String,
    pub state: String,
    pub at: Timestamp,
}

#[derive(Debug, Serialize)]
pub struct AttemptView {
    /// In the database, uncounted ones included.
    pub number: u32,
    /// As people count them; the diff is asked for by it.
    pub attempt: u32,
    pub counted: bool,
    pub name: String,
    pub class: &'static str,
    pub glyph: &'static str,
    pub agent: Option<String>,
    pub rationale: Option<String>,
    pub started_at: Timestamp,
    pub duration_ms: u64,
    pub cost: Option<String>,
    pub outcome: String,
    /// `same_failure`, `progress` or `no_progress`, and why.
    pub trend: Option<&'static str>,
    pub trend_words: Option<String>,
    pub evidence: Vec<String>,
    pub report: Vec<(&'static str, String)>,
    pub gate_output: Option<String>,
    pub files: Vec<String>,
    pub has_diff: bool,
    pub has_log: bool,
    pub learnings: usize,
}

impl TaskView {
    pub fn read(workspace: &Workspace, settings: &Settings, name: &str) -> Result<Self, CommandError> {
        let facts = TaskFacts::read(workspace, settings, name)?;
        let task = &facts.task;
        let others = |all: &[Related]| all.iter().take(RELATED).map(Other::from).collect::<Vec<_>>();
        let more_attempts = facts.history.len().saturating_sub(ATTEMPTS);
        let status = task.status;
        Ok(Self {
            id: task.id.clone(),
            name: task.name().to_owned(),
            title: shown(&task.title, 300),
            mark: facts.standing.into(),
            description: shown_lines(&task.description, TEXT_BYTES),
            verify: task.verify.as_ref().map(|verify| shown_lines(verify, 4 * 1024)),
            reason: task.reason.as_ref().map(|reason| shown(reason, 600)),
            command: facts.next_command.clone(),
            next_model: facts.next_model.as_ref().map(|model| shown(model, 60)),
            can_go_ahead: status == Status::Blocked,
            can_reset: matches!(status, Status::Failed | Status::Done | Status::Skipped),
            can_skip: matches!(status, Status::Pending | Status::Blocked | Status::Failed),
            can_note: !matches!(status, Status::Done | Status::Skipped),
            under_way: facts.under_way.as_ref().map(|one| UnderWay {
                number: one.attempt_number,
                what: match format::agent_and_model(one.agent.as_deref(), one.model.as_deref()) {
                    Some(who) => format!("attempt {} · {who}", one.attempt),
                    None => format!("attempt {}", one.attempt),
                },
                since: one.since,
            }),
            parent: facts.parent.iter().map(Other::from).collect(),
            subtasks: others(&facts.subtasks),
            dependencies: others(&facts.dependencies),
            dependents: others(&facts.dependents),
            notes: facts
                .notes
                .iter()
                .map(|note| NoteView {
                    text: shown_lines(&note.text, TEXT_BYTES),
                    state: format::note_state(note),
                    at: note.created_at,
                })
                .collect(),
            attempts: facts.history.iter().skip(more_attempts).map(AttemptView::from).collect(),
            more_attempts,
        })
    }
}

impl From<&Related> for Other {
    fn from(of: &Related) -> Self {
        Self {
            id: of.task.task_id.clone(),
            name: of.task.name().to_owned(),
            title: shown(&of.task.title, 160),
            mark: of.standing.into(),
        }
    }
}

impl From<&AttemptFacts> for AttemptView {
    fn from(of: &AttemptFacts) -> Self {
        let attempt = &of.record;
        let (class, glyph) = match (attempt.outcome, attempt.counted) {
            (Outcome::Done, _) if attempt.verified => ("ok", "✓"),
            (Outcome::Done, _) => ("weak", "◐"),
            (_, true) => ("bad", "✗"),
            (_, false) => ("idle", "~"),
        };
        let trend = of.trend.as_ref();
        let mut report = Vec::new();
        if let Some(row) = &of.report {
            let mut add = |name: &'static str, text: Option<&str>| {
                let text =
                    text.map(|text| shown_lines(text, TEXT_BYTES)).filter(|text| !text.trim().is_empty());
                report.extend(text.map(|text| (name, text)));
            };
            add("Tried", Some(&row.what_was_tried));
            add("Why it failed", Some(&row.why_it_failed));
            add("Suggestion", row.retry_suggestion.as_deref());
            add("Output", row.stack_trace_snippet.as_deref());
            add("The agent's answer", row.excerpt.as_deref());
        }
        let files = attempt.files_changed.as_deref().unwrap_or_default();
        Self {
            number: attempt.attempt_number,
            attempt: attempt.attempt,
            counted: attempt.counted,
            name: format::attempt_name(attempt.counted, attempt.attempt, attempt.attempt_number),
            class,
            glyph,
            agent: who(attempt),
            rationale: attempt.rationale.as_ref().map(|why| shown(why, 400)),
            started_at: attempt.started_at,
            duration_ms: attempt.duration_ms,
            cost: format::attempt_cost(attempt),
            outcome: shown(&format::outcome_line(attempt), 600),
            trend: trend.map(|trend| match trend.kind {
                TrendKind::SameFailure => "same_failure",
                TrendKind::Progress => "progress",
                TrendKind::NoProgress => "no_progress",
            }),
            trend_words: trend.map(|trend| trend.words.clone()),
            evidence: match attempt.outcome {
                Outcome::Done => format::evidence(&attempt.verification, attempt.commit()),
                _ => format::remarks(&attempt.verification),
            }
            .iter()
            .map(|line| shown(line, 600))
            .collect(),
            report,
            gate_output: attempt.gate_output.as_ref().map(|text| shown_lines(text, TEXT_BYTES)),
            files: files.iter().take(100).map(|file| shown(file, 200)).collect(),
            has_diff: diff::changes(attempt).is_some(),
            has_log: attempt.log_path.is_some(),
            learnings: attempt.learnings_shown.len(),
        }
    }
}

fn who(attempt: &Attempt) -> Option<String> {
    let who = format::agent_and_model(attempt.agent.as_deref(), Some(&attempt.model));
    who.map(|who| shown(&who, 100))
}

#[derive(Debug, Serialize)]
pub struct LogView {
    pub text: String,
    /// Whether the beginning is left out.
    pub is_cut: bool,
    pub under_way: bool,
}

impl LogView {
    /// The log of an attempt, or of the task's newest; its end, where it is long.
    pub fn read(workspace: &Workspace, name: &str, number: Option<u32>) -> Result<Self, CommandError> {
        let task = workspace.task(name)?;
        let all = LoggedAttempt::all(&workspace.store, &task)?;
        let wanted = |logged: &LoggedAttempt| number.is_none_or(|n| logged.attempt.attempt_number == n);
        let Some(logged) = all.into_iter().rfind(wanted) else {
            return Err(CommandError::usage(format_args!("{} has no such log", task.name())));
        };
        let mut log = LogText::open(workspace, &task, &logged)?;
        let (mut text, mut is_cut) = (String::new(), false);
        let failed = |error| CommandError::environment(format_args!("cannot read the log: {error}"));
        while let Some(more) = log.more().map_err(failed)? {
            text.push_str(&more);
            is_cut |= keep_end(&mut text, 2 * LONG_BYTES, LONG_BYTES);
        }
        if !logged.is_running() {
            text.push_str(&log.end(&logged));
        }
        is_cut |= keep_end(&mut text, LONG_BYTES, LONG_BYTES);
        Ok(Self { text, is_cut, under_way: logged.is_running() })
    }
}

/// Whole lines of the end of a text that is longer than `most`; whether it was.
pub fn keep_end(text: &mut String, most: usize, kept: usize) -> bool {
    if text.len() <= most {
        return false;
    }
    let from = text.len() - kept;
    let bytes = text.as_bytes();
    let line = bytes.iter().skip(from).position(|byte| *byte == b'\n').map(|end| from + end + 1);
    let start = line.unwrap_or(text.len());
    text.drain(..start);
    true
}

/// The prompt that an attempt had, or what the next one would be told.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum PromptView {
    Kept { number: u32, attempt: String, agent: Option<String>, rationale: Option<String>, prompt: String },
    Next(NextPrompt),
}

impl PromptView {
    pub fn read(
        workspace: &Workspace,
        settings: &Settings,
        name: &str,
        number: Option<u32>,
    ) -> Result<Self, CommandError> {
        let text = |text: &str| shown_lines(text, LONG_BYTES);
        if let Some(number) = number {
            let task = workspace.task(name)?;
            let all = LoggedAttempt::all(&workspace.store, &task)?;
            let Some(logged) = all.into_iter().find(|logged| logged.attempt.attempt_number == number) else {
                return Err(CommandError::usage(format_args!("{} has no such attempt", task.name())));
            };
            let prompt = text(&logged.prompt(workspace, &task)?);
            let attempt = &logged.attempt;
            return Ok(Self::Kept {
                number,
                attempt: format::attempt_name(attempt.counted, attempt.attempt, number),
                agent: who(attempt),
                rationale: attempt.rationale.as_deref().map(text),
                prompt,
            });
        }
        let mut prompt = NextPrompt::read(workspace, settings, name)?;
        prompt.prompt = text(&prompt.prompt);
        prompt.explanation = text(&prompt.explanation);
        prompt.rationale = text(&prompt.rationale);
        prompt.system = prompt.system.as_deref().map(text);
        prompt.ask_human = prompt.ask_human.as_deref().map(text);
        Ok(Self::Next(prompt))
    }
}

#[derive(Debug, Serialize)]
pub struct DiffView {
    pub attempt: u32,
    pub rolled_back: bool,
    pub files: usize,
    pub diff: String,
    pub is_cut: bool,
}

impl DiffView {
    pub fn read(
        workspace: &Workspace,
        name: &str,
        attempt: Option<u32>,
        interrupt: &Interrupt,
    ) -> Result<Vec<Self>, CommandError> {
        let diffs = diff::read(workspace, name, attempt, DiffForm::Patch, interrupt.clone())?;
        let mut room = LONG_BYTES;
        let view = |of: diff::AttemptDiff| {
            let start = ralph_core::text::first_bytes(&of.diff, room);
            room -= start.len();
            let is_cut = start.len() < of.diff.len();
            let (attempt, rolled_back, files) = (of.attempt, of.rolled_back, of.files.len());
            Self { attempt, rolled_back, files, diff: start.to_owned(), is_cut }
        };
        Ok(diffs.into_iter().map(view).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_text_whole_lines_of_its_end_are_kept() {
        for (text, most, kept, expected) in [
            ("one\ntwo\n", 8, 8, ("one\ntwo\n", false)),
            ("one\ntwo\nthree\n", 8, 8, ("three\n", true)),
            ("one\nzwölf\nthree\n", 8, 11, ("three\n", true)),
            ("no line ends here", 8, 8, ("", true)),
        ] {
            let mut left = text.to_owned();
            let is_cut = keep_end(&mut left, most, kept);
            assert_eq!((left.as_str(), is_cut), expected, "{text}");
        }
    }
}
