//! Where a repository keeps its files, and its index. Files that git opens on every call are checked first: a named pipe in
//! the place of one would block git, and Ralph, forever.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use super::call::{Call, CallKind, CallState};
use super::lookup::KnownCommits;
use super::paths::on_disk;
use super::submodules::Submodule;
use super::trust::ProgramWatch;
use super::{GitError, GitFault, GitLimits};
use crate::files::{Limit, Links, Lock, open, read_all};
use crate::text::one_line;

/// Files in git's directory that must be regular where they exist.
const OWN: [&str; 5] = ["HEAD", "index", "config.worktree", "ralph-commit.json", "ralph-committing"];
/// The same in the directory that all working trees of the repository share.
const SHARED: [&str; 5] = ["config", "packed-refs", "shallow", "info/attributes", "info/exclude"];
/// Files of the working tree that git reads as rules.
pub(super) const RULES: [&str; 2] = [".gitignore", ".gitattributes"];
/// What leads git from the root of a working tree to its directory, or is that.
pub(super) const GIT_ENTRY: &str = ".git";
/// In git's directory of one of several working trees: where that of all of them is.
const COMMON: &str = "commondir";
/// No name of a reference is longer.
const REFERENCE_BYTES: u64 = 4096;
/// How many entries of the working tree are searched for the cause of a timeout.
const MOST_ENTRIES: usize = 50_000;
/// How long Ralph waits for somebody else's lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);
const NAP: Duration = Duration::from_millis(20);
/// A file in each temporary directory that its maker holds locked for as long as it lives.
pub(super) const SCRATCH_LOCK: &str = "lock";
/// Ralph holds the index's lock for less than a millisecond: one this old was left by a killed run.
const STALE: Duration = Duration::from_secs(1);

/// A repository, and what all calls of git in it share.
#[derive(Debug)]
pub(super) struct Repository {
    pub(super) top: PathBuf,
    pub(super) git_dir: PathBuf,
    /// Git's directory of all working trees of the repository.
    pub(super) shared_dir: PathBuf,
    pub(super) calls: CallState,
    pub(super) programs: Mutex<ProgramWatch>,
    /// What git called the root of the working tree when it was first asked.
    pub(super) first_top: OnceLock<String>,
    /// How often the configuration had been read when git was last asked whether it can use the repository.
    pub(super) checked_at: AtomicU64,
    pub(super) known_commits: Mutex<KnownCommits>,
    pub(super) submodules: Mutex<Vec<Submodule>>,
    /// Git's directory as it was found. While it is open, no other directory gets its number.
    opened: Option<OwnedFd>,
    /// Whether git itself found it.
    is_confirmed: bool,
}

