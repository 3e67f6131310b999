//! A review: another agent, in a fresh session, judges finished work before it counts as done.

use super::agent_session::{log_path, open_log};
use super::next_model::in_a_row as failures_in_a_row;
use super::prompter::{PromptError, review_rules};
use super::run::Run;
use super::run_end::Result;
use super::settings::ReviewWhen;
use super::side_session::{Question, ReadOnlyTree, SessionEnding};
use crate::agent::{Agent, LaunchRequest};
use crate::event::{EventKind, TaskRef};
use crate::evidence::{Evidence, ReviewResult};
use crate::logs::attempt_name;
use crate::memory::prompt::{ReviewPart, render_review};
use crate::model::{
    ErrorType, FailureClass, GateOf, GateOutcome, GateRecord, Outcome, Review, ReviewVerdict,
};
use crate::project::Project;
use crate::sandbox::Subject;
use crate::signals::review;
use crate::store::{Claimed, SessionKind, SideSession};
use crate::text::{in_a_row, last_paragraph, mask_secrets, one_line};

/// A reviewer that gives no verdict, or crashes, is asked once more.
const TRIES_WITHOUT_VERDICT: u32 = 2;
const NAP: std::time::Duration = std::time::Duration::from_millis(100);
const FINDING_CHARS: usize = 500;

pub(super) struct Reviewer<'a> {
    agent: &'a Agent,
    rules: String,
}

impl<'a> Reviewer<'a> {
    pub(super) fn new(agent: &'a Agent, project: &Project) -> Result<Self, PromptError> {
        Ok(Self { agent, rules: review_rules(project)? })
    }
}

/// Why a session gave no verdict, and whether its service may do better later.
struct NoVerdict {
    why: String,
    class: Option<FailureClass>,
}

