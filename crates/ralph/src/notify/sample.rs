//! An event of each kind that people are told of, to try the ways of telling.

use std::time::Duration;

use ralph_core::analysis::Analysis;
use ralph_core::decide::{Budget, Meter};
use ralph_core::event::{EventKind, RunEvent, TaskRef, WaitingFor};
use ralph_core::exit::RunExit;
use ralph_core::model::{Cost, Key, RunId, TaskId, Timestamp};
use ralph_core::store::PlanCounts;

use super::Occasion;

/// The run of a sample.
const SAMPLE_RUN: &str = "r-00000000";

/// An event that is told on this occasion.
pub fn sample(occasion: Occasion, at: Timestamp) -> RunEvent {
    let kind = match occasion {
        Occasion::Done => finished(RunExit::Finished, "every task is done"),
        Occasion::Error => finished(RunExit::Error, "the agent's program was not found"),
        Occasion::Blocked => EventKind::HandedOver {
            task: TaskRef {
                task_id: TaskId::from_stored("t-000000"),
                key: Some(Key::from_stored("1.2")),
                title: "Parse dates".to_owned(),
            },
            reason: "failed 5 times in a row".to_owned(),
        },
        Occasion::Breaker => EventKind::BreakerOpened {
            failures: 5,
            tasks: 3,
            analysis: Analysis {
                failures: 5,
                pattern: Some("\"npm: not found\" (5 of 5)".to_owned()),
                affected: None,
                shared: None,
                models: None,
                suggestion: "install npm".to_owned(),
            },
        },
        Occasion::Limit => EventKind::Waiting {
            waiting_for: WaitingFor::Limit,
            reason: "claude's usage limit".to_owned(),
            until: Some(at.plus(Duration::from_secs(3600))),
        },
        Occasion::Budget => {
            let meter = Meter {
                estimated: false,
                budget: Budget::RunCost,
                used: 4.2,
                most: 5.0,
            };
            EventKind::BudgetNear {
                meter,
                message: meter.told_near(),
            }
        }
    };
    RunEvent::new(1, at, &RunId::from_stored(SAMPLE_RUN), kind)
}

fn finished(exit: RunExit, reason: &str) -> EventKind {
    let done = u64::from(exit == RunExit::Finished) * 3;
    EventKind::RunFinished {
        exit_code: i32::from(exit.code()),
        outcome: exit.word().to_owned(),
        reason: reason.to_owned(),
        hint: None,
        budget: None,
        attempts: 4,
        done: done as u32,
        cost: Cost::new(0.42, 0),
        duration_ms: 754_000,
        tasks: PlanCounts {
            total: 3,
            done,
            verified: done,
            pending: 3 - done,
            ..PlanCounts::default()
        },
    }
}
