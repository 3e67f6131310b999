//! Versions, and how far one is from the one that was tested.

/// Major, minor and patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u64, u64, u64);

/// How a version stands to the tested one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// The same.
    Same,
    /// Newer, of the same major version.
    Newer,
    /// Older, of the same major version.
    Older,
    /// Of a newer major version.
    MajorNewer,
    /// Of an older major version.
    MajorOlder,
}

impl Version {
    /// The first version in a line: `claude 2.1.325 (Claude Code)`, `v1.2`.
    pub fn find(line: &str) -> Option<Self> {
        line.split(|c: char| !c.is_ascii_digit() && c != '.' && !c.is_ascii_alphabetic())
            .find_map(Self::parse)
    }

    fn parse(word: &str) -> Option<Self> {
        let word = word.strip_prefix(['v', 'V']).unwrap_or(word);
        let mut parts = word.split('.').map(|part| part.parse::<u64>().ok());
        let (major, minor) = (parts.next()??, parts.next()??);
        Some(Self(major, minor, parts.next().flatten().unwrap_or(0)))
    }

    /// How far it is from the tested one.
    pub fn distance_to(self, tested: Self) -> Distance {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match (self.0.cmp(&tested.0), self.cmp(&tested)) {
            (Greater, _) => Distance::MajorNewer,
            (Less, _) => Distance::MajorOlder,
            (Equal, Equal) => Distance::Same,
            (Equal, Greater) => Distance::Newer,
            (Equal, Less) => Distance::Older,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_print() {
        for (line, version) in [
            ("2.1.325 (Claude Code)", Some(Version(2, 1, 325))),
            ("codex-cli 0.42.0", Some(Version(0, 42, 0))),
            ("v1.2", Some(Version(1, 2, 0))),
            ("tool/3.4.5-beta.1", Some(Version(3, 4, 5))),
            ("built 2026 with love", None),
            ("", None),
            ("...", None),
            ("99999999999999999999.1", None),
        ] {
            assert_eq!(Version::find(line), version, "{line}");
        }
    }

    #[test]
    fn distance_is_measured_from_the_tested_one() {
        let tested = Version(2, 1, 5);
        for (version, distance) in [
            (tested, Distance::Same),
            (Version(2, 1, 6), Distance::Newer),
            (Version(2, 0, 9), Distance::Older),
            (Version(3, 0, 0), Distance::MajorNewer),
            (Version(1, 9, 9), Distance::MajorOlder),
        ] {
            assert_eq!(version.distance_to(tested), distance, "{version:?}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_harmless(line in ".{0,60}") {
            let _ = Version::find(&line);
        }
    }
}
