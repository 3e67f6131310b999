//! Running one child process: output as it comes, limits on time, an orderly end, nothing left behind.
//!
//! One loop over `poll` does it all: no thread per stream, one buffer, nothing in flight that could grow.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::{Exit, Launch, sweep};

/// How often the loop looks up from waiting for output, to see signals and limits.
const LOOK_UP: Duration = Duration::from_millis(50);
/// How long pipes may stay open after the child ended before somebody else must be holding them.
const PIPES_LINGER: Duration = Duration::from_millis(200);
/// How long a process may linger after its last word.
const CONCLUDED_LINGER: Duration = Duration::from_secs(2);
/// The buffer for output: small at first, larger when it is filled.
const FIRST_CHUNK: usize = 4 * 1024;
const LARGEST_CHUNK: usize = 64 * 1024;

/// Limits of one process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessLimits {
    /// How long it may take.
    pub wall: Duration,
    /// How long it may be silent.
    pub idle: Option<Duration>,
    /// How long it has after TERM before KILL follows.
    pub grace: Duration,
}

/// Why the process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// By itself.
    Exited,
    /// It took too long.
    WallTimeout,
    /// It was silent for too long.
    IdleTimeout,
    /// Ralph was told to stop.
    Interrupted,
}

/// A process that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// With which code or signal.
    pub exit: Exit,
    /// Why.
    pub stop: Stop,
    /// Processes it left behind, which were ended too.
    pub left_overs: usize,
}

/// Which of the two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Who looks on while a process runs.
pub trait Watch {
    /// The process runs, as the leader of this group.
    fn started(&mut self, _group: Pid) {}
    /// Output arrived.
    fn output(&mut self, stream: Stream, chunk: &[u8]);
    /// Called many times a second, output or not.
    fn tick(&mut self) {}
    /// Whether the process has said its last word and need not be waited for much longer.
    fn concluded(&self) -> bool {
        false
    }
}

/// The program could not be started.
#[derive(Debug, thiserror::Error)]
#[error("`{program}` could not be started: {source}")]
pub struct SpawnError {
    /// The program.
    pub program: String,
    /// The system's reason.
    pub source: std::io::Error,
}

/// A signal that ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// `kill`.
    Terminate,
}

impl Signal {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "INT",
            Self::Terminate => "TERM",
        }
    }
}

/// Whether, and how often, Ralph was told to stop. Shared with whoever listens for signals.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    count: AtomicU32,
    /// 0 none, 1 interrupt, 2 terminate.
    first: AtomicU32,
}

impl Interrupt {
    /// Tells Ralph to stop; the second time at once.
    pub fn raise(&self, signal: Signal) {
        let code = match signal {
            Signal::Interrupt => 1,
            Signal::Terminate => 2,
        };
        let _ = self
            .0
            .first
            .compare_exchange(0, code, Ordering::SeqCst, Ordering::SeqCst);
        self.0.count.fetch_add(1, Ordering::SeqCst);
    }

    /// The first signal that arrived.
    pub fn first(&self) -> Option<Signal> {
        match self.0.first.load(Ordering::SeqCst) {
            0 => None,
            1 => Some(Signal::Interrupt),
            _ => Some(Signal::Terminate),
        }
    }

    /// Whether the user asked twice.
    pub fn at_once(&self) -> bool {
        self.0.count.load(Ordering::SeqCst) > 1
    }
}

/// Where the orderly end of a process stands.
enum Phase {
    Running,
    Terminated { at: Instant, why: Stop },
    Killed { why: Stop },
}

/// Runs a process to its end.
pub fn run(
    launch: &Launch,
    limits: &ProcessLimits,
    interrupt: &Interrupt,
    watch: &mut dyn Watch,
) -> Result<Ended, SpawnError> {
    let mut child = spawn(launch)?;
    let group = Pid::from_child(&child);
    watch.started(group);
    let mut pipes = Pipes::of(&mut child, &launch.stdin);
    let (stop, swept) = supervise(&mut pipes, group, limits, interrupt, watch);
    drop(pipes);
    let status = child.wait().map_err(|source| spawn_error(launch, source))?;
    let left_overs = swept + sweep::end_left_overs(limits.grace, None);
    Ok(Ended {
        exit: exit(status),
        stop,
        left_overs,
    })
}

