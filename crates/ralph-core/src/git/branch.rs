//! The branch a run works on, and operations of git that somebody began and did not finish.

use std::path::Path;

use super::call::zero_separated;
use super::paths::RepoPath;
use super::{Git, GitError};
use crate::model::names;
use crate::text::{code_line, one_line};

const MOST_NAMED: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchOutcome {
    Already,
    /// It existed, and the working tree is on it now.
    Switched,
    Made,
}

names! {
    /// What is unfinished; committing or undoing anything then would tear it apart.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Unfinished {
        /// A rebase, or patches being applied.
        Rebase => "a rebase",
        Merge => "a merge",
        CherryPick => "a cherry-pick",
        Revert => "a revert",
        Bisect => "a bisection",
    }
}

/// The file or directory inside git's own that shows it.
const TRACES: [(&str, Unfinished); 7] = [
    ("rebase-merge", Unfinished::Rebase),
    ("rebase-apply", Unfinished::Rebase),
    ("MERGE_HEAD", Unfinished::Merge),
    ("CHERRY_PICK_HEAD", Unfinished::CherryPick),
    ("REVERT_HEAD", Unfinished::Revert),
    ("BISECT_LOG", Unfinished::Bisect),
    // Several commits picked or reverted, stopped between two of them.
    ("sequencer/todo", Unfinished::CherryPick),
];

impl Unfinished {
    /// What is unfinished in the working tree of this git directory.
    pub(super) fn find(git_dir: &Path) -> Option<Self> {
        let mut traces = TRACES.iter();
        let found = traces.find(|(trace, _)| git_dir.join(trace).exists());
        found.map(|(_, unfinished)| *unfinished)
    }

    /// What a person types to abort it; two commands with backticks between them for a rebase.
    pub(super) fn aborted_by(self) -> &'static str {
        match self {
            Self::Rebase => "git rebase --abort` or `git am --abort",
            Self::Merge => "git merge --abort",
            Self::CherryPick => "git cherry-pick --abort",
            Self::Revert => "git revert --abort",
            Self::Bisect => "git bisect reset",
        }
    }

    /// What ends it and leaves the files as they are, but for those of a rebase.
    fn ended_by(self, git_dir: &Path) -> &'static [&'static str] {
        let applies = git_dir.join("rebase-apply/applying").exists();
        match self {
            Self::Rebase if applies => &["am", "--abort"],
            Self::Rebase => &["rebase", "--abort"],
            Self::Merge => &["merge", "--quit"],
            Self::CherryPick => &["cherry-pick", "--quit"],
            Self::Revert => &["revert", "--quit"],
            Self::Bisect => &["bisect", "reset", "HEAD"],
        }
    }
}

impl Git {
    /// Works on a branch: created from HEAD if there is none of that name. Uncommitted changes come along where git can
    /// take them; where it cannot, nothing happens. Ignored files are not overwritten either.
    pub fn work_on(&self, name: &str) -> Result<BranchOutcome, GitError> {
        self.switch(name, true)
    }

    /// Goes back to a branch as [`Self::work_on`] does, without hooks. Commits that were made elsewhere on top of it come
    /// along; `false` where there are others.
    pub fn return_to(&self, name: &str) -> Result<bool, GitError> {
        let repository = self.repository()?;
        let was_at = repository.commit_at("HEAD")?;
        self.switch(name, false)?;
        let Some(commit) = was_at else { return Ok(true) };
        let call = repository.change(&["merge", "--quiet", "--ff-only", &commit]);
        Ok(call.without_hooks().output()?.success())
    }

    fn switch(&self, name: &str, hooks: bool) -> Result<BranchOutcome, GitError> {
        let repository = self.repository()?;
        if !self.is_branch_name(name)? {
            return Err(GitError::BranchName(name.to_owned()));
        }
        let full = format!("refs/heads/{name}");
        if repository.branch()?.as_ref() == Some(&full) {
            return Ok(BranchOutcome::Already);
        }
        self.settled()?;
        repository.wait_for_index()?;
        let (outcome, how): (_, &[&str]) = match repository.commit_at(&full)? {
            Some(_) => (BranchOutcome::Switched, &["--no-guess", name, "--"]),
            None => (BranchOutcome::Made, &["--no-track", "-b", name]),
        };
        let call =
            repository.change(&["checkout", "--quiet", "--no-overwrite-ignore", "--no-recurse-submodules"]);
        let call = if hooks { call } else { call.without_hooks() };
        let output = call.args(how).output()?;
        // A hook's failure after the switch does not undo it.
        if output.success() || repository.branch()?.as_ref() == Some(&full) {
            return Ok(outcome);
        }
        let message = output.error_text();
        let files = listed_files(&message);
        if files.is_empty() {
            return Err(GitError::Refused {
                command: format!("checkout {name}"),
                message: one_line(&message, 200),
            });
        }
        Err(GitError::BranchInTheWay { branch: name.to_owned(), files })
    }

