//! The connections of the dashboard: one thread, one `poll`, and bounds for all of it, so that slow or frequent
//! connections keep nobody else out.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use ralph_core::agent::Interrupt;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::http::{Answer, BODY_BYTES, HEAD_BYTES, Parsed, Request, parse};

/// Pages that are open at the same time.
const PAGES: usize = 200;
/// Other connections: those that are still sending, and those that get their answer.
const OTHERS: usize = 200;
/// How long a request may take to come, and an answer to go.
const REQUEST_TIME: Duration = Duration::from_secs(5);
const ANSWER_TIME: Duration = Duration::from_secs(30);
/// Events that a page has not taken yet; one that falls behind further connects again and is told the present state.
const BEHIND_BYTES: usize = 2 * 1024 * 1024;
/// How often signals and time limits are looked at.
const TICK: Duration = Duration::from_millis(100);
/// A stream that says nothing for so long says that it is there: a page that is gone is noticed then.
const QUIET: Duration = Duration::from_secs(15);
/// Connections taken at once, before those that are there get their turn.
const AT_ONCE: usize = 64;

pub type Id = u64;

/// What other threads have for the pages.
pub enum Message {
    Answer {
        to: Id,
        answer: Answer,
    },
    /// An event for every page. With a name it stands for what it tells until the next one of that name: pages that open later
    /// get it first.
    Event {
        name: Option<String>,
        frame: Arc<[u8]>,
    },
    /// What that name stood for is over.
    Over {
        name: String,
    },
}

/// Sends messages, and wakes the thread that waits for them.
#[derive(Clone)]
pub struct MessageSender {
    messages: Sender<Message>,
    wake: Arc<UnixStream>,
}

impl MessageSender {
    pub fn send(&self, message: Message) {
        if self.messages.send(message).is_ok() {
            // A full pipe wakes, too.
            let _ = (&*self.wake).write(&[1]);
        }
    }
}

/// What is to be done with a request.
pub enum Next {
    Answer(Answer),
    /// Somebody sends the answer later.
    Wait,
    Stream,
}

enum State {
    Reading(Vec<u8>),
    Waiting,
    Writing(Outgoing),
    Streaming(Outgoing),
}

/// What is still to be sent.
#[derive(Default)]
struct Outgoing {
    frames: VecDeque<Arc<[u8]>>,
    /// How much of the first one is sent.
    sent: usize,
    bytes: usize,
}

impl Outgoing {
    fn of(answer: &Answer) -> Self {
        let mut outgoing = Self::default();
        outgoing.push(answer.0.clone());
        outgoing
    }

    fn push(&mut self, frame: Arc<[u8]>) {
        self.bytes += frame.len();
        self.frames.push_back(frame);
    }

