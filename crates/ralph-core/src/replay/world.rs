//! The recorded outcomes as a world to play in: what any attempt would have come to.

use std::collections::{BTreeMap, HashMap};

use super::rows::Row;
use crate::adaptive::DEFAULT_VALUE_USD;
use crate::files::fnv;
use crate::model::Difficulty;

#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub ladder: Vec<String>,
    pub value_usd: f64,
    pub attempts: u32,
    /// Chance that the same model makes good its first failure; half of it the next time, and so on.
    pub retry_success: f64,
    /// Decides the luck of retries nobody recorded.
    pub seed: u64,
    /// The model that strategies start from; the middle rung if none is given.
    pub model: Option<String>,
    /// Whether first attempts nobody recorded are drawn by the model's rate. Else their tasks are left out.
    pub impute: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ladder: Vec::new(),
            value_usd: DEFAULT_VALUE_USD,
            attempts: 4,
            retry_success: 0.17,
            seed: 0,
            model: None,
            impute: false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    pub success: bool,
    pub cost: f64,
}

/// One task with what every model did on it.
#[derive(Clone, Debug)]
pub struct Task {
    pub difficulty: Option<Difficulty>,
    /// By rung: what each further attempt comes to, up to the first success or the last attempt allowed.
    attempts: Vec<Vec<Outcome>>,
}

impl Task {
    /// What the attempt of a rung comes to that had so many before.
    pub fn outcome(&self, rung: usize, earlier: usize) -> Outcome {
        let attempts = self.attempts.get(rung);
        let outcome = attempts.and_then(|attempts| attempts.get(earlier).or(attempts.last()));
        outcome.copied().unwrap_or(Outcome { success: false, cost: 0.0 })
    }

    /// The least that solving it costs, if any model does.
    pub fn cheapest(&self) -> Option<f64> {
        let solved = self.attempts.iter().filter(|attempts| attempts.last().is_some_and(|last| last.success));
        let costs = solved.map(|attempts| attempts.iter().map(|outcome| outcome.cost).sum());
        costs.min_by(f64::total_cmp)
    }
}

/// All tasks that every model of the ladder tried.
#[derive(Clone, Debug)]
pub struct World {
    pub tasks: Vec<Task>,
    /// Tasks left out because a model of the ladder has no record.
    pub skipped: usize,
    /// Outcomes drawn because nobody recorded them.
    pub imputed: usize,
    /// Models of the ladder of which no cost is recorded.
    pub without_cost: Vec<String>,
}

impl World {
    /// Settles what every possible attempt comes to, so that all strategies have the same luck.
    pub fn new(rows: &[Row], options: &Options) -> Self {
        let records = Records::new(rows);
        let mut order: Vec<&str> = Vec::new();
        let mut by_task: HashMap<&str, Vec<&Row>> = HashMap::new();
        for row in rows {
            by_task.entry(&row.task).or_insert_with(|| {
                order.push(&row.task);
                Vec::new()
            });
            by_task.entry(&row.task).and_modify(|rows| rows.push(row));
        }
        let mut world = Self {
            tasks: Vec::new(),
            skipped: 0,
            imputed: 0,
            without_cost: records.without_cost(&options.ladder),
        };
        for name in order {
            let rows = by_task.get(name).map_or(&[][..], Vec::as_slice);
            match task(name, rows, &records, options) {
                Some((task, imputed)) => {
                    world.tasks.push(task);
                    world.imputed += imputed;
                }
                None => world.skipped += 1,
            }
        }
        world
    }
}

/// What all rows together say of the models.
struct Records<'r> {
    /// Sum and number of known costs.
    costs: BTreeMap<&'r str, (f64, f64)>,
    /// Successes and number of first attempts, by difficulty and over all.
    firsts: BTreeMap<(&'r str, Option<Difficulty>), (f64, f64)>,
}

/// Imagined first attempts of a difficulty that go as the model's attempts go over all.
const BACKGROUND: f64 = 3.0;

