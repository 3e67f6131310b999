//! The pipes to a child: waited for together, read and written without ever waiting for one of them.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::child::Supervised;
use super::process::{Stream, Watch};

/// How often the loop looks up from waiting for output, to see signals and limits.
const LOOK_UP: Duration = Duration::from_millis(50);
/// The buffer for output: small at first, larger when it is filled.
const FIRST_CHUNK: usize = 4 * 1024;
const LARGEST_CHUNK: usize = 64 * 1024;
/// Room for output that nobody has read yet. Programs on Node lose at their exit what their pipe has no room for, and some
/// repeat the whole prompt.
#[cfg(target_os = "linux")]
const ROOM: usize = 1024 * 1024;

pub(super) struct Pipes<'p> {
    out: Option<File>,
    err: Option<File>,
    stdin: Option<(File, &'p [u8])>,
    /// Wakes the loop when the child ends; where there is no such thing, the loop looks by itself.
    pub(super) ended: Option<OwnedFd>,
    buffer: Vec<u8>,
}

impl<'p> Pipes<'p> {
    pub(super) fn of(child: &mut dyn Supervised, prompt: &'p str) -> Self {
        let ends = child.take_streams();
        let stdin = ends.stdin.map(|pipe| (File::from(pipe), prompt.as_bytes()));
        if let Some((pipe, _)) = &stdin {
            // A child that does not read its prompt must not hold us up.
            let _ = fcntl_getfl(pipe).and_then(|flags| fcntl_setfl(pipe, flags | OFlags::NONBLOCK));
        }
        if let Some(pipe) = &ends.out {
            make_room(pipe);
        }
        Self {
            out: ends.out.map(File::from),
            err: ends.err.map(File::from),
            stdin,
            ended: child.end_notice(),
            buffer: vec![0; FIRST_CHUNK],
        }
    }

    pub(super) fn closed(&self) -> bool {
        self.out.is_none() && self.err.is_none()
    }

    /// Waits until something can be read or written, the child ends, or it is time to look up.
    pub(super) fn wait(&self) -> [PollFlags; 3] {
        let pipes = [
            self.out.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)),
            self.err.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)),
            self.stdin.as_ref().map(|(pipe, _)| PollFd::new(pipe, PollFlags::OUT)),
        ];
        let is_open = pipes.each_ref().map(Option::is_some);
        let ended = self.ended.as_ref().map(|notice| PollFd::new(notice, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = pipes.into_iter().chain([ended]).flatten().collect();
        let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK_UP.subsec_nanos().into() };
        // An interrupted wait is a reason to look up, like any other; nothing has happened then.
        let _ = poll(&mut fds, Some(&timeout));
        let mut happened = fds.iter().map(PollFd::revents);
        is_open.map(|is_open| is_open.then(|| happened.next()).flatten().unwrap_or(PollFlags::empty()))
    }

    /// Reads and writes what can be without waiting. `true` if there was output.
    pub(super) fn transfer(&mut self, happened: [PollFlags; 3], watch: &mut dyn Watch) -> bool {
        let [out, err, stdin] = happened;
        let mut output = false;
        for (flags, pipe, stream) in [(out, &mut self.out, Stream::Out), (err, &mut self.err, Stream::Err)] {
            let Some(reader) = pipe.as_mut().filter(|_| !flags.is_empty()) else { continue };
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
                // It closed its standard input, which is no error.
                Err(_) => *prompt = &[],
            }
            if prompt.is_empty() {
                self.stdin = None;
            }
        }
        output
    }
}

/// Enlarges a pipe where the system lets us.
#[cfg(target_os = "linux")]
fn make_room(pipe: impl AsFd) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, ROOM);
}

#[cfg(not(target_os = "linux"))]
fn make_room(_pipe: impl AsFd) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_child_that_cannot_wait_loses_nothing_at_its_exit() {
        // More than a pipe holds by itself, in one write that does not wait.
        let write = "dd if=/dev/zero bs=300000 count=1 oflag=nonblock 2>/dev/null";
        let mut child = Command::new("sh")
            .args(["-c", &format!("read go; {write}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipes = Pipes::of(&mut child, "go\n");
        while pipes.stdin.is_some() {
            struct Nobody;
            impl Watch for Nobody {
                fn output(&mut self, _stream: Stream, _chunk: &[u8]) {}
            }
            let happened = pipes.wait();
            pipes.transfer([PollFlags::empty(), PollFlags::empty(), happened[2]], &mut Nobody);
        }
        child.wait().unwrap();
        let mut all = Vec::new();
        pipes.out.unwrap().read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), 300_000);
    }
}
