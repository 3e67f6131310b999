//! Outputs of real programs: the same failure twice, another one, and one of two fixed.

mod go;
mod javascript;
mod jvm;
mod native;
mod plain;
mod python;
mod rust;

use super::{Fingerprint, Kind, Relation, Tool, fingerprint, relation};

/// Something done to each line.
type Change<'a> = &'a dyn Fn(&str) -> String;

/// The fingerprint of an output, which must not change with colours, line ends or a logger's prefix.
#[track_caller]
pub(super) fn print(output: &str) -> Fingerprint {
    let print = fingerprint(output).unwrap();
    let each = |change: Change<'_>| {
        let lines: Vec<String> = output.lines().map(change).collect();
        fingerprint(&lines.join("\n")).unwrap()
    };
    let changes: [(&str, Change<'_>); 5] = [
        ("colours", &|l| format!("\u{1b}[1;31m{l}\u{1b}[0m")),
        ("line ends", &|l| format!("{l}\r")),
        ("progress", &|l| format!(" 10% [=>   ]\r 90% [===> ]\r{l}")),
        ("clock", &|l| format!("12:03:04.123 [INFO] {l}")),
        ("stamp", &|l| format!("2026-01-02T03:04:05.678Z {l}")),
    ];
    for (what, change) in changes {
        assert_eq!(each(change), print, "{what}");
    }
    print
}

fn compared(one: &Fingerprint, two: &Fingerprint) -> Relation {
    relation((&one.coarse, &one.fine, &one.failing), (&two.coarse, &two.fine, &two.failing))
}

/// Two outputs of the same failure.
#[track_caller]
pub(super) fn same(one: &str, two: &str, kind: Kind, tool: Option<Tool>) {
    let (one, two) = (print(one), print(two));
    assert_eq!((one.kind, one.tool), (kind, tool), "{:?}", one.evidence);
    assert_eq!(one.evidence, two.evidence);
    assert_eq!(compared(&one, &two), Relation::Same);
}

/// Two outputs of different failures.
#[track_caller]
pub(super) fn different(one: &str, two: &str) {
    let (one, two) = (print(one), print(two));
    assert_eq!(compared(&one, &two), Relation::Different, "{:?}", one.evidence);
}

/// A failure, and what is left of it.
#[track_caller]
pub(super) fn progress(one: &str, two: &str) {
    let (one, two) = (print(one), print(two));
    let now = compared(&one, &two);
    let progress = matches!(now, Relation::NewMessage | Relation::Fewer);
    assert!(progress, "{now:?} {:?} {:?}", one.evidence, two.evidence);
}

/// The failing tests, as listed.
#[track_caller]
pub(super) fn names(output: &str, expected: &[&str]) {
    assert_eq!(print(output).failing, expected);
}
