//! Processes that run beside the attempts, on another thread than theirs.

use super::process::{
    Ended, LeftOvers, ProcessLimits, SpawnError, Watch, attend, command, spawn_error,
};
use super::spared::{Spared, SparedChild};
use super::{Interrupt, Launch};

/// Runs a process to its end. No sweep after an attempt touches it, and it sweeps nothing; what it leaves behind is
/// ended after the next attempt, or by who waits for the end of all.
pub fn run_aside(
    launch: &Launch,
    limits: &ProcessLimits,
    interrupt: &Interrupt,
    watch: &mut dyn Watch,
) -> Result<Ended, SpawnError> {
    let mut command = command(launch);
    end_with_us(&mut command);
    let mut spared = SparedChild::start(&mut command, Spared::WithDescendants)
        .map_err(|source| spawn_error(launch, source))?;
    Ok(attend(
        spared.child(),
        &launch.stdin,
        limits,
        interrupt,
        watch,
        LeftOvers::AreLeft,
    ))
}

/// Has the kernel send TERM to the process when the thread that starts it is gone, be it by kill -9 of Ralph. That thread
/// waits for the process, so nothing else ends it early.
fn end_with_us(command: &mut std::process::Command) {
    #[cfg(target_os = "linux")]
    // SAFETY: between fork and exec only one system call is made, which takes no lock and allocates nothing.
    unsafe {
        use std::os::unix::process::CommandExt;
        command.pre_exec(|| {
            let term = Some(rustix::process::Signal::TERM);
            Ok(rustix::process::set_parent_process_death_signal(term)?)
        });
    }
}
