//! The checkout follows: where a person has the branch checked out that work lands on, and nothing is changed there, their files
//! and their index are brought to what landed together with the branch.
//!
//! Git's own lock on the index is held meanwhile, so that git refuses whatever a person begins at that moment. The branch moves
//! last. Until then everything can go back: what fails, or is killed, leaves the checkout as it was.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::call::{Call, INDEX_FILE, with_zeros, zero_separated};
use super::index::GITLINK;
use super::paths::{FileKind, RepoPath, on_disk, parents};
use super::repository::Repository;
use super::{Git, GitError, Unfinished};
use crate::files::{self, Limit, Links, private, read_text, write_whole};
use crate::project::RALPH_DIR;
use crate::text::{few, one_line};

/// Below `.ralph`, where nothing that is confined can write, unlike in git's directory: Ralph does as the note says.
const DIR: &str = "follow";
/// What is about to happen.
const NOTE: &str = "note";
/// The index that takes the place of the person's.
const NEXT_INDEX: &str = "index";
const NEXT_INDEX_LOCK: &str = "index.lock";
/// In git's directory. Git's lock is a hard link to this file: by that it is told from git's own after a kill.
const OWN_LOCK: &str = "ralph-follow";
/// How long a person's own git may hold the index before the checkout does not follow.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a git that outlived its killed Ralph may go on.
const CHILD_PATIENCE: Duration = Duration::from_secs(600);
const NAP: Duration = Duration::from_millis(20);
const NAMED: usize = 3;

/// Who has a branch checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Nobody,
    /// This working tree.
    Here,
    /// Another working tree of a person's, or a rebase that works on it.
    Elsewhere(PathBuf),
}

/// What came of moving a branch together with the checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Followed {
    Moved,
    /// Somebody else moved the branch. Nothing changed.
    Overtaken,
    /// The checkout cannot follow, and this is why. Nothing changed.
    Hindered(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    branch: String,
    old: String,
    new: String,
}

impl Note {
    /// Whether it names commits. Anybody may have written the file.
    fn is_whole(&self) -> bool {
        let is_commit = |name: &str| name.len() >= 40 && name.bytes().all(|b| b.is_ascii_hexdigit());
        is_commit(&self.old) && is_commit(&self.new)
    }
}

/// A path that differs between two commits.
struct Change {
    path: RepoPath,
    was_there: bool,
    stays: bool,
    is_submodule: bool,
}

/// A checkout that is being moved, under git's lock. The lock goes with it, unless it is forgotten.
struct Following<'g> {
    git: &'g Git,
    repository: &'g Repository,
    note: Note,
    changes: Vec<Change>,
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.repository.lock_path());
        let _ = fs::remove_file(self.repository.git_dir.join(OWN_LOCK));
        // The note last: without it nobody would look for the rest.
        let _ = self.git.forget_following();
    }
}

impl Git {
    /// Who has a branch checked out. A rebase counts: it moves the branch in the end.
    pub fn place_of(&self, branch: &str) -> Result<Place, GitError> {
        let repository = self.repository()?;
        let full = format!("refs/heads/{branch}");
        let is_own = |path: &Path| {
            path == repository.top || fs::canonicalize(path).is_ok_and(|path| path == repository.top)
        };
        let is_here = repository.branch()?.as_ref() == Some(&full);
        for tree in self.trees()?.into_iter().filter(|tree| tree.branch.as_ref() == Some(&full)) {
            if is_here && is_own(&tree.path) {
                continue;
            }
            if Self::discover(&tree.path).is_none_or(|tree| !tree.is_own_tree()) {
                return Ok(Place::Elsewhere(tree.path));
            }
        }
        Ok(if is_here { Place::Here } else { Place::Nobody })
    }

    /// Why this checkout could not follow its branch now; none where it could.
    pub fn hindrance(&self) -> Result<Option<String>, GitError> {
        let repository = self.repository()?;
        if let Some(why) = repository.in_progress() {
            return Ok(Some(why));
        }
        let status = repository.query(&STATUS).output()?;
        Ok(match status.success() {
            true => self.told_changes(&status.stdout),
            false => Some(format!("git cannot read it: {}", one_line(&status.error_text(), 200))),
        })
    }

