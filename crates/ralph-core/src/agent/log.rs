//! An attempt's raw event stream on disk, readable by its owner only.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{AgentReport, Exit, LineSplitter, Stream, StreamParser};

/// Longest line that is parsed; longer ones are in the log but of no interest.
pub const LINE_LIMIT: usize = 4 * 1024 * 1024;

/// The files an attempt's output goes to: standard output as it came, standard error beside it.
#[derive(Debug)]
pub struct AttemptLog {
    path: PathBuf,
    out: File,
    err_path: PathBuf,
    err: Option<File>,
    /// The first error met; writing stops there, reading goes on.
    failed: Option<std::io::Error>,
}

impl AttemptLog {
    /// Makes the file. Standard error gets one only when there is some.
    pub fn create(path: &Path) -> std::io::Result<Self> {
        let out = create(path)?;
        let err_path = path.with_extension("stderr.log");
        Ok(Self {
            path: path.to_owned(),
            out,
            err_path,
            err: None,
            failed: None,
        })
    }

    /// Writes a chunk as it came, and at once: what a killed Ralph leaves behind is read back from here.
    pub fn write(&mut self, stream: Stream, chunk: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        let written = match stream {
            Stream::Out => self.out.write_all(chunk),
            Stream::Err => self.write_err(chunk),
        };
        self.failed = written.err();
    }

    fn write_err(&mut self, chunk: &[u8]) -> std::io::Result<()> {
        let file = match &mut self.err {
            Some(file) => file,
            None => self.err.insert(create(&self.err_path)?),
        };
        file.write_all(chunk)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What went wrong, if anything did.
    pub fn error(&self) -> Option<&std::io::Error> {
        self.failed.as_ref()
    }
}

fn create(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}

/// What a log says of its session, as far as it got.
pub fn read_log(path: &Path, mut parser: Box<dyn StreamParser>) -> std::io::Result<AgentReport> {
    let mut file = File::open(path)?;
    let mut lines = LineSplitter::new(LINE_LIMIT);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            break;
        }
        lines.push(&buffer[..n], |line, complete| {
            parser.line(line, complete);
        });
    }
    lines.finish(|line, complete| {
        parser.line(line, complete);
    });
    Ok(parser.finish(Exit::Code(-1)))
}
