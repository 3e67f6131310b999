//! Finding learnings: the store says who could matter, [`crate::recall`] says who does.

use crate::model::{Task, Timestamp};
use crate::recall::weights::CANDIDATES;
use crate::recall::{Candidate, Fate, Ranked, RecallPolicy, RecallQuery, lookup, ranking, terms};
use crate::store::{LearningStore, PastFailure, StoreError};

/// What was found for a query.
#[derive(Clone, Debug, Default)]
pub struct Recalled {
    /// Every learning that was considered, best first, with its score and what became of it.
    pub ranking: Vec<Ranked>,
    candidates: Vec<Candidate>,
}

impl Recalled {
    /// The chosen learnings, best first.
    pub fn chosen(&self) -> impl Iterator<Item = (&Ranked, &Candidate)> {
        self.ranking
            .iter()
            .filter(|ranked| ranked.fate == Fate::Chosen)
            .filter_map(|ranked| Some((ranked, self.candidate(&ranked.scored.id)?)))
    }

    /// A considered learning's text.
    pub fn candidate(&self, id: &str) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.id == id)
    }
}

/// Ranks the learnings that matter to a query, as of `now`; with `before`, only those learnt earlier.
pub fn recall<S: LearningStore + ?Sized>(
    store: &S,
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
    Ok(Recalled {
        ranking,
        candidates,
    })
}

/// What a task's next attempt asks for: its words and files, those of its parent, and how it failed last.
pub(super) fn question(
    task: &Task,
    parent: Option<(&str, &str)>,
    last: Option<&PastFailure>,
) -> RecallQuery {
    let mut text = task.description.clone();
    if let Some((title, description)) = parent {
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
            let mark = last.and_then(|failure| failure.mark.as_ref());
            let failing = mark.map(|mark| mark.failing.join("\n")).unwrap_or_default();
            format!("{failing}\n{}\n{trace}", report.why_it_failed)
        }),
    }
}
