//! Whether Ralph can write what it writes, and whether others can read what is private; and the commands that fix it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ralph_core::project::Project;
use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::Finding;
use crate::command_error::shell_path;
use crate::ui::format::counted;

const CHECK: &str = "permissions";
/// At most so many entries of a directory are checked.
const MOST_FILES: usize = 10_000;
const OTHERS: u32 = 0o077;

pub fn findings(project: &Project) -> Vec<Finding> {
    let dir = project.ralph_dir();
    let mut findings: Vec<Finding> = root(project).into_iter().collect();
    findings.extend(directory(&dir));
    // If the whole directory is read-only, that is reported already.
    if dir.is_dir() && may_write(&dir) {
        findings.extend(directory(&project.logs()));
        findings.extend(database(&project.database()));
        findings.extend(pages(&dir));
    }
    findings.extend(open_logs(&project.logs()));
    if findings.is_empty() {
        findings.push(Finding::ok(CHECK, "the project is writable, and only you can read its logs"));
    }
    findings
}

/// A run needs the root only to create `.ralph`.
fn root(project: &Project) -> Option<Finding> {
    let root = project.root();
    if may_write(root) {
        return None;
    }
    let (path, fix) = (root.display(), make_writable(&[root]));
    Some(match project.ralph_dir().symlink_metadata() {
        Ok(_) => {
            let message = format!("{path} is not writable: agents cannot create files in it");
            Finding::warning(CHECK, message, fix)
        }
        Err(_) => {
            let message = format!("{path} is not writable: Ralph cannot create .ralph");
            Finding::error(CHECK, message, fix)
        }
    })
}

/// A directory that every run writes to, and creates if it does not exist.
fn directory(dir: &Path) -> Option<Finding> {
    let path = dir.display();
    if dir.symlink_metadata().is_err() {
        return None;
    }
    if !dir.is_dir() {
        let mut other = dir.as_os_str().to_owned();
        other.push(".old");
        let fix = format!("mv {} {}", shell_path(dir), shell_path(Path::new(&other)));
        return Some(Finding::error(CHECK, format!("{path} is not a directory"), fix));
    }
    let message = format!("{path} is not writable");
    (!may_write(dir)).then(|| Finding::error(CHECK, message, make_writable(&[dir])))
}

/// The database and SQLite's files beside it.
fn database(path: &Path) -> Option<Finding> {
    let files = ["", "-wal", "-shm"].map(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    });
    let files: Vec<PathBuf> = files.into_iter().filter(|file| file.exists() && !may_write(file)).collect();
    let message = format!("{} is not writable", files.first()?.display());
    Some(Finding::error(CHECK, message, make_writable(&files)))
}

/// STATE.md and the lock files: a run works without them and says so.
fn pages(dir: &Path) -> Option<Finding> {
    let is_page = |path: &PathBuf| {
        let is_lock = path.extension().is_some_and(|ending| ending == "lock");
        path.is_file() && (is_lock || path.ends_with("STATE.md"))
    };
    let entries = std::fs::read_dir(dir).ok()?.flatten().take(MOST_FILES);
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| is_page(path) && !may_write(path)).collect();
    found.sort();
    let message = format!(
        "{} in .ralph not writable, including {}: a run works, but cannot update them",
        counted(found.len() as u64, "file"),
        found.first()?.display()
    );
    Some(Finding::warning(CHECK, message, make_writable(&found)))
}

/// Logs are raw: whatever an agent read may be in them.
fn open_logs(logs: &Path) -> Option<Finding> {
    let entries = std::fs::read_dir(logs).ok()?.flatten().take(MOST_FILES);
    let open = entries
        .filter_map(|entry| entry.metadata().ok())
        .filter(|meta| meta.is_file() && meta.permissions().mode() & OTHERS != 0)
        .count();
    let message = format!("other users can read {} in .ralph/logs", counted(open as u64, "log"));
    let fix = format!("find {} -type f -exec chmod 600 {{}} +", shell_path(logs));
    (open > 0).then(|| Finding::warning(CHECK, message, fix))
}

/// Whether this user may write a file, or create files in a directory.
fn may_write(path: &Path) -> bool {
    access_to_write(path).is_ok()
}

fn access_to_write(path: &Path) -> rustix::io::Result<()> {
    let wanted = if path.is_dir() { Access::WRITE_OK | Access::EXEC_OK } else { Access::WRITE_OK };
    access(path, wanted)
}

/// A command that lets this user read and write these paths.
pub fn make_writable(paths: &[impl AsRef<Path>]) -> String {
    let paths: Vec<&Path> = paths.iter().map(AsRef::as_ref).collect();
    if paths.iter().any(|path| access_to_write(path) == Err(Errno::ROFS)) {
        return "remount its file system read-write, or work elsewhere: it is read-only".to_owned();
    }
    let words: Vec<String> = paths.iter().map(|path| shell_path(path)).collect();
    let words = words.join(" ");
    let mode = if paths.iter().any(|path| path.is_dir()) { "u+rwx" } else { "u+rw" };
    let user = rustix::process::getuid().as_raw();
    let is_foreign = |path: &&Path| std::fs::metadata(path).is_ok_and(|meta| meta.uid() != user);
    match paths.iter().any(is_foreign) {
        true => format!("sudo chown \"$(id -u)\" {words} && chmod {mode} {words}"),
        false => format!("chmod {mode} {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn logs_that_others_may_read_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let project = Project::at(dir.path());
        std::fs::create_dir_all(project.logs()).unwrap();
        let log = project.logs().join("a.jsonl");
        std::fs::write(&log, "x").unwrap();
        let mode = |mode| std::fs::set_permissions(&log, std::fs::Permissions::from_mode(mode));
        mode(0o600).unwrap();
        assert_eq!(findings(&project)[0].level, Level::Ok);
        mode(0o640).unwrap();
        let found = findings(&project);
        assert_eq!(found[0].level, Level::Warning);
        assert_eq!(found[0].message, "other users can read 1 log in .ralph/logs");
    }

    /// What is said of a path that is in the way, as long as it says how to fix it.
    fn found(project: &Project) -> (Level, String, String) {
        let mut found = findings(project);
        assert_eq!(found.len(), 1, "{found:?}");
        let found = found.remove(0);
        (found.level, found.message, found.fix.unwrap_or_default())
    }

    #[test]
    fn a_file_where_a_directory_belongs_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("it's here");
        std::fs::create_dir(&root).unwrap();
        let project = Project::at(&root);
        for path in [project.ralph_dir(), project.logs()] {
            std::fs::write(&path, "x").unwrap();
            let (level, message, fix) = found(&project);
            assert_eq!(level, Level::Error);
            assert!(message.ends_with("is not a directory"), "{message}");
            let fixed = std::process::Command::new("sh").args(["-c", &fix]).status();
            assert!(fixed.unwrap().success(), "{fix}");
            assert_eq!(found(&project).0, Level::Ok);
            std::fs::create_dir_all(project.ralph_dir()).unwrap();
        }
    }

    #[test]
    fn commands_fix_paths_with_spaces_and_quotes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("it's a file");
        std::fs::write(&path, "x").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
        let fix = make_writable(&[&path]);
        assert!(fix.starts_with("chmod u+rw '"), "{fix}");
        let status = std::process::Command::new("sh").args(["-c", &fix]).status();
        assert!(status.unwrap().success(), "{fix}");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
    }
}
