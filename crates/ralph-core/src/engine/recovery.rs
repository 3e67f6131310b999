//! Recovery: what a counted failure means for the plan. A fix task, or the end of the chain; and changes that agents ask for.

use std::collections::HashMap;

use super::RecoverySettings;
use super::finding::Finding;
use super::run::{EngineError, Run};
use crate::decide::{AfterAttempt, Policy};
use crate::diagnose::fingerprint;
use crate::event::{EventKind, TaskRef};
use crate::evidence::Verdict;
use crate::files::{Limit, Links, RealPaths, read_text};
use crate::gate::every_line_counts;
use crate::import::{PROGRESS_MD, TASKS_MD};
use crate::model::{
    ErrorType, GateOutcome, GateRecord, Key, MarkSource, NewTask, Outcome, Phase, Task,
};
use crate::modification::{
    self, Change, Dependency, Found, Kind, Known, Limits, Place, PlannedTask, Standing, plan_change,
};
use crate::plan_files::tasks_md::{find, is_command};
use crate::project::Project;
use crate::recovery::{
    Evidence, FailReason, Failure, FailureBlock, FinalState, FixTask, LimitReached, Original,
    next_fix,
};
use crate::store::{
    Claimed, FixFamily, FixText, Needed, NewFix, NewTasks, PlanChange, RecoveryEnd, Side, Store,
    StoreError, TaskNext,
};
use crate::text::neutral::{inert, inert_prose};
use crate::text::{self, mask_secrets};

/// The longest output that goes with a failure object.
const RAW_CHARS: usize = 10_000;
/// The longest error.
const ERROR_CHARS: usize = 500;
/// What a report says that knows nothing.
const NOTHING_KNOWN: &str = "Task failed (no structured report)";

/// What follows from a failure.
pub(super) enum Repair {
    /// Nothing: the task is simply tried again.
    None,
    /// A fix task comes first.
    Fix {
        fix: Box<NewFix>,
        failure: Box<Failure>,
    },
    /// A limit was reached.
    End(RecoveryEnd, LimitReached),
}

/// All that an attempt means for the plan.
#[derive(Default)]
pub(super) struct Mending {
    pub fix: Option<NewFix>,
    pub end: Option<RecoveryEnd>,
    pub changes: Vec<PlanChange>,
    /// What is told after the attempt.
    pub events: Vec<EventKind>,
}

/// What a failure asks for, by the settings of a project: a fix task, or the end of the chain.
#[derive(Clone, Copy)]
pub struct Repairs<'a> {
    /// The project.
    pub project: &'a Project,
    /// How many attempts a task may have.
    pub policy: &'a Policy,
    /// How far tasks are recovered.
    pub recovery: RecoverySettings,
    /// The same for the tasks of specs that have a say in it, by the path of their tasks.
    pub by_spec: &'a HashMap<String, RecoverySettings>,
    /// Where Ralph's files led when the run began.
    pub real_paths: &'a RealPaths,
}

