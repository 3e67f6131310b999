//! The webhook: notices are posted as signed JSON, with a time limit, and retried where that may help.

use std::sync::OnceLock;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use ralph_core::decide::backoff;
use ralph_core::text::MASK;
use sha2::Sha256;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::http::header::RETRY_AFTER;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout, time};

use super::channels::{Cutoff, Delivery, Message};
use super::notice::safe_line;
use crate::settings::{Settings, shown_url};
use crate::workspace::{now, random};

/// The first wait; doubles each time.
const FIRST: Duration = Duration::from_millis(500);
/// The longest wait of our own choice.
const LONGEST: Duration = Duration::from_secs(10);
/// The longest wait that a server may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(60);

#[cfg_attr(test, derive(Debug))]
pub struct Webhook {
    url: String,
    secret: Option<String>,
    /// For one try; none for no limit.
    timeout: Option<Duration>,
    retries: u32,
    /// Made at the first post: reading the machine's certificates takes a moment.
    client: OnceLock<ureq::Agent>,
}

impl Webhook {
    pub fn of(settings: &Settings) -> Option<Self> {
        let notify = &settings.notify;
        let secret = notify.webhook_secret.as_ref();
        Some(Self {
            url: notify.webhook.as_ref()?.0.clone(),
            secret: secret.map(|secret| secret.0.clone()),
            timeout: Some(*notify.webhook_timeout).filter(|time| !time.is_zero()),
            retries: *notify.webhook_retries,
            client: OnceLock::new(),
        })
    }

    fn client(&self) -> &ureq::Agent {
        self.client.get_or_init(|| {
            let mut config = ureq::Agent::config_builder()
                .timeout_global(self.timeout)
                .http_status_as_error(false)
                // Where a signed notice goes is for the settings to say, not for a server.
                .max_redirects(0)
                .user_agent(concat!("ralph/", env!("CARGO_PKG_VERSION")));
            if self.url.starts_with("https") {
                let tls = TlsConfig::builder().root_certs(roots()).build();
                config = config.tls_config(tls);
            }
            let connector = DefaultConnector::default();
            ureq::Agent::with_parts(config.build(), connector, InlineResolver)
        })
    }

    fn post(&self, message: &Message) -> Answer {
        let timestamp = now().as_millis().div_euclid(1000);
        let mut request = self
            .client()
            .post(&self.url)
            .header("content-type", "application/json")
            .header("x-ralph-event", message.notice.occasion.as_str())
            .header("x-ralph-delivery", &message.delivery)
            .header("x-ralph-timestamp", timestamp.to_string());
        if let Some(secret) = &self.secret {
            let signature = signature(secret, timestamp, &message.json);
            request = request.header("x-ralph-signature", signature);
        }
        match request.send(&message.json) {
            Ok(response) => {
                let header = response.headers().get(RETRY_AFTER);
                let after = header.and_then(|text| retry_after(text.to_str().ok()?));
                Answer::of_status(response.status().as_u16(), after)
            }
            Err(error) => self.unanswered(&error),
        }
    }

    fn unanswered(&self, error: &ureq::Error) -> Answer {
        use ureq::Error;
        let why = match error {
            Error::Timeout(_) => {
                let within = self.timeout.map(|timeout| format!(" in {timeout:?}"));
                format!("no response{}", within.unwrap_or_default())
            }
            Error::HostNotFound => "host not found".to_owned(),
            Error::BadUri(_) | Error::Http(_) => "not a valid http or https URL".to_owned(),
            Error::Io(error) => self.masked(&error.to_string()),
            error => self.masked(&error.to_string()),
        };
        match error {
            // What TLS does not like, it will not like the next time either.
            Error::Tls(_) | Error::Rustls(_) | Error::TlsRequired => Answer::Refused(why),
            Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => Answer::Refused(why),
            Error::BadUri(_) | Error::Http(_) => Answer::Refused(why),
            _ => Answer::Retry { why, after: None },
        }
    }

