//! What models cost per token, with one dated table of the providers' list prices.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AgentKind, Usage};

/// Dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Tokens read from a cache; as `input` where nobody said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Tokens written to a cache; as `input` where nobody said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

pub type Prices = BTreeMap<String, Price>;

/// What models cost per million tokens written, which is what they are compared by.
pub fn output_prices(prices: &Prices) -> impl Iterator<Item = (&str, f64)> {
    prices.iter().map(|(model, price)| (model.as_str(), price.output))
}

impl Price {
    /// Whether nothing costs anything: a model on one's own machine.
    pub fn is_free(&self) -> bool {
        let caches = [self.cache_read, self.cache_write].into_iter().flatten();
        [self.input, self.output].into_iter().chain(caches).all(|price| price == 0.0)
    }

    /// What an attempt cost; unknown, never nothing, where the agent counted no tokens and the model is not free.
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

/// The day the table of list prices was last checked.
pub const LIST_PRICES_DATE: &str = "2026-11-18";

/// The providers' list prices, for agents that count tokens but do not say what they cost (Codex, Gemini CLI).
///
/// Sources: the price pages of Anthropic, OpenAI and Google as public price catalogs quoted them between September and
/// November 2026, checked against the catalog that OpenCode 1.18.33 carries. Standard rates for short prompts: batch and
/// priority rates, surcharges for prompts above 200,000 tokens and temporary promotions (gemini-3.6-flash to 3.8-flash,
/// gpt-5.6-sol) are left out, so that a cost limit does not depend on a promotion's last day. Costs made from this table
/// are estimates and shown as such (`~$0.42`); `[agents.NAME] price` overrides it.
///
/// Dollars per million tokens: models, input, output, cache read, cache write (as input where providers ask no extra).
const TABLE: &[(&str, f64, f64, f64, Option<f64>)] = &[
    ("claude-fable-5-1", 10.0, 50.0, 0.25, Some(12.5)),
    ("claude-fable-5", 10.0, 50.0, 1.0, Some(12.5)),
    ("claude-opus-5-5", 4.0, 20.0, 0.2, Some(5.0)),
    ("claude-opus-5 claude-opus-4-8 claude-opus-4-7", 5.0, 25.0, 0.5, Some(6.25)),
    ("claude-opus-4-6 claude-opus-4-5", 5.0, 25.0, 0.5, Some(6.25)),
    ("claude-sonnet-5-5", 2.0, 10.0, 0.1, Some(2.5)),
    ("claude-sonnet-5", 2.0, 10.0, 0.2, Some(2.5)),
    ("claude-sonnet-4-6 claude-sonnet-4-5", 3.0, 15.0, 0.3, Some(3.75)),
    ("claude-haiku-5-5", 0.1, 0.5, 0.01, Some(0.125)),
    ("claude-haiku-4-5", 1.0, 5.0, 0.1, Some(1.25)),
    ("gpt-6.1-sol", 2.0, 10.0, 0.1, Some(2.5)),
    ("gpt-6.1-terra", 1.0, 5.0, 0.05, Some(1.25)),
    ("gpt-6-astra", 10.0, 50.0, 1.0, Some(12.5)),
    ("gpt-6-sol", 2.0, 10.0, 0.2, Some(2.5)),
    ("gpt-6-luna", 0.1, 0.5, 0.01, Some(0.125)),
    ("gpt-5.6-sol", 5.0, 30.0, 0.5, Some(6.25)),
    ("gpt-5.6-terra", 2.0, 12.0, 0.2, Some(2.5)),
    ("gpt-5.6-luna", 0.2, 1.2, 0.02, Some(0.25)),
    ("gpt-5.5", 5.0, 30.0, 0.5, None),
    ("gpt-5.4", 2.5, 15.0, 0.25, None),
    ("gpt-5.4-mini", 0.75, 4.5, 0.075, None),
    ("gpt-5.4-nano", 0.2, 1.25, 0.02, None),
    ("gpt-5.3-codex gpt-5.2 gpt-5.2-codex", 1.75, 14.0, 0.175, None),
    ("gpt-5.1 gpt-5.1-codex gpt-5.1-codex-max gpt-5 gpt-5-codex", 1.25, 10.0, 0.125, None),
    ("gpt-5.1-codex-mini gpt-5-mini", 0.25, 2.0, 0.025, None),
    ("gpt-5-nano", 0.05, 0.4, 0.005, None),
    ("gemini-3.8-flash gemini-3.7-flash gemini-3.6-flash", 1.5, 7.5, 0.15, None),
    ("gemini-3.5-flash", 1.5, 9.0, 0.15, None),
    ("gemini-3.5-flash-lite gemini-2.5-flash", 0.3, 2.5, 0.03, None),
    ("gemini-3.1-pro gemini-3-pro", 2.0, 12.0, 0.2, None),
    ("gemini-3.1-flash-lite", 0.25, 1.5, 0.025, None),
    ("gemini-3-flash", 0.5, 3.0, 0.05, None),
    ("gemini-2.5-pro", 1.25, 10.0, 0.125, None),
    ("gemini-2.5-flash-lite", 0.1, 0.4, 0.01, None),
];

/// What an agent's program makes of its short names; these say nothing outside of that program.
const ALIASES: &[(AgentKind, &str, &str)] = &[
    (AgentKind::Claude, "haiku", "claude-haiku-5-5"),
    (AgentKind::Claude, "sonnet", "claude-sonnet-5-5"),
    (AgentKind::Claude, "opus", "claude-opus-5-5"),
    (AgentKind::Gemini, "flash-lite", "gemini-3.5-flash-lite"),
    (AgentKind::Gemini, "flash", "gemini-3.8-flash"),
    (AgentKind::Gemini, "pro", "gemini-3.1-pro"),
];

/// OpenCode names a model with its provider. Others than these resell at prices of their own.
const PROVIDERS: [&str; 3] = ["anthropic/", "openai/", "google/"];

/// What may follow a model's name without changing its price, beside a date.
const NEUTRAL: [&str; 4] = ["preview", "latest", "exp", "customtools"];

/// The list price of a model; none where the table does not know it.
pub(super) fn list_price(kind: AgentKind, model: &str) -> Option<Price> {
    let alias = |(of, name, _): &&(AgentKind, &str, &str)| *of == kind && *name == model;
    let model = ALIASES.iter().find(alias).map_or(model, |(.., id)| id);
    let provider = PROVIDERS.iter().find_map(|name| model.strip_prefix(name));
    let model = provider.unwrap_or(model);
    let found = TABLE.iter().find(|(names, ..)| names.split(' ').any(|name| is_version(model, name)))?;
    let (_, input, output, cache_read, cache_write) = *found;
    Some(Price { input, output, cache_read: Some(cache_read), cache_write })
}

/// Whether an id is a model's own name or one with a date or the like behind it: `claude-opus-4-5-20251101`, but not
/// `gpt-5.4-mini` for `gpt-5.4`.
fn is_version(id: &str, name: &str) -> bool {
    let Some(rest) = id.strip_prefix(name) else { return false };
    let Some(rest) = rest.strip_prefix('-') else { return rest.is_empty() };
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let digits = rest.bytes().filter(u8::is_ascii_digit).count();
    // Fewer than four digits are a smaller version (`-1`), not a date.
    (digits == 0 || digits >= 4)
        && rest.split('-').all(|part| !part.is_empty() && (is_number(part) || NEUTRAL.contains(&part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_cost_what_the_settings_say_and_no_tokens_are_not_free() {
        let price = Price { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: None };
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

    #[test]
    fn models_are_found_by_name_date_alias_and_provider_and_others_are_unknown() {
        let output = |kind, model| list_price(kind, model).map(|price| price.output);
        let plain = |model| output(AgentKind::Command, model);
        assert_eq!(plain("gpt-5.4"), Some(15.0));
        assert_eq!(plain("gpt-5.4-2026-03-05"), Some(15.0));
        assert_eq!(plain("gpt-5.4-mini"), Some(4.5));
        assert_eq!(plain("claude-opus-4-5-20251101"), Some(25.0));
        assert_eq!(plain("claude-opus-5"), Some(25.0));
        assert_eq!(plain("claude-opus-5-5"), Some(20.0));
        assert_eq!(plain("gemini-3.1-pro-preview-customtools"), Some(12.0));
        assert_eq!(plain("google/gemini-2.5-flash"), Some(2.5));
        assert_eq!(output(AgentKind::Claude, "opus"), Some(20.0));
        assert_eq!(output(AgentKind::Gemini, "flash-lite"), Some(2.5));
        for unknown in [
            "opus",
            "pro",
            "",
            "gpt-5.4-turbo",
            "gpt-5.40",
            "claude-opus-4-50",
            "claude-opus-5-10",
            "gpt-5.4-",
            "openrouter/openai/gpt-5.4",
            "ollama/gpt-5",
            "standin",
        ] {
            assert_eq!(plain(unknown), None, "{unknown}");
        }
        assert_eq!(output(AgentKind::Codex, "pro"), None);
    }

    #[test]
    fn every_model_that_ralph_chooses_by_itself_has_a_price_and_ladders_rise() {
        for kind in AgentKind::ALL {
            let models = kind.facts().map(|facts| facts.models).unwrap_or_default();
            let prices: Vec<f64> =
                models.iter().map(|model| list_price(kind, model).expect(model).output).collect();
            assert!(prices.is_sorted(), "{kind:?} {prices:?}");
        }
        for (_, alias, id) in ALIASES {
            assert!(list_price(AgentKind::Command, id).is_some(), "{alias}");
        }
    }

    #[test]
    fn the_table_is_dated_names_each_model_once_and_caches_are_cheaper_to_read() {
        let documented = include_str!("../../../../docs/unattended.md");
        assert!(documented.contains(LIST_PRICES_DATE));
        for (place, (name, input, output, read, write)) in TABLE.iter().enumerate() {
            assert!(!TABLE[..place].iter().any(|(other, ..)| other == name));
            assert!(read < input && input < output, "{name}");
            assert!(write.is_none_or(|write| write > *input), "{name}");
        }
    }
}
