//! What a confined process puts on itself before it becomes the program: limits, rules of the kernel, a filter of system
//! calls. It runs as Ralph's own program, started in the place of the launch's.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};

use super::forward;
use super::landlock::Rules;
use super::settings::Limits;
use crate::agent::PROGRAM_STARTS;
use crate::files::{Links, open};

/// The first word of a command line that is meant for [`start_inside`].
pub(super) const COMMAND: &str = "box-start";

/// How much of a script is read for its first line, at most.
const SCRIPT_HEAD: u64 = 256;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inner {
    pub limits: Limits,
    /// Rules for files; none where mounts do that.
    pub rules: Option<Rules>,
    pub forward: Option<Forward>,
    /// Whether no socket of the internet may be made.
    pub no_sockets: bool,
}

/// Connections to a port of the box's own loopback are passed on to this socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forward {
    pub socket: PathBuf,
    /// Whether what is asked of the loopback is passed on as well: the list names the machine itself.
    pub with_loopback: bool,
}

impl Inner {
    /// The words of a command line that starts a program in this way.
    pub(super) fn command(&self, ralph: &Path, program: &str, args: &[String]) -> io::Result<Vec<String>> {
        let order = serde_json::to_string(self).map_err(|error| match self.odd_path() {
            Some(path) => io::Error::other(format!("the name of {} is not UTF-8", path.display())),
            None => error.into(),
        })?;
        let mut words =
            vec![ralph.to_string_lossy().into_owned(), COMMAND.to_owned(), order, program.to_owned()];
        words.extend(args.iter().cloned());
        Ok(words)
    }

    /// A path that no order can name.
    fn odd_path(&self) -> Option<&PathBuf> {
        let paths =
            self.rules.iter().flat_map(|rules| [&rules.writable, &rules.hidden, &rules.shown, &rules.used]);
        paths.flatten().find(|path| path.to_str().is_none())
    }
}

/// Where a command line says so, becomes a program, confined as the order says, with the variables that lead to the proxy.
/// It returns only where that fails, or where the command line is another one.
pub fn start_inside(args: impl IntoIterator<Item = OsString>) -> Option<io::Error> {
    let mut args = args.into_iter().skip(1);
    args.next().filter(|word| word == COMMAND)?;
    let (Some(order), Some(program)) = (args.next(), args.next()) else {
        return Some(io::ErrorKind::InvalidInput.into());
    };
    let order = order.to_string_lossy();
    if forward::is_forwarder(&order) {
        return Some(forward::run(Path::new(&program)));
    }
    let ready = confine(&order).and_then(|variables| {
        check_program(Path::new(&program))?;
        io::stderr().write_all(PROGRAM_STARTS)?;
        Ok(variables)
    });
    Some(match ready {
        Ok(variables) => Command::new(&program).args(args).envs(variables).exec(),
        Err(error) => error,
    })
}

/// A program, or what interprets it, may be hidden in the box: that is no fault of the program's.
fn check_program(program: &Path) -> io::Result<()> {
    let start = start_of(program)?;
    let line = start.strip_prefix(b"#!").and_then(|rest| rest.split(|byte| *byte == b'\n').next());
    let words = line.map(|line| line.trim_ascii().split(u8::is_ascii_whitespace));
    match words.and_then(|mut words| words.next()).filter(|word| word.starts_with(b"/")) {
        Some(interpreter) => start_of(Path::new(OsStr::from_bytes(interpreter))).map(drop),
        None => Ok(()),
    }
}

/// The first bytes of a program; nothing of one that may be executed and not read. By rights alone a program that Landlock hides
/// could be read: only opening it tells.
fn start_of(program: &Path) -> io::Result<Vec<u8>> {
    let failed = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", program.display()));
    access(program, Access::EXEC_OK).map_err(|error| failed(error.into()))?;
    if access(program, Access::READ_OK).is_err() {
        return Ok(Vec::new());
    }
    let mut start = Vec::new();
    let file = open(program, Links::Follow).map_err(failed)?;
    file.take(SCRIPT_HEAD).read_to_end(&mut start).map(|_| start)
}

#[cfg(not(target_os = "linux"))]
fn confine(_order: &str) -> io::Result<Vec<(&'static str, OsString)>> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
fn confine(order: &str) -> io::Result<Vec<(&'static str, OsString)>> {
    let inner: Inner = serde_json::from_str(order)?;
    close_inherited();
    // Before this process answers signals: what passes connections on is to live until the box ends.
    let variables = match &inner.forward {
        Some(forward) => forward::start(forward)?,
        None => Vec::new(),
    };
    default_signals();
    set_limits(&inner.limits)?;
    super::landlock::restrict(inner.rules.as_ref())?;
    super::syscalls::filter(inner.no_sockets, inner.rules.is_some())?;
    Ok(variables)
}

/// Whoever waits for this process outside ignores these, so that only the program answers them.
#[cfg(target_os = "linux")]
fn default_signals() {
    for signal in super::SHIELDED {
        // SAFETY: sets the default action, with no handler of ours involved.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Descriptors that somebody forgot to close lead out of the box.
#[cfg(target_os = "linux")]
fn close_inherited() {
    // SAFETY: marks descriptors above the standard streams; none of them is in use after the program is replaced.
    let marked = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if marked == 0 {
        return;
    }
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let open: Vec<i32> = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // SAFETY: as above.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

#[cfg(target_os = "linux")]
fn set_limits(limits: &Limits) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let all = [
        (Resource::Nproc, limits.processes.map(u64::from)),
        // Not the address space: some programs reserve far more of it than they ever use.
        (Resource::Data, limits.memory),
        (Resource::Fsize, limits.file),
        // A core file is as large as the memory, and holds what was in it.
        (Resource::Core, Some(0)),
    ];
    for (resource, limit) in all {
        let Some(limit) = limit else { continue };
        let most = getrlimit(resource).maximum.map_or(limit, |most| most.min(limit));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_no_order_can_name_is_told() {
        let hidden = [PathBuf::from(OsStr::from_bytes(b"/home/\xff"))].into();
        let inner = Inner { rules: Some(Rules { hidden, ..Rules::default() }), ..Inner::default() };
        let error = inner.command(Path::new("/ralph"), "/bin/true", &[]).unwrap_err();
        assert!(error.to_string().starts_with("the name of /home/"), "{error}");
        assert!(Inner::default().command(Path::new("/ralph"), "/bin/true", &[]).is_ok());
    }
}
