//! The set of failing tests.

use std::collections::BTreeSet;

use super::hash::Hash;

/// More failing tests than this are as good as all of them.
const NAMES: usize = 5000;

/// Longer names are cut; a digest of the whole keeps them apart.
const NAME_BYTES: usize = 300;

/// Where temporary files live.
const TEMPORARY: [&str; 5] = [
    "/tmp/",
    "/var/folders/",
    "/private/var/",
    "/private/tmp/",
    "/var/tmp/",
];

/// A bounded set of names.
///
/// Of too many the first in order are kept, so that the order in which they came does not matter.
#[derive(Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// Adds a name as a runner wrote it.
    pub(super) fn add(&mut self, name: &str) {
        let name = tidy(name);
        if !name.is_empty() {
            self.insert(name);
        }
    }

    fn insert(&mut self, name: String) {
        self.0.insert(name);
        if self.0.len() > NAMES {
            self.0.pop_last();
        }
    }

    /// Takes a name out again: it passed in the end.
    pub(super) fn remove(&mut self, name: &str) {
        self.0.remove(&tidy(name));
    }

    /// Adds the names of another runner.
    pub(super) fn merge(&mut self, other: Self) {
        for name in other.0 {
            self.insert(name);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_sorted(self) -> impl Iterator<Item = String> {
        self.0.into_iter()
    }
}

/// A name without addresses, temporary paths and the way back to where the test lies.
fn tidy(name: &str) -> String {
    let mut rest = name.trim();
    while let Some(inner) = rest.strip_prefix("../").or_else(|| rest.strip_prefix("./")) {
        rest = inner;
    }
    let mut out = String::with_capacity(rest.len());
    while let Some(c) = rest.chars().next() {
        let at_word = !out.ends_with(|c: char| c.is_alphanumeric());
        if at_word && let Some(after) = after_address(rest) {
            out.push_str("0x#");
            rest = after;
        } else if let Some(after) = TEMPORARY.iter().find_map(|dir| rest.strip_prefix(dir)) {
            out.push_str("<tmp>");
            rest = after.trim_start_matches(|c: char| {
                c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+')
            });
            // A test below a temporary directory is still the test in that file.
            let path = after.get(..after.len() - rest.len()).unwrap_or_default();
            if let Some(file) = path.rsplit('/').next().filter(|_| rest.starts_with("::")) {
                out.push('/');
                out.push_str(file);
            }
        } else {
            if !(c.is_whitespace() && out.ends_with(' ')) {
                out.push(if c.is_whitespace() { ' ' } else { c });
            }
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
    }
    if out.len() > NAME_BYTES {
        let mut digest = Hash::new();
        digest.part(&out);
        out.truncate(out.floor_char_boundary(NAME_BYTES));
        out.push('…');
        out.push_str(&digest.hex());
    }
    out
}

/// What follows a memory address.
fn after_address(text: &str) -> Option<&str> {
    let digits = text.strip_prefix("0x")?;
    let after = digits.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    (digits.len() - after.len() >= 4).then_some(after)
}

/// `name` without the time that its test took: `(5 ms)`, `[0.01s]`, `(0.00s)`, `12ms`.
pub(super) fn untimed(name: &str) -> &str {
    let name = name.trim_end();
    let inner = name
        .strip_suffix(')')
        .and_then(|n| n.rsplit_once(" ("))
        .or_else(|| name.strip_suffix(']').and_then(|n| n.rsplit_once(" [")))
        .or_else(|| name.rsplit_once(' '));
    match inner {
        Some((before, time)) if is_duration(time.trim()) => before.trim_end(),
        _ => name,
    }
}

/// `5 ms`, `0.01s`, `1.2 s`.
pub(super) fn is_duration(text: &str) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
    let number = text.len() - unit.len();
    let unit = unit.trim();
    number > 0
        && matches!(
            unit,
            "s" | "ms" | "m" | "sec" | "secs" | "µs" | "us" | "min"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fp_01_addresses_and_temporary_paths_are_no_part_of_a_name() {
        assert_eq!(
            tidy("a.py::t[<x at 0x7f0012ab>-0x1]"),
            "a.py::t[<x at 0x#>-0x1]"
        );
        assert_eq!(tidy("../t/a.py::t[/tmp/x-1/y.db-3 ]"), "t/a.py::t[<tmp> ]");
        assert_eq!(tidy("/tmp/q/t/a.py::t"), "<tmp>/a.py::t");
        assert_eq!(tidy(" a \t b "), "a b");
        let long = |end: &str| tidy(&format!("{}{end}", "ä".repeat(400)));
        assert_ne!(long("x"), long("y"));
        assert!(long("x").len() < NAME_BYTES + 20);
    }

    #[test]
    fn fp_01_durations_are_no_part_of_a_name() {
        for name in [
            "adds x (5 ms)",
            "adds x 5ms",
            "adds x (0.00s)",
            "adds x [0.1 s]",
            "adds x",
        ] {
            assert_eq!(untimed(name), "adds x");
        }
        for name in ["adds (two)", "adds 5", "5ms", "adds [1]"] {
            assert_eq!(untimed(name), name);
        }
    }

    #[test]
    fn too_many_names_are_kept_in_any_order() {
        let mut one = Names::default();
        let mut two = Names::default();
        (0..NAMES + 9).for_each(|n| one.add(&format!("t{n:06}")));
        (0..NAMES + 9)
            .rev()
            .for_each(|n| two.add(&format!("t{n:06}")));
        assert_eq!(one.len(), NAMES);
        assert!(one.into_sorted().eq(two.into_sorted()));
    }
}
