//! Which model a task's next attempt gets: gathers what the choice depends on.

use super::prompter::{PromptError, Prompter};
use crate::adaptive::{Beliefs, TaskView};
use crate::agent::{Agent, output_prices};
use crate::decide::{
    AdaptiveInputs, Decision, FailedAttempt, ModelQuestion, Policy, RECENT_WINDOW, Sign, choose_model,
    failure_trend, is_planning, needs_experience, task_view,
};
use crate::model::{
    Attempt, ChosenBy, MarkSource, NO_MODEL, Neighbour, Outcome, Recent, Strategy, Task, TaskMetrics,
};
use crate::similar_tasks::{MOST_CANDIDATES, Profile, lookup, neighbours};
use crate::store::{PastFailure, Store, StoreError};

impl Prompter<'_> {
    /// The model of a task's next attempt, or that a person should be asked instead.
    pub fn decision(&self, task: &Task, metrics: &TaskMetrics) -> Result<Decision, PromptError> {
        let failures = self.store.failures(&task.id)?;
        let failed_attempts = failed_attempts(in_a_row(&failures, metrics));
        let asked = agents_attempts(&failures, metrics);
        let inherited = self.inherited(task)?;
        Ok(self.decide(task, metrics, asked, &inherited, &failed_attempts)?.0)
    }

    /// The failures in a row of the tasks that this one is to fix, those of the chain's root first. None for a task that
    /// fixes nothing.
    pub(super) fn inherited(&self, task: &Task) -> Result<Vec<FailedAttempt>, StoreError> {
        let mut inherited = Vec::new();
        for above in self.store.fix_family(&task.id)?.chain.iter().skip(1).rev() {
            let (failures, metrics) = (self.store.failures(above)?, self.store.metrics(above)?);
            inherited.extend(failed_attempts(in_a_row(&failures, &metrics)));
        }
        Ok(inherited)
    }

    /// The model, and the task as the choice saw it.
    pub(super) fn decide(
        &self,
        task: &Task,
        metrics: &TaskMetrics,
        attempts: u32,
        inherited: &[FailedAttempt],
        own: &[FailedAttempt],
    ) -> Result<(Decision, TaskView), StoreError> {
        let chain = [inherited, own].concat();
        let trend = failure_trend(&chain, &self.settings.policy);
        let above = u32::try_from(inherited.len()).unwrap_or(u32::MAX);
        let strategy = self.settings.strategy;
        let ladder = self.agent.ladder();
        let meant = |model: &&str| !self.is_fallback || ladder.iter().any(|rung| rung == model);
        let bare = ModelQuestion {
            agent: self.agent.name(),
            ladder,
            strategy,
            chosen: metrics.users_model.as_deref().filter(meant),
            forced: self.settings.forced_model.as_deref().filter(meant),
            hinted: metrics.next_model.as_deref(),
            of_task: task.model.as_deref().filter(meant),
            configured: self.settings.model.as_deref().filter(meant),
            planning: is_planning(&task.title),
            difficulty: metrics.difficulty,
            attempts,
            failures: metrics.consecutive_failures.saturating_add(above),
            failed_attempts: &chain,
            trend: &trend,
            neighbours: &[],
            recent: Recent::default(),
            adaptive: AdaptiveInputs {
                beliefs: None,
                value_usd: self.settings.value_usd,
                // Its own attempts are limited, whatever happened above it.
                max_attempts: self.settings.policy.max_attempts.saturating_add(above),
            },
        };
        let mut experience = Experience::default();
        if needs_experience(&bare) {
            experience.gather(self.store, self.agent, strategy, task)?;
        }
        let question = ModelQuestion {
            neighbours: &experience.neighbours,
            recent: experience.recent,
            adaptive: AdaptiveInputs { beliefs: experience.beliefs.as_ref(), ..bare.adaptive },
            ..bare
        };
        let alone = ModelQuestion { failed_attempts: own, ..question.clone() };
        Ok((choose_model(&question), task_view(&alone)))
    }
}

/// Tasks like this one, how things go lately, and what is believed of the models.
#[derive(Default)]
struct Experience {
    neighbours: Vec<Neighbour>,
    recent: Recent,
    beliefs: Option<Beliefs>,
}

impl Experience {
    fn gather(
        &mut self,
        store: &Store,
        agent: &Agent,
        strategy: Strategy,
        task: &Task,
    ) -> Result<(), StoreError> {
        let profile = Profile::of(task);
        let frequencies = store.frequencies(profile.terms())?;
        let found = store.tried(&lookup(&profile, &frequencies), &task.id, MOST_CANDIDATES)?;
        self.neighbours = neighbours(&profile, found, &frequencies);
        if strategy == Strategy::Adaptive {
            let mut beliefs = store.beliefs(agent.name())?;
            beliefs.set_prices(agent.ladder(), output_prices(&agent.prices()));
            self.beliefs = Some(beliefs);
        } else {
            self.recent = store.recent(RECENT_WINDOW)?;
        }
        Ok(())
    }
}

/// The failures since the last success.
pub(super) fn in_a_row<'f>(failures: &'f [PastFailure], metrics: &TaskMetrics) -> &'f [PastFailure] {
    let in_a_row = usize::try_from(metrics.consecutive_failures).unwrap_or(usize::MAX);
    let skip = failures.len().saturating_sub(in_a_row);
    failures.get(skip..).unwrap_or_default()
}

/// Attempts that an agent made: a parent's own gate is none.
pub(super) fn agents_attempts(failures: &[PastFailure], metrics: &TaskMetrics) -> u32 {
    let gates = failures.iter().filter(|failure| failure.attempt.model == NO_MODEL);
    let gates = u32::try_from(gates.count()).unwrap_or(u32::MAX);
    metrics.total_attempts.saturating_sub(gates)
}

/// What agents' failures show; a parent's own gate is no agent's.
pub(super) fn failed_attempts(failures: &[PastFailure]) -> Vec<FailedAttempt> {
    let attempts = failures.iter().map(|failure| &failure.attempt);
    let by_agents = attempts.filter(|attempt| attempt.model != NO_MODEL);
    by_agents.map(failed_attempt).collect()
}

/// What each attempt of a task shows beside the failures before it; nothing for those that count for nothing or succeeded.
pub fn signs_of(history: &[Attempt], policy: &Policy) -> Vec<Vec<Sign>> {
    let mut in_a_row: Vec<FailedAttempt> = Vec::new();
    let sign = |attempt: &Attempt| {
        if attempt.outcome == Outcome::Done {
            in_a_row.clear();
        }
        if !attempt.counted || attempt.outcome == Outcome::Done || attempt.model == NO_MODEL {
            return Vec::new();
        }
        in_a_row.push(failed_attempt(attempt));
        // No sign looks further back.
        let from = in_a_row.len().saturating_sub(4);
        failure_trend(in_a_row.get(from..).unwrap_or_default(), policy).signs
    };
    history.iter().map(sign).collect()
}

pub(super) fn failed_attempt(attempt: &Attempt) -> FailedAttempt {
    FailedAttempt {
        model: attempt.model.clone(),
        chosen_by: ChosenBy::from_rationale(attempt.rationale.as_deref().unwrap_or_default()),
        changed: attempt.changed_nothing.map(|nothing| !nothing),
        committed: attempt.committed(),
        cost_usd: attempt.cost_usd,
        coarse: attempt.fingerprint_coarse.clone(),
        fine: attempt.fingerprint_fine.clone(),
        failing: attempt.failing_tests.clone(),
        prose: attempt.fingerprint_source == MarkSource::Text,
    }
}
