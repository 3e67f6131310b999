//! A scripted model on loopback: it speaks the APIs of the real services, so that the real agent programs can be
//! run in tests without an account. A test says, request by request, what the model answers.

mod chat;
mod dialect;
mod gemini;
mod http;
mod messages;
mod responses;
#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use serde_json::Value;

use dialect::{Content, Dialect};
use http::{Call, Connection};

/// What the model is asked: one request of the agent's main loop.
#[derive(Debug)]
pub struct Request {
    /// The whole body.
    pub body: Value,
    /// 1 for the first main-loop request to this server, retries counted.
    pub ordinal: usize,
    /// 1 for the first session that asked, 2 for the next: with one session per attempt, the attempt.
    pub session: usize,
    /// Whether the last turn brings the result of a tool.
    pub after_tool: bool,
}

impl Request {
    /// Whether a text occurs anywhere in the body but the tools, as the model would read it.
    pub fn mentions(&self, needle: &str) -> bool {
        fn any(value: &Value, needle: &str) -> bool {
            match value {
                Value::String(text) => text.contains(needle),
                Value::Array(items) => items.iter().any(|item| any(item, needle)),
                Value::Object(fields) => fields.values().any(|field| any(field, needle)),
                Value::Null | Value::Bool(_) | Value::Number(_) => false,
            }
        }
        let fields = self.body.as_object().into_iter().flatten();
        fields.filter(|(name, _)| *name != "tools").any(|(_, field)| any(field, needle))
    }
}

/// What the model answers.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A text; the turn is over.
    Text(String),
    /// A few words and the use of a tool; its result comes with the next request.
    Tool {
        /// The tool's name.
        name: String,
        /// What it is used with.
        input: Value,
    },
    /// An HTTP error.
    Error {
        /// Its status.
        status: u16,
        /// Headers beside the usual ones (`retry-after`, limits).
        headers: Vec<(String, String)>,
    },
    /// An HTTP error with this body in place of the usual one.
    Refusal {
        /// Its status.
        status: u16,
        /// Its body.
        body: Value,
    },
    /// 200, then the news in the stream, before any content, that the service is overloaded.
    Overload,
    /// No answer at all until the client goes away or the server is dropped.
    Hang,
    /// Half an answer, then silence like [`Reply::Hang`].
    HangMidStream,
    /// Half an answer, then the connection is closed.
    CutMidStream,
}

impl Reply {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The use of a tool.
    pub fn tool(name: impl Into<String>, input: Value) -> Self {
        Self::Tool { name: name.into(), input }
    }

    /// An HTTP error without further headers.
    pub fn error(status: u16) -> Self {
        Self::Error { status, headers: Vec::new() }
    }
}

type Script = dyn FnMut(&Request) -> Reply + Send;

/// The server. It and all its threads end when it is dropped.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    stop: AtomicBool,
    replies: AtomicUsize,
    script: Mutex<Box<Script>>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    requests: Vec<Value>,
    sessions: Vec<String>,
}

impl ModelServer {
    /// Starts a server on a free port that answers main-loop requests by the script.
    ///
    /// Requests without tools (titles, summaries) get a short text and are not shown to the script.
    #[expect(clippy::expect_used, reason = "a test without its server cannot go on")]
    pub fn start(script: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            replies: AtomicUsize::new(0),
            script: Mutex::new(Box::new(script)),
            seen: Mutex::default(),
        });
        let for_acceptor = Arc::clone(&shared);
        let acceptor = thread::spawn(move || accept(&listener, &for_acceptor));
        Self { address, shared, acceptor: Some(acceptor) }
    }

    /// The base URL, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The bodies of all main-loop requests so far, oldest first.
    pub fn requests(&self) -> Vec<Value> {
        lock(&self.shared.seen).requests.clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the acceptor, which waits for a connection.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            // A panic of the script was printed when it happened and made the agent fail.
            let _ended = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut connections: Vec<JoinHandle<()>> = Vec::new();
    for stream in listener.incoming() {
        if shared.stop.load(Ordering::SeqCst) {
            break;
        }
        let Ok(stream) = stream else { continue };
        connections.retain(|connection| !connection.is_finished());
        let shared = Arc::clone(shared);
        connections.push(thread::spawn(move || serve(stream, &shared)));
    }
    for connection in connections {
        let _ended = connection.join();
    }
}