    /// A library's words without what is secret in the settings.
    fn masked(&self, text: &str) -> String {
        let mut text = text.replace(&self.url, &self.target());
        if let Some(secret) = &self.secret {
            text = text.replace(secret, MASK);
        }
        safe_line(&text, 200)
    }

    /// Where it posts to, without anything secret.
    pub fn target(&self) -> String {
        shown_url(&self.url)
    }

    pub fn send(&self, message: &Message, cutoff: &Cutoff) -> Result<Delivery, String> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let why = match self.post(message) {
                Answer::Delivered => return Ok(Delivery::Sent),
                Answer::Refused(why) => why,
                Answer::Retry { why, after } => {
                    if attempts <= self.retries {
                        let jitter = (random() >> 11) as f64 / (1_u64 << 53) as f64;
                        cutoff.wait(pause(attempts, after, jitter));
                        if !cutoff.is_over() {
                            continue;
                        }
                    }
                    why
                }
            };
            return Err(match attempts {
                1 => why,
                _ => format!("{why} (after {attempts} attempts)"),
            });
        }
    }
}

/// Whether a text is an address that can be posted to.
pub fn is_url(text: &str) -> bool {
    text.parse::<Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|host| !host.is_empty())
    })
}

/// The certificates this machine trusts; Mozilla's, where it has none.
fn roots() -> RootCerts {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        return RootCerts::WebPki;
    }
    let certificate = |der| Certificate::from_der(der).to_owned();
    let certificates = found.certs.iter().map(|der| certificate(der.as_ref()));
    RootCerts::from(certificates)
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Delivered,
    /// The next request may succeed. `after` is the wait that the server asks for.
    Retry {
        why: String,
        after: Option<Duration>,
    },
    /// The next request would fail too.
    Refused(String),
}

impl Answer {
    fn of_status(code: u16, after: Option<Duration>) -> Self {
        let why = format!("HTTP {code}");
        match code {
            200..=299 => Self::Delivered,
            300..=399 => Self::Refused(format!("{why} (redirects are not followed)")),
            408 | 429 | 500..=599 => Self::Retry { why, after },
            _ => Self::Refused(why),
        }
    }
}

/// The wait after so many requests. `jitter` is a random number in 0..1.
fn pause(attempts: u32, asked: Option<Duration>, jitter: f64) -> Duration {
    let own = backoff(FIRST, attempts, LONGEST, jitter);
    own.max(asked.unwrap_or_default().min(LONGEST_ASKED))
}

/// The seconds that a `Retry-After` asks for; a date is not read.
fn retry_after(header: &str) -> Option<Duration> {
    header.trim().parse().ok().map(Duration::from_secs)
}

/// `sha256=` and the HMAC-SHA256 of `TIMESTAMP.BODY` in hex.
fn signature(secret: &str, timestamp: i64, body: &str) -> String {
    format!("sha256={}", hmac_sha256(secret.as_bytes(), format!("{timestamp}.{body}").as_bytes()))
}

