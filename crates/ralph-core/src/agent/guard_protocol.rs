//! The messages between Ralph and its guard, over a pair of connected sockets.
//!
//! Each order is one byte, so that sending one never waits for a guard that was stopped. What is to be launched may be as
//! large as an environment: it travels in a file of its own, whose descriptor goes with the order.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, send, sendmsg,
};

use super::{Confined, Exit, Launch};

const LAUNCH: u8 = b'L';
/// The process that was launched need not be kept in the process table any longer.
pub(super) const RELEASE: u8 = b'R';
/// Ralph ends as it should.
pub(super) const DISMISS: u8 = b'D';
/// The file with the launch, and the three standard streams.
const DESCRIPTORS: usize = 4;

pub(super) enum Order {
    Launch(io::Result<Launch>, [OwnedFd; 3]),
    Release,
    Dismiss,
}

/// What the guard tells Ralph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// The launched process has this id.
    Started(i32),
    /// It could not be started, for this reason of the system's.
    NotStarted(i32),
    Ended(Exit),
}

pub(super) const REPORT: usize = 5;

impl Report {
    pub(super) fn encode(self) -> [u8; REPORT] {
        let (tag, value) = match self {
            Self::Started(pid) => (b's', pid),
            Self::NotStarted(errno) => (b'n', errno),
            Self::Ended(Exit::Code(code)) => (b'c', code),
            Self::Ended(Exit::Signal(signal)) => (b'k', signal),
        };
        let [a, b, c, d] = value.to_le_bytes();
        [tag, a, b, c, d]
    }

    pub(super) fn decode(bytes: [u8; REPORT]) -> Option<Self> {
        let [tag, a, b, c, d] = bytes;
        let value = i32::from_le_bytes([a, b, c, d]);
        match tag {
            b's' => Some(Self::Started(value)),
            b'n' => Some(Self::NotStarted(value)),
            b'c' => Some(Self::Ended(Exit::Code(value))),
            b'k' => Some(Self::Ended(Exit::Signal(value))),
            _ => None,
        }
    }
}

pub(super) fn launch_file(launch: &Launch) -> io::Result<File> {
    let mut file = scratch_file()?;
    file.write_all(&encode(launch)?)?;
    file.rewind().map(|()| file)
}

pub(super) fn send_launch(channel: impl AsFd, file: &File, streams: [BorrowedFd<'_>; 3]) -> io::Result<()> {
    let [stdin, stdout, stderr] = streams;
    let descriptors = [file.as_fd(), stdin, stdout, stderr];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(ErrorKind::InvalidInput.into());
    }
    sendmsg(channel, &[IoSlice::new(&[LAUNCH])], &mut control, flags())?;
    Ok(())
}

pub(super) fn send_order(channel: impl AsFd, order: u8) -> io::Result<()> {
    send(channel, &[order], flags())?;
    Ok(())
}

pub(super) fn send_report(channel: impl AsFd, report: Report) -> io::Result<()> {
    let bytes = report.encode();
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        match send(&channel, rest, flags()) {
            Ok(sent) => rest = rest.get(sent..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A peer that is gone is an error, not a signal.
#[cfg(target_os = "linux")]
fn flags() -> SendFlags {
    SendFlags::NOSIGNAL
}

#[cfg(not(target_os = "linux"))]
fn flags() -> SendFlags {
    SendFlags::empty()
}

/// Waits for the next order; none when Ralph is gone.
pub(super) fn receive(channel: impl AsFd) -> io::Result<Option<Order>> {
    let mut byte = [0_u8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut byte)];
    let received = recvmsg(channel, &mut parts, &mut control, RecvFlags::empty())?;
    if received.bytes == 0 {
        return Ok(None);
    }
    let sent = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(sent) => Some(sent),
        _ => None,
    });
    let descriptors: Vec<OwnedFd> = sent.flatten().collect();
    match byte {
        [DISMISS] => Ok(Some(Order::Dismiss)),
        [RELEASE] => Ok(Some(Order::Release)),
        _ => {
            // Nothing is started in between: the guard has one thread.
            for descriptor in &descriptors {
                fcntl_setfd(descriptor, FdFlags::CLOEXEC)?;
            }
            let descriptors = <[OwnedFd; DESCRIPTORS]>::try_from(descriptors);
            let [file, stdin, stdout, stderr] =
                descriptors.map_err(|_| io::Error::from(ErrorKind::InvalidData))?;
            let mut bytes = Vec::new();
            let launch = File::from(file).read_to_end(&mut bytes).and_then(|_| decode(&bytes));
            Ok(Some(Order::Launch(launch, [stdin, stdout, stderr])))
        }
    }
}

#[cfg(target_os = "linux")]
fn scratch_file() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(File::from(memfd_create("launch", MemfdFlags::CLOEXEC)?))
}

#[cfg(not(target_os = "linux"))]
fn scratch_file() -> io::Result<File> {
    tempfile::tempfile()
}

/// A launch as it is sent. Standard input is a descriptor, and what may be touched is settled before.
type SentLaunch = (String, OsString, Vec<String>, Vec<(String, OsString)>, bool);

fn encode(launch: &Launch) -> io::Result<Vec<u8>> {
    let (cwd, env) = (launch.cwd.as_os_str(), &launch.env);
    Ok(serde_json::to_vec(&(&launch.program, cwd, &launch.args, env, launch.confined.is_some()))?)
}

fn decode(bytes: &[u8]) -> io::Result<Launch> {
    let (program, cwd, args, env, confined): SentLaunch = serde_json::from_slice(bytes)?;
    Ok(Launch {
        program,
        args,
        env,
        cwd: cwd.into(),
        stdin: String::new(),
        confined: confined.then(Confined::default),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_launch_arrives_as_it_was_sent(
            program in ".*",
            args in prop::collection::vec(".*", 0..5),
            cwd in prop::collection::vec(any::<u8>(), 0..20),
            env in prop::collection::vec((".*", prop::collection::vec(any::<u8>(), 0..20)), 0..5),
            confined in any::<bool>(),
        ) {
            let launch = Launch {
                program,
                args,
                env: env.into_iter().map(|(name, value)| (name, OsString::from_vec(value))).collect(),
                cwd: OsString::from_vec(cwd).into(),
                stdin: String::new(),
                confined: confined.then(Confined::default),
            };
            let bytes = encode(&launch).unwrap();
            prop_assert_eq!(decode(&bytes).unwrap(), launch);
        }

        #[test]
        fn bytes_that_are_no_launch_are_refused_quietly(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }

        #[test]
        fn a_report_arrives_as_it_was_sent(value in any::<i32>()) {
            for report in [
                Report::Started(value),
                Report::NotStarted(value),
                Report::Ended(Exit::Code(value)),
                Report::Ended(Exit::Signal(value)),
            ] {
                prop_assert_eq!(Report::decode(report.encode()), Some(report));
            }
        }
    }
}
