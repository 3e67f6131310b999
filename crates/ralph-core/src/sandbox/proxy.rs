//! The way out of a box that has no network: a proxy that connects to the hosts of a list and to nothing else. It listens on a
//! socket in the file system, runs in Ralph's own process, and looks up names itself.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::forward::NAP;
use super::upstream::Upstream;

/// No request's head is longer.
const HEAD: u64 = 32 * 1024;
/// Connections at once, over all launches.
const MOST: usize = 256;
/// Refused hosts that are remembered.
const REMEMBERED: usize = 50;
const CONNECT_PATIENCE: Duration = Duration::from_secs(20);
/// How long a client may take to say what it wants.
const HEAD_PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Proxy {
    refused: Arc<Mutex<BTreeSet<String>>>,
}

#[derive(Debug)]
struct Shared {
    hosts: Vec<String>,
    upstream: Upstream,
    refused: Arc<Mutex<BTreeSet<String>>>,
    open: AtomicUsize,
}

impl Proxy {
    /// Starts one. It ends with this process; without the socket's file nobody can reach it.
    pub(super) fn start(socket: &Path, hosts: &[String], upstream: Upstream) -> io::Result<Self> {
        let _ = std::fs::remove_file(socket);
        let listener = UnixListener::bind(socket)?;
        let refused = Arc::new(Mutex::default());
        let hosts = hosts.to_vec();
        let shared = Shared { hosts, upstream, refused: Arc::clone(&refused), open: AtomicUsize::new(0) };
        let shared = Arc::new(shared);
        let accept = move || {
            for client in listener.incoming() {
                let Ok(client) = client else {
                    // Too many files are open.
                    thread::sleep(NAP);
                    continue;
                };
                let Some(connection) = Connection::begin(&shared) else { continue };
                let serve = move || {
                    // A connection that fails is its client's to notice.
                    let _ = serve(&client, &connection.0);
                };
                // One that cannot be served is closed.
                let _ = thread::Builder::new().name("proxy".to_owned()).spawn(serve);
            }
        };
        thread::Builder::new().name("proxy".to_owned()).spawn(accept)?;
        Ok(Self { refused })
    }