fn spawn(launch: &Launch) -> Result<Child, SpawnError> {
    let mut command = Command::new(&launch.program);
    command
        .args(&launch.args)
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&launch.cwd)
        .stdin(if launch.stdin.is_empty() {
            Stdio::null()
        } else {
            Stdio::piped()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Its own group: Ctrl-C in the terminal reaches Ralph alone, which then ends the child in order.
        .process_group(0);
    command
        .spawn()
        .map_err(|source| spawn_error(launch, source))
}

fn spawn_error(launch: &Launch, source: std::io::Error) -> SpawnError {
    SpawnError {
        program: launch.program.clone(),
        source,
    }
}

/// What connects us with the child.
struct Pipes<'p> {
    out: Option<Box<dyn Readable>>,
    err: Option<Box<dyn Readable>>,
    stdin: Option<(ChildStdin, &'p [u8])>,
    /// Wakes the loop when the child ends; where there is no such thing, the loop looks by itself.
    ended: Option<OwnedFd>,
    buffer: Vec<u8>,
}

trait Readable: Read + AsFd {}

impl<T: Read + AsFd> Readable for T {}

impl<'p> Pipes<'p> {
    fn of(child: &mut Child, prompt: &'p str) -> Self {
        let stdin = child.stdin.take().map(|pipe| (pipe, prompt.as_bytes()));
        if let Some((pipe, _)) = &stdin {
            // A child that does not read its prompt must not hold us up.
            let _ = fcntl_getfl(pipe).and_then(|flags| fcntl_setfl(pipe, flags | OFlags::NONBLOCK));
        }
        Self {
            out: child
                .stdout
                .take()
                .map(|pipe| Box::new(pipe) as Box<dyn Readable>),
            err: child
                .stderr
                .take()
                .map(|pipe| Box::new(pipe) as Box<dyn Readable>),
            stdin,
            ended: end_notice(Pid::from_child(child)),
            buffer: vec![0; FIRST_CHUNK],
        }
    }

    fn closed(&self) -> bool {
        self.out.is_none() && self.err.is_none()
    }

    /// Waits until something can be read or written, the child ends, or it is time to look up.
    fn wait(&self) -> [PollFlags; 3] {
        let out = self.out.as_deref().map(|pipe| pipe.as_fd());
        let err = self.err.as_deref().map(|pipe| pipe.as_fd());
        let stdin = self.stdin.as_ref().map(|(pipe, _)| pipe.as_fd());
        let wanted = [
            (out, PollFlags::IN),
            (err, PollFlags::IN),
            (stdin, PollFlags::OUT),
            (self.ended.as_ref().map(AsFd::as_fd), PollFlags::IN),
        ];
        let mut happened = [PollFlags::empty(); 3];
        let open: Vec<(usize, BorrowedFd<'_>, PollFlags)> = wanted
            .into_iter()
            .enumerate()
            .filter_map(|(i, (fd, flags))| fd.map(|fd| (i, fd, flags)))
            .collect();
        let mut fds: Vec<PollFd<'_>> = open
            .iter()
            .map(|(_, fd, flags)| PollFd::from_borrowed_fd(*fd, *flags))
            .collect();
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: LOOK_UP.subsec_nanos().into(),
        };
        // An interrupted wait is a reason to look up, like any other.
        if poll(&mut fds, Some(&timeout)).is_ok() {
            for ((i, ..), fd) in open.iter().zip(&fds) {
                if let Some(slot) = happened.get_mut(*i) {
                    *slot = fd.revents();
                }
            }
        }
        happened
    }

    /// Reads and writes what can be without waiting. `true` if there was output.
    fn transfer(&mut self, happened: [PollFlags; 3], watch: &mut dyn Watch) -> bool {
        let [out, err, stdin] = happened;
        let mut output = false;
        for (flags, pipe, stream) in [
            (out, &mut self.out, Stream::Out),
            (err, &mut self.err, Stream::Err),
        ] {
            let Some(reader) = pipe.as_mut().filter(|_| !flags.is_empty()) else {
                continue;
            };
            match reader.read(&mut self.buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => *pipe = None,
                Ok(n) => {
                    output = true;
                    watch.output(stream, &self.buffer[..n]);
                    if n == self.buffer.len() && n < LARGEST_CHUNK {
                        self.buffer.resize(2 * n, 0);
                    }
                }
            }
        }
        if let Some((pipe, prompt)) = self.stdin.as_mut().filter(|_| !stdin.is_empty()) {
            match pipe.write(prompt) {
                Ok(n) => *prompt = &prompt[n..],
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                // It closed its input: its own business.
                Err(_) => *prompt = &[],
            }
            if prompt.is_empty() {
                self.stdin = None;
            }
        }
        output
    }
}

/// Something `poll` can wait for that happens when a process ends.
#[cfg(target_os = "linux")]
fn end_notice(pid: Pid) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn end_notice(_pid: Pid) -> Option<OwnedFd> {
    None
}

/// Whether a child has ended. It is not reaped, so that its process id stays its own until the end is in order.
fn has_ended(pid: Pid) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    waitid(WaitId::Pid(pid), look).is_ok_and(|status| status.is_some())
}