/// Serves one connection until the client, the script or the server ends it.
fn serve(stream: TcpStream, shared: &Shared) {
    let Ok(mut connection) = Connection::new(stream, &shared.stop) else {
        return;
    };
    // An error here is a client that went away or the server's end; both just end the connection.
    while let Ok(Some(call)) = connection.next_call() {
        match answer(&mut connection, &call, shared) {
            Ok(Next::Open) => {}
            Ok(Next::Close) | Err(_) => return,
        }
    }
}

/// Whether a connection can take another request.
enum Next {
    Open,
    Close,
}

fn answer(connection: &mut Connection<'_>, call: &Call, shared: &Shared) -> std::io::Result<Next> {
    if call.method == "HEAD" {
        connection.head(404)?;
        return Ok(Next::Open);
    }
    let Some(dialect) = dialect::of(call) else {
        connection.json(404, &[], &messages::error(404))?;
        return Ok(Next::Open);
    };
    let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
    if let Some(small) = dialect.small_talk(call) {
        connection.json(200, &[], &small)?;
        return Ok(Next::Open);
    }
    let reply = if dialect.is_side(&body) {
        Reply::text("Side request")
    } else {
        ask(dialect, call, body.clone(), shared)
    };
    let id = shared.replies.fetch_add(1, Ordering::SeqCst);
    respond(connection, dialect, call, &body, id, &reply)
}

/// Records a main-loop request and asks the script.
fn ask(dialect: &dyn Dialect, call: &Call, body: Value, shared: &Shared) -> Reply {
    let after_tool = dialect.brings_tool_result(&body);
    let request = {
        let mut seen = lock(&shared.seen);
        seen.requests.push(body.clone());
        let id = dialect.session(call, &body);
        let known = seen.sessions.iter().position(|session| *session == id);
        let session = known.unwrap_or_else(|| {
            seen.sessions.push(id);
            seen.sessions.len() - 1
        });
        Request { body, ordinal: seen.requests.len(), session: session + 1, after_tool }
    };
    (lock(&shared.script))(&request)
}

fn respond(
    connection: &mut Connection<'_>,
    dialect: &dyn Dialect,
    call: &Call,
    body: &Value,
    id: usize,
    reply: &Reply,
) -> std::io::Result<Next> {
    let content = match reply {
        Reply::Error { status, headers } => {
            connection.json(*status, headers, &dialect.refusal(*status, headers))?;
            return Ok(Next::Open);
        }
        Reply::Refusal { status, body } => {
            connection.json(*status, &[], body)?;
            return Ok(Next::Open);
        }
        Reply::Hang => {
            connection.wait_for_the_end();
            return Ok(Next::Close);
        }
        Reply::Overload => {
            connection.start_events()?;
            connection.event(&dialect.overload())?;
            return Ok(Next::Close);
        }
        Reply::Text(text) => Content::Text(text),
        Reply::Tool { name, input } => Content::Tool { name, input },
        Reply::HangMidStream | Reply::CutMidStream => Content::Text("Half an answer"),
    };
    let is_half = matches!(reply, Reply::HangMidStream | Reply::CutMidStream);
    if dialect.streams(call, body) {
        let events = dialect.events(body, id, content);
        // What comes before the end of the answer's text.
        let sent = if is_half { dialect.half() } else { events.len() };
        connection.start_events()?;
        for event in events.iter().take(sent) {
            connection.event(event)?;
        }
    } else {
        let message = dialect.whole(body, id, content);
        if !is_half {
            connection.json(200, &[], &message)?;
            return Ok(Next::Open);
        }
        connection.half_json(&message)?;
    }
    if matches!(reply, Reply::HangMidStream) {
        connection.wait_for_the_end();
    }
    Ok(Next::Close)
}

/// A script may panic in a failed assertion; what it left behind is still good enough to end with.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
