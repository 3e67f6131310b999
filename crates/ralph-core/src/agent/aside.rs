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
    let mut spared = SparedChild::start(&mut command(launch), Spared::WithDescendants)
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
