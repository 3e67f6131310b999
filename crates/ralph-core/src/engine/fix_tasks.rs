//! What a counted failure means for the plan: a fix task, or the end of the chain of fixes.

use std::collections::HashMap;

use super::attempt_record::AttemptResult;
use super::run_context::RunContext;
use super::run_end::Result;
use super::{RecoverySettings, RunSettings};
use crate::capture::{self, NOTHING_KNOWN};
use crate::decide::{Circumstances, GivenUp, Policy, Settled};
use crate::diagnose::fingerprint;
use crate::event::{EventKind, TaskRef};
use crate::files::{Limit, Links, RealPaths, read_text};
use crate::model::{ErrorType, GateOutcome, Key, MarkSource, NewTask, Outcome, Task};
use crate::plan::import::{PROGRESS_MD, TASKS_MD};
use crate::plan::tasks_md::Spec;
use crate::project::Project;
use crate::recovery::{Failure, FailureFacts, FinalState, FixTask, LimitReached, Original, next_fix};
use crate::store::{FixFamily, FixText, NewFix, RecoveryEnd, Store, StoreError, TaskNext};
use crate::text::neutral::inert;
use crate::text::{self, mask_secrets};

/// The longest output that goes with a failure object.
const RAW_CHARS: usize = 10_000;
const ERROR_CHARS: usize = 500;

enum Response {
    /// Nothing: the task is simply tried again.
    Retry,
    Fix(Box<NewFix>),
    End(RecoveryEnd, LimitReached),
}

/// What a failed attempt may mean for the plan, gathered before it is recorded.
pub(super) struct FailurePlan {
    family: FixFamily,
    failure: Failure,
    response: Response,
    /// Whether the task's failures are logged in a `.progress.md` beside its file.
    has_progress_log: bool,
}

/// What a settled failure means for the plan.
#[derive(Default)]
pub(super) struct PlanEffects {
    pub fix: Option<NewFix>,
    pub end: Option<RecoveryEnd>,
    pub events: Vec<EventKind>,
}

/// What a failure asks for, by the settings of a project: a fix task, or the end of the chain.
#[derive(Clone, Copy)]
pub struct FixPolicy<'a> {
    pub project: &'a Project,
    pub policy: &'a Policy,
    pub recovery: RecoverySettings,
    /// The same for the tasks of specs that have a say in it, by the path of their tasks.
    pub by_spec: &'a HashMap<String, RecoverySettings>,
    /// Where Ralph's files led when the run began.
    pub real_paths: &'a RealPaths,
}

impl<'a> FixPolicy<'a> {
    pub(super) fn new(project: &'a Project, settings: &'a RunSettings, real_paths: &'a RealPaths) -> Self {
        Self {
            project,
            policy: &settings.policy,
            recovery: settings.recovery,
            by_spec: &settings.recovery_by_spec,
            real_paths,
        }
    }
}

/// Why a task gets no further attempt without a person, where it gets none, and the end of its recovery chain.
pub(super) fn attempts_used_up(
    run: &RunContext<'_>,
    task: &Task,
) -> Result<Option<(String, Option<RecoveryEnd>)>> {
    let store = &*run.store;
    let used = store.attempts_used(&task.id)?;
    let policy = &run.settings.policy;
    if used < policy.max_total_attempts {
        return Ok(None);
    }
    let family = store.fix_family(&task.id)?;
    let failures = store.failures(&task.id)?;
    let report = failures.last().and_then(|failure| failure.report.as_ref());
    let last = report.map(|report| text::one_line(&report.why_it_failed, 300));
    let Some(reason) = policy.used_up(used, family.lineage.root(), last.as_deref()) else { return Ok(None) };
    let end = family.end(task, reason.clone(), last.unwrap_or_default(), FinalState::MaxLimit);
    Ok(Some((reason, Some(end).filter(|_| !family.is_alone()))))
}

