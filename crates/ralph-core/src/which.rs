//! Where programs are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Where a program is: as a path below a directory, or on a search path.
pub fn find(program: &str, dir: &Path, search: Option<&OsString>) -> Option<PathBuf> {
    candidates(program, dir, search).into_iter().find(|path| is_executable(path))
}

/// A file that would be the program, were it executable.
pub fn not_executable(program: &str, dir: &Path, search: Option<&OsString>) -> Option<PathBuf> {
    candidates(program, dir, search).into_iter().find(|path| path.is_file())
}

/// This process's own search path, which its children get.
pub fn search_path() -> Option<OsString> {
    std::env::var_os("PATH")
}

/// Git as it is called, looked up along the search path once and not at each of many calls. Where it is not found, or
/// only below a directory that depends on where it is called, its name is left to be looked up.
pub(crate) fn git() -> &'static Path {
    static GIT: LazyLock<PathBuf> = LazyLock::new(|| {
        let found = find("git", Path::new(""), search_path().as_ref());
        found.filter(|path| path.is_absolute()).unwrap_or_else(|| "git".into())
    });
    &GIT
}

fn candidates(program: &str, dir: &Path, search: Option<&OsString>) -> Vec<PathBuf> {
    if program.contains('/') {
        return vec![dir.join(program)];
    }
    let folders = search.map(|search| std::env::split_paths(search));
    let folders = folders.into_iter().flatten();
    folders.map(|folder| dir.join(folder).join(program)).collect()
}

fn is_executable(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_paths_and_on_a_search_path() {
        let search = OsString::from("/nowhere:/bin:/usr/bin");
        let root = Path::new("/");
        assert!(find("sh", root, Some(&search)).is_some());
        assert!(find("bin/sh", root, None).is_some());
        assert!(find("/bin/sh", Path::new("/tmp"), None).is_some());
        assert_eq!(find("sh", root, None), None);
        assert_eq!(find("no-such-program", root, Some(&search)), None);
        // A directory or a plain file is none.
        assert_eq!(find("/bin", root, Some(&search)), None);
        assert_eq!(find("/etc/passwd", root, Some(&search)), None);
        let passwd = Some(PathBuf::from("/etc/passwd"));
        assert_eq!(not_executable("etc/passwd", root, None), passwd);
        assert_eq!(not_executable("/bin", root, Some(&search)), None);
        let search = OsString::from("/nowhere:/etc");
        assert_eq!(not_executable("passwd", root, Some(&search)), passwd);
    }
}
