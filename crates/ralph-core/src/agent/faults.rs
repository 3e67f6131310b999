//! Why sessions fail: one table for all agents, from HTTP statuses, typed errors and the programs' own sentences, and
//! never from what a model said.
//!
//! Each program tells of an error in its own way; what it tells is looked up here:
//!
//! | program | where it tells | what is looked up |
//! |---|---|---|
//! | Claude Code | `result`, `api_retry`, a message that stands for an answer | status, then `api_error`, `api_error_type`, `error` |
//! | Codex | `turn.failed`, `error`: nothing but a message | the status in it, then [`SENTENCES`] by their beginning |
//! | Gemini CLI | `result.error.message`, `[API Error: …]` | reasons and status in it, the exit code, then [`NETWORK`] |
//! | OpenCode | `error` | its name, the status, then the service's own type, code or reason in the body |

use crate::text::Pattern;

/// Why an agent session did not end normally, read from structured events only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    RateLimit,
    /// The service is overloaded or broken (5xx, 529).
    Overloaded,
    /// Connection refused, cut or timed out.
    Network,
    /// No credentials, or refused ones (401, 403), or an account without credit.
    Auth,
    Spawn,
    /// Tools were denied that the task needed.
    Permission,
    /// The service does not know what was asked for (404: a model's name), or the program rejects its settings.
    Config,
    /// It reached the amount of money it was allowed to spend.
    Budget,
    /// The agent's own fault: bad request, refusal, turn limit, an unexplained exit.
    Crash,
}

/// Typed errors of the programs and of the services behind them, in lower case.
const TYPES: [(Fault, &str); 6] = [
    (
        Fault::RateLimit,
        "usage_limit_reached rate_limit rate_limit_error rate_limit_exceeded too_many_requests \
         resource_exhausted terminalquotaerror retryablequotaerror",
    ),
    (
        Fault::Overloaded,
        "overloaded overloaded_error api_error server_error server_is_overloaded internal_server_error \
         internal service_unavailable unavailable",
    ),
    (
        Fault::Network,
        "connection_failed stream_idle_timeout no_response computer_slept timeout_error deadline_exceeded",
    ),
    (
        Fault::Auth,
        "authentication_error authentication_failed permission_error permission_denied unauthenticated \
         billing_error insufficient_quota usage_not_included invalid_api_key api_key_invalid \
         api_key_expired access_token_expired provider_credentials gateway_signin_required \
         gateway_session_expired api_key_auth_disabled org_disabled_credential invalid_credential_header \
         stored_login_refused oauth_org_not_allowed account_on_hold verification_required \
         cloud_credential_error providerautherror fatalauthenticationerror unauthorizederror \
         forbiddenerror accountsuspendederror validationrequirederror",
    ),
    (
        Fault::Config,
        "not_found not_found_error model_not_found tls_untrusted_ca claude_code_version_too_old \
         network_edge_blocked fatalconfigerror fatalsandboxerror modelnotfounderror",
    ),
    (
        Fault::Crash,
        "invalid_request max_output_tokens request_too_large context_length_exceeded invalid_prompt \
         messageoutputlengtherror contextoverflowerror contentfiltererror structuredoutputerror \
         messageabortederror",
    ),
];

