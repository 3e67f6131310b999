//! What an attempt will cost. Costs differ by factors and have long tails, so their logarithms are learned: a model's mean,
//! a bucket's offset, and how expensive this task has been so far.

use super::task::{TaskView, count};
use super::{Beliefs, ModelBelief, tuning};
use crate::model::Difficulty;

/// No single cost counts as further off than this, in logarithms: about twenty times.
pub(super) const MOST_SURPRISE: f64 = 3.0;

/// Logarithms of costs stay within this, so that everything remains finite.
const LONGEST: f64 = 20.0;

/// What a model's attempts cost, in logarithms.
#[derive(Clone, Copy, Debug)]
struct Usual {
    mean: f64,
    /// Of one attempt around the mean.
    variance: f64,
    unsure: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// As far as is known: what people are told.
    pub(super) mean: f64,
    /// On the low side while little is known: what decides, so that models get a chance to show what they cost.
    pub(super) hoped: f64,
}

pub(super) fn expected(beliefs: &Beliefs, ladder: &[String], rung: usize, view: &TaskView) -> Cost {
    let Some(model) = ladder.get(rung) else { return Cost::default() };
    if beliefs.models.get(model).is_some_and(is_free) {
        return Cost::default();
    }
    let cost = |log: f64| log.clamp(-LONGEST, LONGEST).exp();
    let usual = usual(beliefs, ladder, rung);
    let (size, own) = size(beliefs, ladder, model, view);
    let log = usual.mean + of_bucket(beliefs, view.difficulty) + size;
    // A retry costs what the attempt before it did; nothing else is certain.
    if own {
        return Cost { mean: cost(log), hoped: cost(log) };
    }
    let shown = if view.failures.is_empty() { 0.0 } else { tuning::SIZE_SHARE.powi(2) };
    let tail = usual.variance * (1.0 - shown) / 2.0;
    // Hope is for what trying would show. An agent that does not tell its costs shows nothing.
    let mute = beliefs.models.get(model).is_some_and(tells_no_costs);
    let hope = if mute || !view.failures.is_empty() {
        0.0
    } else {
        tuning::HOPE * usual.unsure.sqrt() * beliefs.neglect(model)
    };
    Cost { mean: cost(log + tail), hoped: cost(log + tail - hope) }
}

/// The mean logarithm of a model's costs; a model that is not on the ladder counts as its lowest rung.
pub(super) fn log_mean(beliefs: &Beliefs, ladder: &[String], model: &str) -> f64 {
    match ladder.iter().position(|name| name == model) {
        Some(rung) => usual(beliefs, ladder, rung).mean,
        None => usual(beliefs, &[model.to_owned()], 0).mean,
    }
}

/// It was tried, and nobody said what that cost.
pub(super) fn tells_no_costs(belief: &ModelBelief) -> bool {
    belief.tries > 0 && belief.cost_count == 0 && belief.cost_zeros == 0
}

/// Whether a model's expected cost rests on nothing: it was tried and nobody said what that cost, or no model of the ladder
/// has a known cost or a price.
pub(super) fn is_guess(beliefs: &Beliefs, ladder: &[String], belief: &ModelBelief) -> bool {
    let mut known = ladder.iter().filter_map(|model| beliefs.models.get(model));
    let tells = |one: &ModelBelief| one.cost_count > 0 || one.cost_zeros > 0 || one.price.is_some();
    tells_no_costs(belief) || !known.any(tells)
}

/// Said to be free, or all its attempts were.
fn is_free(belief: &ModelBelief) -> bool {
    belief.cost_count == 0 && (belief.price == Some(0.0) || belief.cost_zeros > 0)
}

fn usual(beliefs: &Beliefs, ladder: &[String], rung: usize) -> Usual {
    let own = ladder.get(rung).and_then(|model| beliefs.models.get(model));
    let (mean, squares, count) = own.and_then(seen).unwrap_or((0.0, 0.0, 0.0));
    let weight = tuning::COST_TRIES;
    let variance = (tuning::COST_VARIANCE * tuning::COST_VARIANCE_TRIES + squares)
        / (tuning::COST_VARIANCE_TRIES + count);
    Usual {
        mean: (guess(beliefs, ladder, rung) * weight + mean * count) / (weight + count),
        variance: variance.min(MOST_SURPRISE),
        unsure: variance / (weight + count),
    }
}

/// Mean, squares and number of the logarithms seen, unless a row is damaged.
fn seen(belief: &ModelBelief) -> Option<(f64, f64, f64)> {
    let sound = belief.cost_mean.is_finite() && belief.cost_squares.is_finite();
    let (mean, squares) = (belief.cost_mean.clamp(-LONGEST, LONGEST), belief.cost_squares.max(0.0));
    (belief.cost_count > 0 && sound).then(|| (mean, squares, f64::from(belief.cost_count)))
}

/// A guess from the other models of the ladder: by price where prices are given, else by rung.
fn guess(beliefs: &Beliefs, ladder: &[String], rung: usize) -> f64 {
    let of = |place: usize| ladder.get(place).and_then(|model| beliefs.models.get(model));
    let price =
        |place: usize| of(place).and_then(|b| b.price).filter(|p| p.is_finite() && *p > 0.0).map(f64::ln);
    let step = |place: usize| tuning::COST_STEP.ln() * count(place.min(8));
    let relative = |place: usize| match (price(rung), price(place)) {
        (Some(own), Some(theirs)) => own - theirs,
        _ => step(rung) - step(place),
    };
    let others = (0..ladder.len()).filter(|place| *place != rung);
    let mut known: Vec<f64> =
        others.filter_map(|place| Some(seen(of(place)?)?.0 + relative(place))).collect();
    known.sort_by(f64::total_cmp);
    let usual = match price(rung) {
        Some(price) => price + tuning::COST_PER_PRICE.ln(),
        None => tuning::COST.ln() + step(rung),
    };
    // Where the others turned out expensive, this one may still not be: only trying it will tell.
    known.get(known.len() / 2).map_or(usual, |middle| middle.min(usual))
}

/// How expensive the tasks of a bucket are, relative to all.
pub(super) fn of_bucket(beliefs: &Beliefs, bucket: Option<Difficulty>) -> f64 {
    match beliefs.bucket(bucket) {
        Some(seen) if seen.cost_sum.is_finite() => {
            let tries = tuning::BUCKET_COST_TRIES + f64::from(seen.cost_count);
            (seen.cost_sum / tries).clamp(-MOST_SURPRISE, MOST_SURPRISE)
        }
        _ => 0.0,
    }
}

/// How expensive this task is, relative to its bucket, judged by the attempts so far; and whether by the model's own.
pub(super) fn size(beliefs: &Beliefs, ladder: &[String], model: &str, view: &TaskView) -> (f64, bool) {
    let (mut sum, mut number) = (0.0, 0.0);
    for failure in &view.failures {
        let Some(cost) = failure.cost.filter(|cost| cost.is_finite() && *cost > 0.0) else { continue };
        let usual = log_mean(beliefs, ladder, &failure.model) + of_bucket(beliefs, view.difficulty);
        let off = (cost.ln() - usual).clamp(-MOST_SURPRISE, MOST_SURPRISE);
        if failure.model == model {
            return (off, true);
        }
        sum += off;
        number += 1.0;
    }
    if number == 0.0 { (0.0, false) } else { (tuning::SIZE_SHARE * sum / number, false) }
}
