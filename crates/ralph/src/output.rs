//! Writing to standard output without ever panicking: a closed pipe ends the output, not the program.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

/// Prints a line.
pub fn line(text: impl std::fmt::Display) {
    let _ = writeln!(anstream::stdout().lock(), "{text}");
}

/// Prints text as it is.
pub fn text(text: impl std::fmt::Display) {
    let _ = write!(anstream::stdout().lock(), "{text}");
}

/// Prints a line for people on standard error.
pub fn note(text: impl std::fmt::Display) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Prints one JSON document.
pub fn json(value: &impl Serialize) {
    // A long document has many lines, and each would be written by itself.
    let mut out = BufWriter::new(io::stdout().lock());
    let _ = serde_json::to_writer_pretty(&mut out, value);
    let _ = out.write_all(b"\n");
}

/// Prints one JSON document on one line.
pub fn json_line(value: &impl Serialize) {
    let mut out = io::stdout().lock();
    let _ = serde_json::to_writer(&mut out, value);
    let _ = out.write_all(b"\n");
    let _ = out.flush();
}
