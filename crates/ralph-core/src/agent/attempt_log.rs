//! An attempt's raw output on disk: written as it comes, and read back, also while it grows, in bounded memory.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::event_fields::Fields;
use super::{AgentReport, Exit, LineSplitter, LogEntry, Stream, StreamParser};
use crate::logs::{BoundedLog, LogDir, LogStream, errors_name, prompt_name};
use crate::model::Timestamp;
use crate::text::{head, mask_secrets};

/// Longest line that is parsed; longer ones are in the log but of no interest.
pub const LINE_LIMIT: usize = 4 * 1024 * 1024;
const CHUNK: usize = 64 * 1024;
/// Of a prompt, what is kept at most.
const PROMPT_BYTES: usize = 256 * 1024;
/// Times from here on are in milliseconds, smaller ones in seconds.
const MILLISECONDS_FROM: i64 = 100_000_000_000;

/// The files an attempt's output goes to: standard output as it came, standard error beside it.
#[derive(Debug)]
pub struct AttemptLog {
    dir: Rc<LogDir>,
    path: PathBuf,
    out: BoundedLog,
    prompt_name: String,
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
        Ok(Self {
            path: dir.path_of(name),
            out: BoundedLog::create(dir.clone(), name, bound)?,
            err_name: errors_name(name),
            prompt_name: prompt_name(name),
            err: None,
            dir,
            bound,
            failed: None,
        })
    }

    /// Keeps the prompt beside the log, without secrets; of a very long one the beginning.
    pub fn keep_prompt(&self, prompt: &str) -> std::io::Result<()> {
        let kept = head(prompt, PROMPT_BYTES);
        let mut text = mask_secrets(kept).into_owned();
        if kept.len() < prompt.len() {
            text.push_str(&format!("\n[ralph: {} more bytes are not kept]\n", prompt.len() - kept.len()));
        }
        self.dir.create(&self.prompt_name)?.write_all(text.as_bytes())
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

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn error(&self) -> Option<&std::io::Error> {
        self.failed.as_ref()
    }
}

/// What a log says of its session, as far as it got.
pub fn read_log(log: LogStream, parser: Box<dyn StreamParser>) -> std::io::Result<AgentReport> {
    let mut reader = LogReader::new(log, parser);
    while reader.read(&mut |_, _| {})? {}
    Ok(reader.finish(&mut |_, _| {}))
}

/// Takes what a log tells, with the time of it where the stream has one.
pub type OnEntry<'a> = &'a mut dyn FnMut(Option<Timestamp>, LogEntry);

/// Reads a log that may still grow: what the agent said and did, chunk by chunk.
pub struct LogReader {
    log: LogStream,
    buffer: Vec<u8>,
    lines: LineSplitter,
    parser: Box<dyn StreamParser>,
}

impl LogReader {
    pub fn new(log: LogStream, parser: Box<dyn StreamParser>) -> Self {
        Self { log, buffer: vec![0; CHUNK], lines: LineSplitter::new(LINE_LIMIT), parser }
    }

    /// Reads the next chunk. `false` if nothing more is there at present.
    pub fn read(&mut self, on_entry: OnEntry<'_>) -> std::io::Result<bool> {
        let n = self.log.read(&mut self.buffer)?;
        let parser = self.parser.as_mut();
        let chunk = self.buffer.get(..n).unwrap_or_default();
        self.lines.push(chunk, |line, complete| tell(parser, line, complete, on_entry));
        Ok(n > 0)
    }

    /// Nothing more will come: an unfinished last line is a line too. What the whole says of the session, but for how
    /// its process ended, which no log tells.
    pub fn finish(mut self, on_entry: OnEntry<'_>) -> AgentReport {
        let parser = self.parser.as_mut();
        self.lines.finish(|line, complete| tell(parser, line, complete, on_entry));
        for rest in self.parser.rest() {
            on_entry(None, rest);
        }
        self.parser.finish(Exit::Code(-1))
    }
}

fn tell(parser: &mut dyn StreamParser, line: &[u8], complete: bool, on_entry: OnEntry<'_>) {
    for entry in parser.entries(line, complete) {
        let at = match entry {
            LogEntry::Line { .. } | LogEntry::NoEvent { .. } => None,
            LogEntry::Said { .. } | LogEntry::Did(_) => time(line),
        };
        on_entry(at, entry);
    }
}

/// When an event says that it happened: `timestamp`, RFC 3339 or a number.
fn time(line: &[u8]) -> Option<Timestamp> {
    let event = Fields::of(std::str::from_utf8(line).ok()?)?;
    match event.get::<i64>("timestamp") {
        Some(n) if n < MILLISECONDS_FROM => Some(Timestamp::from_secs(n)),
        Some(n) => Some(Timestamp::from_millis(n)),
        None => Timestamp::parse(&event.text("timestamp")?),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::rc::Rc;

    use super::*;
    use crate::agent::{AgentKind, Setup};
    use crate::logs::LogDir;

    #[test]
    fn a_log_is_read_as_it_grows_with_the_times_it_has() {
        let dir = tempfile::tempdir().unwrap();
        let logs = Rc::new(LogDir::open(dir.path()).unwrap());
        let mut file = logs.create("log").unwrap();
        let stream = LogStream::open(logs, "log").unwrap();
        let mut reader = LogReader::new(stream, AgentKind::Claude.build(Setup::default()).parser());
        let mut seen = Vec::new();
        let mut on = |at: Option<Timestamp>, told| {
            let LogEntry::Said { text } = told else { return };
            seen.push((at.map(Timestamp::as_millis), text));
        };
        assert!(!reader.read(&mut on).unwrap());
        let said = |text: &str, more: &str| {
            format!(
                r#"{{"type":"assistant"{more},"message":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
            )
        };
        let first = said("one", "") + "\n";
        let (half, rest) = first.split_at(30);
        for part in [half, rest] {
            file.write_all(part.as_bytes()).unwrap();
            assert!(reader.read(&mut on).unwrap());
        }
        for (text, more) in [
            ("two", r#","timestamp":"1970-01-01T00:00:01Z""#),
            ("three", r#","timestamp":1700000000123"#),
            ("four", r#","timestamp":{"odd":1}"#),
        ] {
            writeln!(file, "{}", said(text, more)).unwrap();
        }
        // Without a line end, as a killed agent leaves it.
        write!(file, "{}", said("five", r#","timestamp":5"#)).unwrap();
        while reader.read(&mut on).unwrap() {}
        let report = reader.finish(&mut on);
        assert_eq!(report.result_text, "one\ntwo\nthree\nfour\nfive");
        let times: Vec<_> = seen.iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [None, Some(1000), Some(1_700_000_000_123), None, Some(5000)]);
    }
}
