//! Files as they are, byte for byte: no filter and no line ending in between.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;

use crate::git::GitError;
use crate::git::index::Entry;
use crate::git::paths::{Kind, RepoPath, kind, on_disk};
use crate::git::places::Places;

/// What lay at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// Nothing.
    Gone,
    /// A file: the blob with its bytes, and its permissions.
    File { blob: String, mode: u32 },
    /// A link: where it points.
    Link { target: Vec<u8> },
    /// A pipe or the like, with nothing in it to keep.
    Special,
    /// A submodule or a repository, which is never touched; with git's letters for it.
    Alone(Vec<u8>),
}

/// Whether blobs are written, or only named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blobs {
    Written,
    Named,
}

/// Looks at paths; `repository` tells of a path that is one.
pub(super) fn hold<'a>(
    places: &Places,
    paths: impl IntoIterator<Item = (&'a RepoPath, Option<&'a Vec<u8>>)>,
    blobs: Blobs,
) -> Result<BTreeMap<RepoPath, Held>, GitError> {
    let mut held = BTreeMap::new();
    let mut files: Vec<(&RepoPath, u32)> = Vec::new();
    for (path, repository) in paths {
        let found = match glance(places, path, repository) {
            Held::File { mode, .. } => {
                files.push((path, mode));
                continue;
            }
            Held::Link { .. } => Held::Link {
                target: link_target(places, path)?,
            },
            other => other,
        };
        held.insert(path.clone(), found);
    }
    let named = hash(places, files.iter().map(|(path, _)| path.as_slice()), blobs)?;
    for ((path, mode), blob) in files.into_iter().zip(named) {
        held.insert(path.clone(), Held::File { blob, mode });
    }
    Ok(held)
}

/// What lies at a path, without a look into it.
pub(super) fn glance(places: &Places, path: &[u8], repository: Option<&Vec<u8>>) -> Held {
    match (repository, kind(&places.top, path)) {
        (Some(letters), _) => Held::Alone(letters.clone()),
        (None, Kind::File(mode)) => Held::File {
            blob: String::new(),
            mode,
        },
        (None, Kind::Link) => Held::Link { target: Vec::new() },
        (None, Kind::Repository) => Held::Alone(Vec::new()),
        (None, Kind::Special) => Held::Special,
        (None, Kind::Gone | Kind::Directory) => Held::Gone,
    }
}

fn link_target(places: &Places, path: &[u8]) -> Result<Vec<u8>, GitError> {
    let full = on_disk(&places.top, path);
    let target = std::fs::read_link(&full).map_err(|error| GitError::file(&full, error))?;
    Ok(target.as_os_str().as_bytes().to_vec())
}

/// The blobs of files, in order.
fn hash<'a>(
    places: &Places,
    paths: impl Iterator<Item = &'a [u8]>,
    blobs: Blobs,
) -> Result<Vec<String>, GitError> {
    let mut list = Vec::new();
    let mut count = 0;
    for path in paths {
        list.extend(quoted(path));
        list.push(b'\n');
        count += 1;
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    let call = places.change(&["hash-object", "--no-filters", "--stdin-paths"]);
    let call = match blobs {
        Blobs::Written => call.arg("-w"),
        Blobs::Named => call,
    };
    let out = call.input(list).run()?;
    let named: Vec<String> = String::from_utf8_lossy(&out)
        .lines()
        .map(str::to_owned)
        .collect();
    if named.len() == count {
        return Ok(named);
    }
    Err(GitError::Refused {
        command: "hash-object".to_owned(),
        message: format!("named {} of {count} files", named.len()),
    })
}

/// A path on a line of its own, as git unquotes it.
fn quoted(path: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for byte in path {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            0..0x20 | 0x7f => out.extend(format!("\\{byte:03o}").bytes()),
            _ => out.push(*byte),
        }
    }
    out.push(b'"');
    out
}

/// What was held, as entries of a tree: the links' targets are written as blobs first. Paths that are left alone have no
/// part in it.
pub(super) fn entries(
    places: &Places,
    held: &BTreeMap<RepoPath, Held>,
) -> Result<(BTreeMap<RepoPath, Entry>, BTreeSet<RepoPath>), GitError> {
    let mut entries = BTreeMap::new();
    let mut gone = BTreeSet::new();
    let scratch = places.scratch()?;
    let mut links: Vec<(&RepoPath, Vec<u8>)> = Vec::new();
    for (path, held) in held {
        match held {
            Held::Alone(_) | Held::Special => {}
            Held::Gone => {
                gone.insert(path.clone());
            }
            Held::File { blob, mode } => {
                let mode = if mode & 0o100 != 0 {
                    "100755"
                } else {
                    "100644"
                };
                entries.insert(path.clone(), Entry::new(mode, blob));
            }
            Held::Link { target } => {
                let file = scratch.path().join(links.len().to_string());
                std::fs::write(&file, target).map_err(|error| GitError::file(&file, error))?;
                links.push((path, file.as_os_str().as_bytes().to_vec()));
            }
        }
    }
    let blobs = hash(
        places,
        links.iter().map(|(_, file)| file.as_slice()),
        Blobs::Written,
    )?;
    for ((path, _), blob) in links.into_iter().zip(blobs) {
        entries.insert(path.clone(), Entry::new("120000", &blob));
    }
    Ok((entries, gone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_quoted() {
        assert_eq!(quoted(b"a b"), b"\"a b\"");
        assert_eq!(quoted(b"a\"\\\n\r"), b"\"a\\\"\\\\\\012\\015\"");
        assert_eq!(quoted(b"\xff"), b"\"\xff\"");
    }
}
