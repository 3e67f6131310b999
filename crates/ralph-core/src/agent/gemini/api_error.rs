//! What Gemini CLI's message of an API error says: `[API Error: …]` around the service's own words.
//!
//! The words are the service's error as JSON, or only the message of it, or what the HTTP client said. They are the
//! program's, never the model's.

use std::time::Duration;

use super::super::Fault;
use super::super::brief::{MESSAGE, NAME, short};
use super::super::json::{Text, each_by_itself};

/// How the advice begins that the program adds to a 429, and to nothing else.
const ADVICE: [&str; 2] = [
    "Please wait and try again later.",
    "Possible quota limitations",
];

/// An error of the service, or of the way to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ApiError {
    /// The HTTP status, where the message tells it.
    pub status: Option<u16>,
    /// The service's reasons (`API_KEY_INVALID`).
    pub reasons: Vec<String>,
    /// What it says, for people.
    pub message: String,
    /// How long to wait before the next request, where the service told.
    pub wait: Option<Duration>,
}

each_by_itself! {
    struct Body {
        error: Option<Detail>,
    }
}

each_by_itself! {
    struct Detail {
        code: Option<u16>,
        message: Option<Text>,
        details: Vec<Extra>,
    }
}

each_by_itself! {
    #[serde(rename_all = "camelCase")]
    struct Extra {
        reason: Option<Text>,
        retry_delay: Option<Text>,
    }
}

impl ApiError {
    /// Reads a message; `None` where it is none of an API error.
    pub(super) fn read(message: &str) -> Option<Self> {
        let rest = message.strip_prefix("[API Error: ")?;
        let limited = rest
            .rsplit_once("]\n")
            .filter(|(_, advice)| ADVICE.iter().any(|start| advice.starts_with(start)));
        let words = match limited {
            Some((words, _)) => words,
            None => rest.strip_suffix(']').unwrap_or(rest),
        };
        let start = words.find('{').and_then(|start| words.get(start..));
        let body = start.and_then(|json| {
            let mut values = serde_json::Deserializer::from_str(json).into_iter::<Body>();
            values.next()?.ok()?.error
        });
        let wait = wait_told(words);
        let Some(body) = body else {
            return Some(Self {
                status: limited.map(|_| 429),
                reasons: Vec::new(),
                message: short(words, MESSAGE),
                wait,
            });
        };
        let delays = body.details.iter().filter_map(|extra| {
            let delay = extra.retry_delay.as_ref()?;
            duration(&delay.0)
        });
        let reasons = body
            .details
            .iter()
            .filter_map(|extra| extra.reason.as_ref());
        let told = body.message.as_ref().map_or(words, |told| &told.0);
        Some(Self {
            status: body.code.or(limited.map(|_| 429)),
            reasons: reasons
                .take(8)
                .map(|reason| short(&reason.0, NAME))
                .collect(),
            message: short(told, MESSAGE),
            wait: delays.max().or(wait),
        })
    }

    /// The class of an error that has no status: no answer came, or one that the program keeps no status of.
    pub(super) fn without_status(&self) -> Option<Fault> {
        let words = self.message.as_str();
        if is_of_the_network(words) {
            return Some(Fault::Network);
        }
        // Of a 404 the program passes on nothing but the service's message, which always says so.
        let words = words.to_ascii_lowercase();
        words.contains("not found").then_some(Fault::Config)
    }
}

/// What the HTTP client and the SDK say of a connection that was refused, cut or timed out.
fn is_of_the_network(words: &str) -> bool {
    const CODES: [&str; 11] = [
        "ECONNREFUSED",
        "ECONNRESET",
        "EPIPE",
        "ETIMEDOUT",
        "ENOTFOUND",
        "EAI_AGAIN",
        "UND_ERR_",
        "Timeout Error",
        "socket hang up",
        "other side closed",
        "Premature close",
    ];
    (words.starts_with("exception ") && words.ends_with(" sending request"))
        || words == "terminated"
        || words == "Incomplete JSON segment at the end"
        || words == "fetch failed"
        || CODES.iter().any(|code| words.contains(code))
}

/// The longest wait that the words speak of.
fn wait_told(words: &str) -> Option<Duration> {
    let said = ["retry after ", "retry in ", "reset after "];
    let all = said.iter().flat_map(|said| {
        words
            .match_indices(said)
            .filter_map(|(at, _)| duration(words.get(at + said.len()..)?))
    });
    all.max()
}

