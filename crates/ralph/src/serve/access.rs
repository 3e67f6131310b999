//! Who may read and change what: names of the host, the token of the link, the cookie, and the key that changes need.

use std::net::{IpAddr, SocketAddr};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::http::Request;
use crate::command_error::CommandError;

/// Whether the dashboard may change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    Allowed,
    Off,
}

pub struct Access {
    /// Where it listens.
    address: SocketAddr,
    /// The name that was given for the address, if it was no number.
    name: Option<String>,
    /// In the link that is printed; worth a cookie and a key.
    token: String,
    /// In the cookie. Browsers send cookies to every port of a host, so that it is enough to read and never to change anything.
    session: String,
    /// In the header of changes; only scripts of the page's own origin, port included, know it.
    key: String,
    pub changes: Changes,
}

/// Why a request is not answered: the status, and a sentence.
pub type Refusal = (u16, &'static str);

const LINK: &str = "open the link that `ralph serve` printed: this page belongs to another start of it";

impl Access {
    /// With secrets of its own: what was valid before a restart is not any more.
    pub fn new(address: SocketAddr, name: Option<String>, changes: Changes) -> Result<Self, CommandError> {
        let (token, session, key) = (secret()?, secret()?, secret()?);
        let name = name.map(|name| name.to_ascii_lowercase());
        Ok(Self { address, name, token, session, key, changes })
    }

    /// What a browser opens. The fragment is sent to nobody.
    pub fn link(&self) -> String {
        let host = match (&self.name, self.address.ip()) {
            (Some(name), _) => name.clone(),
            (None, IpAddr::V6(ip)) if ip.is_unspecified() => "[::1]".to_owned(),
            (None, IpAddr::V6(ip)) => format!("[{ip}]"),
            (None, ip) if ip.is_unspecified() => "127.0.0.1".to_owned(),
            (None, ip) => ip.to_string(),
        };
        format!("http://{host}:{}/#token={}", self.address.port(), self.token)
    }

    /// Refuses names that are not this server's: a foreign page whose name was made to lead here sends its own.
    pub fn check_host(&self, request: &Request) -> Result<(), Refusal> {
        let port = self.address.port();
        let (host, has_port) = match request.host.strip_suffix(&format!(":{port}")) {
            Some(host) => (host, true),
            None => (request.host.as_str(), false),
        };
        match (has_port || port == 80) && self.is_own(host) {
            true => Ok(()),
            false => Err((403, "this is not a name of this server")),
        }
    }

    fn is_own(&self, host: &str) -> bool {
        if self.name.as_deref() == Some(host) {
            return true;
        }
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let own = self.address.ip();
        match bare.parse::<IpAddr>() {
            // Numbers cannot be made to lead elsewhere.
            Ok(ip) => ip == own || own.is_unspecified(),
            Err(_) => bare == "localhost" && (own.is_loopback() || own.is_unspecified()),
        }
    }

    /// The name of the cookie: one for each port, since browsers do not tell ports apart.
    fn cookie_name(&self) -> String {
        format!("ralph_{}", self.address.port())
    }

    pub fn check_cookie(&self, request: &Request) -> Result<(), Refusal> {
        let name = self.cookie_name();
        let cookies = request.cookie.as_deref().unwrap_or_default().split(';');
        let mut cookies = cookies.filter_map(|one| one.trim().split_once('='));
        match cookies.any(|(its_name, value)| its_name == name && is_same(value, &self.session)) {
            true => Ok(()),
            false => Err((401, LINK)),
        }
    }

    /// Only the page itself sends its own origin.
    pub fn check_origin(&self, request: &Request) -> Result<(), Refusal> {
        let expected = format!("http://{}", request.host);
        match request.origin.as_deref() == Some(&expected) {
            true => Ok(()),
            false => Err((403, "this request does not come from the dashboard")),
        }
    }

    pub fn check_change(&self, request: &Request) -> Result<(), Refusal> {
        self.check_origin(request)?;
        if !request.key.as_deref().is_some_and(|key| is_same(key, &self.key)) {
            return Err((403, LINK));
        }
        match self.changes {
            Changes::Allowed => Ok(()),
            Changes::Off => {
                Err((403, "actions are off; start `ralph serve` with --allow-actions to have them"))
            }
        }
    }

    /// The cookie, as a header line, and the key, for the token of the link.
    pub fn exchange(&self, token: &str) -> Result<(String, &str), Refusal> {
        if !is_same(token, &self.token) {
            return Err((401, LINK));
        }
        let (name, session) = (self.cookie_name(), &self.session);
        Ok((format!("Set-Cookie: {name}={session}; Path=/; HttpOnly; SameSite=Strict\r\n"), &self.key))
    }
}

/// Compares in a time that tells nothing about where two secrets differ.
fn is_same(one: &str, other: &str) -> bool {
    let different = one.bytes().zip(other.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    std::hint::black_box(different) == 0 && one.len() == other.len()
}

fn secret() -> Result<String, CommandError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        CommandError::environment(format_args!("the system gives no random numbers: {error}"))
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::super::http::Method;
    use super::*;

    fn access(address: &str, name: Option<&str>) -> Access {
        Access::new(address.parse().unwrap(), name.map(str::to_owned), Changes::Allowed).unwrap()
    }

    fn request(host: &str) -> Request {
        Request {
            method: Method::Post,
            path: "/".to_owned(),
            query: None,
            host: host.to_owned(),
            origin: None,
            cookie: None,
            key: None,
            body: Vec::new(),
        }
    }

    #[test]
    fn only_the_servers_own_names_are_answered() {
        for (address, name, host, is_own) in [
            ("127.0.0.1:80", None, "127.0.0.1", true),
            ("127.0.0.1:81", None, "127.0.0.1", false),
            ("127.0.0.1:81", None, "127.0.0.1:81", true),
            ("127.0.0.1:81", None, "localhost:81", true),
            ("127.0.0.1:81", None, "localhost:82", false),
            ("127.0.0.1:81", None, "localhost.evil.example:81", false),
            ("127.0.0.1:81", None, "evil.example:81", false),
            ("127.0.0.1:81", None, "10.0.0.1:81", false),
            ("[::1]:81", None, "[::1]:81", true),
            ("0.0.0.0:81", None, "10.0.0.1:81", true),
            ("0.0.0.0:81", None, "evil.example:81", false),
            ("10.0.0.1:81", None, "localhost:81", false),
            ("10.0.0.1:81", Some("DevBox"), "devbox:81", true),
            ("10.0.0.1:81", Some("devbox"), "devbox.evil.example:81", false),
        ] {
            let answer = access(address, name).check_host(&request(host));
            assert_eq!(answer.is_ok(), is_own, "{address} {name:?} {host}");
        }
    }

    #[test]
    fn the_token_gives_a_cookie_and_a_key_and_neither_lives_longer_than_its_server() {
        let (one, other) = (access("127.0.0.1:81", None), access("127.0.0.1:81", None));
        let link = one.link();
        let (_, token) = link.split_once("#token=").unwrap();
        assert!(token.len() >= 43 && other.exchange(token).is_err() && one.exchange("").is_err());
        let (header, key) = one.exchange(token).unwrap();
        assert!(header.contains("; HttpOnly; SameSite=Strict"), "{header}");
        let cookie = header.strip_prefix("Set-Cookie: ").unwrap().split(';').next().unwrap();
        let mut request = request("127.0.0.1:81");
        assert!(one.check_cookie(&request).is_err());
        request.cookie = Some(format!("a=b; {cookie}"));
        assert!(one.check_cookie(&request).is_ok() && other.check_cookie(&request).is_err());
        assert!(one.check_change(&request).is_err());
        request.key = Some(key.to_owned());
        for (origin, is_own) in [
            ("http://127.0.0.1:82", false),
            ("null", false),
            ("https://127.0.0.1:81", false),
            ("http://127.0.0.1:81", true),
        ] {
            request.origin = Some(origin.to_owned());
            assert_eq!(one.check_change(&request).is_ok(), is_own, "{origin}");
            assert!(other.check_change(&request).is_err());
        }
    }
}
