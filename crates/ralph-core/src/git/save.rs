//! Commits under references that nobody looks for: what is undone must be found again.

use super::GitError;
use super::places::Places;

/// References of one name are numbered; more than this many are a mistake.
const MOST_OF_A_NAME: u32 = 10_000;

/// A commit of a tree, signed by Ralph and on no branch.
pub(super) fn commit(
    places: &Places,
    tree: &str,
    parents: &[String],
    message: &str,
) -> Result<String, GitError> {
    let mut call = places.change(&["commit-tree", tree]);
    let mut seen: Vec<&String> = Vec::new();
    for parent in parents {
        if !seen.contains(&parent) {
            call = call.args(&["-p", parent]);
            seen.push(parent);
        }
    }
    call.signed_by_ralph()
        .input(message.as_bytes().to_vec())
        .line()
}

/// Makes a reference to a commit. One that exists is never moved: it may be all that holds somebody's work.
pub(super) fn reference(
    places: &Places,
    kind: &str,
    name: &str,
    commit: &str,
) -> Result<String, GitError> {
    let name = format!("refs/ralph/{kind}/{}", ref_part(name));
    let mut reference = name.clone();
    let mut number = 1;
    loop {
        // An empty old value: it must not exist yet.
        match places.change(&["update-ref", &reference, commit, ""]).run() {
            Ok(_) => return Ok(reference),
            Err(error) if number >= MOST_OF_A_NAME || !exists(places, &reference)? => {
                return Err(error);
            }
            Err(_) => {
                number += 1;
                reference = format!("{name}-again{number}");
            }
        }
    }
}

/// Whether there is such a reference.
pub(super) fn exists(places: &Places, reference: &str) -> Result<bool, GitError> {
    Ok(commit_at(places, reference)?.is_some())
}

/// The commit a reference is at.
pub(super) fn commit_at(places: &Places, reference: &str) -> Result<Option<String>, GitError> {
    let output = places
        .call(&["rev-parse", "--quiet", "--verify", reference])
        .output()?;
    let commit = String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned();
    Ok((output.success() && !commit.is_empty()).then_some(commit))
}

/// A name as a part of a reference's.
fn ref_part(name: &str) -> String {
    let plain: String = name
        .chars()
        .take(100)
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => c,
            _ => '-',
        })
        .collect();
    // Dots at the ends, in a row or before `lock` mean something to git.
    let parts: Vec<&str> = plain.split('.').filter(|part| !part.is_empty()).collect();
    let joined = parts.join(".");
    match joined.strip_suffix(".lock").unwrap_or(&joined) {
        "" => "attempt".to_owned(),
        joined => joined.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::Repo;
    use proptest::prelude::*;

    #[test]
    fn a_reference_is_never_moved() {
        let repo = Repo::with_first_commit();
        let places = repo.open().places().unwrap();
        let head = repo.head();
        let one = reference(&places, "kept", "1.3-2", &head).unwrap();
        let two = reference(&places, "kept", "1.3-2", &head).unwrap();
        assert_eq!(one, "refs/ralph/kept/1.3-2");
        assert_eq!(two, "refs/ralph/kept/1.3-2-again2");
        let nowhere = reference(&places, "kept", "x", "0123").unwrap_err();
        assert!(matches!(nowhere, GitError::Refused { .. }));
    }

    #[test]
    fn names_become_plain() {
        for (name, part) in [
            ("t-0a1b2c-3", "t-0a1b2c-3"),
            ("1.3 läuft/2", "1.3-l-uft-2"),
            ("..a..b.lock", "a.b"),
            ("", "attempt"),
            ("~^:", "---"),
        ] {
            assert_eq!(ref_part(name), part);
        }
    }

    proptest! {
        #[test]
        fn no_name_is_too_odd_for_a_reference(name in "\\PC{0,120}") {
            let part = ref_part(&name);
            prop_assert!(!part.is_empty() && part.len() <= 100);
            prop_assert!(!part.contains("..") && !part.starts_with('.') && !part.ends_with('.'));
        }
    }
}
