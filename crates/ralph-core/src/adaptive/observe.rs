//! Learning from one attempt.

use super::task::{self, AttemptChances, TaskView, Weights};
use super::{Beliefs, ModelBelief, costs, tuning};
use crate::model::Difficulty;

/// Points at which a model's ability is weighed when it is learned, in standard deviations.
const QUADRATURE: [f64; 13] = [-3.0, -2.5, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0];
/// Costs of one model, tasks of one bucket and retries that are remembered; older ones fade, for models and projects
/// change.
const MEMORY: u32 = 400;

#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    pub model: &'a str,
    pub success: bool,
    pub cost: Option<f64>,
    /// How hard the task is thought to be now; attempts bring their own estimate.
    pub estimate: Option<Difficulty>,
}

/// Learns from an attempt's end. `view` is the task as it was before the attempt; attempts that do not count (rate
/// limits, crashes of the machine) are not for here.
pub fn observe(beliefs: &mut Beliefs, ladder: &[String], view: &TaskView, seen: &Seen<'_>) {
    let Seen { model, success, .. } = *seen;
    beliefs.add_models(ladder);
    beliefs.models.entry(model.to_owned()).or_insert_with(|| ModelBelief::unseen(0));
    let before = task::posterior(beliefs, view);
    let (earlier, same_again) = view.failed(model);
    let Some(belief) = beliefs.models.get(model) else { return };
    let chances = AttemptChances::new(beliefs, belief, &task::prior(beliefs, view), same_again);
    learn_cost(beliefs, ladder, view, model, seen.cost);
    if earlier == 0 {
        learn_ability(beliefs, model, &before, success);
    } else {
        learn_retry(beliefs, earlier, success);
    }
    let mut after = before;
    for (weight, chance) in after.iter_mut().zip(chances.after(earlier)) {
        *weight *= if success { chance } else { 1.0 - chance };
    }
    let moved = Moved { before, after: task::normalized(after), known: !view.failures.is_empty() };
    learn_difficulty(beliefs, view.difficulty, seen.estimate, &moved);
}

/// Moves mean and variance of the ability to those of its posterior.
fn learn_ability(beliefs: &mut Beliefs, model: &str, difficulty: &Weights, success: bool) {
    let Some(belief) = beliefs.models.get_mut(model) else { return };
    belief.tries = belief.tries.saturating_add(1);
    let (old, variance) = (belief.ability(), belief.variance());
    let deviation = variance.sqrt();
    let points = task::points();
    let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
    for z in QUADRATURE {
        let ability = old + z * deviation;
        let chance = task::dot(difficulty, &points.map(|point| task::chance(ability, 0.0, point)));
        let likely = if success { chance } else { 1.0 - chance };
        let weight = likely * (-0.5 * z * z).exp();
        sum += weight;
        first += weight * z;
        second += weight * z * z;
    }
    if !sum.is_finite() || sum <= f64::MIN_POSITIVE {
        return;
    }
    let (mean, square) = (first / sum, second / sum);
    let new = old + mean * deviation;
    // Never back: a rounding error must not turn a success into a reproach.
    belief.ability = if success { new.max(old) } else { new.min(old) };
    belief.ability = belief.ability();
    belief.variance = variance.min(variance * (square - mean * mean));
    belief.variance = belief.variance();
}

/// A later retry says as much about the first as its smaller chance allows.
fn learn_retry(beliefs: &mut Beliefs, earlier: u32, success: bool) {
    let again = i32::try_from(earlier.clamp(1, 16) - 1).unwrap_or(0);
    let keep = (f64::from(MEMORY) / beliefs.retry_tries).min(1.0);
    let tries = beliefs.retry_tries * keep + tuning::RETRY_AGAIN.powi(again);
    let successes = beliefs.retry_successes * keep + if success { 1.0 } else { 0.0 };
    if tries.is_finite() && successes.is_finite() {
        beliefs.retry_tries = tries;
        beliefs.retry_successes = successes.min(tries);
    }
}

