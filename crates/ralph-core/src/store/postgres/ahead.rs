//! Answers to reads that were asked for in advance, several at once.

use std::time::{Duration, Instant};

use rusqlite::types::Value;

use super::Row;

/// For how long such an answer is taken for the present state.
const GOOD_FOR: Duration = Duration::from_millis(100);

/// A statement with its values.
pub type Read = (String, Vec<Value>);

#[derive(Default)]
pub struct Ahead {
    /// What is read now is noted and not run; none where it is run.
    asked: Option<Vec<Read>>,
    answers: Vec<(Read, Vec<Row>)>,
    answered: Option<Instant>,
    /// Those from before a transaction that only reads, which are good again after it.
    aside: Vec<(Read, Vec<Row>)>,
}

impl Ahead {
    pub fn is_recording(&self) -> bool {
        self.asked.is_some()
    }

    pub fn start_recording(&mut self) {
        self.answers.clear();
        self.asked = Some(Vec::new());
    }

    pub fn record(&mut self, read: Read) {
        self.asked.get_or_insert_default().push(read);
    }

    pub fn stop_recording(&mut self) -> Vec<Read> {
        self.asked.take().unwrap_or_default()
    }

    pub fn answer(&mut self, answers: impl Iterator<Item = (Read, Vec<Row>)>) {
        self.answers = answers.collect();
        self.answered = Some(Instant::now());
    }

    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// The answer to a read, once, while it is good.
    pub fn take(&mut self, sql: &str, values: &[Value]) -> Option<Vec<Row>> {
        if self.answered.is_none_or(|at| at.elapsed() > GOOD_FOR) {
            self.answers.clear();
        }
        let at = self.answers.iter().position(|((one, with), _)| one == sql && with == values)?;
        Some(self.answers.swap_remove(at).1)
    }

    pub fn forget(&mut self) {
        self.answers.clear();
        self.aside.clear();
    }

    /// A transaction that only reads has a state of its own.
    pub fn set_aside(&mut self) {
        self.aside = std::mem::take(&mut self.answers);
    }

    pub fn bring_back(&mut self) {
        self.answers = std::mem::take(&mut self.aside);
    }
}
