//! Whole analyses, and what holds for any.

mod any;
mod order;
mod whole;

use super::{Fact, Surroundings};

/// A failure of a task, by a model, with a message.
fn failed(task: &str, model: &str, message: &str) -> Fact {
    Fact {
        task: task.into(),
        key: Some(task.into()),
        phase: None,
        model: model.into(),
        error_type: Some("test_failure".into()),
        outcome: "failed".into(),
        message: message.into(),
        ..Fact::default()
    }
}

fn ladder() -> Surroundings {
    Surroundings {
        ladder: ["haiku", "sonnet", "opus"].map(String::from).into(),
        attempt_timeout_minutes: 30,
        ..Surroundings::default()
    }
}
