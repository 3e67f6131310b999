//! Where a repository keeps its files, and its index. Files that git opens on every call are checked first: a named pipe in
//! the place of one would block git, and Ralph, forever.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempPath;

use super::call::{Call, CallKind, CallState};
use super::paths::on_disk;
use super::trust::ProgramWatch;
use super::{GitError, GitFault, GitLimits};
use crate::files::{Limit, Links, Stamp, open, read_all, stamp};

/// Files of Ralph's own in git's directory: no link is followed there.
pub(super) const PENDING_COMMIT: &str = "ralph-commit.json";
pub(super) const COMMIT_LOCK: &str = "ralph-committing";
/// Files in git's directory that must be regular where they exist.
const OWN: [&str; 3] = ["HEAD", "index", "config.worktree"];
/// The same in the directory that all working trees of the repository share.
const SHARED: [&str; 5] = ["config", "packed-refs", "shallow", "info/attributes", "info/exclude"];
/// Files of the working tree that git reads as rules.
pub(super) const RULES: [&str; 2] = [".gitignore", ".gitattributes"];
/// No name of a reference is longer.
const REFERENCE_BYTES: u64 = 4096;
/// How long Ralph waits for somebody else's lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);
pub(super) const NAP: Duration = Duration::from_millis(20);

/// A repository, and what all calls of git in it share.
#[derive(Debug)]
pub(super) struct Repository {
    /// The root of the working tree, without links in it.
    pub(super) top: PathBuf,
    /// Git's directory of this working tree.
    pub(super) git_dir: PathBuf,
    /// Git's directory of all working trees of the repository.
    pub(super) shared_dir: PathBuf,
    pub(super) calls: CallState,
    pub(super) programs: Mutex<ProgramWatch>,
}

impl Repository {
    pub(super) fn new(top: PathBuf, git_dir: PathBuf, limits: GitLimits) -> Self {
        let shared = read_start(&git_dir.join("commondir"))
            .map(|line| git_dir.join(on_disk(Path::new(""), line.trim_ascii())));
        Self {
            shared_dir: shared.unwrap_or_else(|_| git_dir.clone()),
            top,
            git_dir,
            calls: CallState { limits, ..CallState::default() },
            programs: Mutex::default(),
        }
    }

    /// The repository that git would find from a directory on, without asking git.
    pub(super) fn around(dir: &Path, limits: &GitLimits) -> Option<Self> {
        dir.ancestors().find_map(|top| {
            let entry = top.join(".git");
            let git_dir = match fs::metadata(&entry).ok()? {
                meta if meta.is_dir() => entry,
                _ => {
                    let line = read_start(&entry).ok()?;
                    let path = line.trim_ascii().strip_prefix(b"gitdir: ")?;
                    top.join(on_disk(Path::new(""), path))
                }
            };
            Some(Self::new(top.to_owned(), git_dir, limits.clone()))
        })
    }