    /// Sends what can be sent without waiting.
    fn send(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        while let Some(frame) = self.frames.front() {
            let rest = frame.get(self.sent..).unwrap_or_default();
            match stream.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) if n < rest.len() => self.sent += n,
                Ok(_) => {
                    self.bytes = self.bytes.saturating_sub(frame.len());
                    self.sent = 0;
                    self.frames.pop_front();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

struct Connection {
    id: Id,
    stream: TcpStream,
    state: State,
    /// When its state began; of a stream, when something was sent last.
    since: Instant,
}

/// Whether a connection goes on.
#[derive(PartialEq, Eq)]
enum Life {
    On,
    Over,
}

pub struct Connections {
    listener: TcpListener,
    open: Vec<Connection>,
    last_id: Id,
    messages: Receiver<Message>,
    woken: UnixStream,
    /// What a new page is told first.
    present: HashMap<String, Arc<[u8]>>,
}

impl Connections {
    pub fn new(listener: TcpListener) -> io::Result<(Self, MessageSender)> {
        listener.set_nonblocking(true)?;
        let (woken, wake) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        wake.set_nonblocking(true)?;
        let (sender, messages) = mpsc::channel();
        let sender = MessageSender { messages: sender, wake: Arc::new(wake) };
        let connections =
            Self { listener, open: Vec::new(), last_id: 0, messages, woken, present: HashMap::new() };
        Ok((connections, sender))
    }

    /// Answers until the interrupt. `pages` hears how many pages are open whenever that changes.
    pub fn serve(
        &mut self,
        interrupt: &Interrupt,
        mut handle: impl FnMut(Id, Request) -> Next,
        mut pages: impl FnMut(usize),
    ) -> io::Result<()> {
        let mut known = 0;
        while interrupt.first().is_none() {
            let (mut can_accept, ready) = self.wait()?;
            let mut over = Vec::new();
            for (connection, ready) in self.open.iter_mut().zip(ready) {
                if !ready.is_empty() && connection.turn(ready, &mut handle, &self.present) == Life::Over {
                    over.push(connection.id);
                }
            }
            self.open.retain(|connection| !over.contains(&connection.id) && !connection.is_late());
            self.read_messages();
            let mut taken = 0;
            while can_accept && taken < AT_ONCE {
                can_accept = self.accept(&mut handle);
                taken += 1;
            }
            let streaming = self.streaming();
            if streaming != known {
                known = streaming;
                pages(known);
            }
        }
        Ok(())
    }

    fn streaming(&self) -> usize {
        self.open.iter().filter(|one| matches!(one.state, State::Streaming(_))).count()
    }

    /// Waits for whatever happens first: whether somebody connects, and what each connection is ready for.
    fn wait(&mut self) -> io::Result<(bool, Vec<PollFlags>)> {
        let mut fds =
            vec![PollFd::new(&self.listener, PollFlags::IN), PollFd::new(&self.woken, PollFlags::IN)];
        fds.extend(self.open.iter().map(|connection| {
            let wanted = match &connection.state {
                State::Reading(_) => PollFlags::IN,
                // Only that it is gone, which is told of unasked.
                State::Waiting => PollFlags::empty(),
                State::Writing(_) => PollFlags::OUT,
                State::Streaming(rest) if rest.frames.is_empty() => PollFlags::IN,
                State::Streaming(_) => PollFlags::IN | PollFlags::OUT,
            };
            PollFd::new(&connection.stream, wanted)
        }));
        match poll(&mut fds, Timespec::try_from(TICK).ok().as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready = fds.iter().map(PollFd::revents);
        let can_accept = ready.next().is_some_and(|flags| !flags.is_empty());
        ready.next();
        Ok((can_accept, ready.collect()))
    }

    fn read_messages(&mut self) {
        let mut sink = [0; 256];
        while matches!((&self.woken).read(&mut sink), Ok(n) if n == sink.len()) {}
        while let Ok(message) = self.messages.try_recv() {
            match message {
                Message::Answer { to, answer } => {
                    if let Some(one) = self.open.iter_mut().find(|one| one.id == to) {
                        one.enter(State::Writing(Outgoing::of(&answer)));
                    }
                }
                Message::Event { name, frame } => {
                    if let Some(name) = name {
                        self.present.insert(name, frame.clone());
                    }
                    self.open.retain_mut(|one| one.tell(&frame));
                }
                Message::Over { name } => {
                    self.present.remove(&name);
                }
            }
        }
        let quiet: Arc<[u8]> = Arc::from(&b":\n\n"[..]);
        self.open.retain_mut(|one| !one.is_quiet() || one.tell(&quiet));
    }

    /// Takes one connection. Where there is no room, the one that has been sending its request for longest is closed, so
    /// that a client that sends its request at once is always answered. `false` if nobody connects.
    fn accept(&mut self, handle: &mut impl FnMut(Id, Request) -> Next) -> bool {
        let stream = match self.listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Too many files are open, in this process or on this machine.
                let is_full = [Some(24), Some(23)].contains(&error.raw_os_error());
                return is_full && self.make_way();
            }
        };
        if stream.set_nonblocking(true).is_err() {
            return true;
        }
        // Small events are sent as they come.
        let _ = stream.set_nodelay(true);
        if self.open.len() - self.streaming() >= OTHERS && !self.make_way() {
            return true;
        }
        self.last_id += 1;
        let state = State::Reading(Vec::new());
        let mut connection = Connection { id: self.last_id, stream, state, since: Instant::now() };
        let has_room = self.streaming() < PAGES;
        let mut handle = |id, request| match handle(id, request) {
            Next::Stream if !has_room => Next::Answer(Answer::error(503, "too many pages are open")),
            next => next,
        };
        // What it asks for is mostly there already.
        if connection.turn(PollFlags::IN, &mut handle, &self.present) == Life::On {
            self.open.push(connection);
        }
        true
    }

    /// Ends the connection that has not sent a whole request for longest; `false` if there is none.
    fn make_way(&mut self) -> bool {
        let oldest = self.open.iter().position(|one| matches!(one.state, State::Reading(_)));
        oldest.map(|place| self.open.remove(place)).is_some()
    }
}

impl Connection {
    fn enter(&mut self, state: State) {
        self.state = state;
        self.since = Instant::now();
    }

    fn is_late(&self) -> bool {
        match self.state {
            State::Reading(_) => self.since.elapsed() > REQUEST_TIME,
            State::Writing(_) => self.since.elapsed() > ANSWER_TIME,
            State::Waiting | State::Streaming(_) => false,
        }
    }

    fn is_quiet(&self) -> bool {
        matches!(&self.state, State::Streaming(rest) if rest.frames.is_empty())
            && self.since.elapsed() > QUIET
    }

    /// Sends an event, if this is a page; `false` if it is gone or too far behind.
    fn tell(&mut self, frame: &Arc<[u8]>) -> bool {
        let State::Streaming(rest) = &mut self.state else { return true };
        self.since = Instant::now();
        if rest.bytes + frame.len() > BEHIND_BYTES && !rest.frames.is_empty() {
            return false;
        }
        rest.push(frame.clone());
        rest.send(&mut self.stream).is_ok()
    }

    /// Goes on as far as that is possible without waiting.
    fn turn(
        &mut self,
        ready: PollFlags,
        handle: &mut impl FnMut(Id, Request) -> Next,
        present: &HashMap<String, Arc<[u8]>>,
    ) -> Life {
        if matches!(self.state, State::Reading(_)) {
            match self.read() {
                Ok(Some(Parsed::Whole(request))) => match handle(self.id, request) {
                    Next::Answer(answer) => self.enter(State::Writing(Outgoing::of(&answer))),
                    Next::Wait => self.enter(State::Waiting),
                    Next::Stream => {
                        let mut outgoing = Outgoing::of(&Answer::stream());
                        present.values().for_each(|frame| outgoing.push(frame.clone()));
                        self.enter(State::Streaming(outgoing));
                    }
                },
                Ok(Some(Parsed::Refused(status, why))) => {
                    self.enter(State::Writing(Outgoing::of(&Answer::error(status, why))));
                }
                Ok(Some(Parsed::Incomplete) | None) => return Life::On,
                Err(_) => return Life::Over,
            }
        }
        match &mut self.state {
            State::Writing(rest) => match rest.send(&mut self.stream) {
                Ok(()) if !rest.frames.is_empty() => Life::On,
                // Nothing more will come; what the other side still sends must not make the answer be thrown away.
                Ok(()) => {
                    let _ = self.stream.shutdown(std::net::Shutdown::Write);
                    let mut sink = [0; 4096];
                    (0..16).all(|_| matches!(self.stream.read(&mut sink), Ok(n) if n > 0));
                    Life::Over
                }
                Err(_) => Life::Over,
            },
            State::Streaming(rest) => {
                let mut sink = [0; 256];
                let gone = match self.stream.read(&mut sink) {
                    Ok(n) => n == 0,
                    Err(error) => error.kind() != io::ErrorKind::WouldBlock,
                };
                if gone || rest.send(&mut self.stream).is_err() { Life::Over } else { Life::On }
            }
            State::Waiting if ready.intersects(PollFlags::HUP | PollFlags::ERR) => Life::Over,
            State::Waiting | State::Reading(_) => Life::On,
        }
    }

    /// Reads what is there of a request; none if that is nothing.
    fn read(&mut self) -> io::Result<Option<Parsed>> {
        let State::Reading(bytes) = &mut self.state else { return Ok(None) };
        let before = bytes.len();
        let mut chunk = [0; 8 * 1024];
        loop {
            match self.stream.read(&mut chunk) {
                // Nothing more comes; what did come may be a whole request.
                Ok(0) if bytes.len() > before => break,
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => bytes.extend_from_slice(chunk.get(..n).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if bytes.len() > HEAD_BYTES + BODY_BYTES {
                break;
            }
        }
        Ok((bytes.len() > before).then(|| parse(bytes)))
    }
}
