//! Work that attempts left uncommitted. A later run knows it again by how the files look: what somebody changed since is
//! theirs.

use std::time::Duration;

use super::Snapshot;
use super::commit::choose;
use super::file_state::FileState;
use crate::model::{LeftFile, Timestamp};

/// How long after its last word an agent may have written a file.
const LATE: Duration = Duration::from_secs(2);
/// More files than this are not remembered one by one.
const MOST_FILES: usize = 1000;

impl Snapshot {
    /// What a commit of the work since `before` would have in it, as it is now.
    pub fn work_since(&self, before: &Self, run_start: &Self) -> Vec<LeftFile> {
        let choice = choose(run_start, before, self);
        let paths = choice.paths.into_iter().chain(choice.dropped);
        let left = paths.filter_map(|path| {
            let state = serde_json::to_string(self.dirty.get(&path)?).ok()?;
            Some(LeftFile { path, state })
        });
        let left: Vec<LeftFile> = left.collect();
        if left.len() > MOST_FILES {
            return Vec::new();
        }
        left
    }

    /// What attempts made or changed since this look and before they were cut off at `last_sign`, as it is now. What was
    /// changed later, or is gone, is somebody else's.
    pub fn work_cut_off(&self, now: &Self, last_sign: Timestamp) -> Vec<LeftFile> {
        let latest = last_sign.plus(LATE).as_millis() / 1000;
        let mut left = now.work_since(self, self);
        left.retain(|file| {
            let state = now.dirty.get(&file.path);
            let changed = state.and_then(FileState::changed_at);
            changed.is_some_and(|changed| changed <= latest)
        });
        left
    }

    /// The tree in words that [`Self::from_words`] reads; none where there is too much of it.
    pub fn to_words(&self) -> Option<String> {
        if self.dirty.len() > MOST_FILES {
            return None;
        }
        let dirty: Vec<_> = self.dirty.iter().collect();
        serde_json::to_string(&dirty).ok()
    }

    /// A tree from its words; where HEAD was is not among them.
    pub fn from_words(words: &str) -> Option<Self> {
        let dirty: Vec<(Vec<u8>, FileState)> = serde_json::from_str(words).ok()?;
        Some(Self {
            head: None,
            dirty: dirty.into_iter().collect(),
        })
    }

    /// Whether a file is as it was left.
    pub fn is_as_left(&self, file: &LeftFile) -> bool {
        let left = serde_json::from_str::<FileState>(&file.state).ok();
        let now = self.dirty.get(&file.path);
        now.zip(left)
            .is_some_and(|(now, left)| now.is_same_as(&left))
    }

    /// The same tree, had nobody touched these paths.
    #[must_use]
    pub fn without(&self, paths: &[Vec<u8>]) -> Self {
        let mut clean = self.clone();
        for path in paths {
            clean.dirty.remove(path);
        }
        clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Git;
    use crate::git::testing::Repo;

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
