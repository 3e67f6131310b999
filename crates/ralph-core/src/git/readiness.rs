//! What stands in the way of what Ralph is to do with git, checked before a run begins.

use super::error::{SET_IDENTITY, remove_lock};
use super::repository::Repository;
use super::{Git, GitError};
use crate::text::one_line;

/// What Ralph is to do with git.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wants<'w> {
    pub commits: bool,
    pub rolls_back: bool,
    pub branch: Option<&'w str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    pub message: String,
    pub fix: String,
    /// Whether the run would fail sooner or later, so that it does not start; others may be gone in a moment.
    pub stops: bool,
}

impl Obstacle {
    fn stopping(message: String, fix: impl Into<String>) -> Self {
        Self { message, fix: fix.into(), stops: true }
    }
}

impl Git {
    /// What stands in the way now, the worst first. Nothing is checked where nothing is wanted.
    pub fn obstacles(&self, wants: Wants<'_>) -> Result<Vec<Obstacle>, GitError> {
        let mut found = Vec::new();
        if !wants.commits && !wants.rolls_back && wants.branch.is_none() {
            return Ok(found);
        }
        if let Some(unfinished) = self.unfinished()? {
            let message = format!(
                "{unfinished} is in progress in this working tree: Ralph cannot commit, roll back or switch \
                 branches"
            );
            let fix = format!("finish it, or run `{}`", unfinished.aborted_by());
            found.push(Obstacle::stopping(message, fix));
        }
        if let Some(name) = wants.branch
            && !self.is_branch_name(name)?
        {
            let name = one_line(name, 100);
            let message = format!("[git] branch: {name:?} is not a valid branch name");
            found.push(Obstacle::stopping(message, "fix branch under [git] in .ralph.toml"));
        }
        if wants.commits
            && let Some(why) = self.repository.missing_identity()?
        {
            found.push(Obstacle::stopping(format!("git has no author identity: {why}"), SET_IDENTITY));
        }
        let lock = self.repository.lock_path();
        if lock.exists() {
            let path = one_line(&lock.display().to_string(), 300);
            let message =
                format!("git's index is locked: {path} exists; a git process is running, or crashed");
            found.push(Obstacle { message, fix: remove_lock(&lock), stops: false });
        }
        Ok(found)
    }
}

impl Repository {
    /// Asks git who would sign, as strictly as a commit does; why nobody could.
    pub(super) fn missing_identity(&self) -> Result<Option<String>, GitError> {
        for identity in ["GIT_COMMITTER_IDENT", "GIT_AUTHOR_IDENT"] {
            let output = self.query(&["var", identity]).output()?;
            if !output.success() {
                return Ok(Some(reason(&output.stderr)));
            }
        }
        Ok(None)
    }
}

/// Of all that git says, why it gave up.
fn reason(message: &str) -> String {
    let mut lines = message.lines().map(str::trim).rev();
    let fatal = lines.clone().find_map(|line| line.strip_prefix("fatal: "));
    let line = fatal.or_else(|| lines.find(|line| !line.is_empty()));
    one_line(line.unwrap_or("no reason given"), 200)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::Repo;

    const ALL: Wants<'_> = Wants { commits: true, rolls_back: true, branch: Some("ralph/work") };

    #[test]
    fn a_repository_in_order_has_none() {
        let repo = Repo::with_first_commit();
        assert_eq!(repo.open().obstacles(ALL).unwrap(), []);
        // Nor one without a commit.
        assert_eq!(Repo::new().open().obstacles(ALL).unwrap(), []);
    }

    #[test]
    fn all_that_is_wrong_is_told_and_only_where_it_matters() {
        let repo = Repo::with_first_commit();
        let head = repo.head();
        repo.write(".git/MERGE_HEAD", &head);
        repo.write(".git/index.lock", "");
        repo.git(&["config", "user.name", ""]);
        let git = repo.open();
        let wants = Wants { branch: Some("bad..name"), ..ALL };
        let found = git.obstacles(wants).unwrap();
        let expected = [
            ("a merge is in progress", "git merge --abort", true),
            ("\"bad..name\" is not a valid branch name", ".ralph.toml", true),
            ("git has no author identity: ", "git config user.email", true),
            ("index.lock exists", "remove it: rm ", false),
        ];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (obstacle, (message, fix, stops)) in found.iter().zip(expected) {
            assert!(obstacle.message.contains(message), "{obstacle:?}");
            assert!(obstacle.fix.contains(fix), "{obstacle:?}");
            assert_eq!(obstacle.stops, stops, "{obstacle:?}");
        }
        assert_eq!(git.obstacles(Wants::default()).unwrap(), []);
        // Who commits matters to nobody who does not.
        let wants = Wants { rolls_back: true, ..Wants::default() };
        assert_eq!(git.obstacles(wants).unwrap().len(), 2);
    }

    #[test]
    fn why_git_gave_up_is_one_line() {
        let said = "Author identity unknown\n\n*** Please tell me who you are.\n\nfatal: unable to auto-detect email\n";
        assert_eq!(reason(said), "unable to auto-detect email");
        assert_eq!(reason("error: odd\n\n"), "error: odd");
        assert_eq!(reason(" \n"), "no reason given");
    }
}
