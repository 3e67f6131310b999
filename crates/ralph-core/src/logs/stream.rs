//! A log that is being read, also while it grows and while its beginning is dropped.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;

use super::LogDir;
use super::cut::Cut;

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
    /// Opens a log; nothing is read yet.
    pub fn open(dir: Rc<LogDir>, name: &str) -> io::Result<Self> {
        let file = dir.read(name)?;
        Ok(Self {
            cut: Cut::of(&file)?,
            file,
            dir,
            name: name.to_owned(),
            at: 0,
        })
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
        let Ok(mut file) = self.dir.read(&self.name) else {
            return Ok(false);
        };
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