impl Run<'_, '_> {
    /// What the failures of this run ask for.
    pub(super) fn repairs(&self) -> Repairs<'_> {
        let settings = &self.engine.settings;
        Repairs {
            project: self.engine.project,
            policy: &settings.policy,
            recovery: settings.recovery,
            by_spec: &settings.recovery_by_spec,
            real_paths: &self.real_paths,
        }
    }

    /// What an attempt means for the plan; may change what becomes of its task. `tried` is what was tried so far.
    pub(super) fn mending(
        &self,
        claimed: &Claimed,
        finding: &Finding,
        tried: Option<&str>,
        after: &mut AfterAttempt,
    ) -> Result<Mending, EngineError> {
        let said = finding
            .agent
            .as_ref()
            .map_or("", |agent| agent.result_text.as_str());
        let changes = self.changes(claimed, &finding.verdict, said)?;
        let opens = |change: &PlanChange| {
            let kind = change.kind.as_deref().and_then(Kind::parse);
            change.outcome.is_ok() && kind.is_some_and(Kind::leaves_original_open)
        };
        if changes.iter().any(opens) {
            // Its agent found another way; whether that works is yet to be seen.
            after.metrics.consecutive_failures = claimed.metrics.consecutive_failures;
            after.metrics.stuck = claimed.metrics.stuck;
            after.gave_up = false;
            after.next = TaskNext::Pending;
            return Ok(Mending {
                changes,
                ..Mending::default()
            });
        }
        let store = &*self.engine.store;
        let mending = self
            .repairs()
            .mending(store, &claimed.task, finding, tried, after)?;
        Ok(Mending { changes, ..mending })
    }

    /// Why a task gets no further attempt without a person, where it gets none, and the end of the recovery chain it
    /// belongs to.
    pub(super) fn used_up(
        &self,
        task: &Task,
    ) -> Result<Option<(String, Option<RecoveryEnd>)>, EngineError> {
        let store = &*self.engine.store;
        let used = store.attempts_used(&task.id)?;
        let policy = &self.engine.settings.policy;
        if used < policy.max_total_attempts {
            return Ok(None);
        }
        let family = store.fix_family(&task.id)?;
        let failures = store.failures(&task.id)?;
        let report = failures.last().and_then(|failure| failure.report.as_ref());
        let last = report.map(|report| text::one_line(&report.why_it_failed, 300));
        let Some(reason) = policy.used_up(used, family.lineage.root(), last.as_deref()) else {
            return Ok(None);
        };
        let is_alone = family.lineage.above.is_empty() && family.lineage.fixes.is_empty();
        let end = (!is_alone).then(|| RecoveryEnd {
            root: family.chain.last().unwrap_or(&task.id).clone(),
            chain: family.chain.clone(),
            reason: reason.clone(),
            error: last.unwrap_or_default(),
            end: FinalState::Fail(FailReason::MaxLimit),
        });
        Ok(Some((reason, end)))
    }

    /// What became of the changes that the last attempt asked for.
    pub(super) fn tell_of_changes(&mut self, task: &Task, asked: usize) -> Result<(), EngineError> {
        if asked == 0 {
            return Ok(());
        }
        let changes = self.engine.store.plan_changes(&task.id)?;
        let skip = changes.len().saturating_sub(asked);
        for change in changes.into_iter().skip(skip) {
            self.tell(EventKind::PlanChange {
                task: TaskRef::from(task),
                kind: change.kind,
                reasoning: change.reasoning,
                added: change.tasks,
                refusal: change.refusal,
            })?;
        }
        Ok(())
    }

    /// The changes of the plan that an answer asks for, each looked into.
    pub(super) fn changes(
        &self,
        claimed: &Claimed,
        verdict: &Verdict,
        result_text: &str,
    ) -> Result<Vec<PlanChange>, EngineError> {
        let found = modification::parse(result_text);
        if found.is_empty() || (!verdict.counted && verdict.outcome != Outcome::Done) {
            return Ok(Vec::new());
        }
        let store = &*self.engine.store;
        let task = &claimed.task;
        let before = store.change_standing(&task.id)?;
        let family = store.fix_family(&task.id)?;
        let open_children = store
            .children(&task.id)?
            .iter()
            .any(|child| !child.status.satisfies());
        let mut made = before.made;
        // What earlier requests of the same answer add: later ones are judged as if it were there.
        let mut granted: Vec<Change> = Vec::new();
        let mut changes = Vec::new();
        for request in found {
            let request = match request {
                Found::Request(request) => request,
                Found::Broken { reason } => {
                    changes.push(PlanChange {
                        kind: None,
                        reasoning: String::new(),
                        outcome: Err(reason.to_string()),
                    });
                    continue;
                }
            };
            let standing = Standing {
                id: task.id.as_str(),
                key: task.key.as_ref().map(Key::as_str),
                parent: None,
                has_gate: task.verify.is_some(),
                phase: task.phase.map(Phase::number),
                modifications: made,
                depth: before.depth,
                has_open_children: open_children
                    || granted.iter().any(|change| change.kind == Kind::SplitTask),
                plan: &|name| {
                    if let Some(known) = granted.iter().find_map(|change| change.known(name)) {
                        return Some(known);
                    }
                    let (name, mut waits_for) = store.waits_for(name).ok()??;
                    if name == task.name() {
                        let more = granted.iter().flat_map(Change::original_waits_for);
                        waits_for.extend(more.map(str::to_owned));
                    }
                    Some(Known { name, waits_for })
                },
                can_run: &|command| {
                    let root = self.engine.project.root();
                    is_command(command, &|word| crate::import::can_run(root, word))
                },
            };
            let done = verdict.outcome == Outcome::Done;
            let outcome = if done && request.kind.leaves_original_open() {
                Err("the task is done: request ADD_FOLLOWUP instead".to_owned())
            } else if !family.lineage.above.is_empty() && request.kind == Kind::SplitTask {
                Err(
                    "a fix task cannot be split: fix its one failure, or report the task as failed"
                        .to_owned(),
                )
            } else if let Some(why) = contradiction(&granted, request.kind) {
                Err(why.to_owned())
            } else {
                plan_change(&request, &standing, &Limits::default())
                    .map_err(|refusal| refusal.to_string())
            };
            made += u32::from(outcome.is_ok());
            let outcome = outcome.map(|change| {
                let new = new_tasks(&change, task);
                granted.push(change);
                new
            });
            changes.push(PlanChange {
                kind: Some(request.kind.as_str().to_owned()),
                reasoning: mask_secrets(&request.reasoning).into_owned(),
                outcome,
            });
        }
        Ok(changes)
    }
}

