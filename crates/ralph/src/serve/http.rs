//! HTTP/1.1 as far as the dashboard needs it: a request of bounded size in, an answer with strict headers out. Every answer closes
//! its connection.

use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// A head longer than this is refused, and a body.
pub const HEAD_BYTES: usize = 16 * 1024;
pub const BODY_BYTES: usize = 32 * 1024;
const HEADERS: usize = 64;

/// Nothing from elsewhere, nothing inline, no frame around it, and no text that becomes markup: the one policy is for drawings, which
/// the page copies element by element.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types ralph-drawing";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub method: Method,
    /// Without the query.
    pub path: String,
    pub query: Option<String>,
    pub host: String,
    pub origin: Option<String>,
    pub cookie: Option<String>,
    /// The header that changes need.
    pub key: Option<String>,
    pub body: Vec<u8>,
}

/// What a number of bytes is so far.
#[derive(Debug, PartialEq, Eq)]
pub enum Parsed {
    Incomplete,
    Whole(Request),
    /// Not a request that is answered: the status and why.
    Refused(u16, &'static str),
}

pub fn parse(bytes: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) if length <= HEAD_BYTES => length,
        Ok(httparse::Status::Partial) if bytes.len() <= HEAD_BYTES => return Parsed::Incomplete,
        Ok(_) | Err(httparse::Error::TooManyHeaders) => {
            return Parsed::Refused(431, "the header is too long");
        }
        Err(_) => return Parsed::Refused(400, "this is not HTTP"),
    };
    match whole(&head, bytes.get(length..).unwrap_or_default()) {
        Ok(Some(request)) => Parsed::Whole(request),
        Ok(None) => Parsed::Incomplete,
        Err((status, why)) => Parsed::Refused(status, why),
    }
}

fn whole(head: &httparse::Request<'_, '_>, body: &[u8]) -> Result<Option<Request>, (u16, &'static str)> {
    let one = |name: &str| -> Result<Option<String>, (u16, &'static str)> {
        let mut found = head.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        let Some(header) = found.next() else { return Ok(None) };
        // Which of two would count is a matter of who reads them.
        if found.next().is_some() {
            return Err((400, "a header stands there twice"));
        }
        let value = std::str::from_utf8(header.value).map_err(|_| (400, "a header is not text"))?;
        Ok(Some(value.trim().to_owned()))
    };
    let method = match head.method {
        Some("GET") => Method::Get,
        Some("POST") => Method::Post,
        _ => return Err((405, "only GET and POST are answered")),
    };
    if one("transfer-encoding")?.is_some() {
        return Err((411, "the length of the body is missing"));
    }
    let length = match one("content-length")? {
        None => 0,
        // A sign, or a second number after a comma, would be read differently elsewhere.
        Some(length) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
            length.parse::<usize>().map_err(|_| (413, "the body is too long"))?
        }
        Some(_) => return Err((400, "the length of the body is no number")),
    };
    if length > BODY_BYTES {
        return Err((413, "the body is too long"));
    }
    let Some(body) = body.get(..length) else { return Ok(None) };
    let target = head.path.unwrap_or_default();
    if !target.starts_with('/') {
        return Err((400, "the path does not start with /"));
    }
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query.to_owned())),
        None => (target, None),
    };
    Ok(Some(Request {
        method,
        path: path.to_owned(),
        query,
        host: one("host")?.ok_or((400, "the host is missing"))?.to_ascii_lowercase(),
        origin: one("origin")?.map(|origin| origin.to_ascii_lowercase()),
        cookie: one("cookie")?,
        key: one("x-ralph-key")?,
        body: body.to_vec(),
    }))
}

impl Request {
    /// A value of the query, decoded. None where it is missing or no text.
    pub fn value(&self, name: &str) -> Option<String> {
        let pairs = self.query.as_deref()?.split('&');
        let mut pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.find(|(key, _)| *key == name).and_then(|(_, value)| decoded(value))
    }
}

/// Text with its percent signs resolved. None where that gives no text.
pub fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            b'+' => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// What a request gets, ready to be sent.
#[derive(Clone, Debug)]
pub struct Answer(pub Arc<[u8]>);

