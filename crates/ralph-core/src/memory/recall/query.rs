//! The words that matter in a task: its title, its description, its files and its last failure.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::tokens::{each_token, is_everyday};
use super::weights::{self, LOOKUP_BUDGET, LOOKUP_TERMS, MAX_FAILURE_BYTES, MAX_TERMS, MAX_TEXT_BYTES};
use super::{Corpus, idf};
use crate::text::first_bytes;

/// What learnings are looked for with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecallQuery {
    pub title: String,
    /// The task's description; it may repeat the title.
    pub text: String,
    /// The files the task is said to touch.
    pub files: Vec<String>,
    /// On a retry: the category of the last failure's error.
    pub error_category: Option<String>,
    /// On a retry: why the last attempt failed, its fingerprint and its trace.
    pub failure_text: Option<String>,
}

impl RecallQuery {
    /// The files, as far as they are read.
    pub(super) fn shown_files(&self) -> impl Iterator<Item = &str> {
        let mut room = MAX_TEXT_BYTES;
        self.files.iter().map(move |file| {
            let file = first_bytes(file, room);
            room -= file.len();
            file
        })
    }

    /// The failure, as far as it is read.
    pub(super) fn shown_failure(&self) -> &str {
        let failure = self.failure_text.as_deref().unwrap_or_default();
        &failure[failure.ceil_char_boundary(failure.len().saturating_sub(MAX_FAILURE_BYTES))..]
    }
}

/// Where in the query a term stands; of several places, the most telling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TermKind {
    Title,
    /// In the path of one of the task's files.
    File,
    Text,
    /// In the last failure only.
    Failure,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    pub text: String,
    /// How much the query stresses it, without its rarity.
    pub weight: f64,
    pub kind: TermKind,
}

/// The query's terms, the heaviest first; the store says how often each one occurs.
pub fn terms(query: &RecallQuery) -> Vec<Term> {
    let mut found: HashMap<String, Term> = HashMap::new();
    let mut add = |token: &str, weight: f64, kind: TermKind| {
        // Not `entry`: most tokens are known already, and it would copy each of them.
        if let Some(term) = found.get_mut(token) {
            term.weight += weight;
            term.kind = term.kind.min(kind);
        } else {
            let term = Term { text: token.to_owned(), weight, kind };
            found.insert(token.to_owned(), term);
        }
    };
    let mut position = 0.0;
    let mut fading = |token: &str, kind: TermKind| {
        add(token, weights::QUERY_HALF / (weights::QUERY_HALF + position), kind);
        position += 1.0;
    };
    // The description often begins with the title; then the title is not counted twice.
    let text = first_bytes(&query.text, MAX_TEXT_BYTES);
    let title = first_bytes(&query.title, MAX_TEXT_BYTES);
    if !text.starts_with(title) {
        each_token(title, |token| fading(token, TermKind::Text));
    }
    each_token(text, |token| fading(token, TermKind::Text));
    for file in query.shown_files() {
        each_token(file, |token| add(token, 1.0, TermKind::File));
    }
    let category = query.error_category.as_deref().unwrap_or_default();
    for text in [query.shown_failure(), &first_bytes(category, MAX_TEXT_BYTES).replace('_', " ")] {
        each_token(text, |token| add(token, weights::QUERY_FAILURE, TermKind::Failure));
    }
    for term in found.values_mut() {
        term.weight *= (weights::QUERY_K3 + 1.0) / (term.weight + weights::QUERY_K3);
    }
    each_token(title, |token| {
        if let Some(term) = found.get_mut(token)
            && term.kind != TermKind::Title
        {
            term.weight += weights::QUERY_TITLE;
            term.kind = TermKind::Title;
        }
    });
    let mut all: Vec<Term> = found.into_values().collect();
    all.sort_by(|a, b| heavier(a.weight, b.weight).then_with(|| a.text.cmp(&b.text)));
    all.truncate(MAX_TERMS);
    all
}

#[derive(Debug, Clone, PartialEq)]
pub struct Lookup {
    pub text: String,
    /// What finding it is worth: its weight in the query times its rarity.
    pub worth: f64,
}

/// The few terms to look candidates up with: heavy and rare first, within the index's budget.
///
/// A term that no learning has is left out. The first one stays whatever it costs, so that a query whose words are
/// all common still finds something.
pub fn lookup(terms: &[Term], corpus: &Corpus) -> Vec<Lookup> {
    let mut best = most_telling(terms, corpus, LOOKUP_TERMS);
    let mut spent = 0_u64;
    best.retain(|(term, _)| {
        let cost = corpus.df.get(&term.text).copied().unwrap_or(0);
        let fits = spent == 0 || spent.saturating_add(cost) <= LOOKUP_BUDGET;
        spent = spent.saturating_add(if fits { cost } else { 0 });
        fits
    });
    best.into_iter().map(|(term, idf)| Lookup { text: term.text.clone(), worth: term.weight * idf }).collect()
}

/// The terms by weight times rarity, best first, each with its rarity.
pub(super) fn most_telling<'t>(terms: &'t [Term], corpus: &Corpus, most: usize) -> Vec<(&'t Term, f64)> {
    let mut all: Vec<(&Term, f64)> = terms
        .iter()
        .filter_map(|term| {
            let df = corpus.df.get(&term.text).copied().filter(|df| *df > 0)?;
            let df = df + everyday(&term.text);
            Some((term, idf(corpus.documents, df)))
        })
        .collect();
    all.sort_by(|(a, a_idf), (b, b_idf)| {
        heavier(a.weight * a_idf, b.weight * b_idf).then_with(|| a.text.cmp(&b.text))
    });
    all.truncate(most);
    all
}

/// How many of the imagined further learnings have a word: most have each of the everyday ones, none the others.
/// In a project with three learnings nothing else says that `file` is no rare word.
fn everyday(token: &str) -> u64 {
    if is_everyday(token) { (weights::BACKGROUND * weights::EVERYDAY) as u64 } else { 0 }
}

pub(super) fn heavier(a: f64, b: f64) -> Ordering {
    b.total_cmp(&a)
}

/// The documents that have the most of what is looked for, best first, of equal ones the one indexed later.
///
/// `found` holds for each term what it is worth and who has it.
pub fn shortlist(found: &[(f64, Vec<i64>)]) -> Vec<i64> {
    let mut sums: HashMap<i64, f64> = HashMap::new();
    for (worth, documents) in found {
        for document in documents {
            *sums.entry(*document).or_default() += worth;
        }
    }
    let mut all: Vec<(i64, f64)> = sums.into_iter().collect();
    all.sort_unstable_by(|(a, a_sum), (b, b_sum)| heavier(*a_sum, *b_sum).then_with(|| b.cmp(a)));
    all.into_iter().map(|(document, _)| document).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_and_rarest_words_come_first() {
        let found = [(3.0, vec![1]), (1.0, vec![1, 2, 3]), (1.5, vec![3, 4])];
        assert_eq!(shortlist(&found), [1, 3, 4, 2]);
        assert!(shortlist(&[]).is_empty());
    }
}
