//! The score of each candidate, and their order.

use std::collections::HashMap;

use super::duplicates::keep_newest;
use super::mentions::{Mentions, TagMatch};
use super::query::{RecallQuery, TermKind, heavier, most_telling, terms};
use super::tokens::{each_token, words};
use super::upkeep::{record, withheld};
use super::weights::{self, MAX_CONTENT_BYTES, MAX_TAGS};
use super::{Candidate, Corpus, Fate, Ranked, RecallPolicy, ScoreParts, Scored, as_f64};
use crate::text::first_bytes;

const DAY_MS: f64 = 86_400_000.0;

/// The candidates that matter to the query, best first: above the floor, not withheld, of near-duplicates the newest,
/// of equal scores the newer first.
pub fn rank(
    query: &RecallQuery,
    candidates: &[Candidate],
    corpus: &Corpus,
    now_ms: i64,
    policy: &RecallPolicy,
) -> Vec<Scored> {
    ranking(query, candidates, corpus, now_ms, policy)
        .into_iter()
        .filter(|ranked| ranked.fate == Fate::Chosen)
        .map(|ranked| ranked.scored)
        .collect()
}

/// All candidates, best first, each with what becomes of it.
pub fn ranking(
    query: &RecallQuery,
    candidates: &[Candidate],
    corpus: &Corpus,
    now_ms: i64,
    policy: &RecallPolicy,
) -> Vec<Ranked> {
    let parts = score_parts(query, candidates, corpus, now_ms);
    let mut sorted: Vec<(&Candidate, ScoreParts)> = candidates.iter().zip(parts).collect();
    sorted.sort_by(|(a, a_parts), (b, b_parts)| {
        heavier(a_parts.total(), b_parts.total())
            .then_with(|| b.created_at_ms.cmp(&a.created_at_ms))
            .then_with(|| a.id.cmp(&b.id))
    });
    let fates = fates(&sorted, policy);
    sorted
        .into_iter()
        .zip(fates)
        .map(|((candidate, parts), fate)| Ranked {
            scored: Scored { id: candidate.id.clone(), score: parts.total(), parts },
            fate,
        })
        .collect()
}

fn score_parts(
    query: &RecallQuery,
    candidates: &[Candidate],
    corpus: &Corpus,
    now_ms: i64,
) -> Vec<ScoreParts> {
    let mut parts = text_parts(query, candidates, corpus);
    let tags = Tags::new(candidates, corpus);
    tags.add_matches(query, &mut parts);
    add_error_category(query, candidates, &mut parts);
    tags.add_agreement(&mut parts);
    for (parts, candidate) in parts.iter_mut().zip(candidates) {
        parts.recency = recency(candidate, now_ms);
        parts.record = parts.total() * weights::RECORD * record(&candidate.record);
    }
    parts
}

/// The cuts, in order: relevance, record, repetition, number.
fn fates(sorted: &[(&Candidate, ScoreParts)], policy: &RecallPolicy) -> Vec<Fate> {
    let is_cut = |candidate: &Candidate, parts: &ScoreParts| {
        if policy.floor.is_some_and(|floor| parts.relevance() <= floor) {
            Some(Fate::BelowFloor)
        } else {
            (policy.withhold && withheld(candidate)).then_some(Fate::Withheld)
        }
    };
    let cuts: Vec<Option<Fate>> = sorted.iter().map(|(candidate, parts)| is_cut(candidate, parts)).collect();
    let left = sorted.iter().zip(&cuts).filter(|(_, cut)| cut.is_none());
    let left: Vec<&Candidate> = left.map(|((candidate, _), _)| *candidate).collect();
    let choice = match policy.once {
        true => keep_newest(&left, policy.max),
        false => (0..left.len())
            .map(|place| if place < policy.max { Fate::Chosen } else { Fate::BeyondLimit })
            .collect(),
    };
    let mut choice = choice.into_iter();
    cuts.into_iter().map(|cut| cut.or_else(|| choice.next()).unwrap_or(Fate::BeyondLimit)).collect()
}

/// How often each of the query's terms occurs in one candidate, by field weight.
struct Document {
    frequencies: Vec<f64>,
    /// Tokens of the content: what length is measured by.
    length: f64,
}

