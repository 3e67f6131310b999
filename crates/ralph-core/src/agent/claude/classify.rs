//! The class of a fault, from the structured fields of Claude Code's events and never from its prose.

use super::super::Fault;

/// What the stream's structured fields say about an unsuccessful end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    /// `result.subtype`, if there was a result at all.
    pub subtype: Option<String>,
    /// `result.stop_reason`.
    pub stop_reason: Option<String>,
    /// What stood in place of the service's answer.
    pub answer: ApiError,
    /// Why the program last tried its service again, if no answer came since.
    pub retried: Option<ApiError>,
    /// Whether the service refused by a usage limit and did not answer since.
    pub limit_refused: bool,
}

/// An error of the service or of the way to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ApiError {
    /// HTTP status, where there was an HTTP answer.
    pub status: Option<u16>,
    /// The program's typed cause (`api_error`); most errors have none.
    pub cause: Option<String>,
    /// The service's own type (`api_error_type`).
    pub service_type: Option<String>,
    /// The program's coarse kind (`error`).
    pub kind: Option<String>,
}

/// The class of an end that was no success.
pub(super) fn fault(evidence: &Evidence) -> Fault {
    // Limits of turns and money, an interruption: the program ended itself, whatever the service did before.
    let ended_itself = evidence
        .subtype
        .as_deref()
        .is_some_and(|subtype| subtype.starts_with("error_"));
    if ended_itself && evidence.answer.status.is_none() {
        let budget = evidence.subtype.as_deref() == Some("error_max_budget_usd");
        return if budget { Fault::Budget } else { Fault::Crash };
    }
    if evidence.stop_reason.as_deref() == Some("refusal") {
        return Fault::Crash;
    }
    by_answer(&evidence.answer)
        .or_else(|| evidence.limit_refused.then_some(Fault::RateLimit))
        .or_else(|| {
            evidence
                .retried
                .as_ref()
                .map(|retry| by_answer(retry).unwrap_or(Fault::Network))
        })
        .unwrap_or(Fault::Crash)
}

/// The class of an API error; `None` where its fields say nothing.
fn by_answer(error: &ApiError) -> Option<Fault> {
    let typed = by_cause(error.cause.as_deref())
        .or_else(|| by_service_type(error.service_type.as_deref()))
        .or_else(|| by_kind(error.kind.as_deref()));
    match error.status {
        // A bad request is the agent's fault, unless it is typed as an account without credit or a model
        // that is not there: those no attempt can mend.
        Some(400) => typed
            .filter(|fault| matches!(fault, Fault::Auth | Fault::Config))
            .or(Some(Fault::Crash)),
        Some(status) => Fault::of_status(status).or(typed),
        None => typed,
    }
}

fn by_cause(cause: Option<&str>) -> Option<Fault> {
    Some(match cause? {
        "connection_failed" | "stream_idle_timeout" | "no_response" | "computer_slept" => {
            Fault::Network
        }
        "usage_limit_reached" => Fault::RateLimit,
        "provider_credentials"
        | "gateway_signin_required"
        | "gateway_session_expired"
        | "api_key_auth_disabled"
        | "org_disabled_credential"
        | "invalid_credential_header"
        | "stored_login_refused" => Fault::Auth,
        "tls_untrusted_ca" | "claude_code_version_too_old" | "network_edge_blocked" => {
            Fault::Config
        }
        "max_output_tokens" => Fault::Crash,
        // New causes are added over time; the coarser fields then speak.
        _ => return None,
    })
}

fn by_service_type(service_type: Option<&str>) -> Option<Fault> {
    Some(match service_type? {
        "authentication_error" | "permission_error" | "billing_error" => Fault::Auth,
        "not_found_error" => Fault::Config,
        "rate_limit_error" => Fault::RateLimit,
        "overloaded_error" | "api_error" => Fault::Overloaded,
        "timeout_error" => Fault::Network,
        // `invalid_request_error` is left to the coarse kind, which knows an account without credit.
        "request_too_large" => Fault::Crash,
        _ => return None,
    })
}

