//! The state of a working tree at one moment, read from one `git status`; what changed between two, and which changes
//! earlier attempts left uncommitted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::call::zero_separated;
use super::commit::choose;
use super::paths::{RepoPath, display_path, on_disk};
use super::repository::{IndexIdentity, RULES};
use super::{Git, GitError, GitFault};
use crate::files::{self, Limit, Links};
use crate::model::{GitRecord, LeftoverFile, Timestamp};

/// More changed files than this are not listed or remembered one by one.
const MOST_FILES: usize = 1000;
/// Which changed files are read: small ones, and not too many.
const HASHED_BYTES: u64 = 64 * 1024;
const HASHED_FILES: usize = 200;
/// How long after its last sign of life an agent may have written a file.
const LATE: Duration = Duration::from_secs(2);

/// Paths come from the repository's root.
const STATUS: [&str; 8] = [
    "status",
    "--porcelain=v2",
    "--branch",
    "--no-ahead-behind",
    "-z",
    "--no-renames",
    "--untracked-files=all",
    "--ignore-submodules=dirty",
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub(super) head: Option<String>,
    /// The branch's full name; none when HEAD is detached.
    pub(super) branch: Option<String>,
    /// What differs from HEAD or is unknown to git, by paths of the project; without Ralph's own files.
    pub(super) dirty: BTreeMap<Vec<u8>, FileState>,
    /// What the index holds that differs from HEAD, by paths from the repository's root, Ralph's own files included.
    pub(super) staged: BTreeMap<RepoPath, Vec<u8>>,
    /// What is ignored, from the root; a slash at the end means everything below too. Empty unless it was asked for.
    pub(super) ignored: BTreeSet<RepoPath>,
    /// The index that this was read from; none where there was none.
    pub(super) index: Option<IndexIdentity>,
}

