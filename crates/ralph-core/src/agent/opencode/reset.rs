//! When a limit is over, from the headers of the answer that refused.

use jiff::fmt::rfc2822::DateTimeParser;

use super::super::brief::text;
use super::events::Headers;

/// No service asks for more patience than a year.
const LONGEST_MS: f64 = 366.0 * 24.0 * 3600.0 * 1000.0;

/// Unix seconds, not too early by a fraction; `None` where the headers name no time to come.
pub(super) fn resets_at(headers: &Headers, answered_at_ms: Option<i64>) -> Option<i64> {
    let wait_ms = milliseconds(text(headers.retry_after_ms.as_ref()), 1.0)
        .or_else(|| milliseconds(text(headers.retry_after.as_ref()), 1000.0));
    if let Some(wait_ms) = wait_ms {
        if !(wait_ms > 0.0 && wait_ms <= LONGEST_MS) {
            return None;
        }
        // Within a year of milliseconds, which is a whole number far below 2^53.
        #[expect(clippy::cast_possible_truncation, reason = "bounded above")]
        let wait_ms = wait_ms.ceil() as i64;
        let until = answered_at_ms?.checked_add(wait_ms)?;
        return Some(until.div_euclid(1000) + i64::from(until.rem_euclid(1000) > 0));
    }
    let date = text(headers.retry_after.as_ref())
        .and_then(|date| DateTimeParser::new().parse_timestamp(date.trim()).ok())
        .map(jiff::Timestamp::as_second);
    date.or_else(|| {
        text(headers.anthropic_ratelimit_unified_reset.as_ref())
            .and_then(|seconds| seconds.trim().parse().ok())
    })
}

fn milliseconds(text: Option<&str>, unit: f64) -> Option<f64> {
    let number: f64 = text?.trim().parse().ok()?;
    Some(number * unit)
}

#[cfg(test)]
mod tests {
    use super::super::super::json::Text;
    use super::*;

    fn told(after: &str, after_ms: &str, unified: &str) -> Option<i64> {
        let some = |text: &str| (!text.is_empty()).then(|| Text(text.to_owned()));
        let headers = Headers {
            retry_after: some(after),
            retry_after_ms: some(after_ms),
            anthropic_ratelimit_unified_reset: some(unified),
        };
        resets_at(&headers, Some(1_794_770_179_201))
    }

    #[test]
    fn times_in_headers() {
        let cases = [
            ("1", "", "", Some(1_794_770_181)),
            ("3600", "", "", Some(1_794_773_780)),
            ("0.5", "", "", Some(1_794_770_180)),
            ("60", "799", "", Some(1_794_770_180)),
            ("Sun, 15 Nov 2026 19:26:19 GMT", "", "", Some(1_794_770_779)),
            ("", "", "1794772643", Some(1_794_772_643)),
            ("soon", "", "1794772643", Some(1_794_772_643)),
            ("0", "", "", None),
            ("", "0", "", None),
            ("-1", "", "", None),
            ("NaN", "", "", None),
            ("inf", "", "", None),
            ("1e300", "", "", None),
            ("", "", "later", None),
            ("", "", "", None),
        ];
        for (after, after_ms, unified, expected) in cases {
            let case = format!("{after} {after_ms} {unified}");
            assert_eq!(told(after, after_ms, unified), expected, "{case}");
        }
        let headers = Headers {
            retry_after: Some(Text("1".into())),
            ..Headers::default()
        };
        assert_eq!(resets_at(&headers, None), None);
        assert_eq!(resets_at(&headers, Some(i64::MAX)), None);
    }
}