fn hmac_sha256(key: &[u8], text: &[u8]) -> String {
    // A key of any length will do.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return String::new() };
    mac.update(text);
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Looks names up on the channel's own thread, within the system's limits: ureq's own resolver starts another thread for a
/// time limit, and panics where it cannot.
#[derive(Debug)]
struct InlineResolver;

impl Resolver for InlineResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let unlimited = NextTimeout { after: time::Duration::NotHappening, ..timeout };
        DefaultResolver::default().resolve(uri, config, unlimited)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn webhook() -> Webhook {
        Webhook {
            url: "https://me:pass@hooks.example/services/T0/B0?key=abc".into(),
            secret: Some("hush-hush".into()),
            timeout: Some(Duration::from_secs(2)),
            retries: 1,
            client: OnceLock::new(),
        }
    }

    #[test]
    fn neither_the_secret_nor_the_path_is_ever_told() {
        let webhook = webhook();
        assert_eq!(webhook.target(), "https://hooks.example/…");
        let said = webhook.masked(&format!("bad {} with hush-hush", webhook.url));
        assert_eq!(said, "bad https://hooks.example/… with [masked]");
        let error = ureq::Error::BadUri(webhook.url.clone());
        let Answer::Refused(said) = webhook.unanswered(&error) else {
            panic!("tried again");
        };
        assert_eq!(said, "not a valid http or https URL");
    }

    #[test]
    fn a_time_limit_of_zero_is_none() {
        let of = |timeout: &str| {
            let environment = [
                ("RALPH_SET_NOTIFY_WEBHOOK", "http://hooks.example"),
                ("RALPH_SET_NOTIFY_WEBHOOK_TIMEOUT", timeout),
            ];
            let environment = environment.map(|(name, value)| (name.into(), value.into()));
            let nowhere = std::path::Path::new("/does/not/exist");
            let settings = Settings::load(nowhere, environment.into_iter()).unwrap();
            Webhook::of(&settings).unwrap()
        };
        assert_eq!(of("2s").timeout, Some(Duration::from_secs(2)));
        assert_eq!(of("0").timeout, None);
    }

    /// RFC 4231, test cases 2 and 6: a short key, and one longer than a block.
    #[test]
    fn it_is_hmac_sha256() {
        assert_eq!(
            hmac_sha256(b"Jefe", b"what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        let text = b"Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(
            hmac_sha256(&[0xaa; 131], text),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn time_and_body_are_signed_together() {
        let signed = signature("secret", 1_700_000_000, "{}");
        // docs/notifications.md shows this one.
        let expected = "sha256=b8569b78799ff9e3cbff0fc2d63a33a2b57f3282abd07c37ae5e8e7d79a5f163";
        assert_eq!(signed, expected);
        assert_ne!(signed, signature("secret", 1_700_000_001, "{}"));
        assert_ne!(signed, signature("secret", 1_700_000_000, "{ }"));
        assert_ne!(signed, signature("Secret", 1_700_000_000, "{}"));
    }

    #[test]
    fn what_may_fix_itself_is_tried_again_with_doubling_waits() {
        for code in [408, 429, 500, 503] {
            let why = format!("HTTP {code}");
            assert_eq!(Answer::of_status(code, None), Answer::Retry { why, after: None });
        }
        for (attempts, millis) in [(1, 500), (2, 1000), (3, 2000)] {
            assert_eq!(pause(attempts, None, 0.5), Duration::from_millis(millis));
        }
        assert_eq!(pause(1, None, 0.0), Duration::from_millis(250));
        assert_eq!(pause(1, None, 1.0), Duration::from_millis(750));
    }

    #[test]
    fn what_will_not_fix_itself_is_given_up() {
        for code in [301, 302, 307, 308, 400, 401, 403, 404, 410, 413, 422, 600, 100] {
            assert!(matches!(Answer::of_status(code, None), Answer::Refused(_)), "{code}");
        }
        assert_eq!(Answer::of_status(400, None), Answer::Refused("HTTP 400".into()));
        let redirected = Answer::Refused("HTTP 302 (redirects are not followed)".into());
        assert_eq!(Answer::of_status(302, None), redirected);
        for code in [200, 201, 202, 204] {
            assert_eq!(Answer::of_status(code, None), Answer::Delivered, "{code}");
        }
    }

    #[test]
    fn a_server_may_ask_for_more_time_but_not_for_any() {
        for (asked, millis) in [(7, 7000), (0, 500), (86_400, 60_000)] {
            let asked = Some(Duration::from_secs(asked));
            assert_eq!(pause(1, asked, 0.5), Duration::from_millis(millis));
        }
        assert_eq!(retry_after(" 12 "), Some(Duration::from_secs(12)));
        assert_eq!(retry_after("-1"), None);
        assert_eq!(retry_after("Wed, 21 Oct 2026 07:28:00 GMT"), None);
    }

    proptest! {
        #[test]
        fn no_wait_is_longer_than_a_minute(attempts in 1_u32.., secs in any::<u64>(), jitter in 0.0..1.0) {
            prop_assert!(pause(attempts, Some(Duration::from_secs(secs)), jitter) <= LONGEST_ASKED);
        }
    }
}