/// Enough of a changed file to see that it changed again. It is stored, so that later runs can compare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileState {
    /// Git's two status letters; those of both records where there are two.
    letters: Vec<u8>,
    /// What changed in a submodule; none for other files.
    pub(super) submodule: Option<Vec<u8>>,
    executable: bool,
    pub(super) content: Content,
    /// When it last changed in any way, its name included, in Unix seconds; none where it is gone.
    #[serde(default)]
    changed_at: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Content {
    Gone,
    There {
        /// Modification time, size and inode.
        stat: (i64, i64, u64, u64),
        /// None where the file is large or one of many.
        hash: Option<u64>,
    },
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Git {
    /// HEAD and everything that differs from it: one process.
    pub fn snapshot(&self) -> Result<Snapshot, GitError> {
        self.read_status(&[])
    }

    /// The same with what is ignored, for [`Git::keep`].
    pub fn snapshot_with_ignored(&self) -> Result<Snapshot, GitError> {
        self.read_status(&["--ignored=matching"])
    }

    fn read_status(&self, options: &[&str]) -> Result<Snapshot, GitError> {
        let index = self.repository.index_path();
        let mut snapshot = Snapshot { index: IndexIdentity::of(&index), ..Snapshot::default() };
        let call = self.repository.query(&STATUS).in_dir(&self.dir);
        let out = call.args(options).args(&["--", "."]).run()?;
        for record in zero_separated(&out) {
            self.add_record(&mut snapshot, record);
        }
        self.add_submodules(&mut snapshot)?;
        if snapshot.head.is_some() && !index.exists() {
            return Err(self.repository.calls.fail(GitFault::NoIndex(index)));
        }
        Ok(snapshot)
    }

    /// Reads one record; what is none is passed over.
    fn add_record(&self, snapshot: &mut Snapshot, record: &[u8]) {
        if let Some(head) = record.strip_prefix(b"# branch.oid ") {
            snapshot.head = (head != b"(initial)").then(|| text(head));
        } else if let Some(name) = record.strip_prefix(b"# branch.head ") {
            let is_branch = name != b"(detached)";
            snapshot.branch = is_branch.then(|| format!("refs/heads/{}", text(name)));
        } else if let Some(path) = record.strip_prefix(b"! ") {
            snapshot.ignored.insert(path.to_owned());
        } else if let Some(path) = record.strip_prefix(b"? ") {
            self.add_dirty(snapshot, path, b"??", b"");
        } else {
            // `1 XY sub mH mI mW hH hI path`, or in conflict `u XY sub m1 m2 m3 mW h1 h2 h3 path`
            let is_conflict = record.first() == Some(&b'u');
            let fields = if is_conflict { 11 } else { 9 };
            let words: Vec<&[u8]> = record.splitn(fields, |b| *b == b' ').collect();
            let ([b"1", letters, submodule, objects @ .., path]
            | [b"u", letters, submodule, objects @ .., path]) = words.as_slice()
            else {
                return;
            };
            // `.A` is a file that was announced with `git add -N`.
            if letters.first() != Some(&b'.') || *letters == b".A" {
                let entry = match objects {
                    [_, mode, _, _, object] => [mode, b" ".as_slice(), object].concat(),
                    _ => record.to_owned(),
                };
                snapshot.staged.insert(path.to_vec(), entry);
            }
            self.add_dirty(snapshot, path, letters, submodule);
        }
    }

    pub(super) fn add_dirty(&self, snapshot: &mut Snapshot, path: &[u8], letters: &[u8], submodule: &[u8]) {
        let Some(path) = self.own_path(path) else { return };
        // A path taken out of the index and still there has two records.
        let letters = match snapshot.dirty.get(path) {
            Some(known) => [known.letters.as_slice(), letters].concat(),
            None => letters.to_owned(),
        };
        let submodule = submodule.starts_with(b"S").then(|| submodule.to_owned());
        let on_disk = on_disk(&self.dir, path);
        let state = FileState::read(&on_disk, letters, submodule, snapshot.dirty.len());
        snapshot.dirty.insert(path.to_owned(), state);
    }

    /// A clean tree after it was brought to another commit and nothing else happened. With other rules, what was ignored may be
    /// work: then nobody knows without a look.
    pub fn brought_to(&self, clean: &Snapshot, commit: &str) -> Result<Snapshot, GitError> {
        let is_rule = |path: &RepoPath| {
            let name = path.rsplit(|b| *b == b'/').next().unwrap_or_default();
            RULES.iter().any(|rule| rule.as_bytes() == name)
        };
        if self.repository.differences(clean.head(), Some(commit))?.iter().any(is_rule) {
            return self.snapshot();
        }
        let index = IndexIdentity::of(&self.repository.index_path());
        Ok(Snapshot { head: Some(commit.to_owned()), index, ..clean.clone() })
    }

    /// What happened between two moments. Asks git again only if HEAD moved.
    pub fn changes(&self, before: &Snapshot, after: &Snapshot) -> Result<GitRecord, GitError> {
        let is_same = |path: &Vec<u8>, state: &FileState| {
            let known = before.dirty.get(path);
            known.is_some_and(|known| known.is_same_as(state))
        };
        let changed = after.dirty.iter().filter(|(path, state)| !is_same(path, state));
        let clean = before.dirty.keys();
        let clean = clean.filter(|path| !after.dirty.contains_key(*path));
        let mut files: Vec<String> =
            changed.map(|(path, _)| path).chain(clean).map(|path| text(path)).collect();
        if before.head != after.head {
            files.extend(self.committed(before.head.as_deref(), after.head.as_deref())?);
        }
        files.sort();
        files.dedup();
        files.truncate(MOST_FILES);
        Ok(GitRecord {
            commit_before: before.head.clone(),
            commit_after: after.head.clone(),
            files_changed: Some(files),
            undone_ref: None,
        })
    }

    /// The tree `before`, had it had what changed between two later moments; but for what was changed since `before` by then.
    pub fn with_changes_of_others(
        &self,
        before: &Snapshot,
        from: &Snapshot,
        to: &Snapshot,
    ) -> Result<Snapshot, GitError> {
        let committed = match before.head == from.head {
            true => Vec::new(),
            false => self.committed(before.head.as_deref(), from.head.as_deref())?,
        };
        let is_same = |a: Option<&FileState>, b: Option<&FileState>| match (a, b) {
            (Some(a), Some(b)) => a.is_same_as(b),
            (a, b) => a.is_none() && b.is_none(),
        };
        let mut tree = before.clone();
        for (path, state) in &to.dirty {
            let then = from.dirty.get(path);
            let is_own = !is_same(before.dirty.get(path), then) || committed.contains(&text(path));
            if !is_own && !is_same(then, Some(state)) {
                tree.dirty.insert(path.clone(), state.clone());
            }
        }
        Ok(tree)
    }

    /// The project's files that differ between two commits.
    pub(super) fn committed(
        &self,
        before: Option<&str>,
        after: Option<&str>,
    ) -> Result<Vec<String>, GitError> {
        if after.is_none() {
            return Ok(Vec::new());
        }
        let differences = self.repository.differences(before, after)?;
        let paths = differences.iter();
        Ok(paths.filter_map(|path| self.own_path(path)).map(text).collect())
    }
}

impl Snapshot {
    pub fn head(&self) -> Option<&str> {
        self.head.as_deref()
    }

    /// Whether nothing differs from HEAD, but for Ralph's own files.
    pub fn is_clean(&self) -> bool {
        self.dirty.is_empty()
    }

    /// The files of the project that differ from HEAD or are unknown to git; Ralph's own are not among them.
    pub fn dirty(&self) -> Vec<String> {
        self.dirty.keys().map(|path| display_path(path)).collect()
    }

    /// The same working tree, had nobody touched these paths.
    #[must_use]
    pub fn without(&self, paths: &[Vec<u8>]) -> Self {
        let mut clean = self.clone();
        for path in paths {
            clean.dirty.remove(path);
        }
        clean
    }

    /// The same working tree after these paths were committed and nothing else happened.
    pub(super) fn after_commit(&self, head: &str, paths: &[Vec<u8>], index: IndexIdentity) -> Self {
        Self { head: Some(head.to_owned()), index: Some(index), ..self.without(paths) }
    }

    /// What a commit of the work since `before` would contain, as it is now.
    pub fn work_since(&self, before: &Self, run_start: &Self) -> Vec<LeftoverFile> {
        let choice = choose(run_start, before, self);
        let paths = choice.paths.into_iter().chain(choice.dropped);
        let left = paths.filter_map(|path| {
            let state = serde_json::to_string(self.dirty.get(&path)?).ok()?;
            Some(LeftoverFile { path, state })
        });
        let left: Vec<LeftoverFile> = left.collect();
        if left.len() > MOST_FILES { Vec::new() } else { left }
    }

    /// What attempts made or changed since this snapshot and before they were killed at `last_sign`, as it is now. What
    /// was changed later, or is gone, is somebody else's.
    pub fn work_cut_off(&self, now: &Self, last_sign: Timestamp) -> Vec<LeftoverFile> {
        let latest = last_sign.plus(LATE).as_millis() / 1000;
        let mut left = now.work_since(self, self);
        left.retain(|file| {
            let changed = now.dirty.get(&file.path).and_then(|state| state.changed_at);
            changed.is_some_and(|changed| changed <= latest)
        });
        left
    }

    /// The uncommitted files as text that [`Self::from_words`] reads; none where there are too many.
    pub fn to_words(&self) -> Option<String> {
        if self.dirty.len() > MOST_FILES {
            return None;
        }
        let dirty: Vec<_> = self.dirty.iter().collect();
        serde_json::to_string(&dirty).ok()
    }

    /// A snapshot that knows the uncommitted files alone.
    pub fn from_words(words: &str) -> Option<Self> {
        let dirty: Vec<(Vec<u8>, FileState)> = serde_json::from_str(words).ok()?;
        Some(Self { dirty: dirty.into_iter().collect(), ..Self::default() })
    }

    /// Whether a file is as it was left.
    pub fn is_as_left(&self, file: &LeftoverFile) -> bool {
        let left = serde_json::from_str::<FileState>(&file.state).ok();
        let now = self.dirty.get(&file.path);
        now.zip(left).is_some_and(|(now, left)| now.is_same_as(&left))
    }
}

impl FileState {
    /// Reads a path that git calls dirty; `dirty_before` is how many were read already.
    fn read(path: &Path, letters: Vec<u8>, submodule: Option<Vec<u8>>, dirty_before: usize) -> Self {
        let meta = std::fs::symlink_metadata(path).ok();
        Self {
            letters,
            submodule,
            executable: meta.as_ref().is_some_and(|meta| meta.mode() & 0o100 != 0),
            content: Content::read(path, meta.as_ref(), dirty_before),
            changed_at: meta.as_ref().map(MetadataExt::ctime),
        }
    }

    /// Whether HEAD or the index has it.
    pub(super) fn is_tracked(&self) -> bool {
        self.letters != b"??"
    }

    /// Whether the index holds something that neither HEAD nor the working tree has.
    pub(super) fn is_staged_apart(&self) -> bool {
        self.is_tracked() && !self.letters.iter().take(2).any(|letter| *letter == b'.')
    }

    /// Whether it was taken out of the index and is still there: no longer to be tracked.
    pub(super) fn is_dropped(&self) -> bool {
        self.letters.first() == Some(&b'D') && self.content != Content::Gone
    }

    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        self.letters == other.letters
            && self.submodule == other.submodule
            && self.executable == other.executable
            && self.content.is_same_as(&other.content)
    }
}

