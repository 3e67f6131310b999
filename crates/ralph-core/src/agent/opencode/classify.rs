//! The class of a fault, from the structured fields of OpenCode's `error` event and never from the agent's prose.

use super::super::Fault;
use super::super::brief::{MESSAGE, short, text};
use super::super::json::read;
use super::events::{Code, Failure, FailureData, ServiceEnvelope, ServiceFields};

/// Whether anything of a session had been told of when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begun {
    /// The model had been asked.
    Yes,
    /// Nothing had happened.
    No,
}

/// The class of a failed session.
pub(super) fn fault(failure: &Failure, begun: Begun) -> Fault {
    let none = FailureData::default();
    let data = failure.data.as_ref().unwrap_or(&none);
    match text(failure.name.as_ref()).unwrap_or_default() {
        "ProviderAuthError" => Fault::Auth,
        "MessageOutputLengthError"
        | "ContextOverflowError"
        | "ContentFilterError"
        | "StructuredOutputError"
        | "MessageAbortedError" => Fault::Crash,
        "APIError" => by_answer(data),
        // Names are added over time; the fields then speak.
        _ if data.status_code.is_some() => by_answer(data),
        // An unknown model, or a provider without credentials: the program says neither, but it had not begun.
        _ if data.reference.is_some() && begun == Begun::No => Fault::Config,
        _ => by_service(data).unwrap_or(Fault::Crash),
    }
}

/// One line for people.
pub(super) fn message(failure: &Failure, fault: Fault, program: &str) -> String {
    let data = failure.data.as_ref();
    let told = data.and_then(|data| text(data.message.as_ref()));
    let inner = told.and_then(service_error).and_then(|error| error.message);
    let told = inner.as_ref().map(|inner| inner.0.as_str()).or(told);
    let told = told.map(|told| short(told, MESSAGE)).unwrap_or_default();
    let name = text(failure.name.as_ref()).unwrap_or("an unnamed error");
    let name = short(name, MESSAGE);
    match (told.is_empty(), fault) {
        (true, _) => format!("{program} reported {name}"),
        (false, Fault::Config) if data.is_some_and(|data| data.reference.is_some()) => format!(
            "{program} could not start; check the model's name and the provider's API key ({told})"
        ),
        (false, _) => told,
    }
}

fn by_answer(data: &FailureData) -> Fault {
    let typed = by_service(data);
    match data.status_code {
        // A bad request is the agent's fault, unless it is typed as a refused key or a model that is not there.
        Some(400) => typed
            .filter(|fault| matches!(fault, Fault::Auth | Fault::Config))
            .unwrap_or(Fault::Crash),
        Some(status) => Fault::of_status(status).or(typed).unwrap_or(Fault::Crash),
        // The request or its connection is named, and no answer came.
        None if typed.is_none() && data.metadata.is_some() => Fault::Network,
        // An error in place of the rest of an answer.
        None => typed.unwrap_or(match data.is_retryable {
            Some(true) => Fault::Overloaded,
            Some(false) | None => Fault::Crash,
        }),
    }
}

/// The class of the service's own error, which stands in the body or, for want of one, as the message.
fn by_service(data: &FailureData) -> Option<Fault> {
    let body = text(data.response_body.as_ref()).or(text(data.message.as_ref()))?;
    let error = service_error(body)?;
    let (status, code) = match error.code {
        Some(Code::Status(status)) => (Some(status), None),
        Some(Code::Word(word)) => (None, Some(word)),
        None => (None, None),
    };
    let reasons = error.details.into_iter().filter_map(|detail| detail.reason);
    let kinds = [error.status, error.kind].into_iter().flatten();
    let words = reasons.chain(kinds).map(|text| text.0);
    code.into_iter()
        .chain(words)
        .find_map(|word| by_word(&word))
        .or_else(|| Fault::of_status(status?))
}

fn service_error(json: &str) -> Option<ServiceFields> {
    if !json.trim_start().starts_with('{') {
        return None;
    }
    let envelope: ServiceEnvelope = read(json)?;
    envelope.error.or_else(|| read(json))
}

