//! A worker of a run: a process of Ralph's own with a pipe each way. It ends when the pipe to it does.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::thread;

use std::os::unix::process::CommandExt;

use super::child::{ExemptChild, Exemption};
use super::sweep;

/// No line of a worker is longer than this; what is longer is passed over.
const MOST_LINE: u64 = 8 * 1024 * 1024;

#[derive(Debug)]
pub struct WorkerProcess {
    process: ExemptChild,
    orders: Option<ChildStdin>,
}

impl WorkerProcess {
    /// Starts one and tells it the first line. `on_line` is called on a thread of its own with every line that it prints, and
    /// with none at the end.
    pub fn start(
        command: &[OsString],
        first_line: &str,
        mut on_line: impl FnMut(Option<&[u8]>) + Send + 'static,
    ) -> io::Result<Self> {
        let (program, args) = command.split_first().ok_or(ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C is the supervisor's to deal with.
        command.process_group(0);
        let mut process = ExemptChild::start(&mut command, Exemption::WithDescendants)?;
        let child = process.child();
        let mut orders = child.stdin.take();
        let out = child.stdout.take().ok_or(ErrorKind::BrokenPipe)?;
        if let Some(orders) = &mut orders {
            orders.write_all(first_line.as_bytes())?;
            orders.write_all(b"\n")?;
        }
        let read = move || {
            let mut reader = BufReader::new(out);
            let mut line = Vec::new();
            loop {
                line.clear();
                match (&mut reader).take(MOST_LINE).read_until(b'\n', &mut line) {
                    Ok(1..) => on_line(Some(&line)),
                    Ok(0) | Err(_) => return on_line(None),
                }
            }
        };
        thread::Builder::new().name("worker".to_owned()).spawn(read)?;
        Ok(Self { process, orders })
    }

    pub fn id(&mut self) -> u32 {
        self.process.child().id()
    }

    /// One that has ended hears nothing.
    pub fn order(&mut self, order: u8) {
        if let Some(orders) = &mut self.orders {
            let _ = orders.write_all(&[order]).and_then(|()| orders.flush());
        }
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.process.child().try_wait(), Ok(None))
    }

    pub fn kill(&mut self) {
        let _ = self.process.child().kill();
        let _ = self.process.child().wait();
    }
}

/// Takes note of processes that were orphaned and have ended.
pub fn reap_orphans() {
    sweep::reap(None);
}
