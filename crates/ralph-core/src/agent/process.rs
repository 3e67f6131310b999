//! Running one child process: output as it comes, limits on time, an orderly end, nothing left behind.
//!
//! One loop over `poll` does it all: no thread per stream, one buffer, nothing in flight that could grow.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::child::{ExemptChild, Exemption, State, Supervised};
use super::confined::{Confined, ConfinedWatch, Excess};
use super::guard::{Guard, LaunchError};
use super::pipes::Pipes;
use super::{Exit, Interrupt, Launch, sweep};
use crate::sandbox::SHIELDED;
use crate::text::duration;

/// How long pipes may stay open after the child ended before somebody else must be holding them.
const PIPES_LINGER: Duration = Duration::from_millis(200);
/// How long the rest of a pipe is read after its writers were ended, should somebody still hold it.
const MOST_DRAIN: Duration = Duration::from_secs(60);
/// How far apart signals to the child and to Ralph may arrive.
const BOTH_TOLD: Duration = Duration::from_millis(150);
/// How long a process may go on after its final result.
const CONCLUDED_LINGER: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug)]
pub struct ProcessLimits {
    pub wall: Duration,
    pub idle: Option<Duration>,
    /// How long it has after TERM before KILL follows.
    pub grace: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Exited,
    /// It timed out after this, which is all it may.
    WallTimeout(Duration),
    /// It was silent for longer than this.
    IdleTimeout(Duration),
    Interrupted,
    /// It spent what it may spend.
    Budget,
    /// A person wants it to begin anew with a note.
    UserNote,
    /// It used more than the sandbox lets it.
    OverLimit(Excess),
    /// Ralph's guard was killed while it ran, so it was ended.
    GuardLost,
}

#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub exit: Exit,
    pub stop: Stop,
    /// Processes it left behind, which were ended too.
    pub left_overs: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Out,
    Err,
}

/// Receives the output of a process while it runs, and says when it may end.
pub trait Watch {
    /// The process runs, as the leader of this group. Nothing was written to its standard input yet.
    fn started(&mut self, _group: Pid) {}
    fn output(&mut self, stream: Stream, chunk: &[u8]);
    /// Called many times a second, output or not.
    fn tick(&mut self) {}
    /// Whether the process has said its last word and need not be waited for much longer.
    fn concluded(&self) -> bool {
        false
    }
    fn first_signal(&self) -> EndSignal {
        EndSignal::Terminate
    }
    /// Why the process is to end now, for reasons of its work.
    fn ends(&self) -> Option<Stop> {
        None
    }
}

/// For programs of which only the output matters.
impl<F: FnMut(Stream, &[u8])> Watch for F {
    fn output(&mut self, stream: Stream, chunk: &[u8]) {
        self(stream, chunk);
    }
}

impl Ended {
    /// Why a program did not do its work, as the end of a sentence; none where it exited with 0 by itself.
    pub fn failure(&self) -> Option<String> {
        Some(match (self.stop, self.exit) {
            (Stop::Interrupted, _) => "was interrupted".to_owned(),
            (Stop::WallTimeout(after) | Stop::IdleTimeout(after), _) => {
                format!("timed out after {}", duration(after))
            }
            (_, Exit::Code(0)) => return None,
            (_, Exit::Code(code)) => format!("exited with code {code}"),
            (_, Exit::Signal(signal)) => format!("was killed by signal {signal}"),
        })
    }
}

/// A signal that asks a process to end in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSignal {
    Terminate,
    Kill,
    /// INT: some programs say more at their end when they are asked that way.
    Interrupt,
}

impl From<EndSignal> for Signal {
    fn from(signal: EndSignal) -> Self {
        match signal {
            EndSignal::Terminate => Self::TERM,
            EndSignal::Interrupt => Self::INT,
            EndSignal::Kill => Self::KILL,
        }
    }
}

/// How the error begins where a program was not started because its sandbox could not be.
pub(crate) const SANDBOX_FAILED: &str = "the sandbox could not be set up";

#[derive(Debug, thiserror::Error)]
#[error("{}", spawn_message(program, source))]
pub struct SpawnError {
    pub program: String,
    pub source: std::io::Error,
}

fn spawn_message(program: &str, error: &std::io::Error) -> String {
    let is_missing = error.kind() == std::io::ErrorKind::NotFound;
    match limit_hint(error) {
        Some(hint) => format!("cannot start `{program}`: {hint}"),
        None if is_missing && !program.contains('/') => {
            format!("`{program}` is not installed or not on PATH")
        }
        None => format!("cannot start `{program}`: {error}"),
    }
}

/// What to look at where a limit of the system is the reason.
pub(crate) fn limit_hint(error: &std::io::Error) -> Option<&'static str> {
    use rustix::io::Errno;
    match error.raw_os_error().map(Errno::from_raw_os_error)? {
        Errno::AGAIN => Some("the process limit is reached; check `ulimit -u` and the container's limits"),
        Errno::MFILE | Errno::NFILE => Some("the open-file limit is reached; raise it with `ulimit -n 4096`"),
        Errno::NOMEM => Some("out of memory; check `free -m` and the container's limits"),
        _ => None,
    }
}