    /// The hosts that were refused since this was last asked.
    pub(super) fn take_refused(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One of the connections that there may be at once, until it is dropped.
struct Connection(Arc<Shared>);

impl Connection {
    fn begin(shared: &Arc<Shared>) -> Option<Self> {
        let connection = Self(Arc::clone(shared));
        (shared.open.fetch_add(1, Ordering::Relaxed) < MOST).then_some(connection)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

fn serve(client: &UnixStream, shared: &Shared) -> io::Result<()> {
    client.set_read_timeout(Some(HEAD_PATIENCE))?;
    let mut reader = BufReader::new(client.take(HEAD));
    let head = read_head(&mut reader)?;
    let Some(request) = Request::parse(&head) else {
        return answer(client, "400 Bad Request", "the sandbox's proxy does not understand this request");
    };
    let Request { host, port, .. } = &request;
    if !is_allowed(&shared.hosts, host, *port) {
        let mut refused = shared.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < REMEMBERED {
            refused.insert(host.clone());
        }
        drop(refused);
        return answer(client, "403 Forbidden", &format!("the sandbox does not allow connections to {host}"));
    }
    let is_tunnel = request.plain.is_none();
    let gateway = shared.upstream.gateway(host, *port, is_tunnel);
    let server = match gateway {
        None => connect(host, *port),
        Some(gateway) if is_tunnel => gateway.tunnel(host, *port),
        Some(gateway) => gateway.connect(),
    };
    let mut server = match server {
        Ok(server) => server,
        Err(error) => {
            let hint = shared.upstream.hint();
            let text = format!("cannot connect to {host}:{port}: {error}{hint}");
            return answer(client, "502 Bad Gateway", &text);
        }
    };
    client.set_read_timeout(None)?;
    match (&request.plain, gateway) {
        (None, _) => (&mut &*client).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
        (Some(plain), None) => server.write_all(plain.head("", "").as_bytes())?,
        (Some(plain), Some(gateway)) => {
            let to = format!("http://{}", plain.authority);
            server.write_all(plain.head(&to, &gateway.login_line()).as_bytes())?;
        }
    }
    // What came with the head belongs to the connection.
    server.write_all(reader.buffer())?;
    pump(client, &server)
}

fn read_head(reader: &mut impl BufRead) -> io::Result<String> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if reader.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if matches!(head.get(before..), Some("\r\n" | "\n")) {
            return Ok(head);
        }
    }
}

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    host: String,
    port: u16,
    /// None for a tunnel.
    plain: Option<PlainRequest>,
}

/// A request that is not encrypted.
#[derive(Debug, PartialEq, Eq)]
struct PlainRequest {
    method: String,
    authority: String,
    path: String,
    version: String,
    /// The lines of its head that are passed on.
    kept: String,
}

impl PlainRequest {
    /// The head as the server is to get it, or another proxy, with what that wants before the path and beside the lines.
    fn head(&self, to: &str, more: &str) -> String {
        let Self { method, authority, path, version, kept } = self;
        format!("{method} {to}{path} {version}\r\nHost: {authority}\r\nConnection: close\r\n{more}{kept}\r\n")
    }
}

impl Request {
    fn parse(head: &str) -> Option<Self> {
        let mut lines = head.lines();
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if method.eq_ignore_ascii_case("CONNECT") {
            let (host, port) = host_and_port(target, None)?;
            return Some(Self { host, port, plain: None });
        }
        let rest = target.strip_prefix("http://")?;
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let authority = authority.rsplit('@').next()?;
        let (host, port) = host_and_port(authority, Some(80))?;
        // One request for each connection: the next one may be for another host.
        let is_own = |line: &&str| {
            let name = line.split(':').next().unwrap_or_default();
            ["connection", "proxy-connection", "keep-alive", "proxy-authorization", "host"]
                .iter()
                .any(|own| name.eq_ignore_ascii_case(own))
        };
        let kept = lines.filter(|line| !line.is_empty() && !is_own(line)).map(|line| format!("{line}\r\n"));
        let plain = PlainRequest {
            method: method.to_owned(),
            authority: authority.to_owned(),
            path: path.to_owned(),
            version: version.to_owned(),
            kept: kept.collect(),
        };
        Some(Self { host, port, plain: Some(plain) })
    }
}

pub(super) fn host_and_port(text: &str, usual: Option<u16>) -> Option<(String, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            (host, port.strip_prefix(':'))
        }
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let port = match port {
        Some(port) => port.parse().ok()?,
        None => usual?,
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    (!host.is_empty() && host.len() <= 253 && host.chars().all(is_plain)).then_some((host, port))
}

/// Whether a list has this host: by its name, or below `*.name`; with a port, only that one.
fn is_allowed(hosts: &[String], host: &str, port: u16) -> bool {
    hosts.iter().any(|allowed| {
        let (name, only) = match allowed.rsplit_once(':') {
            Some((name, only)) => (name, only.parse::<u16>().ok()),
            None => (allowed.as_str(), None),
        };
        let name = name.to_ascii_lowercase();
        let is_it = match name.strip_prefix("*.") {
            Some(above) => host.strip_suffix(above).is_some_and(|rest| rest.ends_with('.')),
            None => host == name,
        };
        is_it && only.is_none_or(|only| only == port)
    })
}

pub(super) fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn answer(mut client: &UnixStream, status: &str, text: &str) -> io::Result<()> {
    let length = text.len() + 1;
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}\n"
    )
}

