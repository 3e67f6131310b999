//! The webhook: notices are posted as signed JSON, with a time limit, and retried where that may help.

use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
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

use super::channels::{Channel, Cutoff, Delivery, Message};
use super::notice::safe_line;
use crate::settings::{Settings, shown_url};
use crate::workspace::{now, random};

/// The first wait; doubles each time.
const FIRST: Duration = Duration::from_millis(500);
/// The longest wait of our own choice.
const LONGEST: Duration = Duration::from_secs(10);
/// The longest wait that a server may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(60);

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
    /// The webhook of the settings, if there is one.
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
            ureq::Agent::with_parts(config.build(), connector, ThreadedResolver)
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
                Answer::Status {
                    code: response.status().as_u16(),
                    retry_after: header.and_then(|text| retry_after(text.to_str().ok()?)),
                }
            }
            Err(error) => self.unanswered(&error),
        }
    }

    fn unanswered(&self, error: &ureq::Error) -> Answer {
        match error {
            ureq::Error::Timeout(_) => {
                let within = self.timeout.map(|timeout| format!(" in {timeout:?}"));
                Answer::None(format!("no response{}", within.unwrap_or_default()))
            }
            ureq::Error::HostNotFound => Answer::None("host not found".to_owned()),
            // What TLS does not like, it will not like the next time either.
            ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                Answer::Impossible(self.masked(&error.to_string()))
            }
            ureq::Error::Io(error) => Answer::None(self.masked(&error.to_string())),
            ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
                Answer::Impossible("not a valid http or https URL".to_owned())
            }
            ureq::Error::Tls(_) | ureq::Error::Rustls(_) | ureq::Error::TlsRequired => {
                Answer::Impossible(self.masked(&error.to_string()))
            }
            error => Answer::None(self.masked(&error.to_string())),
        }
    }

    /// A library's words without what is secret in the settings.
    fn masked(&self, text: &str) -> String {
        let mut text = text.replace(&self.url, &shown_url(&self.url));
        if let Some(secret) = &self.secret {
            text = text.replace(secret, MASK);
        }
        safe_line(&text, 200)
    }
}

impl Channel for Webhook {
    fn name(&self) -> &'static str {
        "webhook"
    }

    fn target(&self) -> Option<String> {
        Some(shown_url(&self.url))
    }

    fn send(&self, message: &Message, cutoff: &Cutoff) -> Result<Delivery, String> {
        let mut tries = 0;
        loop {
            tries += 1;
            let answer = self.post(message);
            let jitter = (random() >> 11) as f64 / (1_u64 << 53) as f64;
            match next_step(tries, self.retries, &answer, jitter) {
                Next::Delivered => return Ok(Delivery::Sent),
                Next::Wait(duration) => cutoff.wait(duration),
                Next::GiveUp => return Err(told(&answer, tries)),
            }
            if cutoff.is_over() {
                return Err(told(&answer, tries));
            }
        }
    }
}