/// Runs a process to its end, as a child of this one.
pub fn run(
    launch: &Launch,
    limits: &ProcessLimits,
    interrupt: &Interrupt,
    watch: &mut dyn Watch,
) -> Result<Ended, SpawnError> {
    run_below(None, launch, limits, interrupt, watch)
}

/// Runs a process to its end, started by the guard where there is one.
pub fn run_below(
    guard: Option<&mut Guard>,
    launch: &Launch,
    limits: &ProcessLimits,
    interrupt: &Interrupt,
    watch: &mut dyn Watch,
) -> Result<Ended, SpawnError> {
    #[cfg(test)]
    if let Some(played) = super::tests::played(launch) {
        watch.output(Stream::Out, played.output.as_bytes());
        return Ok(Ended { exit: played.exit, stop: played.stop, left_overs: 0 });
    }
    let mut watch = ConfinedWatch::new(watch, launch.confined.as_ref());
    let failed = |source| SpawnError { program: launch.program.clone(), source };
    let mut child: Box<dyn Supervised + '_> = match guard {
        Some(guard) => match guard.launch(launch) {
            Ok(child) => Box::new(child),
            // The process was quick to kill the guard that had just started it.
            Err(LaunchError::GuardLost) => {
                return Ok(Ended {
                    exit: Exit::Code(-1),
                    stop: Stop::GuardLost,
                    left_overs: sweep::end_left_overs(limits.grace, interrupt, None),
                });
            }
            Err(LaunchError::NotStarted(source)) => return Err(failed(source)),
        },
        None => Box::new(command(launch).spawn().map_err(failed)?),
    };
    let mut ended =
        run_to_end(child.as_mut(), &launch.stdin, limits, interrupt, &mut watch, LeftOvers::AreEnded);
    ended.stop = match ended.stop {
        Stop::Exited if was_told_to_stop(ended.exit) && is_interrupted_soon(interrupt) => Stop::Interrupted,
        stop => stop,
    };
    ended.left_overs += sweep::end_left_overs(limits.grace, interrupt, None);
    match (&launch.confined, watch.failure()) {
        (Some(Confined { program, .. }), Some(why)) if ended.stop == Stop::Exited => {
            let source = std::io::Error::other(format!("{SANDBOX_FAILED}: {why}"));
            Err(SpawnError { program: program.clone(), source })
        }
        _ => Ok(ended),
    }
}

/// Runs a process to its end beside the attempts, on another thread than theirs. No sweep after an attempt touches it, and it sweeps nothing; what it leaves behind is
/// ended after the next attempt, or by who waits for the end of all.
pub fn run_exempt(
    launch: &Launch,
    limits: &ProcessLimits,
    interrupt: &Interrupt,
    watch: &mut dyn Watch,
) -> Result<Ended, SpawnError> {
    let mut command = command(launch);
    end_with_us(&mut command);
    let failed = |source| SpawnError { program: launch.program.clone(), source };
    let mut exempt = ExemptChild::start(&mut command, Exemption::WithDescendants).map_err(failed)?;
    Ok(run_to_end(exempt.child(), &launch.stdin, limits, interrupt, watch, LeftOvers::AreLeft))
}

/// Has the kernel send TERM to the process when the thread that starts it is gone, be it by kill -9 of Ralph. That thread
/// waits for the process, so nothing else ends it early.
pub(crate) fn end_with_us(command: &mut Command) {
    #[cfg(target_os = "linux")]
    // SAFETY: between fork and exec only one system call is made, which takes no lock and allocates nothing.
    unsafe {
        command.pre_exec(|| {
            let term = Some(Signal::TERM);
            Ok(rustix::process::set_parent_process_death_signal(term)?)
        });
    }
}

/// What happens to processes that hold the child's pipes after its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftOvers {
    AreEnded,
    AreLeft,
}

/// Supervises a child until it has ended, and takes note of its end.
pub(crate) fn run_to_end(
    child: &mut dyn Supervised,
    stdin: &str,
    limits: &ProcessLimits,
    interrupt: &Interrupt,
    watch: &mut dyn Watch,
    left: LeftOvers,
) -> Ended {
    watch.started(child.pid());
    let mut pipes = Pipes::of(child, stdin);
    let (stop, left_overs) = supervise(&mut pipes, child, limits, interrupt, watch, left);
    drop(pipes);
    Ended { exit: child.reap(), stop, left_overs }
}

/// How Ralph's own settings are named in the environment.
const OWN_SETTINGS: &str = "RALPH_SET_";
/// The store's address, which may hold a password.
const OWN_STORE: &str = "RALPH_STORE";

/// The settings of this run that stand in the environment. Agents and gates do not get them: some are
/// secret, and a Ralph that they start has settings of its own. What acts for the person (hooks, commands
/// for notices) is given them again.
/// Whether a variable is one of these.
pub(crate) fn is_own_setting(name: &str) -> bool {
    name.starts_with(OWN_SETTINGS) || name == OWN_STORE
}

pub fn own_settings() -> impl Iterator<Item = (String, OsString)> {
    std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        is_own_setting(&name).then_some((name, value))
    })
}

