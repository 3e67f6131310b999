//! The scale of difficulty: a few points, and weights on them.

/// How many points there are.
pub const POINTS: usize = 17;
/// The easiest.
const FIRST: f64 = -8.0;
/// From one to the next.
const STEP: f64 = 1.0;

/// A weight for every point.
pub type Weights = [f64; POINTS];

/// The points, easiest first.
pub fn points() -> Weights {
    std::array::from_fn(|place| FIRST + STEP * count(place))
}

/// The normal distribution on the points.
pub fn normal(mean: f64, deviation: f64) -> Weights {
    normalised(points().map(|point| (-0.5 * ((point - mean) / deviation).powi(2)).exp()))
}

/// Scaled to a sum of one; evenly spread where there is nothing to scale.
pub fn normalised(weights: Weights) -> Weights {
    let sum: f64 = weights.iter().sum();
    if sum.is_finite() && sum > f64::MIN_POSITIVE {
        weights.map(|weight| weight / sum)
    } else {
        [1.0 / count(POINTS); POINTS]
    }
}

/// The chance that an ability, known up to a variance, is enough for a difficulty: the logistic function, flattened by
/// what is not known.
pub fn chance(ability: f64, variance: f64, difficulty: f64) -> f64 {
    let flat = (1.0 + std::f64::consts::PI * variance / 8.0).sqrt();
    1.0 / (1.0 + (-(ability - difficulty) / flat).exp())
}

/// The sum of products.
pub fn dot(a: &Weights, b: &Weights) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Small counts only.
pub fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