/// The words of several services.
fn by_word(word: &str) -> Option<Fault> {
    Some(match word.to_ascii_lowercase().as_str() {
        "authentication_error"
        | "permission_error"
        | "billing_error"
        | "invalid_api_key"
        | "api_key_invalid"
        | "insufficient_quota"
        | "usage_not_included"
        | "unauthenticated"
        | "permission_denied" => Fault::Auth,
        "not_found_error" | "model_not_found" | "not_found" => Fault::Config,
        "rate_limit_error" | "rate_limit_exceeded" | "too_many_requests" | "resource_exhausted" => {
            Fault::RateLimit
        }
        "overloaded_error"
        | "api_error"
        | "server_error"
        | "server_is_overloaded"
        | "internal_server_error"
        | "internal"
        | "service_unavailable"
        | "unavailable" => Fault::Overloaded,
        "timeout_error" | "deadline_exceeded" => Fault::Network,
        "request_too_large" | "context_length_exceeded" | "invalid_prompt" => Fault::Crash,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn failure(name: &str, data: Value) -> Failure {
        read(&json!({"name": name, "data": data}).to_string()).unwrap()
    }

    #[track_caller]
    fn expect(name: &str, data: Value, expected: Fault) {
        let case = format!("{name} {data}");
        assert_eq!(fault(&failure(name, data), Begun::Yes), expected, "{case}");
    }

    #[test]
    fn classes_of_http_answers() {
        let cases = [
            (400, Fault::Crash),
            (401, Fault::Auth),
            (402, Fault::Auth),
            (403, Fault::Auth),
            (404, Fault::Config),
            (408, Fault::Network),
            (413, Fault::Crash),
            (422, Fault::Crash),
            (429, Fault::RateLimit),
            (500, Fault::Overloaded),
            (503, Fault::Overloaded),
            (529, Fault::Overloaded),
            (200, Fault::Crash),
        ];
        for (status, expected) in cases {
            for name in ["APIError", "AnErrorOfTomorrow"] {
                let body = r#"{"error":{"message":"x","type":"some_error","code":null}}"#;
                let data = json!({"message": "x", "statusCode": status, "isRetryable": true,
                    "responseBody": body, "metadata": {"url": "http://localhost/v1"}});
                expect(name, data, expected);
            }
        }
    }

    #[test]
    fn a_bad_request_may_be_typed_as_a_fault_of_the_set_up() {
        let body = |body: Value| json!({"message": "x", "statusCode": 400, "isRetryable": false, "responseBody": body.to_string()});
        let google = json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}});
        expect("APIError", body(google), Fault::Auth);
        let model = json!({"error": {"type": "invalid_request_error", "code": "model_not_found"}});
        expect("APIError", body(model), Fault::Config);
        let busy = json!({"error": {"type": "overloaded_error"}});
        expect("APIError", body(busy), Fault::Crash);
    }

    #[test]
    fn no_answer_is_network() {
        let refused = json!({"message": "Cannot connect to API", "isRetryable": true, "metadata": {"url": "http://localhost/v1"}});
        expect("APIError", refused, Fault::Network);
        for code in [
            "ECONNRESET",
            "ProviderHeaderTimeoutError",
            "ProviderResponseStreamError",
        ] {
            let cut = json!({"message": "cut", "isRetryable": true, "metadata": {"code": code}});
            expect("APIError", cut, Fault::Network);
        }
    }

    #[test]
    fn errors_inside_an_answer_are_classed_by_the_services_own_type() {
        let cases = [
            (json!({"type": "overloaded_error"}), Fault::Overloaded),
            (
                json!({"type": "x", "code": "rate_limit_exceeded"}),
                Fault::RateLimit,
            ),
            (json!({"code": 502}), Fault::Overloaded),
            (
                json!({"code": 429, "type": "of tomorrow"}),
                Fault::RateLimit,
            ),
            (json!({"code": "insufficient_quota"}), Fault::Auth),
            (json!({"type": "timeout_error"}), Fault::Network),
            (json!({"code": "context_length_exceeded"}), Fault::Crash),
            (json!({"status": "UNAVAILABLE"}), Fault::Overloaded),
        ];
        for (error, expected) in cases {
            // As the message of an error that the program has no name for, alone or in an envelope.
            let whole = json!({"type": "error", "error": error});
            for told in [error.to_string(), whole.to_string()] {
                expect("UnknownError", json!({"message": told}), expected);
            }
            let body =
                json!({"message": "x", "isRetryable": true, "responseBody": whole.to_string()});
            expect("APIError", body, expected);
        }
        let untyped = |retryable: bool| json!({"message": "x", "isRetryable": retryable, "responseBody": "{}"});
        expect("APIError", untyped(true), Fault::Overloaded);
        expect("APIError", untyped(false), Fault::Crash);
    }

    #[test]
    fn the_programs_own_errors() {
        expect(
            "ProviderAuthError",
            json!({"providerID": "openai", "message": "no key"}),
            Fault::Auth,
        );
        for name in [
            "MessageOutputLengthError",
            "ContextOverflowError",
            "ContentFilterError",
            "StructuredOutputError",
            "MessageAbortedError",
        ] {
            // Whatever they say.
            expect(
                name,
                json!({"message": r#"{"type":"overloaded_error"}"#}),
                Fault::Crash,
            );
        }
        expect(
            "UnknownError",
            json!({"message": "429 rate limit"}),
            Fault::Crash,
        );
        expect("UnknownError", json!(7), Fault::Crash);
        assert_eq!(fault(&Failure::default(), Begun::No), Fault::Crash);
    }

    #[test]
    fn what_fails_before_the_model_is_asked_is_a_fault_of_the_set_up() {
        let kept = failure(
            "UnknownError",
            json!({"message": "Unexpected", "ref": "err_1"}),
        );
        assert_eq!(fault(&kept, Begun::No), Fault::Config);
        assert_eq!(fault(&kept, Begun::Yes), Fault::Crash);
        let told = message(&kept, Fault::Config, "opencode");
        assert!(told.contains("could not start") && told.contains("(Unexpected)"));
        assert_eq!(message(&kept, Fault::Crash, "opencode"), "Unexpected");
    }

    #[test]
    fn messages_are_one_short_clean_line() {
        let message =
            |name: &str, data: Value| message(&failure(name, data), Fault::Crash, "opencode");
        let inside = json!({"message": r#"{"type":"overloaded_error","message":"busy"}"#});
        assert_eq!(message("UnknownError", inside), "busy");
        assert_eq!(
            message("MessageOutputLengthError", json!({})),
            "opencode reported MessageOutputLengthError"
        );
        let long = json!({"message": format!("\u{1b}[31m{}", "x".repeat(10_000))});
        let long = message("APIError", long);
        assert!(long.chars().count() <= MESSAGE && !long.contains(char::is_control));
    }
}
