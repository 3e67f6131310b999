//! What earlier attempts say about a task's next one, looked up only where the choice depends on it.

use crate::adaptive::Beliefs;
use crate::agent::{Agent, output_prices};
use crate::alike::{MOST_CANDIDATES, Profile, lookup, neighbours};
use crate::decide::RECENT_WINDOW;
use crate::model::{Neighbour, Recent, Strategy, Task};
use crate::store::{ExperienceStore, StoreError};

/// Tasks like this one, how things go lately, and what is believed of the models.
#[derive(Clone, Debug, Default)]
pub(super) struct Experience {
    pub neighbours: Vec<Neighbour>,
    pub recent: Recent,
    pub beliefs: Option<Beliefs>,
}

impl Experience {
    pub(super) fn gather<S: ExperienceStore + ?Sized>(
        store: &S,
        agent: &dyn Agent,
        strategy: Strategy,
        task: &Task,
    ) -> Result<Self, StoreError> {
        let profile = Profile::of(task);
        let frequencies = store.frequencies(profile.terms())?;
        let found = store.tried(&lookup(&profile, &frequencies), &task.id, MOST_CANDIDATES)?;
        let mut experience = Self {
            neighbours: neighbours(&profile, &found, &frequencies),
            ..Self::default()
        };
        if strategy == Strategy::Adaptive {
            let mut beliefs = store.beliefs(agent.name())?;
            beliefs.set_prices(agent.ladder(), output_prices(&agent.prices()));
            experience.beliefs = Some(beliefs);
        } else {
            experience.recent = store.recent(RECENT_WINDOW)?;
        }
        Ok(experience)
    }
}