/// Where a task seemed to belong before an attempt, and where it does now.
struct Moved {
    before: Weights,
    after: Weights,
    /// Whether earlier attempts brought it in.
    known: bool,
}

/// Moves the task to where it now seems to belong: among all tasks, and among those of its difficulty. One whose
/// estimate is new or has changed enters the bucket of the new one.
fn learn_difficulty(beliefs: &mut Beliefs, was: Option<Difficulty>, is: Option<Difficulty>, moved: &Moved) {
    let gone = moved.known.then_some(&moved.before);
    shift(beliefs, None, gone, Some(&moved.after));
    if was != is && was.is_some() {
        shift(beliefs, was, gone, None);
    }
    if is.is_some() {
        let gone = gone.filter(|_| was == is);
        shift(beliefs, is, gone, Some(&moved.after));
    }
}

/// Takes a task out of a bucket and puts it in again elsewhere on the scale.
fn shift(beliefs: &mut Beliefs, bucket: Option<Difficulty>, gone: Option<&Weights>, come: Option<&Weights>) {
    let Some(belief) = beliefs.bucket_mut(bucket) else { return };
    belief.tasks.resize(task::POINTS, 0.0);
    let sum = |tasks: &[f64]| tasks.iter().sum::<f64>();
    let count = |side: Option<&Weights>| side.map_or(0.0, |_| 1.0);
    let wanted = sum(&belief.tasks) - count(gone) + count(come);
    for (place, tasks) in belief.tasks.iter_mut().enumerate() {
        let at = |side: Option<&Weights>| side.and_then(|side| side.get(place)).copied().unwrap_or(0.0);
        *tasks = (*tasks - at(gone) + at(come)).max(0.0);
    }
    // What was taken out may differ a little from what was put in: the number of tasks stays right.
    let all = sum(&belief.tasks);
    let wanted = wanted.clamp(0.0, f64::from(MEMORY));
    if all > 0.0 && wanted > 0.0 {
        belief.tasks.iter_mut().for_each(|tasks| *tasks *= wanted / all);
    }
}

fn learn_cost(beliefs: &mut Beliefs, ladder: &[String], view: &TaskView, model: &str, cost: Option<f64>) {
    let Some(cost) = cost.filter(|cost| cost.is_finite() && *cost >= 0.0) else { return };
    let usual = costs::log_mean(beliefs, ladder, model);
    let bucket = costs::of_bucket(beliefs, view.difficulty);
    let (size, own) = costs::size(beliefs, ladder, model, view);
    let Some(belief) = beliefs.models.get_mut(model) else { return };
    if cost <= 0.0 {
        belief.cost_zeros = belief.cost_zeros.saturating_add(1);
        return;
    }
    // A retry costs about what the attempt before it did: that is no second opinion.
    if own {
        return;
    }
    let known = belief.cost_count > 0;
    let mut log = cost.ln() - bucket - size;
    if known {
        log = log.clamp(usual - costs::MOST_SURPRISE, usual + costs::MOST_SURPRISE);
    }
    belief.cost_count = belief.cost_count.min(MEMORY - 1) + 1;
    let count = f64::from(belief.cost_count);
    let off = log - belief.cost_mean;
    belief.cost_mean += off / count;
    let square = off * (log - belief.cost_mean);
    // What fades takes its share of the squares along.
    let fades = if belief.cost_count == MEMORY { belief.cost_squares / count } else { 0.0 };
    belief.cost_squares += square - fades;
    if known
        && view.difficulty.is_some()
        && let Some(seen) = beliefs.bucket_mut(view.difficulty)
    {
        let fades = if seen.cost_count == MEMORY { seen.cost_sum / f64::from(MEMORY) } else { 0.0 };
        seen.cost_sum += log - usual + bucket - fades;
        seen.cost_count = seen.cost_count.min(MEMORY - 1) + 1;
    }
}
