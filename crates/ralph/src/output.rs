//! Writing to standard output without ever panicking: a closed pipe ends the output, not the program.

use std::io::{self, BufWriter, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

/// The first write that failed, but for a reader that left: it has what it wanted.
static FAILED: Mutex<Option<io::Error>> = Mutex::new(None);

/// Nobody takes what is printed any more: the reader left, or the disk is full.
static IN_VAIN: AtomicBool = AtomicBool::new(false);

fn written(result: io::Result<()>) {
    let Err(error) = result else { return };
    IN_VAIN.store(true, Ordering::Relaxed);
    if error.kind() != io::ErrorKind::BrokenPipe
        && let Ok(mut failed) = FAILED.lock()
    {
        failed.get_or_insert(error);
    }
}

/// Whether printing more is in vain.
pub fn is_in_vain() -> bool {
    IN_VAIN.load(Ordering::Relaxed)
}

/// Waits so long, but not for a reader that has left; whether it has.
pub fn nap(time: Duration) -> bool {
    let out = io::stdout();
    // Nothing is waited for: errors are told of unasked.
    let mut fds = [PollFd::new(&out, PollFlags::empty())];
    let time = Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    };
    let left = poll(&mut fds, Some(&time)).is_ok_and(|ready| ready > 0);
    left || is_in_vain()
}

/// Why standard output is not whole, if it is not: a full disk, mostly.
pub fn failed() -> Option<io::Error> {
    let flushed = io::stdout().flush();
    written(flushed);
    FAILED.lock().ok()?.take()
}

/// Prints a line.
pub fn line(text: impl std::fmt::Display) {
    written(writeln!(anstream::stdout().lock(), "{text}"));
}

/// Prints text as it is.
pub fn text(text: impl std::fmt::Display) {
    written(write!(anstream::stdout().lock(), "{text}"));
}

/// Prints bytes as they are, whatever they are.
pub fn bytes(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    written(out.write_all(bytes).and_then(|()| out.flush()));
}

/// Prints a line for people on standard error.
pub fn note(text: impl std::fmt::Display) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Prints one JSON document.
pub fn json(value: &impl Serialize) {
    // A long document has many lines, and each would be written by itself.
    let mut out = BufWriter::new(io::stdout().lock());
    let document = serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from);
    written(
        document
            .and_then(|()| out.write_all(b"\n"))
            .and_then(|()| out.flush()),
    );
}

/// Prints one JSON document on one line.
pub fn json_line(value: &impl Serialize) {
    let mut out = io::stdout().lock();
    let document = serde_json::to_writer(&mut out, value).map_err(io::Error::from);
    written(
        document
            .and_then(|()| out.write_all(b"\n"))
            .and_then(|()| out.flush()),
    );
}
