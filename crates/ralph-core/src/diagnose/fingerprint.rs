//! Telling whether the same thing failed again.
//!
//! The coarse fingerprint is made from the names of the failing tests; where none are named, from the
//! compiler's code, file and symbol of each error; else from the last three error lines, without what
//! changes from run to run. The fine one adds exception types and how their messages begin.

use std::collections::BTreeSet;

use regex::Captures;

use super::shapes::insert_bounded;
use crate::model::names;
use crate::text::{Pattern, group};

/// Which way of reading made a fingerprint. It counts up whenever the same output would give another one, because
/// fingerprints of two versions say nothing about each other.
const VERSION: &str = "2:";

/// How many failing names a fingerprint lists; all of them go into its digest.
pub(super) const LISTED_NAMES: usize = 500;

/// More failing tests than this are as good as all of them.
pub(super) const NAMES: usize = 5000;

/// Longer names are cut; a digest of the whole keeps them apart.
const NAME_BYTES: usize = 300;

/// How many lines of evidence a person is shown, for each of the two.
const SHOWN_LINES: usize = 100;

/// What failed, boiled down to two short strings that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// A version and 16 hex digits: equal means the same failure again.
    pub coarse: String,
    /// The same with exception types and how the messages begin.
    pub fine: String,
    pub kind: Kind,
    /// The test runner or compiler that was recognized, if any.
    pub tool: Option<Tool>,
    /// The failing tests, sorted, at most 500; empty unless tests are named.
    pub failing: Vec<String>,
    /// What it was made from, for people: for the coarse one, then `message: …` for the fine one.
    pub evidence: Vec<String>,
}

names! {
    /// What a coarse fingerprint is made from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Kind {
        Tests => "tests",
        /// Compiler code, file name and symbol.
        Compiler => "compiler",
        Lines => "lines",
    }
}

/// A program whose output is understood, by its usual name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tool(pub &'static str);

impl Fingerprint {
    pub(super) fn new(kind: Kind, tool: Option<Tool>, coarse: &[String], fine: &[String]) -> Self {
        let mut digest = Digest::new();
        digest.part(kind.as_str());
        coarse.iter().for_each(|part| digest.part(part));
        let coarse_digest = format!("{VERSION}{}", digest.hex());
        digest.part("");
        fine.iter().for_each(|part| digest.part(part));
        let listed = if kind == Kind::Tests { LISTED_NAMES } else { 0 };
        let shown = |parts: &[String]| parts.iter().take(SHOWN_LINES).cloned().collect::<Vec<_>>();
        let mut evidence = shown(coarse);
        evidence.extend(shown(fine).iter().map(|line| format!("message: {line}")));
        Self {
            coarse: coarse_digest,
            fine: format!("{VERSION}{}", digest.hex()),
            kind,
            tool,
            failing: coarse.iter().take(listed).cloned().collect(),
            evidence,
        }
    }
}

/// How a failure compares with the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// The same failure, with the same message.
    Same,
    /// The same place fails in another way.
    NewMessage,
    /// Fewer tests fail, and no other ones.
    Fewer,
    /// All that failed before, and more.
    More,
    Different,
    /// Their fingerprints are of two versions, and the tests do not tell.
    Unknown,
}

/// Whether two fingerprints can be compared: those of two versions differ even where the failure is the same.
pub fn comparable(one: &str, other: &str) -> bool {
    let version = |print: &str| print.split_once(':').map(|(version, _)| version.to_owned());
    version(one) == version(other)
}

/// Compares a failure with the one before: coarse and fine fingerprint and the sorted failing tests of each.
pub fn relation(before: (&str, &str, &[String]), now: (&str, &str, &[String])) -> Relation {
    if before.0 == now.0 {
        return if before.1 == now.1 { Relation::Same } else { Relation::NewMessage };
    }
    if shrank(before.2, now.2) {
        Relation::Fewer
    } else if shrank(now.2, before.2) {
        Relation::More
    } else if comparable(before.0, now.0) {
        Relation::Different
    } else {
        Relation::Unknown
    }
}

/// Whether a sorted set is a real part of another, and not empty: an empty one names nothing.
fn shrank(before: &[String], now: &[String]) -> bool {
    let mut rest = before.iter();
    !now.is_empty() && now.len() < before.len() && now.iter().all(|name| rest.any(|other| other == name))
}

/// A 64-bit digest that is the same on every machine and in every release: FNV-1a over parts, mixed at the end so that
/// near-equal inputs differ in all digits.
pub(super) struct Digest(u64);

impl Digest {
    pub(super) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a part; its end counts, so that `ab, c` and `a, bc` differ.
    pub(super) fn part(&mut self, text: &str) {
        // 0xff occurs in no UTF-8 text.
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(super) fn hex(&self) -> String {
        let mut mixed = self.0;
        for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
            mixed = (mixed ^ (mixed >> 29)).wrapping_mul(factor);
        }
        format!("{:016x}", mixed ^ (mixed >> 32))
    }
}

