//! As much HTTP/1.1 as a model's clients need, on a socket that is never waited on for long: every wait looks
//! whether the server is to stop.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use super::dialect::Event;

/// How long a blocked read lasts before the stop flag is looked at.
const TICK: Duration = Duration::from_millis(20);

/// A request as it came.
pub struct Call {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path without the query.
    pub path: String,
    headers: Vec<(String, String)>,
    /// The body, whole.
    pub body: Vec<u8>,
}

impl Call {
    /// The first header of this lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// One client's connection.
pub struct Connection<'a> {
    stream: TcpStream,
    stop: &'a AtomicBool,
    /// What was read and not yet used.
    buffer: Vec<u8>,
}

impl<'a> Connection<'a> {
    /// Takes a fresh connection.
    pub fn new(stream: TcpStream, stop: &'a AtomicBool) -> io::Result<Self> {
        stream.set_read_timeout(Some(TICK))?;
        stream.set_write_timeout(Some(Duration::from_secs(5)))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, stop, buffer: Vec::new() })
    }

    /// The next request; `None` when the client is done.
    pub fn next_call(&mut self) -> io::Result<Option<Call>> {
        let Some(first) = self.line()? else {
            return Ok(None);
        };
        let mut words = first.split(' ').map(String::from);
        let method = words.next().unwrap_or_default();
        let target = words.next().unwrap_or_default();
        let path = target.split('?').next().unwrap_or_default().to_owned();
        let mut call = Call { method, path, headers: Vec::new(), body: Vec::new() };
        loop {
            let line = self.line()?.ok_or(ErrorKind::UnexpectedEof)?;
            let Some((key, value)) = line.split_once(':') else {
                break;
            };
            call.headers.push((key.to_ascii_lowercase(), value.trim().to_owned()));
        }
        if call.header("expect").is_some() {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let is_chunked = call.header("transfer-encoding").is_some_and(|how| how.contains("chunked"));
        call.body = if is_chunked {
            self.chunks()?
        } else {
            let length = call.header("content-length").and_then(|length| length.parse().ok());
            self.take(length.unwrap_or(0))?
        };
        Ok(Some(call))
    }

    /// Answers a `HEAD` request.
    pub fn head(&mut self, status: u16) -> io::Result<()> {
        write!(self.stream, "HTTP/1.1 {status} Scripted\r\ncontent-length: 0\r\n\r\n")
    }

    /// Answers with a document; the connection stays open.
    pub fn json(&mut self, status: u16, headers: &[(String, String)], body: &Value) -> io::Result<()> {
        let body = body.to_string();
        let mut head = format!("HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n");
        for (key, value) in headers {
            head += &format!("{key}: {value}\r\n");
        }
        write!(self.stream, "{head}content-length: {}\r\n\r\n{body}", body.len())
    }

    /// Begins to answer with a document and stops in the middle of it.
    pub fn half_json(&mut self, body: &Value) -> io::Result<()> {
        let body = body.to_string();
        let half = body.get(..body.len() / 2).unwrap_or_default();
        let head = "HTTP/1.1 200 Scripted\r\ncontent-type: application/json\r\nconnection: close\r\n";
        write!(self.stream, "{head}content-length: {}\r\n\r\n{half}", body.len())
    }

    /// Begins a stream of events, which ends with the connection.
    pub fn start_events(&mut self) -> io::Result<()> {
        self.stream.write_all(
            b"HTTP/1.1 200 Scripted\r\ncontent-type: text/event-stream\r\n\
            cache-control: no-cache\r\nconnection: close\r\n\r\n",
        )
    }

    /// Sends one event of a stream.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        let name = event.name.as_ref();
        let name = name.map(|name| format!("event: {name}\n"));
        let data = match &event.data {
            Value::String(text) => text.clone(),
            data => data.to_string(),
        };
        let name = name.unwrap_or_default();
        self.stream.write_all(format!("{name}data: {data}\n\n").as_bytes())
    }

    /// Is silent until the client goes away or the server stops.
    pub fn wait_for_the_end(&mut self) {
        while let Ok(true) = self.fill() {
            self.buffer.clear();
        }
    }

    /// A line without its end; `None` when nothing came before the client was done.
    fn line(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()));
            }
            if !self.fill()? {
                return if self.buffer.is_empty() { Ok(None) } else { Err(ErrorKind::UnexpectedEof.into()) };
            }
        }
    }

    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < length {
            if !self.fill()? {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.buffer.drain(..length).collect())
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?.ok_or(ErrorKind::UnexpectedEof)?;
            let digits = line.split(';').next().unwrap_or_default().trim();
            let length =
                usize::from_str_radix(digits, 16).map_err(|_| io::Error::from(ErrorKind::InvalidData))?;
            if length == 0 {
                // Trailers, up to an empty line.
                while self.line()?.is_some_and(|line| !line.is_empty()) {}
                return Ok(body);
            }
            body.extend(self.take(length)?);
            self.line()?;
        }
    }

    /// Reads more; `false` when the client is done.
    fn fill(&mut self) -> io::Result<bool> {
        let mut piece = [0; 64 * 1024];
        loop {
            if self.stop.load(Ordering::SeqCst) {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            match self.stream.read(&mut piece) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    self.buffer.extend_from_slice(piece.get(..count).unwrap_or_default());
                    return Ok(true);
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
