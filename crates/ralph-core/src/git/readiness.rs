//! What stands in the way of what Ralph is to do with git, checked before a run begins.

use std::fmt;
use std::path::PathBuf;

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
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// A merge or the like waits for somebody to finish it.
    Unfinished(Unfinished),
    BranchName(String),
    /// Git does not know who commits.
    NoIdentity {
        /// Git's own message.
        said: String,
    },
    /// Somebody holds the index, or died holding it.
    Locked(PathBuf),
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
        match self {
            Self::Unfinished(_) | Self::BranchName(_) | Self::NoIdentity { .. } => Weight::Stops,
            Self::Locked(_) => Weight::Hinders,
        }
    }

    pub fn fix(&self) -> String {
        match self {
            Self::Unfinished(unfinished) => {
                format!("finish it, or run `{}`", unfinished.aborted_by())
            }
            Self::BranchName(_) => "fix branch under [git] in .ralph.toml".to_owned(),
            Self::NoIdentity { .. } => SET_IDENTITY.to_owned(),
            Self::Locked(lock) => remove_lock(lock),
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unfinished(unfinished) => write!(
                f,
                "{unfinished} is in progress in this working tree: Ralph cannot commit, roll back or switch \
                 branches"
            ),
            Self::BranchName(name) => {
                let name = one_line(name, 100);
                write!(f, "[git] branch: {name:?} is not a valid branch name")
            }
            Self::NoIdentity { said } => write!(f, "git has no author identity: {said}"),
            Self::Locked(lock) => write!(
                f,
                "git's index is locked: {} exists; a git process is running, or crashed",
                one_line(&lock.display().to_string(), 300)
            ),
        }
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
        found.extend(Unfinished::find(&repository.git_dir).map(Obstacle::Unfinished));
        if let Some(name) = wants.branch
            && !self.is_branch_name(name)?
        {
            found.push(Obstacle::BranchName(name.to_owned()));
        }
        if wants.commits {
            let missing = repository.missing_identity()?;
            found.extend(missing.map(|said| Obstacle::NoIdentity { said }));
        }
        repository.remove_stale_lock();
        let lock = Some(repository.lock_path()).filter(|lock| lock.exists());
        found.extend(lock.map(Obstacle::Locked));
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
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[0], Obstacle::Unfinished(Unfinished::Merge));
        assert_eq!(found[1], Obstacle::BranchName("bad..name".into()));
        assert!(matches!(found[2], Obstacle::NoIdentity { .. }), "{found:?}");
        assert!(matches!(found[3], Obstacle::Locked(_)), "{found:?}");
        let weights: Vec<Weight> = found.iter().map(Obstacle::weight).collect();
        assert_eq!(weights, [Weight::Stops, Weight::Stops, Weight::Stops, Weight::Hinders]);
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

    #[test]
    fn every_obstacle_says_what_mends_it() {
        let said = "no email was given".to_owned();
        for (obstacle, words, fix) in [
            (Obstacle::Unfinished(Unfinished::Rebase), "a rebase is in progress", "git rebase --abort"),
            (Obstacle::BranchName("a\nb".into()), "not a valid branch name", ".ralph.toml"),
            (Obstacle::NoIdentity { said }, "no email was given", "git config user.email"),
            (
                Obstacle::Locked("/a b/.git/index.lock".into()),
                "/a b/.git/index.lock exists",
                "rm '/a b/.git/index.lock'",
            ),
        ] {
            let message = obstacle.to_string();
            assert!(message.contains(words), "{message}");
            assert!(!message.contains('\n'), "{message}");
            let given = obstacle.fix();
            assert!(given.contains(fix), "{given}");
        }
    }
}
