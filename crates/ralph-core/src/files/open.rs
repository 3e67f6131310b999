//! The one way to open a file that an agent can reach.
//!
//! An agent may put anything in the place of a file that Ralph reads: a named pipe that blocks for ever, a device, a
//! sparse file of terabytes, a link to somebody else's file. So a file is opened without blocking, must be a regular one,
//! and is read up to a limit, even if it grows meanwhile.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

/// What to do about links on the way to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Follow them: a person named the file.
    Follow,
    /// Refuse them, in every part of the path: it was resolved before.
    Refuse,
}

/// The largest file of a kind that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    mib: u64,
}

impl Limit {
    /// Settings, templates and small notes of Ralph's own.
    pub const SETTINGS: Self = Self { mib: 4 };
    /// Plans, AGENTS.md and what stands beside them.
    pub const TEXT: Self = Self { mib: 64 };
    /// Git's index; that of a very large repository has hundreds of MiB.
    pub const GIT_INDEX: Self = Self { mib: 1024 };

    const fn bytes(self) -> u64 {
        self.mib * 1024 * 1024
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Reading it could block, or never end.
    #[error("not a regular file but {0}; move it away")]
    NotRegular(&'static str),
    #[error("larger than {} MiB, the most Ralph reads of such a file; shorten it or move it away", .0.mib)]
    TooLarge(Limit),
    /// Where it leads changed since the run began.
    #[error(
        "a symbolic link to {now}, but it led to {before} when the run started; Ralph does not follow links \
         that change during a run"
    )]
    LinkAppeared { before: String, now: String },
    /// A link was put in its place at this very moment.
    #[error("a symbolic link, which Ralph does not follow here; replace it with the file itself")]
    Link,
    #[error("a broken symbolic link")]
    Dangling,
    /// It is not where Ralph keeps such files.
    #[error("not inside {0}; Ralph does not open it")]
    Elsewhere(&'static str),
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> Self {
        Self::new(io::ErrorKind::InvalidInput, refused)
    }
}

/// Opens a regular file for reading; nothing is said of its size.
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    open_as(path, links, OFlags::RDONLY)
}

/// The same with further flags.
pub(crate) fn open_as(path: &Path, links: Links, flags: OFlags) -> io::Result<File> {
    // Opening some devices does something already.
    let meta = match links {
        Links::Follow => std::fs::metadata(path),
        Links::Refuse => std::fs::symlink_metadata(path),
    };
    match meta {
        Ok(meta) => regular(FileType::from_raw_mode(std::os::unix::fs::MetadataExt::mode(&meta)))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let flags = flags | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let opened = match links {
        Links::Follow => rustix::fs::open(path, flags, Mode::from_raw_mode(0o600)),
        Links::Refuse => open_without_links(path, flags),
    };
    let file = match opened {
        Ok(file) => File::from(file),
        Err(Errno::LOOP) if links == Links::Refuse || flags.contains(OFlags::NOFOLLOW) => {
            return Err(Refused::Link.into());
        }
        Err(error) => return Err(error.into()),
    };
    regular(FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode))?;
    Ok(file)
}

#[cfg(target_os = "linux")]
fn open_without_links(path: &Path, flags: OFlags) -> rustix::io::Result<rustix::fd::OwnedFd> {
    use rustix::fs::{CWD, ResolveFlags, openat2};
    let mode = if flags.contains(OFlags::CREATE) { Mode::from_raw_mode(0o600) } else { Mode::empty() };
    match openat2(CWD, path, flags, mode, ResolveFlags::NO_SYMLINKS) {
        // An old kernel, or a sandbox that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => open_looking_at_each_part(path, flags),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_without_links(path: &Path, flags: OFlags) -> rustix::io::Result<rustix::fd::OwnedFd> {
    open_looking_at_each_part(path, flags)
}

fn open_looking_at_each_part(path: &Path, flags: OFlags) -> rustix::io::Result<rustix::fd::OwnedFd> {
    if path.ancestors().any(Path::is_symlink) {
        return Err(Errno::LOOP);
    }
    rustix::fs::open(path, flags | OFlags::NOFOLLOW, Mode::from_raw_mode(0o600))
}

/// Refuses what is at a path unless it is a regular file or nothing.
pub(crate) fn refuse_irregular(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(meta) => Ok(regular(FileType::from_raw_mode(std::os::unix::fs::MetadataExt::mode(&meta)))?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn regular(kind: FileType) -> Result<(), Refused> {
    Err(match kind {
        FileType::RegularFile => return Ok(()),
        FileType::Symlink => Refused::Link,
        FileType::Directory => Refused::NotRegular("a directory"),
        FileType::Fifo => Refused::NotRegular("a named pipe"),
        FileType::Socket => Refused::NotRegular("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Refused::NotRegular("a device"),
        FileType::Unknown => Refused::NotRegular("something else"),
    })
}

/// What a regular file holds, if it is not too large.
pub fn read(path: &Path, links: Links, limit: Limit) -> io::Result<Vec<u8>> {
    read_all(open(path, links)?, limit)
}

/// What a file that was opened here holds, if it is not too large.
pub(crate) fn read_all(file: File, limit: Limit) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    if size > limit.bytes() {
        return Err(Refused::TooLarge(limit).into());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // It may grow while it is read.
    file.take(limit.bytes() + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit.bytes() {
        return Err(Refused::TooLarge(limit).into());
    }
    Ok(bytes)
}

pub fn read_text(path: &Path, links: Links, limit: Limit) -> io::Result<String> {
    String::from_utf8(read(path, links, limit)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Makes a file that is not there yet, readable by its owner only. What has that name is removed first: a link, not what
/// it leads to.
pub(crate) fn create_anew(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    open_as(
        path,
        Links::Follow,
        // Together they never follow a link at the end of the path.
        OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
    )
}

/// Where a path leads, through every link on the way; a file that is not there yet would be made there.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if path.is_symlink() {
                return Err(Refused::Dangling.into());
            }
            match (path.parent(), path.file_name()) {
                (Some(parent), Some(name)) if parent != path => {
                    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
                    Ok(resolve(parent)?.join(name))
                }
                _ => Err(error),
            }
        }
        resolved => resolved,
    }
}

/// Where paths led, each with every link in it resolved; nothing for a link that led nowhere.
#[derive(Debug, Default)]
pub struct RealPaths {
    known: HashMap<PathBuf, Option<PathBuf>>,
}

impl RealPaths {
    pub fn remember(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths {
            let real = resolve(&path).ok();
            self.known.insert(path, real);
        }
    }

    /// Where a path leads, if it still leads where it did. A directory above it that became a link is seen too. One that
    /// was not remembered is followed.
    pub fn real(&self, path: &Path) -> io::Result<PathBuf> {
        let now = resolve(path)?;
        match self.known.get(path) {
            None => Ok(now),
            Some(Some(before)) if *before == now => Ok(now),
            Some(None) => Err(Refused::Dangling.into()),
            Some(Some(before)) => Err(Refused::LinkAppeared {
                before: before.display().to_string(),
                now: now.display().to_string(),
            }
            .into()),
        }
    }
}

#[cfg(test)]
#[path = "open_tests.rs"]
mod tests;
