//! What was told already: a person hears of a thing once.

use std::collections::HashSet;

use ralph_core::event::{EventKind, RunEvent};
use ralph_core::model::{Outcome, TaskId};

use super::notice::{Notice, notice};
use super::{Occasion, Place};

/// Picks what is news out of a run's events.
#[derive(Debug, Default)]
pub struct Told {
    /// What a person wants to hear of.
    on: Vec<Occasion>,
    /// Tasks that wait for a person.
    tasks: HashSet<TaskId>,
    /// The breaker, since something was done.
    breaker: bool,
    /// The usage limit, since an attempt counted.
    limit: bool,
}

impl Told {
    /// Nothing was told yet.
    pub fn nothing(on: Vec<Occasion>) -> Self {
        Self {
            on,
            ..Self::default()
        }
    }

    /// What a person is to be told of an event, if it is wanted and news.
    pub fn news(&mut self, event: &RunEvent, place: &Place) -> Option<Notice> {
        if let EventKind::AttemptFinished(finished) = &event.kind {
            self.breaker &= finished.outcome != Outcome::Done;
            self.limit &= !finished.counted;
        }
        let notice = notice(event, place).filter(|notice| self.on.contains(&notice.occasion))?;
        self.is_news(event).then_some(notice)
    }

    fn is_news(&mut self, event: &RunEvent) -> bool {
        match &event.kind {
            EventKind::AttemptFinished(finished) => {
                self.tasks.insert(finished.task.task_id.clone())
            }
            EventKind::HandedOver { task, .. }
            | EventKind::GivenUp { task, .. }
            | EventKind::LostFound { task, .. } => self.tasks.insert(task.task_id.clone()),
            EventKind::BreakerOpened { .. } => !std::mem::replace(&mut self.breaker, true),
            // The end of a run by the breaker says what its opening said.
            EventKind::RunFinished { exit_code: 6, .. } => !self.breaker,
            EventKind::Waiting { .. } => !std::mem::replace(&mut self.limit, true),
            _ => true,
        }
    }
}
