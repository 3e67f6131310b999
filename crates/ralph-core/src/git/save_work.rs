//! Everything uncommitted in a commit under a reference, before something is done that could take it away.

use std::collections::BTreeSet;

use super::index::Index;
use super::paths::RepoPath;
use super::{Git, GitError, save};

impl Git {
    /// Saves what is uncommitted; the tree stays as it is. The reference, where there is anything.
    pub fn save_work(&self, name: &str, message: &str) -> Result<Option<String>, GitError> {
        let places = self.places()?;
        places.wait_for_index()?;
        let now = self.snapshot()?;
        // What is below a nested git repository is that one's.
        let files = now.dirty.keys().filter(|path| !path.ends_with(b"/"));
        let paths: BTreeSet<RepoPath> = files.map(|path| self.rooted(path)).collect();
        if paths.is_empty() {
            return Ok(None);
        }
        let index = Index::of_tree(&places, now.head())?;
        index.take(&paths)?;
        let parents: Vec<String> = now.head().map(str::to_owned).into_iter().collect();
        let message = crate::text::mask_secrets(&crate::text::clean(message)).into_owned();
        let commit = save::commit(&places, &index.tree()?, &parents, &message)?;
        save::reference(&places, "rollback", name, &commit).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use crate::git::call::Call;
    use crate::git::testing::Repo;

    #[test]
    fn what_is_uncommitted_in_the_middle_of_a_rebase_is_saved() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        assert_eq!(git.save_work("t-1", "x").unwrap(), None);
        repo.git(&["checkout", "-qb", "other"]);
        repo.write("a.txt", "theirs\n");
        repo.commit_all("theirs");
        repo.git(&["checkout", "-q", "main"]);
        repo.write("a.txt", "ours\n");
        repo.commit_all("ours");
        let _ = Call::new(repo.root(), &["rebase", "other"]).output();
        repo.write("a.txt", "both\n");
        repo.write("new.txt", "made\n");
        let reference = git.save_work("t-1", "x").unwrap().unwrap();
        let file = |path: &str| repo.git(&["show", &format!("{reference}:{path}")]);
        assert_eq!(
            (file("a.txt"), file("new.txt")),
            ("both\n".into(), "made\n".into())
        );
        assert_eq!(repo.read("a.txt"), "both\n");
    }
}
