//! A run that has not ended: what is known of it, should it break off without a word.

use std::time::Duration;

use ralph_core::event::{EventKind, RunEvent};
use ralph_core::exit::RunExit;
use ralph_core::model::{Cost, Outcome, RunId, Timestamp};
use ralph_core::store::PlanCounts;

/// What the events have told so far.
#[derive(Clone, Debug)]
pub struct UnderWay {
    run_id: RunId,
    seq: u64,
    started_at: Timestamp,
    attempts: u32,
    done: u32,
    cost: Cost,
    tasks: PlanCounts,
}

impl UnderWay {
    /// What is known after a further event; nothing, where the run has not begun or is over.
    pub fn after(known: Option<Self>, event: &RunEvent) -> Option<Self> {
        if let EventKind::RunStarted { tasks, .. } = &event.kind {
            return Some(Self {
                run_id: event.run_id.clone(),
                seq: event.seq,
                started_at: event.at,
                attempts: 0,
                done: 0,
                cost: Cost::default(),
                tasks: *tasks,
            });
        }
        let mut known = known?;
        known.seq = event.seq;
        match &event.kind {
            EventKind::RunFinished { .. } => return None,
            EventKind::AttemptFinished(finished) => {
                known.attempts += u32::from(finished.counted);
                known.done += u32::from(finished.outcome == Outcome::Done);
            }
            EventKind::Progress { tasks, cost } => {
                known.tasks = *tasks;
                known.cost = *cost;
            }
            _ => {}
        }
        Some(known)
    }

    /// The end that nobody could record.
    pub fn broken_off(self, error: &str, now: Timestamp) -> RunEvent {
        let took: Duration = now.since(self.started_at);
        let kind = EventKind::RunFinished {
            exit_code: i32::from(RunExit::Error.code()),
            outcome: RunExit::Error.word().to_owned(),
            reason: error.to_owned(),
            hint: None,
            budget: None,
            attempts: self.attempts,
            done: self.done,
            cost: self.cost,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            tasks: self.tasks,
        };
        RunEvent::new(self.seq + 1, now, &self.run_id, kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: u64, kind: EventKind) -> RunEvent {
        let at = Timestamp::from_secs(seq as i64);
        RunEvent::new(seq, at, &RunId::from_stored("r-1"), kind)
    }

    fn started() -> RunEvent {
        let kind = EventKind::RunStarted {
            agent: "a".into(),
            strategy: "fixed".into(),
            limit: None,
            tasks: PlanCounts::default(),
            without_gate: 0,
        };
        event(1, kind)
    }

    #[test]
    fn a_run_that_breaks_off_ends_with_what_is_known() {
        let known = UnderWay::after(None, &started());
        let tasks = PlanCounts {
            total: 2,
            ..PlanCounts::default()
        };
        let progress = EventKind::Progress {
            tasks,
            cost: Cost::new(1.5, 0),
        };
        let known = UnderWay::after(known, &event(2, progress)).unwrap();
        let end = known.broken_off("the disk is full", Timestamp::from_secs(4));
        let json = serde_json::to_value(&end).unwrap();
        assert_eq!((&json["seq"], &json["exit_code"]), (&3.into(), &1.into()));
        assert_eq!(
            (&json["duration_ms"], &json["cost_usd"]),
            (&3000.into(), &1.5.into())
        );
        assert_eq!(
            (&json["tasks"]["total"], &json["run_id"]),
            (&2.into(), &"r-1".into())
        );
    }

    #[test]
    fn before_its_begin_and_after_its_end_there_is_nothing_to_break_off() {
        assert!(UnderWay::after(None, &event(1, EventKind::WaitOver)).is_none());
        let known = UnderWay::after(None, &started());
        let ended = known
            .clone()
            .unwrap()
            .broken_off("x", Timestamp::from_secs(0));
        assert!(UnderWay::after(known, &ended).is_none());
    }
}
