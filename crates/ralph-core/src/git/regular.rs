//! Files that git opens on every call. In the place of one of them a pipe would block git, and Ralph, for ever.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::files::{Links, open};

/// Files in git's directory that must be regular where they exist.
const OWN: [&str; 5] = [
    "HEAD",
    "index",
    "config.worktree",
    "ralph-commit.json",
    "ralph-committing",
];
/// The same in the directory that all work trees of the repository share.
const SHARED: [&str; 5] = [
    "config",
    "packed-refs",
    "shallow",
    "info/attributes",
    "info/exclude",
];
/// Files of the work tree that git reads as rules.
const RULES: [&str; 2] = [".gitignore", ".gitattributes"];
/// No reference's name is longer.
const HEAD_BYTES: u64 = 4096;
/// After an expiry no more entries than this are looked at to find the cause.
const MOST_ENTRIES: usize = 50_000;

/// Where a repository keeps what is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Repository {
    /// The root of the work tree.
    pub(super) top: PathBuf,
    /// Git's directory of this work tree.
    pub(super) git_dir: PathBuf,
    /// Git's directory of all work trees of the repository.
    pub(super) shared: PathBuf,
}

impl Repository {
    pub(super) fn new(top: PathBuf, git_dir: PathBuf) -> Self {
        let shared = read(&git_dir.join("commondir"), HEAD_BYTES)
            .map(|line| git_dir.join(super::paths::on_disk(Path::new(""), line.trim_ascii())));
        Self {
            shared: shared.unwrap_or_else(|_| git_dir.clone()),
            top,
            git_dir,
        }
    }

    /// The repository that git would find from a directory on, without asking git.
    pub(super) fn around(dir: &Path) -> Option<Self> {
        dir.ancestors().find_map(|top| {
            let entry = top.join(".git");
            let git_dir = match fs::metadata(&entry).ok()? {
                meta if meta.is_dir() => entry,
                _ => {
                    let line = read(&entry, HEAD_BYTES).ok()?;
                    let path = line.trim_ascii().strip_prefix(b"gitdir: ")?;
                    top.join(super::paths::on_disk(Path::new(""), path))
                }
            };
            Some(Self::new(top.to_owned(), git_dir))
        })
    }

    pub(super) fn index_bytes(&self) -> u64 {
        fs::metadata(self.git_dir.join("index")).map_or(0, |meta| meta.len())
    }
}

/// A file that git would open and that is not a regular one. Where there is none, nothing is wrong; a link to nothing is
/// git's own business.
pub(super) fn irregular(repository: &Repository) -> Option<PathBuf> {
    let own = OWN.iter().map(|name| repository.git_dir.join(name));
    let shared = SHARED.iter().map(|name| repository.shared.join(name));
    let is_other = |path: &PathBuf| fs::metadata(path).is_ok_and(|meta| !meta.is_file());
    own.chain(shared).find(is_other).or_else(|| {
        let branch = branch_file(repository).filter(is_special);
        let mut rules = RULES.iter().map(|name| repository.top.join(name));
        branch.or_else(|| rules.find(is_special))
    })
}

/// The file of the branch that HEAD is on.
fn branch_file(repository: &Repository) -> Option<PathBuf> {
    let head = read(&repository.git_dir.join("HEAD"), HEAD_BYTES).ok()?;
    let name = head.trim_ascii().strip_prefix(b"ref: ")?;
    Some(super::paths::on_disk(&repository.shared, name))
}

/// Whether a path is a pipe, a socket or a device.
fn is_special(path: &PathBuf) -> bool {
    fs::metadata(path).is_ok_and(|meta| {
        let kind = meta.file_type();
        kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device()
    })
}

