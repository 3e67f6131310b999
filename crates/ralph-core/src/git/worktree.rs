//! Working trees of Ralph's own: made beside the user's, brought to a commit, and cleared of what an attempt left there, which
//! is saved first. Nothing here is called on a tree of a person's.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::call::{Output, zero_separated};
use super::paths::on_disk;
use super::repository::Repository;
use super::saved::clean_message;
use super::{Git, GitError};
use crate::files::{Limit, Links, Lock, open, read, read_text, unguessable};

/// A file in git's directory of a working tree that says that the tree is Ralph's, and which project it is for.
const MARK: &str = "ralph-worktree";

/// The project that a directory in a working tree of Ralph's own belongs to; none elsewhere.
pub fn project_of_tree(from: &Path) -> Option<PathBuf> {
    let entry = from.ancestors().map(|dir| dir.join(".git")).find(|entry| entry.exists())?;
    // In the main working tree it is a directory.
    let line = read(&entry, Links::Refuse, Limit::SETTINGS).ok()?;
    let git_dir = line.trim_ascii().strip_prefix(b"gitdir: ")?;
    let mark = on_disk(Path::new("/"), git_dir).join(MARK);
    let root = read(&mark, Links::Refuse, Limit::SETTINGS).ok()?;
    let root = on_disk(Path::new("/"), root.trim_ascii());
    root.is_absolute().then_some(root).filter(|root| root.is_dir())
}

/// What git notes of a move of HEAD in a tree of Ralph's own.
const NEXT_ATTEMPT: &str = "ralph: next attempt";

/// How long others may take to make a working tree.
const TREE_PATIENCE: Duration = Duration::from_secs(600);

/// A working tree that the repository knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownTree {
    pub path: PathBuf,
    /// The commit that is checked out, where that is on no branch.
    pub head: Option<String>,
    /// The full name of the branch that is checked out.
    pub branch: Option<String>,
    /// Whether its directory is gone.
    pub is_gone: bool,
}

impl KnownTree {
    fn read(path: PathBuf, git_dir: &Path) -> Self {
        let head = read_text(&git_dir.join("HEAD"), Links::Follow, Limit::SETTINGS).unwrap_or_default();
        let head = head.trim();
        let branch = head.strip_prefix("ref: ").map(str::to_owned);
        let commit = Some(head.to_owned()).filter(|_| branch.is_none() && !head.is_empty());
        // A rebase works on no branch and moves its branch in the end.
        let rebased = || {
            let names = ["rebase-merge/head-name", "rebase-apply/head-name"];
            let read = |name| read_text(&git_dir.join(name), Links::Follow, Limit::SETTINGS).ok();
            names.into_iter().find_map(read).map(|name| name.trim().to_owned())
        };
        let branch = branch.or_else(rebased);
        Self { is_gone: !path.is_dir(), path, head: commit, branch }
    }
}

impl Git {
    /// The commit a branch is at.
    pub fn tip(&self, branch: &str) -> Result<Option<String>, GitError> {
        self.repository()?.commit_at(&format!("refs/heads/{branch}"))
    }

    /// The commit that is checked out; none before the first.
    pub fn head_commit(&self) -> Result<Option<String>, GitError> {
        self.repository()?.commit_at("HEAD")
    }