static ADDRESS: Pattern = Pattern::new(r"(?<before>^|[^A-Za-z0-9])0x[0-9A-Fa-f]{4,}");
/// A test below a temporary directory is still the test in that file.
static TEMPORARY: Pattern = Pattern::new(concat!(
    r"(?:/tmp|/var/folders|/private/var|/private/tmp|/var/tmp)/",
    r"(?:[A-Za-z0-9/._+-]*/)?(?<file>[A-Za-z0-9._+-]*)(?<test>::)?"
));
/// The time that a test took: `(5 ms)`, `[0.01s]`, `(0.00s)`, `12ms`.
static TIMED: Pattern = Pattern::new(concat!(
    r"^(?<name>.*[^ ]) +(?:\([0-9.,]+ ?(?:s|ms|m|secs?|µs|us|min)\)",
    r"|\[[0-9.,]+ ?(?:s|ms|m|secs?|µs|us|min)\]|[0-9.,]+(?:s|ms|m|secs?|µs|us|min))$"
));

/// Adds a name as a runner wrote it.
pub(super) fn add_name(names: &mut BTreeSet<String>, name: &str) {
    let name = tidy(name);
    if !name.is_empty() {
        insert_bounded(names, name, NAMES);
    }
}

/// A name without addresses, temporary paths and the way back to where the test lies.
pub(super) fn tidy(name: &str) -> String {
    let mut name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    while let Some(inner) = name.strip_prefix("../").or_else(|| name.strip_prefix("./")) {
        name = inner.to_owned();
    }
    let named = ADDRESS.replace_all(&name, "${before}0x#");
    let named = TEMPORARY.replace_all(&named, |found: &Captures<'_>| match group(found, "test") {
        "" => "<tmp>".to_owned(),
        _ => format!("<tmp>/{}::", group(found, "file")),
    });
    let mut name = named.into_owned();
    if name.len() > NAME_BYTES {
        let mut digest = Digest::new();
        digest.part(&name);
        name.truncate(name.floor_char_boundary(NAME_BYTES));
        name.push('…');
        name.push_str(&digest.hex());
    }
    name
}

pub(super) fn untimed(name: &str) -> &str {
    let name = name.trim_end();
    TIMED.name(name).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fp_04_same_another_message_fewer_more_and_different() {
        let set = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let (ab, a, c, none) = (set(&["a", "b"]), set(&["a"]), set(&["c"]), set(&[]));
        let to = |now| relation(("2:1", "2:2", &ab), now);
        assert_eq!(to(("2:1", "2:2", &ab)), Relation::Same);
        assert_eq!(to(("2:1", "2:3", &ab)), Relation::NewMessage);
        assert_eq!(to(("2:4", "2:5", &a)), Relation::Fewer);
        assert_eq!(to(("2:4", "2:5", &c)), Relation::Different);
        assert_eq!(to(("2:4", "2:5", &none)), Relation::Different);
        assert_eq!(relation(("2:4", "2:5", &a), ("2:1", "2:2", &ab)), Relation::More);
        // What an older release stored.
        assert_eq!(to(("1", "2", &ab)), Relation::Unknown);
        assert_eq!(to(("1", "2", &a)), Relation::Fewer);
    }

    #[test]
    fn parts_are_kept_apart_and_the_digest_never_changes() {
        let hex = |parts: &[&str]| {
            let mut digest = Digest::new();
            parts.iter().for_each(|part| digest.part(part));
            digest.hex()
        };
        assert_ne!(hex(&["ab", "c"]), hex(&["a", "bc"]));
        assert_ne!(hex(&[]), hex(&[""]));
        // Digests are stored: another algorithm would make every old one look new.
        assert_eq!(hex(&["tests", "a"]), "3ab024708bc3de96");
    }

    #[test]
    fn fp_01_addresses_and_temporary_paths_are_no_part_of_a_name() {
        assert_eq!(tidy("a.py::t[<x at 0x7f0012ab>-0x1]"), "a.py::t[<x at 0x#>-0x1]");
        assert_eq!(tidy("../t/a.py::t[/tmp/x-1/y.db-3 ]"), "t/a.py::t[<tmp> ]");
        assert_eq!(tidy("/tmp/q/t/a.py::t"), "<tmp>/a.py::t");
        assert_eq!(tidy(" a \t b "), "a b");
        let long = |end: &str| tidy(&format!("{}{end}", "ä".repeat(400)));
        assert_ne!(long("x"), long("y"));
        assert!(long("x").len() < NAME_BYTES + 20);
    }

    #[test]
    fn fp_01_durations_are_no_part_of_a_name() {
        for name in ["adds x (5 ms)", "adds x 5ms", "adds x (0.00s)", "adds x [0.1 s]", "adds x"] {
            assert_eq!(untimed(name), "adds x");
        }
        for name in ["adds (two)", "adds 5", "5ms", "adds [1]"] {
            assert_eq!(untimed(name), name);
        }
    }

    #[test]
    fn too_many_names_are_kept_in_any_order() {
        let (mut one, mut two) = (BTreeSet::new(), BTreeSet::new());
        (0..NAMES + 9).for_each(|n| add_name(&mut one, &format!("t{n:06}")));
        (0..NAMES + 9).rev().for_each(|n| add_name(&mut two, &format!("t{n:06}")));
        assert_eq!(one.len(), NAMES);
        assert_eq!(one, two);
    }
}
