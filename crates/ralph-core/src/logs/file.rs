//! One log: written within a bound, and read, also while it grows and while its beginning is dropped.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::rc::Rc;

use super::{LogDir, PART};

/// How far the begin of a line is looked for, so that what is kept begins with one.
const LOOK_AHEAD: usize = 64 * 1024;

/// A file that never grows far past its bound. At any instant its name leads to a whole log: what is kept is written beside
/// it and then takes its name.
#[derive(Debug)]
pub struct BoundedLog {
    dir: Rc<LogDir>,
    name: String,
    file: File,
    bound: Option<u64>,
    size: u64,
    cut: Cut,
}

impl BoundedLog {
    /// Makes the file; without a bound it grows as it will.
    pub fn create(dir: Rc<LogDir>, name: &str, bound: Option<u64>) -> io::Result<Self> {
        Ok(Self { file: dir.create(name)?, dir, name: name.to_owned(), bound, size: 0, cut: Cut::default() })
    }

    pub fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        let after = self.size + chunk.len() as u64;
        if let Some(bound) = self.bound.filter(|bound| after > *bound) {
            self.keep(bound / 2)?;
        }
        self.file.write_all(chunk)?;
        self.size += chunk.len() as u64;
        Ok(())
    }

    /// Drops all but about so many bytes at the end.
    fn keep(&mut self, bytes: u64) -> io::Result<()> {
        let from = self.line_after(self.size.saturating_sub(bytes).max(self.cut.line))?;
        let dropped = self.cut.in_stream(from);
        let line = Cut::line(dropped);
        let part = format!("{}{PART}", self.name);
        let mut new = match self.dir.create(&part) {
            // Nobody but an agent can have put that there.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.dir.remove(&part)?;
                self.dir.create(&part)?
            }
            made => made?,
        };
        new.write_all(&line)?;
        self.file.seek(SeekFrom::Start(from))?;
        let copied = io::copy(&mut (&self.file).take(self.size - from), &mut new)?;
        self.dir.rename(&part, &self.name)?;
        self.file = new;
        self.cut = Cut { dropped, line: line.len() as u64 };
        self.size = self.cut.line + copied;
        Ok(())
    }

    /// Where the next line begins; the same place where none is near.
    fn line_after(&self, at: u64) -> io::Result<u64> {
        let mut ahead = vec![0; LOOK_AHEAD];
        let n = self.file.read_at(&mut ahead, at)?;
        let end = memchr::memchr(b'\n', ahead.get(..n).unwrap_or_default());
        Ok(end.map_or(at, |end| at + end as u64 + 1))
    }
}

/// A log being read from its beginning, or from what is left of that.
#[derive(Debug)]
pub struct LogStream {
    dir: Rc<LogDir>,
    name: String,
    file: File,
    cut: Cut,
    at: u64,
}

impl LogStream {
    pub fn open(dir: Rc<LogDir>, name: &str) -> io::Result<Self> {
        let file = dir.read(name)?;
        Ok(Self { cut: Cut::of(&file)?, file, dir, name: name.to_owned(), at: 0 })
    }

    /// Reads what comes next; 0 if nothing is there at present.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut n = self.file.read(buffer)?;
        if n == 0 && self.reopen()? {
            n = self.file.read(buffer)?;
        }
        self.at += n as u64;
        Ok(n)
    }

    /// Goes on in the file that has the name now, where its beginning was dropped meanwhile. Whether that was so.
    fn reopen(&mut self) -> io::Result<bool> {
        let Ok(mut file) = self.dir.read(&self.name) else { return Ok(false) };
        let id = |file: &File| file.metadata().map(|meta| (meta.dev(), meta.ino()));
        let cut = Cut::of(&file)?;
        if id(&file)? == id(&self.file)? || cut.dropped <= self.cut.dropped {
            return Ok(false);
        }
        // Where something was missed, the line that says so comes first.
        let at = cut.in_file(self.cut.in_stream(self.at)).unwrap_or(0);
        file.seek(SeekFrom::Start(at))?;
        (self.file, self.cut, self.at) = (file, cut, at);
        Ok(true)
    }
}

/// The line at the top of a log whose beginning was dropped begins so.
const START: &[u8] = b"[ralph: ";
const REST: &[u8] = b" bytes were dropped before this line: the log exceeded [logs] max_attempt_mb]\n";
/// No such line is longer.
const LONGEST: usize = 128;

/// What is missing at the top of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cut {
    /// How many bytes of the stream are missing.
    dropped: u64,
    /// How many bytes the line that says so has; none where nothing is missing.
    line: u64,
}

impl Cut {
    /// The line for so many bytes.
    fn line(dropped: u64) -> Vec<u8> {
        [START, dropped.to_string().as_bytes(), REST].concat()
    }

    /// What a log says of itself.
    fn of(file: &impl FileExt) -> io::Result<Self> {
        let mut head = [0; LONGEST];
        let n = file.read_at(&mut head, 0)?;
        Ok(Self::parse(head.get(..n).unwrap_or_default()).unwrap_or_default())
    }

