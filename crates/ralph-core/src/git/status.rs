//! Reading `git status --porcelain=v2 -z`.

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record<'o> {
    /// The commit HEAD is at; none before the first.
    Head(Option<&'o [u8]>),
    /// A path git knows that differs from HEAD or from the index.
    Tracked {
        /// Git's two letters: the index against HEAD, the work tree against the index.
        letters: &'o [u8],
        /// `N...`, or for a submodule `S` and what changed in it.
        sub: &'o [u8],
        /// Everything the record says of modes and objects.
        objects: &'o [u8],
        /// From the repository's root.
        path: &'o [u8],
    },
    /// A path git does not know; a slash at its end means a nested git repository.
    Untracked(&'o [u8]),
    /// A path that is ignored; a slash at its end means everything below too.
    Ignored(&'o [u8]),
}

/// The records of an output; what is none is passed over.
pub(super) fn records(out: &[u8]) -> impl Iterator<Item = Record<'_>> {
    out.split(|b| *b == 0).filter_map(record)
}

fn record(line: &[u8]) -> Option<Record<'_>> {
    if let Some(head) = line.strip_prefix(b"# branch.oid ") {
        return Some(Record::Head((head != b"(initial)").then_some(head)));
    }
    // `1 XY sub mH mI mW hH hI path`, `u XY sub m1 m2 m3 mW h1 h2 h3 path`, `? path`, `! path`
    match line.first()? {
        b'1' => tracked(line, 5),
        b'u' => tracked(line, 7),
        b'?' => line.get(2..).map(Record::Untracked),
        b'!' => line.get(2..).map(Record::Ignored),
        _ => None,
    }
}

fn tracked(line: &[u8], objects: usize) -> Option<Record<'_>> {
    let (letters, rest) = word(line.get(2..)?)?;
    let (sub, rest) = word(rest)?;
    let mut path = rest;
    for _ in 0..objects {
        path = word(path)?.1;
    }
    let objects = rest.get(..rest.len() - path.len())?;
    (letters.len() == 2).then_some(Record::Tracked {
        letters,
        sub,
        objects,
        path,
    })
}

/// The bytes before the first space, and those after it.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = text.iter().position(|b| *b == b' ')?;
    Some((text.get(..space)?, text.get(space + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_kind_of_record() {
        let out = b"# branch.oid abc\0# branch.head main\x001 .M N... 100644 100644 100755 a1 b2 a b\n c\0\
            u UU N... 1 2 3 4 h1 h2 h3 u x\0? new/\0! out\0nonsense\0";
        let found: Vec<Record<'_>> = records(out).collect();
        let tracked = |letters, objects, path| Record::Tracked {
            letters,
            sub: b"N...",
            objects,
            path,
        };
        assert_eq!(
            found,
            [
                Record::Head(Some(b"abc")),
                tracked(b".M", b"100644 100644 100755 a1 b2 ", b"a b\n c"),
                tracked(b"UU", b"1 2 3 4 h1 h2 h3 ", b"u x"),
                Record::Untracked(b"new/"),
                Record::Ignored(b"out"),
            ]
        );
        let first: Vec<Record<'_>> = records(b"# branch.oid (initial)\0").collect();
        assert_eq!(first, [Record::Head(None)]);
    }

    proptest! {
        #[test]
        fn no_output_is_too_odd(out in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = records(&out).count();
        }

        #[test]
        fn no_record_is_too_odd(line in "[1u?!# ]{0,4}[A-Z .\\x00]{0,30}") {
            let _ = records(line.as_bytes()).count();
        }
    }
}
