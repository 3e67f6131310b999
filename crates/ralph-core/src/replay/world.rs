//! The recorded outcomes as a world to play in: what any attempt would have come to.

use std::collections::{BTreeMap, HashMap};

use super::rows::Row;
use crate::adaptive::DEFAULT_VALUE_USD;
use crate::model::Difficulty;

/// How a replay is played.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The models, cheapest first.
    pub ladder: Vec<String>,
    /// What a solved task is worth.
    pub value_usd: f64,
    /// Attempts per task at most.
    pub attempts: u32,
    /// Chance that the same model makes good its first failure; half of it the next time, and so on.
    pub retry_success: f64,
    /// Decides the luck of retries nobody recorded.
    pub seed: u64,
    /// The model of `fixed`; the middle rung if none is given.
    pub model: Option<String>,
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
        }
    }
}

/// What an attempt came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Whether it solved the task.
    pub success: bool,
    /// What it cost.
    pub cost: f64,
}

/// One task with what every model did on it.
#[derive(Clone, Debug)]
pub struct Task {
    /// How hard it was thought to be.
    pub difficulty: Option<Difficulty>,
    /// By rung: what each further try comes to, up to the first success or the last try allowed.
    tries: Vec<Vec<Outcome>>,
}

impl Task {
    /// What the try of a rung comes to that had so many before.
    pub fn outcome(&self, rung: usize, earlier: usize) -> Outcome {
        let tries = self.tries.get(rung);
        let outcome = tries.and_then(|tries| tries.get(earlier).or(tries.last()));
        outcome.copied().unwrap_or(Outcome {
            success: false,
            cost: 0.0,
        })
    }

    /// The least that solving it costs, if any model does.
    pub fn cheapest(&self) -> Option<f64> {
        let solved = self
            .tries
            .iter()
            .filter(|tries| tries.last().is_some_and(|last| last.success));
        let costs = solved.map(|tries| tries.iter().map(|outcome| outcome.cost).sum());
        costs.min_by(f64::total_cmp)
    }
}

/// All tasks that every model of the ladder tried.
#[derive(Clone, Debug)]
pub struct World {
    /// In the order of the rows.
    pub tasks: Vec<Task>,
    /// Tasks left out because a model of the ladder has no record.
    pub skipped: usize,
}

impl World {
    /// Settles what every possible attempt comes to, so that all strategies have the same luck.
    #[must_use]
    pub fn new(rows: &[Row], options: &Options) -> Self {
        let means = mean_costs(rows);
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
        };
        for name in order {
            let rows = by_task.get(name).map_or(&[][..], Vec::as_slice);
            match task(name, rows, &means, options) {
                Some(task) => world.tasks.push(task),
                None => world.skipped += 1,
            }
        }
        world
    }
}

/// Where a cost was not recorded, the model's mean stands in for it: zero would flatter the model.
fn mean_costs(rows: &[Row]) -> BTreeMap<&str, f64> {
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for row in rows {
        if let Some(cost) = row.cost_usd {
            let (sum, number) = sums.entry(&row.model).or_default();
            *sum += cost;
            *number += 1.0;
        }
    }
    sums.into_iter()
        .map(|(model, (sum, number))| (model, sum / number))
        .collect()
}

fn task(name: &str, rows: &[&Row], means: &BTreeMap<&str, f64>, options: &Options) -> Option<Task> {
    let difficulty = rows.iter().find_map(|row| row.difficulty);
    let mut all = Vec::new();
    for model in &options.ladder {
        let mut own: Vec<&&Row> = rows.iter().filter(|row| row.model == *model).collect();
        own.sort_by_key(|row| row.attempt);
        // Two rows for one attempt: the first counts.
        own.dedup_by_key(|row| row.attempt);
        let mut tries: Vec<Outcome> = Vec::new();
        for row in own {
            let mean = means.get(row.model.as_str()).copied().unwrap_or(0.0);
            tries.push(Outcome {
                success: row.success,
                cost: row.cost_usd.unwrap_or(mean),
            });
            if row.success {
                break;
            }
        }
        let mut last = *tries.last()?;
        tries.truncate(options.attempts as usize);
        while !last.success && tries.len() < options.attempts as usize {
            let retry = tries.len();
            let halvings = i32::try_from(retry - 1).unwrap_or(i32::MAX);
            let chance = options.retry_success * 0.5_f64.powi(halvings);
            last.success = luck(options.seed, name, model, retry) < chance;
            tries.push(last);
        }
        all.push(tries);
    }
    Some(Task {
        difficulty,
        tries: all,
    })
}

/// Between 0 and 1, evenly, the same for the same retry.
fn luck(seed: u64, task: &str, model: &str, retry: usize) -> f64 {
    // FNV-1a over all of it, then the finaliser of SplitMix64: not the standard hasher, which may change.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut eat = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    eat(&seed.to_le_bytes());
    eat(task.as_bytes());
    eat(&[0xff]);
    eat(model.as_bytes());
    eat(&[0xff]);
    eat(&u64::try_from(retry).unwrap_or(u64::MAX).to_le_bytes());
    let mut mixed = hash;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    // The upper 32 bits are plenty and convert without loss.
    f64::from(u32::try_from(mixed >> 32).unwrap_or(u32::MAX)) / 4_294_967_296.0
}
