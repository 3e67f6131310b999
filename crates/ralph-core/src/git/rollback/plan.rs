//! What a roll-back has to do, decided path by path over plain data.

use std::collections::{BTreeMap, BTreeSet};

use super::files::{Blobs, Held, glance, hold};
use super::keep::Kept;
use super::look::Look;
use crate::git::index::{Entries, Entry, GITLINK};
use crate::git::paths::RepoPath;
use crate::git::places::Places;
use crate::git::{Git, GitError, Left, LeftBecause};

/// How a path gets back to what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Undo {
    /// It was not there.
    Remove,
    /// It was as committed.
    CheckOut,
    /// It was a file with this in it.
    Write { blob: String, mode: u32 },
    /// It was a link.
    Link { target: Vec<u8> },
    /// Only its permissions were others.
    Permit { mode: u32 },
}

/// What is known of a path that may have been changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'f> {
    /// What lay there before, where it was uncommitted.
    pub(super) before: Option<&'f Held>,
    /// What lies there now.
    pub(super) now: &'f Held,
    /// Whether it was ignored before.
    pub(super) was_ignored: bool,
    /// What the index had for it before.
    pub(super) index: Option<&'f Entry>,
}

/// What comes of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// It is as it was, or none of our business.
    Nothing,
    Undo(Undo),
    Left(LeftBecause),
}

/// Decides for one path.
pub(super) fn decide(facts: Facts<'_>) -> Decision {
    let left = |letters: &[u8]| {
        Decision::Left(match (letters, facts.index) {
            ([], None) => LeftBecause::Repository,
            _ => LeftBecause::Submodule,
        })
    };
    match (facts.before, facts.now) {
        (Some(before), now) if before == now => Decision::Nothing,
        (Some(Held::Alone(letters)), _) | (_, Held::Alone(letters)) => left(letters),
        (Some(Held::Special), _) => Decision::Nothing,
        (Some(Held::Gone), _) => Decision::Undo(Undo::Remove),
        (Some(Held::Link { target }), _) => Decision::Undo(Undo::Link {
            target: target.clone(),
        }),
        (Some(Held::File { blob, mode }), now) => Decision::Undo(match now {
            Held::File { blob: now, .. } if now == blob => Undo::Permit { mode: *mode },
            _ => Undo::Write {
                blob: blob.clone(),
                mode: *mode,
            },
        }),
        (None, now) => match facts.index {
            Some(entry) if entry.mode == GITLINK => Decision::Left(LeftBecause::Submodule),
            Some(entry) if entry.unwatched => Decision::Left(LeftBecause::Unwatched),
            Some(_) => Decision::Undo(Undo::CheckOut),
            None if facts.was_ignored || *now == Held::Gone => Decision::Nothing,
            None => Decision::Undo(Undo::Remove),
        },
    }
}

/// The work of a roll-back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) undo: BTreeMap<RepoPath, Undo>,
    pub(super) left: Vec<Left>,
}

impl Git {
    /// Decides what to do with everything that may have been changed.
    pub(super) fn plan(
        &self,
        places: &Places,
        kept: &Kept,
        now: &Look,
        committed: &BTreeSet<RepoPath>,
        entries: &Entries,
    ) -> Result<Plan, GitError> {
        let repository = |path: &RepoPath| now.dirty.get(path)?.repository.as_ref();
        let known = kept.held.keys();
        let held = hold(
            places,
            known.map(|path| (path, repository(path))),
            Blobs::Named,
        )?;
        let mut plan = Plan::default();
        let mut paths: BTreeSet<&RepoPath> = kept.held.keys().collect();
        paths.extend(now.dirty.keys());
        paths.extend(committed);
        // Where a link took a directory's place and leads to itself, git sees what was in there as unchanged.
        for path in kept.held.keys().chain(now.dirty.keys()) {
            let dir = [path.as_slice(), b"/"].concat();
            let from = entries.range(dir.clone()..).map(|(path, _)| path);
            paths.extend(from.take_while(|path| path.starts_with(&dir)));
        }
        for path in paths {
            if !path.starts_with(&self.prefix) {
                plan.left.push(self.left(path, LeftBecause::OutsideProject));
                continue;
            }
            if self.own_path(path).is_none() {
                continue;
            }
            let glanced;
            let now = match held.get(path) {
                Some(held) => held,
                None => {
                    glanced = glance(places, path, repository(path));
                    &glanced
                }
            };
            let facts = Facts {
                before: kept.held_at(path),
                now,
                was_ignored: kept.look.is_ignored(path),
                index: entry_of(entries, path),
            };
            match decide(facts) {
                Decision::Nothing => {}
                Decision::Undo(undo) => {
                    plan.undo.insert(path.clone(), undo);
                }
                Decision::Left(why) => plan.left.push(self.left(path, why)),
            }
        }
        Ok(plan)
    }

