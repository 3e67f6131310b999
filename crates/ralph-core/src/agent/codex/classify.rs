//! The class of a fault, from Codex's own error events and never from what the model said.
//!
//! Those events carry nothing but a message, so the sentences that Codex makes itself are what there is to go by. Seen
//! with the tested version, always in `error` and again in `turn.failed`:
//!
//! | the service | the message |
//! |---|---|
//! | 401, 403, 404, 413, 502, 529, … | `unexpected status 401 Unauthorized: TEXT, url: URL` |
//! | 429 | `exceeded retry limit, last status: 429 Too Many Requests`; a `retry-after` is not told |
//! | 429 `usage_limit_reached` | `You’ve hit your usage limit. … try again at 9:17 AM.`, or `… later.` |
//! | 429 `insufficient_quota` | `Quota exceeded. …` |
//! | `rate_limit_exceeded` in the stream | `rate limit exceeded: TEXT` |
//! | 500 | `We’re currently experiencing high demand, …` |
//! | overloaded, as 503 or in the stream | `Selected model is at capacity. …` |
//! | 400 | its answer as it came, usually JSON |
//! | 400 or 404 `model_not_found` | the service's text alone |
//! | a stream that was cut, or silent for too long | `stream disconnected before completion: TEXT` |
//! | no connection | `Connection failed: TEXT` |
//! | no key | ``Missing environment variable: `NAME`.``, else the 401 of the service |

use super::super::Fault;
use super::super::brief::{MESSAGE, short, text};
use super::super::json::read;
use super::events::Refusal;

/// Codex's sentences by their beginning; the first that fits counts.
const SENTENCES: [(&str, Fault); 23] = [
    ("You've hit your usage limit", Fault::RateLimit),
    ("rate limit exceeded: ", Fault::RateLimit),
    ("Missing environment variable: ", Fault::Auth),
    ("Your access token could not be refreshed", Fault::Auth),
    ("Your authentication session could not be", Fault::Auth),
    ("Access blocked by Cloudflare", Fault::Auth),
    // No attempt and no wait mends these: somebody must pay, or ask somebody to.
    ("Quota exceeded. ", Fault::Auth),
    ("To use Codex with your ChatGPT plan, ", Fault::Auth),
    ("Your workspace is out of credits. ", Fault::Auth),
    ("You hit your spend cap ", Fault::Auth),
    (
        "We're currently experiencing high demand",
        Fault::Overloaded,
    ),
    ("Selected model is at capacity", Fault::Overloaded),
    ("Policy-restricted capacity is unavail", Fault::Overloaded),
    ("Flex capacity unavailable", Fault::Overloaded),
    (
        "stream disconnected before completion: Incomplete response",
        Fault::Crash,
    ),
    ("stream disconnected before completion", Fault::Network),
    ("Connection failed: ", Fault::Network),
    ("Error while reading the server response", Fault::Network),
    ("error sending request", Fault::Network),
    ("request timed out", Fault::Network),
    ("Incomplete response returned", Fault::Crash),
    ("Codex ran out of room in the model's", Fault::Crash),
    ("Image poisoning", Fault::Crash),
];

/// The class of an error that ended a session: the agent's own fault where Codex does not say otherwise.
pub(super) fn fault(message: &str) -> Fault {
    known(message).unwrap_or(Fault::Crash)
}

/// The class of an error, where Codex's words have one.
pub(super) fn known(message: &str) -> Option<Fault> {
    let message = plain(message);
    status(&message)
        .and_then(Fault::of_status)
        .or_else(|| by_sentence(&message))
        .or_else(|| is_unknown_model(&message).then_some(Fault::Config))
}

/// The HTTP status Codex names, where it names one.
pub(super) fn status(message: &str) -> Option<u16> {
    let rest = ["unexpected status ", "exceeded retry limit, last status: "]
        .into_iter()
        .find_map(|start| message.strip_prefix(start))?;
    rest.get(..3)?.parse().ok()
}

/// One line for people: of an answer in JSON only its text.
pub(super) fn wording(message: &str) -> String {
    let text = refusal(message).and_then(|refusal| {
        let error = refusal.error.and_then(|error| error.message);
        error.or(refusal.detail)
    });
    let told = text.as_ref().map_or(message, |text| text.0.as_str());
    short(told, MESSAGE)
}

fn by_sentence(message: &str) -> Option<Fault> {
    let known = SENTENCES
        .iter()
        .find(|(start, _)| message.starts_with(start));
    known.map(|(_, fault)| *fault)
}

/// Of a model that is not there Codex tells only what the service says, which has kept to these words.
fn is_unknown_model(message: &str) -> bool {
    let Some(refusal) = refusal(message) else {
        return ["The model `", "The requested model '"]
            .iter()
            .any(|start| message.starts_with(start))
            && message.contains("does not exist");
    };
    let code = refusal.error.and_then(|error| error.code);
    let of_account = text(refusal.detail.as_ref()).is_some_and(|detail| {
        detail.starts_with("The '") && detail.contains("' model is not supported when using Codex")
    });
    of_account || text(code.as_ref()) == Some("model_not_found")
}

