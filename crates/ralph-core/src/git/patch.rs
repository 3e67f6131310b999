//! What an attempt changed as a patch, and which files there are.

use super::call::zero_separated;
use super::index::Index;
use super::paths::{RepoPath, on_disk};
use super::{Git, GitError, Kept, Snapshot};

/// Larger files are left out of patches.
const MOST_BYTES: u64 = 512 * 1024;
const MOST_FILES: usize = 300;
const DIFF: [&str; 8] = [
    "diff-tree",
    "-p",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-renames",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

impl Git {
    /// What became of these files since an attempt began, as a patch. Where nothing was kept, what was uncommitted in them before
    /// is part of it.
    pub fn patch_since(
        &self,
        before: &Snapshot,
        kept: Option<&Kept>,
        files: &[String],
    ) -> Result<String, GitError> {
        let repository = self.repository()?;
        let base = kept.and_then(Kept::commit).or(before.head());
        let paths = files.iter().map(|file| self.rooted(file.as_bytes()));
        let is_small = |path: &RepoPath| {
            let meta = std::fs::symlink_metadata(on_disk(&repository.top, path));
            meta.is_ok_and(|meta| !meta.is_dir() && meta.len() <= MOST_BYTES)
        };
        let is_gone = |path: &RepoPath| std::fs::symlink_metadata(on_disk(&repository.top, path)).is_err();
        let paths: Vec<RepoPath> =
            paths.filter(|path| is_small(path) || is_gone(path)).take(MOST_FILES).collect();
        let index = Index::of_tree(repository, base)?;
        let old = index.write_tree()?;
        index.add(&paths)?;
        let new = index.write_tree()?;
        let out = repository.query(&DIFF).args(&[&old, &new]).run()?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// The files of the project that are tracked, or neither tracked nor ignored.
    pub fn files(&self) -> Result<Vec<String>, GitError> {
        let words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"];
        let out = self.repository()?.query(&words).in_dir(&self.dir).run()?;
        Ok(zero_separated(&out).filter_map(|path| String::from_utf8(path.to_vec()).ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use crate::git::testing::Repo;

    #[test]
    fn a_patch_holds_what_the_attempt_did_and_nothing_from_before() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        repo.write("mine.txt", "before\n");
        let before = git.snapshot().unwrap();
        let kept = git.keep("t-1-001", None).unwrap();
        repo.write("mine.txt", "before\nafter\n");
        repo.write("new.txt", "new\n");
        repo.git(&["rm", "-q", "a.txt"]);
        let files = ["a.txt", "mine.txt", "new.txt"].map(str::to_owned);
        let patch = git.patch_since(&before, Some(&kept), &files).unwrap();
        assert!(patch.contains("+after") && !patch.contains("+before"), "{patch}");
        assert!(patch.contains("deleted file mode") && patch.contains("+new"), "{patch}");
        let patch = git.patch_since(&before, None, &files).unwrap();
        assert!(patch.contains("+before"), "{patch}");
        let listed = git.files().unwrap();
        assert!(
            listed.contains(&"new.txt".to_owned()) && !listed.contains(&"a.txt".to_owned()),
            "{listed:?}"
        );
    }
}