fn document(candidate: &Candidate, numbers: &HashMap<&str, usize>) -> Document {
    let mut frequencies = vec![0.0; numbers.len()];
    let mut read = |text: &str, weight: f64| {
        let mut tokens = 0.0;
        each_token(first_bytes(text, MAX_CONTENT_BYTES), |token| {
            tokens += 1.0;
            if let Some(number) = numbers.get(token) {
                frequencies[*number] += weight;
            }
        });
        tokens
    };
    read(title(candidate), weights::TITLE);
    let length = read(&candidate.content, weights::CONTENT);
    for tag in candidate.tags.iter().take(MAX_TAGS) {
        read(tag, weights::TAG_WORDS);
    }
    Document { frequencies, length }
}

/// What a learning is about, in one line.
fn title(candidate: &Candidate) -> &str {
    match candidate.title.trim() {
        "" => candidate.content.trim_start().lines().next().unwrap_or_default(),
        _ => &candidate.title,
    }
}

/// BM25 of the fields taken together, as a share of what the query's best terms could give.
fn text_parts(query: &RecallQuery, candidates: &[Candidate], corpus: &Corpus) -> Vec<ScoreParts> {
    let terms = terms(query);
    let numbers: HashMap<&str, usize> =
        terms.iter().enumerate().map(|(number, term)| (term.text.as_str(), number)).collect();
    let documents: Vec<Document> = candidates.iter().map(|candidate| document(candidate, &numbers)).collect();
    // The store's counts, and for terms it did not count, those of the candidates.
    let mut completed = Corpus { documents: corpus.documents, ..Corpus::default() };
    for (number, term) in terms.iter().enumerate() {
        let seen = documents.iter().filter(|document| document.frequencies[number] > 0.0).count() as u64;
        let known = corpus.df.get(&term.text).copied().unwrap_or(0);
        completed.df.insert(term.text.clone(), known.max(seen));
    }
    let telling = most_telling(&terms, &completed, weights::RANK_TERMS);
    let best: f64 = telling.iter().take(weights::SCALE_TERMS).map(|(term, idf)| term.weight * idf).sum();
    let scale = best.max(weights::LEAST_SCALE) * (weights::K1 + 1.0);
    let length: f64 = documents.iter().map(|document| document.length).sum();
    let average = (length / as_f64(documents.len() as u64).max(1.0)).max(1.0);
    let score = |document: &Document| {
        let mut parts = ScoreParts::default();
        let norm = weights::K1 * (1.0 - weights::B + weights::B * document.length / average);
        for (term, idf) in &telling {
            let number = numbers.get(term.text.as_str());
            let tf = number.map_or(0.0, |number| document.frequencies[*number]);
            if tf > 0.0 {
                let gain = term.weight * idf * tf * (weights::K1 + 1.0) / (tf + norm) / scale;
                *if term.kind == TermKind::Failure { &mut parts.failure } else { &mut parts.text } += gain;
            }
        }
        parts
    };
    documents.iter().map(score).collect()
}

/// The candidates' tags as numbers, so that each one is looked for once.
struct Tags<'c> {
    names: Vec<&'c str>,
    /// The numbers of each candidate's tags.
    of: Vec<Vec<usize>>,
    rarity: Vec<f64>,
}

impl<'c> Tags<'c> {
    fn new(candidates: &'c [Candidate], corpus: &Corpus) -> Self {
        let mut names = Vec::new();
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut seen: Vec<u64> = Vec::new();
        let mut of = Vec::new();
        for candidate in candidates {
            let mut own = Vec::new();
            let tags =
                candidate.tags.iter().take(MAX_TAGS).map(|tag| first_bytes(tag.trim(), MAX_CONTENT_BYTES));
            for tag in tags.filter(|tag| !tag.is_empty()) {
                let number = *numbers.entry(tag.to_lowercase()).or_insert_with(|| {
                    names.push(tag);
                    seen.push(0);
                    names.len() - 1
                });
                if !own.contains(&number) {
                    own.push(number);
                    seen[number] += 1;
                }
            }
            of.push(own);
        }
        let mut rarity = vec![0.0; names.len()];
        for (tag, number) in &numbers {
            let known = corpus.tag_df.get(tag).copied().unwrap_or(0);
            rarity[*number] = tag_rarity(corpus.documents, known.max(seen[*number]));
        }
        Self { names, of, rarity }
    }

