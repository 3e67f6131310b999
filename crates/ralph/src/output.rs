//! Writing to standard output without ever panicking: a closed pipe ends the output, not the program.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::command_error::CommandResult;

#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Json {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The first write that failed, but for a reader that left: it has what it wanted.
static FAILED: Mutex<Option<io::Error>> = Mutex::new(None);

/// The reader left, or the disk is full.
static CLOSED: AtomicBool = AtomicBool::new(false);

fn written(result: io::Result<()>) {
    let Err(error) = result else { return };
    CLOSED.store(true, Ordering::Relaxed);
    if error.kind() != io::ErrorKind::BrokenPipe
        && let Ok(mut failed) = FAILED.lock()
    {
        failed.get_or_insert(error);
    }
}

/// Whether nobody can read what is printed from now on.
pub fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Waits so long, or until the reader leaves; whether it has left.
pub fn wait_unless_closed(time: Duration) -> bool {
    let out = io::stdout();
    // Nothing is waited for: errors are told of unasked.
    let mut fds = [PollFd::new(&out, PollFlags::empty())];
    if poll(&mut fds, Timespec::try_from(time).ok().as_ref()).is_ok_and(|ready| ready > 0) {
        CLOSED.store(true, Ordering::Relaxed);
    }
    is_closed()
}

/// Why standard output is not whole, if it is not: a full disk, mostly.
pub fn failed() -> Option<io::Error> {
    let flushed = io::stdout().flush();
    written(flushed);
    FAILED.lock().ok()?.take()
}

pub fn line(text: impl std::fmt::Display) {
    written(writeln!(anstream::stdout().lock(), "{text}"));
}

pub fn text(text: impl std::fmt::Display) {
    written(write!(anstream::stdout().lock(), "{text}"));
}

/// Prints a labeled value, in the column where all such values stand.
pub fn field(label: &str, value: impl std::fmt::Display) {
    line(format_args!("{label:<10} {value}"));
}

pub fn bytes(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    written(out.write_all(bytes).and_then(|()| out.flush()));
}

/// Notes that wait for a screen to show them; none where nobody draws.
static HELD: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// From now on notes are kept for [`held_notes`]: printed, they would stand in the middle of what is drawn.
pub fn hold_notes() {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
}

/// The notes since the last time. They are printed again where `hold` is false.
pub fn held_notes(hold: bool) -> Vec<String> {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if hold { held.as_mut().map(std::mem::take).unwrap_or_default() } else { held.take().unwrap_or_default() }
}

/// Prints a line for people on standard error.
pub fn note(text: impl std::fmt::Display) {
    if let Some(held) = HELD.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        return held.push(text.to_string());
    }
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Prints JSON if a program reads the output, else what `text` prints for people.
pub fn print(json: bool, value: &impl Serialize, text: impl FnOnce()) -> CommandResult {
    if json {
        self::json(value)
    } else {
        text()
    }
    Ok(ExitCode::SUCCESS)
}

/// The same for rows: `text` gives a table, and `none` is the note for people where there is nothing to list.
pub fn list<T: Serialize>(
    json: bool,
    rows: &[T],
    none: &str,
    text: impl FnOnce() -> String,
) -> CommandResult {
    print(json, &rows, || if rows.is_empty() { note(none) } else { self::text(text()) })
}

pub fn json(value: &impl Serialize) {
    // A long document has many lines, and each would be written by itself.
    let mut out = BufWriter::new(io::stdout().lock());
    let document = serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from);
    end_line(document, out);
}

pub fn json_line(value: &impl Serialize) {
    let mut out = io::stdout().lock();
    let document = serde_json::to_writer(&mut out, value).map_err(io::Error::from);
    end_line(document, out);
}

fn end_line(document: io::Result<()>, mut out: impl Write) {
    let ended = document.and_then(|()| out.write_all(b"\n"));
    written(ended.and_then(|()| out.flush()));
}
