//! Gathering what a prompt is made of, for the loop and for `ralph context` alike.

use serde::Serialize;

use super::RunSettings;
use super::gate_runs::known_baseline;
use super::next_model::{agents_attempts, failed_attempts, in_a_row};
use super::protection::protection;
use super::settings::TaskGate;
use crate::adaptive::TaskView;
use crate::agent::Agent;
use crate::decide::{FailedAttempt, failure_trend, stuck_advice};
use crate::files::{Limit, Links, read_text};
use crate::memory::prompt::{
    Explanation, ExtraSection, FailureToFix, LandingConflict, LoopStatus, Memory, ParentPart, PastAttempt,
    Prerequisite, TaskPart, Template, TemplateError, failed_before, failure_to_fix, landing_conflict,
    refused_changes, render_memory, render_task, users_notes,
};
use crate::memory::recall::weights::CANDIDATES;
use crate::memory::recall::{Candidate, Fate, Ranked, RecallPolicy, RecallQuery, lookup, ranking, terms};
use crate::model::{
    GateOutcome, LearningId, ModelChoice, Outcome, Status, Task, TaskId, TaskMetrics, Timestamp,
};
use crate::project::Project;
use crate::signals::PLAN_REQUEST_INSTRUCTIONS;
use crate::store::{ConflictKind, Note, PastFailure, RunRates, Store, StoreError};
use crate::text::{invisible_escaped, mask_secrets};

#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error("cannot read template {path}: {source}")]
    Unreadable { path: String, source: std::io::Error },
}

#[derive(Clone, Debug)]
pub struct Prompt {
    pub choice: ModelChoice,
    /// Why there should be no attempt: a person is worth more.
    pub ask_human: Option<String>,
    /// The task as the choice of the model saw it.
    pub view: TaskView,
    /// Its failures in a row so far.
    pub failed_attempts: Vec<FailedAttempt>,
    /// Those of the tasks that it is to fix, before its own: models escalate along the whole chain.
    pub inherited: Vec<FailedAttempt>,
    pub rules: String,
    pub task: String,
    /// The learnings it shows, best first.
    pub learnings: Vec<LearningId>,
    /// What a person tells the attempt, oldest first.
    pub notes: Vec<Note>,
    /// What the memory part was made of.
    pub explanation: Explanation,
    pub recalled: Recalled,
}

/// The texts of prompts: the project's own where it has some, else the built-in ones.
#[derive(Clone, Debug)]
pub struct Templates {
    task: Template,
    rules: Template,
}

impl Templates {
    /// Reads them; a mistake in one is found here and not in the middle of a run.
    pub fn load(project: &Project) -> Result<Self, PromptError> {
        Ok(Self {
            task: template(project, "task.md", Template::built_in_task)?,
            rules: template(project, "rules.md", Template::built_in_rules)?,
        })
    }
}

/// The instructions of a planning session.
pub(super) fn plan_rules(project: &Project) -> Result<String, PromptError> {
    Ok(template(project, "plan.md", Template::built_in_plan)?.render(())?)
}

/// The instructions of a reviewer.
pub(super) fn review_rules(project: &Project) -> Result<String, PromptError> {
    Ok(template(project, "review.md", Template::built_in_review)?.render(())?)
}

fn template(
    project: &Project,
    name: &str,
    built_in: fn() -> Result<Template, TemplateError>,
) -> Result<Template, PromptError> {
    let path = project.templates().join(name);
    let shown = path.strip_prefix(project.root()).unwrap_or(&path).display().to_string();
    match read_text(&path, Links::Follow, Limit::SETTINGS) {
        Ok(text) => Ok(Template::parse(shown, text)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(built_in()?),
        Err(source) => Err(PromptError::Unreadable { path: shown, source }),
    }
}

/// Failures of other tasks of the phase that a prompt may show.
const MOST_PHASE_FAILURES: u32 = 100;

pub struct Prompter<'a> {
    pub templates: &'a Templates,
    pub project: &'a Project,
    pub store: &'a Store,
    pub agent: &'a Agent,
    /// It is the fallback of another, whose models the settings and the tasks name.
    pub is_fallback: bool,
    pub settings: &'a RunSettings,
    /// Now: what was learned lately matters a little more.
    pub now: Timestamp,
}