fn by_kind(kind: Option<&str>) -> Option<Fault> {
    Some(match kind? {
        "authentication_failed"
        | "oauth_org_not_allowed"
        | "account_on_hold"
        | "verification_required"
        | "billing_error"
        | "cloud_credential_error" => Fault::Auth,
        "model_not_found" => Fault::Config,
        "rate_limit" => Fault::RateLimit,
        "overloaded" => Fault::Overloaded,
        "invalid_request" | "max_output_tokens" => Fault::Crash,
        // Without a status no answer came: the request timed out on the way.
        "server_error" => Fault::Network,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: Option<u16>, cause: &str, service_type: &str, kind: &str) -> Evidence {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let answer = ApiError {
            status,
            cause: some(cause),
            service_type: some(service_type),
            kind: some(kind),
        };
        Evidence {
            subtype: Some("success".into()),
            answer,
            ..Evidence::default()
        }
    }

    #[test]
    fn classes_of_api_errors() {
        let cases = [
            (
                Some(400),
                "",
                "invalid_request_error",
                "unknown",
                Fault::Crash,
            ),
            (
                Some(400),
                "",
                "invalid_request_error",
                "billing_error",
                Fault::Auth,
            ),
            (Some(400), "max_output_tokens", "", "", Fault::Crash),
            (
                Some(401),
                "",
                "authentication_error",
                "authentication_failed",
                Fault::Auth,
            ),
            (Some(402), "", "billing_error", "billing_error", Fault::Auth),
            (
                Some(403),
                "",
                "permission_error",
                "invalid_request",
                Fault::Auth,
            ),
            (
                Some(404),
                "",
                "not_found_error",
                "model_not_found",
                Fault::Config,
            ),
            (Some(408), "", "", "server_error", Fault::Network),
            (
                Some(413),
                "",
                "request_too_large",
                "invalid_request",
                Fault::Crash,
            ),
            (Some(422), "", "", "", Fault::Crash),
            (
                Some(429),
                "",
                "rate_limit_error",
                "rate_limit",
                Fault::RateLimit,
            ),
            (
                Some(429),
                "",
                "billing_error",
                "billing_error",
                Fault::RateLimit,
            ),
            (
                Some(500),
                "",
                "api_error",
                "server_error",
                Fault::Overloaded,
            ),
            (Some(503), "", "", "", Fault::Overloaded),
            (
                Some(529),
                "",
                "overloaded_error",
                "unknown",
                Fault::Overloaded,
            ),
            (
                None,
                "connection_failed",
                "",
                "server_error",
                Fault::Network,
            ),
            (None, "stream_idle_timeout", "", "unknown", Fault::Network),
            (None, "", "", "server_error", Fault::Network),
            (None, "", "", "authentication_failed", Fault::Auth),
            (
                None,
                "usage_limit_reached",
                "",
                "rate_limit",
                Fault::RateLimit,
            ),
            (None, "tls_untrusted_ca", "", "server_error", Fault::Config),
            (
                None,
                "a_cause_of_tomorrow",
                "",
                "rate_limit",
                Fault::RateLimit,
            ),
            (None, "", "", "unknown", Fault::Crash),
            (Some(200), "", "", "", Fault::Crash),
            (None, "", "", "", Fault::Crash),
        ];
        for (status, cause, service_type, kind, expected) in cases {
            let evidence = answer(status, cause, service_type, kind);
            assert_eq!(fault(&evidence), expected, "{evidence:?}");
        }
    }

    #[test]
    fn an_untold_cause_is_read_from_the_last_retry_or_limit() {
        let untold = answer(None, "", "", "unknown");
        let lost = ApiError {
            kind: Some("unknown".into()),
            ..ApiError::default()
        };
        let busy = ApiError {
            status: Some(529),
            ..ApiError::default()
        };
        let after = |retry: &ApiError| Evidence {
            retried: Some(retry.clone()),
            ..untold.clone()
        };
        assert_eq!(fault(&after(&lost)), Fault::Network);
        assert_eq!(fault(&after(&busy)), Fault::Overloaded);
        let refused = Evidence {
            limit_refused: true,
            ..after(&busy)
        };
        assert_eq!(fault(&refused), Fault::RateLimit);
    }

    #[test]
    fn the_programs_own_ends_are_the_agents_fault() {
        let refusal = Evidence {
            stop_reason: Some("refusal".into()),
            limit_refused: true,
            ..answer(None, "", "", "server_error")
        };
        assert_eq!(fault(&refusal), Fault::Crash);
        for subtype in [
            "error_max_turns",
            "error_max_budget_usd",
            "error_during_execution",
        ] {
            let own = Evidence {
                subtype: Some(subtype.into()),
                ..refusal.clone()
            };
            let expected = match subtype {
                "error_max_budget_usd" => Fault::Budget,
                _ => Fault::Crash,
            };
            assert_eq!(fault(&own), expected, "{subtype}");
        }
    }
}