fn told(answer: &Answer, tries: u32) -> String {
    let why = match answer {
        Answer::Status { code, .. } if (300..400).contains(code) => {
            format!("HTTP {code} (redirects are not followed)")
        }
        Answer::Status { code, .. } => format!("HTTP {code}"),
        Answer::None(why) | Answer::Impossible(why) => why.clone(),
    };
    match tries {
        1 => why,
        _ => format!("{why} (after {tries} attempts)"),
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
    Status {
        code: u16,
        /// And asked for so much time.
        retry_after: Option<Duration>,
    },
    /// No answer came, for this reason; one may come the next time.
    None(String),
    /// It cannot be posted at all.
    Impossible(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Nothing: the notice was taken.
    Delivered,
    /// Another try after a wait.
    Wait(Duration),
    /// Nothing: it would not help, or was tried often enough.
    GiveUp,
}

/// What follows from the answer to a try, counted from 1. `jitter` is a random number in 0..1.
fn next_step(tries: u32, retries: u32, answer: &Answer, jitter: f64) -> Next {
    let asked = match answer {
        Answer::Status { code: 200..=299, .. } => return Next::Delivered,
        Answer::Status { code: 408 | 429 | 500..=599, retry_after } => *retry_after,
        Answer::None(_) => None,
        Answer::Status { .. } | Answer::Impossible(_) => return Next::GiveUp,
    };
    if tries > retries {
        return Next::GiveUp;
    }
    let own = backoff(FIRST, tries, LONGEST, jitter);
    Next::Wait(own.max(asked.unwrap_or_default().min(LONGEST_ASKED)))
}

/// The seconds that a `Retry-After` asks for; a date is not read.
fn retry_after(header: &str) -> Option<Duration> {
    header.trim().parse().ok().map(Duration::from_secs)
}

/// `sha256=` and the HMAC-SHA256 of `TIMESTAMP.BODY` in hex.
fn signature(secret: &str, timestamp: i64, body: &str) -> String {
    let hex = hmac_sha256(secret.as_bytes(), &[timestamp.to_string().as_bytes(), b".", body.as_bytes()]);
    format!("sha256={hex}")
}

fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> String {
    // A key of any length will do.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return String::new();
    };
    for part in parts {
        mac.update(part);
    }
    let bytes = mac.finalize().into_bytes();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Does what ureq's own resolver does, which panics without a thread.
#[derive(Debug)]
struct ThreadedResolver;

impl Resolver for ThreadedResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let (sender, found) = sync_channel(1);
        let (uri, config) = (uri.clone(), config.clone());
        // Without a limit of its own the lookup starts no thread.
        let unlimited = NextTimeout { after: time::Duration::NotHappening, ..timeout };
        let look_up = move || {
            let answer = DefaultResolver::default().resolve(&uri, &config, unlimited);
            // Nobody waits any more when the time is over.
            let _ = sender.send(answer);
        };
        std::thread::Builder::new().spawn(look_up)?;
        match found.recv_timeout(*timeout.after) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => Err(ureq::Error::Timeout(timeout.reason)),
            Err(RecvTimeoutError::Disconnected) => Err(ureq::Error::HostNotFound),
        }
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
        assert_eq!(webhook.target().unwrap(), "https://hooks.example/…");
        let said = webhook.masked(&format!("bad {} with hush-hush", webhook.url));
        assert_eq!(said, "bad https://hooks.example/… with [masked]");
        let error = ureq::Error::BadUri(webhook.url.clone());
        let Answer::Impossible(said) = webhook.unanswered(&error) else {
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

    #[test]
    fn a_failure_says_what_came_and_how_often_it_was_tried() {
        let status = |code| Answer::Status { code, retry_after: None };
        assert_eq!(told(&status(400), 1), "HTTP 400");
        assert_eq!(told(&status(503), 4), "HTTP 503 (after 4 attempts)");
        assert_eq!(told(&status(302), 1), "HTTP 302 (redirects are not followed)");
    }

    /// RFC 4231, test cases 2 and 6: a short key, and one longer than a block.
    #[test]
    fn it_is_hmac_sha256() {
        assert_eq!(
            hmac_sha256(b"Jefe", &[b"what do ya want ", b"for nothing?"]),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        let text = b"Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(
            hmac_sha256(&[0xaa; 131], &[text]),
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

    fn status(code: u16) -> Answer {
        Answer::Status { code, retry_after: None }
    }

    fn wait(millis: u64) -> Next {
        Next::Wait(Duration::from_millis(millis))
    }

    #[test]
    fn what_may_mend_itself_is_tried_again_with_doubling_waits() {
        for answer in [status(408), status(429), status(500), status(503), Answer::None("refused".into())] {
            assert_eq!(next_step(1, 3, &answer, 0.5), wait(500), "{answer:?}");
            assert_eq!(next_step(2, 3, &answer, 0.5), wait(1000), "{answer:?}");
            assert_eq!(next_step(3, 3, &answer, 0.5), wait(2000), "{answer:?}");
            assert_eq!(next_step(4, 3, &answer, 0.5), Next::GiveUp, "{answer:?}");
            assert_eq!(next_step(1, 0, &answer, 0.5), Next::GiveUp, "{answer:?}");
        }
        assert_eq!(next_step(1, 3, &status(500), 0.0), wait(250));
        assert_eq!(next_step(1, 3, &status(500), 1.0), wait(750));
    }

    #[test]
    fn what_will_not_mend_itself_is_given_up() {
        for code in [301, 302, 307, 308, 400, 401, 403, 404, 410, 413, 422, 600, 100] {
            assert_eq!(next_step(1, 3, &status(code), 0.5), Next::GiveUp, "{code}");
        }
        let impossible = Answer::Impossible("no URL".into());
        assert_eq!(next_step(1, 3, &impossible, 0.5), Next::GiveUp);
        for code in [200, 201, 202, 204] {
            assert_eq!(next_step(1, 3, &status(code), 0.5), Next::Delivered, "{code}");
        }
    }

    #[test]
    fn a_server_may_ask_for_more_time_but_not_for_any() {
        let answer = |secs| Answer::Status { code: 429, retry_after: Some(Duration::from_secs(secs)) };
        assert_eq!(next_step(1, 3, &answer(7), 0.5), wait(7000));
        assert_eq!(next_step(1, 3, &answer(0), 0.5), wait(500));
        assert_eq!(next_step(1, 3, &answer(86_400), 0.5), wait(60_000));
        assert_eq!(next_step(4, 3, &answer(7), 0.5), Next::GiveUp);
        assert_eq!(retry_after(" 12 "), Some(Duration::from_secs(12)));
        assert_eq!(retry_after("-1"), None);
        assert_eq!(retry_after("Wed, 21 Oct 2026 07:28:00 GMT"), None);
    }

    proptest! {
        #[test]
        fn no_wait_is_longer_than_a_minute(
            tries in any::<u32>(), retries in any::<u32>(), code in any::<u16>(), secs in any::<u64>(), jitter in 0.0..1.0
        ) {
            let answer = Answer::Status { code, retry_after: Some(Duration::from_secs(secs)) };
            if let Next::Wait(wait) = next_step(tries, retries, &answer, jitter) {
                prop_assert!(tries <= retries);
                prop_assert!(wait <= LONGEST_ASKED);
            }
        }
    }
}