/// What the rules' template may use.
#[derive(Serialize)]
struct RulesData<'a> {
    task_id: &'a str,
    task_key: Option<&'a str>,
    models: &'a [String],
    verify: Option<&'a str>,
    always: Option<&'a str>,
    /// Whether a session that changes nothing has to say why.
    asks_for_reason: bool,
    files: &'a [String],
    /// What Ralph puts back before the gate runs.
    protected: Vec<String>,
    recovery: bool,
    changes: Option<&'static str>,
}

impl Prompter<'_> {
    /// The prompt of a task's next attempt, as attempt `iteration` of a run with these rates so far.
    pub fn prompt(
        &self,
        task: &Task,
        metrics: &TaskMetrics,
        iteration: u32,
        rates: RunRates,
    ) -> Result<Prompt, PromptError> {
        let failures = self.store.failures(&task.id)?;
        let failed_attempts = failed_attempts(in_a_row(&failures, metrics));
        let trend = failure_trend(&failed_attempts, &self.settings.policy);
        let asked = agents_attempts(&failures, metrics);
        let inherited = self.inherited(task)?;
        let (decision, view) = self.decide(task, metrics, asked, &inherited, &failed_attempts)?;
        let choice = decision.choice;
        let further_lines =
            stuck_advice(&trend, approaches(in_a_row(&failures, metrics)).iter().map(String::as_str));
        let stuck = metrics.stuck || trend.stuck;
        let only_the_signal_is_missing = failures.last().is_some_and(|last| {
            let unreported = matches!(last.attempt.outcome, Outcome::NoSigil | Outcome::Error);
            unreported && last.attempt.gate == Some(GateOutcome::Passed)
        });
        let task_data = self.task_part(task)?;
        let policy = RecallPolicy { max: self.settings.memory.max_learnings, ..RecallPolicy::default() };
        let query = question(task, task_data.parent.as_ref(), failures.last());
        let recalled = recall(self.store, &query, self.now, None, &policy)?;
        let memory = Memory {
            learnings: recalled.chosen().map(|(_, candidate)| candidate.clone()).collect(),
            attempts: failures.into_iter().map(past_attempt).collect(),
            status: LoopStatus {
                iteration,
                limit: self.settings.limit,
                attempt: metrics.total_attempts + 1,
                consecutive_failures: metrics.consecutive_failures,
                run_successes: rates.done,
                run_total: rates.counted,
                model: choice.model.clone(),
                rationale: choice.rationale.clone(),
                stuck,
                further_lines,
                // As the rules do below.
                may_change_plan: stuck,
            },
            phase_failures: self.store.phase_failures(&task.id, MOST_PHASE_FAILURES)?,
            agents_md: Some(self.in_root(self.settings.agents_md.clone().unwrap_or_default())),
        };
        let rendered = render_memory(&memory, &self.settings.memory);
        let notes = self.store.notes_for_prompt(&task.id)?;
        let told = users_notes(notes.iter().map(|note| note.text.as_str()));
        let mut task_part = render_task(&task_data, &(told + &rendered.text), &self.templates.task)?;
        if only_the_signal_is_missing {
            task_part = format!(
                "**The gate passed after the last attempt, but that attempt crashed, timed out or ended without a completion \
                 signal.** Check that the task is complete. If it is, change nothing and end with `<task-done>{}</task-done>` on a line of its own.\n\n{task_part}",
                task.id
            );
        }
        let rules = self.rules(task, stuck)?;
        Ok(Prompt {
            choice,
            ask_human: decision.ask_human,
            view,
            failed_attempts,
            inherited,
            rules,
            task: task_part,
            learnings: rendered.shown_learnings.into_iter().map(LearningId::from_stored).collect(),
            notes,
            explanation: rendered.explanation,
            recalled,
        })
    }

    /// For [`Store::read_ahead`].
    pub(super) fn read_ahead(&self, task: &Task) {
        let (store, id) = (self.store, &task.id);
        let _ = store.failures(id);
        let _ = store.fix_family(id);
        let _ = store.fix_link(id);
        let _ = store.last_conflict(id);
        let _ = store.plan_changes(id);
        let _ = store.phase_failures(id, MOST_PHASE_FAILURES);
        let _ = store.notes_for_prompt(id);
        // For what is told of protected files, and for what is kept of them.
        for _ in 0..2 {
            let _ = store.made_files_of_root(id);
            let _ = store.files_of_root(id);
        }
    }

    fn rules(&self, task: &Task, may_change: bool) -> Result<String, PromptError> {
        let gate = &self.settings.gate;
        // What may be secret in it stays in the environment of the gate, where the agent can run it.
        let shown = |gate: TaskGate| mask_secrets(&invisible_escaped(&gate.command)).into_owned();
        let (verify, always) = (gate.main(task).map(shown), gate.always(task).map(shown));
        Ok(self.templates.rules.render(RulesData {
            task_id: task.id.as_str(),
            task_key: task.key.as_ref().map(|key| key.as_str()),
            models: self.agent.ladder(),
            asks_for_reason: gate.enabled && verify.is_none(),
            verify: verify.as_deref(),
            always: always.as_deref(),
            files: &task.files,
            protected: self.protected(task)?,
            recovery: self.settings.recovery.enabled
                || self.settings.recovery_by_spec.values().any(|spec| spec.enabled),
            changes: may_change.then_some(PLAN_REQUEST_INSTRUCTIONS),
        })?)
    }

    /// What the next attempt may not change, as it is told.
    fn protected(&self, task: &Task) -> Result<Vec<String>, PromptError> {
        let (gate, root) = (&self.settings.gate, self.project.root());
        let gates = gate.gates(task);
        let gates: Vec<&str> = gates.iter().map(|gate| gate.command.as_str()).collect();
        let rules = protection(self.store, task, &gate.protect, &gates, root)?;
        Ok(rules.told(|path| root.join(path).is_file()))
    }

    fn task_part(&self, task: &Task) -> Result<TaskPart, PromptError> {
        // An old file may name a task that it does not hold.
        let known = |id: &TaskId| match self.store.task(id.as_str()) {
            Err(StoreError::UnknownTask(_)) => Ok(None),
            other => other.map(Some),
        };
        let parent = task.parent_id.as_ref().map(known).transpose()?.flatten();
        let mut prerequisites = Vec::new();
        for id in &task.depends_on {
            if let Some(done) = known(id)?.filter(|task| task.status == Status::Done) {
                let summary = self.store.summary(id)?;
                prerequisites.push(Prerequisite { id: id.to_string(), title: done.title, summary });
            }
        }
        Ok(TaskPart {
            id: task.id.to_string(),
            title: task.title.clone(),
            description: task.description.clone(),
            done_when: task.done_when.clone(),
            commit: task.commit.clone(),
            further: self.further(task)?,
            parent: parent.map(|task| ParentPart { title: task.title, description: task.description }),
            prerequisites,
            specs_dir: self.project.specs().map(|dir| self.in_root(dir)),
        })
    }

    /// A file of the project as an agent finds it: those that are only in the root are not in its own working tree.
    fn in_root(&self, path: String) -> String {
        match self.settings.is_isolated() && !path.is_empty() {
            true => self.project.root().join(path).display().to_string(),
            false => path,
        }
    }

    /// The failure that a fix task is for, and plan changes that were refused.
    fn further(&self, task: &Task) -> Result<Vec<ExtraSection>, PromptError> {
        let mut parts = Vec::new();
        if let Some(link) = self.store.fix_link(&task.id)?
            && let Some(original) = &link.original
        {
            let original = self.store.task(original.as_str())?;
            let failure = self.store.failures(&original.id)?.pop();
            let gate_output = self.store.last_gate_output(&original.id)?;
            let report = failure.and_then(|failure| past_attempt(failure).report);
            parts.push(failure_to_fix(&FailureToFix {
                name: original.name(),
                title: &original.title,
                report: report.as_ref(),
                gate_output: gate_output.as_deref(),
            }));
        }
        if let Some(conflict) = self.store.last_conflict(&task.id)? {
            let mut others = Vec::new();
            for other in &conflict.others {
                let name = self.store.task(other.as_str()).map(|task| task.name().to_owned());
                others.push(name.unwrap_or_else(|_| other.to_string()));
            }
            let kept_at = self.store.undone_ref(&task.id, conflict.attempt_number)?;
            parts.push(landing_conflict(&LandingConflict {
                is_by_gate: conflict.kind == ConflictKind::IntegrationFailure,
                files: &conflict.files,
                others: &others,
                own_diff: &conflict.own_diff,
                landed_diff: &conflict.landed_diff,
                kept_at: kept_at.as_deref(),
            }));
        }
        let mut failing = Vec::new();
        for gate in self.settings.gate.gates(task) {
            let known = known_baseline(self.store, task, &gate)?.unwrap_or_default();
            failing.push((gate.of, gate.command, known.failing));
        }
        parts.extend(failed_before(&failing));
        let changes = self.store.plan_changes(&task.id)?;
        let last = changes.last().map(|change| change.attempt_number);
        let refused: Vec<_> = changes
            .into_iter()
            .filter(|change| Some(change.attempt_number) == last)
            .filter_map(|change| Some((change.kind, change.refusal?)))
            .collect();
        parts.extend(refused_changes(&refused));
        Ok(parts)
    }
}

