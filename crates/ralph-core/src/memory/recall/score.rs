//! The score of each candidate, and their order.

use std::collections::HashMap;

use super::duplicates::{Entry, keep_newest};
use super::mentions::{Mentions, TagMatch};
use super::query::{RecallQuery, Term, TermKind, head, heavier, most_telling, weighted_terms};
use super::tokens::{each_token, each_word, words};
use super::upkeep::{record, withheld};
use super::weights::{self, MAX_CONTENT_BYTES, MAX_TAGS};
use super::{Candidate, Corpus, Fate, Ranked, RecallPolicy, ScoreParts, Scored, as_f64};

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
    let relevance: Vec<f64> = parts.iter().map(ScoreParts::relevance).collect();
    let agreed = agreement(&relevance, &tags.of, &tags.shares());
    for ((parts, candidate), agreed) in parts.iter_mut().zip(candidates).zip(agreed) {
        parts.agreement = agreed;
        parts.recency = recency(candidate, now_ms);
        parts.record = parts.total() * weights::RECORD * record(&candidate.record);
    }
    parts
}

/// The cuts, in order: relevance, record, repetition, number.
fn fates(sorted: &[(&Candidate, ScoreParts)], policy: &RecallPolicy) -> Vec<Fate> {
    let mut fates: Vec<Fate> = sorted
        .iter()
        .map(|(candidate, parts)| {
            if policy.floor.is_some_and(|floor| parts.relevance() <= floor) {
                Fate::BelowFloor
            } else if policy.withhold && withheld(candidate) {
                Fate::Withheld
            } else {
                Fate::BeyondLimit
            }
        })
        .collect();
    let left: Vec<usize> =
        (0..sorted.len()).filter(|place| fates.get(*place) == Some(&Fate::BeyondLimit)).collect();
    if policy.once {
        let entries: Vec<Entry<'_>> = left
            .iter()
            .filter_map(|place| sorted.get(*place))
            .map(|(candidate, _)| Entry {
                category: &candidate.category,
                content: head(&candidate.content, MAX_CONTENT_BYTES),
                created_at_ms: candidate.created_at_ms,
            })
            .collect();
        let choice = keep_newest(&entries, policy.max);
        for (place, fate) in left.iter().zip(choice) {
            if let Some(slot) = fates.get_mut(*place) {
                *slot = fate;
            }
        }
    } else {
        for place in left.iter().take(policy.max) {
            if let Some(fate) = fates.get_mut(*place) {
                *fate = Fate::Chosen;
            }
        }
    }
    fates
}

/// How often each of the query's terms occurs in one candidate, by field weight.
struct Document {
    frequencies: Vec<f64>,
    /// Tokens of the content: what length is measured by.
    length: f64,
}

fn document(candidate: &Candidate, numbers: &HashMap<&str, usize>) -> Document {
    let mut frequencies = vec![0.0; numbers.len()];
    let mut length = 0.0;
    let mut read = |text: &str, weight: f64| {
        let mut tokens = 0.0;
        each_token(text, |token| {
            tokens += 1.0;
            if let Some(frequency) = numbers.get(token).and_then(|n| frequencies.get_mut(*n)) {
                *frequency += weight;
            }
        });
        tokens
    };
    let content = head(&candidate.content, MAX_CONTENT_BYTES);
    read(title(candidate), weights::TITLE);
    length += read(content, weights::CONTENT);
    for tag in candidate.tags.iter().take(MAX_TAGS) {
        read(head(tag, MAX_CONTENT_BYTES), weights::TAG_WORDS);
    }
    Document { frequencies, length }
}

/// What a learning is about, in one line.
fn title(candidate: &Candidate) -> &str {
    let title = if candidate.title.trim().is_empty() {
        candidate.content.trim_start().lines().next().unwrap_or_default()
    } else {
        &candidate.title
    };
    head(title, MAX_CONTENT_BYTES)
}

/// BM25 of the fields taken together, as a share of what the query's best terms could give.
fn text_parts(query: &RecallQuery, candidates: &[Candidate], corpus: &Corpus) -> Vec<ScoreParts> {
    let terms = weighted_terms(query);
    let numbers: HashMap<&str, usize> =
        terms.iter().enumerate().map(|(number, term)| (term.text.as_str(), number)).collect();
    let documents: Vec<Document> = candidates.iter().map(|candidate| document(candidate, &numbers)).collect();
    let corpus = completed(&terms, &documents, corpus);
    let telling = most_telling(&terms, &corpus, weights::RANK_TERMS);
    let best: f64 = telling.iter().take(weights::SCALE_TERMS).map(|(term, idf)| term.weight * idf).sum();
    let scale = best.max(weights::LEAST_SCALE) * (weights::K1 + 1.0);
    let length: f64 = documents.iter().map(|document| document.length).sum();
    let average = (length / count(documents.len())).max(1.0);
    let score = |document: &Document| {
        let mut parts = ScoreParts::default();
        let norm = weights::K1 * (1.0 - weights::B + weights::B * document.length / average);
        for (term, idf) in &telling {
            let number = numbers.get(term.text.as_str());
            let tf = number.and_then(|number| document.frequencies.get(*number));
            let Some(tf) = tf.filter(|tf| **tf > 0.0) else {
                continue;
            };
            let gain = term.weight * idf * tf * (weights::K1 + 1.0) / (tf + norm) / scale;
            match term.kind {
                TermKind::Failure => parts.failure += gain,
                TermKind::Title | TermKind::File | TermKind::Text => parts.text += gain,
            }
        }
        parts
    };
    documents.iter().map(score).collect()
}