/// Passes output on until the process has ended and its pipes are closed; enforces the limits. Returns why it
/// ended and how many processes had to be ended so that the pipes would close.
fn supervise(
    pipes: &mut Pipes<'_>,
    group: Pid,
    limits: &ProcessLimits,
    interrupt: &Interrupt,
    watch: &mut dyn Watch,
) -> (Stop, usize) {
    let started = Instant::now();
    let mut last_output = started;
    let mut phase = Phase::Running;
    let mut ended: Option<Instant> = None;
    let mut left_overs = 0;
    let mut swept = false;
    loop {
        let happened = pipes.wait();
        if pipes.transfer(happened, watch) {
            last_output = Instant::now();
        }
        watch.tick();
        if ended.is_none() && has_ended(group) {
            ended = Some(Instant::now());
            // Always readable from here on.
            pipes.ended = None;
        }
        let Some(at) = ended else {
            let lingers = watch.concluded() && last_output.elapsed() >= CONCLUDED_LINGER;
            phase = match phase {
                Phase::Running if lingers => terminate(group, Stop::Exited),
                phase => advance(phase, group, limits, interrupt, started, last_output),
            };
            continue;
        };
        if pipes.closed() {
            break;
        }
        // Whatever the child started in the background holds its pipes open.
        if at.elapsed() > PIPES_LINGER {
            if swept {
                break;
            }
            left_overs += sweep::end_left_overs(limits.grace, Some(group));
            ended = Some(Instant::now());
            swept = true;
        }
    }
    let stop = match phase {
        Phase::Running => Stop::Exited,
        Phase::Terminated { why, .. } | Phase::Killed { why } => why,
    };
    (stop, left_overs)
}

/// TERM when a limit is reached, KILL after the grace, KILL at once when asked twice.
fn advance(
    phase: Phase,
    group: Pid,
    limits: &ProcessLimits,
    interrupt: &Interrupt,
    started: Instant,
    last_output: Instant,
) -> Phase {
    use rustix::process::Signal;
    match phase {
        Phase::Running => {
            let idle_for = last_output.elapsed();
            let why = if interrupt.first().is_some() {
                Stop::Interrupted
            } else if started.elapsed() >= limits.wall {
                Stop::WallTimeout
            } else if limits.idle.is_some_and(|idle| idle_for >= idle) {
                Stop::IdleTimeout
            } else {
                return Phase::Running;
            };
            terminate(group, why)
        }
        Phase::Terminated { at, why } if at.elapsed() >= limits.grace || interrupt.at_once() => {
            let _ = kill_process_group(group, Signal::KILL);
            Phase::Killed { why }
        }
        other => other,
    }
}

fn terminate(group: Pid, why: Stop) -> Phase {
    let _ = kill_process_group(group, rustix::process::Signal::TERM);
    Phase::Terminated {
        at: Instant::now(),
        why,
    }
}

fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Code(-1),
    }
}