impl Repairs<'_> {
    /// What a failure means for the plan; may change what becomes of its task.
    pub(super) fn mending(
        &self,
        store: &dyn Store,
        task: &Task,
        finding: &Finding,
        tried: Option<&str>,
        after: &mut AfterAttempt,
    ) -> Result<Mending, StoreError> {
        let mut mending = Mending::default();
        let failed = finding.verdict.counted && finding.verdict.outcome != Outcome::Done;
        if failed && after.next == TaskNext::Pending {
            let used = store.attempts_used(&task.id)? + 1;
            let family = store.fix_family(&task.id)?;
            let last = finding.verdict.message.as_deref();
            let policy = self.policy;
            if let Some(reason) = policy.used_up(used, family.lineage.root(), last) {
                let lines = vec![format!(
                    "ERROR: Max total attempts ({}) reached for task {}",
                    policy.max_total_attempts,
                    family.lineage.root()
                )];
                let task = TaskRef::from(task);
                mending.events.push(EventKind::GivenUp { task, lines });
                after.next = TaskNext::Blocked { reason };
            }
        }
        if let TaskNext::Blocked { reason } = &after.next {
            let family = store.fix_family(&task.id)?;
            if after.gave_up {
                let logged = self.has_progress_log(store, task)?;
                let lines = out_of_retries(task, after, finding, logged);
                let task = TaskRef::from(task);
                mending.events.push(EventKind::GivenUp { task, lines });
            }
            if !family.lineage.above.is_empty() || !family.lineage.fixes.is_empty() {
                mending.end = Some(RecoveryEnd {
                    root: family.chain.last().unwrap_or(&task.id).clone(),
                    chain: family.chain,
                    reason: reason.clone(),
                    error: failure(&family.lineage.failed, finding).error,
                    end: FinalState::Fail(FailReason::Unknown),
                });
            }
            return Ok(mending);
        }
        match self.repair(store, task, finding, tried)? {
            Repair::None => {}
            Repair::Fix { fix, failure } => {
                let key = fix.task.key.as_ref();
                mending.events.push(EventKind::FixCreated {
                    task: TaskRef::from(task),
                    fix: key.map(ToString::to_string).unwrap_or_default(),
                    fix_title: fix.task.title.clone(),
                    failure,
                });
                mending.fix = Some(*fix);
            }
            Repair::End(end, limit) => {
                let lines = limit.lines();
                after.next = TaskNext::Blocked {
                    reason: end.reason.clone(),
                };
                let task = TaskRef::from(task);
                mending.events.push(EventKind::GivenUp { task, lines });
                mending.end = Some(end);
            }
        }
        Ok(mending)
    }

    /// What a counted failure in recovery mode asks for.
    fn repair(
        &self,
        store: &dyn Store,
        task: &Task,
        finding: &Finding,
        tried: Option<&str>,
    ) -> Result<Repair, StoreError> {
        let settings = self.recovery_of(store, task)?;
        let verdict = &finding.verdict;
        if !settings.enabled || !verdict.counted || verdict.outcome == Outcome::Done {
            return Ok(Repair::None);
        }
        // Only its signal is missing: there is nothing to fix.
        let passed = |gate: &GateRecord| gate.outcome == GateOutcome::Passed;
        if verdict.outcome == Outcome::NoSigil && finding.gate.as_ref().is_some_and(passed) {
            return Ok(Repair::None);
        }
        let family = store.fix_family(&task.id)?;
        // A person may have given the key away in the file a moment ago.
        let file = self.spec_text(store, task)?;
        let taken = |key: &str| {
            store.task(key).is_ok() || file.as_ref().is_some_and(|text| find(text, key).is_some())
        };
        let failure = failure(&family.lineage.failed, finding);
        match next_fix(&family.lineage, &settings.limits, &taken) {
            Err(limit) => {
                let end = RecoveryEnd {
                    error: failure.error,
                    ..end_of(&family, &limit, tried)
                };
                Ok(Repair::End(end, limit))
            }
            Ok(key) => {
                let category = finding
                    .report
                    .as_ref()
                    .and_then(|report| report.error_category.clone());
                let folder = spec_folder(store, task)?;
                let fix = FixTask::new(
                    key,
                    &failure,
                    &Original {
                        files: &task.files,
                        verify: task.verify.as_deref(),
                        spec_folder: folder.as_deref(),
                        error_category: category.as_deref(),
                    },
                );
                let new = NewFix {
                    task: task_of(&fix, task),
                    text: FixText {
                        original: failure.task_id.clone(),
                        error: failure.error.clone(),
                        attempted: failure.known_attempt().map(str::to_owned),
                        category,
                    },
                    coarse: seen_in(finding, &failure),
                };
                Ok(Repair::Fix {
                    fix: Box::new(new),
                    failure: Box::new(failure),
                })
            }
        }
    }

    /// Whether a task's failures are logged in a `.progress.md` beside its file.
    fn has_progress_log(&self, store: &dyn Store, task: &Task) -> Result<bool, StoreError> {
        let path = spec_path(store, task)?.map(|path| self.project.root().join(path));
        Ok(path.is_some_and(|path| {
            path.file_name().is_some_and(|name| name == TASKS_MD)
                || path.with_file_name(PROGRESS_MD).exists()
        }))
    }

    /// How far a task is recovered: its own spec's state file may have a say.
    fn recovery_of(&self, store: &dyn Store, task: &Task) -> Result<RecoverySettings, StoreError> {
        let path = match self.by_spec.is_empty() {
            true => None,
            false => spec_path(store, task)?,
        };
        let own = path.and_then(|path| self.by_spec.get(&path));
        Ok(own.copied().unwrap_or(self.recovery))
    }

    /// What the file of a task's spec holds now.
    fn spec_text(&self, store: &dyn Store, task: &Task) -> Result<Option<String>, StoreError> {
        let path = spec_path(store, task)?;
        let path = path.filter(|path| path.ends_with(".md"));
        let path = path.map(|path| self.project.root().join(path));
        let real = path.and_then(|path| self.real_paths.real(&path).ok());
        Ok(real.and_then(|path| read_text(&path, Links::Refuse, Limit::TEXT).ok()))
    }
}

