//! The way of HEAD back to where it was before an attempt.

use super::look::Look;
use crate::git::GitError;
use crate::git::places::Places;
use crate::git::save::commit_at;

/// How HEAD gets back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It is where it was.
    Stay,
    /// On the same branch, or on none both times: back to that commit; none is the time before the first.
    Move {
        from: Option<String>,
        to: Option<String>,
    },
    /// Back to a branch that has not moved.
    Switch { branch: String },
    /// Off a branch, to a commit.
    Detach { to: String },
}

/// The branch of before, where HEAD is on another now.
#[derive(Clone, Debug, Default)]
pub(super) struct Abandoned {
    /// The commit it is at; none if it is gone.
    pub(super) tip: Option<String>,
    /// Whether another work tree has it.
    pub(super) taken: bool,
}

/// Finds the way; the error is a reason not to go it.
pub(super) fn way(before: &Look, now: &Look, abandoned: &Abandoned) -> Result<Way, String> {
    if before.branch == now.branch {
        return Ok(match before.head == now.head {
            true => Way::Stay,
            false => Way::Move {
                from: now.head.clone(),
                to: before.head.clone(),
            },
        });
    }
    let Some(branch) = &before.branch else {
        return match &before.head {
            Some(to) => Ok(Way::Detach { to: to.clone() }),
            None => Err("HEAD pointed to no commit before the attempt".to_owned()),
        };
    };
    let name = short(branch);
    if abandoned.taken {
        return Err(format!(
            "the attempt left branch {name}, which another worktree has checked out now"
        ));
    }
    match (&before.head, &abandoned.tip) {
        (before, tip) if before == tip => Ok(Way::Switch {
            branch: branch.clone(),
        }),
        (_, None) => Err(format!("the attempt deleted branch {name}")),
        (_, Some(_)) => Err(format!(
            "the attempt left branch {name}, which has moved since"
        )),
    }
}

/// A branch as people call it.
pub(super) fn short(branch: &str) -> &str {
    branch.strip_prefix("refs/heads/").unwrap_or(branch)
}

/// Finds the way in a repository.
pub(super) fn find(
    places: &Places,
    before: &Look,
    now: &Look,
) -> Result<Result<Way, String>, GitError> {
    let abandoned = match &before.branch {
        Some(branch) if now.branch.as_ref() != Some(branch) => {
            let list = places.call(&["worktree", "list", "--porcelain"]).run()?;
            let line = format!("branch {branch}");
            Abandoned {
                tip: commit_at(places, branch)?,
                taken: list.split(|b| *b == b'\n').any(|l| l == line.as_bytes()),
            }
        }
        _ => Abandoned::default(),
    };
    Ok(way(before, now, &abandoned))
}

/// Goes it; a HEAD that somebody moved meanwhile stays where it is, and that is an error.
pub(super) fn go(places: &Places, way: &Way, message: &str) -> Result<(), GitError> {
    let call = match way {
        Way::Stay => return Ok(()),
        Way::Move { from, to: Some(to) } => places
            .change(&["update-ref", "-m", message, "HEAD", to])
            .arg(from.as_deref().unwrap_or("")),
        Way::Move { from, to: None } => places
            .change(&["update-ref", "-m", message, "-d", "HEAD"])
            .args(&from.as_deref().into_iter().collect::<Vec<_>>()),
        Way::Switch { branch } => places.change(&["symbolic-ref", "-m", message, "HEAD", branch]),
        Way::Detach { to } => {
            places.change(&["update-ref", "-m", message, "--no-deref", "HEAD", to])
        }
    };
    call.run().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(branch: Option<&str>, head: Option<&str>) -> Look {
        Look {
            head: head.map(str::to_owned),
            branch: branch.map(|name| format!("refs/heads/{name}")),
            ..Look::default()
        }
    }

    fn tip(tip: Option<&str>) -> Abandoned {
        Abandoned {
            tip: tip.map(str::to_owned),
            taken: false,
        }
    }

    #[test]
    fn head_goes_back_where_that_is_safe() {
        let main = at(Some("main"), Some("1"));
        assert_eq!(way(&main, &main, &tip(None)), Ok(Way::Stay));
        let moved = Way::Move {
            from: Some("2".into()),
            to: Some("1".into()),
        };
        let further = at(Some("main"), Some("2"));
        assert_eq!(way(&main, &further, &tip(None)), Ok(moved));
        let other = at(Some("other"), Some("2"));
        let back = Way::Switch {
            branch: "refs/heads/main".into(),
        };
        assert_eq!(way(&main, &other, &tip(Some("1"))), Ok(back.clone()));
        let unborn = at(Some("main"), None);
        assert_eq!(way(&unborn, &other, &tip(None)), Ok(back));
        let detached = at(None, Some("1"));
        let off = Way::Detach { to: "1".into() };
        assert_eq!(way(&detached, &other, &tip(None)), Ok(off));
    }

    #[test]
    fn head_does_not_go_where_something_could_be_lost() {
        let main = at(Some("main"), Some("1"));
        let other = at(Some("other"), Some("2"));
        let taken = Abandoned {
            taken: true,
            ..tip(Some("1"))
        };
        for (abandoned, says) in [
            (tip(Some("3")), "has moved"),
            (tip(None), "deleted"),
            (taken, "another worktree"),
        ] {
            let why = way(&main, &other, &abandoned).unwrap_err();
            assert!(why.contains(says) && why.contains("main"), "{why}");
        }
    }
}
