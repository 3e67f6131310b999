//! Which projects of other users this user trusts: a list of paths in the user's own configuration directory.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, iter};

use ralph_core::files::{Links, Lock, open, private, write_whole};
use ralph_core::ownership::{Distrust, User, distrust};
use ralph_core::project::Project;
use ralph_core::text::shell_word;

use crate::command_error::CommandError;

/// The list; a path per line.
const FILE: &str = "trusted";
/// More than this is not a list that this program wrote.
const MOST_BYTES: u64 = 1024 * 1024;
/// How long another process may take to change the list.
const PATIENCE: Duration = Duration::from_secs(5);

/// Refuses a project that another user owns or may change, unless this user trusts it.
pub fn check(project: &Project) -> Result<(), CommandError> {
    match refusal(project) {
        None => Ok(()),
        Some(error) => Err(error),
    }
}

/// Why a project is not trusted, if it is not.
pub fn refusal(project: &Project) -> Option<CommandError> {
    let user = User::of_process(env::var("SUDO_UID").ok().as_deref());
    let distrust = distrust(project, user)?;
    let root = project.root();
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    if trusted().contains(&root) {
        return None;
    }
    let word = |path: &Path| shell_word(&path.display().to_string());
    let consent = format!("ralph trust {}", word(&root));
    let error = CommandError::usage(format_args!(
        "Ralph does not trust this project: {distrust}"
    ));
    Some(match &distrust {
        Distrust::Foreign { .. } => error.hint(format_args!(
            "if you trust its owner to run commands as you: {consent}"
        )),
        Distrust::WorldWritable { path } => error.hint(format_args!(
            "run `chmod o-w {}`, or if no other user can reach it: {consent}",
            word(path)
        )),
    })
}

/// The paths this user trusts. A list that others could have written is ignored.
pub fn trusted() -> Vec<PathBuf> {
    file().map(|file| read(&file)).unwrap_or_default()
}

/// Adds a path; `false` if it was there.
pub fn add(path: &Path) -> Result<bool, CommandError> {
    if path.as_os_str().as_bytes().contains(&b'\n') {
        return Err(CommandError::usage(
            "cannot trust a path that contains a line break",
        ));
    }
    change(|paths| {
        let is_new = !paths.iter().any(|known| known == path);
        if is_new {
            paths.push(path.to_owned());
        }
        is_new
    })
}

/// Removes a path; `false` if it was not there.
pub fn remove(path: &Path) -> Result<bool, CommandError> {
    change(|paths| {
        let before = paths.len();
        paths.retain(|known| known != path);
        paths.len() != before
    })
}

fn change(edit: impl FnOnce(&mut Vec<PathBuf>) -> bool) -> Result<bool, CommandError> {
    let file = file().ok_or_else(|| {
        CommandError::environment("cannot record the trusted directory: no home directory")
            .hint("set HOME or XDG_CONFIG_HOME")
    })?;
    let dir = file.parent().unwrap_or(Path::new("."));
    let write = || -> io::Result<bool> {
        private::make_dir(dir)?;
        let _lock = Lock::within(&dir.join("trusted.lock"), PATIENCE)?;
        let mut paths = read(&file);
        if !edit(&mut paths) {
            return Ok(false);
        }
        let lines = paths
            .iter()
            .flat_map(|path| path.as_os_str().as_bytes().iter().chain(iter::once(&b'\n')));
        let text: Vec<u8> = lines.copied().collect();
        private::make_file(&file)?;
        write_whole(&file, &text)?;
        Ok(true)
    };
    write().map_err(|error| {
        CommandError::environment(format_args!("cannot write {}: {error}", file.display()))
            .hint("check the permissions and the free space of the directory")
    })
}

/// Where the list is, or would be.
fn file() -> Option<PathBuf> {
    let given = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = given
        .filter(|dir| dir.is_absolute())
        .or_else(|| Some(env::home_dir()?.join(".config")))?;
    config
        .is_absolute()
        .then(|| config.join("ralph").join(FILE))
}

fn read(path: &Path) -> Vec<PathBuf> {
    let mut bytes = Vec::new();
    let read = open(path, Links::Follow).and_then(|file| {
        if is_own(&file.metadata()?) {
            file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        }
        Ok(())
    });
    if read.is_err() {
        return Vec::new();
    }
    bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| PathBuf::from(OsString::from_vec(line.to_vec())))
        .collect()
}

fn is_own(meta: &fs::Metadata) -> bool {
    let own = [0, rustix::process::geteuid().as_raw()];
    meta.is_file() && own.contains(&meta.uid()) && meta.mode() & 0o022 == 0
}
