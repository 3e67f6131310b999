//! What an attempt changed as a patch, and which files there are.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::call::zero_separated;
use super::index::Index;
use super::paths::on_disk;
use super::{Git, GitError, Kept, Snapshot};

/// Larger files are left out of patches.
const MOST_BYTES: u64 = 512 * 1024;
const MOST_FILES: usize = 300;
const DIFF: [&str; 9] = [
    "diff-index",
    "--cached",
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
    /// is part of it. `now` is the tree as it is, where that is known.
    pub fn patch_since(
        &self,
        before: &Snapshot,
        now: Option<&Snapshot>,
        kept: Option<&Kept>,
        files: &[String],
    ) -> Result<String, GitError> {
        let repository = self.repository()?;
        let base = kept.and_then(Kept::commit).or(before.head());
        let paths = files.iter().map(|file| self.rooted(file.as_bytes()));
        let mut left_out = String::new();
        let mut told = Vec::new();
        for path in paths {
            // A file that is gone is part of the patch.
            let meta = std::fs::symlink_metadata(on_disk(&repository.top, &path)).ok();
            match meta {
                Some(meta) if meta.is_dir() => {}
                Some(meta) if meta.len() > MOST_BYTES => {
                    left_out += &format!("{}: left out, {}\n", self.display(&path), size(meta.len()));
                }
                _ => told.push(path),
            }
        }
        let more = told.len().saturating_sub(MOST_FILES);
        if more > 0 {
            left_out += &format!("{more} more files: left out\n");
        }
        told.truncate(MOST_FILES);
        // Where HEAD is the base and nothing is staged, the repository's own index spares git from reading a tree.
        let original = match now {
            Some(now) if now.head() == base && now.staged.is_empty() && self.prefix.is_empty() => {
                repository.read_index()?.filter(|index| now.index == Some(index.identity))
            }
            _ => None,
        };
        if told.is_empty() {
            return Ok(left_out);
        }
        let index = match &original {
            Some(original) => Index::copy_of(repository, Some(original))?,
            None => Index::of_tree(repository, base)?,
        };
        let index = index.interim();
        let base = match base {
            Some(base) => base.to_owned(),
            None => index.write_tree()?,
        };
        index.add(&told)?;
        let call = index.call(&DIFF).arg(base).arg("--").literal_paths();
        let call = told.iter().fold(call, |call, path| call.arg(OsStr::from_bytes(path)));
        let out = call.run()?;
        Ok(left_out + &String::from_utf8_lossy(&out))
    }

    /// The files of the project that are tracked, or neither tracked nor ignored.
    pub fn files(&self) -> Result<Vec<String>, GitError> {
        let words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"];
        let out = self.repository()?.query(&words).in_dir(&self.dir).run()?;
        Ok(zero_separated(&out).filter_map(|path| String::from_utf8(path.to_vec()).ok()).collect())
    }
}

fn size(bytes: u64) -> String {
    match bytes / 1_000_000 {
        0 => format!("{} KB", bytes / 1_000),
        megabytes => format!("{megabytes} MB"),
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
        repo.write("big.txt", &"x".repeat(4_000_000));
        let files = ["a.txt", "big.txt", "mine.txt", "new.txt"].map(str::to_owned);
        let patch = git.patch_since(&before, None, Some(&kept), &files).unwrap();
        assert!(patch.starts_with("big.txt: left out, 4 MB\ndiff --git "), "{patch}");
        assert!(patch.contains("+after") && !patch.contains("+before"), "{patch}");
        assert!(patch.contains("deleted file mode") && patch.contains("+new"), "{patch}");
        let patch = git.patch_since(&before, None, None, &files).unwrap();
        assert!(patch.contains("+before"), "{patch}");
        let listed = git.files().unwrap();
        assert!(
            listed.contains(&"new.txt".to_owned()) && !listed.contains(&"a.txt".to_owned()),
            "{listed:?}"
        );
        // The same from the index, unless something is staged in it.
        for prepare in [&["status"][..], &["reset", "-q"]] {
            repo.git(prepare);
            let now = git.snapshot().unwrap();
            assert_eq!(git.patch_since(&before, Some(&now), None, &files).unwrap(), patch, "{prepare:?}");
        }
    }
}
