//! A webhook's other end on the loopback: it answers as it is told and keeps what it got.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A post as it came.
#[derive(Clone, Debug)]
pub struct Post {
    pub at: Instant,
    /// The first line.
    pub request: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Post {
    /// A header that must be there.
    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        self.find(name).unwrap_or_else(|| panic!("no {name} in {:?}", self.headers))
    }

    /// A header.
    pub fn find(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn notice(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// How a post is answered.
#[derive(Clone, Debug)]
pub enum Answer {
    Status(u16),
    /// With one more header line.
    With(u16, &'static str),
    /// After a while, with 200.
    Late(Duration),
    /// Not before the receiver is released, then with 200.
    Hang,
}

/// Listens until the test ends.
pub struct Receiver {
    port: u16,
    state: Arc<State>,
}

struct State {
    posts: Mutex<Vec<Post>>,
    /// The last one is for all posts that follow.
    answers: Vec<Answer>,
    released: Mutex<bool>,
    release: Condvar,
}

impl Receiver {
    /// One that answers the first post with the first answer, and so on.
    pub fn answering(answers: &[Answer]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            posts: Mutex::default(),
            answers: answers.to_vec(),
            released: Mutex::default(),
            release: Condvar::new(),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || state.serve(stream));
            }
        });
        Self { port, state }
    }

    /// One that takes everything.
    pub fn new() -> Self {
        Self::answering(&[Answer::Status(204)])
    }

    /// Where it listens; the path and the query are nobody else's business.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/private/path?token=querytoken", self.port)
    }

    /// What came so far.
    pub fn posts(&self) -> Vec<Post> {
        self.state.posts.lock().unwrap().clone()
    }

    /// The bodies of what came so far.
    pub fn notices(&self) -> Vec<Value> {
        self.posts().iter().map(Post::notice).collect()
    }

    /// Lets hanging posts be answered.
    pub fn release(&self) {
        *self.state.released.lock().unwrap() = true;
        self.state.release.notify_all();
    }
}

impl State {
    fn serve(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let Some(post) = read(&mut reader) else {
            return;
        };
        let nth = {
            let mut posts = self.posts.lock().unwrap();
            posts.push(post);
            posts.len() - 1
        };
        let answer = self.answers.get(nth).or(self.answers.last()).unwrap();
        let (status, header) = match answer {
            Answer::Status(status) => (*status, ""),
            Answer::With(status, header) => (*status, *header),
            Answer::Late(wait) => {
                thread::sleep(*wait);
                (200, "")
            }
            Answer::Hang => {
                let released = self.released.lock().unwrap();
                let wait = Duration::from_secs(60);
                let until = |released: &mut bool| !*released;
                let _ = self.release.wait_timeout_while(released, wait, until);
                (200, "")
            }
        };
        let header = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
        // Whoever hung up does not want an answer.
        let _ = write!(
            stream,
            "HTTP/1.1 {status} Scripted\r\n{header}connection: close\r\ncontent-length: 0\r\n\r\n"
        );
    }
}

/// Reads one request.
pub fn read(reader: &mut impl BufRead) -> Option<Post> {
    let mut line = || {
        let mut line = String::new();
        let read = reader.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    };
    let request = line()?;
    let mut headers = Vec::new();
    while let Some((name, value)) = line()?.split_once(':') {
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let mut post = Post { at: Instant::now(), request, headers, body: String::new() };
    let length = post.header("content-length").parse().unwrap();
    reader.take(length).read_to_string(&mut post.body).ok()?;
    Some(post)
}