impl Content {
    fn read(path: &Path, meta: Option<&Metadata>, dirty_before: usize) -> Self {
        let Some(meta) = meta else { return Self::Gone };
        let is_small = meta.is_file() && meta.size() <= HASHED_BYTES && dirty_before < HASHED_FILES;
        let read = || files::read(path, Links::Follow, Limit::SETTINGS).ok();
        let bytes = is_small.then(read).flatten();
        Self::There {
            stat: (meta.mtime(), meta.mtime_nsec(), meta.size(), meta.ino()),
            hash: bytes.map(|bytes| files::fnv(&bytes)),
        }
    }

    /// Whether two files hold the same; writing the same again is no change, where both were read.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Gone, Self::Gone) => true,
            (Self::There { stat, hash }, Self::There { stat: s, hash: h }) => match (hash, h) {
                (Some(hash), Some(h)) => hash == h,
                _ => stat == s,
            },
            (Self::Gone, Self::There { .. }) | (Self::There { .. }, Self::Gone) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;
    use crate::git::testing::Repo;

    fn files(record: &GitRecord) -> Vec<&str> {
        record.files_changed.as_ref().unwrap().iter().map(String::as_str).collect()
    }

    #[test]
    fn every_kind_of_change_is_seen_and_ralphs_own_files_are_not() {
        let repo = Repo::new();
        repo.write("kept.txt", "1");
        repo.write("dirty.txt", "1");
        repo.write("gone.txt", "1");
        repo.git(&["add", "."]);
        repo.git(&["commit", "-qm", "first"]);
        repo.write("dirty.txt", "22");
        repo.write("left alone.txt", "untracked before");
        let record = repo.changed_by("", || {
            repo.write("dirty.txt", "333");
            repo.write("new dir/日本 file.txt", "x");
            repo.write(".ralph/progress.db", "x");
            repo.write(".ralph.toml", "x");
            fs::remove_file(repo.path("gone.txt")).unwrap();
        });
        assert_eq!(files(&record), ["dirty.txt", "gone.txt", "new dir/日本 file.txt"]);
        assert_eq!(record.commit_before, record.commit_after);
    }