impl Repository {
    pub(super) fn new(top: PathBuf, git_dir: PathBuf, limits: GitLimits) -> Self {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&git_dir, flags, Mode::empty());
        Self {
            shared_dir: shared_dir(&git_dir),
            top,
            git_dir,
            calls: CallState::new(limits),
            programs: Mutex::default(),
            first_top: OnceLock::new(),
            checked_at: AtomicU64::new(u64::MAX),
            known_commits: Mutex::default(),
            submodules: Mutex::default(),
            opened: opened.ok(),
            is_confirmed: false,
        }
    }

    /// The same, now that git says it is here.
    pub(super) fn confirmed(self) -> Self {
        Self { is_confirmed: true, ..self }
    }

    /// What names this repository to git, so that nothing in the working tree leads it to another one.
    pub(super) fn variables(&self) -> Vec<(&'static str, OsString)> {
        if !self.is_confirmed {
            return Vec::new();
        }
        // Where a person's core.worktree says otherwise, git has said so.
        let top = match self.first_top.get() {
            Some(named) if *named != self.top.to_string_lossy() => OsStr::new(named),
            _ => self.top.as_os_str(),
        };
        vec![
            ("GIT_DIR", self.git_dir.clone().into()),
            ("GIT_COMMON_DIR", self.shared_dir.clone().into()),
            ("GIT_WORK_TREE", top.to_owned()),
        ]
    }

    /// Whether git would find this repository by itself. The one real commit does: variables that name the repository would
    /// lead hooks astray that work in other ones.
    pub(super) fn check_entry(&self) -> Result<(), GitError> {
        let entry = self.top.join(GIT_ENTRY);
        let leads = leads_to(&entry).and_then(|dir| rustix::fs::stat(&dir).ok());
        let found = self.opened.as_ref().and_then(|dir| rustix::fs::fstat(dir).ok());
        let is_it = leads.is_some_and(|leads| {
            found.is_none_or(|found| (leads.st_dev, leads.st_ino) == (found.st_dev, found.st_ino))
        });
        if is_it { Ok(()) } else { Err(self.calls.fail(GitFault::Replaced(entry))) }
    }

    /// Whether git's directory is another than the one that was found: commits would go where nobody expects them.
    pub(super) fn is_replaced(&self) -> bool {
        let found = self.opened.as_ref().and_then(|dir| rustix::fs::fstat(dir).ok());
        let now = rustix::fs::stat(&self.git_dir).ok();
        found.zip(now).is_some_and(|(found, now)| (found.st_dev, found.st_ino) != (now.st_dev, now.st_ino))
    }

    /// The repository that git would find from a directory on, without asking git.
    pub(super) fn around(dir: &Path, limits: &GitLimits) -> Option<Self> {
        dir.ancestors().find_map(|top| {
            let git_dir = leads_to(&top.join(GIT_ENTRY))?;
            Some(Self::new(top.to_owned(), git_dir, limits.clone()))
        })
    }

    pub(super) fn query(&self, args: &[&str]) -> Call<'_> {
        Call::new(self, CallKind::Query, args)
    }

    pub(super) fn change(&self, args: &[&str]) -> Call<'_> {
        Call::new(self, CallKind::Change, args)
    }

    /// Whether git may be called: no fault so far, and no file that it would hang on.
    pub(super) fn check(&self) -> Result<(), GitError> {
        self.calls.check()?;
        // Settings, hooks and objects would be those of the author of this.
        let now = shared_dir(&self.git_dir);
        if now != self.shared_dir {
            let why = format!("{} leads it to {}", self.git_dir.join(COMMON).display(), now.display());
            return Err(self.calls.fail(GitFault::Unusable(one_line(&why, 600))));
        }
        match self.irregular_file() {
            None => Ok(()),
            Some(path) => Err(self.calls.fail(GitFault::NotRegular(path))),
        }
    }

    /// A file that git opens on every call and that is not a regular one.
    pub(super) fn irregular_file(&self) -> Option<PathBuf> {
        let own = OWN.iter().map(|name| self.git_dir.join(name));
        let shared = SHARED.iter().map(|name| self.shared_dir.join(name));
        let is_other = |path: &PathBuf| fs::metadata(path).is_ok_and(|meta| !meta.is_file());
        // Ralph puts its own index in the place of git's, which a link would lead elsewhere.
        let index = Some(self.index_path()).filter(|path| path.is_symlink());
        index.or_else(|| own.chain(shared).find(is_other)).or_else(|| {
            let branch = self.head_reference();
            let branch = branch.map(|name| on_disk(&self.shared_dir, &name));
            let mut rules = RULES.iter().map(|name| self.top.join(name));
            branch.filter(|path| is_special(path)).or_else(|| rules.find(|path| is_special(path)))
        })
    }

    /// What HEAD says, from its file: a process would take longer than all the rest.
    pub(super) fn head_line(&self) -> Option<Vec<u8>> {
        let head = read_start(&self.git_dir.join("HEAD")).ok()?;
        Some(head.trim_ascii().to_owned())
    }

    fn head_reference(&self) -> Option<Vec<u8>> {
        let head = self.head_line()?;
        head.strip_prefix(b"ref: ").map(<[u8]>::to_vec)
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
        let on_disk = revisions.map(|revision| self.reference_on_disk(revision));
        if on_disk.iter().all(Option::is_some) {
            return Ok(on_disk);
        }
        let call = self.query(&["cat-file", "--batch-check=%(objectname)"]);
        let out = call.input(revisions.join("\n") + "\n").run()?;
        let out = String::from_utf8_lossy(&out).into_owned();
        let mut lines = out.lines();
        let is_object = |line: &&str| line.bytes().all(|b| b.is_ascii_hexdigit());
        Ok(revisions.map(|_| lines.next().filter(is_object).map(str::to_owned)))
    }

    pub(super) fn commit_at(&self, revision: &str) -> Result<Option<String>, GitError> {
        let [commit] = self.resolve([revision])?;
        Ok(commit)
    }

    /// A directory for temporary files; beside git's own, where a rename is enough.
    pub(super) fn scratch(&self) -> Result<Scratch, GitError> {
        let prefix = format!("ralph-{}-", std::process::id());
        let made = tempfile::Builder::new().prefix(&prefix).tempdir_in(&self.git_dir).and_then(|dir| {
            let lock = Lock::within(&dir.path().join(SCRATCH_LOCK), Duration::ZERO)?;
            Ok(Scratch { dir, _lock: lock })
        });
        made.map_err(|error| GitError::file(&self.git_dir, error))
    }

    pub(super) fn index_path(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// Whether git's directory has what git looks for in one.
    pub(super) fn has_its_parts(&self) -> bool {
        let head = self.head_line().unwrap_or_default();
        let is_head =
            head.starts_with(b"ref: refs/") || head.len() >= 40 && head.iter().all(u8::is_ascii_hexdigit);
        is_head && ["objects", "refs"].iter().all(|name| self.shared_dir.join(name).is_dir())
    }

    pub(super) fn index_bytes(&self) -> u64 {
        fs::metadata(self.index_path()).map_or(0, |meta| meta.len())
    }

    pub(super) fn lock_path(&self) -> PathBuf {
        self.git_dir.join("index.lock")
    }

    /// The repository's index; none before anything was added.
    pub(super) fn read_index(&self) -> Result<Option<IndexFile>, GitError> {
        IndexFile::read(&self.index_path())
    }

    /// Waits until nobody holds the index; not forever, because its holder may have died.
    pub(super) fn wait_for_index(&self) -> Result<(), GitError> {
        self.remove_stale_lock();
        self.wait_for(&self.lock_path())
    }

    pub(super) fn wait_for(&self, lock: &Path) -> Result<(), GitError> {
        let asked = Instant::now();
        while lock.exists() {
            if asked.elapsed() >= LOCK_PATIENCE {
                return Err(GitError::Locked(lock.to_owned()));
            }
            std::thread::sleep(NAP);
        }
        Ok(())
    }

    /// A hard link to this file is Ralph's lock on the index: that tells it from one of git's.
    fn own_lock_path(&self) -> PathBuf {
        self.git_dir.join("ralph-index")
    }

    /// Removes the index's lock where a killed run of Ralph left it.
    pub(super) fn remove_stale_lock(&self) {
        let inode = |path: PathBuf| fs::symlink_metadata(path).map(|meta| (meta.dev(), meta.ino()));
        let is_ours = match (inode(self.lock_path()), inode(self.own_lock_path())) {
            (Ok(lock), Ok(own)) => lock == own,
            _ => false,
        };
        let linked = crate::files::stamp(&self.lock_path()).map(|(linked, _)| linked);
        let is_old = linked.is_some_and(|at| at.elapsed().is_ok_and(|age| age > STALE));
        if is_ours && is_old {
            let _ = fs::remove_file(self.lock_path());
        }
    }

    /// Takes the index's lock the way git does.
    fn lock_index(&self) -> Result<IndexLock, GitError> {
        let (lock, own) = (self.lock_path(), self.own_lock_path());
        let _ = File::create_new(&own);
        let asked = Instant::now();
        loop {
            self.remove_stale_lock();
            let linked = match fs::hard_link(&own, &lock) {
                // This file system has no hard links.
                Err(error) if error.kind() != ErrorKind::AlreadyExists => File::create_new(&lock).map(drop),
                linked => linked,
            };
            match linked {
                Ok(()) => return Ok(IndexLock(lock)),
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(GitError::file(lock, error));
                }
                Err(_) if asked.elapsed() >= LOCK_PATIENCE => return Err(GitError::Locked(lock)),
                Err(_) => std::thread::sleep(NAP),
            }
        }
    }

    pub(super) fn install_index(&self, new: Option<&Path>) -> Result<(), GitError> {
        let _lock = self.lock_index()?;
        self.replace_index(new)
    }

    /// The same, unless somebody wrote the index since it was read; the new index, where it was replaced.
    pub(super) fn install_index_over(
        &self,
        old: &IndexFile,
        new: &Path,
    ) -> Result<Option<IndexIdentity>, GitError> {
        let _lock = self.lock_index()?;
        if IndexIdentity::of(&self.index_path()) != Some(old.identity) {
            return Ok(None);
        }
        self.replace_index(Some(new))?;
        Ok(IndexIdentity::of(&self.index_path()))
    }

    /// Copies a file so that the copy is there as a whole or not at all.
    fn copy_to(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        let mut temporary = crate::files::temporary_in(&self.git_dir)?;
        std::io::copy(&mut crate::files::open(from, crate::files::Links::Refuse)?, &mut temporary)?;
        temporary.persist(to).map(drop).map_err(|error| error.error)
    }

    /// Puts another index, or none, in the place of the repository's, for the holder of its lock.
    pub(super) fn replace_index(&self, new: Option<&Path>) -> Result<(), GitError> {
        let index = self.index_path();
        let done = match new {
            Some(new) => {
                if let Ok(known) = fs::metadata(&index) {
                    let _ = fs::set_permissions(new, known.permissions());
                }
                match fs::rename(new, &index) {
                    // Ralph's own directory may be on another disk than git's.
                    Err(error) if error.kind() == ErrorKind::CrossesDevices => {
                        self.copy_to(new, &index).and_then(|()| fs::remove_file(new))
                    }
                    renamed => renamed,
                }
            }
            None => match fs::remove_file(&index) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                done => done,
            },
        };
        done.map_err(|error| GitError::file(index, error))
    }
}

