//! Who may write what Ralph writes, and read what is raw; and shell commands that fix permissions.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ralph_core::agent::AgentKind;
use ralph_core::project::Project;
use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::{Finding, word};
use crate::settings::Settings;
use crate::ui::format::counted;

const CHECK: &str = "permissions";
/// Entries of a directory that are looked at.
const MOST_FILES: usize = 10_000;
const OTHERS: u32 = 0o077;
/// SQLite's files beside the database, by what their names add.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// Root, `.ralph`, its files, and the logs.
pub fn findings(project: &Project, settings: Option<&Settings>, chosen: Option<&str>) -> Vec<Finding> {
    let dir = project.ralph_dir();
    let mut findings: Vec<Finding> = root(project).into_iter().collect();
    findings.extend(directory(&dir));
    // Of a directory that is read-only as a whole, that is said already.
    if dir.is_dir() && may_write(&dir) {
        findings.extend(directory(&project.logs()));
        findings.extend(database(&project.database()));
        findings.extend(pages(&dir));
    }
    findings.extend(open_logs(&project.logs()));
    if findings.is_empty() {
        let message = "the project is writable, and only you can read its logs";
        findings.push(Finding::ok(CHECK, message));
    }
    let note = settings.and_then(|settings| as_root(settings, chosen?));
    findings.extend(note);
    findings
}

/// A run needs the root only to make `.ralph`; what agents need is theirs to say.
fn root(project: &Project) -> Option<Finding> {
    let root = project.root();
    if may_write(root) {
        return None;
    }
    let fix = make_writable(&[root]);
    let path = root.display();
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

/// A directory that every run writes to; where it is not there, it is made.
fn directory(dir: &Path) -> Option<Finding> {
    let there = dir.symlink_metadata().is_ok();
    let path = dir.display();
    if there && !dir.is_dir() {
        let message = format!("{path} is not a directory");
        return Some(Finding::error(CHECK, message, move_away(dir)));
    }
    if !there || may_write(dir) {
        return None;
    }
    let message = format!("{path} is not writable");
    Some(Finding::error(CHECK, message, make_writable(&[dir])))
}

/// The database, without which nothing goes on.
fn database(path: &Path) -> Option<Finding> {
    let beside = BESIDE.iter().map(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    });
    let files = std::iter::once(path.to_owned()).chain(beside);
    let files: Vec<PathBuf> = files.filter(|file| file.exists() && !may_write(file)).collect();
    let first = files.first()?;
    let message = format!("{} is not writable", first.display());
    Some(Finding::error(CHECK, message, make_writable(&files)))
}

/// STATE.md and the locks of pages: a run works without them and says so.
fn pages(dir: &Path) -> Option<Finding> {
    let is_page = |path: &PathBuf| {
        let is_lock = path.extension().is_some_and(|ending| ending == "lock");
        path.is_file() && (is_lock || path.ends_with("STATE.md"))
    };
    let entries = std::fs::read_dir(dir).ok()?.flatten().take(MOST_FILES);
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| is_page(path) && !may_write(path)).collect();
    found.sort();
    let first = found.first()?;
    let message = format!(
        "{} in .ralph not writable, including {}: a run works, but cannot update them",
        counted(found.len() as u64, "file"),
        first.display()
    );
    Some(Finding::warning(CHECK, message, make_writable(&found)))
}

/// Logs are raw: whatever an agent read may be in them.
fn open_logs(logs: &Path) -> Option<Finding> {
    let entries = std::fs::read_dir(logs).ok()?;
    let open = entries
        .flatten()
        .take(MOST_FILES)
        .filter_map(|entry| entry.metadata().ok())
        .filter(|meta| meta.is_file() && meta.permissions().mode() & OTHERS != 0)
        .count();
    if open == 0 {
        return None;
    }
    let message = format!("other users can read {} in .ralph/logs", counted(open as u64, "log"));
    let fix = format!("find {} -type f -exec chmod 600 {{}} +", word(logs));
    Some(Finding::warning(CHECK, message, fix))
}

fn as_root(settings: &Settings, chosen: &str) -> Option<Finding> {
    let agent = settings.agents.get(chosen)?;
    let minds = agent.kind == AgentKind::Claude && agent.setup.skip_permissions;
    if !minds || !rustix::process::getuid().is_root() {
        return None;
    }
    let message = "you are root: Ralph sets IS_SANDBOX=1, because Claude Code skips permission prompts as root only in a \
                   sandbox";
    Some(Finding::ok(CHECK, message))
}

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

/// Whether this user may write a file, or make files in a directory.
fn may_write(path: &Path) -> bool {
    access(path, wanted(path)).is_ok()
}

/// What lets this user write these paths.
pub fn make_writable(paths: &[impl AsRef<Path>]) -> String {
    let paths: Vec<&Path> = paths.iter().map(AsRef::as_ref).collect();
    let words: Vec<String> = paths.iter().map(|path| word(path)).collect();
    let because: Vec<Because> = paths.iter().map(|path| why(path, wanted(path))).collect();
    let is_unreadable = |path: &&Path| access(*path, Access::READ_OK).is_err();
    let mode = match () {
        () if paths.iter().any(|path| path.is_dir()) => "u+rwx",
        () if paths.iter().any(is_unreadable) => "u+rw",
        () => "u+w",
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
fn move_away(path: &Path) -> String {
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
        assert_eq!(findings(&project, None, None)[0].level, Level::Ok);
        mode(0o640).unwrap();
        let found = findings(&project, None, None);
        assert_eq!(found[0].level, Level::Warning);
        assert_eq!(found[0].message, "other users can read 1 log in .ralph/logs");
    }

    /// What is said of a path that is in the way, as long as it says how to fix it.
    fn found(project: &Project) -> (Level, String, String) {
        let mut found = findings(project, None, None);
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
            let mended = std::process::Command::new("sh").args(["-c", &fix]).status();
            assert!(mended.unwrap().success(), "{fix}");
            assert_eq!(found(&project).0, Level::Ok);
            std::fs::create_dir_all(project.ralph_dir()).unwrap();
        }
    }

    #[test]
    fn the_remedy_depends_on_whose_it_is() {
        use Because::{Mode, Owner, ReadOnly};
        assert_eq!(command(&[Mode, Mode], "u+w", "a b"), "chmod u+w a b");
        assert_eq!(command(&[Mode, Owner], "u+w", "a"), "sudo chown \"$(id -u)\" a && chmod u+w a");
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
            let status = std::process::Command::new("sh").args(["-c", command]).status();
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
