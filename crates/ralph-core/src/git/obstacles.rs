//! What stands in the way of what Ralph is to do with git, checked before a run begins.

use std::fmt;

use super::error::{SET_IDENTITY, remove_lock};
use super::repository::Repository;
use super::{Git, GitError, Unfinished};
use crate::text::one_line;

/// Who commits, in git's names.
const IDENTITIES: [&str; 2] = ["GIT_COMMITTER_IDENT", "GIT_AUTHOR_IDENT"];

/// What Ralph is to do with git.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wants<'w> {
    pub commits: bool,
    pub rolls_back: bool,
    pub branch: Option<&'w str>,
    /// All of it in working trees of Ralph's own: what somebody is at in this one is not in the way.
    pub elsewhere: bool,
}

/// Something that is in the way, and what a person does about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    message: String,
    fix: String,
    weight: Weight,
}

/// What an obstacle does to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The run would fail sooner or later, so it does not start.
    Stops,
    /// It may be gone in a moment.
    Hinders,
}

impl Obstacle {
    pub fn weight(&self) -> Weight {
        self.weight
    }

    pub fn fix(&self) -> String {
        self.fix.clone()
    }

    fn stops(message: String, fix: impl Into<String>) -> Self {
        Self { message, fix: fix.into(), weight: Weight::Stops }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Git {
    /// What stands in the way now, the worst first. Nothing is checked where nothing is wanted.
    pub fn obstacles(&self, wants: Wants<'_>) -> Result<Vec<Obstacle>, GitError> {
        if !wants.commits && !wants.rolls_back && wants.branch.is_none() {
            return Ok(Vec::new());
        }
        let repository = self.repository()?;
        let mut found = Vec::new();
        if let Some(unfinished) = Unfinished::find(&repository.git_dir).filter(|_| !wants.elsewhere) {
            let message = format!(
                "{unfinished} is in progress in this working tree: Ralph cannot commit, roll back or switch \
                 branches"
            );
            found.push(Obstacle::stops(message, format!("finish it, or run `{}`", unfinished.aborted_by())));
        }
        if let Some(name) = wants.branch
            && !self.is_branch_name(name)?
        {
            let message = format!("[git] branch: {:?} is not a valid branch name", one_line(name, 100));
            found.push(Obstacle::stops(message, "fix branch under [git] in .ralph.toml"));
        }
        if wants.commits
            && let Some(said) = repository.missing_identity()?
        {
            found.push(Obstacle::stops(GitError::NoIdentity(said).to_string(), SET_IDENTITY));
        }
        repository.remove_stale_lock();
        let lock = repository.lock_path();
        if lock.exists() && !wants.elsewhere {
            let name = one_line(&lock.display().to_string(), 300);
            found.push(Obstacle {
                message: format!(
                    "git's index is locked: {name} exists; a git process is running, or crashed"
                ),
                fix: remove_lock(&lock),
                weight: Weight::Hinders,
            });
        }
        Ok(found)
    }
}

impl Repository {
    /// Asks git who would sign, as strictly as a commit does; why nobody could.
    pub(super) fn missing_identity(&self) -> Result<Option<String>, GitError> {
        for identity in IDENTITIES {
            let output = self.query(&["var", identity]).output()?;
            if !output.success() {
                return Ok(Some(reason(&output.error_text())));
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
    match line {
        Some(line) => one_line(line, 200),
        None => "no reason given".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::Repo;

    const ALL: Wants<'_> =
        Wants { commits: true, rolls_back: true, branch: Some("ralph/work"), elsewhere: false };

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
        assert_eq!(found.len(), 4, "{found:?}");
        for (obstacle, words, fix) in [
            (&found[0], "a merge is in progress", "git merge --abort"),
            (&found[1], "\"bad..name\" is not a valid branch name", ".ralph.toml"),
            (&found[2], "git has no author identity: ", "git config user.email"),
            (&found[3], ".git/index.lock exists", "rm "),
        ] {
            let message = obstacle.to_string();
            assert!(message.contains(words) && obstacle.fix().contains(fix), "{obstacle:?}");
        }
        let weights: Vec<Weight> = found.iter().map(Obstacle::weight).collect();
        assert_eq!(weights, [Weight::Stops, Weight::Stops, Weight::Stops, Weight::Hinders]);
        assert_eq!(git.obstacles(Wants::default()).unwrap(), []);
        // Nor does it matter to workers what goes on here.
        let wants = Wants { elsewhere: true, ..ALL };
        assert_eq!(git.obstacles(wants).unwrap().len(), 1);
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
