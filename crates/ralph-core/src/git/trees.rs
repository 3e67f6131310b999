//! What differs between two commits.

use super::GitError;
use super::index::Entry;
use super::paths::RepoPath;
use super::places::Places;

/// A path that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// From the repository's root.
    pub(super) path: RepoPath,
    /// Its entry in the first commit; that of mode 0 where there is none.
    pub(super) from: Entry,
    /// The same in the second.
    pub(super) to: Entry,
}

/// What differs; no commit counts as an empty one.
pub(super) fn differences(
    places: &Places,
    from: Option<&str>,
    to: Option<&str>,
) -> Result<Vec<Difference>, GitError> {
    if from == to {
        return Ok(Vec::new());
    }
    let empty;
    let (from, to) = match (from, to) {
        (Some(from), Some(to)) => (from, to),
        (from, to) => {
            empty = places
                .call(&["hash-object", "-t", "tree", "--stdin"])
                .line()?;
            (from.unwrap_or(&empty), to.unwrap_or(&empty))
        }
    };
    let out = places
        .call(&["diff-tree", "-r", "--raw", "--no-renames", "-z", from, to])
        .run()?;
    Ok(read(&out))
}

/// Reads `:mode mode object object letter<NUL>path<NUL>`.
fn read(out: &[u8]) -> Vec<Difference> {
    let mut pieces = out.split(|b| *b == 0);
    let mut found = Vec::new();
    while let (Some(facts), Some(path)) = (pieces.next(), pieces.next()) {
        let facts = String::from_utf8_lossy(facts);
        let mut facts = facts.trim_start_matches(':').split(' ');
        if let (Some(from_mode), Some(to_mode), Some(from), Some(to)) =
            (facts.next(), facts.next(), facts.next(), facts.next())
        {
            found.push(Difference {
                path: path.to_owned(),
                from: entry(from_mode, from),
                to: entry(to_mode, to),
            });
        }
    }
    found
}

fn entry(mode: &str, object: &str) -> Entry {
    match mode {
        "000000" => Entry::none(object),
        mode => Entry::new(mode, object),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_differences_are_read() {
        let out = b":100644 000000 a1 00 D\0gone\n\0:000000 160000 00 b2 A\0sub\0";
        let found = read(out);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].path, b"gone\n");
        assert_eq!(found[0].from, Entry::new("100644", "a1"));
        assert_eq!(found[0].to, Entry::none("00"));
        assert_eq!(found[1].to, Entry::new("160000", "b2"));
        assert!(read(b"").is_empty());
    }
}
