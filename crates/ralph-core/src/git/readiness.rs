//! What stands in the way of what Ralph is to do with git, seen before it begins.

use std::fmt;
use std::path::{Path, PathBuf};

use super::branch_name::is_branch_name;
use super::places::Places;
use super::{Git, GitError, Unfinished, unfinished};
use crate::text::one_line;

/// Whom git asks for, in its own names.
const IDENTITIES: [&str; 2] = ["GIT_COMMITTER_IDENT", "GIT_AUTHOR_IDENT"];

/// What Ralph is to do with git.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wants<'w> {
    /// It commits done work.
    pub commits: bool,
    /// It rolls failed work back.
    pub rolls_back: bool,
    /// It works on this branch.
    pub branch: Option<&'w str>,
}

impl Wants<'_> {
    /// Whether it does anything at all.
    fn is_nothing(self) -> bool {
        !self.commits && !self.rolls_back && self.branch.is_none()
    }
}

/// Something in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// A merge or the like waits for somebody to finish it.
    Unfinished(Unfinished),
    /// No branch can have the name that is wanted.
    BranchName(String),
    /// Nobody could sign a commit.
    NoIdentity {
        /// What git says of it.
        said: String,
    },
    /// Somebody holds the index, or died holding it.
    Locked(PathBuf),
}

/// What an obstacle does to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// It would fail sooner or later: it does not start.
    Stops,
    /// It may be gone in a moment.
    Hinders,
}

impl Obstacle {
    /// What it does to a run.
    pub fn weight(&self) -> Weight {
        match self {
            Self::Unfinished(_) | Self::BranchName(_) | Self::NoIdentity { .. } => Weight::Stops,
            Self::Locked(_) => Weight::Hinders,
        }
    }

    /// What mends it.
    pub fn mended_by(&self) -> String {
        match self {
            Self::Unfinished(unfinished) => {
                format!("finish it, or run `{}`", aborted_by(*unfinished))
            }
            Self::BranchName(_) => "fix branch under [git] in .ralph.toml".to_owned(),
            Self::NoIdentity { .. } => {
                "git config user.email YOU@EXAMPLE.ORG; git config user.name 'YOUR NAME'".to_owned()
            }
            Self::Locked(lock) => {
                format!(
                    "if no git process is running, remove it: rm {}",
                    for_a_shell(lock)
                )
            }
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
                write!(
                    f,
                    "[git] branch: {:?} is not a valid branch name",
                    one_line(name, 100)
                )
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
    /// What stands in the way now, the worst first. Nothing is asked where nothing is wanted.
    pub fn obstacles(&self, wants: Wants<'_>) -> Result<Vec<Obstacle>, GitError> {
        if wants.is_nothing() {
            return Ok(Vec::new());
        }
        let places = self.places()?;
        let unfinished = unfinished::find(&places.git_dir).map(Obstacle::Unfinished);
        let name = wants.branch.filter(|name| !is_branch_name(name));
        let name = name.map(|name| Obstacle::BranchName(name.to_owned()));
        let identity = match wants.commits {
            true => missing_identity(&places)?.map(|said| Obstacle::NoIdentity { said }),
            false => None,
        };
        let lock = Some(places.lock_path()).filter(|lock| lock.exists());
        let all = [unfinished, name, identity, lock.map(Obstacle::Locked)];
        Ok(all.into_iter().flatten().collect())
    }
}

/// Asks git who would sign, as strictly as a commit does.
pub(super) fn missing_identity(places: &Places) -> Result<Option<String>, GitError> {
    for identity in IDENTITIES {
        let output = places.call(&["var", identity]).output()?;
        if !output.success() {
            return Ok(Some(reason(&String::from_utf8_lossy(&output.stderr))));
        }
    }
    Ok(None)
}

/// Of all that git says, why it gave up.
fn reason(said: &str) -> String {
    let mut lines = said.lines().map(str::trim).rev();
    let fatal = lines.clone().find_map(|line| line.strip_prefix("fatal: "));
    let line = fatal.or_else(|| lines.find(|line| !line.is_empty()));
    match line {
        Some(line) => one_line(line, 200),
        None => "no reason given".to_owned(),
    }
}

fn aborted_by(unfinished: Unfinished) -> &'static str {
    match unfinished {
        Unfinished::Rebase => "git rebase --abort` or `git am --abort",
        Unfinished::Merge => "git merge --abort",
        Unfinished::CherryPick => "git cherry-pick --abort",
        Unfinished::Revert => "git revert --abort",
        Unfinished::Bisect => "git bisect reset",
    }
}

/// A path as a word of a shell.
fn for_a_shell(path: &Path) -> String {
    crate::text::shell_word(&path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::Repo;

    const ALL: Wants<'_> = Wants {
        commits: true,
        rolls_back: true,
        branch: Some("ralph/work"),
    };

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
        let wants = Wants {
            branch: Some("bad..name"),
            ..ALL
        };
        let found = git.obstacles(wants).unwrap();
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[0], Obstacle::Unfinished(Unfinished::Merge));
        assert_eq!(found[1], Obstacle::BranchName("bad..name".into()));
        assert!(matches!(found[2], Obstacle::NoIdentity { .. }), "{found:?}");
        assert!(matches!(found[3], Obstacle::Locked(_)), "{found:?}");
        let weights: Vec<Weight> = found.iter().map(Obstacle::weight).collect();
        assert_eq!(
            weights,
            [Weight::Stops, Weight::Stops, Weight::Stops, Weight::Hinders]
        );
        assert_eq!(git.obstacles(Wants::default()).unwrap(), []);
        // Who commits matters to nobody who does not.
        let wants = Wants {
            rolls_back: true,
            ..Wants::default()
        };
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
            (
                Obstacle::Unfinished(Unfinished::Rebase),
                "a rebase is in progress",
                "git rebase --abort",
            ),
            (
                Obstacle::BranchName("a\nb".into()),
                "not a valid branch name",
                ".ralph.toml",
            ),
            (
                Obstacle::NoIdentity { said },
                "no email was given",
                "git config user.email",
            ),
            (
                Obstacle::Locked("/a b/.git/index.lock".into()),
                "/a b/.git/index.lock exists",
                "rm '/a b/.git/index.lock'",
            ),
        ] {
            let message = obstacle.to_string();
            assert!(message.contains(words), "{message}");
            assert!(!message.contains('\n'), "{message}");
            let mended_by = obstacle.mended_by();
            assert!(mended_by.contains(fix), "{mended_by}");
        }
    }
}
