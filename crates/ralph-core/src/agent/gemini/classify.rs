//! The class of a fault, from the structured fields of Gemini CLI's events and never from the model's prose.

use super::super::{Exit, Fault};
use super::api_error::ApiError;

/// What the program says when an answer stops in the middle.
const CUT: &str = "Model stream ended without a finish reason.";

/// How a session ended that was no success.
#[derive(Clone, Copy, Debug)]
pub(super) enum End<'a> {
    /// The program ended before the session began, and so without an event.
    NotBegun,
    /// There was no result.
    Unfinished,
    /// The program stopped the session and told why in an `error` event.
    Stopped(&'a str),
    /// The result holds an error of this type that is none of the API's.
    Own(&'a str),
    /// The result holds an error of the API's.
    Api(&'a ApiError),
}

/// The class of an end that was no success.
pub(super) fn fault(end: End<'_>, exit: Exit) -> Fault {
    match end {
        End::NotBegun => by_start(exit).unwrap_or(Fault::Crash),
        End::Stopped(CUT) => Fault::Network,
        // A loop, a turn limit, an answer that was blocked or empty; an end without a word.
        End::Stopped(_) | End::Unfinished => Fault::Crash,
        End::Own(kind) => by_type(kind).unwrap_or(Fault::Crash),
        End::Api(error) => by_answer(error, exit).unwrap_or(Fault::Crash),
    }
}

/// Why the program did not begin: it then has no word but its own exit codes.
fn by_start(exit: Exit) -> Option<Fault> {
    match exit {
        Exit::Code(41) => Some(Fault::Auth),
        Exit::Code(44 | 52) => Some(Fault::Config),
        Exit::Code(55) => Some(Fault::Permission),
        Exit::Code(_) | Exit::Signal(_) => None,
    }
}

/// What people are told of such a start, after the program's name.
pub(super) fn start_trouble(exit: Exit) -> Option<&'static str> {
    match exit {
        Exit::Code(41) => Some("found no usable credentials (exit code 41)"),
        Exit::Code(44) => Some("could not set up its sandbox (exit code 44)"),
        Exit::Code(52) => Some("rejected its own settings (exit code 52)"),
        Exit::Code(55) => Some("does not trust this directory (exit code 55)"),
        Exit::Code(_) | Exit::Signal(_) => None,
    }
}

fn by_type(kind: &str) -> Option<Fault> {
    Some(match kind {
        "FatalAuthenticationError"
        | "UnauthorizedError"
        | "ForbiddenError"
        | "AccountSuspendedError"
        | "ValidationRequiredError" => Fault::Auth,
        "FatalConfigError" | "FatalSandboxError" | "ModelNotFoundError" => Fault::Config,
        "TerminalQuotaError" | "RetryableQuotaError" => Fault::RateLimit,
        _ => return None,
    })
}

fn by_answer(error: &ApiError, exit: Exit) -> Option<Fault> {
    // A bad key is a bad request to this service.
    if error.reasons.iter().any(|reason| is_of_credentials(reason)) {
        return Some(Fault::Auth);
    }
    match error.status.or_else(|| status_of(exit)) {
        Some(status) => Fault::of_status(status),
        None => error.without_status(),
    }
}

fn is_of_credentials(reason: &str) -> bool {
    reason.starts_with("API_KEY_") || reason == "ACCESS_TOKEN_EXPIRED"
}

/// The HTTP status that the program ends with after an API error; as much of it as an exit code can hold.
fn status_of(exit: Exit) -> Option<u16> {
    let Exit::Code(code) = exit else { return None };
    // Below that are the program's own codes.
    (400..=511)
        .chain(520..=530)
        .find(|status| i32::from(status % 256) == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(status: Option<u16>, reason: &str, words: &str) -> ApiError {
        ApiError {
            status,
            reasons: vec![reason.to_owned()],
            message: words.to_owned(),
            wait: None,
        }
    }

    #[test]
    fn classes_of_api_errors() {
        let cases = [
            (Some(400), "", 144, Fault::Crash),
            (Some(400), "API_KEY_INVALID", 144, Fault::Auth),
            (Some(401), "", 145, Fault::Auth),
            (Some(403), "", 147, Fault::Auth),
            (Some(404), "", 148, Fault::Config),
            (Some(408), "", 152, Fault::Network),
            (Some(413), "", 157, Fault::Crash),
            (Some(429), "RATE_LIMIT_EXCEEDED", 173, Fault::RateLimit),
            (Some(500), "", 244, Fault::Overloaded),
            (Some(529), "", 17, Fault::Overloaded),
            // The message has no status, the exit code has.
            (None, "", 173, Fault::RateLimit),
            (None, "", 247, Fault::Overloaded),
            (None, "", 17, Fault::Overloaded),
            // What the message says goes before it.
            (Some(429), "", 1, Fault::RateLimit),
            (None, "", 1, Fault::Crash),
            (None, "", 0, Fault::Crash),
            (None, "", 53, Fault::Crash),
        ];
        for (status, reason, code, expected) in cases {
            let error = api(status, reason, "told");
            let found = fault(End::Api(&error), Exit::Code(code));
            assert_eq!(found, expected, "{status:?} {reason} {code}");
        }
        let lost = api(None, "", "terminated");
        assert_eq!(fault(End::Api(&lost), Exit::Code(1)), Fault::Network);
    }

    #[test]
    fn an_exit_code_alone_proves_little() {
        let codes = [
            (41, Fault::Auth),
            (52, Fault::Config),
            (55, Fault::Permission),
        ];
        for (code, class) in codes {
            assert_eq!(fault(End::NotBegun, Exit::Code(code)), class);
            assert!(start_trouble(Exit::Code(code)).is_some());
            for end in [End::Unfinished, End::Own("Error"), End::Stopped("Loop")] {
                assert_eq!(fault(end, Exit::Code(code)), Fault::Crash, "{end:?}");
            }
        }
        for code in [0, 1, 42, 145, 173, 244] {
            assert_eq!(fault(End::NotBegun, Exit::Code(code)), Fault::Crash);
            assert_eq!(fault(End::Unfinished, Exit::Code(code)), Fault::Crash);
        }
        assert_eq!(fault(End::NotBegun, Exit::Signal(9)), Fault::Crash);
    }

    #[test]
    fn the_programs_own_ends() {
        let exit = Exit::Code(1);
        assert_eq!(fault(End::Stopped(CUT), exit), Fault::Network);
        let blocked = "The model response was blocked due to safety settings.";
        assert_eq!(fault(End::Stopped(blocked), exit), Fault::Crash);
        assert_eq!(
            fault(End::Own("FatalAuthenticationError"), exit),
            Fault::Auth
        );
        assert_eq!(fault(End::Own("FatalTurnLimitedError"), exit), Fault::Crash);
    }
}
