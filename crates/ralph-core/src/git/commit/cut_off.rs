//! A commit whose maker was killed before the repository's index knew of it: that index would take the work out again.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::files::{Limit, Links, create_anew, read_text};
use crate::git::call::with_zeros;
use crate::git::paths::RepoPath;
use crate::git::places::Places;
use crate::git::save::commit_at;
use crate::git::{Git, GitError};

/// What is about to be committed.
#[derive(Debug, Serialize, Deserialize)]
struct UnderWay {
    /// HEAD before.
    old: Option<String>,
    paths: BTreeSet<RepoPath>,
}

fn file(places: &Places) -> PathBuf {
    places.git_dir.join("ralph-commit.json")
}

/// Writes down what is about to be committed.
pub(super) fn begin(
    places: &Places,
    old: Option<&str>,
    paths: &BTreeSet<RepoPath>,
) -> Result<(), GitError> {
    let under_way = UnderWay {
        old: old.map(str::to_owned),
        paths: paths.clone(),
    };
    let text = serde_json::to_string(&under_way).unwrap_or_default();
    let file = file(places);
    // It need not survive more than the end of a process.
    let mut written = create_anew(&file).map_err(|error| GitError::file(&file, error))?;
    let done = written.write_all(text.as_bytes());
    done.map_err(|error| GitError::file(&file, error))
}

/// The index knows of it, or there is nothing to know.
pub(super) fn end(places: &Places) {
    let _ = fs::remove_file(file(places));
}

impl Git {
    /// Brings the index up to date with a commit whose maker was killed. Nobody may commit meanwhile.
    pub fn finish_commit(&self) -> Result<(), GitError> {
        let places = self.places()?;
        let Ok(text) = read_text(&file(&places), Links::Follow, Limit::TEXT) else {
            return Ok(());
        };
        if let Ok(under_way) = serde_json::from_str::<UnderWay>(&text)
            && commit_at(&places, "HEAD")? != under_way.old
        {
            let paths = with_zeros(under_way.paths.iter().map(Vec::as_slice));
            let words = ["--pathspec-from-file=-", "--pathspec-file-nul"];
            let call = places.change(&["--literal-pathspecs", "reset", "-q"]);
            call.args(&words).input(paths).run()?;
        }
        end(&places);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::Repo;

    #[test]
    fn an_index_that_missed_a_commit_is_brought_up_to_date() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        let places = git.places().unwrap();
        let old = commit_at(&places, "HEAD").unwrap();
        let stale = fs::read(repo.path(".git/index")).unwrap();
        repo.write("made.txt", "x");
        let paths = BTreeSet::from([b"made.txt".to_vec()]);
        begin(&places, old.as_deref(), &paths).unwrap();
        repo.commit_all("made");
        fs::write(repo.path(".git/index"), stale).unwrap();
        repo.write("staged.txt", "a person's");
        repo.git(&["add", "staged.txt"]);
        assert_eq!(
            repo.status(),
            ["D  made.txt", "A  staged.txt", "?? made.txt"]
        );
        git.finish_commit().unwrap();
        assert_eq!(repo.status(), ["A  staged.txt"]);
        // Nothing was committed: nothing is touched.
        begin(
            &places,
            commit_at(&places, "HEAD").unwrap().as_deref(),
            &paths,
        )
        .unwrap();
        repo.git(&["rm", "-q", "--cached", "made.txt"]);
        git.finish_commit().unwrap();
        assert_eq!(
            repo.status(),
            ["D  made.txt", "A  staged.txt", "?? made.txt"]
        );
    }
}