impl Answer {
    pub fn new(status: u16, kind: &str, body: &[u8]) -> Self {
        Self::with(status, kind, "", body)
    }

    /// `more` are whole header lines.
    pub fn with(status: u16, kind: &str, more: &str, body: &[u8]) -> Self {
        Self::under(POLICY, status, kind, more, body)
    }

    /// A page that is whole in itself, without scripts: its own style sheet is all that is allowed.
    pub fn document(html: &str) -> Self {
        let style = html.split_once("<style>").and_then(|(_, rest)| rest.split_once("</style>"));
        let digest = Sha256::digest(style.map_or("", |(style, _)| style));
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
            STANDARD.encode(digest)
        );
        Self::under(&policy, 200, "text/html; charset=utf-8", "", html.as_bytes())
    }

    fn under(policy: &str, status: u16, kind: &str, more: &str, body: &[u8]) -> Self {
        let mut head = head(status, kind, policy);
        // Writing to a string cannot fail.
        let _ = write!(head, "Content-Length: {}\r\n{more}\r\n", body.len());
        Self([head.as_bytes(), body].concat().into())
    }

    /// The head of a stream of events; what follows is sent as it comes.
    pub fn stream() -> Self {
        let head = head(200, "text/event-stream; charset=utf-8", POLICY) + "\r\nretry: 1000\n\n";
        Self(head.into_bytes().into())
    }

    pub fn json(status: u16, value: &impl serde::Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => Self::new(status, "application/json", &body),
            Err(_) => Self::error(500, "the answer cannot be written as JSON"),
        }
    }

    pub fn error(status: u16, why: &str) -> Self {
        Self::failed(status, why, &[])
    }

    pub fn failed(status: u16, why: &str, hints: &[String]) -> Self {
        let body = serde_json::json!({ "error": why, "hints": hints });
        Self::new(status, "application/json", body.to_string().as_bytes())
    }
}

fn head(status: u16, kind: &str, policy: &str) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Error",
    };
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nConnection: close\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: {policy}\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
         Referrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(head: &str) -> Parsed {
        parse(format!("{head}\r\n\r\n").as_bytes())
    }

    #[test]
    fn a_request_is_taken_apart_and_what_is_ambiguous_is_refused() {
        let Parsed::Whole(request) = get("GET /api/task?id=2.1%20a&tab=log HTTP/1.1\r\nHost: LocalHost:1")
        else {
            panic!()
        };
        assert_eq!((request.path.as_str(), request.host.as_str()), ("/api/task", "localhost:1"));
        assert_eq!(request.value("id").as_deref(), Some("2.1 a"));
        assert_eq!(request.value("none"), None);
        for (head, status) in [
            ("GET / HTTP/1.1", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b", 400),
            ("GET http://a/ HTTP/1.1\r\nHost: a", 400),
            ("DELETE / HTTP/1.1\r\nHost: a", 405),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked", 411),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999", 413),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 40000", 413),
            ("\u{0}\u{1}\u{2}", 400),
        ] {
            assert!(matches!(get(head), Parsed::Refused(got, _) if got == status), "{head}: {:?}", get(head));
        }
    }

    #[test]
    fn a_request_is_whole_with_its_last_byte_and_too_long_before_it_fills_the_memory() {
        let text = b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nok";
        for end in 0..text.len() {
            assert_eq!(parse(&text[..end]), Parsed::Incomplete, "{end}");
        }
        assert!(matches!(parse(text), Parsed::Whole(request) if request.body == b"ok"));
        let endless = format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(HEAD_BYTES));
        assert!(matches!(parse(endless.as_bytes()), Parsed::Refused(431, _)));
        let many = format!("GET / HTTP/1.1\r\n{}", "a: b\r\n".repeat(HEADERS + 1));
        assert!(matches!(parse(many.as_bytes()), Parsed::Refused(431, _)));
    }

    #[test]
    fn percent_signs_are_resolved_or_refused() {
        for (text, expected) in
            [("a%2fb", Some("a/b")), ("%zz", None), ("%f", None), ("%ff", None), ("a+b", Some("a b"))]
        {
            assert_eq!(decoded(text).as_deref(), expected, "{text}");
        }
    }
}