impl Run<'_> {
    /// Whether finished work is reviewed.
    pub(super) fn wants_review(&self, evidence: &Evidence) -> bool {
        let gate = evidence.gate_record();
        match self.context.settings.review.when {
            ReviewWhen::Never => false,
            // The project's gate says nothing about what the task was to achieve.
            ReviewWhen::Ungated => evidence.gate.is_none(),
            // The work of a fix task is done before all is well.
            ReviewWhen::Always => gate.is_none_or(|gate| gate.outcome == GateOutcome::Passed),
        }
    }

    /// Has the work reviewed. A reviewer that fails itself costs the worker nothing: it is asked again as failing services are,
    /// and then the work stands without a review.
    pub(super) fn review(&mut self, claimed: &Claimed, evidence: &Evidence) -> Result<ReviewResult> {
        let part = self.review_part(claimed, evidence)?;
        let prompt = render_review(&part);
        let (mut faults, mut without) = (0, 0);
        loop {
            let failed = match self.ask_reviewer(claimed, &prompt)? {
                Ok(review) => return Ok(ReviewResult::Given(review)),
                Err(failed) => failed,
            };
            if self.context.interrupt.first().is_some() {
                return Ok(ReviewResult::Interrupted);
            }
            let again = match failed.class {
                Some(FailureClass::Service) => {
                    faults += 1;
                    faults <= self.context.settings.service_retries
                }
                None => {
                    without += 1;
                    without < TRIES_WITHOUT_VERDICT
                }
                Some(_) => false,
            };
            if !again {
                let (name, why) = (claimed.task.name(), &failed.why);
                let reviewer = self.reviewer.agent.name();
                let reviewer = reviewer.to_owned();
                self.context.warn(format!("{name} was not reviewed: {reviewer} {why}"))?;
                let findings = vec![one_line(&mask_secrets(why), FINDING_CHARS)];
                let verdict = ReviewVerdict::NotGiven;
                return Ok(ReviewResult::NotGiven(Review { verdict, agent: reviewer, findings }));
            }
            if faults > 0 && !self.wait_for_reviewer(faults) {
                return Ok(ReviewResult::Interrupted);
            }
        }
    }

    /// Waits as for a failing service; false where Ralph was told to stop meanwhile.
    fn wait_for_reviewer(&mut self, faults: u32) -> bool {
        let run = &mut self.context;
        let wait = run.next_backoff(faults);
        let began = run.clock.steady();
        while run.clock.steady().saturating_sub(began) < wait {
            if run.interrupt.first().is_some() {
                return false;
            }
            run.beat();
            run.clock.sleep(NAP.min(wait));
        }
        true
    }

    /// One session of the reviewer.
    fn ask_reviewer(&mut self, claimed: &Claimed, prompt: &str) -> Result<Result<Review, NoVerdict>> {
        let agent = self.reviewer.agent;
        let task = &claimed.task;
        let run = &mut self.context;
        let budget_usd = self.budgets.rest(run, &task.id)?;
        let model = run.settings.review.model.clone().or_else(|| agent.ladder().last().cloned());
        let model = model.unwrap_or_else(|| agent.name().to_owned());
        let attempt = claimed.attempts.recorded + 1;
        let (run_id, interrupt) = (run.id.clone(), run.interrupt.clone());
        let log_name = attempt_name(&format!("review-{}", task.id), attempt, run.id.as_str());
        let log = open_log(run, &log_name)?;
        let request = LaunchRequest {
            task_id: &task.id,
            task_key: task.key.as_ref().map(|key| key.as_str()),
            attempt: claimed.attempts.counted + 1,
            model: &model,
            run_id: &run_id,
            project_root: run.project.root(),
            work_tree: run.work_tree,
            rules: &self.reviewer.rules,
            task_prompt: prompt,
            is_root: rustix::process::getuid().is_root(),
            is_confined: run.sandbox.backend().is_some(),
            budget_usd,
        };
        let started_at = run.clock.now();
        let mut record = SideSession {
            kind: SessionKind::Review,
            goal: task.title.clone(),
            task_id: Some(task.id.clone()),
            attempt: claimed.attempts.counted + 1,
            run_id: run.id.clone(),
            agent: agent.name().to_owned(),
            model: model.clone(),
            started_at,
            log_path: Some(log_path(&log_name)),
            ..SideSession::default()
        };
        let session = run.store.begin_side_session(&record, &run.owner)?;
        run.show(EventKind::ReviewStarted {
            task: TaskRef::from(task),
            agent: agent.name().to_owned(),
            model: model.clone(),
        });
        let tree = match (&self.tree.git, run.other_run()?) {
            (Some(git), None) => {
                ReadOnlyTree::keep(git, format!("review-{}-{attempt:03}", task.id), "reviewing").ok()
            }
            // What the other run does meanwhile must not be undone.
            _ => None,
        };
        let confinement = run.confinement(Subject::Agent(agent))?;
        let question = Question {
            agent,
            request,
            settings: run.settings,
            wall: run.settings.review.timeout,
            interrupt: &interrupt,
            log,
            confinement: confinement.as_ref(),
        };
        let mut guard = run.take_guard()?;
        let state_md = &mut self.state_md;
        let answer = question.ask(guard.as_mut(), &mut |activity| match activity {
            None => {
                run.beat();
                state_md.show_attempt(run);
            }
            Some(activity) => {
                let activity = activity.clone();
                run.show(EventKind::Activity { task_id: task.id.clone(), activity });
            }
        });
        run.return_guard(guard)?;
        let undone = tree.and_then(ReadOnlyTree::restore);
        run.files_may_have_changed();
        if let Some(undone) = undone {
            run.warn(format!("{}: {undone}", task.name()))?;
        }
        run.tell_undone(confinement.as_ref())?;
        let given = match (&answer.ending, review(&answer.report.result_text)) {
            (SessionEnding::Answered, Some(given)) => Ok(Review {
                verdict: if given.accepted { ReviewVerdict::Accepted } else { ReviewVerdict::Rejected },
                agent: agent.name().to_owned(),
                findings: given.findings.iter().map(|text| one_line(text, FINDING_CHARS)).collect(),
            }),
            (ending, _) => Err(no_verdict(ending)),
        };
        answer.add_to(&mut record, run.clock.now().since(started_at));
        if let SessionEnding::Answered = answer.ending {
            let message = match &given {
                Ok(review) => review.findings.first().cloned(),
                Err(failed) => Some(failed.why.clone()),
            };
            record.message = message;
            record.outcome = Some(match &given {
                Ok(Review { verdict: ReviewVerdict::Accepted, .. }) => Outcome::Done,
                Ok(Review { verdict: ReviewVerdict::Rejected, .. }) => Outcome::Failed,
                Ok(Review { verdict: ReviewVerdict::NotGiven, .. }) | Err(_) => Outcome::NoSigil,
            });
        }
        run.store.end_side_session(session, &record, run.clock.now())?;
        run.tell(EventKind::ReviewFinished {
            task: TaskRef::from(task),
            agent: agent.name().to_owned(),
            verdict: given.as_ref().ok().map(|review| review.verdict),
            findings: given.as_ref().map(|review| review.findings.clone()).unwrap_or_default(),
            duration_ms: record.duration_ms,
            cost_usd: record.cost_usd,
        })?;
        run.show_progress()?;
        Ok(given)
    }

    fn review_part(&mut self, claimed: &Claimed, evidence: &Evidence) -> Result<ReviewPart> {
        let task = &claimed.task;
        let mask = |text: &String| mask_secrets(text).into_owned();
        Ok(ReviewPart {
            name: task.name().to_owned(),
            title: task.title.clone(),
            description: task.description.clone(),
            done_when: task.done_when.clone(),
            files: task.files.clone(),
            gates: evidence.gates().map(|gate| (said_by(gate), gate.output_tail.clone())).collect(),
            files_changed: evidence.git.files_changed.clone(),
            patch: evidence.integrity.patch.as_ref().map(mask),
            remarks: evidence.integrity.remarks(),
        })
    }

    /// What a person is asked after too many rejections in a row: both sides, and what to type.
    pub(super) fn review_standoff(&self, claimed: &Claimed, evidence: &Evidence) -> Result<Option<String>> {
        const ARGUMENT: usize = 140;
        if evidence.integrity.rejection().is_none() {
            return Ok(None);
        }
        let (task, run) = (&claimed.task, &self.context);
        let failures = run.store.failures(&task.id)?;
        let last = failures_in_a_row(&failures, &claimed.metrics).iter();
        let earlier = last.filter(|past| past.attempt.error_type == Some(ErrorType::ReviewRejected)).count();
        let rejected = u32::try_from(earlier).unwrap_or(u32::MAX).saturating_add(1);
        if rejected < run.settings.review.rounds {
            return Ok(None);
        }
        let says = last_paragraph(&evidence.session.report.result_text);
        let says = match says.trim() {
            "" => "the task is done".to_owned(),
            says => one_line(&mask_secrets(says), ARGUMENT),
        };
        let name = task.name();
        let worker = self.team.agent().name();
        let times = in_a_row(rejected);
        Ok(Some(format!(
            "{worker} says: {says} (rejected {times}; `ralph task done {name}` accepts the work, `ralph run {name}` \
             tries again)"
        )))
    }
}

/// How a gate ended, and what that means for the task.
fn said_by(gate: &GateRecord) -> String {
    let whose = if gate.of == GateOf::Always { "The project's gate" } else { "The task's gate" };
    let excused = if gate.excused { "; it failed before the task, too, so it decides nothing" } else { "" };
    format!("{whose} `{}` {}{excused}.", gate.command, gate.ended)
}

fn no_verdict(ending: &SessionEnding) -> NoVerdict {
    let (why, class) = match ending {
        SessionEnding::Answered => ("gave no verdict".to_owned(), None),
        SessionEnding::Interrupted => ("was interrupted".to_owned(), Some(FailureClass::Interruption)),
        SessionEnding::OverBudget => ("reached the cost limit".to_owned(), Some(FailureClass::Setup)),
        SessionEnding::TimedOut => ("timed out".to_owned(), Some(FailureClass::Setup)),
        SessionEnding::Faulted(ErrorType::Crash, why) => (format!("failed: {why}"), None),
        SessionEnding::Faulted(error, why) => (format!("failed: {why}"), Some(error.class())),
    };
    NoVerdict { why: one_line(&why, 300), class }
}
