//! Learnings: found, credited, joined, archived, brought back.

mod change;
mod credit;
mod join;
mod recall;
mod upkeep;

use super::{Fixture, NOW, outcome};
use crate::engine::{Upkeep, merge_all, recall};
use crate::memory::recall::upkeep::UpkeepPolicy;
use crate::memory::recall::{RecallPolicy, RecallQuery};
use crate::model::{Learning, LearningId, LearningState, NewLearning, Outcome, Source, TaskId, Timestamp};
use crate::store::{Capture, Children, ImportedLearning, LearningEdit, LearningFilter, StoreError, TaskNext};

const DAY: i64 = 86_400_000;

fn days_ago(days: i64) -> Timestamp {
    Timestamp::from_millis(NOW.as_millis() - days * DAY)
}

fn insight(content: &str, tags: &[&str]) -> NewLearning {
    NewLearning {
        category: "pitfall".into(),
        title: None,
        content: content.into(),
        tags: tags.iter().map(|tag| (*tag).into()).collect(),
    }
}

impl Fixture {
    fn random(&mut self) -> impl FnMut() -> u64 + use<> {
        self.counter += 1000;
        let mut next = self.counter;
        move || {
            next += 1;
            next
        }
    }

    fn learn(&mut self, content: &str, tags: &[&str]) -> LearningId {
        let mut random = self.random();
        self.store.add_learning(&insight(content, tags), Source::Agent, NOW, &mut random).unwrap()
    }

    fn learned(&self, id: &LearningId) -> Learning {
        self.store.learning(id.as_str()).unwrap()
    }

    fn found(&self, text: &str) -> Vec<String> {
        let query = RecallQuery { title: text.into(), ..RecallQuery::default() };
        let found = recall(&self.store, &query, NOW, None, &RecallPolicy::default()).unwrap();
        found.chosen().map(|(_, learning)| learning.id.clone()).collect()
    }

    /// One try on the next task that was shown these learnings.
    fn attempt(&mut self, shown: &[&LearningId], end: Outcome, counted: bool) -> TaskId {
        let next = if end == Outcome::Done { TaskNext::Done } else { TaskNext::Pending };
        self.attempt_with(shown, |capture| {
            capture.attempt.outcome = end;
            capture.attempt.counted = counted;
            capture.next = next;
        })
    }

    fn attempt_with(&mut self, shown: &[&LearningId], set: impl FnOnce(&mut Capture)) -> TaskId {
        let (claimed, token) = self.claim().unwrap();
        let mut capture = outcome(&claimed, &token, Outcome::Done, TaskNext::Done);
        capture.attempt.learnings_shown = shown.iter().map(ToString::to_string).collect();
        set(&mut capture);
        self.capture(&capture).unwrap();
        claimed.task.id
    }

    fn active(&self) -> Vec<Learning> {
        self.store.learnings(&LearningFilter::active()).unwrap()
    }
}

/// `shown, helpful, harmful` of a learning.
fn counters(learning: &Learning) -> (u64, u64, u64) {
    (learning.shown, learning.record.helpful, learning.record.harmful)
}

const LONG: &str = "clear the build cache before each of the slow tests runs again";

/// So many learnings that say different things.
fn import_distinct(f: &mut Fixture, count: usize) {
    let all: Vec<ImportedLearning> = (0..count)
        .map(|n| ImportedLearning {
            id: None,
            created_at: None,
            learning: insight(&format!("unlike{n} words{n} of{n} its{n} own{n}"), &["t"]),
        })
        .collect();
    let mut random = f.random();
    f.store.import_learnings(&all, NOW, &mut random).unwrap();
}

fn import_one(f: &mut Fixture, id: &str, content: &str, tags: &[&str], days: i64) -> LearningId {
    let id = LearningId::from_stored(id);
    let one = ImportedLearning {
        id: Some(id.clone()),
        created_at: Some(days_ago(days)),
        learning: insight(content, tags),
    };
    let mut random = f.random();
    f.store.import_learnings(&[one], NOW, &mut random).unwrap();
    id
}

fn tidy(f: &mut Fixture) -> Upkeep {
    let mut random = f.random();
    let mut done = Upkeep::default();
    done.run(&mut f.store, &UpkeepPolicy::default(), NOW, &mut random).unwrap();
    done
}