/// What was tried, by the reports; else what was changed.
fn approaches(failures: &[PastFailure]) -> Vec<String> {
    let reports = failures.iter().filter_map(|failure| failure.report.as_ref());
    reports
        .map(|report| {
            let files = report.relevant_files.iter().take(3).cloned();
            match report.what_was_tried.trim() {
                "" if report.relevant_files.is_empty() => String::new(),
                "" => format!("changing {}", files.collect::<Vec<_>>().join(", ")),
                tried => tried.to_owned(),
            }
        })
        .collect()
}

fn past_attempt(failure: PastFailure) -> PastAttempt {
    PastAttempt {
        number: failure.attempt.attempt,
        model: failure.attempt.model,
        outcome: failure.attempt.outcome.to_string(),
        duration_ms: failure.attempt.duration_ms,
        report: failure.report,
    }
}

#[derive(Clone, Debug, Default)]
pub struct Recalled {
    /// Every learning that was considered, best first, with its score and what became of it.
    pub ranking: Vec<Ranked>,
    candidates: Vec<Candidate>,
}

impl Recalled {
    pub fn chosen(&self) -> impl Iterator<Item = (&Ranked, &Candidate)> {
        self.ranking
            .iter()
            .filter(|ranked| ranked.fate == Fate::Chosen)
            .filter_map(|ranked| Some((ranked, self.candidate(&ranked.scored.id)?)))
    }