    /// Moves a branch that is checked out here from one commit to another, and with it the files and the index.
    pub fn follow(&self, branch: &str, old: &str, new: &str) -> Result<Followed, GitError> {
        let repository = self.repository()?;
        // Who is in the middle of a merge is not kept from ending it, not even for a moment.
        if let Some(why) = repository.in_progress() {
            return Ok(Followed::Hindered(why));
        }
        // A signal to stop waits: half of this must not be left.
        let _finishing = repository.calls.finish();
        let note = Note { branch: branch.to_owned(), old: old.to_owned(), new: new.to_owned() };
        let following = match Following::begin(self, repository, note)? {
            Ok(following) => following,
            Err(why) => return Ok(Followed::Hindered(why)),
        };
        if !following.is_where_it_was()? {
            return Ok(Followed::Overtaken);
        }
        if let Some(why) = following.hindrance()? {
            return Ok(Followed::Hindered(why));
        }
        let moved = following.write_files().and_then(|written| match written {
            Some(why) => Ok(Followed::Hindered(why)),
            None => following.install_index().and_then(|()| following.move_branch()),
        });
        match moved {
            Ok(Followed::Moved) => {
                // Somebody may have begun another branch here a moment before: then the files are not that one's.
                if !following.is_moved().unwrap_or(true) {
                    let _ = following.go_back_or_leave();
                }
                Ok(Followed::Moved)
            }
            not => following.go_back_or_leave().and(not),
        }
    }

    /// Whether a killed run left the checkout of a directory half way; asked without git.
    pub fn is_half_way(dir: &Path) -> bool {
        dir.join(RALPH_DIR).join(DIR).join(NOTE).symlink_metadata().is_ok()
    }

    /// Where notes are of a checkout that follows.
    fn follow_dir(&self) -> PathBuf {
        on_disk(&self.repository.top, &self.prefix).join(RALPH_DIR).join(DIR)
    }