/// A directory for temporary files, until it is dropped.
pub(super) struct Scratch {
    dir: tempfile::TempDir,
    _lock: Lock,
}

impl Scratch {
    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }
}

struct IndexLock(PathBuf);

impl Drop for IndexLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[derive(Clone)]
pub(super) struct IndexFile {
    pub(super) bytes: Vec<u8>,
    /// Goes with the bytes: by it git sees which entries could have changed unnoticed since.
    pub(super) modified: SystemTime,
    pub(super) identity: IndexIdentity,
}

/// Tells one index from another: git never writes one in place. Inode and time of the last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IndexIdentity(u64, i64, i64);

impl IndexIdentity {
    pub(super) fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|meta| Self::new(&meta))
    }

    fn new(meta: &fs::Metadata) -> Self {
        Self(meta.ino(), meta.ctime(), meta.ctime_nsec())
    }
}

impl std::fmt::Debug for IndexFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "IndexFile({} bytes)", self.bytes.len())
    }
}

impl IndexFile {
    pub(super) fn read(path: &Path) -> Result<Option<Self>, GitError> {
        let read = || -> io::Result<Self> {
            let file = open(path, Links::Follow)?;
            let meta = file.metadata()?;
            Ok(Self {
                bytes: read_all(file, Limit::GIT_INDEX)?,
                modified: meta.modified()?,
                identity: IndexIdentity::new(&meta),
            })
        };
        match read() {
            Ok(index) => Ok(Some(index)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(GitError::file(path, error)),
        }
    }

    /// Writes a copy that git takes for as old as this.
    pub(super) fn write_to(&self, path: &Path) -> Result<(), GitError> {
        let write = || -> io::Result<()> {
            fs::write(path, &self.bytes)?;
            File::options().write(true).open(path)?.set_modified(self.modified)
        };
        write().map_err(|error| GitError::file(path, error))
    }
}

/// The directory that the entry `.git` of a working tree is, or leads to.
pub(super) fn leads_to(entry: &Path) -> Option<PathBuf> {
    if fs::metadata(entry).ok()?.is_dir() {
        return Some(entry.to_owned());
    }
    let line = read_start(entry).ok()?;
    let path = line.trim_ascii().strip_prefix(b"gitdir: ")?;
    Some(entry.parent()?.join(on_disk(Path::new(""), path)))
}

/// Git's directory of all working trees, as a file in the directory of one says.
fn shared_dir(git_dir: &Path) -> PathBuf {
    let line = read_start(&git_dir.join(COMMON));
    line.map_or_else(|_| git_dir.to_owned(), |line| git_dir.join(on_disk(Path::new(""), line.trim_ascii())))
}

pub(super) fn read_start(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = open(path, Links::Follow)?;
    file.take(REFERENCE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| {
        let kind = meta.file_type();
        kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device()
    })
}

/// The command line of a process in a group other than its leader.
pub(super) fn other_process_in(group: i32) -> Option<String> {
    let names = fs::read_dir("/proc").ok()?.flatten();
    let mut ids = names.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.find_map(|pid| {
        let text = |name: &str| {
            let bytes = read_start(Path::new(&format!("/proc/{pid}/{name}"))).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        // `pid (name) state parent group …`; the name may hold anything.
        let stat = text("stat")?;
        let (_, fields) = stat.rsplit_once(')')?;
        let its_group = fields.split_whitespace().nth(2)?.parse::<i32>().ok()?;
        if pid == group || its_group != group {
            return None;
        }
        let words = text("cmdline")?.replace('\0', " ");
        let line = crate::text::one_line(&crate::text::mask_secrets(words.trim()), 120);
        Some(line).filter(|line| !line.is_empty())
    })
}

/// A pipe or the like in the place of a file with rules, anywhere in the working tree.
pub(super) fn special_rules_file(top: &Path) -> Option<PathBuf> {
    let mut dirs = vec![top.to_owned()];
    let mut seen = 0;
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).ok()?.flatten() {
            seen += 1;
            if seen > MOST_ENTRIES {
                return None;
            }
            let (path, name) = (entry.path(), entry.file_name());
            if RULES.iter().any(|rules| name == *rules) && is_special(&path) {
                return Some(path);
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && name != ".git" {
                dirs.push(path);
            }
        }
    }
    None
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
    fn the_lock_of_a_killed_run_is_removed_and_no_other() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        let repository = git.repository().unwrap();
        let held = repository.lock_index().unwrap();
        repository.remove_stale_lock();
        assert!(repository.lock_path().exists(), "its holder may live");
        std::mem::forget(held);
        std::thread::sleep(STALE + Duration::from_millis(100));
        repository.wait_for_index().unwrap();
        assert!(!repository.lock_path().exists());
        repo.write(".git/index.lock", "");
        std::thread::sleep(STALE + Duration::from_millis(100));
        repository.remove_stale_lock();
        assert!(repository.lock_path().exists(), "it is git's");
    }