    fn add_matches(&self, query: &RecallQuery, parts: &mut [ScoreParts]) {
        let mentions = Mentions::new(query);
        let found: Vec<Option<TagMatch>> = self.names.iter().map(|tag| mentions.find(tag)).collect();
        for (parts, own) in parts.iter_mut().zip(&self.of) {
            let gain = |number: &usize| {
                let found = found[*number]?;
                Some((found.strength * self.rarity[*number], found.path))
            };
            let mut gains: Vec<(f64, bool)> = own.iter().filter_map(gain).collect();
            gains.sort_by(|(a, _), (b, _)| heavier(*a, *b));
            for (place, (gain, path)) in gains.into_iter().enumerate() {
                let share = if place < weights::FULL_TAGS { 1.0 } else { weights::FURTHER_TAGS };
                *if path { &mut parts.paths } else { &mut parts.tags } += weights::TAGS * share * gain;
            }
        }
    }

    /// Adds what agreement gives to each learning: a tag that many of the best matches carry is probably what the task
    /// is about, so it speaks for every learning that carries it, also where its own words match less well.
    ///
    /// A learning votes for its tags too: without that, the better of two would help only the worse one and could fall
    /// behind it.
    fn add_agreement(&self, parts: &mut [ScoreParts]) {
        let mut voters: Vec<(f64, &Vec<usize>)> =
            parts.iter().map(ScoreParts::relevance).zip(&self.of).collect();
        voters.sort_by(|(a, _), (b, _)| heavier(*a, *b));
        let mut votes = vec![0.0; self.names.len()];
        let mut all = 0.0;
        for (relevance, tags) in voters.into_iter().take(weights::VOTERS) {
            // Squared: ten poor matches that agree say less than two good ones.
            let vote = relevance * relevance;
            all += vote;
            tags.iter().for_each(|tag| votes[*tag] += vote);
        }
        let rarest = self.rarity.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        for (parts, tags) in parts.iter_mut().zip(&self.of).filter(|_| all > 0.0) {
            let shares = tags.iter().map(|tag| votes[*tag] / all * (self.rarity[*tag] / rarest));
            parts.agreement = weights::AGREEMENT * shares.fold(0.0, f64::max);
        }
    }
}

/// At least the logarithm of two, also for a tag that every learning has: a match always counts for something.
fn tag_rarity(documents: u64, df: u64) -> f64 {
    let df = as_f64(df);
    (1.0 + (as_f64(documents).max(df) + weights::BACKGROUND) / df).ln()
}

/// A learning that has the last failure's category as its own, as a tag or in its text.
fn add_error_category(query: &RecallQuery, candidates: &[Candidate], parts: &mut [ScoreParts]) {
    let wanted = query.error_category.as_deref().map(category_words).unwrap_or_default();
    if wanted.is_empty() {
        return;
    }
    for (candidate, parts) in candidates.iter().zip(parts) {
        let is_it = |text: &String| category_words(text) == wanted;
        let told = || {
            let told = category_words(&candidate.content);
            wanted.iter().all(|word| told.contains(word))
        };
        if is_it(&candidate.category) || candidate.tags.iter().take(MAX_TAGS).any(is_it) {
            parts.failure += weights::ERROR_CATEGORY;
        } else if told() {
            parts.failure += weights::ERROR_CATEGORY / 2.0;
        }
    }
}

/// `test_failure`, `test-failure` and `Test failure` are one category.
fn category_words(category: &str) -> Vec<String> {
    words(&first_bytes(category, MAX_CONTENT_BYTES).replace('_', " "))
}

/// Full for what was learned now, half after the half-life, and nothing odd for a clock that was wrong.
fn recency(candidate: &Candidate, now_ms: i64) -> f64 {
    let age_ms = now_ms.saturating_sub(candidate.created_at_ms).max(0);
    let days = as_f64(age_ms.unsigned_abs() / 1_000) * 1_000.0 / DAY_MS;
    weights::RECENCY * 0.5_f64.powf(days / weights::RECENCY_DAYS)
}