    fn forget_following(&self) -> std::io::Result<()> {
        let dir = self.follow_dir();
        for name in [NEXT_INDEX, NEXT_INDEX_LOCK, NOTE] {
            match fs::remove_file(dir.join(name)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::remove_dir(&dir)
    }

    /// Ends what a killed run began, for the holder of the landing lock: where the branch was moved all is done, otherwise
    /// the checkout goes back. Gives the files that somebody changed meanwhile, which stay as they are; none where there was
    /// nothing to end.
    pub fn end_following(&self) -> Result<Option<Vec<String>>, GitError> {
        let repository = self.repository()?;
        let path = self.follow_dir().join(NOTE);
        if path.symlink_metadata().is_err() {
            return Ok(None);
        }
        let _finishing = repository.calls.finish();
        let note = read_text(&path, Links::Refuse, Limit::SETTINGS).ok();
        let note = note.and_then(|note| serde_json::from_str::<Note>(&note).ok()).filter(Note::is_whole);
        let own_lock = repository.git_dir.join(OWN_LOCK);
        let is_locked = is_same_file(&own_lock, &repository.lock_path());
        let Some(note) = note.filter(|_| is_locked) else {
            // Nothing was begun, or a person took the lock away and with it what was left.
            if is_locked {
                let _ = fs::remove_file(repository.lock_path());
            }
            let _ = fs::remove_file(own_lock);
            self.forget_following().map_err(|error| GitError::file(&path, error))?;
            return Ok(None);
        };
        repository.wait_for_child(&self.follow_dir().join(NEXT_INDEX))?;
        let changes = repository.changes(&note.old, &note.new)?;
        let following = Following { git: self, repository, note, changes };
        match following.is_moved() {
            Ok(true) => Ok(None),
            Ok(false) => following.go_back_or_leave().map(Some),
            Err(error) => {
                std::mem::forget(following);
                Err(error)
            }
        }
    }

    /// What `git status` tells of changes that are a person's.
    fn told_changes(&self, status: &[u8]) -> Option<String> {
        let records = zero_separated(status);
        let paths = records.filter_map(|record| {
            let fields = match record.first()? {
                b'1' => 9,
                b'u' => 11,
                _ => return None,
            };
            record.splitn(fields, |b| *b == b' ').nth(fields - 1)
        });
        let changed: Vec<String> =
            paths.filter(|path| !self.is_ralphs(path)).map(|path| self.display(path)).collect();
        (!changed.is_empty()).then(|| format!("it has uncommitted changes: {}", few(&changed, NAMED)))
    }
}

/// What is changed in the whole repository, files that git does not know left out.
const STATUS: [&str; 6] =
    ["status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=dirty"];

impl<'g> Following<'g> {
    /// Notes what is about to happen, and takes git's lock on the index. The inner error is why that cannot be.
    fn begin(git: &'g Git, repository: &'g Repository, note: Note) -> Result<Result<Self, String>, GitError> {
        let changes = repository.changes(&note.old, &note.new)?;
        let (dir, own_lock, lock) =
            (git.follow_dir(), repository.git_dir.join(OWN_LOCK), repository.lock_path());
        let path = dir.join(NOTE);
        let text = serde_json::to_string(&note).map_err(|error| GitError::file(&path, error.into()))?;
        let written = private::make_dir(&dir).and_then(|()| write_whole(&path, text.as_bytes()));
        written.map_err(|error| GitError::file(&path, error))?;
        files::create_anew(&own_lock).map_err(|error| GitError::file(&own_lock, error))?;
        let asked = Instant::now();
        loop {
            repository.remove_stale_lock();
            match fs::hard_link(&own_lock, &lock) {
                Ok(()) => return Ok(Ok(Self { git, repository, note, changes })),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && asked.elapsed() < PATIENCE => {
                    std::thread::sleep(NAP);
                }
                Err(error) => {
                    let _ = fs::remove_file(&own_lock);
                    let _ = git.forget_following();
                    return Ok(Err(match error.kind() {
                        ErrorKind::AlreadyExists => "git's index is locked".to_owned(),
                        _ => format!("git's index cannot be locked: {error}"),
                    }));
                }
            }
        }
    }

    /// Whether the branch is still checked out, and where it was.
    fn is_where_it_was(&self) -> Result<bool, GitError> {
        let full = format!("refs/heads/{}", self.note.branch);
        Ok(self.repository.branch()?.as_ref() == Some(&full)
            && self.repository.commit_at("HEAD")?.as_ref() == Some(&self.note.old))
    }

    /// Why the checkout cannot follow, now that nobody else can change its index.
    fn hindrance(&self) -> Result<Option<String>, GitError> {
        // Once more, now that nothing can begin.
        if let Some(why) = self.repository.in_progress() {
            return Ok(Some(why));
        }
        if !self.copy_index()? {
            return Ok(Some("it has no index".to_owned()));
        }
        // It brings the copy up to date, so that files that were only touched are no obstacle.
        let status = self.call(&STATUS).env("GIT_OPTIONAL_LOCKS", "1").run()?;
        if let Some(changed) = self.git.told_changes(&status) {
            return Ok(Some(changed));
        }
        if let Some(change) = self.changes.iter().find(|change| change.is_submodule) {
            let path = self.git.display(&change.path);
            return Ok(Some(format!("the submodule {path} changes, which you have to update")));
        }
        let in_the_way: Vec<String> = self.in_the_way().iter().map(|path| self.git.display(path)).collect();
        Ok((!in_the_way.is_empty())
            .then(|| format!("files that git does not track are in the way: {}", few(&in_the_way, NAMED))))
    }

    /// Files that git does not know, ignored ones included, where files are to be.
    fn in_the_way(&self) -> BTreeSet<RepoPath> {
        let top = &self.repository.top;
        let removed: BTreeSet<&[u8]> =
            self.changes.iter().filter(|change| !change.stays).map(Change::path).collect();
        let mut found = BTreeSet::new();
        for change in self.changes.iter().filter(|change| change.stays && !change.was_there) {
            let is_blocking = |dir: &&[u8]| {
                is_no_directory(top, dir) && !removed.contains(dir)
                    || FileKind::at(top, dir) == FileKind::Repository
            };
            let above = parents(&change.path).filter(is_blocking);
            found.extend(above.map(<[u8]>::to_vec));
            match FileKind::at(top, &change.path) {
                FileKind::Gone => {}
                FileKind::Directory | FileKind::Repository => {
                    self.add_unknown_below(&change.path, &removed, &mut found);
                }
                FileKind::File(_) | FileKind::Link | FileKind::Special => {
                    found.insert(change.path.clone());
                }
            }
        }
        found
    }

    fn add_unknown_below(&self, dir: &[u8], removed: &BTreeSet<&[u8]>, found: &mut BTreeSet<RepoPath>) {
        use std::os::unix::ffi::OsStrExt;
        for entry in fs::read_dir(on_disk(&self.repository.top, dir)).into_iter().flatten().flatten() {
            let path = [dir, b"/", entry.file_name().as_bytes()].concat();
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => self.add_unknown_below(&path, removed, found),
                false if removed.contains(path.as_slice()) => {}
                false => drop(found.insert(path)),
            }
        }
    }

    /// Writes the files, unless git finds one that was changed. Why not, where it did not.
    fn write_files(&self) -> Result<Option<String>, GitError> {
        let Note { old, new, .. } = &self.note;
        let output = self.call(&["read-tree", "-m", "-u", old, new]).output()?;
        Ok((!output.success()).then(|| one_line(&output.error_text(), 200)))
    }

    fn install_index(&self) -> Result<(), GitError> {
        self.repository.replace_index(Some(&self.next_index()))
    }

    fn move_branch(&self) -> Result<Followed, GitError> {
        let Note { branch, old, new } = &self.note;
        match self.git.advance_with(branch, old, new, Some(&self.next_index()))? {
            true => Ok(Followed::Moved),
            false => Ok(Followed::Overtaken),
        }
    }

    /// Whether what is checked out has the new commit.
    fn is_moved(&self) -> Result<bool, GitError> {
        let Some(head) = self.repository.commit_at("HEAD")? else { return Ok(false) };
        self.git.is_in(&self.note.new, &head)
    }

    /// Brings the checkout back to where it was; the files that somebody changed meanwhile stay as they are. Where that fails,
    /// note and lock stay for the next run.
    fn go_back_or_leave(self) -> Result<Vec<String>, GitError> {
        let left = self.go_back();
        if left.is_err() {
            std::mem::forget(self);
        }
        left
    }

    fn go_back(&self) -> Result<Vec<String>, GitError> {
        let Note { old, new, .. } = &self.note;
        let (top, next) = (&self.repository.top, self.next_index());
        self.copy_index()?;
        // From files alone it is told what is Ralph's: what is as in the new commit, and was about to be.
        self.call(&["read-tree", "-i", "-m", old, new]).run()?;
        let of_new = self.differing()?;
        self.call(&["read-tree", "-i", "-m", new, old]).run()?;
        let of_old = self.differing()?;
        let (mut removed, mut restored, mut left) = (Vec::new(), Vec::new(), Vec::new());
        for change in &self.changes {
            let path = &change.path;
            let kind = FileKind::at(top, path);
            let is_there = !matches!(kind, FileKind::Gone | FileKind::Directory);
            let is_old = if change.was_there { !of_old.contains(path) } else { !is_there };
            let is_ours =
                !is_there || change.stays && (!of_new.contains(path) || self.is_begun(path, kind)?);
            match (is_old, is_ours, change.was_there) {
                (true, ..) => {}
                (false, true, true) => restored.push(path.as_slice()),
                (false, true, false) => removed.push(path.as_slice()),
                (false, false, _) => left.push(self.git.display(path)),
            }
        }
        for path in removed {
            let file = on_disk(top, path);
            fs::remove_file(&file).map_err(|error| GitError::file(&file, error))?;
            let mut above = parents(path).map(|dir| on_disk(top, dir));
            while above.next().is_some_and(|dir| fs::remove_dir(dir).is_ok()) {}
        }
        // Git would remove whatever is in the way.
        let is_blocked = |path: &&&[u8]| {
            on_disk(top, path).symlink_metadata().is_ok_and(|meta| meta.is_dir())
                || parents(path).any(|dir| is_no_directory(top, dir))
        };
        let (blocked, free): (Vec<&[u8]>, Vec<&[u8]>) = restored.iter().partition(is_blocked);
        left.extend(blocked.into_iter().map(|path| self.git.display(path)));
        let list = with_zeros(free);
        if !list.is_empty() {
            self.call(&["checkout-index", "-f", "-u", "-z", "--stdin"]).input(list).run()?;
        }
        self.call(&["update-index", "-q", "--refresh"]).output()?;
        self.repository.replace_index(Some(&next))?;
        Ok(left)
    }

    /// The paths where the files are not as the copy of the index has them.
    fn differing(&self) -> Result<BTreeSet<RepoPath>, GitError> {
        self.call(&["update-index", "-q", "--refresh"]).output()?;
        let words = ["diff-files", "--name-only", "--no-renames", "--ignore-submodules=all", "-z"];
        let out = self.call(&words).run()?;
        Ok(zero_separated(&out).map(<[u8]>::to_vec).collect())
    }

    /// Whether a file is the beginning of what git was writing when it was killed.
    fn is_begun(&self, path: &[u8], kind: FileKind) -> Result<bool, GitError> {
        let FileKind::File(_) = kind else { return Ok(false) };
        let file = on_disk(&self.repository.top, path);
        let Ok(begun) = files::read(&file, Links::Refuse, Limit::TEXT) else { return Ok(false) };
        let name = [self.note.new.as_bytes(), b":", path].concat();
        let name = on_disk(Path::new(""), &name);
        let whole = self.call(&["cat-file", "--filters"]).arg(name).run()?;
        Ok(whole.starts_with(&begun))
    }

    /// Copies the person's index; `false` where there is none.
    fn copy_index(&self) -> Result<bool, GitError> {
        let Some(index) = self.repository.read_index()? else { return Ok(false) };
        let path = self.next_index();
        // A killed git leaves its lock.
        let _ = fs::remove_file(self.git.follow_dir().join(NEXT_INDEX_LOCK));
        index.write_to(&path)?;
        Ok(true)
    }

    fn next_index(&self) -> PathBuf {
        self.git.follow_dir().join(NEXT_INDEX)
    }

    /// A call on the copy of the index, by which it is found should it outlive Ralph.
    fn call(&self, words: &[&str]) -> Call<'g> {
        let call = self.repository.change(words).index(&self.next_index()).without_hooks();
        call.config("core.splitIndex=false").config("submodule.recurse=false")
    }
}