/// The store's counts, and for terms it did not count, those of the candidates.
fn completed(terms: &[Term], documents: &[Document], corpus: &Corpus) -> Corpus {
    let mut seen = vec![0_u64; terms.len()];
    for document in documents {
        for (seen, frequency) in seen.iter_mut().zip(&document.frequencies) {
            *seen += u64::from(*frequency > 0.0);
        }
    }
    let mut completed = Corpus { documents: corpus.documents, ..Corpus::default() };
    for (term, seen) in terms.iter().zip(seen) {
        let known = corpus.df.get(&term.text).copied().unwrap_or(0);
        completed.df.insert(term.text.clone(), known.max(seen));
    }
    completed
}

/// The candidates' tags as numbers, so that each one is looked for once.
struct Tags<'c> {
    names: Vec<&'c str>,
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
            for tag in candidate.tags.iter().take(MAX_TAGS) {
                let tag = head(tag.trim(), MAX_CONTENT_BYTES);
                if tag.is_empty() {
                    continue;
                }
                let number = *numbers.entry(tag.to_lowercase()).or_insert_with(|| {
                    names.push(tag);
                    seen.push(0);
                    names.len() - 1
                });
                if !own.contains(&number) {
                    own.push(number);
                    if let Some(seen) = seen.get_mut(number) {
                        *seen += 1;
                    }
                }
            }
            of.push(own);
        }
        let mut rarity = vec![0.0; names.len()];
        for (tag, number) in &numbers {
            let known = corpus.tag_df.get(tag).copied().unwrap_or(0);
            let df = known.max(seen.get(*number).copied().unwrap_or(1)).max(1);
            if let Some(rarity) = rarity.get_mut(*number) {
                *rarity = tag_rarity(corpus.documents, df);
            }
        }
        Self { names, of, rarity }
    }

    /// The rarities as shares of the greatest.
    fn shares(&self) -> Vec<f64> {
        let most = self.rarity.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        self.rarity.iter().map(|rarity| rarity / most).collect()
    }

    fn add_matches(&self, query: &RecallQuery, parts: &mut [ScoreParts]) {
        let mentions = Mentions::new(query);
        let found: Vec<Option<TagMatch>> = self.names.iter().map(|tag| mentions.find(tag)).collect();
        for (parts, own) in parts.iter_mut().zip(&self.of) {
            let mut gains: Vec<(f64, bool)> = own
                .iter()
                .filter_map(|number| {
                    let found = (*found.get(*number)?)?;
                    Some((found.strength * self.rarity.get(*number)?, found.path))
                })
                .collect();
            gains.sort_by(|(a, _), (b, _)| heavier(*a, *b));
            for (place, (gain, path)) in gains.into_iter().enumerate() {
                let share = if place < weights::FULL_TAGS { 1.0 } else { weights::FURTHER_TAGS };
                let part = if path { &mut parts.paths } else { &mut parts.tags };
                *part += weights::TAGS * share * gain;
            }
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
            let mut told = vec![false; wanted.len()];
            each_word(head(&candidate.content, MAX_CONTENT_BYTES), |word| {
                for part in word.split('_') {
                    if let Some(place) = wanted.iter().position(|wanted| wanted == part)
                        && let Some(told) = told.get_mut(place)
                    {
                        *told = true;
                    }
                }
            });
            told.into_iter().all(|told| told)
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
    words(&head(category, MAX_CONTENT_BYTES).replace('_', " "))
}

/// Full for what was learned now, half after the half-life, and nothing odd for a clock that was wrong.
fn recency(candidate: &Candidate, now_ms: i64) -> f64 {
    let age_ms = now_ms.saturating_sub(candidate.created_at_ms).max(0);
    let days = as_f64(age_ms.unsigned_abs() / 1_000) * 1_000.0 / DAY_MS;
    weights::RECENCY * 0.5_f64.powf(days / weights::RECENCY_DAYS)
}

fn count(length: usize) -> f64 {
    as_f64(u64::try_from(length).unwrap_or(u64::MAX)).max(1.0)
}

/// The part that agreement gives to each learning: a tag that many of the best matches carry is probably what the task
/// is about, so it speaks for every learning that carries it, also where its own words match less well.
///
/// `relevance` and `tags` are those of the candidates; a tag is a number, below `rarity.len()`, and `rarity` runs
/// from 0 (all have it) to 1. A learning votes for its tags too: without that, the better of two would help only
/// the worse one and could fall behind it.
fn agreement(relevance: &[f64], tags: &[Vec<usize>], rarity: &[f64]) -> Vec<f64> {
    let mut voters: Vec<usize> = (0..relevance.len()).collect();
    let value = |place: usize| relevance.get(place).copied().unwrap_or(0.0);
    voters.sort_by(|a, b| value(*b).total_cmp(&value(*a)).then(a.cmp(b)));
    voters.truncate(weights::VOTERS);
    let mut votes = vec![0.0; rarity.len()];
    let mut all = 0.0;
    for voter in voters {
        // Squared: ten poor matches that agree say less than two good ones.
        let vote = value(voter) * value(voter);
        all += vote;
        for tag in tags.get(voter).map(Vec::as_slice).unwrap_or_default() {
            if let Some(sum) = votes.get_mut(*tag) {
                *sum += vote;
            }
        }
    }
    let share = |tag: &usize| {
        let (Some(votes), Some(rarity)) = (votes.get(*tag), rarity.get(*tag)) else {
            return 0.0;
        };
        votes / all * rarity
    };
    tags.iter()
        .map(
            |tags| {
                if all > 0.0 { weights::AGREEMENT * tags.iter().map(share).fold(0.0, f64::max) } else { 0.0 }
            },
        )
        .collect()
}