/// Passes bytes on in both directions until both are at their end.
/// Passes on what either end says, until both have ended.
pub(super) fn pump(file: &UnixStream, net: &TcpStream) -> io::Result<()> {
    thread::scope(|scope| {
        let other_way = || {
            let _ = io::copy(&mut &*file, &mut &*net);
            let _ = net.shutdown(Shutdown::Write);
        };
        thread::Builder::new().spawn_scoped(scope, other_way)?;
        let copied = io::copy(&mut &*net, &mut &*file);
        let _ = file.shutdown(Shutdown::Write);
        copied.map(drop)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_of_the_list_are_allowed() {
        let hosts: Vec<String> =
            ["api.example.com", "*.crates.io", "db.example.com:5432"].map(str::to_owned).into();
        for (host, port, expected) in [
            ("api.example.com", 443, true),
            ("api.example.com.evil.org", 443, false),
            ("xapi.example.com", 443, false),
            ("static.crates.io", 443, true),
            ("crates.io", 443, false),
            ("evilcrates.io", 443, false),
            ("db.example.com", 5432, true),
            ("db.example.com", 22, false),
            ("127.0.0.1", 80, false),
            ("::1", 80, false),
        ] {
            assert_eq!(is_allowed(&hosts, host, port), expected, "{host}:{port}");
        }
    }

    #[test]
    fn requests_are_read_and_passed_on_for_one_host() {
        let tunnel = Request::parse("CONNECT API.Example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        assert_eq!(tunnel, Request { host: "api.example.com".into(), port: 443, plain: None });
        let six = Request::parse("CONNECT [::1]:443 HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!((six.host.as_str(), six.port), ("::1", 443));
        let plain = Request::parse(
            "GET http://a.example.com/x?y HTTP/1.1\r\nHost: other.example.com\r\nProxy-Connection: keep-alive\r\n\
             Accept: */*\r\n\r\n",
        );
        let plain = plain.unwrap().plain.unwrap();
        assert_eq!(
            plain.head("", ""),
            "GET /x?y HTTP/1.1\r\nHost: a.example.com\r\nConnection: close\r\nAccept: */*\r\n\r\n"
        );
        for refused in
            ["", "GET / HTTP/1.1\r\n\r\n", "CONNECT a HTTP/1.1\r\n\r\n", "CONNECT a/b:1 HTTP/1.1\r\n\r\n"]
        {
            assert_eq!(Request::parse(refused), None, "{refused}");
        }
    }

    #[test]
    fn a_host_that_is_not_listed_is_refused_and_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("proxy");
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let proxy = Proxy::start(&socket, &["127.0.0.1".to_owned()], Upstream::default()).unwrap();
        let ask = |text: &str| {
            let mut client = UnixStream::connect(&socket).unwrap();
            client.write_all(text.as_bytes()).unwrap();
            client
        };
        let mut answer = String::new();
        ask("CONNECT evil.example.com:443 HTTP/1.1\r\n\r\n").read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        assert_eq!(proxy.take_refused().into_iter().collect::<Vec<_>>(), ["evil.example.com"]);
        let mut client = ask(&format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nping"));
        let (mut connection, _) = server.accept().unwrap();
        let mut four = [0; 4];
        connection.read_exact(&mut four).unwrap();
        assert_eq!(&four, b"ping");
        connection.write_all(b"pong").unwrap();
        drop(connection);
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("\r\n\r\npong"), "{answer}");
    }
    #[test]
    fn listed_hosts_are_reached_by_the_proxy_of_the_person() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("proxy");
        let theirs = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://me:secret@{}", theirs.local_addr().unwrap());
        let variables = ["HTTP_PROXY", "HTTPS_PROXY"].map(|name| (name.to_owned(), url.clone().into()));
        let _proxy = Proxy::start(&socket, &["*.example.com".to_owned()], Upstream::of(&variables)).unwrap();
        for (asked, passed_on, answered) in [
            (
                "CONNECT a.example.com:443 HTTP/1.1\r\n\r\n",
                "CONNECT a.example.com:443 HTTP/1.1\r\nHost: a.example.com:443\r\n",
                "HTTP/1.1 200 Connection established\r\n\r\nhello",
            ),
            (
                "GET http://a.example.com/x HTTP/1.1\r\nAccept: */*\r\n\r\n",
                "GET http://a.example.com/x HTTP/1.1\r\nHost: a.example.com\r\nConnection: close\r\n",
                "HTTP/1.1 200 OK\r\n\r\nhello",
            ),
        ] {
            let mut client = UnixStream::connect(&socket).unwrap();
            client.write_all(asked.as_bytes()).unwrap();
            let (mut connection, _) = theirs.accept().unwrap();
            let head = read_head(&mut BufReader::new(connection.try_clone().unwrap())).unwrap();
            assert!(head.starts_with(passed_on), "{head}");
            assert!(head.contains("Proxy-Authorization: Basic bWU6c2VjcmV0\r\n"), "{head}");
            connection.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello").unwrap();
            drop(connection);
            let mut answer = String::new();
            client.read_to_string(&mut answer).unwrap();
            assert_eq!(answer, answered);
        }
    }
}