impl FixPolicy<'_> {
    /// What a failure may mean for the plan. `tried` is what was tried so far; `may_fix` where it can count.
    pub(super) fn plan(
        &self,
        store: &Store,
        task: &Task,
        result: &AttemptResult,
        tried: Option<&str>,
        may_fix: bool,
    ) -> Result<FailurePlan, StoreError> {
        let family = store.fix_family(&task.id)?;
        let failure = failure(&family.lineage.failed, result);
        let root = store.fix_link(&task.id)?.and_then(|link| link.root);
        let spec = store.source_path(&root.unwrap_or_else(|| task.id.clone()))?;
        let file = spec.as_ref().map(|path| self.project.root().join(path));
        let has_progress_log = file.as_ref().is_some_and(|path| {
            path.file_name().is_some_and(|name| name == TASKS_MD) || path.with_file_name(PROGRESS_MD).exists()
        });
        // How far a task is recovered: its own spec's state file may have a say.
        let settings = spec.as_ref().and_then(|path| self.by_spec.get(path)).unwrap_or(&self.recovery);
        // Where the gate passed, only the signal is missing: there is nothing to fix.
        let unreported = matches!(result.attempt.outcome, Outcome::NoSigil | Outcome::Error);
        let green = unreported && result.attempt.gate == Some(GateOutcome::Passed);
        if !may_fix || !settings.enabled || green {
            return Ok(FailurePlan { family, failure, response: Response::Retry, has_progress_log });
        }
        // A person may have given the key away in the file a moment ago.
        let markdown = file.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
        let real = markdown.and_then(|path| self.real_paths.real(&path).ok());
        let text = real.and_then(|path| read_text(&path, Links::Refuse, Limit::TEXT).ok());
        let in_file = text.as_deref().map(Spec::of);
        let in_file = |key: &str| in_file.as_ref().is_some_and(|spec| spec.has(key));
        let taken = |key: &str| in_file(key) || store.has_key_beside(key, &task.id).is_ok_and(|has| has);
        let response = match next_fix(&family.lineage, &settings.limits, &taken) {
            Ok(key) => {
                let report = result.report.as_ref();
                let category = report.and_then(|report| report.error_category.clone());
                let original = Original {
                    files: &task.files,
                    verify: task.verify.as_deref(),
                    spec_folder: spec
                        .as_deref()
                        .and_then(|path| path.rsplit_once('/'))
                        .map(|(folder, _)| folder),
                    error_category: category.as_deref(),
                };
                Response::Fix(Box::new(NewFix {
                    task: task_of(&FixTask::new(key, &failure, &original), task),
                    text: FixText {
                        original: failure.task_id.clone(),
                        error: failure.error.clone(),
                        attempted: failure.known_attempt().map(str::to_owned),
                        category,
                    },
                    coarse: seen_in(result, &failure),
                }))
            }
            Err(limit) => {
                // The limit and the chain; the other lines are only shown in the run's display. What was tried names
                // the fix tasks of the task itself.
                let lines = if limit.end == FinalState::MaxLimit && tried.is_some() { 1 } else { 2 };
                let lines = limit.lines.iter().take(lines);
                let lines = lines.map(|line| line.trim_start_matches("ERROR: ").to_owned());
                let tried = tried.map(|tried| format!("Tried {tried}"));
                let last = result.verdict.message.as_deref().map(|why| format!("Last: {why}"));
                let reason: Vec<String> = lines.chain(tried).chain(last).collect();
                let end = family.end(task, reason.join(". "), failure.error.clone(), limit.end);
                Response::End(end, limit)
            }
        };
        Ok(FailurePlan { family, failure, response, has_progress_log })
    }
}

impl FailurePlan {
    /// What the plan's limits have to say when it is settled what becomes of the task.
    pub(super) fn circumstances(&self, breaker_threshold: u32) -> Circumstances<'_> {
        Circumstances {
            root: self.family.lineage.root(),
            recovery_limit: match &self.response {
                Response::End(end, _) => Some(&end.reason),
                Response::Retry | Response::Fix(_) => None,
            },
            breaker_threshold,
            ..Circumstances::default()
        }
    }

    /// What follows for the plan once it is settled what becomes of the task.
    pub(super) fn effects(
        &self,
        task: &Task,
        result: &AttemptResult,
        settled: &Settled,
        policy: &Policy,
    ) -> PlanEffects {
        let mut effects = PlanEffects::default();
        match (&settled.next, &self.response) {
            (TaskNext::Pending, Response::Fix(fix)) if settled.counted => {
                effects.events.push(EventKind::FixCreated {
                    task: TaskRef::from(task),
                    fix: fix.task.key.as_ref().map(ToString::to_string).unwrap_or_default(),
                    fix_title: fix.task.title.clone(),
                    failure: Box::new(self.failure.clone()),
                });
                effects.fix = Some(NewFix::clone(fix));
            }
            (TaskNext::Blocked { reason }, response) => {
                let lines = match (settled.given_up, response) {
                    (None, _) => None,
                    (Some(GivenUp::Recovery), Response::End(_, limit)) => Some(limit.lines.clone()),
                    (Some(GivenUp::TotalAttempts), _) => Some(vec![format!(
                        "ERROR: Max total attempts ({}) reached for task {}",
                        policy.max_total_attempts,
                        self.family.lineage.root()
                    )]),
                    (Some(_), _) => {
                        let failures = settled.metrics.consecutive_failures;
                        Some(out_of_retries(task, failures, result, self.has_progress_log))
                    }
                };
                let given_up = lines.map(|lines| EventKind::GivenUp { task: TaskRef::from(task), lines });
                effects.events.extend(given_up);
                effects.end = match response {
                    Response::End(end, _) if settled.given_up == Some(GivenUp::Recovery) => Some(end.clone()),
                    _ if self.family.is_alone() => None,
                    _ => {
                        let error = self.failure.error.clone();
                        // The reason is shown at the task that the fixes are for, which did not itself fail so often.
                        let reason = match settled.given_up {
                            Some(GivenUp::Retries) if !self.family.lineage.above.is_empty() => {
                                format!("fix task {} {reason}", task.name())
                            }
                            _ => reason.clone(),
                        };
                        Some(self.family.end(task, reason, error, FinalState::Fail))
                    }
                };
            }
            _ => {}
        }
        effects
    }
}