    #[test]
    fn revisions_are_resolved_in_order() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        let found = git.repository().unwrap().resolve(["HEAD", "nope", "HEAD^", "HEAD"]);
        let head = Some(repo.head());
        assert_eq!(found.unwrap(), [head.clone(), None, None, head]);
    }

    #[test]
    fn another_way_to_gits_directory_in_the_working_tree_leads_nowhere() {
        let repo = Repo::with_first_commit();
        repo.write("sub/a.txt", "1");
        repo.commit_all("more");
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        repo.git(&["worktree", "add", "-q", "--detach", &tree.display().to_string()]);
        for (project, entry) in
            [(tree.as_path(), tree.join(".git")), (&repo.path("sub"), repo.path("sub/.git"))]
        {
            let git = Git::open(project, GitLimits::default()).unwrap().unwrap();
            let before = git.snapshot().unwrap();
            git.repository.check_entry().unwrap();
            let other = Repo::with_first_commit();
            let _ = fs::remove_file(&entry);
            fs::write(&entry, format!("gitdir: {}\n", other.path(".git").display())).unwrap();
            assert_eq!(git.snapshot().unwrap().head(), before.head());
            assert_ne!(before.head(), Some(other.head().as_str()));
            // The commit itself goes by what is in the root of the working tree.
            assert_eq!(git.repository.check_entry().is_err(), project == tree);
        }
    }
}
