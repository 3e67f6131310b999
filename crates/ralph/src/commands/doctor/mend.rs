//! Shell commands that fix permissions.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ralph_core::text::shell_word;
use rustix::fs::{Access, access};
use rustix::io::Errno;

/// Why a path may not be used as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Because {
    /// Its file system is read-only.
    ReadOnly,
    /// It is this user's, and its mode forbids it.
    Mode,
    /// It is somebody else's.
    Owner,
}

/// A path as a word of a shell.
pub fn word(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

/// Whether this user may write a file, or make files in a directory.
pub fn may_write(path: &Path) -> bool {
    access(path, wanted(path)).is_ok()
}

/// What lets this user write these paths.
pub fn make_writable(paths: &[&Path]) -> String {
    let words: Vec<String> = paths.iter().map(|path| word(path)).collect();
    let because = paths.iter().map(|path| why(path, wanted(path)));
    let because: Vec<Because> = because.collect();
    let mode = match paths {
        paths if paths.iter().any(|path| path.is_dir()) => "u+rwx",
        paths
            if paths
                .iter()
                .any(|path| access(*path, Access::READ_OK).is_err()) =>
        {
            "u+rw"
        }
        _ => "u+w",
    };
    command(&because, mode, &words.join(" "))
}

/// What lets this user read a file.
pub fn make_readable(path: &Path) -> String {
    command(&[why(path, Access::READ_OK)], "u+r", &word(path))
}

/// What makes a file a program.
pub fn make_executable(path: &Path) -> String {
    match why(path, Access::EXEC_OK) {
        Because::Owner => format!("sudo chmod +x {}", word(path)),
        Because::Mode | Because::ReadOnly => format!("chmod +x {}", word(path)),
    }
}

/// What frees a name that something else than a directory has.
pub fn move_away(path: &Path) -> String {
    let mut other = path.as_os_str().to_owned();
    other.push(".old");
    format!("mv {} {}", word(path), word(Path::new(&other)))
}

fn wanted(path: &Path) -> Access {
    match path.is_dir() {
        true => Access::WRITE_OK | Access::EXEC_OK,
        false => Access::WRITE_OK,
    }
}

fn why(path: &Path, wanted: Access) -> Because {
    let owner = std::fs::metadata(path).map(|meta| meta.uid());
    match (access(path, wanted), owner) {
        (Err(Errno::ROFS), _) => Because::ReadOnly,
        (_, Ok(owner)) if owner != rustix::process::getuid().as_raw() => Because::Owner,
        _ => Because::Mode,
    }
}

/// The strongest remedy that one of them needs.
fn command(because: &[Because], mode: &str, words: &str) -> String {
    if because.contains(&Because::ReadOnly) {
        return "remount its file system read-write, or work elsewhere: it is read-only".to_owned();
    }
    if because.contains(&Because::Owner) {
        return format!("sudo chown \"$(id -u)\" {words} && chmod {mode} {words}");
    }
    format!("chmod {mode} {words}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_remedy_depends_on_whose_it_is() {
        use Because::{Mode, Owner, ReadOnly};
        assert_eq!(command(&[Mode, Mode], "u+w", "a b"), "chmod u+w a b");
        assert_eq!(
            command(&[Mode, Owner], "u+w", "a"),
            "sudo chown \"$(id -u)\" a && chmod u+w a"
        );
        assert!(command(&[Owner, ReadOnly], "u+w", "a").contains("read-only"));
    }

    #[test]
    fn commands_mend_paths_with_spaces_and_quotes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("it's a file");
        std::fs::write(&path, "x").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
        let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        let shell = |command: &str| {
            let status = std::process::Command::new("sh")
                .args(["-c", command])
                .status();
            assert!(status.unwrap().success(), "{command}");
        };
        let fix = make_writable(&[&path]);
        assert!(fix.starts_with("chmod u+w '"), "{fix}");
        shell(&fix);
        assert_eq!(mode(), 0o644);
        shell(&make_executable(&path));
        assert_eq!(mode() & 0o100, 0o100);
        shell(&move_away(&path));
        assert!(!path.exists() && dir.path().join("it's a file.old").exists());
    }
}
