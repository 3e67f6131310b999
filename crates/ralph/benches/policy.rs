//! How well the adaptive policy chooses, on public outcomes: `RALPH_DATA=DIR cargo bench -p ralph --bench policy`.
//!
//! Five ladders, three values of a solved task, tasks shuffled by three seeds; losses as ratios to the best fixed sequence
//! in hindsight, to the plain ladder and to the strongest model once. Then what each value of `value_usd` comes to, beside
//! `cost-optimized`: the table in docs/strategies.md. Nothing here fails a build.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints and may panic")]

use std::path::PathBuf;

use ralph_core::model::Strategy;
use ralph_core::replay::{Options, Row, World, best_fixed, play, play_sequence, read};

const LADDERS: [[&str; 3]; 5] = [
    ["Gemini-3-Flash", "claude-sonnet-4-5", "claude-opus-4-6"],
    ["MiniMax-M2.5", "claude-sonnet-4-6", "claude-opus-4-8"],
    ["GLM-4.7", "GPT-5.4", "claude-opus-4-5"],
    ["Qwen3.5-Flash", "Gemini-3.1-Pro", "claude-fable-5"],
    ["DeepSeek-V3.2-Reasoner", "GPT-5.2", "claude-opus-4-7"],
];
const VALUES: [f64; 3] = [2.0, 5.0, 15.0];
/// Values that the default was chosen from.
const DEFAULTS: [f64; 4] = [2.0, 5.0, 10.0, 15.0];
const SEEDS: u64 = 3;

fn main() {
    // `cargo test` runs benchmarks too, with this flag; they are not tests.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let Some(data) = std::env::var_os("RALPH_DATA").map(PathBuf::from) else {
        println!("policy: SKIPPED, nothing measured: RALPH_DATA does not name the data directory");
        return;
    };
    let rows = rows(&data.join("replay_openhands_dev.csv"));
    println!("cheapest model             value    loss  best fixed  ladder  strongest");
    let mut ratios = Vec::new();
    for ladder in LADDERS {
        for value in VALUES {
            ratios.push(setting(&rows, ladder, value));
        }
    }
    let mean = |place: usize| ratios.iter().map(|all| all[place]).sum::<f64>() / ratios.len() as f64;
    let worst = ratios.iter().map(|all| all[0]).fold(0.0, f64::max);
    println!(
        "mean                                         {:.3}   {:.3}      {:.3}; worst against best fixed {worst:.3}",
        mean(0),
        mean(1),
        mean(2)
    );
    values(&rows);
}

/// Share solved and dollars per task: `cost-optimized`, then `adaptive` by value.
fn values(rows: &[Row]) {
    println!("\ncheapest model            cost-optimized    adaptive, value 2, 5, 10, 15");
    let mut sums = [[0.0; 2]; 1 + DEFAULTS.len()];
    for ladder in LADDERS {
        let mut line = format!("{:25}", ladder[0]);
        let plays = [(Strategy::CostOptimized, DEFAULTS[0])]
            .into_iter()
            .chain(DEFAULTS.map(|value| (Strategy::Adaptive, value)));
        for ((strategy, value), sum) in plays.zip(&mut sums) {
            let (mut solved, mut cost) = (0.0, 0.0);
            for seed in 0..SEEDS {
                let options = options(ladder, value, seed);
                let world = World::new(&shuffled(rows, seed), &options);
                let score = play(&world, &options, strategy);
                solved += 100.0 * score.solved / SEEDS as f64;
                cost += score.cost_per_task / SEEDS as f64;
            }
            sum[0] += solved / LADDERS.len() as f64;
            sum[1] += cost / LADDERS.len() as f64;
            line.push_str(&format!(" {solved:5.1}% ${cost:.2} "));
        }
        println!("{line}");
    }
    let mean: String = sums.iter().map(|[solved, cost]| format!(" {solved:5.1}% ${cost:.2} ")).collect();
    println!("{:25}{mean}", "mean");
}

fn options(ladder: [&str; 3], value_usd: f64, seed: u64) -> Options {
    Options { ladder: ladder.map(str::to_owned).into(), value_usd, seed, ..Options::default() }
}

/// The rows of one harness, with the columns as the replay names them.
fn rows(file: &std::path::Path) -> Vec<Row> {
    let text = std::fs::read_to_string(file)
        .unwrap()
        .replacen("instance_id", "task", 1)
        .replacen("resolved", "success", 1);
    let kept: String = text
        .lines()
        .enumerate()
        .filter(|(n, line)| *n == 0 || line.starts_with("openhands,"))
        .map(|(_, line)| format!("{line}\n"))
        .collect();
    read(&kept).unwrap()
}

/// Losses relative to best fixed, ladder and strongest, over the seeds.
fn setting(rows: &[Row], ladder: [&str; 3], value: f64) -> [f64; 3] {
    let (mut own, mut others) = (0.0, [0.0; 3]);
    for seed in 0..SEEDS {
        let options = options(ladder, value, seed);
        let world = World::new(&shuffled(rows, seed), &options);
        own += play(&world, &options, Strategy::Adaptive).loss;
        others[0] += best_fixed(&world, &options).score.loss;
        others[1] += play_sequence(&world, &options, "ladder", &[0, 1, 2]).loss;
        others[2] += play_sequence(&world, &options, "strongest", &[2]).loss;
    }
    let ratios = others.map(|loss| own / loss);
    println!(
        "{:25} {value:6} {:7.3}  {:10.3}  {:6.3}  {:9.3}",
        ladder[0],
        own / SEEDS as f64,
        ratios[0],
        ratios[1],
        ratios[2]
    );
    ratios
}

/// The rows with their tasks in another order.
fn shuffled(rows: &[Row], seed: u64) -> Vec<Row> {
    let mut tasks: Vec<&str> = Vec::new();
    for row in rows {
        if !tasks.contains(&row.task.as_str()) {
            tasks.push(&row.task);
        }
    }
    let mut state = seed.wrapping_mul(7919).wrapping_add(13);
    for n in (1..tasks.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        tasks.swap(n, (state >> 33) as usize % (n + 1));
    }
    let place = |row: &Row| tasks.iter().position(|task| *task == row.task);
    let mut rows = rows.to_vec();
    rows.sort_by_cached_key(place);
    rows
}