    pub(super) fn left(&self, path: &[u8], why: LeftBecause) -> Left {
        Left {
            what: self.display(path),
            why,
        }
    }
}

/// What an index has for a path.
pub(super) fn entry_of<'e>(entries: &'e Entries, path: &[u8]) -> Option<&'e Entry> {
    entries.get(path)?.first()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(blob: &str, mode: u32) -> Held {
        Held::File {
            blob: blob.into(),
            mode,
        }
    }

    fn link(target: &[u8]) -> Held {
        Held::Link {
            target: target.to_vec(),
        }
    }

    fn decision(before: Option<Held>, now: Held, index_mode: Option<&str>) -> Decision {
        decide(Facts {
            before: before.as_ref(),
            now: &now,
            was_ignored: false,
            index: index_mode.map(|mode| Entry::new(mode, "1")).as_ref(),
        })
    }

    #[test]
    fn what_was_uncommitted_comes_back_as_it_was() {
        use Decision::Undo as Do;
        let was = file("a", 0o600);
        assert_eq!(
            decision(Some(was.clone()), was.clone(), None),
            Decision::Nothing
        );
        let write = Undo::Write {
            blob: "a".into(),
            mode: 0o600,
        };
        for now in [file("b", 0o600), Held::Gone, link(b"x"), Held::Special] {
            assert_eq!(decision(Some(was.clone()), now, None), Do(write.clone()));
        }
        let permit = Undo::Permit { mode: 0o600 };
        assert_eq!(decision(Some(was), file("a", 0o644), None), Do(permit));
        let target = b"x".to_vec();
        assert_eq!(
            decision(Some(link(b"x")), link(b"y"), Some("120000")),
            Do(Undo::Link { target })
        );
        assert_eq!(
            decision(Some(Held::Gone), file("a", 0o644), Some("100644")),
            Do(Undo::Remove)
        );
    }

    #[test]
    fn what_was_clean_is_checked_out_and_what_is_new_goes() {
        use Decision::Undo as Do;
        let now = file("b", 0o644);
        assert_eq!(
            decision(None, now.clone(), Some("100644")),
            Do(Undo::CheckOut)
        );
        assert_eq!(
            decision(None, Held::Gone, Some("100644")),
            Do(Undo::CheckOut)
        );
        assert_eq!(decision(None, now.clone(), None), Do(Undo::Remove));
        assert_eq!(decision(None, Held::Gone, None), Decision::Nothing);
        let ignored = Facts {
            before: None,
            now: &now,
            was_ignored: true,
            index: None,
        };
        assert_eq!(decide(ignored), Decision::Nothing);
        let unwatched = Facts {
            was_ignored: false,
            index: Some(&Entry {
                unwatched: true,
                ..Entry::new("100644", "1")
            }),
            ..ignored
        };
        assert_eq!(decide(unwatched), Decision::Left(LeftBecause::Unwatched));
    }

    #[test]
    fn submodules_and_repositories_are_left_alone() {
        let submodule = Held::Alone(b"SC..".to_vec());
        let nested = Held::Alone(Vec::new());
        for (before, now, index_mode, why) in [
            (
                None,
                submodule.clone(),
                Some(GITLINK),
                LeftBecause::Submodule,
            ),
            (None, Held::Gone, Some(GITLINK), LeftBecause::Submodule),
            (
                Some(Held::Alone(b"S..U".to_vec())),
                submodule,
                Some(GITLINK),
                LeftBecause::Submodule,
            ),
            (None, nested.clone(), None, LeftBecause::Repository),
            (
                Some(file("a", 0o644)),
                nested.clone(),
                None,
                LeftBecause::Repository,
            ),
            (Some(nested), Held::Gone, None, LeftBecause::Repository),
        ] {
            assert_eq!(decision(before, now, index_mode), Decision::Left(why));
        }
    }
}
