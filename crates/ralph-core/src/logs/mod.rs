//! The logs in `.ralph/logs/`: a real directory, whose files are opened, made and deleted in it and nowhere else.
//!
//! Everything goes through a descriptor of the directory, so that a link that takes its place leads nobody elsewhere.

mod file;
mod retention;

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::files::Refused;
use crate::model::Timestamp;
use crate::project::{LOGS, RALPH_DIR};

pub use file::{BoundedLog, LogStream};
pub use retention::{
    Limits, LogFile, LogName, Protected, Pruned, attempt_name, errors_name, plan, prompt_name, prune,
    result_name, to_delete,
};

/// How the name of a log ends that is to take another's place.
const PART: &str = ".part";

#[derive(Debug)]
pub struct LogDir {
    dir: OwnedFd,
    path: PathBuf,
}

impl LogDir {
    /// Opens the directory; one that is a link is refused.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(dir) => Ok(Self { dir, path: path.to_owned() }),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(if path.is_symlink() {
                Refused::Link.into()
            } else {
                Refused::NotRegular("what should be a directory").into()
            }),
            Err(error) => Err(error.into()),
        }
    }

    /// The same; it is made if it is not there.
    pub fn make(path: &Path) -> io::Result<Self> {
        match Self::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut builder = std::fs::DirBuilder::new();
                builder.recursive(true).mode(0o700).create(path)?;
                Self::open(path)
            }
            opened => opened,
        }
    }

    /// The directory and the name of a log as the database has it: `.ralph/logs/NAME`.
    pub fn of_record(root: &Path, log: &str) -> io::Result<(Self, String)> {
        const RECORDED: &str = ".ralph/logs";
        let name = log.strip_prefix(RECORDED).and_then(|rest| rest.strip_prefix('/'));
        match name.filter(|name| is_plain(name)) {
            Some(name) => {
                let dir = Self::open(&root.join(RALPH_DIR).join(LOGS))?;
                Ok((dir, name.to_owned()))
            }
            None => Err(Refused::Elsewhere(RECORDED).into()),
        }
    }

    /// Where a file of it is, for people.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        self.open_file(name, flags)
    }

    pub fn read(&self, name: &str) -> io::Result<File> {
        self.open_file(name, OFlags::RDONLY)
    }

    fn open_file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        if !is_plain(name) {
            return Err(Refused::Elsewhere("this directory").into());
        }
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let mode = Mode::from_raw_mode(0o600);
        let file = match rustix::fs::openat(&self.dir, name, flags, mode) {
            Ok(file) => File::from(file),
            Err(Errno::LOOP) => return Err(Refused::Link.into()),
            Err(error) => return Err(error.into()),
        };
        if file.metadata()?.is_file() { Ok(file) } else { Err(Refused::NotRegular("something else").into()) }
    }

    /// Writes a file whole or not at all, in place of whatever has its name.
    pub fn write_whole(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let part = format!("{name}{PART}");
        let mut file = match self.create(&part) {
            // Of a process that was killed, or put there by an agent.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.remove(&part)?;
                self.create(&part)?
            }
            made => made?,
        };
        file.write_all(bytes)?;
        file.sync_all()?;
        self.rename(&part, name)
    }

    /// Gives a file the name of another, which goes.
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.dir, from, &self.dir, to)?)
    }

    /// Deletes a file; of a link, the link alone.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.dir, name, AtFlags::empty())?)
    }

    /// The regular files in it that have such a name.
    fn files(&self, wanted: impl Fn(&str) -> bool) -> io::Result<Vec<LogFile>> {
        let mut files = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.dir)? {
            let entry = entry?;
            let Some(name) = entry.file_name().to_str().ok().filter(|name| wanted(name)) else { continue };
            // One that was deleted meanwhile has no metadata.
            let Ok(meta) = rustix::fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if FileType::from_raw_mode(meta.st_mode) != FileType::RegularFile {
                continue;
            }
            let millis = i64::try_from(meta.st_mtime_nsec).unwrap_or(0) / 1_000_000;
            files.push(LogFile {
                name: name.to_owned(),
                bytes: u64::try_from(meta.st_size).unwrap_or(0),
                modified: Timestamp::from_millis(meta.st_mtime.saturating_mul(1000).saturating_add(millis)),
                protected: false,
            });
        }
        Ok(files)
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && name != "." && name != ".."
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_log_is_made_in_a_real_directory_and_never_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let logs = LogDir::make(&dir.path().join("logs")).unwrap();
        let mode = |path: &str| {
            let meta = fs::metadata(dir.path().join(path)).unwrap();
            meta.permissions().mode() & 0o777
        };
        logs.create("a.jsonl").unwrap();
        assert_eq!((mode("logs"), mode("logs/a.jsonl")), (0o700, 0o600));
        assert!(logs.create("a.jsonl").is_err());
        fs::write(dir.path().join("theirs"), "x").unwrap();
        symlink("../theirs", dir.path().join("logs/link")).unwrap();
        assert!(logs.create("link").is_err());
        assert!(logs.read("link").is_err());
        for name in ["../theirs", "", ".", ".."] {
            assert!(logs.create(name).is_err() && logs.read(name).is_err(), "{name}");
        }
        // The directory that was opened stays the one, whatever takes its name.
        fs::rename(dir.path().join("logs"), dir.path().join("moved")).unwrap();
        fs::create_dir(dir.path().join("other")).unwrap();
        symlink("other", dir.path().join("logs")).unwrap();
        logs.create("b.jsonl").unwrap();
        assert!(dir.path().join("moved/b.jsonl").exists());
        let error = LogDir::make(&dir.path().join("logs")).unwrap_err();
        assert!(error.to_string().starts_with("a symbolic link"), "{error}");
    }

    #[test]
    fn a_record_that_leads_elsewhere_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        LogDir::make(&dir.path().join(".ralph/logs")).unwrap();
        for log in
            ["/etc/passwd", ".ralph/logs/../progress.db", ".ralph/progress.db", ".ralph/logs/", "logs/a"]
        {
            assert!(LogDir::of_record(dir.path(), log).is_err(), "{log}");
        }
        let (_, name) = LogDir::of_record(dir.path(), ".ralph/logs/a.jsonl").unwrap();
        assert_eq!(name, "a.jsonl");
    }
}
