//! An attempt's raw event stream on disk, readable by its owner only.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::{AgentReport, Exit, LineSplitter, Stream, StreamParser};
use crate::logs::{BoundedLog, LogDir, LogStream};

/// Longest line that is parsed; longer ones are in the log but of no interest.
pub const LINE_LIMIT: usize = 4 * 1024 * 1024;

/// The files an attempt's output goes to: standard output as it came, standard error beside it.
#[derive(Debug)]
pub struct AttemptLog {
    dir: Rc<LogDir>,
    path: PathBuf,
    out: BoundedLog,
    err_name: String,
    err: Option<BoundedLog>,
    bound: Option<u64>,
    /// The first error met; writing stops there, reading goes on.
    failed: Option<std::io::Error>,
}

impl AttemptLog {
    /// Makes the file. Standard error gets one only when there is some; the bound is for each of both.
    pub fn create(dir: LogDir, name: &str, bound: Option<u64>) -> std::io::Result<Self> {
        let dir = Rc::new(dir);
        let stem = name.strip_suffix(".jsonl").unwrap_or(name);
        Ok(Self {
            path: dir.path_of(name),
            out: BoundedLog::create(dir.clone(), name, bound)?,
            err_name: format!("{stem}.stderr.log"),
            err: None,
            dir,
            bound,
            failed: None,
        })
    }

    /// Writes a chunk as it came, and at once: what a killed Ralph leaves behind is read back from here.
    pub fn write(&mut self, stream: Stream, chunk: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        let written = match stream {
            Stream::Out => self.out.write(chunk),
            Stream::Err => self.write_err(chunk),
        };
        self.failed = written.err();
    }

    fn write_err(&mut self, chunk: &[u8]) -> std::io::Result<()> {
        let file = match &mut self.err {
            Some(file) => file,
            None => {
                let made = || BoundedLog::create(self.dir.clone(), &self.err_name, self.bound);
                let file = match made() {
                    // The agent, which can read the name of the other file, put it there.
                    Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                        self.dir.remove(&self.err_name)?;
                        made()?
                    }
                    made => made?,
                };
                self.err.insert(file)
            }
        };
        file.write(chunk)
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

/// What a log says of its session, as far as it got.
pub fn read_log(
    mut log: LogStream,
    mut parser: Box<dyn StreamParser>,
) -> std::io::Result<AgentReport> {
    let mut lines = LineSplitter::new(LINE_LIMIT);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let n = log.read(&mut buffer)?;
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
