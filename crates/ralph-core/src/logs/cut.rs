//! The line at the top of a log whose beginning was dropped.

use std::io;
use std::os::unix::fs::FileExt;

const START: &[u8] = b"[ralph: ";
const REST: &[u8] =
    b" bytes were dropped before this line: the log exceeded [logs] max_attempt_mb]\n";
/// No such line is longer.
const LONGEST: usize = 128;

/// What is missing at the top of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cut {
    /// How many bytes of the stream are missing.
    pub(super) dropped: u64,
    /// How many bytes the line that says so has; none where nothing is missing.
    pub(super) line: u64,
}

impl Cut {
    /// The line for so many bytes.
    pub(super) fn line(dropped: u64) -> Vec<u8> {
        [START, dropped.to_string().as_bytes(), REST].concat()
    }

    /// What a log says of itself.
    pub(super) fn of(file: &impl FileExt) -> io::Result<Self> {
        let mut head = [0; LONGEST];
        let n = file.read_at(&mut head, 0)?;
        Ok(Self::parse(head.get(..n).unwrap_or_default()).unwrap_or_default())
    }

    fn parse(head: &[u8]) -> Option<Self> {
        let number = head.strip_prefix(START)?;
        let digits = number.iter().take_while(|b| b.is_ascii_digit()).count();
        let (number, rest) = number.split_at_checked(digits)?;
        let dropped = std::str::from_utf8(number).ok()?.parse().ok()?;
        rest.starts_with(REST).then(|| Self {
            dropped,
            line: (START.len() + digits + REST.len()) as u64,
        })
    }

    /// Where a byte of the file stands in the whole stream. Within the line: before everything that is left.
    pub(super) fn in_stream(self, at: u64) -> u64 {
        self.dropped + at.saturating_sub(self.line)
    }

    /// Where a byte of the stream stands in the file; none where it was dropped.
    pub(super) fn in_file(self, at: u64) -> Option<u64> {
        Some(at.checked_sub(self.dropped)? + self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_is_missing_and_nothing_else_does() {
        let line = Cut::line(12_345);
        let cut = Cut::parse(&line).unwrap();
        assert_eq!((cut.dropped, cut.line), (12_345, line.len() as u64));
        assert!(Cut::line(u64::MAX).len() <= LONGEST);
        assert_eq!(cut.in_file(12_344), None);
        assert_eq!(cut.in_stream(cut.in_file(12_400).unwrap()), 12_400);
        for no in ["", "[ralph: ", "[ralph: x bytes", "[ralph: 12 bytes were"] {
            assert_eq!(Cut::parse(no.as_bytes()), None, "{no}");
        }
    }
}