    /// A call that only reads.
    pub(super) fn query(&self, args: &[&str]) -> Call<'_> {
        Call::new(self, CallKind::Query, args)
    }

    /// A call that writes.
    pub(super) fn change(&self, args: &[&str]) -> Call<'_> {
        Call::new(self, CallKind::Change, args)
    }

    /// Whether git may be called: no fault so far, and no file that it would hang on.
    pub(super) fn check(&self) -> Result<(), GitError> {
        self.calls.check()?;
        match self.irregular_file() {
            None => Ok(()),
            Some(path) => Err(self.calls.fail(GitFault::NotRegular(path))),
        }
    }

    /// A file that is opened on every call and that is not a regular one.
    fn irregular_file(&self) -> Option<PathBuf> {
        let in_git_dir = |name: &&str| self.git_dir.join(name);
        let mut ralphs = [PENDING_COMMIT, COMMIT_LOCK].iter().map(in_git_dir);
        let mut gits = OWN.iter().map(in_git_dir).chain(SHARED.iter().map(|name| self.shared_dir.join(name)));
        let branch = self.head_reference().map(|name| on_disk(&self.shared_dir, &name));
        let mut rules = branch.into_iter().chain(RULES.iter().map(|name| self.top.join(name)));
        let is_irregular = |meta: io::Result<fs::Metadata>| meta.is_ok_and(|meta| !meta.is_file());
        ralphs
            .find(|path| is_irregular(fs::symlink_metadata(path)))
            .or_else(|| gits.find(|path| is_irregular(fs::metadata(path))))
            .or_else(|| rules.find(|path| is_special(path)))
    }

    /// What HEAD says, from its file: a process would take longer than all the rest.
    pub(super) fn head_line(&self) -> Option<Vec<u8>> {
        let head = read_start(&self.git_dir.join("HEAD")).ok()?;
        Some(head.trim_ascii().to_owned())
    }

    fn head_reference(&self) -> Option<Vec<u8>> {
        self.head_line()?.strip_prefix(b"ref: ").map(<[u8]>::to_vec)
    }

    /// The full name of the branch HEAD is on; none when HEAD is detached.
    pub(super) fn branch(&self) -> Result<Option<String>, GitError> {
        match self.head_reference() {
            // Where references are in a table, the file is only a placeholder.
            Some(name) if name.ends_with(b"/.invalid") => {
                let output = self.query(&["symbolic-ref", "-q", "HEAD"]).output()?;
                let name = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
                Ok(Some(name).filter(|name| output.success() && !name.is_empty()))
            }
            name => Ok(name.map(|name| String::from_utf8_lossy(&name).into_owned())),
        }
    }

    /// What revisions name, in order; none for one that does not exist.
    pub(super) fn resolve<const N: usize>(
        &self,
        revisions: [&str; N],
    ) -> Result<[Option<String>; N], GitError> {
        let call = self.query(&["cat-file", "--batch-check=%(objectname)"]);
        let out = call.input(revisions.join("\n") + "\n").run()?;
        let out = String::from_utf8_lossy(&out).into_owned();
        let mut lines = out.lines();
        let is_object = |line: &&str| line.bytes().all(|b| b.is_ascii_hexdigit());
        Ok(revisions.map(|_| lines.next().filter(is_object).map(str::to_owned)))
    }

    /// The commit a revision names.
    pub(super) fn commit_at(&self, revision: &str) -> Result<Option<String>, GitError> {
        let [commit] = self.resolve([revision])?;
        Ok(commit)
    }

    /// A directory for temporary files; beside git's own, where a rename is enough.
    pub(super) fn scratch(&self) -> Result<tempfile::TempDir, GitError> {
        let made = tempfile::Builder::new().prefix("ralph-").tempdir_in(&self.git_dir);
        made.map_err(|error| GitError::file(&self.git_dir, error))
    }

    pub(super) fn index_path(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    pub(super) fn index_bytes(&self) -> u64 {
        fs::metadata(self.index_path()).map_or(0, |meta| meta.len())
    }

    pub(super) fn lock_path(&self) -> PathBuf {
        self.git_dir.join("index.lock")
    }

    /// Waits until nobody holds the index.
    pub(super) fn wait_for_index(&self) -> Result<(), GitError> {
        wait_for(&self.lock_path())
    }

    /// The repository's index; none before anything was added.
    pub(super) fn read_index(&self) -> Result<Option<IndexFile>, GitError> {
        let path = self.index_path();
        let read = || -> io::Result<IndexFile> {
            let stamp = stamp(&path);
            let file = open(&path, Links::Follow)?;
            let modified = file.metadata()?.modified()?;
            Ok(IndexFile { bytes: read_all(file, Limit::GIT_INDEX)?, modified, stamp })
        };
        match read() {
            Ok(index) => Ok(Some(index)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(GitError::file(path, error)),
        }
    }

    /// Replaces the repository's index, or removes it. An index that is not `expected` stays; whether it was replaced.
    pub(super) fn install_index(
        &self,
        new: Option<&Path>,
        expected: Option<&IndexFile>,
    ) -> Result<bool, GitError> {
        let (index, lock) = (self.index_path(), self.lock_path());
        wait_for(&lock)?;
        let install = || -> io::Result<bool> {
            // The way git takes the lock.
            File::create_new(&lock)?;
            let _lock = TempPath::try_from_path(lock)?;
            if expected.is_some_and(|expected| stamp(&index) != expected.stamp) {
                return Ok(false);
            }
            match new {
                Some(new) => {
                    if let Ok(known) = fs::metadata(&index) {
                        let _ = fs::set_permissions(new, known.permissions());
                    }
                    fs::rename(new, &index)?;
                }
                None if index.exists() => fs::remove_file(&index)?,
                None => {}
            }
            Ok(true)
        };
        install().map_err(|error| GitError::file(&index, error))
    }
}

/// Waits until a lock is gone; not forever, because its holder may have died.
pub(super) fn wait_for(lock: &Path) -> Result<(), GitError> {
    let asked = Instant::now();
    while lock.exists() {
        if asked.elapsed() >= LOCK_PATIENCE {
            return Err(GitError::Locked(lock.to_owned()));
        }
        std::thread::sleep(NAP);
    }
    Ok(())
}

/// An index as it was on the disk.
#[derive(Clone)]
pub(super) struct IndexFile {
    pub(super) bytes: Vec<u8>,
    /// Goes with the bytes: by it git sees which entries could have changed unnoticed since.
    pub(super) modified: SystemTime,
    /// Tells one index from another: git never writes one in place.
    pub(super) stamp: Stamp,
}

impl std::fmt::Debug for IndexFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "IndexFile({} bytes)", self.bytes.len())
    }
}

/// The beginning of a regular file.
fn read_start(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = open(path, Links::Follow)?;
    file.take(REFERENCE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether a path is a pipe, a socket or a device.
pub(super) fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| {
        let kind = meta.file_type();
        kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Git;
    use crate::git::testing::{Repo, make_pipe};

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
            let opened = Git::open(repo.root(), GitLimits::default());
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
    fn a_linked_working_tree_shares_the_configuration() {
        let repo = Repo::with_first_commit();
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        repo.git(&["worktree", "add", "-q", &tree.display().to_string()]);
        let found = Repository::around(&tree, &GitLimits::default()).unwrap();
        let real = |path: &Path| fs::canonicalize(path).unwrap();
        assert_eq!(real(&found.shared_dir), real(&repo.path(".git")));
        make_pipe(&repo.path(".git/packed-refs"));
        assert!(Git::open(&tree, GitLimits::default()).is_err());
    }

    #[test]
    fn revisions_are_resolved_in_order() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        let found = git.repository().unwrap().resolve(["HEAD", "nope", "HEAD^", "HEAD"]);
        let head = Some(repo.head());
        assert_eq!(found.unwrap(), [head.clone(), None, None, head]);
    }
}