fn spec_path(store: &dyn Store, task: &Task) -> Result<Option<String>, StoreError> {
    let root = store.fix_link(&task.id)?.and_then(|link| link.root);
    store.source_path(&root.unwrap_or_else(|| task.id.clone()))
}

/// The folder of the spec a task belongs to, by itself or by the task it mends.
fn spec_folder(store: &dyn Store, task: &Task) -> Result<Option<String>, StoreError> {
    let path = spec_path(store, task)?;
    Ok(path.and_then(|path| Some(path.rsplit_once('/')?.0.to_owned())))
}

/// Why a request cannot be granted beside those of the same answer that were: the parts of a split do not wait for what
/// their parent waits for, so a prerequisite would come too late.
fn contradiction(granted: &[Change], kind: Kind) -> Option<&'static str> {
    let has = |other: Kind| granted.iter().any(|change| change.kind == other);
    match kind {
        Kind::AddPrerequisite if has(Kind::SplitTask) => Some(
            "another request in the same answer splits the task: make the prerequisite the first part",
        ),
        Kind::SplitTask if has(Kind::AddPrerequisite) => Some(
            "another request in the same answer adds a prerequisite: request the split in the next attempt",
        ),
        _ => None,
    }
}

/// A task that was retried to its limit: what there is to say.
fn out_of_retries(
    task: &Task,
    after: &AfterAttempt,
    finding: &Finding,
    has_progress_log: bool,
) -> Vec<String> {
    let attempts = after.metrics.consecutive_failures;
    let plural = if attempts == 1 { "" } else { "s" };
    let why = finding
        .report
        .as_ref()
        .map(|report| report.why_it_failed.as_str());
    let why = why
        .or(finding.verdict.message.as_deref())
        .unwrap_or(NOTHING_KNOWN);
    vec![
        format!(
            "ERROR: Max retries reached for task {} after {attempts} attempt{plural}",
            task.name()
        ),
        format!("Last failure: {}", text::one_line(why, 500)),
        match has_progress_log {
            true => "Review .progress.md Learnings section for failure details".to_owned(),
            false => format!("Failure details: `ralph failures show {}`", task.name()),
        },
        format!(
            "Fix the issue manually, then `ralph run {}` to resume",
            task.name()
        ),
    ]
}