/// The duration that a text begins with: `2s`, `0.5s`, `500ms`, `1h2m3s`.
fn duration(text: &str) -> Option<Duration> {
    const UNITS: [(&str, f64); 5] = [
        ("ms", 0.001),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
        ("d", 86_400.0),
    ];
    let mut seconds = 0.0;
    let mut rest = text;
    loop {
        let end = rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.');
        let (number, after) = rest.split_at(end.unwrap_or(rest.len()));
        let unit = UNITS.iter().find(|(unit, _)| after.starts_with(unit));
        let (Ok(number), Some((unit, factor))) = (number.parse::<f64>(), unit) else {
            break;
        };
        seconds += number * factor;
        rest = after.get(unit.len()..).unwrap_or_default();
    }
    let told = Duration::try_from_secs_f64(seconds).ok()?;
    (!told.is_zero()).then_some(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: &str = "]\nPlease wait and try again later. To increase your limits, go on";

    fn read(message: &str) -> ApiError {
        ApiError::read(message).expect("an API error")
    }

    #[test]
    fn json_tells_status_reason_and_message() {
        let json = r#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"x","reason":"API_KEY_INVALID"},7]}}"#;
        let expected = ApiError {
            status: Some(400),
            reasons: vec!["API_KEY_INVALID".into()],
            message: "API key not valid.".into(),
            wait: None,
        };
        assert_eq!(read(&format!("[API Error: {json}]")), expected);
        // In a list, and after a few words.
        assert_eq!(read(&format!("[API Error: [{json}]]")), expected);
        assert_eq!(
            read(&format!("[API Error: got status: X. {json}]")),
            expected
        );
    }

    #[test]
    fn advice_to_wait_is_a_429_without_json() {
        let limited = read(&format!("[API Error: You exceeded your quota.{WAIT}"));
        assert_eq!(limited.status, Some(429));
        assert_eq!(limited.message, "You exceeded your quota.");
        assert_eq!(limited.wait, None);
        assert_eq!(read("[API Error: overloaded]").status, None);
        // The service's own line ends are no advice.
        assert_eq!(read("[API Error: [\n]\nPlease]").status, None);
        assert_eq!(ApiError::read("Reached max session turns"), None);
    }

    #[test]
    fn the_wait_is_read_where_the_service_tells_it() {
        let seconds = |words: &str| {
            let wait = read(&format!("[API Error: {words}{WAIT}")).wait;
            wait.map(|wait| wait.as_secs_f64())
        };
        assert_eq!(seconds("Quota.\nSuggested retry after 2s."), Some(2.0));
        assert_eq!(seconds("Quota. Please retry in 2.5s."), Some(2.5));
        assert_eq!(seconds("Quota. Please retry in 250ms."), Some(0.25));
        assert_eq!(seconds("Your quota will reset after 1h2m3s."), Some(3723.0));
        let both = "Please retry in 3600.5s.\nSuggested retry after 3600s.";
        assert_eq!(seconds(both), Some(3600.5));
        let json = r#"{"error":{"code":429,"details":[{"retryDelay":"7s"}]}}"#;
        assert_eq!(seconds(json), Some(7.0));
        for none in [
            "retry after a while",
            "retry in .s",
            "retry in 0s",
            "retry in 5",
        ] {
            assert_eq!(seconds(none), None, "{none}");
        }
        assert_eq!(seconds(&format!("retry in {}s", "9".repeat(400))), None);
    }

    #[test]
    fn errors_without_a_status_have_their_class() {
        let cases = [
            (
                "exception TypeError: fetch failed sending request",
                Some(Fault::Network),
            ),
            ("terminated", Some(Fault::Network)),
            ("Incomplete JSON segment at the end", Some(Fault::Network)),
            (
                "request to https://x failed, reason: getaddrinfo ENOTFOUND x",
                Some(Fault::Network),
            ),
            (
                "models/nope is not found for API version v1beta",
                Some(Fault::Config),
            ),
            ("Requested entity was not found.", Some(Fault::Config)),
            ("Retry attempts exhausted", None),
            ("The turn was terminated by a rule", None),
        ];
        for (words, expected) in cases {
            let error = read(&format!("[API Error: {words}]"));
            assert_eq!(error.without_status(), expected, "{words}");
        }
    }
}