/// The answer to a bad request.
fn refusal(message: &str) -> Option<Refusal> {
    read(message).filter(|_| message.starts_with('{'))
}

/// With plain apostrophes: Codex has used both.
fn plain(message: &str) -> String {
    message.replace('\u{2019}', "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_what_codex_says() {
        let cases = [
            (
                "unexpected status 401 Unauthorized: bad key, url: http://h/v1/responses",
                Fault::Auth,
            ),
            (
                "unexpected status 402 Payment Required: deactivated_workspace, url: u",
                Fault::Auth,
            ),
            ("unexpected status 403 Forbidden: no, url: u", Fault::Auth),
            (
                "Access blocked by Cloudflare. This usually happens when connecting from a restricted region (status 403 Forbidden), url: u",
                Fault::Auth,
            ),
            ("Missing environment variable: `OPENAI_KEY`.", Fault::Auth),
            (
                "Your access token could not be refreshed because your refresh token was revoked. Please log out and sign in again.",
                Fault::Auth,
            ),
            (
                "Quota exceeded. Check your plan and billing details.",
                Fault::Auth,
            ),
            (
                "unexpected status 404 Not Found: no such route, url: u",
                Fault::Config,
            ),
            (
                "The model `gpt-x` does not exist or you do not have access to it.",
                Fault::Config,
            ),
            ("The requested model 'gpt-x' does not exist.", Fault::Config),
            (
                r#"{"detail":"The 'gpt-x' model is not supported when using Codex with a ChatGPT account."}"#,
                Fault::Config,
            ),
            (
                "unexpected status 408 Request Timeout: x, url: u",
                Fault::Network,
            ),
            (
                "exceeded retry limit, last status: 429 Too Many Requests, request id: req_1",
                Fault::RateLimit,
            ),
            (
                "rate limit exceeded: Please try again in 1.5s.",
                Fault::RateLimit,
            ),
            (
                "You’ve hit your usage limit. Try again later.",
                Fault::RateLimit,
            ),
            (
                "You've hit your usage limit for gpt-6-astra. Switch to another model now, or try again later.",
                Fault::RateLimit,
            ),
            (
                "We’re currently experiencing high demand, which may cause temporary errors.",
                Fault::Overloaded,
            ),
            (
                "exceeded retry limit, last status: 500 Internal Server Error",
                Fault::Overloaded,
            ),
            (
                "unexpected status 502 Bad Gateway: <html>, url: u",
                Fault::Overloaded,
            ),
            (
                "unexpected status 529 <unknown status code>: Overloaded, url: u",
                Fault::Overloaded,
            ),
            (
                "Selected model is at capacity. Please try a different model.",
                Fault::Overloaded,
            ),
            (
                "stream disconnected before completion: stream closed before response.completed",
                Fault::Network,
            ),
            (
                "stream disconnected before completion: idle timeout waiting for SSE",
                Fault::Network,
            ),
            ("Connection failed: error sending request", Fault::Network),
            (
                "error sending request for url (https://auth.example/oauth/token)",
                Fault::Network,
            ),
            (
                "unexpected status 413 Payload Too Large: too large, url: u",
                Fault::Crash,
            ),
            (
                r#"{"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Too long."}}"#,
                Fault::Crash,
            ),
            (
                "Codex ran out of room in the model's context window. Start a new thread.",
                Fault::Crash,
            ),
            (
                "Incomplete response returned, reason: max_output_tokens",
                Fault::Crash,
            ),
            (
                "stream disconnected before completion: Incomplete response returned, reason: content_filter",
                Fault::Crash,
            ),
            ("Invalid prompt: flagged", Fault::Crash),
            // Words of the service inside an answer that was refused are nobody's sentences.
            (
                r#"{"error":{"message":"exceeded retry limit, last status: 429"}}"#,
                Fault::Crash,
            ),
            ("the file says: unexpected status 429", Fault::Crash),
            ("unexpected status ünf", Fault::Crash),
            ("unexpected status 99", Fault::Crash),
            ("", Fault::Crash),
        ];
        for (message, expected) in cases {
            assert_eq!(fault(message), expected, "{message}");
        }
    }

    #[test]
    fn people_read_the_text_of_an_answer() {
        let refused = r#"{"error": {"message": "bad\nrequest", "type": "invalid_request_error"}}"#;
        assert_eq!(wording(refused), "bad request");
        assert_eq!(wording(r#"{"detail":"no such model"}"#), "no such model");
        assert_eq!(wording(r#"{"else":1}"#), r#"{"else":1}"#);
        assert_eq!(wording("Quota exceeded."), "Quota exceeded.");
    }
}
