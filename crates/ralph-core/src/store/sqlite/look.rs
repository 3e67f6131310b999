//! Opening the file only to look: nothing is made, brought to the present schema or written.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::{SqliteStore, migrate, translate};
use crate::store::Result;

/// Who only looks does not wait for long.
const BUSY_TIMEOUT: Duration = Duration::from_millis(500);

impl SqliteStore {
    /// The schema version this program writes.
    pub const VERSION: u32 = migrate::KNOWN;

    /// Opens a file that is there. Not even the files of SQLite beside it are made: without a log there is nothing to share
    /// with other processes, so none are needed. A file of an older schema stays as it is; what newer tables hold cannot
    /// be asked of it.
    pub fn open_to_look(path: &Path) -> Result<Self> {
        migrate::refuse_newer(path)?;
        let shared = has_log(path);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let conn = Connection::open_with_flags(address(path, shared), flags)
            .and_then(|conn| conn.busy_timeout(BUSY_TIMEOUT).map(|()| conn))
            .map_err(|e| translate(path, e))?;
        Ok(Self {
            conn,
            path: path.to_owned(),
            opened: super::place::opened(path),
            brief: super::busy::Brief::default(),
        })
    }

    /// The schema version of the file.
    pub fn version(&self) -> Result<u32> {
        self.read(migrate::version)
    }
}

/// Where SQLite keeps what is not yet in the file itself.
pub fn log_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// Whether anything waits there. An empty log is what a disk without room leaves.
pub fn has_log(path: &Path) -> bool {
    std::fs::metadata(log_path(path)).is_ok_and(|log| log.len() > 0)
}

/// The path as SQLite takes it, every unusual byte escaped.
fn address(path: &Path, shared: bool) -> String {
    let mut address = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(byte) {
            address.push(char::from(*byte));
        } else {
            let _ = write!(address, "%{byte:02X}");
        }
    }
    if !shared {
        address.push_str("?immutable=1");
    }
    address
}
