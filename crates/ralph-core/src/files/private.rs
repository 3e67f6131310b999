//! Files and directories that nobody but their owner may read: Ralph's own directory, its database, locks and logs.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const OTHERS: u32 = 0o077;

/// Makes a directory that only its owner may enter; its parents are made as usual. One that exists stays as it is.
pub fn make_dir(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made,
    }
}

/// Makes an empty file that only its owner may read. One that exists stays as it is.
pub fn make_file(path: &Path) -> io::Result<()> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Takes a file or directory of this user away from everybody else. Where that fails, nothing else can be changed either,
/// and reading still works.
pub fn tighten(path: &Path) {
    let Ok(meta) = path.symlink_metadata() else { return };
    let is_own = meta.uid() == rustix::process::geteuid().as_raw();
    let mode = meta.mode() & 0o7777;
    if is_own && !meta.is_symlink() && mode & OTHERS != 0 {
        let _ = std::fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS));
    }
}