    fn parse(head: &[u8]) -> Option<Self> {
        let number = head.strip_prefix(START)?;
        let digits = number.iter().take_while(|b| b.is_ascii_digit()).count();
        let (number, rest) = number.split_at_checked(digits)?;
        let dropped = std::str::from_utf8(number).ok()?.parse().ok()?;
        rest.starts_with(REST).then(|| Self { dropped, line: (START.len() + digits + REST.len()) as u64 })
    }

    /// Where a byte of the file stands in the whole stream. Within the line: before everything that is left.
    fn in_stream(self, at: u64) -> u64 {
        self.dropped + at.saturating_sub(self.line)
    }

    /// Where a byte of the stream stands in the file; none where it was dropped.
    fn in_file(self, at: u64) -> Option<u64> {
        Some(at.checked_sub(self.dropped)? + self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::LogStream;

    fn dir() -> (tempfile::TempDir, Rc<LogDir>) {
        let dir = tempfile::tempdir().unwrap();
        let logs = LogDir::make(&dir.path().join("logs")).unwrap();
        (dir, Rc::new(logs))
    }

    const NAME: &str = "t-000001-001-r-00000001.jsonl";

    #[test]
    fn a_log_past_its_bound_keeps_its_end_and_says_so() {
        let (dir, logs) = dir();
        let mut log = BoundedLog::create(logs.clone(), NAME, Some(10_000)).unwrap();
        let line = |n: u32| format!("line {n:06}\n");
        for n in 0..20_000 {
            log.write(line(n).as_bytes()).unwrap();
            assert!(log.size <= 10_000);
        }
        let text = std::fs::read_to_string(dir.path().join("logs").join(NAME)).unwrap();
        assert_eq!(text.len() as u64, log.size);
        assert!(text.len() > 4_000, "{}", text.len());
        let (head, rest) = text.split_once('\n').unwrap();
        assert!(head.starts_with("[ralph: ") && head.contains("max_attempt_mb"), "{head}");
        // Whole lines up to the last, and as many bytes as are said to be missing.
        let kept = rest.lines().count() as u32;
        let expected: String = (20_000 - kept..20_000).map(line).collect();
        assert_eq!(rest, expected);
        let missing = (20_000 - u64::from(kept)) * line(0).len() as u64;
        assert!(head.contains(&format!(" {missing} bytes ")), "{head}");
        assert_eq!(std::fs::read_dir(dir.path().join("logs")).unwrap().count(), 1);
    }

    #[test]
    fn one_endless_line_is_bounded_too_and_no_bound_is_none() {
        let (dir, logs) = dir();
        let size = |name: &str| {
            let meta = std::fs::metadata(dir.path().join("logs").join(name)).unwrap();
            meta.len()
        };
        let mut log = BoundedLog::create(logs.clone(), NAME, Some(1 << 20)).unwrap();
        let mut endless = BoundedLog::create(logs.clone(), "endless", None).unwrap();
        // A plan to stop it: the name that is written beside it is taken.
        std::fs::create_dir_all(dir.path().join("other")).unwrap();
        let part = format!("logs/{NAME}{PART}");
        std::os::unix::fs::symlink("../other/x", dir.path().join(&part)).unwrap();
        for _ in 0..64 {
            log.write(&[b'y'; 64 * 1024]).unwrap();
            endless.write(&[b'y'; 64 * 1024]).unwrap();
        }
        assert!(size(NAME) <= 1 << 20, "{}", size(NAME));
        assert_eq!(size("endless"), 4 << 20);
        assert!(!dir.path().join("other/x").exists());
    }

    #[test]
    fn who_follows_a_log_that_is_cut_misses_nothing_it_had_time_to_read() {
        let (_dir, logs) = dir();
        let mut log = BoundedLog::create(logs.clone(), NAME, Some(3_000)).unwrap();
        let mut stream = LogStream::open(logs.clone(), NAME).unwrap();
        let mut slow = LogStream::open(logs.clone(), NAME).unwrap();
        let (mut seen, mut written) = (Vec::new(), Vec::new());
        let mut buffer = [0; 700];
        for n in 0..5_000_u32 {
            let line = format!("{n}\n");
            log.write(line.as_bytes()).unwrap();
            written.extend_from_slice(line.as_bytes());
            loop {
                let n = stream.read(&mut buffer).unwrap();
                if n == 0 {
                    break;
                }
                seen.extend_from_slice(&buffer[..n]);
            }
        }
        assert!(log.cut.dropped > 0);
        assert_eq!(seen, written);
        // One that was too slow reads what it has open, then what is left, with the line between.
        let mut late = Vec::new();
        loop {
            let n = slow.read(&mut buffer).unwrap();
            if n == 0 {
                break;
            }
            late.extend_from_slice(&buffer[..n]);
        }
        let late = String::from_utf8(late).unwrap();
        assert!(late.starts_with("0\n1\n"), "{late}");
        assert!(late.contains("\n[ralph: ") && late.ends_with("\n4999\n"), "{late}");
    }

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