    /// Whether a branch can have that name and is then meant by it: `@` and `HEAD` mean the commit that is checked out.
    pub(super) fn is_branch_name(&self, name: &str) -> Result<bool, GitError> {
        if ["", "@", "HEAD"].contains(&name) || name.starts_with('-') || name.contains('\0') {
            return Ok(false);
        }
        let call = self.repository.query(&["check-ref-format", "--branch", name]);
        let output = call.output()?;
        // Git spells names such as `@{-1}` out.
        let is_itself = output.stdout.strip_suffix(b"\n") == Some(name.as_bytes());
        Ok(output.success() && is_itself)
    }

    /// What somebody began with git and did not finish: nothing can be committed or rolled back then.
    pub fn unfinished(&self) -> Result<Option<Unfinished>, GitError> {
        Ok(Unfinished::find(&self.repository()?.git_dir))
    }

    /// Ends what somebody began with git and did not finish; what it was. Files stay as they are, but for those of a
    /// rebase: they are those of the branch again, which nobody could get back to otherwise.
    pub fn end_unfinished(&self) -> Result<Option<Unfinished>, GitError> {
        let repository = self.repository()?;
        let first = Unfinished::find(&repository.git_dir);
        // One may hide another.
        for _ in 0..TRACES.len() {
            let Some(unfinished) = Unfinished::find(&repository.git_dir) else { break };
            let words = unfinished.ended_by(&repository.git_dir);
            repository.change(words).without_hooks().run()?;
        }
        self.settled()?;
        if first.is_some() {
            self.resolve_conflicts()?;
        }
        Ok(first)
    }

    /// Takes conflicts out of the index, with which neither agents nor people could commit anything.
    fn resolve_conflicts(&self) -> Result<(), GitError> {
        let repository = self.repository()?;
        let call = repository.query(&["diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"]);
        let unmerged = call.args(&["--name-only", "--diff-filter=U", "-z"]).run()?;
        let unmerged: Vec<RepoPath> = zero_separated(&unmerged).map(<[u8]>::to_vec).collect();
        repository.reset_index(&unmerged)
    }
}

/// The files git lists, each on a line of its own after a tab.
fn listed_files(message: &str) -> Vec<String> {
    let files = message.lines().filter_map(|line| line.strip_prefix('\t'));
    let mut files: Vec<String> = files.map(|file| code_line(file, 200)).collect();
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
        repo.git(&["symbolic-ref", "--short", "HEAD"]).trim().to_owned()
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
        assert_eq!((branch_of(&repo), repo.read("b.txt")), ("main".into(), "theirs\n".into()));
        repo.git(&["-c", "core.hooksPath=/dev/null", "checkout", "-q", "--orphan", "apart"]);
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
            assert_eq!((branch.as_str(), files.as_slice()), ("other", &[path.to_owned()][..]));
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
        assert_eq!(repo.open().work_on("main").unwrap(), BranchOutcome::Switched);
        assert_eq!(repo.open().work_on("a.txt").unwrap(), BranchOutcome::Switched);
    }

    #[test]
    fn odd_names_are_refused() {
        let repo = Repo::with_first_commit();
        let git = repo.open();
        git.work_on("one").unwrap();
        git.work_on("main").unwrap();
        for name in
            ["", "-x", "a b", "a..b", "@{-1}", "@", "x.lock", "HEAD", "a\nb", "--help", "a/", ".a", "a\0b"]
        {
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

    #[test]
    fn every_unfinished_thing_is_seen() {
        let repo = Repo::with_first_commit();
        repo.diverge();
        repo.write("a.txt", "later\n");
        repo.commit_all("later");
        let git = repo.open();
        assert_eq!(git.unfinished().unwrap(), None);
        for (begin, end, what) in [
            (["merge", "other"], ["merge", "--abort"], Unfinished::Merge),
            (["rebase", "other"], ["rebase", "--abort"], Unfinished::Rebase),
            (["cherry-pick", "other"], ["cherry-pick", "--abort"], Unfinished::CherryPick),
            (["revert", "HEAD~1"], ["revert", "--abort"], Unfinished::Revert),
            (["bisect", "start"], ["bisect", "reset"], Unfinished::Bisect),
        ] {
            let _ = repo.try_git(&begin);
            assert_eq!(git.unfinished().unwrap(), Some(what), "{what}");
            repo.git(&end);
            assert_eq!(git.unfinished().unwrap(), None, "{what}");

            let _ = repo.try_git(&begin);
            let files = repo.read("a.txt");
            assert_eq!(git.end_unfinished().unwrap(), Some(what), "{what}");
            assert_eq!(git.unfinished().unwrap(), None, "{what}");
            match what {
                Unfinished::Rebase => assert_eq!(repo.read("a.txt"), "later\n"),
                _ => assert_eq!(repo.read("a.txt"), files, "{what}"),
            }
            let conflicts = repo.git(&["ls-files", "--unmerged"]);
            assert_eq!(conflicts, "", "{what}");
            repo.git(&["checkout", "-qf", "main"]);
        }
        assert_eq!(git.end_unfinished().unwrap(), None);
    }
}