impl Change {
    fn path(&self) -> &[u8] {
        &self.path
    }
}

impl Repository {
    fn in_progress(&self) -> Option<String> {
        Unfinished::find(&self.git_dir).map(|unfinished| format!("{unfinished} is in progress"))
    }

    fn changes(&self, old: &str, new: &str) -> Result<Vec<Change>, GitError> {
        let words = ["diff-tree", "-r", "--raw", "--no-renames", "-z", old, new];
        let out = self.query(&words).run()?;
        let mut pieces = zero_separated(&out);
        let mut changes = Vec::new();
        while let (Some(facts), Some(path)) = (pieces.next(), pieces.next()) {
            let facts = String::from_utf8_lossy(facts);
            let mut modes = facts.trim_start_matches(':').split(' ').take(2);
            let (before, after) = (modes.next().unwrap_or_default(), modes.next().unwrap_or_default());
            let is_there = |mode: &str| mode.bytes().any(|b| b != b'0');
            changes.push(Change {
                path: path.to_owned(),
                was_there: is_there(before),
                stays: is_there(after),
                is_submodule: [before, after].contains(&GITLINK),
            });
        }
        Ok(changes)
    }

    /// Waits for a git that outlived the Ralph that started it.
    fn wait_for_child(&self, index: &Path) -> Result<(), GitError> {
        use std::os::unix::ffi::OsStrExt;
        let variable = [INDEX_FILE.as_bytes(), index.as_os_str().as_bytes()].join(&b'=');
        let asked = Instant::now();
        while crate::agent::is_in_an_environment(&variable) {
            if asked.elapsed() >= CHILD_PATIENCE {
                return Err(GitError::Locked(self.lock_path()));
            }
            std::thread::sleep(NAP);
        }
        Ok(())
    }
}

fn is_no_directory(top: &Path, path: &[u8]) -> bool {
    on_disk(top, path).symlink_metadata().is_ok_and(|meta| !meta.is_dir())
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let inode = |path: &Path| fs::symlink_metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    inode(one).is_some_and(|found| inode(other) == Some(found))
}

#[cfg(test)]
mod tests;
