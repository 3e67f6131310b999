//! The numbers of the policy, in one place: what each one means and why it has that value.
//!
//! They are starting points that what is seen replaces, so none needs to be right. Halving or doubling any one of them
//! changes the mean loss on the public outcomes by less than three per cent, most by less than one.

/// What is assumed before anything was seen, and how fast that gives way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// Ability of the lowest rung on the scale of difficulty: it solves six in ten moderate tasks.
    pub ability: f64,
    /// What each further rung is thought to add: little, for names and prices of models promise more than they keep.
    pub ability_step: f64,
    /// Variance of that guess: from one in three to nine in ten.
    pub ability_variance: f64,
    /// Spread of difficulty within a bucket. Wide: most tasks are solved by nearly all models or by none, so a failure
    /// of one says much about the others.
    pub spread: f64,
    /// Difficulty of trivial, easy, moderate, hard, blocked and unknown tasks; about a spread from easy to hard.
    pub difficulty: [f64; 6],
    /// Imagined tasks per bucket that the assumed difficulties weigh. Anything from 4 to 50 does as well.
    pub bucket_tasks: f64,
    /// Share of failures that the same model makes good when it tries again; measured on public runs.
    pub retry: f64,
    /// Imagined retries that this weighs. Many, for it was measured and retries are rare.
    pub retry_tries: f64,
    /// What the share is multiplied by for every further retry.
    pub retry_again: f64,
    /// What it is multiplied by when the same failure came twice.
    pub same_failure: f64,
    /// Typical cost of an attempt on the lowest rung where nothing at all is known, in dollars.
    pub cost: f64,
    /// How much dearer each further rung is thought to be.
    pub cost_step: f64,
    /// Cost of an attempt per unit of price, where prices are given but no cost was seen: for dollars per million output
    /// tokens, fifty thousand of them.
    pub cost_per_price: f64,
    /// Imagined attempts that a guessed cost weighs. Few: guesses are off by factors.
    pub cost_tries: f64,
    /// Variance of the logarithm of a model's costs: half to twice the middle is usual.
    pub cost_variance: f64,
    /// Imagined attempts that this weighs.
    pub cost_variance_tries: f64,
    /// Imagined attempts that "all buckets cost the same" weighs.
    pub bucket_cost_tries: f64,
    /// Which part of a surprise in one model's cost on a task is expected of the other models: the correlation.
    pub size_share: f64,
    /// Standard deviations by which costs are hoped to be lower than they seem. Without it, one dear attempt at the start
    /// may condemn a model for ever; half as much is a little better on average and much worse at worst.
    pub hope: f64,
}

impl Tuning {
    /// The values in use.
    pub const DEFAULT: Self = Self {
        ability: 1.0,
        ability_step: 0.25,
        ability_variance: 2.0,
        spread: 3.0,
        difficulty: [-3.0, -1.5, 0.0, 2.0, 4.0, 0.0],
        bucket_tasks: 8.0,
        retry: 0.17,
        retry_tries: 40.0,
        retry_again: 0.5,
        same_failure: 0.5,
        cost: 0.25,
        cost_step: 2.0,
        cost_per_price: 0.05,
        cost_tries: 0.5,
        cost_variance: 0.5,
        cost_variance_tries: 5.0,
        bucket_cost_tries: 10.0,
        size_share: 0.5,
        hope: 1.0,
    };
}

impl Default for Tuning {
    fn default() -> Self {
        Self::DEFAULT
    }
}
