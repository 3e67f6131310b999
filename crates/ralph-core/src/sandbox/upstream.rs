//! The proxy that a person's own variables name: where one is needed to get out of a network, Ralph's proxy connects by it. Only
//! proxies that are spoken to without encryption (`http://`) are used.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::TcpStream;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::proxy::{connect, host_and_port};

/// No answer of a proxy has a longer head.
const HEAD: usize = 16 * 1024;
const USUAL_PORT: u16 = 80;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Upstream {
    /// For requests that a proxy can read.
    plain: Option<Gateway>,
    /// For all other connections.
    tunnels: Option<Gateway>,
    /// What is connected to without a proxy.
    direct: Vec<String>,
    /// A variable that names a proxy of another kind.
    unusable: Option<String>,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Gateway {
    host: String,
    port: u16,
    /// `user:password`.
    login: Option<String>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Upstream {
    pub(super) fn of(environment: &[(String, OsString)]) -> Self {
        let value = |name: &str| {
            let (name, value) = environment.iter().find(|(known, _)| known == name)?;
            Some((name.clone(), value.to_str()?.trim().to_owned())).filter(|(_, value)| !value.is_empty())
        };
        let first = |names: &[&str]| names.iter().find_map(|name| value(name));
        let plain = first(&["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]);
        let tunnels = first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]);
        let direct = first(&["no_proxy", "NO_PROXY"]).map(|(_, value)| value).unwrap_or_default();
        let of = |named: &Option<(String, String)>| named.as_ref().and_then(|(_, url)| Gateway::parse(url));
        let is_unusable = |named: &&(String, String)| Gateway::parse(&named.1).is_none();
        let unusable = [&plain, &tunnels].into_iter().flatten().find(is_unusable);
        Self {
            plain: of(&plain),
            tunnels: of(&tunnels),
            direct: direct.split(',').map(|name| name.trim().to_ascii_lowercase()).collect(),
            unusable: unusable.map(|(name, _)| name.clone()),
        }
    }

    /// The proxy by which a host is connected to, if by one.
    pub(super) fn gateway(&self, host: &str, port: u16, is_tunnel: bool) -> Option<&Gateway> {
        let gateway = if is_tunnel { &self.tunnels } else { &self.plain };
        let is_own = host == "localhost" || host == "::1" || host.starts_with("127.");
        let is_direct = |name: &String| {
            let (name, only) = match name.rsplit_once(':') {
                Some((name, only)) if !name.contains(':') => (name, only.parse::<u16>().ok()),
                _ => (name.as_str(), None),
            };
            let above = name.trim_start_matches('*').trim_start_matches('.');
            let is_below = || host.strip_suffix(above).is_some_and(|rest| rest.ends_with('.'));
            let is_named = name == "*" || !above.is_empty() && (host == above || is_below());
            is_named && only.is_none_or(|only| only == port)
        };
        gateway.as_ref().filter(|_| !is_own && !self.direct.iter().any(is_direct))
    }

    /// What is said beside an error where a proxy is not used that may be needed.
    pub(super) fn hint(&self) -> String {
        let told = |name: &String| format!("; the proxy in {name} is not used: only http:// ones are");
        self.unusable.as_ref().map(told).unwrap_or_default()
    }
}

impl Gateway {
    fn parse(url: &str) -> Option<Self> {
        let rest = match url.split_once("://") {
            Some((scheme, rest)) => scheme.eq_ignore_ascii_case("http").then_some(rest)?,
            None => url,
        };
        let authority = rest.split('/').next()?;
        let (login, host) = match authority.rsplit_once('@') {
            Some((login, host)) => (Some(unescaped(login)), host),
            None => (None, authority),
        };
        let (host, port) = host_and_port(host, Some(USUAL_PORT))?;
        Some(Self { host, port, login })
    }

    pub(super) fn connect(&self) -> io::Result<TcpStream> {
        let failed = |error: io::Error| io::Error::new(error.kind(), format!("the proxy {self:?}: {error}"));
        connect(&self.host, self.port).map_err(failed)
    }

    /// The line that a request for this proxy has beside its own; empty where nobody logs in.
    pub(super) fn login_line(&self) -> String {
        let line = |login: &String| format!("Proxy-Authorization: Basic {}\r\n", STANDARD.encode(login));
        self.login.as_ref().map(line).unwrap_or_default()
    }

    /// A connection through the proxy, to be used as if it led straight to the host.
    pub(super) fn tunnel(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let mut proxy = self.connect()?;
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let login = self.login_line();
        write!(proxy, "CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{login}\r\n")?;
        let mut head = Vec::new();
        let mut byte = [0];
        // What follows the head belongs to the connection, so nothing is read beyond it.
        while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD {
            proxy.read_exact(&mut byte)?;
            head.extend_from_slice(&byte);
        }
        let answer = String::from_utf8_lossy(&head).into_owned();
        let mut words = answer.lines().next().unwrap_or_default().splitn(2, ' ');
        match words.nth(1) {
            Some(status) if status.starts_with('2') => Ok(proxy),
            status => {
                let status = crate::text::one_line(status.unwrap_or("nothing"), 100);
                Err(io::Error::other(format!("the proxy {self:?} answered {status}")))
            }
        }
    }
}

/// With `%40` and the like as the characters that they stand for.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(variables: &[(&str, &str)]) -> Upstream {
        let variables: Vec<_> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value))).collect();
        Upstream::of(&variables)
    }

    #[test]
    fn the_variables_of_a_person_say_which_hosts_are_connected_to_by_which_proxy() {
        let found = upstream(&[
            ("HTTPS_PROXY", "http://u%40x:p%3aw@proxy.example.com:3128/"),
            ("http_proxy", "plain.example.com:8080"),
            ("NO_PROXY", "intern.example.com, .local,db.example.org:5432"),
        ]);
        for (host, port, is_tunnel, expected) in [
            ("api.example.org", 443, true, Some("proxy.example.com:3128")),
            ("api.example.org", 80, false, Some("plain.example.com:8080")),
            ("intern.example.com", 443, true, None),
            ("a.intern.example.com", 443, true, None),
            ("xintern.example.com", 443, true, Some("proxy.example.com:3128")),
            ("printer.local", 443, true, None),
            ("db.example.org", 5432, true, None),
            ("db.example.org", 443, true, Some("proxy.example.com:3128")),
            ("localhost", 443, true, None),
            ("127.0.0.1", 80, false, None),
        ] {
            let gateway = found.gateway(host, port, is_tunnel).map(|gateway| format!("{gateway:?}"));
            assert_eq!(gateway.as_deref(), expected, "{host}:{port}");
        }
        let gateway = found.gateway("api.example.org", 443, true).unwrap();
        assert_eq!(gateway.login_line(), "Proxy-Authorization: Basic dUB4OnA6dw==\r\n");
        assert_eq!(upstream(&[("no_proxy", "*"), ("ALL_PROXY", "http://p:1")]).gateway("a.b", 1, true), None);
        let other = upstream(&[("ALL_PROXY", "socks5://p.example.com:1080")]);
        assert_eq!(other.gateway("a.example.com", 443, true), None);
        assert!(other.hint().contains("ALL_PROXY"), "{}", other.hint());
    }
}
