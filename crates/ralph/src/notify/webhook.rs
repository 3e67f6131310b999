//! The webhook: notices are posted as JSON, signed, with a time limit, again where that may help.

use std::sync::OnceLock;
use std::time::Duration;

use ralph_core::text::MASK;
use ureq::http::header::RETRY_AFTER;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::transport::DefaultConnector;

use super::resolver::ThreadedResolver;
use super::retry::{self, Answer, Next};
use super::sender::{Cutoff, Delivery, Parcel, Sender};
use super::signature::signature;
use super::tame;
use crate::settings::{Settings, shown_url};
use crate::workspace::{now, random};

/// Posts to a URL.
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
        let timeout = settings.duration("notify", "webhook_timeout");
        Some(Self {
            url: settings.text("notify", "webhook")?.to_owned(),
            secret: settings.text("notify", "webhook_secret").map(str::to_owned),
            timeout: timeout.filter(|time| !time.is_zero()),
            retries: settings.count("notify", "webhook_retries").unwrap_or(3),
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

    fn post(&self, parcel: &Parcel) -> Answer {
        let timestamp = now().as_millis().div_euclid(1000);
        let mut request = self
            .client()
            .post(&self.url)
            .header("content-type", "application/json")
            .header("x-ralph-event", parcel.notice.occasion.as_str())
            .header("x-ralph-delivery", &parcel.delivery)
            .header("x-ralph-timestamp", timestamp.to_string());
        if let Some(secret) = &self.secret {
            let signature = signature(secret, timestamp, &parcel.json);
            request = request.header("x-ralph-signature", signature);
        }
        match request.send(&parcel.json) {
            Ok(response) => {
                let header = response.headers().get(RETRY_AFTER);
                Answer::Status {
                    code: response.status().as_u16(),
                    retry_after: header.and_then(|text| retry::asked(text.to_str().ok()?)),
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
        tame::line(&text, 200)
    }
}

impl Sender for Webhook {
    fn name(&self) -> &'static str {
        "webhook"
    }

    fn target(&self) -> Option<String> {
        Some(shown_url(&self.url))
    }

    fn patience(&self) -> Duration {
        retry::longest(self.retries, self.timeout.unwrap_or(Duration::MAX))
    }

    fn send(&self, parcel: &Parcel, cutoff: &Cutoff) -> Result<Delivery, String> {
        let mut tries = 0;
        loop {
            tries += 1;
            let answer = self.post(parcel);
            let jitter = (random() >> 11) as f64 / (1_u64 << 53) as f64;
            match retry::after(tries, self.retries, &answer, jitter) {
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
    text.parse::<ureq::http::Uri>().is_ok_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
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

#[cfg(test)]
mod tests {
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
        assert_eq!(of("0").patience(), Duration::MAX);
    }

    #[test]
    fn a_failure_says_what_came_and_how_often_it_was_tried() {
        let status = |code| Answer::Status {
            code,
            retry_after: None,
        };
        assert_eq!(told(&status(400), 1), "HTTP 400");
        assert_eq!(told(&status(503), 4), "HTTP 503 (after 4 attempts)");
        assert_eq!(
            told(&status(302), 1),
            "HTTP 302 (redirects are not followed)"
        );
    }
}
