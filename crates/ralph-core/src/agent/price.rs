//! What models cost per token.

use std::collections::BTreeMap;

use super::Usage;

/// Dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// Tokens read.
    pub input: f64,
    /// Tokens written.
    pub output: f64,
    /// Tokens read from a cache; as `input` where nobody said.
    pub cache_read: Option<f64>,
    /// Tokens written to a cache; as `input` where nobody said.
    pub cache_write: Option<f64>,
}

/// By the model's name.
pub type Prices = BTreeMap<String, Price>;

/// What models cost per million tokens written, which is what they are compared by.
pub fn output_prices(prices: &Prices) -> impl Iterator<Item = (&str, f64)> {
    prices
        .iter()
        .map(|(model, price)| (model.as_str(), price.output))
}

impl Price {
    /// Whether nothing costs anything: a model on one's own machine.
    #[must_use]
    pub fn is_free(&self) -> bool {
        let caches = [self.cache_read, self.cache_write].into_iter().flatten();
        [self.input, self.output]
            .into_iter()
            .chain(caches)
            .all(|price| price == 0.0)
    }

    /// What an attempt cost; unknown, never nothing, where the agent counted no tokens and the model is not free.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        if self.is_free() {
            return Some(0.0);
        }
        if usage.input.is_none() && usage.output.is_none() {
            return None;
        }
        let part = |tokens: Option<u64>, price: f64| {
            // No attempt comes near the 2^53 tokens where this would lose one.
            tokens.unwrap_or(0) as f64 * price / 1e6
        };
        Some(
            part(usage.input, self.input)
                + part(usage.output, self.output)
                + part(usage.cache_read, self.cache_read.unwrap_or(self.input))
                + part(usage.cache_write, self.cache_write.unwrap_or(self.input)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_cost_what_the_settings_say_and_no_tokens_are_not_free() {
        let price = Price {
            input: 3.0,
            output: 15.0,
            cache_read: Some(0.3),
            cache_write: None,
        };
        let usage = Usage {
            input: Some(100_000),
            output: Some(20_000),
            cache_read: Some(1_000_000),
            cache_write: Some(10_000),
        };
        let cost = price.cost(&usage).expect("tokens were counted");
        assert!((cost - (0.3 + 0.3 + 0.3 + 0.03)).abs() < 1e-9, "{cost}");
        assert_eq!(price.cost(&Usage::default()), None);
        assert_eq!(Price::default().cost(&Usage::default()), Some(0.0));
    }
}