impl FixFamily {
    /// Whether the task neither fixes another nor has fixes.
    fn is_alone(&self) -> bool {
        self.lineage.above.is_empty() && self.lineage.fixes.is_empty()
    }

    fn end(&self, task: &Task, reason: String, error: String, end: FinalState) -> RecoveryEnd {
        let root = self.chain.last().unwrap_or(&task.id).clone();
        RecoveryEnd { root, chain: self.chain.clone(), reason, error, end }
    }
}

/// A task that was retried to its limit: what there is to say.
fn out_of_retries(task: &Task, attempts: u32, result: &AttemptResult, has_progress_log: bool) -> Vec<String> {
    let plural = if attempts == 1 { "" } else { "s" };
    let why = result.report.as_ref().map(|report| report.why_it_failed.as_str());
    let why = why
        .filter(|why| *why != NOTHING_KNOWN)
        .or(result.verdict.message.as_deref())
        .unwrap_or(NOTHING_KNOWN);
    let passed = result.attempt.gate == Some(GateOutcome::Passed);
    let also = if passed && !why.contains("passed") { "; the gate passed" } else { "" };
    let mut lines = vec![
        format!("ERROR: Max retries reached for task {} after {attempts} attempt{plural}", task.name()),
        format!("Last failure: {}{also}", text::one_line(why, 500)),
        if has_progress_log {
            "Review .progress.md Learnings section for failure details".to_owned()
        } else {
            format!("Failure details: `ralph failures show {}`", task.name())
        },
        format!("Fix the issue manually, then `ralph run {}` to resume", task.name()),
    ];
    if passed {
        let name = task.name();
        lines.push(format!("The gate passed: if the work is complete, `ralph task done {name} --verify`"));
    }
    lines
}

/// Stands before an error in place of a fingerprint, where there was nothing to make one from.
pub(super) const SAID: &str = "said: ";

/// What the failure was seen in: the gate where it ran, be it silent; else whatever else there was.
fn seen_in(result: &AttemptResult, failure: &Failure) -> Option<String> {
    let attempt = &result.attempt;
    if attempt.gate.is_some() {
        let of_gate = attempt.fingerprint_source == MarkSource::Gate;
        return attempt.fingerprint_coarse.clone().filter(|_| of_gate);
    }
    let error = failure.known_error()?;
    let found = fingerprint(error);
    Some(found.map_or_else(|| format!("{SAID}{error}"), |found| found.coarse))
}

/// The failure object: the agent's own block, else the report.
fn failure(key: &str, result: &AttemptResult) -> Failure {
    let report = result.report.as_ref();
    let masked = |text: &str| mask_secrets(text).into_owned();
    // Masked before it is cut: half a key is none that is recognized.
    let cut = |text: &str, chars| text::cut_words(&mask_secrets(text), chars).into_owned();
    let error = match (&result.verdict.error_type, &result.verdict.message) {
        // How an agent was ended says nothing of why.
        (Some(ErrorType::Timeout | ErrorType::IdleTimeout), Some(message)) => Some(message.as_str()),
        _ => report.map(|report| capture::bare_error(&report.why_it_failed)),
    };
    let error = error.map(|error| cut(error, ERROR_CHARS));
    let raw_output = cut(&result.said, RAW_CHARS);
    if let Some(block) = &result.signals.failed_block {
        let facts = FailureFacts {
            error: block.error.as_deref().map(|error| cut(error, ERROR_CHARS)),
            attempted_fix: block.attempted_fix.as_deref().map(masked),
            status: block.status.as_deref().map(masked),
        };
        return Failure::of_block(key, facts, raw_output);
    }
    let attempt = report.filter(|report| !report.auto);
    let facts = FailureFacts {
        error: error.filter(|error| error != NOTHING_KNOWN),
        attempted_fix: attempt.map(|report| masked(&report.what_was_tried)),
        status: None,
    };
    Failure::without_block(key, facts, raw_output)
}

fn task_of(fix: &FixTask, original: &Task) -> NewTask {
    NewTask {
        // They go back into prompts, and hold what an agent said.
        title: inert(&fix.title),
        description: inert(&fix.description),
        key: Key::parse(&fix.key).ok(),
        phase: original.phase,
        parent: original.parent_id.clone(),
        after: Vec::new(),
        verify: original.verify.clone(),
        files: fix.files.clone(),
        protect: original.protect.clone(),
        may_change: original.may_change.clone(),
        priority: original.priority,
        model: None,
        done_when: Some(inert(&fix.done_when)),
        commit: Some(inert(&fix.commit)),
        markers: fix.markers(),
    }
}