fn end_of(family: &FixFamily, limit: &LimitReached, tried: Option<&str>) -> RecoveryEnd {
    let tried = tried.map(|tried| format!("tried {tried}"));
    let reason: Vec<String> = limit.lines().into_iter().chain(tried).collect();
    let root = family.chain.last().or_else(|| family.chain.first());
    RecoveryEnd {
        chain: family.chain.clone(),
        root: root
            .cloned()
            .unwrap_or_else(|| crate::model::TaskId::from_stored("")),
        reason: reason.join("; "),
        error: String::new(),
        end: limit.final_state(),
    }
}

/// What the failure was seen in: the gate where it ran, be it silent; else whatever else there was.
fn seen_in(finding: &Finding, failure: &Failure) -> Option<String> {
    let mark = finding.mark.as_ref();
    if finding.gate.is_some() {
        let of_gate = mark.filter(|mark| mark.source == MarkSource::Gate);
        return of_gate.map(|mark| mark.coarse.clone());
    }
    let error = failure.known_error()?;
    let found = fingerprint(error);
    Some(found.map_or_else(|| format!("said: {error}"), |found| found.coarse))
}

/// The failure object: the agent's own block, else the report.
fn failure(key: &str, finding: &Finding) -> Failure {
    let block = finding
        .signals
        .as_ref()
        .and_then(|signals| signals.failed_block.as_ref());
    let report = finding.report.as_ref();
    let masked = |text: &str| mask_secrets(text).into_owned();
    // Masked before it is cut: half a key is none that is recognized.
    let cut = |text: &str, chars| text::cut_words(&mask_secrets(text), chars).into_owned();
    let error = report.map(|report| {
        // What Ralph adds about the gate is no part of the error.
        let why = report.why_it_failed.as_str();
        why.split_once(" (the gate `")
            .map_or(why, |(error, _)| error)
    });
    // How an agent was ended says nothing of why.
    let late = matches!(
        finding.verdict.error_type,
        Some(ErrorType::Timeout | ErrorType::IdleTimeout)
    );
    let error = match finding.verdict.message.as_deref() {
        Some(message) if late => Some(message),
        _ => error,
    };
    let error = error.map(|error| cut(error, ERROR_CHARS));
    let attempt = report.filter(|report| !report.auto);
    let raw = finding
        .agent
        .as_ref()
        .map_or("", |agent| agent.result_text.as_str());
    Failure::of(Evidence {
        key: key.to_owned(),
        failed_block: block.map(|block| FailureBlock {
            error: block.error.as_deref().map(|error| cut(error, ERROR_CHARS)),
            attempted_fix: block.attempted_fix.as_deref().map(masked),
            status: block.status.as_deref().map(masked),
        }),
        best_error: error.filter(|error| error != NOTHING_KNOWN),
        best_attempt: attempt.map(|report| masked(&report.what_was_tried)),
        raw_output: cut(raw, RAW_CHARS),
    })
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
        priority: original.priority,
        model: None,
        done_when: Some(inert(&fix.done_when)),
        commit: Some(inert(&fix.commit)),
        markers: fix.markers(),
    }
}

fn new_tasks(change: &Change, original: &Task) -> NewTasks {
    let below = change.place == Place::BelowOriginal;
    let parent = if below {
        Some(original.id.clone())
    } else {
        original.parent_id.clone()
    };
    let task = |planned: &PlannedTask| {
        // They go back into prompts and files: an agent's words must not act as Ralph's there.
        let words = |text: &str| inert_prose(&mask_secrets(text));
        let new = NewTask {
            title: words(&planned.title),
            description: words(&planned.description),
            key: Key::parse(&planned.key).ok(),
            phase: original.phase,
            parent: parent.clone(),
            after: Vec::new(),
            verify: planned.verify.clone().map(every_line_counts),
            files: planned.files.clone(),
            priority: original.priority,
            model: None,
            done_when: planned.done_when.as_deref().map(words),
            commit: planned.commit.as_deref().map(words),
            markers: Vec::new(),
        };
        (new, planned.depends.iter().map(needed).collect())
    };
    NewTasks {
        tasks: change.tasks.iter().map(task).collect(),
        original_needs: change
            .original_depends
            .iter()
            .filter_map(|key| Key::parse(key).ok())
            .map(Needed::New)
            .collect(),
        side: match change.place {
            Place::BeforeOriginal => Side::Before,
            Place::BelowOriginal | Place::AfterOriginal => Side::After,
        },
        depth: change.depth,
    }
}

fn needed(dependency: &Dependency) -> Needed {
    match dependency {
        Dependency::New(key) => match Key::parse(key) {
            Ok(key) => Needed::New(key),
            Err(_) => Needed::Known(key.clone()),
        },
        Dependency::Existing(name) => Needed::Known(name.clone()),
    }
}
