//! The branch a run works on.

use super::branch_name::is_branch_name;
use super::save::{commit_at, exists};
use super::{Git, GitError};

/// Options of git that leave every hook out.
const NO_HOOKS: [&str; 2] = ["-c", "core.hooksPath=/dev/null"];
/// No more files than this are named.
const MOST_NAMED: usize = 20;

/// How the branch came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchOutcome {
    /// It was the branch already.
    Already,
    /// It existed, and the work tree is on it now.
    Switched,
    /// It was made from HEAD.
    Made,
}

impl Git {
    /// Works on a branch: made from HEAD if there is none of that name. Uncommitted changes come along where git can take
    /// them; where it cannot, nothing happens. Ignored files are not overwritten either.
    pub fn work_on(&self, name: &str) -> Result<BranchOutcome, GitError> {
        self.switch(name, &[])
    }

    /// Goes back to a branch as [`Self::work_on`] does. Agents may have written hooks: none is run. Commits that were made
    /// elsewhere on top of it come along; `false` where there are others.
    pub fn return_to(&self, name: &str) -> Result<bool, GitError> {
        let places = self.places()?;
        let was_at = commit_at(&places, "HEAD")?;
        self.switch(name, &NO_HOOKS)?;
        let Some(commit) = was_at else {
            return Ok(true);
        };
        let words = ["merge", "--quiet", "--ff-only", &commit];
        let merged = places.change(&NO_HOOKS).args(&words).output()?;
        Ok(merged.success())
    }