/// Codex's sentences by their beginning; the first that fits counts. Seen with the tested version, always in `error` and
/// again in `turn.failed`:
///
/// | the service | the message |
/// |---|---|
/// | 401, 403, 404, 413, 502, 529, … | `unexpected status 401 Unauthorized: TEXT, url: URL` |
/// | 429 | `exceeded retry limit, last status: 429 Too Many Requests`; a `retry-after` is not told |
/// | 429 `usage_limit_reached` | `You’ve hit your usage limit. … try again at 9:17 AM.`, or `… later.` |
/// | 429 `insufficient_quota` | `Quota exceeded. …` |
/// | `rate_limit_exceeded` in the stream | `rate limit exceeded: TEXT` |
/// | 500 | `We’re currently experiencing high demand, …` |
/// | overloaded, as 503 or in the stream | `Selected model is at capacity. …` |
/// | 400 | its answer as it came, usually JSON |
/// | 400 or 404 `model_not_found` | the service's text alone |
/// | a stream that was cut, or silent for too long | `stream disconnected before completion: TEXT` |
/// | no connection | `Connection failed: TEXT` |
/// | no key | ``Missing environment variable: `NAME`.``, else the 401 of the service |
const SENTENCES: &[(&str, Fault)] = &[
    ("You've hit your usage limit", Fault::RateLimit),
    ("rate limit exceeded: ", Fault::RateLimit),
    ("Missing environment variable: ", Fault::Auth),
    ("Your access token could not be refreshed", Fault::Auth),
    ("Your authentication session could not be", Fault::Auth),
    ("Access blocked by Cloudflare", Fault::Auth),
    // No attempt and no wait fixes these: somebody must pay, or ask somebody to.
    ("Quota exceeded. ", Fault::Auth),
    ("To use Codex with your ChatGPT plan, ", Fault::Auth),
    ("Your workspace is out of credits. ", Fault::Auth),
    ("You hit your spend cap ", Fault::Auth),
    ("We're currently experiencing high demand", Fault::Overloaded),
    ("Selected model is at capacity", Fault::Overloaded),
    ("Policy-restricted capacity is unavail", Fault::Overloaded),
    ("Flex capacity unavailable", Fault::Overloaded),
    ("stream disconnected before completion: Incomplete response", Fault::Crash),
    ("stream disconnected before completion", Fault::Network),
    ("Connection failed: ", Fault::Network),
    ("Error while reading the server response", Fault::Network),
    ("error sending request", Fault::Network),
    ("request timed out", Fault::Network),
    ("Incomplete response returned", Fault::Crash),
    ("Codex ran out of room in the model's", Fault::Crash),
    ("Image poisoning", Fault::Crash),
];

/// What the HTTP client of Gemini CLI and its SDK say of a connection that was refused, cut or timed out.
static NETWORK: Pattern = Pattern::new(concat!(
    "ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|UND_ERR_|Timeout Error|socket hang up",
    "|other side closed|Premature close|^exception (?:.* )?sending request$",
    "|^(?:terminated|fetch failed|Incomplete JSON segment at the end)$"
));

impl Fault {
    /// The class of an HTTP status that came in place of an answer.
    pub(super) fn of_status(status: u16) -> Option<Self> {
        match status {
            401..=403 => Some(Self::Auth),
            404 => Some(Self::Config),
            408 => Some(Self::Network),
            429 => Some(Self::RateLimit),
            500..=599 => Some(Self::Overloaded),
            400 | 405..=499 => Some(Self::Crash),
            _ => None,
        }
    }

    /// The class of a typed error. New types are added over time; other fields then decide.
    pub(super) fn of_type(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let is_one = |names: &str| names.split(' ').any(|known| known == name);
        let known = TYPES.iter().find(|(_, names)| is_one(names));
        known.map(|(fault, _)| *fault)
    }

    /// The class of the first of some typed errors that has one, the most telling first.
    pub(super) fn of_types<'n>(names: impl IntoIterator<Item = &'n String>) -> Option<Self> {
        names.into_iter().find_map(|name| Self::of_type(name))
    }

    /// The class of an answer with this status, if there was one, and a typed error in it.
    pub(super) fn of_answer(status: Option<u16>, typed: Option<Self>) -> Option<Self> {
        match status {
            // A bad request is the agent's fault, unless it is typed as a refused key, an account without credit or a
            // model that is not there: those no attempt can fix.
            Some(400) => {
                typed.filter(|fault| matches!(fault, Self::Auth | Self::Config)).or(Some(Self::Crash))
            }
            Some(status) => Self::of_status(status).or(typed),
            None => typed,
        }
    }

    /// The class of a sentence of Codex's own, which has used both kinds of apostrophes.
    pub(super) fn of_sentence(message: &str) -> Option<Self> {
        let message = message.replace('\u{2019}', "'");
        let known = SENTENCES.iter().find(|(start, _)| message.starts_with(start));
        known.map(|(_, fault)| *fault)
    }

    /// The class of what an HTTP client says where no answer came.
    pub(super) fn of_client_error(message: &str) -> Option<Self> {
        NETWORK.is_match(message).then_some(Self::Network)
    }
}