/// What waits for a confined program outside its box is to live until the program has answered a signal that asks it to end.
fn shield(command: &mut Command) {
    // SAFETY: between fork and exec only system calls are made, which take no lock and allocate nothing.
    unsafe {
        command.pre_exec(|| {
            for signal in SHIELDED {
                libc::signal(signal, libc::SIG_IGN);
            }
            Ok(())
        });
    }
}

pub(super) fn command(launch: &Launch) -> Command {
    let mut command = Command::new(&launch.program);
    match &launch.confined {
        Some(_) => shield(command.env_clear()),
        None => own_settings().for_each(|(name, _)| _ = command.env_remove(name)),
    }
    command
        .args(&launch.args)
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&launch.cwd)
        .stdin(if launch.stdin.is_empty() { Stdio::null() } else { Stdio::piped() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Its own group: Ctrl-C in the terminal reaches Ralph alone, which then ends the child in order.
        .process_group(0);
    command
}

/// Passes output on until the process has ended and its pipes are closed; enforces the limits. Returns why it
/// ended and how many processes had to be ended so that the pipes would close.
fn supervise(
    pipes: &mut Pipes<'_>,
    child: &mut dyn Supervised,
    limits: &ProcessLimits,
    interrupt: &Interrupt,
    watch: &mut dyn Watch,
    left: LeftOvers,
) -> (Stop, usize) {
    let group = child.pid();
    let started = Instant::now();
    let mut last_output = started;
    let mut asked_to_end: Option<(Stop, Instant)> = None;
    let mut killed = false;
    let mut ended: Option<Instant> = None;
    let mut left_overs = 0;
    let mut swept = false;
    let mut guard_lost = false;
    loop {
        let happened = pipes.wait();
        if pipes.transfer(happened, watch) {
            last_output = Instant::now();
        }
        watch.tick();
        let state = match ended {
            None => child.state(),
            Some(_) => State::Running,
        };
        if state == State::GuardLost {
            // The process and everything it started are our own children by now.
            left_overs += sweep::end_left_overs(limits.grace, interrupt, None);
            (guard_lost, swept) = (true, true);
        }
        if state != State::Running {
            ended = Some(Instant::now());
            // Always readable from here on.
            pipes.ended = None;
        }
        let Some(at) = ended else {
            match asked_to_end {
                None => {
                    let why = due(limits, interrupt, watch, started, last_output);
                    asked_to_end = why.map(|why| (why, Instant::now()));
                    if asked_to_end.is_some() {
                        let _ = kill_process_group(group, watch.first_signal().into());
                    }
                }
                // KILL after the grace, and at once when asked twice.
                Some((_, at)) if !killed && (at.elapsed() >= limits.grace || interrupt.at_once()) => {
                    let _ = kill_process_group(group, Signal::KILL);
                    killed = true;
                }
                Some(_) => {}
            }
            continue;
        };
        if pipes.closed() {
            break;
        }
        // Whatever the child started in the background holds its pipes open.
        if at.elapsed() > PIPES_LINGER {
            // What is in a pipe whose writers have ended is read to its end, however slowly.
            let drained = last_output.elapsed() > PIPES_LINGER || at.elapsed() > MOST_DRAIN;
            match (left, swept) {
                (LeftOvers::AreLeft, _) => break,
                (LeftOvers::AreEnded, true) if drained => break,
                (LeftOvers::AreEnded, true) => continue,
                (LeftOvers::AreEnded, false) => {}
            }
            left_overs += sweep::end_left_overs(limits.grace, interrupt, Some(group));
            ended = Some(Instant::now());
            swept = true;
        }
    }
    let stop = match asked_to_end {
        Some((why, _)) => why,
        None if guard_lost => Stop::GuardLost,
        None => Stop::Exited,
    };
    (stop, left_overs)
}

/// Why a process has to end now.
fn due(
    limits: &ProcessLimits,
    interrupt: &Interrupt,
    watch: &dyn Watch,
    started: Instant,
    last_output: Instant,
) -> Option<Stop> {
    let silent = last_output.elapsed();
    if watch.concluded() && silent >= CONCLUDED_LINGER {
        Some(Stop::Exited)
    } else if let Some(why) = watch.ends() {
        Some(why)
    } else if interrupt.first().is_some() {
        Some(Stop::Interrupted)
    } else if started.elapsed() >= limits.wall {
        Some(Stop::WallTimeout(limits.wall))
    } else {
        limits.idle.filter(|idle| silent >= *idle).map(Stop::IdleTimeout)
    }
}

/// Whether a process ended the way it does when it is asked to.
fn was_told_to_stop(exit: Exit) -> bool {
    matches!(exit, Exit::Signal(1 | 2 | 15) | Exit::Code(129 | 130 | 143))
}

/// Whether Ralph is told to stop too. What stops a service or a container tells everybody at once, and the child may
/// be the quicker one to obey.
fn is_interrupted_soon(interrupt: &Interrupt) -> bool {
    let asked = Instant::now();
    while interrupt.first().is_none() {
        if asked.elapsed() >= BOTH_TOLD {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}