    #[test]
    fn commits_count_and_the_first_one_too() {
        let repo = Repo::new();
        let record = repo.changed_by("", || {
            repo.write("a.txt", "1");
            repo.git(&["add", "."]);
            repo.git(&["commit", "-qm", "first"]);
        });
        assert_eq!(record.commit_before, None);
        assert_eq!(files(&record), ["a.txt"]);
        let record = repo.changed_by("", || {
            repo.write("b.txt", "1");
            repo.git(&["add", "."]);
            repo.git(&["commit", "-qm", "second"]);
        });
        assert_ne!(record.commit_before, record.commit_after);
        assert_eq!(files(&record), ["b.txt"]);
    }

    #[test]
    fn writing_the_same_again_is_no_change() {
        let repo = Repo::new();
        repo.write("a.txt", "1");
        let record = repo.changed_by("", || repo.write("a.txt", "1"));
        assert_eq!(record.files_changed, Some(Vec::new()));
        let record = repo.changed_by("", || repo.write("a.txt", "2"));
        assert_eq!(files(&record), ["a.txt"]);
    }

    #[test]
    fn a_file_looked_into_and_one_of_many_are_compared() {
        let repo = Repo::new();
        repo.write("z.txt", "the user's");
        let record = repo.changed_by("", || {
            for n in 0..HASHED_FILES + 10 {
                repo.write(&format!("many/{n}"), "x");
            }
        });
        assert_eq!(files(&record).len(), HASHED_FILES + 10);
        assert!(!files(&record).contains(&"z.txt"));
        let record = repo.changed_by("", || repo.write("z.txt", "longer than before"));
        assert_eq!(files(&record), ["z.txt"]);
    }

    #[test]
    fn nothing_changed_is_said_so() {
        let repo = Repo::new();
        repo.write("a.txt", "1");
        let record = repo.changed_by("", || {});
        assert_eq!(record.files_changed, Some(Vec::new()));
    }

