//! How long to wait before a service is asked again.

use std::time::Duration;

/// Doubles with every failure up to `cap`, and moves by up to a half either way so that many workers do not
/// come back together. `jitter` is a random number in 0..1.
pub fn backoff(base: Duration, failures: u32, cap: Duration, jitter: f64) -> Duration {
    let doubled = base.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1).min(20)));
    let factor = 0.5 + jitter.clamp(0.0, 1.0);
    doubled.min(cap).mul_f64(factor).min(cap)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn out_06_waits_double_and_jitter() {
        let base = Duration::from_secs(2);
        let cap = Duration::from_secs(60);
        assert_eq!(backoff(base, 1, cap, 0.5), Duration::from_secs(2));
        assert_eq!(backoff(base, 3, cap, 0.5), Duration::from_secs(8));
        assert_eq!(backoff(base, 1, cap, 0.0), Duration::from_secs(1));
        assert!(backoff(base, 1, cap, 0.99) > Duration::from_millis(2900));
    }

    proptest! {
        #[test]
        fn never_over_the_cap_never_a_panic(
            base in 0_u64..10_000_000,
            failures in any::<u32>(),
            cap in 0_u64..100_000_000,
            jitter in any::<f64>(),
        ) {
            let jitter = if jitter.is_nan() { 0.0 } else { jitter };
            let cap = Duration::from_millis(cap);
            prop_assert!(backoff(Duration::from_millis(base), failures, cap, jitter) <= cap);
        }
    }
}