    fn switch(&self, name: &str, options: &[&str]) -> Result<BranchOutcome, GitError> {
        let places = self.places()?;
        let checked = self.call(&["check-ref-format", "--branch", name]).line();
        // Git spells names such as `@{-1}` out.
        if !is_branch_name(name) || !checked.is_ok_and(|spelt| spelt == name) {
            return Err(GitError::BranchName(name.to_owned()));
        }
        let full = format!("refs/heads/{name}");
        if places.branch()?.as_ref() == Some(&full) {
            return Ok(BranchOutcome::Already);
        }
        self.settled_places()?;
        places.wait_for_index()?;
        let (outcome, how): (_, &[&str]) = match exists(&places, &full)? {
            true => (BranchOutcome::Switched, &["--no-guess", name, "--"]),
            false => (BranchOutcome::Made, &["--no-track", "-b", name]),
        };
        let call = places.change(options).args(&[
            "checkout",
            "--quiet",
            "--no-overwrite-ignore",
            "--no-recurse-submodules",
        ]);
        let output = call.args(how).output()?;
        // A hook's failure after the switch does not undo it.
        if output.success() || places.branch()?.as_ref() == Some(&full) {
            return Ok(outcome);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let files = named_files(&said);
        if files.is_empty() {
            return Err(GitError::Refused {
                command: format!("checkout {name}"),
                message: crate::text::one_line(&said, 200),
            });
        }
        Err(GitError::BranchInTheWay {
            branch: name.to_owned(),
            files,
        })
    }
}

/// The files git lists, each on a line of its own after a tab.
fn named_files(said: &str) -> Vec<String> {
    let mut files: Vec<String> = said
        .lines()
        .filter_map(|line| line.strip_prefix('\t'))
        .map(|file| crate::text::code_line(file, 200))
        .collect();
    let over = files.len().saturating_sub(MOST_NAMED);
    files.truncate(MOST_NAMED);
    if over > 0 {
        files.push(format!("and {over} more"));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::Repo;

    fn branch_of(repo: &Repo) -> String {
        repo.git(&["symbolic-ref", "--short", "HEAD"])
            .trim()
            .to_owned()
    }

    #[test]
    fn a_branch_is_made_switched_to_and_kept() {
        let repo = Repo::with_first_commit();
        repo.write("notes.txt", "the user's");
        repo.write("a.txt", "the user's\n");
        let git = repo.open();
        assert_eq!(git.work_on("ralph/work").unwrap(), BranchOutcome::Made);
        assert_eq!(git.work_on("ralph/work").unwrap(), BranchOutcome::Already);
        assert_eq!(git.branch().as_deref(), Some("ralph/work"));
        assert_eq!(git.work_on("main").unwrap(), BranchOutcome::Switched);
        assert_eq!(branch_of(&repo), "main");
        assert_eq!(repo.status(), [" M a.txt", "?? notes.txt"]);
    }

    #[test]
    fn going_back_takes_along_what_is_on_top_and_runs_no_hook() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        repo.hook("post-checkout", "touch hooked");
        repo.hook("post-merge", "touch hooked");
        repo.git(&["-c", "core.hooksPath=/dev/null", "checkout", "-qb", "own"]);
        repo.write("b.txt", "theirs\n");
        repo.commit_all("theirs");
        assert!(git.return_to("main").unwrap());
        assert_eq!(
            (branch_of(&repo), repo.read("b.txt")),
            ("main".into(), "theirs\n".into())
        );
        repo.git(&[
            "-c",
            "core.hooksPath=/dev/null",
            "checkout",
            "-q",
            "--orphan",
            "apart",
        ]);
        repo.commit_all("apart");
        assert!(!git.return_to("main").unwrap());
        assert!(!repo.path("hooked").exists());
    }

    #[test]
    fn what_would_be_overwritten_is_named_and_stays() {
        let repo = Repo::with_first_commit();
        repo.write(".gitignore", "ignored\n");
        repo.commit_all("ignore");
        let git = repo.open();
        git.work_on("other").unwrap();
        repo.write("a.txt", "other\n");
        repo.write("new.txt", "other\n");
        repo.write("ignored", "other\n");
        repo.git(&["add", "-f", "ignored"]);
        repo.commit_all("other");
        git.work_on("main").unwrap();
        for path in ["a.txt", "new.txt", "ignored"] {
            let committed = repo.git(&["show", "HEAD:a.txt"]);
            repo.write(path, "the user's\n");
            let error = git.work_on("other").unwrap_err();
            let GitError::BranchInTheWay { branch, files } = &error else {
                panic!("{error}");
            };
            assert_eq!(
                (branch.as_str(), files.as_slice()),
                ("other", &[path.to_owned()][..])
            );
            assert!(error.to_string().ends_with(path), "{error}");
            assert_eq!(repo.read(path), "the user's\n");
            assert_eq!(branch_of(&repo), "main");
            match path {
                "a.txt" => repo.write(path, &committed),
                _ => repo.remove(path),
            }
        }
        assert_eq!(git.work_on("other").unwrap(), BranchOutcome::Switched);
    }

    #[test]
    fn a_file_of_that_name_is_no_branch() {
        let repo = Repo::with_first_commit();
        assert_eq!(repo.open().work_on("a.txt").unwrap(), BranchOutcome::Made);
        assert_eq!(
            repo.open().work_on("main").unwrap(),
            BranchOutcome::Switched
        );
        assert_eq!(
            repo.open().work_on("a.txt").unwrap(),
            BranchOutcome::Switched
        );
    }

    #[test]
    fn odd_names_are_refused() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        git.work_on("one").unwrap();
        git.work_on("main").unwrap();
        for name in [
            "", "-x", "a b", "a..b", "@{-1}", "@", "x.lock", "HEAD", "a\nb", "--help",
        ] {
            let error = git.work_on(name).unwrap_err();
            assert!(matches!(error, GitError::BranchName(_)), "{name:?} {error}");
        }
        let error = git.work_on("one/two").unwrap_err();
        assert!(matches!(error, GitError::Refused { .. }), "{error}");
        assert_eq!(branch_of(&repo), "main");
    }

    #[test]
    fn before_the_first_commit_and_off_every_branch() {
        let repo = Repo::new();
        repo.write("notes.txt", "the user's");
        assert_eq!(repo.open().work_on("work").unwrap(), BranchOutcome::Made);
        assert_eq!(branch_of(&repo), "work");
        assert_eq!(repo.open().work_on("work").unwrap(), BranchOutcome::Already);
        let repo = Repo::with_first_commit();
        repo.git(&["checkout", "-q", "--detach"]);
        assert_eq!(repo.open().work_on("work").unwrap(), BranchOutcome::Made);
    }

    #[test]
    fn hooks_and_other_work_trees_have_their_say() {
        let repo = Repo::with_first_commit();
        repo.hook("post-checkout", "exit 1");
        assert_eq!(repo.open().work_on("work").unwrap(), BranchOutcome::Made);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tree").display().to_string();
        repo.remove(".git/hooks/post-checkout");
        repo.git(&["worktree", "add", "-q", "-b", "taken", &path]);
        let error = repo.open().work_on("taken").unwrap_err().to_string();
        assert!(error.contains("taken"), "{error}");
    }
}
