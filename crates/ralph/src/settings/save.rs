//! Writing `.ralph.toml`.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ralph_core::files::{resolve, write_whole};

use crate::command_error::CommandError;

/// Writes the file unless there is one. `true` if it was written.
pub fn create(path: &Path, text: &str) -> Result<bool, CommandError> {
    // Ralph does not obey settings that every user may write, whatever the umask is.
    let opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o664)
        .open(path);
    match opened {
        Ok(mut file) => {
            file.write_all(text.as_bytes())
                .map_err(|error| failed(path, &error))?;
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(path, &error)),
    }
}

/// Writes the file, new or in place of the one that is there. A link stays one: what it leads to is replaced.
pub fn replace(path: &Path, text: &str) -> Result<(), CommandError> {
    if create(path, text)? {
        return Ok(());
    }
    resolve(path)
        .and_then(|path| write_whole(&path, text.as_bytes()))
        .map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::environment(format_args!("cannot write {}: {error}", path.display()))
        .hint("check the permissions and the free space of the directory")
}
