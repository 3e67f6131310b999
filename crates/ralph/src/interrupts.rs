//! INT and TERM: the first asks the run to end in order, the second at once.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use ralph_core::agent::{Interrupt, Signal};
use ralph_core::exit::RunExit;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::command_error::CommandError;
use crate::ui::keys;

/// How long the second signal leaves for the record of the attempt.
const AT_ONCE: Duration = Duration::from_secs(3);

static HEARD: OnceLock<Interrupt> = OnceLock::new();

pub fn told_to_stop() -> bool {
    HEARD.get().is_some_and(|heard| heard.first().is_some())
}

pub fn listen() -> Result<Interrupt, CommandError> {
    let mut wanted = vec![SIGINT, SIGTERM];
    if !hangup_is_ignored() {
        wanted.push(SIGHUP);
    }
    let mut signals = Signals::new(wanted).map_err(unhandled)?;
    // The parent process may have ignored the end of children; then no exit code would reach us.
    if is_ignored(SIGCHLD) {
        signal_hook::flag::register(SIGCHLD, Arc::new(AtomicBool::new(false))).map_err(unhandled)?;
    }
    let interrupt = Interrupt::default();
    let raised = interrupt.clone();
    let _ = HEARD.set(interrupt.clone());
    let listener = move || {
        for signal in &mut signals {
            match signal {
                SIGINT => raise(&raised, Signal::Interrupt),
                SIGHUP => {
                    raised.hang_up();
                    if raised.at_once() {
                        end_soon(&raised);
                    }
                }
                _ => raise(&raised, Signal::Terminate),
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(listener).map_err(|error| {
        CommandError::environment(format_args!("cannot start a thread: {error}"))
            .hint("the process limit is reached; check `ulimit -u` and the container's limits")
    })?;
    Ok(interrupt)
}

/// Tells this process to stop, as a signal does.
pub fn raise(interrupt: &Interrupt, signal: Signal) {
    interrupt.raise(signal);
    if interrupt.at_once() {
        end_soon(interrupt);
    }
}

/// From now on Ctrl-C ends this program at once and quietly, even while it waits for a reader. For commands that only look.
pub fn quit_on_interrupt() -> Result<(), CommandError> {
    let code = i32::from(RunExit::Interrupted(Signal::Interrupt).code());
    let always = Arc::new(AtomicBool::new(true));
    signal_hook::flag::register_conditional_shutdown(SIGINT, code, always).map(|_| ()).map_err(unhandled)
}

fn unhandled(error: io::Error) -> CommandError {
    CommandError::environment(format_args!("cannot handle signals: {error}"))
}

/// From now on no signal that asks a process to end does anything here. Programs that are started from here are not
/// affected: a handler, other than an ignored signal, is not inherited.
pub fn outlive() -> Result<(), CommandError> {
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        if !is_ignored(signal) {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).map_err(unhandled)?;
        }
    }
    Ok(())
}

/// Whatever still holds the run up, a hung disk or a hung git, is not waited for. The guard ends what is left, and the
/// next run finds the attempt.
fn end_soon(interrupt: &Interrupt) {
    let exit = interrupt.first().map_or(RunExit::Error, RunExit::Interrupted);
    let code = i32::from(exit.code());
    let end = move || {
        thread::sleep(AT_ONCE);
        keys::restore_terminal();
        std::process::exit(code);
    };
    // Without a thread that could wait, there is no time left for the record.
    if thread::Builder::new().spawn(end).is_err() {
        std::process::exit(code);
    }
}

/// Whether this process was started to outlive its terminal, as with nohup.
pub fn hangup_is_ignored() -> bool {
    is_ignored(SIGHUP)
}

fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(signal - 1).is_ok_and(|bit| mask & (1 << bit) != 0)
}