    #[test]
    fn a_project_below_the_root_sees_its_own_paths_only() {
        let repo = Repo::new();
        repo.write("sub/a.txt", "1");
        let record = repo.changed_by("sub", || {
            repo.write("sub/b.txt", "1");
            repo.write("outside.txt", "1");
        });
        assert_eq!(files(&record), ["b.txt"]);
        let record = repo.changed_by("sub", || {
            repo.git(&["add", "."]);
            repo.git(&["commit", "-qm", "all"]);
        });
        assert_eq!(files(&record), ["a.txt", "b.txt"]);
    }

    #[test]
    fn dirt_is_listed_without_ralphs_own() {
        let repo = Repo::with_first_commit();
        let git = repo.open().without(vec!["tasks.md".into()]);
        assert!(git.snapshot().unwrap().dirty().is_empty());
        repo.write("a.txt", "two\n");
        repo.write("new\nline", "x");
        repo.write("tasks.md", "x");
        repo.write(".ralph/x", "x");
        assert_eq!(git.snapshot().unwrap().dirty(), ["a.txt", "new\u{fffd}line"]);
    }

    #[test]
    fn no_repository_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Git::discover(dir.path()).is_none());
    }

    fn parse(out: &[u8]) -> Snapshot {
        let repo = Repo::new();
        let git = repo.open();
        let mut snapshot = Snapshot::default();
        for record in zero_separated(out) {
            git.add_record(&mut snapshot, record);
        }
        snapshot
    }

    #[test]
    fn every_kind_of_record() {
        let found = parse(
            b"# branch.oid abc\0# branch.head main\x001 .M N... 100644 100644 100755 a1 b2 a b\n c\0\
            1 M. N... 100644 100644 100755 a1 b2 s\0u UU N... 1 2 3 4 h1 h2 h3 u x\0? new/\0! out\0nonsense\0",
        );
        assert_eq!(found.head(), Some("abc"));
        assert_eq!(found.branch.as_deref(), Some("refs/heads/main"));
        assert_eq!(found.dirty(), ["a b\u{fffd} c", "new/", "s", "u x"]);
        assert_eq!(found.staged[b"s".as_slice()], b"100644 b2");
        let staged: Vec<&[u8]> = found.staged.keys().map(Vec::as_slice).collect();
        assert_eq!(staged, [b"s".as_slice(), b"u x"]);
        assert_eq!(found.ignored, BTreeSet::from([b"out".to_vec()]));
        let first = parse(b"# branch.oid (initial)\0# branch.head (detached)\0");
        assert_eq!(first, Snapshot::default());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]

        #[test]
        fn no_output_is_too_odd(out in proptest::collection::vec(any::<u8>(), 0..200)) {
            parse(&out);
        }

        #[test]
        fn no_record_is_too_odd(line in "[1u?!# ]{0,4}[A-Z .\\x00]{0,30}") {
            parse(line.as_bytes());
        }
    }

    #[test]
    fn what_was_cut_off_is_told_by_its_time() {
        let repo = Repo::new();
        repo.write("own.txt", "a person's");
        let git = Git::discover(&repo.path("")).unwrap();
        let words = git.snapshot().unwrap().to_words().unwrap();
        let look = Snapshot::from_words(&words).unwrap();
        repo.write("made.txt", "an agent's");
        let now = git.snapshot().unwrap();
        let seconds = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64;
        let at = |second| look.work_cut_off(&now, Timestamp::from_secs(second));
        assert_eq!(at(seconds)[0].path, b"made.txt");
        assert!(at(seconds - 60).is_empty(), "somebody wrote it later");
    }

    #[test]
    fn what_was_left_is_known_again_until_somebody_changes_it() {
        let repo = Repo::new();
        repo.write("own.txt", "a person's");
        let git = Git::discover(&repo.path("")).unwrap();
        let start = git.snapshot().unwrap();
        repo.write("made.txt", "an agent's");
        repo.write("own.txt", "changed by both");
        let left = git.snapshot().unwrap().work_since(&start, &start);
        let paths: Vec<&[u8]> = left.iter().map(|file| file.path.as_slice()).collect();
        assert_eq!(paths, [b"made.txt"]);

        let later = git.snapshot().unwrap();
        assert!(later.is_as_left(&left[0]));
        let known = later.without(&[left[0].path.clone()]);
        assert_eq!(known.dirty(), ["own.txt"]);
        repo.write("made.txt", "a person's now");
        assert!(!git.snapshot().unwrap().is_as_left(&left[0]));
        std::fs::remove_file(repo.path("made.txt")).unwrap();
        assert!(!git.snapshot().unwrap().is_as_left(&left[0]));
    }
}