/// The beginning of a regular file.
pub(super) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, Links::Follow)?
        .take(most)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Enough of a file to see that it changed: also where somebody set its time back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStamp {
    inode: u64,
    size: u64,
    mode: u32,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// How a file looks; none where there is none.
pub(super) fn stamp(path: &Path) -> Option<FileStamp> {
    let meta = fs::metadata(path).ok()?;
    Some(FileStamp {
        inode: meta.ino(),
        size: meta.size(),
        mode: meta.mode(),
        modified: (meta.mtime(), meta.mtime_nsec()),
        changed: (meta.ctime(), meta.ctime_nsec()),
    })
}

/// The command lines of the processes in a group other than its leader.
pub(super) fn others_in_group(group: i32) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let ids = names.filter_map(|name| name.to_str()?.parse::<i32>().ok());
    let member = |pid: &i32| {
        let stat = read(Path::new(&format!("/proc/{pid}/stat")), HEAD_BYTES);
        let stat = String::from_utf8_lossy(&stat.unwrap_or_default()).into_owned();
        let mut fields = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        fields.nth(2).and_then(|field| field.parse().ok()) == Some(group)
    };
    let others = ids.filter(|pid| *pid != group).filter(member);
    let lines = others.filter_map(|pid| {
        let line = read(Path::new(&format!("/proc/{pid}/cmdline")), HEAD_BYTES).ok()?;
        let words: Vec<u8> = line
            .iter()
            .map(|b| if *b == 0 { b' ' } else { *b })
            .collect();
        let line = String::from_utf8_lossy(words.trim_ascii()).into_owned();
        let line = crate::text::one_line(&crate::text::mask_secrets(&line), 120);
        (!line.is_empty()).then_some(line)
    });
    lines.collect()
}

/// A pipe or the like in the place of a file with rules, anywhere in the work tree; not looked for longer than is worth it.
pub(super) fn special_rules_file(top: &Path) -> Option<PathBuf> {
    let mut dirs = vec![top.to_owned()];
    let mut seen = 0;
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).ok()?.flatten() {
            seen += 1;
            if seen > MOST_ENTRIES {
                return None;
            }
            let path = entry.path();
            let is_rules = RULES.iter().any(|name| entry.file_name() == *name);
            if is_rules && is_special(&path) {
                return Some(path);
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != ".git" {
                dirs.push(path);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::Repo;

    fn make_pipe(path: &Path) {
        let _ = fs::remove_file(path);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
    }

    #[test]
    fn a_pipe_in_the_place_of_any_file_of_gits_is_seen_before_git_is_called() {
        for path in [
            ".git/HEAD",
            ".git/index",
            ".git/config",
            ".git/packed-refs",
            ".git/info/attributes",
            ".git/info/exclude",
            ".git/refs/heads/main",
            ".gitignore",
            ".gitattributes",
        ] {
            let repo = Repo::with_first_commit();
            let git = repo.open();
            assert!(git.snapshot().is_ok());
            make_pipe(&repo.path(path));
            let error = git.snapshot().unwrap_err().to_string();
            assert!(error.contains(path) && error.contains("regular"), "{error}");
            let opened = crate::git::Git::open(repo.root(), Default::default());
            assert!(opened.is_err(), "{path}");
        }
    }

    #[test]
    fn links_and_missing_files_are_in_order() {
        let repo = Repo::with_first_commit();
        fs::rename(repo.path(".git/config"), repo.path(".git/other")).unwrap();
        std::os::unix::fs::symlink("other", repo.path(".git/config")).unwrap();
        std::os::unix::fs::symlink("/nowhere", repo.path(".gitignore")).unwrap();
        assert!(repo.open().snapshot().is_ok());
        // Without its index every file would look deleted.
        fs::remove_file(repo.path(".git/index")).unwrap();
        let error = repo.open().snapshot().unwrap_err();
        assert!(error.to_string().contains("is missing"), "{error}");
    }

    #[test]
    fn a_work_tree_of_its_own_shares_the_configuration() {
        let repo = Repo::with_first_commit();
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        repo.git(&["worktree", "add", "-q", &tree.display().to_string()]);
        let found = Repository::around(&tree).unwrap();
        let same =
            |a: &Path, b: PathBuf| fs::canonicalize(a).unwrap() == fs::canonicalize(b).unwrap();
        assert!(same(&found.shared, repo.path(".git")), "{found:?}");
        make_pipe(&repo.path(".git/packed-refs"));
        assert!(crate::git::Git::open(&tree, Default::default()).is_err());
    }
}