    pub fn candidate(&self, id: &str) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.id == id)
    }
}

/// Ranks the learnings that matter to a query, as of `now`; with `before`, only those learned earlier.
pub fn recall(
    store: &Store,
    query: &RecallQuery,
    now: Timestamp,
    before: Option<Timestamp>,
    policy: &RecallPolicy,
) -> Result<Recalled, StoreError> {
    if policy.max == 0 {
        return Ok(Recalled::default());
    }
    let terms = terms(query);
    let mut corpus = store.corpus(&terms)?;
    let lookup = lookup(&terms, &corpus);
    let most = CANDIDATES.max(policy.max);
    let candidates = store.candidates(&lookup, before, most, &mut corpus)?;
    let ranking = ranking(query, &candidates, &corpus, now.as_millis(), policy);
    Ok(Recalled { ranking, candidates })
}

/// What a task's next attempt asks for: its words and files, those of its parent, and how it failed last.
fn question(task: &Task, parent: Option<&ParentPart>, last: Option<&PastFailure>) -> RecallQuery {
    let mut text = task.description.clone();
    if let Some(ParentPart { title, description }) = parent {
        // At the end, where words weigh less: it is about more than this task.
        text = format!("{text}\n{title}\n{description}");
    }
    let report = last.and_then(|failure| failure.report.as_ref());
    RecallQuery {
        title: task.title.clone(),
        text,
        files: task.files.clone(),
        error_category: report
            .and_then(|report| report.error_category.clone())
            .filter(|category| category != "unknown"),
        failure_text: report.map(|report| {
            let trace = report.stack_trace_snippet.as_deref().unwrap_or_default();
            let failing = last.map(|failure| failure.attempt.failing_tests.join("\n"));
            let failing = failing.unwrap_or_default();
            format!("{failing}\n{}\n{trace}", report.why_it_failed)
        }),
    }
}