    /// Whether a commit is another one or an ancestor of it.
    pub fn is_in(&self, commit: &str, tip: &str) -> Result<bool, GitError> {
        if commit == tip {
            return Ok(true);
        }
        let output = self.repository()?.query(&["merge-base", "--is-ancestor", commit, tip]).output()?;
        match output.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(output.refused("merge-base")),
        }
    }

    /// Whether git can combine commits without a checkout, as it does since version 2.38.
    pub fn can_combine(&self, head: &str) -> Result<bool, GitError> {
        Ok(self.repository()?.query(&["merge-tree", "--write-tree", head, head]).output()?.success())
    }

    /// Makes a branch at a commit, unless there is one of that name.
    pub fn make_branch(&self, branch: &str, commit: &str) -> Result<(), GitError> {
        if !self.is_branch_name(branch)? {
            return Err(GitError::BranchName(branch.to_owned()));
        }
        let reference = format!("refs/heads/{branch}");
        let words = ["update-ref", "--create-reflog", "-m", "ralph: new branch", &reference, commit, ""];
        self.repository()?.change(&words).run().map(drop)
    }

    /// Removes a branch that is at a commit.
    pub fn remove_branch(&self, branch: &str, at: &str) -> Result<(), GitError> {
        let reference = format!("refs/heads/{branch}");
        self.repository()?.change(&["update-ref", "-d", &reference, at]).run().map(drop)
    }

    /// How many commits one has that another has not, those that a merge brought in not counted.
    pub fn commits_between(&self, from: &str, to: &str) -> Result<u64, GitError> {
        let range = format!("{from}..{to}");
        let count = self.repository()?.query(&["rev-list", "--count", "--first-parent", &range]).line()?;
        Ok(count.parse().unwrap_or(0))
    }

    /// The working trees of the repository, the main one first. Read from git's files: git itself fails while another tree is
    /// half made, and takes longer than all the rest of a landing.
    pub fn trees(&self) -> Result<Vec<KnownTree>, GitError> {
        let common = &self.repository()?.shared_dir;
        // From a linked tree it is `.git/worktrees/NAME/../..`.
        let common = std::fs::canonicalize(common).map_err(|error| GitError::file(common, error))?;
        let mut trees = Vec::new();
        if common.file_name() == Some(".git".as_ref())
            && let Some(top) = common.parent()
        {
            trees.push(KnownTree::read(top.to_owned(), &common));
        }
        let linked = std::fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
        let mut linked: Vec<KnownTree> = linked
            .filter_map(|entry| {
                let path = read(&entry.path().join("gitdir"), Links::Refuse, Limit::SETTINGS).ok()?;
                let path = on_disk(&entry.path(), path.trim_ascii());
                Some(KnownTree::read(path.parent()?.to_owned(), &entry.path()))
            })
            .collect();
        linked.sort_by(|a, b| a.path.cmp(&b.path));
        trees.extend(linked);
        Ok(trees)
    }

    /// One process at a time makes or removes working trees: git fails where it meets another that is half made.
    fn lock_trees(&self) -> Result<Lock, GitError> {
        let path = self.repository()?.shared_dir.join("ralph-worktrees");
        Lock::within(&path, TREE_PATIENCE).map_err(|error| GitError::file(&path, error))
    }

    /// Makes a working tree of Ralph's own, on no branch. A tree of that path that somebody deleted is made anew; commits that
    /// were made in it are saved under a reference, which is given. `project` is the root of the project that it is for.
    pub fn add_tree(&self, path: &Path, commit: &str, project: &Path) -> Result<Option<String>, GitError> {
        let repository = self.repository()?;
        let _lock = self.lock_trees()?;
        let saved = self.save_commits_of_gone(path)?;
        let words = ["worktree", "add", "--quiet", "--force", "--detach"];
        repository.change(&words).arg(path).arg(commit).without_hooks().run()?;
        if let Some(git) = Self::open(path, repository.calls.limits())? {
            let mark = git.repository.git_dir.join(MARK);
            let root = project.as_os_str().as_encoded_bytes();
            std::fs::write(&mark, root).map_err(|error| GitError::file(&mark, error))?;
        }
        Ok(saved)
    }

    /// Whether this working tree is one of Ralph's own.
    pub fn is_own_tree(&self) -> bool {
        self.repository.git_dir.join(MARK).is_file()
    }

    /// The project that this working tree of Ralph's own is for.
    pub fn project_root(&self) -> Option<PathBuf> {
        project_of_tree(&self.repository.top)
    }

    /// How many commits HEAD has that are on no branch and under no other reference.
    pub fn unsaved_commits(&self) -> Result<u64, GitError> {
        self.unsaved_commits_of("HEAD")
    }

    fn unsaved_commits_of(&self, commit: &str) -> Result<u64, GitError> {
        let words = [
            "rev-list",
            "--count",
            commit,
            "--not",
            "--branches",
            "--tags",
            "--remotes",
            "--glob=refs/ralph/*",
        ];
        Ok(self.repository()?.query(&words).line()?.parse().unwrap_or(0))
    }

    /// Where git keeps what all working trees share.
    pub fn common_dir(&self) -> &Path {
        &self.repository.shared_dir
    }

    /// The directory of the project below the root of its working tree; empty at the root.
    pub fn below_top(&self) -> PathBuf {
        on_disk(Path::new(""), &self.prefix)
    }

    /// Removes a working tree of Ralph's own with all that is in it. Where its directory is gone, commits that were made in
    /// it are saved under a reference, which is given.
    pub fn remove_tree(&self, path: &Path) -> Result<Option<String>, GitError> {
        let repository = self.repository()?;
        let _lock = self.lock_trees()?;
        let saved = self.save_commits_of_gone(path)?;
        let words = ["worktree", "remove", "--force", "--force"];
        let remove = || repository.change(&words).arg(path).without_hooks().run().map(drop);
        let removed = remove();
        if path.symlink_metadata().is_ok() {
            // Git refuses trees with submodules. What it keeps of one that is gone it removes.
            std::fs::remove_dir_all(path).map_err(|error| GitError::file(path, error))?;
            remove()?;
        } else {
            removed?;
        }
        Ok(saved)
    }

    /// The commits of a working tree whose directory somebody deleted: git forgets them with the tree.
    fn save_commits_of_gone(&self, path: &Path) -> Result<Option<String>, GitError> {
        // Git notes where a directory really is.
        let real = path.parent().and_then(|above| std::fs::canonicalize(above).ok());
        let real = real.zip(path.file_name()).map(|(above, name)| above.join(name));
        let is_it = |tree: &KnownTree| tree.path == path || Some(&tree.path) == real.as_ref();
        let known = self.trees()?.into_iter().find(|tree| tree.is_gone && is_it(tree));
        let Some(head) = known.and_then(|tree| tree.head) else { return Ok(None) };
        // One that git never finished making is at no commit yet.
        if !matches!(self.unsaved_commits_of(&head), Ok(1..)) {
            return Ok(None);
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.repository()?.save_reference("rollback", &format!("tree-{name}"), &head).map(Some)
    }

    /// Removes temporary files that killed workers left in a tree of Ralph's own.
    pub fn remove_scratch(&self) {
        // As the file system tells the time, not as a team's database does.
        self.repository.remove_dead_scratch(SystemTime::now().into());
    }

    /// Takes HEAD off whatever branch an agent went to, which others may move. HEAD stays at the commit that it was at here.
    pub fn detach(&self) -> Result<(), GitError> {
        let repository = self.repository()?;
        if repository.branch()?.is_none() {
            return Ok(());
        }
        // Somebody may have moved the branch: the files are those of the commit that HEAD was moved to here.
        let log = repository.git_dir.join("logs/HEAD");
        let last = read_text(&log, Links::Follow, Limit::TEXT).ok();
        let last = last.as_deref().and_then(|log| log.lines().last()?.split(' ').nth(1).map(str::to_owned));
        let at = match last {
            Some(commit) if repository.commit_at(&commit)?.is_some() => Some(commit),
            _ => repository.commit_at("HEAD")?,
        };
        match at {
            Some(commit) => self.point_head_at(&commit),
            None => Ok(()),
        }
    }

    /// Removes the locks that a killed git left in a tree of Ralph's own. For when nothing runs there.
    pub fn remove_locks(&self) {
        if !self.is_own_tree() {
            return;
        }
        for entry in std::fs::read_dir(&self.repository.git_dir).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().ends_with(b".lock") {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Makes the index of a tree of Ralph's own anew where an agent deleted it.
    pub fn mend_index(&self) -> Result<(), GitError> {
        let repository = self.repository()?;
        match repository.index_path().exists() {
            true => Ok(()),
            false => repository.change(&["read-tree", "HEAD"]).run().map(drop),
        }
    }

    /// Whether something was noted of this working tree.
    pub fn has_note(&self, name: &str) -> bool {
        self.repository.git_dir.join(name).is_file()
    }

    pub fn note(&self, name: &str) -> Result<(), GitError> {
        let path = self.repository.git_dir.join(name);
        std::fs::write(&path, "").map_err(|error| GitError::file(&path, error))
    }

    /// What git cannot clear away from a tree of Ralph's own, such as repositories that an agent made, is moved aside. Where it
    /// is now.
    pub fn remove_leftovers(&self, aside: &Path) -> Result<Vec<PathBuf>, GitError> {
        let repository = self.repository()?;
        let words = ["ls-files", "--others", "--exclude-standard", "--directory", "-z"];
        let out = repository.query(&words).run()?;
        let mut moved = Vec::new();
        for path in zero_separated(&out).filter(|path| !path.is_empty()) {
            let from = on_disk(&repository.top, path.strip_suffix(b"/").unwrap_or(path));
            let name = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let to = aside.join(format!("{name}-{}", unguessable()));
            let renamed = std::fs::create_dir_all(aside).and_then(|()| std::fs::rename(&from, &to));
            renamed.map_err(|error| GitError::file(&from, error))?;
            moved.push(to);
        }
        Ok(moved)
    }

    /// The commit that a name means.
    pub fn commit_of(&self, name: &str) -> Result<String, GitError> {
        let found = self.repository()?.commit_at(name)?;
        found.ok_or_else(|| GitError::Refused { command: "cat-file".into(), message: format!("no {name}") })
    }

    /// The files that differ between two commits, as the project's people know them.
    pub fn committed_files(&self, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        self.committed(Some(from), Some(to))
    }

    /// The files that a landed commit changed.
    pub fn files_of_commit(&self, base: &str, commit: &str) -> Result<Vec<String>, GitError> {
        let parent = self.repository()?.commit_at(&format!("{commit}^"))?;
        self.committed(Some(parent.as_deref().unwrap_or(base)), Some(commit))
    }

    /// Ralph's own files below the project that differ from those of a commit here, committed since or not.
    pub fn changed_own_files(&self, commit: &str) -> Result<Vec<String>, GitError> {
        if self.own.is_empty() {
            return Ok(Vec::new());
        }
        let own: Vec<&str> = self.own.iter().map(String::as_str).collect();
        let repository = self.repository()?;
        let words =
            ["diff", "--no-ext-diff", "--no-textconv", "--name-only", "--relative", "-z", commit, "--"];
        let out = repository.query(&words).args(&own).literal_paths().in_dir(&self.dir).run()?;
        let others = ["ls-files", "--others", "-z", "--"];
        let new = repository.query(&others).args(&own).literal_paths().in_dir(&self.dir).run()?;
        let mut files: Vec<String> = zero_separated(&out)
            .chain(zero_separated(&new))
            .filter(|path| !path.is_empty())
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .filter(|path| self.own.contains(path))
            .collect();
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// What a commit has in a file of the project; none where it has no such file.
    pub fn file_at(&self, commit: &str, file: &str) -> Result<Option<Vec<u8>>, GitError> {
        let path = [self.prefix.as_slice(), file.as_bytes()].concat();
        let name = format!("{commit}:{}", String::from_utf8_lossy(&path));
        let output = self.repository()?.query(&["cat-file", "blob", &name]).output()?;
        Ok(output.success().then_some(output.stdout))
    }

    /// Makes files of a tree of Ralph's own what they are in a commit.
    pub fn restore_own_files(&self, commit: &str, files: &[String]) -> Result<(), GitError> {
        let repository = self.repository()?;
        for file in files {
            let words = ["checkout", "--quiet", commit, "--", file];
            let call = repository.change(&words).literal_paths().in_dir(&self.dir).without_hooks();
            if !call.output()?.success() {
                let path = self.dir.join(file);
                std::fs::remove_file(&path).map_err(|error| GitError::file(&path, error))?;
            }
        }
        Ok(())
    }

    /// The files of the project that are Ralph's own.
    pub fn own_files(&self) -> &[String] {
        &self.own
    }

    /// Brings a tree of Ralph's own to a commit; HEAD is on no branch then, and ignored files stay. `false` where
    /// uncommitted changes are in the way.
    pub fn go_to(&self, commit: &str) -> Result<bool, GitError> {
        let repository = self.repository()?;
        let is_on_branch = repository.branch()?.is_some();
        match repository.commit_at("HEAD")? {
            Some(head) if head == commit && !is_on_branch => return Ok(true),
            // A branch would be moved with it.
            Some(head) if head != commit && is_on_branch => self.point_head_at(&head)?,
            Some(head) if head != commit => {}
            _ => return self.point_head_at(commit).map(|()| true),
        }
        let call = repository.change(&["reset", "--keep", "--quiet", commit]).without_hooks();
        // A checksum over a large index takes as long as all the rest.
        let call = call.config("index.skipHash=true").env("GIT_REFLOG_ACTION", NEXT_ATTEMPT);
        Ok(call.output()?.success())
    }

    fn point_head_at(&self, commit: &str) -> Result<(), GitError> {
        let words = ["update-ref", "--no-deref", "-m", NEXT_ATTEMPT, "HEAD", commit];
        self.repository()?.change(&words).run().map(drop)
    }

    /// Makes a tree of Ralph's own equal to a commit, whatever is there. What is uncommitted, and commits that are not in that
    /// commit's history, are saved under a reference first, which is given. Ignored files stay.
    pub fn clear(&self, commit: &str, name: &str, message: &str) -> Result<Option<String>, GitError> {
        let repository = self.repository()?;
        if !self.is_own_tree() {
            let message = format!("{} is no working tree of Ralph's own", repository.top.display());
            return Err(GitError::Refused { command: "read-tree".to_owned(), message });
        }
        self.remove_locks();
        let head = repository.commit_at("HEAD")?;
        let add = repository.change(&["add", "--all", "--ignore-errors"]).in_dir(&repository.top);
        let added = add.without_hooks().output()?;
        if !added.success() {
            repository.check_all_is_saved(&added)?;
        }
        let tree = repository.change(&["write-tree"]).line()?;
        let is_committed = match &head {
            Some(head) => repository.tree_of(head)?.as_ref() == Some(&tree),
            None => false,
        };
        let saved = match head {
            Some(head) if is_committed => match self.is_in(&head, commit)? {
                true => None,
                false => Some(head),
            },
            head => {
                let parents: Vec<String> = head.into_iter().collect();
                Some(repository.commit_tree(&tree, &parents, &clean_message(message))?)
            }
        };
        let reference = saved.map(|saved| repository.save_reference("rollback", name, &saved)).transpose()?;
        for unfinished in ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"] {
            let _ = std::fs::remove_file(repository.git_dir.join(unfinished));
        }
        for unfinished in ["rebase-merge", "rebase-apply", "sequencer"] {
            let _ = std::fs::remove_dir_all(repository.git_dir.join(unfinished));
        }
        repository.change(&["read-tree", "--reset", "-u", commit]).without_hooks().run()?;
        self.point_head_at(commit)?;
        Ok(reference)
    }
}

impl Repository {
    /// After git could not take everything into the index of a tree of Ralph's own. Files that cannot be read cannot be saved, and are
    /// no reason to keep the tree from everybody; anything else is, such as a full disk.
    fn check_all_is_saved(&self, added: &Output) -> Result<(), GitError> {
        let changed = self.change(&["diff-files", "--name-only", "--ignore-submodules=all", "-z"]).run()?;
        let unknown = self.query(&["ls-files", "--others", "--exclude-standard", "-z"]).run()?;
        let is_readable = |path: &[u8]| {
            // What is below a nested repository is moved aside later.
            !path.ends_with(b"/") && open(&on_disk(&self.top, path), Links::Refuse).is_ok()
        };
        match zero_separated(&changed).chain(zero_separated(&unknown)).any(is_readable) {
            true => Err(added.refused("add")),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::Repo;

    fn tree_of(repo: &Repo) -> (tempfile::TempDir, PathBuf, Git) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w1");
        repo.open().add_tree(&path, &repo.head(), repo.root()).unwrap();
        let git = Git::discover(&path).unwrap();
        (dir, path, git)
    }

    #[test]
    fn a_tree_is_made_known_and_removed() {
        let repo = Repo::with_first_commit();
        let (_dir, path, git) = tree_of(&repo);
        assert!(git.is_own_tree() && !repo.open().is_own_tree());
        std::fs::create_dir(path.join("below")).unwrap();
        assert_eq!(project_of_tree(&path.join("below")).as_deref(), Some(repo.root()));
        assert_eq!(project_of_tree(repo.root()), None);
        let known = repo.open().trees().unwrap();
        // The same from either tree.
        assert_eq!(git.trees().unwrap(), known);
        assert_eq!(known.len(), 2);
        assert_eq!(known[0].branch.as_deref(), Some("refs/heads/main"));
        assert_eq!((known[1].branch.clone(), known[1].is_gone), (None, false));
        std::fs::remove_dir_all(&path).unwrap();
        assert!(repo.open().trees().unwrap()[1].is_gone);
        // One that somebody deleted is made anew.
        repo.open().add_tree(&path, &repo.head(), repo.root()).unwrap();
        assert!(path.join("a.txt").exists());
        repo.open().remove_tree(&path).unwrap();
        assert!(!path.exists());
        assert_eq!(repo.open().trees().unwrap().len(), 1);
    }

    #[test]
    fn a_tree_goes_to_a_commit_and_keeps_ignored_files() {
        let repo = Repo::with_first_commit();
        let first = repo.head();
        repo.write(".gitignore", "build/\n");
        repo.write("b.txt", "b\n");
        repo.commit_all("second");
        let (_dir, path, git) = tree_of(&repo);
        std::fs::create_dir(path.join("build")).unwrap();
        std::fs::write(path.join("build/cache"), "x").unwrap();
        let clean = git.snapshot().unwrap();
        assert!(git.go_to(&first).unwrap());
        // With other rules, the same file is no longer ignored.
        assert_eq!(git.brought_to(&clean, &first).unwrap(), git.snapshot().unwrap());
        assert!(!git.snapshot().unwrap().is_clean());
        assert!(!path.join("b.txt").exists() && path.join("build/cache").exists());
        assert!(git.go_to(&repo.head()).unwrap());
        assert!(git.snapshot().unwrap().dirty().is_empty());
        // With the same, what is known of a clean tree needs no further look.
        let second = repo.head();
        repo.write("c.txt", "c\n");
        repo.commit_all("third");
        for commit in [repo.head(), second] {
            let clean = git.snapshot().unwrap();
            assert!(clean.is_clean() && git.go_to(&commit).unwrap());
            assert_eq!(git.brought_to(&clean, &commit).unwrap(), git.snapshot().unwrap());
        }
        // A change that is in the way stays.
        std::fs::write(path.join("b.txt"), "mine\n").unwrap();
        assert!(!git.go_to(&first).unwrap());
        assert_eq!(std::fs::read_to_string(path.join("b.txt")).unwrap(), "mine\n");
        // A branch that HEAD is on is left, and not moved.
        std::fs::write(path.join("b.txt"), "b\n").unwrap();
        let at = git.head_commit().unwrap();
        crate::git::testing::git_at(&path, &["checkout", "-qb", "agents-own"]).unwrap();
        assert!(git.go_to(&first).unwrap());
        assert_eq!((git.on_branch(), git.tip("agents-own").unwrap()), (None, at));
    }

    #[test]
    fn whatever_an_attempt_left_is_saved_and_gone() {
        let repo = Repo::with_first_commit();
        let (_dir, path, git) = tree_of(&repo);
        let run = |args: &[&str]| {
            let done = std::process::Command::new("git")
                .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
                .args(args)
                .current_dir(&path)
                .output()
                .unwrap();
            assert!(done.status.success(), "{args:?} {}", String::from_utf8_lossy(&done.stderr));
        };
        assert_eq!(git.clear(&repo.head(), "t-1", "x").unwrap(), None);
        run(&["checkout", "-qb", "agents-own"]);
        std::fs::write(path.join("c.txt"), "committed\n").unwrap();
        run(&["add", "."]);
        run(&["commit", "-qm", "by the agent"]);
        std::fs::write(path.join("a.txt"), "changed\n").unwrap();
        std::fs::write(path.join("new.txt"), "new\n").unwrap();
        let reference = git.clear(&repo.head(), "t-1", "x").unwrap().unwrap();
        let show = |file: &str| repo.git(&["show", &format!("{reference}:{file}")]);
        assert_eq!(show("a.txt"), "changed\n");
        assert_eq!((show("new.txt"), show("c.txt")), ("new\n".into(), "committed\n".into()));
        assert!(git.snapshot().unwrap().dirty().is_empty());
        assert!(!path.join("new.txt").exists() && !path.join("c.txt").exists());
        assert_eq!(git.on_branch(), None);
        assert_eq!(git.clear(&repo.head(), "t-1", "x").unwrap(), None);
    }
}
