//! Work that attempts left uncommitted. A later run knows it again by how the files look: what somebody changed since is
//! theirs.

use super::Snapshot;
use super::commit::choose;
use super::file_state::FileState;
use crate::model::LeftFile;

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
    use crate::git::Git;
    use crate::git::testing::Repo;

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