impl<'r> Records<'r> {
    fn new(rows: &'r [Row]) -> Self {
        let mut records = Self { costs: BTreeMap::new(), firsts: BTreeMap::new() };
        for row in rows {
            if let Some(cost) = row.cost_usd {
                let (sum, number) = records.costs.entry(&row.model).or_default();
                *sum += cost;
                *number += 1.0;
            }
            if row.attempt > 1 {
                continue;
            }
            let of_all = row.difficulty.map(|_| None);
            for difficulty in [Some(row.difficulty), of_all].into_iter().flatten() {
                let (done, attempts) = records.firsts.entry((&row.model, difficulty)).or_default();
                *done += if row.success { 1.0 } else { 0.0 };
                *attempts += 1.0;
            }
        }
        records
    }

    /// Where a cost was not recorded, the model's mean is used: zero would flatter the model.
    fn cost(&self, model: &str) -> f64 {
        self.costs.get(model).map_or(0.0, |(sum, number)| sum / number)
    }

    fn without_cost(&self, ladder: &[String]) -> Vec<String> {
        let unknown = |model: &&String| !self.costs.contains_key(model.as_str());
        ladder.iter().filter(unknown).cloned().collect()
    }

    /// How often a model's first attempt succeeds on tasks of this difficulty; none where it was never tried.
    fn rate(&self, model: &str, difficulty: Option<Difficulty>) -> Option<f64> {
        let (done, attempts) = self.firsts.get(&(model, None))?;
        let overall = done / attempts;
        let (done, attempts) = match difficulty {
            Some(_) => self.firsts.get(&(model, difficulty)).copied().unwrap_or_default(),
            None => return Some(overall),
        };
        Some((done + BACKGROUND * overall) / (attempts + BACKGROUND))
    }
}

/// A task, and how many of its first attempts were drawn; none where one is unknown.
fn task(name: &str, rows: &[&Row], records: &Records<'_>, options: &Options) -> Option<(Task, usize)> {
    let difficulty = rows.iter().find_map(|row| row.difficulty);
    let mut imputed = 0;
    let mut all = Vec::new();
    for model in &options.ladder {
        let mut attempts = recorded(rows, model, records);
        if attempts.is_empty() && options.impute {
            let rate = records.rate(model, difficulty)?;
            attempts.push(Outcome {
                success: luck(options.seed, name, model, 0) < rate,
                cost: records.cost(model),
            });
            imputed += 1;
        }
        let mut last = *attempts.last()?;
        attempts.truncate(options.attempts as usize);
        while !last.success && attempts.len() < options.attempts as usize {
            let retry = attempts.len();
            let halvings = i32::try_from(retry - 1).unwrap_or(i32::MAX);
            let chance = options.retry_success * 0.5_f64.powi(halvings);
            last.success = luck(options.seed, name, model, retry) < chance;
            attempts.push(last);
        }
        all.push(attempts);
    }
    let task = Task { difficulty, attempts: all };
    Some((task, imputed))
}

/// What a model's attempts on a task came to, up to its first success.
fn recorded(rows: &[&Row], model: &str, records: &Records<'_>) -> Vec<Outcome> {
    let mut own: Vec<&&Row> = rows.iter().filter(|row| row.model == model).collect();
    own.sort_by_key(|row| row.attempt);
    // Two rows for one attempt: the first counts.
    own.dedup_by_key(|row| row.attempt);
    let mut attempts: Vec<Outcome> = Vec::new();
    for row in own {
        attempts.push(Outcome {
            success: row.success,
            cost: row.cost_usd.unwrap_or_else(|| records.cost(model)),
        });
        if row.success {
            break;
        }
    }
    attempts
}

/// Between 0 and 1, evenly, the same for the same retry.
fn luck(seed: u64, task: &str, model: &str, retry: usize) -> f64 {
    // FNV-1a over all of it, then the finaliser of SplitMix64: not the standard hasher, which may change.
    let retry = u64::try_from(retry).unwrap_or(u64::MAX).to_le_bytes();
    let parts = [&seed.to_le_bytes(), task.as_bytes(), &[0xff], model.as_bytes(), &[0xff], &retry];
    let mut mixed = fnv(&parts.concat());
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    // The upper 32 bits are plenty and convert without loss.
    f64::from(u32::try_from(mixed >> 32).unwrap_or(u32::MAX)) / 4_294_967_296.0
}
